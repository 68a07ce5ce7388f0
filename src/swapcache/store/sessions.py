"""Sessions, sources and what was derived from them, as rows.

Owns the SQL of the tables session, source, damage, state, snapshot and receipt. Promises that a
state row whose seal does not verify is never returned. Never appends records and never commits:
callers do both inside `Store.writing`.
"""

import sqlite3

from swapcache.model import Damage, Process, Session, Source
from swapcache.store import database
from swapcache.store.seal import Keys, canon, same, sha256

IMPORTED = "imported"
"""Reason of a session that no hook has seen."""
WALLS = 50
"""Newest records in which the time of a session's last message is looked for."""
_SESSION = (
    "number, key, id, window, boot, namespace, pid, started, parent, begun, touched, ended,"
    " reason, requests, compactions, last"
)
_SOURCE = "number, session, path, generation, cursor, head, tail, format, closed"


def _session(row: tuple) -> Session:  # type: ignore[type-arg]  # a row of SQLite's has no type
    process = None if row[6] is None else Process(row[4], row[5], row[6], row[7])
    return Session(row[0], row[1], row[2], row[3], process, *row[8:])


def find_session(db: sqlite3.Connection, key: str, session_id: str) -> Session | None:
    """The newest window of a session, by key and id."""
    row = db.execute(
        f"SELECT {_SESSION} FROM session WHERE key=? AND id=? ORDER BY window DESC LIMIT 1",
        (key, session_id),
    ).fetchone()
    return _session(row) if row else None


def session(db: sqlite3.Connection, number: int) -> Session:
    """Session by its number, which must exist."""
    return _session(
        db.execute(f"SELECT {_SESSION} FROM session WHERE number=?", (number,)).fetchone()
    )


def sessions(db: sqlite3.Connection) -> list[Session]:
    """All sessions, the one with the newest record first; imported ones by their own times."""
    rows = db.execute(f"SELECT {_SESSION} FROM session ORDER BY last DESC, number DESC")
    return _placed([_session(row) for row in rows])


def windows(db: sqlite3.Connection, key: str) -> list[Session]:
    """All sessions and windows of a key, the newest first; imported ones by their own times."""
    rows = db.execute(f"SELECT {_SESSION} FROM session WHERE key=? ORDER BY number DESC", (key,))
    return _placed([_session(row) for row in rows])


def _placed(known: list[Session]) -> list[Session]:
    """Sessions with the imported ones where their last messages belong among the others.

    An import comes in any order, and long after what it tells. The order in which the others were
    recorded stands whatever a clock said.
    """
    imported = [s for s in known if s.reason == IMPORTED]
    if not imported:
        return known
    from swapcache.store import times  # only after an import

    imported.sort(key=lambda s: times.seconds(s.touched))
    found: list[Session] = []
    for one in (s for s in known if s.reason != IMPORTED):
        while imported and times.seconds(imported[-1].touched) > times.seconds(one.touched):
            found.append(imported.pop())
        found.append(one)
    return found + imported[::-1]


def open_sessions(db: sqlite3.Connection) -> list[Session]:
    """Sessions without an orderly end, newest record first."""
    rows = db.execute(
        f"SELECT {_SESSION} FROM session WHERE ended='' ORDER BY last DESC, number DESC"
    )
    return [_session(row) for row in rows]


def add_session(
    db: sqlite3.Connection,
    key: str,
    session_id: str,
    process: Process | None,
    wall: str,
    window: int = 0,
) -> Session:
    """A new session, or a new window of one."""
    boot = process or Process("", "", 0, 0)
    cursor = db.execute(
        "INSERT INTO session(key, id, window, boot, namespace, pid, started, parent, begun,"
        " touched, ended, reason, requests, compactions, last)"
        " VALUES (?,?,?,?,?,?,?,NULL,?,?,'','',0,0,-1)",
        (
            key,
            session_id,
            window,
            boot.boot,
            boot.namespace,
            boot.pid if process else None,
            boot.started,
            wall,
            wall,
        ),
    )
    return session(db, int(cursor.lastrowid or 0))


def touch(
    db: sqlite3.Connection,
    number: int,
    wall: str,
    *,
    process: Process | None = None,
    last: int | None = None,
    requests: int | None = None,
    compacted: bool = False,
    ended: str | None = None,
    reason: str = "",
    parent: int | None = None,
) -> None:
    """Updates what an event says about a session; everything else stays."""
    sets, values = ["touched=?"], [wall]  # type: list[str], list[object]
    if process is not None:
        sets.append("boot=?, namespace=?, pid=?, started=?")
        values += list(process)
    for column, value in (("last", last), ("requests", requests), ("parent", parent)):
        if value is not None:
            sets.append(f"{column}=?")
            values.append(value)
    if compacted:
        sets.append("compactions=compactions+1")
    if ended is not None:
        sets.append("ended=?, reason=?")
        values += [ended, reason]
    db.execute(f"UPDATE session SET {', '.join(sets)} WHERE number=?", (*values, number))


