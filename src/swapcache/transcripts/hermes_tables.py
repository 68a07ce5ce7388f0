"""Hermes' database (state.db): its sessions, and the rows of one.

Owns the reading of the tables sessions and messages (schema 22). A row is finished when it is
there: the host inserts messages whole. A row's place is its id, which only grows and is never used
again. What it changes later are flags: rows that a compaction summarised stay part of the story,
rows that the person took back do not. A compaction also inserts copies of the rows that it keeps;
they are kept and told as copies. Deleted or taken back rows make a session rewritten. Never writes.
"""

from __future__ import annotations

import json
import sqlite3

from swapcache.model import Row, Source
from swapcache.transcripts import tables
from swapcache.transcripts.hermes import ENCODED, SUMMARIES
from swapcache.transcripts.tables import Candidate, Database, Found, Mark, Shape, fetch, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from swapcache.transcripts.carve import Value

MUTABLE = ("active", "compacted", "api_content")
SHARED = ("", "dm", "direct", "private")
"""Kinds of chats that are the owner's own."""
MESSAGES = (
    "id session_id role content tool_call_id tool_calls tool_name effect_disposition timestamp"
    " token_count finish_reason reasoning reasoning_content reasoning_details codex_reasoning_items"
    " codex_message_items platform_message_id observed active compacted api_content"
)
SESSIONS = (
    "id source user_id session_key chat_id chat_type thread_id display_name origin_json"
    " expiry_finalized model model_config system_prompt parent_session_id started_at ended_at"
    " end_reason message_count tool_call_count input_tokens output_tokens cache_read_tokens"
    " cache_write_tokens reasoning_tokens cwd git_branch git_repo_root billing_provider"
    " billing_base_url billing_mode estimated_cost_usd actual_cost_usd cost_status cost_source"
    " pricing_version title api_call_count handoff_state handoff_platform handoff_error"
    " compression_failure_cooldown_until compression_failure_error compression_fallback_streak"
    " profile_name rewind_count archived"
)
INDEXES = ("idx_messages_session", "idx_messages_session_active")
ROLES = (b"user", b"assistant", b"tool", b"system", b"session_meta")


def sound(db: sqlite3.Connection, session: str) -> bool:
    """Both indexes of sessions know the same number of messages, and each is found by its id."""
    ways = [f"INDEXED BY {name}" for name in INDEXES if tables.has(db, name)]
    counts = [f"SELECT count(*) FROM messages {way} WHERE session_id=?" for way in ways]  # noqa: S608
    counts.append(
        "SELECT count(*) FROM messages AS one CROSS JOIN messages AS other ON other.id=one.id"
        " WHERE one.session_id=?"
    )
    return len({db.execute(count, (session,)).fetchone() for count in counts}) == 1


def mark(db: sqlite3.Connection, session: str, source: Source) -> Mark:
    """The session's count of rewinds; rewritten when it changed or the last row that was read is
    gone: the host deletes a session's rows and inserts them anew at a retry or an undo."""
    told = fetch(db, "SELECT * FROM sessions WHERE id=?", session)
    rewinds = str(told[0].get("rewind_count") or 0) if told else "0"
    if not source.cursor:
        return Mark(rewinds, False)
    last = fetch(
        db, "SELECT id FROM messages WHERE id=? AND session_id=?", source.cursor - 1, session
    )
    return Mark(rewinds, rewinds != source.head or not last)


def read(db: sqlite3.Connection, session: str, source: Source, limit: int) -> Found:
    """Messages from the cursor on, about `limit` bytes."""
    common = _common(db, session)
    batch = _Batch(db, session, source.tail)
    # By id from a cursor on, by the session's index for all of it.
    which = "+session_id" if source.cursor else "session_id"
    query = f"SELECT * FROM messages WHERE {which}=? AND id>=? ORDER BY id"  # noqa: S608
    rows: list[Row] = []
    size, cursor = 0, source.cursor
    found = db.execute(query, (session, cursor))
    names = [column[0] for column in found.description]
    for values in found:
        if size > limit:
            return Found(rows, cursor, batch.dump(), True)
        columns = dict(zip(names, values, strict=True))
        copy = "compacted" in columns and batch.is_copy(columns)
        rows.append(_row(columns, common, copy))
        size += len(rows[-1].raw)
        cursor = columns["id"] + 1
    return Found(rows, cursor, batch.dump(), False)


