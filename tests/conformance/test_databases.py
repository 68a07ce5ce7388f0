"""The kit that every reader of a host's database passes: recorded databases, whole and damaged.

The oracle shares no code with the readers. It asks SQLite for the rows of the undamaged database,
finds the pages of the file that hold their bytes, and compares these pages with the damaged file: a
row none of whose pages was hit must be there, byte for byte. Others may be lost, with a reason.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from swapcache import config
from swapcache.capture import capture, corroborate, events, story
from swapcache.errors import FormatError, SourceError
from swapcache.model import Event, Row
from swapcache.store import identity, sessions
from swapcache.store.opening import open_store
from swapcache.store.store import Store
from swapcache.transcripts import databases, formats
from tests import databases as made
from tests.databases import HOSTS, RECORDED

ROWS = {
    "hermes": ("messages", "SELECT id, content, tool_calls FROM messages"),
    "opencode": ("part", "SELECT id, data, NULL FROM part"),
    "openclaw": ("transcript_events", "SELECT seq, event_json, event_zstd FROM transcript_events"),
}
LARGE = "A long line that fills pages of its own, number {n}. " * 60
CHUNK = 24


@pytest.fixture(params=HOSTS)
def host(request: pytest.FixtureRequest) -> str:
    """Each host with a database."""
    return str(request.param)


def expected(host: str) -> dict[str, Any]:
    """What a recorded database holds, written by hand."""
    found: dict[str, Any] = json.loads((RECORDED / host / "expected.json").read_text())
    return found


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A directory of a host's with nothing else in it."""
    folder = tmp_path / "host"
    folder.mkdir()
    return folder


# -- the oracle ------------------------------------------------------------------------------------


