"""Opening a host's database: nothing is left beside it, whatever state it was found in."""

from __future__ import annotations

import errno
import os
import sqlite3
import subprocess
from pathlib import Path

import pytest

from swapcache import paths
from swapcache.errors import MissingSourceError, SourceError
from swapcache.store import files
from swapcache.transcripts import sqlite


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A closed database with a write-ahead log, alone in a directory."""
    (tmp_path / "host").mkdir()
    place = tmp_path / "host/x.db"
    with sqlite3.connect(place) as db:
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("CREATE TABLE t(x)")
        db.execute("INSERT INTO t VALUES ('one')")
    db.close()
    return place


def rows(db: sqlite3.Connection) -> list[bytes]:
    """What stands in it."""
    return [row[0] for row in db.execute("SELECT x FROM t ORDER BY rowid")]


def copies() -> list[str]:
    """Private copies that were left."""
    folder = f"{paths.state_dir()}/copies"
    return os.listdir(folder) if os.path.isdir(folder) else []


def test_a_closed_database_is_read_and_stays_alone(path: Path) -> None:
    assert sqlite.ask(str(path), rows) == [b"one"]
    assert os.listdir(path.parent) == ["x.db"]


@pytest.mark.parametrize("end", ["-shm", "-wal"])
def test_an_index_or_an_empty_log_that_was_left_alone_stays_alone(path: Path, end: str) -> None:
    path.with_name(f"x.db{end}").touch()
    assert sqlite.ask(str(path), rows) == [b"one"]
    assert sorted(os.listdir(path.parent)) == ["x.db", f"x.db{end}"]


def test_a_host_that_begins_to_write_meanwhile_is_read_again(path: Path) -> None:
    host = sqlite3.connect(path, isolation_level=None)
    calls: list[int] = []

    def work(db: sqlite3.Connection) -> list[bytes]:
        if not calls:
            host.execute("INSERT INTO t VALUES ('two')")
        calls.append(1)
        return rows(db)

    assert sqlite.ask(str(path), work) == [b"one", b"two"]
    assert len(calls) == 2
    host.close()


def test_nothing_can_be_written_through_it(path: Path) -> None:
    for statement in ("INSERT INTO t VALUES ('x')", "DROP TABLE t", "CREATE TABLE u(x)"):
        with pytest.raises(sqlite3.Error):
            sqlite.ask(str(path), lambda db, query=statement: db.execute(query))  # type: ignore[misc]
    assert sqlite.ask(str(path), rows) == [b"one"]


def test_a_copy_is_private_and_gone_afterwards(path: Path) -> None:
    host = sqlite3.connect(path, isolation_level=None)
    host.execute("PRAGMA wal_autocheckpoint=0")
    host.execute("INSERT INTO t VALUES ('two')")
    folder = path.parent.parent / "copy"
    folder.mkdir()
    for end in ("", "-wal"):
        (folder / f"x.db{end}").write_bytes(path.with_name(f"x.db{end}").read_bytes())
    host.close()
    seen = []

    def work(db: sqlite3.Connection) -> list[bytes]:
        (place,) = [row[2] for row in db.execute("PRAGMA database_list")]
        seen.append(place.decode())
        mode = os.stat(os.path.dirname(place)).st_mode & 0o777
        assert mode == 0o700 and os.stat(place).st_mode & 0o777 == 0o600
        return rows(db)

    assert sqlite.ask(str(folder / "x.db"), work) == [b"one", b"two"]
    assert seen[0].startswith(paths.state_dir()) and copies() == []
    with pytest.raises(ZeroDivisionError):
        sqlite.ask(str(folder / "x.db"), lambda db: 1 // 0)
    assert copies() == []


def test_a_file_that_cannot_be_opened_is_refused_in_words(tmp_path: Path) -> None:
    with pytest.raises(MissingSourceError, match="does not exist"):
        sqlite.ask(str(tmp_path / "none.db"), rows)
    with pytest.raises(SourceError, match="is a directory"):
        sqlite.ask(str(tmp_path), rows)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(SourceError, match="no regular file"):
        sqlite.ask(str(tmp_path / "pipe"), rows)


def test_odd_names_are_no_part_of_the_address(path: Path) -> None:
    odd = path.with_name("a?mode=rwc#%20 b.db")
    path.rename(odd)
    assert sqlite.ask(str(odd), rows) == [b"one"]


def test_copies_of_killed_processes_are_removed_and_no_others(path: Path) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    place = Path(paths.state_dir()) / "copies"
    names = [f"{gone.pid}-aa", f"{gone.pid}-new", f"{os.getpid()}-bb", "words-cc"]
    for name in names:
        (place / name).mkdir(parents=True)
        (place / name / "database").write_bytes(b"x")
        if not name.endswith("new"):
            os.utime(place / name, (1, 1))
    sqlite.remove(sqlite.copied(str(path)))
    assert sorted(copies()) == sorted(names[1:])


def test_a_copy_that_finds_no_room_leaves_nothing(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int, __: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files, "write_all", full)
    with pytest.raises(SourceError, match="No space left on device; make room"):
        sqlite.copied(str(path))
    assert copies() == []
