"""Sealing a whole chain anew: adoption by a person, and a change of keys.

Owns the digest that a person accepts and the one transaction that seals every record again.
Promises that what is adopted is byte for byte what the digest named, that a record of the chain
says what happened, and that a kill leaves the old chain or the new one. Never decides: commands do.
"""

from __future__ import annotations

import hashlib
import sqlite3

from swapcache import paths
from swapcache.errors import SealError
from swapcache.model import NamedTuple, Verdict
from swapcache.store import database, files, keyring, seal, sessions, trust, witness
from swapcache.store.store import Store, now
from swapcache.store.taken import Taken
from swapcache.store.taken import lying as lying_taken
from swapcache.store.writing import Writer, roll_back

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

BATCH = 1000
MISSING = 100_000
NO_CHUNK = -1
NAMED = 50
"""So many damaged records are named in the record of an adoption; all are counted."""


class Lying(NamedTuple):
    """A record as it lies there, proven or not."""

    seq: int
    body: bytes
    meta: str
    whole: bool
    """False when its bytes or metadata cannot be read."""


def lying(store: Store, first: int = 0, last: int = 1 << 62) -> Iterator[Lying]:
    """Records first..last as they lie in the database, in order."""
    rows = store.db.execute(
        "SELECT seq, chunk, start, size, meta FROM record WHERE seq BETWEEN ? AND ? ORDER BY seq",
        (first, last),
    )
    for seq, chunk, start, size, meta in rows:
        try:
            body = store.chunk(chunk)[start : start + size]
            whole = len(body) == size
        except (TypeError, ValueError):
            body, whole = b"", False
        if not isinstance(meta, str) or not trust.parsed(meta):
            meta, whole = '{"kind":"damaged"}', False
        yield Lying(seq, body, meta, whole)


def digest(store: Store) -> str:
    """24 hex over number, bytes and metadata of every record as it lies there. Constant memory."""
    total = hashlib.sha256()
    for one in lying(store):
        total.update(seal.canon([one.seq, seal.sha256(one.body), one.meta]) + b"\n")
    return total.hexdigest()[: trust.DIGEST_SIZE]


def proven_by_old_key(store: Store) -> Taken | None:
    """What was taken out, when the key that sealed a foreign store lies beside ours and the whole
    chain holds; else None."""
    try:
        key = seal.read_key(paths.retired_key(store.key_id))
    except FileNotFoundError:
        return None
    ours, store.keys = store.keys, store.derive(key)
    try:
        whole = store.keys.id == store.key_id and store.verify().name in ("VERIFIED", "GAP")
        return store.taken() if whole else None
    finally:
        store.keys = ours


def adopt(store: Store, given: str) -> Verdict:
    """Takes a store as it lies there for our own: a person has looked at it and named its digest.

    Makes the key if there is none. Raises SealError when the digest is another one, KeyProblem,
    StoreError.
    """
    verdict = store.check() if store.keys is None else store.verify()
    taken = proven_by_old_key(store)
    more: dict[str, Any] = {
        "digest": given,
        "verdict": verdict.name,
        "detail": verdict.detail,
        "from_key": store.key_id,
        "proven": taken is not None,
        "owner": store.identity._asdict(),
    }
    key = seal.create_key(paths.key_file())
    if taken is None:
        ours = store.keys is not None and store.keys.id == store.key_id
        taken = store.taken() if ours else lying_taken(store)
    _reseal(store, key, "adopt", more, taken, given)
    return store.verify()


def rekey(store: Store, old: str, new: str) -> Verdict:
    """Seals a verified store with the current key; its record is sealed by the old one too.

    States that verify are sealed along with it: folding them anew could take a hook too long. What
    does not verify is left alone: its verdict says why. Raises KeyProblem, StoreError.
    """
    verdict = store.verify()
    if not verdict.good or store.keys is None:
        return verdict
    seq, tag = store.head()
    both = seal.mac(store.keys.head, seal.canon([1, seq, tag, new]))
    more = {"from_key": old, "to_key": new, "head": [seq, tag], "mac": both}
    _reseal(store, seal.read_key(paths.key_file()), "rekey", more, store.taken())
    return store.verify()


