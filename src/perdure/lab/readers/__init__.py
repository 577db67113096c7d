"""Readers of recorded sessions: files of many harnesses in, `Recording` values out."""

from perdure.lab.readers.files import walk
from perdure.lab.readers.format import Format
from perdure.lab.readers.read import detect, read
from perdure.lab.readers.registry import FORMATS

__all__ = ["FORMATS", "Format", "detect", "read", "walk"]
