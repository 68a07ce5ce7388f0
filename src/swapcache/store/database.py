"""The SQLite database of a store: opening, schema, transactions.

Owns connection settings and the schema. Promises synchronous=FULL on every connection that writes,
bounded waiting, and to leave a database of a newer schema alone. Never opens one file by two paths
in a process (closing the second drops the first one's locks) and never migrates in a hook.
"""

import os
import sqlite3
import stat

from swapcache import paths
from swapcache.errors import BusyError, NewerSchemaError, NoSpaceError, OlderSchemaError, StoreError
from swapcache.store import files

SCHEMA = 1
APPLICATION = 0x73776361  # "swca"
WAL_LIMIT = 1 << 20
LOG_LIMIT = 32 << 20
"""Bytes of a log that a long import leaves before it folds them in."""
ROOM = 65536

TABLES = """
CREATE TABLE store(
  id INTEGER PRIMARY KEY CHECK (id = 1), uuid TEXT NOT NULL, key_id TEXT NOT NULL,
  host TEXT NOT NULL, state_dir TEXT NOT NULL, agent TEXT NOT NULL,
  workspace TEXT NOT NULL, inode TEXT NOT NULL, created TEXT NOT NULL);
CREATE TABLE chunk(id INTEGER PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE record(
  seq INTEGER PRIMARY KEY, chunk INTEGER NOT NULL, start INTEGER NOT NULL, size INTEGER NOT NULL,
  sha BLOB NOT NULL, meta TEXT NOT NULL, tag BLOB NOT NULL, source INTEGER, position INTEGER);
CREATE UNIQUE INDEX record_position ON record(source, position) WHERE source IS NOT NULL;
CREATE TABLE head(
  id INTEGER PRIMARY KEY CHECK (id = 1), seq INTEGER NOT NULL, tag TEXT NOT NULL,
  mac TEXT NOT NULL);
CREATE TABLE session(
  number INTEGER PRIMARY KEY, key TEXT NOT NULL, id TEXT NOT NULL, window INTEGER NOT NULL,
  boot TEXT, namespace TEXT, pid INTEGER, started INTEGER, parent INTEGER,
  begun TEXT NOT NULL, touched TEXT NOT NULL, ended TEXT NOT NULL, reason TEXT NOT NULL,
  requests INTEGER NOT NULL, compactions INTEGER NOT NULL, last INTEGER NOT NULL,
  UNIQUE (key, id, window));
CREATE TABLE running(
  session INTEGER NOT NULL, boot TEXT NOT NULL, namespace TEXT NOT NULL, pid INTEGER NOT NULL,
  started INTEGER NOT NULL, PRIMARY KEY (session, boot, namespace, pid, started)) WITHOUT ROWID;
CREATE INDEX running_process ON running(boot, pid, started);
CREATE TABLE source(
  number INTEGER PRIMARY KEY, session INTEGER NOT NULL, path TEXT NOT NULL,
  generation INTEGER NOT NULL, cursor INTEGER NOT NULL, head TEXT NOT NULL, tail TEXT NOT NULL,
  format TEXT NOT NULL, closed INTEGER NOT NULL, rows INTEGER NOT NULL, kept INTEGER NOT NULL,
  messages INTEGER NOT NULL,
  UNIQUE (session, path, generation));
CREATE TABLE damage(
  source INTEGER NOT NULL, position INTEGER NOT NULL, size INTEGER NOT NULL, reason TEXT NOT NULL,
  PRIMARY KEY (source, position)) WITHOUT ROWID;
CREATE TABLE state(
  session INTEGER PRIMARY KEY, seq INTEGER NOT NULL, tag TEXT NOT NULL, body TEXT NOT NULL,
  provisional TEXT NOT NULL, mac TEXT NOT NULL);
CREATE TABLE snapshot(seq INTEGER PRIMARY KEY, session INTEGER NOT NULL);
CREATE TABLE receipt(
  seq INTEGER PRIMARY KEY, session INTEGER NOT NULL, epoch TEXT NOT NULL, UNIQUE (session, epoch));
"""


def problem(error: sqlite3.Error, where: str) -> StoreError:
    """The error of ours for one of SQLite's."""
    text = str(error)
    if "locked" in text or "busy" in text:
        return BusyError(f"{where} is held by another process: {text}; try again")
    if "full" in text or "readonly" in text or "read-only" in text or no_room(where):
        return NoSpaceError(f"{where}: {text}; free some space or make it writable, then try again")
    return StoreError(f"{where}: {text}; run: swapcache verify --full")


