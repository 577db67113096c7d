"""Settings name servers; what they hold of secrets leaves in no text."""

import tomllib
from pathlib import Path

import pytest

from perdure.kernel.errors import InvalidSetting
from perdure.kernel.messages import Json
from perdure.tools.mcp import HttpServer, StdioServer, servers_of
from perdure.tools.mcp.settings import CALL, hide

CWD = Path("/shop")


def refused(given: Json, name: str = "shop") -> str:
    with pytest.raises(InvalidSetting) as caught:
        servers_of({name: given}, {"HOME": "/home/ada"}, CWD)
    return str(caught.value)


def test_a_process_gets_its_own_variables_and_of_ours_only_those_that_are_nobodys_key() -> None:
    environment = {"PATH": "/bin", "HOME": "/home/ada", "ANTHROPIC_API_KEY": "made-up", "TOKEN": "t-123456"}

    (server,) = servers_of({"shop": {"command": "shop", "env": {"SHOP_TOKEN": "${TOKEN}"}}}, environment, CWD)

    assert isinstance(server, StdioServer)
    assert {"PATH": "/bin", "HOME": "/home/ada", "SHOP_TOKEN": "t-123456"} == server.environment


def test_a_variable_stands_in_arguments_addresses_and_headers() -> None:
    environment = {"PORT": "8000", "TOKEN": "t-123456"}
    given: dict[str, Json] = {
        "a": {"command": "shop", "args": ["--port", "${PORT}"]},
        "b": {"url": "http://localhost:${PORT}/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}},
    }

    first, second = servers_of(given, environment, CWD)

    assert isinstance(first, StdioServer)
    assert isinstance(second, HttpServer)
    assert ("--port", "8000") == first.args
    assert ("http://localhost:8000/mcp", {"Authorization": "Bearer t-123456"}) == (second.url, second.headers)


def test_no_text_made_from_a_server_shows_a_secret_of_it() -> None:
    given: dict[str, Json] = {
        "a": {"command": "shop", "env": {"KEY": "sesame-open"}},
        "b": {"url": "https://shop.example/mcp", "headers": {"Authorization": "Bearer sesame-open"}},
    }

    servers = servers_of(given, {}, CWD)
    texts = [repr(server) + hide("401 for sesame-open", server) for server in servers]

    assert [False, False] == ["sesame" in text for text in texts]


def test_a_call_has_two_minutes_unless_the_settings_say_otherwise() -> None:
    given: dict[str, Json] = {"a": {"command": "shop"}, "b": {"command": "shop", "timeout": 5}}

    assert [CALL, 5.0] == [server.seconds for server in servers_of(given, {}, CWD)]


def test_the_page_on_servers_shows_settings_that_are_taken() -> None:
    page = (Path(__file__).parents[3] / "docs" / "mcp.md").read_text(encoding="utf-8")
    shown = tomllib.loads(page.partition("```toml\n")[2].partition("```")[0])

    made = servers_of(shown["mcp"], {"DOCS_TOKEN": "t-1", "TICKETS_TOKEN": "t-2"}, CWD)

    assert [("docs", CALL), ("tickets", 30.0)] == [(server.name, server.seconds) for server in made]


@pytest.mark.parametrize("name", ["", "a b", "a__b", "a_", "-a", "x" * 25, "é"])
def test_a_name_that_could_not_stand_in_the_name_of_a_tool_is_refused(name: str) -> None:
    assert "a server's name is" in refused({"command": "shop"}, name)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("shop", "is a string"),
        ({}, "either a command or a url"),
        ({"command": "a", "url": "https://b"}, "either a command or a url"),
        ({"command": "a", "arg": []}, "no setting 'arg'"),
        ({"command": 1}, "mcp.shop.command must be a string"),
        ({"command": "a", "args": "b"}, "args is a string"),
        ({"command": "a", "env": {"K": 1}}, "mcp.shop.env.K must be a string"),
        ({"command": "a", "env": {"K": "${MISSING}"}}, "'MISSING', which is not set"),
        ({"command": "a", "timeout": 0}, "timeout must be a number"),
        ({"command": "a", "timeout": True}, "timeout must be a number"),
        ({"url": "ftp://a"}, "is no address"),
        ({"url": "https://"}, "is no address"),
        ({"url": "https://[a"}, "is no address"),
        ({"url": "https://ada:pw@a"}, "give it as a header"),
        ({"url": "http://a.example", "headers": {"K": "v"}}, "in the clear"),
        ({"url": "https://a", "headers": {"K": "v\r\nX: y"}}, "one line"),
    ],
)
def test_a_server_that_is_none_is_refused_with_what_is_wrong(given: Json, said: str) -> None:
    assert said in refused(given)
