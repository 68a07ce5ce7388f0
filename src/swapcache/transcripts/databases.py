"""Which host a database is of, by its tables, never by its name; and the one door to all of them.

Owns the list of databases that can be read. Promises that damage costs only what it hit: a database
that SQLite refuses is read page by page, and what is lost of a session is a row with a reason.
Never writes to a host's database, and never guesses which session is meant.
"""

from __future__ import annotations

import sqlite3

from swapcache.errors import FormatError, MissingSourceError, SourceError
from swapcache.model import NamedTuple, Source
from swapcache.transcripts import sqlite, tables

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import TypeVar

    from swapcache.model import Row
    from swapcache.transcripts.tables import Candidate, Database, Found

    T = TypeVar("T")
    Search = Callable[[Iterable[bytes], int, int], int]

NAMES = ("openclaw", "opencode", "hermes")
ALL = 1 << 62
AT_ONCE = 64 << 20
"""Bytes that are taken at once from a damaged database: each time it is read page by page."""
DAMAGED = "damaged "
"""Begins the mark of a session that was read from damage: it is, until its database is mended."""


class Read(NamedTuple):
    """Rows of a session, and with what its reading goes on."""

    rows: list[Row]
    source: Source
    rewritten: bool
    """What was read before is not there any more: nothing was read."""
    more: bool


def by_name(name: str) -> Database:
    """The database of a host; imports only that one."""
    if name == "openclaw":
        from swapcache.transcripts import openclaw

        return openclaw.DATABASE
    if name == "opencode":
        from swapcache.transcripts import opencode_tables

        return opencode_tables.DATABASE
    from swapcache.transcripts import hermes_tables

    return hermes_tables.DATABASE


def read(source: Source, limit: int) -> Read:
    """What a session holds beyond the source's cursor.

    Raises SourceError; MissingSourceError for a session that its host has deleted.
    """
    session, path = tables.parts(source.path)

    def work(db: sqlite3.Connection) -> Read:
        database = _of(db, path)
        if not _sound(database, db, session, source):
            raise sqlite3.DatabaseError(tables.DISAGREE)
        mark = database.mark(db, session, _mended(source))
        if mark.rewritten:
            if not database.read(db, session, _fresh(source), 0).rows:
                raise MissingSourceError(f"{path} holds nothing of the session {session} any more")
            return Read([], source, True, True)
        found = database.read(db, session, source, limit)
        return _read(source._replace(head=mark.generation), database, found)

    def rest(database: Database, db: sqlite3.Connection, reason: str) -> Read:
        found = database.read(db, session, source, max(limit, AT_ONCE))
        return _reported(found, source, database, reason)

    return _asked(path, source.format, session, work, rest)


def backwards(path: str, format: str, take: Callable[[str, Iterator[Row], Search], T]) -> T:
    """What `take` makes of a session's rows, the newest first; its arguments are their format, the
    rows, and where ids stand (`Database.mention`). It may be called again, and need not read all.

    Rows that could be saved of a damaged database are read all at once. Raises SourceError.
    """
    session, file = tables.parts(path)

    def work(db: sqlite3.Connection) -> T:
        database = _of(db, file)
        mention = database.mention

        def search(words: Iterable[bytes], before: int, reach: int) -> int:
            return mention(db, session, words, before) if mention else -1

        return take(database.format, database.back(db, session, file), search)

    def rest(database: Database, db: sqlite3.Connection, reason: str) -> T:
        source = Source(0, 0, path, 0, 0, "", "", format)
        found = _reported(database.read(db, session, source, ALL), source, database, reason)
        return take(database.format, reversed(found.rows), lambda _, before, __: before - 1)

    return _asked(file, format, session, work, rest)


def _sound(database: Database, db: sqlite3.Connection, session: str, source: Source) -> bool:
    """True where nothing was found wrong; asked at the beginning, and after damage.

    Raises sqlite3.DatabaseError for damage that still is there.
    """
    hurt = source.head.startswith(DAMAGED)
    again, more = _fresh(source), hurt
    while more:
        found = database.read(db, session, again, AT_ONCE)
        again, more = again._replace(cursor=found.next, tail=found.tail), found.more
    return bool(source.cursor and not hurt) or database.sound(db, session)


def _fresh(source: Source) -> Source:
    """A source as it was before anything was read of it."""
    return source._replace(cursor=0, head="", tail="")


def _mended(source: Source) -> Source:
    """A source without the mark of damage."""
    return source._replace(head=source.head.removeprefix(DAMAGED))


