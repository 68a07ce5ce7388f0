"""Branches: what a host went back behind is kept, counted, and no part of the state."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from swapcache import config
from swapcache.capture import capture, events, story
from swapcache.cli.capture import messages as dry_run
from swapcache.model import Event, Session
from swapcache.state.fold import Fold
from swapcache.store import identity, sessions
from swapcache.store.opening import open_store
from swapcache.store.store import Store
from swapcache.transcripts import formats


class Pi:
    """A transcript of the pi family, appended to row by row."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.add({"type": "session", "version": 3, "id": "s", "timestamp": "", "cwd": "/w"})

    def add(self, value: dict[str, Any]) -> None:
        """Any row."""
        with self.path.open("a") as file:
            file.write(json.dumps(value) + "\n")

    def say(self, key: str, parent: str | None, role: str = "user", **more: Any) -> None:
        """A message whose text is its id."""
        message = {"role": role, "content": f"words of {key}"}
        row = {"type": "message", "id": key, "parentId": parent, "timestamp": ""}
        self.add({**row, "message": message, **more})


@pytest.fixture
def store(project: Path) -> Store:
    """An open store."""
    return open_store(identity.identify("openclaw", "/state", str(project)))


def captured(store: Store, path: Path) -> Session:
    """The session after a capture of what is new."""
    event = Event("openclaw", "fold", store.identity, "s", "s", str(path))
    events.record(store, event, config.DEFAULTS)
    session = sessions.find_session(store.db, "s", "s")
    assert session is not None
    return session


def kept(store: Store, session: Session) -> Fold:
    """The state row."""
    row = sessions.load_state(store.db, store.keys, session.number)
    assert row is not None
    return Fold.load(row[1])


def asked(store: Store, session: Session) -> list[str]:
    """Requests of the state."""
    return [i.key for i in kept(store, session).of("request").values()]


def test_A2_what_the_owner_went_back_behind_is_no_task_any_more(store: Store, home: Path) -> None:
    rows = Pi(home / "t.jsonl")
    rows.say("a", None)
    rows.say("b", "a", "assistant")
    rows.say("wrong", "b")
    rows.say("w2", "wrong", "assistant")
    assert asked(store, captured(store, rows.path)) == ["a", "wrong"]
    rows.say("right", "b")
    session = captured(store, rows.path)
    assert asked(store, session) == ["a", "right"]
    assert kept(store, session).counters[capture.LEFT] == 2
    report = capture.report(store, session, 0, 0)
    assert (report.records, report.messages) == (6, 3)
    bodies = b"".join(r.body for r, _ in store.read(0, 99) if r.meta["kind"] == "raw")
    assert bodies == rows.path.read_bytes(), "nothing is purged"
    store.close()


def test_a_message_beside_the_branch_is_counted_and_not_folded(store: Store, home: Path) -> None:
    rows = Pi(home / "t.jsonl")
    rows.say("a", None)
    rows.say("aside", "a", appendMode="side")
    rows.say("b", "a")
    session = captured(store, rows.path)
    assert asked(store, session) == ["a", "b"]
    assert kept(store, session).counters[capture.LEFT] == 1
    assert capture.report(store, session, 0, 0).messages == 2
    store.close()


