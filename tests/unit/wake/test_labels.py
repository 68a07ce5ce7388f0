"""The words of the brief: one key, one meaning in each language; no orders to the reader."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swapcache.wake import labels


def fields(text: str) -> set[str]:
    """Names of the places that a text has for values."""
    return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}


@pytest.mark.parametrize("language", sorted(set(labels.TEXT) - {"en"}))
def test_every_language_has_the_same_words_with_the_same_places(language: str) -> None:
    english, other = labels.TEXT["en"], labels.TEXT[language]
    assert set(other) == set(english)
    assert {k: fields(v) for k, v in other.items()} == {k: fields(v) for k, v in english.items()}
    assert all(text.strip() for text in other.values())


@pytest.mark.parametrize("language", sorted(labels.TEXT))
def test_labels_of_different_parts_differ(language: str) -> None:
    texts = list(labels.TEXT[language].values())
    assert len(set(texts)) == len(texts)


@pytest.mark.parametrize("key", sorted(labels.TEXT["en"]))
def test_no_sentence_orders_the_reader_to_obey(key: str) -> None:
    text = labels.TEXT["en"][key].lower()
    for order in ("you must", "you should", "continue with", "ignore", "obey", "always", "do it"):
        assert order not in text


@pytest.mark.parametrize(
    ("texts", "language"),
    [
        (["fix the parser"], "en"),
        (["把解析器修好"], "zh"),
        (["请看 src/parser.py 的第三行，然后修好它"], "zh"),
        (["fix the 解析器 please, it fails"], "en"),
        (["ok", "请继续做下去"], "zh"),
        (["12345 !?"], "en"),
        ([""], "en"),
        ([], "en"),
    ],
)
def test_the_language_is_the_one_that_the_person_writes(texts: list[str], language: str) -> None:
    assert labels.language(texts) == language


@given(st.lists(st.text(max_size=40), max_size=5))
def test_any_texts_have_a_language_that_is_known(texts: list[str]) -> None:
    assert labels.language(texts) in labels.TEXT
