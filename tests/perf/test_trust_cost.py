"""Budgets of the seal: 3 s of CPU for 100,000 records, a twentieth of the hook's CPU."""

from pathlib import Path

import pytest

from tests.perf import trust_cost

pytestmark = pytest.mark.perf
RECORDS = 100_000
RUNS = 150
ROOM = 0.03
"""The share wavers by a hundredth from one measurement of RUNS to the next on a shared machine; to
load OpenSSL for the seal, which is what this guards against, adds a tenth."""


def test_100000_records_are_verified_in_3_s(home: Path) -> None:
    rows = trust_cost.verifying(home, RECORDS)
    assert rows["verify"]["cpu_s"] <= trust_cost.VERIFY_S, rows
    assert rows["command"]["cpu_s"] <= trust_cost.VERIFY_S, rows


def test_sealing_adds_a_twentieth_to_the_hook(home: Path) -> None:
    rows = trust_cost.sealing(home, RUNS)
    assert rows["with"]["share"] <= trust_cost.SHARE + ROOM, rows
