"""Claude Code's tree: what a rewind left is counted, not folded; nothing else is left behind."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from swapcache import config
from swapcache.capture import capture, events, story
from swapcache.model import Event
from swapcache.state.fold import Fold
from swapcache.store import identity, sessions
from swapcache.store.opening import open_store
from swapcache.store.store import Store


class Host:
    """A Claude Code at work: rows as it writes them."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []
        self.leaf: str | None = None

    def row(self, kind: str, name: str, parent: str | None = "", **more: Any) -> str:
        """One more row; it hangs behind the newest one unless `parent` says otherwise."""
        value = {
            "parentUuid": self.leaf if parent == "" else parent,
            "isSidechain": False,
            "type": kind,
            "uuid": name,
            "sessionId": "s1",
            "timestamp": f"2026-12-01T03:00:{len(self.rows):02d}.000Z",
        }
        self.rows.append({**value, **more})
        if not more.get("isSidechain"):
            self.leaf = name
        return name

    def ask(self, name: str, parent: str | None = "", **more: Any) -> str:
        """A person's words, which are the row's name too."""
        return self.row("user", name, parent, message={"role": "user", "content": name}, **more)

    def call(self, name: str, parent: str | None = "", message: str = "") -> str:
        """A call; several rows may be of one message."""
        block = {"type": "tool_use", "id": f"t-{name}", "name": "Bash", "input": {"command": name}}
        inner = {"role": "assistant", "id": message or name, "content": [block]}
        return self.row("assistant", name, parent, message=inner)

    def result(self, name: str, call: str, parent: str | None = "") -> str:
        """A call's result."""
        block = {"type": "tool_result", "tool_use_id": f"t-{call}", "content": "done"}
        return self.row("user", name, parent, message={"role": "user", "content": [block]})

    def reply(self, name: str, parent: str | None = "", **more: Any) -> str:
        """The agent's words."""
        inner = {"role": "assistant", "content": [{"type": "text", "text": name}]}
        return self.row("assistant", name, parent, message=inner, **more)


@pytest.fixture
def host() -> Host:
    """A session that has just begun: two turns."""
    made = Host()
    made.ask("ask one", None)
    made.reply("answer one")
    made.ask("ask two")
    made.reply("answer two")
    return made


@pytest.fixture
def store(home: Path, project: Path) -> Iterator[Store]:
    """An empty store."""
    made = open_store(identity.identify("claude-code", str(home), str(project)))
    yield made
    made.close()


def folded(store: Store, host: Host, home: Path, step: int = 1 << 20) -> Fold:
    """The state after a capture, which is what the records tell anew."""
    path = home / f"{step}.jsonl"
    for at in range(0, len(host.rows), step):
        with path.open("a") as file:
            file.writelines(json.dumps(row) + "\n" for row in host.rows[at : at + step])
        event = Event("claude-code", "fold", store.identity, f"s{step}", f"s{step}", str(path))
        events.record(store, event, config.DEFAULTS)
    session = sessions.find_session(store.db, f"s{step}", f"s{step}")
    assert session is not None
    row = sessions.load_state(store.db, store.keys, session.number)
    assert row is not None
    kept = Fold.load(row[1])
    assert story.refold(store, session).fold.dump() == kept.dump()
    records = store.db.execute(
        "SELECT count(*) FROM record JOIN source ON source=number"
    ).fetchone()
    assert records[0] >= len(host.rows), "nothing is purged"
    return kept


def asked(fold: Fold) -> list[str]:
    """The requests of a state."""
    return [item.text for item in fold.of("request").values()]


@pytest.mark.parametrize("step", [1, 2, 3, 1 << 20])
def test_A2_what_a_rewind_left_is_counted_and_not_folded(
    host: Host, store: Store, home: Path, step: int
) -> None:
    host.ask("ask three")
    host.reply("answer three")
    host.ask("ask two, better", "answer one")
    host.reply("answer two, better")
    fold = folded(store, host, home, step)
    assert asked(fold) == ["ask one", "ask two, better"]
    assert fold.counters[capture.LEFT] == 4
    assert fold.leaf == "answer two, better"


@pytest.mark.parametrize("step", [1, 1 << 20])
def test_A2_a_host_that_goes_back_to_a_branch_it_left_tells_that_one(
    host: Host, store: Store, home: Path, step: int
) -> None:
    host.ask("another two", "answer one")
    host.reply("another answer")
    host.ask("ask three", "answer two")
    assert asked(folded(store, host, home, step)) == ["ask one", "ask two", "ask three"]


