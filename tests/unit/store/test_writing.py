"""Transactions: all or nothing, one writer at a time, nothing acknowledged is ever lost."""

import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from swapcache import paths
from swapcache.errors import BusyError
from swapcache.model import NewRecord, Verdict
from swapcache.store import files
from swapcache.store.store import Store
from tests.unit.store.making import (
    add,
    begun,
    body,
    child,
    dump,
    filled,
    line,
    opened,
    owner,
    rest,
)


@pytest.fixture
def store(home: Path) -> Iterator[Store]:
    with begun(owner(home)) as made:
        yield made


def witness_bytes(store: Store) -> bytes:
    return Path(paths.witness_file(store.id)).read_bytes()


def test_append_gives_the_first_number_and_counts_on(store: Store) -> None:
    with store.writing() as writer:
        assert writer.append([NewRecord(b"a", {}), NewRecord(b"b", {})]) == 1
        assert writer.append([NewRecord(b"c", {})]) == 3
        assert writer.seq == 3
    assert store.head() == (3, writer.tag)
    assert [record.body for record, good in store.read(1, 3) if good] == [b"a", b"b", b"c"]
    assert store.verify() == Verdict("VERIFIED", "", 3, 3)


def test_appending_nothing_changes_nothing(store: Store) -> None:
    before, seen = dump(store.id), witness_bytes(store)
    with store.writing() as writer:
        assert writer.append([]) == 1
    assert dump(store.id) == before
    assert witness_bytes(store) == seen
    assert store.verify().good


def test_rows_without_records_are_committed_and_leave_the_chain_alone(store: Store) -> None:
    with store.writing() as writer:
        writer.db.execute("INSERT INTO snapshot VALUES (0, 1)")
    assert store.db.execute("SELECT * FROM snapshot").fetchall() == [(0, 1)]
    assert store.verify() == Verdict("VERIFIED", "", 0, 0)


def test_the_witness_follows_every_commit(store: Store) -> None:
    for number in range(1, 6):
        add(store, body(number))
        seen = store.witnessed()
        assert seen is not None
        assert (seen.seq, seen.tag, seen.store) == (*store.head(), store.uuid)
        assert seen.proven


@pytest.mark.parametrize("problem", [ZeroDivisionError, KeyboardInterrupt, SystemExit])
def test_an_exception_inside_rolls_everything_back(
    store: Store, problem: type[BaseException]
) -> None:
    add(store, body(1))
    before, seen = dump(store.id), witness_bytes(store)
    with pytest.raises(problem), store.writing() as writer:
        writer.append([NewRecord(body(2), {}), NewRecord(body(3), {})])
        writer.db.execute("INSERT INTO snapshot VALUES (2, 1)")
        raise problem
    assert dump(store.id) == before
    assert witness_bytes(store) == seen
    assert add(store, body(2)) == 2
    assert store.verify() == Verdict("VERIFIED", "", 2, 2)


def test_meta_that_is_no_json_rolls_everything_back(store: Store) -> None:
    before = dump(store.id)
    with pytest.raises(TypeError), store.writing() as writer:
        writer.append([NewRecord(b"a", {}), NewRecord(b"b", {"bad": {1, 2}})])
    assert dump(store.id) == before
    assert store.verify().good


def test_a_position_of_a_source_is_stored_once(store: Store) -> None:
    from swapcache.errors import StoreError

    with store.writing() as writer:
        writer.append([NewRecord(b"a", {}, 1, 0), NewRecord(b"b", {}, 1, 10)])
    before = dump(store.id)
    with pytest.raises(StoreError, match="UNIQUE"), store.writing() as writer:
        writer.append([NewRecord(b"c", {}, 1, 20), NewRecord(b"again", {}, 1, 10)])
    assert dump(store.id) == before
    with store.writing() as writer:
        writer.append([NewRecord(b"other source", {}, 2, 10), NewRecord(b"none", {})])
        writer.append([NewRecord(b"none", {})])
    assert store.verify() == Verdict("VERIFIED", "", 5, 5)


def test_identical_messages_are_two_records(store: Store) -> None:
    first = add(store, b"same", b"same")
    one, two = store.record(first), store.record(first + 1)
    assert one is not None
    assert two is not None
    assert one[0].body == two[0].body == b"same"
    assert one[1] and two[1]


def test_nobody_else_sees_what_is_not_committed(store: Store) -> None:
    with opened(store.id) as reader:
        with store.writing() as writer:
            writer.append([NewRecord(body(1), {})])
            assert reader.head()[0] == 0
            assert reader.verify() == Verdict("VERIFIED", "", 0, 0)
        assert reader.verify() == Verdict("VERIFIED", "", 1, 1)


