"""A page: lines that fit a budget, and the cuts that make them fit.

Owns the count of what is left, in tokens and bytes, and of what was left out. Promises never to
pass either, and cuts between characters as people see them. Never decides what is said.
"""

from __future__ import annotations

from swapcache.context.tokens import estimate
from swapcache.state.redact import shown
from swapcache.wake import exact, fence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

CHARS = 9000
"""Every host shows this many characters uncut."""
WORDS = 12
SOME = 3
"""So many paths below a directory make it worth a name."""


class Page:
    """Lines that fit; the rest is counted."""

    def __init__(
        self, budget: int, key: bytes, say: dict[str, str], withheld: Sequence[str] = ()
    ) -> None:
        self.lines: list[str] = []
        self.say = say
        self.mark = fence.identifier()
        self.root = ""
        widest = "0" * len(self.mark)  # the same page whatever the random id costs
        frame = estimate(fence.frame("", widest)) + 2
        last = [say["omitted"].format(count=99999), *withheld[:1]]
        self.reserve = sum(estimate(line) + 1 for line in last)
        if self.reserve > (budget - frame) // 2:
            self.reserve = estimate(say["omitted-short"].format(count=99999)) + 1
        self.left = budget - frame - self.reserve
        self.kept = sum(len(line.encode()) + 1 for line in last)
        self.chars = CHARS - len(fence.frame("", self.mark)) - self.kept - 2
        self.omitted = 0
        self.key = key

    def short(self, text: str) -> str:
        """`text` with the paths below the common directory as they are seen from there."""
        return below(text, self.root) if self.root else text

    def says(self, text: str) -> bool:
        """True when the page holds these words; a single one may stand there by chance."""
        return len(text) >= WORDS and any(text in line for line in self.lines)

    def line(self, text: str) -> bool:
        """Adds a line if it fits."""
        cost = estimate(text) + 1
        if cost > self.left or len(text.encode()) + 1 > self.chars:
            return False
        self.lines.append(text)
        self.left -= cost
        self.chars -= len(text.encode()) + 1
        return True

    def section(self, label: str, texts: Iterable[str], room: int = 0) -> None:
        """A label and its entries; entries that do not fit, or not in `room`, are counted."""
        entries = [flat(t, self.key) for t in texts]
        if not entries:
            return
        if len(entries) == 1 and self.line(f"{label}: {entries[0]}"):
            return
        before = self.left, self.chars
        if not self.line(f"{label}:"):
            self.omitted += len(entries)
            return
        least = before[0] - room if room else 0
        fitting = 0
        for entry in entries:
            cut = "" if fitting and self.left < least else entry
            fitting += bool(cut) and self.line(f"- {cut}")
        if not fitting:
            self.lines.pop()
            self.left, self.chars = before
        self.omitted += len(entries) - fitting

    def packed(self, label: str, texts: list[str], room: int = 0) -> None:
        """Short entries on one line, as many as fit."""
        entries = [flat(self.short(t), self.key) for t in texts]
        left = min(self.left, room or self.left)
        line = f"{label}: "
        shown = 0
        for entry in entries:
            longer = line + ("" if not shown else " · ") + entry
            if estimate(longer) + 1 > left or len(longer.encode()) + 1 > self.chars:
                break
            line, shown = longer, shown + 1
        if shown:
            self.line(line)
        self.omitted += len(entries) - shown

    def quote(self, label: str, text: str, share: int, cut: str) -> str:
        """A text with its own line ends, cut to about `share` tokens; gives what was cut off."""
        whole, rest = shown(text, self.key), ""
        room = min(share, self.left - estimate(label) - 4)
        if estimate(quoted(whole)) > room or len(quoted(whole).encode()) > self.chars - 80:
            limit = self.chars - 80 - len(label.encode())
            head = longest(
                whole,
                lambda head: (
                    estimate(quoted(head + cut)) <= room
                    and len(quoted(head + cut).encode()) <= limit
                ),
            )
            whole, rest = head + cut if head else "", whole[len(head) :]
        body = quoted(whole)
        if body and self.line(f"{label}:\n{body}"):
            return rest
        self.omitted += 1
        return rest or whole


def flat(text: str, key: bytes) -> str:
    """`text` on one line; made safe after that, since joining lines may join a marker."""
    return shown(" ".join(text.split()), key)


def quoted(text: str) -> str:
    return "\n".join(f"  > {line}" for line in text.splitlines() if line.strip())


def longest(text: str, fits: Callable[[str], bool]) -> str:
    """The longest head of `text` that fits, not cut inside a character as people see it."""
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if fits(text[:middle]):
            low = middle
        else:
            high = middle - 1
    while 0 < low < len(text) and exact.joins(text[low], text[low - 1]):
        low -= 1
    return text[:low]


# -- paths below a directory -----------------------------------------------------------------------


def common(paths: Iterable[str]) -> str:
    """The directory that saves most when the paths below it are told as seen from it."""
    counts: dict[str, int] = {}
    for path in paths:
        parts = path.split("/")[:-1] if path.startswith("/") else []
        for depth in range(3, len(parts) + 1):
            place = "/".join(parts[:depth])
            counts[place] = counts.get(place, 0) + 1
    worth = {place: (count - 1) * len(place) for place, count in counts.items() if count >= SOME}
    return max(worth, key=lambda place: (worth[place], place), default="")


def below(text: str, root: str) -> str:
    """`text` with paths below `root` relative to it, without a change of directory to it or to a
    directory above."""
    if "cd /" in text:
        parts = root.split("/")
        for depth in range(len(parts), 2, -1):
            place = "/".join(parts[:depth])
            text = text.replace(f"cd {place} && ", "").replace(f"cd {place}; ", "")
    pieces = text.split(f"{root}/")
    made = pieces[0]
    for piece in pieces[1:]:
        inside = made[-1:].isalnum() or made[-1:] in ("/", ".", "-", "_")
        made += f"{root}/{piece}" if inside else piece
    return made
