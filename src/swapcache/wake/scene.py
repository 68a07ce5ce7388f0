"""Who is there when a session starts: who lives, who is over, and whose work is shown.

Owns the choice of the session whose work is shown, and reading its state back. Promises that a
living session's work, or one that is not proven dead, is never chosen for another one, and that
reading consumes nothing. Never decides whether it is told (policy) or how (brief).
"""

from __future__ import annotations

from swapcache.capture import capture, events
from swapcache.errors import StoreError
from swapcache.model import Event, Item, NamedTuple, Session, WorkingState
from swapcache.store import identity, sessions, times, trust
from swapcache.store.store import Store, now

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Scene(NamedTuple):
    """What the store shows when a session starts."""

    me: Session
    subject: Session | None
    """Whose work is shown: this session's own, or one that is over."""
    living: tuple[Session, ...]
    others: tuple[Session, ...]
    """More sessions that are over and were not taken over."""
    cause: str
    audience: str
    moved: tuple[Moved, ...] = ()
    """Memories that may be this workspace's: it was moved or copied."""


class Moved(NamedTuple):
    """A memory whose workspace is gone, or was copied here."""

    workspace: str
    records: int
    digest: str


def moved(store: Store) -> tuple[Moved, ...]:
    """Memories that a store without any work may be the continuation of; whole ones only."""
    works = store.db.execute("SELECT 1 FROM session WHERE requests > 0").fetchone() is not None
    if works or not store.owner_proven:
        return ()
    found = []
    for store_id, known in identity.left_behind(store.identity):
        try:
            other = Store(store_id)
        except StoreError:
            continue
        try:
            if other.check().good:
                seq, tag = other.head()
                found.append(Moved(known.workspace, seq + 1, tag[: trust.DIGEST_SIZE]))
        finally:
            other.close()
    return tuple(found)


def settle(store: Store, host: str, steps: int = 1 << 30) -> None:
    """Closes the books of every session that is proven dead: captured to its end, then marked.

    `steps` bounds the transactions for a long transcript and the sessions that are settled now.
    """
    left = steps * SETTLED
    for session in sessions.open_sessions(store.db):
        if left <= 0:
            return
        if events.living(store, session) is False:
            left -= 1
            events.reconcile(store, session, host, gone=True, steps=steps)
            with store.writing():
                sessions.touch(store.db, session.number, session.touched, ended=now(), reason=CRASH)


SETTLED = 50
"""Sessions that a start settles for each step; the rest is settled at later starts."""
CRASH = "crash"
"""Reason of a session that ended without saying so."""


def scene(store: Store, me: Session, event: Event) -> Scene:
    """Who lives, who is over, and whose work this session should be told."""
    living, over = _others(store, me)
    above = set(event.ancestors)
    inside = [s for s in living if above.intersection(sessions.processes(store.db, s.number))]
    audience = "child" if inside else "owner"
    if event.cause in ("resume", "compact", "overflow"):
        return Scene(me, me, tuple(living), (), event.cause, audience)
    subject = over[0] if over else None
    if subject is None and not living and audience == "owner":
        return Scene(me, None, (), (), event.cause, audience, moved(store))
    cause = event.cause
    if cause == "unknown" and subject is not None:
        cause = CRASH if subject.reason == CRASH or not subject.ended else "restart"
    return Scene(me, subject, tuple(living), tuple(over[1:3]), cause, audience)


def before(store: Store, window: Session) -> tuple[Session | None, str]:
    """(the newest other window of the same key in which something was asked, why it was left).

    A person's /new or /reset counts also when it came after an empty window in between.
    """
    known = sessions.sessions(store.db)
    others = [w for w in known if w.key == window.key and w.number != window.number]
    found = next((w for w in others if w.requests), None)
    if found is None:
        return None, ""
    since = {w.reason for w in others if w.number > found.number and not w.requests}
    reasons = {found.reason, *since}
    return found, next((r for r in ("new", "reset") if r in reasons), found.reason)


def taken(store: Store, subject: int, me: int) -> bool:
    """True when another session works on what `subject` left, or has worked on it."""
    children = [s for s in sessions.sessions(store.db) if s.parent == subject]
    return bool(_parents(children, _alive(store, children), me))


def _alive(store: Store, some: list[Session]) -> dict[int, bool | None]:
    """Of `some`, those that live (True) or are not proven dead (None), by number."""
    known = {s.number: events.living(store, s) for s in some}
    return {number: lives for number, lives in known.items() if lives is not False}


def _parents(some: list[Session], alive: dict[int, bool | None], me: int) -> set[int]:
    """Whose work `some` took over, but for `me`; one that died without a request took nothing."""
    return {
        s.parent
        for s in some
        if s.parent is not None and s.number != me and (s.number in alive or s.requests)
    }


def _others(store: Store, me: Session) -> tuple[list[Session], list[Session]]:
    """(living or not proven dead, over and not taken over), newest record first."""
    living, over = [], []
    everyone = sessions.sessions(store.db)
    alive = _alive(store, everyone)
    passed_on = _parents(everyone, alive, me.number)
    for session in everyone:
        if session.number == me.number:
            continue
        if session.number in alive:
            recent = times.age(session.touched, now()) < 86400
            if alive[session.number] or recent:
                living.append(session)
                continue
        if session.requests and session.number not in passed_on:
            over.append(session)
    return living, over


class Known(NamedTuple):
    """What is known of a session."""

    state: WorkingState
    provisional: dict[str, Any]
    answered: bool
    notes: tuple[Item, ...] = ()
    """Items whose records do not verify; they are no part of the state."""
    trail: tuple[int, ...] = ()
    """Records of its newest messages."""
    whole: bool = True
    """The chain shows that nothing newer of the session was taken away."""


def known(store: Store, subject: Session | None) -> Known:
    """A session's state, from its sealed row or its records."""
    if subject is None:
        return Known(WorkingState(-1, -1, (), {}), {}, True)
    row = sessions.load_state(store.db, store.keys, subject.number)
    fold, seq, provisional, whole = capture.current(store, subject, row)
    state = fold.state(subject.number, seq)
    answered = fold.answered and not provisional.get("prompt")
    items = (*state.items, *events.provisional_items(provisional, subject.last))
    doubtful = _doubtful(store, items)
    notes = tuple(i for i in items if i.record in doubtful)
    state = state._replace(items=tuple(i for i in items if i.record not in doubtful))
    return Known(
        state, provisional, answered, notes, tuple(sorted({*fold.trail, *fold.turns})), whole
    )


def _doubtful(store: Store, items: tuple[Item, ...]) -> frozenset[int]:
    """Numbers of the records of these items that do not verify."""
    found = []
    for seq in sorted({i.record for i in items if i.record >= 0}):
        record = store.record(seq)
        if record is None or not record[1]:
            found.append(seq)
    return frozenset(found)


def last_wall(state: WorkingState, subject: Session | None) -> str:
    return max((i.wall for i in state.items if i.wall), default="") or (
        subject.touched if subject else ""
    )