def test_a_second_writer_waits_and_then_is_busy(store: Store) -> None:
    with opened(store.id, 0.2) as second:
        with store.writing() as writer:
            writer.append([NewRecord(body(1), {})])
            start = time.monotonic()
            with pytest.raises(BusyError, match="held by another process"):
                add(second, b"never")
            assert time.monotonic() - start >= 0.2
        assert add(second, body(2)) == 2
        assert second.verify().good


def test_a_busy_writer_leaves_no_lock_and_no_transaction_behind(store: Store) -> None:
    with files.Lock(paths.lock_file(store.id), 1), opened(store.id, 0.05) as second:
        with pytest.raises(BusyError):
            add(second, b"never")
        assert not second.db.in_transaction
    assert add(store, body(1)) == 1


HOLD = """
import sys
from swapcache.model import NewRecord
from swapcache.store.store import Store
store = Store(sys.argv[1])
with store.writing() as writer:
    writer.append([NewRecord(b"half", {})])
    print("held", flush=True)
    sys.stdin.readline()
"""


def test_a_writer_killed_inside_its_transaction_leaves_nothing(store: Store) -> None:
    with child(HOLD, store.id) as process:
        assert line(process) == "held"
        process.kill()
        process.wait(20)
    assert store.verify() == Verdict("VERIFIED", "", 0, 0)
    assert add(store, body(1)) == 1
    assert store.verify().good


APPEND_FOR_EVER = """
import sys
from swapcache.model import NewRecord
from swapcache.store.store import Store
store = Store(sys.argv[1], 20.0)
while True:
    with store.writing() as writer:
        number = writer.append([NewRecord(b"%s-%d" % (sys.argv[2].encode(), n), {"n": n})
                                for n in range(3)])
    print(number, flush=True)
"""


def test_killing_a_writer_again_and_again_loses_nothing_that_it_acknowledged(home: Path) -> None:
    store_id = filled(owner(home), 0)
    chance = random.Random(20261130)
    acknowledged: dict[int, str] = {}
    for attempt in range(10):
        with child(APPEND_FOR_EVER, store_id, f"run{attempt}") as process:
            acknowledged[int(line(process))] = f"run{attempt}"
            time.sleep(chance.uniform(0, 0.12))
            process.kill()
            output, _ = process.communicate(timeout=20)
        for told in output.split("\n")[:-1]:
            acknowledged[int(told)] = f"run{attempt}"
        with opened(store_id) as store:
            verdict = store.verify()
            assert verdict.good, verdict
            assert verdict.have % 3 == 0, "half a transaction was kept"
            assert verdict.have >= max(acknowledged) + 2
            for first, run in acknowledged.items():
                kept = [record.body for record, good in store.read(first, first + 2) if good]
                assert kept == [f"{run}-{n}".encode() for n in range(3)]
    assert len(acknowledged) >= 10


APPEND_200 = """
import sys
from swapcache.model import NewRecord
from swapcache.store.store import Store
store = Store(sys.argv[1], 60.0)
print("ready", flush=True)
sys.stdin.readline()
for n in range(200):
    with store.writing() as writer:
        print(writer.append([NewRecord(b"%s-%d" % (sys.argv[2].encode(), n), {})]))
store.close()
"""


def test_two_writers_at_once_lose_nothing_and_share_one_unbroken_chain(home: Path) -> None:
    store_id = filled(owner(home), 0)
    with child(APPEND_200, store_id, "a") as one, child(APPEND_200, store_id, "b") as two:
        for process in (one, two):
            assert line(process) == "ready"
        for process in (one, two):
            assert process.stdin is not None
            process.stdin.write("\n")
            process.stdin.flush()
        numbers = {"a": [int(n) for n in rest(one)], "b": [int(n) for n in rest(two)]}
    assert sorted(numbers["a"] + numbers["b"]) == list(range(1, 401))
    with opened(store_id) as store:
        assert store.verify() == Verdict("VERIFIED", "", 400, 400)
        found = {record.seq: record.body for record, good in store.read(0, 999) if good}
    assert sorted(found) == list(range(401))
    for name in "ab":
        assert [found[n] for n in numbers[name]] == [f"{name}-{i}".encode() for i in range(200)]


def test_the_witness_is_written_after_the_commit_and_under_the_lock(store: Store) -> None:
    add(store, body(1))
    old = witness_bytes(store)
    seen: list[tuple[str, bool]] = []

    def trace(statement: str) -> None:
        seen.append((statement.split()[0], witness_bytes(store) == old))

    store.db.set_trace_callback(trace)
    with store.writing() as writer:
        with pytest.raises(BusyError), files.Lock(paths.lock_file(store.id), 0):
            pytest.fail("the writer does not hold its lock")
        writer.append([NewRecord(body(2), {})])
    store.db.set_trace_callback(None)
    assert seen[-1] == ("COMMIT", True)
    assert all(unchanged for _, unchanged in seen)
    assert witness_bytes(store) != old
    with files.Lock(paths.lock_file(store.id), 0):
        assert store.verify().good
