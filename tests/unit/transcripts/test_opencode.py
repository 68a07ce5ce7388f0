"""OpenCode: what its rows are, when they are told while the host works, and what it takes back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from swapcache.model import AGENT, OWNER, SYSTEM, UNTRUSTED, Message, Source
from swapcache.transcripts import databases, opencode
from swapcache.wake import fence
from tests import databases as made
from tests.unit.transcripts.json_objects import OBJECTS


def row(data: dict[str, Any], role: str = "assistant", **marks: Any) -> dict[str, Any]:
    """A part's record."""
    head = {"id": "prt_1", "message_id": "msg_1", "session_id": "ses_1"}
    times = {"time_created": 1796000000000, "time_updated": 1796000000000}
    return {**head, **times, "role": role, **marks, "data": data}


def read(data: dict[str, Any], role: str = "assistant", **marks: Any) -> Message:
    """The message in such a record."""
    message = opencode.message(row(data, role, **marks))
    assert message is not None
    return message


def tool(status: str, **state: Any) -> dict[str, Any]:
    """A tool part."""
    given = {"status": status, "input": {"command": "make"}, **state}
    return {"type": "tool", "tool": "bash", "callID": "c1", "state": given}


@settings(max_examples=300, deadline=None)
@given(OBJECTS)
def test_A10_any_object_gives_a_message_or_none_and_never_raises(value: dict[str, Any]) -> None:
    for given_row in (value, row(value), row(value, "user"), {"session_id": "s", "data": value}):
        message = opencode.message(given_row)
        opencode.place(given_row)
        assert isinstance(opencode.workspace_of(given_row), str)
        if message is not None:
            assert all(isinstance(field, str) for field in message[:6])
            assert all(isinstance(call.arguments, dict) for call in message.calls)


def test_a_prompt_is_the_owners_as_far_as_is_known() -> None:
    message = read({"type": "text", "text": "fix step 3"}, "user")
    assert (message.kind, message.text, message.origin) == ("request", "fix step 3", OWNER)
    assert message.assumed and message.wall == "2026-11-30T00:53:20.000Z"


@pytest.mark.parametrize(
    ("stored", "said"),
    [
        ('"fix step 3"', "fix step 3"),
        ('"say \\"hi\\" twice"', 'say "hi" twice'),
        ('"a" and "b"', '"a" and "b"'),
        ('"', '"'),
        ('""', ""),
        ("no quotes", "no quotes"),
    ],
)
def test_A15_the_quotes_that_run_puts_around_a_prompt_go(stored: str, said: str) -> None:
    message = read({"type": "text", "text": stored}, "user")
    assert message.text == said


def test_A14_what_the_host_adds_to_a_prompt_is_a_notice() -> None:
    message = read({"type": "text", "text": "Called the Read tool", "synthetic": True}, "user")
    assert (message.kind, message.origin) == ("notice", SYSTEM)
    assert read({"type": "text", "text": "x", "ignored": True}, "user").kind == "notice"


def test_B12_our_own_block_goes_and_the_words_around_it_stay() -> None:
    framed = fence.frame("Open tasks: deploy", fence.identifier())
    assert read({"type": "text", "text": f"{framed}\ngo on"}, "user").text == "go on"
    assert read({"type": "text", "text": framed}, "user").kind == "injected"


def test_words_whose_author_is_lost_are_nobodys() -> None:
    message = read({"type": "text", "text": "pay the invoice"}, opencode.UNKNOWN)
    assert (message.kind, message.origin, message.assumed) == ("request", UNTRUSTED, False)


def test_an_answer_a_further_part_of_it_and_one_that_was_cut_off() -> None:
    said = {"type": "text", "text": "done"}
    assert (read(said).kind, read(said).origin) == ("reply", AGENT)
    assert read(said, more=True).kind == "more"
    assert read(said, cut=True).kind == "partial"
    assert opencode.message(row({"type": "text", "text": ""})) is None
    assert read({"type": "reasoning", "text": "hm"}).kind == "reasoning"


def test_a_summary_is_a_compaction_and_no_reply() -> None:
    message = read({"type": "text", "text": "so far"}, summary=True)
    assert (message.kind, message.text, message.origin) == ("compaction", "so far", UNTRUSTED)


def test_a_call_and_its_result_stand_in_one_row() -> None:
    message = read(tool("completed", output="no rule", metadata={"exit": 2}))
    assert [c.name for c in message.calls] == ["bash"]
    (result,) = message.results
    assert (result.id, result.text, result.error, result.interrupted) == (
        "c1",
        "no rule",
        True,
        False,
    )
    running = read(tool("running"))
    assert running.calls and not running.results


