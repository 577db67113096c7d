"""The import contracts bite: each violation, planted alone in a small house, breaks what it should."""

import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LINTER = Path(__file__).with_name("lint_trees.py")

PRODUCT = "The product points one way"
KERNEL = "The kernel points one way"
PURE = "The kernel performs nothing"
ALONE = "The kernel has never heard of the product or of an SDK"
DOOR = "The kernel never enters by the public door"
LAB = "The lab cannot spend money"
CLUSTER = "The cluster cannot spend money"
DOUBLES = "The doubles of providers judge by themselves"
CYCLES = "No cycles between siblings"

# A house with every room of the plan, each importing all that it may.
HOUSE = {
    "__init__": "import perdure.kernel.agent",
    "cli": "import perdure.cluster, perdure.terminal, perdure.acp, perdure.gateway, perdure.lab, perdure.testing",
    "cluster": "import perdure.lab, distributed, fsspec",
    "terminal": "import perdure.session",
    "acp": "import perdure.session",
    "gateway": "import perdure.session",
    "lab": "import perdure.log, perdure.kernel.agent.run",
    "testing/__init__": "import perdure.session, random",
    "testing/doubles": "import starlette, socket",
    "session": "import perdure.tools, asyncio, os, time, uuid",
    "tools": "import perdure.project, perdure.memory, perdure.archive, perdure.providers",
    "project": "import perdure.guard",
    "memory": "import perdure.guard, perdure.log",
    "archive": "import perdure.log",
    "providers": "import perdure.guard, httpx",
    "guard": "import perdure.kernel",
    "log": "import perdure.kernel.messages, pathlib",
    "kernel/__init__": "",
    "kernel/agent/__init__": "import perdure.kernel.agent.run",
    "kernel/agent/run": "import perdure.kernel.agent.step, asyncio",
    "kernel/agent/step": "import perdure.kernel.context",
    "kernel/context/__init__": "import perdure.kernel.context.engine",
    "kernel/context/engine": "import perdure.kernel.context.strategies.fold",
    "kernel/context/strategies/__init__": "",
    "kernel/context/strategies/fold": "import perdure.kernel.prompt, perdure.kernel.wire",
    "kernel/prompt": "import perdure.kernel.cache",
    "kernel/wire": "import perdure.kernel.cache",
    "kernel/cache": "import perdure.kernel.tokens",
    "kernel/tokens": "import perdure.kernel.models",
    "kernel/models": "import perdure.kernel.messages",
    "kernel/messages": "import perdure.kernel.errors, perdure.kernel.pattern, perdure.kernel.value, json, hashlib",
    "kernel/errors": "",
    "kernel/pattern": "import re",
    "kernel/value": "import dataclasses",
}

