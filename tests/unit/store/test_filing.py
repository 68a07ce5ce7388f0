"""A record lies with the session that its seal names, whatever the rows beside it say."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from swapcache.model import NewRecord, Session, Source
from swapcache.store import filing, sessions, trust
from swapcache.store.store import Store
from tests.unit.store.making import begun, owner

AT = "2026-11-30T12:00:00+00:00"


@pytest.fixture
def store(home: Path) -> Iterator[Store]:
    with begun(owner(home)) as made:
        yield made


def made(store: Store, name: str, window: int = 0) -> tuple[Session, Source]:
    """A session with a transcript."""
    with store.writing():
        session = sessions.add_session(store.db, name, name, None, AT, window=window)
        return session, sessions.add_source(store.db, session.number, f"/{name}.jsonl", 0)


def put(store: Store, source: Source, position: int, kind: str = "raw", **sealed: object) -> int:
    """A record in a transcript."""
    meta = {"kind": kind, **sealed}
    with store.writing() as writer:
        return writer.append([NewRecord(b"row", meta, source.number, position)])


def test_the_newest_record_of_a_session_is_that_of_any_of_its_transcripts(store: Store) -> None:
    one, source = made(store, "one")
    assert filing.newest(store.db, one.number) == -1
    with store.writing():
        second = sessions.add_source(store.db, one.number, "/else.jsonl", 0)
    put(store, source, 0)
    last = put(store, second, 0)
    _, elsewhere = made(store, "other")
    put(store, elsewhere, 0)
    assert filing.newest(store.db, one.number) == last


def test_what_lies_where_its_seal_says_is_in_order(store: Store) -> None:
    _, source = made(store, "one")
    _, later = made(store, "one", window=2)
    put(store, source, 0, session="one")
    put(store, source, 1, kind="statement", session="one")
    put(store, later, 0, session="one", window=2)
    with store.writing() as writer:
        writer.append([NewRecord(b"", {"kind": "wake", "session": "one"})])
    assert filing.astray(store.db, -1) is None
    assert store.verify().good


MOVES = {
    "with nobody": "UPDATE record SET source=NULL WHERE seq={seq}",
    "with another session": "UPDATE record SET source={other} WHERE seq={seq}",
    "with another window": "UPDATE record SET source={later} WHERE seq={seq}",
    "its transcript is another's": "UPDATE source SET session=2 WHERE number=1",
    "its transcript is gone": "DELETE FROM source WHERE number=1",
    "its session is gone": "DELETE FROM session WHERE number=1",
    "its session has another name": "UPDATE session SET id='x' WHERE number=1",
}


@pytest.mark.parametrize("move", MOVES.values(), ids=MOVES)
@pytest.mark.parametrize("kind", ["raw", "statement"])
def test_what_lies_elsewhere_is_found(store: Store, move: str, kind: str) -> None:
    _, source = made(store, "one")
    _, other = made(store, "other")
    _, later = made(store, "one", window=1)
    seq = put(store, source, 5, kind=kind, session="one")
    store.db.execute(move.format(seq=seq, other=other.number, later=later.number))
    assert store.linked(-1) and filing.astray(store.db, -1) == seq
    assert filing.astray(store.db, seq) is None, "only what came behind it"
    verdict = store.verify()
    assert (verdict.name, verdict.have) == ("PREFIX", seq - 1)
    assert "another session" in verdict.detail


def test_an_adoption_settles_what_lay_elsewhere_before_it(store: Store) -> None:
    _, source = made(store, "one")
    put(store, source, 0, session="stranger")
    assert not store.verify().good
    with store.writing() as writer:
        writer.append([trust.record("adopt", AT)])
    assert filing.astray(store.db, -1) is None and store.verify().good
    seq = put(store, source, 1, session="stranger")
    assert filing.astray(store.db, -1) == seq
