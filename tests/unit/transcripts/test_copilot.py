"""Events of Copilot CLI: what is a message, of which kind, and whose words it holds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from swapcache.model import AGENT, OWNER, SYSTEM, UNTRUSTED, Message
from swapcache.state.fold import Fold
from swapcache.transcripts import copilot, tree
from swapcache.wake import fence
from tests.unit.transcripts.json_objects import OBJECTS

AFTER = Path(__file__).parents[2] / "conformance/transcripts/copilot-after.jsonl"


def event(kind: str, key: str = "e1", parent: str | None = "e0", **data: Any) -> dict[str, Any]:
    """An event as the host writes it."""
    head = {"type": kind, "data": data, "id": key, "parentId": parent}
    return {**head, "timestamp": "2026-11-30T12:00:00.000Z"}


def read(kind: str, **data: Any) -> Message:
    """The message in such an event."""
    message = copilot.message(event(kind, **data))
    assert message is not None
    return message


@settings(max_examples=300, deadline=None)
@given(OBJECTS)
def test_A10_any_object_gives_a_message_or_none_and_never_raises(value: dict[str, Any]) -> None:
    kinds = ("user.message", "assistant.message", "tool.execution_complete", "session.error")
    for given_row in (value, *(event(kind) | {"data": value} for kind in kinds)):
        message = copilot.message(given_row)
        copilot.place(given_row)
        copilot.matches(given_row)
        assert isinstance(copilot.session_of(given_row), str)
        assert isinstance(copilot.workspace_of(given_row), str)
        if message is not None:
            assert all(isinstance(field, str) for field in message[:6])
            assert all(isinstance(call.arguments, dict) for call in message.calls)


def test_a_prompt_is_what_was_typed_not_what_was_sent() -> None:
    sent = "<current_datetime>now</current_datetime>\n\nfix step 3"
    message = read("user.message", content="fix step 3", transformedContent=sent)
    assert (message.kind, message.text, message.origin) == ("request", "fix step 3", OWNER)
    assert message.assumed


@pytest.mark.parametrize(
    ("data", "origin"),
    [
        ({"source": "skill-pdf"}, UNTRUSTED),
        ({"source": "agent-7"}, UNTRUSTED),
        ({"isAutopilotContinuation": True}, SYSTEM),
    ],
)
def test_A14_skills_agents_and_the_autopilot_ask_for_nothing(
    data: dict[str, Any], origin: str
) -> None:
    message = read("user.message", content="go on", **data)
    assert (message.kind, message.origin) == ("notice", origin)


def test_B12_our_own_block_goes_and_the_words_around_it_stay() -> None:
    framed = fence.frame("Open tasks: deploy", fence.identifier())
    assert read("user.message", content=f"{framed}\ngo on").text == "go on"
    assert read("user.message", content=framed).kind == "injected"
    assert copilot.message(event("hook.end", output={"additionalContext": framed})) is None


def test_A15_calls_stand_beside_the_words() -> None:
    asked = [
        {"toolCallId": "c1", "name": "bash", "arguments": {"command": "make"}},
        {"toolCallId": "c2", "name": "apply", "arguments": "plain text"},
        "noise",
    ]
    message = read("assistant.message", content="I build.", toolRequests=asked)
    assert (message.kind, message.text, message.origin) == ("reply", "I build.", AGENT)
    assert [(c.id, c.name, c.arguments) for c in message.calls] == [
        ("c1", "bash", {"command": "make"}),
        ("c2", "apply", {"input": "plain text"}),
    ]
    assert copilot.message(event("tool.execution_start", toolCallId="c1")) is None


def test_A4_an_empty_answer_is_a_failure_and_thinking_is_none() -> None:
    assert read("assistant.message", content="").kind == "failure"
    assert read("assistant.message", content="", reasoningText="hm").kind == "reasoning"
    failed = read("session.error", message="529 overloaded", errorType="query")
    assert (failed.kind, failed.text) == ("failure", "529 overloaded")
    assert read("abort", reason="user initiated").kind == "interrupted"


@pytest.mark.parametrize(
    ("data", "error", "unknown"),
    [
        ({"success": True, "result": {"content": "ok"}}, False, False),
        ({"success": True, "shellExecution": {"exitCode": 2}}, True, False),
        ({"success": False, "error": {"message": "denied"}}, True, False),
        ({"success": False, "error": {"message": "cut", "code": "interrupted"}}, True, True),
        (
            {
                "success": True,
                "result": {"content": "<command with shellId: 0 is still running after 30 s>"},
            },
            False,
            True,
        ),
    ],
)
def test_a_result_says_whether_it_failed_or_is_unknown(
    data: dict[str, Any], error: bool, unknown: bool
) -> None:
    (result,) = read("tool.execution_complete", toolCallId="c1", **data).results
    assert (result.id, result.error, result.interrupted) == ("c1", error, unknown)


def test_a_compaction_that_worked_is_one() -> None:
    message = read("session.compaction_complete", success=True, summaryContent="so far")
    assert (message.kind, message.text, message.origin) == ("compaction", "so far", UNTRUSTED)
    assert copilot.message(event("session.compaction_complete", success=False)) is None


def test_a_child_agents_events_are_a_sidechain() -> None:
    assert read("assistant.message", content="x", parentToolCallId="c1").sidechain
    child = copilot.message(event("user.message", content="do") | {"agentId": "a1"})
    assert child is not None and child.sidechain
    assert not read("assistant.message", content="x").sidechain


def test_what_a_rewind_took_back_hangs_on_a_branch_that_was_left() -> None:
    seen = tree.Tree()
    chain = [("a", None, "session.start"), ("b", "a", "x.y"), ("c", "b", "x.y"), ("d", "b", "x.y")]
    for key, parent, kind in chain:
        place = copilot.place(event(kind, key, parent))
        assert place is not None
        seen.add(place)
    assert seen.left() == {"c"}
    assert copilot.place(event("model.turn_started", "m", None)) is None


def test_the_recorded_session_that_went_on_knows_that_the_call_is_unknown() -> None:
    rows = [json.loads(line) for line in AFTER.read_bytes().splitlines()]
    fold = Fold()
    for number, value in enumerate(rows):
        message = copilot.message(value)
        if message is not None:
            fold.add(message, number)
    items = fold.state(1, len(rows)).items
    assert next(i.text for i in items if i.kind == "unknown").startswith("bash: perl")
    assert [i.text for i in items if i.kind == "change"] == ["wrote /srv/shop/work/prices.py"]
    assert fold.counters["compactions"] == 1 and fold.counters["errors"] == 1
    assert copilot.workspace_of(rows[0]) == "/srv/shop/work"
