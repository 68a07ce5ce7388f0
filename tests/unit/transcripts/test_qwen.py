"""Qwen Code: the host's own marks, calls through another tool, rows beside the branch."""

from typing import Any

import pytest

from swapcache.model import AGENT, OWNER, SYSTEM, UNTRUSTED, Message, ToolCall, ToolResult
from swapcache.transcripts import claude_code, qwen
from swapcache.transcripts.tree import Place

MARK = "0123456789abcdef" * 2
BLOCK = f"<<<SWAPCACHE {MARK}>>>\nwords\n<<<END SWAPCACHE {MARK}>>>"


def row(kind: str, *parts: Any, **more: Any) -> dict[str, Any]:
    """A row as Qwen Code writes it."""
    marks = {"user": "real_user", "assistant": "assistant_output", "tool_result": "tool_result"}
    return {
        "uuid": "u2",
        "parentUuid": "u1",
        "sessionId": "s1",
        "timestamp": "t",
        "type": kind,
        "provenance": marks.get(kind, "system"),
        "cwd": "/srv/p",
        "message": {"role": "user", "parts": list(parts)},
        **more,
    }


def read(kind: str, *parts: Any, **more: Any) -> Message:
    """The message of such a row."""
    message = qwen.message(row(kind, *parts, **more))
    assert message is not None
    return message


def text(value: str, **more: Any) -> dict[str, Any]:
    """A text part."""
    return {"text": value, **more}


def test_what_the_host_calls_the_users_is_the_owners() -> None:
    message = read("user", text("fix step 3"))
    assert message == Message("user", "request", "fix step 3", OWNER, "t", "u2")


def test_the_text_as_it_was_shown_is_the_clean_one() -> None:
    hook = "<qwen:user-prompt-submit-context>\nnotes\n</qwen:user-prompt-submit-context>"
    start = f"{qwen.HIDDEN}\nnotes\n</qwen:session-start-context>"
    shown = read("user", text("fix it"), text(hook), systemPayload={"displayText": "fix it"})
    assert shown.text == "fix it"
    assert read("user", text(f"{start}\n\nfix it"), text(hook)).text == "fix it"
    assert read("user", text(hook)).kind == "injected"
    assert read("user", text(BLOCK)).kind == "injected"


@pytest.mark.parametrize(
    ("more", "kind", "origin"),
    [
        ({"subtype": "notification", "provenance": "system"}, "notice", SYSTEM),
        ({"subtype": "cron", "provenance": "system"}, "notice", SYSTEM),
        ({"subtype": "goal_runtime", "provenance": "goal_runtime"}, "notice", UNTRUSTED),
        ({"provenance": "made up later"}, "request", UNTRUSTED),
        ({"subtype": "mid_turn_user_message"}, "request", OWNER),
    ],
)
def test_A14_the_marks_say_whose_words_they_are(
    more: dict[str, Any], kind: str, origin: str
) -> None:
    message = read("user", text("do it"), **more)
    assert (message.kind, message.origin) == (kind, origin)


def test_rows_of_older_versions_have_no_mark_and_are_assumed_to_be_the_owners() -> None:
    old = row("user", text("fix it"))
    del old["provenance"]
    message = qwen.message(old)
    assert message is not None and (message.origin, message.assumed) == (OWNER, True)


def test_words_and_calls_are_a_reply_and_thoughts_are_none() -> None:
    call = {"functionCall": {"id": "c1", "name": "run_shell_command", "args": {"command": "make"}}}
    message = read("assistant", text("hm", thought=True), text("I build."), call)
    assert (message.kind, message.text, message.origin) == ("reply", "I build.", AGENT)
    assert message.calls == (ToolCall("c1", "run_shell_command", {"command": "make"}),)
    assert read("assistant", text("hm", thought=True)).kind == "reasoning"


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [({"url": "https://a.b"}, {"url": "https://a.b"}), ('{"url": "x"}', {"url": "x"})]
    + [(broken, {"arguments": broken}) for broken in ("no JSON", "[" * 100_000)],
)
def test_a_call_through_another_tool_is_known_by_what_it_calls(arguments: Any, meant: Any) -> None:
    args = {"name": "web_fetch", "arguments": arguments}
    call = {"functionCall": {"id": "c1", "name": "tool_call", "args": args}}
    assert read("assistant", call).calls == (ToolCall("c1", "web_fetch", meant),)


