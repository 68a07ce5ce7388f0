"""Corroboration: what the records say, asked of a second witness, the hosts' own transcripts.

Owns the comparison of sealed records with the rows they were captured from. Promises bounded memory
at any size, that a transcript which its host rewrote is told apart from one that differs, and to
read only. Never changes a verdict: the seal says who recorded something, this says whether the host
still says the same.
"""

from __future__ import annotations

import hashlib

from swapcache.capture import originals
from swapcache.capture.capture import STATEMENTS
from swapcache.errors import FormatError, SourceError
from swapcache.model import NamedTuple, Source
from swapcache.store import database, sessions, trust
from swapcache.store.store import Store
from swapcache.transcripts import formats
from swapcache.transcripts.tree import Place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from swapcache.capture.originals import Original
    from swapcache.store.taken import Taken

BATCH = 50_000
"""So many records are looked for in one reading of a transcript."""
NAMED = 1000
"""So many differing records are named; all are counted."""
ELSEWHERE = "it stands at another place of the transcript"
BYTES = "its bytes differ"
GONE = "it is not in the transcript any more"
NOWHERE = "it came from a transcript, and the store names none"
DAMAGED = "what the store notes of it is damaged"
SINCE = "; the transcript was cut or rewritten since it was captured"


class Difference(NamedTuple):
    """A record that its transcript does not confirm."""

    record: int
    reason: str
    transcript: str
    generation: int
    """Of the transcript, as captured: 0 is the first."""


class Rewritten(NamedTuple):
    """Records of a transcript that was cut or rewritten, and captured anew after that; or of rows
    that their host has changed in place since."""

    transcript: str
    generation: int
    newest: int
    """The generation that took its place."""
    records: int


class Gone(NamedTuple):
    """A transcript that cannot be asked."""

    transcript: str
    reason: str
    records: int


class Corroboration(NamedTuple):
    """What the hosts' transcripts say of a store's records; every record is counted once."""

    corroborated: int
    differing: int
    without: int
    """Records that no transcript holds: statements, snapshots, receipts, decisions; and those that
    something was taken out of, where no transcript confirms them."""
    differences: tuple[Difference, ...]
    """The first of the differing ones."""
    rewritten: tuple[Rewritten, ...]
    gone: tuple[Gone, ...]


class _Record(NamedTuple):
    """A record as far as it is compared. Its body is not read: its hash is what is sealed."""

    seq: int
    position: int
    size: int
    sha: bytes
    meta: str


def corroborate(store: Store) -> Corroboration:
    """Compares every record with its transcript, where that exists."""
    count = _Count()
    with store.snapshot():
        _sourceless(store, count)
        taken = store.taken()
        for source in sessions.every_source(store.db):
            asked = _Asked(store, source, taken)
            if source.path == STATEMENTS or not asked.records:
                continue
            noted = source.session, source.generation, source.cursor
            if all(type(value) is int and value >= 0 for value in noted):
                asked.ask(store, count)
            else:
                count.gone.append(Gone(source.path, DAMAGED, asked.records))
    return Corroboration(
        count.corroborated,
        count.differing,
        count.without,
        tuple(sorted(count.differences)[:NAMED]),
        tuple(count.rewritten),
        tuple(count.gone),
    )


class _Count:
    """What was found so far."""

    def __init__(self) -> None:
        self.corroborated = self.differing = self.without = 0
        self.differences: list[Difference] = []
        self.rewritten: list[Rewritten] = []
        self.gone: list[Gone] = []

    def differs(self, record: int, reason: str, source: Source | None = None) -> None:
        """One more record that its transcript does not confirm."""
        path, generation = ("", 0) if source is None else (source.path, source.generation)
        self.differing += 1
        self.differences.append(Difference(record, reason, path, generation))
        if len(self.differences) > 2 * NAMED:
            self.differences = sorted(self.differences)[:NAMED]


def _sourceless(store: Store, count: _Count) -> None:
    """Records that no transcript holds; a captured row among them has lost its place."""
    rows = store.db.execute(
        "SELECT seq, meta FROM record WHERE source IS NULL"
        " OR source NOT IN (SELECT number FROM source WHERE path<>?)",
        (STATEMENTS,),
    )
    for seq, meta in rows:
        if _meta(meta).get("kind") == "raw":
            count.differs(seq, NOWHERE)
        else:
            count.without += 1


def _meta(text: object) -> dict[str, Any]:
    return trust.parsed(text) if isinstance(text, str) else {}