def test_a_call_that_was_told_as_it_began_only_brings_its_result() -> None:
    message = read(tool("error", error="boom"), told=True)
    assert (message.kind, message.calls) == ("results", ())
    assert (message.results[0].text, message.results[0].error) == ("boom", True)


@pytest.mark.parametrize(
    "data",
    [tool("error", error=opencode.ABORTED), tool("completed", metadata={"interrupted": True})],
)
def test_a_tool_that_was_stopped_has_an_unknown_outcome(data: dict[str, Any]) -> None:
    assert read(data).results[0].interrupted
    assert read(tool("running"), cut=True).results[0].interrupted


def test_A4_how_a_turn_ended_is_in_the_messages_own_row() -> None:
    def ended(data: dict[str, Any], **marks: Any) -> Message | None:
        return opencode.message({"id": "m", "session_id": "s", **marks, "data": data})

    failed = {"role": "assistant", "error": {"name": "APIError", "data": {"message": "529"}}}
    assert ended(failed) == Message("assistant", "failure", "529", SYSTEM, "", "m")
    stopped = ended({"role": "assistant", "error": {"name": opencode.STOPPED}})
    assert stopped is not None and stopped.kind == "interrupted"
    cut = ended({"role": "assistant"}, cut=True)
    assert cut is not None and cut.kind == "interrupted"
    assert ended({"role": "assistant"}) is None
    assert ended({"role": "user"}) is None


def test_a_child_agents_rows_are_a_sidechain_and_those_taken_back_hang_beside() -> None:
    assert read({"type": "text", "text": "x"}, child=True).sidechain
    place = opencode.place(row({"type": "text"}, reverted=True))
    assert place is not None and place.leaf is None
    assert opencode.place(row({"type": "text"})) is None


# -- a host at work --------------------------------------------------------------------------------


class Reader:
    """Reads what is new, step by step."""

    def __init__(self, host: made.OpenCode) -> None:
        self.source = made.fresh(f"sqlite:{host.session}:{host.path}")

    def new(self) -> list[str]:
        """Kind and words of what is told now."""
        found = databases.read(self.source, 1 << 30)
        assert not found.rewritten
        self.source = found.source
        told = []
        for one in found.rows:
            assert one.value is not None, one.reason
            message = opencode.message(one.value)
            if message is not None:
                told.append(f"{message.kind} {message.text}{_calls(message)}".strip())
        return told


def _calls(message: Message) -> str:
    results = [f"{'?' if r.interrupted else ''}{r.text}" for r in message.results]
    return "".join(f"[{c.name}]" for c in message.calls) + "".join(f"={r}" for r in results)


@pytest.fixture
def host(tmp_path: Path) -> made.OpenCode:
    """An OpenCode with one session."""
    return made.OpenCode(tmp_path / "opencode.db")


def test_a_text_that_streams_is_told_once_and_whole(host: made.OpenCode) -> None:
    reader = Reader(host)
    host.prompt("1", "tell me")
    message = host.message("msg_2", "assistant")
    part = host.part("prt_2_1", message, type="text", text="", time={"start": 1})
    assert reader.new() == ["request tell me"]
    host.change("part", part, text="once upon")
    assert reader.new() == []
    host.change("part", part, text="once upon a time", time={"start": 1, "end": 2})
    assert reader.new() == ["reply once upon a time"]
    host.complete(message)
    assert reader.new() == []
    assert made.rows_of(reader.source.path)[-1].value is not None


def test_a_running_call_is_told_as_it_begins_and_once_with_its_result(host: made.OpenCode) -> None:
    reader = Reader(host)
    host.prompt("1", "build")
    message = host.message("msg_2", "assistant")
    given = {"tool": "bash", "callID": "c1"}
    state: dict[str, Any] = {"status": "pending", "input": {}}
    part = host.part("prt_2_1", message, type="tool", **given, state=state)
    assert reader.new() == ["request build"]
    state = {"status": "running", "input": {"command": "make"}}
    host.change("part", part, state=state)
    assert reader.new() == ["reply [bash]"]
    host.change("part", part, state={**state, "metadata": {"output": "half"}})
    assert reader.new() == [], "what a running tool prints is no news"
    host.change("part", part, state={**state, "status": "completed", "output": "all"})
    assert reader.new() == ["results =all"]
    assert reader.new() == []


def test_two_calls_at_once_end_in_any_order(host: made.OpenCode) -> None:
    reader = Reader(host)
    message = host.message("msg_2", "assistant")
    state = {"status": "running", "input": {}}
    for n in ("1", "2"):
        host.part(f"prt_{n}", message, type="tool", tool=f"t{n}", callID=n, state=state)
    assert reader.new() == ["reply [t1]", "more [t2]"]
    host.change("part", "prt_2", state={**state, "status": "completed", "output": "second"})
    assert reader.new() == ["results =second"]
    host.change("part", "prt_1", state={**state, "status": "completed", "output": "first"})
    assert reader.new() == ["results =first"]


