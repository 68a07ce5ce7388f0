"""A transcript as it lies at its host now, asked for the rows that were captured from it.

Owns the ways of looking a row up: a place in a file, an event or a row in a host's database.
Promises bounded memory (a hash for each row where a host changes rows in place) and to read only.
Never decides what a difference means (corroborate.py).
"""

from __future__ import annotations

import hashlib
import json
import os

from swapcache.capture import follow
from swapcache.errors import MissingSourceError, SourceError
from swapcache.model import Row, Source
from swapcache.transcripts import databases, lines, openclaw, plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

STEP = 1 << 20


class File:
    """A transcript of JSON lines."""

    def __init__(self, source: Source, path: str) -> None:
        self._file = plain.opened(path)
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

    def renewed(self, position: int, body: bytes) -> bool:
        """Never: a file's rows stay as they are."""
        return False


class Events:
    """A session in a database whose rows stay as they are: any may be read at once."""

    def __init__(self, source: Source) -> None:
        self._source = source._replace(cursor=0, head="", tail="")
        first = databases.read(self._source, 0)
        if not first.rows:
            raise MissingSourceError(f"{source.path} has no events any more")
        self.changed = databases.changed(source)
        self._head = first.source.head
        self._rows: dict[int, Row] = {}
        self._first = self._next = 0
        """Events from the one on, before the other, are in `_rows`, as far as they exist."""

    def close(self) -> None:
        """Nothing is kept open between two readings."""

    def holds(self, position: int, size: int, sha: bytes) -> bool:
        """True when the event of a number has this hash, as text or as the host packed it."""
        if not self._first <= position < self._next:
            found = self._from(position)
            self._rows = {row.start: row for row in found.rows}
            self._first, self._next = position, max(found.source.cursor, position + 1)
        row = self._rows.get(position)
        if row is None:
            return False
        if hashlib.sha256(row.raw).digest() == sha:
            return True
        packed = openclaw.packed(self._source.path, position)
        if packed is not None and hashlib.sha256(packed).digest() == sha:
            return True  # captured where nothing could decompress it
        if packed is not None and row.value is None:
            raise SourceError(f"event {position} cannot be compared here: {row.reason}")
        return False

    def rows(self) -> Iterator[Row]:
        """Every event."""
        at, more = 0, True
        while more:
            found = self._from(at)
            yield from found.rows
            at, more = found.source.cursor, found.more

    def _from(self, position: int) -> databases.Read:
        source = self._source._replace(cursor=position, head=self._head)
        return databases.read(source, follow.BATCH)

    def renewed(self, position: int, body: bytes) -> bool:
        """Never: an event stays as it is."""
        return False


class Rows:
    """A session in a database whose host changes rows in place: a hash of each is kept."""

    def __init__(self, source: Source, tellings: int) -> None:
        self._source, self._tellings = source._replace(cursor=0, head="", tail=""), tellings
        self.changed = databases.changed(source)
        self._hashes: dict[int, tuple[set[bytes], int]] = {}
        """By row: of its bytes, with and without the marks that depend on when it was told (its
        beginning before its end; its message cut off or just running); its time."""
        for row in self.rows():
            forms = {row.raw, row.raw.replace(b',"cut":true', b"", 1)}
            forms |= {raw.replace(b',"data":', b',"told":true,"data":', 1) for raw in forms}
            hashes = {hashlib.sha256(raw).digest() for raw in forms}
            changed = (row.value or {}).get("time_updated")
            when = changed if isinstance(changed, int) else 0
            self._hashes[row.start // tellings] = hashes, when
        if not self._hashes:
            raise MissingSourceError(f"{source.path} has no rows any more")

    def close(self) -> None:
        """Nothing is kept open between two readings."""

    def holds(self, position: int, size: int, sha: bytes) -> bool:
        """True when the row has this hash."""
        return sha in self._hashes.get(position // self._tellings, ((), 0))[0]

    def rows(self) -> Iterator[Row]:
        """Every row."""
        source, more = self._source, True
        while more:
            found = databases.read(source, follow.BATCH)
            yield from found.rows
            source, more = found.source, found.more

    def renewed(self, position: int, body: bytes) -> bool:
        """True when the host has changed the row since its telling `body`."""
        try:
            value = json.loads(body)
        except (ValueError, RecursionError):
            return False
        told = value.get("time_updated") if isinstance(value, dict) else None
        now = self._hashes.get(position // self._tellings, ((), 0))[1]
        return isinstance(told, int) and told < now


Original = File | Events | Rows


def opened(source: Source) -> Original:
    """A source's transcript, wherever its host moved it. Raises SourceError."""
    if source.path.startswith(follow.DATABASE):
        tellings = databases.tellings(source)
        return Rows(source, tellings) if tellings else Events(source)
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
