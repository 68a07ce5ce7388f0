"""What the hosts recorded before we came: their transcripts, and their way into the stores.

Owns the listing of a host's history and the import of one session of it. Promises that an import
can be stopped at any time and goes on where it was, that repeating it adds nothing, and that a
session which hooks record stays what it is. Never chooses what is imported: commands do.
"""

from __future__ import annotations

import os
import sqlite3
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from swapcache import config
from swapcache.capture import capture, events, follow, process
from swapcache.errors import SwapcacheError
from swapcache.hosts import edits, known, locate, openclaw, openclaw_config
from swapcache.model import Event, Identity, Session
from swapcache.store import files, identity, sessions, times
from swapcache.store.opening import open_store
from swapcache.store.store import Store, now

if TYPE_CHECKING:
    from collections.abc import Callable, Container

    from swapcache.model import Capture
    from swapcache.transcripts.tables import Candidate

PROBLEMS = (SwapcacheError, sqlite3.Error, OSError, ValueError)
"""What may be wrong with one session and must not stop the others."""
MAY_LIVE_S = 6 * 3600
OPEN = 16
"""Stores that are kept open."""
HEAD = 1 << 16
"""Bytes of a transcript that are read to list it."""


@dataclass(frozen=True, slots=True)
class Past:
    """One session of a host's history."""

    host: str
    session: str
    key: str
    transcript: str
    workspace: str
    agent: str
    wall_ns: int
    """When its transcript was last written: says the order, and whether it may still live."""
    size: int
    """Bytes of its transcript; 0 for one of several in a database."""
    child: bool
    """A run that another session started."""


@dataclass(frozen=True, slots=True)
class Listing:
    """A host's history."""

    past: list[Past]
    """The newest first; where several files tell of one session, the oldest of these."""
    copies: int
    """Other files that tell of the same sessions."""
    unread: list[str]
    """What in the host's directories is no transcript, or cannot be read, and why."""
    databases: dict[str, int]
    """Bytes of the databases that hold some of it, by path."""


@dataclass(frozen=True, slots=True)
class Taken:
    """What the import of one session did."""

    past: Past
    store: str
    report: Capture
    wall: str
    """When its last message was written."""

    @property
    def session(self) -> tuple[str, str, str]:
        """Which session of which store; several files may tell of one."""
        return self.store, self.past.key, self.past.session


@dataclass(frozen=True, slots=True)
class Imported:
    """What a quick import did."""

    found: int
    sessions: list[Taken]
    """The newest first."""
    failed: list[str]


def listing(host: str, only: Container[str] | None = None) -> Listing:
    """The sessions of a host; with `only` those in these files."""
    state = known.state_dir(host)
    place = locate.place(host)
    if not os.path.isdir(place):
        return Listing([], 0, [], {})
    found, copies, unread = locate.listed(host, place, HEAD, only)
    work = ""
    if host == openclaw.NAME:
        work = openclaw_config.workspace_of(edits.peek(openclaw_config.settings_file()))
    past, databases = [], dict[str, int]()
    for one in found:
        file, size, wall_ns = _written(one)
        if file:
            databases[file] = size
        workspace = one.workspace if _usable(one.workspace) else work
        if not workspace:
            where = repr(one.workspace) if one.workspace else "none"
            unread.append(
                f"{one.path}: it names no directory of its work that can be one ({where}); import "
                f"it with: swapcache capture PATH --host {host} --workspace DIRECTORY"
            )
            continue
        agent = _agent(state, one) if host == openclaw.NAME else identity.DEFAULT_AGENT
        past.append(
            Past(
                host,
                one.id,
                one.key,
                one.path,
                workspace,
                agent,
                wall_ns,
                0 if file else size,
                one.child,
            )
        )
    newest: dict[str, int] = {}
    for each in past:
        newest[each.session] = max(newest.get(each.session, 0), each.wall_ns)
    past.sort(key=lambda p: (-newest[p.session], p.session, p.wall_ns))
    return Listing(past, copies, unread, databases)


