"""Stores of several sessions, some of them old, for the tests of pruning."""

import contextlib
import random
from datetime import UTC, datetime
from pathlib import Path

from swapcache import config
from swapcache.capture import events, prune
from swapcache.model import Event, Identity, Process, Session
from swapcache.store import identity, pruning, sessions
from swapcache.store.opening import open_store
from swapcache.store.store import Store
from tests.rows import Claude

HOST = "claude-code"
YEAR = datetime(2026, 1, 1, tzinfo=UTC)
OLD = prune.Wanted(before=YEAR, why="older than the year")
TURNS = 6


class Work:
    """A workspace whose sessions a test adds one by one."""

    def __init__(self, project: Path, home: Path) -> None:
        self.owner: Identity = identity.identify(HOST, str(home / ".claude"), str(project))
        self.home = home
        self.rows: dict[str, Claude] = {}
        self.chance = random.Random(3)
        self.id = ""

    def turns(self, name: str, year: int, turns: int = TURNS, key: str = "") -> Claude:
        """More of a session, captured."""
        rows = self.rows.get(name)
        if rows is None:
            rows = self.rows[name] = Claude(self.home / f"{name}.jsonl", name, self.owner.workspace)
        for _ in range(turns):
            when = f"{year}-03-04T05:06:{rows.count % 60:02d}.000Z"
            number = rows.count
            rows.user(f"{name}: request {number}, ticket {name}-{number}", timestamp=when)
            noise = "".join(self.chance.choices("abcdefghijklmnopqrstuvwxyz ", k=2000))
            rows.say(f"{name}: answer {number}: {noise}", timestamp=when)
        self.event(name, key=key)
        return rows

    def event(
        self, name: str, what: str = "turn-end", key: str = "", process: Process | None = None
    ) -> None:
        """One event of a session."""
        path = str(self.rows[name].path) if name in self.rows else ""
        event = Event(HOST, what, self.owner, name, key or name, path)
        with contextlib.closing(open_store(self.owner)) as store:
            events.record(store, event._replace(process=process), config.DEFAULTS)
            self.id = store.id

    def open(self) -> Store:
        """Its store."""
        return Store(self.id)


def session_of(store: Store, name: str) -> Session:
    """The only session with this id."""
    (found,) = [s for s in sessions.sessions(store.db) if s.id == name]
    return found


def state_of(store: Store, name: str) -> str:
    """The sealed state row of a session."""
    row = sessions.load_state(store.db, store.keys, session_of(store, name).number)
    assert row is not None
    return row[1]


def bodies(store: Store, name: str) -> list[bytes]:
    """The bodies of a session's transcript rows that are still there."""
    found = [r for r, _ in store.read(0, 1 << 62) if r.meta.get("session") == name]
    return [r.body for r in found if r.meta["kind"] == "raw" and r.body]


def take_all(store: Store) -> int:
    """Prunes every session, running and newest ones too; gives the number of what says so."""
    with store.writing() as writer:
        everyone = sessions.sessions(store.db)
        standing = [prune.keep_state(store, writer, session) for session in everyone]
        seqs = pruning.going(store, [session.number for session in everyone])
        pruning.take(store, writer, seqs, standing, "a test")
    assert store.verify().good
    return store.head()[0]
