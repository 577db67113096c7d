"""The archive: the original of everything that left a view, recalled exactly, by handle or by words."""

from perdure.archive.archive import Archive, carry_over, folder_of, open_archive
from perdure.archive.collect import Collected, collect, doomed, weigh_blobs
from perdure.archive.find import Hit, Line, lines_matching
from perdure.archive.index import Listed
from perdure.archive.rebuild import originals_in
from perdure.archive.recalled import Recalled

__all__ = [
    "Archive",
    "Collected",
    "Hit",
    "Line",
    "Listed",
    "Recalled",
    "carry_over",
    "collect",
    "doomed",
    "folder_of",
    "lines_matching",
    "open_archive",
    "originals_in",
    "weigh_blobs",
]
