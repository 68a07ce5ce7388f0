"""Measures the seal: verifying a whole chain, and what sealing adds to the hook.

    python -m tests.perf.trust_cost [--runs N] [--records N] [--json]

The baseline of the verification reads the same bytes, decompresses them and takes their SHA-256,
and checks nothing. The hook without a seal is a copy of the package with the modules of
tests/perf/unsealed: it hashes nothing (not for its cursor in the transcript either), reads no key,
gives no verdict, keeps no witness and loads none of what does that. Both hooks are real processes,
called alternately through their launchers on a store each; all that they import counts.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import inspect
import json
import math
import os
import shutil
import sqlite3
import statistics
import sys
import tempfile
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

from swapcache import paths
from swapcache.hosts import launcher
from swapcache.model import NewRecord
from swapcache.store import identity, sessions
from swapcache.store.opening import open_store
from swapcache.store.store import Store, now
from tests.perf import hook_cost
from tests.perf.unsealed import digest, keyring, seal, trust, witness

VERIFY_S = 3.0
"""For 100,000 records, with the start of the command."""
SHARE = 0.05
BODY = 900
BATCH = 5_000
WARM = 3
"""First runs of a pair of hooks, which are not counted."""

STAND_INS = {
    "swapcache.digest": digest,
    "swapcache.store.seal": seal,
    "swapcache.store.witness": witness,
    "swapcache.store.keyring": keyring,
    "swapcache.store.trust": trust,
}
NO_VERDICT = """

def judge(self, seen):
    return Verdict("VERIFIED", "", self.head()[0])

