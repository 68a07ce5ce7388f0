"""Hermes: what its rows are, and what a compaction, a rewind or a retry makes of a session."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from swapcache.model import AGENT, OWNER, SYSTEM, UNTRUSTED, Message
from swapcache.transcripts import databases, hermes
from swapcache.wake import fence
from tests import databases as made
from tests.unit.transcripts.json_objects import OBJECTS


def row(role: str, content: Any = None, **columns: Any) -> dict[str, Any]:
    """A record."""
    head = {"id": 7, "session_id": "s1", "role": role, "content": content}
    return {**head, "timestamp": 1796000000.5, **columns}


def read(role: str, content: Any = None, **columns: Any) -> Message:
    """The message in such a record."""
    message = hermes.message(row(role, content, **columns))
    assert message is not None
    return message


@settings(max_examples=300, deadline=None)
@given(OBJECTS)
def test_A10_any_object_gives_a_message_or_none_and_never_raises(value: dict[str, Any]) -> None:
    for role in ("user", "assistant", "tool", "system", "later"):
        for given_row in (value, row(role) | value, row(role, json.dumps(value), tool_calls=value)):
            message = hermes.message(given_row)
            hermes.place(given_row)
            if message is not None:
                assert all(isinstance(field, str) for field in message[:6])
                assert all(isinstance(call.arguments, dict) for call in message.calls)


def test_a_prompt_is_the_owners_as_far_as_is_known() -> None:
    message = read("user", "fix step 3")
    wall = "2026-11-30T00:53:20.500Z"
    assert message == Message("user", "request", "fix step 3", OWNER, wall, "s1:7", assumed=True)


def test_words_of_a_group_are_strangers() -> None:
    message = read("user", "pay the invoice", chat="group")
    assert (message.kind, message.origin, message.assumed) == ("request", UNTRUSTED, False)
    overheard = read("user", "lunch?", observed=1)
    assert (overheard.kind, overheard.origin) == ("notice", UNTRUSTED)


@pytest.mark.parametrize(
    "words",
    [
        "[System: Your previous response was truncated by the output length limit.]",
        "[Your active task list was preserved across context compression]\n- [ ] 1",
        "[IMPORTANT: Background process 3 has ended]",
    ],
)
def test_A14_the_hosts_own_words_are_no_request(words: str) -> None:
    assert (read("user", words).kind, read("user", words).origin) == ("notice", SYSTEM)


@pytest.mark.parametrize("role", ["user", "assistant"])
def test_A14_a_summary_is_a_compaction_in_whatever_role_it_stands(role: str) -> None:
    message = read(role, "[CONTEXT COMPACTION — REFERENCE ONLY] Earlier turns")
    assert (message.kind, message.origin) == ("compaction", UNTRUSTED)


def test_content_of_parts_is_decoded() -> None:
    parts = [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {}}]
    assert read("user", f"{hermes.ENCODED}{json.dumps(parts)}").text == "look"


def test_B12_our_own_block_goes_and_the_words_around_it_stay() -> None:
    framed = fence.frame("Open tasks: deploy", fence.identifier())
    assert read("user", f"go on\n\n{framed}").text == "go on"
    assert read("user", framed).kind == "injected"


def test_A15_calls_stand_beside_the_words() -> None:
    function = {"name": "terminal", "arguments": '{"command": "make"}'}
    calls = json.dumps([{"id": "c1", "function": function}, "noise", {"function": 3}])
    message = read("assistant", "I build.", tool_calls=calls)
    assert (message.kind, message.text, message.origin) == ("reply", "I build.", AGENT)
    assert [(c.id, c.name, c.arguments) for c in message.calls] == [
        ("c1", "terminal", {"command": "make"})
    ]


def test_arguments_that_are_no_json_are_kept_as_they_are() -> None:
    calls = json.dumps([{"id": "c1", "function": {"name": "t", "arguments": '{"command": "ma'}}])
    assert read("assistant", "", tool_calls=calls).calls[0].arguments == {"raw": '{"command": "ma'}


@pytest.mark.parametrize(
    ("content", "words", "error"),
    [
        ('{"output": "hi", "exit_code": 0, "error": null}', "hi", False),
        ('{"output": "no rule", "exit_code": 2, "error": null}', "no rule", True),
        ('{"output": "", "exit_code": -1, "error": "timed out"}', "timed out", True),
        ('{"content": "", "error": "File not found"}', '{"content": "", "error": ', True),
        ('{"success": false}', '{"success": false}', True),
        ("plain words", "plain words", False),
        ("[Tool execution cancelled — terminal was skipped]", "[Tool execution", True),
    ],
)
def test_a_result_says_whether_it_failed(content: str, words: str, error: bool) -> None:
    (result,) = read("tool", content, tool_call_id="c1").results
    assert result.text.startswith(words)
    assert (result.id, result.error) == ("c1", error)


def test_an_outcome_that_the_host_calls_unknown_is_unknown() -> None:
    assert read("tool", "{}", effect_disposition="unknown").results[0].interrupted
    assert read("tool", "half [Command interrupted]").results[0].interrupted
    assert not read("tool", "{}", effect_disposition="none").results[0].interrupted


def test_A4_an_empty_answer_is_a_failure_and_thinking_is_none() -> None:
    assert read("assistant", "").kind == "failure"
    assert read("assistant", "", reasoning="hm").kind == "reasoning"
    assert read("assistant", hermes.CLOSED).kind == "interrupted"


def test_a_copy_tells_nothing_and_a_row_taken_back_hangs_beside() -> None:
    assert hermes.message(row("user", "again", copy=True)) is None
    place = hermes.place(row("user", "x", rewound=True))
    assert place is not None and place.leaf is None
    assert read("user", "x", child=True).sidechain
    assert read("session_meta", "x").kind == "notice"


# -- a host at work --------------------------------------------------------------------------------


class Reader:
    """Reads what is new, step by step."""

    def __init__(self, host: made.Hermes) -> None:
        self.source = made.fresh(f"sqlite:{host.session}:{host.path}")

    def new(self) -> list[str]:
        """Kind and words of what is told now."""
        found = databases.read(self.source, 1 << 30)
        assert not found.rewritten
        self.source = found.source
        messages = [hermes.message(r.value) for r in found.rows if r.value]
        return [f"{m.kind} {m.text}".strip() for m in messages if m is not None]


@pytest.fixture
def host(tmp_path: Path) -> made.Hermes:
    """A Hermes with one session."""
    return made.Hermes(tmp_path / "state.db")


def test_rows_are_told_once_in_the_order_of_their_ids(host: made.Hermes) -> None:
    reader = Reader(host)
    host.add("user", "one")
    host.clock -= 500  # a clock that went back
    host.add("assistant", "two")
    assert reader.new() == ["request one", "reply two"]
    assert reader.new() == []
    host.add("user", "three")
    assert reader.new() == ["request three"]


@pytest.mark.parametrize("stepwise", [True, False])
def test_a_compaction_tells_its_summary_and_nothing_twice(
    host: made.Hermes, stepwise: bool
) -> None:
    reader = Reader(host)
    host.add("user", "count the files")
    call = host.call("c1", "terminal", command="ls")
    result = host.result("c1", '{"output": "1", "exit_code": 0}')
    said = host.add("assistant", "one")
    told = reader.new() if stepwise else []
    host.compact([call, result, said], "files were counted")
    host.add("user", "count the files")  # a person who asks the same again
    host.add("assistant", "one")
    told += reader.new()
    assert told == [
        "request count the files",
        "reply",
        "results",
        "reply one",
        "compaction [CONTEXT COMPACTION — REFERENCE ONLY] files were counted",
        "request count the files",
        "reply one",
    ]
    host.compact([9, 10], "again")
    assert reader.new()[0].startswith("compaction")
    whole = made.rows_of(reader.source.path)
    copies = [r.start for r in whole if r.value and r.value.get("copy")]
    assert len(copies) == 5, "a later reading from the start says the same"


def test_a_copy_that_was_shortened_is_known_by_its_call(host: made.Hermes) -> None:
    reader = Reader(host)
    host.add("user", "read it")
    host.call("c1", "read_file", path="a")
    host.result("c1", "long words")
    reader.new()
    host.db.execute("UPDATE messages SET active=0, compacted=1")
    host.add("assistant", "[CONTEXT COMPACTION — REFERENCE ONLY] x")
    host.call("c1", "read_file", path="…")
    host.result("c1", "[cleared]")
    host.add("user", "go on")
    told = reader.new()
    assert [t.split()[0] for t in told] == ["compaction", "request"]


def test_rows_that_the_person_took_back_are_a_rewrite(host: made.Hermes) -> None:
    reader = Reader(host)
    host.add("user", "keep")
    first = host.add("user", "a mistake")
    reader.new()
    host.db.execute("UPDATE messages SET active=0 WHERE id>=?", (first,))
    host.db.execute("UPDATE sessions SET rewind_count=1")
    assert databases.read(reader.source, 1 << 30).rewritten
    rows = made.rows_of(reader.source.path)
    assert [bool(r.value and hermes.place(r.value)) for r in rows] == [False, True]


def test_a_retry_that_deletes_and_inserts_anew_is_a_rewrite(host: made.Hermes) -> None:
    reader = Reader(host)
    host.add("user", "one")
    host.add("assistant", "wrong")
    reader.new()
    host.db.execute("DELETE FROM messages")
    host.add("user", "one")
    assert databases.read(reader.source, 1 << 30).rewritten
    reader.source = made.fresh(reader.source.path)
    assert reader.new() == ["request one"]


def test_flags_that_a_compaction_sets_are_no_rewrite(host: made.Hermes) -> None:
    reader = Reader(host)
    host.add("user", "one")
    before = made.rows_of(reader.source.path)
    reader.new()
    host.compact([1], "x")
    host.db.execute("UPDATE messages SET api_content='with our block' WHERE id=1")
    assert not databases.read(reader.source, 1 << 30).rewritten
    assert made.rows_of(reader.source.path)[0] == before[0]


def test_child_runs_and_continuations_are_told_apart(host: made.Hermes) -> None:
    host.add("user", "main")
    host.begin("child", source="subagent", parent_session_id=host.session)
    host.begin("next", parent_session_id=host.session, session_key="telegram:1", chat_type="group")
    for host.session in ("child", "next"):
        host.add("user", "words")
    _, found = databases.candidates(str(host.path))
    assert {c.id: (c.key, c.child) for c in found if c.id in ("child", "next")} == {
        "child": ("child", True),
        "next": ("telegram:1", False),
    }
    (row_of_child,) = made.rows_of(f"sqlite:child:{host.path}")
    (row_of_group,) = made.rows_of(f"sqlite:next:{host.path}")
    assert row_of_child.value and row_of_child.value["child"] is True
    message = hermes.message(row_of_group.value or {})
    assert message is not None and message.origin == UNTRUSTED


def test_a_row_is_its_filled_columns_and_odd_bytes_stay(host: made.Hermes) -> None:
    host.add("user", b"caf\xe9 \xff")
    (row_,) = made.rows_of(f"sqlite:{host.session}:{host.path}")
    assert b"caf\xe9 \xff" in row_.raw and row_.value is not None
    assert "damaged" in row_.reason
    host.add("user", "继续")
    assert "继续".encode() in made.rows_of(f"sqlite:{host.session}:{host.path}")[1].raw
