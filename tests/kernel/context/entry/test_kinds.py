"""Each kind of output is told from the others, and keeps what somebody who reads it needs."""

from __future__ import annotations

import pytest

from perdure.kernel.context.entry import Kind, kind_of_output, reduce_text
from perdure.kernel.messages import Json, encode_json


def encode_text(value: Json) -> str:
    return encode_json(value).decode()


def measure(text: str) -> int:
    return len(text.encode()) // 3 + 1


def shrink(text: str, limit: int = 700, hint: str = "") -> str:
    return reduce_text(text, limit=limit, measure=measure, recall="recall h1", hint=hint)


def missing(reduced: str, *needles: str) -> list[str]:
    return [needle for needle in needles if needle not in reduced]


def lines(count: int, form: str) -> str:
    return "\n".join(form.format(n=number, s=number % 60) for number in range(count))


ORDERS: list[Json] = [{"id": f"ord_{n:04d}", "state": "paid", "total": n, "note": "n" * 50} for n in range(400)]
ORDERS[231] = {"id": "ord_0231", "state": "paid", "total": 5, "note": "", "error": "card E_DECLINED_77"}
JSON_TEXT = encode_text({"page": 1, "orders": ORDERS, "next": "cur_9f31"})
NDJSON = "\n".join(
    encode_text({"level": "fatal" if n == 612 else "info", "seq": n, "text": f"event {n} of today"}) for n in range(900)
)
LOG = (
    "build started on host-7\n"
    + lines(900, "2026-05-01T10:00:{s:02d}.120Z INFO worker {n} finished part {n}")
    + "\n2026-05-01T10:17:02.004Z WARN cache nearly full\n2026-05-01T10:17:03.001Z INFO opening ledger 88\n"
    + "2026-05-01T10:17:03.002Z ERROR cannot open ledger: lock held by pid 4711\n"
    + lines(900, "2026-05-01T10:18:{s:02d}.120Z INFO worker {n} finished part {n}")
    + "\nexit code: 3"
)
PYTEST = (
    "============ test session starts ============\ncollected 801 items\n\n"
    + lines(800, "tests/test_cart.py::test_case_{n} PASSED [ {s}%]")
    + "\ntests/test_cart.py::test_discount FAILED [100%]\n\n=============== FAILURES ===============\n"
    + "_____________ test_discount _____________\n\n    def test_discount():\n        cart = Cart(items=3)\n"
    + ">       assert cart.total() == 270\nE       assert 300 == 270\nE        +  where 300 = total()\n\n"
    + "tests/test_cart.py:41: AssertionError\n----------- Captured log call -----------\n"
    + lines(300, "DEBUG cart:cart.py:{n} price looked up")
    + "\n========== short test summary info ==========\nFAILED tests/test_cart.py::test_discount - assert 300 == 270\n"
    + "============ 1 failed, 800 passed in 7.31s ============"
)
JEST = (
    lines(300, "PASS  src/part_{n}.test.ts")
    + "\nFAIL src/money.test.ts\n  ● money › rounds half up\n\n    expect(received).toBe(expected)\n\n"
    + "    Expected: 2.35\n    Received: 2.34\n\n      at Object.<anonymous> (src/money.test.ts:19:24)\n\n"
    + "Test Suites: 1 failed, 300 passed, 301 total\nTests:       1 failed, 900 passed, 901 total\nTime:        9.1 s"
)
GO = (
    lines(400, "=== RUN   TestPart{n}\n--- PASS: TestPart{n} (0.00s)")
    + "\n=== RUN   TestQueue\n    queue_test.go:88: got 3, want 4\n--- FAIL: TestQueue (0.02s)\nFAIL\n"
    + "FAIL\texample.org/queue\t0.412s\nFAIL"
)
CARGO = (
    "running 601 tests\n"
    + lines(600, "test parser::case_{n} ... ok")
    + "\ntest parser::nested ... FAILED\n\nfailures:\n\n---- parser::nested stdout ----\n"
    + "thread 'parser::nested' panicked at src/parser.rs:210:9:\nassertion failed\n  left: 3\n right: 2\n\n"
    + "test result: FAILED. 600 passed; 1 failed; 0 ignored; finished in 0.21s"
)
GREP = "\n".join(f"src/module_{n // 60}.py:{n}:    value = compute_total(order, {n})" for n in range(1, 600))
DIFF = "\n".join(
    f"diff --git a/src/f{n}.py b/src/f{n}.py\nindex 11aa..22bb 100644\n--- a/src/f{n}.py\n+++ b/src/f{n}.py\n"
    f"@@ -{n + 1},9 +{n + 1},9 @@ def run_{n}():\n"
    + "     same line of code\n" * 9
    + f"-    limit = {n}\n+    limit = {n}00"
    for n in range(20)
)
TABLE = (
    "total 1800\n"
    + lines(400, "-rw-r--r--  1 root  staff  {n:7d} May  1 10:{s:02d} part_{n:04d}.parquet")
    + "\n-rw-r--r--  1 root  staff  1234567 May  2 11:00 zz_index.json"
)
CSV = "order,customer,total\n" + lines(900, "ord_{n},cus_{n},{n}")
PYTHON = "import os\n\nLIMIT = 3\n\n" + lines(
    200, "class Part{n}:\n    def run(self, value):\n        total = value + {n}\n        return total\n"
)
NUMBERED = "\n".join(f"{number:6d}\t{line}" for number, line in enumerate(PYTHON.split("\n"), 1))
TRACE = (
    "Traceback (most recent call last):\n"
    + lines(200, '  File "/venv/site-packages/lib/core.py", line {n}, in call\n    return inner(value, {n})')
    + '\n  File "/app/src/billing.py", line 77, in charge\n    return gateway.pay(order)\n'
    + lines(200, '  File "/venv/site-packages/lib/http.py", line {n}, in send\n    return send(value, {n})')
    + "\nGatewayError: declined with code D_4711"
)
PROSE = lines(300, "Paragraph {n} tells at some length what was found. It matters to somebody, or to nobody.")
MARKDOWN = lines(80, "## Chapter {n}\n\nSome words about it.\n\n- one point\n- a second point\n")
MINIFIED = ";".join(f"function a{n}(b){{return b+{n}}}" for n in range(900))


