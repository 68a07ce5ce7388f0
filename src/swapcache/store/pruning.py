"""Taking the bodies of old records away: which ones can go, and the going.

Owns the SQL of what a session's bodies cost, their removal from chunks, and the sealed record that
names them. Promises that number, hash, metadata and tag of every record stay, that statements,
trust records, receipts and each session's newest snapshot keep their bodies, and that a chunk is
written anew with what stays. Never decides which sessions go, and never commits: capture/prune.py
does both.
"""

from __future__ import annotations

import json
import os
import zlib
from itertools import groupby
from operator import itemgetter

from swapcache import paths
from swapcache.model import NamedTuple
from swapcache.store import taken, trust
from swapcache.store.store import Store, now
from swapcache.store.taken import Standing
from swapcache.store.writing import LEVEL, Writer

ABSENT = -2
"""`chunk` of a record whose body was pruned."""
YEAR_1 = 1721426.0
"""A day of the Julian calendar: no date lies before it."""

_GOING = """
 SELECT record.seq AS seq, source.session AS session, record.chunk AS chunk, record.size AS size
  FROM record JOIN source ON source.number = record.source
  WHERE source.path <> '' AND record.chunk >= 0 AND json_extract(record.meta, '$.kind') = 'raw'
 UNION ALL
 SELECT record.seq, session.number, record.chunk, record.size
  FROM snapshot JOIN record ON record.seq = snapshot.seq
  JOIN session ON session.number = snapshot.session
  WHERE record.chunk >= 0 AND json_extract(record.meta, '$.kind') = 'snapshot'
  AND json_extract(record.meta, '$.session') IS session.id
  AND snapshot.seq < (SELECT max(seq) FROM snapshot AS s WHERE s.session = snapshot.session)
"""
"""Every record whose body may go, with its session: rows of transcripts, older snapshots."""


class Cost(NamedTuple):
    """What could be taken from one session."""

    session: int
    records: int
    bytes: int
    """Before compression."""
    disk: int
    """About as much on the disk."""


class Span(NamedTuple):
    """Times of a session's first and last message, as days of the Julian calendar."""

    first: float
    last: float


def costs(store: Store) -> list[Cost]:
    """What could be taken from each session that has anything to give."""
    lengths = dict(store.db.execute("SELECT id, length(data) FROM chunk"))
    sums = dict(store.db.execute("SELECT chunk, total(size) FROM record GROUP BY chunk"))
    rows = store.db.execute(
        f"SELECT session, chunk, count(*), sum(size) FROM ({_GOING})"  # noqa: S608 - no input in it
        " GROUP BY session, chunk"
    )
    found: dict[int, Cost] = {}
    for session, chunk, records, size in rows:
        was = found.get(session, Cost(session, 0, 0, 0))
        disk = int(size * lengths.get(chunk, 0) / max(sums[chunk], 1))
        found[session] = Cost(session, was.records + records, was.bytes + size, was.disk + disk)
    return list(found.values())


def spans(store: Store) -> dict[int, Span]:
    """Times of messages and statements, by session; only sessions that have any.

    A time that is still to come says nothing.
    """
    rows = store.db.execute(
        "SELECT session, min(day), max(day) FROM"
        " (SELECT session, julianday(wall) AS day FROM"
        "  (SELECT source.session AS session, json_extract(record.meta, '$.wall') AS wall"
        "   FROM record JOIN source ON source.number = record.source)"
        "  WHERE wall GLOB '[0-9][0-9][0-9][0-9]-*')"
        " WHERE day BETWEEN ? AND julianday('now') GROUP BY session",
        (YEAR_1,),
    )
    return {number: Span(first, last) for number, first, last in rows}


def going(store: Store, numbers: list[int]) -> list[int]:
    """The records of these sessions whose bodies may go, in order."""
    rows = store.db.execute(
        f"SELECT seq FROM ({_GOING})"  # noqa: S608 - no input in it
        " WHERE session IN (SELECT value FROM json_each(?)) ORDER BY seq",
        (json.dumps(numbers),),
    )
    return [seq for (seq,) in rows]


def newest(store: Store, session: int) -> int:
    """The newest record that lies with a session; -1 for none."""
    (found,) = store.db.execute(
        "SELECT max(record.seq) FROM source JOIN record ON record.source = source.number"
        " WHERE source.session=?",
        (session,),
    ).fetchone()
    return -1 if found is None else int(found)


