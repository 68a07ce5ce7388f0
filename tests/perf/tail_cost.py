"""Measures the end of a transcript: its last 20 messages, of files of growing size, in one run.

    python -m tests.perf.tail_cost [--runs N] [--sizes MB,MB] [--json]

B1 is the same interpreter with -I -S importing sqlite3, json, hashlib, hmac and zlib. Every row is
a process of its own: CPU is its user and system time (wait4), the median over runs that alternate
between the rows, so that the machine's drift meets all of them alike; memory is the largest
resident set that its kernel saw (VmHWM; wait4 counts the parent's). The files are written in full,
in the form of pi and OpenClaw (requests, answers with tool calls, results of some KB), and are gone
afterwards. node reads all of them; its own start is in its figures.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import swapcache
from swapcache.transcripts import tables
from tests import databases
from tests.perf.hook_cost import B1, PROSE

if sys.version_info >= (3, 14):
    from compression import zstd as packer
else:
    from backports import zstd as packer

WANTED = 20
CPU_MS = 10.0
"""What a reading may cost over B1."""
RSS_MB = 30.0
FLAT, FLAT_MS = 1.3, 2.0
"""The largest file may cost so many times the smallest, and so many ms more."""
SIZES = (10, 200, 1000)
NOISE = "0" * 600
"""What is other in each result, so that the file compresses no better than a real one."""
EVENT = "session_id, seq, event_json, created_at"
NAMED = "session_id, event_id, seq, event_type, parent_id, created_at"
TAIL = (
    "import sys; sys.path.insert(0, sys.argv[1]); import sqlite3, json, hashlib, hmac, zlib;"
    "from swapcache.transcripts import tail; t = tail.last(sys.argv[2], int(sys.argv[3]));"
    "assert len(t.messages) == int(sys.argv[3]), t; print(t.read);"
)
PEAK = "print(open('/proc/self/status').read().partition('VmHWM:')[2].split()[0])"
NODE_PEAK = (
    "console.log(/VmHWM:\\s+(\\d+)/.exec(require('fs').readFileSync('/proc/self/status'))[1]);"
)
NODE_ALL = """
const rows = require('fs').readFileSync(process.argv[1], 'utf8').split('\\n');
const found = [];
for (const row of rows) { try { const v = JSON.parse(row);
  if (v.type === 'message' && v.message.role !== 'toolResult') found.push(v); } catch {} }
console.log(found.slice(-20).length); PEAK
"""
NODE_LINES = """
const rows = require('readline').createInterface({
  input: require('fs').createReadStream(process.argv[1]), crlfDelay: Infinity });
const found = [];
rows.on('line', (row) => { try { const v = JSON.parse(row);
  if (v.type === 'message' && v.message.role !== 'toolResult') found.push(v);
  if (found.length > 20) found.shift(); } catch {} });
rows.on('close', () => { console.log(found.length); PEAK });
"""


class Taken(NamedTuple):
    """What one process took."""

    cpu_ms: float
    rss_mb: float
    read: int
    failed: bool


def run(argv: list[str]) -> Taken:
    """One process."""
    reading, writing = os.pipe()
    quiet = os.open(os.devnull, os.O_RDWR)
    actions = [(os.POSIX_SPAWN_DUP2, quiet, 0), (os.POSIX_SPAWN_DUP2, writing, 1)]
    actions.append((os.POSIX_SPAWN_DUP2, quiet, 2))
    pid = os.posix_spawn(argv[0], argv, dict(os.environ), file_actions=actions)
    os.close(writing)
    os.close(quiet)
    with open(reading, "rb") as pipe:
        out = pipe.read().split() or [b"0"]
    _, status, usage = os.wait4(pid, 0)
    cpu = (usage.ru_utime + usage.ru_stime) * 1000
    failed = os.waitstatus_to_exitcode(status) != 0
    return Taken(cpu, int(out[-1]) / 1024, int(out[0]), failed)


# -- transcripts -----------------------------------------------------------------------------------


def turn(number: int) -> list[bytes]:
    """Eight rows: a request, three tool calls with results of some KB, an answer."""
    rows, base = [], number * 8
    for step in range(8):
        key, parent = f"{base + step:08x}", f"{base + step - 1:08x}" if base + step else None
        words = " ".join(PROSE[(number * 7 + step * 3 + i * i) % len(PROSE)] for i in range(60))
        if step == 0:
            inner = {
                "role": "user",
                "content": [{"type": "text", "text": f"task {number}. {words}"}],
            }
        elif step == 7:
            inner = {"role": "assistant", "content": [{"type": "text", "text": words}]}
        elif step % 2:
            call = {"type": "toolCall", "id": f"call_{key}", "name": "bash"}
            call |= {"arguments": {"command": f"make step-{step}"}}  # type: ignore[dict-item]
            inner = {"role": "assistant", "content": [{"type": "text", "text": words[:80]}, call]}
        else:
            text = f"step {step} of {number} {NOISE}\n" + words * (3 + (number + step) % 15)
            inner = {"role": "toolResult", "toolCallId": f"call_{parent}", "toolName": "bash"}
            inner |= {"content": [{"type": "text", "text": text}], "isError": False}  # type: ignore[dict-item]
        row = {"type": "message", "id": key, "parentId": parent}
        row |= {"timestamp": "2026-11-30T12:00:00.000Z", "message": inner}  # type: ignore[dict-item]
        rows.append(json.dumps(row, separators=(",", ":")).encode() + b"\n")
    return rows


HEADER = (
    b'{"type":"session","version":3,"id":"s1","timestamp":"2026-11-30T12:00:00.000Z","cwd":"/p"}\n'
)


class Turns:
    """Rows without an end, made fast: the numbers of one turn are put into ready ones."""

    def __init__(self) -> None:
        self._made = [b"".join(turn(n)) for n in range(1, 16)]
        self._number = 0

    def next(self) -> bytes:
        """The rows of the next turn, hanging on those before."""
        kind = self._number % 15
        data, base = self._made[kind], (kind + 1) * 8
        for step in range(-1, 8):
            old, new = f"{base + step:08x}".encode(), f"{0x10000000 + self._number * 8 + step:08x}"
            data = data.replace(b'"' + old + b'"', b'"' + new.encode() + b'"')
            data = data.replace(b"call_" + old, b"call_" + new.encode())
        for _ in range(data.count(NOISE.encode())):
            data = data.replace(NOISE.encode(), os.urandom(len(NOISE) // 2).hex().encode(), 1)
        self._number += 1
        return data


def write(path: Path, size_mb: float) -> Path:
    """A transcript of about that size."""
    turns, size = Turns(), 0
    with path.open("wb", buffering=4 << 20) as file:
        file.write(HEADER)
        while size < size_mb * 1e6:
            size += file.write(turns.next())
    return path


def newest(path: Path) -> bytes:
    """The id of a transcript's last row."""
    return path.read_bytes()[-20000:].rpartition(b'"id":"')[2][:8]


