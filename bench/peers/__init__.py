"""Perdure beside other libraries, on the same transcripts, with the same prices and the same summarizer.

    python -m bench.peers [--sessions PATH ...] [--markdown]

The peers live in an environment of their own, `.cache/peers-venv`, which the first run makes from PyPI: they are no
dependency of the project. Each is measured in a process of its own there, which reaches no network.
"""
