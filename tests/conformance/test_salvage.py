"""The salvage matrix: every damage in every format's recorded transcript.

The oracle shares no code with the readers. It knows which rows it damaged and how: what is kept are
all the others, with their values; what is lost is each damaged piece, with its place and a reason.
Nothing raises, and the source is never written.
"""

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from swapcache.model import Row
from swapcache.transcripts import formats, lines
from swapcache.transcripts.tree import Back, Tree
from tests.conformance.test_readers import FOLDERS, bodies, fixture, stored

MB5 = 5 << 20
DEEP = 100_000
Raw = list[bytes]


@dataclass(frozen=True)
class Hurt:
    """A damaged transcript, and what the oracle knows of it."""

    rows: Raw
    values: list[Any]
    """What is kept, in order."""
    lost: list[int]
    """Where the lost pieces begin."""
    pending: int = 0


def value(raw: bytes) -> Any:
    """An undamaged row as any JSON reader reads it."""
    return json.loads(raw)


def starts(rows: Raw) -> list[int]:
    """Where each row begins."""
    return [sum(map(len, rows[:index])) for index in range(len(rows))]


def lose(rows: Raw, at: int, instead: bytes) -> Hurt:
    """Row `at` is `instead`, which nobody can read."""
    hurt = [*rows[:at], instead, *rows[at + 1 :]]
    kept = [value(row) for index, row in enumerate(rows) if index != at]
    return Hurt(hurt, kept, [starts(hurt)[at]])


def add(rows: Raw, at: int, extra: bytes, lost: bool = True) -> Hurt:
    """A row more before row `at`, which nobody can read, or which says nothing."""
    hurt = [*rows[:at], extra, *rows[at:]]
    return Hurt(hurt, list(map(value, rows)), [starts(hurt)[at]] if lost else [])


def change(rows: Raw, at: int, instead: bytes, read: Any) -> Hurt:
    """Row `at` is odd, but is read as `read`."""
    kept = [*map(value, rows[:at]), read, *map(value, rows[at + 1 :])]
    return Hurt([*rows[:at], instead, *rows[at + 1 :]], kept, [])


def every(rows: Raw, how: Callable[[bytes], bytes]) -> Hurt:
    """All rows are odd, and mean the same."""
    return Hurt([how(row) for row in rows], list(map(value, rows)), [])


def more(raw: bytes, text: str, read: Any, key: str = "extra") -> tuple[bytes, Any]:
    """A row with one more field: its bytes, and what they mean."""
    bare = raw.rstrip(b"\n")
    return bare[:-1] + f',"{key}":{text}}}\n'.encode("utf-8", "surrogateescape"), {
        **value(raw),
        key: read,
    }


def field(text: str, read: Any) -> Callable[[Raw, int], Hurt]:
    """Row `at` has one more field."""

    def done(rows: Raw, at: int) -> Hurt:
        raw, meant = more(rows[at], text, read)
        return change(rows, at, raw, meant)

    return done


def glue(rows: Raw, at: int, torn: int | None = None) -> Hurt:
    """The line end of row `at` is missing; with `torn` only so many bytes of the row are there."""
    if torn is None:
        first = rows[at].rstrip(b"\n")
        return Hurt([*rows[:at], first, *rows[at + 1 :]], list(map(value, rows)), [])
    return lose(rows, at, rows[at][:torn])


def twice(rows: Raw, at: int) -> Hurt:
    """A key stands twice in a row: the last one counts."""
    raw = b'{"extra":1,' + rows[at][1:]
    raw, _ = more(raw, "2", 2)
    return change(rows, at, raw, {"extra": 2, **value(rows[at])})


