"""Whose memory a store is says the row beside the chain."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from swapcache.model import Identity
    from swapcache.store.store import Store

KIND = POINTER = "trust"
NONE = -1


def last(store: Store) -> int:
    """None."""
    return NONE


def owner(store: Store) -> Identity | None:
    """Unknown to the chain."""
    return None
