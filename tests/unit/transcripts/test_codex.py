"""Codex rollouts of three generations: what is a message, of which kind, and where it went back."""

import json
from typing import Any

import pytest

from swapcache.model import AGENT, OWNER, SYSTEM, UNTRUSTED, Message, ToolCall, ToolResult
from swapcache.transcripts import codex
from swapcache.transcripts.tree import Back, Place

MARK = "0123456789abcdef" * 2
BLOCK = f"<<<SWAPCACHE {MARK}>>>\nwords\n<<<END SWAPCACHE {MARK}>>>"


def item(kind: str, **inner: Any) -> Message | None:
    """The message of a response item in an envelope."""
    row = {"timestamp": "t", "type": "response_item", "payload": {"type": kind, **inner}}
    return codex.message(row)


def said(role: str, *parts: tuple[str, str], **more: Any) -> Message:
    """A message of (text, label) parts; without labels when none is given."""
    content = [{"type": "input_text", "text": text} for text, _ in parts]
    labels = [label for _, label in parts]
    marks = {"content_item_kinds": labels} if any(labels) else {}
    inner = {"internal_chat_message_metadata_passthrough": marks} if marks else {}
    payload = {"type": "message", "id": "m1", "role": role, "content": content, **inner}
    found = codex.message({"timestamp": "t", "type": "response_item", "payload": payload, **more})
    assert found is not None
    return found


def result(output: Any) -> ToolResult:
    """The result in an output item."""
    found = item("function_call_output", call_id="c1", output=output)
    assert found is not None and (found.kind, found.origin) == ("results", UNTRUSTED)
    return found.results[0]


def call(kind: str, **inner: Any) -> ToolCall:
    """The call in an item."""
    found = item(kind, **inner)
    assert found is not None and (found.kind, found.text, found.origin) == ("reply", "", AGENT)
    return found.calls[0]


def test_words_that_the_host_calls_the_users_are_the_owners() -> None:
    message = said("user", ("fix step 3", "user.text"))
    assert message == Message("user", "request", "fix step 3", OWNER, "t", "m1")


def test_words_without_a_label_are_assumed_to_be_the_owners() -> None:
    message = said("user", ("fix step 3", ""))
    assert (message.kind, message.origin, message.assumed) == ("request", OWNER, True)


def test_only_the_parts_that_the_user_said_are_the_request() -> None:
    message = said(
        "user",
        ("<cwd>", "environments.environment_context"),
        ("a", "user.text"),
        ("b", "user.text"),
    )
    assert (message.kind, message.text) == ("request", "a\nb")


@pytest.mark.parametrize(
    ("label", "kind", "origin"),
    [
        ("environments.environment_context", "notice", SYSTEM),
        ("agents_md.instructions", "notice", SYSTEM),
        ("made.up.later", "notice", UNTRUSTED),
        ("hooks.additional_context", "injected", SYSTEM),
        ("compaction.summary", "summary", UNTRUSTED),
    ],
)
def test_A14_what_the_host_says_in_the_users_place_is_no_request(
    label: str, kind: str, origin: str
) -> None:
    message = said("user", ("do this", label))
    assert (message.kind, message.origin) == (kind, origin)


@pytest.mark.parametrize("start", codex.STARTS)
def test_A14_host_text_without_a_label_is_known_by_how_it_begins(start: str) -> None:
    assert said("user", (f"\n{start} and more", "")).kind == codex.STARTS[start]
    assert said("user", (f"What is {start}?", "")).kind == "request"


def test_what_another_agent_reports_is_a_strangers() -> None:
    message = said("user", ("<subagent_notification>it is done</subagent_notification>", ""))
    assert (message.kind, message.origin) == ("notice", UNTRUSTED)


def test_a_shell_line_of_the_person_is_a_command() -> None:
    text = "<user_shell_command>\n<command>\nls -l\n</command>\n<result>\n\n</result>"
    for label in ("", "shell.user_command"):
        message = said("user", (text, label))
        assert (message.kind, message.text, message.origin) == ("command", "! ls -l", OWNER)


def test_what_an_editor_sends_along_is_not_the_persons() -> None:
    text = (
        "# Context from my IDE setup:\n\n## Open tabs\n- a.py\n\n## My request for Codex:\nfix it"
    )
    assert said("user", (text, "")).text == "fix it"
    assert said("user", ("## My request for Codex: is a title", "")).text.startswith("##")


