"""The gateway's status page in a real browser: signing in by the form, at two widths, light and dark.

    python scripts/status_page.py [--chromium chromium] [--shots FOLDER]

It starts a gateway with made-up conversations of two users, and a headless Chromium that it steers over a pipe. It
fails where the page asks for anything that its policy forbids, is wider than the window, or shows a user something
else than the own conversations. Screenshots go to the folder, to be looked at.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from perdure.gateway import Config, Gateway, MemoryState, Parts, Record
from perdure.gateway.grants import Grant
from perdure.gateway.keys import BookKeys, issued
from perdure.gateway.server import Server
from perdure.gateway.sqlite_keys import SqliteKeys
from perdure.kernel.messages import Json, JsonObject, encode_json
from perdure.memory import Principal
from perdure.providers.edge import wall_clock

ADA, EVE = Principal(tenant="acme", user="ada"), Principal(tenant="globex", user="eve")
MODELS = ("claude-sonnet-4-6", "gpt-5-codex", "qwen3-coder-480b-a35b-instruct-with-a-name-that-goes-on-and-on", "local")
WINDOWS = (200_000, 1_000_000, 64_000, None)
SIZES = ((1440, 900), (390, 844))


def filled() -> MemoryState:
    """Conversations of Ada's, in all states; Eve has one."""
    state, now = MemoryState(), wall_clock()
    for number in range(9):
        window = WINDOWS[number % 4]
        tokens = int((window or 80_000) * (0.2, 0.62, 0.8, 0.95)[number % 3])
        name = f"{number:024x}"
        state.records[ADA, name] = Record(
            id=name,
            family="f",
            version=1,
            model=MODELS[number % 4],
            window=window,
            seen=now - (5, 40, 900, 9_000, 200_000)[number % 5],
            edits=tuple(_edits(now)) if number != 2 else (),
            turns=({"usage": {"input_tokens": tokens}},),
            sums={"requests": 40.0 + number, "prompt_tokens": 1e6, "cache_read_tokens": 8.7e5, "usd": 0.4 * number,
                  "saved_tokens": 1.2e6, "saved_usd": 0.36 * number},
        )  # fmt: skip
    state.records[EVE, "e"] = Record(id="e", family="f", version=1, model="model-of-eve", seen=now)
    return state


def _edits(now: float) -> list[JsonObject]:
    planned = [("reduce_output", "entry", 1), ("clear_tool_result", "cold", 7), ("checkpoint", "threshold", 1)]
    made: list[JsonObject] = []
    for kind, why, count in planned:
        reason: JsonObject = {"batch": kind, "why": why, "time": now - 600}
        edit: JsonObject = {"kind": kind, "reason": reason, "saved": 2_300}
        made += [edit] * count
    return made


@contextmanager
def served(folder: Path) -> Generator[tuple[str, str]]:
    """The gateway, and Ada's key."""
    book = SqliteKeys(folder / "keys.sqlite3")
    key, record = issued(ADA, Grant(), "", wall_clock())
    book.add(record)
    gateway = Gateway(
        Config(keys=folder / "keys.sqlite3", drain_notice=0.0),
        Parts(state=filled(), keys=BookKeys(book=book, clock=wall_clock)),
    )
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = Server(gateway)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", key
        server.should_exit = True
        thread.join(10)
    book.close()


