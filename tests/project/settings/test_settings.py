"""Settings: read from four places, checked, and settled."""

from __future__ import annotations

from pathlib import Path

import pytest

from perdure.kernel.errors import InvalidSetting
from perdure.project.settings import (
    KEYS,
    Layer,
    from_environment,
    from_flags,
    from_text,
    is_trusted,
    read_layer,
    settle,
    trust,
)

NOTHING = Layer(source="nothing")


def test_the_nearest_layer_that_sets_a_key_counts() -> None:
    flags = from_flags({"model": "from-a-flag"})
    environment = from_environment({"PERDURE_MODEL": "from-the-environment", "PERDURE_WINDOW": "32_000"})
    project = from_text('model = "from-the-project"\nwindow = 16000\neffort = "low"', "project")
    user = from_text('model = "from-the-user"\neffort = "high"\nanswer_tokens = 9000', "user")

    settled = settle((flags, environment, project, user), project, trusted=True)

    found = [(settled.value(name), settled.source(name)) for name in ("model", "window", "effort", "answer_tokens")]
    assert found == [
        ("from-a-flag", "the command line"),
        (32_000, "the environment"),
        ("low", "project"),
        (9_000, "user"),
    ]


def test_what_nobody_set_has_its_default() -> None:
    settled = settle((NOTHING,), NOTHING, trusted=False)

    assert {setting.key.name: setting.value for setting in settled.settings} == {key.name: key.default for key in KEYS}


def test_a_key_that_does_not_exist_is_an_error_that_names_the_nearest() -> None:
    with pytest.raises(InvalidSetting) as error:
        from_text("[context]\nfold_groth = 3", "settings.toml")

    assert (
        str(error.value)
        == "settings.toml sets 'context.fold_groth', which does not exist; did you mean 'context.fold_growth'?"
    )


def test_a_key_outside_its_table_is_found_by_its_last_word() -> None:
    with pytest.raises(InvalidSetting) as error:
        from_text("entry_limit = 3", "settings.toml")

    assert str(error.value).endswith("did you mean 'context.entry_limit'?")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("window = true", "window in a is not a whole number from 1000"),
        ("window = 12.5", "window in a is not a whole number from 1000"),
        ('window = "big"', "window in a is not a whole number from 1000"),
        ("window = 3", "window in a is not a whole number from 1000"),
        ('effort = "heroic"', "effort in a is not one of low, medium, high"),
        ("context.low_water = nan", "context.low_water in a is not a number from 0.01 to 0.99"),
        ('memory.tell = "yes"', "memory.tell in a is not true or false, without quotes"),
        ('permissions.deny = "rm"', 'permissions.deny in a is not a list of texts, such as ["one", "two"]'),
        ("permissions.deny = [1]", 'permissions.deny in a is not a list of texts, such as ["one", "two"]'),
        ("mcp.files = 3", "mcp in a is not tables, each under a name"),
        ("model = [", "a is no TOML: Invalid value (at end of document)"),
    ],
)
def test_a_value_of_the_wrong_kind_says_what_is_wanted(text: str, said: str) -> None:
    with pytest.raises(InvalidSetting) as error:
        from_text(text, "a")

    assert str(error.value) == said


def test_a_repository_sets_what_is_guarded_only_once_it_is_trusted() -> None:
    repository = from_text(
        'base_url = "http://127.0.0.1:9/v1"\nwindow = 9000\n[permissions]\nmode = "full"\ndeny = ["bash(rm:*)"]',
        "the repository",
    )

    before = settle((repository,), repository, trusted=False)
    after = settle((repository,), repository, trusted=True)

    assert [(one.value("base_url"), one.value("permissions.mode"), one.value("window")) for one in (before, after)] == [
        (None, "ask", 9_000),
        ("http://127.0.0.1:9/v1", "full", 9_000),
    ]
    assert before.texts("permissions.deny") == ("bash(rm:*)",)
    assert len(before.cautions) == 2


def test_a_nearer_layer_cannot_lift_what_a_farther_one_forbids() -> None:
    project = from_text('permissions.deny = ["a"]', "project")
    user = from_text('permissions.deny = ["b", "a"]', "user")

    settled = settle((project, user), project, trusted=True)

    assert settled.texts("permissions.deny") == ("a", "b")


def test_the_engine_gets_what_was_set_on_top_of_the_preset() -> None:
    layer = from_text('[context]\npreset = "thrifty"\nentry_limit = "off"\nclear_growth = 5000', "user")

    engine = settle((layer,), NOTHING, trusted=True).engine()

    assert (engine.fold_growth, engine.entry_limit, engine.clear_growth) == (40_000, None, 5_000)


def test_every_key_has_a_variable_and_a_meaning_of_its_own() -> None:
    assert len({key.variable for key in KEYS}) == len({key.says for key in KEYS}) == len(KEYS)


def test_a_variable_of_the_wrong_kind_is_an_error_with_its_name() -> None:
    with pytest.raises(InvalidSetting, match=r"^PERDURE_MEMORY_TELL is not true or false$"):
        from_environment({"PERDURE_MEMORY_TELL": "perhaps"})


def test_a_file_that_is_not_there_sets_nothing(tmp_path: Path) -> None:
    assert read_layer(tmp_path / "settings.toml").values == {}


def test_a_link_that_leads_out_of_the_repository_is_an_error(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    (tmp_path / "outside.toml").write_text('model = "m"')
    (inside / "settings.toml").symlink_to(tmp_path / "outside.toml")

    with pytest.raises(InvalidSetting, match="leads out of its folder"):
        read_layer(inside / "settings.toml", within=inside)


def test_trust_covers_a_folder_and_what_lies_in_it_and_nothing_else(tmp_path: Path) -> None:
    home, root = tmp_path / "home", tmp_path / "work"
    (root / "below").mkdir(parents=True)
    trust(home, root)
    trust(home, root)

    asked = (root, root / "below", tmp_path, tmp_path / "works")
    assert [is_trusted(home, folder) for folder in asked] == [True, True, False, False]
    assert (home / "trusted").read_text() == f"{root.resolve()}\n"
    assert (home / "trusted").stat().st_mode & 0o777 == 0o600
