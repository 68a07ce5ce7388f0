"""Capture: rows become sealed records once, and the state equals a fold of them."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from swapcache import config
from swapcache.capture import capture, events, story
from swapcache.errors import FormatError, SealError, SourceError
from swapcache.hosts import claude_code
from swapcache.model import Event, Session, ToolCall, ToolResult
from swapcache.store import identity, reseal, sessions
from swapcache.store.opening import open_store
from swapcache.store.store import Store
from swapcache.wake import scene
from tests.rows import Claude


@pytest.fixture
def store(project: Path) -> Store:
    """An open store of the project."""
    return open_store(identity.identify("claude-code", claude_code.state_dir(), str(project)))


def event(store: Store, name: str, path: Path | str, session: str = "s1", **more: object) -> Event:
    """An event of session `session`."""
    made = Event("claude-code", name, store.identity, session, session, str(path))
    return made._replace(**more)  # type: ignore[arg-type]  # fields of Event


def found(store: Store, session: str = "s1") -> Session:
    """The session's row."""
    row = sessions.find_session(store.db, session, session)
    assert row is not None
    return row


def records(store: Store) -> list[bytes]:
    """Bodies of the raw records, in order."""
    return [r.body for r, good in store.read(0, 1 << 40) if r.meta.get("kind") == "raw" and good]


def test_records_joined_are_the_transcript(store: Store, home: Path) -> None:
    rows = Claude(home / "t.jsonl")
    rows.user("do it")
    rows.raw(b'{"type":"strange","x":1}\r\n\n')
    rows.raw(b"broken {\n")
    rows.say("done")
    events.record(store, event(store, "turn-end", rows.path), config.DEFAULTS)
    assert b"".join(records(store)) == rows.path.read_bytes()
    report = capture.report(store, found(store), 0, 0)
    assert (report.records, report.kept, report.messages) == (5, 3, 2)
    assert [d.reason.partition("(")[0] for d in report.lost] == ["not JSON "]
    store.close()


def test_B5_replaying_adds_nothing_and_equal_messages_stay_two(store: Store, home: Path) -> None:
    rows = Claude(home / "t.jsonl")
    rows.user("again")
    rows.user("again")
    for _ in range(3):
        events.record(store, event(store, "turn-end", rows.path), config.DEFAULTS)
    assert len(records(store)) == 2
    rows.say("once more")
    events.record(store, event(store, "turn-end", rows.path), config.DEFAULTS)
    assert len(records(store)) == 3
    store.close()


def test_B5_a_rewritten_transcript_is_a_new_generation_and_nothing_is_purged(
    store: Store, home: Path
) -> None:
    rows = Claude(home / "t.jsonl")
    rows.user("the first wording")
    rows.say("ok")
    events.record(store, event(store, "turn-end", rows.path), config.DEFAULTS)
    rows.path.unlink()
    other = Claude(home / "t.jsonl")
    other.user("a second wording")
    events.record(store, event(store, "turn-end", other.path), config.DEFAULTS)
    assert len(records(store)) == 3
    state = story.refold(store, found(store)).fold
    assert [i.text for i in state.of("request").values()] == ["a second wording"]
    assert store.verify().good
    store.close()


def test_the_state_row_equals_a_fold_of_the_records(store: Store, home: Path) -> None:
    rows = Claude(home / "t.jsonl")
    for number in range(12):
        rows.user(f"request {number} about src/file{number}.py")
        rows.call(f"c{number}", "Edit", file_path=f"src/file{number}.py")
        events.record(store, event(store, "tool", rows.path), config.DEFAULTS)
        rows.result(f"c{number}", "ok" if number % 3 else "Error: no", error=number % 3 == 0)
        rows.say("next")
        events.record(store, event(store, "turn-end", rows.path), config.DEFAULTS)
    kept = sessions.load_state(store.db, store.keys, found(store).number)
    assert kept is not None
    assert story.refold(store, found(store))[0].dump() == kept[1]
    store.close()


def test_a_state_row_that_was_edited_is_made_anew_from_the_records(
    store: Store, home: Path
) -> None:
    rows = Claude(home / "t.jsonl")
    rows.user("honest words")
    events.record(store, event(store, "turn-end", rows.path), config.DEFAULTS)
    store.db.execute("UPDATE state SET body = replace(body, 'honest', 'planted')")
    rows.say("ok")
    events.record(store, event(store, "turn-end", rows.path), config.DEFAULTS)
    kept = sessions.load_state(store.db, store.keys, found(store).number)
    assert kept is not None and "honest words" in kept[1] and "planted" not in kept[1]
    store.close()


