"""Sessions that go on after a pruning: the state row is a fold of what is left, on any branch."""

import contextlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from swapcache.capture import capture, story
from swapcache.model import Session
from swapcache.store import identity, sessions
from swapcache.store.opening import open_store
from swapcache.store.store import Store
from tests.unit.capture.test_story import (
    ROW,
    STEP,
    Pi,
    asked,
    captured,
    codex,
    gemini,
    kept,
    qwen,
)
from tests.unit.store.pruned import take_all

FEW = settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
Folders = pytest.TempPathFactory


def same(store: Store, session: Session) -> None:
    """The state row, and what the records tell without it, are the same and proven."""
    told = story.refold(store, session)
    assert told.whole and told.fold.dump() == kept(store, session).dump()
    assert capture.current(store, session, None).whole
    assert store.verify().good


@FEW
@given(before=st.lists(ROW, min_size=1, max_size=8), after=st.lists(ROW, max_size=10))
def test_a_tree_goes_on_after_a_pruning(
    before: list[tuple[str, int, bool]],
    after: list[tuple[str, int, bool]],
    tmp_path_factory: Folders,
    home: Path,
) -> None:
    folder = tmp_path_factory.mktemp("tree")
    with contextlib.closing(
        open_store(identity.identify("openclaw", "/state", str(folder)))
    ) as store:
        rows = Pi(folder / "t.jsonl")
        ids = ["root"]
        rows.say("root", None)
        for number, (kind, back, now) in enumerate([*before, *after]):
            key, parent = f"m{number}", ids[max(0, len(ids) - 1 - back // 3)]
            if kind == "leaf":
                rows.add({"type": "leaf", "id": key, "parentId": ids[-1], "targetId": parent})
            elif kind == "label":
                rows.add({"type": "label", "id": key, "parentId": parent})
            elif kind == "side":
                rows.say(key, parent, appendMode="side")
            else:
                rows.say(key, "nobody" if kind == "unknown parent" else parent, kind.split()[0])
            ids.append(key)
            if now:
                captured(store, rows.path)
            if number == len(before) - 1:
                captured(store, rows.path)
                take_all(store)
        same(store, captured(store, rows.path))


@FEW
@given(before=st.lists(STEP, min_size=1, max_size=8), after=st.lists(STEP, max_size=10))
@pytest.mark.parametrize("host", [gemini, codex, qwen])
def test_other_hosts_go_on_after_a_pruning(
    host: Callable[[str, int, int], dict[str, Any]],
    before: list[tuple[str, int, bool]],
    after: list[tuple[str, int, bool]],
    tmp_path_factory: Folders,
    home: Path,
) -> None:
    folder = tmp_path_factory.mktemp("branches")
    with contextlib.closing(
        open_store(identity.identify(host.__name__, "/state", str(folder)))
    ) as store:
        path = folder / "t.jsonl"
        first = json.dumps(host("ask", 0, 1)), json.dumps(host("answer", 1, 1))
        path.write_text("\n".join(first) + "\n")
        for number, (kind, back, now) in enumerate([*before, *after], 2):
            with path.open("a") as file:
                file.write(json.dumps(host(kind, number, back)) + "\n")
            if now:
                captured(store, path)
            if number == len(before) + 1:
                captured(store, path)
                take_all(store)
        same(store, captured(store, path))


def test_a_way_back_among_new_rows_is_taken_and_one_behind_them_leaves_what_was_pruned(
    project: Path, home: Path
) -> None:
    with contextlib.closing(
        open_store(identity.identify("openclaw", "/state", str(project)))
    ) as store:
        rows = Pi(home / "t.jsonl")
        rows.say("a", None)
        rows.say("b", "a")
        captured(store, rows.path)
        take_all(store)
        rows.say("c", "b")
        rows.say("d", "b")
        assert asked(store, captured(store, rows.path)) == ["a", "b", "d"]
        rows.say("e", "a")
        session = captured(store, rows.path)
        assert asked(store, session) == ["a", "b", "d", "e"], (
            "that b was left, nobody knows any more"
        )
        same(store, session)


def test_a_later_window_and_the_one_before_it_stand_on_their_own(project: Path, home: Path) -> None:
    with contextlib.closing(
        open_store(identity.identify("openclaw", "/state", str(project)))
    ) as store:
        rows = Pi(home / "t.jsonl")
        rows.say("a", None)
        first = captured(store, rows.path)
        with store.writing() as writer:
            made = sessions.add_session(store.db, "s", "s", None, "2026-11-30T12:00:00Z", window=1)
            ledger = capture.Ledger(store, writer, made)
            ledger.save()
        more = Pi(home / "u.jsonl")
        more.say("z", None)
        second = captured(store, more.path)
        assert second.number == made.number != first.number
        take_all(store)
        store.db.execute("DELETE FROM state")
        for session, key in ((first, "a"), (second, "z")):
            told = story.refold(store, session)
            assert told.whole
            assert [i.key for i in told.fold.of("request").values()] == [key]
