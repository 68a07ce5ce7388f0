"""Measures OpenClaw's shim: time added to a turn, and the first turn after a restart.

    python -m tests.perf.shim_cost [--turns N] [--json]

The shim runs in Node with a fake host, so that what is timed is the shim alone: the handlers of a
turn with one tool call, synced appends included, and the first bootstrap, which waits for Python.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from swapcache import paths
from swapcache.hosts import launcher
from swapcache.hosts import openclaw_config as openclaw

HERE = Path(__file__).parent
TURN_MS, FIRST_MS = 2.0, 1500.0


def measure(home: Path, turns: int) -> dict[str, float]:
    """Median and 95th percentile of a turn, and the first bootstrap, in ms."""
    launcher.install()
    openclaw.place_files()
    work = home / "work"
    sessions = home / ".openclaw/agents/main/sessions"
    for folder in (work, sessions):
        folder.mkdir(parents=True)
    transcript = sessions / "s1.jsonl"
    entry = {"agent:main:main": {"sessionId": "s1", "sessionFile": str(transcript)}}
    (sessions / "sessions.json").write_text(json.dumps(entry))
    rows: list[dict[str, object]] = [
        {"type": "session", "version": 3, "id": "s1", "timestamp": "", "cwd": str(work)}
    ]
    for number in range(500):
        message = {"role": ("user", "assistant")[number % 2], "content": f"words {number} " * 150}
        rows.append({"type": "message", "id": f"m{number}", "timestamp": "", "message": message})
    transcript.write_text("".join(json.dumps(row) + "\n" for row in rows))
    node = os.environ.get("SWAPCACHE_NODE") or shutil.which("node")
    if node is None:
        raise SystemExit('node is needed; run: eval "$(scripts/hosts)"')
    env = dict(os.environ, HOME=str(home), OPENCLAW_STATE_DIR=str(home / ".openclaw"))
    script = str(HERE / "openclaw_shim.mjs")
    run = [node, script, paths.plugin_dir("openclaw"), str(work), str(turns)]
    done = subprocess.run(run, env=env, capture_output=True, text=True, check=True)
    value = json.loads(done.stdout)
    times = sorted(value["turns"])
    if not list(Path(paths.ready_dir()).iterdir()):
        raise SystemExit("no ready file was written: what was timed did no work")
    return {
        "turn_p50_ms": round(statistics.median(times), 2),
        "turn_p95_ms": round(times[int(len(times) * 0.95)], 2),
        "first_ms": round(value["first"], 1),
        "turns": len(times),
    }


def main() -> int:
    """Prints the table; 1 when a figure is over its budget."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--turns", type=int, default=50)
    options.add_argument("--json", action="store_true")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ.update(HOME=folder, SWAPCACHE_HOME=f"{folder}/swapcache")
        rows = measure(Path(folder), given.turns)
    if given.json:
        print(json.dumps(rows))
    else:
        print("| added by the shim | ms | budget |\n|---|---|---|")
        print(
            f"| a turn with one tool call, median of {rows['turns']} | {rows['turn_p50_ms']} | 2 |"
        )
        print(f"| the same, 95th percentile | {rows['turn_p95_ms']} | |")
        print(
            f"| first turn of a process, 1 MB of transcript to read | {rows['first_ms']} | 1500 |"
        )
    return int(rows["turn_p50_ms"] > TURN_MS or rows["first_ms"] > FIRST_MS)


if __name__ == "__main__":
    sys.exit(main())
