"""The fold: messages in, working state out.

Owns what a message changes in the state. Promises to be deterministic and incremental: folding the
same records in one run or in many gives the same state, and the work for a message does not grow
with the history. Never reads a clock, a file or a model. Untrusted words never become a task, a
next action, a decision or an insight; items of that origin are kept for the gate (gate.py) only,
and never push out a trusted one.

A turn is tainted from the call of a tool that reads the network on (or from the host's own mark, or
a result that is marked or fenced as a stranger's), and from its beginning when somebody else than
the owner asked, until the owner's next request.
"""

import json

from swapcache.model import AGENT, OWNER, UNTRUSTED, Item, Message, ToolCall, WorkingState
from swapcache.state import results, rules, statements
from swapcache.transcripts import origins
from swapcache.transcripts.text import strip_frames

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Any

LIMITS = {
    "fact": 240,
    "name": 40,
    "change": 80,
    "done": 60,
    "task": 80,
    "error": 30,
    "commit": 30,
    "decision": 40,
    "constraint": 40,
    "insight": 40,
    "discussed": 40,
    "request": 6,
    "failure": 3,
    "unknown": 40,
    "next": 10,
}
LATE = ("fact", "name")
"""Kinds that wait for `Fold.items` or `Fold.of`."""
TRAIL, TURNS = 160, 100
TOLD = ("request", "reply", "partial", "results", "more")
UNKNOWN_REQUESTS = 3
VERSION = 1
CALL = 9
"""Values of a call in states of the first versions."""


