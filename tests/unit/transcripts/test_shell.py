"""Shell lines taken apart: simple commands, words, and where the program stands."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swapcache.transcripts import shell


@pytest.mark.parametrize(
    ("line", "commands"),
    [
        ("make all", [["make", "all"]]),
        ("a && b|c ; d", [["a"], ["b"], ["c"], ["d"]]),
        ("a\nb", [["a"], ["b"]]),
        ("x=$(a b)", [["x=$"], ["a", "b"]]),
        ("say 'a; b' \"c | d\"", [["say", "a; b", "c | d"]]),
        ("say ''", [["say", ""]]),
        ("say it's", [["say", "its"]]),
        ("", []),
        (" ;; ", []),
    ],
)
def test_a_line_is_split_into_simple_commands(line: str, commands: list[list[str]]) -> None:
    assert shell.commands(line) == commands


@pytest.mark.parametrize(
    ("words", "program"),
    [
        ("make all", "make"),
        ("A=1 B=/x make", "make"),
        ("sudo -E make", "make"),
        ("env A=1 timeout 5 make", "make"),
        ("! make", "make"),
        ("./a=b/run", "./a=b/run"),
        ("A=1", ""),
        ("", ""),
    ],
)
def test_the_program_stands_behind_assignments_and_wrappers(words: str, program: str) -> None:
    found = words.split()
    assert ([*found, ""])[shell.program(found)] == program


@given(st.text(max_size=200))
def test_any_text_is_split_and_no_word_is_made_up(line: str) -> None:
    for words in shell.commands(line):
        assert words
        assert all(set(word) <= set(line) for word in words)