class Oracle:
    """What an undamaged database holds, and on which pages."""

    def __init__(self, host: str, path: Path) -> None:
        self.host, self.before = host, path.read_bytes()
        self.session = made.session_of(path)
        with contextlib.closing(sqlite3.connect(path)) as db:
            (self.size,) = db.execute("PRAGMA page_size").fetchone()
            self.rows = {key: (first, second) for key, first, second in db.execute(ROWS[host][1])}
        self._pages: dict[object, set[int]] = {}

    def pages(self, key: object) -> set[int]:
        """The pages that hold a row's bytes."""
        found: set[int] = set()
        for value in self.rows[key]:
            if value is None:
                continue
            data = value if isinstance(value, bytes) else value.encode()
            for at in range(0, max(1, len(data) - CHUNK), CHUNK):
                chunk, start = data[at : at + CHUNK], 0
                while (start := self.before.find(chunk, start)) >= 0:
                    found |= {start // self.size, (start + len(chunk) - 1) // self.size}
                    start += 1
        return found

    def intact(self, path: Path) -> set[object]:
        """Keys of rows that the damage did not touch."""
        after = path.read_bytes()
        count = (max(len(after), len(self.before)) + self.size - 1) // self.size
        hit = {n for n in range(count) if self._page(after, n) != self._page(self.before, n)}
        if not self._pages:
            self._pages = {key: self.pages(key) for key in self.rows}
        return {key for key in self.rows if not self._pages[key] & hit}

    def _page(self, data: bytes, number: int) -> bytes:
        return data[number * self.size : (number + 1) * self.size]

    def kept(self, rows: list[Row]) -> set[object]:
        """Keys of rows that were read with the bytes that they had."""
        found: set[object] = set()
        for row in rows:
            with contextlib.suppress(ValueError, KeyError, TypeError, RecursionError):
                if self.host == "openclaw":
                    key, ok = row.start, row.value is not None and self._same(row)
                else:
                    value = json.loads(row.raw)
                    key, ok = value["id"], self._equals(value)
                if ok and key in self.rows and row.value is not None:
                    found.add(key)
        return found

    def _same(self, row: Row) -> bool:
        plain, packed = self.rows.get(row.start, (None, None))
        return packed is not None or (plain is not None and row.raw == plain.encode())

    def _equals(self, value: dict[str, Any]) -> bool:
        first, second = self.rows.get(value["id"], (None, None))
        if self.host == "hermes":
            return (value.get("content"), value.get("tool_calls")) == (first, second)
        return bool(value["data"] == json.loads(first))


def read(oracle: Oracle, path: Path) -> list[Row]:
    """All rows, with no trace left beside the database."""
    beside, bytes_ = sorted(os.listdir(path.parent)), path.read_bytes()
    rows = made.rows_of(oracle.session)
    assert sorted(os.listdir(path.parent)) == beside, "something was left beside the database"
    assert path.read_bytes() == bytes_, "the database was written to"
    assert not list(path.parent.glob("**/copies/*"))
    return rows


def judge(oracle: Oracle, path: Path, *, may_hide: bool = True) -> list[Row]:
    """Reads a damaged database and compares with what must be there."""
    rows = read(oracle, path)
    kept, intact = oracle.kept(rows), oracle.intact(path)
    assert intact <= kept, f"readable, and not kept: {sorted(map(str, intact - kept))}"
    lost = [row for row in rows if row.reason]
    assert all(row.reason for row in rows if row.value is None)
    assert kept == set(oracle.rows) or lost, "rows are missing, and nothing says so"
    assert len({row.start for row in rows}) == len(rows), "a place was told twice"
    return rows


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The recorded databases with some long rows, made once."""
    folder = tmp_path_factory.mktemp("shelf")
    built = {host: made.build(folder / f"{host}.db", host, loose=True) for host in HOSTS}
    for host, path in built.items():
        lengthen(host, path)
    return built


@pytest.fixture
def whole(host: str, place: Path, shelf: dict[str, Path]) -> tuple[Oracle, Path]:
    """Such a database as a file, and what it holds."""
    path = place / "host.db"
    shutil.copy(shelf[host], path)
    return Oracle(host, path), path


def lengthen(host: str, path: Path) -> None:
    """Makes every sixth row a long one: its end lies on pages of its own."""
    table = ROWS[host][0]
    with contextlib.closing(made.connect(path)) as db:
        for (rowid,) in db.execute(f"SELECT rowid FROM {table} WHERE rowid%6=0").fetchall():
            words = LARGE.format(n=rowid)
            if host == "hermes":
                db.execute("UPDATE messages SET content=content||? WHERE rowid=?", (words, rowid))
            else:
                column = "data" if host == "opencode" else "event_json"
                query = f"UPDATE {table} SET {column}=json_set({column}, '$.more', ?)"
                db.execute(f"{query} WHERE rowid=? AND {column} IS NOT NULL", (words, rowid))
        db.execute("VACUUM")


# -- undamaged -------------------------------------------------------------------------------------


def stored(host: str, source: str, home: Path, project: Path) -> tuple[Store, capture.Capture]:  # type: ignore[name-defined]
    """A store that holds a session, and the report."""
    store = open_store(identity.identify(host, str(home), str(project)))
    key = source.split(":")[1]
    event = Event(host, "import", store.identity, key, key, source)
    done = events.record_whole(store, event, config.DEFAULTS)
    session = sessions.find_session(store.db, key, key)
    assert session is not None
    return store, capture.report(store, session, done.rows, 0)


def raws(store: Store) -> list[bytes]:
    """The raw records in their order."""
    return [r.body for r, good in store.read(0, 1 << 40) if good and r.meta.get("kind") == "raw"]


def test_the_host_is_known_by_the_tables_whatever_the_file_is_called(
    host: str, place: Path
) -> None:
    other = HOSTS[(HOSTS.index(host) + 1) % len(HOSTS)]
    path = made.build(place / f"{other}.db", host)
    assert databases.candidates(str(path))[0] == host
    with contextlib.closing(sqlite3.connect(place / "else.db")) as db:
        db.execute("CREATE TABLE notes(x)")
    with pytest.raises(FormatError, match=r"database of something else .*notes"):
        databases.candidates(str(place / "else.db"))
    (place / "words.db").write_text("no database at all\n" * 400)
    with pytest.raises(SourceError, match="not a database"):
        databases.candidates(str(place / "words.db"))


def test_an_undamaged_session_is_kept_whole(
    host: str, place: Path, home: Path, project: Path
) -> None:
    told = expected(host)
    path = made.build(place / "host.db", host)
    oracle = Oracle(host, path)
    store, report = stored(host, oracle.session, home, project)
    assert (report.records, report.kept) == (told["records"], told["records"])
    assert report.messages == told["messages"] and report.lost == ()
    assert store.verify().good
    rows = read(oracle, path)
    assert b"".join(raws(store)) == b"".join(row.raw for row in rows), "every row, byte for byte"
    assert oracle.kept(rows) == set(oracle.rows)
    again = events.record_whole(
        store, Event(host, "import", store.identity, *_keys(oracle)), config.DEFAULTS
    )
    assert again.rows == 0
    store.close()


def _keys(oracle: Oracle) -> tuple[str, str, str]:
    key = oracle.session.split(":")[1]
    return key, key, oracle.session


def test_the_state_knows_request_and_open_call(
    host: str, place: Path, home: Path, project: Path
) -> None:
    told = expected(host)
    path = made.build(place / "host.db", host)
    store, _ = stored(host, made.session_of(path), home, project)
    session = sessions.sessions(store.db)[0]
    items = story.refold(store, session)[0].state(session.number, -1).items
    requests = [i.text for i in items if i.kind == "request"]
    assert told["last_request"] in requests[-1]
    unknown = [i.text for i in items if i.kind == "unknown"]
    assert len(unknown) == 1 and told["open_call"] in unknown[0]
    changed = [i.text for i in items if i.kind == "change"]
    assert any("prices.py" in text for text in changed), "the host's file tool is known"
    store.close()


def test_steps_of_any_size_give_the_same_rows(host: str, place: Path) -> None:
    path = made.build(place / "host.db", host)
    source = made.session_of(path)
    in_one = made.rows_of(source)
    assert made.rows_of(source, 1) == in_one
    assert made.rows_of(source, 3000) == in_one


@pytest.mark.parametrize("name", [h for h in HOSTS if "after" in expected(h)])
def test_a_session_that_goes_on_after_a_kill_is_told_once_and_whole(
    name: str, place: Path, home: Path, project: Path
) -> None:
    path = made.build(place / "host.db", name)
    source = made.session_of(path)
    store, _ = stored(name, source, home, project)
    path.unlink()
    made.build(path, name, "after")  # the same database, one turn later
    again, report = stored(name, source, home, project)
    after = expected(name)["after"]
    assert report.messages == after["messages"] and report.lost == ()
    session = sessions.sessions(again.db)[0]
    requests = [i.text for i in story.refold(again, session)[0].of("request").values()]
    assert requests[-1] == after["last_request"]
    assert len(requests) == len(set(requests)), "nothing was told twice"
    fold = capture.Ledger  # the state that captures kept is that of the records
    with again.writing() as writer:
        kept = fold(again, writer, session).fold.dump()
    assert kept == story.refold(again, session)[0].dump()
    found = corroborate.corroborate(again)
    assert found.differing == 0, found.differences
    again.close()
    store.close()


# -- damaged pages ---------------------------------------------------------------------------------

Damage = Callable[[bytes, int], bytes]


def _page(number: int, change: Callable[[bytes], bytes]) -> Damage:
    """A change of one page."""

    def apply(data: bytes, size: int) -> bytes:
        begin = number * size
        return data[:begin] + change(data[begin : begin + size]) + data[begin + size :]

    return apply


PAGES: dict[str, Callable[[bytes], bytes]] = {
    "zeros": lambda page: b"\0" * len(page),
    "noise": lambda page: bytes((i * 73 + 41) % 256 for i in range(len(page))),
    "another page's kind": lambda page: b"\x0a" + page[1:],
    "half of it": lambda page: page[: len(page) // 2] + b"\0" * (len(page) - len(page) // 2),
    "pointers gone": lambda page: page[:8] + b"\xff" * 40 + page[48:],
    "too many cells": lambda page: page[:3] + b"\xff\xff" + page[5:],
}


@pytest.mark.parametrize("kind", sorted(PAGES))
def test_C1_any_damaged_page_costs_only_its_own_rows(whole: tuple[Oracle, Path], kind: str) -> None:
    oracle, path = whole
    pages = len(oracle.before) // oracle.size
    for number in range(0, pages, 1 if kind == "zeros" else 5):
        path.write_bytes(_page(number, PAGES[kind])(oracle.before, oracle.size))
        judge(oracle, path)


@pytest.mark.parametrize("size", ["1 page", "a third", "half", "all but a page", "all but a byte"])
def test_C1_a_file_that_lost_its_end_gives_what_is_left(
    whole: tuple[Oracle, Path], size: str
) -> None:
    oracle, path = whole
    length = len(oracle.before)
    sizes = {"1 page": oracle.size, "a third": length // 3 + 7, "half": length // 2}
    sizes |= {"all but a page": length - oracle.size, "all but a byte": length - 1}
    path.write_bytes(oracle.before[: sizes[size]])
    if size == "1 page":  # no row of any session is left
        with pytest.raises(SourceError, match="nothing in it is a session's row"):
            made.rows_of(oracle.session)
        return
    judge(oracle, path)


def _overflow(data: bytes, size: int) -> tuple[int, int]:
    """(page, the page it leads to) of the first long row's second part."""
    at = data.find(b"fills pages of its own", data.find(b"A long line") + 3 * size)
    page = at // size
    return page, int.from_bytes(data[page * size : page * size + 4], "big")


CHAINS: dict[str, Callable[[int], bytes]] = {
    "leads to itself": lambda page: (page + 1).to_bytes(4, "big"),
    "leads nowhere": lambda page: b"\xff\xff\xff\xf0",
    "ends early": lambda page: b"\0\0\0\0",
}


@pytest.mark.parametrize("kind", sorted(CHAINS))
def test_C1_a_long_row_whose_chain_is_broken_is_lost_and_no_other(
    whole: tuple[Oracle, Path], kind: str
) -> None:
    oracle, path = whole
    page, _ = _overflow(oracle.before, oracle.size)
    link = CHAINS[kind](page)
    path.write_bytes(_page(page, lambda old: link + old[4:])(oracle.before, oracle.size))
    judge(oracle, path)


HEADS: dict[str, Damage] = {
    "no magic": lambda data, size: b"garbage, garbage" + data[16:],
    "another page size": lambda data, size: data[:16] + b"\x10\x00" + data[18:],
    "free pages that lead anywhere": lambda data, size: (
        data[:32] + b"\0\0\0\x05\0\0\0\x30" + data[40:]
    ),
    "a newer file format": lambda data, size: data[:18] + b"\x09\x09" + data[20:],
    "a larger database than the file": lambda data, size: data[:28] + b"\0\0\xff\0" + data[32:],
    "more behind its end": lambda data, size: data + b"appended by accident" * 100,
    "all zeros": lambda data, size: b"\0" * 100 + data[100:],
}


@pytest.mark.parametrize("kind", sorted(HEADS))
def test_C1_a_damaged_file_header_costs_no_row_of_another_page(
    whole: tuple[Oracle, Path], kind: str
) -> None:
    oracle, path = whole
    path.write_bytes(HEADS[kind](oracle.before, oracle.size))
    judge(oracle, path)


# -- damaged rows ----------------------------------------------------------------------------------

VALUES: dict[str, object] = {
    "garbage": b"\x00\xff{]garbage",
    "cut": '{"type":"text","text":"cut in the mid',
    "NULL": None,
    "empty": "",
    "a number": 42,
    "a list": "[1,2,3]",
    "words": "an editor was here",
    "no UTF-8": b'{"type":"text","text":"\xff\xfe"} and more',
    "nested too deeply": '{"a":' * 200000,
    "two objects": '{"type":"text"}{"type":"text"}',
    "an object that closes its frame": '{}},"role":"user","x":{"y":{}',
}


def spoil(host: str, path: Path, value: object) -> int:
    """Puts a value where a row's JSON is expected; gives the row's number."""
    table = ROWS[host][0]
    column = {"hermes": "tool_calls", "opencode": "data", "openclaw": "event_json"}[host]
    extra = {"hermes": " AND tool_calls IS NOT NULL", "openclaw": " AND event_json IS NOT NULL"}
    with contextlib.closing(made.connect(path)) as db:
        where = f"rowid>8{extra.get(host, '')}"
        (rowid,) = db.execute(f"SELECT min(rowid) FROM {table} WHERE {where}").fetchone()
        db.execute(f"UPDATE {table} SET {column}=? WHERE rowid=?", (value, rowid))
    return int(rowid)


@pytest.mark.parametrize("kind", sorted(VALUES))
def test_C1_a_row_without_readable_json_costs_only_itself(
    whole: tuple[Oracle, Path], kind: str, home: Path, project: Path
) -> None:
    oracle, path = whole
    spoil(oracle.host, path, VALUES[kind])
    rows = read(oracle, path)
    lost = [row for row in rows if row.reason]
    harmless = oracle.host == "hermes" and kind in ("NULL", "a number", "a list")
    assert len(lost) == (0 if harmless else 1), [r.reason for r in lost]
    assert len(oracle.kept(rows)) == len(oracle.rows) - 1
    store, report = stored(oracle.host, oracle.session, home, project)
    words = oracle.host == "hermes"  # only the calls of the message are lost
    assert report.kept == report.records - (0 if words else len(lost))
    assert len(report.lost) == len(lost)
    session = sessions.sessions(store.db)[0]
    with store.writing() as writer:
        kept = capture.Ledger(store, writer, session).fold.dump()
    assert kept == story.refold(store, session)[0].dump(), "read back as it was captured"
    store.close()


ODD = {"a number": 7, "a large number": 1 << 62, "no UTF-8": b"\xc3(", "words": "x", "NULL": None}


@pytest.mark.parametrize("kind", sorted(ODD))
def test_C1_an_odd_value_in_any_column_is_told_once_and_costs_no_other_row(
    host: str, place: Path, kind: str
) -> None:
    whole = made.build(place / "whole.db", host, loose=True)
    source, path = made.session_of(whole), place / "host.db"
    oracle, count = Oracle(host, whole), len(made.rows_of(source))
    oracle.session = source.replace(str(whole), str(path))
    for table in {ROWS[host][0], "message" if host == "opencode" else ROWS[host][0]}:
        with contextlib.closing(sqlite3.connect(whole)) as db:
            names = [str(row[1]) for row in db.execute(f"PRAGMA table_info({table})")]
        for name in names:
            shutil.copy(whole, path)
            with contextlib.closing(made.connect(path)) as db:
                where = f"rowid=(SELECT max(rowid)-9 FROM {table})"
                with contextlib.suppress(sqlite3.Error):  # a row's number must be one
                    value = "CAST(? AS TEXT)" if kind == "no UTF-8" else "?"
                    db.execute(f"UPDATE {table} SET {name}={value} WHERE {where}", (ODD[kind],))
            rows = read(oracle, path)
            lost = [row for row in rows if row.reason]
            moved = name in ("session_id", "seq", "id")
            assert moved or lost or len(rows) >= count, name
            assert len(rows) >= count - 1, name
            assert len({row.start for row in rows}) == len(rows), name
            first = databases.read(made.fresh(oracle.session), databases.ALL)
            again = databases.read(first.source, databases.ALL)
            assert (again.rows, again.rewritten) == ([], False), f"{name} is told twice"
            databases.candidates(str(path))


def test_C1_a_session_table_full_of_oddities_harms_no_row(host: str, place: Path) -> None:
    whole = made.build(place / "whole.db", host, loose=True)
    source, path = made.session_of(whole), place / "host.db"
    table = {"hermes": "sessions", "opencode": "session", "openclaw": "session_nodes"}[host]
    with contextlib.closing(sqlite3.connect(whole)) as db:
        names = [str(row[1]) for row in db.execute(f"PRAGMA table_info({table})")]
    for name in names:
        for value in (7, 1.5, b"\xff{", "[" * 5000):
            shutil.copy(whole, path)
            with contextlib.closing(made.connect(path)) as db, contextlib.suppress(sqlite3.Error):
                db.execute(f"UPDATE {table} SET {name}=?", (value,))
            rows = made.rows_of(source.replace(str(whole), str(path)))
            assert len(rows) == len(made.rows_of(source)), name
            databases.candidates(str(path))


@pytest.mark.parametrize("kind", ["cut", "other bytes", "empty", "no zstd at all"])
def test_C1_a_compressed_event_that_is_damaged_is_kept_as_it_is(place: Path, kind: str) -> None:
    path = made.build(place / "host.db", "openclaw", loose=True)
    oracle = Oracle("openclaw", path)
    with contextlib.closing(made.connect(path)) as db:
        query = "SELECT rowid, event_zstd FROM transcript_events WHERE event_zstd IS NOT NULL"
        rowid, blob = db.execute(query).fetchone()
        broken = {"cut": blob[:-9], "other bytes": blob[:40] + b"\xff" * 40 + blob[80:]}
        broken |= {"empty": b"", "no zstd at all": b"plain words"}
        query = "UPDATE transcript_events SET event_zstd=? WHERE rowid=?"
        db.execute(query, (broken[kind], rowid))
    rows = read(oracle, path)
    (lost,) = [row for row in rows if row.value is None]
    assert lost.raw == broken[kind] and "compressed event" in lost.reason
    assert "known of it" in lost.reason
    assert len(rows) == len(oracle.rows)


MISSING = {
    "hermes": ("sessions", "schema_version"),
    "opencode": ("session", "message", "todo"),
    "openclaw": ("transcript_rewrite_watermarks", "session_nodes", "session_windows"),
}


@pytest.mark.parametrize(
    ("name", "table"), [(host, table) for host in HOSTS for table in MISSING[host]]
)
def test_C1_a_missing_table_costs_only_what_it_held(name: str, table: str, place: Path) -> None:
    path = made.build(place / "host.db", name, loose=True)
    oracle = Oracle(name, path)
    with contextlib.closing(made.connect(path)) as db:
        db.execute(f"DROP TABLE {table}")
        db.execute("VACUUM")
    rows = read(oracle, path)
    assert oracle.kept(rows) == set(oracle.rows)
    host, found = databases.candidates(str(path))
    assert host == name and [c.path for c in found] == [oracle.session]


def test_C1_without_the_table_of_its_rows_a_session_is_lost_with_a_reason(
    host: str, place: Path
) -> None:
    path = made.build(place / "host.db", host, loose=True)
    session = made.session_of(path)
    with contextlib.closing(made.connect(path)) as db:
        db.execute(f"DROP TABLE {ROWS[host][0]}")
        db.execute("VACUUM")
    try:
        rows = made.rows_of(session)
    except SourceError as problem:
        assert "nothing in it is a session's row" in str(problem) or "something else" in str(
            problem
        )
    else:
        assert any(row.reason for row in rows)


def test_a_newer_schema_with_more_columns_is_read_as_far_as_it_is_known(
    host: str, place: Path
) -> None:
    path = made.build(place / "host.db", host)
    oracle = Oracle(host, path)
    with contextlib.closing(made.connect(path)) as db:
        for (table,) in db.execute("SELECT name FROM sqlite_master WHERE type='table'").fetchall():
            if not table.startswith("sqlite_"):
                db.execute(f"ALTER TABLE {table} ADD COLUMN later TEXT")
        db.execute("PRAGMA user_version=999")
    rows = read(oracle, path)
    assert oracle.kept(rows) == set(oracle.rows)
    assert all(row.value is not None for row in rows)


def test_C1_rows_that_were_deleted_do_not_come_back_with_damage(host: str, place: Path) -> None:
    path = made.build(place / "host.db", host, loose=True)
    lengthen(host, path)
    with contextlib.closing(made.connect(path)) as db:
        table, query = ROWS[host]
        gone = {key for (key, *_) in db.execute(f"{query} WHERE rowid>15 AND rowid%2=0")}
        db.execute(f"DELETE FROM {table} WHERE rowid>15 AND rowid%2=0")
    oracle = Oracle(host, path)
    root = _root(path, table)
    path.write_bytes(_page(root - 1, PAGES["zeros"])(oracle.before, oracle.size))
    rows = judge(oracle, path)
    assert (
        not {json.loads(r.raw)["id"] if host != "openclaw" else r.start for r in rows if r.value}
        & gone
    )


def _root(path: Path, table: str) -> int:
    with contextlib.closing(sqlite3.connect(path)) as db:
        query = "SELECT rootpage FROM sqlite_master WHERE name=?"
        return int(db.execute(query, (table,)).fetchone()[0])


# -- logs, locks, writers --------------------------------------------------------------------------

WRITER = """
import os, sqlite3, sys, time
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("PRAGMA wal_autocheckpoint=0")
db.execute("PRAGMA journal_mode=WAL")
for statement in sys.argv[2:]:
    db.execute(statement)
print("written", flush=True)
time.sleep(100)
"""
TOUCH = {
    "hermes": "UPDATE messages SET finish_reason='x' WHERE id=2",
    "opencode": "UPDATE part SET data=json_set(data, '$.more', 1) WHERE rowid=2",
    "openclaw": "UPDATE transcript_events SET event_json=json_set(event_json, '$.more', 1)"
    " WHERE rowid=2",
}


@pytest.fixture
def killed(whole: tuple[Oracle, Path]) -> Iterator[tuple[Oracle, Path]]:
    """A database whose writer was killed: its log holds a change that the file lacks."""
    oracle, path = whole
    command = [sys.executable, "-c", WRITER, str(path), TOUCH[oracle.host]]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None and writer.stdout.readline()
        os.kill(writer.pid, signal.SIGKILL)
    assert path.with_name("host.db-wal").stat().st_size
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
        oracle.rows = {key: (a, b) for key, a, b in db.execute(ROWS[oracle.host][1])}
    yield oracle, path


def test_C1_a_log_that_a_kill_left_is_read(killed: tuple[Oracle, Path]) -> None:
    oracle, path = killed
    assert oracle.kept(read(oracle, path)) == set(oracle.rows)


def test_C1_a_log_without_its_index_is_read_from_a_copy(killed: tuple[Oracle, Path]) -> None:
    oracle, path = killed
    path.with_name("host.db-shm").unlink()  # as after a copy of the files
    assert oracle.kept(read(oracle, path)) == set(oracle.rows)


LOGS: dict[str, Callable[[bytes], bytes]] = {
    "cut in its last frame": lambda log: log[:-100],
    "cut to its header": lambda log: log[:32],
    "a damaged header": lambda log: b"\0" * 32 + log[32:],
    "damaged frames": lambda log: log[:40] + b"\xee" * (len(log) - 40),
}


def _commits(path: Path, count: int) -> dict[str, bytes]:
    """A closed database and a log with one row in each of its transactions."""
    host = made.Hermes(path)
    host.db.execute("PRAGMA wal_autocheckpoint=0")
    host.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    for number in range(count):
        host.add("user", f"request {number} " + "of some length " * (90 * (number % 3)))
    return {end: Path(f"{path}{end}").read_bytes() for end in ("", "-wal", "-shm")}


@pytest.mark.parametrize("index", [True, False])
def test_C1_rows_behind_a_damaged_place_of_a_log_are_read_and_the_damage_is_told(
    place: Path, tmp_path: Path, index: bool
) -> None:
    """SQLite itself reads such a log up to the damage, and says nothing."""
    was = _commits(tmp_path / "state.db", 20)
    path = place / "state.db"
    source = f"sqlite:{made.Hermes.SESSION}:{path}"
    for at in (*range(40, len(was["-wal"]), len(was["-wal"]) // 23), 3, 17, 30):
        log = was["-wal"][:at] + bytes([was["-wal"][at] ^ 0xFF]) + was["-wal"][at + 1 :]
        for end, data in (("", was[""]), ("-wal", log), ("-shm", was["-shm"] if index else b"")):
            Path(f"{path}{end}").unlink(missing_ok=True)
            if data:
                Path(f"{path}{end}").write_bytes(data)
        rows = made.rows_of(source)
        assert sum(1 for row in rows if row.value) >= 17, f"byte {at}"
        assert any("log is damaged" in row.reason for row in rows), f"byte {at}"
        assert Path(f"{path}-wal").read_bytes() == log


def test_C1_the_log_beside_an_empty_file_is_read_and_left(place: Path, tmp_path: Path) -> None:
    """SQLite deletes it, even for a reader."""
    was = _commits(tmp_path / "state.db", 4)
    path = place / "state.db"
    path.touch()
    log = path.with_name("state.db-wal")
    log.write_bytes(was["-wal"])
    for index in (b"", was["-shm"]):
        if index:
            path.with_name("state.db-shm").write_bytes(index)
        rows = made.rows_of(f"sqlite:{made.Hermes.SESSION}:{path}")
        assert sum(1 for row in rows if row.value) == 4 and rows[0].reason
        assert log.read_bytes() == was["-wal"]
        databases.candidates(str(path))


def test_a_file_that_ends_in_its_header_is_refused(place: Path) -> None:
    for data in (b"SQLite format 3\0", b"SQLite format 3\0" + b"\x10", b""):
        (place / "host.db").write_bytes(data)
        with pytest.raises(SourceError, match="cannot be read"):
            databases.candidates(str(place / "host.db"))


@pytest.mark.parametrize("kind", sorted(LOGS))
def test_C1_a_damaged_log_costs_at_most_what_it_held(
    killed: tuple[Oracle, Path], kind: str
) -> None:
    oracle, path = killed
    for index in (True, False):
        log = path.with_name("host.db-wal")
        if not index:
            path.with_name("host.db-shm").unlink()
        log.write_bytes(LOGS[kind](log.read_bytes()) if index else log.read_bytes())
        rows = read(oracle, path)
        assert len(oracle.kept(rows)) >= len(oracle.rows) - 1


def test_C1_a_log_and_a_damaged_page_together(killed: tuple[Oracle, Path]) -> None:
    oracle, path = killed
    data = path.read_bytes()
    root = int.from_bytes(data[28:32], "big") // 2
    path.write_bytes(_page(root, PAGES["noise"])(data, oracle.size))
    path.with_name("host.db-shm").unlink()
    rows = read(oracle, path)
    kept = oracle.kept(rows)
    assert len(kept) > len(oracle.rows) // 2
    assert kept == set(oracle.rows) or any(row.reason for row in rows)


def test_a_closed_database_with_a_log_is_read_without_a_trace(
    whole: tuple[Oracle, Path],
) -> None:
    oracle, path = whole
    with contextlib.closing(made.connect(path)) as db:
        db.execute("PRAGMA journal_mode=WAL")
        db.execute(TOUCH[oracle.host])
    assert sorted(os.listdir(path.parent)) == ["host.db"]
    assert len(oracle.kept(read(oracle, path))) >= len(oracle.rows) - 1


def test_a_database_that_its_host_keeps_locked_is_read_from_a_copy(
    whole: tuple[Oracle, Path],
) -> None:
    oracle, path = whole
    with contextlib.closing(made.connect(path)) as db:
        db.execute("BEGIN EXCLUSIVE")
        db.execute(TOUCH[oracle.host])
        rows = read(oracle, path)
        assert oracle.kept(rows) == set(oracle.rows), "as it was before the open transaction"
        db.execute("ROLLBACK")


def test_C1_a_transaction_that_a_kill_left_half_written_is_undone_in_a_copy(
    whole: tuple[Oracle, Path],
) -> None:
    oracle, path = whole
    copy = path.parent.parent / "copy"
    copy.mkdir()
    with contextlib.closing(made.connect(path)) as db:
        db.execute("PRAGMA cache_size=1")
        db.execute("BEGIN")
        for _ in range(3):
            db.execute(TOUCH[oracle.host].partition(" WHERE ")[0])
        for name in os.listdir(path.parent):
            shutil.copy(path.parent / name, copy / name)
    assert (copy / "host.db-journal").stat().st_size
    shutil.rmtree(path.parent)
    copy.rename(path.parent)
    assert oracle.kept(read(oracle, path)) == set(oracle.rows)


def test_a_writer_at_work_disturbs_nothing(place: Path) -> None:
    host = made.Hermes(place / "state.db")
    stop = threading.Event()
    written: list[int] = []

    def work() -> None:
        other = made.connect(host.path)
        while not stop.is_set():
            number = len(written)
            other.execute(
                "INSERT INTO messages(session_id, role, content, timestamp) VALUES (?,?,?,?)",
                (host.session, "user", f"request {number}", 1.8e9 + number),
            )
            written.append(number)
            time.sleep(0.002)
        other.close()

    writer = threading.Thread(target=work)
    writer.start()
    source, seen = made.fresh(f"sqlite:{host.session}:{host.path}"), list[str]()
    try:
        while len(seen) < 300:
            found = databases.read(source, 2000)
            seen += [json.loads(row.raw)["content"] for row in found.rows]
            source = found.source
            assert not found.rewritten
    finally:
        stop.set()
        writer.join()
    assert seen == [f"request {n}" for n in range(len(seen))]


def test_C1_a_damaged_database_is_stored_with_what_was_lost(
    whole: tuple[Oracle, Path], home: Path, project: Path
) -> None:
    oracle, path = whole
    root = _root(path, ROWS[oracle.host][0])
    path.write_bytes(_page(root - 1, PAGES["noise"])(oracle.before, oracle.size))
    intact = oracle.intact(path)
    store, report = stored(oracle.host, oracle.session, home, project)
    assert report.kept >= len(intact) and report.lost
    assert all("damaged" in damage.reason for damage in report.lost)
    assert store.verify().good
    again, second = stored(oracle.host, oracle.session, home, project)
    assert (second.records, second.new) == (report.records, 0), "what is lost is told once"
    again.close()
    store.close()


def test_C1_damage_is_told_once_however_many_steps_a_session_takes(
    whole: tuple[Oracle, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    oracle, path = whole
    root = _root(path, ROWS[oracle.host][0])
    path.write_bytes(_page(root - 1, PAGES["noise"])(oracle.before, oracle.size))
    with monkeypatch.context() as small:
        small.setattr(databases, "AT_ONCE", 1)
        rows = made.rows_of(oracle.session, 1)
    assert sum(1 for row in rows if "what nothing names any more" in row.reason) == 1
    assert len({row.start for row in rows}) == len(rows)
    assert rows == made.rows_of(oracle.session)


@pytest.mark.parametrize("name", ["hermes", "opencode"])
def test_A5_without_its_session_s_row_nobody_knows_whose_words_they_are(
    name: str, place: Path, home: Path, project: Path
) -> None:
    """It may be a child agent's session, or a group's: both stand in that row alone."""
    path = made.build(place / "host.db", name, loose=True)
    source = made.session_of(path)
    with contextlib.closing(made.connect(path)) as db:
        db.execute(f"DELETE FROM {'sessions' if name == 'hermes' else 'session'}")
    reader = formats.by_name(name)
    rows = made.rows_of(source)
    asked = [m for r in rows if r.value and (m := reader.message(r.value)) and m.kind == "request"]
    assert asked and {m.origin for m in asked} == {"untrusted"}