class Fold:
    """The state of one session while messages are added. `dump` and `load` are inverse."""

    def __init__(self) -> None:
        self._items: dict[str, dict[str, Item]] = {}
        self._late: list[tuple[str, str, int, str]] = []
        """(text, origin, record, wall) of texts whose facts are not looked for yet: of a long row
        of them the newest give all that is kept."""
        self._mixed = set[str]()
        """Kinds that may hold items of strangers."""
        self.calls: dict[str, list[Any]] = {}
        """Calls without a result, by id: [tool, target, record, wall, changed paths, verbs (a line
        each), command line, requests made so far, tasks of a plan tool, origin of its words, where
        its result comes from (origins.source)]."""
        self.counters: dict[str, int] = {}
        self.tainted = False
        """Strangers' words have come into this turn."""
        self.answered = True
        """The last request got an answer."""
        self.leaf = ""
        """Id of the newest row of the branch that the host goes on with, where it keeps a tree."""
        self.trail: list[int] = []
        """Records of the newest messages of the conversation, calls and results among them."""
        self.turns: list[int] = []
        """Records of the owner's requests and of the answers that ended their turns."""
        self.compacted = ""
        """Id of the newest compaction, where it has one: a host may repeat it at every start."""

    @classmethod
    def load(cls, text: str) -> "Fold":
        """The fold that `dump` wrote."""
        value = json.loads(text)
        fold = cls()
        for given in value["items"]:
            item = Item(*given)
            fold.of(item.kind)[item.key] = item
            if item.origin == UNTRUSTED:
                fold._mixed.add(item.kind)
        first = [AGENT, origins.LOCAL]  # states of the first versions end before these
        fold.calls = {k: [*c, *first[len(c) - CALL :]] for k, c in value["calls"].items()}
        fold.counters = value["counters"]
        fold.counters.pop("dropped fact", None)  # the first versions counted them
        fold.tainted, fold.answered = value["tainted"], value["answered"]
        fold.leaf = value.get("leaf", "")  # states of the first versions have none
        fold.compacted = value.get("compacted", "")
        fold.trail, fold.turns = value.get("trail", []), value.get("turns", [])
        return fold

    def dump(self) -> str:
        """The whole state as JSON; equal states give equal text."""
        more = {"compacted": self.compacted} if self.compacted else {}
        text = json.dumps(
            {
                "v": VERSION,
                "items": [i for kind in sorted(self.items) for i in self.items[kind].values()],
                "calls": self.calls,
                "counters": self.counters,
                "tainted": self.tainted,
                "answered": self.answered,
                "leaf": self.leaf,
                "trail": self.trail,
                "turns": self.turns,
                **more,
            },
            ensure_ascii=False,
            separators=(",", ":"),
        )
        return whole(text)

    def state(self, session: int, seq: int) -> WorkingState:
        """A value of what is known; calls without a result are items of kind `unknown`."""
        unknown = tuple(
            Item("unknown", key, f"{c[0]}: {c[1]}", "unknown", c[9], c[2], c[3])
            for key, c in self.calls.items()
        )
        known = (i for kind in sorted(self.items) for i in self.items[kind].values())
        return WorkingState(session, seq, (*known, *unknown), dict(self.counters))

    # -- adding ------------------------------------------------------------------------------------

    def origin_of(self, message: Message) -> str:
        """Origin of a message's words: an answer that drew on the network is untrusted."""
        if message.origin == AGENT and message.role == "assistant" and self.tainted:
            return UNTRUSTED
        return message.origin

    def add(self, message: Message, record: int) -> None:
        """Folds one message in; `record` is the sequence number of its record."""
        if message.sidechain:
            # A child's words are not this session's, but what it read comes back in its result.
            self.tainted = self.tainted or any(rules.is_network(c) for c in message.calls)
            return
        if message.kind in TOLD:
            self.trail.append(record)
            del self.trail[:-TRAIL]
        rule = _RULES.get(message.kind)
        if rule is not None:
            rule(self, message, record)

    def put(
        self,
        kind: str,
        text: str,
        status: str,
        message: Message,
        record: int,
        key: str = "",
        origin: str = "",
    ) -> None:
        """Sets an item; the same kind and key replaces, and moves to the end."""
        whose = origin or message.origin
        self.set(_item(kind, text, status, whose, record, message.wall, key))

    def set(self, item: Item) -> None:
        """Sets an item as it is; an extracted one never replaces what the agent stated."""
        kept = self.of(item.kind)
        if item.origin == UNTRUSTED:
            self._mixed.add(item.kind)
        old = kept.pop(item.key, None)
        if old is not None and old.stated and not item.stated:
            item = old
        kept[item.key] = item
        limit = LIMITS.get(item.kind, 1)
        if len(kept) > limit:  # for trusted and untrusted ones each: strangers push nothing out
            same: Collection[str] = kept
            if item.kind in self._mixed:
                strange = item.origin == UNTRUSTED
                same = [k for k, i in kept.items() if (i.origin == UNTRUSTED) == strange]
            if len(same) > limit:
                first = next(iter(same))
                del kept[next((k for k in same if not kept[k].stated), first)]
                if item.kind != "fact":
                    self.count(f"dropped {item.kind}")

    @property
    def items(self) -> dict[str, dict[str, Item]]:
        """By kind, then by key; the newest last."""
        if self._late:
            self._settle()
        return self._items

    def of(self, kind: str) -> dict[str, Item]:
        """The items of a kind, by key."""
        if kind in LATE and self._late:
            self._settle()
        return self._items.setdefault(kind, {})

    def count(self, name: str) -> None:
        """Adds one to a counter."""
        self.counters[name] = self.counters.get(name, 0) + 1

    def facts(self, text: str, message: Message, record: int, origin: str) -> None:
        """Keeps the exact paths, addresses, hashes and ids of a trusted text."""
        if self._mixed.isdisjoint(LATE):  # else the order of all texts matters
            self._late.append((text, origin, record, message.wall))
            return
        for token in rules.facts(text):
            self.of("name").pop(token, None)
            self.put("fact", token, "", message, record, token, origin)

    def _settle(self) -> None:
        """Looks for the facts of the texts that wait, from the newest on until enough are found:
        exactly those that one after the other would have left."""
        late, self._late = self._late, []
        found: dict[str, Item] = {}
        while late and len(found) < LIMITS["fact"]:
            text, origin, record, wall = late.pop()
            for token in reversed(rules.facts(text)):
                if token not in found:
                    found[token] = _item("fact", token, "", origin, record, wall, token)
        for item in reversed(found.values()):
            self.set(item)


def _item(kind: str, text: str, status: str, origin: str, record: int, wall: str, key: str) -> Item:
    cut = (key or text)[: rules.LINE_LIMIT]
    return Item(kind, cut, rules.clip(text), status, origin, record, wall)


