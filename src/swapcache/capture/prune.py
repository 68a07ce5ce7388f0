"""Pruning old sessions: which ones go, what stays of them, and in which order.

Owns the choice and the use case: chain proven, each session's last state sealed, bodies taken away
in the same transaction, the database written anew. Promises that a session which may still run, the
newest one of a key that a host uses again, and the newest one of the store are never chosen, and
that a pruned session's state is afterwards what it was. Never touches a host's transcript.
"""

from __future__ import annotations

import os
import sqlite3
from datetime import UTC, datetime, timedelta

from swapcache.capture import capture, events, story
from swapcache.errors import NoSpaceError, SealError
from swapcache.model import SYSTEM, NamedTuple, NewRecord, Record, Session, Verdict
from swapcache.store import database, forgetting, pruning, sessions, times
from swapcache.store.store import Store, now
from swapcache.store.taken import Standing
from swapcache.store.writing import Writer

JULIAN = datetime(2000, 1, 1, 12, tzinfo=UTC)
"""Day 2451545 of the Julian calendar."""
DAY = 2451545.0
KIND = "snapshot"


class Wanted(NamedTuple):
    """What should go; each condition that is given selects sessions of its own."""

    before: datetime | None = None
    """Sessions whose last message is older."""
    keep: int | None = None
    """All but the newest so many."""
    limit: int | None = None
    """The oldest, until the store is no larger than so many bytes."""
    why: str = ""
    """The same in words, for the sealed record."""


class Part(NamedTuple):
    """One session that goes."""

    session: Session
    records: int
    bytes: int
    """Before compression."""
    disk: int
    """About as much of it on the disk."""
    first: datetime
    last: datetime
    """Times of its first and last message."""


class Pruned(NamedTuple):
    """What was done in one store."""

    parts: list[Part]
    records: int
    bytes: int
    before: int
    """Bytes on the disk."""
    after: int


def plan(store: Store, wanted: Wanted) -> list[Part]:
    """The sessions that go, the oldest first. Reads only. Raises StoreError."""
    try:
        return _plan(store, wanted)
    except sqlite3.Error as error:
        raise database.problem(error, store.directory) from error


def _plan(store: Store, wanted: Wanted) -> list[Part]:
    there = _there(store)
    chosen: set[int] = set()
    if wanted.before is not None:
        chosen |= {p.session.number for p in there if p.last < wanted.before}
    if wanted.keep is not None:
        chosen |= {p.session.number for p in there[: max(len(there) - wanted.keep, 0)]}
    free = _free(store) - {p.session.number for p in there[-1:]}
    parts = [p for p in there if p.session.number in chosen & free]
    if wanted.limit is not None:
        left = pruning.in_use(store) - sum(p.disk for p in parts)
        for part in there:
            if left <= wanted.limit:
                break
            if part.session.number in free - chosen:
                parts.append(part)
                left -= part.disk
    return sorted(parts, key=lambda p: p.last)


def _there(store: Store) -> list[Part]:
    """All sessions that have bodies to give, the one with the oldest last message first."""
    spans, found = pruning.spans(store), []
    for cost in pruning.costs(store):
        session = sessions.session(store.db, cost.session)
        span = spans.get(cost.session)
        if span is None:  # its host writes no times
            first, last = _time(session.begun), _time(session.touched)
        else:
            first, last = (JULIAN + timedelta(days=day - DAY) for day in span)
        found.append(Part(session, *cost[1:], first, last))
    return sorted(found, key=lambda p: (p.last, p.session.number))


def _time(wall: str) -> datetime:
    return times.parse(wall) or datetime.now(UTC)


def _free(store: Store) -> set[int]:
    """Numbers of the sessions that may go at all."""
    everyone = sessions.sessions(store.db)
    newest = {everyone[0].number} if everyone else set()
    of_key: dict[str, list[int]] = {}
    for session in everyone:
        of_key.setdefault(session.key, []).append(session.number)
    newest |= {numbers[0] for numbers in of_key.values() if len(numbers) > 1}
    return {
        s.number for s in everyone if s.number not in newest and events.living(store, s) is False
    }


