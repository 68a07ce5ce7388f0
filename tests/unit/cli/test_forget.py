"""Forgetting from the terminal: every file of ours is searched, and what is left is named."""

import contextlib
import json
import os
import sqlite3
import zlib
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from swapcache import config, paths
from swapcache.capture import events
from swapcache.cli import forget
from swapcache.hosts import openclaw_spool
from swapcache.model import Event
from swapcache.state import views
from swapcache.store import files, forgetting, identity, slots
from swapcache.store.opening import open_store
from swapcache.store.store import Store
from tests.rows import Claude
from tests.unit.hosts.test_openclaw import KEY, Host

SECRET = "Frau Özil lives at 13 Elm Road"


def run(*arguments: str, given: str | None = None) -> tuple[int, str]:
    """swapcache forget; (exit code, output)."""
    done = CliRunner().invoke(forget.command, [*arguments], input=given)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.output


def holding(*roots: Path) -> list[str]:
    """Files that hold the text, chunks of databases unpacked; shares no code with the command."""
    wanted = [SECRET.encode(), json.dumps(SECRET)[1:-1].encode()]
    found = []
    for root in roots:
        for path in (p for p in root.rglob("*") if p.is_file()):
            data = path.read_bytes()
            if path.name == "store.db":
                with contextlib.closing(sqlite3.connect(path)) as db:
                    data += b"".join(
                        zlib.decompress(row[0]) for row in db.execute("SELECT data FROM chunk")
                    )
            found += [str(path)] if any(w in data for w in wanted) else []
    return sorted(set(found))


@pytest.fixture
def ours() -> Path:
    return Path(os.environ["SWAPCACHE_HOME"])


