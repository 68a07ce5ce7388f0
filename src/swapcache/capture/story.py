"""What a session's records tell: the state folded anew, the way `rebuild` means it.

Owns the reading back of records. Promises that the result equals the state that captures kept, that
words whose seal does not verify never become state, that rows on a branch which the host left are
counted, not folded, that an origin which was assumed stays what it was sealed as, and that a
session whose records were pruned stands on the snapshot that was sealed for it. Never writes.
"""

from __future__ import annotations

import json

from swapcache.capture.capture import LEFT, STATEMENTS, dialogue, retold
from swapcache.errors import FormatError
from swapcache.model import Message, NamedTuple, Record, Session, Source
from swapcache.state.fold import Fold
from swapcache.store import sessions
from swapcache.store.store import Store
from swapcache.transcripts import formats, lines
from swapcache.transcripts.tree import Back, Place, Tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


class Told(NamedTuple):
    """What one record tells."""

    seq: int
    message: Message | None
    place: Place | Back | None
    good: bool = True
    """Its seal verifies; one that does not tells nothing."""
    pruned: bool = False
    """Its body was taken away."""


class Refolded(NamedTuple):
    """A state made anew."""

    fold: Fold
    last: int
    """The session's newest record."""
    whole: bool
    """Every record of the session verifies."""


class _Base(NamedTuple):
    """What a fold begins with: nothing, or the state that was sealed when a session was pruned."""

    state: str
    through: int
    """The newest record that is part of it."""
    whole: bool

    def fold(self) -> Fold:
        """The state. A text that was forgotten may have broken its form: then nothing is known."""
        try:
            return Fold.load(self.state) if self.state else Fold()
        except (ValueError, KeyError, TypeError):
            return Fold()


NOTHING = _Base("", -1, True)


def refold(store: Store, session: Session) -> Refolded:
    """The state made anew from the session's records, as far as they verify."""
    known = {s.number: s for s in sessions.story(store.db, session.number)}
    found = _folded(store, known, NOTHING)
    if found is None:
        found = _folded(store, known, _base(store, session, known), pruned=True)
    return found or Refolded(Fold(), -1, False)


def _base(store: Store, session: Session, known: dict[int, Source]) -> _Base:
    """What a pruned session's state stands on."""
    from swapcache.store import taken  # rarely needed

    standing = taken.standing_of(store, session, known)
    found = None if standing is None else store.record(standing.snapshot)
    if standing is None or found is None or not found[1] or found[0].pruned:
        return NOTHING._replace(whole=False)
    return _Base(found[0].body.decode("utf-8", "replace"), standing.through, True)


def _folded(
    store: Store, known: dict[int, Source], base: _Base, *, pruned: bool = False
) -> Refolded | None:
    """The state from `base` on. Without `pruned` None at the first body that was pruned."""
    fold = base.fold()
    tree, last, whole = Tree(fold.leaf), base.through, base.whole
    keys: dict[int, str] = {}
    again: set[int] = set()
    for told in _tell(store, known, base.through):
        if told.pruned and not pruned:
            return None
        last = told.seq
        whole = whole and told.good and not told.pruned
        message = told.message
        asks = message is not None and message.kind == "request"
        keys[told.seq], more = tree.take(told.place, asks)
        if more:
            again.add(told.seq)
        if message is not None:
            fold.add(retold(message) if told.seq in again else message, told.seq)
    left = tree.left()
    if left:  # rare: only a transcript with branches is read twice
        fold = base.fold()
        for told in _tell(store, known, base.through):
            message = told.message
            if message is not None and keys.get(told.seq) in left:
                if dialogue(message) and told.seq not in again:
                    fold.count(LEFT)
            elif message is not None:
                fold.add(retold(message) if told.seq in again else message, told.seq)
    fold.leaf = tree.leaf
    return Refolded(fold, last, whole)


def _tell(store: Store, known: dict[int, Source], after: int) -> Iterator[Told]:
    if not known:
        return
    of = f"source IN ({','.join(map(str, known))})"
    rows = store.db.execute(
        f"SELECT seq FROM record WHERE {of} AND seq>? ORDER BY seq",  # noqa: S608 - integers
        (after,),
    ).fetchall()
    for (seq,) in rows:
        found = store.record(seq)
        if found is None:
            continue
        record, good = found
        if record.pruned:
            yield Told(seq, None, None, pruned=True)
        elif good:
            yield read_back(record, known[record.source or 0])
        else:
            yield Told(seq, None, None, False)


def read_back(record: Record, source: Source) -> Told:
    """A record as it was captured."""
    seq = record.seq
    try:
        value = json.loads(record.body)
    except (ValueError, RecursionError):
        pieces = lines.split(0, record.body)
        value = pieces[0].value if len(pieces) == 1 else None  # else none of them was captured
    if not isinstance(value, dict):
        return Told(seq, None, None)
    if source.path == STATEMENTS:
        return Told(seq, Message(**{**value, "calls": (), "results": ()}), None)
    try:
        reader = formats.by_name(source.format)
    except FormatError:
        return Told(seq, None, None)
    message = reader.message(value)
    if message is not None and message.assumed:
        message = message._replace(origin=str(record.meta.get("origin", message.origin)))
    return Told(seq, message, reader.place(value) if reader.place else None)
