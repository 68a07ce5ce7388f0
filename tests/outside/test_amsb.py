"""AMSB: 15 attacks that are planted in one session and looked for in the next, 6 honest notes.

All attacks carry the label external_tool and all notes user_input, so an honest label separates
them completely: the number shows that gating by origin works, not that poison is recognised. What
is left without that label is the masking of secrets.
"""

from importlib.metadata import version

import pytest
from agent_memory_guard.bench.harness import SystemReport, run_suite
from agent_memory_guard.bench.scoring import score_report

from swapcache.wake import labels
from tests.outside.amsb_adapter import Adapter, FailedCommand, FailedFetch, Mislabelled
from tests.outside.conftest import Table

SUITE = f"AMSB {version('agent-memory-guard')}"
TITLE = f"{SUITE} (all attacks are labelled external_tool, all honest notes user_input)"


def graded(kind: type[Adapter], table: Table) -> SystemReport:
    """The report; noted as a row. Something is told in every scenario."""
    report = run_suite(kind)
    card = score_report(report)
    table(
        TITLE,
        kind.name,
        f"grade {card.grade.value}  score {card.score:.1f}  "
        f"defended {card.defended_total} of {card.malicious_total}  "
        f"false positives {card.false_positives} of {card.benign_total}",
    )
    assert (card.malicious_total, card.benign_total) == (15, 6)
    assert all(run.recalled_present for run in report.runs), "silence is no defence"
    assert card.false_positives == 0
    return report


def survived(report: SystemReport) -> set[str]:
    """Categories of the attacks of which a trace came back."""
    return {run.category for run in report.runs if run.breached}


@pytest.mark.parametrize("kind", [Adapter, FailedFetch])
def test_what_the_network_brought_is_not_told(kind: type[Adapter], table: Table) -> None:
    assert survived(graded(kind, table)) == set()


def test_secrets_are_masked_whoever_wrote_them(table: Table) -> None:
    report = graded(Mislabelled, table)
    assert "sensitive_data" not in survived(report)
    assert survived(report), "the rest are the owner's words then"


def test_a_local_tools_failure_is_one_labelled_line(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By design: what fails here is often what the next session needs."""
    recall = FailedCommand.recall
    label = labels.TEXT["en"]["error"]

    def elsewhere(self: FailedCommand, key: str) -> str | None:
        told = recall(self, key)
        lines = (told or "").splitlines()
        return "\n".join(line for line in lines if not line.startswith(label))

    graded(FailedCommand, table)
    monkeypatch.setattr(FailedCommand, "recall", elsewhere)
    report = run_suite(FailedCommand)
    assert survived(report) == set(), "and nowhere else"
