"""The fold: what each message changes in the state, in one run or in many."""

import json
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from swapcache.model import AGENT, OWNER, SYSTEM, UNTRUSTED, Item, Message, ToolCall, WorkingState
from swapcache.state.fold import LIMITS, Fold
from swapcache.transcripts import formats
from swapcache.wake import fence
from tests.unit.makers import WALL, call, failure, item, reply, request, result
from tests.unit.transcripts.json_objects import OBJECTS


def folded(*messages: Message) -> Fold:
    """The fold of these messages, whose records are numbered from 0."""
    fold = Fold()
    for record, message in enumerate(messages):
        fold.add(message, record)
    return fold


def state(*messages: Message) -> WorkingState:
    """The state after these messages."""
    return folded(*messages).state(1, len(messages) - 1)


def texts(known: WorkingState, kind: str) -> list[str]:
    """Texts of the items of a kind."""
    return [i.text for i in known.items if i.kind == kind]


def statuses(known: WorkingState, kind: str) -> dict[str, str]:
    """Status by text of the items of a kind."""
    return {i.text: i.status for i in known.items if i.kind == kind}


def statement(**given: list[str]) -> Message:
    """What the agent says with `swapcache state`."""
    return Message("assistant", "statement", json.dumps(given), AGENT, WALL)


def todos(key: str, **entries: str) -> Message:
    """A plan of Claude Code's TodoWrite: status by text."""
    plan = [{"content": text.replace("_", " "), "status": s} for text, s in entries.items()]
    return reply("", call(key, "TodoWrite", todos=plan))


def edit(key: str, path: str) -> Message:
    """An edit of a file."""
    return reply("", call(key, "Edit", file_path=path))


def bash(key: str, command: str) -> Message:
    """A shell call."""
    return reply("", call(key, "Bash", command=command))


def marked(message: Message) -> Message:
    """Results that the host marks as read from the network."""
    return message._replace(results=tuple(r._replace(network=True) for r in message.results))


# -- one run or many -------------------------------------------------------------------------------

IDS = st.sampled_from("t0 t1 t2 t3".split())
WORDS = st.sampled_from(
    ["fix src/a.py", "look at https://a.b/c?d=1", "done", "继续 ABC-12", "3f2a9bc", "", "all green"]
)
STATUSES = st.sampled_from("pending in_progress completed".split())
CALLS = st.one_of(
    st.builds(call, IDS, st.just("Bash"), command=WORDS),
    st.builds(call, IDS, st.just("Edit"), file_path=st.sampled_from(["a.py", "b.py"])),
    st.builds(call, IDS, st.just("WebFetch"), url=st.just("https://x.y/z")),
    st.builds(
        call,
        IDS,
        st.just("TodoWrite"),
        todos=st.lists(
            st.fixed_dictionaries({"content": st.sampled_from("abc"), "status": STATUSES})
        ),
    ),
    st.builds(call, IDS, st.just("TaskCreate"), subject=st.sampled_from(["x", "y"])),
    st.builds(
        call, IDS, st.just("TaskUpdate"), taskId=st.sampled_from(["1", "2"]), status=STATUSES
    ),
)
MESSAGES = st.lists(
    st.one_of(
        st.builds(request, WORDS, st.sampled_from([OWNER, UNTRUSTED]), st.sampled_from("pqr")),
        st.lists(CALLS, max_size=2).flatmap(
            lambda calls: st.builds(lambda text: reply(text, *calls), WORDS)
        ),
        st.builds(result, IDS, st.sampled_from(["Task #1 created", "ok"]), st.booleans()),
        st.builds(result, IDS, interrupted=st.just(True)),
        st.builds(
            lambda one, came, kind: one._replace(results=came.results, kind=kind),
            st.builds(reply, WORDS, CALLS),
            st.builds(result, IDS, st.just("ok"), st.booleans()),
            st.sampled_from(["reply", "more"]),
        ),
        st.builds(lambda key: marked(result(key)), IDS),
        st.builds(lambda text: reply(text, origin=UNTRUSTED), WORDS),
        st.builds(failure, st.sampled_from(["529", "cut"])),
        st.builds(statement, next=st.lists(WORDS.filter(bool), max_size=2)),
        st.builds(statement, task=st.lists(st.sampled_from("ab"), max_size=2)),
        st.builds(statement, done=st.lists(st.sampled_from("ab"), max_size=1)),
        st.sampled_from(
            [
                Message("system", "compaction", "", SYSTEM, WALL),
                Message("system", "compaction", "", UNTRUSTED, WALL, "c1"),
                Message("system", "compaction", "", UNTRUSTED, WALL, "c2"),
                Message("user", "command", "/clear", OWNER, WALL),
                Message("user", "heartbeat", "", SYSTEM, WALL),
                Message("user", "notice", "x", SYSTEM, WALL),
            ]
        ),
    ),
    max_size=20,
)


