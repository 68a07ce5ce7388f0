"""agmi's at-rest family: nine edits of the store by somebody who holds no key.

REJECTED means that the next session is told that the seal does not verify; what is not proven
stands apart as notes. The attackers differ in what they do with the rows that are derived from the
records (agmi_adapter). One who also holds the witness can put back an older copy of both (T9): no
store that keeps everything on one machine can tell.
"""

from importlib.metadata import version

import pytest
from agmi import check
from agmi.agent.compose import compose

from swapcache.model import Verdict
from swapcache.wake import wake
from tests.outside import agmi_adapter
from tests.outside.agmi_adapter import Adapter, Forgotten, Reopened, Rewound, Untouched, WithWitness
from tests.outside.conftest import Table

SUITE = f"agmi {version('agent-memory-integrity')}, at rest"
TITLE = f"{SUITE} (REJECTED: a start does not call it VERIFIED)"
ATTACKERS = (Adapter, Untouched, Rewound, Forgotten, Reopened)
ALL = sorted(check.LABELS.values())
NINTH = check.LABELS["snapshot_rollback"]


def verdicts(adapter: Adapter, table: Table) -> dict[str, str]:
    """Verdict by edit; noted as a row."""
    found = {row["edit"]: row["verdict"] for row in check.run(adapter)}
    short = {edit.split()[0]: verdict for edit, verdict in found.items()}
    table(TITLE, adapter.name, " ".join(f"{edit} {verdict}" for edit, verdict in short.items()))
    return found


def test_every_record_that_is_seeded_is_told() -> None:
    adapter = Adapter()
    adapter.setup()
    adapter.seed(5)
    woken = adapter.place.told()
    adapter.teardown()
    assert woken.verdict.good and woken.form == "full"
    assert all(f"paint shed {number} blue" in woken.text for number in range(5))


@pytest.mark.parametrize("attacker", ATTACKERS)
def test_every_edit_is_rejected_on_reading(attacker: type[Adapter], table: Table) -> None:
    assert verdicts(attacker(), table) == dict.fromkeys(ALL, "REJECTED")


def test_the_suites_own_command_is_content(capsys: pytest.CaptureFixture[str]) -> None:
    assert check.main(["--adapter", f"{agmi_adapter.__name__}:Adapter"]) == 0
    assert capsys.readouterr().out.count("REJECTED") == len(ALL)


def test_with_the_witness_in_his_hands_he_can_only_roll_back(table: Table) -> None:
    found = verdicts(WithWitness(), table)
    assert found.pop(NINTH) == "ACCEPTED"
    assert set(found.values()) == {"REJECTED"}


def test_it_is_the_judging_that_rejects(monkeypatch: pytest.MonkeyPatch) -> None:
    tell = wake.tell

    def lenient(*given: object, **named: object) -> wake.Woken:
        woken = tell(*given, **named)  # type: ignore[arg-type]  # handed on as they came
        return woken._replace(verdict=Verdict("VERIFIED"))

    monkeypatch.setattr(wake, "tell", lenient)
    found = {row["edit"]: row["verdict"] for row in check.run(Adapter())}
    assert found == dict.fromkeys(ALL, "ACCEPTED")


@pytest.mark.slow
@pytest.mark.parametrize("attacker", [Adapter, Rewound, Forgotten])
def test_no_two_moves_do_what_one_cannot(attacker: type[Adapter], table: Table) -> None:
    """Edits, genuine writes, restarts and rollbacks in every order of two."""
    _, found = compose(attacker, max_len=2)
    table(TITLE, attacker.name, f"sequences of two moves that are accepted: {len(found)}")
    assert [one.sequence for one in found] == []
