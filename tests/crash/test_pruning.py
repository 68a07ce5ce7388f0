"""SIGKILL and full disks while old sessions are pruned: the old store or the new one."""

import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from swapcache import paths
from swapcache.capture import prune, story
from swapcache.errors import NoSpaceError
from swapcache.store.store import Store
from tests import disks
from tests.unit.store.pruned import OLD, Work, bodies, session_of, state_of

pytestmark = pytest.mark.crash
ROUNDS = 25
ROOM = 65536
"""Bytes that SQLite needs to read a store at all."""


class Kept:
    """A store and its witness, put back before every round."""

    def __init__(self, work: Work, home: Path) -> None:
        self.id = work.id
        with contextlib.closing(work.open()) as store:
            self.states = {name: state_of(store, name) for name in work.rows}
            self.head = store.head()[0]
        self.places = [Path(paths.store_dir(self.id)), Path(paths.witness_dir())]
        self.copies = [home / "kept-store", home / "kept-witness"]
        for place, copy in zip(self.places, self.copies, strict=True):
            shutil.copytree(place, copy)

    def put_back(self) -> None:
        """As it was."""
        for place, copy in zip(self.places, self.copies, strict=True):
            shutil.rmtree(place)
            shutil.copytree(copy, place)

    def judge(self) -> bool:
        """Old or new, whole; the next pruning ends the work. True when it was the new one."""
        with contextlib.closing(Store(self.id)) as store:
            assert store.verify().good
            new = store.head()[0] > self.head
            assert len(bodies(store, "old")) == (0 if new else 20)
            for name, state in self.states.items():
                assert state_of(store, name) == state
                assert story.refold(store, session_of(store, name)).fold.dump() == state
            prune.prune(store, OLD)
            assert store.verify().good and bodies(store, "old") == []
            assert store.db.execute("PRAGMA freelist_count").fetchone() == (0,)
        return new


@pytest.fixture
def kept(project: Path, home: Path) -> Kept:
    """An old session between turns of a new one."""
    work = Work(project, home)
    for _ in range(2):
        work.turns("old", 2024, 5)
        work.turns("new", 2026, 2)
    return Kept(work, home)


def killed(work: Callable[[], object], after: float | None = None) -> bool:
    """Runs it in a process of its own; False when that ended by itself."""
    child = os.fork()
    if child == 0:
        failed = 1
        try:
            work()
            failed = 0
        finally:
            os._exit(failed)
    if after is not None:
        time.sleep(after)
        os.kill(child, signal.SIGKILL)
    status = os.waitpid(child, 0)[1]
    assert os.WIFSIGNALED(status) or os.waitstatus_to_exitcode(status) == 0
    return os.WIFSIGNALED(status)


def prunes(kept: Kept, die_at: int = -1) -> None:
    """Prunes; dies before the statement with this number."""
    store, seen = Store(kept.id), 0

    def count(_: str) -> None:
        nonlocal seen
        seen += 1
        if seen == die_at:
            os.kill(os.getpid(), signal.SIGKILL)

    store.db.set_trace_callback(count)
    prune.prune(store, OLD)


def test_a_kill_before_any_statement_leaves_the_old_or_the_new(kept: Kept) -> None:
    outcomes = []
    step = 1
    while killed(partial(prunes, kept, step)):
        outcomes.append(kept.judge())
        kept.put_back()
        step += 1 if step < 8 else 7  # statements come in groups of one kind
    assert True in outcomes and False in outcomes
    assert outcomes == sorted(outcomes), "once new, new"


def test_a_kill_at_any_instant_leaves_the_old_or_the_new(kept: Kept) -> None:
    begun = time.monotonic()
    assert not killed(lambda: prunes(kept))
    took = time.monotonic() - begun
    kept.put_back()
    chance, hit = random.Random(11), 0
    for _ in range(ROUNDS):
        hit += killed(lambda: prunes(kept), chance.uniform(0, took))
        kept.judge()
        kept.put_back()
    assert hit >= ROUNDS // 3, "the kills must hit"


def test_a_full_disk_is_said_and_nothing_is_changed(
    home: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with disks.small(home / "swapcache", "3m") as disk:
        work = Work(project, home)
        work.turns("old", 2024, 20)
        work.turns("new", 2026, 2)
        with contextlib.closing(work.open()) as store:
            head = store.head()
        ballast = disks.fill(disk)
        os.truncate(ballast, ballast.stat().st_size - ROOM)
        program = [sys.executable, "-m", "swapcache.cli", "prune", "--keep", "1", "--yes"]
        done = subprocess.run(program, capture_output=True, text=True, cwd=project)
        assert done.returncode == 23 and "Traceback" not in done.stderr, done.stderr
        assert "nothing was changed; free some space" in done.stderr
        monkeypatch.setattr(prune, "_room", lambda store, parts: None)
        with contextlib.closing(work.open()) as store, pytest.raises(NoSpaceError):
            prune.prune(store, OLD)  # it got full just now
        ballast.unlink()
        with contextlib.closing(work.open()) as store:
            assert store.head() == head and store.verify().good
            assert len(bodies(store, "old")) == 40
        assert subprocess.run(program, capture_output=True, cwd=project).returncode == 0
        with contextlib.closing(work.open()) as store:
            assert store.verify().good and bodies(store, "old") == []
