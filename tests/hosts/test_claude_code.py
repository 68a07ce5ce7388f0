"""The real Claude Code: what its model is told after kills, compactions and resumes."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from swapcache.drill import live
from swapcache.drill.claude import wait_for
from swapcache.drill.model import Block, call, say
from swapcache.store import identity
from swapcache.store.store import Store
from swapcache.transcripts.text import FRAME_CLOSE, FRAME_OPEN
from tests.hosts.conftest import ROWS, Stage

pytestmark = pytest.mark.hosts


def endless(name: str, marker: str = "started") -> Block:
    """A shell call that runs until it is killed; `name` makes it recognisable."""
    sleep = f"{sys.executable} -c 'import time; time.sleep(120)' {name}"
    return call("Bash", command=f"touch {marker} && exec {sleep}")


def inside(text: str) -> str:
    """What stands inside our fence; fails when the fence is not whole."""
    assert text.count(FRAME_OPEN) == text.count(FRAME_CLOSE) == 1
    return text.partition(FRAME_OPEN)[2].partition(FRAME_CLOSE)[0]


def test_A3_killed_in_mid_tool_the_next_session_knows(stage: Stage) -> None:
    stage.host.model.script["DB-77"] = [
        [call("TaskCreate", subject="rename in 14 migrations", description="x", activeForm="x")],
        [call("TaskUpdate", taskId="1", status="in_progress")],
        [endless("rename-columns")],
    ]
    prompt = "Rename user_ref to account_ref, ticket DB-77.\nKeep the old column for a week."
    live.kill_in_tool(stage.host, prompt)
    seen = stage.seen
    stage.host.turn("Hello again.")
    blocks = stage.blocks(seen, "kill -9 in mid-tool, new")
    assert len(blocks) == 1
    told = inside(blocks[0])
    for line in prompt.splitlines():
        assert line in told
    assert "rename in 14 migrations (in progress)" in told
    assert "unknown outcome" in told and "rename-columns" in told
    assert "Seal VERIFIED" in told and "Cause: crash" in told
    assert ROWS[-1][3].startswith("system")


def test_B3_the_same_bytes_all_through_a_session(stage: Stage) -> None:
    stage.host.model.script["DB-77"] = [[endless("rename-columns")]]
    live.kill_in_tool(stage.host, "Rename user_ref, ticket DB-77.")
    stage.host.model.script["three calls"] = [
        [call("Bash", command="echo one")],
        [call("Bash", command="echo two")],
        [say("done")],
    ]
    seen = stage.seen
    stage.host.turn("Do three calls.")
    texts = [[t for _, t in live.blocks(r)] for r in stage.since(seen) if r.body.get("tools")]
    assert len(texts) >= 3
    assert all(t == texts[0] and len(t) == 1 for t in texts)
    ROWS.append((f"claude-code {stage.version}", "frozen bytes", f"{len(texts)} requests", "same"))


def test_A1_after_compaction_the_state_is_there(stage: Stage) -> None:
    stage.host.model.script["phase"] = [
        [call("TaskCreate", subject="phase 1: export", description="x", activeForm="x")],
        [call("TaskCreate", subject="phase 2: import", description="x", activeForm="x")],
        [call("TaskUpdate", taskId="1", status="completed")],
        [call("TaskUpdate", taskId="2", status="in_progress")],
        [say("Phase 1 is through, phase 2 has begun.")],
    ]
    stage.host.turn("Move the ledger in two phases, phase 1 export, phase 2 import; id LDG-9.")
    stage.host.turn("/compact", "-c")
    seen = stage.seen
    stage.host.turn("Go on.", "-c")
    blocks = stage.blocks(seen, "/compact, then continue")
    assert len(blocks) == 1
    told = inside(blocks[0])
    assert "Cause: compact" in told and "Seal VERIFIED" in told
    assert "phase 2: import (in progress)" in told
    assert "Done (do not redo): phase 1: export" in told
    assert "LDG-9" in told


def test_resume_is_told_only_what_changed(stage: Stage) -> None:
    stage.host.model.script["DB-77"] = [[endless("rename-columns")]]
    live.kill_in_tool(stage.host, "Rename user_ref, ticket DB-77. It is about 14 files.")
    session = stage.host.transcripts()[-1].stem
    seen = stage.seen
    stage.host.turn("Where were we?", "--resume", session)
    blocks = stage.blocks(seen, "--resume after kill -9")
    assert len(blocks) == 1
    told = inside(blocks[0])
    assert "rename-columns" in told and "unknown outcome" in told
    assert "about 14 files" not in told, "the conversation holds its own request already"
    seen = stage.seen
    stage.host.turn("And now?", "--resume", session)
    again = stage.blocks(seen, "--resume, nothing new")
    assert again == blocks, "only the former block, from the host's own history"


def test_B12_a_resumed_session_learns_what_another_one_did(stage: Stage) -> None:
    stage.host.turn("Remember the colour teal.")
    session = stage.host.transcripts()[-1].stem
    stage.host.model.script["write the file"] = [
        [call("Write", file_path="notes/other.md", content="x")],
        [say("written")],
    ]
    stage.host.turn("Please write the file.")
    seen = stage.seen
    stage.host.turn("Go on.", "--resume", session)
    blocks = stage.blocks(seen, "--resume after another one")
    told = inside(blocks[-1])
    assert "notes/other.md" in told
    assert "teal" not in told


def test_B7_two_live_sessions_then_one_is_killed(stage: Stage) -> None:
    host = stage.host
    host.model.script["ALPHA-1"] = [[endless("alpha-job", "alpha")]]
    host.model.script["BETA-2"] = [[endless("beta-job", "beta")]]
    first = host.start("Clean the alpha warehouse, ALPHA-1.")
    wait_for((host.project / "alpha").exists, "the first session's call")
    seen = stage.seen
    second = host.start("Count the beta crates, BETA-2.")
    wait_for((host.project / "beta").exists, "the second session's call")
    blocks = stage.blocks(seen, "second of two live ones")
    assert len(blocks) == 1
    assert "is working in this workspace" in inside(blocks[0])
    assert "alpha" not in inside(blocks[0]).lower()
    time.sleep(0.3)
    host.kill(first)
    try:
        seen = stage.seen
        host.turn("Hello, what is open?")
        blocks = stage.blocks(seen, "one killed, one alive")
        told = inside(blocks[0])
        assert "Clean the alpha warehouse" in told and "alpha-job" in told
        assert "Seal VERIFIED" in told
        assert "beta" not in told.lower(), "the living one's task is its own"
        assert "is working in this workspace" in told
    finally:
        host.kill(second)


def test_G5_an_empty_store_injects_nothing(stage: Stage) -> None:
    seen = stage.seen
    stage.host.turn("First words ever.")
    assert stage.blocks(seen, "first session ever") == []


def test_agent_states_its_own_state_from_the_shell(stage: Stage) -> None:
    program = f"{sys.executable} -m swapcache.cli"
    stage.host.model.script["state it"] = [
        [call("Bash", command=f"{program} state --task 'ship 0.4' --next 'tag the release'")],
        [endless("tagging")],
    ]
    live.kill_in_tool(stage.host, "Please state it.")
    seen = stage.seen
    stage.host.turn("Hello.")
    told = inside(stage.blocks(seen, "agent's own statement")[0])
    assert "Next action: tag the release" in told and "ship 0.4" in told


@pytest.mark.parametrize("fault", ["newer schema", "garbage store", "no interpreter", "loose key"])
def test_G3_a_broken_memory_never_disturbs_the_host(stage: Stage, fault: str) -> None:
    host, stage.faulty = stage.host, True
    host.turn("Make the store.")
    state = host.root / "swapcache"
    (database,) = (state / "state/stores").glob("*/store.db")
    before = b""
    if fault == "newer schema":
        import sqlite3

        db = sqlite3.connect(database)
        db.execute("PRAGMA user_version=99")
        db.close()
        before = database.read_bytes()
    elif fault == "garbage store":
        for name in ("store.db-wal", "store.db-shm"):  # SQLite would heal it from its log
            database.with_name(name).unlink(missing_ok=True)
        database.write_bytes(b"not a database" * 1000)
        before = database.read_bytes()
    elif fault == "no interpreter":
        launcher = state / "data/bin/swapcache-hook"
        launcher.write_text(launcher.read_text().replace("python=", "python=/gone"))
    else:
        (state / "config/key").chmod(0o644)
    seen = stage.seen
    running = host.start("Say something.")
    assert running.wait(60) == 0
    assert stage.since(seen), "the turn went on"
    stage.blocks(seen, f"turn goes on: {fault}")
    log = state / "state/errors.jsonl"
    if fault == "loose key":
        (store_id,) = (p.name for p in (state / "state/stores").iterdir())
        store = Store(store_id)
        assert store.check().name == "NO_KEY"
        store.close()
    assert log.exists(), "never silent"
    assert all(json.loads(line)["message"] for line in log.read_text().splitlines())
    if before:
        assert database.read_bytes() == before, "the store is unharmed"
    assert identity.listing() is not None


def test_G1_setup_proves_itself_on_the_real_program(
    program: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{Path(program).parent}:{os.environ['PATH']}")
    (home / ".claude").mkdir()
    run = [sys.executable, "-m", "swapcache.cli", "setup", "--yes", "--host", "claude-code"]
    done = subprocess.run(run, capture_output=True, text=True, check=True)
    assert "it reached the real program's prompt (request " in done.stderr
    assert identity.listing() == [], "the proof leaves nothing behind"
