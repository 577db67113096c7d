"""Which reducer serves which kind: the one place where they meet.

It knows the table. It must never know how any of them works. A new kind is one name, one file and one line here.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from perdure.kernel.context.entry.diff import draft_diff
from perdure.kernel.context.entry.ends import draft_ends
from perdure.kernel.context.entry.file_text import draft_file
from perdure.kernel.context.entry.json_text import draft_json, draft_ndjson
from perdure.kernel.context.entry.kind import Kind, Reducer
from perdure.kernel.context.entry.log import draft_log
from perdure.kernel.context.entry.search_hits import draft_search_hits
from perdure.kernel.context.entry.table import draft_table
from perdure.kernel.context.entry.test_reports import draft_test_report
from perdure.kernel.context.entry.traces import draft_traceback

REDUCERS: Mapping[Kind, Reducer] = MappingProxyType(
    {
        "json": draft_json,
        "ndjson": draft_ndjson,
        "log": draft_log,
        "test_report": draft_test_report,
        "search_hits": draft_search_hits,
        "diff": draft_diff,
        "table": draft_table,
        "file": draft_file,
        "traceback": draft_traceback,
        "prose": draft_ends,
        "minified": draft_ends,
    }
)
