"""An invented project: its tree of files, and what they hold as the agent edits them.

It knows paths and lines. It must never know the agent's plans. A file is written when somebody first looks at it.
"""

from __future__ import annotations

from perdure.testing.sessions.dice import Dice
from perdure.testing.sessions.sources import WRITERS
from perdure.testing.sessions.vocabulary import DOMAINS, LAYERS, Domain


class Project:
    """A working tree that can be read, searched and edited."""

    def __init__(self, dice: Dice) -> None:
        self._dice = dice.fork("project")
        self.domain: Domain = self._dice.pick(DOMAINS)
        self._places = _tree(self._dice, self.domain)
        self._files: dict[str, list[str]] = {}

    @property
    def paths(self) -> list[str]:
        """Every file, sorted."""
        return sorted({*self._places, *self._files})

    def lines(self, path: str) -> list[str]:
        """What a file holds now."""
        if path not in self._files:
            kind, entity, fields = self._places[path]
            self._files[path] = WRITERS[kind](self._dice.fork(path), self.domain, entity, fields)
        return self._files[path]

    def replace(self, path: str, start: int, stop: int, new: list[str]) -> None:
        """Put other lines in the place of these."""
        self.lines(path)[start:stop] = new

    def write(self, path: str, lines: list[str]) -> None:
        """Make a file, or write it anew."""
        self._files[path] = lines

    def sources(self) -> list[str]:
        """The files that an agent changes."""
        return [path for path in self.paths if path.endswith((".py", ".tsx", ".go"))]

    def tests(self) -> list[str]:
        """The files of tests."""
        return [path for path in self.paths if path.startswith("tests/")]


def _tree(dice: Dice, domain: Domain) -> dict[str, tuple[str, str, tuple[str, ...]]]:
    """What stands at each path: kind of file, and the entity that it is about."""
    places: dict[str, tuple[str, str, tuple[str, ...]]] = {}
    for number, (entity, fields) in enumerate(domain.entities, start=1):
        for layer in dice.some(LAYERS, 3):
            places[f"services/{domain.package}/{entity}/{layer}.py"] = ("module", entity, fields)
        places[f"tests/unit/test_{entity}.py"] = ("test", entity, fields)
        places[f"tests/integration/test_{entity}_flow.py"] = ("test", entity, fields)
        places[f"web/src/{entity}/{entity.capitalize()}Table.tsx"] = ("component", entity, fields)
        places[f"gateway/internal/{entity}/handler.go"] = ("handler", entity, fields)
        places[f"db/migrations/{number:04d}_{entity}.sql"] = ("migration", entity, fields)
        places[f"config/{entity}.yaml"] = ("settings", entity, fields)
    entity, fields = domain.entities[0]
    places[f"docs/运维手册-{entity}.md"] = ("manual", entity, fields)
    return places
