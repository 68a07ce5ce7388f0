"""Sessions, sources, damage and derived rows, in a real store."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from swapcache.errors import StoreError
from swapcache.model import Damage, Process, Session
from swapcache.store import seal, sessions
from swapcache.store.store import Store
from tests.unit.store.making import begun, opened, owner

AT = "2026-11-30T12:00:00+00:00"
LATER = "2026-11-30T12:05:00+00:00"
PROCESS = Process("boot-1", "4026531836", 4711, 123456)


@pytest.fixture
def store(home: Path) -> Iterator[Store]:
    with begun(owner(home)) as made:
        yield made


def add(store: Store, key: str = "k", session_id: str = "s1") -> Session:
    with store.writing() as writer:
        return sessions.add_session(writer.db, key, session_id, PROCESS, AT)


# -- sessions --------------------------------------------------------------------------------------


def test_a_new_session_reads_back_whole(store: Store) -> None:
    made = add(store)
    assert made == Session(made.number, "k", "s1", 0, PROCESS, None, AT, AT, "", "", 0, 0, -1)
    assert sessions.session(store.db, made.number) == made
    assert sessions.find_session(store.db, "k", "s1") == made


def test_a_session_without_a_process_has_none(store: Store) -> None:
    with store.writing() as writer:
        made = sessions.add_session(writer.db, "k", "s1", None, AT)
    assert made.process is None


def test_a_process_whose_boot_is_unknown_is_still_a_process(store: Store) -> None:
    process = Process("", "", 1, 0)
    with store.writing() as writer:
        made = sessions.add_session(writer.db, "k", "s1", process, AT)
    assert made.process == process


def test_a_session_is_known_by_key_and_id_together(store: Store) -> None:
    one, two, three = add(store), add(store, "other"), add(store, "k", "s2")
    assert len({one.number, two.number, three.number}) == 3
    assert sessions.find_session(store.db, "other", "s1") == two
    assert sessions.find_session(store.db, "k", "s2") == three
    assert sessions.find_session(store.db, "k", "S1") is None
    assert sessions.find_session(store.db, "", "s1") is None


def test_the_same_session_cannot_be_added_twice(store: Store) -> None:
    add(store)
    with pytest.raises(StoreError, match="UNIQUE"):
        add(store)
    assert len(sessions.sessions(store.db)) == 1


def test_the_newest_window_of_a_session_is_found(store: Store) -> None:
    first = add(store)
    with store.writing() as writer:
        writer.db.execute("UPDATE session SET window=3 WHERE number=?", (first.number,))
    second = add(store)
    assert second.window == 0
    found = sessions.find_session(store.db, "k", "s1")
    assert found is not None
    assert (found.number, found.window) == (first.number, 3)


def test_touch_changes_what_it_is_told_and_nothing_else(store: Store) -> None:
    made, other = add(store), add(store, "k", "s2")
    with store.writing() as writer:
        sessions.touch(writer.db, made.number, LATER)
    assert sessions.session(store.db, made.number) == made._replace(touched=LATER)
    new = Process("boot-2", "n", 5, 6)
    with store.writing() as writer:
        sessions.touch(
            writer.db,
            made.number,
            LATER,
            process=new,
            last=7,
            requests=2,
            compacted=True,
            ended=LATER,
            reason="logout",
            parent=other.number,
        )
    assert sessions.session(store.db, made.number) == made._replace(
        touched=LATER,
        process=new,
        last=7,
        requests=2,
        compactions=1,
        ended=LATER,
        reason="logout",
        parent=other.number,
    )
    assert sessions.session(store.db, other.number) == other


def test_zeros_are_values_and_compactions_add_up(store: Store) -> None:
    made = add(store)
    with store.writing() as writer:
        sessions.touch(writer.db, made.number, LATER, last=5, requests=5, compacted=True)
        sessions.touch(writer.db, made.number, LATER, last=0, requests=0, compacted=True)
    found = sessions.session(store.db, made.number)
    assert (found.last, found.requests, found.compactions) == (0, 0, 2)


def test_a_session_that_goes_on_after_its_end_is_open_again(store: Store) -> None:
    made = add(store)
    with store.writing() as writer:
        sessions.touch(writer.db, made.number, AT, ended=AT, reason="logout")
    assert sessions.open_sessions(store.db) == []
    with store.writing() as writer:
        sessions.touch(writer.db, made.number, LATER, ended="")
    (found,) = sessions.open_sessions(store.db)
    assert (found.ended, found.reason) == ("", "")


def test_sessions_come_with_the_newest_record_first_and_open_ones_by_themselves(
    store: Store,
) -> None:
    numbers = [add(store, "k", f"s{n}").number for n in range(4)]
    with store.writing() as writer:
        for number, last in zip(numbers, (5, 9, -1, 7), strict=True):
            sessions.touch(writer.db, number, AT, last=last)
        sessions.touch(writer.db, numbers[1], AT, ended=AT)
    assert [s.last for s in sessions.sessions(store.db)] == [9, 7, 5, -1]
    assert [s.last for s in sessions.open_sessions(store.db)] == [7, 5, -1]


# -- sources and damage ----------------------------------------------------------------------------


def test_a_source_begins_at_nothing_and_its_newest_generation_is_found(store: Store) -> None:
    number = add(store).number
    with store.writing() as writer:
        first = sessions.add_source(writer.db, number, "/t/a", 0)
        assert sessions.find_source(writer.db, number, "/t/a") == first
        second = sessions.add_source(writer.db, number, "/t/a", 1)
        beside = sessions.add_source(writer.db, number, "/t/b", 0)
    assert (first.cursor, first.head, first.tail, first.format) == (0, "", "", "")
    assert sessions.find_source(store.db, number, "/t/a") == second
    assert sessions.find_source(store.db, number, "/t/c") is None
    assert sessions.find_source(store.db, number + 1, "/t/a") is None
    assert sorted(sessions.sources(store.db, number)) == sorted([second, beside])


def test_the_cursor_moves_and_counts_add_up_over_transcripts(store: Store) -> None:
    number = add(store).number
    with store.writing() as writer:
        old = sessions.add_source(writer.db, number, "/t/a", 0)
        sessions.move_cursor(writer.db, old, 100, 100, 100)
        one = sessions.add_source(writer.db, number, "/t/a", 1)
        two = sessions.add_source(writer.db, number, "/t/b", 0)
        one = one._replace(cursor=40, head="h", tail="t", format="claude-code")
        sessions.move_cursor(writer.db, one, 3, 2, 1)
        sessions.move_cursor(writer.db, one._replace(cursor=90), 4, 4, 4)
        sessions.move_cursor(writer.db, two, 10, 10, 5)
    assert sessions.find_source(store.db, number, "/t/a") == one._replace(cursor=90)
    assert sessions.counts(store.db, number) == (17, 16, 10)
    assert sessions.counts(store.db, number + 1) == (0, 0, 0)


def test_damage_is_kept_once_for_each_place_of_the_newest_generation(store: Store) -> None:
    number = add(store).number
    torn, binary = Damage(90, 5, "torn"), Damage(10, 3, "binary")
    with store.writing() as writer:
        old = sessions.add_source(writer.db, number, "/t/a", 0)
        sessions.add_damages(writer.db, old.number, [Damage(1, 1, "old")])
        new = sessions.add_source(writer.db, number, "/t/a", 1)
        sessions.add_damages(writer.db, new.number, [torn, binary])
        sessions.add_damages(writer.db, new.number, [torn])
    assert sessions.damages(store.db, number) == [binary, torn]


# -- derived rows ----------------------------------------------------------------------------------


def keys_of(store: Store) -> seal.Keys:
    assert store.keys is not None
    return store.keys


def save(store: Store, number: int, body: str = '{"a":"ü"}', provisional: str = "{}") -> None:
    with store.writing() as writer:
        sessions.save_state(
            writer.db, writer.keys, number, writer.seq, writer.tag, body, provisional
        )


def test_a_state_row_reads_back_and_the_newer_one_replaces_it(store: Store) -> None:
    save(store, 1)
    assert sessions.load_state(store.db, store.keys, 1) == (0, '{"a":"ü"}', "{}")
    save(store, 1, "second", "p")
    assert sessions.load_state(store.db, store.keys, 1) == (0, "second", "p")
    assert sessions.load_state(store.db, store.keys, 2) is None


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("seq", 1),
        ("tag", "00" * 32),
        ("body", '{"a":"u"}'),
        ("provisional", '{"prompt":"rm -rf"}'),
        ("mac", "00" * 32),
        ("mac", ""),
        ("session", 2),
    ],
)
def test_a_state_row_that_was_tampered_with_is_not_returned(
    store: Store, column: str, value: object
) -> None:
    save(store, 1)
    store.db.execute(f"UPDATE state SET {column}=?", (value,))
    assert sessions.load_state(store.db, store.keys, 1) is None
    assert sessions.load_state(store.db, store.keys, 2) is None


def test_a_state_row_cannot_trade_text_between_body_and_provisional(store: Store) -> None:
    save(store, 1, "one", "two")
    store.db.execute("UPDATE state SET body='two', provisional='one'")
    assert sessions.load_state(store.db, store.keys, 1) is None


def test_a_state_row_of_another_agent_is_not_returned(home: Path, store: Store) -> None:
    save(store, 1)
    row = store.db.execute("SELECT * FROM state").fetchone()
    with begun(owner(home, agent="other")) as other:
        other.db.execute("INSERT INTO state VALUES (?,?,?,?,?,?)", row)
        assert sessions.load_state(other.db, other.keys, 1) is None


def test_without_a_key_no_state_is_returned(store: Store) -> None:
    save(store, 1)
    assert sessions.load_state(store.db, None, 1) is None


def test_snapshots_come_newest_first_for_one_session_or_all(store: Store) -> None:
    with store.writing() as writer:
        for seq, number in ((3, 1), (5, 2), (9, 1)):
            sessions.add_snapshot(writer.db, seq, number)
    assert sessions.snapshots(store.db, None, 10) == [(9, 1), (5, 2), (3, 1)]
    assert sessions.snapshots(store.db, None, 2) == [(9, 1), (5, 2)]
    assert sessions.snapshots(store.db, 1, 10) == [(9, 1), (3, 1)]
    assert sessions.snapshots(store.db, 7, 10) == []


def test_an_epoch_of_a_session_has_one_receipt_the_newest(store: Store) -> None:
    assert sessions.last_receipt(store.db) is None
    with store.writing() as writer:
        sessions.add_receipt(writer.db, 4, 1, "e1")
        sessions.add_receipt(writer.db, 6, 2, "e1")
        sessions.add_receipt(writer.db, 5, 1, "e1")
    assert sessions.receipt(store.db, 1, "e1") == 5
    assert sessions.receipt(store.db, 2, "e1") == 6
    assert sessions.receipt(store.db, 1, "e2") is None
    assert sessions.last_receipt(store.db) == 6


def test_rows_outlive_the_process_that_wrote_them(home: Path, store: Store) -> None:
    made = add(store)
    save(store, made.number)
    keys = keys_of(store)
    store.close()
    with opened(store.id) as again:
        assert sessions.sessions(again.db) == [made]
        assert again.keys == keys
        assert sessions.load_state(again.db, again.keys, made.number) is not None
