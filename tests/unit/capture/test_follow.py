"""Following a transcript: only what is new is read, and a rewritten one is noticed."""

import json
import os
from pathlib import Path

import pytest

from swapcache.capture import follow
from swapcache.errors import FormatError, SourceError
from swapcache.model import Source
from tests.rows import Claude


def source(path: Path) -> Source:
    """A source that nothing was read of yet."""
    return Source(1, 1, str(path), 0, 0, "", "", "")


def transcript(tmp_path: Path, prompts: int = 3, size: int = 0) -> Claude:
    """A transcript with some prompts of `size` characters more."""
    made = Claude(tmp_path / "t.jsonl")
    for n in range(prompts):
        made.user(f"prompt {n}" + "x" * size)
    return made


def prompts(new: follow.New) -> list[str]:
    """The prompts among the rows."""
    return [row.value["message"]["content"] for row in new.rows if row.value]


def test_everything_is_new_at_first_and_then_only_what_was_appended(tmp_path: Path) -> None:
    made = transcript(tmp_path)
    first = follow.read_new(source(made.path))
    assert prompts(first) == ["prompt 0", "prompt 1", "prompt 2"]
    assert first.source.format == "claude-code"
    assert first.source.cursor == made.path.stat().st_size
    made.user("and this")
    second = follow.read_new(first.source)
    assert prompts(second) == ["and this"]
    assert not second.rewritten
    assert second.rows[0].start == first.source.cursor


def test_nothing_new_moves_nothing(tmp_path: Path) -> None:
    made = transcript(tmp_path)
    moved = follow.read_new(source(made.path)).source
    assert follow.read_new(moved) == follow.New([], moved, False, 0, False)


@pytest.mark.parametrize("size", [0, 3000], ids=["within 4 KB", "over 4 KB"])
def test_a_transcript_that_was_cut_before_the_cursor_is_rewritten(
    tmp_path: Path, size: int
) -> None:
    made = transcript(tmp_path, 6, size)
    moved = follow.read_new(source(made.path)).source
    os.truncate(made.path, moved.cursor - 10)
    new = follow.read_new(moved)
    assert (new.rewritten, new.rows) == (True, [])
    os.truncate(made.path, 0)
    assert follow.read_new(moved).rewritten


@pytest.mark.parametrize("size", [0, 3000], ids=["within 4 KB", "over 4 KB"])
@pytest.mark.parametrize("prompt", [0, 5], ids=["first", "last"])
def test_an_edit_in_place_near_an_edge_is_a_rewrite(tmp_path: Path, size: int, prompt: int) -> None:
    made = transcript(tmp_path, 6, size)
    moved = follow.read_new(source(made.path)).source
    data = made.path.read_bytes()
    changed = data.replace(b"prompt %d" % prompt, b"PROMPT %d" % prompt)
    assert changed != data
    with made.path.open("r+b") as file:
        file.write(changed)
    assert made.path.stat().st_size == moved.cursor
    assert follow.read_new(moved).rewritten


def test_another_file_in_its_place_is_a_rewrite(tmp_path: Path) -> None:
    made = transcript(tmp_path)
    moved = follow.read_new(source(made.path)).source
    made.path.unlink()
    other = Claude(made.path, session="s2")
    for n in range(9):
        other.user(f"other {n}")
    assert made.path.stat().st_size > moved.cursor
    assert follow.read_new(moved).rewritten


def test_the_same_bytes_in_another_file_go_on(tmp_path: Path) -> None:
    made = transcript(tmp_path)
    moved = follow.read_new(source(made.path)).source
    copy = made.path.read_bytes()
    made.path.unlink()
    made.path.write_bytes(copy)
    made.user("appended")
    new = follow.read_new(moved)
    assert (new.rewritten, prompts(new)) == (False, ["appended"])


def test_a_new_generation_reads_the_rewritten_transcript_whole(tmp_path: Path) -> None:
    made = transcript(tmp_path)
    moved = follow.read_new(source(made.path)).source
    made.path.write_bytes(b"")
    made.user("afresh")
    assert follow.read_new(moved).rewritten
    assert prompts(follow.read_new(source(made.path))) == ["afresh"]


def test_A10_a_torn_last_line_is_pending_and_read_once_it_is_finished(tmp_path: Path) -> None:
    made = transcript(tmp_path, 1)
    whole = json.dumps({"type": "user", "message": {"role": "user", "content": "late"}}).encode()
    made.raw(whole[:30])
    first = follow.read_new(source(made.path))
    assert (prompts(first), first.pending, first.more) == (["prompt 0"], 30, False)
    again = follow.read_new(first.source)
    assert (again.rows, again.pending, again.rewritten) == ([], 30, False)
    made.raw(whole[30:] + b"\n")
    assert prompts(follow.read_new(first.source)) == ["late"]


def test_a_bound_is_reached_step_by_step_and_nothing_is_skipped(tmp_path: Path) -> None:
    made = transcript(tmp_path, 50)
    here, seen, steps = source(made.path), list[str](), 0
    while True:
        new = follow.read_new(here, 1000)
        seen += prompts(new)
        here, steps = new.source, steps + 1
        if not new.more:
            break
        assert new.pending == made.path.stat().st_size - here.cursor
    assert seen == [f"prompt {n}" for n in range(50)]
    assert steps > 5


def test_the_transcript_is_never_written(tmp_path: Path) -> None:
    made = transcript(tmp_path)
    made.raw(b'torn"}\n{"half')
    made.path.chmod(0o400)
    before, stamp = made.path.read_bytes(), made.path.stat().st_mtime_ns
    follow.read_new(source(made.path))
    assert made.path.read_bytes() == before
    assert made.path.stat().st_mtime_ns == stamp
    assert sorted(os.listdir(tmp_path)) == ["home", "t.jsonl"]


def test_what_is_no_transcript_is_refused_with_the_reason(tmp_path: Path) -> None:
    notes = tmp_path / "notes.md"
    notes.write_text("# notes\n")
    with pytest.raises(FormatError, match=r"notes\.md is no transcript"):
        follow.read_new(source(notes))
    with pytest.raises(SourceError, match="does not exist"):
        follow.read_new(source(tmp_path / "gone"))
    with pytest.raises(SourceError, match="is a directory"):
        follow.read_new(source(tmp_path))
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(SourceError, match="is no regular file"):
        follow.read_new(source(tmp_path / "pipe"))


def test_an_empty_transcript_is_not_refused_while_its_host_is_at_work(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(b'{"type":"us')
    new = follow.read_new(source(path))
    assert (new.rows, new.pending, new.source.cursor) == ([], 11, 0)
