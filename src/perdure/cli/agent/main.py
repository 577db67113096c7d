"""`perdure`: a session in this folder.

It knows options. It must never know what a session does.
"""

from __future__ import annotations

import argparse


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Open a session."""
    return 0
