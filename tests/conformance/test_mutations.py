"""Recorded transcripts with random bytes changed: nothing raises, and other rows stay."""

import json
import random
from typing import Any

import pytest

from swapcache.transcripts import formats, lines
from tests.conformance.test_readers import FOLDERS, fixture

CASES = 10_000
WINDOW = 5
"""Rows around a change that are read again; a row is read for itself."""
PIECES = (b"", b"\n", b"\x00", b"{", b"}", b'"', b'{"', b'"type":', b"\xff", b"\\", b"9" * 30)


def mutated(dice: random.Random, raw: bytes) -> bytes:
    """A row, its line end included, with up to four places changed."""
    made = bytearray(raw)
    for _ in range(dice.randint(1, 4)):
        at = dice.randrange(len(made) + 1)
        end = at + dice.choice((0, 0, 1, 1, 7, 60))
        if dice.random() < 0.5:
            made[at:end] = dice.choice(PIECES)
        else:
            made[at:end] = dice.randbytes(dice.choice((1, 1, 3)))
    return bytes(made)


def split(data: bytes) -> list[Any]:
    """Values of all rows; the way `lines.read` goes from line to line."""
    found = []
    for line in lines_of(data):
        found += lines.split(0, line)
    return [row.value for row in found if row.value is not None]


def lines_of(data: bytes) -> list[bytes]:
    """Lines that end with a line feed and with nothing else."""
    parts = data.split(b"\n")
    return [part + b"\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_A10_random_damage_raises_nothing_and_stays_where_it_is(folder: Any) -> None:
    expected, rows = fixture(folder)
    reader = formats.by_name(expected["format"])
    dice = random.Random(folder.name)
    values = [json.loads(row) for row in rows]
    told = [reader.message(value) for value in values]
    for case in range(CASES // len(FOLDERS) + 1):
        at = dice.randrange(len(rows))
        first = max(0, at - 2)
        window = [*rows[first:at], mutated(dice, rows[at]), *rows[at + 1 : first + WINDOW]]
        found = split(b"".join(window))
        for value in found:
            reader.message(value)
            reader.session_of(value)
            reader.workspace_of(value)
            reader.matches(value)
            if reader.place is not None:
                reader.place(value)
        before = at - first
        assert found[:before] == values[first:at], (case, at)
        ended = window[before].endswith(b"\n")  # else the next row is glued to the damage
        after = values[at + 1 + (not ended) : first + WINDOW]
        assert not after or found[-len(after) :] == after, (case, at, window[before])
    assert [reader.message(value) for value in values] == told
