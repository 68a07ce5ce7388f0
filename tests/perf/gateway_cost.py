"""Measures a real gateway's turns with and without the shim, alternately.

    python -m tests.perf.gateway_cost [--turns N] [--json]

Two gateways of the same version against the same scripted model, each turn with one tool call; the
one without is the baseline. Such a turn takes some hundred ms and wavers by tens of ms, so the
difference of the medians says little more than its standard error; exact is the time that the
gateway spends in the shim's handlers, which a wrapper around the plugin takes.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

from swapcache import paths
from swapcache.drill.model import Model, call, say
from swapcache.hosts import launcher
from swapcache.hosts import openclaw_config as openclaw
from swapcache.store import files
from tests.hosts.openclaw_host import OpenClaw
from tests.perf.shim_cost import FIRST_MS, TURN_MS

VERSION = "2026.9.6"
PAUSE_S = 1.5
"""People write later than the folds of the last turn run: 0.3 and 2.3 s behind it."""


WRAPPER = """
import fs from "node:fs";
import { performance } from "node:perf_hooks";
import shim from "./shim.js";
const timed = (name, handler) => (...given) => {
  const begin = performance.now();
  const note = () => {
    const row = { name, type: given[0]?.type, ms: performance.now() - begin };
    fs.appendFileSync(%s, JSON.stringify(row) + "\\n");
  };
  const done = handler(...given);
  if (typeof done?.then === "function") done.then(note);
  else note();
  return done;
};
const wrapped = (api) => new Proxy(api, {
  get: (target, key) => {
    if (key === "on") return (name, handler) => target.on(name, timed(name, handler));
    if (key !== "registerHook") return target[key];
    return (events, handler, options) =>
      target.registerHook(events, timed("hook", handler), options);
  },
});
export default { ...shim, register: (api) => shim.register(wrapped(api)) };
"""


def wrap(log: Path) -> None:
    """Puts a stopwatch around the installed plugin's handlers."""
    folder = Path(paths.plugin_dir(openclaw.NAME))
    (folder / "shim.js").write_bytes((folder / "index.js").read_bytes())
    (folder / "index.js").write_text(WRAPPER % json.dumps(str(log)))


def handlers(log: Path, turns: int) -> tuple[float, float]:
    """(ms in handlers for a turn, ms of the first turn's wait) from the stopwatch's rows."""
    rows = [json.loads(line) for line in log.read_text().splitlines()]
    hooks = [r["ms"] for r in rows if r["name"] == "hook"]
    per_turn: list[float] = []
    for row in rows:
        if row["name"] == "hook" and row["type"] == "agent":
            per_turn.append(0.0)
        if per_turn:
            per_turn[-1] += row["ms"]
    return statistics.median(per_turn[-turns:]), hooks[0]


def measure(root: Path, turns: int) -> dict[str, list[float]]:
    """Milliseconds of every turn, by case. The first three turns of each are not counted."""
    folder = os.environ.get("SWAPCACHE_OPENCLAW", "")
    node = os.environ.get("SWAPCACHE_NODE", "")
    if not (folder and node):
        raise SystemExit('a real gateway is needed; run: eval "$(scripts/hosts)"')
    found: dict[str, list[float]] = {"without": [], "with": []}
    with Model({}) as model:
        hosts = {}
        for case in found:
            install = Path(folder) / f"openclaw-{VERSION}"
            hosts[case] = OpenClaw(install, node, root / case, model)
            hosts[case].prepare()
        os.environ["OPENCLAW_STATE_DIR"] = str(hosts["with"].state)
        launcher.install()
        openclaw.place_files()
        wrap(root / "times")
        path = hosts["with"].state / "openclaw.json"
        files.publish(str(path), openclaw.installed(path.read_text(), launcher.path()))
        try:
            for host in hosts.values():
                host.start()
            for number in range(turns + 3):
                for case, host in hosts.items():
                    words = f"step {case} {number}."
                    model.script[words] = [[call("exec", command="true")], [say("ok")]]
                    time.sleep(PAUSE_S)
                    seconds = host.post(f"Do {words}")
                    if number >= 3:
                        found[case].append(seconds * 1000)
        finally:
            for host in hosts.values():
                host.kill()
    return found


def _error(times: list[float]) -> float:
    """Standard error of the median, from the quartiles: a few turns take far longer."""
    low, _, high = statistics.quantiles(times, n=4)
    return 1.2533 * (high - low) / 1.349 / math.sqrt(len(times))


def main() -> int:
    """Prints the table."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--turns", type=int, default=50)
    options.add_argument("--json", action="store_true")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ.update(HOME=folder, SWAPCACHE_HOME=f"{folder}/swapcache")
        found = measure(Path(folder), given.turns)
        inside, first = handlers(Path(folder) / "times", given.turns)
    medians = {case: statistics.median(times) for case, times in found.items()}
    error = math.hypot(*(_error(times) for times in found.values()))
    value = {
        "without_ms": round(medians["without"], 1),
        "with_ms": round(medians["with"], 1),
        "difference_ms": round(medians["with"] - medians["without"], 1),
        "error_ms": round(error, 1),
        "handlers_ms": round(inside, 2),
        "first_ms": round(first, 1),
    }
    if given.json:
        print(json.dumps(value))
    else:
        print(f"| turn of a real gateway ({VERSION}), median of {given.turns} | ms | budget |")
        print("|---|---|---|")
        print(f"| without the shim | {value['without_ms']} | |")
        print(f"| with the shim | {value['with_ms']} | |")
        print(f"| difference | {value['difference_ms']:+} ± {value['error_ms']} | |")
        print(f"| of it in the shim's handlers | {value['handlers_ms']} | {TURN_MS:g} |")
        print(
            f"| first turn of the process: the shim waited | {value['first_ms']} | {FIRST_MS:g} |"
        )
    return int(inside > TURN_MS or first > FIRST_MS)


if __name__ == "__main__":
    sys.exit(main())