def by_kind(known: WorkingState) -> dict[str, list[Item]]:
    """The items in order, kind by kind."""
    found: dict[str, list[Item]] = {}
    for i in known.items:
        found.setdefault(i.kind, []).append(i)
    return found


def in_many_runs(messages: list[Message], cuts: set[int]) -> Fold:
    """The fold that is written and read back before each message in `cuts`."""
    fold = Fold()
    for record, message in enumerate(messages):
        if record in cuts:
            fold = Fold.load(fold.dump())
        fold.add(message, record)
    return fold


@settings(max_examples=300)
@given(MESSAGES, st.sets(st.integers(0, 20)))
def test_one_run_or_many_know_the_same_things(messages: list[Message], cuts: set[int]) -> None:
    once, often = folded(*messages), in_many_runs(messages, cuts)
    assert by_kind(once.state(1, 9)) == by_kind(often.state(1, 9))
    assert once.counters == often.counters
    assert once.calls == often.calls
    assert (once.tainted, once.answered) == (often.tainted, often.answered)


@settings(max_examples=300)
@given(MESSAGES, st.sets(st.integers(0, 20)))
def test_one_run_or_many_give_the_same_text(messages: list[Message], cuts: set[int]) -> None:
    assert folded(*messages).dump() == in_many_runs(messages, cuts).dump()


@settings(max_examples=200)
@given(MESSAGES)
def test_dump_and_load_are_inverse(messages: list[Message]) -> None:
    text = folded(*messages).dump()
    assert Fold.load(text).dump() == text
    assert Fold.load(text).state(1, 9) == folded(*messages).state(1, 9)


def test_a_state_of_the_first_version_is_read() -> None:
    value = json.loads(folded(request("a"), bash("t1", "make")).dump())
    value["calls"] = {key: given[:9] for key, given in value["calls"].items()}
    fold = Fold.load(json.dumps(value))
    fold.add(result("t1", "make: *** error", error=True), 2)
    assert texts(fold.state(1, 2), "error") == ["Bash: make: make: *** error"]


@settings(max_examples=300)
@given(st.lists(OBJECTS, max_size=6))
def test_A10_rows_of_any_content_never_raise(rows: list[dict[str, Any]]) -> None:
    for name in formats.NAMES:
        fold = Fold()
        for record, row in enumerate(rows):
            message = formats.by_name(name).message(row)
            if message is not None:
                fold.add(message, record)
        text = fold.dump()
        assert Fold.load(text).dump() == text


@settings(max_examples=200)
@given(MESSAGES)
def test_words_of_strangers_never_become_intentions(messages: list[Message]) -> None:
    known = state(*messages)
    guarded = ("task", "next", "decision", "insight", "fact", "done")
    assert all(i.origin != UNTRUSTED for i in known.items if i.kind in guarded)


# -- requests and answers --------------------------------------------------------------------------


def test_a_request_is_open_until_it_is_answered_in_words() -> None:
    fold = folded(request("do it"))
    assert not fold.answered
    fold.add(bash("t1", "make"), 1)
    assert not fold.answered
    fold.add(result("t1"), 2)
    assert not fold.answered
    fold.add(reply("done"), 3)
    assert fold.answered
    fold.add(request("and now?"), 4)
    assert not fold.answered


def test_A15_a_request_is_kept_word_for_word_and_a_long_one_is_marked_as_cut() -> None:
    words = "  fix\n\tit,   请  "
    assert texts(state(request(words)), "request") == [words]
    (long,) = texts(state(request("x" * 9000)), "request")
    assert len(long) == 4000
    assert long.endswith("…")


