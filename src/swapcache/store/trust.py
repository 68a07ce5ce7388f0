"""What people decided about a store, as records of its own chain.

Owns the trust records (a workspace bound, a rollback accepted, a store adopted, a key changed, a
text forgotten, sessions pruned) and how they are found: each record names the newest one before it
in its sealed metadata, so that none can be hidden. Promises that whose memory a store is comes from
the chain, never from a row or file beside it. Never appends by itself.
"""

from __future__ import annotations

import json

from swapcache.model import OWNER, Identity, NewRecord
from swapcache.store import seal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from swapcache.store.store import Store

KIND = "trust"
FORGET = "forget"
"""The event of a record that lists which records a text was taken out of."""
PRUNE = "prune"
"""The event of a record that lists which records' bodies were taken away."""
POINTER = "trust"
"""In a record's metadata: the sequence number of the newest trust record before it."""
NONE = -1
DIGEST_SIZE = 24
"""Characters of a head's tag, or of a content digest, by which a person names a memory."""
FIXES = {
    "ROLLED_BACK": "swapcache trust accept-rollback",
    "GAP": "swapcache verify --renew-witness",
}
"""The command that puts a verdict right; for all others `trust show` names it with the digest."""
SHOW = "swapcache trust show"


def sealed(store: Store, seq: int) -> dict[str, Any] | None:
    """Metadata of a record, if they are what was sealed. Its body takes no part."""
    if store.keys is None:
        return None
    row = store.db.execute("SELECT sha, meta, tag FROM record WHERE seq=?", (seq,)).fetchone()
    if row is None:
        return None
    previous = store.tag(seq - 1) if seq else seal.START
    try:
        sha, text, tag = row[0].hex(), row[1], row[2].hex()
        good = seal.same(store.keys.tag(seq, sha, text, previous), tag)
    except (ValueError, TypeError, AttributeError):
        return None
    return parsed(text) if good else None


def parsed(text: str) -> dict[str, Any]:
    """Stored metadata; empty for what is no object."""
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def newest(seq: int, meta: dict[str, Any]) -> int:
    """Sequence number of the newest trust record up to record `seq` with these metadata."""
    if meta.get("kind") == KIND:
        return seq
    return _named(meta, seq)


def _named(meta: dict[str, Any], seq: int) -> int:
    """The trust record that record `seq` names. What was adopted may hold anything there."""
    named = meta.get(POINTER)
    return named if type(named) is int and named < seq else NONE


def records(store: Store, seq: int) -> Iterator[tuple[int, dict[str, Any] | None]]:
    """Trust records up to record `seq`, newest first; ends after one that does not verify."""
    meta = sealed(store, seq)
    if meta is None:
        yield seq, None
        return
    at = newest(seq, meta)
    while at >= 0:
        meta = sealed(store, at)
        yield at, meta
        if meta is None:
            return
        at = _named(meta, at)


def last(store: Store) -> int:
    """Sequence number of the newest trust record, -1 for none."""
    head = store.head()[0]
    meta = sealed(store, head)
    return NONE if meta is None else newest(head, meta)


def owner(store: Store) -> Identity | None:
    """Whose memory it is, as the chain says; None when what says so does not verify."""
    head = store.head()[0]
    for _, meta in records(store, head):
        if meta is None:
            return None
        if "owner" in meta:
            return _identity(meta["owner"])
    first = sealed(store, 0)
    return _identity(first["owner"]) if first is not None and "owner" in first else None


def _identity(given: dict[str, str]) -> Identity | None:
    try:
        return Identity(*(str(given.get(field, "")) for field in Identity._fields))
    except AttributeError:
        return None


def record(event: str, wall: str, **more: Any) -> NewRecord:
    """A trust record. Only a person's decision, or a rename that the chain proves, makes one."""
    meta = {"kind": KIND, "event": event, "origin": OWNER, "wall": wall, **more}
    return NewRecord(b"", meta)
