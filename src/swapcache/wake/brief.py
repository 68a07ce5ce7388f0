"""The brief: a state as lines that fit a budget, most important first.

Owns order, budget and cuts. Promises never to pass the budget, to count what it left out, and to
show of untrusted words only what the gate lets pass, labelled, with stubs for the newest of the
rest. Never reads a store or a clock.
"""

from __future__ import annotations

from swapcache.context.tokens import estimate
from swapcache.model import UNTRUSTED, Item, NamedTuple, WorkingState
from swapcache.state import gate
from swapcache.state.redact import shown
from swapcache.wake import exact, fence, labels, stale, timeline
from swapcache.wake.page import Page, common, flat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from swapcache.wake import talk

ROOMY = 1000
"""Tokens from which on a brief says the same thing in full words."""
REQUEST_SHARE, REPLY_SHARE = 0.28, 0.25
COMMAND_SHARE = 0.022
FACT_SHARE_ROOMY = 0.03
FACT_SHARE, SAID_SHARE, ERROR_SHARE, CHANGE_SHARE, COMMIT_SHARE = 0.05, 0.08, 0.11, 0.07, 0.05
"""Parts of the budget that a section may take; what they leave is the latest messages'."""
REPLACES = "replaces "
ERROR_TURNS = 3
"""Requests after which a small brief has no room for an error that nobody came back to."""
STUB_SHARE, STUBS = 0.04, 8
"""Stubs of withheld words: that part of the budget, and that many, at most."""


class Brief(NamedTuple):
    """A rendered brief."""

    text: str
    tokens: int
    omitted: int
    withheld: int


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
    said: Iterable[talk.Line] = (),
) -> Brief:
    """The whole state. `head` comes first, `tail` (other sessions) before the recall line.

    `head` is ours and may look like ours: what others wrote in it is `flat` already.
    """
    say = labels.TEXT[language(state)]
    withheld = gate.withheld(state)
    closing = _withheld(withheld, say, budget)
    page = Page(budget, key, say, closing)
    for line in head:
        page.line(" ".join(line.split()))
    page.root = common(i.text.rpartition(" ")[2] for i in _of(state, "change", "fact"))
    if page.root:
        page.line(flat(f"{say['root']} {page.root}/", key))
    requests = _of(state, "request")
    _next(page, state, say, answered or not requests, budget)
    tasks = [i for i in _of(state, "task") if i.status in ("open", "active")]
    marked = [f"{i.text} ({say['active']})" if i.status == "active" else i.text for i in tasks]
    page.section(say["task"], marked)
    rest = ""
    if requests:
        last = requests[-1]
        label = say["request"] if answered else say["unanswered"]
        rest = page.quote(
            label, last.text, int(budget * REQUEST_SHARE), say["cut"].format(record=last.record)
        )
    calls(page, state, finished, say)
    _middle(page, state, say, budget)
    replies = _of(state, "reply")
    if replies:
        last = replies[-1]
        words = shown(last.text, key)
        told = exact.condensed(words, int(budget * REPLY_SHARE))
        whole = len(told) >= len(" ".join(words.split()))
        page.section(say["reply"], [told if whole else told + say["part"].format(n=last.record)])
    for line in tail:
        page.line(flat(line, key))
    _latest(page, state, list(said), rest, say, budget)
    return _finish(page, say, len(withheld), closing)


def _latest(
    page: Page,
    state: WorkingState,
    said: list[talk.Line],
    rest: str,
    say: dict[str, str],
    budget: int,
) -> None:
    """The latest messages, and the exact names that stand in nothing else.

    `rest` is what the quoted request has no room for.
    """
    requests = _of(state, "request")
    known = {i.record for i in said if i.who == "user"} | {i.record for i in requests[-1:]}
    earlier = [
        exact.condensed(shown(i.text, page.key), 60)
        for i in reversed(requests)
        if i.record not in known
    ]
    page.section(say["earlier"], earlier)
    told = {i.record for i in _of(state, "reply")}
    given_up = [
        (i.record, i.status.removeprefix(REPLACES))
        for i in _of(state, "decision", "constraint")
        if i.status.startswith(REPLACES)
    ]
    said = stale.settled(said, given_up, say["replaced"])
    asked = {i.record for i in requests[-1:]}
    said = [i._replace(text=rest) if i.who == "user" and i.record in asked else i for i in said]
    lines = [i for i in said if i.text and (i.record not in told or i.who not in TOLD)]
    parts = timeline.pieces(page, lines, budget)
    room = int(budget * (FACT_SHARE if budget < ROOMY else FACT_SHARE_ROOMY))
    chosen = timeline.chosen(page, lines, parts, say, room)
    told_text = "\n".join([*page.lines, *chosen])
    facts = [page.short(i.text) for i in reversed(_of(state, "fact"))]
    new = exact.unsaid(facts, told_text)
    page.packed(say["fact"], new, room)
    page.packed(say["command"], timeline.often(lines), int(budget * COMMAND_SHARE))
    chosen = timeline.chosen(page, lines, parts, say)
    page.section(say["latest"], chosen)
    page.omitted += len(lines) - len(chosen)