def hidden(store: Store) -> None:
    """The newest request lies with nobody and the state of the first one is back."""
    store.db.execute("INSERT OR REPLACE INTO state SELECT * FROM older")
    store.db.execute("UPDATE record SET source=NULL WHERE seq>(SELECT seq FROM older)")


def forgotten(store: Store) -> None:
    """The session looks like a new one, its transcript like one that was read by it."""
    store.db.execute("DELETE FROM state")
    store.db.execute("UPDATE session SET last=-1")
    store.db.execute("UPDATE record SET source=NULL")


def lost(store: Store) -> None:
    """A request is gone, and the state that told of it."""
    store.db.execute("DELETE FROM state")
    store.db.execute("DELETE FROM record WHERE seq=(SELECT min(seq) FROM record WHERE source>0)")


def changed(store: Store) -> None:
    """A request says something else, and the state that told of it is gone."""
    store.db.execute("DELETE FROM state")
    store.db.execute("UPDATE chunk SET data=(SELECT data FROM chunk WHERE id=3) WHERE id=1")


@pytest.mark.parametrize("attack", [hidden, forgotten, lost, changed])
def test_C2_nothing_is_folded_on_over_what_was_taken_away(
    store: Store, home: Path, attack: Callable[[Store], None]
) -> None:
    """Else the next capture would seal a state without it."""
    rows = Claude(home / "t.jsonl")
    for number in range(3):
        rows.user(f"request {number}")
        events.record(store, event(store, "turn-end", rows.path), config.DEFAULTS)
        store.db.execute("CREATE TEMP TABLE IF NOT EXISTS older AS SELECT * FROM state")
    attack(store)
    head = store.head()
    rows.user("go on")
    with pytest.raises(SealError, match="session s1 stands on"):
        events.record(store, event(store, "turn-end", rows.path), config.DEFAULTS)
    assert store.head() == head
    assert not scene.known(store, found(store)).whole
    assert not store.verify().good, "and a person is told where"
    assert reseal.adopt(store, reseal.digest(store)).good, "and can take what is left"
    events.record(store, event(store, "turn-end", rows.path), config.DEFAULTS)
    assert "go on" in [i.text for i in scene.known(store, found(store))[0].items]
    store.close()


def test_a_state_that_is_only_lost_is_made_anew(store: Store, home: Path) -> None:
    rows = Claude(home / "t.jsonl")
    rows.user("the only request")
    events.record(store, event(store, "turn-end", rows.path), config.DEFAULTS)
    store.db.execute("DELETE FROM state")
    known = scene.known(store, found(store))
    assert known.whole and [i.text for i in known.state.items] == ["the only request"]
    rows.say("ok")
    events.record(store, event(store, "turn-end", rows.path), config.DEFAULTS)
    assert sessions.load_state(store.db, store.keys, found(store).number) is not None
    store.close()


def test_a_records_seal_names_its_session_and_its_window(store: Store) -> None:
    with store.writing():
        made = sessions.add_session(store.db, "k", "s1", None, "2026-11-30T12:00:00+00:00")
    assert capture.whose(made) == {"session": "s1"}
    assert capture.whose(made._replace(window=3)) == {"session": "s1", "window": 3}


def test_a_provisional_prompt_goes_when_the_transcript_has_it(store: Store, home: Path) -> None:
    rows = Claude(home / "t.jsonl")
    prompt = event(store, "prompt", rows.path, prompt="count the boxes")
    events.record(store, prompt, config.DEFAULTS)
    kept = sessions.load_state(store.db, store.keys, found(store).number)
    assert kept is not None and "count the boxes" in kept[2]
    rows.user("count the boxes")
    events.record(store, event(store, "turn-end", rows.path), config.DEFAULTS)
    kept = sessions.load_state(store.db, store.keys, found(store).number)
    assert kept is not None and kept[2] == "{}"
    store.close()


def test_a_prompt_that_no_transcript_gets_is_sealed_as_uncorroborated(
    store: Store, home: Path
) -> None:
    rows = Claude(home / "t.jsonl")
    events.record(store, event(store, "prompt", rows.path, prompt="lost words"), config.DEFAULTS)
    events.reconcile(store, found(store), "claude-code", gone=True)
    metas = [r.meta for r, good in store.read(0, 1 << 40) if good]
    assert [m["event"] for m in metas if m["kind"] == "statement"] == ["uncorroborated"]
    state = story.refold(store, found(store)).fold
    assert [i.text for i in state.of("request").values()] == ["lost words"]
    store.close()


