"""Whatever lies in the place of a file of ours: nothing waits for it, follows it or dies of it."""

import contextlib
import json
import os
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from swapcache import hook, paths
from swapcache.cli import doctor, setup, status
from swapcache.errors import HostError, SealError, StoreError
from swapcache.hosts import claude_code, claude_settings, edits, openclaw_config, openclaw_spool
from swapcache.model import Event
from swapcache.store import identity, slots
from swapcache.store.store import Store
from tests.unit.store.making import mode


@pytest.fixture(autouse=True)
def no_waiting() -> Iterator[None]:
    """A test that waits for a FIFO fails instead."""
    waited = []

    def late(*_: object) -> None:
        waited.append(True)  # a hook catches what is raised here
        raise TimeoutError("something waits")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, 60, 1)  # again and again: there may be a next FIFO
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)
    assert not waited


def fire(name: str, project: Path, monkeypatch: pytest.MonkeyPatch, **payload: str) -> None:
    """One event, in this process."""
    given = json.dumps({"session_id": "s1"} | payload).encode()
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=SimpleNamespace(read=lambda: given)))
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(project))
    assert hook.main(["claude-code", name]) == 0


@pytest.fixture
def work(project: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installation with one recorded prompt; gives its workspace."""
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    for name in (".claude/settings.json", ".openclaw/openclaw.json"):
        (home / name).parent.mkdir()
    CliRunner().invoke(setup.command, ["--yes", "--no-import"])
    Path(paths.config_dir()).mkdir(exist_ok=True)
    Path(paths.config_file()).write_text("[wake]\nbudget = 700\n")
    fire("UserPromptSubmit", project, monkeypatch, prompt="sweep the yard")
    return project


def directory() -> str:
    """The directory of the one store."""
    ((store_id, _),) = identity.listing()
    return paths.store_dir(store_id)


PLACES: dict[str, Callable[[], str]] = {
    "error log": paths.error_log,
    "spool": paths.spool_file,
    "spool of a killed drain": lambda: f"{paths.spool_file()}.999999",
    "reserve": paths.reserve_file,
    "compiled configuration": paths.compiled_config,
    "configuration": paths.config_file,
    "notes of setup": paths.installs_file,
    "launcher": paths.launcher,
    "owner": lambda: paths.owner_file(directory()),
    "views": lambda: paths.views_file(directory()),
    "database": lambda: paths.database(directory()),
    "witness": lambda: paths.witness_file(os.path.basename(directory())),
    "lock": lambda: paths.lock_file(os.path.basename(directory())),
    "key": paths.key_file,
    "plugin": lambda: f"{paths.plugin_dir('openclaw')}/index.js",
    "settings": claude_settings.settings_file,
    "settings of the other host": openclaw_config.settings_file,
}


def _huge(path: Path) -> None:
    path.touch()
    os.truncate(path, 1 << 40)


KINDS: dict[str, Callable[[Path, Path], object]] = {
    "fifo": lambda path, precious: os.mkfifo(path),
    "directory": lambda path, precious: path.mkdir(),
    "link": lambda path, precious: path.symlink_to(precious),
    "huge": lambda path, precious: _huge(path),
}


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_what_lies_in_a_files_place_stops_no_host_and_no_command(
    work: Path, home: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    precious, aside = home / "precious", home / "aside"
    precious.write_text("precious")
    precious.chmod(0o644)
    for place, where in PLACES.items():
        path = Path(where())
        if path.exists():
            path.rename(aside)
        KINDS[kind](path, precious)
        for name in ("SessionStart", "UserPromptSubmit"):
            fire(name, work, monkeypatch, prompt="paint the shed", session_id="s2")
        for command in (status.command, doctor.command):
            done = CliRunner().invoke(command, [])
            ours = type(done.exception).__module__ == "swapcache.errors"
            fine = done.exception is None or ours or isinstance(done.exception, SystemExit)
            assert fine, (place, done.exception)
        assert (precious.read_text(), mode(precious)) == ("precious", 0o644), place
        if os.path.lexists(path):
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        if aside.exists():
            aside.rename(path)


def test_a_witness_that_is_a_fifo_is_not_waited_for_when_it_is_renewed(work: Path) -> None:
    store = Store(os.path.basename(directory()))
    path = paths.witness_file(store.id)
    os.unlink(path)
    os.mkfifo(path)
    with contextlib.closing(store):
        with pytest.raises(SealError, match="GAP"), store.writing():
            pass
        with pytest.raises(StoreError, match="witness"):
            store.renew_witness()


def test_a_new_stores_witness_that_is_a_fifo_is_said(
    project: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whose = identity.identify("claude-code", claude_code.state_dir(), str(project))
    os.makedirs(paths.witness_dir())
    os.mkfifo(paths.witness_file(identity.store_id(whose)))
    fire("UserPromptSubmit", project, monkeypatch, prompt="sweep")
    assert "witness" in Path(paths.error_log()).read_text()


def test_a_spool_that_is_none_is_said_and_the_others_are_read(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(f"{paths.spool_file()}.999998")
    whose = identity.identify("claude-code", claude_code.state_dir(), str(work))
    line = {
        "argv": ["claude-code", "UserPromptSubmit"],
        "whose": list(whose),
        "process": [],
        "payload": {"session_id": "s9", "prompt": "mow the lawn"},
        "wall": "2026-11-30T12:00:00+00:00",
    }
    Path(f"{paths.spool_file()}.999999").write_text(json.dumps(line) + "\n")
    hook.drain()
    assert "it is a FIFO" in Path(paths.error_log()).read_text()
    assert not os.path.exists(f"{paths.spool_file()}.999999")
    assert os.path.exists(f"{paths.spool_file()}.999998"), "it is not ours to delete"


def test_a_shims_spool_that_is_none_is_said_and_kept(work: Path, home: Path) -> None:
    whose = identity.identify("openclaw", str(home / ".openclaw"), str(work), "main")
    event = Event("openclaw", "fold", whose, "sid", "agent:main:main", "")
    spool = Path(openclaw_spool.path(whose.state_dir, "main", "agent:main:main"))
    spool.parent.mkdir()
    os.mkfifo(spool)
    taken = openclaw_spool.take(event)
    assert taken.lines == [] and "it is a FIFO" in taken.problem
    openclaw_spool.done(event, taken, [])
    assert [path.name.startswith(spool.name) for path in spool.parent.iterdir()] == [True]
    sealed = slots.line(spool.stem, json.dumps({"kind": "tool", "id": "c1"}).encode())
    spool.write_bytes(sealed + b"\n")
    assert openclaw_spool.take(event).lines == [{"kind": "tool", "id": "c1"}]


def test_a_hosts_file_that_is_too_large_is_not_changed(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = home / "settings.json"
    path.write_text("{}" + " " * 100)
    monkeypatch.setattr(edits, "LIMIT", 50)
    with pytest.raises(HostError, match=r"102 bytes.*nothing was changed"):
        edits.plan(str(path), lambda text: text + "x")
    assert edits.peek(str(path)) == ""