def test_our_own_block_is_never_captured_again() -> None:
    assert said("user", (f"{BLOCK}\n\nfix it", "user.text")).text == "fix it"
    for role, label in (("user", "user.text"), ("developer", "hooks.additional_context")):
        message = said(role, (BLOCK, label))
        assert (message.kind, message.text, message.origin) == ("injected", "", SYSTEM)


def test_developer_text_is_a_notice() -> None:
    assert said("developer", ("rules", "permissions.instructions")).kind == "notice"


def test_the_words_of_the_model_are_a_reply_and_its_reasoning_is_none() -> None:
    answer = {"role": "assistant", "content": [{"type": "output_text", "text": "done"}]}
    message = item("message", **answer)
    assert message is not None
    assert (message.kind, message.text, message.origin) == ("reply", "done", AGENT)
    thought = item("reasoning", id="r", summary=[{"type": "summary_text", "text": "hm"}])
    assert thought is not None and (thought.kind, thought.text) == ("reasoning", "")


def test_the_summary_of_a_compaction_is_no_reply() -> None:
    answer = {"type": "message", "role": "assistant", "content": [{"text": "short"}]}
    row = {"type": "response_item", "payload": answer, "metadata": {"compaction_output": True}}
    message = codex.message(row)
    assert message is not None and (message.kind, message.origin) == ("summary", UNTRUSTED)
    compacted = codex.message({"type": "compacted", "payload": {"message": "short"}})
    assert compacted is not None
    assert (compacted.kind, compacted.text, compacted.origin) == ("compaction", "short", UNTRUSTED)


def test_calls_of_every_form() -> None:
    given = call("function_call", name="exec_command", call_id="c1", arguments='{"cmd": "make"}')
    assert given == ToolCall("c1", "exec_command", {"cmd": "make"})
    given = call("custom_tool_call", name="apply_patch", call_id="c2", input="*** Begin Patch")
    assert given == ToolCall("c2", "apply_patch", {"input": "*** Begin Patch"})
    given = call("local_shell_call", id="c3", action={"type": "exec", "command": ["ls"]})
    assert given == ToolCall("c3", "shell", {"command": ["ls"]})
    given = call("function_call", name="q", namespace="mcp__db", call_id="c4", arguments="{}")
    assert given.name == "mcp__db__q"


@pytest.mark.parametrize("arguments", ["not JSON", "[1]", "[" * 100_000, "9" * 5000, "", None, 7])
def test_A10_arguments_that_nobody_can_read_are_kept_as_they_are(arguments: Any) -> None:
    given = call("function_call", name="x", call_id="c1", arguments=arguments)
    assert given.arguments == {"arguments": arguments if isinstance(arguments, str) else ""}


def test_a_search_of_the_provider_is_a_call_with_its_result() -> None:
    action = {"type": "search", "query": "prices"}
    message = item("web_search_call", id="w1", status="completed", action=action)
    assert message is not None
    assert message.calls == (ToolCall("w1", "web_search", action),)
    assert message.results == (ToolResult("w1", "", False),)


@pytest.mark.parametrize(
    ("output", "text", "error"),
    [
        (
            "Chunk ID: a\nWall time: 0.1 seconds\nProcess exited with code 0\nOutput:\nok\n",
            "ok\n",
            False,
        ),
        ("Command: make\nProcess exited with code 2\nOutput:\nno rule\n", "no rule\n", True),
        ("Exit code: 1\nWall time: 0.1 seconds\nOutput:\nbad", "bad", True),
        ("Chunk ID: a\nProcess running with session ID 5\nOutput:\nhalf", "half", False),
        (json.dumps({"output": "bad", "metadata": {"exit_code": 1}}), "bad", True),
        (json.dumps({"output": "ok", "metadata": {"exit_code": 0}}), "ok", False),
        (
            "Wall time: 0 seconds\nOutput:\n" + json.dumps({"output": "ok", "metadata": {}}),
            "ok",
            False,
        ),
        ('{"output": "words of a tool"}', '{"output": "words of a tool"}', False),
        ("words\nOutput:\nmore", "words\nOutput:\nmore", False),
        ("unsupported call: update_plan", "unsupported call: update_plan", True),
        ({"content": "bad", "success": False}, "bad", True),
        ({"content": [{"type": "input_text", "text": "ok"}], "success": True}, "ok", False),
        ([{"type": "input_text", "text": "ok"}], "ok", False),
        (None, "", False),
    ],
)
def test_results_of_every_form(output: Any, text: str, error: bool) -> None:
    assert result(output) == ToolResult("c1", text, error)