def members(store: Store, session: int) -> tuple[int, ...]:
    """The first record of each transcript of a session."""
    rows = store.db.execute(
        "SELECT min(record.seq) FROM source JOIN record ON record.source = source.number"
        " WHERE source.session=? AND source.path <> ''"
        " AND json_extract(record.meta, '$.kind') = 'raw' GROUP BY source.number",
        (session,),
    )
    return tuple(seq for (seq,) in rows)


def take(store: Store, writer: Writer, seqs: list[int], standing: list[Standing], why: str) -> int:
    """Seals what goes and takes its bodies away; how many bytes. Inside a writing transaction."""
    store.db.execute("PRAGMA secure_delete=FAST")  # `write_over` follows; zeros would need room
    named = json.dumps(seqs)
    (size,) = store.db.execute(
        "SELECT total(size) FROM record WHERE seq IN (SELECT value FROM json_each(?))", (named,)
    ).fetchone()
    said = {"ranges": taken.joined([(seq, seq) for seq in seqs]), "states": standing}
    decision = trust.record(
        trust.PRUNE,
        now(),
        count=len(seqs),
        bytes=int(size),
        sessions=len(standing),
        why=why,
        owner=store.identity._asdict(),  # whose it is, is then found here, however many follow
    )
    writer.append([decision._replace(body=json.dumps(said, separators=(",", ":")).encode())])
    touched = [
        chunk
        for (chunk,) in store.db.execute(
            "SELECT DISTINCT chunk FROM record WHERE seq IN (SELECT value FROM json_each(?))",
            (named,),
        )
    ]
    store.db.executemany(
        "UPDATE record SET chunk=?, start=0 WHERE seq=?", ((ABSENT, seq) for seq in seqs)
    )
    _rewrite(store, touched)
    return int(size)


def _rewrite(store: Store, chunks: list[int]) -> None:
    """Writes chunks anew with the bodies that records still name; an empty one goes."""
    listed = json.dumps(chunks)
    rows = store.db.execute(
        "SELECT chunk, seq, start, size FROM record"
        " WHERE chunk IN (SELECT value FROM json_each(?)) ORDER BY chunk, start, seq",
        (listed,),
    ).fetchall()
    kept = set()
    for number, some in groupby(rows, itemgetter(0)):
        data, parts, at = store.chunk(number), [], 0
        for _, seq, start, size in some:
            store.db.execute("UPDATE record SET start=? WHERE seq=?", (at, seq))
            parts.append(data[start : start + size])
            at += size
        packed = zlib.compress(b"".join(parts), LEVEL)
        store.db.execute("UPDATE chunk SET data=? WHERE id=?", (packed, number))
        kept.add(number)
    gone = [(number,) for number in chunks if number not in kept]
    store.db.executemany("DELETE FROM chunk WHERE id=?", gone)
    store.forget_chunk()


class Size(NamedTuple):
    """What a store holds, in bytes; of transcripts as its rows say."""

    disk: int
    """Database and write-ahead log."""
    kept: int
    """Rows of transcripts whose bodies lie there."""
    pruned: int
    """Rows of transcripts, and snapshots, whose bodies were pruned."""
    pruned_records: int


def size(store: Store) -> Size:
    """How large a store is. Reads no body."""
    kept = pruned = count = 0
    rows = store.db.execute(
        "SELECT chunk = ?, source IS NULL, count(*), total(size) FROM record GROUP BY 1, 2",
        (ABSENT,),
    )
    for absent, ours, records, total in rows:
        if absent:
            pruned, count = pruned + int(total), count + records
        elif not ours:
            kept += int(total)
    return Size(on_disk(store), kept, pruned, count)


def on_disk(store: Store) -> int:
    """Bytes of the database's files."""
    base = paths.database(store.directory)
    return sum(os.stat(p).st_size for p in (base, f"{base}-wal") if os.path.exists(p))


def in_use(store: Store) -> int:
    """Bytes of the database's pages that hold something."""
    pragmas = ("page_count", "freelist_count", "page_size")
    pages, free, each = (store.db.execute(f"PRAGMA {name}").fetchone()[0] for name in pragmas)
    return int((pages - free) * each)
