"""OpenClaw's transcript since 2026.8: events in a SQLite database, large ones compressed.

Owns the reading of the tables transcript_events, transcript_rewrite_watermarks and session_nodes
(schema 23). An event is finished when it is there. A row's place is its
sequence number, which only grows; the host marks a session anew when it rewrites rows. Promises to
give every event, also one that cannot be decompressed here. A record is the event's JSON text byte
for byte, and has the pi family's form (transcripts/pi.py).
"""

from __future__ import annotations

import sqlite3

from swapcache.errors import SourceError
from swapcache.model import Row, Source
from swapcache.transcripts import openclaw_archives as archives
from swapcache.transcripts import sqlite, tables, zstd
from swapcache.transcripts.tables import Candidate, Database, Found, Mark, Shape, fetch, has, text
from swapcache.transcripts.text import string

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from swapcache.transcripts.carve import Value

EVENT_LIMIT = 4 << 20
"""The host compresses no event above 4 MB."""
BEGINNING = 40
"""Events in which a session's first words are looked for."""
EVENTS = "session_id seq event_json created_at event_zstd event_utf8_bytes navigation_json"
NODES = "session_key current_session_id entry_json"
ARCHIVES = (
    "session_id generation session_key reason encoding archive_blob archive_sha256 archive_name"
    " created_at"
)
COLD = (
    "session_id generation archive_name archive_sha256 event_count raw_bytes archive_bytes last_seq"
    " archived_at storage archive_blob"
)


# -- what the host's own part asks -----------------------------------------------------------------


def _ask(path: str, query: str, *values: object) -> list[tuple[Any, ...]]:
    """The rows of one query. Raises SourceError."""
    try:
        return sqlite.ask(path, lambda db: db.execute(query, values).fetchall())
    except sqlite3.Error as problem:
        raise SourceError(f"{path} has no sessions as we know them: {problem}") from problem


def current(path: str, session_key: str) -> str:
    """The id of the session that a key stands for now, or empty. Raises SourceError."""
    query = "SELECT current_session_id FROM session_nodes WHERE session_key=?"
    rows = _ask(path, query, session_key)
    return text(rows[0][0]) if rows else ""


def keys(path: str) -> list[str]:
    """The session keys of a database. Raises SourceError."""
    rows = _ask(path, "SELECT session_key FROM session_nodes ORDER BY session_key")
    return [text(row[0]) for row in rows]


def newest(path: str, session_id: str) -> int:
    """When the newest event of a session was written, in ms; 0 without one. Raises SourceError."""
    query = "SELECT coalesce(max(created_at), 0) FROM transcript_events WHERE session_id=?"
    return tables.number(_ask(path, query, session_id)[0][0])


def interrupted(path: str, session_key: str) -> tuple[str, str]:
    """(message as JSON, time in ms) of the newest input that never became an event, or empties.

    The host keeps there what a turn that died before its model call had been asked.
    """
    query = (
        "SELECT message_json, accepted_at FROM session_pending_inputs WHERE session_key=?"
        " AND consumed_event_id IS NULL AND state='interrupted' ORDER BY seq DESC LIMIT 1"
    )
    try:
        rows = _ask(path, query, session_key)
    except SourceError:
        return "", ""  # a schema without that table
    return (text(rows[0][0]), text(rows[0][1])) if rows else ("", "")


def packed(source: str, seq: int) -> bytes | None:
    """An event's bytes as the host compressed them; None for a plain one. Raises SourceError."""
    session, path = tables.parts(source)
    query = "SELECT event_zstd FROM transcript_events WHERE session_id=? AND seq=?"
    rows = _ask(path, query, session, seq)
    return rows[0][0] if rows and isinstance(rows[0][0], bytes) else None


# -- a session's events ----------------------------------------------------------------------------


def sound(db: sqlite3.Connection, session: str) -> bool:
    """Every event that the table of identities names is there."""
    if not has(db, "transcript_event_identities"):
        return True
    query = (
        "SELECT 1 FROM transcript_event_identities AS i WHERE i.session_id=? AND NOT EXISTS (SELECT"
        " 1 FROM transcript_events AS e WHERE e.session_id=i.session_id AND e.seq=i.seq) LIMIT 1"
    )
    return db.execute(query, (session,)).fetchone() is None


def mark(db: sqlite3.Connection, session: str, source: Source) -> Mark:
    """The host's rewrite mark; an archived session keeps that of its archive."""
    generation = ""
    for table in ("transcript_rewrite_watermarks", *archives.TABLES):
        if not generation and has(db, table):
            found = fetch(db, f"SELECT generation FROM {table} WHERE session_id=?", session)  # noqa: S608
            generation = tables.mark(found[-1]["generation"]) if found else ""
    return Mark(generation, bool(source.cursor) and generation != source.head)


