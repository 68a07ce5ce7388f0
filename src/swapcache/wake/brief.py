"""The brief: a state as lines that fit a budget, most important first.

Owns order, budget and cuts. Promises never to pass the budget, to count what it left out, and to
show of untrusted words only what the gate lets pass, labelled, with stubs for the newest of the
rest. Never reads a store or a clock.
"""

from __future__ import annotations

import unicodedata

from swapcache.context.tokens import estimate
from swapcache.model import UNTRUSTED, Item, NamedTuple, WorkingState
from swapcache.state import gate
from swapcache.state.redact import shown
from swapcache.wake import fence, labels

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

CHARS = 9000
"""Every host shows this many characters uncut."""
REQUEST_SHARE, REPLY_SHARE = 0.4, 0.2
STUB_SHARE, STUBS = 0.04, 8
"""Stubs of withheld words: that part of the budget, and that many, at most."""


class Brief(NamedTuple):
    """A rendered brief."""

    text: str
    tokens: int
    omitted: int
    withheld: int


class _Page:
    """Lines that fit; the rest is counted."""

    def __init__(
        self, budget: int, key: bytes, say: dict[str, str], withheld: Sequence[str] = ()
    ) -> None:
        self.lines: list[str] = []
        self.say = say
        self.mark = fence.identifier()
        frame = estimate(fence.frame("", self.mark)) + 2
        last = [
            say["omitted"].format(count=99999),
            next(iter(withheld), say["withheld"].format(count=99999)),
        ]
        self.reserve = sum(estimate(line) + 1 for line in last)
        if self.reserve > (budget - frame) // 2:
            self.reserve = estimate(say["omitted-short"].format(count=99999)) + 1
        self.left = budget - frame - self.reserve
        self.kept = sum(len(line.encode()) + 1 for line in last)
        self.chars = CHARS - len(fence.frame("", self.mark)) - self.kept - 2
        self.omitted = 0
        self.key = key

    def line(self, text: str) -> bool:
        """Adds a line if it fits."""
        cost = estimate(text) + 1
        if cost > self.left or len(text.encode()) + 1 > self.chars:
            return False
        self.lines.append(text)
        self.left -= cost
        self.chars -= len(text.encode()) + 1
        return True

    def section(self, label: str, texts: Iterable[str]) -> None:
        """A label and its entries; entries that do not fit are counted."""
        entries = [flat(t, self.key) for t in texts]
        if not entries:
            return
        if len(entries) == 1 and self.line(f"{label}: {entries[0]}"):
            return
        room = self.left, self.chars
        if not self.line(f"{label}:"):
            self.omitted += len(entries)
            return
        fitting = sum(self.line(f"- {entry}") for entry in entries)
        if not fitting:
            self.lines.pop()
            self.left, self.chars = room
        self.omitted += len(entries) - fitting

    def packed(self, label: str, texts: list[str]) -> None:
        """Short entries on one line, as many as fit."""
        entries = [flat(t, self.key) for t in texts]
        line = f"{label}: "
        shown = 0
        for entry in entries:
            longer = line + ("" if not shown else " · ") + entry
            if estimate(longer) + 1 > self.left or len(longer.encode()) + 1 > self.chars:
                break
            line, shown = longer, shown + 1
        if shown:
            self.line(line)
        self.omitted += len(entries) - shown

    def quote(self, label: str, text: str, share: int, cut: str) -> bool:
        """A text with its own line ends, cut to about `share` tokens."""
        whole = shown(text, self.key)
        room = min(share, self.left - estimate(label) - 4)
        if estimate(_quoted(whole)) > room or len(_quoted(whole).encode()) > self.chars - 80:
            limit = self.chars - 80 - len(label.encode())
            whole = _longest(
                whole,
                lambda head: (
                    estimate(_quoted(head + cut)) <= room
                    and len(_quoted(head + cut).encode()) <= limit
                ),
            )
            whole = whole + cut if whole else ""
        body = _quoted(whole)
        if body and self.line(f"{label}:\n{body}"):
            return True
        self.omitted += 1
        return False


