"""Which of the latest messages a brief has room for, and how much of each.

Owns what a piece of a message is worth: by whose it is, its age, what exact it holds that is said
nowhere else, and what it takes. Promises that nothing passes the room, that pieces stand in their
order, and that each line says whose words it holds. Never reads a store.
"""

from __future__ import annotations

from swapcache.context.tokens import estimate
from swapcache.model import NamedTuple
from swapcache.state import rules, statements
from swapcache.state.redact import shown
from swapcache.wake import exact, stale
from swapcache.wake.page import Page, flat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from swapcache.wake.talk import Line

LEAST = 8
"""Tokens; less is not worth a line."""
RANKS = {
    "user": (12.0, 0.85, 1.5),
    "final": (2.5, 0.88, 1.2),
    "agent": (3.0, 0.985, 0.5),
    "change": (5.0, 0.96, 0.3),
    "call": (4.0, 0.95, 0.2),
    "output": (2.3, 0.96, 0.1),
}
"""What a line is worth: at first, from turn to turn (from message to message for what stands within
a turn), at least."""
ROOM = {"change": (0.08, 0.94, 16), "call": (0.07, 0.95, 16)}
"""How long a call may be: share of the budget at first, from message to message, at least."""
TURNS = ("user", "final")
SPOKEN = ("user", "final", "agent")
ONE_LINE = ("change", "call", "output")
CALLED = {"change": "call"}
PIECES = 40
"""Sentences of a message that are weighed: the first and the last."""
CLAUSE = 22
"""Tokens above which a sentence is weighed by its clauses."""
START = 4
"""Tokens that a line of its own takes."""
RECENT, AGO = 3, 0.3
"""Messages after which what somebody was about to do is done, and what telling it is worth then."""
NEW, RULE, PLACE = 1.2, 2.0, 0.85
"""What an exact name that is not told yet is worth; a rule of the owner's; a beginning or end."""
COST = 0.85
"""How much the tokens of a part count against it."""
ROUNDS, STILL = 6, 0.8
"""How often parts are weighed anew; the share of its worth that a part must have kept till then."""
PLAIN = 20
"""Tokens of a text that tell as much without an exact name in it as one name does."""
MORE = {"call": 0.45, "change": 0.8}
"""What a further part of a call is worth beside its beginning."""
_JOINTS = ("，", ", ", "; ", " - ", "、")


class Piece(NamedTuple):
    """A part of a line that can stand without the rest."""

    line: int
    order: int
    text: str
    names: tuple[str, ...]
    worth: float
    cost: int


def pieces(page: Page, lines: list[Line], budget: int) -> list[Piece]:
    """The parts of all lines, weighed."""
    found = []
    newer = stale.successors(lines)
    for n, line in enumerate(lines):
        rank = _rank(line)
        if line.who in ONE_LINE:
            line = line._replace(text=stale.renewed(line.text, newer))
        parts = _parts(page, line, budget)
        for order, text in enumerate(parts):
            names = tuple(text.split(" · ") if line.who == "output" else exact.spoken(text))
            worth = 0.4 if line.who == "output" else 1.0
            worth *= MORE.get(line.who, 1.0) if order else 1.0
            if line.who in SPOKEN:
                worth += RULE * bool(statements.kind(text))
                worth *= AGO if line.place > RECENT and stale.plans(text) else 1.0
                if text.endswith((":", "：")):
                    worth *= AGO  # what it announces is a part of its own
                elif estimate(text) >= LEAST:
                    worth += PLACE * (order == 0) + PLACE * (order >= len(parts) - 2)
            found.append(Piece(n, order, text, names, rank * worth, estimate(text) + 1))
    return found


