"""Rows of a JSON-lines transcript from its end on, however damaged.

Owns the walk from line to line towards the beginning. Promises the rows that `lines.read` gives of
the whole file, the newest first, with memory and reading that grow with what is asked for and never
with the file: a line longer than LARGEST is a row with a reason, and only its beginning. Never
writes, and never interprets a value.
"""

from __future__ import annotations

import os
from collections import deque

from swapcache.model import Row
from swapcache.transcripts import lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

BLOCK = 256 << 10
LARGEST = 16 << 20
HEAD = 4096
"""So much is read of a line that is too large."""
ALIKE = 4 << 20
"""So far back a torn line is compared with whole rows, which is what a capture sees of them."""


class Backwards:
    """The bytes of a transcript, from `floor` to `size`, and the way back through them."""

    def __init__(self, pread: Callable[[int, int], bytes], size: int, floor: int = 0) -> None:
        self._pread, self.size, self.floor = pread, size, floor
        self.read = 0
        """Bytes that were read so far."""
        self.short = False
        """What was asked for is before `floor`, or may be."""
        self.pending = 0
        """Bytes at the end that are no whole row yet: their writer may be at work."""

    def bytes_at(self, size: int, at: int) -> bytes:
        """At most `size` bytes from `at` on."""
        data = self._pread(size, at)
        self.read += len(data)
        return data

    def rows(self) -> Iterator[tuple[Row, int]]:
        """(row, its size in the source), the newest first."""
        self.pending = 0
        for start, raw, size in self._lines(self.size):
            if size > len(raw):
                yield Row(start, raw, None, f"a line of {size} bytes: too large to read"), size
                continue
            found = lines.split(start, raw, _Earlier(self, start))
            open_end = start + size == self.size and not raw.endswith(b"\n")
            if open_end and (len(found) > 1 or found[0].value is None):
                self.pending = size
                continue
            for row in reversed(found):
                yield row, len(row.raw)
        self.short = self.floor > 0

    def alike(self, before: int) -> Iterator[Row]:
        """Rows that end before a line, the nearest first, to compare with."""
        for start, raw, size in self._lines(before):
            if before - start > ALIKE:
                return
            if size == len(raw):
                yield from reversed(lines.split(start, raw))
        self.short = self.short or self.floor > 0

    def mention(self, words: Iterable[bytes], before: int, reach: int) -> int:
        """Where the nearest of `words` stands before a place, at most `reach` bytes away; or -1."""
        longest = max(map(len, words))
        at, least, rest = before, max(self.floor, before - reach), b""
        while at > least:
            size = min(BLOCK, at - least)
            at -= size
            data = self.bytes_at(size, at) + rest
            found = max(data.rfind(word) for word in words)
            if found >= 0:
                return at + found
            rest = data[: longest - 1]
        return at if at == self.floor > 0 else -1

    def _lines(self, end: int) -> Iterator[tuple[int, bytes, int]]:
        """(start, bytes with the line end, size) of lines up to `end`; of one that is too large
        only its beginning."""
        at, pieces, held = end, list[bytes](), 0
        while at > self.floor:
            size = min(BLOCK, at - self.floor)
            at -= size
            data = self.bytes_at(size, at)
            if len(data) < size:  # the file was cut meanwhile
                pieces, end = [], at + len(data)
            stop = len(data)
            found = data.rfind(b"\n")
            while found >= 0:
                start = at + found + 1
                if start < end:
                    pieces.append(data[found + 1 : stop])
                    yield self._line(start, pieces, end - start)
                pieces, held, end, stop = [], 0, start, found + 1
                found = data.rfind(b"\n", 0, found)
            held += stop
            if held <= LARGEST:
                pieces.append(data[:stop])
            else:
                pieces = []
        if end > self.floor == 0:
            yield self._line(0, pieces, end)

    def _line(self, start: int, pieces: list[bytes], size: int) -> tuple[int, bytes, int]:
        raw = b"".join(reversed(pieces)) if size <= LARGEST else self.bytes_at(HEAD, start)
        return start, raw, size


class _Earlier:
    """What stands before a line: read only when something in it has to be compared."""

    def __init__(self, source: Backwards, start: int) -> None:
        self._source, self._start = source, start
        self._known: list[Row] = []
        """One row of each form that was seen."""
        self._rest: Iterator[Row] | None = None

    def __bool__(self) -> bool:
        return self._start > 0

    def __iter__(self) -> Iterator[Row]:
        yield from self._known
        if self._rest is None:
            self._rest = self._source.alike(self._start)
        for row in self._rest:
            if row.value is None or any(k.value.keys() == row.value.keys() for k in self._known):  # type: ignore[union-attr]
                continue
            self._known.append(row._replace(raw=b"", value=dict.fromkeys(row.value)))
            yield self._known[-1]


def ring(blocks: Iterable[bytes], head: int, size: int) -> Backwards:
    """The way back through bytes that can only be read forwards: their first `head` and their last
    `size` bytes are held."""
    first, held, total, count = b"", deque[bytes](), 0, 0
    for block in blocks:
        if len(first) < head:
            first += block[: head - len(first)]
        held.append(block)
        total, count = total + len(block), count + len(block)
        while count - len(held[0]) >= size:
            count -= len(held.popleft())
    end, floor = b"".join(held), total - count

    def pread(length: int, at: int) -> bytes:
        if at < floor:
            return first[at : at + length]
        return end[at - floor : at - floor + length]

    return Backwards(pread, total, floor)


def of_file(file: int) -> Backwards:
    """The way back through an open file."""
    return Backwards(lambda size, at: os.pread(file, size, at), os.fstat(file).st_size)
