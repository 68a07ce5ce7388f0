"""Rows of a JSON-lines file: no byte is lost, and damage costs only the damaged piece."""

import json
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from swapcache.model import Row
from swapcache.transcripts import lines

PIECES = st.one_of(
    st.binary(max_size=30),
    st.sampled_from(
        [b"\n", b"\r\n", b"\n\n", b'{"', b'{"type":"user"}', b"\x00" * 5, b"\xef\xbb\xbf"]
    ),
    st.dictionaries(st.text(max_size=5), st.text(max_size=20), max_size=3).map(
        lambda value: json.dumps(value).encode() + b"\n"
    ),
)
FILES = st.lists(PIECES, max_size=12).map(b"".join)


def write(folder: Path, data: bytes) -> int:
    """A descriptor of a file with `data`."""
    path = folder / "t.jsonl"
    path.write_bytes(data)
    return os.open(path, os.O_RDONLY)


def read_all(file: int, size: int, limit: int, at: int = 0) -> tuple[list[Row], int]:
    """Every row from `at` on, read in steps of `limit` bytes, and the cursor behind them."""
    rows: list[Row] = []
    while True:
        new, cursor, pending, more = lines.read(file, at, limit)
        assert pending == size - cursor
        assert cursor > at or not more, "a bound that was reached must let the next call go on"
        rows, at = rows + new, cursor
        if not more:
            return rows, at


def rows_of(folder: Path, data: bytes) -> list[Row]:
    """Rows of a file with `data`, in one read."""
    file = write(folder, data)
    try:
        return lines.read(file, 0, 1 << 30)[0]
    finally:
        os.close(file)


def values(rows: list[Row]) -> list[object]:
    """What could be read."""
    return [row.value for row in rows if row.value is not None]


def damages(rows: list[Row]) -> list[str]:
    """Why the other rows could not be read; blank lines are no damage."""
    return [row.reason for row in rows if row.reason]


@settings(max_examples=300)
@given(FILES, st.integers(1, 200))
def test_the_rows_joined_are_the_bytes_that_were_read_at_any_bound(data: bytes, limit: int) -> None:
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.flush()
        rows, cursor = read_all(file.fileno(), len(data), limit)
    assert b"".join(row.raw for row in rows) == data[:cursor]
    assert all(data[row.start : row.start + len(row.raw)] == row.raw for row in rows)
    assert b"\n" not in data[cursor:], "only an unfinished last line stays for later"


@settings(max_examples=200)
@given(FILES, st.integers(1, 200))
def test_every_row_has_a_value_or_a_reason_or_is_blank(data: bytes, limit: int) -> None:
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.flush()
        rows, _ = read_all(file.fileno(), len(data), limit)
    for row in rows:
        blank = not row.raw.strip(b" \t\r\n")
        assert (row.value is not None) + bool(row.reason) + blank == 1, row


@settings(max_examples=200)
@given(
    st.lists(st.dictionaries(st.text(max_size=6), st.text(max_size=9), max_size=3), min_size=1),
    st.sampled_from([b"\n", b"\r\n"]),
    st.data(),
)
def test_a_file_read_while_it_grows_gives_the_same_values_as_the_finished_one(
    records: list[dict[str, str]], end: bytes, data: st.DataObject
) -> None:
    whole = b"".join(json.dumps(record, ensure_ascii=False).encode() + end for record in records)
    cut = data.draw(st.integers(0, len(whole)))
    with tempfile.TemporaryFile() as file:
        file.write(whole[:cut])
        file.flush()
        first, cursor = read_all(file.fileno(), cut, 1 << 20)
        file.write(whole[cut:])
        file.flush()
        second, last = read_all(file.fileno(), len(whole), 1 << 20, cursor)
    assert values(first + second) == records
    assert last == len(whole)
    assert damages(first + second) == []


def test_A10_a_torn_last_line_stays_and_is_read_once_it_is_finished(tmp_path: Path) -> None:
    file = write(tmp_path, b'{"a":1}\n{"b":"hal')
    rows, cursor, pending, more = lines.read(file, 0, 1 << 20)
    assert (values(rows), cursor, pending, more) == ([{"a": 1}], 8, 9, False)
    assert lines.read(file, cursor, 1 << 20) == ([], cursor, 9, False)
    with (tmp_path / "t.jsonl").open("ab") as more_of_it:
        more_of_it.write(b'f"}\n')
    rows, cursor, pending, more = lines.read(file, cursor, 1 << 20)
    assert (values(rows), pending, more) == ([{"b": "half"}], 0, False)
    assert lines.read(file, cursor, 1 << 20) == ([], cursor, 0, False)
    os.close(file)


