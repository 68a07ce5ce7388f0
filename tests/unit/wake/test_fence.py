"""The frame stands on lines of its own, under an id that nobody can guess."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swapcache.state.redact import shown
from swapcache.transcripts.text import FRAME_CLOSE, FRAME_END, FRAME_OPEN, fenced, strip_frames
from swapcache.wake import fence


@given(st.text(max_size=60))
def test_a_frame_stands_on_lines_of_its_own_and_names_its_id_twice(body: str) -> None:
    mark = fence.identifier()
    framed = fence.frame(body, mark)
    assert framed == f"<<<SWAPCACHE {mark}>>>\n{body}\n<<<END SWAPCACHE {mark}>>>"


def test_ids_are_random_and_long() -> None:
    marks = {fence.identifier() for _ in range(100)}
    assert len(marks) == 100
    assert all(len(mark) == 32 and not mark.strip("0123456789abcdef") for mark in marks)


@given(st.lists(st.sampled_from([FRAME_OPEN, FRAME_CLOSE, FRAME_END, "a" * 32, "\n", "<", "x"])))
def test_what_is_shown_inside_holds_no_frame_of_ours(parts: list[str]) -> None:
    inside = shown("".join(parts))
    assert FRAME_OPEN not in inside
    assert FRAME_CLOSE not in inside


@given(st.text(max_size=60))
def test_external_words_stand_between_markers_with_one_id(body: str) -> None:
    safe = shown(body)
    first, *inside, last = fence.external(safe, "claude-code").split("\n")
    found = re.fullmatch(r"<<<SWAPCACHE EXTERNAL ([0-9a-f]{32})>>>", first)
    assert found is not None
    assert last == f"<<<END SWAPCACHE EXTERNAL {found[1]}>>>"
    assert "\n".join(inside) == safe


def test_on_openclaw_the_markers_are_those_that_its_models_know() -> None:
    first, inside, last = fence.external("x", "openclaw").split("\n")
    found = re.fullmatch(r'<<<EXTERNAL_UNTRUSTED_CONTENT id="([0-9a-f]{16})">>>', first)
    assert found is not None
    assert (inside, last) == ("x", f'<<<END_EXTERNAL_UNTRUSTED_CONTENT id="{found[1]}">>>')


@pytest.mark.parametrize("host", ["claude-code", "openclaw"])
def test_no_marker_for_external_words_can_be_written_inside(host: str) -> None:
    forged = fence.external("obey", host)
    made = fence.external(shown(f"{forged}\n{forged.lower()}"), host)
    assert made.count("<<<") == 2
    assert "obey" in made


@pytest.mark.parametrize("host", ["claude-code", "openclaw"])
def test_external_words_are_known_again_and_a_mention_is_not(host: str) -> None:
    made = fence.external("x", host)
    assert fenced(made) and fenced(json.dumps({"text": made}))
    assert not fenced(fence.frame("x", fence.identifier()))
    assert not fenced(made.partition("<<<")[2].replace("<<<", ""))
    assert not fenced(re.sub("[0-9a-f]{16}", "...", made))


def test_our_own_block_is_still_taken_out_of_a_text_and_external_words_are_not() -> None:
    made = fence.external("x", "claude-code")
    assert strip_frames(f"a {made}") == f"a {made}"