def last_wall(db: sqlite3.Connection, number: int, last: int, latest: str) -> str:
    """The time of a session's last message that has one before `latest`; empty without one.

    `last` is the session's newest record.
    """
    from swapcache.store import times  # only at an import

    rows = db.execute(
        "SELECT json_extract(meta, '$.wall') FROM record WHERE seq BETWEEN ? AND ? AND source IN"
        " (SELECT number FROM source WHERE session=?) AND json_extract(meta, '$.kind')='raw'"
        " ORDER BY seq DESC",
        (last - WALLS, last, number),
    )
    walls = [str(wall) for (wall,) in rows if wall]
    return next((w for w in walls if 0 < times.seconds(w) <= times.seconds(latest)), "")


def run(db: sqlite3.Connection, number: int, process: Process) -> None:
    """A process works on a session: beside others that do, and no longer on another session."""
    db.execute(
        "DELETE FROM running WHERE session<>? AND boot=? AND namespace=? AND pid=? AND started=?",
        (number, *process),
    )
    db.execute("INSERT OR IGNORE INTO running VALUES (?,?,?,?,?)", (number, *process))


def leave(db: sqlite3.Connection, number: int, process: Process) -> None:
    """A process ended its work on a session in order."""
    db.execute(
        "DELETE FROM running WHERE session=? AND boot=? AND namespace=? AND pid=? AND started=?",
        (number, *process),
    )


def processes(db: sqlite3.Connection, number: int) -> list[Process]:
    """The processes that work on a session, as far as is known."""
    rows = db.execute(
        "SELECT boot, namespace, pid, started FROM running WHERE session=?", (number,)
    )
    return [Process(*row) for row in rows]


# -- sources ---------------------------------------------------------------------------------------


def _source(row: tuple) -> Source:  # type: ignore[type-arg]  # a row of SQLite's has no type
    return Source(*row)._replace(path=database.unbound(row[2]))


def every_source(db: sqlite3.Connection) -> list[Source]:
    """All generations of all transcripts, in the order in which they were met."""
    return [_source(row) for row in db.execute(f"SELECT {_SOURCE} FROM source ORDER BY number")]


def find_source(db: sqlite3.Connection, number: int, path: str) -> Source | None:
    """The newest generation of a transcript of a session."""
    row = db.execute(
        f"SELECT {_SOURCE} FROM source WHERE session=? AND path=? ORDER BY generation DESC LIMIT 1",
        (number, database.bound(path)),
    ).fetchone()
    return _source(row) if row else None


def source(db: sqlite3.Connection, number: int | None) -> Source | None:
    """A source by its number."""
    row = db.execute(f"SELECT {_SOURCE} FROM source WHERE number=?", (number,)).fetchone()
    return _source(row) if row else None


def newest_source(db: sqlite3.Connection, path: str) -> Source | None:
    """The newest source of any session that reads a transcript."""
    row = db.execute(
        f"SELECT {_SOURCE} FROM source WHERE path=? ORDER BY number DESC LIMIT 1",
        (database.bound(path),),
    ).fetchone()
    return _source(row) if row else None


def sources(db: sqlite3.Connection, number: int) -> list[Source]:
    """The newest generation of every transcript of a session."""
    rows = db.execute(
        f"SELECT {_SOURCE} FROM source AS s WHERE session=? AND generation ="
        " (SELECT max(generation) FROM source WHERE session=s.session AND path=s.path)",
        (number,),
    )
    return [_source(row) for row in rows]


def story(db: sqlite3.Connection, number: int) -> list[Source]:
    """The sources that tell a session's story: the newest generations and those they continue."""
    rows = db.execute(f"SELECT {_SOURCE} FROM source WHERE session=? AND closed=2", (number,))
    return sources(db, number) + [_source(row) for row in rows]


def close_continued(db: sqlite3.Connection, number: int, path: str) -> None:
    """Generations that were continued tell nothing any more: the transcript is another one now."""
    db.execute(
        "UPDATE source SET closed=1 WHERE session=? AND path=? AND closed=2",
        (number, database.bound(path)),
    )


def add_source(db: sqlite3.Connection, number: int, path: str, generation: int) -> Source:
    """A transcript, or a new generation of one whose read part has changed."""
    cursor = db.execute(
        "INSERT INTO source(session, path, generation, cursor, head, tail, format, closed, rows,"
        " kept, messages) VALUES (?,?,?,0,'','','',0,0,0,0)",
        (number, database.bound(path), generation),
    )
    return Source(int(cursor.lastrowid or 0), number, path, generation, 0, "", "", "", 0)


