"""Measures a newcomer's clock: from `setup` to the person's own last task on the screen.

    python -m tests.perf.first_run [--sessions N] [--json]

A clean home with a history of Claude Code sessions; the package is installed already. With the real
program on the PATH its canary is part of it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.rows import Claude

BUDGET_S = 10.0
TURNS = 60


def history(home: Path, sessions: int) -> int:
    """Writes sessions of about 250 KB each; gives the bytes."""
    size = 0
    for number in range(sessions):
        work = home / f"work{number % 5}"
        work.mkdir(exist_ok=True)
        folder = home / f".claude/projects/-work{number % 5}"
        folder.mkdir(parents=True, exist_ok=True)
        rows = Claude(folder / f"s{number}.jsonl", session=f"s{number}", cwd=str(work))
        for turn in range(TURNS):
            rows.user(f"step {turn} of job {number}, ticket JOB-{number}{turn}")
            rows.call(f"c{turn}", "Edit", file_path=f"src/file{turn}.py", new_string="x" * 1500)
            rows.result(f"c{turn}", "ok " * 300)
            rows.say("done " * 100)
        os.utime(rows.path, (1_700_000_000 + number, 1_700_000_000 + number))
        size += rows.path.stat().st_size
    return size


def measure(home: Path, sessions: int) -> dict[str, float]:
    """Seconds until the last request is printed, and until the end."""
    size = history(home, sessions)
    env = {k: v for k, v in os.environ.items() if k not in ("SWAPCACHE_HOME", "CLAUDE_CONFIG_DIR")}
    begin = time.perf_counter()
    running = subprocess.Popen(
        [sys.executable, "-m", "swapcache.cli", "setup", "--yes", "--host", "claude-code"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**env, "HOME": str(home), "PYTHONUNBUFFERED": "1"},
    )
    shown = 0.0
    for line in running.stdout or ():
        if f"of job {sessions - 1}," in line:
            shown = time.perf_counter() - begin
    if running.wait() or not shown:
        raise SystemExit(f"setup ended with {running.returncode}, the last task was not shown")
    end = time.perf_counter() - begin
    return {"shown_s": round(shown, 2), "end_s": round(end, 2), "mb": round(size / 1e6, 1)}


def main() -> int:
    """Prints the table; 1 when it takes longer than its budget."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--sessions", type=int, default=30)
    options.add_argument("--json", action="store_true")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        row = measure(Path(folder), given.sessions)
    if given.json:
        print(json.dumps(row))
    else:
        print("| first run | s | budget |\n|---|---|---|")
        print(
            f"| setup to the own last task, {given.sessions} sessions, {row['mb']} MB "
            f"| {row['shown_s']} | {BUDGET_S:g} |"
        )
        print(f"| setup to its end | {row['end_s']} | |")
    return int(row["shown_s"] > BUDGET_S)


if __name__ == "__main__":
    sys.exit(main())