def prune(store: Store, wanted: Wanted) -> Pruned:
    """Takes the bodies of what is chosen away; the old pages are written over.

    With a limit again until the store is below it: what a session takes is an estimate before.

    Raises SealError (nothing is taken out of a chain that does not verify whole), NoSpaceError
    (nothing was changed), BusyError (another process reads the store: run it again), StoreError.
    """
    done = _once(store, wanted)
    while wanted.limit is not None and done.after > wanted.limit:
        more = _once(store, wanted)
        if not more.parts:
            break
        done = Pruned(
            done.parts + more.parts,
            done.records + more.records,
            done.bytes + more.bytes,
            done.before,
            more.after,
        )
    return done


def _once(store: Store, wanted: Wanted) -> Pruned:
    before = pruning.on_disk(store)
    verdict = store.verify()
    if not verdict.good:
        raise refused(store, verdict)
    parts, records, size = plan(store, wanted), 0, 0
    if parts:
        _room(store, parts)
        with store.writing() as writer:
            if not store.linked(verdict.have):
                raise SealError(f"{store.directory} changed; run: swapcache verify --full")
            parts = plan(store, wanted)  # what runs by now does not go
            standing = [keep_state(store, writer, part.session) for part in parts]
            seqs = pruning.going(store, [part.session.number for part in parts])
            if seqs:
                size = pruning.take(store, writer, seqs, standing, wanted.why)
                records = len(seqs)
    if records or store.db.execute("PRAGMA freelist_count").fetchone()[0]:
        forgetting.write_over(store)
    return Pruned(parts, records, size, before, pruning.on_disk(store))


def refused(store: Store, verdict: Verdict) -> SealError:
    """Why nothing is taken out of a store."""
    return SealError(
        f"{store.directory} is {verdict.name} ({verdict.detail}); nothing was pruned; "
        "run: swapcache trust show"
    )


def _room(store: Store, parts: list[Part]) -> None:
    """Raises NoSpaceError when the disk has no room to write what stays anew."""
    stays = max(pruning.in_use(store) - sum(part.disk for part in parts), 0)
    disk = os.statvfs(store.directory)
    free, needed = disk.f_bavail * disk.f_frsize, 2 * stays + (1 << 20)
    if free < needed:
        raise NoSpaceError(
            f"{store.directory}: writing what stays anew needs {needed} free bytes for a while, "
            f"the disk has {free}; nothing was changed; free some space, then try again"
        )


def keep_state(store: Store, writer: Writer, session: Session) -> Standing:
    """Sees to it that a sealed snapshot holds a session's last state. Inside a writing transaction.

    Raises SealError when that state does not verify.
    """
    through = pruning.newest(store, session.number)
    row = sessions.load_state(store.db, store.keys, session.number)
    if row is not None and row[0] >= through:
        state = row[1]
    else:
        told = story.refold(store, session)
        if not told.whole:
            raise SealError(f"session {session.id} does not verify; run: swapcache verify --full")
        state = told.fold.dump()
        sessions.save_state(
            store.db, writer.keys, session.number, writer.seq, writer.tag, state, "{}"
        )
    body = state.encode("utf-8", "replace")
    members = pruning.members(store, session.number)
    for seq, _ in sessions.snapshots(store.db, session.number, 1):
        found = store.record(seq)
        if found is not None and found[1] and found[0].body == body and _is_of(found[0], session):
            return Standing(seq, through, members)
    meta = {"kind": KIND, "origin": SYSTEM, "wall": now(), **capture.whose(session)}
    seq = writer.append([NewRecord(body, meta)])
    sessions.add_snapshot(store.db, seq, session.number)
    return Standing(seq, through, members)


def _is_of(record: Record, session: Session) -> bool:
    return (record.meta.get("kind"), record.meta.get("session")) == (KIND, session.id)
