"""Trust: a restored backup is one command away from normal; an anchor proves the history."""

import contextlib
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from swapcache import config, paths
from swapcache.capture import capture, events
from swapcache.cli import trust
from swapcache.model import Event
from swapcache.store import identity, sessions
from swapcache.store.opening import open_store
from swapcache.store.store import Store
from tests.rows import Claude


def run(*arguments: str) -> tuple[int, str]:
    """swapcache trust; (exit code, output)."""
    done = CliRunner().invoke(trust.command, list(arguments))
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.output


def shown() -> dict[str, Any]:
    """trust show --json."""
    found: dict[str, Any] = json.loads(run("show", "--json")[1])
    return found


class Work:
    """A workspace whose store is backed up and restored."""

    def __init__(self, project: Path, home: Path) -> None:
        self.rows = Claude(home / "t.jsonl", cwd=str(project))
        self.whose = identity.identify("claude-code", str(home / ".claude"), str(project))
        self.backup = home / "backup"
        self.turn("sweep the yard")

    def turn(self, text: str) -> None:
        """One more turn, recorded."""
        self.rows.user(text)
        event = Event("claude-code", "turn-end", self.whose, "s1", "s1", str(self.rows.path))
        with contextlib.closing(open_store(self.whose)) as store:
            events.record(store, event, config.DEFAULTS)

    def save(self) -> None:
        """What a backup program does."""
        with contextlib.closing(self.store()):
            pass  # the write-ahead log is folded in
        shutil.copytree(paths.stores_dir(), self.backup)

    def restore(self) -> None:
        """And back again, years later."""
        shutil.rmtree(paths.stores_dir())
        shutil.copytree(self.backup, paths.stores_dir())

    def store(self) -> Store:
        """The one store."""
        ((store_id, _),) = identity.listing()
        return Store(store_id)


@pytest.fixture
def work(project: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Work:
    """One recorded turn."""
    monkeypatch.chdir(project)
    return Work(project, home)


def test_E4_a_restored_backup_is_one_command_away_from_normal(work: Work) -> None:
    work.save()
    work.turn("paint the shed")
    work.restore()
    before = shown()
    assert before["verdict"] == "ROLLED_BACK" and "accept-rollback" in before["fix"]
    assert run("accept-rollback", "--dry-run")[0] == 0 and shown() == before
    code, output = run("accept-rollback", "--yes")
    assert code == 0 and "VERIFIED" in output
    after = shown()
    assert after["verdict"] == "VERIFIED"
    (accepted,) = after["accepted"]
    assert accepted["event"] == "accept-rollback"
    assert (accepted["have"], accepted["seen"]) == (before["head"][0], before["witness"])
    work.turn("mow the lawn")
    with contextlib.closing(work.store()) as store:
        (session,) = sessions.sessions(store.db)
        assert capture.report(store, session, 0, 0).messages == 3, "the lost turn was read again"
        assert store.verify().good


def test_there_is_nothing_to_accept_in_a_healthy_store(work: Work) -> None:
    before = shown()
    code, output = run("accept-rollback", "--yes")
    assert code == 0 and "nothing to accept" in output and shown() == before


def test_E4_a_forged_older_store_is_not_accepted(work: Work) -> None:
    work.save()
    work.turn("paint the shed")
    work.restore()
    with contextlib.closing(work.store()) as store:
        store.db.execute("UPDATE record SET meta='{}' WHERE seq=1")
    code, output = run("accept-rollback", "--yes")
    assert code == 1 and "nothing to accept" in output
    assert shown()["verdict"] != "VERIFIED"


def test_an_anchor_proves_the_history_up_to_it(work: Work) -> None:
    line = run("anchor")[1].strip()
    work.turn("paint the shed")
    code, output = run("anchor", "--check", line)
    assert code == 0 and "came since" in output


def test_E4_an_anchor_tells_a_rollback_that_took_the_witness_along(work: Work) -> None:
    work.save()
    saved = Path(paths.witness_dir()).with_name("saved")
    shutil.copytree(paths.witness_dir(), saved)
    work.turn("paint the shed")
    line = run("anchor")[1].strip()
    work.restore()
    shutil.rmtree(paths.witness_dir())
    shutil.copytree(saved, paths.witness_dir())
    assert shown()["verdict"] == "VERIFIED", "the limit that the threat model names"
    code, output = run("anchor", "--check", line)
    assert code == 1 and "this store ends at" in output


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda f: [*f[:4], "0" * 64], "is not the one"),
        (lambda f: [*f[:2], "0" * 32, *f[3:]], "another store's"),
        (lambda f: [*f[:3], "99999", f[4]], "this store ends at"),
    ],
)
def test_an_anchor_that_does_not_fit_is_refused(work: Work, change: Any, reason: str) -> None:
    fields = run("anchor")[1].split()
    code, output = run("anchor", "--check", " ".join(change(fields)))
    assert code == 1 and reason in output


def test_something_else_than_an_anchor_is_a_mistake(work: Work) -> None:
    assert run("anchor", "--check", "hello")[0] == 2


@pytest.mark.parametrize(
    ("damage", "verdict"),
    [
        (lambda work: os.unlink(paths.key_file()), "NO_KEY"),
        (lambda work: shutil.rmtree(paths.witness_dir()), "GAP"),
        (lambda work: Path(paths.key_file()).write_bytes(os.urandom(32)), "FOREIGN"),
    ],
)
def test_every_verdict_names_what_to_do(work: Work, damage: Any, verdict: str) -> None:
    work.turn("one more")
    damage(work)
    code, output = run("show")
    assert code == 1 and verdict in output and "what to do: " in output


def test_a_key_that_others_can_read_needs_another_mode_and_nothing_else(work: Work) -> None:
    os.chmod(paths.key_file(), 0o644)
    code, output = run("show")
    (line,) = [line for line in output.splitlines() if "what to do" in line]
    assert code == 1 and line.strip().startswith("what to do: others can read the key")
    assert "lost for good" not in output
