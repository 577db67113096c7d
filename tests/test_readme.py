"""What the README shows works as it is printed."""

import re
from pathlib import Path

README = (Path(__file__).resolve().parents[1] / "README.md").read_text(encoding="utf-8")


def snippets() -> list[str]:
    return re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)


def conversation(call: str) -> list[dict[str, object]]:
    """A long loop of calls in the form that the snippet speaks."""
    history: list[dict[str, object]] = [{"role": "user", "content": "Never use port 8080. Make all steps pass."}]
    for step in range(60):
        arguments = f'{{"command":"make step{step}"}}'
        output = f"step {step} ok\n" * 300
        if call == "chat":
            function = {"name": "bash", "arguments": arguments}
            history.append(
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [{"id": f"c{step}", "type": "function", "function": function}],
                }
            )
            history.append({"role": "tool", "tool_call_id": f"c{step}", "content": output})
        else:
            use = {"type": "tool_use", "id": f"c{step}", "name": "bash", "input": {"command": f"make step{step}"}}
            history.append({"role": "assistant", "content": [use]})
            history.append(
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"c{step}", "content": output}]}
            )
    return history


def say_nothing(*_: object) -> None:
    """What the snippet prints is not looked at."""


def run(snippet: str, dialect: str) -> tuple[str, str]:
    """What the snippet sent, and the history that it was given, both as text."""
    sent: list[str] = []

    def call_the_model(messages: object) -> None:
        sent.append(str(messages))

    names: dict[str, object] = {
        "history": conversation(dialect),
        "system": "You are a coding agent.",
        "tools": [],
        "call_the_model": call_the_model,
        "print": say_nothing,
    }
    # The text comes from the README of this very repository.
    exec(compile(snippet, "README.md", "exec"), names)  # noqa: S102
    (only,) = sent
    return only, str(names["history"])


def test_the_readme_has_a_snippet_for_each_style_of_messages_of_at_most_ten_lines() -> None:
    found = snippets()

    assert 2 == len(found)
    assert all(len([line for line in snippet.splitlines() if line.strip()]) <= 10 for snippet in found)


def test_the_anthropic_snippet_sends_a_shorter_history_in_the_same_form() -> None:
    sent, history = run(snippets()[0], "anthropic")

    assert len(sent) < len(history) / 2
    assert "Never use port 8080" in sent
    assert "'tool_use_id'" in sent


def test_the_openai_snippet_sends_a_shorter_history_in_the_same_form() -> None:
    sent, history = run(snippets()[1], "chat")

    assert len(sent) < len(history) / 2
    assert "Never use port 8080" in sent
    assert "'tool_call_id'" in sent
