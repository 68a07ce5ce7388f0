"""A transcript that is not what was read: cut short, rewritten, or only marked anew.

Owns the choice where its next generation begins. Promises that nothing captured is purged and that
a row is told once. Never reads more than the part that was captured before.
"""

from __future__ import annotations

import json

from swapcache.capture import capture, follow
from swapcache.model import Session, Source
from swapcache.store import seal, sessions
from swapcache.store.store import Store

CONTINUED = 2
"""`closed` of a source whose transcript was cut short: its successor goes on, both tell it."""


def next_one(ledger: capture.Ledger, source: Source) -> Source:
    """A source for a transcript that is not what was read.

    One that was only cut short (a power cut before the host synced it) goes on behind what is left;
    what was captured beyond that stays part of the story. A database whose rows are still those
    that were read just goes on. Any other transcript tells its story anew, a later window's behind
    the reset that began it.
    """
    store = ledger.store
    if source.path.startswith(follow.DATABASE) and _unchanged(store, source):
        kept = source._replace(head=follow.generation(source))
        if not follow.read_new(kept, 0).rewritten:  # else rows came in among those that were read
            sessions.move_cursor(store.db, kept, 0, 0, 0)
            return kept
    at = _cut_short(store, source)
    made = sessions.add_source(store.db, ledger.session.number, source.path, source.generation + 1)
    if at < 0:
        sessions.close_continued(store.db, ledger.session.number, source.path)
        made = made._replace(cursor=_begin(store, ledger.session, source))
        if made.cursor:
            made = made._replace(head=follow.generation(source), format=source.format)
            sessions.move_cursor(store.db, made, 0, 0, 0)
        ledger.refold()
        return made
    sessions.move_cursor(store.db, source._replace(closed=CONTINUED), 0, 0, 0)
    head, tail = follow.edges(source.path, at)
    made = made._replace(cursor=at, head=head, tail=tail, format=source.format)
    sessions.move_cursor(store.db, made, 0, 0, 0)
    return made


def _unchanged(store: Store, source: Source) -> bool:
    """True when the rows of a database that were captured are there as they were."""
    captured = dict(
        store.db.execute("SELECT position, sha FROM record WHERE source=?", (source.number,))
    )
    rows = follow.rows_before(source)
    there = {row.start: bytes.fromhex(seal.sha256(row.raw)) for row in rows}
    return all(there.get(position) == sha for position, sha in captured.items())


def _begin(store: Store, session: Session, source: Source) -> int:
    """Where a window's rows begin in a database that was rewritten: behind the last reset that an
    earlier window holds."""
    if session.window == 0 or not source.path.startswith(follow.DATABASE):
        return 0
    ended = {
        str(json.loads(meta).get("msg_id"))
        for (meta,) in store.db.execute(
            "SELECT meta FROM record JOIN source ON record.source = source.number JOIN session"
            " ON source.session = session.number WHERE session.key=? AND session.id=? AND"
            " session.window<? AND json_extract(meta, '$.class')='notice'",
            (session.key, session.id, session.window),
        )
    }
    begins = [
        row.start + 1
        for row in follow.rows_before(source._replace(cursor=1 << 62))
        if row.value and row.value.get("type") == "reset" and row.value.get("id") in ended
    ]
    return max(begins, default=0)


def _cut_short(store: Store, source: Source) -> int:
    """Where a transcript that lost its end ends now, at a row's end; -1 when it is another one."""
    if source.path.startswith(follow.DATABASE):
        return -1
    data = follow.head_of(source.path, source.cursor)
    told = [s.number for s in sessions.story(store.db, source.session) if s.path == source.path]
    of = f"source IN ({','.join(map(str, told))})"
    rows = store.db.execute(
        f"SELECT seq, position, size FROM record WHERE {of} AND position + size <= ?"  # noqa: S608
        " ORDER BY position DESC, seq DESC",
        (len(data),),
    ).fetchall()
    if not rows:
        return 0 if not data else -1
    last = rows[0][1]  # several generations may hold a row at that place
    first = store.db.execute(
        f"SELECT seq, size FROM record WHERE {of} AND position=0 ORDER BY seq DESC"  # noqa: S608
    ).fetchone()
    if first is None or not _tells(store, first[0], data[: first[1]]):
        return -1  # hosts rewrite headers
    for seq, position, size in rows:
        if position == last and _tells(store, seq, data[position : position + size]):
            return int(position + size)
    return -1


def _tells(store: Store, seq: int, data: bytes) -> bool:
    """True when a record verifies and was sealed with, or is what is left of, these bytes."""
    found = store.record(seq)
    if found is None or not found[1]:
        return False
    if not found[0].pruned:
        return found[0].body == data
    (sha,) = store.db.execute("SELECT sha FROM record WHERE seq=?", (seq,)).fetchone()
    return seal.sha256(data) == str(sha.hex())
