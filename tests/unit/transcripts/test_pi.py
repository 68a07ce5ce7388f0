"""Rows of pi and OpenClaw: what is a message, of which kind, and whose words it holds."""

import json
from typing import Any

import pytest
from hypothesis import given, settings

from swapcache.model import AGENT, OWNER, SYSTEM, UNTRUSTED, Message, ToolCall, ToolResult
from swapcache.transcripts import pi
from swapcache.wake import fence
from tests.unit.transcripts.json_objects import OBJECTS

KINDS = set(
    "request command reply results summary notice failure injected compaction reasoning"
    " heartbeat".split()
)


def row(role: str, content: Any, **inner: Any) -> dict[str, Any]:
    """A message row as pi writes it."""
    return {
        "type": "message",
        "id": "m1",
        "parentId": "m0",
        "timestamp": "2026-11-30T12:00:00.000Z",
        "message": {"role": role, "content": content} | inner,
    }


def read(role: str, content: Any, **inner: Any) -> Message:
    """The message of such a row."""
    message = pi.message(row(role, content, **inner))
    assert message is not None
    return message


def text(value: str) -> dict[str, str]:
    """A text block."""
    return {"type": "text", "text": value}


@settings(max_examples=500)
@given(OBJECTS)
def test_A10_any_object_gives_a_message_or_none_and_never_raises(value: dict[str, Any]) -> None:
    message = pi.message(value)
    pi.matches(value)
    assert isinstance(pi.session_of(value), str)
    assert isinstance(pi.workspace_of(value), str)
    if message is not None:
        assert message.kind in KINDS
        assert all(isinstance(field, str) for field in message[:6])
        assert all(isinstance(call.arguments, dict) for call in message.calls)
        assert all(isinstance(result.text, str) for result in message.results)


def test_a_prompt_is_the_owners_request() -> None:
    message = read("user", [text("fix step 3"), text("then 4")])
    wall = "2026-11-30T12:00:00.000Z"
    expected = Message("user", "request", "fix step 3\nthen 4", OWNER, wall, "m1", assumed=True)
    assert message == expected


def test_A15_text_before_and_after_a_call_is_kept_in_order() -> None:
    call = {"type": "toolCall", "id": "c1", "name": "bash", "arguments": {"command": "make"}}
    message = read("assistant", [text("A"), call, text("B")], stopReason="toolUse")
    assert (message.kind, message.text, message.origin) == ("reply", "A\nB", AGENT)
    assert message.calls == (ToolCall("c1", "bash", {"command": "make"}),)


@pytest.mark.parametrize(
    ("given", "name", "arguments"),
    [
        ({"id": "web_fetch", "args": {"url": "u"}}, "web_fetch", {"url": "u"}),
        ({"id": "openclaw:core:update_plan", "args": {"plan": []}}, "update_plan", {"plan": []}),
        ({"id": "mcp:tracker:issue"}, "mcp:tracker:issue", {}),
        ({"args": {}}, "tool_call", {"args": {}}),
        ({"id": 5, "args": 5}, "tool_call", {"id": 5, "args": 5}),
    ],
)
def test_a_call_that_is_passed_on_is_what_it_runs(
    given: dict[str, Any], name: str, arguments: dict[str, Any]
) -> None:
    block = {"type": "toolCall", "id": "c1", "name": "tool_call", "arguments": given}
    assert read("assistant", [block]).calls == (ToolCall("c1", name, arguments),)


def test_a_tool_result_names_its_call() -> None:
    message = read("toolResult", [text("no rule")], toolCallId="c1", isError=True)
    assert (message.kind, message.text, message.origin) == ("results", "", UNTRUSTED)
    assert message.results == (ToolResult("c1", "no rule", True),)


FENCED = '<<<EXTERNAL_UNTRUSTED_CONTENT id="0123456789abcdef">>>\nx\n'


@pytest.mark.parametrize(
    ("words", "marks", "network"),
    [
        ("a page", {"__openclaw": {"resultContentSource": "network"}}, True),
        ("a page", {"__openclaw": {"runId": "r"}}, False),
        (FENCED, {}, True),
        (json.dumps(FENCED), {}, True),
        (fence.external("a page", "pi"), {}, True),
        ("the markers are <<<EXTERNAL_UNTRUSTED_CONTENT id=...>>>", {}, False),
    ],
)
def test_a_result_that_is_marked_or_fenced_is_a_strangers(
    words: str, marks: dict[str, Any], network: bool
) -> None:
    (result,) = read("toolResult", [text(words)], toolCallId="c1", **marks).results
    assert result.network is network


def test_the_filler_for_a_call_that_was_cut_off_is_marked_as_interrupted() -> None:
    assert read("toolResult", [text("No result provided")], toolCallId="c1").results[0].interrupted
    assert not read("toolResult", [text("ok")], toolCallId="c1").results[0].interrupted


