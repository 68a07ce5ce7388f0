"""Budgets: the hook as a ratio to a bare interpreter in one run, the shim in milliseconds."""

import os
import shutil
from pathlib import Path

import pytest

from tests import needs
from tests.perf import hook_cost, shim_cost

pytestmark = pytest.mark.perf
BUDGET = 1.6
RECORDS = 20_000
RUNS = 45
"""As many as scripts/bench takes and some more: with 25 the median wavered by a tenth."""


def test_a_turn_costs_at_most_1_6_bare_starts_at_any_size(home: Path) -> None:
    rows = hook_cost.measure(home, RECORDS, RUNS)
    assert rows["short"]["ratio"] <= BUDGET, rows
    assert rows["long"]["ratio"] <= BUDGET, rows
    flat = rows["long"]["cpu_ms"] / rows["short"]["cpu_ms"]
    assert flat < 1.25, "work grows with what is new, not with the transcript"


def test_the_shim_adds_at_most_2_ms_to_a_turn(home: Path) -> None:
    if not (os.environ.get("SWAPCACHE_NODE") or shutil.which("node")):
        needs.missing("node is not installed")
    rows = shim_cost.measure(home, 50)
    assert rows["turn_p50_ms"] <= shim_cost.TURN_MS, rows
    assert rows["first_ms"] <= shim_cost.FIRST_MS, rows
