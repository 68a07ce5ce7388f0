"""A host's SQLite database, read and left exactly as it was.

Owns how such a file is opened beside its host, after a kill, or while it is locked. Promises that
nothing is written: not to the database, and no log or index file appears beside it. What cannot be
read in place is read from a private copy, which is gone when the answer is there. Never knows a
host's tables.
"""

from __future__ import annotations

import os
import sqlite3
import time

from swapcache import paths
from swapcache.errors import SourceError
from swapcache.model import NamedTuple
from swapcache.store import files
from swapcache.transcripts import log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    T = TypeVar("T")

MAGIC = b"SQLite format 3\0"
WAL = 2
"""What the header says of a database with a write-ahead log."""
WAIT = 1.0
COPIES = 3
PATIENCE = 5.0
"""Seconds that a transaction of the host's may take to end while we look."""
PAUSE = 0.1
ABANDONED = 600.0
"""Seconds after which a copy whose process is gone is nobody's."""
BESIDE = ("-wal", "-journal")
BLOCK = 1 << 20


class Look(NamedTuple):
    """What lies there now."""

    whole: bool
    """It begins as databases do."""
    wal: bool
    """It keeps a write-ahead log."""
    log: int
    """Bytes in that log."""
    kept_open: bool
    """The log and its index are there, as beside every open connection and after a kill."""
    stamp: tuple[int, ...]
    """Changes when anybody writes."""


def is_database(path: str) -> bool:
    """True for a file that begins as SQLite's do. Raises SourceError when it cannot be opened."""
    file = files.open_regular(path)
    try:
        return os.pread(file, len(MAGIC), 0) == MAGIC
    finally:
        os.close(file)


def look(path: str) -> Look:
    """What lies there. Raises SourceError (missing, a directory, no permission)."""
    file = files.open_regular(path)
    try:
        head = os.pread(file, 20, 0)
        whole, wal = head.startswith(MAGIC), head[18:19] == bytes([WAL])
        stamp = _stamp(os.fstat(file))
    finally:
        os.close(file)
    size = 0
    for end in BESIDE:
        try:
            found = os.stat(path + end)
        except OSError:
            stamp += (-1,)
            continue
        stamp += _stamp(found)
        size = found.st_size if end == "-wal" else size
    kept_open = os.path.exists(f"{path}-shm") and os.path.exists(f"{path}-wal")
    return Look(whole, wal, size, kept_open, stamp)


def _stamp(found: os.stat_result) -> tuple[int, ...]:
    return found.st_ino, found.st_size, found.st_mtime_ns


def ask(path: str, work: Callable[[sqlite3.Connection], T]) -> T:
    """What `work` reads, in one transaction; it may be called again when the host got in between.

    Raises SourceError (cannot be opened), sqlite3.DatabaseError (damaged, or not its tables).
    """
    before = look(path)
    if not before.whole:  # SQLite would delete the log that lies beside an empty file
        raise sqlite3.DatabaseError("file is not a database")
    if before.log and not before.kept_open:
        return _on_copy(path, work)
    if before.wal and not before.kept_open:
        # Opening it as SQLite does would leave a log and an index beside it.
        problem: Exception | None = None
        try:
            answer = _in_place(path, "immutable=1", work)
        except sqlite3.Error as damage:
            problem = damage
        if look(path) == before:  # else its host has begun to write
            if problem is not None:
                raise problem
            return answer
        if not look(path).kept_open:
            return _on_copy(path, work)
    try:
        answer = _in_place(path, "mode=ro", work)
    except sqlite3.OperationalError as problem:
        if not _in_the_way(problem):
            raise
        return _on_copy(path, work)
    if before.log:
        _check_log(path)
    return answer