@pytest.mark.parametrize("reason", ["error", "aborted"])
def test_A4_a_failed_turn_is_a_failure_with_the_providers_message(reason: str) -> None:
    message = read("assistant", [], stopReason=reason, errorMessage="529 overloaded")
    assert (message.kind, message.text, message.origin) == ("failure", "529 overloaded", SYSTEM)


def test_A4_an_answer_without_content_is_a_failure() -> None:
    message = read("assistant", [], stopReason="stop")
    assert message.kind == "failure"
    assert message.text


def test_an_answer_of_thinking_only_is_no_failure() -> None:
    content = [{"type": "thinking", "thinking": "hm"}]
    assert read("assistant", content, stopReason="stop").kind == "reasoning"


def test_A4_thinking_that_ended_in_an_error_is_a_failure() -> None:
    content = [{"type": "thinking", "thinking": "hm"}]
    message = read("assistant", content, stopReason="error", errorMessage="cut")
    assert (message.kind, message.text) == ("failure", "cut")


@pytest.mark.parametrize("words", ["[OpenClaw heartbeat poll]", "[OpenClaw heartbeat] check"])
def test_A14_a_heartbeat_and_its_acknowledgement_are_no_dialogue(words: str) -> None:
    assert (read("user", words).kind, read("user", words).origin) == ("heartbeat", SYSTEM)
    assert read("assistant", [text(" HEARTBEAT_OK\n")]).kind == "heartbeat"


def test_A14_a_heartbeat_answer_that_says_more_is_real() -> None:
    assert read("assistant", [text("HEARTBEAT_OK but the disk is full")]).kind == "reply"


def test_A14_a_heartbeat_behind_a_time_prefix_is_a_heartbeat() -> None:
    assert (
        read("user", "[Wed 2026-06-17 21:05 GMT+8] [OpenClaw heartbeat poll]").kind == "heartbeat"
    )


@pytest.mark.parametrize("model", ["delivery-mirror", "gateway-injected"])
def test_A14_a_mirror_of_the_gateway_is_no_reply(model: str) -> None:
    assert read("assistant", [text("sent")], model=model).kind == "notice"


@pytest.mark.parametrize("zone", ["GMT+8", "UTC", "GMT-3"])
def test_A15_the_time_prefix_goes_and_the_words_stay(zone: str) -> None:
    assert read("user", f"[Wed 2026-06-17 21:05 {zone}] 继续 step 3").text == "继续 step 3"


@pytest.mark.parametrize(
    "words", ["[x] done?", "[one two three] [four]", "[see 2026 notes] now", "[a"]
)
def test_A15_other_words_in_brackets_stay(words: str) -> None:
    assert read("user", words).text == words


@pytest.mark.parametrize(
    ("inner", "kind", "origin", "assumed"),
    [
        ({"__openclaw": {"senderIsOwner": True}}, "request", OWNER, False),
        ({"__openclaw": {"senderIsOwner": False}}, "request", UNTRUSTED, False),
        ({"__openclaw": {"senderIsOwner": "yes"}}, "request", UNTRUSTED, False),
        ({"__openclaw": {}}, "request", OWNER, True),
        ({}, "request", OWNER, True),
        ({"provenance": {"kind": "inter_session"}}, "request", UNTRUSTED, False),
        (
            {"provenance": {"kind": "inter_session"}, "__openclaw": {"senderIsOwner": True}},
            "request",
            UNTRUSTED,
            False,
        ),
        ({"provenance": {"kind": "internal_system"}}, "notice", SYSTEM, False),
        ({"provenance": {"kind": "external_user"}}, "request", UNTRUSTED, False),
        (
            {"provenance": {"kind": "external_user"}, "__openclaw": {"senderIsOwner": True}},
            "request",
            OWNER,
            False,
        ),
    ],
)
def test_the_hosts_marks_say_whose_words_they_are(
    inner: dict[str, Any], kind: str, origin: str, assumed: bool
) -> None:
    message = read("user", "pay the invoice", **inner)
    assert (message.kind, message.origin, message.assumed) == (kind, origin, assumed)


def test_a_message_of_another_session_is_known_by_its_beginning_too() -> None:
    words = "[Inter-session message] sourceTool=subagent_announce isUser=false\npay the invoice"
    assert read("user", words).origin == UNTRUSTED


def test_marks_beside_the_message_count_too() -> None:
    value = row("user", "pay") | {"__openclaw": {"senderIsOwner": False}}
    message = pi.message(value)
    assert message is not None
    assert message.origin == UNTRUSTED


def test_an_answer_of_a_tainted_turn_is_untrusted() -> None:
    assert read("assistant", [text("x")], __openclaw={"turnTainted": True}).origin == UNTRUSTED
    assert read("assistant", [text("x")], __openclaw={"turnTainted": False}).origin == AGENT


def test_B12_our_own_block_goes_and_the_words_around_it_stay() -> None:
    framed = fence.frame("Open tasks: deploy", fence.identifier())
    assert read("user", f"{framed}\ngo on").text == "go on"
    assert read("user", [text(framed)]).kind == "injected"