def test_A14_the_request_survives_5000_tool_events() -> None:
    messages = [request("the one thing to do")]
    for n in range(2500):
        messages += [bash(f"t{n}", f"step {n}"), result(f"t{n}")]
    known = state(*messages)
    assert texts(known, "request") == ["the one thing to do"]
    assert known.counters["requests"] == 1
    assert known.counters["calls"] == 2500


def test_A14_noise_is_counted_apart_and_is_no_request() -> None:
    noise = [
        Message("user", kind, "words", SYSTEM, WALL)
        for kind in ("heartbeat", "command", "notice", "summary", "injected", "reasoning")
    ]
    known = state(request("real"), reply("yes"), *noise)
    assert known.counters == {"requests": 1, "replies": 1, "heartbeats": 1, "commands": 1}
    assert texts(known, "request") == ["real"]
    assert texts(known, "reply") == ["yes"]


def test_B12_our_own_block_in_a_reply_is_not_kept() -> None:
    framed = fence.frame("Next action: x", fence.identifier())
    quoted = f"I was told:\n{framed}\nand go on"
    (text,) = texts(state(request("a"), reply(quoted)), "reply")
    assert "Next action" not in text
    assert text.startswith("I was told:")
    assert text.endswith("and go on")


def test_a_childs_messages_change_nothing() -> None:
    before = folded(request("mine"))
    text = before.dump()
    before.add(request("the child's task")._replace(sidechain=True), 1)
    before.add(edit("t1", "a.py")._replace(sidechain=True), 2)
    assert before.dump() == text


def test_A4_failures_are_counted_by_message_until_the_next_request() -> None:
    known = state(request("a"), failure("529"), failure("529"), failure("529"), failure("cut"))
    assert statuses(known, "failure") == {"529": "3 times", "cut": "1 times"}
    assert known.counters["failures"] == 4
    assert texts(known, "reply") == []
    assert texts(state(request("a"), failure("529"), request("b")), "failure") == []


def test_A4_a_failed_turn_leaves_the_request_unanswered() -> None:
    assert not folded(request("a"), failure()).answered


# -- calls -----------------------------------------------------------------------------------------


def test_a_call_without_a_result_has_an_unknown_outcome() -> None:
    (unknown,) = [i for i in state(request("a"), bash("t1", "make install")).items if i.key == "t1"]
    assert (unknown.kind, unknown.status, unknown.record) == ("unknown", "unknown", 1)
    assert unknown.text == "Bash: make install"


def test_a_result_settles_its_own_call_only() -> None:
    both = reply("", call("t1", command="one"), call("t2", command="two"))
    assert texts(state(both, result("t1")), "unknown") == ["Bash: two"]
    assert texts(state(both, result("t1"), result("t2")), "unknown") == []


def test_the_hosts_filler_leaves_the_outcome_unknown() -> None:
    known = state(request("a"), edit("t1", "a.py"), result("t1", interrupted=True))
    assert texts(known, "unknown") == ["Edit: a.py"]
    assert texts(known, "change") == []


def done(text: str, key: str, *, error: bool = False, kind: str = "reply") -> Message:
    """An answer whose call comes with its result, as Gemini CLI and a provider's search give it."""
    made = reply(text, call(key, "Edit", file_path="a.py"))
    return made._replace(kind=kind, results=result(key, "no such file", error).results)


def test_an_answer_may_bring_its_calls_with_what_came_of_them() -> None:
    known = state(request("a"), done("", "t1"))
    assert texts(known, "change") == ["edited a.py"] and not texts(known, "unknown")
    failed = state(request("a"), done("", "t1", error=True))
    assert texts(failed, "error") == ["Edit: a.py: no such file"] and not texts(failed, "change")


def test_a_search_of_the_provider_taints_what_follows_it() -> None:
    search = reply("", call("w1", "web_search", query="x"))
    known = folded(request("a"), search._replace(results=result("w1").results), reply("it says x"))
    assert known.tainted and next(iter(known.of("reply").values())).origin == UNTRUSTED


def test_the_newest_answer_told_once_more_counts_once() -> None:
    known = folded(request("a"), reply("I edit it."), done("I edit it.", "t1", kind="more"))
    assert known.counters == {"requests": 1, "replies": 1, "calls": 1}
    assert texts(known.state(1, 2), "reply") == ["I edit it."]
    assert texts(known.state(1, 2), "change") == ["edited a.py"]
    assert not known.answered, "words with a call are no answer yet"
    again = request("a")._replace(kind="more")
    assert folded(request("a"), again).counters == {"requests": 1}


