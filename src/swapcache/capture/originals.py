"""A transcript as it lies at its host now, asked for the rows that were captured from it.

Owns the two ways of looking a row up: a place in a file, an event in a host's database. Promises
bounded memory and to read only. Never decides what a difference means (corroborate.py).
"""

from __future__ import annotations

import hashlib
import os

from swapcache.capture import follow
from swapcache.errors import MissingSourceError, SourceError
from swapcache.model import Row, Source
from swapcache.store import files
from swapcache.transcripts import lines, openclaw

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

STEP = 1 << 20


class File:
    """A transcript of JSON lines."""

    def __init__(self, source: Source, path: str) -> None:
        self._file = files.open_regular(path)
        self._size = os.fstat(self._file).st_size
        self.changed = False
        """The part that was read is not what was read."""
        if source.cursor:
            edges = follow.edges_of(self._file, source.cursor)
            self.changed = self._size < source.cursor or edges != (source.head, source.tail)

    def close(self) -> None:
        """Closes the file."""
        os.close(self._file)

    def holds(self, position: int, size: int, sha: bytes) -> bool:
        """True when the bytes at a place have this hash."""
        if position < 0 or size < 0 or position + size > self._size:
            return False
        total, end = hashlib.sha256(), position + size
        while position < end:
            data = self._read(min(STEP, end - position), position)
            if not data:
                return False
            total.update(data)
            position += len(data)
        return total.digest() == sha

    def rows(self) -> Iterator[Row]:
        """Every row."""
        rows, start, _, more = self._rows(0)
        while rows:
            yield from rows
            rows, start, _, more = self._rows(start) if more else ([], start, 0, False)

    def _read(self, size: int, start: int) -> bytes:
        try:
            return os.pread(self._file, size, start)
        except OSError as problem:
            raise SourceError(f"it cannot be read at byte {start}: {problem.strerror}") from problem

    def _rows(self, start: int) -> tuple[list[Row], int, int, bool]:
        try:
            return lines.read(self._file, start, follow.BATCH)
        except OSError as problem:
            raise SourceError(f"it cannot be read at byte {start}: {problem.strerror}") from problem


class Events:
    """A session in OpenClaw's database."""

    def __init__(self, source: Source) -> None:
        self._path = source.path
        first = openclaw.read(self._path, 0, 0)
        if not first.rows:
            raise MissingSourceError(f"{self._path} has no events any more")
        self.changed = bool(source.cursor) and first.generation != source.head
        self._rows: dict[int, Row] = {}
        self._first = self._next = 0
        """Events from the one on, before the other, are in `_rows`, as far as they exist."""

    def close(self) -> None:
        """Nothing is kept open between two readings."""

    def holds(self, position: int, size: int, sha: bytes) -> bool:
        """True when the event of a number has this hash, as text or as the host packed it."""
        if not self._first <= position < self._next:
            found = openclaw.read(self._path, position, follow.BATCH)
            self._rows = {row.start: row for row in found.rows}
            self._first, self._next = position, max(found.next, position + 1)
        row = self._rows.get(position)
        if row is None:
            return False
        if hashlib.sha256(row.raw).digest() == sha:
            return True
        packed = openclaw.packed(self._path, position)
        if packed is not None and hashlib.sha256(packed).digest() == sha:
            return True  # captured where nothing could decompress it
        if packed is not None and row.value is None:
            raise SourceError(f"event {position} cannot be compared here: {row.reason}")
        return False

    def rows(self) -> Iterator[Row]:
        """Every event."""
        at, more = 0, True
        while more:
            found = openclaw.read(self._path, at, follow.BATCH)
            yield from found.rows
            at, more = found.next, found.more


Original = File | Events


def opened(source: Source) -> Original:
    """A source's transcript, wherever its host moved it. Raises SourceError."""
    if source.path.startswith(follow.DATABASE):
        return Events(source)
    moved = follow.renamed(source.path)
    if not os.path.exists(source.path) or moved == source.path:
        return File(source, moved)
    original = File(source, source.path)
    if not original.changed:
        return original
    other = File(source, moved)  # the host begins another file under the old name
    worse, better = (original, other) if not other.changed else (other, original)
    worse.close()
    return better
