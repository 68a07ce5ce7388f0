"""Capture: new rows of a transcript become sealed records, and the state is folded on.

Owns the one transaction in which records, cursor, session and state move together. Promises that
what it reports is on the disk, that repeating it adds nothing, and that the state row equals a fold
of the records. Never calls a model, a network or a host.
"""

from __future__ import annotations

import json

from swapcache.capture import follow
from swapcache.errors import SealError
from swapcache.model import (
    OWNER,
    SYSTEM,
    Capture,
    Damage,
    Event,
    Message,
    NamedTuple,
    NewRecord,
    Row,
    Session,
    Source,
)
from swapcache.state.fold import Fold, whole
from swapcache.store import filing, sessions
from swapcache.store.store import Store, now
from swapcache.store.writing import Writer
from swapcache.transcripts import formats, kinds, origins
from swapcache.transcripts.tree import Back

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

COUNTED = ("request", "reply", "partial")
"""Kinds of messages that are dialogue."""
SAME = 40
"""Leading characters by which a prompt is found again: hosts append to the rest."""
LEFT = "messages on a branch that was left"
"""Counter of dialogue that the host went back behind: kept, but no part of the state."""
STATEMENTS = ""
"""Path of the pseudo-source that holds what no transcript holds: statements, inheritance."""


def session_for(store: Store, event: Event) -> Session:
    """The session of an event, made if it is new. Inside a writing transaction."""
    key = event.session_key or event.session_id
    found = sessions.find_session(store.db, key, event.session_id)
    runner = None if event.detail == sessions.IMPORTED else event.process
    return found or sessions.add_session(store.db, key, event.session_id, runner, now())


def source_for(store: Store, session: Session, path: str) -> Source:
    """The transcript of a session, made if it is new. Inside a writing transaction."""
    found = sessions.find_source(store.db, session.number, path)
    return found or sessions.add_source(store.db, session.number, path, 0)


class Ledger:
    """The fold of a session while a transaction adds records to it."""

    def __init__(self, store: Store, writer: Writer, session: Session) -> None:
        self.store = store
        self.writer = writer
        self.session = session
        self.last = session.last
        self.shared = origins.shared(store.identity.host, session.key, session.id)
        """Others than the owner may speak in it."""
        self.provisional: dict[str, Any] = {}
        row = sessions.load_state(store.db, writer.keys, session.number)
        if row is None and session.last < 0 and not _begun(store, session):
            self.fold = Fold()
            return
        found = current(store, session, row)
        if not found.whole:
            raise self._broken()
        self.fold, self.provisional = found.fold, found.provisional

    def refold(self) -> None:
        """Folds the session's records anew. Raises SealError when one of them does not verify."""
        from swapcache.capture import story  # rarely needed

        told = story.refold(self.store, self.session)
        if not told.whole:
            raise self._broken()
        self.fold = told.fold

    def _broken(self) -> SealError:
        return SealError(
            f"{self.store.directory}: what session {self.session.key} stands on does not verify; "
            "nothing was appended; run: swapcache verify --full"
        )

    def add(self, message: Message, record: int) -> None:
        """Folds a message in; a provisional prompt or result that it corroborates goes."""
        self.fold.add(message, record)
        prompt = self.provisional.get("prompt")
        if prompt and message.kind in ("request", "command"):
            same = message.text.startswith(prompt["text"].strip()[:SAME])
            if same or message.kind == "command":
                del self.provisional["prompt"]
        for call in message.calls:
            self.provisional.get("calls", {}).pop(call.id, None)
        for result in message.results:
            self.provisional.get("calls", {}).pop(result.id, None)
            self.provisional.get("finished", {}).pop(result.id, None)

    def state_record(self, message: Message, event: str) -> int:
        """Appends a record that no transcript holds, and folds it in."""
        source = source_for(self.store, self.session, STATEMENTS)
        meta: dict[str, Any] = {
            "event": event,
            "kind": "statement",
            "origin": message.origin,
            "wall": message.wall,
            **whose(self.session),
        }
        if message.assumed:
            meta["assumed"] = 1
        body = json.dumps(message._asdict(), ensure_ascii=False).encode("utf-8", "replace")
        position = source.cursor
        record = self.writer.append([NewRecord(body, meta, source.number, position)])
        sessions.move_cursor(self.store.db, source._replace(cursor=position + 1), 1, 1, 0)
        self.last = record
        self.add(message, record)
        return record

    def save(self, touched: str = "", **changes: Any) -> None:
        """Writes the state row and what changed about the session."""
        body = self.fold.dump()
        provisional = whole(json.dumps(self.provisional, ensure_ascii=False))
        sessions.save_state(
            self.store.db,
            self.writer.keys,
            self.session.number,
            self.writer.seq,
            self.writer.tag,
            body,
            provisional,
        )
        sessions.touch(
            self.store.db,
            self.session.number,
            touched or now(),
            last=self.last,
            requests=self.fold.counters.get("requests", 0),
            **changes,
        )


