"""Loads beside two writers: no honest store is ever refused, and the witness never goes backwards.

A false refusal is what drives people to switch a seal off. The controls read the witness inside of
the transaction instead of before it, which does refuse honest stores: these tests can fail.
"""

import json
import os
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from swapcache.model import Identity, NewRecord, Verdict
from swapcache.store import witness
from swapcache.store.opening import open_store
from swapcache.store.store import Store
from tests.unit.store.making import add, begun, child, filled, line, opened, owner, rest, together

pytestmark = pytest.mark.crash
LOADS = 5_000
READERS = 2
SECONDS = 60
CONTROL = 1_000
PAUSE_EVERY, PAUSE_S = 4, 0.004
"""Some loads wait between their two readings, and some writers between commit and witness."""
RECORDS = 3
SERVED = 5
RUN = (
    "import sys; from tests.crash import test_readers as own\n"
    "getattr(own, sys.argv[1])(*sys.argv[2:])"
)


# -- what runs in processes of its own -------------------------------------------------------------


def pause(number: int) -> Callable[[], None]:
    """Waits for every PAUSE_EVERYth number."""
    return partial(time.sleep, 0 if number % PAUSE_EVERY else PAUSE_S)


def write(name: str, whose: str, stop: str) -> None:
    """One event after the other, each in a process that ends like a hook, until `stop` exists."""
    who = Identity(*json.loads(whose))
    print("ready", flush=True)
    events = 0
    while not os.path.exists(stop):
        made = os.fork()
        if not made:
            os._exit(_event(who, f"{name}-{events}", pause(events)))
        if os.waitpid(made, 0)[1]:
            sys.exit("an event failed")
        events += 1
    print(events)


def _event(who: Identity, name: str, between: Callable[[], object]) -> int:
    write_witness = witness.write

    def later(*arguments: Any) -> None:
        between()
        write_witness(*arguments)

    witness.write = later  # type: ignore[assignment]
    try:
        store = open_store(who)
        with store.writing() as writer:
            meta: dict[str, object] = {"kind": "row", "session": name}
            writer.append(NewRecord(f"{name}-{k}".encode(), meta) for k in range(RECORDS))
        store.leave()
    except Exception:
        traceback.print_exc()
        return 1
    return 0


def read(store_id: str, loads: str, order: str) -> None:
    """Loads as a session's start does, each with a connection of its own; prints what was seen."""
    print("ready", flush=True)
    sys.stdin.readline()
    refused: list[str] = []
    heads: set[int] = set()
    newest = backwards = spoilt = 0
    for number in range(int(loads)):
        with opened(store_id) as store:
            ORDERS[order](store, pause(number))
            checked = store.check()
            with store.snapshot() as verdict:
                first = max(0, verdict.have - SERVED + 1)
                served = list(store.read(first, verdict.have))
        for one in (checked, verdict):
            heads.add(one.have)
            if not one.good:
                refused.append(f"{one.name} {one.detail}")
            backwards += one.seen < newest
            newest = max(newest, one.seen)
        spoilt += len(served) != verdict.have - first + 1 or not all(good for _, good in served)
    found = {"loads": int(loads), "heads": len(heads), "refused": refused}
    print(json.dumps(found | {"backwards": backwards, "spoilt": spoilt}))


def _honest(store: Store, between: Callable[[], object]) -> None:
    """The order of `Reading`, with something between the witness and the transaction."""
    witnessed = store.witnessed

    def and_then() -> witness.Seen | None:
        seen = witnessed()
        between()
        return seen

    store.witnessed = and_then  # type: ignore[method-assign]


def _late(store: Store, between: Callable[[], object]) -> None:
    """The wrong order: the witness may be newer than the state that the transaction sees."""
    judge = store.judge

    def judged(seen: witness.Seen | None) -> Verdict:
        store.head()  # only its first reading fixes what a transaction sees
        between()
        return judge(store.witnessed())

    store.judge = judged  # type: ignore[method-assign]


ORDERS = {"honest": _honest, "late": _late}


# -- tests -----------------------------------------------------------------------------------------


@contextmanager
def writers(who: Identity, home: Path) -> Iterator[list[int]]:
    """Two writers at work; the list holds their numbers of events when they have ended."""
    stop, events = home / "stop", list[int]()
    with ExitStack() as stack:
        arguments = (json.dumps(who), str(stop))
        started = [stack.enter_context(child(RUN, "write", name, *arguments)) for name in "ab"]
        for process in started:
            assert line(process) == "ready"
        yield events
        stop.touch()
        events += [int(rest(process)[0]) for process in started]


def play(store_id: str, loads: int, order: str) -> list[dict[str, Any]]:
    """What the readers saw, who go on together."""
    return [json.loads(one) for one in together(READERS, RUN, "read", store_id, str(loads), order)]


def test_5000_loads_beside_two_writers_are_never_refused(home: Path) -> None:
    who = owner(home)
    with begun(who) as store:
        store_id = store.id
    begin = time.monotonic()
    with writers(who, home) as events:
        seen = play(store_id, -(-LOADS // READERS), "honest")
    took = time.monotonic() - begin
    print(f"{took:.1f} s, events of the writers {events}, readers {seen}")
    assert sum(one["loads"] for one in seen) >= LOADS
    for one in seen:
        assert one["refused"] == [], "a false refusal"
        assert one["backwards"] == 0, "the witness went backwards"
        assert one["spoilt"] == 0, "a record that was served did not verify"
        assert one["heads"] > 100, "the writers must be at work meanwhile"
    with opened(store_id) as store:
        newest = sum(events) * RECORDS
        assert store.verify() == Verdict("VERIFIED", "", newest, newest)
    assert took < SECONDS


def test_control_the_same_loop_with_the_witness_read_too_late_refuses(home: Path) -> None:
    who = owner(home)
    with begun(who) as store:
        store_id = store.id
    with writers(who, home):
        seen = play(store_id, CONTROL // READERS, "late")
    refused = [why for one in seen for why in one["refused"]]
    print(f"{len(refused)} refusals in {CONTROL} loads")
    assert refused and all(why.startswith("ROLLED_BACK") for why in refused)
    with opened(store_id) as store:
        assert store.verify().good, "it was honest"


@pytest.mark.parametrize(("order", "verdict"), [("honest", "VERIFIED"), ("late", "ROLLED_BACK")])
def test_a_commit_between_the_two_readings_harms_one_order_only(
    home: Path, order: str, verdict: str
) -> None:
    store_id = filled(owner(home), 2)
    with opened(store_id) as writer, opened(store_id) as reader:
        ORDERS[order](reader, lambda: add(writer, b"meanwhile"))
        assert reader.check().name == verdict
        assert writer.verify() == Verdict("VERIFIED", "", 3, 3)