def test_A10_one_broken_line_of_600_costs_one_row(tmp_path: Path) -> None:
    made = [json.dumps({"type": "user", "n": n}).encode() + b"\n" for n in range(600)]
    made[500] = made[500][:12] + b"\n"
    rows = rows_of(tmp_path, b"".join(made))
    assert len(rows) == 600
    assert [value["n"] for value in values(rows) if isinstance(value, dict)] == [
        n for n in range(600) if n != 500
    ]
    (broken,) = [row for row in rows if row.reason]
    assert broken.start == sum(map(len, made[:500]))


def test_A10_a_torn_first_line_costs_one_row(tmp_path: Path) -> None:
    rows = rows_of(tmp_path, b'lf a record"}}\n{"a":1}\n')
    assert values(rows) == [{"a": 1}]
    assert len(damages(rows)) == 1


def test_A10_a_whole_record_glued_to_a_torn_one_is_recovered(tmp_path: Path) -> None:
    torn = b'{"type":"assistant","message":{"role":"assistant","content":[{"type":"te'
    whole = b'{"type":"user","message":{"role":"user","content":"go on"}}\n'
    rows = rows_of(tmp_path, b'{"type":"a"}\n' + torn + whole + b'{"type":"z"}\n')
    assert values(rows) == [{"type": "a"}, json.loads(whole), {"type": "z"}]
    (lost,) = [row for row in rows if row.reason]
    assert lost.raw == torn


def test_A10_a_whole_record_behind_a_torn_one_with_many_objects_is_recovered(
    tmp_path: Path,
) -> None:
    todos = b",".join(b'{"content":"step %d"}' % n for n in range(100))
    torn = b'{"type":"assistant","todos":[' + todos + b',{"cont'
    rows = rows_of(tmp_path, torn + b'{"type":"user","n":1}\n')
    assert values(rows) == [{"type": "user", "n": 1}]


def test_A10_two_whole_records_glued_together_are_both_read(tmp_path: Path) -> None:
    rows = rows_of(tmp_path, b'{"type":"user","n":1}{"type":"user","n":2}\n')
    assert values(rows) == [{"type": "user", "n": 1}, {"type": "user", "n": 2}]


def test_a_second_object_inside_a_string_is_not_taken_for_a_glued_record(tmp_path: Path) -> None:
    line = json.dumps({"type": "user", "text": 'torn {"type":"x"} in words'}).encode() + b"\n"
    rows = rows_of(tmp_path, line)
    assert values(rows) == [json.loads(line)]
    assert len(rows) == 1


def test_A10_a_run_of_nul_bytes_costs_one_row_and_is_named(tmp_path: Path) -> None:
    rows = rows_of(tmp_path, b'{"a":1}\n' + b"\x00" * 4096 + b'\n{"b":2}\n')
    assert values(rows) == [{"a": 1}, {"b": 2}]
    assert damages(rows) == ["a run of NUL bytes"]


def test_A10_a_record_behind_a_hole_of_nul_bytes_on_the_same_line_is_read(tmp_path: Path) -> None:
    rows = rows_of(tmp_path, b"\x00" * 512 + b'{"type":"user"}\n')
    assert values(rows) == [{"type": "user"}]


