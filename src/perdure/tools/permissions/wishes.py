"""What an action would do, looked up on the disk: where its paths lead, what its command runs, which host it reaches.

It knows actions and effects. It must never decide anything.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from perdure.tools.actions import Action, CallServer, Fetch, Harmless, ReadPath, RunCommand, Spawn, WritePath
from perdure.tools.permissions.commands import effects_of
from perdure.tools.permissions.decide import host_of
from perdure.tools.permissions.effects import Effect, Reach, Serve, Touch, Unclear, Wish
from perdure.tools.permissions.paths import Ground, touch_of


def wish_of(action: Action, ground: Ground) -> Wish:
    """An action, looked into. Its name is exact: another command, folder, file or host has another one."""
    effects: tuple[Effect, ...] = ()
    match action:
        case ReadPath(path=path):
            touch = replace(touch_of(path, "read", ground), deep=True)
            name, effects = f"read {touch.path}", (touch,)
        case WritePath(path=path):
            touch = touch_of(path, "write", ground)
            name, effects = f"write {touch.path}", (touch,)
        case RunCommand(command=command, cwd=cwd):
            # Where a command starts is a place that it works in, which may lie anywhere.
            effects = (touch_of(cwd, "named", ground), *effects_of(command, cwd, ground))
            name = "\n".join((f"bash in {cwd}: {command}", *_beyond(effects)))
        case Fetch(url=url):
            host = host_of(url)
            name = f"fetch from {host}" if host else f"fetch {url}"
            effects = (Reach(host=host),) if host else (Unclear(why="its address has no host"),)
        case CallServer(server=server, tool=tool):
            name, effects = f"mcp {server}/{tool}", (Serve(server=server, tool=tool),)
        case Spawn(what=what):
            name = f"subagent: {what}"
        case Harmless():
            name = "nothing"
    return Wish(name=name, effects=effects)


def _beyond(effects: Iterable[Effect]) -> Iterable[str]:
    """Where a command reaches beyond the folders: part of its name, so that a link that was turned makes it another."""
    touches = [effect for effect in effects if isinstance(effect, Touch)]
    places = sorted({str(touch.path) for touch in touches if touch.ward or not touch.inside})
    return [f"reaches {place}" for place in places]
