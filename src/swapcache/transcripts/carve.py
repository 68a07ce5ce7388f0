"""What a damaged SQLite file still holds: its rows, page by page, without SQLite.

Owns the file format as far as rows need it (pages, cells, records, overflow chains, free pages).
Promises every row of every leaf page that is whole, whatever else is broken, and never to raise on
damage. Never writes and never knows a host's tables.
"""

from __future__ import annotations

import os

from swapcache.model import NamedTuple
from swapcache.store import files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    Value = int | float | bytes | None

MAGIC = b"SQLite format 3\0"
SIZES = (4096, 1024, 2048, 8192, 16384, 32768, 65536, 512)
"""Sizes of pages, the default first."""
SAMPLE = 1 << 20
"""Bytes by which a size is judged where the header does not say it."""
TABLE, INDEX, INDEX_INNER = 13, 10, 2
WINDOW = 64
"""Pages that are read at once."""


class Cell(NamedTuple):
    """One record of a table or of an index."""

    rowid: int | None
    """None for an index's record; its last value is a row's id."""
    values: list[Value]
    """Text as bytes, as it was stored."""
    whole: bool
    """False when its end lies on pages that cannot be read: `values` are those before it."""


def cells(path: str, needle: bytes) -> Iterator[Cell]:
    """The records of pages that hold `needle`, in the file's order. Raises SourceError."""
    file = files.open_regular(path)
    try:
        image = _Image(file)
        free = image.free()
        for number, page in image.pages():
            if needle in page and number not in free:
                yield from _cells(image, number, page)
    finally:
        os.close(file)


class _Image:
    """The pages of a file."""

    def __init__(self, file: int, size: int = 0) -> None:
        self.file, self.length = file, os.fstat(file).st_size
        head = os.pread(file, 100, 0).ljust(100, b"\0")
        good = head.startswith(MAGIC)
        said = int.from_bytes(head[16:18], "big")
        said = 65536 if said == 1 else said
        agrees = said in SIZES and int.from_bytes(head[28:32], "big") * said == self.length
        self.size = size or (said if good and agrees else _likely(file))
        self.usable = self.size - (head[20] if good and head[20] < 33 else 0)
        self.count = (self.length + self.size - 1) // self.size
        self.trunk = int.from_bytes(head[32:36], "big") if good else 0

    def page(self, number: int) -> bytes:
        """A page by its number from 1 on; shorter at the end of a file that was cut."""
        if not 1 <= number <= self.count:
            return b""
        return os.pread(self.file, self.size, (number - 1) * self.size)

    def pages(self) -> Iterator[tuple[int, bytes]]:
        """All of them, in order."""
        for first in range(0, self.count, WINDOW):
            block = os.pread(self.file, WINDOW * self.size, first * self.size)
            for at in range(0, len(block), self.size):
                yield first + at // self.size + 1, block[at : at + self.size]

    def free(self) -> set[int]:
        """Pages that are in no use: what they hold was deleted."""
        found: set[int] = set()
        number = self.trunk
        while number and number not in found and len(found) < self.count:
            page = self.page(number)
            found.add(number)
            count = min(int.from_bytes(page[4:8], "big"), self.usable // 4 - 2)
            found |= {int.from_bytes(page[8 + 4 * i : 12 + 4 * i], "big") for i in range(count)}
            number = int.from_bytes(page[:4], "big")
        return found


def _likely(file: int) -> int:
    """The size of pages by which most records are found: the header and the length disagree."""

    def records(size: int) -> int:
        image, found = _Image(file, size), 0
        for number, page in image.pages():
            if number * size > SAMPLE:
                break
            found += sum(1 for cell in _cells(image, number, page) if cell.whole)
        return found

    return max(SIZES, key=records)


def _cells(image: _Image, number: int, page: bytes) -> Iterator[Cell]:
    begin = 100 if number == 1 else 0
    kind = page[begin] if len(page) > begin + 12 else 0
    if kind not in (TABLE, INDEX, INDEX_INNER):
        return
    count = int.from_bytes(page[begin + 3 : begin + 5], "big")
    pointers = begin + (12 if kind == INDEX_INNER else 8)
    for at in range(pointers, min(pointers + 2 * count, len(page) - 1), 2):
        place = int.from_bytes(page[at : at + 2], "big")
        if pointers <= place < len(page):
            cell = _cell(image, page, place, kind)
            if cell is not None:
                yield cell


def _cell(image: _Image, page: bytes, at: int, kind: int) -> Cell | None:
    if kind == INDEX_INNER:
        at += 4
    size, at = _varint(page, at)
    rowid = None
    if kind == TABLE:
        rowid, at = _varint(page, at)
        rowid = rowid - (1 << 64) if rowid >> 63 else rowid
    usable = image.usable
    most = usable - 35 if kind == TABLE else (usable - 12) * 64 // 255 - 23
    local = size
    if size > most:
        least = (usable - 12) * 32 // 255 - 23
        local = least + (size - least) % (usable - 4)
        local = least if local > most else local
    if size <= 0 or size > image.count * image.size:
        return None
    payload = page[at : at + local]
    if local < size:
        payload += _overflow(image, page[at + local : at + local + 4], size - local)
    return _record(rowid, payload, size)


def _overflow(image: _Image, link: bytes, rest: int) -> bytes:
    """The end of a long record: a chain of pages."""
    found: list[bytes] = []
    seen: set[int] = set()
    while rest > 0:
        number = int.from_bytes(link, "big")
        page = image.page(number)
        if number in seen or len(page) < 5:
            break
        seen.add(number)
        part = page[4 : 4 + min(rest, image.usable - 4)]
        found.append(part)
        rest -= len(part)
        link = page[:4]
        if len(part) < image.usable - 4 and rest:
            break
    return b"".join(found)


def _record(rowid: int | None, payload: bytes, size: int) -> Cell | None:
    head, at = _varint(payload, 0)
    if not 1 <= head <= len(payload):
        return None
    kinds = []
    while at < head:
        kind, at = _varint(payload, at)
        kinds.append(kind)
    widths = [_width(kind) for kind in kinds]
    if head + sum(widths) != size:
        return None  # no record: garbage that looked like one
    values: list[Value] = []
    at = head
    for kind, width in zip(kinds, widths, strict=True):
        if at + width > len(payload):
            return Cell(rowid, values, False)
        values.append(_value(kind, payload[at : at + width]))
        at += width
    return Cell(rowid, values, True)


def _width(kind: int) -> int:
    if kind >= 12:
        return (kind - 12) // 2
    return (0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 1 << 40, 1 << 40)[kind]


def _value(kind: int, raw: bytes) -> Value:
    if kind == 0:
        return None
    if kind == 7:
        import struct  # rarely needed

        return float(struct.unpack(">d", raw)[0])
    if kind in (8, 9):
        return kind - 8
    if kind < 8:
        return int.from_bytes(raw, "big", signed=True)
    return raw


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """(number, place behind it); zero past the end."""
    value = 0
    for index in range(9):
        if at >= len(data):
            return 0, at + 1
        byte = data[at]
        at += 1
        if index == 8:
            return value << 8 | byte, at
        value = value << 7 | byte & 127
        if byte < 128:
            break
    return value, at
