"""Capture from hosts that change their rows in place: nothing is lost, nothing is told twice."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from swapcache import config
from swapcache.capture import capture, corroborate, events, story
from swapcache.model import Event, Session
from swapcache.state.fold import Fold
from swapcache.store import identity, sessions
from swapcache.store.opening import open_store
from tests import databases as made

RUNNING: dict[str, Any] = {"status": "running", "input": {"command": "make"}}


class Watched:
    """A host at work and a store that follows it."""

    def __init__(self, name: str, host: Any, project: Path) -> None:
        self.name, self.host = name, host
        self.store = open_store(identity.identify(name, str(host.path.parent), str(project)))
        self.source = f"sqlite:{host.session}:{host.path}"

    def capture(self) -> int:
        """What a hook does; gives the new rows."""
        key = self.host.session
        event = Event(self.name, "turn-end", self.store.identity, key, key, self.source)
        return events.record(self.store, event, config.DEFAULTS).rows

    @property
    def session(self) -> Session:
        """The session's row."""
        found = sessions.find_session(self.store.db, self.host.session, self.host.session)
        assert found is not None
        return found

    def state(self) -> Fold:
        """The state that captures kept, which must be that of the records."""
        with self.store.writing() as writer:
            kept = capture.Ledger(self.store, writer, self.session).fold
        assert kept.dump() == story.refold(self.store, self.session)[0].dump()
        return kept

    def requests(self) -> list[str]:
        """The requests in the state."""
        return [item.text for item in self.state().of("request").values()]

    def messages(self) -> int:
        """Messages of dialogue."""
        return capture.report(self.store, self.session, 0, 0).messages


@pytest.fixture
def opencode(tmp_path: Path, project: Path) -> Iterator[Watched]:
    """An OpenCode that is followed."""
    watched = Watched("opencode", made.OpenCode(tmp_path / "opencode.db"), project)
    yield watched
    watched.store.close()


@pytest.fixture
def hermes(tmp_path: Path, project: Path) -> Iterator[Watched]:
    """A Hermes that is followed."""
    watched = Watched("hermes", made.Hermes(tmp_path / "state.db"), project)
    yield watched
    watched.store.close()


def test_captures_at_every_moment_give_the_state_of_one_at_the_end(
    opencode: Watched, tmp_path: Path, home: Path
) -> None:
    host = opencode.host
    host.prompt("1", "build it")
    opencode.capture()
    message = host.message("msg_2", "assistant")
    given = {"type": "tool", "tool": "bash", "callID": "c1"}
    host.part("prt_2_1", message, type="text", text="I build.", time={"start": 1})
    opencode.capture()
    host.change("part", "prt_2_1", time={"start": 1, "end": 2})
    host.part("prt_2_2", message, **given, state=RUNNING)
    opencode.capture()
    assert [c[0] for c in opencode.state().calls.values()] == ["bash"]
    host.change("part", "prt_2_2", state={**RUNNING, "status": "completed", "output": "ok"})
    host.complete(message)
    host.answer("3", "Built.")
    opencode.capture()
    assert opencode.capture() == 0
    step_by_step, count = opencode.state(), opencode.messages()
    assert not step_by_step.calls and count == 3
    other = home / "other"
    (other / ".git").mkdir(parents=True)
    at_once = Watched("opencode", host, other)
    at_once.capture()
    assert at_once.messages() == count
    kinds = ("request", "reply", "error", "change", "fact")
    for kind in kinds:
        texts = [
            [i.text for i in fold.of(kind).values()] for fold in (step_by_step, at_once.state())
        ]
        assert texts[0] == texts[1]
    assert step_by_step.counters == at_once.state().counters
    at_once.store.close()


def test_a_prompt_that_was_taken_back_leaves_the_state_and_stays_in_the_store(
    opencode: Watched,
) -> None:
    host = opencode.host
    host.prompt("1", "keep this")
    host.answer("2", "kept")
    host.prompt("3", "a mistake")
    host.answer("4", "done")
    opencode.capture()
    assert opencode.requests() == ["keep this", "a mistake"]
    host.db.execute("UPDATE session SET revert=?", (json.dumps({"messageID": "msg_3"}),))
    opencode.capture()
    assert opencode.requests() == ["keep this"]
    assert opencode.state().counters[capture.LEFT] == 2
    host.db.execute("UPDATE session SET revert=NULL")
    host.db.execute("DELETE FROM part WHERE message_id>='msg_3'")
    host.db.execute("DELETE FROM message WHERE id>='msg_3'")
    host.prompt("5", "better")
    opencode.capture()
    assert opencode.requests() == ["keep this", "better"]
    bodies = [r.body for r, _ in opencode.store.read(0, 1 << 40)]
    assert any(b"a mistake" in body for body in bodies), "nothing is purged"
    found = corroborate.corroborate(opencode.store)
    assert found.differing == 0, found.differences


