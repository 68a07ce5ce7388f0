"""How many facts that the next session needs stand in a brief: a continuity set, scored.

    python -m tests.perf.continuity [DIRECTORY] [--runs FILE]     (or CONTINUITY_DATA=DIRECTORY)

DIRECTORY holds cases.jsonl, the transcripts, score.py and baselines.py. For each case the rows
before the cut are written to a file of its own, the torn bytes behind them, captured, and asked for
as `swapcache wake --form full --now TIME_OF_THE_CUT` would be. The set's own programs score that
and its baselines. Exit 1: a goal is missed. 2: no data.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

from click.testing import CliRunner

from swapcache.cli import group

HERE = Path(__file__).parents[2]
DATA = HERE.parent / "shared" / "data" / "continuity"
BASELINES = ("last-user", "tail15", "head-tail", "tail-tools")
GOALS = {600: 0.80, 1200: 0.92, 2400: 0.96}
STALE = 0.01
OURS = "swapcache"
Cell = Callable[[dict[str, Any]], str]
SUMS: list[tuple[str, Cell]] = [
    ("**RECALL**", lambda r: f"{100 * r['recall']['TOTAL']:.1f}"),
    ("**STALE**", lambda r: f"{100 * r['stale']['TOTAL']:.1f}"),
    ("**SCORE**", lambda r: f"{100 * r['macro_score']:.1f}"),
    ("mean tokens", lambda r: f"{r['mean_tokens']:.0f}"),
    ("over budget", lambda r: f"{r['over_budget']}"),
]


class Run(NamedTuple):
    """A brief of a case."""

    id: str
    budget: int
    text: str
    ms: float


def main() -> int:
    """Prints the tables; 1 when a goal is missed, 2 without data."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", nargs="?", default=os.environ.get("CONTINUITY_DATA", DATA))
    parser.add_argument("--runs", help="keep the briefs in this file, a JSON object a line")
    given = parser.parse_args()
    folder = Path(given.directory)
    if not (folder / "cases.jsonl").is_file():
        print(
            f"{folder}/cases.jsonl is missing: name the directory of a continuity set, or set"
            " CONTINUITY_DATA",
            file=sys.stderr,
        )
        return 2
    cases = [json.loads(x) for x in (folder / "cases.jsonl").read_text("utf-8").splitlines()]
    with tempfile.TemporaryDirectory() as where:
        runs = [run for n, case in enumerate(cases) for run in _runs(folder, case, Path(where), n)]
    if given.runs:
        Path(given.runs).write_text(_jsonl(runs), encoding="utf-8")
    missed = _tables(folder, runs, "utf8")
    if importlib.util.find_spec("bpe_openai") is None:
        print("\no200k: not counted, the package bpe-openai is not installed")
    else:
        print()
        missed += _tables(folder, runs, "o200k")
    for budget in GOALS:
        times = sorted(run.ms for run in runs if run.budget == budget)
        print(f"wake at {budget}: {statistics.median(times):.0f} ms, at most {times[-1]:.0f} ms")
    for line in missed:
        print(f"missed: {line}")
    return 1 if missed else 0


# -- runs ------------------------------------------------------------------------------------------


def _runs(folder: Path, case: dict[str, Any], where: Path, number: int) -> list[Run]:
    """A case captured in a home of its own, and its briefs."""
    home = where / case["id"]
    (home / "project" / ".git").mkdir(parents=True)
    transcript = home / "transcript.jsonl"
    transcript.write_bytes(prefix(folder, case))
    own = {"HOME": str(home), "SWAPCACHE_HOME": str(home / "swapcache")}
    with mock.patch.dict(os.environ, own):
        place = ["--host", case["host"], "--workspace", str(home / "project")]
        _told(["capture", *place, str(transcript)], lossy=True)
        at = _last_time(transcript)
        asked = ["wake", *place, "--cause", case["cause"], "--form", "full", "--now", at]
        made = []
        for budget in GOALS:
            begun = time.perf_counter()
            text = _told([*asked, "--budget", str(budget)]).removesuffix("\n")
            made.append(Run(case["id"], budget, text, (time.perf_counter() - begun) * 1000))
        if number == 0:
            _check_command([*asked, "--budget", str(budget)], text)
    return made


