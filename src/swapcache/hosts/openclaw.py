"""OpenClaw: what its shim hands over, its transcripts of both eras, its configuration.

Owns everything that is particular to this host (docs/hosts/openclaw.md). Promises to answer
nothing on standard output: the shim reads the ready file. Never touches MEMORY.md, USER.md or a
memory file.

The shim calls the launcher with `bootstrap` (first turn of a process and session key; it waits) or
`fold` (later, detached). Payload: stateDir, agentId, workspaceDir, sessionKey, sessionId, reason.
"""

from __future__ import annotations

import json
import os

from swapcache.capture import capture, events, follow, process
from swapcache.errors import HostError, SourceError, StoreError
from swapcache.hosts import openclaw_spool as spool
from swapcache.model import Event
from swapcache.store import files, identity, sessions
from swapcache.store.store import Store, now
from swapcache.transcripts import openclaw as database
from swapcache.transcripts import tables
from swapcache.transcripts.origins import direct as direct
from swapcache.transcripts.text import mapping, string
from swapcache.wake import ready, receipts, scene, wake

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from swapcache.model import Session, Source

NAME = "openclaw"
NAMES = ("bootstrap", "fold")
REASONS = ("new", "reset", "idle", "daily")
INDEX_LIMIT = 16 << 20


def event(name: str, payload: dict[str, Any], env: Mapping[str, str]) -> Event | None:
    """The event of a payload; None for one that we have no use for. Raises HostError."""
    if name not in NAMES:
        return None
    state = string(payload.get("stateDir"))
    key = string(payload.get("sessionKey"))
    if not (state and key):
        raise HostError(f"{name} of {NAME} without stateDir or sessionKey; reinstall the plugin")
    agent = string(payload.get("agentId")) or "main"
    session, transcript = locate(state, agent, key, string(payload.get("sessionId")))
    workspace = string(payload.get("workspaceDir")) or f"{state}/workspace"
    whose = identity.identify(NAME, state, workspace, agent)._replace(
        workspace=os.path.realpath(workspace)
    )
    return Event(
        NAME,
        "fold",
        whose,
        session,
        key,
        transcript,
        detail=string(payload.get("reason")),
        process=process.host(above_too=False)[0],
        prompt=string(payload.get("process")),
        direct=direct(key),
    )


def locate(state: str, agent: str, key: str, given: str) -> tuple[str, str]:
    """(session id, transcript) that a key stands for now: the database, else the JSONL file."""
    folder = f"{state}/agents/{agent}"
    store = f"{folder}/agent/openclaw-agent.sqlite"
    if os.path.exists(store):
        session = database.current(store, key) or given
        return session, tables.name(session, store) if session else ""
    entry = mapping(index(f"{folder}/sessions").get(key))
    session = string(entry.get("sessionId")) or given
    named = string(entry.get("sessionFile"))
    if named:  # after a rollover this host names a new session and goes on in the old one's file
        return os.path.basename(named).removesuffix(".jsonl"), named
    return session, f"{folder}/sessions/{session}.jsonl" if session else ""


def index(folder: str) -> dict[str, Any]:
    """What the host of the file era says about its sessions, by key."""
    try:
        return mapping(json.loads(files.read_regular(f"{folder}/sessions.json", INDEX_LIMIT)))
    except (SourceError, OSError, ValueError):
        return {}


def run(store: Store, event: Event, settings: dict[str, Any]) -> tuple[bool, str]:
    """Settles older windows of the key, captures, renews the ready texts.

    Gives (whether more waits, what went wrong with a view or a spool, which stops nothing else).
    """
    if not event.session_id:
        return False, ""
    taken = spool.take(event)
    spool.receipts(store, event, taken.lines)  # first: a call after one was not told with it
    with store.writing():
        session = capture.session_for(store, event)
    _skip_others(store, session, event.transcript)
    _settle(store, event)
    more, unpublished = True, ""
    for _ in range(64):  # one step for each window that ended since
        _carry_on(store, event, settings)
        done = events.record(store, event, settings)
        more, unpublished = done.more, done.unpublished
        if not done.boundary:
            break
    with store.writing() as writer:
        session = capture.session_for(store, event)
        ledger = capture.Ledger(store, writer, session)
        back = spool.keep(ledger, taken.lines, event)
        spool.interrupted(ledger, event)
        ledger.save()
    if event.direct:
        ready.write(store, session, settings)
    problem = spool.done(event, taken, back)
    return more, problem or unpublished


def _settle(store: Store, event: Event) -> None:
    """Ends the sessions of this key that the host has left behind without a word in the stream.

    Their transcripts are captured to the end: the host may have renamed them.
    """
    left = [s for s in _open(store, event) if s.id != event.session_id]
    for other in left:
        for source in sessions.sources(store.db, other.number):
            _skip_others(store, other, source.path)
        events.reconcile(store, other, NAME, gone=True)
    reason = event.detail if event.detail in REASONS else ""
    for other in _open(store, event):  # a reset on the way has made more of them
        if other.id != event.session_id:
            why = reason or _silent(store, other)
            with store.writing():
                sessions.touch(store.db, other.number, other.touched, ended=now(), reason=why)


def _open(store: Store, event: Event) -> list[Session]:
    return [s for s in sessions.windows(store.db, event.session_key) if not s.ended]


def _skip_others(store: Store, session: Session, path: str) -> None:
    """Goes on behind what a store of another workspace holds of the same transcript.

    An agent that is moved to another workspace keeps its transcript; each workspace's memory is
    what was said there.
    """
    theirs = [
        found
        for other, known in identity.listing()
        if path and known[:3] == store.identity[:3]
        if known.workspace != store.identity.workspace
        if (found := _furthest(other, path)) is not None
    ]
    if not theirs:
        return
    furthest = max(theirs, key=lambda source: source.cursor)
    with store.writing():
        mine = capture.source_for(store, session, path)
        if not mine.closed and mine.cursor < furthest.cursor:
            ahead = furthest._replace(number=mine.number, closed=0)
            sessions.move_cursor(store.db, ahead, 0, 0, 0)


def _furthest(store_id: str, path: str) -> Source | None:
    """Where another store's reading of a transcript stands; None if it cannot be read."""
    try:
        other = Store(store_id)
    except StoreError:
        return None
    try:
        return sessions.newest_source(other.db, path)
    finally:
        other.close()


def _silent(store: Store, session: Session) -> str:
    """Why a session was left without a word: at a reset the host of the file era renames the file,
    at a rollover neither era says anything."""
    moved = any(
        not os.path.exists(s.path) and follow.renamed(s.path) != s.path
        for s in sessions.sources(store.db, session.number)
    )
    return "reset" if moved else "idle"


def _carry_on(store: Store, event: Event, settings: dict[str, Any]) -> None:
    """Gives a window that begins what the one before it left open, if it is told that in full."""
    window = sessions.find_session(store.db, event.session_key, event.session_id)
    if window is None or not event.direct or window.last >= 0:
        return
    before, cause = scene.before(store, window)
    if before is None:
        return
    found = scene.Scene(window, before, (), (), cause, "owner")
    if wake.tell(store, found, settings, now_wall=now()).form != "full":
        return
    with store.writing() as writer:
        ledger = capture.Ledger(store, writer, window)
        if receipts.take_over(store, ledger, before):
            ledger.save(parent=before.number)
