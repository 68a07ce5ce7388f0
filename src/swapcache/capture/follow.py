"""Following a transcript: what is new in it since the last capture.

Owns the cursor check (first and last 4 KB before the cursor) and the reading of new rows. Promises
work that grows with what is new, never with the transcript. A transcript that was rewritten or cut
before the cursor becomes a new generation: appended as such, never purged.
"""

import os

from swapcache.model import NamedTuple, Row, Source
from swapcache.store import seal
from swapcache.transcripts import formats, lines, plain

EDGE = 4096
DATABASE = formats.IN_DATABASE
RENAMED = (".reset.", ".deleted.")
"""What OpenClaw puts behind the name of a transcript that it moves away."""
IMPORTED = "session-sqlite-import-archive"
"""Where it puts those that went into its database, as KEY.NAME.imported-TIME."""
BATCH = 4 << 20


class New(NamedTuple):
    """Rows that a source holds beyond its cursor."""

    rows: list[Row]
    source: Source
    """With the cursor behind the rows."""
    rewritten: bool
    """The part before the cursor is not what was read: start a new generation."""
    pending: int
    """Bytes that follow and were not read."""
    more: bool
    """They were not read because the bound was reached, not because their end is missing."""


def edges_of(file: int, cursor: int) -> tuple[str, str]:
    """Hashes of the first and the last 4 KB before `cursor` of an open file."""
    size = min(EDGE, cursor)
    return seal.sha256(os.pread(file, size, 0)), seal.sha256(os.pread(file, size, cursor - size))


def edges(path: str, cursor: int) -> tuple[str, str]:
    """Hashes of the first and the last 4 KB before `cursor`. Raises SourceError."""
    file = plain.opened(path)
    try:
        return edges_of(file, cursor)
    finally:
        os.close(file)


def head_of(path: str, size: int) -> bytes:
    """The first `size` bytes of a file, or all it has. Raises SourceError."""
    file = plain.opened(path)
    try:
        return os.pread(file, size, 0)
    finally:
        os.close(file)


def read_new(source: Source, limit: int = BATCH) -> New:
    """What is new. Raises SourceError (missing, not a file, no permission), FormatError."""
    if source.path.startswith(DATABASE):
        return _read_database(source, limit)
    file = plain.opened(source.path if os.path.exists(source.path) else renamed(source.path))
    try:
        size = os.fstat(file).st_size
        if source.cursor and (
            size < source.cursor or edges_of(file, source.cursor) != (source.head, source.tail)
        ):
            return New([], source, True, size, True)
        rows, cursor, pending, more = lines.read(file, source.cursor, limit)
        if not rows:
            return New([], source, False, pending, False)
        name = source.format or formats.sniff(rows, source.path).name
        head, tail = edges_of(file, cursor)
        moved = source._replace(cursor=cursor, head=head, tail=tail, format=name)
        return New(rows, moved, False, pending, more)
    finally:
        os.close(file)


def renamed(path: str) -> str:
    """Where a transcript went that its host renamed; `path` when it went nowhere."""
    folder, name = os.path.split(path)
    begins, holds = tuple(name + r for r in RENAMED), f".{name}.imported-"
    for place in (folder, f"{os.path.dirname(folder)}/{IMPORTED}"):
        try:
            found = sorted(n for n in os.listdir(place) if n.startswith(begins) or holds in n)
        except OSError:
            continue
        if found:
            return f"{place}/{found[-1]}"
    return path


def generation(source: Source) -> str:
    """What a database's session is marked with now; it changes when the host rewrites rows."""
    from swapcache.transcripts import databases

    return databases.generation(source)


def rows_before(source: Source) -> list[Row]:
    """All rows of a session in a database before the cursor."""
    from swapcache.transcripts import databases

    return databases.rows_before(source)


def _read_database(source: Source, limit: int) -> New:
    """The same for a session in a host's database (transcripts/databases.py)."""
    from swapcache.transcripts import databases

    found = databases.read(source, limit)
    return New(found.rows, found.source, found.rewritten, 0, found.more)
