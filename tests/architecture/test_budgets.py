"""The budgets of size hold in every Python file of the repository. They may only shrink."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ("src", "tests", "bench", "scripts")

LINES_OF_A_FUNCTION = 60
LINES_OF_MOST_FUNCTIONS = 45
SHARE_OF_MOST = 0.95
LINES_OF_A_FILE = 600
LINES_OF_THE_LOOP = 500
PARAMETERS = 6
NAMES_THAT_SAY_NOTHING = {"base", "common", "helper", "helpers", "misc", "util", "utils"}

ASYNC_FILES_OF_THE_KERNEL = {
    Path("src/perdure/kernel/agent/run.py"),
    # The asynchronous twin of a driver of eight lines; it awaits a host's ports and knows no event loop.
    Path("src/perdure/kernel/context/drive.py"),
    # Its port is asynchronous, and it waits for nothing.
    Path("src/perdure/kernel/agent/host.py"),
}
# It writes the methods of values as `dataclasses` does, out of names of fields alone.
WRITES_METHODS = Path("src/perdure/kernel/value.py")
BUILTINS_THAT_PERFORM = {"__import__", "breakpoint", "compile", "eval", "exec", "input", "open", "print"}
EXCEPTION_TO_A_CHECK = re.compile(r"#\s*(noqa|type:\s*ignore|pyright:|ruff:|pragma:)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """One function, method or lambda-free inner function of a file."""

    place: str
    lines: int
    parameters: int


def python_files(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def relative(path: Path) -> Path:
    return path.relative_to(ROOT)


def lines_of(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def functions(*folders: str) -> list[Function]:
    return [function for path in python_files(*folders) for function in functions_of(path)]


def functions_of(path: Path) -> Iterator[Function]:
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno is not None
            yield Function(
                place=f"{relative(path)}:{node.lineno} {node.name}",
                lines=node.end_lineno - node.lineno + 1,
                parameters=count_parameters(node.args),
            )


def count_parameters(arguments: ast.arguments) -> int:
    """How many arguments a caller may have to think of: `self` and `cls` are not among them."""
    positional = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]
    bound = 1 if positional[:1] in (["self"], ["cls"]) else 0
    variadic = (arguments.vararg is not None) + (arguments.kwarg is not None)
    return len(positional) - bound + len(arguments.kwonlyargs) + variadic


@pytest.mark.parametrize("folder", SOURCES)
def test_no_function_is_longer_than_a_screen(folder: str) -> None:
    too_long = [
        (function.place, function.lines) for function in functions(folder) if function.lines > LINES_OF_A_FUNCTION
    ]

    assert [] == too_long


def test_most_functions_of_the_product_are_shorter_still() -> None:
    found = functions("src")
    longer = [(function.place, function.lines) for function in found if function.lines > LINES_OF_MOST_FUNCTIONS]

    assert len(longer) <= (1 - SHARE_OF_MOST) * len(found), longer


@pytest.mark.parametrize("folder", SOURCES)
def test_no_function_asks_for_more_than_six_things(folder: str) -> None:
    too_many = [
        (function.place, function.parameters) for function in functions(folder) if function.parameters > PARAMETERS
    ]

    assert [] == too_many


@pytest.mark.parametrize("folder", SOURCES)
def test_no_file_is_longer_than_can_be_read_at_a_sitting(folder: str) -> None:
    sizes = [(str(relative(path)), lines_of(path)) for path in python_files(folder)]

    assert [] == [(path, lines) for path, lines in sizes if lines > LINES_OF_A_FILE]


def test_the_agent_loop_stays_small_as_features_come() -> None:
    loop = [
        path
        for path in python_files("src/perdure/kernel")
        if path.parent.name == "agent" and path.stem in {"step", "run"}
    ]

    assert sum(lines_of(path) for path in loop) <= LINES_OF_THE_LOOP


def test_no_module_is_named_for_nothing() -> None:
    named = [
        relative(path)
        for path in python_files(*SOURCES)
        if NAMES_THAT_SAY_NOTHING & {path.stem.strip("_"), path.parent.name}
    ]

    assert [] == named


def test_every_file_opens_with_what_it_knows() -> None:
    silent = [relative(path) for path in python_files(*SOURCES) if not ast.get_docstring(ast.parse(path.read_bytes()))]

    assert [] == silent


def test_only_the_driver_of_the_loop_is_async_in_the_kernel() -> None:
    asynchronous = {
        relative(path)
        for path in python_files("src/perdure/kernel")
        for node in ast.walk(ast.parse(path.read_bytes()))
        if isinstance(node, ast.AsyncFunctionDef | ast.AsyncFor | ast.AsyncWith | ast.Await)
    }

    assert set() == asynchronous - ASYNC_FILES_OF_THE_KERNEL


def test_the_kernel_performs_nothing_through_a_builtin() -> None:
    performed = [
        f"{relative(path)}:{node.lineno} {node.func.id}"
        for path in python_files("src/perdure/kernel")
        if relative(path) != WRITES_METHODS
        for node in ast.walk(ast.parse(path.read_bytes()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in BUILTINS_THAT_PERFORM
    ]

    assert [] == performed


def test_no_signature_of_the_kernel_gives_up_its_types() -> None:
    loose = [
        f"{relative(path)}:{node.lineno} {node.name}"
        for path in python_files("src/perdure/kernel")
        for node in ast.walk(ast.parse(path.read_bytes()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and "Any" in names_in_the_signature(node)
    ]

    assert [] == loose


def names_in_the_signature(function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    annotated = [function.args, *([function.returns] if function.returns else [])]
    return {node.id for part in annotated for node in ast.walk(part) if isinstance(node, ast.Name)}


def test_every_exception_to_a_check_has_its_reason_on_the_line_above() -> None:
    unexplained = [
        f"{relative(path)}:{number}"
        for path in python_files(*SOURCES)
        for number, (above, line) in enumerate(lines_with_the_one_above(path), start=1)
        if EXCEPTION_TO_A_CHECK.search(line) and not above.lstrip().startswith("#")
    ]

    assert [] == unexplained


def lines_with_the_one_above(path: Path) -> list[tuple[str, str]]:
    lines = path.read_text(encoding="utf-8").splitlines()
    return list(zip(["", *lines], lines, strict=False))
