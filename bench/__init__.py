"""Benchmarks: `python -m bench` prints the speed of Perdure, what it aims at, and its peers' speed in the same run."""
