"""Pruned bodies are gone from the disk, and everything else is what it was."""

import contextlib
import json
import os
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from swapcache import config, paths
from swapcache.capture import capture, forget, process, prune, story
from swapcache.capture.corroborate import corroborate
from swapcache.errors import BusyError, NoSpaceError, SealError
from swapcache.model import Event, Message
from swapcache.store import forgetting, pruning, reseal, seal, sessions, taken, trust
from swapcache.store.store import Store, now
from swapcache.wake import scene, wake
from tests.unit.store.pruned import OLD, Work, bodies, session_of, state_of


@pytest.fixture
def work(project: Path, home: Path) -> Work:
    """Two old sessions, a new one, turns of all of them mixed."""
    made = Work(project, home)
    for _ in range(3):
        made.turns("old", 2024, 3)
        made.turns("older", 2023, 2)
        made.turns("new", 2026, 2)
    return made


@pytest.fixture
def store(work: Work) -> Iterator[Store]:
    """Its store."""
    with contextlib.closing(work.open()) as opened:
        yield opened


def state_again(store: Store, name: str) -> str:
    """A session's state made anew from its records, which must verify."""
    told = story.refold(store, session_of(store, name))
    assert told.whole
    return told.fold.dump()


def in_files(store: Store, text: str) -> bool:
    """True when a chunk holds a text, or the bytes of a file do."""
    chunks = [zlib.decompress(data) for (data,) in store.db.execute("SELECT data FROM chunk")]
    files = [Path(store.directory, name).read_bytes() for name in os.listdir(store.directory)]
    return any(text.encode() in data for data in chunks + files)


def newest_tombstone(store: Store) -> int:
    """The newest prune record."""
    found = [s for s, m in trust.records(store, store.head()[0]) if m and m["event"] == "prune"]
    return found[0]


# -- what goes and what stays ----------------------------------------------------------------------


def test_old_sessions_lose_their_bodies_and_nothing_else(store: Store) -> None:
    before = {r.seq: r for r, _ in store.read(0, 1 << 62)}
    tags = {seq: store.tag(seq) for seq in before}
    states = {name: state_of(store, name) for name in ("old", "older", "new")}
    done = prune.prune(store, OLD)
    assert [part.session.id for part in done.parts] == ["older", "old"], "the oldest first"
    assert done.records > 24 and done.bytes > 30_000
    assert store.verify().good
    assert bodies(store, "old") == bodies(store, "older") == []
    assert len(bodies(store, "new")) == 12
    gone = 0
    for seq, was in before.items():
        found = store.record(seq)
        assert found is not None and found[1] and found[0].meta == was.meta
        assert store.tag(seq) == tags[seq], "an anchor from before still fits"
        assert found[0].body == (b"" if found[0].pruned else was.body)
        gone += found[0].pruned
    assert gone == done.records
    assert {name: state_of(store, name) for name in states} == states


def test_the_disk_gets_its_room_back_and_no_byte_is_left(store: Store) -> None:
    words = "old: answer 2: "
    assert in_files(store, words)
    done = prune.prune(store, OLD)
    assert done.before - done.after > 8_000
    assert done.after == pruning.on_disk(store)
    assert not in_files(store, words)
    assert store.db.execute("PRAGMA freelist_count").fetchone() == (0,)


def test_a_pruned_session_is_told_as_before_without_its_state_row(store: Store) -> None:
    states = {name: state_of(store, name) for name in ("old", "older")}
    prune.prune(store, OLD)
    store.db.execute("DELETE FROM state")
    for name, state in states.items():
        assert state_again(store, name) == state
        current = capture.current(store, session_of(store, name), None)
        assert current.whole and current.fold.dump() == state


def test_a_next_session_is_told_the_same(store: Store) -> None:
    before = {name: scene.known(store, session_of(store, name)) for name in ("old", "new")}
    assert all(known.state.items for known in before.values())
    prune.prune(store, OLD)
    for name, known in before.items():
        assert scene.known(store, session_of(store, name)) == known


