"""Taking a text out of a store, and proving that it is gone.

Owns the forms in which a text can stand in a store, the masking of records and the search of the
bytes. Promises that tags, numbers and metadata of records stay as they were sealed, that a sealed
record names each record that was masked and the hash of what is left of it, and that old pages are
written over. Never takes a text out of names (session keys, workspaces): it counts them.
"""

from __future__ import annotations

import json
import os
import sqlite3
import zlib

from swapcache import paths
from swapcache.errors import BusyError, SourceError
from swapcache.model import NamedTuple
from swapcache.store import database, files, seal, trust
from swapcache.store.store import Store, now
from swapcache.store.writing import LEVEL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

MASK = "[forgotten]"
BLOCK = 1 << 20
ESCAPED = 3
"""How deep JSON stands in JSON: a tool's arguments inside a statement inside a record."""
LEAST = 4
"""Characters of a text that can be forgotten: fewer stand everywhere by chance."""
NAMES = ("record.meta", "session.key", "session.id", "source.path", "store.workspace")
"""Columns of names: they cannot be taken out without breaking the seal."""


class Text(NamedTuple):
    """A text as it may stand in bytes, the longest form first."""

    forms: tuple[bytes, ...]

    def inside(self, data: bytes) -> bool:
        """True when it stands in `data`."""
        return any(form in data for form in self.forms)

    def masked(self, data: bytes) -> bytes:
        """`data` without it. A JSON object stays one."""
        found = data
        for form in self.forms:
            found = found.replace(form, MASK.encode())
        if found != data and _is_object(data) and not _is_object(found):
            return json.dumps({"type": "forgotten"}).encode()
        return found


def text_of(*spellings: str) -> Text:
    """The forms of a text that is spelled in these ways: as it is, and inside JSON."""
    forms: set[bytes] = set()
    for spelling in spellings:
        level = {spelling, " ".join(spelling.split())}
        for _ in range(ESCAPED + 1):
            forms |= {one.encode("utf-8", "surrogatepass") for one in level}
            level = {json.dumps(t, ensure_ascii=a)[1:-1] for t in level for a in (True, False)}
            level |= {one.replace("/", "\\/") for one in level}
    return Text(tuple(sorted(forms, key=len, reverse=True)))


def _is_object(data: bytes) -> bool:
    try:
        return isinstance(json.loads(data), dict)
    except (ValueError, RecursionError):
        return False


# -- searching -------------------------------------------------------------------------------------


def records_with(store: Store, text: Text) -> list[int]:
    """Numbers of the records whose bytes hold a text."""
    found = []
    for number, data in _chunks(store):
        if text.inside(data):
            bodies = _bodies(store, number, data)
            found += [seq for seq, body, ours in bodies if not ours and text.inside(body)]
    return sorted(found)


def columns_with(store: Store, text: Text) -> dict[str, int]:
    """Rows by table and column, of every column of text but those of records and chunks."""
    found: dict[str, int] = {}
    tables = [t for (t,) in store.db.execute("SELECT name FROM sqlite_master WHERE type='table'")]
    for table in tables:
        columns = [row[1] for row in store.db.execute(f"PRAGMA table_info({table})")]
        for column in columns:
            if (table, column) == ("chunk", "data"):
                continue
            query = f"SELECT {column} FROM {table}"  # noqa: S608 - names of our own schema
            rows = sum(text.inside(_as_bytes(value)) for (value,) in store.db.execute(query))
            if rows:
                found[f"{table}.{column}"] = rows
    return found


def files_with(store: Store, text: Text) -> list[str]:
    """The database's files whose very bytes hold a text; read in pieces."""
    base = paths.database(store.directory)
    names = [base, f"{base}-wal", f"{base}-shm", paths.owner_file(store.directory)]
    return [n for n in names if os.path.exists(n) and file_holds(n, text)]


def file_holds(path: str, text: Text) -> bool:
    """True when the bytes of a file hold a text, whatever its size; False for what is no file."""
    try:
        file = files.open_regular(path)
    except SourceError:
        return False
    data, overlap = b"", len(text.forms[0])
    try:
        while block := os.read(file, BLOCK):
            data = data[-overlap:] + block
            if text.inside(data):
                return True
    finally:
        os.close(file)
    return False


def _as_bytes(value: object) -> bytes:
    if isinstance(value, bytes):
        return value
    return value.encode("utf-8", "surrogatepass") if isinstance(value, str) else b""


def _chunks(store: Store) -> Iterator[tuple[int, bytes]]:
    numbers = [n for (n,) in store.db.execute("SELECT id FROM chunk ORDER BY id")]
    for number in numbers:
        yield number, store.chunk(number)


def _bodies(store: Store, number: int, data: bytes) -> list[tuple[int, bytes, bool]]:
    """Number and body of each record of a chunk; True where it is a trust record's: what those hold
    are numbers and hashes of ours, which the chain is judged by."""
    rows = store.db.execute(
        "SELECT seq, start, size, meta FROM record WHERE chunk=? ORDER BY start, seq", (number,)
    )
    return [
        (seq, data[start : start + size], trust.parsed(meta).get("kind") == trust.KIND)
        for seq, start, size, meta in rows
    ]


# -- taking out ------------------------------------------------------------------------------------


def mask_records(store: Store, text: Text) -> list[int]:
    """Masks a text in every record; the numbers. Raises StoreError, SealError.

    One transaction with the sealed record of it; before the text is out of the file, `write_over`.
    """
    masked: dict[int, str] = {}
    with store.writing() as writer:
        store.db.execute("PRAGMA secure_delete=ON")
        for number, data in _chunks(store):
            if text.inside(data):
                masked |= _mask_chunk(store, number, data, text)
        if masked:
            body = json.dumps({"records": masked}, separators=(",", ":")).encode()
            decision = trust.record(trust.FORGET, now(), count=len(masked))
            writer.append([decision._replace(body=body)])
    return sorted(masked)


def _mask_chunk(store: Store, number: int, data: bytes, text: Text) -> dict[int, str]:
    """Writes one chunk anew; number and hash of the bodies that changed."""
    changed: dict[int, str] = {}
    parts: list[bytes] = []
    at = 0
    for seq, body, ours in _bodies(store, number, data):
        left = body if ours else text.masked(body)
        if left != body:
            changed[seq] = seal.sha256(left)
        where = (at, len(left), seq)
        store.db.execute("UPDATE record SET start=?, size=? WHERE seq=?", where)
        parts.append(left)
        at += len(left)
    packed = zlib.compress(b"".join(parts), LEVEL)
    store.db.execute("UPDATE chunk SET data=? WHERE id=?", (packed, number))
    store.forget_chunk()
    return changed


def write_over(store: Store) -> None:
    """Writes the database anew, so that no old page of it is left. Raises BusyError, StoreError."""
    try:
        store.db.execute("VACUUM")
        busy, _, _ = store.db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        (unused,) = store.db.execute("PRAGMA freelist_count").fetchone()
    except sqlite3.Error as error:
        raise database.problem(error, store.directory) from error
    if busy or unused:
        raise BusyError(
            f"{store.directory} is read by another process: its old pages could not be written "
            "over; run the command again"
        )