# The same house while most of it is still to be built.
FOUNDATION = {name: HOUSE[name] for name in ("kernel/__init__", "kernel/messages", "kernel/errors", "kernel/value")} | {
    "__init__": ""
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """What is added to one file of the house, and every contract that has to break."""

    file: str
    source: str
    breaks: set[str]


VIOLATIONS = {
    "nothing": Violation(file="kernel/errors", source="", breaks=set()),
    "an import from above": Violation(
        file="kernel/errors", source="import perdure.kernel.cache", breaks={KERNEL, CYCLES}
    ),
    "an import from above inside a function": Violation(
        file="kernel/errors", source="def late():\n    from perdure.kernel import tokens", breaks={KERNEL, CYCLES}
    ),
    "an import from above for types only": Violation(
        file="kernel/errors",
        source="from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from perdure.kernel import wire",
        breaks={KERNEL, CYCLES},
    ),
    "an import of a sibling in the kernel": Violation(
        file="kernel/prompt", source="import perdure.kernel.wire", breaks={KERNEL}
    ),
    "a kernel package without a place": Violation(file="kernel/plugins", source="", breaks={KERNEL}),
    "a product package without a place": Violation(file="plugins", source="", breaks={PRODUCT}),
    "a clock in the kernel": Violation(file="kernel/cache", source="import time", breaks={PURE}),
    "a clock in the kernel inside a function": Violation(
        file="kernel/models", source="def now():\n    from datetime import datetime", breaks={PURE}
    ),
    "a folder in the kernel": Violation(file="kernel/context/engine", source="import os.path", breaks={PURE}),
    "chance in the kernel": Violation(file="kernel/messages", source="from uuid import uuid4", breaks={PURE}),
    "an event loop in the kernel's table": Violation(file="kernel/agent/step", source="import asyncio", breaks={PURE}),
    "a network client in the kernel": Violation(
        file="kernel/wire", source="import httpx", breaks={ALONE, LAB, CLUSTER}
    ),
    "a model SDK in the kernel": Violation(
        file="kernel/wire", source="from anthropic import types", breaks={ALONE, LAB, CLUSTER}
    ),
    "the product in the kernel": Violation(
        file="kernel/context/engine", source="import perdure.log", breaks={PRODUCT, PURE, CYCLES}
    ),
    "the public door in the kernel": Violation(
        file="kernel/context/strategies/fold", source="from perdure import __version__", breaks={DOOR, KERNEL}
    ),
    "one way in that sees another": Violation(file="terminal", source="import perdure.gateway", breaks={PRODUCT}),
    "test support reaching for a way in": Violation(
        file="testing/__init__", source="import perdure.acp", breaks={PRODUCT}
    ),
    "a double that counts with the kernel": Violation(
        file="testing/doubles", source="import perdure.kernel.tokens", breaks={DOUBLES}
    ),
    "a double that judges with the kernel": Violation(
        file="testing/doubles", source="def judge():\n    import perdure.kernel.wire", breaks={DOUBLES}
    ),
    "a session that needs the doubles": Violation(
        file="session", source="import perdure.testing", breaks={PRODUCT, CYCLES}
    ),
    "secrets that read the log": Violation(file="guard", source="import perdure.log", breaks={PRODUCT}),
    "a cluster with a provider": Violation(file="cluster", source="import perdure.providers", breaks={CLUSTER}),
    "a lab with a cluster": Violation(file="lab", source="import distributed", breaks={LAB}),
    "a lab with a provider": Violation(file="lab", source="import perdure.providers", breaks={LAB, CLUSTER}),
    "a lab with a session": Violation(file="lab", source="import perdure.session", breaks={LAB, CLUSTER}),
    "a lab with a network client": Violation(file="lab", source="import httpx", breaks={LAB, CLUSTER}),
    "a lab with a socket behind the log": Violation(file="log", source="import socket", breaks={LAB, CLUSTER}),
    "a strategy that knows the engine": Violation(
        file="kernel/context/strategies/fold", source="import perdure.kernel.context.engine", breaks={CYCLES}
    ),
}


def build(house: dict[str, str], into: Path) -> Path:
    for name, source in house.items():
        is_package = name.endswith("__init__") or "/" not in name
        path = (
            into / "perdure" / (f"{name}.py" if name.endswith("__init__") or not is_package else f"{name}/__init__.py")
        )
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{source}\n", encoding="utf-8")
    return into


def lint(*trees: Path) -> dict[str, str]:
    """Return import-linter's report per tree, judged by the contracts of this repository."""
    linted = subprocess.run(
        [sys.executable, LINTER, ROOT / "pyproject.toml", *trees], check=True, capture_output=True, text=True
    )
    reports = linted.stdout.split("TREE ")[1:]
    return {heading: report for heading, _, report in (text.partition("\n") for text in reports)}


def verdicts(report: str, verdict: str) -> set[str]:
    return set(re.findall(rf"^(.+) {verdict}\b", report, flags=re.MULTILINE))


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The report on each violation."""
    planted = {
        name: HOUSE | {violation.file: f"{HOUSE.get(violation.file, '')}\n{violation.source}"}
        for name, violation in VIOLATIONS.items()
    }
    trees = {name: build(house, tmp_path_factory.mktemp("house")) for name, house in planted.items()}
    linted = lint(*trees.values())
    return {name: linted[str(tree)] for name, tree in trees.items()}


@pytest.mark.parametrize("name", VIOLATIONS)
def test_a_violation_breaks_its_contracts_and_no_other(reports: dict[str, str], name: str) -> None:
    assert VIOLATIONS[name].breaks == verdicts(reports[name], "BROKEN"), reports[name]


def test_every_contract_is_broken_by_some_violation(reports: dict[str, str]) -> None:
    every_contract = verdicts(reports["nothing"], "KEPT")
    broken = {contract for violation in VIOLATIONS.values() for contract in violation.breaks}

    assert every_contract == broken


def test_rooms_that_are_not_built_yet_break_nothing(tmp_path: Path) -> None:
    report = lint(build(FOUNDATION, tmp_path))[str(tmp_path)]

    assert {PRODUCT, KERNEL, PURE, ALONE, DOOR, LAB, CLUSTER, DOUBLES, CYCLES} == verdicts(report, "KEPT"), report
