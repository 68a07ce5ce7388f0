"""A host's configuration keeps the form that its owner gave it."""

import json

import pytest

from swapcache.hosts import rendering


@pytest.mark.parametrize("indent", [1, 2, 4, "\t"])
def test_the_owners_indentation_is_kept(indent: int | str) -> None:
    before, after = (json.dumps({"a": {"b": b}}, indent=indent) + "\n" for b in (1, 2))
    assert rendering.render({"a": {"b": 2}}, before) == after


def test_the_same_value_is_the_same_text() -> None:
    odd = '{"a":1 ,\n\n "b": [ ]}'
    assert rendering.render({"b": [], "a": 1}, odd) == odd


def test_half_a_character_is_escaped_and_chinese_is_not() -> None:
    assert "中文" in rendering.render({"a": "中文"}, "")
    text = rendering.render({"a": "\ud800"}, "")
    assert json.loads(text) == {"a": "\ud800"} and text.encode()
