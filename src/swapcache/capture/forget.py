"""Forgetting a text in a store: records, then everything that was derived from them.

Owns the order: records masked and sealed, states folded anew from what is left, other words masked,
old pages written over. Promises that derived rows equal a fold of the records afterwards. Never
touches a host's transcript.
"""

from __future__ import annotations

from swapcache.capture import story
from swapcache.model import NamedTuple, Session
from swapcache.store import forgetting, sessions
from swapcache.store.forgetting import Text
from swapcache.store.store import Store

WORDS = (("damage", "reason"), ("session", "reason"))
"""Columns that may quote what a host wrote."""


class Found(NamedTuple):
    """Where a text stands in a store."""

    records: list[int]
    columns: dict[str, int]
    """Rows by table and column."""
    files: list[str]
    """Files of the database whose very bytes hold it."""

    @property
    def nothing(self) -> bool:
        """True when it is nowhere."""
        return not (self.records or self.columns or self.files)


def search(store: Store, text: Text) -> Found:
    """Where a text stands: in every record's bytes, every column, every byte of the files."""
    return Found(
        forgetting.records_with(store, text),
        forgetting.columns_with(store, text),
        forgetting.files_with(store, text),
    )


def forget(store: Store, text: Text) -> list[int]:
    """Takes a text out of a store; the numbers of the records that held it.

    Raises SealError (nothing is taken out of a broken chain), BusyError (another process reads the
    store: the records are masked, its old pages are not yet written over), StoreError.
    """
    masked = forgetting.mask_records(store, text)
    with store.writing():
        for session in sessions.sessions(store.db):
            _derive(store, session, text)
        for table, column in WORDS:
            _mask_words(store, table, column, text)
    forgetting.write_over(store)
    return masked


def _derive(store: Store, session: Session, text: Text) -> None:
    row = sessions.load_state(store.db, store.keys, session.number)
    if row is None or store.keys is None:
        return
    seq, body, provisional = row
    waiting = provisional.encode("utf-8", "replace")
    if not (text.inside(body.encode("utf-8", "replace")) or text.inside(waiting)):
        return
    fold, last, _ = story.refold(store, session)
    seq, words = max(seq, last), text.masked(waiting).decode()
    tag = store.tag(seq)
    sessions.save_state(store.db, store.keys, session.number, seq, tag, fold.dump(), words)


def _mask_words(store: Store, table: str, column: str, text: Text) -> None:
    rows = store.db.execute(f"SELECT DISTINCT {column} FROM {table}").fetchall()  # noqa: S608
    for (value,) in rows:
        if isinstance(value, str) and text.inside(value.encode("utf-8", "replace")):
            left = text.masked(value.encode("utf-8", "replace")).decode("utf-8", "replace")
            query = f"UPDATE {table} SET {column}=? WHERE {column}=?"  # noqa: S608 - our own names
            store.db.execute(query, (left, value))