def add_line(path: Path, size_mb: float) -> Path:
    """One line of that size behind what is there: a tool's result."""
    parent = newest(path)
    with path.open("ab") as file:
        file.write(b'{"type":"message","id":"ffffffff","parentId":"%b","message":{"role":' % parent)
        file.write(b'"toolResult","toolCallId":"c","content":[{"type":"text","text":"')
        for _ in range(int(size_mb)):
            file.write(b"x" * 1_000_000)
        file.write(b'"}]}}\n')
    return path


def add_noise(path: Path, size_mb: float) -> Path:
    """Tools' results of 4 KB and nothing else behind what is there."""
    words, parent = " ".join(PROSE) * 8, newest(path)
    with path.open("ab", buffering=4 << 20) as file:
        for number in range(int(size_mb * 1e6 / 4400)):
            key = f"e{number:07x}".encode()
            text = (words * 2)[: 4200 - number % 9].encode()
            file.write(b'{"type":"message","id":"%b","parentId":"%b",' % (key, parent))
            file.write(
                b'"message":{"role":"toolResult","toolCallId":"c","content":[{"type":"text",'
            )
            file.write(b'"text":"%b"}]}}\n' % text)
            parent = key
    return path


def damage(path: Path) -> Path:
    """Zeros over a row near the end, as a power cut leaves them: what hangs on it has no parent."""
    with path.open("r+b") as file:
        file.seek(-20_000, os.SEEK_END)
        begin = file.tell() + len(file.readline())
        file.seek(begin)
        length = len(file.readline()) - 1
        file.seek(begin)
        file.write(b"\0" * length)
    return path


def pack(path: Path) -> Path:
    """The same transcript compressed, as OpenClaw puts away the old ones."""
    packed, work = path.with_suffix(".jsonl.zst"), packer.ZstdCompressor()
    with path.open("rb") as plain, packed.open("wb") as file:
        while block := plain.read(1 << 20):
            file.write(work.compress(block))
        file.write(work.flush())
    return packed


def store(path: Path, transcript: Path) -> str:
    """The same events in a database of OpenClaw's; gives the session's path."""
    schema = (databases.RECORDED / "openclaw/recorded.sql").read_text().partition("INSERT INTO")[0]
    db = databases.connect(path)
    db.executescript(schema)
    db.execute("BEGIN")
    with transcript.open() as file:
        for seq, line in enumerate(file):
            row = json.loads(line)
            event = ("s1", seq, line.rstrip("\n"), 1_796_000_000_000 + seq)
            db.execute(f"INSERT INTO transcript_events({EVENT}) VALUES (?,?,?,?)", event)
            named = ("s1", row["id"], seq, row["type"], row.get("parentId"), seq)
            db.execute(
                f"INSERT INTO transcript_event_identities({NAMED}) VALUES (?,?,?,?,?,?)", named
            )
    db.execute("COMMIT")
    db.close()
    return tables.name("s1", str(path))