@pytest.mark.parametrize(
    "output", ["aborted", "aborted by user after 3.2s", "Wall: 1\naborted by user"]
)
def test_A12_a_call_that_was_aborted_has_an_unknown_outcome(output: str) -> None:
    assert result(output).interrupted and not result(output).error
    assert not result("aborted merge, see log").interrupted


def test_events_tell_what_no_item_tells() -> None:
    def event(**payload: Any) -> Message | None:
        return codex.message({"timestamp": "t", "type": "event_msg", "payload": payload})

    aborted = event(type="turn_aborted", reason="interrupted")
    assert aborted is not None and aborted.kind == "interrupted"
    failed = event(type="task_complete", error={"message": "400 no"})
    assert failed is not None and (failed.kind, failed.text) == ("failure", "400 no")
    assert event(type="error", message="x") == failed._replace(text="x")
    assert event(type="task_complete", last_agent_message="done") is None
    for kind in ("user_message", "agent_message", "item_completed", "token_count"):
        assert event(type=kind, message="told a second time") is None


def test_bare_items_of_the_first_generation_are_read() -> None:
    row = {"type": "message", "id": None, "role": "user", "content": [{"text": "fix it"}]}
    message = codex.message(row)
    assert message is not None and (message.kind, message.text) == ("request", "fix it")
    output = {"type": "function_call_output", "call_id": "c1", "output": "ok"}
    message = codex.message(output)
    assert message is not None and message.results == (ToolResult("c1", "ok", False),)
    assert codex.message({"record_type": "state"}) is None


def test_headers_and_later_rows_name_session_and_workspace() -> None:
    meta = {"type": "session_meta", "payload": {"id": "s1", "cwd": "/srv/p"}}
    assert (codex.session_of(meta), codex.workspace_of(meta)) == ("s1", "/srv/p")
    bare = {"id": "s1", "timestamp": "t", "instructions": None}
    assert (codex.session_of(bare), codex.workspace_of(bare)) == ("s1", "")
    turn = {"type": "turn_context", "payload": {"cwd": "/srv/p", "id": "no session"}}
    assert (codex.session_of(turn), codex.workspace_of(turn)) == ("", "/srv/p")
    event = {"type": "event_msg", "payload": {"thread_id": "s1"}}
    assert codex.session_of(event) == "s1", "a damaged header is made up for"
    text = "<environment_context>\n  <cwd>/srv/p</cwd>\n</environment_context>"
    said_so = {"type": "message", "role": "user", "content": [{"text": text}]}
    assert codex.workspace_of(said_so) == "/srv/p"


def test_a_rollback_goes_back_by_requests_and_a_revert_by_ordinal() -> None:
    def event(turns: Any) -> Any:
        rolled = {"type": "thread_rolled_back", "num_turns": turns}
        return codex.place({"type": "event_msg", "payload": rolled})

    assert event(2) == Back(turns=2)
    assert event(0) is None and event("2") is None
    base = {"thread_id": "s1", "end_ordinal_exclusive": 14}
    meta = {"type": "session_meta", "ordinal": 14, "payload": {"id": "s1", "history_base": base}}
    assert codex.place(meta) == Back(before="14")
    fork = {**meta, "payload": {"id": "s2", "history_base": base}}
    assert codex.place(fork) == Place("14", None, "14"), "a fork leaves nothing"
    assert codex.place({"type": "response_item"}) == Place("", None, "")


def test_rows_of_this_format_are_told_from_others() -> None:
    assert codex.matches({"type": "session_meta", "payload": {}})
    assert codex.matches({"type": "message", "role": "user", "content": [{"type": "input_text"}]})
    assert codex.matches({"type": "function_call", "call_id": "c"})
    assert codex.matches({"record_type": "state"})
    assert not codex.matches({"type": "response_item"})
    assert not codex.matches({"type": "message", "message": {"role": "user", "content": []}})
