"""Measures the import of a large transcript: records a second, CPU, memory, disk.

    python -m tests.perf.import_cost [--mb N] [--runs N] [--json]

The baseline reads the same file line by line and parses every line with `json.loads`, and keeps
nothing. Both are processes of their own, called alternately; the import is the command
`swapcache import` in a home of its own, with sealing and durability on, so that its start and the
listing of the history count too.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

from swapcache.store import identity
from swapcache.store.store import Store
from tests.perf import hook_cost

RECORDS_PER_S = 12_000
RATIO = 10.0
MEMORY_MB = 120
SIZE = 1700
"""Characters of text in a row, which makes about 2 KB of it."""
SEED = 6
PEAK = """
import atexit, os
def peak():
    line = next(l for l in open("/proc/self/status") if l.startswith("VmHWM"))
    open(os.environ["PEAK"], "w").write(line.split()[1])
atexit.register(peak)
"""
"""The largest resident set that the kernel saw: what wait4 tells counts the parent's, too."""
IMPORT = "from swapcache.cli import main\nmain()\n"
PLAIN = "import json,sys\nfor line in open(sys.argv[1],'rb'):\n    json.loads(line)\n"


def transcript(path: Path, size: int) -> int:
    """A transcript of pi's form in rows of about 2 KB; gives how many rows it has."""
    made = random.Random(SEED)
    path.parent.mkdir(parents=True, exist_ok=True)
    written = rows = 0
    with path.open("wb") as file:
        while written < size:
            line = json.dumps(_row(made, rows)).encode() + b"\n"
            written += file.write(line)
            rows += 1
    return rows


def _row(made: random.Random, number: int) -> dict[str, object]:
    wall = f"2026-11-{number // 86400 % 27 + 1:02d}T{number // 3600 % 24:02d}"
    wall += f":{number // 60 % 60:02d}:{number % 60:02d}.000Z"
    before = f"{number - 1:08x}" if number > 1 else None
    head: dict[str, object] = {"timestamp": wall, "id": f"{number:08x}"}
    if number == 0:
        return {"type": "session", "version": 3, **head, "cwd": "/project"}
    turn = number % 4
    if turn == 1:
        inner: dict[str, object] = {"role": "user", "content": _text(_prose(made))}
    elif turn == 2:
        given = {"path": f"src/part{number % 97}/module.py", "newText": _code(made)}
        call = {"type": "toolCall", "id": f"call{number}", "name": "edit", "arguments": given}
        inner = {"role": "assistant", "model": "m", "content": [call]}
    elif turn == 3:
        inner = {"role": "toolResult", "toolCallId": f"call{number - 1}", "toolName": "edit"}
        inner |= {"content": _text(_code(made)), "isError": number % 61 == 0}
    else:
        inner = {"role": "assistant", "model": "m", "content": _text(_prose(made))}
    return {"type": "message", **head, "parentId": before, "message": inner}