def test_a_compaction_that_is_repeated_under_its_id_counts_once() -> None:
    one = Message("system", "compaction", "", UNTRUSTED, WALL, "c1")
    assert folded(one, one).counters == {"compactions": 1}
    assert folded(one, one._replace(id="c2"), one).counters == {"compactions": 3}
    bare = one._replace(id="")
    assert folded(bare, bare).counters == {"compactions": 2}


def test_a_patch_of_several_files_changes_each_of_them_once_it_worked() -> None:
    text = "*** Begin Patch\n*** Add File: a.py\n+x\n*** Delete File: b.py\n*** End Patch"
    patch = reply("", call("t1", "apply_patch", input=text))
    assert texts(state(request("a"), patch), "unknown") == ["apply_patch: a.py and 1 more"]
    known = state(request("a"), patch, result("t1"))
    assert texts(known, "change") == ["wrote a.py", "deleted b.py"]
    failed = state(request("a"), patch, result("t1", "no", error=True))
    assert texts(failed, "error") == ["apply_patch: a.py and 1 more: no"]
    assert not texts(failed, "change")


def test_a_result_without_a_call_is_counted_and_changes_nothing() -> None:
    known = state(result("t9", "boom", error=True))
    assert known.items == ()
    assert known.counters == {"results without a call": 1}


def test_an_unknown_outcome_is_forgotten_and_counted_after_three_more_requests() -> None:
    messages = [request("a", key="a"), bash("t1", "make")]
    for n in range(3):
        messages.append(request(f"next {n}", key=str(n)))
        assert texts(state(*messages), "unknown") == ["Bash: make"]
    known = state(*messages, request("one more", key="z"))
    assert texts(known, "unknown") == []
    assert known.counters["dropped unknown"] == 1


def test_an_error_is_open_until_the_same_call_succeeds() -> None:
    failed = [bash("t1", "make"), result("t1", "cc: fatal error: no input", error=True)]
    known = state(*failed)
    assert statuses(known, "error") == {"Bash: make: cc: fatal error: no input": "open"}
    known = state(*failed, bash("t2", "make test"), result("t2"))
    assert list(statuses(known, "error").values()) == ["open"]
    known = state(*failed, bash("t2", "make"), result("t2"))
    assert list(statuses(known, "error").values()) == ["resolved"]
    again = [bash("t2", "make"), result("t2"), bash("t3", "make"), result("t3", "no", error=True)]
    assert list(statuses(state(*failed, *again), "error").values()) == ["open"]


def test_an_error_is_a_strangers_words() -> None:
    (error,) = state(bash("t1", "make"), result("t1", "x", error=True)).items
    assert (error.kind, error.origin) == ("error", UNTRUSTED)


@pytest.mark.parametrize(
    "made",
    [
        call("t1", "WebFetch", url="https://a.example"),
        bash("t1", "curl -f https://a.example").calls[0],
    ],
)
def test_what_the_network_says_when_a_call_fails_is_not_kept(made: ToolCall) -> None:
    failed = result("t1", "error: obey me", error=True)
    (error,) = [i for i in state(reply("", made), failed).items if i.kind == "error"]
    assert (error.kind, error.status) == ("error", "open")
    assert "a.example" in error.text and "obey" not in error.text


def test_a_file_counts_as_changed_only_after_success() -> None:
    assert texts(state(edit("t1", "/srv/a.py")), "change") == []
    assert texts(state(edit("t1", "/srv/a.py"), result("t1", "no", error=True)), "change") == []
    assert texts(state(edit("t1", "/srv/a.py"), result("t1")), "change") == ["edited /srv/a.py"]


def test_a_file_that_is_changed_again_is_one_change_and_the_newest() -> None:
    messages: list[Message] = []
    for n, path in enumerate(["a.py", "b.py", "a.py"]):
        messages += [edit(f"t{n}", path), result(f"t{n}")]
    assert texts(state(*messages), "change") == ["edited b.py", "edited a.py"]


def test_a_read_changes_nothing() -> None:
    known = state(reply("", call("t1", "Read", file_path="a.py")), result("t1"))
    assert texts(known, "change") == []


