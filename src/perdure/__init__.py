"""Perdure keeps a coding agent going for as long as the work lasts.

This file knows the public names, nothing else. Importing it has no side effect.
"""

__all__ = ["__version__"]

__version__ = "0.1.0"
