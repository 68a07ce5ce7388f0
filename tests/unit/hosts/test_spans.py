"""JSON5 edited in place: what is not ours keeps its bytes."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swapcache.hosts import spans

TEXTS = [
    "{}",
    "{\n}\n",
    '{"a": 1}',
    '{\n  "a": 1\n}\n',
    '{\n\t"a": 1,\n\t"b": [1, 2]\n}\n',
    '{\r\n  "a": 1\r\n}\r\n',
    "{\n  // mine\n  a: 1, // one\n  'b': 0x10,\n}\n",
    "{ /* } */ }\n",
    '{"a": 1 // last\n}',
    '\ufeff{"a": "\\u00e9\\"}"}',
    "{a: +1, b: -.5, c: Infinity, d: 1e-3, e: 'it\\'s',}",
]


def compact(text: str) -> str:
    """Without white space: containers that were spread may be closed up."""
    return "".join(text.split())


@pytest.mark.parametrize("text", TEXTS)
def test_a_member_comes_and_goes_and_the_rest_stays(text: str) -> None:
    before = spans.parse(text).value
    put = spans.put(text, ("ours", "deep"), [1])
    assert spans.parse(put).value == {**before, "ours": {"deep": [1]}}
    for line in text.splitlines():
        for part in line.strip(" \t,}{]").split(" // "):  # a comma may come before the comment
            assert part in put, "comments and values keep their bytes"
    back = spans.cut(put, ("ours", "deep"))
    assert compact(back) == compact(text)
    assert back == text or not before, "only an empty object may be closed up"


@pytest.mark.parametrize("text", TEXTS)
def test_the_line_ends_and_the_indentation_of_the_file_are_used(text: str) -> None:
    put = spans.put(text, ("ours",), {"deep": [1]})
    if "\r\n" in text:
        assert "\n" not in put.replace("\r\n", "")
    if "\t" in text:
        assert '\n\t"ours": {\n\t\t"deep"' in put


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(
    value=st.dictionaries(st.text(max_size=4), VALUES, max_size=4),
    indent=st.sampled_from([None, 1, 2, 4, "\t"]),
    ascii_only=st.booleans(),
)
def test_every_json_text_is_read_and_edited_like_its_value(
    value: dict[str, Any], indent: int | str | None, ascii_only: bool
) -> None:
    value.pop("ours", None)
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    assert spans.parse(text).value == value
    put = spans.append(text, ("ours", "list"), {"x": 1})
    assert json.loads(put) == {**value, "ours": {"list": [{"x": 1}]}}
    more = spans.append(put, ("ours", "list"), 2)
    assert json.loads(more) == {**value, "ours": {"list": [{"x": 1}, 2]}}
    assert spans.drop(more, ("ours", "list"), lambda item: item == 2) == put
    back = spans.drop(put, ("ours", "list"), lambda item: True)
    assert back == text or not value


@pytest.mark.parametrize(
    "text",
    ["", "{", '{"a" 1}', '{"a": }', "[1 2]", "{} x", '{"a": "b}', "{a: 1e}", "{a: nope}", "/* {}"],
)
def test_what_is_no_json5_is_refused_with_its_line(text: str) -> None:
    with pytest.raises(spans.SpanError, match="line 1: "):
        spans.parse(text)


def test_items_in_the_middle_go_with_their_comma() -> None:
    text = '{"list": [1, 2, 3]}'
    assert spans.drop(text, ("list",), lambda item: item == 1) == '{"list": [2, 3]}'
    assert spans.drop(text, ("list",), lambda item: item == 2) == '{"list": [1, 3]}'
    assert spans.drop(text, ("list",), lambda item: item == 3) == '{"list": [1, 2]}'
    assert spans.drop(text, ("list",), lambda item: True) == "{}"


@pytest.mark.parametrize(
    "text",
    ['{a: [1, // c\n  "ours", 2\n]}', '{a: [1, // c\n  "ours"]}', '{a: [ // c\n  "ours", 2]}'],
)
def test_nothing_slips_into_a_comment(text: str) -> None:
    left = [item for item in spans.parse(text).value["a"] if item != "ours"]
    dropped = spans.drop(text, ("a",), lambda item: item == "ours")
    assert spans.parse(dropped).value == {"a": left}


def test_a_string_that_goes_on_in_the_next_line_is_read() -> None:
    assert spans.parse('{a: "x\\\r\ny"}').value == {"a": "xy"}


def test_a_text_that_is_nested_too_deeply_is_refused() -> None:
    with pytest.raises(spans.SpanError, match="too deeply"):
        spans.parse("[" * 100_000)


def test_what_somebody_wrote_into_a_container_of_ours_stays() -> None:
    text = '{\n  "ours": {\n    // theirs\n    "x": 1\n  }\n}\n'
    assert "// theirs" in spans.cut(text, ("ours", "x"))


@pytest.mark.parametrize("path", [("a", "b"), ("a", "b", "c")])
def test_something_else_on_the_way_is_refused(path: tuple[str, ...]) -> None:
    with pytest.raises(spans.SpanError, match="a is no object"):
        spans.put('{"a": 1}', path, 2)
    with pytest.raises(spans.SpanError, match="a is no list"):
        spans.append('{"a": 1}', ("a",), 2)
