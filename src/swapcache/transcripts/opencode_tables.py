"""OpenCode's database (opencode.db): its sessions, and the rows of one.

Owns the reading of the tables session, message and part. The host changes rows in place while it
works, so a row is told when it is finished: a user's at once; a part when it has an end (text that
ended, a tool's completed or failed state) or its message has one; an assistant's message when it is
completed, failed, or a newer message of the session exists. A running tool call is told as it
begins and once more with its result. A finished row of the newest messages that changes is told
again. Places are row id * 64, + 32 for messages, + the number of the telling. A session whose
earlier messages vanished or were taken back is rewritten. Never writes.
"""

from __future__ import annotations

import json
import sqlite3

from swapcache.model import NamedTuple, Row
from swapcache.transcripts import tables
from swapcache.transcripts.opencode import UNKNOWN
from swapcache.transcripts.tables import Candidate, Database, Found, Mark, Shape, fetch, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from swapcache.model import Source
    from swapcache.transcripts.carve import Value

WATCHED = 4
"""So many of the newest messages are looked at again; a turn's step is a message."""
TELLINGS = 32
BEGUN, FINISHED = 1, 2
TOLD = "told"
"""Mark of a row whose beginning was told: whether it was depends on when the session was read."""
MESSAGE = "id session_id time_created time_updated data"
PART = "id message_id session_id time_created time_updated data"
SESSION = (
    "id project_id workspace_id parent_id slug directory path title version share_url"
    " summary_additions summary_deletions summary_files summary_diffs metadata cost tokens_input"
    " tokens_output tokens_reasoning tokens_cache_read tokens_cache_write revert permission agent"
    " model time_created time_updated time_compacting time_archived"
)
NOWHERE = -(1 << 40)
EARLIEST = -(1 << 63)
OF_ASSISTANT = ("step-start", "step-finish", "tool", "reasoning", "patch", "snapshot", "retry")


class _Memory:
    """What was told of a session: messages that are settled, and the newest row by row."""

    def __init__(self, dumped: str) -> None:
        kept: Any = json.loads(dumped) if dumped else [[EARLIEST, ""], 0, []]
        self.settled: tuple[int, str] = (kept[0][0], kept[0][1])
        """Order key of the newest message that is not looked at any more."""
        self.count: int = kept[1]
        """Messages up to it."""
        self.watched: list[tuple[int, str, dict[str, list[int]]]] = [tuple(w) for w in kept[2]]
        """(time, id, {row: [state, time of its last change, tellings]}) of the newest ones."""

    def dump(self) -> str:
        return json.dumps([self.settled, self.count, self.watched], separators=(",", ":"))

    def told(self, key: tuple[int, str]) -> dict[str, list[int]]:
        """What was told of a message."""
        return next((w[2] for w in self.watched if (w[0], w[1]) == key), {})

    def watch(self, key: tuple[int, str], told: dict[str, list[int]], open_: bool) -> None:
        """Keeps what was told of a message; settles older ones as long as they are finished."""
        self.watched = [w for w in self.watched if (w[0], w[1]) != key]
        self.watched.append((*key, told))
        self.watched.sort(key=lambda w: (w[0], w[1]))
        while len(self.watched) > WATCHED and not open_:
            when, name, _ = self.watched.pop(0)
            self.settled, self.count = (when, name), self.count + 1


class _Session(NamedTuple):
    known: bool
    """False where its row is lost: it may be a child agent's."""
    child: bool
    revert: tuple[str, str]
    """(message, part) from which on the person took back, or empties."""

    @property
    def generation(self) -> str:
        """Of which the session's rows are: it changes when they are taken back or given again."""
        return tables.mark("/".join(self.revert)) if self.revert[0] else ""