@pytest.mark.parametrize(
    ("line", "value"),
    [
        pytest.param(b'\xef\xbb\xbf{"a":1}\n', {"a": 1}, id="byte order mark"),
        pytest.param(b'\xef\xbb\xbf{"a":"\x01"}\n', {"a": "\x01"}, id="mark and control character"),
        pytest.param(b'{"a":1}\r\n', {"a": 1}, id="CRLF"),
        pytest.param(b'{"a":"x\xffy"}\n', {"a": "x\ufffdy"}, id="invalid UTF-8"),
        pytest.param(b'{"a":"x\x0b\ty"}\n', {"a": "x\x0b\ty"}, id="raw control characters"),
        pytest.param(b'{"a":"x\x00y"}\n', {"a": "x\x00y"}, id="raw NUL in a string"),
        pytest.param(b'{"a":"\\ud83d!"}\n', {"a": "\ud83d!"}, id="lone surrogate escape"),
        pytest.param(b'{"a":1,"a":2}\n', {"a": 2}, id="duplicate keys"),
        pytest.param(b'  {"a":1}  \n', {"a": 1}, id="blanks around"),
    ],
)
def test_A10_an_odd_line_is_read_and_no_damage(
    tmp_path: Path, line: bytes, value: dict[str, object]
) -> None:
    (row,) = rows_of(tmp_path, line)
    assert (row.raw, row.value, row.reason) == (line, value, "")


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}\n", id="nesting 100,000"),
        pytest.param(b'{"a":' + b"9" * 5000 + b"}\n", id="integer of 5,000 digits"),
        pytest.param(b"[1, 2]\n", id="array"),
        pytest.param(b'"words"\n', id="string"),
        pytest.param(b"null\n", id="null"),
        pytest.param(b"name,size\n", id="CSV"),
    ],
)
def test_A10_a_line_that_is_no_readable_object_costs_one_row(tmp_path: Path, line: bytes) -> None:
    rows = rows_of(tmp_path, b'{"a":1}\n' + line + b'{"b":2}\n')
    assert values(rows) == [{"a": 1}, {"b": 2}]
    assert [row.raw for row in rows if row.reason] == [line]


@pytest.mark.parametrize("char", ["\u2028", "\u2029", "\u0085", "\x0b", "\x0c", "\x1c", "\x1e"])
def test_only_a_line_feed_ends_a_row(tmp_path: Path, char: str) -> None:
    text = f"one{char}two"
    raw = ('{"type":"user","text":"' + text + '"}\n').encode()
    (row,) = rows_of(tmp_path, raw)
    assert row.value == {"type": "user", "text": text}


def test_blank_lines_are_kept_and_are_no_damage(tmp_path: Path) -> None:
    data = b'\n  \n{"a":1}\n\r\n'
    rows = rows_of(tmp_path, data)
    assert b"".join(row.raw for row in rows) == data
    assert (values(rows), damages(rows)) == ([{"a": 1}], [])


def test_a_line_longer_than_the_bound_is_read_whole(tmp_path: Path) -> None:
    long = json.dumps({"type": "user", "text": "x" * 3_000_000}).encode() + b"\n"
    file = write(tmp_path, b'{"a":1}\n' + long + b'{"b":2}\n')
    rows, cursor = read_all(file, os.fstat(file).st_size, 100)
    os.close(file)
    assert values(rows) == [{"a": 1}, json.loads(long), {"b": 2}]
    assert cursor == len(long) + 16


def test_a_bound_that_is_reached_says_that_more_follows(tmp_path: Path) -> None:
    file = write(tmp_path, b'{"a":1}\n' * 10)
    rows, cursor, pending, more = lines.read(file, 0, 20)
    os.close(file)
    assert (len(rows), cursor, pending, more) == (2, 16, 64, True)


def test_a_whole_object_without_its_line_end_is_taken_once(tmp_path: Path) -> None:
    file = write(tmp_path, b'{"a":1}\n{"b":2}')
    rows, cursor, pending, _ = lines.read(file, 0, 1 << 20)
    assert (values(rows), pending) == ([{"a": 1}, {"b": 2}], 0)
    with (tmp_path / "t.jsonl").open("ab") as more_of_it:
        more_of_it.write(b'\n{"c":3}\n')
    later, _, _, _ = lines.read(file, cursor, 1 << 20)
    os.close(file)
    assert values(later) == [{"c": 3}]
    assert damages(rows + later) == []
    assert b"".join(row.raw for row in rows + later) == b'{"a":1}\n{"b":2}\n{"c":3}\n'


def test_nothing_is_read_from_an_empty_file_or_from_its_end(tmp_path: Path) -> None:
    file = write(tmp_path, b"")
    assert lines.read(file, 0, 1 << 20) == ([], 0, 0, False)
    assert lines.read(file, 40, 1 << 20) == ([], 40, 0, False)
    os.close(file)
