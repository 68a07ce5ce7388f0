"""Doctor: every planted fault is found with its fix, a healthy installation has none."""

import contextlib
import json
import os
import pwd
import sqlite3
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner

from swapcache import config, hook, paths
from swapcache.capture import events
from swapcache.cli import checks, doctor, off, on, setup
from swapcache.hosts import claude_code, launcher, openclaw_config, versions
from swapcache.model import Event, Process
from swapcache.store import database, files, identity, keyring, sessions
from swapcache.store.opening import open_store
from swapcache.store.store import Store, now
from tests.rows import Claude

SETTINGS = ".claude/settings.json"
OPENCLAW = ".openclaw/openclaw.json"


@pytest.fixture
def work(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A healthy installation for both hosts, with one recorded session; gives its workspace."""
    monkeypatch.setattr(checks, "_file_system", lambda folder: "ext4")
    monkeypatch.setattr(pwd, "getpwuid", lambda uid: SimpleNamespace(pw_dir=str(home)))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    for path in (SETTINGS, OPENCLAW):
        (home / path).parent.mkdir()
    run(setup.command, "--yes", "--no-import")
    place = home / "work"
    place.mkdir()
    folder = home / ".claude/projects/-work"
    folder.mkdir(parents=True)
    rows = Claude(folder / "s1.jsonl", cwd=str(place))
    rows.user("sweep the yard")
    record(place, rows)
    return place


def record(place: Path, rows: Claude) -> None:
    """What the hook does at the end of a turn."""
    whose = identity.identify("claude-code", claude_code.state_dir(), str(place))
    store = open_store(whose)
    event = Event("claude-code", "turn-end", whose, rows.session, rows.session, str(rows.path))
    events.record(store, event, config.DEFAULTS)
    store.close()


def run(command: Any, *arguments: str) -> str:
    """A command in this process; its output."""
    done = CliRunner().invoke(command, list(arguments), standalone_mode=False)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.output


def found(*arguments: str) -> dict[str, dict[str, str]]:
    """The findings, by check."""
    value = json.loads(run(doctor.command, "--json", *arguments))
    return {finding["check"]: finding for finding in value["findings"]}


def store_path() -> str:
    """The database of the one store."""
    ((store_id, _),) = identity.listing()
    return paths.database(paths.store_dir(store_id))


def test_a_healthy_installation_has_no_findings(work: Path) -> None:
    assert found() == {}
    assert "nothing is wrong" in run(doctor.command)
    assert json.loads(run(doctor.command, "--json"))["hosts"] == ["claude-code", "openclaw"]


def _settings(change: Callable[[dict[str, Any]], object]) -> Callable[[Path], object]:
    def plant(work: Path) -> None:
        path = work.parent / SETTINGS
        value = json.loads(path.read_text())
        change(value)
        path.write_text(json.dumps(value))

    return plant


def _openclaw(change: Callable[[dict[str, Any]], object]) -> Callable[[Path], object]:
    def plant(work: Path) -> None:
        path = work.parent / OPENCLAW
        value = json.loads(path.read_text())
        change(value)
        path.write_text(json.dumps(value))

    return plant


def _moved_interpreter(work: Path) -> None:
    path = Path(paths.launcher())
    path.write_text(path.read_text().replace(launcher.python(), "/nowhere/python3"))


def _other_installation(work: Path) -> None:
    path = Path(paths.launcher())
    path.write_text(path.read_text().replace("Written by", "Written once by"))


def _newer_schema(work: Path) -> None:
    with sqlite3.connect(store_path()) as db:
        db.execute(f"PRAGMA user_version={database.SCHEMA + 1}")
    db.close()


def _other_owner(work: Path) -> None:
    ((store_id, noted),) = identity.listing()
    identity.claim(store_id, noted._replace(workspace="/else"))


def _other_bytes(work: Path) -> None:
    with sqlite3.connect(store_path()) as db:
        db.execute("UPDATE head SET tag='00'")
    db.close()


def _no_witness(work: Path) -> None:
    ((store_id, _),) = identity.listing()
    os.unlink(paths.witness_file(store_id))


def _silent_hook(work: Path) -> None:
    rows = Claude(work.parent / ".claude/projects/-work/s2.jsonl", session="s2", cwd=str(work))
    rows.user("nobody told us of this")
    late = os.stat(paths.launcher()).st_mtime + 7200
    os.utime(rows.path, (late, late))


def _random_pages(work: Path) -> None:
    path = Path(store_path())
    data = path.read_bytes()
    path.write_bytes(data[:4096] + os.urandom(len(data) - 4096))


def _failure(work: Path) -> None:
    hook.main(["claude-code", "SessionStart"])  # with a payload that is none


FAULTS: list[tuple[str, Callable[[Path], object], str, bool]] = [
    ("launcher", lambda work: os.unlink(paths.launcher()), "is missing", True),
    ("launcher", lambda work: os.chmod(paths.launcher(), 0o600), "cannot be run", True),
    ("launcher", _moved_interpreter, "/nowhere/python3", True),
    ("launcher", _other_installation, "another installation", True),
    ("entries", _settings(lambda v: v["hooks"].pop("Stop")), "lacks a part", False),
    ("entries", lambda work: (work.parent / OPENCLAW).write_text("{,"), "line 1", False),
    ("switches", _settings(lambda v: v.update(disableAllHooks=True)), "disableAllHooks", False),
    ("switches", _openclaw(lambda v: v["plugins"].update(enabled=False)), "enabled", False),
    ("switches", _openclaw(lambda v: v["plugins"].update(deny=["swapcache"])), "deny", False),
    ("off", lambda work: run(off.command), "off everywhere", False),
    ("plugin", lambda work: os.unlink(f"{paths.plugin_dir('openclaw')}/index.js"), "index", True),
    ("key", lambda work: os.chmod(paths.key_file(), 0o644), "chmod 600", True),
    ("key", lambda work: os.unlink(paths.key_file()), "is missing", False),
    ("modes", lambda work: os.chmod(paths.stores_dir() + "/..", 0o755), "mode 755", True),
    ("modes", lambda work: os.chmod(store_path(), 0o644), "mode 644", True),
    ("witness", _no_witness, "work", True),
    ("schema", _newer_schema, "upgrade", False),
    ("seal", _other_bytes, "work", False),
    ("owner file", _other_owner, "does not name", True),
    ("rekey", lambda work: keyring.begin(), "being replaced", False),
    ("configuration", lambda work: files.publish(paths.config_file(), "[x]\n"), "[x]", False),
    ("spool", lambda work: files.publish(paths.spool_file(), "{}\n"), "wait in", True),
    ("fired", _silent_hook, "was written", False),
    ("errors", _failure, "1 failure", False),
    ("launcher", lambda work: Path(paths.launcher()).write_bytes(b"python='\xff"), "gone", True),
    ("notes", lambda work: Path(paths.installs_file()).write_text("[5]"), "damaged", False),
    ("store", _random_pages, "cannot be read", False),
]


@pytest.mark.parametrize("number", range(len(FAULTS)))
def test_a_planted_fault_is_found_with_its_fix(
    work: Path, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=SimpleNamespace(read=lambda: b"{no")))
    check, plant, words, mended = FAULTS[number]
    plant(work)
    shown = found()
    assert check in shown, f"fault {number} ({check}) was not found: {shown}"
    finding = shown[check]
    assert words in finding["what"] + finding["why"] and finding["fix"]
    assert check not in found("--fix") or not mended
    assert (check in found()) != mended


def test_sessions_that_were_never_told_anything_are_said(work: Path) -> None:
    ((store_id, _),) = identity.listing()
    with contextlib.closing(Store(store_id)) as store, store.writing():
        for number in range(3):
            owner = Process("boot", "ns", 10 + number, 1)
            sessions.add_session(store.db, f"k{number}", f"k{number}", owner, now())
    assert "3 sessions began" in found()["injected"]["what"]


def test_a_project_that_is_off_is_no_silent_hook(work: Path) -> None:
    _silent_hook(work)
    assert "fired" in found()
    Path(paths.opt_out_file(str(work))).touch()
    assert found() == {}


def test_imported_history_is_no_alarm(work: Path) -> None:
    rows = Claude(work.parent / ".claude/projects/-work/old.jsonl", session="old", cwd=str(work))
    rows.user("long ago")
    os.utime(rows.path, (1_700_000_000, 1_700_000_000))
    run(setup.command, "--yes")
    assert found() == {}


def test_F5_a_memory_that_does_not_stay_is_said(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checks, "_file_system", lambda folder: "tmpfs")
    assert "SWAPCACHE_HOME" in found()["persistence"]["fix"]


def test_F5_another_users_memory_is_said(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert "belongs to uid" in found()["owner"]["what"]


def test_F5_a_second_memory_below_another_home_is_said(
    work: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SWAPCACHE_HOME")
    other = home / "other"
    (other / ".local/state/swapcache/stores").mkdir(parents=True)
    monkeypatch.setattr(pwd, "getpwuid", lambda uid: SimpleNamespace(pw_dir=str(other)))
    assert "one HOME" in found()["home"]["fix"]


def test_F4_a_disk_with_little_room_is_said(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "ROOM", 1 << 62)
    assert "free some space" in found()["room"]["fix"]


@pytest.mark.parametrize(
    ("said", "verdict"),
    [
        ("2.1.332 (Claude Code)\n", ("2.1.332", "known")),
        ("2.2.0 (Claude Code)\n", ("2.2.0", "newer than known")),
        ("1.0.9 (Claude Code)\n", ("1.0.9", "too old")),
        ("", ("", "not found")),
    ],
)
def test_the_version_of_a_host_is_judged(said: str, verdict: tuple[str, str]) -> None:
    assert versions.judge(said, *versions.KNOWN["claude-code"]) == verdict


def test_a_host_that_is_too_old_is_said(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = work.parent / "bin"
    folder.mkdir()
    (folder / "openclaw").write_text("#!/bin/sh\necho OpenClaw 2025.1.2\n")
    (folder / "openclaw").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    assert "2025.1.2" in found()["version"]["what"]


def test_a_pipe_in_place_of_a_hosts_file_stops_nothing(work: Path) -> None:
    path = work.parent / OPENCLAW
    path.unlink()
    os.mkfifo(path)
    assert "no regular file" in found()["entries"]["what"]


def test_the_directory_hook_is_as_good_as_the_plugin(work: Path) -> None:
    path = work.parent / OPENCLAW
    bare = openclaw_config.removed(path.read_text(), paths.launcher())
    path.write_text(openclaw_config.with_hook(bare, paths.launcher()))
    assert found() == {}


def test_off_here_is_no_finding_and_on_goes_on(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(work)
    assert "off in" in run(off.command, "--here")
    assert found() == {}
    assert os.path.exists(paths.off_file(str(work)))
    run(on.command, "--here")
    assert not os.path.exists(paths.off_file(str(work)))
