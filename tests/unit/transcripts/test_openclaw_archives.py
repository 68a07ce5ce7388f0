"""Sessions that OpenClaw put away: deleted ones, cold ones, damaged ones."""

from __future__ import annotations

import json
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from swapcache.capture import follow
from swapcache.model import Row
from swapcache.transcripts import databases
from tests import databases as made

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

KEY = "agent:main:other"


def archived(path: Path) -> str:
    """The archived session's path."""
    return next(c.path for c in databases.candidates(str(path))[1] if c.state == "archived")


def cool(path: Path, storage: str) -> list[Row]:
    """Moves the live session into the cold, as the host does; gives what it was."""
    source = made.session_of(path)
    session, before = source.split(":")[1], made.rows_of(source)
    lines: list[dict[str, Any]] = [
        {"kind": "header", "version": 1, "sessionId": session, "generation": "g"}
    ]
    for row in before:
        event = {"seq": row.start, "event_json": row.raw.decode(), "created_at": 1}
        lines.append({"kind": "event", "row": event})
        lines.append({"kind": "identity", "row": {"seq": row.start}})
    blob = zstd.compress(b"".join(json.dumps(line).encode() + b"\n" for line in lines))
    name = f"{'a' * 64}.jsonl.zst"
    if storage == "file":
        folder = path.parent.parent / "sessions/cold"
        folder.mkdir(parents=True)
        (folder / name).write_bytes(blob)
    with sqlite3.connect(path) as db:
        db.execute("DELETE FROM transcript_events")
        db.execute("DELETE FROM transcript_event_identities")
        db.execute(
            "CREATE TABLE session_transcript_cold_archives(session_id, generation, archive_name,"
            " archive_sha256, event_count, raw_bytes, archive_bytes, last_seq, archived_at,"
            " storage, archive_blob)"
        )
        kept = blob if storage == "sqlite" else None
        db.execute(
            "INSERT INTO session_transcript_cold_archives VALUES (?,'g',?,'',?,0,0,0,1,?,?)",
            (session, name, len(before), storage, kept),
        )
    return before


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """An agent's database with a live and a deleted session."""
    place = tmp_path / "agents/main/agent/openclaw-agent.sqlite"
    place.parent.mkdir(parents=True)
    return made.build(place, "openclaw", "archived")


def test_a_deleted_session_has_the_events_that_it_had(path: Path) -> None:
    (one,) = [c for c in databases.candidates(str(path))[1] if c.state == "archived"]
    assert (one.key, one.title) == (KEY, "Go on with the second step.")
    assert (one.messages, one.workspace) == (2, "/srv/shop/work")
    rows = made.rows_of(one.path)
    assert [row.start for row in rows] == list(range(6))
    assert all(row.value is not None for row in rows)
    assert rows[0].value and rows[0].value["type"] == "session"


@pytest.mark.parametrize("storage", ["sqlite", "file"])
def test_a_session_in_the_cold_is_what_it_was_and_goes_on_there(path: Path, storage: str) -> None:
    source = made.session_of(path)
    half = databases.read(made.fresh(source), 8000)
    before = cool(path, storage)
    assert made.rows_of(source) == before
    rest = databases.read(half.source, 1 << 30)
    assert [*half.rows, *rest.rows] == before


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "cut": lambda blob: blob[: len(blob) - 60],
    "other bytes": lambda blob: blob[:50] + b"\xff" * 60,
    "words": lambda blob: b"no archive at all",
    "empty": lambda blob: b"",
}


@pytest.mark.parametrize("kind", sorted(DAMAGES))
def test_C1_a_damaged_archive_is_a_row_with_a_reason(path: Path, kind: str) -> None:
    source = archived(path)
    with sqlite3.connect(path) as db:
        (blob,) = db.execute("SELECT archive_blob FROM session_transcript_archives").fetchone()
        db.execute("UPDATE session_transcript_archives SET archive_blob=?", (DAMAGES[kind](blob),))
    lost = [row for row in made.rows_of(source) if row.value is None]
    assert lost and all(row.reason for row in lost)
    assert "archived session" in lost[-1].reason


def test_C1_a_cold_archive_whose_file_is_gone_is_a_row_with_a_reason(path: Path) -> None:
    source = made.session_of(path)
    cool(path, "file")
    (file,) = (path.parent.parent / "sessions/cold").iterdir()
    file.unlink()
    (row,) = made.rows_of(source)
    assert row.value is None and "does not exist" in row.reason


def test_C1_a_compressed_file_that_was_cut_gives_the_lines_before_the_cut(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [{"type": "session", "version": 3, "id": "s1", "cwd": "/srv/p"}]
    rows += [
        {"type": "message", "id": str(n), "message": {"role": "user", "content": f"{n * 7919}"}}
        for n in range(40000)
    ]
    blob = zstd.compress(b"".join(json.dumps(row).encode() + b"\n" for row in rows))
    place = tmp_path / "s1.jsonl.deleted.2026-12-01T00-00-00.000Z.zst"
    place.write_bytes(blob)
    whole = follow.read_new(made.fresh(str(place)), 1 << 30)
    assert len(whole.rows) == len(rows) and whole.pending == 0
    place.write_bytes(blob[: len(blob) * 3 // 4])
    cut = follow.read_new(made.fresh(str(place)), 1 << 30)
    good = [row.raw for row in cut.rows if row.value is not None]
    assert 1000 < len(good) < len(rows) and good == [row.raw for row in whole.rows[: len(good)]]
    assert cut.rows[-1].reason and b"the rest of the file is lost" in cut.rows[-1].raw
