"""The two-slot witness: alternation, torn slots, unproven slots, planted files."""

import json
import os
from pathlib import Path

import pytest

from swapcache import paths
from swapcache.errors import StoreError
from swapcache.store import seal, witness
from tests.unit.store.making import mode

KEY = b"k" * 32
MINE = seal.derive(KEY, "default", "store-1", "ws-1")
OTHER = seal.derive(KEY, "default", "store-2", "ws-1")
SIZE = 2 * witness.SLOT


def tag(number: int) -> str:
    return f"{number:064x}"


@pytest.fixture
def path() -> Path:
    return Path(paths.witness_file("0" * 24))


def remember(path: Path, *numbers: int, keys: seal.Keys = MINE, store: str = "store-1") -> None:
    """Writes as the store does: each time into the slot that was not read."""
    for number in numbers:
        witness.write(str(path), keys, store, number, tag(number), witness.read(str(path), keys))


def read(path: Path, keys: seal.Keys | None = MINE) -> witness.Seen:
    seen = witness.read(str(path), keys)
    assert seen is not None
    return seen


def slots(path: Path) -> list[bytes]:
    content = path.read_bytes()
    return [content[: witness.SLOT], content[witness.SLOT :]]


def damage(path: Path, slot: int, content: bytes) -> None:
    whole = bytearray(path.read_bytes())
    whole[slot * witness.SLOT : slot * witness.SLOT + len(content)] = content
    path.write_bytes(whole)


def test_nothing_is_remembered_before_the_first_write(path: Path) -> None:
    assert witness.read(str(path), MINE) is None


def test_the_first_write_makes_a_private_file_of_1024_bytes(path: Path) -> None:
    before = os.umask(0)
    try:
        remember(path, 0)
    finally:
        os.umask(before)
    assert path.stat().st_size == SIZE == 1024
    assert mode(path) == 0o600
    assert mode(path.parent) == 0o700
    assert read(path) == witness.Seen(0, tag(0), 0, "store-1", 0, True)


def test_two_slots_are_written_in_turn_and_the_newest_is_read(path: Path) -> None:
    used = []
    for number in range(6):
        remember(path, number)
        seen = read(path)
        assert (seen.seq, seen.tag, seen.proven) == (number, tag(number), True)
        used.append(seen.slot)
        assert path.stat().st_size == SIZE
    assert used == [0, 1, 0, 1, 0, 1]


def test_every_slot_is_one_line_of_json_whose_mac_is_the_documented_one(path: Path) -> None:
    remember(path, 41, 42)
    for raw, number in zip(slots(path), (41, 42), strict=True):
        assert len(raw) == 512
        assert raw.endswith(b"\n")
        assert raw.count(b"\n") == 1
        assert json.loads(raw) == {
            "v": 1,
            "seq": number,
            "tag": tag(number),
            "epoch": 0,
            "store": "store-1",
            "mac": MINE.witness_mac(number, tag(number), 0),
        }


@pytest.mark.parametrize(
    "torn",
    [
        b"\x00" * 512,
        b'{"epoch":0,"mac":"torn',
        b"\xff\xfe" * 256,
        b" " * 512,
        b"[" * 512,
        b"null" + b" " * 508,
    ],
    ids=["zeros", "half-overwritten", "binary", "blank", "nested", "null"],
)
def test_a_torn_slot_falls_back_to_the_other_one(path: Path, torn: bytes) -> None:
    remember(path, 1, 2)
    damage(path, read(path).slot, torn)
    seen = read(path)
    assert (seen.seq, seen.proven) == (1, True)
    remember(path, 3)
    assert read(path).seq == 3


def test_a_write_goes_into_the_torn_slot_and_spares_the_good_one(path: Path) -> None:
    remember(path, 1, 2)
    damage(path, 1, b"\x00" * 512)
    good = slots(path)[0]
    remember(path, 3)
    assert slots(path)[0] == good
    assert read(path).seq == 3


def test_a_file_that_was_cut_short_falls_back_to_what_is_whole(path: Path) -> None:
    remember(path, 1, 2)
    path.write_bytes(path.read_bytes()[: witness.SLOT + 40])
    assert read(path).seq == 1
    remember(path, 3)
    assert read(path).seq == 3
    assert path.stat().st_size == SIZE


def test_an_unproven_slot_loses_to_a_proven_one_however_new_it_claims_to_be(path: Path) -> None:
    remember(path, 1, 2)
    slot = read(path).slot
    forged = json.dumps(
        {"v": 1, "seq": 999, "tag": tag(999), "epoch": 0, "store": "store-1", "mac": "0" * 64}
    )
    damage(path, slot, forged.encode().ljust(512))
    seen = read(path)
    assert (seen.seq, seen.proven) == (1, True)


@pytest.mark.parametrize("field", ["seq", "tag", "epoch"])
def test_a_slot_whose_content_was_edited_is_not_proven(path: Path, field: str) -> None:
    remember(path, 5)
    value = json.loads(slots(path)[0])
    value[field] = {"seq": 6, "tag": tag(6), "epoch": 1}[field]
    damage(path, 0, json.dumps(value).encode().ljust(512))
    assert read(path).proven is False


def test_a_witness_of_another_store_is_read_but_not_proven(path: Path) -> None:
    remember(path, 7, 8, keys=OTHER, store="store-2")
    seen = read(path)
    assert (seen.seq, seen.store, seen.proven) == (8, "store-2", False)


def test_without_a_key_nothing_is_proven(path: Path) -> None:
    remember(path, 7)
    assert read(path, None).proven is False


def test_own_writes_win_over_the_higher_numbers_of_another_store(path: Path) -> None:
    remember(path, 70, 80, keys=OTHER, store="store-2")
    remember(path, 0)
    seen = read(path)
    assert (seen.seq, seen.store, seen.proven) == (0, "store-1", True)
    remember(path, 1, 2)
    assert read(path).seq == 2


def test_a_symlink_in_its_place_is_neither_read_nor_written_through(path: Path) -> None:
    remember(path, 1)
    victim = path.with_name("victim")
    path.rename(victim)
    path.symlink_to(victim)
    content = victim.read_bytes()
    assert witness.read(str(path), MINE) is None
    with pytest.raises(StoreError, match="cannot write the witness"):
        witness.write(str(path), MINE, "store-1", 2, tag(2), None)
    assert victim.read_bytes() == content