def test_A5_what_a_kill_cut_off_is_told_when_the_session_goes_on(host: made.OpenCode) -> None:
    reader = Reader(host)
    host.prompt("1", "migrate")
    message = host.message("msg_2", "assistant")
    host.part("prt_2_1", message, type="text", text="I beg", time={"start": 1})
    state = {"status": "running", "input": {"command": "sleep"}}
    host.part("prt_2_2", message, type="tool", tool="bash", callID="c1", state=state)
    assert reader.new() == ["request migrate", "more [bash]"]
    host.prompt("3", "and now?")
    told = reader.new()
    assert told == [
        "partial I beg",
        "results =?",
        "interrupted the turn was cut off",
        "request and now?",
    ]
    assert reader.new() == []


def test_a_finished_row_that_changes_is_told_again_at_a_place_of_its_own(
    host: made.OpenCode,
) -> None:
    reader = Reader(host)
    host.prompt("1", "tell me")
    host.answer("2", "red")
    assert reader.new() == ["request tell me", "reply red"]
    host.change("part", "prt_2_2", text="blue")
    before = reader.source.cursor
    assert reader.new() == ["reply blue"]
    assert reader.source.cursor >= before


def test_rows_of_other_sessions_and_late_ones_do_not_mix(host: made.OpenCode) -> None:
    reader = Reader(host)
    host.prompt("1", "mine")
    host.begin("ses_2", parent="ses_1")
    mine, host.session = host.session, "ses_2"
    host.prompt("8", "the child's")
    host.session = mine
    assert reader.new() == ["request mine"]
    child = made.rows_of(f"sqlite:ses_2:{host.path}")
    messages = [opencode.message(r.value) for r in child if r.value]
    assert all(m.sidechain for m in messages if m is not None) and any(messages)
    _, found = databases.candidates(str(host.path))
    assert {c.id: c.child for c in found} == {"ses_1": False, "ses_2": True}


@pytest.mark.parametrize("count", [1, 9])
def test_what_a_person_takes_back_is_a_rewrite_and_stands_beside(
    host: made.OpenCode, count: int
) -> None:
    reader = Reader(host)
    host.prompt("1", "keep this")
    host.answer("2", "kept")
    for n in range(count):
        host.prompt(f"3{n}", "a mistake")
        host.answer(f"4{n}", "done")
    reader.new()
    point = json.dumps({"messageID": "msg_30", "snapshot": "x"})
    host.db.execute("UPDATE session SET revert=?", (point,))
    assert databases.read(reader.source, 1 << 30).rewritten
    again = databases.read(made.fresh(reader.source.path), 1 << 30)
    beside = [r for r in again.rows if r.value and opencode.place(r.value) is not None]
    assert len(beside) == count * 5
    host.db.execute("UPDATE session SET revert=NULL")
    host.db.execute("DELETE FROM part WHERE message_id>='msg_30'")
    host.db.execute("DELETE FROM message WHERE id>='msg_30'")
    assert databases.read(reader.source, 1 << 30).rewritten
    assert databases.read(again.source, 1 << 30).rewritten
    reader.source = made.fresh(reader.source.path)
    assert reader.new() == ["request keep this", "reply kept"]


def test_a_message_that_comes_in_among_settled_ones_is_a_rewrite(host: made.OpenCode) -> None:
    reader = Reader(host)
    for n in range(10):
        host.prompt(f"{n}", f"request {n}")
    reader.new()
    host.clock -= 15_000
    host.prompt("early", "from a clock that went back")
    assert databases.read(reader.source, 1 << 30).rewritten


def test_the_bytes_of_a_rows_json_stand_in_its_record_as_they_are(host: made.OpenCode) -> None:
    odd = '{ "type":"text",  "text":"spaces\\u00e9 \\/ and 继续" }'
    host.prompt("1", "x")
    host.db.execute("UPDATE part SET data=?", (odd,))
    part, message = made.rows_of(f"sqlite:ses_1:{host.path}")
    assert odd.encode() in part.raw and part.value == json.loads(part.raw)
    (data,) = host.db.execute("SELECT data FROM message").fetchone()
    assert data.encode() in message.raw


def test_work_grows_with_what_is_new(host: made.OpenCode) -> None:
    reader = Reader(host)
    sizes = []
    for n in range(60):
        host.prompt(f"{n:03}", f"request {n}")
        host.answer(f"{n:03}a", f"answer {n}")
        reader.new()
        sizes.append(len(reader.source.tail))
    assert max(sizes[-10:]) <= max(sizes[:20]) + 50, "what is remembered does not grow"
    assert Source(*reader.source).cursor > 0
