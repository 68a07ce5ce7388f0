"""Bringing a store of an earlier schema up to date.

Owns the steps from each released schema to the next. Promises a backup first, the writer's lock
throughout, and one transaction: a store is of the old schema or of the new one, never between.
Never called by a hook.
"""

from __future__ import annotations

import sqlite3

from swapcache import paths
from swapcache.errors import StoreError
from swapcache.store import database, files
from swapcache.store.store import now

STEPS: dict[int, str] = {}
"""SQL that makes schema N + 1 of schema N, by N. Schema 1 is the first that was released."""
WAIT = 10.0


def upgrade(store_id: str) -> str:
    """Migrates a store; gives its backup's path. Raises StoreError, BusyError.

    The backup is a whole database beside the backups of configuration files.
    """
    path = paths.database(paths.store_dir(store_id))
    backup = f"{paths.backups_dir()}/{now().replace(':', '')}-{store_id}.db"
    files.private_directory(paths.backups_dir())
    files.private_directory(paths.witness_dir())
    with files.Lock(paths.lock_file(store_id), WAIT):
        db = sqlite3.connect(path, timeout=WAIT, isolation_level=None)
        try:
            db.execute("BEGIN EXCLUSIVE")
            (version,) = db.execute("PRAGMA user_version").fetchone()
            missing = [v for v in range(version, database.SCHEMA) if v not in STEPS]
            if missing:
                raise StoreError(f"{path} has schema {version}, which no release ever wrote")
            _copy(path, backup)
            for step in range(version, database.SCHEMA):
                for statement in _statements(STEPS[step]):
                    db.execute(statement)
            db.execute(f"PRAGMA user_version={database.SCHEMA}")
            db.execute("COMMIT")
        except sqlite3.Error as error:
            raise database.problem(error, path) from error
        finally:
            db.close()
    return backup


def _copy(path: str, backup: str) -> None:
    """A consistent copy by SQLite itself; readable by its owner only."""
    files.publish(backup, b"")
    source = sqlite3.connect(path, isolation_level=None)
    target = sqlite3.connect(backup, isolation_level=None)
    try:
        source.backup(target)
    finally:
        target.close()
        source.close()


def _statements(script: str) -> list[str]:
    """A script's statements: `executescript` would commit the transaction first."""
    found, text = [], ""
    for line in script.splitlines(keepends=True):
        text += line
        if sqlite3.complete_statement(text):
            found.append(text)
            text = ""
    return found
