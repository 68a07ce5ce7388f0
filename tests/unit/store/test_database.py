"""Opening, making and refusing databases; what the errors of SQLite become."""

import os
import sqlite3
import stat
import time
from pathlib import Path

import pytest

from swapcache import paths
from swapcache.errors import BusyError, NewerSchemaError, NoSpaceError, StoreError
from swapcache.store import database
from swapcache.store.store import Store
from tests.unit.store.making import (
    add,
    begun,
    body,
    child,
    database_path,
    filled,
    line,
    opened,
    owner,
    raw,
)

ROW = ("uuid", "key", "host", "/state", "agent", "/ws", "1:2", "2026-11-30T12:00:00+00:00")


@pytest.fixture
def made(tmp_path: Path) -> str:
    """The directory of an empty store."""
    directory = str(tmp_path / "stores/one")
    database.create(directory, ROW)
    return directory


def test_a_new_database_holds_its_owner_and_nothing_else(made: str) -> None:
    assert os.listdir(made) == ["store.db"]
    db = database.connect(made, 1.0)
    try:
        assert db.execute("SELECT * FROM store").fetchall() == [(1, *ROW)]
        assert db.execute("SELECT count(*) FROM record").fetchone() == (0,)
        assert db.execute("SELECT count(*) FROM head").fetchone() == (0,)
        assert db.execute("PRAGMA application_id").fetchone() == (0x73776361,)
        assert db.execute("PRAGMA user_version").fetchone() == (database.SCHEMA,)
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    finally:
        db.close()


def test_making_a_store_twice_keeps_the_first_one(made: str) -> None:
    database.create(made, ("other", *ROW[1:]))
    db = database.connect(made, 1.0)
    try:
        assert db.execute("SELECT uuid FROM store").fetchall() == [("uuid",)]
    finally:
        db.close()
    assert os.listdir(made) == ["store.db"]


def test_every_file_of_an_open_store_is_private_under_any_umask(home: Path) -> None:
    before = os.umask(0)
    try:
        with begun(owner(home)) as store:
            add(store, body(1))
            loose = []
            for directory, folders, names in os.walk(home / "swapcache"):
                for name in folders:
                    path = os.path.join(directory, name)
                    if stat.S_IMODE(os.stat(path).st_mode) != 0o700:
                        loose.append(path)
                for name in names:
                    path = os.path.join(directory, name)
                    if stat.S_IMODE(os.stat(path).st_mode) != 0o600:
                        loose.append(path)
            present = set(os.listdir(store.directory))
    finally:
        os.umask(before)
    assert loose == []
    assert "store.db-wal" in present


def test_a_connection_that_writes_syncs_every_commit_to_a_write_ahead_log(made: str) -> None:
    db = database.connect(made, 1.0)
    try:
        assert db.execute("PRAGMA synchronous").fetchone() == (2,)
        assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    finally:
        db.close()


def test_a_read_only_connection_cannot_write(made: str) -> None:
    db = database.connect(made, 1.0, read_only=True)
    try:
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            db.execute("INSERT INTO chunk VALUES (0, x'00')")
    finally:
        db.close()


def test_a_store_that_is_missing_is_named_and_not_made(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"store\.db does not exist"):
        database.connect(str(tmp_path / "none"), 1.0)
    assert not (tmp_path / "none").exists()


# -- foreign and newer files -----------------------------------------------------------------------


def test_a_newer_schema_is_left_alone(home: Path) -> None:
    store_id = filled(owner(home), 2)
    with raw(store_id) as db:
        db.execute(f"PRAGMA user_version={database.SCHEMA + 1}")
    path = database_path(store_id)
    before, names = path.read_bytes(), os.listdir(path.parent)
    with pytest.raises(NewerSchemaError) as caught:
        Store(store_id)
    assert f"schema {database.SCHEMA + 1}" in str(caught.value)
    assert "upgrade" in str(caught.value)
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == names


def test_a_newer_schema_is_left_alone_by_opening_for_its_identity(home: Path) -> None:
    who = owner(home)
    store_id = filled(who, 1)
    with raw(store_id) as db:
        db.execute("PRAGMA user_version=99")
    before = database_path(store_id).read_bytes()
    with pytest.raises(NewerSchemaError), begun(who):
        pytest.fail("a newer schema was opened")
    assert database_path(store_id).read_bytes() == before