class Ingested(NamedTuple):
    """What one step of a capture did."""

    rows: int
    pending: int
    """Bytes of the transcript that are not read yet."""
    more: bool
    """Another step would find more."""
    boundary: str = ""
    """The window ended in these rows, for this reason (new, reset, idle, daily)."""
    unpublished: str = ""
    """Why the view of the state could not be published."""


def ingest(ledger: Ledger, path: str, host: str, event: str, limit: int) -> Ingested:
    """Appends what is new in one transcript.

    Raises SourceError, FormatError. Inside a writing transaction.
    """
    store = ledger.store
    source = source_for(store, ledger.session, path)
    if source.closed:
        return Ingested(0, 0, False)
    new = follow.read_new(source, limit)
    if new.rewritten:
        from swapcache.capture import generations  # rarely needed

        source = generations.next_one(ledger, source)
        new = follow.read_new(source, limit)
    if not new.rows:
        return Ingested(0, new.pending, False)
    new, boundary = _to_boundary(new)
    new = new._replace(rows=_not_known(store, source, new.rows))
    damages = [Damage(r.start, len(r.raw), r.reason) for r in new.rows if r.reason]
    messages, branched = _append(ledger, new, {"event": event, "host": host, "kind": "raw"})
    kept = sum(1 for row in new.rows if row.value is not None)
    sessions.move_cursor(store.db, new.source, len(new.rows), kept, messages)
    sessions.add_damages(store.db, source.number, damages)
    if branched:  # the state is folded anew, without the branch that these rows left
        before = ledger.fold.counters.get(LEFT, 0)
        ledger.refold()
        left = ledger.fold.counters.get(LEFT, 0) - before
        sessions.move_cursor(store.db, new.source, 0, 0, -left)
    return Ingested(len(new.rows), new.pending, new.more or bool(boundary), boundary)


def _append(ledger: Ledger, new: follow.New, common: dict[str, str]) -> tuple[int, bool]:
    """Seals rows and folds them in. Gives (messages of dialogue, whether a branch was left)."""
    reader = formats.by_name(new.source.format)
    seq = ledger.writer.seq
    fold, records, messages, branched = ledger.fold, [], 0, False
    every = {**common, **whose(ledger.session)}
    for row in new.rows:
        seq += 1
        meta = every.copy()
        message = reader.message(row.value) if row.value is not None else None
        if row.value is not None and (kind := kinds.unknown(reader.name, row.value)):
            meta["unknown"] = kind
        if message is not None and ledger.shared:
            message = origins.in_shared(message)
        place = reader.place(row.value) if reader.place and row.value is not None else None
        again = False
        if isinstance(place, Back):
            branched, place = True, None
        elif place is not None:
            again = place.again(fold.leaf)
            if place.name:
                meta["msg_id"] = place.name
        if message is not None:
            meta["class"], meta["role"] = message.kind, message.role
            meta["origin"] = fold.origin_of(message)
            if message.assumed and meta["origin"] == OWNER:
                meta["assumed"] = 1
            meta["msg_id"], meta["wall"] = message.id, message.wall
        records.append(NewRecord(row.raw, meta, new.source.number, row.start))
        if place is not None and place.leaf is None:
            if message is not None and dialogue(message):
                fold.count(LEFT)
            continue
        if place is not None:
            asks = message is not None and message.kind == "request"
            branched = branched or not place.follows(fold.leaf, asks)
            fold.leaf = place.leaf or ""
        if message is not None:
            messages += dialogue(message) and not again
            ledger.add(retold(message) if again else message, seq)
    if records:
        ledger.writer.append(records)
        ledger.last = ledger.writer.seq
    return messages, branched


def dialogue(message: Message) -> bool:
    """True for what counts as a message of the conversation."""
    return message.kind in COUNTED and not message.sidechain