def _parts(page: Page, line: Line, budget: int) -> list[str]:
    if line.who == "output":
        names = shown(page.short(line.text), page.key).split(" · ")
        return [" · ".join(names[n : n + 4]) for n in range(0, len(names), 4)]
    if line.who not in SPOKEN:
        safe = " ".join(shown(page.short(line.text), page.key).split())
        share, fade, least = ROOM.get(line.who, (1.0, 1.0, 0))
        return _chunks(safe, max(int(share * budget * fade**line.place), least))
    safe = shown(line.text, page.key).replace("**", "").replace("`", "")
    parts: list[str] = []
    sentences = statements.sentences(safe)
    if len(sentences) > PIECES:
        sentences = [*sentences[: PIECES // 2], *sentences[-PIECES // 2 :]]
    for sentence in sentences:
        parts += [sentence] if estimate(sentence) <= CLAUSE else _clauses(sentence)
    return parts


def _chunks(text: str, first: int) -> list[str]:
    """One line in parts cut between words: one of `first` tokens, then smaller ones."""
    parts: list[str] = []
    while text:
        head = exact.clipped(text, first if not parts else CLAUSE).removesuffix("…")
        if not head:
            break
        parts.append(head)
        text = text[len(head) :].strip()
    return parts


def _clauses(sentence: str) -> list[str]:
    """A long sentence in parts that are not too short, cut behind a comma."""
    parts, begin = [], 0
    for at in range(len(sentence)):
        if at - begin >= 24 and sentence.startswith(_JOINTS, at):
            parts.append(sentence[begin : at + 1].strip())
            begin = at + 1
    parts.append(sentence[begin:].strip())
    return [part for part in parts if part]


def chosen(
    page: Page, lines: list[Line], parts: list[Piece], say: dict[str, str], spare: int = 0
) -> list[str]:
    """The lines that fit the page, but for `spare` tokens, the newest first."""
    room = page.left - estimate(f"{say['latest']}:") - 1 - spare
    chars = page.chars - len(say["latest"].encode()) - 3
    text = "\n".join(page.lines)
    told = set(exact.spoken(text))
    kept: dict[int, dict[int, str]] = {}
    waiting = [n for n, p in enumerate(parts) if p.text not in text]
    for _ in range(ROUNDS):  # parts are counted as if each stood alone: there is room left
        found = [_joined(page, lines[n], kept[n], say) for n in sorted(kept)]
        left = room - sum(estimate(line) + 3 for line in found)
        bytes_left = chars - sum(len(line.encode()) + 3 for line in found)
        waiting = _choose(lines, parts, waiting, say, (left, bytes_left), told, kept)
        if not waiting:
            break
    return [_joined(page, lines[n], kept[n], say) for n in sorted(kept)]


def _choose(
    lines: list[Line],
    parts: list[Piece],
    waiting: list[int],
    say: dict[str, str],
    left: tuple[int, int],
    told: set[str],
    kept: dict[int, dict[int, str]],
) -> list[int]:
    """Keeps the best of the waiting parts as far as they fit; gives the others."""
    room, chars = left
    order = sorted(((_value(parts[n], told, kept), n) for n in waiting), reverse=True)
    others = []
    for value, n in order:
        part = parts[n]
        if _value(part, told, kept) < value * STILL:
            others.append(n)  # what it holds was told since: it waits for its new place
            continue
        words, cost = part.text, part.cost + 1
        if lines[part.line].who == "output":
            words = " · ".join(name for name in part.names if name not in told)
            cost = estimate(words) + 2
        start = 0 if part.line in kept else START + estimate(say[_called(lines[part.line])])
        cost += start
        size = len(words.encode()) + 4 + start * 4
        if not words:
            continue
        if room < LEAST or cost > room or size > chars:
            others.append(n)
            continue
        kept.setdefault(part.line, {})[part.order] = words
        told.update(part.names)
        room, chars = room - cost, chars - size
    return others


def _value(part: Piece, told: set[str], kept: dict[int, dict[int, str]]) -> float:
    """What a part adds to what is told, for what it takes."""
    new = sum(name not in told for name in part.names)
    start = 0 if part.line in kept else START
    plain = min(part.cost / PLAIN, 1.0)
    taken = float((part.cost + start) ** COST)
    return part.worth * (plain + NEW * min(new, 5)) / taken


def _joined(page: Page, line: Line, parts: dict[int, str], say: dict[str, str]) -> str:
    text, last = "", -1
    for order in sorted(parts):
        joint = " · " if line.who == "output" else " " if order == last + 1 else " … "
        text += (joint if text else "") + parts[order]
        last = order
    more = "…" if line.who in ROOM and not parts.get(len(parts) - 1) else ""
    return f"{say[_called(line)]}: {flat(text, page.key)}{more}"


def _called(line: Line) -> str:
    return CALLED.get(line.who, line.who)


def _rank(one: Line) -> float:
    base, fade, least = RANKS[one.who]
    return max(base * fade ** (one.turn if one.who in TURNS else one.place), least)


LOOKING = ("cat", "ls", "head", "tail", "grep", "rg", "find", "sed", "wc", "echo", "cd", "mkdir")
"""Programs that only look: no command to remember."""


def often(lines: list[Line]) -> list[str]:
    """The commands that were run more than once, the most frequent first."""
    counts: dict[str, int] = {}
    for line in lines:
        name, _, words = line.text.partition(" ")
        shell = line.who == "call" and name.lower() in rules.SHELL_TOOLS
        if shell and (stem := rules.stem(words)):
            counts[stem] = counts.get(stem, 0) + 1
    often = sorted((s for s in counts if counts[s] > 1 and " " in s), key=lambda s: -counts[s])
    return [f"{stem} ×{counts[stem]}" for stem in often if stem.split()[0] not in LOOKING]
