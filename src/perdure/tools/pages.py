"""The text of files that are no plain text: the cells of a notebook, the pages of a PDF.

It knows the two formats. It must never know where a file lies. PDFs need the extra `tools`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from io import BytesIO
from typing import Protocol, cast

from perdure.kernel.errors import InvalidJson
from perdure.kernel.messages import Json, JsonObject, decode_object
from perdure.tools.failed import ToolFailed

OUTPUT = 4_000
"""Characters of a cell's output that are shown."""
PAGES = 20
"""Pages of a PDF in one answer."""


class _Page(Protocol):
    def extract_text(self) -> str: ...


class _Reader(Protocol):
    @property
    def pages(self) -> list[_Page]: ...


def cells_of(text: str) -> str:
    """The cells of a notebook, each under a line that names it, with what it printed.

    Raises:
        ToolFailed: it is no notebook.
    """
    try:
        cells = decode_object(text).get("cells")
    except InvalidJson as error:
        raise ToolFailed("This notebook is no JSON. Use bash to look at it.") from error
    if not isinstance(cells, list):
        raise ToolFailed("This notebook has no cells (it may be older than format 4). Use bash to look at it.")
    rows = (row for number, cell in enumerate(cells, 1) if isinstance(cell, dict) for row in _cell(number, cell))
    return "\n".join(rows) + "\n"


def pdf_pages(data: bytes, first: int, limit: int, room: int) -> str:
    """The text of some pages, behind the end of a line that tells which.

    Raises:
        ToolFailed: no reader is installed, or the file cannot be read.
    """
    try:
        # An extra brings it, and everything else works without.
        make = cast("Callable[[BytesIO], _Reader]", import_module("pypdf").PdfReader)
    except ImportError as error:
        raise ToolFailed("To read PDFs, the user has to install perdure[tools]. pdftotext in bash may do.") from error
    try:
        reader = make(BytesIO(data))
        whole = len(reader.pages)
        texts = [reader.pages[at].extract_text() for at in range(first - 1, min(whole, first - 1 + min(limit, PAGES)))]
    # Damaged PDFs make the library raise nearly everything.
    except Exception as error:
        raise ToolFailed(f"This PDF cannot be read: {type(error).__name__}.") from error
    if not texts:
        raise ToolFailed(f"This PDF has {whole} pages; there is no page {first}.")
    shown = "\n".join(f"--- page {number} ---\n{text}" for number, text in enumerate(texts, first))
    last = first + len(texts) - 1
    more = f" Go on with offset {last + 1}." if last < whole else ""
    more += " The text is cut; ask for fewer pages." if len(shown) > room else ""
    return f"pages {first}-{last} of {whole}.{more}]\n{shown[:room]}"


def _cell(number: int, cell: JsonObject) -> Iterator[str]:
    kind = cell.get("cell_type")
    yield f"[cell {number}: {kind}]"
    yield _joined(cell.get("source")).rstrip("\n")
    outputs = cell.get("outputs")
    for output in outputs if isinstance(outputs, list) else ():
        if isinstance(output, dict) and (text := _output(output)):
            yield f"[output of cell {number}]"
            yield text[:OUTPUT].rstrip("\n") + (f"\n[{len(text) - OUTPUT:,} more characters]" * (len(text) > OUTPUT))


def _output(output: JsonObject) -> str:
    if output.get("output_type") == "error":
        return f"{output.get('ename')}: {output.get('evalue')}"
    found = output.get("data")
    if not isinstance(found, dict):
        return _joined(output.get("text"))
    told = _joined(found.get("text/plain"))
    pictures = " ".join(f"[{kind}]" for kind in found if kind.startswith("image/"))
    return f"{told} {pictures}".strip()


def _joined(value: Json) -> str:
    """Notebooks write a text as a string, or as the list of its lines."""
    return "".join(str(part) for part in value) if isinstance(value, list) else str(value or "")
