"""The end of a transcript: what it costs, what it says, and where it stops."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from swapcache.errors import FormatError, MissingSourceError, SourceError
from swapcache.model import Message
from swapcache.transcripts import backwards, tables, tail, window, zstd
from tests import databases
from tests.unit.test_hook import ALLOWED

if sys.version_info >= (3, 14):
    from compression import zstd as packer
else:
    from backports import zstd as packer

HEADER = {"type": "session", "version": 3, "id": "s1", "cwd": "/p"}


def row(key: str, parent: str | None, role: str = "user", text: str = "", **more: Any) -> bytes:
    """One row of pi's."""
    inner = {"role": role, "content": [{"type": "text", "text": text or f"{key} says"}]}
    made = {"type": "message", "id": key, "parentId": parent, "message": inner, **more}
    return json.dumps(made).encode() + b"\n"


def chain(count: int, first: int = 0, text: str = "") -> list[bytes]:
    """Rows that hang on each other."""
    names = [f"n{number:05}" for number in range(first - 1, first + count)]
    made = zip(names[1:], names, strict=False)
    return [row(key, parent if key != "n00000" else None, text=text) for key, parent in made]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A transcript of pi's with a header only."""
    made = tmp_path / "t.jsonl"
    made.write_bytes(json.dumps(HEADER).encode() + b"\n")
    return made


def add(path: Path, *rows: bytes) -> None:
    """Writes on."""
    with path.open("ab") as file:
        file.write(b"".join(rows))


def names(found: tail.Tail) -> list[str]:
    """Ids of what was found."""
    return [told.message.id for told in found.messages]


# -- what it reads ---------------------------------------------------------------------------------


def test_what_is_read_does_not_grow_with_the_file(path: Path) -> None:
    add(path, *chain(3000, text="x" * 2000))
    first = tail.last(str(path), 20)
    add(path, *chain(3000, 3000, text="x" * 2000))
    second = tail.last(str(path), 20)
    assert len(first.messages) == len(second.messages) == 20
    assert first.read == second.read <= 2 * backwards.BLOCK
    assert names(second)[-1] == "n05999" and not second.whole


def test_a_session_in_a_database_is_read_from_its_end(tmp_path: Path) -> None:
    host = databases.Hermes(tmp_path / "hermes.db")
    for number in range(400):
        host.add("user", f"request {number}: " + "x" * 1000)
    code = databases.OpenCode(tmp_path / "opencode.db")
    for number in range(400):
        code.prompt(f"{number:04}", f"request {number}: " + "x" * 1000)
    for made in (host, code):
        found = tail.last(tables.name(made.session, str(made.path)), 3)
        said = [told.message.text[:11] for told in found.messages]
        assert said == ["request 397", "request 398", "request 399"]
        assert found.read < 10_000 and not found.whole


def test_a_chain_without_an_end_in_the_database_of_openclaw_costs_no_whole_reading(
    tmp_path: Path,
) -> None:
    path = _openclaw(tmp_path, [json.dumps(HEADER).encode(), *chain(900, text="x" * 1000)])
    with contextlib.closing(databases.connect(path)) as db:
        db.execute("DELETE FROM transcript_event_identities WHERE seq=895")
        db.execute("DELETE FROM transcript_events WHERE seq=895")
    found = tail.last(tables.name("s1", str(path)), 10)
    assert names(found) == [f"n{n:05}" for n in range(889, 900) if n != 894]
    assert found.gap and found.read < 20_000


def test_C1_an_event_that_is_named_and_not_there_is_not_passed_over(tmp_path: Path) -> None:
    path = _openclaw(tmp_path, [json.dumps(HEADER).encode(), *chain(900)])
    with contextlib.closing(databases.connect(path)) as db:
        db.execute("DELETE FROM transcript_events WHERE seq=895")
    found = tail.last(tables.name("s1", str(path)), 10)
    assert [damage.where for damage in found.lost] == [895]
    assert tables.DISAGREE in found.lost[0].reason and len(found.messages) == 10


def _openclaw(folder: Path, rows: list[bytes]) -> Path:
    path = folder / "openclaw.sqlite"
    schema = (databases.RECORDED / "openclaw/recorded.sql").read_text().partition("INSERT INTO")[0]
    with contextlib.closing(databases.connect(path)) as db:
        db.executescript(schema)
        for seq, raw in enumerate(rows):
            key = json.loads(raw)["id"]
            event = ("s1", seq, raw.decode().strip(), 1)
            names = "session_id, seq, event_json, created_at"
            db.execute(f"INSERT INTO transcript_events({names}) VALUES (?,?,?,?)", event)
            names = "session_id, event_id, seq, created_at"
            named = ("s1", key, seq, 1)
            db.execute(f"INSERT INTO transcript_event_identities({names}) VALUES (?,?,?,?)", named)
    return path


