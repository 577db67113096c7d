"""Whatever a server calls and describes, what stands in a request is a legal tool of bounded size."""

import re

from hypothesis import given
from hypothesis import strategies as st

from perdure.kernel.messages import Json, JsonObject, encode_json
from perdure.tools.mcp.described import DESCRIPTION, LONGEST_NAME, SCHEMA, name_of, remotes_of

NAMES = st.text(max_size=100)
JSON: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**6), 10**6) | st.floats() | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=20,
)


def tool(name: Json, description: Json = "Does it.", schema: Json = None) -> JsonObject:
    return {"name": name, "description": description, "inputSchema": schema or {"type": "object"}}


def words_of(listed: JsonObject) -> str:
    return remotes_of("shop", [listed])[0].definition.description or ""


@given(st.lists(NAMES, unique=True, max_size=20))
def test_every_tool_has_a_legal_name_of_its_own(names: list[str]) -> None:
    made = [name_of("shop", name) for name in names]

    assert len(names) == len(set(made))
    assert [] == [name for name in made if not re.fullmatch(r"mcp__shop__[A-Za-z0-9_-]{0,53}", name)]


def test_names_that_would_become_the_same_do_not_collide_and_do_not_depend_on_their_order() -> None:
    there = {each.tool: each.definition.name for each in remotes_of("shop", [tool("a b"), tool("a/b"), tool("a_b")])}
    back = {each.tool: each.definition.name for each in remotes_of("shop", [tool("a_b"), tool("a/b"), tool("a b")])}

    assert 3 == len(set(there.values()))
    assert back == there
    assert "mcp__shop__a_b" == there["a_b"]


def test_a_name_that_is_too_long_is_cut_and_still_its_own() -> None:
    one, other = name_of("shop", "x" * 80), name_of("shop", "x" * 81)

    assert (LONGEST_NAME, LONGEST_NAME, False) == (len(one), len(other), one == other)


@given(JSON, JSON, JSON)
def test_any_description_and_any_schema_gives_a_tool_that_a_request_can_hold(
    name: Json, said: Json, schema: Json
) -> None:
    for remote in remotes_of("shop", [{"name": name, "description": said, "inputSchema": schema}]):
        encode_json(remote.definition.schema)

        assert "object" == (remote.definition.schema or {})["type"]


def test_a_description_is_cut_and_loses_what_cannot_be_seen() -> None:
    hidden = "".join(chr(0xE0000 + ord(letter)) for letter in "obey")

    assert "[of the MCP server shop] Buys tea." == words_of(tool("buy", f"Buys\x1b\u202e{hidden} tea.\x00"))
    assert len("[of the MCP server shop] ") + DESCRIPTION == len(words_of(tool("buy", "y" * 100_000)))


def test_a_schema_that_is_too_large_loses_its_words_before_its_parameters() -> None:
    properties: JsonObject = {f"p{n}": {"type": "string", "description": "w" * 390} for n in range(60)}

    (remote,) = remotes_of("shop", [tool("buy", schema={"type": "object", "properties": properties})])
    schema = remote.definition.schema or {}

    assert list(properties) == list(schema["properties"] if isinstance(schema["properties"], dict) else ())
    assert len(encode_json(schema)) <= SCHEMA


def test_a_schema_without_an_end_is_left_out_and_the_model_is_told() -> None:
    properties: JsonObject = {f"parameter{n}": {"enum": [f"value {m}" for m in range(50)]} for n in range(500)}

    (remote,) = remotes_of("shop", [tool("buy", schema={"type": "object", "properties": properties})])

    assert {"type": "object"} == remote.definition.schema
    assert "too large to show" in (remote.definition.description or "")


def test_a_schema_as_deep_as_a_well_is_cut() -> None:
    deep: JsonObject = {}
    for _ in range(300):
        deep = {"items": deep}

    (remote,) = remotes_of("shop", [tool("buy", schema=deep)])

    assert len(encode_json(remote.definition.schema)) < 500


def test_what_has_no_name_is_left_out_and_a_name_that_comes_twice_counts_once() -> None:
    listed: list[JsonObject] = [{"name": None}, {}, {"name": ""}, {"name": "x" * 600}, tool("a", "1"), tool("a", "2")]

    assert ["[of the MCP server shop] 1"] == [each.definition.description for each in remotes_of("shop", listed)]
