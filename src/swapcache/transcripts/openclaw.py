"""OpenClaw's transcript since 2026.8: events in a SQLite database, large ones compressed.

Owns the reading of the tables transcript_events, transcript_rewrite_watermarks and session_nodes
(schema 23). Promises to open the host's database read-only, beside a running gateway, and to give
every event, also one that cannot be decompressed here. Never copies it, never locks it for writing.
The events themselves have the pi family's form (transcripts/pi.py).
"""

from __future__ import annotations

import os
import sqlite3
import sys

from swapcache.errors import MissingSourceError, SourceError
from swapcache.model import NamedTuple, Row
from swapcache.transcripts import lines

PREFIX = "sqlite:"
EVENT_LIMIT = 4 << 20
"""The host compresses no event above 4 MB."""


class Events(NamedTuple):
    """Events from a sequence number on."""

    rows: list[Row]
    """`start` is the event's sequence number, `raw` its JSON text."""
    next: int
    generation: str
    """Changes when the host rewrites the session: earlier events may be others then."""
    more: bool


def name(session_id: str, path: str) -> str:
    """The name of a session in a database, as a source's path."""
    return f"{PREFIX}{session_id}:{path}"


def named(source: str) -> tuple[str, str]:
    """(session id, database) of a source's path that `name` made."""
    session_id, _, path = source.removeprefix(PREFIX).partition(":")
    return session_id, path


def connect(path: str) -> sqlite3.Connection:
    """A read-only connection. Raises SourceError."""
    if not os.path.exists(path):
        raise MissingSourceError(f"{path} does not exist; check the path")
    quoted = path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    try:
        db = sqlite3.connect(f"file:{quoted}?mode=ro", uri=True, timeout=5.0)
        db.execute("SELECT 1 FROM sqlite_master").fetchone()
    except sqlite3.Error as problem:
        raise SourceError(f"{path} cannot be read: {problem}") from problem
    return db


def _ask(path: str, query: str, *values: object) -> list[tuple[object, ...]]:
    """The rows of one query on a connection of its own. Raises SourceError."""
    db = connect(path)
    try:
        return db.execute(query, values).fetchall()
    except sqlite3.Error as problem:
        raise SourceError(f"{path} has no sessions as we know them: {problem}") from problem
    finally:
        db.close()


def current(path: str, session_key: str) -> str:
    """The id of the session that a key stands for now, or empty. Raises SourceError."""
    query = "SELECT current_session_id FROM session_nodes WHERE session_key=?"
    rows = _ask(path, query, session_key)
    return str(rows[0][0]) if rows and rows[0][0] else ""


def keys(path: str) -> list[str]:
    """The session keys of a database. Raises SourceError."""
    rows = _ask(path, "SELECT session_key FROM session_nodes ORDER BY session_key")
    return [str(row[0]) for row in rows]


def newest(path: str, session_id: str) -> int:
    """When the newest event of a session was written, in ms; 0 without one. Raises SourceError."""
    query = "SELECT coalesce(max(created_at), 0) FROM transcript_events WHERE session_id=?"
    return int(str(_ask(path, query, session_id)[0][0]))


def interrupted(path: str, session_key: str) -> tuple[str, str]:
    """(message as JSON, time in ms) of the newest input that never became an event, or empties.

    The host keeps there what a turn that died before its model call had been asked.
    """
    db = connect(path)
    try:
        row = db.execute(
            "SELECT message_json, accepted_at FROM session_pending_inputs WHERE session_key=?"
            " AND consumed_event_id IS NULL AND state='interrupted' ORDER BY seq DESC LIMIT 1",
            (session_key,),
        ).fetchone()
    except sqlite3.Error:
        return "", ""  # a schema without that table
    finally:
        db.close()
    return (str(row[0]), str(row[1])) if row else ("", "")


def read(source: str, cursor: int, limit: int) -> Events:
    """Events of a session from `cursor` on, about `limit` bytes. Raises SourceError."""
    session_id, path = named(source)
    db = connect(path)
    try:
        db.execute("BEGIN")
        mark = db.execute(
            "SELECT generation FROM transcript_rewrite_watermarks WHERE session_id=?", (session_id,)
        ).fetchone()
        found = db.execute(
            "SELECT seq, event_json, event_zstd, navigation_json FROM transcript_events"
            " WHERE session_id=? AND seq>=? ORDER BY seq",
            (session_id, cursor),
        )
        rows: list[Row] = []
        size = 0
        for seq, plain, packed, navigation in found:
            if size > limit:
                return Events(rows, seq, str(mark[0]) if mark else "", True)
            rows.append(_row(seq, plain, packed, navigation))
            size += len(rows[-1].raw)
            cursor = seq + 1
    except sqlite3.Error as problem:
        raise SourceError(f"{path} has no transcript as we know it: {problem}") from problem
    finally:
        db.close()
    return Events(rows, cursor, str(mark[0]) if mark else "", False)


def packed(source: str, seq: int) -> bytes | None:
    """An event's bytes as the host compressed them; None for a plain one. Raises SourceError."""
    session_id, path = named(source)
    query = "SELECT event_zstd FROM transcript_events WHERE session_id=? AND seq=?"
    rows = _ask(path, query, session_id, seq)
    return bytes(rows[0][0]) if rows and isinstance(rows[0][0], bytes) else None


def _row(seq: int, plain: str | None, packed: bytes | None, navigation: str | None) -> Row:
    if plain is not None:
        return lines.split(0, plain.encode("utf-8", "replace"))[0]._replace(start=seq)
    raw = _unpacked(packed or b"")
    if raw is not None:
        return lines.split(0, raw)[0]._replace(start=seq)
    reason = "compressed event, and no zstd decoder here (install backports.zstd)"
    return Row(seq, packed or b"", None, f"{reason}; known of it: {(navigation or '')[:200]}")


def _unpacked(data: bytes) -> bytes | None:
    """Decompressed by the standard library from 3.14 on, else by its backport; None without one."""
    try:
        if sys.version_info >= (3, 14):
            from compression import zstd
        else:
            _add_site()
            from backports import zstd
    except ImportError:
        return None
    decoder = zstd.ZstdDecompressor()
    try:
        plain = decoder.decompress(data, max_length=EVENT_LIMIT)
    except zstd.ZstdError:
        plain = b""
    return plain if decoder.eof else b"\x00 damaged: " + data


def _add_site() -> None:
    """The hook runs without site-packages; only a compressed event needs them."""
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    prefix = os.path.dirname(os.path.dirname(sys.executable))
    site = f"{prefix}/lib/{version}/site-packages"
    if site not in sys.path:
        sys.path.append(site)