def _reseal(
    store: Store,
    key: bytes,
    event: str,
    more: dict[str, Any],
    taken: Taken,
    given: str = "",
) -> None:
    keys = store.derive(key)
    files.private_directory(paths.witness_dir())
    with files.Lock(paths.lock_file(store.id), store.wait):
        try:
            store.db.execute("BEGIN IMMEDIATE")
            store.forget_chunk()  # what is sealed is what lies there now
            if given and digest(store) != given:
                raise SealError(
                    f"{store.directory} is not what {given} names (it changed since, or the digest "
                    "is another store's); nothing was changed; run: swapcache trust show"
                )
            seq, tag, damaged, missing = _seal_all(store, keys, taken)
            if damaged or missing:
                more = {**more, "damaged": damaged[:NAMED], "missing": missing[:NAMED]}
                more["lost"] = len(damaged) + len(missing)
            writer = Writer(store.db, keys, seq, tag, _decided(store, seq))
            writer.append([trust.record(event, now(), **more)])
            writer.finish()
            if event == "rekey" and store.keys is not None:
                _keep_states(store, store.keys, keys)
            store.db.execute("UPDATE store SET key_id=?, agent=?", (keys.id, store.identity.agent))
            store.db.execute("COMMIT")
        except sqlite3.Error as error:
            roll_back(store.db)
            raise database.problem(error, store.directory) from error
        except BaseException:
            roll_back(store.db)
            raise
        store.keys, store.key_id, store.key_problem = keys, keys.id, ""
        place = paths.witness_file(store.id)
        witness.forget(place)
        witness.write(place, keys, store.uuid, writer.seq, writer.tag, None)


def _keep_states(store: Store, before: seal.Keys, now_keys: seal.Keys) -> None:
    for session in sessions.sessions(store.db):
        row = sessions.load_state(store.db, before, session.number)
        if row is not None:
            seq, body, provisional = row
            tag = store.tag(seq)
            sessions.save_state(store.db, now_keys, session.number, seq, tag, body, provisional)


def _decided(store: Store, seq: int) -> int:
    """The newest trust record up to `seq`, by what lies there: it is sealed now."""
    row = store.db.execute("SELECT meta FROM record WHERE seq=?", (seq,)).fetchone()
    return trust.NONE if row is None else trust.newest(seq, trust.parsed(row[0]))


def _seal_all(store: Store, keys: seal.Keys, taken: Taken) -> tuple[int, str, list[int], list[int]]:
    """Seals every record anew; (newest number, its tag, unreadable ones, missing ones).

    A number that is missing gets an empty record: numbers never move. A record that something was
    taken out of keeps the hash that it had, and a pruned one the size.
    """
    newest = store.db.execute("SELECT max(seq), count(*) FROM record WHERE seq>=0").fetchone()
    last = -1 if newest[0] is None else int(newest[0])
    if last - newest[1] > MISSING:
        raise SealError(f"{store.directory} lacks {last - newest[1]} records: nothing to adopt")
    seq, tag = -1, seal.START
    damaged: list[int] = []
    missing: list[int] = []
    for first in range(0, last + 1, BATCH):
        rows: list[tuple[object, ...]] = []
        known = {one.seq: one for one in lying(store, first, first + BATCH - 1)}
        for seq in range(first, min(first + BATCH, last + 1)):
            one = known.get(seq)
            if one is None:
                missing.append(seq)
                store.db.execute(
                    "INSERT INTO record VALUES (?,?,0,0,x'','',x'',NULL,NULL)", (seq, NO_CHUNK)
                )
                one = Lying(seq, b"", '{"kind":"missing"}', True)
            sha, size = seal.sha256(one.body), len(one.body)
            before = _as_sealed(store, seq) if taken.explains(seq, sha) else None
            if before is not None:
                sha, size = before
            elif not one.whole:
                damaged.append(seq)
            tag = keys.tag(seq, sha, one.meta, tag)
            rows.append((bytes.fromhex(sha), one.meta, size, bytes.fromhex(tag), seq))
        store.db.executemany("UPDATE record SET sha=?, meta=?, size=?, tag=? WHERE seq=?", rows)
    return seq, tag, damaged, missing


def _as_sealed(store: Store, seq: int) -> tuple[str, int] | None:
    """The hash that a record was sealed with, and its noted size; None when they are damaged."""
    sha, size = store.db.execute("SELECT sha, size FROM record WHERE seq=?", (seq,)).fetchone()
    return (sha.hex(), size) if isinstance(sha, bytes) and isinstance(size, int) else None


def tag_under(store: Store, key: bytes, newest: int) -> str:
    """The tag that record `newest` had when the chain was sealed by another key."""
    keys, tag = store.derive(key), seal.START
    rows = store.db.execute(
        "SELECT seq, sha, meta FROM record WHERE seq<=? ORDER BY seq", (newest,)
    )
    for seq, sha, meta in rows:
        tag = keys.tag(seq, sha.hex(), meta, tag)
    return tag


def retired(store: Store) -> list[str]:
    """Ids of the keys that sealed this chain before, newest first."""
    found, current = list[str](), keyring.current_id()
    for _, meta in trust.records(store, store.head()[0]):
        key = (meta or {}).get("from_key")
        if isinstance(key, str) and key not in (*found, current):
            found.append(key)
    return found
