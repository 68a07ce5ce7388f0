"""swapcache import: the history of the hosts, once, in its order, and nothing left out unsaid."""

from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path
from typing import Any

import click.testing
import pytest

from swapcache import config
from swapcache.capture import events
from swapcache.cli import importing
from swapcache.errors import NoSpaceError
from swapcache.hosts import known
from swapcache.model import Event, Process
from swapcache.store import files, identity, sessions
from swapcache.store.opening import open_store
from swapcache.store.store import Store
from swapcache.wake import scene
from tests import databases as made
from tests.rows import Claude, Pi

READERS = Path(__file__).parents[2] / "conformance/readers"
BELOW = {
    "codex": ".codex/sessions/2026/11/30",
    "gemini": ".gemini/tmp/p/chats",
    "qwen": ".qwen/projects/p/chats",
    "copilot": ".copilot/session-state",
}
DAY = 86400
ME = Process("boot", "ns", 2**22 + 1, 5)


def run(*arguments: str) -> click.testing.Result:
    """The command."""
    return click.testing.CliRunner().invoke(importing.command, list(arguments))


def told(*arguments: str) -> dict[str, Any]:
    """What it tells programs."""
    found: dict[str, Any] = json.loads(run(*arguments, "--json").stdout)
    return found


def claude(home: Path, name: str, age: float = 0, **more: Any) -> Claude:
    """A session of Claude Code that ended `age` days ago."""
    folder = home / ".claude/projects/-p"
    folder.mkdir(parents=True, exist_ok=True)
    more.setdefault("cwd", str(home))
    rows = Claude(folder / f"{name}.jsonl", session=name, **more)
    when = time.time() - age * DAY
    wall = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(when))
    rows.user(f"{name} asks", timestamp=wall)
    rows.say(f"{name} answers", timestamp=wall)
    os.utime(rows.path, (when, when))
    return rows


def store(host: str, workspace: Path) -> Store:
    """The store of a workspace."""
    found = identity.find(identity.identify(host, known.state_dir(host), str(workspace)))
    assert found is not None
    return Store(found)


def newest(home: Path) -> list[str]:
    """Ids of the sessions of a workspace, as the next one would choose among them."""
    opened = store("claude-code", home)
    try:
        return [s.id for s in sessions.sessions(opened.db)]
    finally:
        opened.close()


def turn(opened: Store, name: str, path: Path) -> Event:
    """The end of a turn as a hook tells it."""
    event = Event("claude-code", "turn-end", opened.identity, name, name, str(path))
    return event._replace(process=ME)


# -- what is found ---------------------------------------------------------------------------------


def test_every_host_that_has_a_history_is_imported_and_a_second_time_adds_nothing(
    home: Path, project: Path
) -> None:
    claude(home, "s1")
    (home / ".pi/agent/sessions/x").mkdir(parents=True)
    pi = Pi(home / ".pi/agent/sessions/x/1.jsonl", cwd=str(project))
    pi.user("pi asks")
    for host, place in BELOW.items():
        folder = home / place
        folder.mkdir(parents=True)
        for path in READERS.glob(f"{host}*/*.jsonl"):
            shutil.copy(path, folder / f"{path.parent.name}.jsonl")
    places = {
        "openclaw": ".openclaw/agents/main/agent/openclaw-agent.sqlite",
        "opencode": ".local/share/opencode/opencode.db",
        "hermes": ".hermes/state.db",
    }
    for host, place in places.items():
        (home / place).parent.mkdir(parents=True)
        made.build(home / place, host)
    first, again = told("--all"), told("--all")
    assert set(first["hosts"]) == {"claude-code", "pi", *BELOW, *places}, first
    for host, row in first["hosts"].items():
        assert row["new"] == row["records"] == row["kept"] >= 2, (host, row)
        assert again["hosts"][host] == row | {"new": 0}
    assert first["failed"] == first["not_read"] == [] and not first["stopped"]


def test_thirty_days_are_taken_unless_told_otherwise(home: Path) -> None:
    for name, age in (("young", 2), ("older", 20), ("old", 40)):
        claude(home, name, age)
    done = told()
    assert (done["hosts"]["claude-code"]["sessions"], done["left_out"]["older"]) == (2, 1)
    assert told("--since", "1w")["left_out"]["older"] == 2
    date = time.strftime("%Y-%m-%d", time.localtime(time.time() - 50 * DAY))
    assert told("--since", date)["left_out"]["older"] == 0
    assert told("--all")["hosts"]["claude-code"]["sessions"] == 3
    assert sorted(newest(home)) == ["old", "older", "young"]


@pytest.mark.parametrize("since", ["soon", "3x", "d", ""])
def test_a_time_that_is_none_is_refused(since: str) -> None:
    done = run("--since", since)
    assert done.exit_code == 2 and "90d" in done.stderr


def test_what_is_left_out_is_counted_and_named(home: Path) -> None:
    claude(home, "s1")
    claude(home, "agent-1")
    nowhere = claude(home, "s2", cwd="")
    odd = home / ".claude/projects/-p/odd.jsonl"
    odd.write_text('{"some": "thing"}\n')
    done = run("--all")
    assert "1 transcripts of sub-agents" in done.stderr
    assert f"not read: {nowhere.path}" in done.stderr and "--workspace" in done.stderr
    assert f"not read: {odd}" in done.stderr
    counts = {"older": 0, "of sub-agents": 1, "copies": 0, "not read": 2}
    assert told("--all")["left_out"] == counts


