"""The drill proves what it says, and fails when the memory is gone."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from swapcache.drill import drill
from swapcache.errors import DrillError, FormatError, SourceError
from tests.rows import Claude


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The command as a user calls it."""
    program = [sys.executable, "-m", "swapcache.cli", "drill", *arguments]
    return subprocess.run(program, capture_output=True, text=True, check=False)


def test_the_contract_of_its_json() -> None:
    done = run("--json")
    assert done.returncode == 0, done.stderr
    value = json.loads(done.stdout)
    assert set(value) == {"host", "killed", "wake", "without", "ms"}
    assert set(value["killed"]) == {"pid", "signal", "at"}
    assert value["killed"]["signal"] == "SIGKILL"
    assert value["wake"]["verdict"] == "VERIFIED"
    assert value["wake"]["cause"] == "crash" and value["wake"]["form"] == "full"
    assert value["without"]["tokens"] == 0
    assert "migrate the stored limits" in value["wake"]["text"]


def test_it_fails_when_the_store_is_deleted_between_kill_and_wake(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", "")
    drill.isolate(home, home / ".claude")
    killed = drill.kill(drill.SHIPPED, 0, home)
    (store,) = (home / "swapcache/state/stores").iterdir()
    shutil.rmtree(store)
    with pytest.raises(DrillError, match="was not told the last request"):
        drill.wake(killed)


def test_it_passes_when_the_store_is_left_alone(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", "")
    drill.isolate(home, home / ".claude")
    outcome = drill.wake(drill.kill(drill.SHIPPED, 0, home))
    assert outcome.wake["verdict"] == "VERIFIED"


def test_any_transcript_can_be_killed_at_any_tool_call(home: Path) -> None:
    rows = Claude(home / "mine.jsonl")
    rows.user("第一步：把订单库迁到 PostgreSQL，工单 OPS-4127")
    rows.call("c1", "Bash", command="pg_dump orders")
    rows.result("c1", "ok")
    rows.call("c2", "Bash", command="pg_restore orders")
    rows.result("c2", "ok")
    rows.say("都好了")
    done = run("--session", str(rows.path), "--kill-at", "2", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)["wake"]["text"]
    assert "pg_dump orders" in told and "pg_restore" not in told
    assert "最后的请求" in told, "labels follow the conversation's language"


def test_a_row_that_is_no_call_is_refused_with_rows_that_are(home: Path) -> None:
    rows = Claude(home / "mine.jsonl")
    rows.user("one")
    rows.call("c1", "Bash", command="true")
    with pytest.raises(DrillError, match=r"row 1 .* rows near it that are: 2"):
        drill.point(rows.path, 1)
    calm = Claude(home / "calm.jsonl")
    calm.user("only words")
    with pytest.raises(DrillError, match="holds no tool call"):
        drill.point(calm.path, 0)


def test_bad_sessions_are_refused_clearly(home: Path) -> None:
    with pytest.raises(SourceError, match="does not exist"):
        drill.point(home / "none.jsonl", 0)
    (home / "empty.jsonl").touch()
    with pytest.raises(FormatError, match="empty"):
        drill.point(home / "empty.jsonl", 0)
    assert run("--session", str(home)).returncode == 14
    assert run("--host", "claude-code", "--kill-at", "3").returncode == 2
