"""Which model is chosen, and what is said where none can be."""

from __future__ import annotations

import pytest

from perdure.cli.agent.choice import Chosen, choose, needs_local
from perdure.kernel.errors import InvalidSetting, NoModel
from perdure.project.settings import Layer, Settled, from_text, settle
from perdure.providers import LocalModel

SMALL = LocalModel(server="ollama", url="http://127.0.0.1:11434/v1", name="small", window=4_096, loaded=False)
LOADED = LocalModel(server="llama.cpp", url="http://127.0.0.1:8080/v1", name="loaded", window=16_000, loaded=True)


def settled(text: str = "") -> Settled:
    layer = from_text(text, "settings.toml")
    return settle((layer,), Layer(source="nothing"), trusted=True)


def where(chosen: Chosen) -> tuple[str, str, str, str]:
    return chosen.name, chosen.dialect, chosen.url, chosen.key


@pytest.mark.parametrize(
    ("environment", "wanted", "expected"),
    [
        ({"ANTHROPIC_API_KEY": "ka"}, None, ("claude-sonnet-5-5", "anthropic", "https://api.anthropic.com", "ka")),
        ({"OPENAI_API_KEY": "ko"}, None, ("gpt-6.1-sol", "responses", "https://api.openai.com/v1", "ko")),
        (
            {"ANTHROPIC_API_KEY": "ka", "OPENAI_API_KEY": "ko"},
            "gpt-5.5",
            ("gpt-5.5", "responses", "https://api.openai.com/v1", "ko"),
        ),
        (
            {"ANTHROPIC_API_KEY": "ka", "OPENAI_API_KEY": "ko"},
            "openai/some-new-model",
            ("some-new-model", "responses", "https://api.openai.com/v1", "ko"),
        ),
        (
            {"OPENAI_API_KEY": "ko", "OPENAI_BASE_URL": "http://127.0.0.1:1/v1"},
            "whatever",
            ("whatever", "chat", "http://127.0.0.1:1/v1", "ko"),
        ),
        (
            {"ANTHROPIC_API_KEY": "ka", "ANTHROPIC_BASE_URL": "http://127.0.0.1:2"},
            None,
            ("claude-sonnet-5-5", "anthropic", "http://127.0.0.1:2", "ka"),
        ),
        ({}, None, ("loaded", "chat", "http://127.0.0.1:8080/v1", "")),
        ({}, "small", ("small", "chat", "http://127.0.0.1:11434/v1", "")),
        ({"OPENAI_API_KEY": "ko"}, "ollama/small", ("small", "chat", "http://127.0.0.1:11434/v1", "")),
    ],
)
def test_a_model_is_found_by_the_keys_and_servers_that_are_there(
    environment: dict[str, str], wanted: str | None, expected: tuple[str, str, str, str]
) -> None:
    assert where(choose(settled(), environment, (SMALL, LOADED), wanted)) == expected


def test_a_server_that_is_set_gets_no_key_of_a_provider() -> None:
    environment = {"OPENAI_API_KEY": "ko", "ANTHROPIC_API_KEY": "ka", "MINE": "km"}
    address = 'base_url = "https://example.org/v1"\nmodel = "m"\n'

    keys = [choose(settled(address + more), environment, ()).key for more in ("", 'key_variable = "MINE"')]
    assert keys == ["", "km"]


def test_a_key_is_not_shown_with_what_was_chosen() -> None:
    assert "ka-very-secret" not in repr(choose(settled(), {"ANTHROPIC_API_KEY": "ka-very-secret"}, ()))


def test_servers_are_looked_for_only_where_nothing_else_answers() -> None:
    key = {"ANTHROPIC_API_KEY": "ka"}

    asked = [needs_local(settled(), {}), needs_local(settled(), key), needs_local(settled(), key, "ollama/small")]
    assert asked == [True, False, True]


def test_without_anything_the_error_says_how_to_set_one_up() -> None:
    with pytest.raises(NoModel, match=r"ANTHROPIC_API_KEY[^$]*OPENAI_API_KEY[^$]*ollama[^$]*perdure demo"):
        choose(settled(), {}, ())


def test_a_model_whose_key_is_missing_names_the_variable_and_what_there_is() -> None:
    with pytest.raises(NoModel) as error:
        choose(settled(), {}, (SMALL,), "claude-opus-5-5")

    assert "ANTHROPIC_API_KEY is not set" in str(error.value)
    assert "ollama/small is on this machine" in str(error.value)


def test_a_variable_that_is_not_set_is_an_error_and_not_an_empty_key() -> None:
    with pytest.raises(NoModel, match="key_variable is 'MINE', but that variable is not set"):
        choose(settled('base_url = "http://127.0.0.1:1/v1"\nmodel = "m"\nkey_variable = "MINE"'), {}, ())


def test_an_address_without_a_scheme_is_an_error() -> None:
    with pytest.raises(InvalidSetting, match="it has to begin with http"):
        choose(settled('base_url = "127.0.0.1:8080"\nmodel = "m"'), {}, ())


def test_a_window_that_is_set_counts_where_none_is_known_or_less_is_wanted() -> None:
    environment = {"ANTHROPIC_API_KEY": "ka"}
    local = 'base_url = "http://127.0.0.1:1/v1"\nmodel = "unheard-of"\nwindow = 9000'

    windows = [
        choose(settled(text), environment, ()).profile.window.tokens
        for text in (local, "window = 50_000", "window = 9_000_000")
    ]
    assert windows == [9_000, 50_000, 1_000_000]


def test_facts_that_the_user_states_about_a_model_hold() -> None:
    facts = "[models.mine]\nwindow = 12000\nprice_input = 1.0\nprice_output = 2.0"
    text = f'base_url = "http://127.0.0.1:1/v1"\nmodel = "mine"\n{facts}'

    profile = choose(settled(text), {}, ()).profile
    assert (profile.window.tokens, profile.prices and profile.prices.input) == (12_000, 1.0)


def test_what_the_user_does_not_state_about_a_known_model_stays_known() -> None:
    known = choose(settled(), {"ANTHROPIC_API_KEY": "ka"}, ()).profile
    text = f'[models."{known.id}"]\nwindow = 60000'

    stated = choose(settled(text), {"ANTHROPIC_API_KEY": "ka"}, ()).profile

    assert 60_000 == stated.window.tokens
    assert (known.prices, known.window.max_output) == (stated.prices, stated.window.max_output)