def test_damage_is_told_with_its_reason_and_place(home: Path) -> None:
    rows = claude(home, "s1")
    at = rows.path.stat().st_size
    rows.raw(b'{"type": "user", "torn\n')
    rows.user("after it")
    done = run("--all")
    assert done.exit_code == 1
    assert "lost: 1 x not JSON" in done.stderr and f"{rows.path}, {at}" in done.stderr
    cells = done.stdout.splitlines()[1].split()
    assert cells[:7] == ["claude-code", "1", "4", "3", "3", "4", "1"]


def test_a_session_that_cannot_be_stored_stops_no_other(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    claude(home, "s1")
    bad = claude(home, "s2")
    whole = events.record

    def record(opened: Store, event: Event, settings: dict[str, Any]) -> object:
        if event.session_id == "s2":
            raise OSError(5, "Input/output error")
        return whole(opened, event, settings)

    monkeypatch.setattr(events, "record", record)
    done = run("--all")
    assert done.exit_code == 1
    assert f"not imported: {bad.path}" in done.stderr and "Input/output error" in done.stderr
    assert newest(home) == ["s1"]


def test_a_dry_run_stores_nothing(home: Path) -> None:
    claude(home, "s1")
    done = run("--dry-run", "--all")
    assert "1 sessions" in done.stderr and "of disk" in done.stderr
    assert [row["session"] for row in told("--dry-run", "--all")["found"]] == ["s1"]
    assert identity.listing() == []


def test_a_disk_without_room_is_refused_before_the_first_byte(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    claude(home, "s1")
    real = os.statvfs(home)
    full = os.statvfs_result((*real[:3], 10, 10, *real[5:]))
    monkeypatch.setattr(os, "statvfs", lambda _: full)
    done = run("--all")
    assert isinstance(done.exception, NoSpaceError) and "--since" in str(done.exception)
    assert identity.listing() == []


def test_without_any_host_it_says_where_it_looked(home: Path) -> None:
    done = run("--all")
    assert done.exit_code == 0 and str(home / ".claude") in done.stderr


# -- whose memory the next session is told ---------------------------------------------------------


def test_imported_sessions_stand_in_the_order_of_their_messages(home: Path) -> None:
    for name, age in (("b", 3), ("a", 9), ("c", 1)):
        claude(home, name, age)
    assert run("--all").exit_code == 0
    assert newest(home) == ["c", "b", "a"]


def test_an_import_never_comes_before_what_hooks_recorded_later(home: Path) -> None:
    settings = config.load(files.publish_private)
    claude(home, "past", 9)
    running = claude(home, "running")
    opened = open_store(identity.identify("claude-code", known.state_dir("claude-code"), str(home)))
    event = turn(opened, "running", running.path)
    events.record(opened, event, settings)
    before = sessions.find_session(opened.db, "running", "running")
    opened.close()
    running.say("more")
    assert told("--all")["hosts"]["claude-code"]["new"] == 3
    opened = store("claude-code", home)
    after = sessions.find_session(opened.db, "running", "running")
    assert before is not None and after is not None
    assert (after.touched, after.ended, after.reason) == (before.touched, "", before.reason)
    assert newest(home) == ["running", "past"]
    me = sessions.find_session(opened.db, "past", "past")
    assert me is not None and me.reason == sessions.IMPORTED and me.ended
    opened.close()


def test_an_imported_session_that_goes_on_is_the_newest_again(home: Path) -> None:
    claude(home, "new", 1)
    rows = claude(home, "old", 9)
    assert run("--all").exit_code == 0 and newest(home) == ["new", "old"]
    rows.user("it goes on")
    opened = store("claude-code", home)
    events.record(opened, turn(opened, "old", rows.path), config.load(files.publish_private))
    opened.close()
    assert newest(home) == ["old", "new"]


def test_the_newest_window_of_a_key_is_not_an_imported_one_of_long_ago(home: Path) -> None:
    claude(home, "now", 0)
    opened = open_store(identity.identify("claude-code", known.state_dir("claude-code"), str(home)))
    settings = config.load(files.publish_private)
    for name, age in (("w1", 0), ("w2", 9)):
        rows = claude(home, name, age)
        events.record(opened, turn(opened, name, rows.path)._replace(session_key="key"), settings)
        session = sessions.find_session(opened.db, "key", name)
        assert session is not None
        wall = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - age * DAY))
        with opened.writing():
            reason = sessions.IMPORTED if age else "daily"
            sessions.touch(opened.db, session.number, wall, ended=wall, reason=reason)
    with opened.writing():
        window = sessions.add_session(opened.db, "key", "w3", None, wall)
    found, why = scene.before(opened, window)
    assert found is not None and (found.id, why) == ("w1", "daily")
    opened.close()


def test_a_transcript_that_its_host_moved_tells_nothing_twice(home: Path) -> None:
    rows = claude(home, "s1")
    assert told("--all")["hosts"]["claude-code"]["messages"] == 2
    elsewhere = home / ".claude/projects/-renamed"
    elsewhere.mkdir()
    rows.path.rename(elsewhere / "s1.jsonl")
    rows.path = elsewhere / "s1.jsonl"
    rows.user("one more")
    again = told("--all")["hosts"]["claude-code"]
    assert (again["messages"], again["new"], again["sessions"]) == (3, 1, 1)


def test_rows_of_types_that_nobody_knows_are_kept_and_counted(home: Path) -> None:
    rows = claude(home, "s1")
    rows.raw(b'{"type": "hologram", "uuid": "h1", "sessionId": "s1"}\n')
    done = run("--all")
    assert done.exit_code == 0 and "hologram (1)" in done.stderr
    assert told("--all")["hosts"]["claude-code"]["unknown"] == {"hologram": 1}