def test_a_database_of_another_program_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    db = sqlite3.connect(path)
    db.executescript("CREATE TABLE theirs(x); INSERT INTO theirs VALUES (1);")
    db.close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match=r"is no store of swapcache; move it away"):
        database.connect(str(tmp_path), 1.0)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "content", [b"garbage" * 1000, b"SQLite format 3\x00" + b"\xff" * 4000], ids=["text", "header"]
)
def test_a_file_that_is_no_database_is_a_store_error_that_names_it(
    tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "store.db"
    path.write_bytes(content)
    with pytest.raises(StoreError, match=str(path)):
        database.connect(str(tmp_path), 1.0)
    assert path.read_bytes() == content


def test_an_empty_file_is_refused_and_stays_empty(tmp_path: Path) -> None:
    (tmp_path / "store.db").touch()
    with pytest.raises(StoreError, match="is no store of swapcache"):
        database.connect(str(tmp_path), 1.0)
    assert (tmp_path / "store.db").stat().st_size == 0


# -- trouble while working -------------------------------------------------------------------------

HOLD = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.readline()
"""


def test_a_database_that_somebody_else_locks_is_busy_and_loses_nothing(home: Path) -> None:
    store_id = filled(owner(home), 1)
    with opened(store_id, 0.2) as store, child(HOLD, str(database_path(store_id))) as holder:
        assert line(holder) == "held"
        with pytest.raises(BusyError, match="held by another process"):
            add(store, body(2))
        holder.kill()
        holder.wait(20)
        assert add(store, body(2)) == 2
        assert store.verify().good


def test_a_full_disk_is_a_no_space_error_and_what_was_stored_is_unharmed(home: Path) -> None:
    store_id = filled(owner(home), 3)
    with opened(store_id) as store:
        (pages,) = store.db.execute("PRAGMA page_count").fetchone()
        store.db.execute(f"PRAGMA max_page_count={pages + 2}")
        with pytest.raises(NoSpaceError, match="free some space"):
            add(store, os.urandom(200_000))
        assert store.head()[0] == 3
        assert store.verify().good
        store.db.execute(f"PRAGMA max_page_count={pages + 1000}")
        assert add(store, body(4)) == 4
        assert store.verify().good


def test_a_row_that_is_refused_is_a_store_error_and_rolls_back(home: Path) -> None:
    store_id = filled(owner(home), 1)
    with opened(store_id) as store:
        with (
            pytest.raises(StoreError, match="UNIQUE"),
            store.writing() as writer,
        ):
            writer.db.execute("INSERT INTO receipt VALUES (1, 1, 'e')")
            writer.db.execute("INSERT INTO receipt VALUES (2, 1, 'e')")
        assert store.db.execute("SELECT count(*) FROM receipt").fetchone() == (0,)
        assert add(store, body(2)) == 2


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("database is locked", BusyError),
        ("database table is locked", BusyError),
        ("database or disk is full", NoSpaceError),
        ("attempt to write a readonly database", NoSpaceError),
        ("disk I/O error", StoreError),
        ("database disk image is malformed", StoreError),
    ],
)
def test_every_error_of_sqlite_becomes_one_of_ours_that_says_where(
    tmp_path: Path, text: str, kind: type[StoreError]
) -> None:
    made = database.problem(sqlite3.OperationalError(text), str(tmp_path / "store.db"))
    assert type(made) is kind
    assert str(tmp_path / "store.db") in str(made)
    assert text in str(made)


# -- leaving without closing -----------------------------------------------------------------------


def test_leaving_keeps_a_small_log_for_the_next_one_to_read(home: Path) -> None:
    store_id = filled(owner(home), 1)
    code = (
        "import os, sys\n"
        "from swapcache.model import NewRecord\n"
        "from swapcache.store.store import Store\n"
        "store = Store(sys.argv[1])\n"
        "with store.writing() as writer:\n"
        "    writer.append([NewRecord(b'left', {})])\n"
        "store.leave()\n"
        "os._exit(0)\n"
    )
    with child(code, store_id) as process:
        assert process.wait(20) == 0
    assert database_path(store_id).with_name("store.db-wal").stat().st_size > 0
    with opened(store_id) as store:
        found = store.record(2)
        assert found is not None
        assert (found[0].body, found[1]) == (b"left", True)
        assert store.verify().good


def test_leaving_folds_in_a_log_that_has_grown(home: Path) -> None:
    store_id = filled(owner(home), 1)
    with opened(store_id) as store:
        add(store, os.urandom(database.WAL_LIMIT + 1000))
        wal = database_path(store_id).with_name("store.db-wal")
        assert wal.stat().st_size > database.WAL_LIMIT
        store.leave()
        assert not wal.exists() or wal.stat().st_size == 0
    with opened(store_id) as store:
        assert store.verify().good


CREATE_FOR_EVER = """
import sys
from swapcache.store import database
print("begun", flush=True)
for number in range(1 << 30):
    database.create(f"{sys.argv[1]}/{number}", tuple("abcdefgh"))
"""


def test_a_kill_leaves_a_store_whole_or_absent(tmp_path: Path) -> None:
    whole = 0
    for attempt in range(4):
        root = tmp_path / f"stores{attempt}"
        root.mkdir()
        with child(CREATE_FOR_EVER, str(root)) as process:
            assert line(process) == "begun"
            end = time.monotonic() + 20
            while len(os.listdir(root)) < 3:
                assert time.monotonic() < end
            process.kill()
            process.wait(20)
        for name in os.listdir(root):
            if os.path.exists(paths.database(str(root / name))):
                db = database.connect(str(root / name), 1.0)
                try:
                    assert db.execute("SELECT uuid FROM store").fetchone() == ("a",)
                finally:
                    db.close()
                whole += 1
    assert whole >= 8