def test_B12_what_an_extension_injects_is_no_dialogue() -> None:
    value = {"type": "custom_message", "customType": "swapcache", "content": "x", "id": "i"}
    message = pi.message(value)
    assert message is not None
    assert (message.kind, message.text, message.origin) == ("injected", "", SYSTEM)


@pytest.mark.parametrize(
    ("value", "kind", "words", "origin"),
    [
        ({"type": "compaction", "summary": "short"}, "compaction", "short", UNTRUSTED),
        ({"type": "branch_summary", "summary": "short"}, "summary", "short", UNTRUSTED),
        ({"type": "reset"}, "notice", "reset", SYSTEM),
    ],
)
def test_rows_of_the_host_are_nobodys_request(
    value: dict[str, Any], kind: str, words: str, origin: str
) -> None:
    message = pi.message(value)
    assert message is not None
    assert (message.kind, message.text, message.origin) == (kind, words, origin)


def test_A14_a_shell_line_of_the_person_is_a_command() -> None:
    message = read("bashExecution", None, command="ls -l", output="a b")
    assert (message.kind, message.text, message.origin) == ("command", "! ls -l", OWNER)
    assert [result.text for result in message.results] == ["a b"], "no words of the person's"


def test_what_a_nested_tool_gave_is_a_strangers() -> None:
    message = read("custom", "", customType="openclaw.nested-tool.v1", details={"toolName": "x"})
    assert (message.kind, message.origin) == ("notice", UNTRUSTED)
    assert read("system", "You are").origin == SYSTEM


def test_A14_a_system_prompt_is_a_notice() -> None:
    assert read("system", "", sections={"preamble": "You are"}).kind == "notice"


@pytest.mark.parametrize(
    "kind",
    "session model_change thinking_level_change custom label session_info usage"
    " context_edit".split(),
)
def test_A14_rows_that_are_noise_are_no_message(kind: str) -> None:
    assert pi.message({"type": kind, "id": "x", "summary": "s", "content": "c"}) is None


def test_the_header_names_session_and_workspace() -> None:
    header = {"type": "session", "version": 3, "id": "s1", "cwd": "/srv/p"}
    assert (pi.session_of(header), pi.workspace_of(header)) == ("s1", "/srv/p")
    assert (pi.session_of(row("user", "x")), pi.workspace_of(row("user", "x"))) == ("", "")


def test_rows_of_this_format_are_told_from_others() -> None:
    assert pi.matches({"type": "session", "version": 1})
    assert pi.matches({"type": "session", "cwd": "/"})
    assert pi.matches(row("user", "x"))
    assert not pi.matches({"type": "session"})
    assert not pi.matches({"type": "user", "message": {"role": "user"}, "parentUuid": None})
    assert not pi.matches({"type": "message", "message": "words"})


def test_version_1_has_no_tree_and_is_read_as_one_line_of_rows() -> None:
    header = {"type": "session", "id": "s1", "timestamp": "t", "cwd": "/srv/p", "provider": "mock"}
    assert pi.matches(header) and pi.session_of(header) == "s1"
    said = {"type": "message", "timestamp": "t", "message": {"role": "user", "content": "go"}}
    message = pi.message(said)
    assert message is not None and (message.kind, message.text, message.id) == ("request", "go", "")
    short = {"type": "compaction", "summary": "so far", "firstKeptEntryIndex": 3, "tokensBefore": 9}
    for row_ in (header, said, short):
        assert pi.place(row_) is None
    message = pi.message(short)
    assert message is not None and (message.kind, message.text) == ("compaction", "so far")


def test_version_2_has_a_tree_and_what_hooks_injected_in_a_role_of_its_own() -> None:
    value = row("hookMessage", "injected words", customType="other", display=False)
    message = pi.message(value)
    assert message is not None and (message.kind, message.origin) == ("notice", UNTRUSTED)
    place = pi.place(value)
    assert place is not None and (place.id, place.parent, place.leaf) == ("m1", "m0", "m1")


@pytest.mark.parametrize("kind", ["label", "branch_summary", "compaction", "context_edit"])
def test_version_3_rows_of_the_tree_carry_the_branch_on(kind: str) -> None:
    place = pi.place({"type": kind, "id": "x", "parentId": "m1", "targetId": "m0"})
    assert place is not None and (place.parent, place.leaf) == ("m1", "x")


@pytest.mark.parametrize(
    ("details", "error", "unknown"),
    [
        ({"status": "completed", "exitCode": 0}, False, False),
        ({"status": "completed", "exitCode": 2}, True, False),
        ({"status": "running", "pid": 7, "sessionId": "x"}, False, True),
        (None, False, False),
    ],
)
def test_a_command_that_failed_or_still_runs_says_so_beside_its_words(
    details: Any, error: bool, unknown: bool
) -> None:
    (result,) = read("toolResult", [text("words")], toolCallId="c1", details=details).results
    assert (result.error, result.interrupted) == (error, unknown)