def flat(text: str, key: bytes) -> str:
    """`text` on one line; made safe after that, since joining lines may join a marker."""
    return shown(" ".join(text.split()), key)


def _quoted(text: str) -> str:
    return "\n".join(f"  > {line}" for line in text.splitlines() if line.strip())


def _longest(text: str, fits: Callable[[str], bool]) -> str:
    """The longest head of `text` that fits, not cut inside a character as people see it."""
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if fits(text[:middle]):
            low = middle
        else:
            high = middle - 1
    while 0 < low < len(text) and _joins(text[low], text[low - 1]):
        low -= 1
    return text[:low]


def clip(text: str, tokens: int) -> str:
    """The longest head of `text` within `tokens`."""
    return _longest(text, lambda head: estimate(head) <= tokens)


def _joins(char: str, before: str) -> bool:
    marks = "\u200d\ufe0f\ufe0e"
    skin = "\U0001f3fb" <= char <= "\U0001f3ff"
    flag = "\U0001f1e6" <= char <= "\U0001f1ff"
    return bool(unicodedata.combining(char)) or char in marks or before == "\u200d" or skin or flag


def _of(state: WorkingState, *kinds: str) -> list[Item]:
    return [i for i in state.items if i.kind in kinds and i.origin != UNTRUSTED]


def language(state: WorkingState) -> str:
    """The language that the person writes."""
    return labels.language([i.text for i in _of(state, "request", "next", "task")])


def full(
    head: list[str],
    state: WorkingState,
    finished: dict[str, str],
    answered: bool,
    budget: int,
    key: bytes,
    tail: list[str],
) -> Brief:
    """The whole state. `head` comes first, `tail` (other sessions) before the recall line.

    `head` is ours and may look like ours: what others wrote in it is `flat` already.
    """
    say = labels.TEXT[language(state)]
    withheld = gate.withheld(state)
    closing = _withheld(withheld, say, budget)
    page = _Page(budget, key, say, closing)
    for line in head:
        page.line(" ".join(line.split()))
    requests = _of(state, "request")
    _next(page, state, say, answered or not requests)
    tasks = [i for i in _of(state, "task") if i.status in ("open", "active")]
    marked = [f"{i.text} ({say['active']})" if i.status == "active" else i.text for i in tasks]
    page.section(say["task"], marked)
    if requests:
        last = requests[-1]
        label = say["request"] if answered else say["unanswered"]
        page.quote(
            label, last.text, int(budget * REQUEST_SHARE), say["cut"].format(record=last.record)
        )
    calls(page, state, finished, say)
    _middle(page, state, say)
    replies = _of(state, "reply")
    if replies:
        last = replies[-1]
        page.quote(
            say["reply"],
            last.text,
            int(budget * REPLY_SHARE),
            say["cut"].format(record=last.record),
        )
    older = [shown(i.text, key) for i in reversed(requests[:-1])]
    earlier = [t if (cut := clip(t, 60)) == t else f"{cut}…" for t in older]
    page.section(say["earlier"], earlier)
    for line in tail:
        page.line(flat(line, key))
    return _finish(page, say, len(withheld), closing)


def _withheld(items: list[Item], say: dict[str, str], budget: int) -> list[str]:
    """The line about withheld words, the longest form first: with stubs of the newest ones."""
    if not items:
        return []
    text = say["withheld"].format(count=len(items))
    stubs = [gate.stub(i) for i in reversed(items[-STUBS:])]
    forms = []
    for number in range(len(stubs), 0, -1):
        rest = len(items) - number
        forms.append(f"{text}: {' · '.join(stubs[:number])}" + (f" · +{rest}" if rest else ""))
    room = estimate(text) + max(estimate(stubs[0]), int(budget * STUB_SHARE)) + 3
    return [*(form for form in forms if estimate(form) <= room), text]


