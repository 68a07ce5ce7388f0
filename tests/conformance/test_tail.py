"""The kit for the end of a transcript: for every recorded one, whole or damaged, whatever is asked
for is what a reading of all of it takes.

The oracle reads forwards, with none of the code that reads backwards.
"""

import json
import os
import random
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from swapcache.model import Damage, Message, Row
from swapcache.transcripts import backwards, formats, lines, tail, zstd
from swapcache.transcripts.databases import candidates
from swapcache.transcripts.tree import Place, Tree
from tests import databases
from tests.conformance.test_branches import BRANCHES
from tests.conformance.test_databases import PAGES
from tests.conformance.test_mutations import mutated
from tests.conformance.test_readers import FOLDERS, HERE, fixture
from tests.conformance.test_salvage import DAMAGES
from tests.databases import HOSTS

if sys.version_info >= (3, 14):
    from compression import zstd as packer
else:
    from backports import zstd as packer

BLOCKS = (1, 7, 61, 300, 4096)
WANTED = (1, 2, 3, 5, 8, 13, 100)
CASES = 60
Keep = Callable[[Message], bool]


def everything(message: Message) -> bool:
    """Any message."""
    return True


def recorded(folder: Path) -> Iterator[tuple[str, list[bytes]]]:
    """(format, rows) of the files of a folder of any kit."""
    if folder.parent.name == "readers":
        expected, rows = fixture(folder)
        yield expected["format"], rows
        return
    for path in sorted(folder.glob("*.jsonl")):
        rows = path.read_bytes().splitlines(keepends=True)
        parsed = [row for raw in rows for row in lines.split(0, raw)]
        yield formats.sniff(parsed, "test").name, rows


RECORDED = [
    pytest.param(name, rows, id=f"{folder.parent.name}-{folder.name}")
    for folder in [*FOLDERS, *BRANCHES]
    for name, rows in recorded(folder)
]


class Oracle:
    """What a forward reading of all rows takes."""

    def __init__(self, rows: list[Row], name: str, keep: Keep) -> None:
        reader, tree, keys = formats.by_name(name), Tree(), list[str]()
        self.rows = rows
        told: dict[str, tuple[int, Message]] = {}
        for number, row in enumerate(rows):
            message = reader.message(row.value) if row.value is not None else None
            place = reader.place(row.value) if reader.place and row.value is not None else None
            asks = message is not None and message.kind == "request"
            key, again = tree.take(place, asks)
            key = key or f"row {number}"
            keys.append(key)
            if message is not None and (again or key not in told):
                told[key] = (row.start, message)
        left = tree.left()
        self._keys, self._left, self._reader = keys, left, reader
        self.taken = [one for key, one in told.items() if key not in left and keep(one[1])]

    def judge(self, found: tail.Tail, wanted: int) -> None:
        """Compares."""
        expected = self.taken[-wanted:]
        assert [tuple(one) for one in found.messages] == expected
        assert found.whole == (len(expected) < wanted)
        starts = [row.start for row in self.rows]
        rows = self.rows[starts.index(expected[0][0]) if len(expected) == wanted else 0 :]
        lost = tuple(Damage(row.start, len(row.raw), row.reason) for row in rows if row.reason)
        assert found.lost == lost
        assert sum(found.skipped.values()) + len(expected) == len(rows), "a row without a class"
        assert found.gap == self._gap(len(self.rows) - len(rows))

    def _gap(self, begin: int) -> bool:
        known: set[str] = set()
        for number, row in enumerate(self.rows):
            value = row.value
            place = self._reader.place(value) if self._reader.place and value is not None else None
            if not isinstance(place, Place) or place.parent is None:
                continue
            lost = place.parent and known and place.parent not in known
            inside = number > begin or (begin == 0 and number == 0)
            if lost and inside and self._keys[number] not in self._left:
                return True
            known.add(place.id)
        return False