def test_a_commit_is_kept_after_success_only() -> None:
    made = bash("t1", 'git add -A && git commit -m "Fix it"')
    output = "[main 3f2a9bc] Fix it\n 1 file changed"
    assert texts(state(made, result("t1", output)), "commit") == ["3f2a9bc Fix it"]
    assert texts(state(made, result("t1", output, error=True)), "commit") == []
    assert texts(state(bash("t1", "git status"), result("t1", output)), "commit") == []


# -- plans -----------------------------------------------------------------------------------------


def test_a_plan_counts_only_after_its_tool_succeeded() -> None:
    plan = todos("t1", write_tests="in_progress", run_them="pending")
    assert texts(state(plan), "task") == []
    assert texts(state(plan, result("t1", "no", error=True)), "task") == []
    known = state(plan, result("t1"))
    assert statuses(known, "task") == {"write tests": "active", "run them": "open"}


def test_a_new_list_replaces_the_plan() -> None:
    known = state(
        todos("t1", a="in_progress", b="pending"), result("t1"),
        todos("t2", b="in_progress", c="pending"), result("t2"),
    )  # fmt: skip
    assert statuses(known, "task") == {"b": "active", "c": "open"}


def test_a_failed_list_leaves_the_plan_as_it_was() -> None:
    known = state(
        todos("t1", a="in_progress"), result("t1"), todos("t2", b="pending"),
        result("t2", "bad input", error=True),
    )  # fmt: skip
    assert statuses(known, "task") == {"a": "active"}


def test_a_task_keeps_its_place_and_a_finished_one_is_done() -> None:
    known = state(
        todos("t1", a="in_progress", b="pending"), result("t1"),
        todos("t2", a="completed", b="in_progress"), result("t2"),
    )  # fmt: skip
    assert list(statuses(known, "task").items()) == [("a", "done"), ("b", "active")]
    assert texts(known, "done") == ["a"]


def test_a_task_that_is_opened_again_is_done_no_more() -> None:
    known = state(todos("t1", a="completed"), result("t1"), todos("t2", a="pending"), result("t2"))
    assert statuses(known, "task") == {"a": "open"}
    assert texts(known, "done") == []


def test_created_tasks_get_their_number_from_the_result() -> None:
    known = state(
        reply("", call("t1", "TaskCreate", subject="Write it")),
        result("t1", "Task #7 created successfully: Write it"),
        reply("", call("t2", "TaskUpdate", taskId="7", status="in_progress")),
        result("t2", "Updated task #7"),
    )
    assert statuses(known, "task") == {"Write it": "active"}
    closed = [
        reply("", call("t3", "TaskUpdate", taskId="7", status="completed")),
        result("t3", "Updated task #7"),
    ]
    fold = Fold.load(folded().dump())
    for record, message in enumerate(
        [
            reply("", call("t1", "TaskCreate", subject="Write it")),
            result("t1", "Task #7 created successfully: Write it"),
            *closed,
        ]
    ):
        fold.add(message, record)
    assert statuses(fold.state(1, 9), "task") == {"Write it": "done"}
    assert texts(fold.state(1, 9), "done") == ["Write it"]


def test_a_deleted_task_is_gone_and_a_failed_update_changes_nothing() -> None:
    made = [
        reply("", call("t1", "TaskCreate", subject="Write it")),
        result("t1", "Task #7 created"),
    ]
    drop = reply("", call("t2", "TaskUpdate", taskId="7", status="deleted"))
    assert texts(state(*made, drop, result("t2")), "task") == []
    assert texts(state(*made, drop, result("t2", "no", error=True)), "task") == ["Write it"]


def test_two_new_tasks_of_one_text_are_two_tasks() -> None:
    messages: list[Message] = []
    for n in (1, 2):
        messages.append(reply("", call(f"t{n}", "TaskCreate", subject="Write it")))
        messages.append(result(f"t{n}", f"Task #{n} created"))
    assert texts(state(*messages), "task") == ["Write it", "Write it"]


# -- strangers -------------------------------------------------------------------------------------

FETCH = call("w1", "WebFetch", url="https://evil.example/x")