def _read(source: Source, database: Database, found: Found) -> Read:
    moved = source._replace(cursor=found.next, tail=found.tail, format=database.format)
    return Read(found.rows, moved, False, found.more)


def _reported(found: Found, source: Source, database: Database, reason: str) -> Read:
    """Rows saved from damage: those without content say why, and one more says once that it
    happened."""
    from swapcache.model import Row

    rows = [r._replace(reason=f"{r.reason} ({reason})") if r.reason else r for r in found.rows]
    known = source.head.startswith(DAMAGED)
    if not known and (rows or not source.cursor):
        place = -1 - source.cursor
        rows.insert(0, Row(place, b"", None, f"{reason}; what nothing names any more is lost"))
    # What was told must lie before the cursor, also where it was the damage alone.
    told = found._replace(rows=rows, next=max(found.next, 1))
    hurt = source if known or not rows else source._replace(head=DAMAGED + source.head)
    return _read(hurt, database, told)


def changed(source: Source) -> bool:
    """True when what was read of a session is not all there any more."""
    session, path = tables.parts(source.path)

    def work(db: sqlite3.Connection) -> bool:
        database = _of(db, path)
        if not _sound(database, db, session, source):
            return False
        return database.mark(db, session, _mended(source)).rewritten

    return _asked(path, source.format, session, work, lambda _, __, ___: False)


def tellings(source: Source) -> int:
    """See `Database.tellings`. Raises SourceError."""
    path = tables.parts(source.path)[1]
    return _asked(path, source.format, "", lambda db: _of(db, path), lambda d, _, __: d).tellings


def generation(source: Source) -> str:
    """What a session is marked with now; it changes when its host rewrites rows."""
    session, path = tables.parts(source.path)

    def work(db: sqlite3.Connection) -> str:
        database = _of(db, path)
        if not _sound(database, db, session, source):
            return source.head
        return database.mark(db, session, source._replace(cursor=0)).generation

    return _asked(path, source.format, session, work, lambda _, __, ___: source.head)


def rows_before(source: Source) -> list[Row]:
    """All rows of a session before the cursor, as a reading from the start gives them."""
    rows = read(_fresh(source), ALL).rows
    return [row for row in rows if row.start < source.cursor]


def candidates(path: str) -> tuple[str, list[Candidate]]:
    """(host, sessions, the newest first). Raises SourceError, FormatError."""

    def work(db: sqlite3.Connection) -> tuple[str, list[Candidate]]:
        database = _of(db, path)
        return database.host, database.candidates(db, path)

    def rest(
        database: Database, db: sqlite3.Connection, reason: str
    ) -> tuple[str, list[Candidate]]:
        return database.host, database.candidates(db, path)

    return _asked(path, "", "", work, rest)


def _of(db: sqlite3.Connection, path: str) -> Database:
    """Raises FormatError for a database of something else."""
    there = {tables.text(n) for (n,) in db.execute("SELECT name FROM sqlite_master")}
    found = _fitting(there)
    if found is None:
        some = ", ".join(sorted(there)[:6]) or "none"
        raise FormatError(
            f"{path} is a database of something else (its tables are: {some}); readable are those "
            f"of {', '.join(NAMES)}"
        )
    return found


def _fitting(there: set[str]) -> Database | None:
    for name in NAMES:
        database = by_name(name)
        if any(set(sign) <= there for sign in database.signs):
            return database
    return None


def _asked(
    path: str,
    known: str,
    session: str,
    work: Callable[[sqlite3.Connection], T],
    rest: Callable[[Database, sqlite3.Connection, str], T],
) -> T:
    """`work` on the database, or `rest` on what could be saved of it."""
    if not tables.is_text(session):
        raise SourceError(f"{path}: the id of the session is no text any more: {session!a}")
    try:
        return sqlite.ask(path, work)
    except sqlite3.Error as problem:
        reason = f"the database is damaged: {problem}"
        if "no such column" in str(problem):
            reason = f"the database is of a version that is not known here: {problem}"
    except FormatError as problem:
        if known:  # it was one of ours, so tables are missing
            reason = str(problem)
        else:
            raise
    from swapcache.transcripts import salvage  # only damage needs it

    saved = salvage.saved(path, known, session, [by_name(name) for name in NAMES])
    if saved is None:
        raise SourceError(f"{path} cannot be read: {reason}, and nothing in it is a session's row")
    try:
        return rest(*saved, reason)
    finally:
        saved[1].close()
