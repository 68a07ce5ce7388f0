"""The hook's budget: a ratio against a bare interpreter, measured in one run."""

from pathlib import Path

import pytest

from tests.perf import hook_cost

pytestmark = pytest.mark.perf
BUDGET = 1.6
RECORDS = 20_000


def test_a_turn_costs_at_most_1_6_bare_starts_at_any_size(home: Path) -> None:
    rows = hook_cost.measure(home, RECORDS, 25)
    assert rows["short"]["ratio"] <= BUDGET, rows
    assert rows["long"]["ratio"] <= BUDGET, rows
    flat = rows["long"]["cpu_ms"] / rows["short"]["cpu_ms"]
    assert flat < 1.25, "work grows with what is new, not with the transcript"