def read(db: sqlite3.Connection, session: str, source: Source, limit: int) -> Found:
    """Events from the cursor on, about `limit` bytes."""
    found = fetch_events(db, session, source.cursor)
    rows: list[Row] = []
    size, cursor = 0, source.cursor
    for seq, plain, packed, navigation in found:
        if size > limit:
            return Found(rows, seq, "", True)
        if not isinstance(seq, int):
            raise sqlite3.DatabaseError("an event's number is none")
        rows.append(_row(seq, plain, packed, navigation))
        size += len(rows[-1].raw)
        cursor = seq + 1
    if not rows and not _live(db, session):
        rows = [r for r in archives.rows(db, session, source) if r.start >= cursor]
        cursor = max([cursor, *(row.start + 1 for row in rows)])
    return Found(rows, cursor, "", False)


def fetch_events(db: sqlite3.Connection, session: str, cursor: int) -> sqlite3.Cursor:
    """(number, plain, packed, navigation) of a session's events in their order."""
    return db.execute(
        "SELECT seq, event_json, event_zstd, navigation_json FROM transcript_events"
        " WHERE session_id=? AND seq>=? ORDER BY seq",
        (session, cursor),
    )


def back(db: sqlite3.Connection, session: str, path: str) -> Iterator[Row]:
    """The events from the newest on; an archived session's are unpacked all at once."""
    if not _live(db, session):
        source = Source(0, 0, tables.name(session, path), 0, 0, "", "", "")
        yield from reversed(archives.rows(db, session, source))
        return
    above, named = 1 << 62, has(db, "transcript_event_identities")
    query = "SELECT seq, event_json, event_zstd, navigation_json FROM transcript_events"
    for row in db.execute(f"{query} WHERE session_id=? ORDER BY seq DESC", (session,)):
        if named and above - row[0] > 1:
            _agree(db, session, row[0], above)
        above = row[0]
        yield _row(*row)
    if named:
        _agree(db, session, -1, above)


def _agree(db: sqlite3.Connection, session: str, low: int, high: int) -> None:
    """No event between two others is named that is not there."""
    query = "SELECT 1 FROM transcript_event_identities WHERE session_id=? AND seq>? AND seq<?"
    if db.execute(f"{query} LIMIT 1", (session, low, high)).fetchone() is not None:
        raise sqlite3.DatabaseError(tables.DISAGREE)


def mention(db: sqlite3.Connection, session: str, words: Iterable[bytes], before: int) -> int:
    """The number of the newest event before a place with one of these ids, or -1."""
    if not has(db, "transcript_event_identities") or not _live(db, session):
        return before - 1  # only the events themselves can tell
    query = (
        "SELECT max(seq) FROM transcript_event_identities"
        " WHERE session_id=? AND event_id=? AND seq<?"
    )
    names = [word.decode("utf-8", "replace") for word in words]
    found = [db.execute(query, (session, name, before)).fetchone()[0] for name in names]
    return max((seq for seq in found if seq is not None), default=-1)


def _live(db: sqlite3.Connection, session: str) -> bool:
    query = "SELECT 1 FROM transcript_events WHERE session_id=? LIMIT 1"
    return db.execute(query, (session,)).fetchone() is not None


def _row(seq: int, plain: Any, packed: Any, navigation: Any) -> Row:
    if plain is not None:
        return archives.event(seq, tables.octets(plain))
    if not isinstance(packed, bytes):
        return Row(seq, b"", None, "neither text nor compressed data where an event is expected")
    raw, reason = zstd.unpacked(packed, EVENT_LIMIT)
    if not reason:
        return archives.event(seq, raw)
    known = tables.mark(navigation)[:200]
    return Row(seq, packed, None, f"compressed event: {reason}; known of it: {known}")


# -- sessions --------------------------------------------------------------------------------------


def candidates(db: sqlite3.Connection, path: str) -> list[Candidate]:
    """The sessions of a database, the newest first, archived ones behind."""
    names: dict[str, str] = {}
    if has(db, "session_nodes"):
        nodes = fetch(db, "SELECT session_key, current_session_id FROM session_nodes")
        names = {text(n["current_session_id"]): text(n["session_key"]) for n in nodes}
    found = []
    query = "SELECT session_id, count(*) AS n FROM transcript_events GROUP BY session_id"
    for row in fetch(db, query):
        key = text(row["session_id"])
        if not tables.is_text(key):  # damage: it is listed, nothing more can be asked of it
            name = tables.name(key, path)
            found.append(Candidate(key, key, "", "", row["n"], "", name))
            continue
        found.append(_candidate(db, path, key, names.get(key) or _key_of(db, key), row["n"]))
    found.sort(key=lambda c: c.wall, reverse=True)
    known = {c.id for c in found}
    for table in archives.TABLES:
        for row in fetch(db, f"SELECT * FROM {table}") if has(db, table) else ():  # noqa: S608
            key, when = text(row["session_id"]), row.get("created_at") or row.get("archived_at")
            if key in known:
                continue
            known.add(key)
            name = text(row.get("session_key")) or names.get(key) or key
            source = Source(0, 0, tables.name(key, path), 0, 0, "", "", "")
            rows = archives.rows(db, key, source)
            words, work, _ = _beginning(rows)
            count = sum(1 for r in rows if r.value and r.value.get("type") == "message")
            found.append(
                Candidate(
                    key, name, words, tables.iso(when), count, work, source.path, state="archived"
                )
            )
    return found


