"""Hooks: the user's own commands around tools, compactions and the end of a run."""

from perdure.tools.hooks.hooks import Hook, Hooks, Said, hooks_of, with_hooks

__all__ = ["Hook", "Hooks", "Said", "hooks_of", "with_hooks"]