ROW = st.tuples(
    st.sampled_from(["user", "assistant", "side", "leaf", "label", "unknown parent"]),
    st.integers(0, 9),
    st.booleans(),
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(plan=st.lists(ROW, max_size=14))
def test_the_state_row_equals_a_fold_of_the_records(
    plan: list[tuple[str, int, bool]], tmp_path_factory: pytest.TempPathFactory, home: Path
) -> None:
    folder = tmp_path_factory.mktemp("tree")
    store = open_store(identity.identify("openclaw", "/state", str(folder)))
    rows = Pi(folder / "t.jsonl")
    ids = ["root"]
    rows.say("root", None)
    for number, (kind, back, capture_now) in enumerate(plan):
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
        if capture_now:
            captured(store, rows.path)
    session = captured(store, rows.path)
    anew, last, _ = story.refold(store, session)
    assert anew.dump() == kept(store, session).dump()
    said = [r.meta for r, _ in store.read(0, 99) if r.meta.get("class") in capture.COUNTED]
    left = anew.counters.get(capture.LEFT, 0)
    assert capture.report(store, session, 0, 0).messages == len(said) - left
    assert last == session.last
    store.close()


def gemini(kind: str, number: int, back: int) -> dict[str, Any]:
    """A row of Gemini CLI's; `back` picks an older one."""
    key = f"m{number}"
    if kind == "back":
        return {"$rewindTo": f"m{number - back}"}
    if kind == "ask":
        return {"id": key, "timestamp": "", "type": "user", "content": f"words of {key}"}
    tool = {"id": f"c{number}", "name": "replace", "args": {"file_path": key}, "result": "ok"}
    more = {"toolCalls": [tool]} if kind == "more" else {}
    key = f"m{number - 1}" if kind == "more" else key
    return {"id": key, "timestamp": "", "type": "gemini", "content": f"said {key}", **more}


def codex(kind: str, number: int, back: int) -> dict[str, Any]:
    """A row of Codex's."""
    if kind == "back" and back % 2:
        event = {"type": "thread_rolled_back", "num_turns": back}
        return {"type": "event_msg", "ordinal": number, "payload": event}
    if kind == "back":
        base = {"thread_id": "s", "end_ordinal_exclusive": number - back}
        return {"type": "session_meta", "payload": {"id": "s", "cwd": "/w", "history_base": base}}
    item: dict[str, Any] = {"type": "message", "role": "user", "content": [{"text": f"m{number}"}]}
    if kind == "answer":
        item["role"] = "assistant"
    if kind == "more":
        call = {"name": "apply_patch", "call_id": f"c{number}", "input": ""}
        item = {"type": "custom_tool_call", **call}
    return {"type": "response_item", "ordinal": number, "payload": item}


def qwen(kind: str, number: int, back: int) -> dict[str, Any]:
    """A row of Qwen Code's; `back` picks what it hangs on."""
    row: dict[str, Any] = {
        "uuid": f"m{number}",
        "parentUuid": f"m{number - back}",
        "sessionId": "s",
    }
    text = {"parts": [{"text": f"words of {number}"}]}
    if kind == "ask":
        return {**row, "type": "user", "provenance": "real_user", "message": text}
    if kind == "answer":
        return {**row, "type": "assistant", "message": text}
    subtype = "rewind" if kind == "back" else "custom_title"
    return {**row, "type": "system", "subtype": subtype, "systemPayload": {}}


STEP = st.tuples(
    st.sampled_from(["ask", "answer", "more", "more", "back"]), st.integers(1, 6), st.booleans()
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(plan=st.lists(STEP, max_size=14))
@pytest.mark.parametrize("host", [gemini, codex, qwen])
def test_the_state_row_equals_a_fold_of_the_records_of_other_hosts(
    host: Callable[[str, int, int], dict[str, Any]],
    plan: list[tuple[str, int, bool]],
    tmp_path_factory: pytest.TempPathFactory,
    home: Path,
) -> None:
    folder = tmp_path_factory.mktemp("branches")
    store = open_store(identity.identify(host.__name__, "/state", str(folder)))
    path = folder / "t.jsonl"
    with path.open("a") as file:
        file.write(json.dumps(host("ask", 0, 1)) + "\n" + json.dumps(host("answer", 1, 1)) + "\n")
        for number, (kind, back, capture_now) in enumerate(plan, 2):
            file.write(json.dumps(host(kind, number, back)) + "\n")
            file.flush()
            if capture_now:
                captured(store, path)
    session = captured(store, path)
    anew, last, _ = story.refold(store, session)
    assert anew.dump() == kept(store, session).dump()
    assert last == session.last
    values = [json.loads(line) for line in path.read_text().splitlines()]
    messages = capture.report(store, session, 0, 0).messages
    assert messages == dry_run(values, formats.by_name(host.__name__))
    told = [r.meta for r, _ in store.read(0, 99) if r.meta.get("class") in capture.COUNTED]
    assert messages <= len(told) - anew.counters.get(capture.LEFT, 0)
    store.close()


def test_a_header_that_the_host_wrote_anew_begins_a_generation(store: Store, home: Path) -> None:
    rows = Pi(home / "t.jsonl")
    rows.say("a", None)
    rows.say("b", "a", "assistant")
    captured(store, rows.path)
    text = rows.path.read_text()
    rows.path.write_text(text.replace('"id": "s"', '"id": "z"'))
    rows.say("c", "b")
    session = captured(store, rows.path)
    report = capture.report(store, session, 0, 0)
    assert (report.records, report.messages) == (4, 3), "each once"
    assert asked(store, session) == ["a", "c"]
    bodies = b"".join(r.body for r, _ in store.read(0, 99) if r.meta["kind"] == "raw")
    assert bodies.endswith(rows.path.read_bytes()) and bodies.startswith(text.encode())
    store.close()


def test_A5_a_transcript_that_lost_its_end_is_counted_with_what_it_lost(
    store: Store, home: Path
) -> None:
    rows = Pi(home / "t.jsonl")
    rows.say("a", None)
    whole = rows.path.read_bytes()
    rows.say("b", "a", "assistant")
    captured(store, rows.path)
    rows.path.write_bytes(whole)  # the power went before the host's last write was on the disk
    rows.say("c", "a")
    session = captured(store, rows.path)
    report = capture.report(store, session, 0, 0)
    assert report.records == 4 and report.messages == 2
    assert asked(store, session) == ["a", "c"]
    store.close()


@pytest.mark.parametrize("then", ["cut again", "rewritten", "whole again"])
def test_A5_a_transcript_that_lost_its_end_twice_tells_every_row_once(
    store: Store, home: Path, then: str
) -> None:
    rows = Pi(home / "t.jsonl")
    rows.say("a", None)
    rows.say("b", "a", "assistant")
    head = rows.path.read_bytes()
    rows.say("c", "b")
    full = rows.path.read_bytes()
    captured(store, rows.path)
    rows.path.write_bytes(head if then != "whole again" else head[:-60])
    captured(store, rows.path)
    if then == "cut again":
        rows.say("d", "b")
        captured(store, rows.path)
        rows.path.write_bytes(head)
        captured(store, rows.path)
    elif then == "rewritten":
        rows.path.write_bytes(head.replace(b"words of a", b"other words"))
    else:
        rows.path.write_bytes(full)
    rows.say("e", "c" if then == "whole again" else "b")
    session = captured(store, rows.path)
    wanted = ["a", "c", "e"] if then == "whole again" else ["a", "e"]
    assert asked(store, session) == wanted
    assert kept(store, session).dump() == story.refold(store, session)[0].dump()
    left = kept(store, session).counters.get(capture.LEFT, 0)
    told = {r.meta["msg_id"] for r, _ in store.read(0, 99) if r.meta.get("class") == "request"}
    assert capture.report(store, session, 0, 0).messages == len(wanted) + 1, (left, told)
    store.close()


GROUP = "agent:main:telegram:group:5"


def captured_under(store: Store, key: str, path: Path) -> Session:
    """The session of a key after a capture."""
    events.record(
        store, Event("openclaw", "fold", store.identity, "s", key, str(path)), config.DEFAULTS
    )
    session = sessions.find_session(store.db, key, "s")
    assert session is not None
    return session


def origins_of(store: Store) -> list[tuple[str, bool]]:
    """(origin, whether it was assumed) of the requests, as they are sealed."""
    metas = [r.meta for r, _ in store.read(0, 99) if r.meta.get("class") == "request"]
    return [(m["origin"], bool(m.get("assumed"))) for m in metas]


@pytest.mark.parametrize(
    ("key", "sealed"),
    [
        ("agent:main:main", [("owner", True), ("owner", False), ("untrusted", False)]),
        (GROUP, [("untrusted", False), ("owner", False), ("untrusted", False)]),
        ("s", [("owner", True), ("owner", False), ("untrusted", False)]),
    ],
)
def test_an_origin_says_whether_the_host_marked_it(
    store: Store, home: Path, key: str, sealed: list[tuple[str, bool]]
) -> None:
    rows = Pi(home / "t.jsonl")
    rows.say("a", None)
    rows.say("b", "a", __openclaw={"senderIsOwner": True})
    rows.say("c", "b", __openclaw={"senderIsOwner": False})
    session = captured_under(store, key, rows.path)
    assert origins_of(store) == sealed
    assert story.refold(store, session)[0].dump() == kept(store, session).dump()
    store.close()


def test_an_assumed_origin_stays_as_it_was_sealed(store: Store, home: Path) -> None:
    rows = Pi(home / "t.jsonl")
    rows.say("a", None)
    rows.say("b", "a", "assistant")
    session = captured_under(store, GROUP, rows.path)
    before = kept(store, session).dump()
    store.db.execute("UPDATE session SET key='agent:main:main'")  # this row is not sealed
    assert story.refold(store, session)[0].dump() == before
    assert all(
        i.origin == "untrusted" for i in story.refold(store, session)[0].of("request").values()
    )
    store.close()


def test_rows_that_come_without_an_event_are_judged_alike(store: Store, home: Path) -> None:
    rows = Pi(home / "t.jsonl")
    rows.say("a", None)
    session = captured_under(store, GROUP, rows.path)
    rows.say("b", "a")
    events.reconcile(store, session, "openclaw", gone=True)
    assert origins_of(store) == [("untrusted", False)] * 2
    store.close()
