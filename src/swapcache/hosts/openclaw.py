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
import time

from swapcache import paths
from swapcache.capture import capture, events, process
from swapcache.errors import HostError
from swapcache.model import OWNER, SYSTEM, Event, NewRecord
from swapcache.state import rules
from swapcache.store import files, identity, seal, sessions
from swapcache.store.store import Store, now
from swapcache.transcripts import openclaw as database
from swapcache.transcripts import pi
from swapcache.transcripts.text import mapping, string
from swapcache.wake import ready, receipts, scene, wake

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from swapcache.model import Session

NAME = "openclaw"
NAMES = ("bootstrap", "fold")
REASONS = ("new", "reset", "idle", "daily")
SPOOL_LIMIT = 64 << 20
DIRECT = ("direct", "dm")
SHARED = ("group", "channel", "cron", "subagent")
"""Parts of a session key that say who speaks in it."""
KEPT_LINES = 20
"""Lines at the spool's end that wait for the host to write what they say."""


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


def direct(key: str) -> bool:
    """True for a session key of the owner's own conversation, in a thread or not.

    agent:A:main, agent:A:direct:PEER, agent:A:CHANNEL:direct:PEER, agent:A:CHANNEL:ACCOUNT:direct:
    PEER; unknown shapes are not.
    """
    parts = key.partition(":thread:")[0].split(":")
    if parts[0] != "agent" or len(parts) < 3:
        return False
    rest = parts[2:]
    if rest == ["main"]:
        return True
    at = next((i for i, part in enumerate(rest[:3]) if part in DIRECT), -1)
    return at >= 0 and len(rest) > at + 1 and not set(rest[:at]) & set(SHARED)


def locate(state: str, agent: str, key: str, given: str) -> tuple[str, str]:
    """(session id, transcript) that a key stands for now: the database, else the JSONL file."""
    folder = f"{state}/agents/{agent}"
    store = f"{folder}/agent/openclaw-agent.sqlite"
    if os.path.exists(store):
        session = database.current(store, key) or given
        return session, database.name(session, store) if session else ""
    try:
        with open(f"{folder}/sessions/sessions.json", "rb") as file:
            entry = mapping(mapping(json.loads(file.read(16 << 20))).get(key))
    except (OSError, ValueError):
        entry = {}
    session = string(entry.get("sessionId")) or given
    named = string(entry.get("sessionFile"))
    return session, named or (f"{folder}/sessions/{session}.jsonl" if session else "")


def run(store: Store, event: Event, settings: dict[str, Any]) -> bool:
    """Settles older windows of the key, captures, renews the ready texts. More waits: True."""
    if not event.session_id:
        return False
    lines = _take_spool(event)
    _receipts(store, event, lines)  # first: a call that comes after one was not told with it
    _settle(store, event)
    more = True
    for _ in range(64):  # one step for each window that ended since
        _carry_on(store, event, settings)
        done = events.record(store, event, settings)
        more = done.more
        if not done.boundary:
            break
    with store.writing() as writer:
        session = capture.session_for(store, event)
        ledger = capture.Ledger(store, writer, session)
        _from_spool(ledger, lines, event)
        _interrupted(ledger, event)
        ledger.save()
    if event.direct:
        ready.write(store, session, settings)
    return more


def _window(store: Store, event: Event) -> Session:
    with store.writing():
        return capture.session_for(store, event)


def _settle(store: Store, event: Event) -> None:
    """Ends the sessions of this key that the host has left behind without a word in the stream.

    Their transcripts are captured to the end: the host may have renamed them.
    """
    window = _window(store, event)
    for other in sessions.windows(store.db, event.session_key):
        if other.ended or other.number >= window.number:
            continue
        events.reconcile(store, other, NAME, gone=True)
        reason = event.detail if event.detail in REASONS else "reset"
        with store.writing():
            sessions.touch(store.db, other.number, other.touched, ended=now(), reason=reason)


def _carry_on(store: Store, event: Event, settings: dict[str, Any]) -> None:
    """Gives a window that begins what the one before it left open, if it is told that in full."""
    window = _window(store, event)
    before = scene.before(store, window)
    if not event.direct or before is None or window.last >= 0:
        return
    found = scene.Scene(window, before, (), (), before.reason, "owner")
    if wake.tell(store, found, settings, now_wall=now()).form != "full":
        return
    with store.writing() as writer:
        ledger = capture.Ledger(store, writer, window)
        receipts.take_over(store, ledger, before)
        ledger.save(parent=before.number)


# -- what the shim wrote ahead ---------------------------------------------------------------------


