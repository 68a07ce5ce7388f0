"""SIGKILL at any instant: nothing acknowledged is lost, the chain stays whole."""

import json
import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest

from swapcache import paths
from swapcache.hosts import claude_code, launcher
from swapcache.store import files, identity, sessions
from swapcache.store.store import Store
from tests.rows import Claude

pytestmark = pytest.mark.crash
ROUNDS = 60


def hook(event: str, payload: dict[str, object], project: Path) -> "subprocess.Popen[bytes]":
    """Starts the hook on an event."""
    started = subprocess.Popen(
        [paths.launcher(), "claude-code", event],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        env=dict(os.environ, CLAUDE_PROJECT_DIR=str(project)),
    )
    assert started.stdin is not None
    started.stdin.write(json.dumps(payload).encode())
    started.stdin.close()
    return started


def test_A16_hooks_killed_at_random_instants_lose_nothing(home: Path, project: Path) -> None:
    launcher.install()
    rows = Claude(home / "t.jsonl")
    payload: dict[str, object] = {"session_id": "s1", "transcript_path": str(rows.path)}
    chance = random.Random(7)
    acknowledged = killed = 0
    assert hook("SessionStart", payload, project).wait() == 0  # the store is there from now on
    for number in range(ROUNDS):
        rows.user(f"request {number}")
        rows.say(f"answer {number}")
        started = hook(("Stop", "UserPromptSubmit")[number % 2], payload, project)
        time.sleep(chance.uniform(0.0, 0.06))
        if started.poll() is None:
            os.kill(started.pid, signal.SIGKILL)
            killed += 1
        if started.wait() == 0:
            acknowledged = rows.count
    assert killed >= ROUNDS // 4, "the kills must hit running hooks"
    found = identity.find(identity.identify("claude-code", claude_code.state_dir(), str(project)))
    assert found is not None
    store = Store(found)
    assert store.verify().good
    session = sessions.find_session(store.db, "s1", "s1")
    assert session is not None
    assert sessions.counts(store.db, session.number)[0] >= acknowledged
    store.close()
    assert hook("Stop", payload, project).wait() == 0
    store = Store(found)
    assert sessions.counts(store.db, session.number)[0] == rows.count, "each row exactly once"
    bodies = [r.body for r, good in store.read(0, 1 << 40) if good and r.meta["kind"] == "raw"]
    assert b"".join(bodies) == rows.path.read_bytes()
    assert store.verify().good
    store.close()
    left = [p for p in (home / "swapcache").rglob(f"{files.TEMPORARY}*") if p.is_file()]
    assert len(left) <= killed, "a kill may leave one temporary file, no more"


def test_the_first_event_ever_may_be_killed_too(home: Path, project: Path) -> None:
    launcher.install()
    rows = Claude(home / "t.jsonl")
    rows.user("the very first")
    payload: dict[str, object] = {"session_id": "s1", "transcript_path": str(rows.path)}
    for step in range(25):
        subprocess.run(["rm", "-rf", paths.state_dir(), paths.config_dir(), paths.witness_dir()])
        started = hook("Stop", payload, project)
        time.sleep(0.002 * step)
        if started.poll() is None:
            os.kill(started.pid, signal.SIGKILL)
        started.wait()
        assert hook("Stop", payload, project).wait() == 0
        found = identity.find(
            identity.identify("claude-code", claude_code.state_dir(), str(project))
        )
        assert found is not None, step
        store = Store(found)
        assert store.verify().good, step
        session = sessions.find_session(store.db, "s1", "s1")
        assert session is not None
        assert sessions.counts(store.db, session.number)[0] == 1
        store.close()
        assert not Path(paths.error_log()).exists(), Path(paths.error_log()).read_text()