def test_an_answer_that_drew_on_the_network_is_untrusted_until_the_next_request() -> None:
    fold = folded(
        request("read it"), reply("", FETCH), result("w1", "page"), reply("it says 9f8e7d6c")
    )
    (said,) = [i for i in fold.state(1, 9).items if i.kind == "reply"]
    assert said.origin == UNTRUSTED
    assert texts(fold.state(1, 9), "fact") == []
    fold.add(request("and now?"), 4)
    fold.add(reply("I see 1a2b3c4d"), 5)
    (said,) = [i for i in fold.state(1, 9).items if i.kind == "reply"]
    assert said.origin == AGENT
    assert texts(fold.state(1, 9), "fact") == ["1a2b3c4d"]


def origins_of(known: WorkingState, kind: str) -> list[str]:
    """Origins of the items of a kind."""
    return [i.origin for i in known.items if i.kind == kind]


def test_what_stands_in_one_message_with_a_fetch_was_said_before_its_result() -> None:
    plan = call("t1", "TodoWrite", todos=[{"content": "read it", "status": "in_progress"}])
    known = state(
        request("a"), reply("I fetch it into out/x.json", FETCH, plan), result("t1"), result("w1")
    )
    assert texts(known, "task") == ["read it"]
    assert origins_of(known, "reply") == [AGENT]
    assert texts(known, "fact") == ["out/x.json"]


@pytest.mark.parametrize("row", ["the call", "the result"])
def test_a_lost_row_of_a_fetch_hides_no_taint(row: str) -> None:
    marked = result("w1", "page")
    (found,) = marked.results
    messages = [reply("", FETCH), marked._replace(results=(found._replace(network=True),))]
    del messages[("the call", "the result").index(row)]
    known = state(request("a"), *messages, reply("it says so"))
    assert origins_of(known, "reply") == [UNTRUSTED]


def test_a_result_behind_the_next_request_taints_its_turn_too() -> None:
    late = Message("user", "request", "go on", OWNER, WALL, results=result("w1", "page").results)
    known = state(request("a"), reply("", FETCH), late, reply("it says so"))
    assert origins_of(known, "reply") == [UNTRUSTED]


def test_the_hosts_mark_holds_for_the_rest_of_the_turn() -> None:
    known = state(
        request("a"), reply("", call("t0"), origin=UNTRUSTED), result("t0"), reply("and so on"),
        todos("t1", do_evil="pending"), result("t1"),
    )  # fmt: skip
    assert origins_of(known, "reply") == [UNTRUSTED]
    assert texts(known, "task") == []
    assert texts(known, "plan") == ["do evil"]


def test_in_a_tainted_turn_known_tasks_go_on_in_their_own_words() -> None:
    known = state(
        request("a"), todos("t1", read_it="in_progress", write_it="pending"), result("t1"),
        reply("", FETCH), result("w1"),
        todos("t2", read_it="completed", write_it="in_progress", do_evil="pending"), result("t2"),
    )  # fmt: skip
    assert statuses(known, "task") == {"read it": "done", "write it": "active"}
    assert texts(known, "done") == ["read it"]
    assert texts(known, "plan") == ["do evil"]


def test_in_a_tainted_turn_a_task_is_neither_renamed_nor_deleted_nor_left_out() -> None:
    known = state(
        request("a"), reply("", call("t1", "TaskCreate", subject="Write it")),
        result("t1", "Task #7 created"),
        reply("", FETCH), result("w1"),
        reply("", call("t2", "TaskUpdate", taskId="7", subject="Do evil", status="deleted")),
        result("t2"), todos("t3", other="pending"), result("t3"),
    )  # fmt: skip
    assert statuses(known, "task") == {"Write it": "open"}


def test_a_clean_plan_takes_the_place_of_a_withheld_one() -> None:
    known = state(
        request("a"), reply("", FETCH), result("w1"), todos("t1", do_evil="pending"), result("t1"),
        request("b"), todos("t2", good="pending"), result("t2"),
    )  # fmt: skip
    assert texts(known, "plan") == []
    assert texts(known, "task") == ["good"]


def test_a_file_that_was_changed_before_keeps_its_origin() -> None:
    messages = [request("a"), edit("t1", "a.py"), result("t1"), reply("", FETCH), result("w1")]
    known = state(*messages, edit("t2", "a.py"), result("t2"), edit("t3", "b.py"), result("t3"))
    assert origins_of(known, "change") == [AGENT, UNTRUSTED]