@pytest.mark.parametrize(
    ("text", "hint", "kind"),
    [
        (JSON_TEXT, "bash curl -s localhost/orders", "json"),
        (NDJSON, "", "ndjson"),
        (LOG, "bash make", "log"),
        (PYTEST, "bash pytest", "test_report"),
        (JEST, "", "test_report"),
        (GO, "", "test_report"),
        (CARGO, "", "test_report"),
        (GREP, "", "search_hits"),
        (lines(300, "./src/part/file_{n}.ts"), "bash find . -name '*.ts'", "search_hits"),
        (DIFF, "bash git diff", "diff"),
        (TABLE, "bash ls -l", "table"),
        (CSV, "bash cat orders.csv", "table"),
        (PYTHON, "", "file"),
        (PYTHON, "read src/parts.py", "file"),
        (NUMBERED, "", "file"),
        (LOG, "read build.log", "log"),
        (TRACE, "", "traceback"),
        (PROSE, "", "prose"),
        (MINIFIED, "read dist/app.js", "minified"),
        ("", "", "prose"),
    ],
)
def test_the_kind_is_what_a_reader_would_say(text: str, hint: str, kind: Kind) -> None:
    assert kind_of_output(text, hint) == kind


def test_json_keeps_its_keys_both_ends_and_the_item_with_the_error() -> None:
    reduced = shrink(JSON_TEXT)

    assert missing(reduced, '"page": 1', "400 items", "ord_0000", "ord_0399", "cur_9f31", "E_DECLINED_77") == []


def test_json_keeps_both_ends_of_a_long_string() -> None:
    text = encode_text({"a": "start_77" + "x" * 9_000 + "end_78", "b": [1, 2], "c": "y" * 9_000})

    assert missing(shrink(text, 200), "start_77", "end_78", '"b": [1, 2]', '"c"') == []


def test_lines_of_json_keep_the_odd_one() -> None:
    assert missing(shrink(NDJSON), "event 0 ", "event 899 ", "fatal", "event 612 ") == []


def test_a_log_keeps_its_failure_what_surrounds_it_and_both_ends() -> None:
    reduced = shrink(LOG)

    assert missing(reduced, "host-7", "pid 4711", "opening ledger 88", "nearly full", "exit code: 3") == []