def _middle(page: _Page, state: WorkingState, say: dict[str, str]) -> None:
    page.section(say["question"], [i.text for i in _of(state, "question")])
    page.section(say["decision"], [i.text for i in _of(state, "decision", "constraint")])
    failures = [f"{gate.quoted(i.text)} ({i.status})" for i in _of(state, "failure")]
    page.section(say["failure"], failures)
    errors = [i for i in state.items if i.kind == "error" and i.status == "open"]
    page.section(say["error"], [gate.shown(i) for i in reversed(errors)])
    page.section(say["insight"], [i.text for i in _of(state, "insight")])
    page.packed(say["change"], _passed(state, "change"))
    page.section(say["commit"], _passed(state, "commit"))
    page.packed(say["fact"], [i.text for i in reversed(_of(state, "fact"))])
    page.packed(say["name"], _passed(state, "name"))
    page.section(say["done"], [i.text for i in reversed(_of(state, "done"))])
    page.section(say["discussed"], [i.text for i in reversed(_of(state, "discussed"))])


def _passed(state: WorkingState, kind: str) -> list[str]:
    """What the gate lets pass of the items of a kind, the newest first."""
    items = [i for i in state.items if i.kind == kind]
    return [text for i in reversed(items) if (text := gate.shown(i))]


def _next(page: _Page, state: WorkingState, say: dict[str, str], answered: bool) -> None:
    stated = [i.text for i in _of(state, "next")]
    active = sorted((i for i in _of(state, "task") if i.status == "active"), key=lambda i: i.record)
    if stated:
        page.section(say["next"], stated)
    elif active:
        page.section(say["next"], [say["derived"].format(text=active[-1].text)])
    elif not answered:
        page.section(say["next"], [say["open-request"]])


def calls(page: _Page, state: WorkingState, finished: dict[str, str], say: dict[str, str]) -> None:
    """Calls without a result; those that a hook saw finish stand apart."""
    named = [
        (i.key, gate.shown(i) + ("" if gate.whole(i) else say["fenced"].format(record=i.record)))
        for i in state.items
        if i.kind == "unknown"
    ]
    page.section(say["unknown"], [text for key, text in named if key not in finished])
    page.section(
        say["finished"],
        [
            text + (f" -> {gate.quoted(finished[key])}" if finished[key] else "")
            for key, text in named
            if key in finished
        ],
    )


def delta(
    head: list[str],
    state: WorkingState,
    finished: dict[str, str],
    lost: str,
    elsewhere: list[str],
    budget: int,
    key: bytes,
) -> Brief | None:
    """Only what a resumed conversation does not hold; None when that is nothing.

    `head` is ours, see `full`.
    """
    say = labels.TEXT[language(state)]
    if not (lost or elsewhere or any(i.kind == "unknown" for i in state.items)):
        return None
    page = _Page(budget, key, say)
    for line in head:
        page.line(" ".join(line.split()))
    calls(page, state, finished, say)
    if lost:
        page.quote(say["lost-request"], lost, int(budget * REQUEST_SHARE), "…")
    page.section(say["elsewhere"], elsewhere)
    return _finish(page, say, 0, [])


def lines(texts: list[str], budget: int, key: bytes) -> Brief:
    """A few sentences of ours without a state: pointers, other sessions."""
    page = _Page(budget, key, labels.TEXT["en"])
    for text in texts:
        if not page.line(flat(text, key)):
            page.omitted += 1
    return _wrap(page, 0)


def _finish(page: _Page, say: dict[str, str], withheld: int, closing: list[str]) -> Brief:
    page.left += page.reserve
    page.chars += page.kept
    names = ("omitted", "omitted-short") if page.omitted else ("recall",)
    any(page.line(say[name].format(count=page.omitted)) for name in names)
    any(page.line(form) for form in closing)
    return _wrap(page, withheld)


def _wrap(page: _Page, withheld: int) -> Brief:
    text = fence.frame("\n".join(page.lines), page.mark)
    return Brief(text, estimate(text), page.omitted, withheld)
