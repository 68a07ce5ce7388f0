"""The latest messages of a session, read back from its records: what no item of the state holds.

Owns what a message looks like as lines. Promises that every record is judged before it is shown,
that a message which its host told twice counts once, that words of strangers stay out (of tool
output only what code matches passes, quoted), and work that grows with the trail. Never writes.
"""

from __future__ import annotations

from swapcache.capture import story
from swapcache.context.tokens import estimate
from swapcache.model import OWNER, UNTRUSTED, Message, NamedTuple, ToolCall
from swapcache.state import gate, rules
from swapcache.store import sessions
from swapcache.store.store import Store
from swapcache.transcripts import origins
from swapcache.transcripts.text import string, strip_frames
from swapcache.wake import exact

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

FACTS = 48
"""Facts of one output that are shown."""
SHORT = 10
"""Tokens of a request that is more than a nod to what was said before."""
READ = 4000
"""Characters at each end of an output or a message that are looked at."""
WRITTEN, SAID = 600, 1200
"""Characters of what an edit wrote, of what any call says."""
NEW = ("newText", "new_string", "newString", "new_str", "content", "file_text", "text")
OLD = ("oldText", "old_string", "oldString", "old_str")


class Line(NamedTuple):
    """A message or a part of it as a line."""

    record: int
    who: str
    """user, agent, final (an answer that ended a turn), call, change or output."""
    text: str
    turn: int = 0
    """Requests that are newer."""
    place: int = 0
    """Messages that are newer."""


Results = dict[str, "tuple[str, bool, bool]"]


def latest(store: Store, trail: list[int]) -> Iterator[Line]:
    """The messages of these records as lines, the newest first."""
    known = {s.number: s for s in sessions.every_source(store.db)}
    results: Results = {}
    seen = set[str]()
    turn, ends = 0, True
    for place, seq in enumerate(reversed(trail)):
        found = store.record(seq)
        if found is None or not found[1]:
            continue
        record = found[0]
        source = known.get(record.source or 0)
        message = story.read_back(record, source).message if source is not None else None
        if message is None or message.sidechain:
            continue
        for result in message.results:
            results[result.id] = result.text, result.error, result.network
        origin = str(record.meta.get("origin", message.origin))
        asks = message.kind == "request" and origin == OWNER
        for line in _lines(message, origin, seq, results, seen, ends):
            yield line._replace(turn=turn, place=place)
        turn += asks and estimate(message.text) >= SHORT
        ends = asks or (ends and not message.text and not message.calls)


def _lines(
    message: Message, origin: str, seq: int, results: Results, seen: set[str], ends: bool
) -> Iterator[Line]:
    for call in reversed(message.calls):
        if f"call {call.id}" not in seen or not call.id:
            seen.add(f"call {call.id}")
            yield from _call(call, origin, seq, results.pop(call.id, None))
    if not message.text or message.kind not in ("request", "reply", "partial"):
        return
    text = _ends(strip_frames(message.text)).strip()
    if origin == UNTRUSTED or not text or text in seen or rules.is_command(text):
        return
    seen.add(text)
    who = "user" if origin == OWNER else "final" if ends and not message.calls else "agent"
    yield Line(seq, who, text)


def _ends(text: str) -> str:
    return text if len(text) <= 2 * READ else f"{text[:READ]}\n{text[-READ:]}"


def _call(
    call: ToolCall, origin: str, seq: int, result: tuple[str, bool, bool] | None
) -> Iterator[Line]:
    if rules.plan(call) is not None:
        return  # its tasks are items
    source = rules.source(call)
    changes = bool(rules.changed(call))
    if result is not None and source != origins.NETWORK and not result[2] and not changes:
        yield from _output(result[0], seq)
    name = rules.tool(call.name)
    words = said(call)
    if origin == UNTRUSTED:
        words = gate.line(name, rules.cut(rules.target(call), rules.LINE_LIMIT))
    yield Line(seq, "change" if changes else "call", f"{name} {words}".strip())


def _output(text: str, seq: int) -> Iterator[Line]:
    """The exact tokens of a result; the line of an error stands among the errors."""
    if found := exact.names(_ends(text), FACTS):
        yield Line(seq, "output", " · ".join(found))


def said(call: ToolCall) -> str:
    """What a call says, in the agent's own words: its command, what it writes where, or all that
    it was given."""
    if line := rules.command(call):
        return line[:SAID]
    if rules.changed(call):
        place = rules.target(call)  # one that reads like a sentence stands among the changes only
        return f"{place if gate.is_name(place) else '…'} {written(call)}".strip()
    given = call.arguments
    if len(given) == 1:
        return rules.target(call)
    words = (f"{k}={' '.join(str(v).split())[:WRITTEN]}" for k, v in given.items() if v)
    return " ".join(words)[:SAID]


def written(call: ToolCall) -> str:
    """What an edit or a new file adds, on one line."""
    given = [call.arguments]
    edits = call.arguments.get("edits")
    given += [e for e in edits if isinstance(e, dict)] if isinstance(edits, list) else []
    parts = []
    for one in given:
        new = next((t for k in NEW if (t := string(one.get(k)))), "")
        old = next((t for k in OLD if (t := string(one.get(k)))), "")
        known = {line.strip() for line in old.splitlines()}
        parts += [x.strip() for x in new.splitlines() if x.strip() and x.strip() not in known]
    text = " ".join(parts)
    return f"+ {text[:WRITTEN]}" if text else ""
