"""What the hosts recorded before we came: their transcripts, the newest first.

Owns where a host's history lies and its quick import. Promises to stop in time, and to say what was
left. Never reads a transcript that a store has captured already twice.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from swapcache import config
from swapcache.capture import capture, events, follow, process
from swapcache.errors import SwapcacheError
from swapcache.hosts import claude_code, edits, known, openclaw, openclaw_config
from swapcache.model import Event, Session
from swapcache.store import files, identity, sessions
from swapcache.store.opening import open_store
from swapcache.store.store import Store
from swapcache.transcripts import formats, lines
from swapcache.transcripts import openclaw as database

if TYPE_CHECKING:
    from collections.abc import Iterator

    from swapcache.model import Capture

MAY_LIVE_S = 6 * 3600


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


@dataclass(frozen=True, slots=True)
class Imported:
    """What a quick import did."""

    found: int
    sessions: list[tuple[Past, str, Capture]]
    """(session, store, report) of what was imported, the newest first."""
    failed: list[str]


def listing(host: str) -> list[Past]:
    """The sessions of a host, the newest first. What cannot be read is left out."""
    found = _claude() if host == claude_code.NAME else _openclaw()
    return sorted(found, key=lambda past: past.wall_ns, reverse=True)


def quick(hosts: tuple[str, ...], seconds: float) -> Imported:
    """Imports sessions, the newest first, until the time is over."""
    past = sorted((p for h in hosts for p in listing(h)), key=lambda p: p.wall_ns, reverse=True)
    settings = config.load(files.publish_private)
    end = time.monotonic() + seconds
    done, failed = [], []
    for one in past:
        if time.monotonic() > end:
            break
        try:
            done.append((one, *_import(one, settings)))
        except (SwapcacheError, sqlite3.Error, OSError, ValueError) as problem:
            failed.append(f"{one.transcript}: {problem}")
    return Imported(len(past), done, failed)


def _import(past: Past, settings: dict[str, Any]) -> tuple[str, Capture]:
    state = known.state_dir(past.host)
    whose = identity.identify(past.host, state, past.workspace, past.agent)
    event = Event(past.host, "import", whose, past.session, past.key, past.transcript)
    event = event._replace(direct=past.host != openclaw.NAME or openclaw.direct(past.key))
    store = open_store(whose)
    try:
        seen = sessions.find_session(store.db, past.key, past.session) is not None
        new = events.record_whole(store, event, settings).rows
        if past.host == openclaw.NAME:  # the running conversation: its next turn is told
            openclaw.run(store, event._replace(name="fold"), settings)
        session: Session | None = sessions.find_session(store.db, past.key, past.session)
        if session is None:
            raise SwapcacheError("nothing was stored")
        if past.host == claude_code.NAME and not seen:  # else a hook knows better who runs it
            _settle(store, session, past)
        return store.id, capture.report(store, session, new, 0)
    finally:
        store.close()


def _settle(store: Store, session: Session, past: Past) -> None:
    """Nobody runs an old session; one that was just written may still live, unseen by us."""
    with store.writing():
        if time.time_ns() - past.wall_ns < MAY_LIVE_S * 1_000_000_000:
            sessions.run(store.db, session.number, process.UNKNOWN)
        else:
            ended = session.touched
            sessions.touch(store.db, session.number, ended, ended=ended, reason="imported")


def _claude() -> Iterator[Past]:
    folder = f"{claude_code.state_dir()}/projects"
    reader = formats.by_name(claude_code.NAME)
    for directory, _, names in os.walk(folder):
        for name in names:
            path = f"{directory}/{name}"
            if not name.endswith(".jsonl") or name.startswith("agent-"):
                continue
            values = _first(path)
            session = next((s for v in values if (s := reader.session_of(v))), "")
            work = next((w for v in values if (w := reader.workspace_of(v))), "")
            if session and _usable(work):
                at = os.stat(path).st_mtime_ns
                yield Past(claude_code.NAME, session, session, path, work, "default", at)


def _usable(workspace: str) -> bool:
    """True for an absolute path that the system can hold."""
    try:
        return workspace.startswith("/") and b"\0" not in workspace.encode()
    except UnicodeEncodeError:
        return False


def _first(path: str) -> list[dict[str, Any]]:
    try:
        file = files.open_regular(path)
    except SwapcacheError:
        return []
    try:
        rows = lines.split(0, os.pread(file, 64 << 10, 0))
    finally:
        os.close(file)
    return [row.value for row in rows if row.value is not None]


def _openclaw() -> Iterator[Past]:
    state = openclaw_config.state_dir()
    work = openclaw_config.workspace_of(edits.peek(openclaw_config.settings_file()))
    agents = f"{state}/agents"
    for agent in sorted(os.listdir(agents)) if os.path.isdir(agents) else ():
        with contextlib.suppress(SwapcacheError):  # a damaged database of the host
            yield from _agent(state, work, agent, f"{agents}/{agent}")


def _agent(state: str, work: str, agent: str, folder: str) -> Iterator[Past]:
    path = f"{folder}/agent/openclaw-agent.sqlite"
    of_files = not os.path.exists(path)
    for key in sorted(openclaw.index(f"{folder}/sessions")) if of_files else database.keys(path):
        session, transcript = openclaw.locate(state, agent, key, "")
        if session and transcript.startswith(follow.DATABASE):  # the file has other writers too
            at = database.newest(path, session) * 1_000_000
        elif session and os.path.exists(transcript):
            at = os.stat(transcript).st_mtime_ns
        else:
            continue
        yield Past(openclaw.NAME, session, key, transcript, work, agent, at)
