"""Joining blocks and taking our own frame out of text, with everything around it kept."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swapcache.transcripts.text import (
    FRAME_CLOSE,
    FRAME_END,
    FRAME_OPEN,
    joined,
    mapping,
    string,
    strip_frames,
    strip_tag,
)
from swapcache.wake import fence
from tests.unit.makers import quick

PLAIN = st.text(max_size=40).filter(lambda text: "<<<" not in text)


@given(PLAIN, PLAIN, PLAIN)
def test_B12_our_block_goes_and_the_text_around_it_stays(a: str, body: str, b: str) -> None:
    framed = fence.frame(body, fence.identifier())
    assert strip_frames(f"{a}\n{framed}\n{b}") == f"{a}\n\n{b}"


@given(PLAIN, PLAIN)
def test_B12_several_blocks_go(a: str, b: str) -> None:
    one, two = fence.frame("x", fence.identifier()), fence.frame("y", fence.identifier())
    assert strip_frames(f"{one}{a}{two}{b}") == a + b


@pytest.mark.parametrize("kept", [50, 80, 110])
def test_B12_a_block_that_a_host_cut_short_goes_to_its_end(kept: int) -> None:
    framed = fence.frame("Open tasks: one · two · three " * 3, fence.identifier())
    assert strip_frames("go on\n" + framed[:kept]) == "go on\n"


@given(PLAIN)
def test_text_without_a_frame_is_unchanged(text: str) -> None:
    assert strip_frames(text) == text


@pytest.mark.parametrize(
    "text",
    [
        'why does "<<<SWAPCACHE " show up in my log? please fix it',
        "git shows <<<SWAPCACHE here and >>> there; resolve the conflict",
    ],
)
def test_B12_a_person_who_only_names_the_marker_is_heard_whole(text: str) -> None:
    assert strip_frames(text) == text


def test_a_hosts_reminder_goes_and_the_text_around_it_stays() -> None:
    text = "a<system-reminder>be quick</system-reminder>b<system-reminder>again</system-reminder>c"
    assert strip_tag(text, "system-reminder") == "abc"
    assert strip_tag("a <b>c</b>", "system-reminder") == "a <b>c</b>"


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("as it is", "as it is"),
        (
            [{"type": "text", "text": "A"}, {"type": "tool_use"}, {"type": "text", "text": "B"}],
            "A\nB",
        ),
        (["A", {"type": "text", "text": "B"}], "A\nB"),
        ([{"type": "image", "text": "no"}, {"type": "text", "text": 5}, None, 7], ""),
        ({"type": "text", "text": "no"}, ""),
        (None, ""),
        ([], ""),
    ],
)
def test_A15_all_text_blocks_are_joined_in_order(content: object, text: str) -> None:
    assert joined(content) == text


def test_values_of_another_type_are_taken_for_absent() -> None:
    assert [string(v) for v in ("x", 5, None, ["x"])] == ["x", "", "", ""]
    assert [mapping(v) for v in ({"a": 1}, [1], None, "x")] == [{"a": 1}, {}, {}, {}]


def test_a_mark_of_another_block_does_not_end_ours() -> None:
    one, two = "a" * 32, "b" * 32
    text = (
        f"{FRAME_OPEN}{one}{FRAME_END}x{FRAME_CLOSE}{two}{FRAME_END}y{FRAME_CLOSE}{one}{FRAME_END}z"
    )
    assert strip_frames(text) == "z"
    assert strip_frames(f"hello {text.removesuffix('z')[:60]}", closed=True).startswith("hello <<<")


@pytest.mark.parametrize(
    "piece",
    [
        FRAME_OPEN,
        f"{FRAME_OPEN}{'a' * 32}{FRAME_END}",
        f"{FRAME_CLOSE}{'a' * 32}{FRAME_END}",
        f"{FRAME_OPEN}{'a' * 32}{FRAME_END}{FRAME_CLOSE}{'a' * 32}{FRAME_END}",
        "<system-reminder>",
        "<system-reminder></system-reminder>x",
    ],
)
@pytest.mark.parametrize("closed", [False, True])
def test_a_megabyte_of_marks_takes_less_than_a_second(piece: str, closed: bool) -> None:
    text = "words " + (piece * 100_000)[:1_000_000]
    assert quick(lambda: strip_tag(strip_frames(text, closed=closed), "system-reminder"))
    assert quick(lambda: strip_tag(text, "system-reminder"))
