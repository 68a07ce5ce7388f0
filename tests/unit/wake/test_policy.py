"""The table of the design: what a session is told, row by row; the first match wins."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swapcache.config import DEFAULTS
from swapcache.wake import policy
from swapcache.wake.policy import Case, Decision

HOUR, DAY = 3600.0, 86400.0


def case(**changes: Any) -> Case:
    """Open work of a session that crashed an hour ago, seen by its owner."""
    return Case("owner", "crash", 0, True, HOUR)._replace(**changes)


def decide(form: str = "auto", **changes: Any) -> Decision:
    """The decision with the default settings."""
    return policy.decide(case(**changes), DEFAULTS, form)


def with_policy(section: str = "policy", **changes: Any) -> dict[str, Any]:
    """The default settings with some changes."""
    settings = copy.deepcopy(DEFAULTS)
    settings[section] |= changes
    return settings


CASES = st.builds(
    Case,
    st.sampled_from(policy.AUDIENCES),
    st.sampled_from(policy.CAUSES),
    st.integers(0, 3),
    st.booleans(),
    st.floats(-1e9, 1e9),
    st.booleans(),
)


@given(CASES)
def test_every_case_has_a_decision_with_its_row_and_reasons(given_case: Case) -> None:
    made = policy.decide(given_case, DEFAULTS)
    assert made.form in ("full", "delta", "pointer", "living", "nothing")
    assert made.row
    assert f"audience {given_case.audience}" in made.reasons
    assert f"cause {given_case.cause}" in made.reasons


@given(CASES.filter(lambda c: c.audience != "owner"))
def test_only_the_owner_is_told_anything(given_case: Case) -> None:
    assert policy.decide(given_case, DEFAULTS).form == "nothing"


def test_a_child_run_is_told_what_the_settings_say() -> None:
    settings = with_policy(child="pointer")
    assert policy.decide(case(audience="child"), settings).form == "pointer"
    assert policy.decide(case(audience="group"), settings).form == "nothing"
    assert policy.decide(case(audience="cron"), settings).form == "nothing"


@pytest.mark.parametrize("cause", ["crash", "new", "reset", "unknown", "daily"])
def test_while_another_session_lives_one_line_names_it(cause: str) -> None:
    made = decide(living=1, candidate=False, cause=cause)
    assert (made.form, made.row) == ("living", "liveness")
    assert any("1 other session" in reason for reason in made.reasons)


def test_without_open_work_nothing_is_told() -> None:
    made = decide(candidate=False)
    assert (made.form, made.row) == ("nothing", "nothing to restore")


@pytest.mark.parametrize("living", [0, 2])
@pytest.mark.parametrize("age", [HOUR, 2 * DAY, 60 * DAY])
@pytest.mark.parametrize(
    ("cause", "form"), [("resume", "delta"), ("compact", "full"), ("overflow", "full")]
)
def test_a_session_with_its_own_history_gets_what_its_context_lacks(
    cause: str, form: str, age: float, living: int
) -> None:
    made = decide(cause=cause, age=age, living=living, candidate=False)
    assert (made.form, made.row) == (form, f"cause {cause}")


@pytest.mark.parametrize("cause", ["new", "clear", "unknown"])
def test_a_person_who_starts_afresh_gets_a_pointer(cause: str) -> None:
    assert decide(cause=cause).form == "pointer"
    assert decide(cause=cause, broken=True).form == "pointer"


def test_a_cause_that_is_not_known_is_treated_as_unknown() -> None:
    made = decide(cause="something else")
    assert (made.form, made.row) == ("pointer", "cause unknown")


def test_a_reset_because_it_broke_gets_the_whole_state() -> None:
    made = decide(cause="reset", broken=True)
    assert (made.form, made.row) == ("full", "cause reset-broken")


def test_a_reset_of_a_session_that_was_well_gets_a_pointer() -> None:
    assert decide(cause="reset").form == "pointer"


@pytest.mark.parametrize("cause", ["crash", "idle", "daily", "restart"])
def test_work_that_was_cut_off_is_told_whole(cause: str) -> None:
    made = decide(cause=cause)
    assert (made.form, made.row, made.stale) == ("full", f"cause {cause}", False)


@pytest.mark.parametrize(
    ("age", "form", "stale"),
    [
        (0.0, "full", False),
        (24 * HOUR, "full", False),
        (24 * HOUR + 1, "full", True),
        (14 * DAY, "full", True),
        (14 * DAY + 1, "pointer", True),
        (400 * DAY, "pointer", True),
        (-299.0, "full", False),
        (-301.0, "full", True),
        (-30 * DAY, "full", True),
    ],
)
@pytest.mark.parametrize("cause", ["crash", "idle", "daily"])
def test_old_work_is_marked_and_very_old_work_is_a_pointer(
    cause: str, age: float, form: str, stale: bool
) -> None:
    made = decide(cause=cause, age=age)
    assert (made.form, made.stale) == (form, stale)


def test_a_pointer_stays_a_pointer_at_any_age() -> None:
    assert {decide(cause="new", age=age).form for age in (0.0, 2 * DAY, 60 * DAY)} == {"pointer"}


def test_the_ages_are_settings() -> None:
    settings = with_policy("wake", stale_hours=1, expire_days=2)
    settings["views"]["heartbeat_hours"] = 1
    assert not policy.decide(case(age=2 * HOUR - 1), settings).stale, "two heartbeats"
    assert policy.decide(case(age=2 * HOUR + 1), settings).stale
    assert policy.decide(case(age=2 * DAY + 1), settings).form == "pointer"


@pytest.mark.parametrize(
    "row", "resume restart compact overflow new clear unknown reset crash idle daily".split()
)
@pytest.mark.parametrize("form", ["full", "delta", "pointer", "nothing"])
def test_every_row_is_a_setting_of_one_word(row: str, form: str) -> None:
    assert policy.decide(case(cause=row), with_policy(**{row: form})).form == form


@given(CASES, st.sampled_from(["full", "delta", "pointer"]))
def test_a_form_that_a_person_asks_for_wins(given_case: Case, form: str) -> None:
    made = policy.decide(given_case, DEFAULTS, form)
    assert (made.form, made.row) == (form, "asked for")


def test_a_form_that_was_asked_for_is_still_marked_as_stale() -> None:
    assert decide("full", age=2 * DAY).stale
    assert not decide("full").stale