Store.judge = judge
"""


# -- verifying -------------------------------------------------------------------------------------


def fill(home: Path, records: int) -> Store:
    """A store of `records` records as a capture makes them; record 0 comes on top."""
    project = home / "verified"
    project.mkdir()
    store = open_store(identity.identify("claude-code", str(home / ".claude"), str(project)))
    with store.writing():
        made = sessions.add_session(store.db, "s1", "s1", None, now())
        assert sessions.add_source(store.db, made.number, "/t.jsonl", 0).number == 1
    for first in range(0, records, BATCH):
        numbers = range(first, min(first + BATCH, records))
        with store.writing() as writer:
            writer.append(NewRecord(_body(n), _meta(n), 1, n * BODY) for n in numbers)
    return store


def _body(number: int) -> bytes:
    words = hook_cost.PROSE
    text = " ".join(words[(number * 7 + i * i) % len(words)] for i in range(200))
    value = {"type": "user", "uuid": f"u{number}", "message": {"role": "user", "content": text}}
    return json.dumps(value).encode()[:BODY]


def _meta(number: int) -> dict[str, object]:
    wall = f"2026-11-30T{number // 3600 % 24:02d}:{number // 60 % 60:02d}:00.000Z"
    meta = {"class": "request", "event": "import", "host": "claude-code", "kind": "raw"}
    return {**meta, "msg_id": f"u{number}", "origin": "owner", "session": "s1", "wall": wall}


def baseline(store: Store) -> int:
    """Reads, decompresses and hashes every body; gives their bytes."""
    size, newest, data = 0, -1, b""
    rows = store.db.execute("SELECT chunk, start, size FROM record ORDER BY seq")
    for number, start, length in rows:
        if number != newest:
            row = store.db.execute("SELECT data FROM chunk WHERE id=?", (number,)).fetchone()
            newest, data = number, zlib.decompress(row[0])
        hashlib.sha256(data[start : start + length]).digest()
        size += length
    return size


def clock(work: Callable[[], object]) -> tuple[float, float]:
    """(CPU seconds, wall seconds) in this process."""
    cpu, wall = time.process_time(), time.perf_counter()
    work()
    return time.process_time() - cpu, time.perf_counter() - wall


def verifying(home: Path, records: int, runs: int = 3) -> dict[str, dict[str, float]]:
    """Rows of the first table: medians of alternate runs."""
    store = fill(home, records)
    size = baseline(store)
    samples: dict[str, list[tuple[float, float]]] = {"baseline": [], "verify": [], "command": []}
    command = [sys.executable, "-m", "swapcache.cli", "verify", "--full"]
    command += ["--workspace", str(home / "verified")]
    for _ in range(runs):
        samples["baseline"].append(clock(lambda: baseline(store)))
        samples["verify"].append(clock(lambda: _verified(store, records)))
        cpu, wall = hook_cost.run(command, b"", dict(os.environ))
        samples["command"].append((cpu / 1000, wall / 1000))
    _assert_checked(store, records)
    store.close()
    base = statistics.median(cpu for cpu, _ in samples["baseline"])
    rows = {}
    for name, taken in samples.items():
        cpu = statistics.median(cpu for cpu, _ in taken)
        rows[name] = {
            "cpu_s": round(cpu, 2),
            "records_per_s": round(records / cpu),
            "ratio": round(cpu / base, 1),
            "wall_s": round(statistics.median(wall for _, wall in taken), 2),
            "mb": round(size / 1e6, 1),
        }
    return rows


def _verified(store: Store, newest: int) -> None:
    verdict = store.verify()
    if not (verdict.good and verdict.have == newest):
        raise SystemExit(f"an honest store of {newest} records is {verdict}")


def _assert_checked(store: Store, records: int) -> None:
    """A fast verification that checks nothing would be worth nothing."""
    at = records * 2 // 3
    for column in ("sha", "tag", "meta"):
        (kept,) = store.db.execute(f"SELECT {column} FROM record WHERE seq=?", (at,)).fetchone()
        change = f"UPDATE record SET {column}=? WHERE seq=?"
        other = kept[:-1] + (" " if isinstance(kept, str) else bytes([kept[-1] ^ 1]))
        store.db.execute(change, (other, at))
        assert store.verify().have == at - 1, (column, store.verify())
        store.db.execute(change, (kept, at))
    _verified(store, records)


# -- the hook's share ------------------------------------------------------------------------------


def unsealed(folder: Path) -> Path:
    """A copy of the package that seals nothing, and that fails if it wants hashlib or hmac."""
    leave = shutil.ignore_patterns("__pycache__")
    shutil.copytree(f"{launcher.package()}/swapcache", folder / "swapcache", ignore=leave)
    for name, stand_in in STAND_INS.items():
        _assert_fits(stand_in, importlib.import_module(name))
        assert stand_in.__file__
        shutil.copy(stand_in.__file__, folder / f"{name.replace('.', '/')}.py")
    assert list(inspect.signature(Store.judge).parameters) == ["self", "seen"]
    with (folder / "swapcache/store/store.py").open("a") as file:
        file.write(NO_VERDICT)
    for name in ("hashlib", "hmac"):
        (folder / f"{name}.py").write_text(f"raise ImportError({name!r})\n")
    return folder


def _assert_fits(stand_in: ModuleType, real: ModuleType) -> None:
    """Every function that it replaces is there under the same name, with the same parameters."""
    for name, one in inspect.getmembers(stand_in, inspect.isfunction):
        if one.__module__ == stand_in.__name__:
            wanted = list(inspect.signature(getattr(real, name)).parameters)
            assert list(inspect.signature(one).parameters) == wanted, f"{real.__name__}.{name}"


def sealing(home: Path, runs: int) -> dict[str, dict[str, float]]:
    """Rows of the second table."""
    launcher.install()
    real = Path(paths.launcher())
    copy = home / "unsealed-hook"
    package = unsealed(home / "unsealed-package")
    copy.write_text(real.read_text().replace(launcher.package(), str(package)))
    copy.chmod(0o700)
    samples: dict[str, list[float]] = {"without": [], "with": []}
    hooks = {"without": copy, "with": real}
    for name in samples:
        (home / name).mkdir()
    for number in range(runs + WARM):
        names = list(samples) if number % 2 else list(reversed(samples))
        for name in names:
            project = home / name
            transcript = home / f"{name}.jsonl"
            hook_cost.append(transcript, number * hook_cost.TURN, hook_cost.TURN, name)
            payload = {"session_id": name, "transcript_path": str(transcript)}
            env = dict(os.environ, HOME=str(home), CLAUDE_PROJECT_DIR=str(project))
            argv = [str(hooks[name]), "claude-code", "Stop"]
            cpu, _ = hook_cost.run(argv, json.dumps(payload).encode(), env)
            if number >= WARM:
                samples[name].append(cpu)
    _assert_stored(home, (runs + WARM) * hook_cost.TURN)
    return _shares(samples)


def _shares(samples: dict[str, list[float]]) -> dict[str, dict[str, float]]:
    base = statistics.median(samples["without"])
    error = math.hypot(*(_error(taken) for taken in samples.values())) / base
    rows = {}
    for name, taken in samples.items():
        cpu = statistics.median(taken)
        share = cpu / base - 1
        rows[name] = {"cpu_ms": round(cpu, 2), "runs": len(taken), "share": round(share, 4)}
    rows["with"]["error"] = round(error, 4)
    return rows


def _error(taken: list[float]) -> float:
    """Standard error of the median, from the quartiles: a few runs take far longer."""
    low, _, high = statistics.quantiles(taken, n=4)
    return 1.2533 * (high - low) / 1.349 / math.sqrt(len(taken))


def _assert_stored(home: Path, rows: int) -> None:
    """Both hooks did their work, and only one of them sealed it."""
    log = Path(paths.error_log())
    assert not log.exists(), log.read_text()
    who = identity.identify("claude-code", str(home / ".claude"), str(home / "with"))
    store = open_store(who)
    assert store.verify().good
    store.close()
    sealed = {store.id: True, "0" * 24: False}
    for store_id, tagged in sealed.items():
        db = sqlite3.connect(paths.database(paths.store_dir(store_id)))
        raw = "json_extract(meta, '$.kind') = 'raw'"
        found = db.execute(f"SELECT count(*), max(tag) FROM record WHERE {raw}").fetchone()
        assert found[0] == rows and any(found[1]) == tagged, (store_id, found)
        db.close()


# -- the tables ------------------------------------------------------------------------------------

VERIFYING = {
    "baseline": "baseline: read, decompress, SHA-256",
    "verify": "Store.verify",
    "command": "swapcache verify --full, the whole process",
}
SEALING = {"without": "hook without a seal", "with": "hook"}


def main() -> int:
    """Prints the tables; 1 when a figure is over its budget."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--runs", type=int, default=300)
    options.add_argument("--records", type=int, default=100_000)
    options.add_argument("--json", action="store_true")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ.update(HOME=folder, SWAPCACHE_HOME=f"{folder}/swapcache")
        share = sealing(Path(folder), given.runs)
        chain = verifying(Path(folder), given.records)
    if given.json:
        print(json.dumps({"verifying": chain, "sealing": share}))
    else:
        size = chain["verify"]["mb"]
        title = f"{given.records} records, {size} MB"
        print(f"| {title} | CPU s | records/s | ratio | wall s | budget s |")
        print("|---|---|---|---|---|---|")
        for name, row in chain.items():
            cells = [VERIFYING[name], row["cpu_s"], row["records_per_s"], row["ratio"]]
            cells += [row["wall_s"], "" if name == "baseline" else f"{VERIFY_S:g}"]
            print("| " + " | ".join(str(cell) for cell in cells) + " |")
        print("\n| one turn of 20 records of 2 KB | CPU ms | runs | adds | budget |")
        print("|---|---|---|---|---|")
        for name, row in share.items():
            cells = [SEALING[name], row["cpu_ms"], row["runs"], "", ""]
            if "error" in row:
                cells[3:] = [f"{row['share']:+.1%} ± {row['error']:.1%}", f"{SHARE:.0%}"]
            print("| " + " | ".join(str(cell) for cell in cells) + " |")
    slow = max(chain["verify"]["cpu_s"], chain["command"]["cpu_s"]) > VERIFY_S
    return int(slow or share["with"]["share"] > SHARE)


if __name__ == "__main__":
    sys.exit(main())
