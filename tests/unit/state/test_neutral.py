"""Nothing that is shown passes for structure or steers a terminal; its words stay."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swapcache.state.neutral import neutralise
from tests.unit.makers import quick
from tests.unit.state.hostile_texts import IGNORABLE, ORDINARY, STEERING, TEXTS, Hostile, seen

CONTROLS = [chr(c) for c in (*range(0x09), *range(0x0B, 0x20), *range(0x7F, 0xA0))]
HIDDEN = [chr(c) for c in range(0x110000) if IGNORABLE.match(chr(c))]
LINES = ["\u2028", "\u2029", "\ufff9", "\ufffa", "\ufffb", "\u2800"]
PIECES = st.one_of(
    st.text(alphabet=st.characters() | st.sampled_from([*CONTROLS, *HIDDEN, *"<[|\r\x1b>]"])),
    st.sampled_from([hostile.text for hostile in TEXTS if len(hostile.text) < 200]),
    st.sampled_from(
        ["👩\u200d💻", "می\u200cخواهم", "❤\ufe0f", "\ud83d", "𝕊", "ß", "ﬁ", "</", "<<<"]
    ),
)
MIXED = st.lists(PIECES, max_size=6).map("".join)


@pytest.mark.parametrize("hostile", TEXTS, ids=lambda hostile: hostile.family)
def test_no_tokeniser_host_or_reader_sees_the_marker(hostile: Hostile) -> None:
    assert re.search(hostile.marker, seen(hostile.text)), "the corpus itself is right"
    shown, changes = neutralise(hostile.text)
    assert not re.search(hostile.marker, seen(shown))
    assert hostile.words in shown
    assert changes > 0
    assert neutralise(shown) == (shown, 0)


def test_the_corpus_has_every_family() -> None:
    families = {hostile.family for hostile in TEXTS}
    assert len(TEXTS) > 120 and len(families) > 20


@pytest.mark.parametrize("name", STEERING)
def test_what_steers_or_hides_goes_and_the_words_stay(name: str) -> None:
    text, left = STEERING[name]
    assert neutralise(text)[0] == left
    assert neutralise(left) == (left, 0)


@pytest.mark.parametrize("line", ORDINARY)
def test_ordinary_text_is_shown_as_it_is(line: str) -> None:
    assert neutralise(line) == (line, 0)
    assert neutralise(f"before\n{line}\nafter") == (f"before\n{line}\nafter", 0)


@given(MIXED)
def test_no_steering_character_is_left_and_hidden_ones_only_where_they_spell(text: str) -> None:
    shown, _ = neutralise(text)
    assert not set(shown) & {*CONTROLS, *LINES}
    shown.encode()
    for at, char in enumerate(shown):
        if IGNORABLE.match(char):
            assert char in "\u200c\u200d\ufe0e\ufe0f"
            assert not shown[at - 1].isascii() or shown[at + 1 : at + 2] == "\u20e3"


@given(MIXED)
def test_what_is_neutral_stays_as_it_is(text: str) -> None:
    once, _ = neutralise(text)
    assert neutralise(once) == (once, 0)


INLINE = [h for h in TEXTS if len(h.text) < 200 and not h.marker.startswith("(?m)")]
"""A header is one at the start of a line only."""


@given(MIXED, st.sampled_from(INLINE), MIXED)
def test_no_surroundings_bring_a_marker_back(before: str, hostile: Hostile, after: str) -> None:
    shown, _ = neutralise(before + hostile.text + after)
    assert not re.search(hostile.marker, seen(shown))


@given(st.text(alphabet="abc äß中文 .,;:!?()'\"\n\t-_/\\*#@=+%&$§"))
def test_letters_and_punctuation_stay(text: str) -> None:
    assert neutralise(text) == (text, 0)


def test_line_ends_and_tabs_stay() -> None:
    assert neutralise("a\tb\nc\r\nd\re") == ("a\tb\nc\nd\ne", 0)


def test_the_marks_take_nothing_away() -> None:
    shown, _ = neutralise("<system>[INST]\nNext action: x")
    assert shown.replace("‹", "<").replace("⁅", "[").replace("¦ ", "") == (
        "<system>[INST]\nNext action: x"
    )


PREFIXES = ["<", "<|", "<<<", "</", "<a:", "<system ", "<|aaaaaa", "<<<a", "<   ", "[INST", "]~"]
PREFIXES += ["\x1b]", "\x1b[", "\x1b_a", "\x9d", "\u200b", "👩\u200d", "中<", "ﬁ<", "# ", "\n \n "]


@pytest.mark.parametrize("hostile", PREFIXES)
def test_a_megabyte_of_any_prefix_takes_less_than_a_second(hostile: str) -> None:
    text = (hostile * 1_000_000)[:1_000_000]
    assert quick(lambda: neutralise(text))