def _session(db: sqlite3.Connection, session: str) -> _Session:
    found = fetch(db, "SELECT * FROM session WHERE id=?", session)
    if not found:
        return _Session(False, False, ("", ""))
    revert: Any = {}
    try:
        revert = json.loads(tables.octets(found[0].get("revert")) or b"{}")
    except (ValueError, RecursionError):
        revert = {}
    point = revert if isinstance(revert, dict) else {}
    taken = str(point.get("messageID") or ""), str(point.get("partID") or "")
    return _Session(True, bool(found[0].get("parent_id")), taken)


def sound(db: sqlite3.Connection, session: str) -> bool:
    """A session's parts are as many as those of its messages, and these have a time each."""
    timeless = (
        "SELECT 1 FROM message WHERE session_id=? AND typeof(time_created)!='integer' LIMIT 1"
    )
    if db.execute(timeless, (session,)).fetchone() is not None:
        return False
    query = (
        "SELECT count(*) FROM message JOIN part ON part.message_id=message.id"
        " WHERE message.session_id=?"
    )
    own = db.execute("SELECT count(*) FROM part WHERE session_id=?", (session,)).fetchone()
    return bool(own == db.execute(query, (session,)).fetchone())


def mark(db: sqlite3.Connection, session: str, source: Source) -> Mark:
    """Rewritten when what was taken back is other than it was, or a message or a row is gone."""
    generation = _session(db, session).generation
    if not source.cursor:
        return Mark(generation, False)
    memory = _Memory(source.tail)
    (settled,) = db.execute(
        "SELECT count(*) FROM message WHERE session_id=?"
        " AND (time_created, id)<=(?,CAST(? AS TEXT))",
        (session, memory.settled[0], tables.octets(memory.settled[1])),
    ).fetchone()
    gone = settled != memory.count
    there = _newest(db, session, memory)
    gone = gone or any(not there.issuperset(told) for _, _, told in memory.watched)
    return Mark(generation, gone or generation != source.head)


def _newest(db: sqlite3.Connection, session: str, memory: _Memory) -> set[str]:
    """The rows of the messages that are watched, by the indexes by which they are read."""
    messages = db.execute(
        "SELECT rowid FROM message WHERE session_id=? AND (time_created, id)>(?,CAST(? AS TEXT))",
        (session, memory.settled[0], tables.octets(memory.settled[1])),
    )
    found = {f"m{number}" for (number,) in messages}
    for _, name, _ in memory.watched:
        query = "SELECT rowid FROM part WHERE message_id=CAST(? AS TEXT)"
        found |= {f"p{number}" for (number,) in db.execute(query, (tables.octets(name),))}
    return found


def read(db: sqlite3.Connection, session: str, source: Source, limit: int) -> Found:
    """What is to be told now, in the host's order, about `limit` bytes."""
    memory, whose = _Memory(source.tail), _session(db, session)
    messages = fetch(
        db,
        "SELECT rowid, id, time_created, time_updated, data FROM message WHERE session_id=?"
        " AND (time_created, id)>(?,CAST(? AS TEXT)) ORDER BY time_created, id",
        session,
        memory.settled[0],
        tables.octets(memory.settled[1]),
    )
    rows: list[Row] = []
    size = 0
    for index, message in enumerate(messages):
        if size > limit:
            return Found(rows, _next(rows, source.cursor), memory.dump(), True)
        key = (tables.number(message["time_created"]), text(message["id"]))
        told = dict(memory.told(key))
        one = _Telling(db, session, whose, message, index + 1 < len(messages), told)
        found = one.rows()
        rows += found
        size += sum(len(row.raw) for row in found)
        memory.watch(key, told, not one.finished)
    return Found(rows, _next(rows, source.cursor), memory.dump(), False)


def back(db: sqlite3.Connection, session: str, path: str) -> Iterator[Row]:
    """What a reading from the beginning tells, from the newest message on."""
    if not sound(db, session):
        raise sqlite3.DatabaseError(tables.DISAGREE)
    whose = _session(db, session)
    query = (
        "SELECT rowid, id, time_created, time_updated, data FROM message WHERE session_id=?"
        " ORDER BY time_created DESC, id DESC"
    )
    found = db.execute(query, (session,))
    names = [column[0] for column in found.description]
    newer = False
    for values in found:
        one = _Telling(db, session, whose, dict(zip(names, values, strict=True)), newer, {})
        yield from reversed(one.rows())
        newer = True