def _common(db: sqlite3.Connection, session: str) -> dict[str, Any]:
    """What is true of all rows of a session."""
    told = fetch(db, "SELECT * FROM sessions WHERE id=?", session)
    common: dict[str, Any] = {}
    if told and _is_child(told[0]):
        common["child"] = True
    chat = text(told[0].get("chat_type")) if told else "unknown"  # its row is lost: whose words?
    if chat not in SHARED:
        common["chat"] = chat
    return common


def back(db: sqlite3.Connection, session: str, path: str) -> Iterator[Row]:
    """The messages from the newest on.

    Which rows are copies shows only forwards: those since the newest compaction, as many as fit in
    a model's window, are read at once, and all before it too, when they are asked for.
    """
    if not sound(db, session):
        raise sqlite3.DatabaseError(tables.DISAGREE)
    common = _common(db, session)
    names = {text(column["name"]) for column in fetch(db, "PRAGMA table_info(messages)")}
    query = "SELECT 1 FROM messages WHERE session_id=? AND active=0 AND compacted=1 LIMIT 1"
    copied = "compacted" in names and db.execute(query, (session,)).fetchone() is not None
    held: list[dict[str, Any]] = []
    for (number,) in db.execute(
        "SELECT id FROM messages WHERE session_id=? ORDER BY id DESC", (session,)
    ):
        there = fetch(db, "SELECT * FROM messages WHERE id=?", number)
        if not there:
            raise sqlite3.DatabaseError(tables.DISAGREE)
        columns = there[0]
        if not copied:
            yield _row(columns, common, False)
        elif columns["active"] == 0 and columns["compacted"]:
            break
        else:
            held.append(columns)
    batch = _Batch(db, session, "")
    newest = [_row(columns, common, batch.is_copy(columns)) for columns in reversed(held)]
    yield from reversed(newest)
    if copied:
        source = Source(0, 0, tables.name(session, path), 0, 0, "", "", "")
        older = read(db, session, source, 1 << 62).rows
        yield from (row for row in reversed(older) if not held or row.start < held[-1]["id"])


def _is_child(session: dict[str, Any]) -> bool:
    started = '"_delegate_from"' in text(session.get("model_config"))
    return started or text(session.get("source")) == "subagent"


def _row(columns: dict[str, Any], common: dict[str, Any], copy: bool) -> Row:
    kept = {
        key: tables.plain(value)
        for key, value in columns.items()
        if value is not None and key not in MUTABLE and (key != "observed" or value)
    }
    if columns.get("active") == 0 and not columns.get("compacted"):
        kept["rewound"] = True
    if copy:
        kept["copy"] = True
    made = tables.raw(kept | common)
    value, reason = tables.parsed(made)
    words = text(columns.get("content")).removeprefix(ENCODED)
    if "\0" in words:
        reason = tables.ODD
    if not isinstance(columns.get("role"), bytes):
        value, reason = None, "a message without a role"
    calls = columns.get("tool_calls")
    if value is not None and calls is not None:
        reason = reason or _no_calls(text(calls))  # its words are kept all the same
    return Row(columns["id"], made, value, reason)


def _no_calls(given: str) -> str:
    """Why the column tool_calls is no JSON, or empty."""
    try:
        json.loads(given)
    except (ValueError, RecursionError) as problem:
        return f"tool_calls is not JSON ({str(problem).split(':', 1)[0].lower()})"
    return ""


_SUMMARISED = (
    "SELECT id, content, tool_call_id, tool_calls FROM messages WHERE session_id=? AND id<?"
    " AND role=CAST(? AS TEXT) AND active=0 AND compacted=1"
)


