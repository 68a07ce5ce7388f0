"""Message parts of Google's API: words, calls, results, a shell's report."""

from typing import Any

import pytest

from swapcache.model import ToolCall, ToolResult
from swapcache.transcripts import origins, parts


def result(name: str = "run_shell_command", **response: Any) -> ToolResult:
    """The result in such an answer."""
    given = {"functionResponse": {"id": "c1", "name": name, "response": response}}
    (found,) = parts.results(parts.several(given), origins.GEMINI)
    return found


def test_parts_are_given_in_many_ways() -> None:
    for content in ("a", ["a"], [{"text": "a"}], {"text": "a"}):
        assert parts.words(parts.several(content)) == ["a"]
    assert parts.several(None) == [] and parts.several([None, 7, []]) == []


def test_thoughts_and_empty_texts_are_no_words() -> None:
    given = [{"text": "hm", "thought": True}, {"text": ""}, {"text": 7}, {"text": "a"}]
    assert parts.words(parts.several(given)) == ["a"]


def test_a_call_has_an_id_a_name_and_arguments() -> None:
    call = {"functionCall": {"id": "c1", "name": "glob", "args": {"pattern": "*"}}}
    assert parts.calls([call]) == (ToolCall("c1", "glob", {"pattern": "*"}),)
    assert parts.calls([{"functionCall": None}]) == (ToolCall("", "", {}),)


@pytest.mark.parametrize(
    ("report", "printed", "failed"),
    [
        ("Output: hi\nProcess Group PGID: 7", "hi", False),
        (
            "<untrusted_context>\nOutput: hi\nProcess Group PGID: 7\n</untrusted_context>",
            "hi",
            False,
        ),
        ("Output: no\nExit Code: 2\nProcess Group PGID: 7", "no", True),
        ("Output: (empty)\nExit Code: 0", "", False),
        ("Output: half\nSignal: 9", "half", True),
        ("Output: (empty)\nError: spawn failed\nExit Code: 1", "(empty)\nspawn failed", True),
        (
            "Command: make\nDirectory: (root)\nOutput: a\nExit Code: 3\nb\nExit Code: 0",
            "a\nExit Code: 3\nb",
            False,
        ),
        ("[main 3f2a9bc] subject", "[main 3f2a9bc] subject", False),
    ],
)
def test_a_shells_report_is_what_the_command_printed_and_whether_it_failed(
    report: str, printed: str, failed: bool
) -> None:
    assert result(output=report) == ToolResult("c1", printed, failed)


def test_a_result_of_another_tool_is_kept_as_it_is() -> None:
    text = "Output: hi\nExit Code: 2"
    assert result("read_file", output=text) == ToolResult("c1", text, False)
    assert result("read_file", error="no such file") == ToolResult("c1", "no such file", True)
    assert result("mcp", content=[{"text": "a"}, {"text": "b"}]).text == "a\nb"


def test_a_fenced_result_is_a_strangers() -> None:
    mark = "0123456789abcdef" * 2
    assert result("read_file", output=f"<<<SWAPCACHE EXTERNAL {mark}>>>\nx").network