@pytest.mark.parametrize("step", [1, 1 << 20])
def test_calls_at_once_are_no_branch(host: Host, store: Store, home: Path, step: int) -> None:
    host.ask("ask three")
    for name in ("one", "two", "three"):
        host.call(name, message="m")
    for name in ("two", "one", "three"):
        host.result(f"result {name}", name, name)
    host.row("attachment", "hook", "one", attachment={"type": "hook_success"})
    host.reply("answer three", "result one")
    host.row("system", "duration", subtype="turn_duration")
    host.ask("ask four", "answer three")
    fold = folded(store, host, home, step)
    assert asked(fold) == ["ask one", "ask two", "ask three", "ask four"]
    assert not fold.counters.get(capture.LEFT)
    assert not fold.of("unknown"), "every call has its result"
    assert not fold.calls


def test_what_the_turn_told_beside_the_row_that_a_rewind_names_stays(
    host: Host, store: Store, home: Path
) -> None:
    host.ask("ask three")
    host.call("one", message="m")
    host.call("two", message="m")
    host.result("result one", "one", "one")
    host.result("result two", "two", "two")
    host.ask("ask four")
    host.ask("ask five", "result one")
    fold = folded(store, host, home)
    assert asked(fold) == ["ask one", "ask two", "ask three", "ask five"]
    assert not fold.calls


def test_C1_a_gap_and_a_row_without_a_parent_never_cut_off_what_is_older(
    host: Host, store: Store, home: Path
) -> None:
    host.ask("ask three", "a row that damage took")
    host.reply("answer three", None)
    host.ask("ask four", None)
    fold = folded(store, host, home)
    assert asked(fold) == ["ask one", "ask two", "ask three", "ask four"]
    assert not fold.counters.get(capture.LEFT)


def test_C1_rows_that_name_each_other_or_themselves_end(
    host: Host, store: Store, home: Path
) -> None:
    host.ask("itself", "itself")
    host.ask("first of a ring", "second of a ring")
    host.ask("second of a ring", "first of a ring")
    host.ask("the end", "itself")
    fold = folded(store, host, home)
    assert asked(fold)[:3] == ["ask one", "ask two", "itself"]
    assert "the end" in asked(fold)


@pytest.mark.parametrize("step", [1, 3, 1 << 20])
def test_a_history_that_a_resumed_session_copied_is_no_branch(
    host: Host, store: Store, home: Path, step: int
) -> None:
    host.rows += [dict(row) for row in host.rows]
    host.ask("ask three")
    host.reply("answer three")
    fold = folded(store, host, home, step)
    assert {"ask one", "ask two", "ask three"} == set(asked(fold))
    assert not fold.counters.get(capture.LEFT)


@pytest.mark.parametrize("step", [1, 1 << 20])
def test_a_compaction_leaves_nothing(host: Host, store: Store, home: Path, step: int) -> None:
    host.row("system", "boundary", None, subtype="compact_boundary", logicalParentUuid="answer two")
    host.ask("the summary", isCompactSummary=True)
    host.ask("ask three", "answer two")  # its tail was kept
    host.ask("ask four")
    fold = folded(store, host, home, step)
    assert asked(fold) == ["ask one", "ask two", "ask three", "ask four"]
    assert not fold.counters.get(capture.LEFT)


def test_a_child_agents_rows_are_no_branch_and_nobodys_request(
    host: Host, store: Store, home: Path
) -> None:
    host.call("task")
    host.ask("look into it", None, isSidechain=True)
    host.reply("found it", "look into it", isSidechain=True)
    host.result("result", "task")
    host.ask("ask three")
    fold = folded(store, host, home)
    assert asked(fold) == ["ask one", "ask two", "ask three"]
    assert not fold.counters.get(capture.LEFT)


def test_a_prompt_that_waited_in_the_queue_leaves_no_other(
    host: Host, store: Store, home: Path
) -> None:
    host.call("one")
    for name in ("queued one", "queued two"):
        inner = {"type": "queued_command", "prompt": name, "commandMode": "prompt"}
        host.row("attachment", name, "one", attachment=inner)
    host.result("result one", "one", "one")
    host.reply("answer three")
    fold = folded(store, host, home)
    assert asked(fold) == ["ask one", "ask two", "queued one", "queued two"]
    assert not fold.counters.get(capture.LEFT)
