"""The end of a transcript as far as it was read, and whether that is enough.

Owns which of its rows are taken. Promises that rows which are read later, from before it, change
nothing of what was found enough, unless a parent lies more than REACH bytes before it; behind
damage, more than NEAR. Never reads.
"""

from __future__ import annotations

from swapcache.model import Damage, Message, NamedTuple, Row
from swapcache.transcripts.tree import Back, Place, Tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from swapcache.transcripts.formats import Format

    Search = Callable[[Iterable[bytes], int, int], int]
    """Gives where the nearest of some words stands before a place within a reach, or -1."""

REACH = 64 << 20
"""So far back it is looked for a parent, or for what a step back names; then it counts as lost."""
NEAR = 1 << 20
"""So far where the row hangs on something that was lost right before it, by all that is seen."""
AROUND = 64
"""A host that goes back to a row may have told it anew: so many rows before it are looked at."""
BEHIND = 1 << 20
"""So many bytes before a root are looked at for rows that hang nowhere."""
LEFT = "on a branch that was left"
AGAIN = "told again"
NONE = "no message"
BLANK = "blank"
LOST = "lost"
CHILD = "a child agent's"


class Told(NamedTuple):
    """A message and where its row begins."""

    start: int
    message: Message


class Entry(NamedTuple):
    """What is known of a row that was read; the newest has number 0."""

    start: int
    place: Place | Back | None
    label: str
    """Its kind of message, or why it is none."""
    spoken: bool
    """It is a message."""
    message: Message | None
    """Only one that may be taken."""
    damage: Damage | None


class Taken(NamedTuple):
    """What is taken of the rows so far."""

    messages: tuple[Told, ...]
    """The oldest first."""
    lost: tuple[Damage, ...]
    skipped: dict[str, int]
    gap: bool
    decided: bool
    """Every step back found what it went behind, and the oldest message is told nowhere else."""
    rooted: bool
    """Its branch begins with a root: there is nothing before it."""


