"""What OpenClaw's shim wrote ahead: messages and results before the host has them, injections.

Owns the spool files and how their lines become provisional state and receipts. Promises that a line
is taken once, by a fold of its own workspace, and only if it is sealed by our key. Never a source
of records: the transcript is.
"""

from __future__ import annotations

import contextlib
import json
import os
import time

from swapcache import paths
from swapcache.capture import capture, process
from swapcache.model import OWNER, SYSTEM, Event, NamedTuple, NewRecord
from swapcache.state import rules
from swapcache.store import files, seal, sessions, slots, times
from swapcache.store.store import Store, now
from swapcache.transcripts import formats, pi, tables
from swapcache.transcripts import openclaw as database
from swapcache.transcripts.text import mapping, string

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LIMIT = 64 << 20
KEPT_LINES = 20
"""Lines at the spool's end that wait for the host to write what they say."""
FOREIGN_S = 86400.0
UNSEALED = ".unsealed"
SAME_S = 30.0
"""A host writes a prompt at most so much before the time that the shim noted."""


def path(state: str, agent: str, key: str) -> str:
    """The shim's file for a session key; it computes the same name."""
    whose = "\0".join((state, agent, key))
    return f"{paths.shim_spool_dir()}/{seal.sha256(os.fsencode(whose))}.jsonl"


class Taken(NamedTuple):
    """What a fold took from the spool; until `done` the files stay, so its death loses nothing."""

    lines: list[dict[str, Any]]
    foreign: list[dict[str, Any]]
    """Lines of another workspace of the same agent."""
    files: list[str]
    unsealed: list[bytes]
    """Whole lines that nobody who has our key wrote for this session key."""
    problem: str
    """What could not be read, and why; it stays where it lies."""


def take(event: Event) -> Taken:
    """The lines for an event's session key. Raises FileNotFoundError, KeyProblem."""
    place = path(*_whose(event))
    taken = Taken([], [], [], [], "")
    for name in _taken(place):
        try:
            data = files.read_own(name, LIMIT)
        except FileNotFoundError:
            continue  # another fold was done with it
        except OSError as damage:
            problem = f"{name} cannot be read: {damage.strerror}; move it away"
            taken = taken._replace(problem=problem)
            continue
        taken.files.append(name)
        for raw in data.splitlines(keepends=True):
            _sort(taken, slots.opened(slots.name_of(place), raw.rstrip(b"\n")), raw, event)
    return taken


def _sort(taken: Taken, text: bytes | None, raw: bytes, event: Event) -> None:
    """Puts a line, `text` when it is sealed, where it belongs."""
    if text is None and raw.endswith(b"\n"):
        taken.unsealed.append(raw)
    if text is None:
        return  # or the last line of a process that was killed
    line = mapping(json.loads(text))
    here = event.identity.workspace
    if line.get("workspace", here) == here:
        taken.lines.append(line)
    elif times.age(string(line.get("t")), now()) < FOREIGN_S:
        taken.foreign.append(line)


def done(event: Event, taken: Taken, back: list[dict[str, Any]]) -> str:
    """Everything is stored: what waits for the host goes back, the rest goes.

    Lines that are not ours go to a file beside, unread. Gives what was wrong with the spool.
    """
    place = path(*_whose(event))
    lines = [*taken.foreign[-KEPT_LINES:], *back]
    if lines:
        texts = [slots.line(slots.name_of(place), json.dumps(line).encode()) for line in lines]
        files.append_line(place, b"\n".join(texts), LIMIT)
    aside = f"{place}{UNSEALED}"
    if taken.unsealed:
        files.append_line(aside, b"".join(taken.unsealed).rstrip(b"\n"), LIMIT)
    for name in taken.files:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
    if not taken.unsealed:
        return taken.problem
    return (
        f"{len(taken.unsealed)} line(s) of {place} were not written with this installation's key; "
        f"they are kept at {aside}, unread: look at them, then remove that file"
    )


def _whose(event: Event) -> tuple[str, str, str]:
    return event.identity.state_dir, event.identity.agent, event.session_key


def _taken(name: str) -> list[str]:
    """The spool under a name of ours, and what folds that were killed had taken."""
    folder, base = os.path.split(name)
    found = []
    for other in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
        pid, _, started = other.removeprefix(f"{base}.").partition("-")
        if not other.startswith(f"{base}.") or not (pid.isdigit() and started.isdigit()):
            continue
        living = process.identify(int(pid))
        if living is None or living.started != int(started):
            found.append(f"{folder}/{other}")
    me = process.identify(os.getpid())
    mine = f"{name}.{os.getpid()}-{me.started if me else 0}"
    try:
        os.rename(name, mine)
    except FileNotFoundError:
        return found
    return [*found, mine]


def keep(ledger: capture.Ledger, lines: list[dict[str, Any]], event: Event) -> list[dict[str, Any]]:
    """Keeps what the shim saw and the transcript does not hold; gives what goes back.

    Of a living gateway it goes back to the spool: the host is about to write it, maybe into a new
    window. Of one that is gone it is provisional: nobody will write it any more.
    """
    back = []
    prompts = [line for line in lines if _prompt(line, ledger.shared)]
    newest = max(prompts, key=lambda line: string(line.get("t")), default=None)
    for line in lines:
        alive = line.get("process") == event.prompt
        prompt = _prompt(line, ledger.shared) if line is newest else ""
        if prompt and not _asked(ledger, prompt, string(line.get("t"))):
            if alive:
                back.append(line)
            else:
                wall = string(line.get("t"))
                ledger.provisional["prompt"] = {"text": prompt[:16000], "wall": wall}
        if line.get("kind") == "tool":
            key = string(line.get("id"))
            if key in ledger.fold.calls:
                error = rules.outcome(string(line.get("error")), ledger.fold.calls[key][10])
                ledger.provisional.setdefault("finished", {})[key] = error
            elif alive and line in lines[-KEPT_LINES:]:
                back.append(line)
    return back


def _asked(ledger: capture.Ledger, prompt: str, wall: str) -> bool:
    """True when the transcript has this very prompt: the same words of another day do not count."""
    text = rules.clip(prompt)
    asked = ledger.fold.of("request").values()
    return any(i.text == text and times.age(i.wall, wall) < SAME_S for i in asked)


def interrupted(ledger: capture.Ledger, event: Event) -> None:
    """Keeps a prompt that the host accepted and never wrote into the transcript."""
    if not event.transcript.startswith(formats.IN_DATABASE):
        return
    file = tables.parts(event.transcript)[1]
    text, accepted = database.interrupted(file, event.session_key)
    if not text:
        return
    try:
        prompt = _prompt({"kind": "message", "message": json.loads(text)}, ledger.shared)
    except ValueError:
        return
    wall = time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime(int(accepted) / 1000))
    if prompt and "prompt" not in ledger.provisional and not _asked(ledger, prompt, wall):
        ledger.provisional["prompt"] = {"text": prompt[:16000], "wall": wall}


def _prompt(line: dict[str, Any], shared: bool) -> str:
    """The owner's request in a line of the spool, or empty."""
    if line.get("kind") != "message":
        return ""
    message = pi.message({"type": "message", "message": mapping(line.get("message"))})
    if message is None or message.kind != "request" or message.origin != OWNER:
        return ""
    return "" if shared and message.assumed else message.text


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