def _next(rows: list[Row], cursor: int) -> int:
    return max([cursor, *(row.start + 1 for row in rows)])


class _Telling:
    """The rows of one message that are to be told now."""

    def __init__(
        self,
        db: sqlite3.Connection,
        session: str,
        whose: _Session,
        message: dict[str, Any],
        newer: bool,
        told: dict[str, list[int]],
    ) -> None:
        self._message, self._told, self._whose = message, told, whose
        self._id = text(message["id"])
        self._parts = fetch(
            db,
            "SELECT rowid, id, time_created, time_updated, data FROM part"
            " WHERE message_id=CAST(? AS TEXT) ORDER BY id",
            tables.octets(message["id"]),
        )
        self._common: dict[str, Any] = {"session_id": session}
        data = _object(message["data"])
        times = data.get("time")
        ended = isinstance(times, dict) and "completed" in times
        self._role = str(data.get("role") or "") or self._guess()
        own_end = self._role != "assistant" or ended or "error" in data
        self.finished = own_end or newer
        self._cut = self.finished and not own_end
        self._summary = data.get("summary") is True

    def _guess(self) -> str:
        """The role of a message whose own row cannot be read."""
        for part in self._parts:
            data = _object(part["data"])
            if data.get("type") in OF_ASSISTANT or (data.get("type") == "text" and "time" in data):
                return "assistant"
        return UNKNOWN

    def rows(self) -> list[Row]:
        """Parts in their order, then the message itself."""
        found: list[Row] = []
        counted = False
        for part in self._parts:
            data = _object(part["data"])
            state, cut = self._state_of(data), self._cut and not _ended(data)
            more: dict[str, Any] = {"role": self._role}
            more |= {"summary": True} if self._summary else {}
            more |= {"cut": True} if cut and state == FINISHED else {}
            more |= {"more": True} if counted else {}
            counted = counted or (self._role == "assistant" and _counts(data))
            found += self._tell("p", part, state, {"message_id": self._id}, more)
        if self.finished:
            more = {"cut": True} if self._cut else {}
            found += self._tell("m", self._message, FINISHED, {}, more)
        return found

    def _state_of(self, data: dict[str, Any]) -> int:
        if self.finished or self._role != "assistant" or _ended(data):
            return FINISHED
        state = data.get("state")
        running = isinstance(state, dict) and state.get("status") == "running"
        return BEGUN if running else 0

    def _tell(
        self, kind: str, row: dict[str, Any], state: int, of: dict[str, Any], more: dict[str, Any]
    ) -> list[Row]:
        """The row, if it is worth telling (again)."""
        key = f"{kind}{row['rowid']}"
        changed = tables.number(row["time_updated"])
        before = self._told.get(key, [0, 0, 0])
        again = state == before[0] == FINISHED and changed != before[1]
        if not (state > before[0] or again) or before[2] >= TELLINGS:
            return []
        self._told[key] = [state, changed, before[2] + 1]
        columns = {"id": text(row["id"]), **of, **self._common}
        columns |= {name: tables.plain(row[name]) for name in ("time_created", "time_updated")}
        columns |= more
        columns |= {"child": True} if self._whose.child else {}
        columns |= {} if self._whose.known else {"adrift": True}
        columns |= {"reverted": True} if self._reverted(kind, columns["id"]) else {}
        columns |= {TOLD: True} if before[0] == BEGUN else {}
        start = row["rowid"] * 2 * TELLINGS + (TELLINGS if kind == "m" else 0) + before[2]
        return [tables.row(start, columns, row["data"])]

    def _reverted(self, kind: str, name: str) -> bool:
        message, part = self._whose.revert
        if not message or self._id < message:
            return False
        return not (part and self._id == message) or (kind == "p" and name >= part)


