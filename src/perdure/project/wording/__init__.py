"""The words of the prompt: the universal base, the roles, and what is told while the agent runs."""

from perdure.project.wording.notes import (
    PLAN_WORDS,
    date_body,
    deferred_body,
    project_body,
    repeated_words,
    skills_body,
    todos_words,
)
from perdure.project.wording.role import MEMORY_RULES, role_block
from perdure.project.wording.universal import universal_base

__all__ = [
    "MEMORY_RULES",
    "PLAN_WORDS",
    "date_body",
    "deferred_body",
    "project_body",
    "repeated_words",
    "role_block",
    "skills_body",
    "todos_words",
    "universal_base",
]
