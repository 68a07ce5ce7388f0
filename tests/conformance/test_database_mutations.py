"""Hosts' databases with random damage: captured once, read back the same, and never written to."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from swapcache import config
from swapcache.capture import capture, events, story
from swapcache.errors import SourceError
from swapcache.model import Event
from swapcache.store import identity, sessions
from swapcache.store.opening import open_store
from swapcache.transcripts import databases
from tests import databases as made
from tests.conformance.test_databases import lengthen

PAGE = 1024
CASES = 10
"""Of each host and kind; more with SWAPCACHE_MUTATIONS."""
Change = Callable[[bytearray, random.Random], None]


def _flip(count: int) -> Change:
    def change(data: bytearray, dice: random.Random) -> None:
        for _ in range(count):
            data[dice.randrange(len(data))] = dice.randrange(256)

    return change


def _swap(data: bytearray, dice: random.Random) -> None:
    one, other = (dice.randrange(len(data) // PAGE) * PAGE for _ in range(2))
    first, second = data[one : one + PAGE], data[other : other + PAGE]
    data[one : one + PAGE], data[other : other + PAGE] = second, first


def _copy(data: bytearray, dice: random.Random) -> None:
    one, other = (dice.randrange(len(data) // PAGE) * PAGE for _ in range(2))
    data[other : other + PAGE] = data[one : one + PAGE]


def _cut(data: bytearray, dice: random.Random) -> None:
    del data[dice.randrange(len(data)) :]


def _insert(data: bytearray, dice: random.Random) -> None:
    at = dice.randrange(len(data))
    data[at:at] = dice.randbytes(dice.choice((1, 7, PAGE)))


def _zero(data: bytearray, dice: random.Random) -> None:
    at = dice.randrange(len(data) - 5000)
    data[at : at + 5000] = bytes(5000)


CHANGES: dict[str, Change] = {
    "one byte": _flip(1),
    "many bytes": _flip(60),
    "pages swapped": _swap,
    "a page twice": _copy,
    "cut": _cut,
    "bytes put in": _insert,
    "a run of zeros": _zero,
}


@pytest.mark.parametrize("kind", sorted(CHANGES))
@pytest.mark.parametrize("host", made.HOSTS)
def test_C1_a_database_with_random_damage_is_captured_once_and_left_alone(
    host: str, kind: str, tmp_path: Path, home: Path, project: Path
) -> None:
    whole = made.build(tmp_path / "whole.db", host, loose=True)
    lengthen(host, whole)
    source = made.session_of(whole)
    folder = tmp_path / "host"
    folder.mkdir()
    path = folder / "host.db"
    dice = random.Random(f"{host} {kind}")
    for case in range(int(os.environ.get("SWAPCACHE_MUTATIONS", CASES))):
        data = bytearray(whole.read_bytes())
        CHANGES[kind](data, dice)
        path.write_bytes(data)
        _captured_once(host, source.replace(str(whole), str(path)), home, project, case)
        assert path.read_bytes() == data and os.listdir(folder) == ["host.db"], case
        for stores in home.rglob("stores"):
            shutil.rmtree(stores)
    assert not list(home.rglob("copies/*"))


def _captured_once(host: str, source: str, home: Path, project: Path, case: int) -> None:
    key, path = source.split(":")[1:]
    with contextlib.suppress(SourceError):  # nothing of a session is left
        databases.candidates(path)
    store = open_store(identity.identify(host, str(home), str(project)))
    event = Event(host, "import", store.identity, key, key, source)
    try:
        events.record_whole(store, event, config.DEFAULTS)
        assert events.record_whole(store, event, config.DEFAULTS).rows == 0, case
        session = sessions.find_session(store.db, key, key)
        assert session is not None
        with store.writing() as writer:
            kept = capture.Ledger(store, writer, session).fold.dump()
        assert kept == story.refold(store, session)[0].dump(), case
        assert store.verify().good, case
    except SourceError as problem:
        assert "nothing in it is a session's row" in str(problem) or "something else" in str(
            problem
        ), case
    finally:
        store.close()
