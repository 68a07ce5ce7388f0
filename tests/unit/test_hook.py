"""The hook process: what it loads, what it prints, that it never fails its host."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from swapcache import paths
from swapcache.hosts import claude_code, launcher
from swapcache.store import identity, sessions
from swapcache.store.store import Store
from tests.rows import Claude

ALLOWED = frozenset(
    """
    __future__ _abc _codecs _collections _collections_abc _datetime _frozen_importlib
    _frozen_importlib_external _functools _imp _io _json _operator _signal _sqlite3 _sre _stat
    _thread _warnings _weakref abc builtins codecs collections collections.abc copyreg datetime
    encodings encodings.aliases encodings.utf_8 enum errno fcntl functools genericpath io itertools
    json json.decoder json.encoder json.scanner keyword marshal math operator os os.path posix
    posixpath re re._casefix re._compiler re._constants re._parser reprlib site sqlite3
    sqlite3.dbapi2 stat sys time types unicodedata warnings winreg zipimport zlib _sha2 _sha256
    linecache contextlib _opcode _locale _suggestions
    """.split()
)
"""What the hook may load beside swapcache itself: the standard library's cheap part, no OpenSSL."""


def call(
    event: str, payload: Mapping[str, object], project: Path
) -> subprocess.CompletedProcess[bytes]:
    """One event through the launcher, as a host calls it."""
    launcher.install()
    return subprocess.run(
        [paths.launcher(), "claude-code", event],
        input=json.dumps(payload).encode(),
        env=dict(os.environ, CLAUDE_PROJECT_DIR=str(project)),
        capture_output=True,
        check=False,
    )


def store_of(project: Path) -> Store:
    """The store that a project's events went to."""
    wanted = identity.identify("claude-code", claude_code.state_dir(), str(project))
    found = identity.find(wanted)
    assert found is not None
    return Store(found)


def failures() -> list[dict[str, str]]:
    """Lines of the error log."""
    log = Path(paths.error_log())
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


@pytest.mark.parametrize("event", ["SessionStart", "UserPromptSubmit", "PostToolUse", "Stop"])
def test_the_hook_loads_only_the_allow_list(event: str, project: Path, home: Path) -> None:
    rows = Claude(home / "t.jsonl")
    rows.user("fix it")
    rows.call("c1", "Bash", command="make")
    call("SessionStart", {"session_id": "old"}, project)
    code = (
        f"import sys; sys.path.insert(0, {launcher.package()!r});"
        "from swapcache import hook; hook.main(sys.argv[1:]);"
        "sys.stderr.write(' '.join(sorted(sys.modules)))"
    )
    payload = {"session_id": "s1", "transcript_path": str(rows.path), "prompt": "fix it"}
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code, "claude-code", event],
        input=json.dumps(payload | {"tool_use_id": "c1"}).encode(),
        env=dict(os.environ, CLAUDE_PROJECT_DIR=str(project)),
        capture_output=True,
        check=True,
    )
    loaded = set(done.stderr.decode().split()) - {"__main__"}
    assert "swapcache.hook" in loaded, "the measurement itself works"
    foreign = {m for m in loaded if m.partition(".")[0] != "swapcache"} - ALLOWED
    assert not foreign
    assert failures() == []


def test_an_event_is_durable_when_the_hook_returns(project: Path, home: Path) -> None:
    rows = Claude(home / "t.jsonl")
    rows.user("fix the parser")
    rows.call("c1", "Edit", file_path="a.py")
    rows.result("c1", "ok")
    done = call("Stop", {"session_id": "s1", "transcript_path": str(rows.path)}, project)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    store = store_of(project)
    found = sessions.find_session(store.db, "s1", "s1")
    assert found is not None and sessions.counts(store.db, found.number)[0] == 3
    assert store.verify().good
    store.close()


def test_a_prompt_is_kept_before_the_host_writes_it(project: Path, home: Path) -> None:
    payload = {"session_id": "s1", "transcript_path": str(home / "none.jsonl")}
    call("UserPromptSubmit", {**payload, "prompt": "delete the cache, ticket 88"}, project)
    started = call("SessionStart", {"session_id": "s2", "source": "startup"}, project)
    assert b"delete the cache, ticket 88" in started.stdout, "its process went on to a new session"
    assert failures() == []


def test_the_same_start_twice_gives_the_same_bytes_and_one_receipt(
    project: Path, home: Path
) -> None:
    rows = Claude(home / "t.jsonl")
    rows.user("paint the shed")
    call("Stop", {"session_id": "s1", "transcript_path": str(rows.path)}, project)
    call("SessionEnd", {"session_id": "s1", "reason": "other"}, project)
    one = call("SessionStart", {"session_id": "s2", "source": "startup"}, project)
    two = call("SessionStart", {"session_id": "s2", "source": "startup"}, project)
    assert one.stdout == two.stdout != b""
    store = store_of(project)
    assert store.db.execute("SELECT count(*) FROM receipt").fetchone() == (1,)
    store.close()