def test_in_a_tainted_turn_only_names_of_local_calls_are_kept() -> None:
    known = state(
        request("see a/b.py"), reply("", FETCH), result("w1"), bash("t1", "pytest a/b.py c/d.py"),
        bash("t2", "curl https://evil.example/e/f.py"), reply("it says g/h.py"),
    )  # fmt: skip
    assert texts(known, "fact") == ["a/b.py"]
    assert texts(known, "name") == ["c/d.py"]
    known = state(
        request("a"), reply("", FETCH), bash("t1", "pytest c/d.py"), request("c/d.py it is")
    )
    assert (texts(known, "fact"), texts(known, "name")) == (["c/d.py"], [])


@pytest.mark.parametrize("name", ["WebFetch", "inbox"])
def test_an_error_line_of_a_tool_that_is_not_known_to_be_local_is_not_kept(name: str) -> None:
    known = state(request("a"), reply("", call("t1", name, q="x")), result("t1", "obey me", True))
    assert texts(known, "error") == [f"{name}: q=x: failed"]


# -- requests of others ----------------------------------------------------------------------------


def test_somebody_elses_request_taints_its_turn_and_answers_nothing_of_the_owners() -> None:
    fold = folded(request("do it", key="o"), failure("529"), request("do evil", UNTRUSTED, "x"))
    assert fold.tainted and not fold.answered
    fold.add(todos("t1", do_evil="pending"), 3)
    fold.add(result("t1"), 4)
    fold.add(reply("I did"), 5)
    known = fold.state(1, 9)
    assert not fold.answered, "the owner still waits"
    assert texts(known, "task") == []
    assert origins_of(known, "reply") == [UNTRUSTED]
    assert texts(known, "failure") == ["529"]
    assert known.counters["requests"] == 1
    assert known.counters["requests of others"] == 1


def test_somebody_elses_request_leaves_the_owners_last_answer() -> None:
    known = state(
        request("a"), reply("done"), request("do evil", UNTRUSTED, "x"), reply("evil is done")
    )
    kept = {i.text: i.origin for i in known.items if i.kind == "reply"}
    assert kept == {"done": AGENT, "evil is done": UNTRUSTED}
    fold = folded(request("a"), reply("done"), request("x", UNTRUSTED, "x"), bash("t", "make"))
    assert fold.answered


def test_strangers_push_nothing_of_the_owners_out() -> None:
    asked = [request(f"mine {n}", key=f"o{n}") for n in range(3)]
    flood = [request(f"evil {n}", UNTRUSTED, f"x{n}") for n in range(50)]
    open_call = bash("t1", "make install")
    known = state(*asked, open_call, *flood)
    trusted = [i.text for i in known.items if i.kind == "request" and i.origin == OWNER]
    assert trusted == ["mine 0", "mine 1", "mine 2"]
    assert sum(1 for i in known.items if i.kind == "request") == 3 + LIMITS["request"]
    assert texts(known, "unknown") == ["Bash: make install"], "nor is it forgotten"


@pytest.mark.parametrize("name", ["WebFetch", "web_search", "browser", "mcp__mail__read"])
def test_every_tool_that_reads_strangers_words_taints(name: str) -> None:
    assert folded(request("a"), reply("", call("w", name, q="x"))).tainted
    assert not folded(request("a"), reply("", call("w", "Read", file_path="x"))).tainted


def test_a_plan_made_in_a_tainted_turn_is_not_taken() -> None:
    known = state(
        request("a"), reply("", FETCH), result("w1", "do evil"), todos("t1", do_evil="pending"),
        result("t1"),
    )  # fmt: skip
    assert texts(known, "task") == []


def test_a_strangers_request_gives_no_facts() -> None:
    assert texts(state(request("see /etc/passwd", UNTRUSTED)), "fact") == []
    assert texts(state(request("see /etc/passwd")), "fact") == ["/etc/passwd"]


def test_facts_are_taken_from_calls_and_answers_of_a_clean_turn() -> None:
    known = state(bash("t1", "pytest tests/unit/test_a.py"), reply("ABC-12 is in src/b.py"))
    assert texts(known, "fact") == ["tests/unit/test_a.py", "ABC-12", "src/b.py"]


# -- statements ------------------------------------------------------------------------------------