DAMAGES: dict[str, Callable[[Raw, int], Hurt]] = {
    "nothing": lambda rows, at: Hurt(rows, list(map(value, rows)), []),
    "torn last line": lambda rows, at: Hurt(
        [*rows[:-1], rows[-1][:-9]],
        list(map(value, rows[:-1])),
        [],
        len(rows[-1]) - 9,
    ),
    "last line end missing": lambda rows, at: Hurt(
        [*rows[:-1], rows[-1][:-1]], list(map(value, rows)), []
    ),
    "broken line": lambda rows, at: lose(rows, at, rows[at][: len(rows[at]) // 2] + b"\n"),
    "beginning of a line gone": lambda rows, at: lose(rows, at, rows[at][9:]),
    "garbage over a beginning": lambda rows, at: lose(rows, at, b"\x00\xff{]" + rows[at][4:]),
    "two records glued": glue,
    "torn one glued to a whole one": lambda rows, at: glue(rows, at, len(rows[at]) // 3),
    "cut behind a colon, glued": lambda rows, at: glue(rows, at, rows[at].index(b":") + 1),
    "control characters": field('"a\x01\x08\x0b\x1b[31mb"', "a\x01\x08\x0b\x1b[31mb"),
    "NUL in a string": field('"a\x00b"', "a\x00b"),
    "NUL run for a line": lambda rows, at: add(rows, at, b"\x00" * 4096 + b"\n"),
    "NUL run before a record": lambda rows, at: change(
        rows, at, b"\x00" * 512 + rows[at], value(rows[at])
    ),
    "NUL run over a line": lambda rows, at: lose(rows, at, b"\x00" * 300 + b"\n"),
    "lone surrogates": field('"\\ud83d \\udc00"', "\ud83d \udc00"),
    "invalid UTF-8": field('"x\udcffy\udcc3"', "x\ufffdy\ufffd"),
    "byte order mark": lambda rows, at: change(rows, 0, b"\xef\xbb\xbf" + rows[0], value(rows[0])),
    "byte order marks": lambda rows, at: every(rows, lambda row: b"\xef\xbb\xbf" + row),
    "CRLF": lambda rows, at: every(rows, lambda row: row[:-1] + b"\r\n"),
    "blanks around": lambda rows, at: every(rows, lambda row: b" \t" + row[:-1] + b"  \n"),
    "5 MB line": field('"' + "x" * MB5 + '"', "x" * MB5),
    "nested too deeply": lambda rows, at: add(
        rows, at, b'{"type":"x","a":' + b"[" * DEEP + b"]" * DEEP + b"}\n"
    ),
    "unclosed and deep": lambda rows, at: add(rows, at, b'{"a":' * DEEP + b"\n"),
    "huge integer": lambda rows, at: add(rows, at, b'{"type":"x","a":' + b"9" * 5000 + b"}\n"),
    "huge float": field("1e999", float("inf")),
    "infinity": field("-Infinity", float("-inf")),
    "duplicate keys": twice,
    "header gone": lambda rows, at: Hurt(rows[1:], list(map(value, rows[1:])), []),
    "header damaged": lambda rows, at: lose(rows, 0, rows[0][: len(rows[0]) // 2] + b"\n"),
    "row gone": lambda rows, at: Hurt(
        [*rows[:at], *rows[at + 1 :]], list(map(value, [*rows[:at], *rows[at + 1 :]])), []
    ),
    "empty lines": lambda rows, at: Hurt(
        [part for row in rows for part in (b"\n", b"  \r\n", row)], list(map(value, rows)), []
    ),
    "array": lambda rows, at: add(rows, at, b'[{"type":"user"}]\n'),
    "number": lambda rows, at: add(rows, at, b"7\n"),
    "string": lambda rows, at: add(rows, at, b'"words"\n'),
    "null": lambda rows, at: add(rows, at, b"null\n"),
    "prose": lambda rows, at: add(rows, at, b"an editor was here\n"),
    "half a brace": lambda rows, at: add(rows, at, b"{\n"),
    "row told twice": lambda rows, at: Hurt(
        [*rows[:at], rows[at], *rows[at:]],
        list(map(value, [*rows[:at], rows[at], *rows[at:]])),
        [],
    ),
    "unknown row": lambda rows, at: change(
        [*rows[:at], b"{}\n", *rows[at:]],
        at,
        b'{"type":"of tomorrow","id":"t","payload":{"type":["?"]},"message":{"parts":7}}\n',
        value(b'{"type":"of tomorrow","id":"t","payload":{"type":["?"]},"message":{"parts":7}}'),
    ),
    "line separators in a string": field('"a\u2028b\u2029c\u0085d"', "a\u2028b\u2029c\u0085d"),
}


def read(path: Path) -> tuple[list[Row], int]:
    """All rows and what is pending; the file must stay as it is."""
    before, stat = path.read_bytes(), path.stat()
    with path.open("rb") as file:
        rows, _, pending, _ = lines.read(file.fileno(), 0, 1 << 30)
    after = path.stat()
    assert path.read_bytes() == before
    assert (after.st_mtime_ns, after.st_size) == (stat.st_mtime_ns, stat.st_size)
    return rows, pending


def understood(rows: list[Row], name: str) -> list[Any]:
    """What the reader says of each row: it must say something, whatever the row."""
    reader = formats.sniff(rows, "test")
    assert reader.name == name
    tree = Tree()
    told = []
    for row in rows:
        if row.value is None:
            continue
        message = reader.message(row.value)
        place = reader.place(row.value) if reader.place else None
        told.append((message, reader.session_of(row.value), reader.workspace_of(row.value)))
        tree.take(place, message is not None and message.kind == "request")
    tree.left()
    return told


@pytest.fixture(params=FOLDERS, ids=lambda folder: folder.name)
def recorded(request: pytest.FixtureRequest) -> tuple[dict[str, Any], Raw]:
    """Each format's recorded transcript."""
    return fixture(request.param)


def as_text(given: Any) -> str:
    """A value that compares, also one that is no number."""
    return json.dumps(given, sort_keys=True)


@pytest.mark.parametrize("damage", DAMAGES)
def test_A10_kept_is_all_that_is_whole_and_lost_is_what_was_damaged(
    recorded: tuple[dict[str, Any], Raw], damage: str, tmp_path: Path
) -> None:
    expected, rows = recorded
    hurt = DAMAGES[damage](rows, len(rows) // 2)
    path = tmp_path / "transcript"
    path.write_bytes(b"".join(hurt.rows))
    found, pending = read(path)
    kept = [row.value for row in found if row.value is not None]
    assert list(map(as_text, kept)) == list(map(as_text, hurt.values))
    assert [row.start for row in found if row.reason] == hurt.lost
    assert all(row.reason for row in found if row.value is None and row.raw.strip(b" \t\r\n"))
    assert pending == hurt.pending
    whole = b"".join(row.raw for row in found)
    assert (
        whole == b"".join(hurt.rows)[: len(whole)] and len(whole) == path.stat().st_size - pending
    )
    understood(found, expected["format"])


def test_A10_not_a_number_is_read_and_harms_nobody(
    recorded: tuple[dict[str, Any], Raw], tmp_path: Path
) -> None:
    expected, rows = recorded
    at = len(rows) // 2
    odd = rows[at].rstrip(b"\n")[:-1] + b',"extra":NaN,"timestamp":NaN,"ordinal":NaN}\n'
    path = tmp_path / "transcript"
    path.write_bytes(b"".join([*rows[:at], odd, *rows[at + 1 :]]))
    found, _ = read(path)
    assert len(found) == len(rows) and not [row for row in found if row.reason]
    understood(found, expected["format"])


def test_A10_a_writer_that_stops_at_any_byte_of_the_last_row_goes_on_later(
    recorded: tuple[dict[str, Any], Raw], tmp_path: Path
) -> None:
    _, rows = recorded
    last = rows[-1]
    file = os.memfd_create("transcript")
    for size in range(len(last)):
        os.ftruncate(file, 0)
        os.pwrite(file, last[:size], 0)
        first, at, pending, _ = lines.read(file, 0, 1 << 30)
        whole = size == len(last) - 1  # all but its line end
        assert (len(first), pending) == ((1, 0) if whole else (0, size))
        os.pwrite(file, last[size:], size)
        second, at, pending, _ = lines.read(file, at, 1 << 30)
        kept = [row.value for row in (*first, *second) if row.value is not None]
        assert (kept, at, pending) == ([value(last)], len(last), 0)
    os.close(file)


def test_A10_a_row_that_was_cut_at_any_byte_costs_itself_and_not_the_one_glued_to_it(
    recorded: tuple[dict[str, Any], Raw],
) -> None:
    _, rows = recorded
    before = [row for raw in rows for row in lines.split(0, raw)]
    torn, whole = rows[-2].rstrip(b"\n"), rows[-1]
    for size in range(1, min(len(torn), 1500)):
        found = lines.split(0, torn[:size] + whole, before)
        assert [row.value for row in found] == [None, value(whole)], torn[:size]
        assert found[0].reason and found[1].start == size


def test_A10_a_line_that_was_cut_at_any_byte_is_lost_as_a_whole(
    recorded: tuple[dict[str, Any], Raw],
) -> None:
    _, rows = recorded
    before = [row for raw in rows for row in lines.split(0, raw)]
    for row in {rows[len(rows) // 3], rows[len(rows) // 2], rows[-1]}:
        for size in range(1, min(len(row) - 1, 1500)):
            found = lines.split(0, row[:size] + b"\n", before)
            tail = [r.value for r in found if r.value is not None]
            # A piece that looks like a whole row of this transcript may be taken for one.
            assert all(set(t) in [set(value(raw)) for raw in rows] for t in tail), row[:size]
            assert len(found) == 1 + len(tail) and found[0].reason


def test_A10_a_chain_of_parents_with_a_hole_or_a_circle_leaves_nothing_out(
    recorded: tuple[dict[str, Any], Raw],
) -> None:
    expected, rows = recorded
    reader = formats.by_name(expected["format"])
    values = list(map(value, rows))
    if reader.place is None:
        return
    for name in ("parentUuid", "parentId"):
        links = [index for index, row in enumerate(values) if row.get(name)]
        for index in links:
            for target in ("nobody", values[links[-1]].get("uuid") or values[links[-1]].get("id")):
                changed = [dict(row) for row in values]
                changed[index][name] = target
                tree = Tree()
                for row in changed:
                    place = reader.place(row)
                    assert not isinstance(place, Back)
                    if place is not None:
                        tree.add(place)
                assert tree.left() == frozenset(), (index, target)


def test_A10_clocks_out_of_order_change_no_order(
    recorded: tuple[dict[str, Any], Raw], home: Path, project: Path
) -> None:
    expected, rows = recorded
    values = list(map(value, rows))
    times = [row.get("timestamp") for row in values]
    for row, wall in zip(values, reversed(times), strict=True):
        if "timestamp" in row:
            row["timestamp"] = wall or "the day before yesterday"
    odd = [json.dumps(row).encode() + b"\n" for row in values]
    store, report = stored(expected, odd, home, project)
    assert (report.kept, report.messages) == (expected["records"], expected["messages"])
    order = [r.position for r, _ in store.read(0, 1 << 40) if r.meta.get("kind") == "raw"]
    assert order == starts(odd)
    store.close()


def test_A10_all_damages_at_once_cost_only_what_was_damaged(
    recorded: tuple[dict[str, Any], Raw], home: Path, project: Path
) -> None:
    expected, rows = recorded
    hurt: Raw = []
    kept, lost = 0, []
    bad = [b"\x00" * 99 + b"\n", b"[1]\n", b"7\n", b"prose\n", b'{"a":' * DEEP + b"\n"]
    for index, row in enumerate(rows):
        if index % 3 == 2:
            lost.append(sum(map(len, hurt)))
            hurt.append(bad[index % len(bad)])
        if index % 7 == 6 and index % 3 != 1 and index < len(rows) - 1:
            lost.append(sum(map(len, hurt)))
            hurt.append(row[: len(row) // 2])  # and the next one glued to it
            continue
        kept += 1
        hurt.append(row if index % 2 else b"\xef\xbb\xbf" + row[:-1] + b"\r\n")
    store, report = stored(expected, hurt, home, project)
    assert (report.kept, [damage.where for damage in report.lost]) == (kept, lost)
    assert all(damage.reason for damage in report.lost)
    assert bodies(store) == b"".join(hurt), "what cannot be read is kept all the same"
    assert store.verify().good and (home / "transcript").read_bytes() == b"".join(hurt)
    assert report.records == kept + len(lost)
    store.close()