def spool(state: str, agent: str, key: str) -> str:
    """The shim's file for a session key; it computes the same name."""
    whose = "\0".join((state, agent, key))
    return f"{paths.shim_spool_dir()}/{seal.sha256(os.fsencode(whose))}.jsonl"


def _take_spool(event: Event) -> list[dict[str, Any]]:
    path = spool(event.identity.state_dir, event.identity.agent, event.session_key)
    taken = f"{path}.{os.getpid()}"
    try:
        os.rename(path, taken)
    except FileNotFoundError:
        return []
    found = []
    with open(taken, "rb") as file:
        for line in file.read(SPOOL_LIMIT).splitlines():
            try:
                found.append(mapping(json.loads(line)))
            except ValueError:
                continue  # the last line of a process that was killed
    os.unlink(taken)
    return found


def _from_spool(ledger: capture.Ledger, lines: list[dict[str, Any]], event: Event) -> None:
    """Keeps what the shim saw and the transcript does not hold.

    Of a living gateway it goes back to the spool: the host is about to write it, maybe into a new
    window. Of one that is gone it is provisional: nobody will write it any more.
    """
    asked = {i.text for i in ledger.fold.of("request").values()}
    newest = next((n for n in reversed(lines) if _prompt(n)), None)
    for line in lines:
        alive = line.get("process") == event.prompt
        prompt = _prompt(line) if line is newest else ""
        if prompt and prompt not in asked:
            if alive:
                _put_back(event, line)
            else:
                wall = string(line.get("t"))
                ledger.provisional["prompt"] = {"text": prompt[:16000], "wall": wall}
        if line.get("kind") == "tool":
            key = string(line.get("id"))
            if key in ledger.fold.calls:
                error = rules.cut(string(line.get("error")), 160)
                ledger.provisional.setdefault("finished", {})[key] = error
            elif alive and line in lines[-KEPT_LINES:]:
                _put_back(event, line)


def _interrupted(ledger: capture.Ledger, event: Event) -> None:
    """Keeps a prompt that the host accepted and never wrote into the transcript."""
    if not event.transcript.startswith(database.PREFIX):
        return
    path = event.transcript.removeprefix(database.PREFIX).partition(":")[2]
    text, accepted = database.interrupted(path, event.session_key)
    if not text:
        return
    try:
        prompt = _prompt({"kind": "message", "message": json.loads(text)})
    except ValueError:
        return
    asked = {i.text for i in ledger.fold.of("request").values()}
    if prompt and prompt not in asked and "prompt" not in ledger.provisional:
        wall = time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime(int(accepted) / 1000))
        ledger.provisional["prompt"] = {"text": prompt[:16000], "wall": wall}


def _prompt(line: dict[str, Any]) -> str:
    """The owner's request in a line of the spool, or empty."""
    if line.get("kind") != "message":
        return ""
    message = pi.message({"type": "message", "message": mapping(line.get("message"))})
    own = message is not None and message.kind == "request" and message.origin == OWNER
    return message.text if message is not None and own else ""


def _put_back(event: Event, line: dict[str, Any]) -> None:
    path = spool(event.identity.state_dir, event.identity.agent, event.session_key)
    files.append_line(path, json.dumps(line).encode(), SPOOL_LIMIT)


def _receipts(store: Store, event: Event, lines: list[dict[str, Any]]) -> None:
    """Seals what the shim says that it injected."""
    injected = [line for line in lines if line.get("kind") == "injected"]
    if not injected:
        return
    with store.writing() as writer:
        session = capture.session_for(store, event)
        ledger = capture.Ledger(store, writer, session)
        for line in injected:
            _receipt(store, ledger, line)
        ledger.save()


def _receipt(store: Store, ledger: capture.Ledger, line: dict[str, Any]) -> None:
    text = string(line.get("text"))
    epoch = string(line.get("epoch"))
    if sessions.receipt(store.db, ledger.session.number, epoch) is not None:
        return
    meta = {
        "at": string(line.get("t")),
        "cause": string(line.get("cause")),
        "epoch": epoch,
        "form": "full" if string(line.get("cause")) == "compaction" else "delta",
        "kind": "wake",
        "omitted": 0,
        "origin": SYSTEM,
        "session": ledger.session.id,
        "tokens": max(1, len(text.encode()) // 4),
        "verdict": "VERIFIED" if "VERIFIED" in text else "UNSEALED",
        "wall": string(line.get("t")),
        "withheld": 0,
    }
    seq = ledger.writer.append([NewRecord(text.encode("utf-8", "replace"), meta)])
    sessions.add_receipt(store.db, seq, ledger.session.number, epoch)