class Window:
    """Rows from a transcript's end on."""

    def __init__(
        self, reader: Format, wanted: int, keep: Callable[[Message], bool], search: Search
    ) -> None:
        self._reader, self._wanted, self._keep, self._search = reader, wanted, keep, search
        self._entries: list[Entry] = []
        self._bytes = 0
        self._open: dict[str, list[str]] = {}
        """Ids that rows name and that were not read yet, and the ids of these rows."""
        self._torn: set[str] = set()
        """Those that a row names right behind something that was lost."""
        self._behind: set[str] = set()
        """Those that a step back names."""
        self._first = Place("", None, None)
        """The place of the oldest row that has one."""
        self._oldest = -1
        """Its number."""
        self._kept, self._goal, self._rows, self._until = 0, wanted, 0, 1 << 62
        """Messages so far; how many, how many rows, and down to where they are looked at next."""
        self._root = 0
        """At how many bytes to stop, because a root was met."""

    def add(self, row: Row, size: int) -> bool:
        """The row before those that are known; True when no more are needed."""
        entry = self._entry(row, size)
        self._entries.append(entry)
        self._bytes += size
        if entry.label == LOST and self._oldest == len(self._entries) - 2:
            self._torn.add(self._first.parent or "")
        if row.raw[:1] == b"\0" and isinstance(entry.place, Place):
            self._torn.add(entry.place.parent or "")  # zeros are there for what was lost
        root = self._note(entry.place)
        if entry.message is not None:
            self._kept += 1
        if root and len(self._entries) >= self._rows and self.taken().rooted:
            self._root = self._root or self._bytes + BEHIND
        if entry.start > self._until:
            return False
        if self._root and self._bytes >= self._root and self._settled(entry.start):
            self._root = 0
            taken = self.taken()
            if taken.rooted and taken.decided:
                return True
        due = self._kept >= self._goal and len(self._entries) >= self._rows
        return due and self._settled(entry.start) and self._enough()

    def _entry(self, row: Row, size: int) -> Entry:
        damage = Damage(row.start, size, row.reason) if row.reason else None
        if row.value is None:
            return Entry(row.start, None, LOST if row.reason else BLANK, False, None, damage)
        message = self._reader.message(row.value)
        place = self._reader.place(row.value) if self._reader.place else None
        if message is None:
            return Entry(row.start, place, NONE, False, None, damage)
        label = CHILD if message.sidechain else message.kind
        kept = message if self._keep(message) else None
        return Entry(row.start, place, label, True, kept, damage)

    def _note(self, place: Place | Back | None) -> bool:
        """What the row settles and what it asks for; True for a root, before which its branch has
        nothing: loose rows go on all the same."""
        if place is None:
            return False
        if isinstance(place, Back):
            if place.before:
                self._open[place.before] = []
                self._behind.add(place.before)
            return False
        if self._open.pop(place.id, None) is not None and place.id in self._behind:
            self._behind.remove(place.id)
            self._rows = max(self._rows, len(self._entries) + AROUND)
        if place.parent or (place.parent == "" and place.leaf is not None):
            self._open.setdefault(place.parent or place.id, []).append(place.id)
        if place.parent is not None:
            self._first, self._oldest = place, len(self._entries) - 1
        return place.parent == "" and place.leaf == place.id and not place.loose

    def _undecided(self) -> list[str]:
        """The ids that have to be found, or to be given up.

        The oldest row hangs on something before it, whatever that is, so its parent need not be
        known; unless it must be the newest one there for the row to count. A row whose parent is
        not found, or a root, may be one that is told again, so it is looked for too.
        """
        first, found = self._first, list(self._open)
        plain = first.leads and first.leaf in (first.id, None)
        if plain and first.parent and self._open.get(first.parent) == [first.id]:
            found.remove(first.parent)
        return found

    def _settled(self, start: int) -> bool:
        """True when nothing before the oldest row changes what the known ones mean."""
        if not self._first.leads and not self._first.parent:
            return False  # whether it counts depends on there being a row before it
        missing = self._undecided()
        if missing:
            words = {*missing, *(name for of in missing for name in self._open[of])}
            reach = NEAR if self._torn.issuperset(missing) else REACH
            found = self._search([w.encode("utf-8", "replace") for w in words], start, reach)
            if found >= 0:
                self._until = found
                return False
        for name in missing:
            del self._open[name]
        return True

    def _enough(self) -> bool:
        taken = self.taken()
        if len(taken.messages) >= self._wanted and taken.decided:
            return True
        self._goal = self._kept + max(0, self._wanted - len(taken.messages))
        self._rows = len(self._entries) * 5 // 4 + 1
        return False

    def taken(self) -> Taken:
        """The messages on the branch that the host goes on with."""
        way = _Way(self._entries)
        messages, lost, skipped = list[Told](), list[Damage](), dict[str, int]()
        number = -1
        for number, entry in enumerate(self._entries):
            if entry.damage is not None:
                lost.append(entry.damage)
            label = way.label(number, entry)
            if not label and entry.message is not None:
                messages.append(Told(entry.start, entry.message))
                if len(messages) == self._wanted:
                    break
                continue
            label = label or entry.label
            skipped[label] = skipped.get(label, 0) + 1
        alone = len(messages) < self._wanted or number < self._oldest or self._oldest < 0
        return Taken(
            tuple(reversed(messages)),
            tuple(reversed(lost)),
            skipped,
            way.gap(number),
            way.decided and alone,
            way.rooted,
        )


class _Way:
    """Which rows are on the branch that the host goes on with."""

    def __init__(self, entries: list[Entry]) -> None:
        tree, self.decided = Tree(), True
        self._keys: list[str] = []
        self._gaps: list[tuple[int, str]] = []
        """(number, key) of rows whose parent is not there."""
        holders: dict[str, int] = {}
        roots: set[str] = set()
        known: set[str] = set()
        for number in range(len(entries) - 1, -1, -1):
            place, label = entries[number].place, entries[number].label
            if isinstance(place, Back):
                found = tree.back(place)
                self.decided = self.decided and (found or not place.turns)
                self._keys.append("")
                continue
            key, _ = tree.take(place, label == "request")
            self._keys.append(key)
            if place is None or not key:
                continue
            if place.parent is None:
                holders[key] = number  # the newest telling knows most
                continue
            holders.setdefault(key, number)
            if place.parent == "":
                if not place.loose:
                    roots.add(key)
            elif place.parent not in known and known:
                self._gaps.append((number, key))
            known.add(key)
        self._keys.reverse()
        self._holders, self._left = holders, tree.left()
        way = tree.way()
        self.rooted = bool(way) and way[-1] in roots

    def label(self, number: int, entry: Entry) -> str:
        """Why a row's message is not taken, as far as that is the branch's doing; or empty."""
        key = self._keys[number]
        if not entry.spoken or not key:
            return ""
        if key in self._left:
            return LEFT
        return "" if self._holders[key] == number else AGAIN

    def gap(self, oldest: int) -> bool:
        """True when a row behind that one hangs on nothing that is there."""
        return any(at < oldest and key not in self._left for at, key in self._gaps)
