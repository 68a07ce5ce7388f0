"""The token estimate: never below a quarter of the bytes, and additive enough to budget with."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swapcache.context.tokens import estimate


@given(st.text(max_size=300))
def test_the_estimate_is_never_below_a_quarter_of_the_bytes(text: str) -> None:
    assert estimate(text) * 4 >= len(text.encode())


@given(st.text(max_size=100), st.text(max_size=100))
def test_parts_estimated_apart_are_never_less_than_the_whole(one: str, two: str) -> None:
    assert estimate(one) + estimate(two) >= estimate(one + two)


@given(st.text(max_size=100), st.text(max_size=30))
def test_more_text_is_never_fewer_tokens(one: str, two: str) -> None:
    assert estimate(one + two) >= estimate(one)


def test_no_text_is_no_token_and_any_text_is_one() -> None:
    assert estimate("") == 0
    assert estimate("a") == 1


def test_half_of_an_emoji_is_estimated() -> None:
    assert estimate("\ud83d") >= 1


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("the quick brown fox jumps over the lazy dog " * 10, 100),
        ("请把解析器修好然后再跑一遍测试" * 10, 130),
        ("9fceb02d0ae598e95dc970b74767f19372d61af8", 15),
        ("🙂" * 20, 20),
        ("{[()]};:!=<>" * 10, 50),
    ],
)
def test_scripts_weigh_what_was_measured_for_them(text: str, tokens: int) -> None:
    assert tokens <= estimate(text) <= tokens * 1.6