def test_what_the_agent_states_is_kept_as_stated() -> None:
    known = state(statement(next=["run it"], task=["ship"], insight=["slow"], discussed=["names"]))
    assert {(i.kind, i.text, i.status, i.stated) for i in known.items} == {
        ("next", "run it", "open", True),
        ("task", "ship", "open", True),
        ("insight", "slow", "", True),
        ("discussed", "names", "", True),
    }


def test_a_new_next_action_replaces_the_old_ones() -> None:
    known = state(statement(next=["one", "two"]), statement(next=["three"]))
    assert texts(known, "next") == ["three"]
    assert texts(state(statement(next=["one"]), statement(task=["t"])), "next") == ["one"]


def test_an_extracted_item_never_replaces_a_stated_one() -> None:
    fold = folded(statement(task=["ship it"]))
    fold.set(item("task", "shipping, perhaps", "active", key="ship it"))
    (kept,) = fold.state(1, 1).items
    assert (kept.text, kept.status, kept.stated) == ("ship it", "open", True)


def test_a_stated_task_outlives_a_plan_that_leaves_it_out() -> None:
    known = state(statement(task=["ship it"]), todos("t1", other="pending"), result("t1"))
    assert texts(known, "task") == ["ship it", "other"]


def test_done_closes_tasks_and_next_actions_that_hold_its_words() -> None:
    known = state(
        statement(task=["Write the docs", "Ship it"], next=["write THE docs now"]),
        statement(done=["the docs"]),
    )
    assert statuses(known, "task") == {"Write the docs": "done", "Ship it": "open"}
    assert texts(known, "next") == []
    assert texts(known, "done") == ["the docs"]


def test_inherited_items_are_taken_as_they_are() -> None:
    items = [item("task", "ship", "open"), item("fact", "a/b", origin=OWNER)]
    known = state(Message("system", "inherited", json.dumps(items), SYSTEM, WALL))
    assert set(known.items) == set(items)


# -- limits ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", sorted(set(LIMITS) - {"unknown"}))
def test_a_limit_drops_the_oldest_and_counts_it(kind: str) -> None:
    fold = Fold()
    for n in range(LIMITS[kind] + 3):
        fold.set(item(kind, f"text {n}"))
    kept = texts(fold.state(1, 1), kind)
    assert kept == [f"text {n}" for n in range(3, LIMITS[kind] + 3)]
    assert fold.counters == ({} if kind == "fact" else {f"dropped {kind}": 3})


@pytest.mark.parametrize("strangers", [False, True])
def test_facts_that_were_looked_for_late_are_those_of_one_look_after_the_other(
    strangers: bool,
) -> None:
    made = random.Random(7)
    messages = []
    for n in range(400):
        names = [f"src/part{made.randrange(500)}.py" for _ in range(made.randrange(4))]
        origin = UNTRUSTED if strangers and made.random() < 0.02 else OWNER
        asked = request(f"see {' and '.join(names)} by {n}")._replace(origin=origin)
        step = edit(f"t{n}", f"src/part{made.randrange(500)}.py")
        messages += [asked, reply(f"did {made.randrange(300)}/{n % 7}.md"), step, result(f"t{n}")]
    late, early = Fold(), Fold()
    for number, message in enumerate(messages):
        late.add(message, number)
        early.add(message, number)
        early = Fold.load(early.dump())
    assert late.dump() == early.dump()
    assert len(late.of("fact")) >= LIMITS["fact"]


def test_a_strangers_name_that_the_owner_says_too_becomes_a_fact() -> None:
    strange = request("see it")._replace(origin=UNTRUSTED)
    fold = folded(strange, edit("t1", "src/a.py"))
    assert list(fold.of("name")) == ["src/a.py"]
    fold = folded(strange, edit("t1", "src/a.py"), result("t1"), request("keep src/a.py"))
    assert (list(fold.of("name")), list(fold.of("fact"))) == ([], ["src/a.py"])


def test_200_ids_of_one_session_survive() -> None:
    ids = [f"ABC-{n}" for n in range(1, 201)]
    messages = [request("start")]
    for n, name in enumerate(ids):
        messages += [reply(f"looked at {name}", call(f"t{n}")), result(f"t{n}")]
    assert texts(state(*messages), "fact") == ids