def retold(message: Message) -> Message:
    """The newest message as its host tells it once more: it counts once."""
    return message._replace(kind="more")


def _not_known(store: Store, source: Source, rows: list[Row]) -> list[Row]:
    """Rows that another source of the same story does not hold already, by their ids.

    A host that moves its sessions into another kind of store (OpenClaw 2026.8) tells them again,
    and so does a file that was seen half written.
    """
    others = [
        s.number
        for s in sessions.story(store.db, source.session)
        if s.path != STATEMENTS and s.number != source.number
    ]
    if not others:
        return rows
    names = [_named(r.value) for r in rows]
    wanted = set(filter(None, names))
    if not wanted:  # a format without such ids
        return rows
    marks = ",".join(str(number) for number in others)
    of = f"source IN ({marks})"
    told = f"SELECT json_extract(meta, '$.msg_id') FROM record WHERE {of}"  # noqa: S608 - integers
    found = store.db.execute(
        f"SELECT value FROM json_each(?) WHERE value IN ({told})",  # noqa: S608 - no input in it
        (json.dumps(sorted(wanted)),),
    )
    known = {key for (key,) in found}
    return [r for r, name in zip(rows, names, strict=True) if not name or name not in known]


def _named(value: dict[str, Any] | None) -> str:
    """The id of a row, where its format has any."""
    given = value.get("id") or value.get("uuid") if value else None
    return given if isinstance(given, str) else ""


def _to_boundary(new: follow.New) -> tuple[follow.New, str]:
    """The rows up to a reset in the stream (OpenClaw from 2026.8 on), and its reason."""
    for index, row in enumerate(new.rows):
        if row.value is not None and row.value.get("type") == "reset":
            reason = str(row.value.get("reason") or "reset")
            after = row.start + 1 if new.source.path.startswith(follow.DATABASE) else -1
            if after < 0:
                continue  # a file's rows go on: its host renames it at a reset
            source = new.source._replace(cursor=after, closed=1)
            return new._replace(rows=new.rows[: index + 1], source=source), reason
    return new, ""


def snapshot(ledger: Ledger) -> None:
    """Seals the state as a record of its own, unless it is the newest snapshot already."""
    body = ledger.fold.dump().encode("utf-8", "replace")
    newest = sessions.snapshots(ledger.store.db, ledger.session.number, 1)
    if newest and newest[0][0] > ledger.last == ledger.session.last:
        return
    wall = now()
    meta = {"kind": "snapshot", "origin": SYSTEM, "session": ledger.session.id, "wall": wall}
    seq = ledger.writer.append([NewRecord(body, meta)])
    sessions.add_snapshot(ledger.store.db, seq, ledger.session.number)


def report(store: Store, session: Session, new: int, pending: int) -> Capture:
    """What the store holds of a session, and what it could not read."""
    rows, kept, messages = sessions.counts(store.db, session.number)
    seq, tag = store.head()
    lost = tuple(sessions.damages(store.db, session.number))
    unknown = tuple(sessions.unknown(store.db, session.number))
    return Capture(session.id, rows, kept, new, messages, lost, seq, tag, pending, unknown)


def whose(session: Session) -> dict[str, Any]:
    """What the sealed metadata of a record say of its session."""
    return {"session": session.id} | ({"window": session.window} if session.window else {})


def _begun(store: Store, session: Session) -> bool:
    """True when something of a session was captured already."""
    return any(source.cursor for source in sessions.sources(store.db, session.number))


class Current(NamedTuple):
    """The newest state of a session."""

    fold: Fold
    seq: int
    """Newest record of the chain when it was folded."""
    provisional: dict[str, Any]
    whole: bool
    """The chain proves that it is the newest one."""


def current(store: Store, session: Session, row: tuple[int, str, str] | None) -> Current:
    """A session's state: its state row, or its records where that is absent, old or not ours.

    Not `whole` when the chain behind the row is broken, or records lie elsewhere than their seals
    say: something newer may have been taken away. Without a row that means the whole chain.
    """
    if row is not None and filing.newest(store.db, session.number) > row[0]:
        row = None
    after = -1 if row is None else row[0]
    whole = store.linked(after) and filing.astray(store.db, after) is None
    if row is not None:
        return Current(Fold.load(row[1]), row[0], json.loads(row[2]), whole)
    from swapcache.capture import story  # rarely needed

    told = story.refold(store, session)
    return Current(told.fold, told.last, {}, whole and told.whole)
