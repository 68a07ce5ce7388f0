"""Budgets of the end of a transcript: 10 ms over a bare interpreter, 30 MB, whatever its size."""

from pathlib import Path

import pytest

from tests.perf import tail_cost

pytestmark = pytest.mark.perf
SIZES = (5, 80)
OTHER, NOISE = 10, 5
RUNS = 9


def test_the_end_of_a_transcript_costs_the_same_at_any_size(tmp_path: Path) -> None:
    files = tail_cost.prepare(tmp_path, SIZES, OTHER, NOISE)
    rows = tail_cost.measure(files, RUNS, 0)
    assert not any(row["failed"] for row in rows.values()), rows
    assert tail_cost.over(rows, SIZES) == [], rows