class Browser:
    """Chromium, steered by its DevTools protocol over two pipes."""

    def __init__(self, command: str, profile: Path) -> None:
        read_here, write_there = os.pipe()
        read_there, write_here = os.pipe()
        # Chromium reads commands from its third file and writes answers to its fourth.
        wrapped = f'exec "$0" "$@" 3<&{read_there} 4>&{write_there}'
        flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-pipe"]
        self.process = subprocess.Popen(
            ["/bin/bash", "-c", wrapped, command, *flags, f"--user-data-dir={profile}", "about:blank"],
            pass_fds=(read_there, write_there),
            stderr=subprocess.DEVNULL,
        )
        os.close(read_there)
        os.close(write_there)
        self.reads, self.writes = os.fdopen(read_here, "rb"), os.fdopen(write_here, "wb")
        self.number, self.session = 0, ""
        self.events: list[Any] = []
        page = next(one for one in self.do("Target.getTargets")["targetInfos"] if one["type"] == "page")
        self.session = self.do("Target.attachToTarget", targetId=page["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.do(f"{domain}.enable")

    def do(self, method: str, **params: Json) -> Any:
        """One command, and its answer; events that come before it are kept."""
        self.number += 1
        wanted = self.number
        command: JsonObject = {"id": wanted, "method": method, "params": params}
        if self.session:
            command["sessionId"] = self.session
        self.writes.write(encode_json(command) + b"\0")
        self.writes.flush()
        while True:
            told = self._told()
            if told.get("id") == wanted:
                if "error" in told:
                    raise RuntimeError(f"{method}: {told['error']}")
                return told["result"]
            self.events.append(told)

    def loaded(self, method: str, **params: Json) -> None:
        """A command that leads to another page, until that is loaded."""
        self.events.clear()
        self.do(method, **params)
        while not any(one.get("method") == "Page.loadEventFired" for one in self.events):
            self.events.append(self._told())

    def heard(self, method: str) -> list[Any]:
        """The events of a kind since the page began to load."""
        return [one["params"] for one in self.events if one.get("method") == method]

    def run(self, script: str) -> Any:
        """What a script on the page gives. The browser runs it, which the page's policy does not keep from."""
        return self.do("Runtime.evaluate", expression=script, returnByValue=True)["result"].get("value")

    def close(self) -> None:
        """End it."""
        self.session = ""
        self.do("Browser.close")
        self.process.wait(20)

    def _told(self) -> Any:
        message = b""
        while not message.endswith(b"\0"):
            piece = self.reads.read(1)
            if not piece:
                raise RuntimeError("the browser ended")
            message += piece
        return json.loads(message[:-1])


def sign_in(browser: Browser, key: str) -> None:
    """As a person does: type the key and press the button."""
    browser.run("document.querySelector('input').focus()")
    browser.do("Input.insertText", text=key)
    browser.loaded("Runtime.evaluate", expression="document.querySelector('button').click()")


def looked_at(browser: Browser, url: str, shots: Path, name: str) -> list[str]:
    """What is wrong with the page at both widths, light and dark."""
    wrong: list[str] = []
    for width, height in SIZES:
        for scheme in ("light", "dark"):
            browser.do(
                "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False
            )
            browser.do("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
            browser.loaded("Page.navigate", url=url)
            wide = browser.run("document.scrollingElement.scrollWidth")
            if wide > width:
                wrong.append(f"{name} at {width}: {wide} pixels wide")
            # The way in answers 401, which the console tells of.
            said = [one["params"]["entry"]["text"] for one in browser.events if one.get("method") == "Log.entryAdded"]
            wrong += [f"{name}: {text}" for text in said if "401" not in text]
            asked = [
                one["params"]["request"]["url"]
                for one in browser.events
                if one.get("method") == "Network.requestWillBeSent"
            ]
            wrong += [f"{name} asks for {one}" for one in asked if one not in (url, "data:,")]
            taken = browser.do("Page.captureScreenshot", captureBeyondViewport=True)
            (shots / f"{name}-{width}-{scheme}.png").write_bytes(base64.b64decode(taken["data"]))
    return wrong


def main() -> int:
    """Look at the pages, and tell what is wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--chromium", default="chromium", help="the browser's command")
    parser.add_argument("--shots", type=Path, default=Path("status-page"), help="where screenshots go")
    options = parser.parse_args()
    options.shots.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name, served(Path(name)) as (url, key):
        browser = Browser(options.chromium, Path(name) / "profile")
        wrong = looked_at(browser, f"{url}/", options.shots, "way-in")
        sign_in(browser, f"pdk_{'0' * 16}_{'A' * 43}")
        if "no key of this gateway" not in browser.run("document.body.innerText"):
            wrong.append("a wrong key is not told")
        sign_in(browser, key)
        text = browser.run("document.body.innerText")
        wrong += [f"the page lacks {one!r}" for one in ("acme / ada", *MODELS, "80%", "Edited") if one not in text]
        wrong += [f"the page shows {one!r}" for one in ("globex", "model-of-eve") if one in text]
        if browser.run("document.cookie"):
            wrong.append("a script can read the session")
        wrong += looked_at(browser, f"{url}/", options.shots, "status")
        browser.loaded("Runtime.evaluate", expression="document.querySelector('button').click()")
        if "Your key" not in browser.run("document.body.innerText"):
            wrong.append("signing out leaves one signed in")
        browser.close()
    for one in wrong:
        print(one)
    print(f"{len(wrong)} faults; screenshots in {options.shots}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
