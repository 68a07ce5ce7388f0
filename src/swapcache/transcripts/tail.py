"""The last messages of a transcript, without reading what is before them.

Owns the ways to a transcript's end: a file's, a compressed one's, a database's. Promises the last
of the messages that a reading of the whole transcript takes, damaged or not: what the host went
back behind is not among them, and what it told again counts once. Nothing is passed over without
its class; damage is never an error, and what of it lies before the oldest message is not looked
for. Never writes to the source, and never changes a message.
"""

from __future__ import annotations

import os

from swapcache.errors import FormatError
from swapcache.model import Damage, Message, NamedTuple
from swapcache.store import files
from swapcache.transcripts import backwards, formats, lines, plain
from swapcache.transcripts.window import Told, Window

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from swapcache.model import Row
    from swapcache.transcripts.backwards import Backwards
    from swapcache.transcripts.formats import Format
    from swapcache.transcripts.window import Search

DIALOGUE = ("request", "reply", "partial")
BEGINNING = 64 << 10
"""In so much of a file's beginning its format is looked for."""
RING = 4 << 20
"""So much of a compressed file's end is held in memory."""
SNIFFED = 256
"""Of so many rows at its end it is known when the beginning tells nothing."""


class Tail(NamedTuple):
    """The end of a transcript."""

    messages: tuple[Told, ...]
    """The oldest first."""
    format: str
    """Empty for a transcript without rows."""
    lost: tuple[Damage, ...] = ()
    """What could not be read, from the oldest of these messages on."""
    skipped: dict[str, int] = {}  # noqa: RUF012 - nobody writes to it
    """Rows from there on that are none of them, by class: the kind of message, or why none."""
    gap: bool = False
    """A row behind the oldest hangs on one that is not there; the one before it stands for it."""
    whole: bool = True
    """Nothing is before them: the transcript's beginning was reached."""
    read: int = 0
    """Bytes that were read; of a database the rows' bytes."""
    pending: int = 0
    """Bytes at the end that are no whole row yet: their writer may be at work."""


def said(message: Message) -> bool:
    """True for what counts as a message of the conversation."""
    return message.kind in DIALOGUE and not message.sidechain


def last(path: str, wanted: int, format: str = "", keep: Callable[[Message], bool] = said) -> Tail:
    """The last `wanted` (at least one) messages of a transcript that `keep` takes: of a file, also
    a compressed one, or of a session in a database (sqlite:<session id>:<file>).

    Raises SourceError (missing, not a file, no permission), FormatError (no transcript).
    """
    if path.startswith(formats.IN_DATABASE):
        return _of_session(path, wanted, format, keep)
    file = files.open_regular(path)
    try:
        begin = os.pread(file, len(plain.ZSTD), 0)
        if begin == plain.ZSTD:
            return _of_packed(file, path, wanted, format, keep)
        if begin[:2] in plain.DOCUMENT:
            file = plain.document(file)  # short: read whole
        return _of_bytes(backwards.of_file(file), path, wanted, format, keep)
    finally:
        os.close(file)


def _of_bytes(
    source: Backwards, path: str, wanted: int, format: str, keep: Callable[[Message], bool]
) -> Tail:
    reader = formats.by_name(format) if format else _sniffed(source, path)
    if reader is None:
        return Tail((), "", read=source.read, pending=source.pending)
    found = _of_rows(source.rows(), reader, wanted, keep, source.mention)
    return found._replace(read=source.read, pending=source.pending)


def _of_rows(
    rows: Iterable[tuple[Row, int]],
    reader: Format,
    wanted: int,
    keep: Callable[[Message], bool],
    search: Search,
) -> Tail:
    window = Window(reader, wanted, keep, search)
    read = 0
    for row, size in rows:
        read += size
        if window.add(row, size):
            break
    taken = window.taken()
    whole = len(taken.messages) < wanted
    return Tail(taken.messages, reader.name, taken.lost, taken.skipped, taken.gap, whole, read)


def _of_session(path: str, wanted: int, format: str, keep: Callable[[Message], bool]) -> Tail:
    from swapcache.transcripts import databases

    def take(name: str, rows: Iterator[Row], search: Search) -> Tail:
        sized = ((row, len(row.raw)) for row in rows)
        return _of_rows(sized, formats.by_name(name), wanted, keep, search)

    return databases.backwards(path, format, take)


def _of_packed(
    file: int, path: str, wanted: int, format: str, keep: Callable[[Message], bool]
) -> Tail:
    """Of a compressed file: it is unpacked once with its end in memory, and if that end is not
    enough once more, into a private file that nobody else can open."""
    from swapcache.transcripts import zstd

    work = zstd.Unpacking()
    ring = backwards.ring(work.lines(file, zstd.LARGEST), BEGINNING, RING)
    found = _of_bytes(ring, path, wanted, format, keep)
    if ring.short:
        copy = zstd.plain_file(os.dup(file), plain.copies(), zstd.LARGEST)
        try:
            found = _of_bytes(backwards.of_file(copy), path, wanted, format, keep)
        finally:
            os.close(copy)
    if work.reason:  # the last line says no more than that
        found = found._replace(lost=(*found.lost[:-1], found.lost[-1]._replace(reason=work.reason)))
    return found


def _sniffed(source: Backwards, path: str) -> Format | None:
    """The format by the file's beginning, else by its end; None without a row.

    Raises FormatError.
    """
    head = source.bytes_at(BEGINNING, 0).split(b"\n")
    head = head[:-1] or head  # its last line goes on
    try:
        return formats.sniff([row for line in head for row in lines.split(0, line)], path)
    except FormatError:
        rows = [row for _, (row, _) in zip(range(SNIFFED), source.rows(), strict=False)]
        return formats.sniff(rows, path) if rows else None
