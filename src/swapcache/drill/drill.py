"""The drill itself: play, kill, wake, and judge what the next session was told.

Owns the judgement: the last request, the interrupted call and a VERIFIED line must stand inside
our fence. What must be there is read from the session file, never from the store. Promises to work
in a home of its own that it removes. Never passes when the store did not do its work.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from swapcache.drill import play
from swapcache.errors import DrillError
from swapcache.hosts import claude_code, launcher
from swapcache.state import rules
from swapcache.state.redact import shown
from swapcache.store import identity, sessions
from swapcache.store.store import Store
from swapcache.transcripts.text import FRAME_CLOSE, FRAME_OPEN
from swapcache.wake import receipts

SHIPPED = Path(__file__).with_name("session.jsonl")
PLAY_TIMEOUT = 600.0


@dataclass(frozen=True)
class Killed:
    """A session that was killed between a tool call and its result."""

    pid: int
    at: int
    """Row of the transcript after which it died, 1-based."""
    request: str
    call: str
    project: str
    home: Path


@dataclass(frozen=True)
class Outcome:
    """What the next session was told."""

    host: str
    killed: Killed
    wake: dict[str, object]
    ms: float

    def as_json(self) -> dict[str, object]:
        """The contract of `drill --json`."""
        killed = {"pid": self.killed.pid, "signal": "SIGKILL", "at": self.killed.at}
        without = {"text": "", "tokens": 0}
        return {
            "host": self.host,
            "killed": killed,
            "wake": self.wake,
            "without": without,
            "ms": round(self.ms, 1),
        }


def isolate(home: Path, host_state: Path) -> None:
    """Points this process and its children at a home of their own, and installs the launcher."""
    os.environ["SWAPCACHE_HOME"] = str(home / "swapcache")
    os.environ["CLAUDE_CONFIG_DIR"] = str(host_state)
    os.environ.pop("CLAUDE_PROJECT_DIR", None)
    launcher.install()


def point(session: Path, kill_at: int) -> tuple[int, str, str]:
    """(row, last request, interrupted call) to kill at. Raises DrillError naming good rows."""
    _, messages = play.load(session)
    done = {r.id for m in messages if m is not None for r in m.results}
    calls = {
        number: message.calls
        for number, message in enumerate(messages, 1)
        if message is not None and message.calls and not message.sidechain
    }
    if not calls:
        raise DrillError(f"{session} holds no tool call, so it cannot be killed inside one")
    open_ones = [n for n, made in calls.items() if any(c.id not in done for c in made)]
    at = kill_at or (open_ones or list(calls))[-1]
    if at not in calls:
        near = ", ".join(str(n) for n in sorted(calls, key=lambda n: abs(n - at))[:5])
        raise DrillError(f"row {at} of {session} is no tool call; rows near it that are: {near}")
    before = [m for m in messages[:at] if m is not None and not m.sidechain]
    request = next((m.text for m in reversed(before) if m.kind == "request"), "")
    return at, request, rules.target(calls[at][-1])


def kill(session: Path, kill_at: int, home: Path) -> Killed:
    """Plays a session in a child process and kills it. Raises DrillError."""
    at, request, call = point(session, kill_at)
    project = home / "project"
    project.mkdir(parents=True, exist_ok=True)
    run = [sys.executable, "-m", "swapcache.drill.play", str(session), str(at)]
    run += [str(home / "transcript.jsonl"), f"drill-{os.urandom(4).hex()}", str(project)]
    child = subprocess.Popen(run, stdout=subprocess.PIPE, text=True, start_new_session=True)  # noqa: S603
    assert child.stdout is not None  # noqa: S101 - a pipe was asked for
    try:
        said = child.stdout.readline()
        if said != f"at {at}\n":
            child.wait(PLAY_TIMEOUT)
            raise DrillError(f"the session could not be played to row {at} (said {said!r})")
        os.kill(child.pid, signal.SIGKILL)
        code = child.wait(PLAY_TIMEOUT)
    finally:
        child.stdout.close()
    if code != -signal.SIGKILL:
        raise DrillError(f"the child ended with {code} instead of by SIGKILL")
    return Killed(child.pid, at, request, call, str(project), home)


def wake(killed: Killed) -> Outcome:
    """Starts the next session and judges what it is told. Raises DrillError."""
    payload: dict[str, object] = {
        "session_id": f"next-{os.urandom(4).hex()}",
        "transcript_path": str(killed.home / "next.jsonl"),
        "source": "startup",
    }
    begin = time.perf_counter()
    answer = play.call_hook("SessionStart", payload, killed.project)
    ms = (time.perf_counter() - begin) * 1000
    text = ""
    if answer:
        text = json.loads(answer)["hookSpecificOutput"]["additionalContext"]
    judge(text, killed.request, killed.call)
    return Outcome(claude_code.NAME, killed, receipt(killed.project, text), ms)


def judge(text: str, request: str, call: str) -> None:
    """Raises DrillError that names what the next session was not told."""
    missing = []
    inside = text.partition(FRAME_OPEN)[2].partition(FRAME_CLOSE)[0]
    flat = " ".join(inside.replace("\n  > ", "\n").split())
    for name, wanted in (("the last request", request), ("the interrupted call", call)):
        masked = " ".join(shown(wanted).split())
        start = masked.partition("[redacted:")[0][:60].strip()
        if start and start not in flat:
            missing.append(f"{name} ({start!r})")
    if "VERIFIED" not in inside:
        missing.append("the verdict VERIFIED")
    if missing:
        told = inside.strip() or "nothing"
        raise DrillError(f"the next session was not told {', '.join(missing)}; it was told: {told}")


def receipt(project: str, text: str) -> dict[str, object]:
    """The receipt of the newest injection, which must be `text`. Raises DrillError."""
    wanted = identity.identify(claude_code.NAME, claude_code.state_dir(), project)
    found = identity.find(wanted)
    if found is None:
        raise DrillError("there is no store after the drill")
    store = Store(found)
    try:
        seq = sessions.last_receipt(store.db)
        kept = receipts.read(store, seq) if seq is not None else None
    finally:
        store.close()
    if kept is None or kept.text != text:
        raise DrillError("the receipt is not what the hook printed")
    return {
        "cause": kept.cause,
        "form": kept.form,
        "verdict": kept.verdict,
        "at": kept.at,
        "tokens": kept.tokens,
        "chars": len(kept.text),
        "text": kept.text,
        "omitted": kept.omitted,
        "withheld": kept.withheld,
    }


def run(session: Path, kill_at: int) -> Outcome:
    """The whole drill in a temporary home. Raises DrillError, SourceError, FormatError."""
    with tempfile.TemporaryDirectory(prefix="swapcache-drill-") as folder:
        home = Path(folder)
        isolate(home, home / ".claude")
        return wake(kill(session, kill_at, home))
