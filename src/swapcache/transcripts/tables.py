"""What the readers of hosts' databases have in common: their values, a row's bytes, times.

Owns the form of a record that a database row becomes: its columns as one JSON object, the column
that is JSON itself inside it byte for byte. Promises that a row without readable JSON is a row with
a reason. Never opens a database and never knows a host.
"""

from __future__ import annotations

import json
import time

from swapcache.model import NamedTuple, Row
from swapcache.transcripts import lines
from swapcache.transcripts.formats import IN_DATABASE

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    from swapcache.model import Source
    from swapcache.transcripts.carve import Value


class Candidate(NamedTuple):
    """A session that may be meant."""

    id: str
    key: str
    """What the host calls the conversation, where it keeps such a name; else the id."""
    title: str
    """The host's title, or the first words."""
    wall: str
    """When it was last written, ISO 8601, or empty."""
    messages: int
    workspace: str
    path: str
    """Its transcript, as a source's path."""
    child: bool = False
    """A run that another session started."""
    state: str = "live"
    """live, renamed (moved aside by its host) or archived."""


class Found(NamedTuple):
    """Rows of a session from a place on."""

    rows: list[Row]
    """`start` is the row's place: it is the row's for good, and no other row's."""
    next: int
    tail: str
    """What the reader wants to know the next time."""
    more: bool


class Mark(NamedTuple):
    """Whether a session is still what was read of it."""

    generation: str
    rewritten: bool


class Shape(NamedTuple):
    """How a table's rows are known again when nothing else is left of it."""

    table: str
    columns: tuple[str, ...]
    fits: Callable[[list[Value], bytes], bool]
    """True for its values; the session id may be empty: any."""
    sought: str = ""
    """Columns by which its rows are looked for."""
    unique: bool = False
    """Its rows differ by them."""
    numbered: bool = False
    """Its column `id` is the row's number."""


class Database(NamedTuple):
    """A host's database."""

    host: str
    format: str
    """The reader of its rows."""
    signs: tuple[tuple[str, ...], ...]
    """Tables that tell this host's database from others; one set is enough: damage takes some."""
    sound: Callable[[sqlite3.Connection, str], bool]
    """False when a session's rows cannot be found by all the ways to them: SQLite does not always
    notice a damaged index."""
    mark: Callable[[sqlite3.Connection, str, Source], Mark]
    read: Callable[[sqlite3.Connection, str, Source, int], Found]
    back: Callable[[sqlite3.Connection, str, str], Iterator[Row]]
    """The same rows from the newest on (session, the database's path), one by one; raises
    sqlite3.DatabaseError where the ways to them disagree."""
    candidates: Callable[[sqlite3.Connection, str], list[Candidate]]
    shapes: tuple[Shape, ...]
    named: Callable[[list[Value], bytes], tuple[str, int | None, dict[str, Value]] | None]
    """(table, row id if known, columns) of a row that a record elsewhere names."""
    mended: Callable[[sqlite3.Connection], None]
    """Puts in what the rows that were saved lean on."""
    tellings: int = 0
    """Places that one row has, where its host changes rows in place; 0 where rows stay as they are
    and a reading may begin at any of them."""
    mention: Callable[[sqlite3.Connection, str, Iterable[bytes], int], int] | None = None
    """Where the newest row before a place is that has one of these ids, or -1; None where rows have
    no links."""


DISAGREE = "its tables and indexes disagree"


def name(session_id: str, path: str) -> str:
    """The name of a session in a database, as a source's path."""
    return f"{IN_DATABASE}{session_id}:{path}"


def parts(source: str) -> tuple[str, str]:
    """(session id, file) of such a path."""
    session_id, _, path = source.removeprefix(IN_DATABASE).partition(":")
    return session_id, path


def text(value: Any) -> str:
    """A column's value as text; bytes that are no UTF-8 come back unharmed from `raw`."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    return "" if value is None else str(value)


def octets(value: Any) -> bytes:
    """A column's value as bytes; as CAST(? AS TEXT) it is found again, also what is no UTF-8."""
    return value if isinstance(value, bytes) else text(value).encode("utf-8", "surrogateescape")


def is_text(name: str) -> bool:
    """False for a name that `text` made of bytes that are no UTF-8: no query finds it."""
    return not any("\ud800" <= letter <= "\udfff" for letter in name)


def mark(value: Any) -> str:
    """A host's mark in a form that can be kept, whatever damage made of it."""
    return text(value).encode("utf-8", "backslashreplace").decode()


def plain(value: Any) -> Any:
    """A column's value as JSON can hold it."""
    return text(value) if isinstance(value, bytes) else value


def number(value: Any) -> int:
    """A column's value as a whole number, 0 for what is none."""
    if isinstance(value, float):
        return int(value) if abs(value) < 1 << 62 else 0
    return value if isinstance(value, int) else 0


def iso(milliseconds: Any) -> str:
    """A host's time as ISO 8601, or empty."""
    if not isinstance(milliseconds, int | float) or not 0 < milliseconds < 1 << 43:
        return ""
    seconds, rest = divmod(int(milliseconds), 1000)
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(seconds))}.{rest:03d}Z"


def raw(columns: dict[str, Any]) -> bytes:
    """Columns as one JSON object, the form in which a row is kept."""
    made = json.dumps(columns, ensure_ascii=False, separators=(",", ":"))
    return made.encode("utf-8", "surrogateescape")


def row(start: int, columns: dict[str, Any], data: Any) -> Row:
    """A row whose column `data` is JSON: the other columns, and its bytes as they are."""
    body = b"null" if data is None else octets(data)
    kept = raw(columns)[:-1] + b',"data":' + body + b"}"
    if not body.strip():
        return Row(start, kept, None, "nothing where JSON is expected")
    inner, reason = parsed(body)  # by itself: no text of a host's may close the object around it
    value, _ = parsed(kept) if inner is not None else (None, "")
    if value is None or value.get("data") != inner:
        return Row(start, kept, None, reason or "not JSON where it is expected")
    return Row(start, kept, value, reason)


ODD = "characters that no host writes: it was damaged"


def parsed(kept: bytes) -> tuple[dict[str, Any] | None, str]:
    """(object, "") or (None, reason), as a record is read back; both for one that damage hit and
    that can be read all the same."""
    reason = ""
    try:
        value = json.loads(kept)
    except (ValueError, RecursionError):
        pieces = lines.split(0, kept)
        value = pieces[0].value if len(pieces) == 1 else None
        if value is None:
            return None, next((p.reason for p in pieces if p.reason), "no JSON object")
        reason = ODD
    if isinstance(value, dict):
        return value, reason
    found = "NULL" if value is None else f"a JSON {type(value).__name__}"
    return None, f"{found} instead of an object"


def has(db: sqlite3.Connection, name: str) -> bool:
    """True for a table or an index that is there."""
    query = "SELECT 1 FROM sqlite_master WHERE name=?"
    return db.execute(query, (name,)).fetchone() is not None


def fetch(db: sqlite3.Connection, query: str, *values: object) -> list[dict[str, Any]]:
    """The rows of a query by column name."""
    cursor = db.execute(query, values)
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, found, strict=True)) for found in cursor]