def _written(one: Candidate) -> tuple[str, int, int]:
    """(database or empty, bytes of the file, time of the last writing in ns)."""
    file = locate.database_of(one.path)
    found = os.stat(file or one.path)
    wall = times.seconds(one.wall) if file else 0.0
    return file, found.st_size, int(wall * 1e9) or found.st_mtime_ns


def _usable(workspace: str) -> bool:
    """True for an absolute path that the system can hold."""
    try:
        return workspace.startswith("/") and b"\0" not in workspace.encode()
    except UnicodeEncodeError:
        return False


def _agent(state: str, one: Candidate) -> str:
    """OpenClaw keeps a directory for each agent."""
    below = (locate.database_of(one.path) or one.path).removeprefix(f"{state}/agents/")
    return below.partition("/")[0] or identity.DEFAULT_AGENT


class Stores:
    """Stores that stay open from one session to the next: to close one takes three syncs."""

    def __init__(self) -> None:
        self._open: dict[Identity, Store] = {}

    def __enter__(self) -> Stores:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes all; the next one is opened anew."""
        while self._open:
            self._open.popitem()[1].close()

    def of(self, whose: Identity) -> Store:
        """The store of an identity, made if it is new. Raises StoreError, KeyProblem."""
        store = self._open.pop(whose, None) or open_store(whose)
        self._open[whose] = store
        if len(self._open) > OPEN:
            self._open.pop(next(iter(self._open))).close()
        return store


def quick(hosts: tuple[str, ...], seconds: float) -> Imported:
    """Imports sessions, the newest first, until the time is over."""
    past = [p for host in hosts for p in listing(host).past if not p.child]
    settings = config.load(files.publish_private)
    end = time.monotonic() + seconds
    done, failed = [], []
    with Stores() as stores:
        for one in past:
            if time.monotonic() > end:
                break
            try:
                done.append(take(one, stores, settings))
            except PROBLEMS as problem:
                failed.append(f"{one.transcript}: {problem}")
    return Imported(len(past), done, failed)


def take(
    past: Past,
    stores: Stores,
    settings: dict[str, Any],
    step: Callable[[int], None] = lambda _: None,
) -> Taken:
    """Imports what is new in one session; `step` is told the bytes after each transaction.

    Raises one of PROBLEMS; what was imported until then stays, and the next call goes on there.
    """
    whose = identity.identify(past.host, known.state_dir(past.host), past.workspace, past.agent)
    event = Event(past.host, "import", whose, past.session, past.key, past.transcript)
    direct = past.host != openclaw.NAME or openclaw.direct(past.key)
    event = event._replace(detail=sessions.IMPORTED, direct=direct)
    if time.time_ns() - past.wall_ns < MAY_LIVE_S * 1_000_000_000:
        event = event._replace(process=process.UNKNOWN)  # it may still live, unseen by us
    store = stores.of(whose)
    before = sessions.find_session(store.db, past.key, past.session)
    new, more = 0, before is None or _waits(store, before, event)
    while more:
        done = events.record(store, event, settings)
        new, more = new + done.rows, done.more
        store.shrink_log()
        step(max(0, past.size - done.pending))
    if new and _current(past):  # the running conversation: its next turn is told
        openclaw.run(store, event._replace(name="fold", detail="", process=None), settings)
    session = sessions.find_session(store.db, past.key, past.session)
    if session is None:
        raise SwapcacheError("nothing was stored")
    wall = sessions.last_wall(store.db, session.number, session.last, now()) or session.touched
    return Taken(past, store.id, capture.report(store, session, new, 0), wall)


def _waits(store: Store, session: Session, event: Event) -> bool:
    """True when a transcript holds what its session does not, or nobody can run it any more."""
    if session.reason == sessions.IMPORTED and not session.ended and event.process is None:
        return True
    source = sessions.find_source(store.db, session.number, event.transcript)
    if source is None or source.closed:
        return source is None
    new = follow.read_new(source)
    return bool(new.rows) or new.rewritten or new.more


def _current(past: Past) -> bool:
    """True for what OpenClaw's agent goes on with."""
    if past.host != openclaw.NAME:
        return False
    state = known.state_dir(past.host)
    return openclaw.locate(state, past.agent, past.key, "") == (past.session, past.transcript)