def test_a_branch_that_was_left_is_read_through_and_what_is_before_it_is_not(path: Path) -> None:
    add(path, *chain(2000, text="x" * 1000))
    add(path, row("side", "n01000"), row("end", "side"))
    found = tail.last(str(path), 4)
    assert names(found) == ["n00999", "n01000", "side", "end"]
    assert found.skipped == {window.LEFT: 999}
    assert found.read < 2 * path.stat().st_size  # it is looked for, and then read


def test_a_parent_is_looked_for_so_far_and_then_it_is_a_gap(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(path, *chain(2000, text="x" * 1000))
    add(path, row("lost", "n00001"), row("end", "lost"))
    monkeypatch.setattr(window, "REACH", 100_000)
    monkeypatch.setattr(backwards, "BLOCK", 4096)
    found = tail.last(str(path), 4)
    assert names(found) == ["n01998", "n01999", "lost", "end"] and found.gap
    assert found.read < 200_000
    monkeypatch.setattr(window, "REACH", 1 << 30)
    found = tail.last(str(path), 4)
    assert names(found) == ["n00000", "n00001", "lost", "end"] and not found.gap


def test_behind_damage_a_parent_is_not_looked_for_far_away(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = chain(3000, text="x" * 1000)
    rows[-3] = b"\0" * len(rows[-3])  # the next line is glued to it
    rows[-5] = b"\0" * (len(rows[-5]) - 1) + b"\n"
    add(path, *rows)
    monkeypatch.setattr(window, "NEAR", 50_000)
    monkeypatch.setattr(backwards, "BLOCK", 4096)
    found = tail.last(str(path), 5, "pi")
    assert names(found) == ["n02993", "n02994", "n02996", "n02998", "n02999"] and found.gap
    assert [damage.reason for damage in found.lost] == ["a run of NUL bytes"]
    assert found.read < 200_000


def test_what_is_before_a_root_is_not_read(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add(path, *chain(3000, text="x" * 1000), row("root", None), row("end", "root"))
    monkeypatch.setattr(window, "BEHIND", 50_000)
    monkeypatch.setattr(window, "REACH", 50_000)
    monkeypatch.setattr(backwards, "BLOCK", 4096)
    found = tail.last(str(path), 5, "pi")
    assert names(found) == ["root", "end"] and found.whole and found.read < 300_000


def test_a_row_that_was_told_anew_counts_at_its_last_telling(tmp_path: Path) -> None:
    path = tmp_path / "gemini.jsonl"
    asked = {"id": "a", "type": "user", "content": "look", "timestamp": "1"}
    said = {"id": "b", "type": "gemini", "content": "I look", "timestamp": "2"}
    call = {"id": "c1", "name": "ls", "args": {}, "status": "success", "result": "found it"}
    rows = [asked, said, {**said, "toolCalls": [call]}, {"$set": {"messages": []}}]
    path.write_bytes(b"".join(json.dumps(one).encode() + b"\n" for one in rows))
    found = tail.last(str(path), 2)
    assert names(found) == ["a", "b"] and found.messages[1].message.calls[0].id == "c1"
    assert found.skipped == {window.AGAIN: 1, window.NONE: 1}


def test_a_host_that_goes_back_to_a_row_that_it_told_anew_goes_back_to_the_first_telling(
    tmp_path: Path,
) -> None:
    path = tmp_path / "gemini.jsonl"
    told = [("a", "user"), ("b", "gemini"), *((f"x{n}", "user") for n in range(9)), ("b", "gemini")]
    rows = [{"id": key, "type": kind, "content": f"{key} says"} for key, kind in told]
    lines = [json.dumps(one).encode() + b"\n" for one in [*rows, {"$rewindTo": "b"}]]
    path.write_bytes(b"".join(lines))
    assert names(tail.last(str(path), 1)) == ["a"]


def test_a_compressed_transcript_whose_branch_begins_far_back_is_read_in_a_private_copy(
    path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [*chain(300), row("side", "n00010"), row("end", "side")]
    packed = path.with_suffix(".zst")
    packed.write_bytes(packer.compress(path.read_bytes() + b"".join(rows)))
    monkeypatch.setattr(tail, "RING", 4000)
    monkeypatch.setattr(zstd, "PIECE", 500)
    monkeypatch.setattr(tail, "BEGINNING", 500)
    assert names(tail.last(str(packed), 4)) == ["n00009", "n00010", "side", "end"]
    assert not list(home.glob("**/copies/*"))


def test_lines_of_any_size_below_the_largest_are_read_whole(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backwards, "LARGEST", 3000)
    monkeypatch.setattr(backwards, "BLOCK", 100)
    add(path, *chain(60, text="x" * 1200))
    found = tail.last(str(path), 100)
    assert len(found.messages) == 60 and not found.lost


# -- what it says ----------------------------------------------------------------------------------


def test_every_row_that_is_not_taken_has_its_class(path: Path) -> None:
    rows = [row("a", None), row("b", "a", "toolResult"), b"\n", b"prose\n", b'{"x":1}\n']
    rows += [
        row("c", "b", text="[OpenClaw heartbeat poll]"),
        row("d", "c", "assistant", "HEARTBEAT_OK"),
    ]
    add(path, *rows, row("e", "d"))
    found = tail.last(str(path), 2)
    assert names(found) == ["a", "e"]
    expected = {"results": 1, window.BLANK: 1, window.LOST: 1, window.NONE: 1, "heartbeat": 2}
    assert found.skipped == expected
    (lost,) = found.lost
    assert lost.reason.startswith("not JSON") and (lost.where, lost.size) == (
        path.read_bytes().index(b"prose"),
        6,
    )


def test_what_is_kept_is_the_callers_choice(path: Path) -> None:
    add(path, row("a", None), row("b", "a", "toolResult"), row("c", "b"))

    def results(message: Message) -> bool:
        return message.kind == "results"

    found = tail.last(str(path), 1, keep=results)
    assert names(found) == ["b"] and found.skipped == {"request": 1}


def test_a_line_that_is_too_large_is_lost_with_its_place_and_size(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backwards, "LARGEST", 100_000)
    monkeypatch.setattr(backwards, "BLOCK", 4096)
    monkeypatch.setattr(backwards, "HEAD", 100)
    add(path, row("a", None))
    large = row("b", "a", "toolResult", "x" * 200_000)
    place = path.stat().st_size
    add(path, large, row("c", "b"))
    found = tail.last(str(path), 2)
    assert names(found) == ["a", "c"] and found.gap
    (lost,) = found.lost
    assert (lost.where, lost.size) == (place, len(large)) and "too large" in lost.reason


def test_what_a_writer_has_not_finished_is_pending(path: Path) -> None:
    add(path, row("a", None), row("b", "a")[:30])
    found = tail.last(str(path), 5)
    assert (names(found), found.pending, found.lost) == (["a"], 30, ())
    add(path, row("b", "a")[30:-1])  # whole, but for its end
    found = tail.last(str(path), 5)
    assert (names(found), found.pending) == (["a", "b"], 0)


def test_a_transcript_that_is_cut_while_it_is_read_raises_nothing(path: Path) -> None:
    add(path, *chain(50))
    size = path.stat().st_size
    with path.open("rb") as file:
        source = backwards.of_file(file.fileno())
        os.truncate(path, size // 2)
        rows = [row for row, _ in source.rows()]
    data = path.read_bytes()
    whole = [row for row in rows if row.value is not None]
    assert len(whole) == data.count(b"\n") and all(row.start < size // 2 for row in whole)


def test_what_is_no_transcript_says_so(tmp_path: Path) -> None:
    path = tmp_path / "x"
    with pytest.raises(MissingSourceError):
        tail.last(str(path), 3)
    with pytest.raises(SourceError):
        tail.last(str(tmp_path), 3)
    path.write_bytes(b"")
    assert tail.last(str(path), 3) == tail.Tail((), "")
    path.write_bytes(b"words\n" * 3)
    with pytest.raises(FormatError, match="no transcript"):
        tail.last(str(path), 3)
    assert len(tail.last(str(path), 3, "pi").lost) == 3


def test_the_source_is_not_written(path: Path) -> None:
    add(path, *chain(9))
    before, stat, beside = path.read_bytes(), path.stat(), os.listdir(path.parent)
    tail.last(str(path), 3)
    assert (path.read_bytes(), path.stat().st_mtime_ns) == (before, stat.st_mtime_ns)
    assert os.listdir(path.parent) == beside


def test_it_runs_in_a_hook_and_loads_nothing_more(path: Path) -> None:
    add(path, *chain(50))
    package = str(Path(tail.__file__).parents[2])
    code = (
        f"import sys; sys.path.insert(0, {package!r}); from swapcache.transcripts import tail;"
        f"assert len(tail.last({str(path)!r}, 20).messages) == 20;"
        "print(' '.join(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], capture_output=True, check=True, text=True
    )
    foreign = {name for name in done.stdout.split() if name.partition(".")[0] != "swapcache"}
    assert foreign - {"__main__"} <= ALLOWED
