"""Measures the hook: CPU of one event over a bare interpreter, in one run.

    python -m tests.perf.hook_cost [--runs N] [--records N] [--json]

B1 is the same interpreter with -I -S importing sqlite3, json, hashlib, hmac and zlib. A turn is
20 records of 2 KB. CPU is user + system time of the whole process (wait4), the median over runs
that alternate between the commands, so that the machine's drift meets all of them alike.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

from swapcache import paths
from swapcache.capture import capture, events, follow
from swapcache.hosts import launcher
from swapcache.model import Event
from swapcache.store import identity, sessions
from swapcache.store.opening import open_store

B1 = "import sqlite3, json, hashlib, hmac, zlib"
PROSE = (
    "the parser reads every line of a file and keeps what it understood while errors are counted"
    " per place so that nobody has to guess which of the (many) rows was lost; see docs/format.md"
    " for the details, or run the tests: they take 12 seconds on a slow machine. Then commit it."
).split()
NAMES = {
    "B1": "B1: bare interpreter with its imports",
    "node -e 0": "node -e 0",
    "long": "hook, long transcript",
    "short": "hook, short transcript",
    "cold .pyc": "hook, cold .pyc",
}
TURN = 20
RECORD = 2048


def row(number: int, session: str) -> bytes:
    """One transcript row of about 2 KB, as Claude Code writes them."""
    kind = ("user", "assistant", "assistant", "user")[number % 4]
    filler = " ".join(PROSE[(number * 7 + i * i) % len(PROSE)] for i in range(230))
    content: object = f"request {number}: look at src/module_{number % 50}/part.py. {filler}"
    if number % 4 == 1:
        content = [{"type": "text", "text": f"I look at step {number}. {filler}"}]
    elif number % 4 == 2:
        call = {"command": f"make step-{number}", "description": filler}
        content = [{"type": "tool_use", "id": f"toolu_{number}", "name": "Bash", "input": call}]
    elif number % 4 == 3:
        result = {"tool_use_id": f"toolu_{number - 1}", "type": "tool_result", "content": filler}
        content = [result | {"is_error": False}]
    value = {
        "parentUuid": f"u{number - 1}" if number else None,
        "isSidechain": False,
        "type": kind,
        "message": {"role": kind, "content": content},
        "uuid": f"u{number}",
        "timestamp": f"2026-11-30T{number // 3600 % 24:02d}:{number // 60 % 60:02d}:00.000Z",
        "sessionId": session,
        "cwd": "/srv/p",
    }
    text = json.dumps(value).encode()
    return text + b" " * max(0, RECORD - 1 - len(text)) + b"\n"


def append(path: Path, first: int, count: int, session: str) -> None:
    """Adds rows to a transcript."""
    with path.open("ab") as file:
        for number in range(first, first + count):
            file.write(row(number, session))


def prepare(home: Path, records: int) -> dict[str, tuple[Path, int]]:
    """A store of `records` records with a long and a 1 MB transcript. Session: (path, rows)."""
    project = home / "project"
    project.mkdir()
    found: dict[str, tuple[Path, int]] = {}
    store = open_store(identity.identify("claude-code", str(home / ".claude"), str(project)))
    for session, count in (("long", records - 512), ("short", 512)):
        path = home / f"{session}.jsonl"
        append(path, 0, count, session)
        event = Event("claude-code", "turn-end", store.identity, session, session, str(path))
        with store.writing():
            made = capture.session_for(store, event)
            capture.source_for(store, made, str(path))
        events.reconcile(store, made, "claude-code", gone=False)
        found[session] = (path, count)
        assert sessions.counts(store.db, made.number)[0] == count
    store.close()
    assert follow.EDGE == 4096
    return found


def run(argv: list[str], payload: bytes, env: dict[str, str]) -> tuple[float, float]:
    """(CPU ms, wall ms) of one process."""
    reading, writing = os.pipe()
    os.write(writing, payload)
    os.close(writing)
    quiet = os.open(os.devnull, os.O_WRONLY)
    begin = time.perf_counter()
    pid = os.posix_spawn(
        argv[0],
        argv,
        env,
        file_actions=[(os.POSIX_SPAWN_DUP2, reading, 0), (os.POSIX_SPAWN_DUP2, quiet, 1)],
    )
    _, status, usage = os.wait4(pid, 0)
    wall = time.perf_counter() - begin
    os.close(reading)
    os.close(quiet)
    if os.waitstatus_to_exitcode(status) != 0:
        raise RuntimeError(f"{argv} ended with {status}")
    return (usage.ru_utime + usage.ru_stime) * 1000, wall * 1000


def measure(home: Path, records: int, runs: int) -> dict[str, dict[str, float]]:
    """All rows of the table."""
    transcripts = prepare(home, records)
    launcher.install()
    env = dict(os.environ, HOME=str(home), CLAUDE_PROJECT_DIR=str(home / "project"))
    python = launcher.python()
    node = shutil.which("node")
    samples: dict[str, list[tuple[float, float]]] = {}
    cached = Path(launcher.package()) / "swapcache"
    for number in range(runs + 2):
        rows = {"B1": ([python, "-I", "-S", "-c", B1], b"")}
        if node:
            rows["node -e 0"] = ([node, "-e", "0"], b"")
        for session, (path, count) in transcripts.items():
            append(path, count, TURN, session)
            transcripts[session] = (path, count + TURN)
            payload = {"session_id": session, "transcript_path": str(path), "cwd": str(home)}
            command = [paths.launcher(), "claude-code", "Stop"]
            rows[session] = (command, json.dumps(payload).encode())
        for name, (argv, payload_bytes) in rows.items():
            taken = run(argv, payload_bytes, env)
            if number >= 2:
                samples.setdefault(name, []).append(taken)
    for _ in range(max(3, runs // 4)):
        for folder in cached.rglob("__pycache__"):
            shutil.rmtree(folder)
        path, count = transcripts["short"]
        append(path, count, TURN, "short")
        transcripts["short"] = (path, count + TURN)
        payload = {"session_id": "short", "transcript_path": str(path), "cwd": str(home)}
        argv = [paths.launcher(), "claude-code", "Stop"]
        samples.setdefault("cold .pyc", []).append(run(argv, json.dumps(payload).encode(), env))
    _assert_stored(home, transcripts)
    return table(samples, transcripts)


def _assert_stored(home: Path, transcripts: dict[str, tuple[Path, int]]) -> None:
    """A fast hook that stores nothing would be worth nothing."""
    who = identity.identify("claude-code", str(home / ".claude"), str(home / "project"))
    store = open_store(who)
    for session, (_, count) in transcripts.items():
        found = sessions.find_session(store.db, session, session)
        assert found is not None
        assert sessions.counts(store.db, found.number)[0] == count, (session, count)
    assert store.check().good
    store.close()


def table(
    samples: dict[str, list[tuple[float, float]]], transcripts: dict[str, tuple[Path, int]]
) -> dict[str, dict[str, float]]:
    """Medians and ratios."""
    base = statistics.median(cpu for cpu, _ in samples["B1"])
    rows = {}
    for name, taken in samples.items():
        cpu = statistics.median(c for c, _ in taken)
        walls = sorted(w for _, w in taken)
        size = transcripts[name][0].stat().st_size if name in transcripts else 0
        rows[name] = {
            "cpu_ms": round(cpu, 1),
            "ratio": round(cpu / base, 2),
            "wall_p50_ms": round(statistics.median(walls), 1),
            "wall_p95_ms": round(walls[int(len(walls) * 0.95)], 1),
            "runs": len(taken),
            "transcript_mb": round(size / 1e6, 1),
        }
    return rows


def main() -> int:
    """Prints the table; 1 when a ratio is over the budget of 1.6."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--runs", type=int, default=40)
    options.add_argument("--records", type=int, default=100_000)
    options.add_argument("--json", action="store_true")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ.update(HOME=folder, SWAPCACHE_HOME=f"{folder}/swapcache")
        rows = measure(Path(folder), given.records, given.runs)
    if given.json:
        print(json.dumps(rows))
    else:
        print(f"one turn of {TURN} records of 2 KB, store of {given.records} records\n")
        print("| process | CPU ms | ratio to B1 | wall p50 ms | p95 ms | runs | transcript MB |")
        print("|---|---|---|---|---|---|---|")
        for name, row in rows.items():
            cells = [NAMES[name], *row.values()]
            print("| " + " | ".join(str(cell) for cell in cells) + " |")
    over = [n for n in ("long", "short") if rows[n]["ratio"] > 1.6]
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
