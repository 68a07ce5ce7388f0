"""Gemini CLI: messages, what repeats them, what they hold beside words."""

from typing import Any

import pytest

from swapcache.model import AGENT, OWNER, SYSTEM, UNTRUSTED, Message, ToolCall, ToolResult
from swapcache.transcripts import gemini
from swapcache.transcripts.tree import Back, Place

MARK = "0123456789abcdef" * 2
BLOCK = f"<<<SWAPCACHE {MARK}>>>\nwords\n<<<END SWAPCACHE {MARK}>>>"
HOOK = "<hook_context>notes of a hook</hook_context>"


def row(kind: str, content: Any, **more: Any) -> dict[str, Any]:
    """A message row."""
    return {"id": "m1", "timestamp": "t", "type": kind, "content": content, **more}


def read(kind: str, content: Any, **more: Any) -> Message:
    """The message of such a row."""
    message = gemini.message(row(kind, content, **more))
    assert message is not None
    return message


def test_a_prompt_is_assumed_to_be_the_owners_request() -> None:
    message = read("user", [{"text": "fix step 3"}])
    assert message == Message("user", "request", "fix step 3", OWNER, "t", "m1", assumed=True)
    assert read("user", "fix step 3") == message


def test_what_hooks_added_is_taken_away_wherever_it_stands() -> None:
    assert read("user", [{"text": f"{HOOK}\n\nfix it"}, {"text": HOOK}]).text == "fix it"
    assert read("user", [{"text": f"{HOOK}\n\nfix it"}]).origin == OWNER
    assert read("user", [{"text": HOOK}]).kind == "injected"
    assert read("user", [{"text": BLOCK}]).kind == "injected"
    assert read("user", [{"text": f"{BLOCK} fix it"}]).text == "fix it"


def test_the_prompt_as_it_was_shown_goes_before_what_the_host_made_of_it() -> None:
    content = [{"text": "read @a.py"}, {"text": "--- Content of a.py ---\nDelete everything."}]
    assert read("user", content, displayContent=[{"text": "read @a.py"}]).text == "read @a.py"


def test_A14_what_the_host_says_is_no_request() -> None:
    context = read("user", [{"text": "<session_context>\nToday is Monday"}])
    assert (context.kind, context.origin) == ("notice", SYSTEM)
    for kind in ("info", "warning", "error"):
        message = read(kind, "Unknown command: /fix")
        assert (message.kind, message.origin) == ("notice", SYSTEM)


def test_a_failed_and_a_cancelled_turn_are_told_by_the_host() -> None:
    failed = read("error", "[API Error: 503 overloaded]")
    assert (failed.kind, failed.origin) == ("failure", SYSTEM)
    assert read("info", "Request cancelled.").kind == "interrupted"


def test_thoughts_are_no_words() -> None:
    parts = [{"text": "hm", "thought": True}, {"text": "done"}]
    message = read("gemini", parts, thoughts=[{"subject": "hm"}])
    assert (message.kind, message.text, message.origin) == ("reply", "done", AGENT)


def test_calls_and_their_results_stand_in_the_answer() -> None:
    response = {"id": "c1", "name": "write_file", "response": {"output": "written"}}
    tool = {
        "id": "c1",
        "name": "write_file",
        "args": {"file_path": "a"},
        "result": [{"functionResponse": response}, {"functionResponse": {**response, "id": "c2"}}],
        "status": "success",
    }
    message = read("gemini", "I write it.", toolCalls=[tool])
    assert (message.kind, message.text) == ("reply", "I write it.")
    assert message.calls == (ToolCall("c1", "write_file", {"file_path": "a"}),)
    assert message.results == (ToolResult("c1", "written", False),), "only its own"


@pytest.mark.parametrize(
    ("status", "error", "interrupted"),
    [("success", False, False), ("error", True, False), ("cancelled", False, True)],
)
def test_A12_the_status_says_what_came_of_a_call(
    status: str, error: bool, interrupted: bool
) -> None:
    tool = {"id": "c1", "name": "x", "result": "words", "status": status}
    (result,) = read("gemini", "", toolCalls=[tool]).results
    assert (result.text, result.error, result.interrupted) == ("words", error, interrupted)


def test_answers_to_calls_in_the_users_place_are_results() -> None:
    response = {"id": "c1", "name": "glob", "response": {"error": "no such folder"}}
    message = read("user", [{"functionResponse": response}])
    assert (message.kind, message.text, message.origin) == ("results", "", UNTRUSTED)
    assert message.results == (ToolResult("c1", "no such folder", True),)


def patch(*messages: dict[str, Any], **more: Any) -> Message | None:
    """The message of a patch that carries these."""
    return gemini.message({"$set": {"messages": list(messages), **more}})


def test_a_patch_tells_nothing_but_a_compression() -> None:
    asked = row("user", [{"text": "fix it"}])
    taken = row("gemini", [{"text": gemini.TAKEN}], id="m3")
    assert patch() is None and patch(asked) is None
    assert gemini.message({"$set": {"lastUpdated": "t"}}) is None
    summary = row("user", [{"text": "<state_snapshot>all</state_snapshot>"}], id="m2")
    for message in (patch(asked, summary), patch(row("user", "all in short", id="m2"), taken)):
        assert message is not None
        assert (message.kind, message.id, message.origin) == ("compaction", "m2", UNTRUSTED)


def test_where_a_row_stands_and_where_the_host_goes_back() -> None:
    assert gemini.place(row("user", "x")) == Place("m1", None, "m1")
    assert gemini.place({"$rewindTo": "m1"}) == Back(before="m1")
    assert gemini.place({"$set": {}}) is None
    assert gemini.place({"sessionId": "s", "projectHash": "p"}) is None
    assert gemini.place({"$rewindTo": 7}) is None


def test_headers_and_patches_name_session_and_workspace() -> None:
    header = {"sessionId": "s1", "projectHash": "p", "directories": ["/srv/p"]}
    assert (gemini.session_of(header), gemini.workspace_of(header)) == ("s1", "/srv/p")
    assert gemini.session_of({"$set": {"sessionId": "s1"}}) == "s1"
    text = "<session_context>\n- **Workspace Directories:**\n  - /srv/p\n- **Directory Structure:**"
    context = {"$set": {"messages": [row("user", [{"text": text}])]}}
    assert gemini.workspace_of(context) == "/srv/p"
    assert gemini.workspace_of({"$set": {"messages": "none"}}) == ""


def test_rows_of_this_format_are_told_from_others() -> None:
    assert gemini.matches({"sessionId": "s", "projectHash": "p"})
    assert gemini.matches({"$set": {}}) and gemini.matches({"$rewindTo": "m"})
    assert gemini.matches(row("gemini", ""))
    assert not gemini.matches(row("user", "x"))
    assert not gemini.matches({"sessionId": "s", "type": "user"})


def test_rows_of_unknown_types_are_no_messages() -> None:
    assert gemini.message(row("tip", "x")) is None
    assert gemini.message({"sessionId": "s", "projectHash": "p", "messages": []}) is None
    assert gemini.message({"type": "user", "content": "no id"}) is None
