"""Full and read-only disks: an honest error, the store unharmed, the host undisturbed."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from swapcache import paths
from swapcache.hosts import launcher
from tests import disks
from tests.rows import Claude

pytestmark = pytest.mark.crash


@pytest.fixture
def disk(home: Path) -> Iterator[Path]:
    """A small disk of its own that holds SWAPCACHE_HOME."""
    with disks.small(home / "swapcache") as mount:
        yield mount


def cli(*arguments: str) -> subprocess.CompletedProcess[str]:
    """A command in a process of its own."""
    program = [sys.executable, "-m", "swapcache.cli", *arguments]
    return subprocess.run(program, capture_output=True, text=True, check=False)


def hook(event: str, payload: dict[str, str], project: Path) -> None:
    """An event; it must not disturb its host."""
    done = subprocess.run(
        [paths.launcher(), "claude-code", event],
        input=json.dumps(payload).encode(),
        capture_output=True,
        env=dict(os.environ, CLAUDE_PROJECT_DIR=str(project)),
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_F4_a_full_disk_is_said_and_harms_nothing(disk: Path, home: Path, project: Path) -> None:
    launcher.install()
    rows = Claude(home / "t.jsonl", cwd=str(project))
    rows.user("before the disk was full")
    hook("SessionStart", {"session_id": "s0"}, project)
    assert cli("capture", "--host", "claude-code", str(rows.path)).returncode == 0
    ballast = disks.fill(disk)
    for number in range(40):
        rows.say(f"{number} " + os.urandom(2000).hex())
    full = cli("capture", "--host", "claude-code", str(rows.path))
    assert full.returncode == 23, full.stderr
    assert "free some space" in full.stderr and "Traceback" not in full.stderr
    hook("Stop", {"session_id": "s1", "transcript_path": str(rows.path)}, project)
    assert "free some space" in Path(paths.error_log()).read_text(), "never silent"
    checked = cli("verify", "--full", "--workspace", str(project))
    assert checked.returncode in (0, 23), checked.stderr  # SQLite may need room even to read
    ballast.unlink()
    done = cli("capture", "--host", "claude-code", str(rows.path), "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["records"] == 41
    assert cli("verify", "--full", "--workspace", str(project)).returncode == 0


def test_a_read_only_disk_is_said_and_what_is_there_is_told(
    disk: Path, home: Path, project: Path
) -> None:
    rows = Claude(home / "t.jsonl", cwd=str(project))
    rows.user("before the disk was read-only")
    assert cli("capture", "--host", "claude-code", str(rows.path)).returncode == 0
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    rows.say("more")
    refused = cli("capture", "--host", "claude-code", str(rows.path))
    assert refused.returncode in (20, 23), refused.stderr
    assert "Traceback" not in refused.stderr
    subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)
    assert cli("capture", "--host", "claude-code", str(rows.path)).returncode == 0
