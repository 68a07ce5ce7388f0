"""What people had taken out of a store: texts (forget) and whole bodies (prune).

Owns what the sealed records of both say, and which body may therefore be another one or absent.
Promises that only records of this very chain count, and that each explains only records before it.
Never takes anything out (forgetting.py and pruning.py do), and is never read while every body is
the one that was sealed.
"""

from __future__ import annotations

import json
from bisect import bisect_right

from swapcache.model import NamedTuple, Session
from swapcache.store import seal, trust
from swapcache.store.store import Store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterable
    from typing import Any

EMPTY = seal.sha256(b"")


class Standing(NamedTuple):
    """What the state of a pruned session stands on."""

    snapshot: int
    """The record that holds its state."""
    through: int
    """The session's newest record that is part of that state."""
    members: tuple[int, ...]
    """The first record of each of its transcripts: they say whose it is."""


class Taken(NamedTuple):
    """Everything that was taken out of a store."""

    left: dict[int, str]
    """Number and hash of what is left of each record that a text was taken out of."""
    ranges: tuple[tuple[int, int], ...]
    """First and last numbers of records whose bodies were pruned, in order, none touching."""
    standing: tuple[Standing, ...]
    """The newest first."""

    def explains(self, seq: int, digest: str) -> bool:
        """True when a body with this hash may be all that is there of record `seq`."""
        return digest == self.left.get(seq) or (digest == EMPTY and self.pruned(seq))

    def pruned(self, seq: int) -> bool:
        """True for a record whose body may be absent."""
        at = bisect_right(self.ranges, (seq, 1 << 62)) - 1
        return at >= 0 and seq <= self.ranges[at][1]

    def names(self, seq: int) -> bool:
        """True when something of a record may have been taken out."""
        return seq in self.left or self.pruned(seq)


NOTHING = Taken({}, (), ())


def of(store: Store) -> Taken:
    """What the trust records of a store say was taken out, as far as they verify."""
    return _said(store, trust.records(store, store.head()[0]))


def lying(store: Store) -> Taken:
    """What a store that another key sealed says was pruned, proven or not: for its adoption."""
    rows = store.db.execute(
        "SELECT seq, meta FROM record WHERE typeof(meta)='text' AND instr(meta, '\"trust\"')"
        " ORDER BY seq DESC"
    )
    found = ((seq, trust.parsed(meta)) for seq, meta in rows.fetchall())
    return _said(store, (one for one in found if one[1].get("kind") == trust.KIND))._replace(
        left={}
    )


def _said(store: Store, decisions: Iterable[tuple[int, dict[str, Any] | None]]) -> Taken:
    left: dict[int, str] = {}
    pruned: list[tuple[int, int]] = []
    standing: list[Standing] = []
    for seq, meta in decisions:
        event = None if meta is None else meta.get("event")
        if event not in (trust.FORGET, trust.PRUNE):
            continue
        try:
            said = json.loads(_body(store, seq))
            if event == trust.FORGET:
                for number, digest in said["records"].items():
                    left.setdefault(int(number), str(digest))
            else:
                named = [(int(a), int(b)) for a, b in said["ranges"]]
                standing += [Standing(int(s), int(t), tuple(m)) for s, t, m in said["states"]]
                pruned += [(first, min(last, seq - 1)) for first, last in named]
        except (ValueError, TypeError, KeyError, AttributeError):
            continue  # what was adopted may hold anything; damage explains nothing
    return Taken(left, joined(pruned), tuple(standing))


def _body(store: Store, seq: int) -> bytes:
    """Body of a record whose metadata are proven; empty when it is not the one that was sealed."""
    sha, chunk, start, size = store.db.execute(
        "SELECT sha, chunk, start, size FROM record WHERE seq=?", (seq,)
    ).fetchone()
    body = store.chunk(chunk)[start : start + size]
    return body if seal.sha256(body) == sha.hex() else b""


def joined(ranges: list[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """The same numbers in as few ranges as there can be, in order."""
    found: list[tuple[int, int]] = []
    for first, last in sorted(one for one in ranges if one[0] <= one[1]):
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(found[-1][1], last))
        else:
            found.append((first, last))
    return tuple(found)


def standing_of(store: Store, session: Session, told_by: Container[int]) -> Standing | None:
    """What a session's state stands on; None when none of the sources in `told_by` was pruned.

    A transcript that was rewritten since is another source: it tells its story from the start.
    """
    for one in store.taken().standing:
        for member in one.members:
            row = store.db.execute("SELECT source FROM record WHERE seq=?", (member,)).fetchone()
            if row is None or row[0] not in told_by:
                continue
            meta = trust.sealed(store, member) or {}
            if (meta.get("session"), meta.get("window", 0)) == (session.id, session.window):
                return one
    return None
