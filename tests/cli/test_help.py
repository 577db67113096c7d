"""What somebody reads who does not know the command yet."""

import pytest

from perdure.cli.main import COMMANDS, main


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_each_command_has_an_example_and_none_of_the_rules_of_its_code(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main([name, "--help"])
    said = capsys.readouterr().out

    assert (f"  perdure {name}" in said, "must never" in said) == (True, False)


@pytest.mark.parametrize("words", [["help"], ["fix", "the", "test"]])
def test_a_word_that_is_no_command_is_told_how_a_task_is_given(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    assert (
        f"perdure: there is no command '{words[0]}'; `perdure --help` lists them, and a task is given with -p TASK\n"
        == capsys.readouterr().err
    )