def compare(path: Path, name: str, wanted: int, keep: Keep = tail.said) -> tail.Tail:
    """Reads the end of a file, and all of it."""
    with path.open("rb") as file:
        rows, _, pending, _ = lines.read(file.fileno(), 0, 1 << 30)
    found = tail.last(str(path), wanted, name, keep)
    assert (found.pending, found.format) == (pending, name)
    Oracle(rows, name, keep).judge(found, wanted)
    return found


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize(("name", "rows"), RECORDED)
def test_the_last_messages_are_those_of_a_whole_reading(
    name: str, rows: list[bytes], block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backwards, "BLOCK", block)
    path = tmp_path / "transcript"
    path.write_bytes(b"".join(rows))
    for wanted in WANTED:
        compare(path, name, wanted)
        compare(path, name, wanted, everything)


@pytest.mark.parametrize(("name", "rows"), RECORDED)
def test_the_format_is_known_by_the_beginning_or_else_by_the_end(
    name: str, rows: list[bytes], tmp_path: Path
) -> None:
    path = tmp_path / "transcript"
    path.write_bytes(b"".join(rows))
    assert tail.last(str(path), 3).format == name
    path.write_bytes(b"\0" * (100 << 10) + b"\n" + b"".join(rows))
    assert tail.last(str(path), 3) == tail.last(str(path), 3, name)._replace(
        read=tail.last(str(path), 3).read
    )


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_A10_whatever_is_damaged_the_end_is_that_of_a_whole_reading(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected, rows = fixture(folder)
    path = tmp_path / "transcript"
    dice = random.Random(folder.name)
    for damage, hurt in DAMAGES.items():
        for at in {1, len(rows) // 2, len(rows) - 2}:
            print(damage, at)  # shown when it fails
            data = b"".join(hurt(rows, at).rows)
            path.write_bytes(data)
            for wanted in (1, 3, 100):
                block = dice.choice([size for size in BLOCKS if size * 2_000 > len(data)])
                monkeypatch.setattr(backwards, "BLOCK", block)
                compare(path, expected["format"], wanted)


@pytest.mark.parametrize(("name", "rows"), RECORDED)
def test_A10_random_damage_changes_no_end_that_a_whole_reading_has(
    name: str, rows: list[bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dice = random.Random(zlib.crc32(b"".join(rows)))
    path = tmp_path / "transcript"
    for _ in range(CASES):
        hurt = list(rows)
        for _ in range(dice.randint(1, 4)):
            at = dice.randrange(len(hurt))
            hurt[at] = mutated(dice, hurt[at])
        data: Any = b"".join(hurt)
        path.write_bytes(data[: len(data) - dice.choice((0, 0, 0, 1, 30))])
        monkeypatch.setattr(backwards, "BLOCK", dice.choice(BLOCKS[1:]))
        compare(path, name, dice.choice(WANTED), dice.choice((tail.said, everything)))


@pytest.mark.parametrize(("name", "rows"), RECORDED)
def test_A10_a_transcript_that_ends_at_any_row_or_in_it(
    name: str, rows: list[bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backwards, "BLOCK", 500)
    path = tmp_path / "transcript"
    for count in range(1, len(rows)):
        path.write_bytes(b"".join(rows[:count]) + rows[count][: len(rows[count]) // 2])
        compare(path, name, 4)


def test_every_kind_of_recording_is_compared() -> None:
    assert len(RECORDED) >= len(FOLDERS) + len(BRANCHES)
    assert (HERE / "readers").exists()


# -- compressed files and databases ----------------------------------------------------------------


@pytest.mark.parametrize("size", [100, 4 << 20])
@pytest.mark.parametrize(("name", "rows"), RECORDED)
def test_the_end_of_a_compressed_transcript_is_that_of_the_plain_one(
    name: str, rows: list[bytes], size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tail, "RING", size)
    monkeypatch.setattr(zstd, "PIECE", 50)
    monkeypatch.setattr(backwards, "BLOCK", 64)
    plain, packed = tmp_path / "transcript", tmp_path / "transcript.zst"
    plain.write_bytes(b"".join(rows))
    packed.write_bytes(compressed(b"".join(rows)))
    for wanted in WANTED:
        found, expected = tail.last(str(packed), wanted), compare(plain, name, wanted)
        assert found._replace(read=0) == expected._replace(read=0)


def compressed(data: bytes) -> bytes:
    """As OpenClaw compresses."""
    made: bytes = packer.compress(data)
    return made


@pytest.mark.parametrize("size", [100, 4 << 20])
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_A10_a_compressed_transcript_that_lost_its_end_says_so(
    folder: Path, size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tail, "RING", size)
    expected, rows = fixture(folder)
    packed, work = tmp_path / "transcript.zst", packer.ZstdCompressor()
    half = b"".join(rows[: len(rows) // 2])
    data = work.compress(half, mode=packer.ZstdCompressor.FLUSH_BLOCK)
    data += work.compress(b"".join(rows)[len(half) :], mode=packer.ZstdCompressor.FLUSH_FRAME)
    packed.write_bytes(data[: len(data) - 9])
    file = zstd.plain_file(os.open(packed, os.O_RDONLY), str(tmp_path), 1 << 30)
    found, _, _, _ = lines.read(file, 0, 1 << 30)
    os.close(file)
    told = tail.last(str(packed), 3, expected["format"])
    assert "damaged zstd data (its end is missing)" in told.lost[-1].reason
    told = told._replace(lost=(*told.lost[:-1], told.lost[-1]._replace(reason=found[-1].reason)))
    Oracle(found, expected["format"], tail.said).judge(told, 3)


SESSIONS = [
    pytest.param(host, path.stem, id=f"{host}-{path.stem}")
    for host in HOSTS
    for path in sorted((databases.RECORDED / host).glob("*.sql"))
]


def judged(path: str) -> None:
    """The end of each of a database's sessions, and all of it."""
    rows, found = databases.rows_of(path), tail.last(path, 1)
    for wanted in WANTED:
        for keep in (tail.said, everything):
            found = tail.last(path, wanted, found.format, keep)
            Oracle(rows, found.format, keep).judge(found, wanted)


@pytest.mark.parametrize(("host", "name"), SESSIONS)
def test_the_last_messages_of_a_session_in_a_database_are_those_of_a_whole_reading(
    host: str, name: str, tmp_path: Path
) -> None:
    path = databases.build(tmp_path / "host.db", host, name)
    for candidate in candidates(str(path))[1]:
        judged(candidate.path)


@pytest.mark.parametrize("host", HOSTS)
def test_C1_whichever_page_of_a_database_is_damaged_no_message_is_passed_over_in_silence(
    host: str, tmp_path: Path
) -> None:
    path = databases.build(tmp_path / "host.db", host, loose=True)
    before, session = path.read_bytes(), databases.session_of(path)
    dice = random.Random(host)
    for number in range(1, len(before) // 1024):
        page = before[number * 1024 : (number + 1) * 1024]
        fewer = page[:4] + bytes([page[4] // 2]) + page[5:]  # cells, of which nobody knows then
        for damaged in (fewer, dice.choice(sorted(PAGES.items()))[1](page)):
            path.write_bytes(before[: number * 1024] + damaged + before[(number + 1) * 1024 :])
            rows = databases.rows_of(session)
            found = tail.last(session, 1000, keep=everything)
            oracle = Oracle(rows, found.format, everything)
            if not found.lost and not any(row.reason for row in rows):
                oracle.judge(found, 1000)
                continue
            there = {(told.message.kind, told.message.text) for told in found.messages}
            assert {(one.kind, one.text) for _, one in oracle.taken} <= there, number


# -- trees and steps back that no recording has ----------------------------------------------------


def grown(dice: random.Random, name: str) -> list[bytes]:
    """A transcript whose host goes back, hangs rows elsewhere, loses some and tells some twice."""
    rows, ids = list[bytes](), [""]
    for number in range(dice.randint(3, 60)):
        made = GROWERS[name](dice, f"n{number}x", ids)
        ids.append(f"n{number}x")
        odd = dice.random()
        if odd < 0.05:
            continue
        rows.append(json.dumps(made).encode() + b"\n")
        if odd > 0.97:
            rows.append(dice.choice(rows))
        elif odd > 0.95:
            rows.append(b"\0" * 50 + dice.choice((b"", b"\n")))
    return rows


def _of_pi(dice: random.Random, key: str, ids: list[str]) -> dict[str, Any]:
    what = dice.random()
    parent = ids[-1] if what < 0.8 else dice.choice([*ids, "", "nobody"])
    row: dict[str, Any] = {"type": "message", "id": key, "parentId": parent or None}
    if 0.8 < what < 0.83:
        row |= {"type": "leaf", "targetId": dice.choice(ids) or None}
    elif 0.83 < what < 0.87:
        row |= {"type": "custom", "appendMode": "side"}
    role = dice.choice(("user", "assistant", "toolResult"))
    row["message"] = {"role": role, "content": [{"type": "text", "text": f"{key} says"}]}
    return row


def _of_qwen(dice: random.Random, key: str, ids: list[str]) -> dict[str, Any]:
    parent = ids[-1] if dice.random() < 0.85 else dice.choice([*ids, "nobody"])
    row: dict[str, Any] = {"uuid": key, "parentUuid": parent or None, "sessionId": "s"}
    kind = dice.choice(("user", "assistant", "assistant", "tool_result", "system"))
    row |= {"type": kind, "message": {"role": kind, "parts": [{"text": f"{key} says"}]}}
    if kind == "system":
        row |= {"subtype": dice.choice(("custom_title", "rewind")), "systemPayload": {}}
    return row


def _of_gemini(dice: random.Random, key: str, ids: list[str]) -> dict[str, Any]:
    what = dice.random()
    if what < 0.06:
        return {"$rewindTo": dice.choice([*ids, "nobody"])}
    if what < 0.12:
        return {"$set": {"messages": []}}
    name = dice.choice(ids[-2:]) if 0.3 < what < 0.4 else key
    kind = dice.choice(("user", "gemini", "info"))
    return {"id": name or key, "type": kind, "content": f"{key} says", "timestamp": key}


def _of_codex(dice: random.Random, key: str, ids: list[str]) -> dict[str, Any]:
    if dice.random() < 0.1:
        back = {"type": "thread_rolled_back", "num_turns": dice.randint(0, 3)}
        return {"type": "event_msg", "payload": back}
    role = dice.choice(("user", "assistant"))
    kind = "input_text" if role == "user" else "output_text"
    item = {"type": "message", "role": role, "content": [{"type": kind, "text": f"{key} says"}]}
    return {"type": "response_item", "payload": item}


GROWERS: dict[str, Callable[[random.Random, str, list[str]], dict[str, Any]]] = {
    "pi": _of_pi,
    "qwen": _of_qwen,
    "gemini": _of_gemini,
    "codex": _of_codex,
}


@pytest.mark.parametrize("name", GROWERS)
def test_A2_a_branch_that_was_left_is_not_taken_however_it_was_left(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "transcript"
    monkeypatch.setattr(backwards, "BLOCK", 700)
    seen: set[str] = set()
    for seed in range(250):
        dice = random.Random(f"{name} {seed}")
        path.write_bytes(b"".join(grown(dice, name)))
        for wanted in (1, 2, 4, 9):
            found = compare(path, name, wanted)
            seen |= {*found.skipped, *(["gap"] if found.gap else [])}
            seen |= {"not whole"} if not found.whole else set()
    assert {"on a branch that was left", "not whole"} <= seen
    assert ("gap" in seen) == (name in ("pi", "qwen"))