class _Asked:
    """The records of one generation of a transcript, while they are asked for."""

    def __init__(self, store: Store, source: Source, taken: Taken) -> None:
        self.source = source
        self.taken = taken
        (self.records,) = store.db.execute(
            "SELECT count(*) FROM record WHERE source=?", (source.number,)
        ).fetchone()
        (self.newest,) = store.db.execute(
            "SELECT CAST(max(generation) AS INTEGER) FROM source WHERE session=? AND path=?",
            (source.session, database.bound(source.path)),
        ).fetchone()
        self.done = self.lost = 0

    def ask(self, store: Store, count: _Count) -> None:
        """Counts every record once: what cannot be read on the way is as good as gone."""
        try:
            original = originals.opened(self.source)
            try:
                self._compare(store, original, count)
            finally:
                original.close()
        except SourceError as problem:
            left = self.records - self.done
            count.gone.append(Gone(self.source.path, str(problem), left))
        if self.lost:
            found = self.source.path, self.source.generation, self.newest, self.lost
            count.rewritten.append(Rewritten(*found))

    def _compare(self, store: Store, original: Original, count: _Count) -> None:
        waiting: list[_Record] = []
        for record in _records(store, self.source):
            if original.holds(record.position, record.size, record.sha):
                count.corroborated += 1
                self.done += 1
                continue
            waiting.append(record)
            if len(waiting) == BATCH:
                self._search(store, waiting, original, count)
                waiting = []
        if waiting:
            self._search(store, waiting, original, count)

    def _search(
        self, store: Store, waiting: list[_Record], original: Original, count: _Count
    ) -> None:
        """Looks for records that are not in their places in all of a transcript."""
        replaced = self.newest > self.source.generation
        seen = _seen(waiting, original, self.source)
        for record in waiting:
            self.done += 1
            place = seen.bytes.get(record.sha)
            if place is not None and (replaced or original.changed or place == record.position):
                count.corroborated += 1
            elif place is not None:
                count.differs(record.seq, ELSEWHERE, self.source)
            elif self.taken.names(record.seq):
                count.without += 1
            elif replaced or original.renewed(record.position, _body(store, record.seq)):
                self.lost += 1
            else:
                name = _meta(record.meta).get("msg_id")
                there = name in seen.ids if name else record.position in seen.places
                reason = (BYTES if there else GONE) + (SINCE if original.changed else "")
                count.differs(record.seq, reason, self.source)


def _body(store: Store, seq: int) -> bytes:
    found = store.record(seq)
    return found[0].body if found is not None else b""


def _records(store: Store, source: Source) -> Iterator[_Record]:
    rows = store.db.execute(
        "SELECT seq, position, size, sha, meta FROM record WHERE source=? ORDER BY position",
        (source.number,),
    )
    for seq, position, size, sha, meta in rows:
        if not (isinstance(position, int) and isinstance(size, int)):
            position, size = -1, 0  # a column of another type
        yield _Record(seq, position, size, sha if isinstance(sha, bytes) else b"", meta)


class _Seen(NamedTuple):
    """What a reading of a whole transcript showed of the records that were looked for."""

    bytes: dict[bytes, int]
    """Where rows with these hashes begin."""
    ids: set[str]
    places: set[int]


def _seen(waiting: list[_Record], original: Original, source: Source) -> _Seen:
    hashes = {r.sha for r in waiting}
    ids = {str(key) for r in waiting if (key := _meta(r.meta).get("msg_id"))}
    places = {r.position for r in waiting}
    id_of = _id_reader(source)
    seen = _Seen({}, set(), set())
    for row in original.rows():
        for raw in {row.raw, row.raw.removesuffix(b"\n")}:  # a last line may have lacked its end
            sha = hashlib.sha256(raw).digest()
            if sha in hashes and seen.bytes.get(sha) not in places:
                seen.bytes[sha] = row.start
        if row.start in places:
            seen.places.add(row.start)
        key = "" if row.value is None else id_of(row.value)
        if key in ids:
            seen.ids.add(key)
    return seen


def _id_reader(source: Source) -> Callable[[dict[str, Any]], str]:
    """How a row of a transcript says what it is called."""
    try:
        reader = formats.by_name(source.format)
    except FormatError:
        return lambda value: ""

    def id_of(value: dict[str, Any]) -> str:
        message = reader.message(value)
        if message is not None:
            return message.id
        place = reader.place(value) if reader.place else None
        return place.name if isinstance(place, Place) else ""

    return id_of