def test_what_was_pruned_is_not_looked_for_while_no_body_is_missing(
    work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    with contextlib.closing(work.open()) as store:
        prune.prune(store, OLD)
    monkeypatch.setattr(Store, "taken", lambda self: pytest.fail("it was read"))
    work.turns("old", 2027, 1)
    work.turns("new", 2026, 1)
    with contextlib.closing(work.open()) as store:
        event = Event("claude-code", "start", work.owner, "next", "next", "", "crash")
        ages = config.DEFAULTS["wake"] | {"expire_days": 9999}
        told = wake.start(store, event, config.DEFAULTS | {"wake": ages})
        assert told.form == "full" and "new: request" in told.text


def test_an_old_snapshot_is_made_where_none_holds_the_last_state(work: Work) -> None:
    work.rows["old"].user("one more, in no snapshot", timestamp="2024-05-01T00:00:00Z")
    work.event("old", "tool")
    work.turns("new", 2026)
    with contextlib.closing(work.open()) as store:
        state = state_of(store, "old")
        assert "in no snapshot" in state
        prune.prune(store, OLD)
        standing = taken.standing_of(store, session_of(store, "old"), range(100))
        assert standing is not None
        found = store.record(standing.snapshot)
        assert found is not None and found[1] and found[0].body.decode() == state
        assert state_again(store, "old") == state


def test_a_resumed_session_goes_on_from_its_last_state(work: Work) -> None:
    with contextlib.closing(work.open()) as store:
        prune.prune(store, OLD)
    work.turns("old", 2027, 3)
    with contextlib.closing(work.open()) as store:
        assert store.verify().good
        state = state_of(store, "old")
        assert state_again(store, "old") == state
        assert json.loads(state)["counters"]["requests"] == 9 + 3
        assert len(bodies(store, "old")) == 6


def test_a_resumed_session_can_be_pruned_again(work: Work) -> None:
    with contextlib.closing(work.open()) as store:
        first = prune.prune(store, OLD)
    work.turns("old", 2025, 3)
    work.turns("new", 2026, 1)
    with contextlib.closing(work.open()) as store:
        state = state_of(store, "old")
        again = prune.prune(store, OLD)
        assert [part.session.id for part in again.parts] == ["old"]
        assert 0 < again.records < first.records
        assert store.verify().good and bodies(store, "old") == []
        assert state_again(store, "old") == state


def test_capturing_the_same_transcript_again_adds_nothing(work: Work) -> None:
    with contextlib.closing(work.open()) as store:
        prune.prune(store, OLD)
        rows = store.db.execute("SELECT count(*) FROM record WHERE source > 0").fetchone()
    for name in ("old", "older", "new"):
        work.event(name)
    with contextlib.closing(work.open()) as store:
        assert store.db.execute("SELECT count(*) FROM record WHERE source > 0").fetchone() == rows
        assert store.verify().good and bodies(store, "old") == []


def test_pruning_twice_does_nothing_the_second_time(store: Store) -> None:
    prune.prune(store, OLD)
    head = store.head()
    again = prune.prune(store, OLD)
    assert (again.parts, again.records, store.head()) == ([], 0, head)


def test_what_the_agent_stated_and_what_was_injected_stay(work: Work) -> None:
    with contextlib.closing(work.open()) as store, store.writing() as writer:
        session = session_of(store, "old")
        ledger = capture.Ledger(store, writer, session)
        said = Message("assistant", "failure", "the disk broke", "system", "2024-03-04T05:06:07Z")
        seq = ledger.state_record(said, "turn-failed")
        ledger.save(session.touched)
    work.turns("new", 2026, 1)
    with contextlib.closing(work.open()) as store:
        prune.prune(store, OLD)
        found = store.record(seq)
        assert found is not None and b"the disk broke" in found[0].body
        assert "the disk broke" in state_again(store, "old")


def test_a_transcript_that_was_rewritten_tells_its_story_anew(work: Work) -> None:
    with contextlib.closing(work.open()) as store:
        prune.prune(store, OLD)
    path = work.rows["old"].path
    path.write_bytes(path.read_bytes().replace(b"old: request", b"new: request"))
    work.event("old")
    with contextlib.closing(work.open()) as store:
        state = state_of(store, "old")
        assert "new: request 16" in state and "old: request" not in state
        assert state_again(store, "old") == state
        assert json.loads(state)["counters"]["requests"] == 9
        assert store.verify().good


def test_a_transcript_that_lost_its_end_goes_on(work: Work) -> None:
    with contextlib.closing(work.open()) as store:
        prune.prune(store, OLD)
    rows = work.rows["old"]
    lines = rows.path.read_bytes().splitlines(keepends=True)
    os.truncate(rows.path, sum(map(len, lines[:-2])))
    work.event("old")
    work.turns("old", 2027, 1)
    with contextlib.closing(work.open()) as store:
        assert state_again(store, "old") == state_of(store, "old")
        assert len(bodies(store, "old")) == 2, "only what is new"


# -- which sessions --------------------------------------------------------------------------------


def planned(store: Store, wanted: prune.Wanted) -> list[str]:
    """Ids of what would go."""
    return [part.session.id for part in prune.plan(store, wanted)]


def test_each_condition_selects_by_itself(store: Store) -> None:
    assert planned(store, prune.Wanted(keep=2)) == ["older"]
    assert planned(store, prune.Wanted(keep=0)) == ["older", "old"], "never the newest"
    assert planned(store, prune.Wanted(limit=0)) == ["older", "old"]
    assert planned(store, prune.Wanted(limit=1 << 40)) == []
    assert planned(store, OLD._replace(keep=2)) == ["older", "old"]
    less = pruning.in_use(store) - 1000
    assert planned(store, prune.Wanted(limit=less)) == ["older"], "no more than is asked"


def test_a_store_gets_below_its_limit(store: Store) -> None:
    limit = pruning.in_use(store) - 25_000
    done = prune.prune(store, prune.Wanted(limit=limit))
    assert done.after <= limit and done.parts


def test_a_session_that_may_still_run_stays(work: Work) -> None:
    here = process.identify(os.getpid())
    assert here is not None
    work.event("old", process=here)
    work.event("older", process=here._replace(namespace="another container"))
    work.turns("new", 2026, 1)
    with contextlib.closing(work.open()) as store:
        assert planned(store, OLD) == []
    work.event("old", "end", process=here)
    work.turns("new", 2026, 1)
    with contextlib.closing(work.open()) as store:
        assert planned(store, OLD) == ["old"]


def test_the_newest_session_of_a_key_that_is_used_again_stays(work: Work) -> None:
    for name in ("first", "second"):
        work.turns(name, 2022, 1, key="main")
    work.turns("new", 2026, 1)
    with contextlib.closing(work.open()) as store:
        assert planned(store, OLD) == ["first", "older", "old"]


def test_the_age_is_what_the_sealed_records_say(store: Store) -> None:
    store.db.execute("UPDATE session SET touched='2001-01-01T00:00:00Z', begun=touched")
    assert planned(store, OLD) == ["older", "old"]


@pytest.mark.parametrize("wall", ["9999-12-31T23:59:59Z", "2451545", "12345", "now", "-1", "x"])
def test_a_time_that_is_none_or_to_come_says_nothing(work: Work, wall: str) -> None:
    work.rows["old"].user("at no time", timestamp=wall)
    work.event("old")
    work.turns("new", 2026, 1)
    with contextlib.closing(work.open()) as store:
        assert planned(store, OLD) == ["older", "old"]


def test_rows_that_are_not_sealed_do_not_steer_what_goes(work: Work) -> None:
    with contextlib.closing(work.open()) as store:
        forget.forget(store, forgetting.text_of("ticket old-14"))
        states = {name: state_of(store, name) for name in ("old", "older", "new")}
        decided = trust.last(store)
        number = session_of(store, "old").number
        (source,) = store.db.execute(
            "SELECT number FROM source WHERE session=? AND path<>''", (number,)
        ).fetchone()
        store.db.execute(
            "UPDATE record SET source=?, position=-seq WHERE source IS NULL AND seq > 0", (source,)
        )
        store.db.execute("UPDATE snapshot SET session=?", (number,))
        prune.prune(store, OLD)
        assert store.verify().good
        found = store.record(decided)
        assert found is not None and found[0].body
        for name, state in states.items():
            assert state_of(store, name) == state
            assert state_again(store, name) == state


# -- the chain -------------------------------------------------------------------------------------


def test_a_body_that_is_missing_without_a_record_of_it_is_found(store: Store) -> None:
    prune.prune(store, OLD)
    (seq,) = store.db.execute(
        "SELECT max(seq) FROM record WHERE chunk >= 0 AND json_extract(meta, '$.kind')='raw'"
    ).fetchone()
    store.db.execute("UPDATE record SET chunk=?, start=0 WHERE seq=?", (pruning.ABSENT, seq))
    assert store.verify().name == "PREFIX"


def test_a_pruned_record_that_got_words_again_is_found(store: Store) -> None:
    done = prune.prune(store, OLD)
    seq = pruning_first(store, done)
    store.db.execute("INSERT INTO chunk VALUES (?, ?)", (pruning.ABSENT, zlib.compress(b"lies")))
    store.db.execute("UPDATE record SET size=4 WHERE seq=?", (seq,))
    assert not store.record(seq)[1]  # type: ignore[index]
    assert store.verify().name == "PREFIX"


def pruning_first(store: Store, done: prune.Pruned) -> int:
    """The first record that was pruned."""
    (seq,) = store.db.execute(
        "SELECT min(seq) FROM record WHERE chunk=?", (pruning.ABSENT,)
    ).fetchone()
    assert done.records
    return int(seq)


def test_a_damaged_prune_record_explains_nothing(store: Store) -> None:
    prune.prune(store, OLD)
    seq = newest_tombstone(store)
    store.db.execute("UPDATE record SET size=size-1 WHERE seq=?", (seq,))
    assert store.verify().name == "PREFIX"
    assert store.taken() == taken.NOTHING


def test_a_broken_chain_is_not_pruned(store: Store) -> None:
    (seq,) = store.db.execute("SELECT max(seq) FROM record WHERE source > 0").fetchone()
    store.db.execute("UPDATE record SET chunk=999 WHERE seq=?", (seq,))
    before = store.head()
    with pytest.raises(SealError, match="nothing was pruned"):
        prune.prune(store, OLD)
    assert store.head() == before and bodies(store, "old")


def test_without_room_nothing_is_changed(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.statvfs(store.directory)
    full = os.statvfs_result((*real[:3], 0, 0, *real[5:]))
    before = store.head()
    with monkeypatch.context() as patch:
        patch.setattr(os, "statvfs", lambda path: full)
        with pytest.raises(NoSpaceError, match="nothing was changed"):
            prune.prune(store, OLD)
    assert store.head() == before and bodies(store, "old")


def test_a_reader_in_the_way_is_said_and_the_next_run_ends_the_work(work: Work) -> None:
    with contextlib.closing(Store(work.id, wait=0.1)) as store:
        with contextlib.closing(work.open()) as reader:
            reader.db.execute("BEGIN")
            reader.db.execute("SELECT count(*) FROM record").fetchone()
            with pytest.raises(BusyError):
                prune.prune(store, OLD)
        assert bodies(store, "old") == [] and store.verify().good
        assert prune.prune(store, OLD).parts == []
        assert not in_files(store, "old: answer 2: ")


# -- other decisions -------------------------------------------------------------------------------


def test_what_prune_left_can_be_forgotten(store: Store) -> None:
    text = forgetting.text_of("ticket old-16")
    prune.prune(store, OLD)
    assert "ticket old-16" in state_of(store, "old")
    masked = forget.forget(store, text)
    assert masked, "the snapshot holds it"
    assert forget.search(store, text).nothing
    assert store.verify().good
    for name in ("old", "older"):
        assert state_again(store, name) == state_of(store, name)
    assert "ticket old-16" not in state_of(store, "old")
    assert "ticket older-" in state_of(store, "older")


def test_what_was_forgotten_can_be_pruned(store: Store) -> None:
    forget.forget(store, forgetting.text_of("ticket old-16"))
    prune.prune(store, OLD)
    assert store.verify().good
    assert state_again(store, "old") == state_of(store, "old")


def test_numbers_of_a_prune_record_are_no_words_of_anybody(store: Store) -> None:
    prune.prune(store, OLD)
    text = forgetting.text_of("ranges")
    assert forget.search(store, text).nothing
    forget.forget(store, forgetting.text_of("[[1,"))
    assert store.verify().good


def test_a_new_key_keeps_pruned_records_proven(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    prune.prune(store, OLD)
    states = {name: state_of(store, name) for name in ("old", "older", "new")}
    old_id = store.key_id
    key = Path(paths.key_file())
    retired = Path(paths.retired_key(old_id))
    retired.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    retired.write_bytes(key.read_bytes())
    retired.chmod(0o600)
    key.write_bytes(os.urandom(32))
    assert reseal.rekey(store, old_id, seal.sha256(key.read_bytes())[:8]).good
    assert {name: state_of(store, name) for name in states} == states
    store.db.execute("DELETE FROM state")
    assert state_again(store, "old") == states["old"]
    newest = trust.sealed(store, store.head()[0])
    assert newest is not None and "lost" not in newest


def test_an_adopted_store_keeps_its_pruned_sessions(work: Work) -> None:
    with contextlib.closing(work.open()) as store:
        prune.prune(store, OLD)
        states = {name: state_of(store, name) for name in ("old", "older")}
        old = Path(paths.key_file())
        retired = Path(paths.retired_key(store.key_id))
    retired.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    os.replace(old, retired)
    old.write_bytes(os.urandom(32))
    old.chmod(0o600)
    with contextlib.closing(work.open()) as store:
        assert store.check().name == "FOREIGN"
        assert reseal.adopt(store, reseal.digest(store)).good
        newest = trust.sealed(store, store.head()[0])
        assert newest is not None and newest["proven"] and "lost" not in newest
        assert state_again(store, "old") == states["old"]
        assert corroborate(store).differing == 0


def test_adopting_what_nobody_proves_keeps_what_pruned_sessions_stand_on(work: Work) -> None:
    with contextlib.closing(work.open()) as store:
        prune.prune(store, OLD)
        state = state_of(store, "old")
    Path(paths.key_file()).unlink()
    with contextlib.closing(work.open()) as store:
        assert reseal.adopt(store, reseal.digest(store)).good
        newest = trust.sealed(store, store.head()[0])
        assert newest is not None and not newest["proven"] and "lost" not in newest
        assert state_again(store, "old") == state


def test_an_accepted_rollback_to_before_the_prune_has_the_bodies_again(work: Work) -> None:
    with contextlib.closing(work.open()) as store:
        pass
    database = Path(paths.database(paths.store_dir(work.id)))
    kept = database.read_bytes()
    with contextlib.closing(work.open()) as store:
        prune.prune(store, OLD)
    database.write_bytes(kept)
    for name in ("-wal", "-shm"):
        Path(f"{database}{name}").unlink(missing_ok=True)
    with contextlib.closing(work.open()) as store:
        assert store.verify().name == "ROLLED_BACK"
        assert store.accept_rollback(now()).good
        assert len(bodies(store, "old")) == 18
        assert prune.prune(store, OLD).records
        assert store.verify().good


def test_the_hosts_transcripts_still_confirm_what_was_pruned(store: Store) -> None:
    before = corroborate(store)
    prune.prune(store, OLD)
    found = corroborate(store)
    assert (found.corroborated, found.differing) == (before.corroborated, 0)


def test_pruned_records_of_a_rewritten_transcript_need_no_witness(work: Work) -> None:
    with contextlib.closing(work.open()) as store:
        prune.prune(store, OLD)
        path = work.rows["old"].path
        path.write_bytes(path.read_bytes().replace(b"old: answer", b"old: reply!"))
        found = corroborate(store)
        assert found.differing == 0 and found.without


def test_the_newest_snapshot_of_each_session_can_still_be_read(store: Store) -> None:
    prune.prune(store, OLD)
    for session in sessions.sessions(store.db):
        ((seq, _),) = sessions.snapshots(store.db, session.number, 1)
        found = store.record(seq)
        assert found is not None and found[1] and found[0].body