def _text(text: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": text}]


def _prose(made: random.Random) -> str:
    """What people and models write: some paths and numbers between words."""
    words = []
    for _ in range(SIZE // 6):
        word = made.choice(hook_cost.PROSE)
        chance = made.random()
        if chance < 0.02:
            word = f"`src/part{made.randrange(400)}/{word}.py:{made.randrange(900)}`"
        elif chance < 0.04:
            word = f"{word}\n\n-"
        words.append(word)
    return " ".join(words)[:SIZE]


def _code(made: random.Random) -> str:
    """What tools read and write: indented lines with quotes and numbers."""
    lines: list[str] = []
    while sum(map(len, lines)) < SIZE:
        name, other = made.choice(hook_cost.PROSE), made.choice(hook_cost.PROSE)
        number = made.randrange(1 << 20)
        lines.append(
            f'    {name}_{other} = read("{other}", {number}) if {name} else "{number:x}"\n'
        )
    return "".join(lines)[:SIZE]


def _home(folder: Path, size: int) -> tuple[Path, int]:
    """A home in which pi has one long session; gives it and its rows."""
    home = folder / "home"
    path = home / ".pi/agent/sessions/project/long.jsonl"
    return path, transcript(path, size)


def measure(folder: Path, size: int, runs: int) -> dict[str, dict[str, float]]:
    """Rows of the table: medians of alternate runs."""
    path, rows = _home(folder, size)
    state = folder / "state"
    env = dict(
        os.environ, HOME=str(folder / "home"), SWAPCACHE_HOME=str(state), PEAK=str(folder / "peak")
    )
    plain = [sys.executable, "-I", "-S", "-c", PEAK + PLAIN, str(path)]
    command = [sys.executable, "-c", PEAK + IMPORT, "import", "--all", "--host", "pi", "--json"]
    samples: dict[str, list[tuple[float, float, float]]] = {"plain": [], "import": []}
    disk = 0
    for _ in range(runs):
        samples["plain"].append(_run(plain, env))
        shutil.rmtree(state, ignore_errors=True)
        samples["import"].append(_run(command, env))
        disk = sum(f.stat().st_size for f in (state / "state/stores").rglob("*") if f.is_file())
    _assert_stored(state, rows)
    found = {}
    for name, taken in samples.items():
        cpu, wall, memory = (statistics.median(column) for column in zip(*taken, strict=True))
        found[name] = {
            "cpu_s": round(cpu, 2),
            "wall_s": round(wall, 2),
            "records_per_s": round(rows / wall),
            "memory_mb": round(memory, 1),
        }
    base = statistics.median(cpu for cpu, _, _ in samples["plain"])
    found["import"]["ratio"] = round(found["import"]["cpu_s"] / base, 1)
    found["import"]["disk"] = round(disk / path.stat().st_size, 2)
    return found


def _run(argv: list[str], env: dict[str, str]) -> tuple[float, float, float]:
    """(CPU seconds, wall seconds, peak memory in MB) of a process that must succeed."""
    begun = time.perf_counter()
    pid = os.posix_spawn(
        argv[0],
        argv,
        env,
        file_actions=[(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in (1, 2)],
    )
    _, status, used = os.wait4(pid, 0)
    if status:
        raise SystemExit(f"{argv} ended with {status}")
    wall = time.perf_counter() - begun
    return used.ru_utime + used.ru_stime, wall, int(Path(env["PEAK"]).read_text()) / 1024


def _assert_stored(state: Path, rows: int) -> None:
    """All of it was sealed."""
    before = os.environ.get("SWAPCACHE_HOME", "")
    os.environ["SWAPCACHE_HOME"] = str(state)
    try:
        ((store_id, _),) = identity.listing()
        store = Store(store_id)
        raw = "SELECT count(*) FROM record WHERE source IS NOT NULL"
        assert store.verify().good and store.db.execute(raw).fetchone() == (rows,)
        store.close()
    finally:
        os.environ["SWAPCACHE_HOME"] = before


NAMES = {"plain": "baseline: read and json.loads", "import": "swapcache import"}


def main() -> int:
    """Prints the table; 1 when a figure is over its budget."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--mb", type=int, default=200)
    options.add_argument("--runs", type=int, default=3)
    options.add_argument("--json", action="store_true")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows = measure(Path(folder), given.mb << 20, given.runs)
    if given.json:
        print(json.dumps(rows))
    else:
        print(f"| {given.mb} MB, rows of 2 KB | CPU s | wall s | rows/s | CPU ratio | MB | disk |")
        print("|---|---|---|---|---|---|---|")
        for name, row in rows.items():
            cells = [NAMES[name], row["cpu_s"], row["wall_s"], row["records_per_s"]]
            cells += [row.get("ratio", ""), row["memory_mb"], row.get("disk", "")]
            print("| " + " | ".join(str(cell) for cell in cells) + " |")
        print(f"budget: {RECORDS_PER_S} rows/s, {RATIO:g} x, {MEMORY_MB} MB")
    took = rows["import"]
    slow = took["records_per_s"] < RECORDS_PER_S or took["ratio"] > RATIO
    return int(slow or took["memory_mb"] > MEMORY_MB)


if __name__ == "__main__":
    sys.exit(main())
