"""The command line: parses, picks, calls. It knows the other packages and must never decide what they decide."""

from perdure.cli.main import main

__all__ = ["main"]
