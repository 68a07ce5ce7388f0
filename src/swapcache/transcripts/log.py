"""A database's write-ahead log behind damage: what SQLite passes over without a word.

Owns the form of such a log. SQLite reads it up to the first frame that is not as it was written,
and takes what follows for a transaction that never ended. Promises to count the transactions that
did end, and to fold what is whole of them into a copy. Never touches a host's own files.
"""

from __future__ import annotations

import fcntl
import os
import struct

from swapcache.errors import SourceError
from swapcache.model import NamedTuple
from swapcache.store import files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

HEAD, FRAME = 32, 24
WRITER = 120
"""Byte of the index whose lock a writer holds (SQLite's WAL_WRITE_LOCK)."""
MAGIC = 0x377F0682
"""The last bit says in which order the sums of words are made."""
SIZES = tuple(1 << power for power in range(9, 17))


class Frame(NamedTuple):
    """One page as a transaction left it."""

    number: int
    """From 1 on."""
    head: bytes
    page: int
    ends: int
    """Pages of the database when a transaction ended with this frame, else 0."""


def behind(path: str, seen: int) -> int:
    """Transactions behind the first `seen` frames of a database's log that ended.

    More than none for a log that was damaged, or is being written now.
    """
    try:
        file = files.open_regular(f"{path}-wal")
    except SourceError:
        return 0
    try:
        return sum(1 for frame in _frames(file, seen) if frame.ends)
    finally:
        os.close(file)


def read_up_to(path: str) -> int:
    """Frames that the readers of a database see now; -1 where its index does not say it."""
    try:
        file = files.open_regular(f"{path}-shm")
    except SourceError:
        return -1
    try:
        head = os.pread(file, 48, 0)
    finally:
        os.close(file)
    return int(struct.unpack("=I", head[16:20])[0]) if len(head) == 48 else -1


def written_by_another(path: str) -> bool:
    """True while another process is in a transaction that writes: it holds a lock on the index.

    The lock is asked for, never taken. What cannot be known is False.
    """
    try:
        file = files.open_regular(f"{path}-shm")
    except SourceError:
        return False
    try:
        asked = struct.pack("hhqqi", fcntl.F_WRLCK, os.SEEK_SET, WRITER, 1, 0)
        answer = fcntl.fcntl(file, fcntl.F_GETLK, asked)
        return bool(struct.unpack("hhqqi", answer)[0] != fcntl.F_UNLCK)
    except OSError:
        return False
    finally:
        os.close(file)


def _frames(file: int, seen: int = 0) -> Iterator[Frame]:
    """The frames of the newest run of a log, behind the first ones."""
    head = os.pread(file, HEAD, 0)
    if len(head) < HEAD:
        return
    size = int.from_bytes(head[8:12], "big")
    mark = head[16:24]
    if size not in SIZES or not _is_whole(head):
        size, mark = _guessed(file)
    step, count = FRAME + size, os.fstat(file).st_size
    for number, at in enumerate(range(HEAD + seen * step, count - step + 1, step), seen + 1):
        frame = os.pread(file, FRAME, at)
        if frame[8:16] == mark and mark:
            page, ends = struct.unpack(">II", frame[:8])
            yield Frame(number, frame, page, ends)


def _is_whole(head: bytes) -> bool:
    magic = int.from_bytes(head[:4], "big")
    return magic | 1 == MAGIC | 1 and _sum(head[:24], (0, 0), magic & 1) == head[24:32]


def _guessed(file: int) -> tuple[int, bytes]:
    """(size of pages, mark of the run) of a log whose own head is damaged."""
    length = os.fstat(file).st_size
    for size in SIZES:
        first = os.pread(file, FRAME, HEAD)
        second = os.pread(file, FRAME, HEAD + FRAME + size)
        if length >= HEAD + FRAME + size and first[8:16] == (second or first)[8:16]:
            return size, first[8:16]
    return SIZES[3], b""


def _sum(data: bytes, before: tuple[int, int], big: int) -> bytes:
    """The sum behind some words, as it is stored."""
    one, two = before
    words = struct.unpack(f"{'>' if big else '<'}{len(data) // 4}I", data)
    for first, second in zip(words[::2], words[1::2], strict=True):
        one = (one + first + two) & 0xFFFFFFFF
        two = (two + second + one) & 0xFFFFFFFF
    return struct.pack(">II", one, two)


def fold(copy: str) -> None:
    """Puts the whole frames of all transactions that ended into a copy, and removes its log."""
    file = files.open_regular(f"{copy}-wal")
    try:
        _put_in(copy, file)
    finally:
        os.close(file)
    for end in ("-wal", "-shm", "-journal"):
        if os.path.exists(copy + end):
            os.unlink(copy + end)


def _put_in(copy: str, log: int) -> None:
    frames = list(_frames(log))
    while frames and not frames[-1].ends:
        frames.pop()
    if not frames:
        return
    head = os.pread(log, HEAD, 0)
    size = int.from_bytes(head[8:12], "big") if _is_whole(head) else _guessed(log)[0]
    big = head[3] & 1 if _is_whole(head) else 0
    before = head[24:32]
    target = os.open(copy, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        for frame in frames:
            data = os.pread(log, size, HEAD + (frame.number - 1) * (FRAME + size) + FRAME)
            start = struct.unpack(">II", before)
            if _sum(frame.head[:8] + data, start, big) == frame.head[16:24]:
                os.pwrite(target, data, (frame.page - 1) * size)
            before = frame.head[16:24]
    finally:
        os.close(target)