def no_room(path: str) -> bool:
    """True when the disk that holds `path` is full: SQLite calls some of these an I/O error."""
    try:
        disk = os.statvfs(path if os.path.isdir(path) else os.path.dirname(path))
    except OSError:
        return False
    return disk.f_bavail * disk.f_frsize < ROOM


def connect(directory: str, wait: float, *, read_only: bool = False) -> sqlite3.Connection:
    """A connection to an existing store. Raises StoreError (older and newer schemas too)."""
    path = paths.database(directory)
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):
            raise StoreError(f"{path} is no regular file; move it away")
    except OSError:
        raise StoreError(
            f"{path} does not exist; nothing was recorded for this workspace yet"
        ) from None
    db = None
    try:
        db = sqlite3.connect(path, timeout=wait, isolation_level=None)
        db.execute("PRAGMA wal_autocheckpoint=0")
        if read_only:
            db.execute("PRAGMA query_only=1")
        else:
            db.execute("PRAGMA synchronous=FULL")
        (version,) = db.execute("PRAGMA user_version").fetchone()
        (application,) = db.execute("PRAGMA application_id").fetchone()
    except sqlite3.Error as error:
        if db is not None:
            db.close()
        raise problem(error, path) from error
    if application != APPLICATION:
        db.close()
        raise StoreError(f"{path} is no store of swapcache; move it away")
    if version > SCHEMA:
        db.close()
        raise NewerSchemaError(
            f"{path} has schema {version}, this swapcache knows {SCHEMA}; "
            "upgrade swapcache (nothing was changed)"
        )
    if version < SCHEMA:
        db.close()
        raise OlderSchemaError(
            f"{path} has schema {version}, this swapcache writes {SCHEMA}; "
            "run: swapcache doctor --fix (it makes a backup first)"
        )
    return db


def create(directory: str, row: tuple[str | bytes, ...]) -> None:
    """Makes a store's database, whole or not at all; `row` fills the table `store`.

    Built under a temporary name and renamed, so that a kill cannot leave a half-made store.
    """
    files.private_directory(directory)
    path = paths.database(directory)
    temporary = f"{directory}/{files.TEMPORARY}{os.getpid()}-{os.urandom(6).hex()}"
    try:
        file = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        os.fchmod(file, 0o600)  # whatever the umask took away; SQLite's other files get the same
        os.close(file)
        db = sqlite3.connect(temporary, isolation_level=None)
        try:
            db.execute("PRAGMA synchronous=FULL")
            db.executescript(f"BEGIN;{TABLES}")
            marks = ",".join("?" * len(row))
            db.execute(f"INSERT INTO store VALUES (1,{marks})", row)  # noqa: S608 - only marks
            db.execute(f"PRAGMA application_id={APPLICATION}")
            db.execute(f"PRAGMA user_version={SCHEMA}")
            db.execute("COMMIT")
            db.execute("PRAGMA journal_mode=WAL")
        finally:
            db.close()
        os.link(temporary, path)  # unlike rename, fails when another process was first
    except FileExistsError:
        pass
    except sqlite3.Error as error:
        raise problem(error, path) from error
    except OSError as error:
        raise files.failure(error, f"cannot create the store {directory}") from error
    finally:
        for leftover in (temporary, f"{temporary}-wal", f"{temporary}-shm"):
            if os.path.exists(leftover):
                os.unlink(leftover)
    for folder in (directory, os.path.dirname(directory)):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def bound(path: str) -> str | bytes:
    """A path as SQLite takes it: one that is no UTF-8 as its bytes."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return os.fsencode(path)
    return path


def unbound(value: object) -> str:
    """A path as `bound` stored it."""
    return os.fsdecode(value) if isinstance(value, bytes) else str(value)


def shrink_log(db: sqlite3.Connection, directory: str) -> None:
    """Folds in a write-ahead log of more than LOG_LIMIT bytes: no transaction is open. Raises
    StoreError."""
    try:
        if os.stat(f"{paths.database(directory)}-wal").st_size > LOG_LIMIT:
            db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    except FileNotFoundError:
        return
    except sqlite3.Error as error:
        raise problem(error, directory) from error


def leave(db: sqlite3.Connection, directory: str) -> None:
    """For a process that ends at once: no close, so no sync beyond the commit's.

    A leftover write-ahead log is normal and no unclean stop; past 1 MB it is folded in.
    """
    try:
        grown = os.stat(f"{paths.database(directory)}-wal").st_size > WAL_LIMIT
    except OSError:
        return
    if grown:
        db.close()
