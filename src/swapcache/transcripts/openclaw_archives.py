"""Sessions that OpenClaw put away: deleted or reset ones, and those it moved into the cold.

Owns the form of both kinds of archives (tables session_transcript_archives and
session_transcript_cold_archives; a cold one may be a file beside the sessions). Promises the events
that can be read of a damaged archive, and the archive itself as a row with the reason. An event's
place is the number that it had.
"""

from __future__ import annotations

import json
import os

from swapcache.errors import SourceError
from swapcache.model import Row
from swapcache.store import files
from swapcache.transcripts import tables, zstd
from swapcache.transcripts.tables import fetch, has, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from typing import Any

    from swapcache.model import Source

ARCHIVE_LIMIT = 256 << 20
TABLES = ("session_transcript_archives", "session_transcript_cold_archives")


def rows(db: sqlite3.Connection, session: str, source: Source) -> list[Row]:
    """The events of a session that the host deleted, reset or moved into the cold."""
    if has(db, "session_transcript_archives"):
        found = fetch(db, "SELECT * FROM session_transcript_archives WHERE session_id=?", session)
        if found:
            newest = max(found, key=lambda row: tables.number(row["created_at"]))
            return _lines_of(newest["archive_blob"], newest["encoding"] == b"zstd")
    if has(db, "session_transcript_cold_archives"):
        found = fetch(
            db, "SELECT * FROM session_transcript_cold_archives WHERE session_id=?", session
        )
        if found:
            return _cold(_cold_bytes(found[0], tables.parts(source.path)[1]))
    return []


def event(seq: int, raw: bytes) -> Row:
    """One event, whatever stands in it."""
    value, reason = tables.parsed(raw)
    return Row(seq, raw, value, reason)


def _lines_of(blob: Any, packed: bool) -> list[Row]:
    """An archive's lines; their order is that of the events' numbers."""
    data = blob if isinstance(blob, bytes) else b""
    raw, reason = zstd.unpacked(data, ARCHIVE_LIMIT) if packed else (data, "")
    rows = [event(at, line) for at, line in enumerate(raw.split(b"\n"))]
    if rows and not rows[-1].raw:
        rows.pop()  # behind the last line's end
    if reason or not rows:
        lost = reason or "nothing where its events are expected"
        rows.append(Row(len(rows), data, None, f"archived session: {lost}"))
    return rows


def _cold_bytes(archive: dict[str, Any], path: str) -> bytes | str:
    """The archive, or why there is none."""
    if archive["storage"] == b"sqlite":
        return archive["archive_blob"] or b""
    folder = f"{os.path.dirname(os.path.dirname(path))}/sessions/cold"
    place = f"{folder}/{os.path.basename(text(archive['archive_name']))}"
    try:
        file = files.open_regular(place)
    except SourceError as problem:
        return str(problem)
    try:
        return os.pread(file, ARCHIVE_LIMIT, 0)
    finally:
        os.close(file)


def _cold(data: bytes | str) -> list[Row]:
    """Events of a cold archive: lines that hold an event's number and its text."""
    if isinstance(data, str):
        return [Row(0, b"", None, f"archived session: {data}")]
    raw, reason = zstd.unpacked(data, ARCHIVE_LIMIT)
    rows: dict[int, Row] = {}
    if reason:
        rows[-1] = Row(-1, data, None, f"archived session: {reason}")
    for at, line in enumerate(raw.split(b"\n")):
        if not line:
            continue
        try:
            given = json.loads(line)
            if given["kind"] == "event":
                seq = int(given["row"]["seq"])
                rows[seq] = event(seq, given["row"]["event_json"].encode("utf-8", "replace"))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            rows[-2 - at] = Row(-2 - at, line, None, f"line {at + 1} of the archive is no event")
    return [rows[key] for key in sorted(rows)]