def whole(text: str) -> str:
    """`text` as UTF-8 can hold it: hosts write halves of characters."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text


# -- one rule for each kind of message -------------------------------------------------------------


def _request(fold: Fold, message: Message, record: int) -> None:
    if message.origin == UNTRUSTED:
        _strangers(fold, message, record)
        return
    if rules.is_command(message.text) and not message.results:
        fold.count("commands")
        return
    fold.count("requests")
    fold.tainted, fold.answered = False, False
    if message.results:  # behind that: the turn goes on with what they hold
        results.fold_in(fold, message, record)
    fold.of("failure").clear()
    fold.of("question").clear()
    replies = fold.of("reply")
    fold.turns += [*(i.record for i in replies.values() if i.origin != UNTRUSTED), record]
    del fold.turns[:-TURNS]
    replies.clear()
    _forget_calls(fold)
    fold.put("request", message.text, "open", message, record, key=message.id or str(record))
    if message.origin == OWNER:
        fold.facts(message.text, message, record, OWNER)
        _laid_down(fold, message, record)


def _laid_down(fold: Fold, message: Message, record: int) -> None:
    """Keeps the owner's constraints and decisions; a later one replaces what it corrects."""
    for kind, sentence in statements.laid_down(message.text):
        status, corrects = "", statements.correction(sentence)
        for known in (fold.of("constraint"), fold.of("decision")) if corrects else ():
            for key, item in list(known.items()):
                if item.stated or item.origin != OWNER or item.record == record:
                    continue
                if corrects and (old := corrects.replaced(item.text)):
                    status = f"replaces {old}"
                    del known[key]
        fold.put(kind, sentence, status, message, record)


def _strangers(fold: Fold, message: Message, record: int) -> None:
    """A request of somebody else: it forgets and replaces nothing of the owner's."""
    fold.count("requests of others")
    fold.tainted = True
    if message.results:
        results.fold_in(fold, message, record)
    fold.put("request", message.text, "", message, record, key=message.id or str(record))


def _owners_turn(fold: Fold) -> bool:
    """False while the newest request is somebody else's: its answer does not answer the owner."""
    asked = fold.of("request")
    return not asked or next(reversed(asked.values())).origin != UNTRUSTED


def _forget_calls(fold: Fold) -> None:
    """Three requests later a call without a result is no news any more."""
    asked = fold.counters["requests"]
    old = [key for key, call in fold.calls.items() if asked - call[7] > UNKNOWN_REQUESTS]
    for key in old:
        del fold.calls[key]
        fold.count("dropped unknown")
    if asked > UNKNOWN_REQUESTS:
        fold.of("unknown").clear()


def _reply(fold: Fold, message: Message, record: int) -> None:
    fold.tainted = fold.tainted or message.origin == UNTRUSTED  # the host's mark holds on
    origin = fold.origin_of(message)
    owners = _owners_turn(fold)
    if message.text:
        fold.count("replies")
        key = "withheld" if origin == UNTRUSTED else "last"
        fold.put("reply", strip_frames(message.text), "", message, record, key, origin)
        if origin != UNTRUSTED:
            fold.facts(message.text, message, record, origin)
    sources = [_call(fold, call, message, record, origin) for call in message.calls]
    fold.answered = fold.answered and not (sources and owners)
    # what stands in one message with such a call was said before its result
    fold.tainted = fold.tainted or origins.NETWORK in sources
    if message.results:  # of hosts that write a call when it is done
        results.fold_in(fold, message, record)
    if message.text and not message.calls and owners:
        fold.answered = True
        if origin != UNTRUSTED and (asks := statements.question(message.text)):
            fold.put("question", asks, "open", message, record, "last", origin)


def _more(fold: Fold, message: Message, record: int) -> None:
    """The newest message, told once more by its host with what came of it: it counts once."""
    if message.role == "assistant":
        told = fold.counters.get("replies", 0)
        _reply(fold, message, record)
        if told:
            fold.counters["replies"] = told