def test_a_log_counts_similar_lines() -> None:
    assert "similar lines omitted]" in shrink(LOG)


def test_one_failure_of_each_likeness_comes_before_the_second_of_any() -> None:
    text = (
        lines(800, "ERROR part {n} failed to load") + "\nERROR quota of tenant blue exceeded\n" + lines(800, "ok {n}")
    )

    assert missing(shrink(text, 300, "bash run"), "ERROR part 0 failed", "quota of tenant blue") == []


@pytest.mark.parametrize(
    ("report", "needles"),
    [
        (
            PYTEST,
            (
                "test_discount ___",
                "assert cart.total() == 270",
                "assert 300 == 270",
                "test_cart.py:41",
                "1 failed, 800",
            ),
        ),
        (JEST, ("rounds half up", "Expected: 2.35", "Received: 2.34", "money.test.ts:19:24", "1 failed, 900 passed")),
        (GO, ("queue_test.go:88: got 3, want 4", "--- FAIL: TestQueue", "example.org/queue")),
        (CARGO, ("parser::nested ... FAILED", "src/parser.rs:210:9", "left: 3", "right: 2", "600 passed; 1 failed")),
    ],
    ids=["pytest", "jest", "go", "cargo"],
)
def test_a_test_report_keeps_failures_with_their_evidence_and_the_counts(report: str, needles: tuple[str, ...]) -> None:
    assert missing(shrink(report), *needles) == []


def test_passed_tests_are_counted() -> None:
    assert "of passed tests omitted]" in shrink(CARGO)


def test_a_traceback_keeps_the_exception_and_the_projects_own_frame() -> None:
    needles = ("Traceback", "billing.py", "gateway.pay(order)", "D_4711")

    assert missing(shrink(TRACE, 400), *needles) == []


def test_search_hits_keep_a_hit_of_every_file_and_count_the_rest() -> None:
    reduced = shrink(GREP)

    assert missing(reduced, *(f"src/module_{n}.py:" for n in range(10)), ":1:", ":599:", "more of the same") == []


def test_a_diff_keeps_every_file_and_changed_lines_before_context() -> None:
    reduced = shrink(DIFF, 900)
    needles = (*(f"diff --git a/src/f{n}.py" for n in range(20)), "-    limit = 0", "+    limit = 000", "limit = 1900")

    assert missing(reduced, *needles) == []


def test_changes_of_a_lock_file_come_last() -> None:
    lock = "diff --git a/uv.lock b/uv.lock\n--- a/uv.lock\n+++ b/uv.lock\n@@ -1,1 +1,900 @@\n" + lines(900, "+hash {n}")

    assert missing(shrink(f"{lock}\n{DIFF}", 1_500), "+    limit = 000", "+    limit = 500") == []


def test_a_table_keeps_its_header_both_ends_and_the_number_of_rows() -> None:
    assert missing(shrink(TABLE), "total 1800", "part_0000", "zz_index.json", "of 402 lines in all") == []


def test_a_csv_keeps_its_columns() -> None:
    assert missing(shrink(CSV), "order,customer,total", "ord_0,", "ord_899,") == []


def test_file_text_tells_the_omitted_lines_and_what_is_declared_there() -> None:
    reduced = shrink(PYTHON)

    assert missing(reduced, "import os", "lines omitted: lines ", "105: class Part20:", "value + 199") == []


def test_file_text_with_numbers_keeps_them() -> None:
    reduced = shrink(NUMBERED)

    assert missing(reduced, "     1\timport os", "   105\tclass Part20:", "  1004\t") == []


def test_headings_of_a_page_are_its_outline() -> None:
    assert missing(shrink(MARKDOWN, hint="read guide.md"), "## Chapter 0", ": ## Chapter 20", "## Chapter 79") == []


def test_prose_ends_at_line_ends() -> None:
    reduced = shrink(PROSE).split("\n")
    whole = set(PROSE.split("\n"))

    assert [line for line in reduced[1:] if line not in whole and not line.startswith("[…")] == []


def test_one_giant_line_keeps_head_and_tail() -> None:
    assert missing(shrink(MINIFIED), "function a0(", "return b+899}", "characters omitted]") == []
