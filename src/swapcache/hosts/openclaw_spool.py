"""What OpenClaw's shim wrote ahead: messages and results before the host has them, injections.

Owns the spool files and how their lines become provisional state and receipts. Promises that a line
is taken once, by a fold of its own workspace. Never a source of records: the transcript is.
"""

from __future__ import annotations

import json
import os
import time

from swapcache import paths
from swapcache.capture import capture, process
from swapcache.model import OWNER, SYSTEM, Event, NewRecord
from swapcache.state import rules
from swapcache.store import files, seal, sessions
from swapcache.store.store import Store
from swapcache.transcripts import openclaw as database
from swapcache.transcripts import pi
from swapcache.transcripts.text import mapping, string

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LIMIT = 64 << 20
KEPT_LINES = 20
"""Lines at the spool's end that wait for the host to write what they say."""


def path(state: str, agent: str, key: str) -> str:
    """The shim's file for a session key; it computes the same name."""
    whose = "\0".join((state, agent, key))
    return f"{paths.shim_spool_dir()}/{seal.sha256(os.fsencode(whose))}.jsonl"


def take(event: Event) -> list[dict[str, Any]]:
    """The lines for an event's session key; those of another workspace go back."""
    name = path(event.identity.state_dir, event.identity.agent, event.session_key)
    found = []
    for taken in _taken(name):
        with open(taken, "rb") as file:
            for text in file.read(LIMIT).splitlines():
                try:
                    line = mapping(json.loads(text))
                except ValueError:
                    continue  # the last line of a process that was killed
                if line.get("workspace", event.identity.workspace) == event.identity.workspace:
                    found.append(line)
                else:
                    _put_back(event, line)
        os.unlink(taken)
    return found


def _taken(name: str) -> list[str]:
    """The spool under a name of ours, and what folds that were killed had taken."""
    folder, base = os.path.split(name)
    found = []
    for other in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
        pid = other.removeprefix(f"{base}.")
        if other.startswith(f"{base}.") and pid.isdigit() and process.identify(int(pid)) is None:
            found.append(f"{folder}/{other}")
    try:
        os.rename(name, f"{name}.{os.getpid()}")
    except FileNotFoundError:
        return found
    return [*found, f"{name}.{os.getpid()}"]


def keep(ledger: capture.Ledger, lines: list[dict[str, Any]], event: Event) -> None:
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


def interrupted(ledger: capture.Ledger, event: Event) -> None:
    """Keeps a prompt that the host accepted and never wrote into the transcript."""
    if not event.transcript.startswith(database.PREFIX):
        return
    file = event.transcript.removeprefix(database.PREFIX).partition(":")[2]
    text, accepted = database.interrupted(file, event.session_key)
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
    name = path(event.identity.state_dir, event.identity.agent, event.session_key)
    files.append_line(name, json.dumps(line).encode(), LIMIT)


def receipts(store: Store, event: Event, lines: list[dict[str, Any]]) -> None:
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