def _check_log(path: str) -> None:
    """Raises sqlite3.DatabaseError where SQLite read only the beginning of a damaged log."""
    seen, end, twice = log.read_up_to(path), time.monotonic() + PATIENCE, False
    while seen >= 0 and (more := log.behind(path, seen)):
        # Its writer may be between a transaction's end and saying so.
        busy = log.written_by_another(path)
        if log.read_up_to(path) != seen or time.monotonic() > end:
            return  # readers get on: what is new will be read the next time
        if twice and not busy:
            raise sqlite3.DatabaseError(f"its log is damaged in front of {more} transactions")
        twice = not busy
        time.sleep(PAUSE)


def _in_the_way(problem: sqlite3.OperationalError) -> bool:
    """True for a lock, or for a transaction that a kill left to be undone."""
    text = str(problem)
    return any(word in text for word in ("locked", "busy", "readonly", "unable to open"))


def _in_place(path: str, how: str, work: Callable[[sqlite3.Connection], T]) -> T:
    quoted = path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    db = sqlite3.connect(f"file:{quoted}?{how}", uri=True, timeout=WAIT, isolation_level=None)
    try:
        return _worked(db, work)
    finally:
        db.close()


def _worked(db: sqlite3.Connection, work: Callable[[sqlite3.Connection], T]) -> T:
    db.text_factory = bytes  # the bytes as they are; a host's text may be none
    db.execute("PRAGMA query_only=1")
    db.execute("PRAGMA writable_schema=1")  # reads on in a file that lost its end
    db.execute("BEGIN")
    try:
        return work(db)
    except UnicodeDecodeError as problem:  # of a column's name
        raise sqlite3.DatabaseError(f"its schema is no text: {problem.reason}") from problem


def _on_copy(path: str, work: Callable[[sqlite3.Connection], T]) -> T:
    copy = copied(path)
    try:
        db = sqlite3.connect(copy, timeout=WAIT, isolation_level=None)
        try:
            answer = _worked(db, work)
            if os.path.exists(f"{copy}-wal"):
                _check_log(copy)
            return answer
        finally:
            db.close()
    except sqlite3.OperationalError as problem:
        if _in_the_way(problem):
            raise SourceError(f"{path} cannot be read: {problem}; try again") from problem
        raise
    finally:
        remove(copy)


def copied(path: str) -> str:
    """A private copy of a database with what lies beside it, from one moment if possible.

    The caller removes it. Raises SourceError.
    """
    folder = f"{paths.state_dir()}/copies/{os.getpid()}-{os.urandom(6).hex()}"
    _forget_killed(os.path.dirname(folder))
    files.private_directory(folder)
    copy, done = f"{folder}/database", False
    try:
        for _ in range(COPIES):
            before = look(path)
            for end in ("", *BESIDE):
                _copy(path + end, copy + end)
            if look(path) == before:
                break
        done = True
    except OSError as problem:
        raise SourceError(
            f"{path} cannot be copied to {folder}: {problem.strerror}; make room there"
        ) from problem
    finally:
        if not done:
            remove(copy)
    return copy


def _forget_killed(place: str) -> None:
    """Removes the copies of processes that were killed over them."""
    for name in os.listdir(place) if os.path.isdir(place) else ():
        try:
            if time.time() - os.stat(f"{place}/{name}").st_mtime > ABANDONED and _is_gone(name):
                remove(f"{place}/{name}/database")
        except OSError:
            continue  # another process was faster


def _is_gone(name: str) -> bool:
    """True when the process that a copy is named after does not run."""
    owner = name.partition("-")[0]
    try:
        os.kill(int(owner), 0)
    except ProcessLookupError:
        return True
    except (ValueError, OverflowError, PermissionError):
        return False
    return False


def _copy(source: str, target: str) -> None:
    try:
        file = files.open_regular(source)
    except SourceError:
        if os.path.exists(target):
            os.unlink(target)
        return
    try:
        made = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        try:
            at = 0
            while block := os.pread(file, BLOCK, at):
                files.write_all(made, block)
                at += len(block)
        finally:
            os.close(made)
    finally:
        os.close(file)


def remove(copy: str) -> None:
    """Removes a copy and its directory."""
    folder = os.path.dirname(copy)
    for name in os.listdir(folder):
        os.unlink(f"{folder}/{name}")
    os.rmdir(folder)