# -- measuring -------------------------------------------------------------------------------------


def prepare(
    folder: Path, sizes: tuple[float, ...], other_mb: float, noise_mb: float
) -> dict[str, str]:
    """The files, by what the table calls them."""
    found = {f"{size:g} MB": str(write(folder / f"{size:g}.jsonl", size)) for size in sizes}
    other = f"{other_mb:g} MB"
    whole = write(folder / "other.jsonl", other_mb)
    found[f"{other}, in OpenClaw's database"] = store(folder / "openclaw.sqlite", whole)
    packed = pack(whole)
    found[f"{other}, compressed to {packed.stat().st_size / 1e6:.0f} MB"] = str(packed)
    found[f"{other}, a damaged row near its end"] = str(damage(whole))
    line = add_line(write(folder / "line.jsonl", sizes[0]), noise_mb)
    found[f"one line of {noise_mb:g} MB at its end"] = str(line)
    noise = add_noise(write(folder / "noise.jsonl", sizes[0]), noise_mb)
    found[f"{noise_mb:g} MB of results at its end"] = str(noise)
    return found


def measure(files: dict[str, str], runs: int, node_runs: int) -> dict[str, dict[str, float]]:
    """All rows of the table."""
    python, package = sys.executable, str(Path(swapcache.__file__).parents[1])
    node = shutil.which("node") if node_runs else None
    rows = {"B1": [python, "-I", "-S", "-c", f"{B1}; print(0); {PEAK}"]}
    for name, path in files.items():
        rows[name] = [python, "-I", "-S", "-c", TAIL + PEAK, package, path, str(WANTED)]
    samples: dict[str, list[Taken]] = {}
    for number in range(runs + 1):
        for name, argv in rows.items():
            taken = run(argv)
            if number:
                samples.setdefault(name, []).append(taken)
    for _ in range(node_runs if node else 0):
        for name, path in files.items():
            for how, script in (("node readFile", NODE_ALL), ("node readline", NODE_LINES)):
                if path.endswith(".jsonl"):
                    taken = run([str(node), "-e", script.replace("PEAK", NODE_PEAK), path])
                    samples.setdefault(f"{how}, {name}", []).append(taken)
    return table(samples, files)


def table(samples: dict[str, list[Taken]], files: dict[str, str]) -> dict[str, dict[str, float]]:
    """Medians."""
    base = statistics.median(taken.cpu_ms for taken in samples["B1"])
    rows = {}
    for name, found in samples.items():
        cpu = statistics.median(taken.cpu_ms for taken in found)
        rows[name] = {
            "cpu_ms": round(cpu, 1),
            "over_ms": round(cpu - base, 1),
            "rss_mb": round(max(taken.rss_mb for taken in found), 1),
            "read_kb": round(found[0].read / 1000) if name in files else 0,
            "failed": sum(taken.failed for taken in found),
        }
    return rows


def over(rows: dict[str, dict[str, float]], sizes: tuple[float, ...]) -> list[str]:
    """What is over its budget."""
    names = [f"{size:g} MB" for size in sizes]
    found = []
    for name in names:
        if rows[name]["over_ms"] > CPU_MS:
            found.append(f"{name}: {rows[name]['over_ms']} ms over B1, {CPU_MS} are allowed")
        if rows[name]["rss_mb"] > RSS_MB:
            found.append(f"{name}: {rows[name]['rss_mb']} MB, {RSS_MB} are allowed")
    small, large = rows[names[0]]["cpu_ms"], rows[names[-1]]["cpu_ms"]
    if large > FLAT * small + FLAT_MS:
        found.append(f"{names[-1]} costs {large} ms, {names[0]} costs {small} ms: not flat")
    return found


def main() -> int:
    """Prints the table; 1 when something is over its budget."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--runs", type=int, default=15)
    options.add_argument("--node-runs", type=int, default=3)
    options.add_argument("--sizes", default=",".join(map(str, SIZES)))
    options.add_argument("--other", type=float, default=200, help="MB of other kinds")
    options.add_argument("--noise", type=float, default=50, help="MB of noise at an end")
    options.add_argument("--json", action="store_true")
    given = options.parse_args()
    sizes = tuple(float(size) for size in given.sizes.split(","))
    with tempfile.TemporaryDirectory() as folder:
        os.environ.update(HOME=folder, SWAPCACHE_HOME=f"{folder}/swapcache")
        rows = measure(
            prepare(Path(folder), sizes, given.other, given.noise), given.runs, given.node_runs
        )
    if given.json:
        print(json.dumps(rows))
    else:
        print(f"the last {WANTED} messages of a transcript\n")
        print("| process | CPU ms | over B1 | peak RSS MB | KB read | failed |")
        print("|---|---|---|---|---|---|")
        for name, row in rows.items():
            print("| " + " | ".join([name, *map(str, row.values())]) + " |")
    problems = over(rows, sizes)
    print("".join(f"over budget: {problem}\n" for problem in problems), end="", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
