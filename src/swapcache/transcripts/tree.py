"""The tree that some hosts keep in a transcript: which rows are on the branch that goes on.

Owns the parent links (pi from version 3 on, OpenClaw). Promises that a row is left out only where
the transcript itself shows another branch: a parent that nobody knows (a damaged row, a window that
began elsewhere) counts as the newest row. Never drops a row; callers decide.
"""

from __future__ import annotations

from swapcache.model import NamedTuple


class Place(NamedTuple):
    """Where a row hangs."""

    id: str
    parent: str
    """The row before it; empty for a root."""
    leaf: str | None
    """The row that the branch ends with from here on (empty: before the first one); None for a row
    beside the branch."""

    def follows(self, leaf: str) -> bool:
        """True for a row that just goes on behind `leaf`, or for a first one without a parent."""
        return self.leaf == self.id and self.parent == leaf


class Tree:
    """The rows of a session so far."""

    def __init__(self) -> None:
        self.leaf = ""
        """The newest row of the branch that the host goes on with."""
        self._parents: dict[str, str] = {}
        self._last = ""
        """What the next row would be appended to: the leaf, or a row beside the branch."""

    def add(self, place: Place) -> None:
        """One more row, in the order of the transcript. A row that is told twice counts once."""
        if place.id in self._parents:
            return
        parent = place.parent
        lost = bool(parent) and parent not in self._parents
        if place.leaf == place.id and (lost or parent == self._last):
            parent = self.leaf
        self._parents[place.id] = parent
        if place.leaf is None:
            self._last = place.id
        elif place.leaf in ("", place.id) or place.leaf in self._parents:
            self.leaf = self._last = place.leaf

    def left(self) -> frozenset[str]:
        """Ids of the rows that are on no way from the leaf to a root."""
        on: set[str] = set()
        at = self.leaf
        while at and at not in on:
            on.add(at)
            at = self._parents.get(at, "")
        return frozenset(self._parents.keys() - on)