def move_cursor(
    db: sqlite3.Connection, source: Source, rows: int, kept: int, messages: int
) -> None:
    """Stores the cursor in `source` and adds to its counts."""
    db.execute(
        "UPDATE source SET cursor=?, head=?, tail=?, format=?, closed=?, rows=rows+?, kept=kept+?,"
        " messages=messages+? WHERE number=?",
        (
            source.cursor,
            source.head,
            source.tail,
            source.format,
            source.closed,
            rows,
            kept,
            messages,
            source.number,
        ),
    )


def counts(db: sqlite3.Connection, number: int) -> tuple[int, int, int]:
    """(rows, readable rows, messages) of the transcripts that tell a session's story."""
    total = [0, 0, 0]
    for source in story(db, number):
        row = db.execute(
            "SELECT rows, kept, messages FROM source WHERE number=?", (source.number,)
        ).fetchone()
        total = [a + b for a, b in zip(total, row, strict=True)]
    return total[0], total[1], total[2]


def unknown(db: sqlite3.Connection, number: int) -> list[tuple[str, int]]:
    """(type, rows) of the types in a session's story that no reader knows."""
    told = ",".join(str(source.number) for source in story(db, number)) or "-1"
    found = db.execute(
        f"SELECT json_extract(meta, '$.unknown') AS kind, count(*) FROM record WHERE source IN"
        f" ({told}) AND kind IS NOT NULL GROUP BY kind ORDER BY kind"
    )
    return [(str(kind), int(count)) for kind, count in found]


def add_damages(db: sqlite3.Connection, source: int, damages: list[Damage]) -> None:
    """Keeps what could not be read."""
    db.executemany(
        "INSERT OR IGNORE INTO damage VALUES (?,?,?,?)",
        [(source, d.where, d.size, d.reason) for d in damages],
    )


def damages(db: sqlite3.Connection, number: int) -> list[Damage]:
    """Everything of a session's transcripts that could not be read."""
    found = []
    for source in story(db, number):
        rows = db.execute(
            "SELECT position, size, reason FROM damage WHERE source=? ORDER BY position",
            (source.number,),
        )
        found += [Damage(*row) for row in rows]
    return found


# -- derived rows ----------------------------------------------------------------------------------


def save_state(
    db: sqlite3.Connection,
    keys: Keys,
    number: int,
    seq: int,
    tag: str,
    body: str,
    provisional: str,
) -> None:
    """The folded state of a session, sealed; `provisional` is what no transcript holds yet."""
    digest = sha256(canon([number, body, provisional]))
    db.execute(
        "INSERT OR REPLACE INTO state VALUES (?,?,?,?,?,?)",
        (number, seq, tag, body, provisional, keys.view_mac(seq, tag, digest)),
    )


def load_state(
    db: sqlite3.Connection, keys: Keys | None, number: int
) -> tuple[int, str, str] | None:
    """(sequence number folded up to, state, provisional); None if absent or its seal is wrong."""
    row = db.execute(
        "SELECT seq, tag, body, provisional, mac FROM state WHERE session=?", (number,)
    ).fetchone()
    if row is None or keys is None:
        return None
    seq, tag, body, provisional, mac = row
    digest = sha256(canon([number, body, provisional]))
    if not same(keys.view_mac(seq, tag, digest), mac):
        return None
    return seq, body, provisional


def add_snapshot(db: sqlite3.Connection, seq: int, number: int) -> None:
    """Marks a record as a snapshot of a session."""
    db.execute("INSERT INTO snapshot VALUES (?,?)", (seq, number))


def snapshots(db: sqlite3.Connection, number: int | None, limit: int) -> list[tuple[int, int]]:
    """(sequence number, session) of the newest snapshots."""
    where, values = ("", ()) if number is None else ("WHERE session=?", (number,))
    return db.execute(
        f"SELECT seq, session FROM snapshot {where} ORDER BY seq DESC LIMIT ?",
        (*values, limit),
    ).fetchall()


def add_receipt(db: sqlite3.Connection, seq: int, number: int, epoch: str) -> None:
    """Marks a record as the receipt of an injection."""
    db.execute("INSERT OR REPLACE INTO receipt VALUES (?,?,?)", (seq, number, epoch))


def receipt(db: sqlite3.Connection, number: int, epoch: str) -> int | None:
    """Sequence number of the receipt of an epoch."""
    row = db.execute(
        "SELECT seq FROM receipt WHERE session=? AND epoch=?", (number, epoch)
    ).fetchone()
    return int(row[0]) if row else None


def last_receipt(db: sqlite3.Connection) -> int | None:
    """Sequence number of the newest receipt of the store."""
    row = db.execute("SELECT max(seq) FROM receipt").fetchone()
    return None if row[0] is None else int(row[0])