def test_a_message_from_a_clock_that_went_back_is_not_lost(opencode: Watched) -> None:
    for n in range(10):
        opencode.host.prompt(f"{n}", f"request {n}")
    opencode.capture()
    opencode.host.clock -= 12_500
    opencode.host.prompt("late", "from before")
    opencode.capture()
    assert "from before" in opencode.requests() or opencode.messages() == 11
    assert opencode.messages() == 11


def test_a_row_that_its_host_changed_since_is_not_said_to_differ(opencode: Watched) -> None:
    host = opencode.host
    host.prompt("1", "tell me")
    host.answer("2", "red")
    opencode.capture()
    host.change("part", "prt_2_2", text="blue")
    found = corroborate.corroborate(opencode.store)
    assert found.differing == 0 and sum(r.records for r in found.rewritten) == 1
    opencode.capture()
    assert corroborate.corroborate(opencode.store).differing == 0


def test_a_row_that_somebody_changed_behind_the_hosts_back_differs(opencode: Watched) -> None:
    host = opencode.host
    host.prompt("1", "pay Ann")
    host.answer("2", "done")
    opencode.capture()
    host.db.execute("UPDATE part SET data=replace(data, 'Ann', 'Eve')")
    found = corroborate.corroborate(opencode.store)
    assert [one.reason for one in found.differences] == [corroborate.BYTES]


def test_a_compaction_in_place_adds_its_summary_and_nothing_else(hermes: Watched) -> None:
    host = hermes.host
    host.add("user", "count the files")
    call = host.call("c1", "terminal", command="ls")
    result = host.result("c1", '{"output": "1", "exit_code": 0}')
    said = host.add("assistant", "one")
    hermes.capture()
    before = hermes.messages()
    host.compact([call, result, said], "counted")
    assert hermes.capture() == 4, "copies are kept"
    assert hermes.messages() == before and hermes.requests() == ["count the files"]
    assert hermes.state().counters["compactions"] == 1
    host.add("user", "count the files")
    hermes.capture()
    assert hermes.requests() == ["count the files", "count the files"]
    assert corroborate.corroborate(hermes.store).differing == 0


def test_a_rewind_and_a_retry_leave_the_state_that_the_host_goes_on_with(hermes: Watched) -> None:
    host = hermes.host
    host.add("user", "keep")
    host.add("assistant", "kept")
    mistake = host.add("user", "a mistake")
    hermes.capture()
    host.db.execute("UPDATE messages SET active=0 WHERE id>=?", (mistake,))
    host.db.execute("UPDATE sessions SET rewind_count=rewind_count+1")
    host.add("user", "better")
    hermes.capture()
    assert hermes.requests() == ["keep", "better"]
    host.db.execute("DELETE FROM messages")
    host.add("user", "keep")
    host.add("assistant", "kept, in other words")
    hermes.capture()
    assert hermes.requests() == ["keep"]
    assert hermes.store.verify().good


def test_a_session_that_its_host_deletes_stays_as_it_was_captured(hermes: Watched) -> None:
    hermes.host.add("user", "keep")
    hermes.capture()
    hermes.host.db.execute("DELETE FROM messages")
    hermes.host.db.execute("DELETE FROM sessions")
    assert hermes.capture() == 0
    assert hermes.requests() == ["keep"]


def test_pi_that_rewrites_an_old_session_in_the_new_form_tells_it_once(
    home: Path, project: Path
) -> None:
    path = home / "s.jsonl"
    store = open_store(identity.identify("pi", str(home), str(project)))
    event = Event("pi", "turn-end", store.identity, "s1", "s1", str(path))
    header: dict[str, Any] = {"type": "session", "id": "s1", "timestamp": "t", "cwd": str(project)}
    first = {"type": "message", "timestamp": "t", "message": {"role": "user", "content": "one"}}
    path.write_text("".join(json.dumps(row) + "\n" for row in (header, first)))
    events.record(store, event, config.DEFAULTS)
    second: dict[str, Any] = {"type": "message", "id": "b", "parentId": "a", "timestamp": "t"}
    second["message"] = {"role": "user", "content": "two"}
    rows = (header | {"version": 3}, first | {"id": "a", "parentId": None}, second)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    events.record(store, event, config.DEFAULTS)
    session = sessions.find_session(store.db, "s1", "s1")
    assert session is not None
    fold = story.refold(store, session)[0]
    assert [i.text for i in fold.of("request").values()] == ["one", "two"]
    assert capture.report(store, session, 0, 0).messages == 2
    store.close()
