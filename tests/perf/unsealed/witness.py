"""Nothing is remembered."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from swapcache.store.seal import Keys


class Seen:
    """Never made."""


def read(path: str, keys: Keys | None) -> Seen | None:
    """Nothing."""
    return None


def write(path: str, keys: Keys, store: str, seq: int, tag: str, last: Seen | None) -> None:
    """Nothing."""