class _Batch:
    """Which rows are copies: a compaction inserts those that it keeps behind all others.

    A copy says what a row says that was summarised away, and keeps its time or follows its place
    among those within the same batch. What a person says again later is behind the batch's end.
    """

    def __init__(self, db: sqlite3.Connection, session: str, tail: str) -> None:
        self._db, self._session = db, session
        self._begin: int = 0
        """The batch's first row, 0 outside of one."""
        self._at: int = 0
        """The original of the newest copy."""
        self._begin, self._at = json.loads(tail) if tail else (0, 0)

    def dump(self) -> str:
        """What the next reading goes on with."""
        return json.dumps([self._begin, self._at])

    def is_copy(self, row: dict[str, Any]) -> bool:
        """True for a copy; a summary belongs to the batch and is none."""
        begin = self._begin or row["id"]
        if text(row.get("content")).lstrip().startswith(SUMMARIES):
            self._begin = begin
            return False
        original = self._like(row, begin, "timestamp=?", row.get("timestamp"))[-1:]
        if not original and self._begin:
            original = self._like(row, begin, "id>?", self._at)[:1]
        self._begin, self._at = (begin, original[0]) if original else (0, 0)
        return bool(original)

    def _like(self, row: dict[str, Any], begin: int, where: str, value: Any) -> list[int]:
        """The summarised rows before `begin` that `row` repeats."""
        query = f"{_SUMMARISED} AND {where} ORDER BY id"
        found = self._db.execute(
            query, (self._session, begin, tables.octets(row.get("role")), value)
        )
        wanted = _essence(row.get("content"), row.get("tool_call_id"), row.get("tool_calls"))
        return [int(r[0]) for r in found if _essence(*r[1:]) == wanted]


def _essence(content: Any, result: Any, calls: Any) -> tuple[Any, ...]:
    """By what a message is known again; compaction may shorten what a tool was told or said."""
    if result:
        return ("result", result)
    if calls:
        try:
            return ("calls", *[c.get("id") for c in json.loads(calls)])
        except (ValueError, AttributeError, TypeError, RecursionError):
            return ("calls", calls)
    return ("words", content)


def candidates(db: sqlite3.Connection, path: str) -> list[Candidate]:
    """The sessions of a database, the newest first."""
    known = {text(s.get("id")): s for s in fetch(db, "SELECT * FROM sessions")}
    query = (
        "SELECT session_id, count(*) AS n, max(timestamp) AS t FROM messages GROUP BY session_id"
    )
    counted = {text(row["session_id"]): row for row in fetch(db, query)}
    found = []
    for key in {**known, **counted}:
        session, count = known.get(key, {}), counted.get(key, {})
        when = count.get("t") or session.get("started_at")
        when = when * 1000 if isinstance(when, int | float) else 0
        found.append(
            Candidate(
                key,
                text(session.get("session_key")) or key,
                text(session.get("title")) or _first_words(db, key),
                tables.iso(when),
                count.get("n", 0),
                text(session.get("cwd")),
                tables.name(key, path),
                _is_child(session),
                "archived" if session.get("archived") else "live",
            )
        )
    return sorted(found, key=lambda c: c.wall, reverse=True)


def _first_words(db: sqlite3.Connection, session: str) -> str:
    row = db.execute(
        "SELECT content FROM messages WHERE session_id=CAST(? AS TEXT) AND role='user'"
        " ORDER BY id LIMIT 1",
        (tables.octets(session),),
    ).fetchone()
    return " ".join(text(row[0]).split())[:80] if row else ""


def _is_message(values: list[Value], session: bytes) -> bool:
    return (
        len(values) > 2
        and values[0] is None
        and isinstance(values[1], bytes)
        and (not session or values[1] == session)
        and values[2] in ROLES
    )


def _is_session(values: list[Value], session: bytes) -> bool:
    return (
        len(values) > 14
        and isinstance(values[0], bytes)
        and (not session or values[0] == session)
        and isinstance(values[14], int | float)
    )


def named(values: list[Value], session: bytes) -> tuple[str, int | None, dict[str, Value]] | None:
    """A message that the index of sessions and times names."""
    if len(values) == 3 and values[0] == session and isinstance(values[1], int | float):
        rowid = values[2]
        if isinstance(rowid, int):
            return "messages", rowid, {"session_id": session, "timestamp": values[1]}
    return None


def mended(db: sqlite3.Connection) -> None:
    """Nothing leans on another row."""


DATABASE = Database(
    "hermes",
    "hermes",
    (("messages",),),
    sound,
    mark,
    read,
    back,
    candidates,
    (
        Shape(
            "messages", tuple(MESSAGES.split()), _is_message, "session_id, timestamp", numbered=True
        ),
        Shape("sessions", tuple(SESSIONS.split()), _is_session),
    ),
    named,
    mended,
    1,
)