def _key_of(db: sqlite3.Connection, session: str) -> str:
    """The key of a session that is not the current one of any."""
    if not has(db, "session_windows"):
        return session
    found = fetch(db, "SELECT session_key FROM session_windows WHERE session_id=?", session)
    return text(found[0]["session_key"]) if found else session


def _candidate(db: sqlite3.Connection, path: str, session: str, key: str, count: int) -> Candidate:
    begin = [_row(*row) for row in fetch_events(db, session, 0).fetchmany(BEGINNING)]
    said, work, _ = _beginning(begin)
    query = "SELECT seq, event_json, event_zstd, navigation_json FROM transcript_events"
    last = db.execute(f"{query} WHERE session_id=? ORDER BY seq DESC LIMIT 1", (session,))
    _, _, wall = _beginning([_row(*row) for row in last])
    if has(db, "transcript_event_identities"):
        query = "SELECT count(*) FROM transcript_event_identities WHERE session_id=?"
        (count,) = db.execute(f"{query} AND event_type='message'", (session,)).fetchone()
    child = ":subagent:" in key
    return Candidate(session, key, said, wall, count, work, tables.name(session, path), child)


def _beginning(rows: list[Row]) -> tuple[str, str, str]:
    """(first words of a person's, workspace, time of the first row) among some rows."""
    from swapcache.transcripts import pi

    values = [row.value for row in rows if row.value is not None]
    said = (pi.message(value) for value in values)
    words = next((m.text for m in said if m is not None and m.kind == "request"), "")
    work = next((w for v in values if (w := pi.workspace_of(v))), "")
    wall = next((string(v.get("timestamp")) for v in values if v.get("timestamp")), "")
    return " ".join(words.split())[:80], work, wall


# -- damage ----------------------------------------------------------------------------------------


def _is_event(values: list[Value], session: bytes) -> bool:
    whole = len(values) >= 3 and (values[2] is None or isinstance(values[2], bytes))
    made = len(values) < 4 or isinstance(values[3], int)
    begins = len(values) >= 2 and isinstance(values[0], bytes) and isinstance(values[1], int)
    fits = begins and (whole or len(values) == 2) and made and len(values) <= 7
    return fits and (not session or values[0] == session)


def _is_mark(values: list[Value], session: bytes) -> bool:
    made = [type(v) for v in values] == [bytes, bytes, int]
    return made and (not session or values[0] == session)


def _is_node(values: list[Value], session: bytes) -> bool:
    wide = len(values) > 20 and all(isinstance(v, bytes) for v in values[:3])
    return wide and (not session or values[1] == session)


def _is_archive(values: list[Value], session: bytes) -> bool:
    wide = len(values) >= 9 and values[3] in (b"deleted", b"reset")
    return wide and (not session or values[0] == session)


def _is_cold(values: list[Value], session: bytes) -> bool:
    wide = len(values) >= 10 and values[9] in (b"file", b"sqlite")
    return wide and (not session or values[0] == session)


def named(values: list[Value], session: bytes) -> tuple[str, int | None, dict[str, Value]] | None:
    """An event that the table of events' identities names."""
    names = len(values) == 7 and values[0] == session and isinstance(values[1], bytes)
    if names and isinstance(values[2], int):
        return "transcript_events", None, {"session_id": session, "seq": values[2]}
    return None


def mended(db: sqlite3.Connection) -> None:
    """Nothing leans on another row."""


DATABASE = Database(
    "openclaw",
    "pi",
    (("transcript_events",),),
    sound,
    mark,
    read,
    back,
    candidates,
    (
        Shape("transcript_events", tuple(EVENTS.split()), _is_event, "session_id, seq", True),
        Shape(
            "transcript_rewrite_watermarks", ("session_id", "generation", "updated_at"), _is_mark
        ),
        Shape("session_nodes", tuple(NODES.split()), _is_node),
        Shape("session_transcript_archives", tuple(ARCHIVES.split()), _is_archive),
        Shape("session_transcript_cold_archives", tuple(COLD.split()), _is_cold),
    ),
    named,
    mended,
    mention=mention,
)
