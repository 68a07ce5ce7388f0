"""Times as hosts write them, and how old they are; any text has an age."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swapcache.store import times

NOW = "2026-11-30T12:00:00Z"
ANY = st.text(max_size=30) | st.datetimes(timezones=st.none() | st.timezones()).map(
    lambda found: found.isoformat()
)


@pytest.mark.parametrize(
    ("wall", "age"),
    [
        ("2026-11-30T12:00:00Z", 0),
        ("2026-11-30T11:00:00.000Z", 3600),
        ("2026-11-30T11:00:00", 3600),
        ("2026-11-30T20:00:00+08:00", 0),
        ("2026-11-30T06:30:00-05:30", 0),
        ("2026-11-30", 43200),
        ("2026-11-30T12:05:00Z", -300),
        ("2025-11-30T12:00:00Z", 365 * 86400),
        ("", 0),
        ("yesterday", 0),
        ("2026-13-30T12:00:00Z", 0),
    ],
)
def test_an_age_is_counted_in_seconds_over_zones(wall: str, age: float) -> None:
    assert times.age(wall, NOW) == age


def test_an_age_without_a_now_is_zero() -> None:
    assert times.age(NOW, "later") == 0


@given(ANY, ANY)
def test_any_text_has_an_age_and_turned_around_it_is_the_opposite(one: str, two: str) -> None:
    assert times.age(one, two) == -times.age(two, one)


@given(ANY)
def test_any_text_can_be_shown_and_shown_again(wall: str) -> None:
    assert times.shown(times.shown(wall)) == times.shown(wall)


def test_a_time_is_shown_in_whole_seconds_with_its_zone() -> None:
    assert times.shown("2026-11-30T12:00:00.987Z") == "2026-11-30T12:00:00+00:00"
    assert times.shown("2026-11-30T20:00:00+08:00") == "2026-11-30T20:00:00+08:00"
    assert times.shown("2026-11-30T12:00:00") == "2026-11-30T12:00:00+00:00"
    assert times.shown("soon") == "soon"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0 h"),
        (3599, "0 h"),
        (3600, "1 h"),
        (86399, "23 h"),
        (86400, "1 d 0 h"),
        (3 * 86400 + 5 * 3600, "3 d 5 h"),
        (-1, "its clock was ahead"),
    ],
)
def test_an_age_is_told_in_days_and_hours(seconds: float, words: str) -> None:
    assert times.words(seconds) == words
