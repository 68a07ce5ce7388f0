"""The way through a transcript: which rows are on the branch that the host goes on with.

Owns parent links (pi from version 3 on, OpenClaw, Qwen, Claude Code) and steps back in formats
without links (Codex, Gemini). Promises that a row is left out only where the transcript itself
shows another branch: a parent that nobody knows (a damaged row, a window that began elsewhere)
counts as the newest row, and a step back to a row that nobody knows leaves nothing. Never drops a
row; callers decide.
"""

from __future__ import annotations

from swapcache.model import NamedTuple


class Place(NamedTuple):
    """Where a row hangs."""

    id: str
    parent: str | None
    """The row before it; empty for a root; None in a format without links: the newest row."""
    leaf: str | None
    """The row that the branch ends with from here on (empty: before the first one); None for a row
    beside the branch."""
    leads: bool = True
    """It may begin another branch; one that may not and hangs elsewhere stays beside."""
    loose: bool = False
    """Rows hang elsewhere without another branch, too (results of calls that ran at once): only a
    request that leads begins one, and only behind another request. All else goes on."""

    @property
    def name(self) -> str:
        """What the row is called wherever it stands; empty where the id only counts rows."""
        return self.id if self.parent is not None and not self.loose else ""

    def follows(self, leaf: str, asks: bool) -> bool:
        """True for a row that just goes on behind `leaf`, or for a first one without a parent."""
        if self.loose and not (asks and self.leads and self.parent):
            return True
        return self.leaf == self.id and self.parent in (None, leaf)

    def again(self, leaf: str) -> bool:
        """True for a row that tells the newest one once more, with what came of it meanwhile."""
        return self.parent is None and self.id == leaf != ""


class Back(NamedTuple):
    """The host went back, to before a row or by so many requests."""

    before: str = ""
    turns: int = 0


class Tree:
    """The rows of a session so far."""

    def __init__(self, leaf: str = "") -> None:
        self.leaf = self._begin = leaf
        """Id of the newest row of the branch that the host goes on with; at first that of a row
        whose way nobody knows any more."""
        self._at = leaf
        """Its key: the id where rows have links, else a number and the id."""
        self._parents: dict[str, str] = {leaf: ""} if leaf else {}
        self._asks: set[str] = set()
        self._last = leaf
        """What the next row would be appended to: the leaf, or a row beside the branch."""

    def take(self, place: Place | Back | None, asks: bool) -> tuple[str, bool]:
        """Whatever a reader says of the next row. Gives (its key, whether it tells the newest row
        once more); no key for a row outside of the tree."""
        if place is None:
            return "", False
        if isinstance(place, Back):
            self.back(place)
            return "", False
        again = place.again(self.leaf)
        return self.add(place, asks), again

    def add(self, place: Place, asks: bool = False) -> str:
        """One more row, in the order of the transcript; `asks` when it is a request.

        Gives its key. A row that is told twice has one key, and counts once.
        """
        if place.parent is None:
            return self._follow(place, asks)
        if place.loose:
            return self._go_on(place, asks)
        if place.id in self._parents:
            return place.id
        parent = place.parent
        lost = bool(parent) and parent not in self._parents
        if place.leaf == place.id and (lost or parent == self._last):
            parent = self._at
        self._parents[place.id] = parent
        if place.leaf is None:
            self._last = place.id
        elif not place.leads and parent != self._at:
            pass
        elif place.leaf in ("", place.id) or place.leaf in self._parents:
            self.leaf = self._at = self._last = place.leaf
        return place.id

    def _follow(self, place: Place, asks: bool) -> str:
        if place.again(self.leaf):
            return self._at
        key = f"{len(self._parents)} {place.id}"
        self._parents[key] = self._at
        if asks:
            self._asks.add(key)
        self.leaf, self._at = place.id, key
        return key

    def _go_on(self, place: Place, asks: bool) -> str:
        if place.id not in self._parents:
            goes_on = place.follows(self.leaf, asks)
            self._parents[place.id] = self._at if goes_on else self._forked(place.parent or "")
            self._at = place.id
            if asks:
                self._asks.add(place.id)
        self.leaf = place.id
        return place.id

    def _forked(self, parent: str) -> str:
        """The row that a request hangs behind which names an older one than the newest: all that
        the turn of this one told, up to the request that came next."""
        if parent not in self._parents:
            return self._at
        last = at = self._at
        while at and at != parent:  # links lead to rows that were there before: no cycle
            if at in self._asks:
                last = self._parents[at]
            at = self._parents[at]
        return last if at else parent  # else it stands on a branch that was left before

    def back(self, step: Back) -> bool:
        """The host went back; what it left counts no more. Only in a format without links.

        False when not all that it went back behind is known.
        """
        cut, turns = "", step.turns
        for key in self.way():
            if step.before and _id(key) == step.before:
                cut = key  # a row that was told anew keeps its first place
            elif turns > 0 and key in self._asks:
                cut, turns = key, turns - 1
        if cut:
            self._at = self._parents[cut]
            self.leaf = self._at if self._at == self._begin else _id(self._at)
        return bool(cut) and turns <= 0

    def way(self) -> list[str]:
        """Keys from the newest row of the branch to a root."""
        on: dict[str, None] = {}
        at = self._at
        while at and at not in on:
            on[at] = None
            at = self._parents.get(at, "")
        return list(on)

    def left(self) -> frozenset[str]:
        """Keys of the rows that are on no way from the leaf to a root."""
        return frozenset(self._parents.keys() - set(self.way()))


def _id(key: str) -> str:
    return key.partition(" ")[2]