def _object(data: Any) -> dict[str, Any]:
    try:
        value = json.loads(data)
    except (ValueError, TypeError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _counts(data: dict[str, Any]) -> bool:
    """True for a part that makes its message one of the conversation."""
    words = data.get("text")
    return data.get("type") == "tool" or (isinstance(words, str) and bool(words.strip()))


def _ended(data: dict[str, Any]) -> bool:
    """True for a part that the host does not change any more."""
    kind, times = data.get("type"), data.get("time")
    if kind in ("text", "reasoning"):
        return not isinstance(times, dict) or "end" in times
    if kind == "tool":
        state = data.get("state")
        return isinstance(state, dict) and state.get("status") in ("completed", "error")
    return True


def candidates(db: sqlite3.Connection, path: str) -> list[Candidate]:
    """The sessions of a database, the newest first."""
    query = "SELECT session_id, count(*) AS n, max(time_created) AS t FROM message GROUP BY 1"
    counted = {text(row["session_id"]): row for row in fetch(db, query)}
    known = {text(s["id"]): s for s in fetch(db, "SELECT * FROM session")}
    found = []
    for key in {**known, **counted}:
        session, count = known.get(key, {}), counted.get(key, {})
        found.append(
            Candidate(
                key,
                key,
                text(session.get("title")),
                tables.iso(count.get("t") or session.get("time_updated")),
                count.get("n", 0),
                text(session.get("directory")),
                tables.name(key, path),
                bool(session.get("parent_id")),
                "archived" if session.get("time_archived") else "live",
            )
        )
    return sorted(found, key=lambda c: c.wall, reverse=True)


def _texts(values: list[Value], count: int) -> bool:
    return len(values) >= count and all(isinstance(v, bytes) for v in values[:count])


def _is_part(values: list[Value], session: bytes) -> bool:
    return (
        5 <= len(values) <= 6
        and _texts(values, 3)
        and (not session or values[2] == session)
        and isinstance(values[3], int)
        and isinstance(values[4], int)
    )


def _is_message(values: list[Value], session: bytes) -> bool:
    return (
        4 <= len(values) <= 5
        and _texts(values, 2)
        and (not session or values[1] == session)
        and isinstance(values[2], int)
        and isinstance(values[3], int)
    )


def _is_session(values: list[Value], session: bytes) -> bool:
    wide = len(values) >= 15 and _texts(values, 2) and isinstance(values[5], bytes)
    return wide and (not session or values[0] == session)


def named(values: list[Value], session: bytes) -> tuple[str, int | None, dict[str, Value]] | None:
    """A message that the index of sessions and times names."""
    if len(values) == 4 and values[0] == session and isinstance(values[2], bytes):
        when, rowid = values[1], values[3]
        if isinstance(when, int) and isinstance(rowid, int):
            made: dict[str, Value] = {"id": values[2], "session_id": session}
            return "message", rowid, made | {"time_created": when, "time_updated": when}
    return None


def mended(db: sqlite3.Connection) -> None:
    """Puts a message without content above parts whose own is lost, at no real row's place; one
    without a time goes before all others."""
    db.execute("UPDATE message SET time_created=0 WHERE typeof(time_created)!='integer'")
    db.execute(
        "INSERT INTO message(rowid, id, session_id, time_created, time_updated) SELECT"
        " ?-min(rowid), message_id, session_id, min(time_created), min(time_created) FROM part"
        " WHERE message_id NOT IN (SELECT id FROM message) GROUP BY message_id, session_id",
        (NOWHERE,),
    )


DATABASE = Database(
    "opencode",
    "opencode",
    (("part", "message"), ("part", "session"), ("message", "session")),
    sound,
    mark,
    read,
    back,
    candidates,
    (
        Shape("part", tuple(PART.split()), _is_part, "message_id, id"),
        Shape("message", tuple(MESSAGE.split()), _is_message, "session_id, time_created, id"),
        Shape("session", tuple(SESSION.split()), _is_session),
    ),
    named,
    mended,
    TELLINGS,
)
