"""One store: its keys, its head, its chain.

Owns the verdict on the head and the reading back of records. Promises that what it reads is judged
record by record. Never interprets what it stores and never makes a store.
"""

import sqlite3
import time
import zlib

from swapcache import paths
from swapcache.errors import KeyProblem, StoreError
from swapcache.model import Identity, Record, Verdict
from swapcache.store import database, files, filing, keyring, seal, trust, witness
from swapcache.store.writing import Reading, Writing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from swapcache.store.taken import Taken


def now() -> str:
    """Wall time, ISO 8601 with offset, seconds."""
    zone = time.strftime("%z")
    return time.strftime("%Y-%m-%dT%H:%M:%S") + f"{zone[:3]}:{zone[3:]}"


class Store:
    """An open store; close with `close`. `opening.open_store` makes one that does not exist."""

    def __init__(self, store_id: str, wait: float = 2.0, *, read_only: bool = False) -> None:
        self.id = store_id
        self.directory = paths.store_dir(store_id)
        self.wait = wait
        self.db = database.connect(self.directory, wait, read_only=read_only)
        try:
            row = self.db.execute(
                "SELECT uuid, key_id, host, state_dir, agent, workspace, inode, created FROM store"
            ).fetchone()
            if row is None:
                raise StoreError(f"{self.directory} has no owner row; move it away")
        except sqlite3.Error as error:
            self.db.close()
            raise database.problem(error, self.directory) from error
        except StoreError:
            self.db.close()
            raise
        self.uuid, self.key_id, self.created = str(row[0]), str(row[1]), str(row[7])
        self.identity = Identity(*(database.unbound(value) for value in row[2:7]))
        self.keys: seal.Keys | None = None
        self.key_problem = ""
        self.key_missing = False
        try:
            key = keyring.key_for(self.key_id)
            self.keys = self.derive(key)
        except FileNotFoundError:
            self.key_missing = True
            self.key_problem = f"the key {paths.key_file()} is missing"
        except KeyProblem as problem:
            self.key_problem = str(problem)
        self._chunks: tuple[int, bytes] = (-1, b"")
        self._taken: tuple[int, Taken | None] = (-1, None)
        self._witness = paths.witness_file(store_id)
        self.owner_proven = False
        """The chain itself says whose memory it is; else it is what a row beside it says."""
        self.learn_owner()

    def derive(self, key: bytes) -> seal.Keys:
        """The subkeys that a key gives for this store."""
        return seal.derive(key, self.identity.agent, self.uuid, self.id)

    def learn_owner(self) -> None:
        """Whose memory it is by the chain: the row beside it is for a store without its key."""
        try:
            owner = trust.owner(self)
        except (sqlite3.DatabaseError, ValueError, TypeError, AttributeError):
            owner = None  # damaged; the verdict says so
        self.owner_proven = owner is not None
        self.identity = owner or self.identity

    def close(self) -> None:
        """Closes the database and folds its write-ahead log in."""
        self.db.close()

    def leave(self) -> None:
        """Instead of `close`, in a process that ends at once."""
        database.leave(self.db, self.directory)

    def shrink_log(self) -> None:
        """Folds in a write-ahead log that has grown, as far as no reader stands in it."""
        database.shrink_log(self.db, self.directory)

    # -- reading -----------------------------------------------------------------------------------

    def head(self) -> tuple[int, str]:
        """(sequence number, tag) of the newest record, (-1, zeros) for an empty chain."""
        row = self.db.execute("SELECT seq, tag FROM head").fetchone()
        return (int(row[0]), str(row[1])) if row else (-1, seal.START)

    def empty(self) -> bool:
        """True when nothing was ever recorded."""
        found = self.db.execute("SELECT EXISTS(SELECT 1 FROM record), EXISTS(SELECT 1 FROM head)")
        return not any(found.fetchone())

    def check(self) -> Verdict:
        """Verdict on the head: its MAC, and that it is not behind the witness.

        Constant work: 'what is served' is checked by `read`, the whole chain by `verify`.
        """
        with self.snapshot() as verdict:
            return verdict

    def witnessed(self) -> witness.Seen | None:
        """What the witness remembers; read it before a transaction begins."""
        return witness.read(self._witness, self.keys)

    def judge(self, seen: witness.Seen | None) -> Verdict:
        """Verdict on the head, given what the witness said."""
        try:
            return self._judge(seen)
        except sqlite3.DatabaseError as error:
            if "locked" in str(error) or "busy" in str(error):
                raise
            return Verdict("MODIFIED", f"the database is damaged ({error})", -1)
        except (ValueError, TypeError, AttributeError):
            return Verdict("MODIFIED", "the head is not of its form", -1)

    def _judge(self, seen: witness.Seen | None) -> Verdict:
        if self.keys is None:
            return Verdict("NO_KEY", self.key_problem)
        if self.keys.id != self.key_id:
            return Verdict("FOREIGN", f"sealed by key {self.key_id}, this machine has another one")
        row = self.db.execute("SELECT seq, tag, mac FROM head").fetchone()
        if row is None:
            newest = self.db.execute("SELECT max(seq) FROM record").fetchone()[0]
            if newest is None and (seen is None or seen.store != self.uuid):
                return Verdict("VERIFIED")
            return Verdict("MODIFIED", "the head is missing", -1, seen.seq if seen else -1)
        seq, tag, head_mac = int(row[0]), str(row[1]), str(row[2])
        if not seal.same(self.keys.head_mac(seq, tag), head_mac):
            (key_id,) = self.db.execute("SELECT key_id FROM store").fetchone()
            if key_id != self.key_id:
                return Verdict("NO_KEY", "it was sealed by another key just now; open it again")
            return Verdict("MODIFIED", "the head does not match its seal", -1)
        if self.tag(seq) != tag or self.tag(seq + 1):
            return Verdict("MODIFIED", "the newest record is not the sealed head", seq)
        if trust.owner(self) is None:
            return Verdict("MODIFIED", "the record that says whose memory this is", -1)
        if seq == 0 and (seen is None or seen.store != self.uuid):
            return Verdict("VERIFIED", "", 0)  # killed between its first commit and its witness
        if seen is None or not seen.proven or seen.store != self.uuid:
            reason = "the witness is missing" if seen is None else "the witness is not this store's"
            return Verdict("GAP", f"{reason}; run: swapcache verify --full", seq)
        if seen.seq > seq:
            return Verdict("ROLLED_BACK", f"record {seen.seq} was sealed here", seq, seen.seq)
        if self.tag(seen.seq) != seen.tag:
            return Verdict("MODIFIED", f"record {seen.seq} is not the one that was sealed", seq)
        return Verdict("VERIFIED", "", seq, seen.seq)

    def tag(self, seq: int) -> str:
        """Tag of a record, in hex; empty when there is none."""
        row = self.db.execute("SELECT tag FROM record WHERE seq=?", (seq,)).fetchone()
        return row[0].hex() if row else ""

    def snapshot(self) -> Reading:
        """A context: one consistent view of the store; gives the verdict on its head."""
        return Reading(self)

    def read(self, first: int, last: int) -> "Iterator[tuple[Record, bool]]":
        """Records first..last in order, each with True when it verifies with its neighbour."""
        previous = self.tag(first - 1) if first > 0 else seal.START
        expected, taken = first, None
        rows = self.db.execute(
            "SELECT seq, chunk, start, size, sha, meta, tag, source, position FROM record"
            " WHERE seq BETWEEN ? AND ? ORDER BY seq",
            (first, last),
        )
        for seq, number, start, size, sha, meta, tag, source, position in rows:
            try:
                body = self.chunk(number)[start : start + size]
                sealed, found = sha.hex(), seal.sha256(body)
                as_sealed = found == sealed
                if not as_sealed and taken is None:
                    taken = self.taken()
                good = (
                    self.keys is not None
                    and seq == expected
                    and (as_sealed or (taken is not None and taken.explains(seq, found)))
                    and seal.same(self.keys.tag(seq, sealed, meta, previous), tag.hex())
                )
                known = trust.parsed(meta)
                previous = tag.hex()
            except (ValueError, TypeError, AttributeError):
                body, good, known, previous = b"", False, {}, ""  # a column of another type
                as_sealed = False
            pruned = good and not as_sealed and not body
            yield Record(seq, body, known, source, position, pruned), good
            expected = seq + 1

    def taken(self) -> "Taken":
        """What was taken out of it: texts that were forgotten, bodies that were pruned."""
        from swapcache.store import taken  # rarely needed

        newest, known = trust.last(self), self._taken[1]
        if known is None or self._taken[0] != newest:
            known = taken.of(self)
            self._taken = (newest, known)
        return known

    def forget_chunk(self) -> None:
        """What was kept of a chunk is out of date."""
        self._chunks = (-1, b"")

    def chunk(self, number: int) -> bytes:
        """A chunk's bodies; the newest one is kept, since records are read in order."""
        if self._chunks[0] != number:
            row = self.db.execute("SELECT data FROM chunk WHERE id=?", (number,)).fetchone()
            try:
                data = zlib.decompress(row[0]) if row else b""
            except zlib.error:
                data = b""  # its records fail their hash and are reported one by one
            self._chunks = (number, data)
        return self._chunks[1]

    def record(self, seq: int) -> tuple[Record, bool] | None:
        """Record `seq` and whether it verifies; None when there is none."""
        return next(self.read(seq, seq), None)

    def linked(self, after: int) -> bool:
        """True when every record behind record `after` (-1: every one) is linked to the one before.

        Work grows with what came since. Bodies are not read.
        """
        if self.keys is None:
            return False
        expected, previous = after, self.tag(after) if after >= 0 else seal.START
        rows = self.db.execute(
            "SELECT seq, sha, meta, tag FROM record WHERE seq>? ORDER BY seq", (after,)
        )
        try:
            for seq, sha, meta, tag in rows:
                expected += 1
                sealed = self.keys.tag(seq, sha.hex(), meta, previous)
                previous = tag.hex()
                if seq != expected or not seal.same(sealed, previous):
                    return False
        except (ValueError, TypeError, AttributeError):
            return False  # a column of another type
        return True

    def verify(self) -> Verdict:
        """Verdict on the whole chain, head and witness."""
        with self.snapshot() as verdict:
            if self.keys is None or verdict.name == "FOREIGN":
                return verdict
            expected = -1
            try:
                for expected, (record, good) in enumerate(self.read(0, 1 << 62)):
                    if record.seq != expected or not good:
                        return _broken(expected, "is missing or does not match its seal", verdict)
                astray = filing.astray(self.db, -1)
            except sqlite3.DatabaseError as error:
                return _broken(expected + 1, f"cannot be read ({error})", verdict)
            if astray is not None:
                return _broken(astray, "lies with another session than its seal names", verdict)
            return verdict

    def renew_witness(self) -> Verdict:
        """Writes a new witness when the whole chain verifies and only the witness is missing."""
        verdict = self.verify()
        if verdict.name != "GAP" or self.keys is None:
            return verdict
        files.private_directory(paths.witness_dir())
        with files.Lock(paths.lock_file(self.id), self.wait):
            witness.write(self._witness, self.keys, self.uuid, *self.head(), None)
        return self.verify()

    # -- writing -----------------------------------------------------------------------------------

    def writing(self) -> Writing:
        """A context: a transaction of the only writer; gives the Writer.

        Committed, synced and witnessed at its end. Raises SealError when the chain is not VERIFIED
        (nothing is appended then), BusyError, NoSpaceError, StoreError.
        """
        return Writing(self)

    def accept_rollback(self, wall: str) -> Verdict:
        """Goes on from an older state that a person restored; a sealed record says so.

        Does nothing unless the chain is whole and only the witness has seen more. A kill in between
        leaves it as it was. Raises StoreError.
        """
        verdict = self.verify()
        if verdict.name != "ROLLED_BACK":
            return verdict
        decision = trust.record("accept-rollback", wall, have=verdict.have, seen=verdict.seen)
        with Writing(self, after_rollback=True) as writer:
            writer.append([decision])
        return self.verify()


def _broken(at: int, what: str, head: Verdict) -> Verdict:
    name = "PREFIX" if at else "MODIFIED"
    return Verdict(name, f"record {at} {what}", at - 1, head.seen)