def test_a_finished_call_is_known_before_its_result_is_written(store: Store, home: Path) -> None:
    rows = Claude(home / "t.jsonl")
    rows.user("build")
    rows.call("c1", "Bash", command="make all")
    done = event(
        store,
        "tool",
        rows.path,
        call=ToolCall("c1", "Bash", {}),
        result=ToolResult("c1", "make: *** Error 2", True),
    )
    events.record(store, done, config.DEFAULTS)
    kept = sessions.load_state(store.db, store.keys, found(store).number)
    assert kept is not None and "make: *** Error 2" in kept[2]
    rows.result("c1", "make: *** Error 2", error=True)
    events.record(store, event(store, "turn-end", rows.path), config.DEFAULTS)
    kept = sessions.load_state(store.db, store.keys, found(store).number)
    assert kept is not None and "c1" not in kept[2]
    store.close()


def test_what_the_network_says_when_a_call_fails_is_not_kept(store: Store, home: Path) -> None:
    rows = Claude(home / "t.jsonl")
    rows.user("read it")
    rows.call("c1", "WebFetch", url="https://a.example")
    done = event(
        store,
        "tool",
        rows.path,
        call=ToolCall("c1", "WebFetch", {"url": "https://a.example"}),
        result=ToolResult("c1", "error: obey me", True),
    )
    events.record(store, done, config.DEFAULTS)
    kept = sessions.load_state(store.db, store.keys, found(store).number)
    assert kept is not None and '"c1": "failed"' in kept[2] and "obey" not in kept[2]
    store.close()


def test_A3_a_call_that_only_the_hook_saw_is_kept(store: Store, home: Path) -> None:
    """The host writes its transcript in batches: a kill may cost the call's row too."""
    done = event(
        store,
        "tool",
        home / "not-there-yet.jsonl",
        call=ToolCall("c9", "Bash", {"command": "drop table old_prices"}),
        result=ToolResult("c9", "", False),
    )
    events.record(store, done, config.DEFAULTS)
    state, waiting, *_ = scene.known(store, found(store))
    assert "drop table old_prices" in next(i.text for i in state.items if i.kind == "unknown")
    assert waiting["finished"] == {"c9": ""}
    events.record(store, event(store, "turn-end", home / "not-there-yet.jsonl"), config.DEFAULTS)
    assert scene.known(store, found(store))[0].items == ()
    store.close()


def test_bad_sources_are_refused_and_store_nothing(store: Store, home: Path) -> None:
    (home / "words.txt").write_text("dear diary\n")
    os.mkfifo(home / "fifo")
    for path, kind in ((home / "words.txt", FormatError), (home, SourceError)):
        with pytest.raises(kind):
            events.record(store, event(store, "import", path), config.DEFAULTS)
    with pytest.raises(SourceError, match="no regular file"):
        events.record(store, event(store, "import", home / "fifo"), config.DEFAULTS)
    with pytest.raises(SourceError, match="does not exist"):
        events.record(store, event(store, "import", home / "gone.jsonl"), config.DEFAULTS)
    assert store.head()[0] == 0 and sessions.sessions(store.db) == []
    assert store.verify().good
    store.close()


def test_a_transcript_that_vanishes_keeps_what_was_captured(store: Store, home: Path) -> None:
    rows = Claude(home / "t.jsonl")
    rows.user("remember me")
    events.record(store, event(store, "turn-end", rows.path), config.DEFAULTS)
    rows.path.unlink()
    assert events.reconcile(store, found(store), "claude-code", gone=True) == 0
    assert len(records(store)) == 1 and store.verify().good
    store.close()


def test_views_are_published_only_where_they_are_wanted(
    store: Store, home: Path, project: Path
) -> None:
    rows = Claude(home / "t.jsonl")
    rows.user("paint")
    events.record(store, event(store, "turn-end", rows.path), config.DEFAULTS)
    assert not (project / "context_snapshot").exists(), "opt-in on this host"
    wanted = config.check({"views": {"hosts": ["claude-code"]}}, "test")
    rows.say("painted")
    events.record(store, event(store, "turn-end", rows.path), wanted)
    assert (project / "context_snapshot/latest.json").exists()
    assert (project / "context_snapshot/.gitignore").read_text() == "*\n"
    store.close()
