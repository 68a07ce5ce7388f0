"""Transcripts that others published are read with no loss that is not explained.

They lie outside of the project: in the directory that SWAPCACHE_TRANSCRIPTS names, else beside the
project. What was found stands in a table; where there are none, the table says that nothing ran.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from swapcache import config
from swapcache.capture import capture, events, follow, story
from swapcache.errors import FormatError
from swapcache.model import Event, Source
from swapcache.store import identity, sessions
from swapcache.store.opening import open_store
from tests.outside.conftest import Table

TITLE = "published transcripts: rows, kept, messages, lost, types that are not known"
BESIDE = Path(__file__).parents[2].parent / "shared/data"
PLACE = Path(os.environ.get("SWAPCACHE_TRANSCRIPTS", BESIDE))
FILES = sorted(PLACE.rglob("*.jsonl"))


def test_there_are_published_transcripts(table: Table) -> None:
    if not FILES:
        table(TITLE, "NOT RUN", f"no transcript under {PLACE}; set SWAPCACHE_TRANSCRIPTS")
    assert FILES or "SWAPCACHE_TRANSCRIPTS" not in os.environ, (
        "the directory that is named is empty"
    )


def _is_transcript(path: Path) -> bool:
    """False for other JSON lines (questions, cases), which are refused by name."""
    source = Source(0, 0, str(path), 0, 0, "", "", "")
    try:
        follow.read_new(source, 1 << 16)
    except FormatError as problem:
        assert "is no transcript that is known here" in str(problem)
        return False
    return True


@pytest.mark.parametrize("path", FILES, ids=lambda path: "/".join(path.parts[-2:]))
def test_every_row_is_kept_and_every_loss_explained(
    path: Path, table: Table, home: Path, project: Path
) -> None:
    name = "/".join(path.parts[-2:])
    if not _is_transcript(path):
        table(TITLE, name, "no transcript, and refused as such")
        return
    lines = path.read_bytes().splitlines(keepends=True)
    readable = sum(1 for line in lines if _is_object(line))
    store = open_store(identity.identify("any", str(home), str(project)))
    try:
        event = Event("any", "import", store.identity, "s", "s", str(path))
        done = events.record_whole(store, event, config.DEFAULTS)
        session = sessions.find_session(store.db, "s", "s")
        assert session is not None
        told = capture.report(store, session, done.rows, done.pending)
        unknown = ", ".join(f"{kind} {count}" for kind, count in told.unknown) or "no unknown type"
        reasons = "; ".join(sorted({d.reason for d in told.lost})) or "nothing lost"
        counts = f"{told.records} rows, {told.kept} kept, {told.messages} messages"
        table(TITLE, name, counts, f"{reasons}; {unknown}")
        assert told.kept >= readable, "a line that any JSON parser reads was not kept"
        assert told.kept + len(told.lost) == told.records, "a loss without a reason"
        raw = [r for r, good in store.read(0, 1 << 40) if good and r.meta.get("kind") == "raw"]
        assert b"".join(r.body for r in raw) == path.read_bytes(), "every byte"
        assert told.messages or not any(_says(line) for line in lines)
        with store.writing() as writer:
            kept = capture.Ledger(store, writer, session).fold.dump()
        assert kept == story.refold(store, session).fold.dump()
    finally:
        store.close()


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False


def _says(line: bytes) -> bool:
    return b'"role": "user"' in line or b'"role":"user"' in line
