"""Transactions: one consistent reading, one writing at a time.

Owns the order of every write (lock, begin, check head against witness, append, head, commit,
witness) and of every read (witness first, then one read transaction). Promises that nothing is
appended behind a broken chain. Never interprets what it stores.
"""

import sqlite3
import zlib

from swapcache import paths
from swapcache.errors import SealError
from swapcache.model import NewRecord, Verdict
from swapcache.store import database, files, seal, trust, witness

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from swapcache.store.store import Store

CHUNK = 65536
LEVEL = 1  # of zlib: 64 KB in 0.7 ms; level 6 takes three times as long for a seventh less


class Reading:
    """See Store.snapshot."""

    def __init__(self, store: "Store") -> None:
        self._store = store

    def __enter__(self) -> Verdict:
        store = self._store
        seen = store.witnessed()  # before the transaction: an honest witness only trails
        try:
            store.db.execute("BEGIN")
            return store.judge(seen)
        except BaseException as error:
            roll_back(store.db)
            if isinstance(error, sqlite3.Error):
                raise database.problem(error, store.directory) from error
            raise

    def __exit__(self, *_: object) -> None:
        roll_back(self._store.db)


class Writing:
    """See Store.writing."""

    def __init__(self, store: "Store", *, after_rollback: bool = False) -> None:
        self._store = store
        self._after_rollback = after_rollback
        self._lock = files.Lock(paths.lock_file(store.id), store.wait)
        self._seen: witness.Seen | None = None
        self._writer: Writer | None = None

    def __enter__(self) -> "Writer":
        store = self._store
        files.private_directory(paths.witness_dir())
        self._lock.__enter__()
        try:
            self._seen = store.witnessed()
            store.db.execute("BEGIN IMMEDIATE")
            verdict = store.judge(self._seen)
            accepted = self._after_rollback and verdict.name == "ROLLED_BACK"
            if not (verdict.good or accepted) or store.keys is None:
                raise SealError(
                    f"{store.directory} is {verdict.name} ({verdict.detail}); nothing was "
                    "appended; run: swapcache verify --full"
                )
            self._writer = Writer(store.db, store.keys, *store.head(), trust.last(store))
            return self._writer
        except BaseException as error:
            self._give_up()
            if isinstance(error, sqlite3.Error):
                raise database.problem(error, store.directory) from error
            raise

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        store, writer, seen = self._store, self._writer, self._seen
        if error is not None or writer is None or store.keys is None:
            self._give_up()
            if isinstance(error, sqlite3.Error):
                raise database.problem(error, store.directory) from error
            return
        try:
            writer.finish()
            store.db.execute("COMMIT")
        except sqlite3.Error as refused:
            self._give_up()
            raise database.problem(refused, store.directory) from refused
        try:
            path = paths.witness_file(store.id)
            newer = seen is None or seen.store != store.uuid or writer.seq > seen.seq
            if self._after_rollback:
                witness.forget(path)
                newer, seen = True, None
            if newer and writer.seq >= 0:
                witness.write(path, store.keys, store.uuid, writer.seq, writer.tag, seen)
        finally:
            self._lock.__exit__()

    def _give_up(self) -> None:
        roll_back(self._store.db)
        self._lock.__exit__()


def roll_back(db: sqlite3.Connection) -> None:
    """Ends a transaction without its changes, if one is open."""
    if db.in_transaction:
        db.execute("ROLLBACK")


class Writer:
    """Appends records inside a transaction of `Store.writing`."""

    def __init__(
        self, db: sqlite3.Connection, keys: seal.Keys, seq: int, tag: str, decided: int
    ) -> None:
        self.db = db
        self.keys = keys
        self.seq = seq
        self.tag = tag
        self.decided = decided
        """The newest trust record; every record behind it names it."""
        self._moved = False

    def append(self, records: "Iterable[NewRecord]") -> int:
        """Seals records in order; returns the first one's sequence number.

        Record k of the call gets the returned number plus k.
        """
        first = self.seq + 1
        rows: list[tuple[object, ...]] = []
        parts: list[bytes] = []
        filled = 0
        chunk = self._next_chunk()
        for record in records:
            body = record.body
            if parts and filled + len(body) > CHUNK:
                self._flush(chunk, parts, rows)
                parts, rows, filled, chunk = [], [], 0, chunk + 1
            self.seq += 1
            digest = seal.sha256(body)
            named = record.meta
            if self.decided >= 0:
                named = {**named, trust.POINTER: self.decided}
            if named.get("kind") == trust.KIND:
                self.decided = self.seq
            meta = seal.canon(named).decode("ascii")
            self.tag = self.keys.tag(self.seq, digest, meta, self.tag)
            rows.append(
                (
                    self.seq,
                    chunk,
                    filled,
                    len(body),
                    bytes.fromhex(digest),
                    meta,
                    bytes.fromhex(self.tag),
                    record.source,
                    record.position,
                )
            )
            parts.append(body)
            filled += len(body)
        if rows:
            self._flush(chunk, parts, rows)
            self._moved = True
        return first

    def _next_chunk(self) -> int:
        newest = self.db.execute("SELECT max(id) FROM chunk").fetchone()[0]
        return 0 if newest is None else int(newest) + 1

    def _flush(self, chunk: int, parts: list[bytes], rows: list[tuple[object, ...]]) -> None:
        data = zlib.compress(b"".join(parts), LEVEL)
        self.db.execute("INSERT INTO chunk VALUES (?,?)", (chunk, data))
        self.db.executemany("INSERT INTO record VALUES (?,?,?,?,?,?,?,?,?)", rows)

    def finish(self) -> None:
        """Moves the head; called by `Store.writing` before the commit."""
        if self._moved:
            self.db.execute(
                "INSERT OR REPLACE INTO head VALUES (1,?,?,?)",
                (self.seq, self.tag, self.keys.head_mac(self.seq, self.tag)),
            )