def _call(fold: Fold, call: ToolCall, message: Message, record: int, origin: str) -> str:
    """Keeps a call until its result comes. Gives where that will come from."""
    fold.count("calls")
    changes = rules.changed(call)
    paths = "\n".join(path for path, _ in changes)
    line = rules.cut(rules.target(call), rules.LINE_LIMIT)
    asked = fold.counters.get("requests", 0)
    given, source = rules.command(call), rules.source(call)
    fold.calls[call.id] = [
        rules.tool(call.name),
        line,
        record,
        message.wall,
        paths,
        "\n".join(verb for _, verb in changes),
        given,
        asked,
        rules.plan(call),
        origin,
        source,
    ]
    while len(fold.calls) > LIMITS["unknown"]:
        del fold.calls[next(iter(fold.calls))]
        fold.count("dropped unknown")
    if origin != UNTRUSTED:
        fold.facts(f"{paths} {given}", message, record, origin)
    elif source == origins.LOCAL:
        from swapcache.state import gate  # rarely needed

        for name in gate.names(f"{paths} {given}"):
            if name not in fold.of("fact"):
                fold.put("name", name, "", message, record, name, origin)
    return source


def _failure(fold: Fold, message: Message, record: int) -> None:
    """The host's or the provider's words: one line of them."""
    fold.count("failures")
    line = rules.error_line(message.text)
    old = fold.of("failure").get(line)
    times = int(old.status.split()[0]) + 1 if old else 1
    fold.put("failure", line, f"{times} times", message, record)


def _compaction(fold: Fold, message: Message, record: int) -> None:
    if message.id and message.id == fold.compacted:
        return
    fold.compacted = message.id
    fold.count("compactions")


def _statement(fold: Fold, message: Message, record: int) -> None:
    """What the agent said with `swapcache state`; the text is JSON of lists by option."""
    given = json.loads(message.text)
    if message.origin == UNTRUSTED:  # said in a turn that had read strangers' words: kept apart
        for kind in ("next", "task", "insight", "discussed", "change", "done"):
            for text in given.get(kind, ()):
                key = f"untrusted: {text}"[: rules.LINE_LIMIT]
                fold.set(Item(kind, key, text, "", UNTRUSTED, record, message.wall))
        return
    if given.get("next"):
        fold.of("next").clear()
    for kind in ("next", "task", "insight", "discussed", "change"):
        for text in given.get(kind, ()):
            status = "open" if kind in ("next", "task") else ""
            fold.set(Item(kind, text, text, status, message.origin, record, message.wall, True))
    for text in given.get("done", ()):
        for item in _meant(fold, "task", text):
            fold.set(item._replace(status="done", stated=True))
        for item in _meant(fold, "next", text):
            del fold.of("next")[item.key]
        fold.set(Item("done", text, text, "done", message.origin, record, message.wall, True))


def _meant(fold: Fold, kind: str, text: str) -> list[Item]:
    """The items that `text` names: the one that is equal, else the only one that contains it."""
    still = [i for i in fold.of(kind).values() if i.status != "done"]
    equal = [i for i in still if i.text.lower() == text.lower()]
    containing = [i for i in still if text.lower() in i.text.lower()]
    return equal or (containing if len(containing) == 1 else [])


def _partial(fold: Fold, message: Message, record: int) -> None:
    """Words of a turn that was cut off: shown, but no answer."""
    answered = fold.answered
    _reply(fold, message, record)
    fold.answered = answered and not _owners_turn(fold)


def _interrupted(fold: Fold, message: Message, record: int) -> None:
    fold.count("interruptions")
    fold.answered = False


def _inherited(fold: Fold, message: Message, record: int) -> None:
    """What a session took over from one that is gone; the text is JSON of items."""
    for given in json.loads(message.text):
        fold.set(Item(*given))


def _quiet(fold: Fold, message: Message, record: int) -> None:
    fold.count(f"{message.kind}s")


_RULES = {
    "request": _request,
    "reply": _reply,
    "more": _more,
    "results": results.fold_in,
    "partial": _partial,
    "interrupted": _interrupted,
    "failure": _failure,
    "compaction": _compaction,
    "statement": _statement,
    "inherited": _inherited,
    "command": _quiet,
    "heartbeat": _quiet,
}