def prefix(folder: Path, case: dict[str, Any]) -> bytes:
    """The rows before the cut, and what a crash left of the next one."""
    rows = (folder / case["transcript"]).read_bytes().splitlines(keepends=True)
    line, torn = case["cut"]["line"], case["cut"].get("torn_bytes", 0)
    return b"".join(rows[:line]) + (rows[line][:torn] if torn else b"")


def _last_time(transcript: Path) -> str:
    """The newest time that a row of a transcript names."""
    times = re.findall(rb'"timestamp": ?"([^"]+)"', transcript.read_bytes())
    return max(times).decode() if times else "2026-11-30T00:00:00Z"


def _told(words: list[str], lossy: bool = False) -> str:
    """What a command prints; called in this process, since a start costs more than its work."""
    done = CliRunner().invoke(group, words, catch_exceptions=False)
    if done.exit_code not in ((0, 1) if lossy else (0,)):
        raise SystemExit(f"{' '.join(words)}: exit {done.exit_code}: {done.output}")
    return done.stdout


def _check_command(words: list[str], text: str) -> None:
    """The command as somebody types it prints the same, but for the frame's random id."""
    run = subprocess.run(
        [sys.executable, "-m", "swapcache.cli", *words], capture_output=True, text=True, check=True
    )
    told = [re.sub("[0-9a-f]{32}", "ID", t.strip()) for t in (run.stdout, text)]
    assert told[0] == told[1], f"the command prints something else:\n{told[0]}\n{told[1]}"


def _jsonl(runs: list[Run]) -> str:
    return "".join(json.dumps(run._asdict(), ensure_ascii=False) + "\n" for run in runs)


# -- scores ----------------------------------------------------------------------------------------


def _tables(folder: Path, runs: list[Run], tokens: str) -> list[str]:
    """Prints what each tool got; gives the goals that are missed."""
    reports = {OURS: _scored(folder, _jsonl(runs), tokens)}
    for name in BASELINES:
        reports[name] = _scored(folder, _set(folder, "baselines.py", name, tokens), tokens)
    print(f"tokens as {'UTF-8 bytes / 4' if tokens == 'utf8' else tokens}; percent\n")
    names = [OURS, *BASELINES]
    budgets = [str(budget) for budget in GOALS]
    families = [k for k in reports[OURS][budgets[0]]["recall"] if ":" not in k and k != "TOTAL"]
    at = " / ".join(budgets)
    print("| " + " | ".join([f"at {at}", *names]) + " |")
    print("|---" * (len(names) + 1) + "|")
    rows = [*((family, _family(family)) for family in sorted(families)), *SUMS]
    for label, cell in rows:
        cells = [" / ".join(cell(reports[name][b]) for b in budgets) for name in names]
        print("| " + " | ".join([label, *cells]) + " |")
    return _missed(reports, families, tokens)


def _family(name: str) -> Cell:
    return lambda report: f"{100 * report['recall'][name]:.0f}"


def _missed(reports: dict[str, Any], families: list[str], tokens: str) -> list[str]:
    found = []
    for budget, goal in GOALS.items():
        ours = reports[OURS][str(budget)]
        at = f"at {budget} tokens ({tokens})"
        if ours["macro_score"] < goal:
            found.append(f"score {100 * ours['macro_score']:.1f} {at}, goal {100 * goal:.0f}")
        if ours["stale"]["TOTAL"] >= STALE:
            found.append(f"stale {100 * ours['stale']['TOTAL']:.1f} {at}, goal below 1")
        if ours["over_budget"]:
            found.append(f"{ours['over_budget']} briefs over the budget {at}")
        for name in BASELINES:
            theirs = reports[name][str(budget)]["recall"]
            behind = [f for f in families if ours["recall"][f] < theirs[f]]
            found += [f"{family} behind {name} {at}" for family in behind]
    return found


def _scored(folder: Path, runs: str, tokens: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(_set(folder, "score.py", "-", tokens, "--json", given=runs))
    return found


def _set(
    folder: Path, program: str, what: str, tokens: str, *more: str, given: str | None = None
) -> str:
    """Runs a program of the set."""
    words = [sys.executable, "-B", str(folder / program), what, "--tokens", tokens, *more]
    run = subprocess.run(words, input=given, capture_output=True, text=True, check=True)
    return run.stdout


if __name__ == "__main__":
    sys.exit(main())
