"""An import that is killed, stopped or follows: it goes on, and tells nothing twice."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from swapcache import paths
from swapcache.hosts import known
from swapcache.store import identity, sessions
from swapcache.store.store import Store
from tests.rows import Pi

pytestmark = pytest.mark.crash
TEXT = "it reads every line and keeps what it understood; " * 40
ROWS = 6000
"""About 12 MB: several transactions."""
WAIT_S = 30.0


@pytest.fixture
def transcript(home: Path) -> Pi:
    """A long session of pi."""
    folder = home / ".pi/agent/sessions/x"
    folder.mkdir(parents=True)
    rows = Pi(folder / "1.jsonl", cwd=str(home))
    for number in range(ROWS):
        (rows.user if number % 2 else rows.say)(f"{number}: {TEXT}")
    return rows


@contextlib.contextmanager
def started(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    """The running command; it is gone afterwards."""
    command = [sys.executable, "-m", "swapcache.cli", "import", "--all", *arguments]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(os.environ)
    ) as running:
        try:
            yield running
        finally:
            running.kill()


def finished() -> dict[str, Any]:
    """What a whole run tells."""
    with started("--json") as running:
        out, _ = running.communicate(timeout=WAIT_S * 2)
    found: dict[str, Any] = json.loads(out)["hosts"]["pi"]
    return found


def stored(home: Path) -> Iterator[int]:
    """Positions of the rows that are stored, as they come."""
    found = identity.find(identity.identify("pi", known.state_dir("pi"), str(home)))
    if found is None:
        return
    store = Store(found)
    try:
        query = "SELECT position FROM record WHERE source IS NOT NULL ORDER BY seq"
        yield from (place for (place,) in store.db.execute(query))
    finally:
        store.close()


def until(happened: Callable[[], bool]) -> None:
    """Waits until something has happened."""
    end = time.monotonic() + WAIT_S
    while not happened():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.01)


def whole(home: Path, transcript: Pi) -> None:
    """Every row is there once, in order, and the chain is whole."""
    data = transcript.path.read_bytes()
    starts = [0, *(at + 1 for at, byte in enumerate(data) if byte == 0x0A)][:-1]
    assert list(stored(home)) == starts
    found = identity.find(identity.identify("pi", known.state_dir("pi"), str(home)))
    assert found is not None
    store = Store(found)
    assert store.verify().good
    (session,) = sessions.sessions(store.db)
    assert session.reason == sessions.IMPORTED
    store.close()


def _further(home: Path, before: int, running: subprocess.Popen[str]) -> bool:
    return len(list(stored(home))) > before or running.poll() is not None


def test_an_import_that_was_killed_goes_on_where_it_was(home: Path, transcript: Pi) -> None:
    for _ in range(3):
        before = len(list(stored(home)))
        with started() as running:
            until(partial(_further, home, before, running))
    partly = len(list(stored(home)))
    assert 0 < partly <= transcript.count
    row = finished()
    assert row["records"] == transcript.count and row["lost"] == {}
    assert row["new"] == row["records"] - partly
    whole(home, transcript)


def test_an_import_that_a_person_stops_says_how_to_go_on(home: Path, transcript: Pi) -> None:
    with started() as running:
        until(lambda: len(list(stored(home))) > 0)
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=WAIT_S)
    if running.returncode == 130:  # else it was faster
        assert "stopped after 0 of 1" in err and "goes on here" in err
        assert "Traceback" not in err + out
    else:
        assert running.returncode == 0
    finished()
    whole(home, transcript)
    assert not os.path.exists(paths.error_log())


def test_following_takes_what_a_host_writes_and_what_it_begins(home: Path, transcript: Pi) -> None:
    with started("--follow", "--interval", "0.05") as running:
        until(lambda: len(list(stored(home))) == transcript.count)
        transcript.user("one more")
        until(lambda: len(list(stored(home))) == transcript.count)
        other = Pi(transcript.path.with_name("2.jsonl"), session="other", cwd=str(home))
        other.user("a new session")
        until(lambda: len(list(stored(home))) == transcript.count + other.count)
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=WAIT_S)
    assert running.returncode == 0 and "following" in err and "Traceback" not in err
    assert out.splitlines()[1].split()[:2] == ["pi", "2"]