SHELL = (
    "Command: make\nDirectory: (root)\nOutput: one\ntwo\nError: (none)\nExit Code: {}\n"
    "Signal: (none)\nProcess Group PGID: (none)"
)


@pytest.mark.parametrize(
    ("response", "outcome", "expected"),
    [
        ({"output": SHELL.format(0)}, {"status": "success"}, ("one\ntwo", False, False)),
        ({"output": SHELL.format(2)}, {}, ("one\ntwo", True, False)),
        ({"error": SHELL.format(2)}, {"status": "error"}, ("one\ntwo", True, False)),
        ({"output": "x"}, {"status": "cancelled"}, ("x", True, True)),
        (
            {"output": "x"},
            {"status": "cancelled", "executionStatus": "not_started"},
            ("x", True, False),
        ),
    ],
)
def test_A12_results_say_what_came_of_a_call(
    response: dict[str, Any], outcome: dict[str, Any], expected: tuple[str, bool, bool]
) -> None:
    given = {"functionResponse": {"id": "c1", "name": "run_shell_command", "response": response}}
    message = read("tool_result", given, toolCallResult=outcome)
    assert (message.kind, message.origin) == ("results", UNTRUSTED)
    (result,) = message.results
    assert result == ToolResult("c1", *expected)


def system(subtype: str, **payload: Any) -> Message | None:
    """The message of a row of the host's own."""
    return qwen.message(row("system", subtype=subtype, systemPayload=payload))


def test_what_the_hosts_own_rows_tell() -> None:
    history = [{"role": "user", "parts": [text("all in short")]}, {"role": "model"}]
    compaction = system("chat_compression", compressedHistory=history)
    assert compaction is not None and compaction.text == "all in short"
    assert (compaction.kind, compaction.origin) == ("compaction", UNTRUSTED)
    command = system("slash_command", phase="invocation", rawCommand="/model")
    assert command is not None and (command.kind, command.text) == ("command", "/model")
    assert system("slash_command", phase="result", rawCommand="/model") is None
    error = {"event.name": "qwen-code.api_error", "error_message": "503"}
    failed = system("ui_telemetry", uiEvent=error)
    assert failed is not None and (failed.kind, failed.text) == ("failure", "503")
    assert system("ui_telemetry", uiEvent={**error, "subagent_id": "x"}) is None
    for noise in ("ui_telemetry", "attribution_snapshot", "custom_title", "of tomorrow"):
        assert system(noise) is None


def test_a_childs_rows_are_recorded_and_not_what_happened_here() -> None:
    message = read("user", text("look"), isSidechain=True)
    assert message.sidechain and message.origin == UNTRUSTED


@pytest.mark.parametrize(
    ("value", "place"),
    [
        (row("user"), Place("u2", "u1", "u2", True)),
        (row("assistant"), Place("u2", "u1", "u2", False)),
        (row("user", subtype="notification"), Place("u2", "u1", "u2", False)),
        (row("system", subtype="rewind"), Place("u2", "u1", "u2", True)),
        (row("system", subtype="custom_title"), Place("u2", "u1", None, False)),
        (row("user", parentUuid=None), Place("u2", "", "u2", True)),
        (row("user", uuid=7), None),
    ],
)
def test_where_a_row_hangs(value: dict[str, Any], place: Place | None) -> None:
    assert qwen.place(value) == place


def test_rows_of_this_format_are_told_from_claude_codes() -> None:
    old = row("user", text("x"))
    del old["provenance"]
    for value in (row("user", text("x")), old, row("system", systemPayload={}), row("tool_result")):
        assert qwen.matches(value) and not claude_code.matches(value)
    claude = {"type": "user", "uuid": "u", "parentUuid": None, "message": {"content": "x"}}
    assert claude_code.matches(claude) and not qwen.matches(claude)
    assert (qwen.session_of(row("user")), qwen.workspace_of(row("user"))) == ("s1", "/srv/p")