@pytest.fixture
def work(project: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Claude:
    """A recorded session that says it, and a failure that quotes it."""
    monkeypatch.chdir(project)
    rows = Claude(home / "t.jsonl", cwd=str(project))
    rows.user(f"write {SECRET} down")
    rows.call("c1", "Bash", command=f"echo '{SECRET}'")
    rows.result("c1", f"error: {SECRET}", error=True)
    record(rows, project, home)
    files.append_line(paths.error_log(), json.dumps({"message": SECRET}).encode(), 1 << 20)
    return rows


def record(rows: Claude, project: Path, home: Path, key: str = "s1") -> None:
    whose = identity.identify("claude-code", str(home / ".claude"), str(project))
    event = Event("claude-code", "turn-end", whose, key, key, str(rows.path))
    with contextlib.closing(open_store(whose)) as store:
        events.record(store, event, config.DEFAULTS)


def test_what_was_said_is_gone_everywhere_and_the_hosts_transcript_is_named(
    work: Claude, ours: Path
) -> None:
    assert holding(ours)
    code, output = run(SECRET, "--yes")
    assert code == 0, output
    assert holding(ours) == []
    assert f"transcript still holds it: {work.path}" in output
    assert SECRET in work.path.read_text(), "a host's file is never written"
    ((store_id, _),) = identity.listing()
    with contextlib.closing(Store(store_id)) as store:
        assert store.verify().good


def test_a_dry_run_says_where_and_changes_nothing(work: Claude, ours: Path) -> None:
    before = holding(ours)
    code, output = run(SECRET, "--dry-run", "--json")
    assert code == 0 and holding(ours) == before
    value: dict[str, Any] = json.loads(output[output.index("{") :])
    assert value["stores"][0]["records"] >= 3 and value["transcripts"] == [str(work.path)]
    assert paths.error_log() in value["other_files"]


def test_the_text_can_come_from_standard_input(work: Claude, ours: Path) -> None:
    assert run("-", "--yes", given=f"{SECRET}\n")[0] == 0
    assert holding(ours) == []


@pytest.mark.parametrize("text", ["ab", "    ", "two\nlines of it"])
def test_a_text_that_cannot_be_meant_is_refused(work: Claude, ours: Path, text: str) -> None:
    before = holding(ours)
    assert run(text, "--yes")[0] == 2
    assert holding(ours) == before


def test_it_asks_first(work: Claude, ours: Path) -> None:
    before = holding(ours)
    assert run(SECRET, given="n\n")[0] == 1
    assert holding(ours) == before


def test_other_stores_keep_it_unless_everywhere(work: Claude, home: Path, ours: Path) -> None:
    (home / "two" / ".git").mkdir(parents=True)
    rows = Claude(home / "two.jsonl", "s2", str(home / "two"))
    rows.user(f"also {SECRET}")
    record(rows, home / "two", home, "s2")
    run(SECRET, "--yes")
    assert len([path for path in holding(ours) if path.endswith("store.db")]) == 1
    assert run(SECRET, "--yes", "--everywhere")[0] == 0
    assert holding(ours) == []


def test_a_name_that_holds_it_is_said_and_is_no_success(
    work: Claude, home: Path, project: Path
) -> None:
    rows = Claude(home / "named.jsonl", "s3", str(project))
    rows.user("hello")
    record(rows, project, home, f"direct:{SECRET}")
    code, output = run(SECRET, "--yes")
    assert code == 1 and "part of a name" in output


@pytest.fixture
def host(home: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    """An OpenClaw with views, backups and ready texts that hold it."""
    made = Host(home)
    monkeypatch.chdir(made.work)
    for number in range(3):
        made.message("user", f"{number}: write {SECRET} down")
        made.message("assistant", [{"type": "text", "text": "done"}], stopReason="stop")
        made.fold("bootstrap" if not number else "fold").close()
    return made


def test_views_backups_and_ready_texts_are_made_anew(host: Host, ours: Path) -> None:
    folder = host.work / "context_snapshot"
    before = sorted(p.relative_to(folder) for p in folder.rglob("*.json"))
    assert len(holding(folder)) >= 2 and holding(Path(paths.ready_dir()))
    code, output = run(SECRET, "--yes")
    assert code == 0, output
    assert holding(folder, ours) == []
    assert sorted(p.relative_to(folder) for p in folder.rglob("*.json")) == before
    ((store_id, _),) = identity.listing()
    with contextlib.closing(Store(store_id)) as store:
        for path in folder.rglob("*.json"):
            assert views.judge(store, path.read_bytes()).good, path
    host.message("user", "and now the gate")
    host.fold().close()
    assert "and now the gate" in host.texts()["idle"]
    assert not (folder / "quarantine").exists(), "our own views are not taken for strangers'"


def test_what_still_waits_in_the_spool_is_named(host: Host) -> None:
    place = Path(openclaw_spool.path(str(host.state), "main", KEY))
    place.parent.mkdir(exist_ok=True)
    place.write_bytes(slots.line(place.stem, json.dumps({"said": SECRET}).encode()) + b"\n")
    code, output = run(SECRET, "--yes")
    assert code == 1 and f"left: {place}" in output
    host.fold().close()
    assert run(SECRET, "--yes")[0] == 0


def test_a_strangers_file_among_the_views_is_named_and_left(host: Host) -> None:
    planted = host.work / "context_snapshot" / "notes.txt"
    planted.write_text(SECRET)
    code, output = run(SECRET, "--yes")
    assert code == 1 and str(planted) in output
    assert planted.read_text() == SECRET


def test_a_transcript_is_searched_whatever_its_name_and_size(
    work: Claude, home: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forgetting, "BLOCK", 7)
    path = home / "odd:name.jsonl"
    work.path.rename(path)
    work.path = path
    record(work, project, home, "s4")
    assert f"transcript still holds it: {path}" in run(SECRET, "--dry-run")[1]


def test_a_dry_run_leaves_the_hooks_spool_where_it_is(work: Claude) -> None:
    files.append_line(paths.spool_file(), b"{}", 1 << 20)
    assert run(SECRET, "--dry-run")[0] == 0
    assert Path(paths.spool_file()).read_bytes() == b"{}\n"