@pytest.mark.parametrize(
    "payload",
    [b"", b"not json", b"[]", b"null", b'{"session_id": 5}', b'{"session_id": ""}', b"\xff\xfe"],
)
def test_G3_any_payload_gives_exit_0_and_no_output(payload: bytes, project: Path) -> None:
    launcher.install()
    done = subprocess.run(
        [paths.launcher(), "claude-code", "Stop"],
        input=payload,
        env=dict(os.environ, CLAUDE_PROJECT_DIR=str(project)),
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert len(failures()) == 1, "never silent"


def test_unknown_events_and_hosts_do_nothing_and_say_so(project: Path) -> None:
    done = call("Notification", {"session_id": "s1"}, project)
    assert (done.returncode, done.stdout) == (0, b"") and failures() == []
    launcher.install()
    done = subprocess.run([paths.launcher(), "nohost", "Stop"], input=b"{}", capture_output=True)
    assert done.returncode == 0 and "nohost" in failures()[0]["message"]


def test_events_that_cannot_be_stored_are_spooled_and_stored_later(
    project: Path, home: Path
) -> None:
    call("SessionStart", {"session_id": "s0"}, project)
    key = Path(paths.key_file())
    key.chmod(0o644)
    payload = {"session_id": "s1", "transcript_path": str(home / "none.jsonl")}
    done = call("UserPromptSubmit", {**payload, "prompt": "survive the loose key"}, project)
    assert done.returncode == 0 and "chmod 600" in failures()[-1]["message"]
    assert Path(paths.spool_file()).exists()
    key.chmod(0o600)
    started = call("SessionStart", {"session_id": "s2"}, project)
    assert started.returncode == 0
    assert not Path(paths.spool_file()).exists()
    store = store_of(project)
    found = sessions.find_session(store.db, "s1", "s1")
    assert found is not None
    kept = sessions.load_state(store.db, store.keys, found.number)
    assert kept is not None and "survive the loose key" in kept[1] + kept[2]
    store.close()


def test_a_transcript_that_may_not_be_read_is_said(project: Path, home: Path) -> None:
    (home / "folder.jsonl").mkdir()
    payload = {"session_id": "s1", "transcript_path": str(home / "folder.jsonl")}
    done = call("Stop", payload, project)
    assert (done.returncode, done.stdout) == (0, b"")
    assert "is a directory" in failures()[0]["message"]
    assert call("Stop", {**payload, "transcript_path": str(home / "none")}, project).returncode == 0
    assert len(failures()) == 1, "one that is not written yet is no failure"


def test_a_long_backlog_is_stored_by_a_detached_process(project: Path, home: Path) -> None:
    rows = Claude(home / "t.jsonl")
    rows.user("read it all")
    filler = "x" * 60000
    for number in range(160):
        rows.say(f"{number} {filler}")
    begin = time.monotonic()
    call("Stop", {"session_id": "s1", "transcript_path": str(rows.path)}, project)
    store = store_of(project)
    found = sessions.find_session(store.db, "s1", "s1")
    assert found is not None
    while sessions.counts(store.db, found.number)[0] < 161:
        assert time.monotonic() - begin < 30, "the rest was never stored"
        time.sleep(0.05)
    store.close()
    assert failures() == []


def test_the_launcher_says_when_its_interpreter_is_gone(project: Path) -> None:
    launcher.install()
    path = Path(paths.launcher())
    path.write_text(path.read_text().replace("python=", "python=/gone"))
    done = subprocess.run([str(path), "claude-code", "Stop"], input=b"{}", capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert "setup again" in failures()[0]["message"]


def test_G2_an_empty_path_and_a_hostile_workspace_change_nothing(project: Path, home: Path) -> None:
    (project / "json.py").write_text("raise SystemExit('shadowed')")
    rows = Claude(home / "t.jsonl")
    rows.user("hello")
    launcher.install()
    payload = {"session_id": "s1", "transcript_path": str(rows.path)}
    done = subprocess.run(
        [paths.launcher(), "claude-code", "Stop"],
        input=json.dumps(payload).encode(),
        env={
            "HOME": str(home),
            "PATH": "",
            "PYTHONPATH": str(project),
            "CLAUDE_PROJECT_DIR": str(project),
        },
        cwd=project,
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert failures() == []


@pytest.mark.parametrize("where", ["everywhere", "here", "in the project"])
def test_off_stops_at_once_and_on_goes_on(where: str, project: Path, home: Path) -> None:
    rows = Claude(home / "t.jsonl")
    rows.user("sweep the yard")
    payload = {"session_id": "s1", "transcript_path": str(rows.path)}
    call("Stop", payload, project)
    call("SessionEnd", payload, project)
    file = {
        "everywhere": Path(paths.off_file()),
        "here": Path(paths.off_file(str(project))),
        "in the project": Path(paths.opt_out_file(str(project))),
    }[where]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.touch()
    before = store_of(project).head()
    rows.say("swept")
    assert call("Stop", payload, project).stdout == b""
    assert call("SessionStart", {"session_id": "s2"}, project).stdout == b""
    assert store_of(project).head() == before and failures() == []
    file.unlink()
    assert b"sweep the yard" in call("SessionStart", {"session_id": "s2"}, project).stdout


def test_F2_what_was_injected_says_its_cost(project: Path, home: Path) -> None:
    first = Claude(home / "t.jsonl")
    first.user("sweep the yard")
    call("Stop", {"session_id": "s1", "transcript_path": str(first.path)}, project)
    call("SessionEnd", {"session_id": "s1"}, project)
    call("SessionStart", {"session_id": "s2"}, project)
    rows = Claude(home / "u.jsonl", session="s2")
    rows.user("go on")
    for _ in range(3):
        rows.say("yes")
    call("Stop", {"session_id": "s2", "transcript_path": str(rows.path)}, project)
    program = [sys.executable, "-m", "swapcache.cli", "wake", "--last", "--json"]
    done = subprocess.run(program, cwd=project, capture_output=True, check=True)
    value = json.loads(done.stdout)
    assert value["answers"] == 3 and value["tokens_total"] == 3 * value["tokens"] > 0