TOLD = ("final", "agent")


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


def _laid_down(page: Page, state: WorkingState, say: dict[str, str], budget: int) -> None:
    """The owner's decisions and constraints, the newest first; not what the request says anyway."""
    items = sorted(_of(state, "decision", "constraint"), key=lambda i: (i.stated, i.record))
    texts = []
    for item in reversed(items):
        old = item.status.removeprefix(REPLACES) if item.status.startswith(REPLACES) else ""
        if not page.says(flat(item.text, page.key)):
            texts.append(item.text + (f" ({say['replaces'].format(old=old)})" if old else ""))
    page.section(say["decision"], texts, int(budget * SAID_SHARE))


def _middle(page: Page, state: WorkingState, say: dict[str, str], budget: int) -> None:
    page.section(say["question"], [i.text for i in _of(state, "question")])
    _laid_down(page, state, say, budget)
    failures = [f"{gate.quoted(i.text)} ({i.status})" for i in _of(state, "failure")]
    page.section(say["failure"], failures)
    errors = [i for i in state.items if i.kind == "error" and i.status == "open"]
    since = min((i.record for i in _of(state, "request")[-ERROR_TURNS:]), default=-1)
    recent = [i for i in errors if i.record > since or budget >= ROOMY]
    page.omitted += len(errors) - len(recent)
    told = [page.short(gate.shown(i)) for i in reversed(recent)]
    page.section(say["error"], told, int(budget * ERROR_SHARE))
    page.section(say["insight"], [i.text for i in _of(state, "insight")])
    page.packed(say["change"], _passed(state, "change"), int(budget * CHANGE_SHARE))
    page.section(say["commit"], _passed(state, "commit"), int(budget * COMMIT_SHARE))
    page.packed(say["name"], _passed(state, "name"), int(budget * FACT_SHARE))
    page.section(say["done"], [i.text for i in reversed(_of(state, "done"))])
    page.section(say["discussed"], [i.text for i in reversed(_of(state, "discussed"))])


def _passed(state: WorkingState, kind: str) -> list[str]:
    """What the gate lets pass of the items of a kind, the newest first."""
    items = [i for i in state.items if i.kind == kind]
    return [text for i in reversed(items) if (text := gate.shown(i))]


def _next(
    page: Page, state: WorkingState, say: dict[str, str], answered: bool, budget: int
) -> None:
    stated = [i.text for i in _of(state, "next")]
    active = sorted((i for i in _of(state, "task") if i.status == "active"), key=lambda i: i.record)
    if stated:
        page.section(say["next"], stated)
    elif active:
        page.section(say["next"], [say["derived"].format(text=active[-1].text)])
    elif not answered and budget >= ROOMY:  # the request's label says it too
        page.section(say["next"], [say["open-request"]])


def calls(page: Page, state: WorkingState, finished: dict[str, str], say: dict[str, str]) -> None:
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
    page = Page(budget, key, say)
    for line in head:
        page.line(" ".join(line.split()))
    calls(page, state, finished, say)
    if lost:
        page.quote(say["lost-request"], lost, int(budget * REQUEST_SHARE), "…")
    page.section(say["elsewhere"], elsewhere)
    return _finish(page, say, 0, [])


def lines(texts: list[str], budget: int, key: bytes) -> Brief:
    """A few sentences of ours without a state: pointers, other sessions."""
    page = Page(budget, key, labels.TEXT["en"])
    for text in texts:
        if not page.line(flat(text, key)):
            page.omitted += 1
    return _wrap(page, 0)


def _finish(page: Page, say: dict[str, str], withheld: int, closing: list[str]) -> Brief:
    page.left += page.reserve
    page.chars += page.kept
    names = ("omitted", "omitted-short") if page.omitted else ("recall",)
    any(page.line(say[name].format(count=page.omitted)) for name in names)
    any(page.line(form) for form in closing)
    return _wrap(page, withheld)


def _wrap(page: Page, withheld: int) -> Brief:
    text = fence.frame("\n".join(page.lines), page.mark)
    return Brief(text, estimate(text), page.omitted, withheld)
