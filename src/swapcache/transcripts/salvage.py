"""Rows of a host's damaged database, put into a fresh one in memory.

Owns how rows are known again when the tables around them are gone. Promises every row of the
session that is whole, and an empty row in the place of each that only an index still names. The
damaged file is never written; a log beside it is folded into a private copy first.
"""

from __future__ import annotations

import sqlite3

from swapcache.transcripts import carve, log, sqlite, tables

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from swapcache.transcripts.carve import Cell, Value
    from swapcache.transcripts.tables import Database, Shape

SCHEMA_ROW = b"CREATE TABLE"


def saved(
    path: str, known: str, session: str, databases: list[Database]
) -> tuple[Database, sqlite3.Connection] | None:
    """(the host's database, what could be saved of it); None when nothing in it is known.

    Of one session only, if one is named. Raises SourceError.
    """
    before = sqlite.look(path)
    whole = sqlite.copied(path) if before.log else path
    try:
        if whole != path:
            log.fold(whole)
        return _of_file(whole, known, session.encode(), databases)
    finally:
        if whole != path:
            sqlite.remove(whole)


def _of_file(
    path: str, known: str, session: bytes, databases: list[Database]
) -> tuple[Database, sqlite3.Connection] | None:
    made = _declared(path)
    likely = [d for d in databases if known in (d.format, "")]
    declared = [d for d in likely if any(set(sign) <= set(made) for sign in d.signs)]
    likely = declared[:1] or likely
    best: tuple[int, Database, sqlite3.Connection] | None = None
    for database in likely:
        db = _empty(database)
        count = _fill(db, database, made, session, carve.cells(path, session))
        if count and (best is None or count > best[0]):
            best = count, database, db
        else:
            db.close()
    return (best[1], best[2]) if best else None


def _declared(path: str) -> dict[str, tuple[str, ...]]:
    """Columns of the tables as the file itself declares them, in its order."""
    found: dict[str, tuple[str, ...]] = {}
    for cell in carve.cells(path, SCHEMA_ROW):
        kind, name, sql = (
            (*cell.values[:2], cell.values[-1]) if len(cell.values) == 5 else [b""] * 3
        )
        if kind != b"table" or not isinstance(sql, bytes) or not isinstance(name, bytes):
            continue
        scratch = sqlite3.connect(":memory:")
        try:
            scratch.execute(sql.decode("utf-8", "replace"))
            given = scratch.execute("SELECT name FROM pragma_table_info(?)", (tables.text(name),))
            found[tables.text(name)] = tuple(column for (column,) in given)
        except (sqlite3.Error, UnicodeError):
            continue  # the order that we know has to do
        finally:
            scratch.close()
    return found


def _empty(database: Database) -> sqlite3.Connection:
    db = sqlite3.connect(":memory:", isolation_level=None)
    db.text_factory = bytes
    for shape in database.shapes:
        names = ",".join(f'"{c}"' for c in shape.columns)
        names = names.replace('"id"', '"id" INTEGER PRIMARY KEY', 1) if shape.numbered else names
        db.execute(f'CREATE TABLE "{shape.table}"({names})')
        if shape.sought:
            unique, name = "UNIQUE" if shape.unique else "", f"{shape.table}_index"
            db.execute(f'CREATE {unique} INDEX {name} ON "{shape.table}"({shape.sought})')
    return db


def _fill(
    db: sqlite3.Connection,
    database: Database,
    declared: dict[str, tuple[str, ...]],
    session: bytes,
    cells: Iterable[Cell],
) -> int:
    """Puts rows in; gives how many."""
    count = 0
    named = []
    for cell in cells:
        shape = next((s for s in database.shapes if s.fits(cell.values, session)), None)
        if cell.rowid is not None and shape is not None:
            columns = declared.get(shape.table, shape.columns)
            count += _put(db, shape, cell.rowid, dict(zip(columns, cell.values, strict=False)))
        elif session:
            lost = database.named(cell.values, session)
            named += [lost] if lost else []
    shapes = {shape.table: shape for shape in database.shapes}
    for table, rowid, row in named:
        _put(db, shapes[table], rowid, row)
    database.mended(db)
    return count


def _put(db: sqlite3.Connection, shape: Shape, rowid: int | None, row: dict[str, Value]) -> int:
    kept = {name: row[name] for name in shape.columns if row.get(name) is not None}
    names = "".join(f', "{name}"' for name in kept)
    marks = "".join(
        ",CAST(? AS TEXT)" if isinstance(value, bytes) else ",?" for value in kept.values()
    )
    done = db.execute(
        f'INSERT OR IGNORE INTO "{shape.table}"(rowid{names}) VALUES (?{marks})',  # noqa: S608
        (rowid, *kept.values()),
    )
    return done.rowcount
