"""The fold: messages in, working state out.

Owns what a message changes in the state. Promises to be deterministic and incremental: folding the
same records in one run or in many gives the same state, and the work for a message does not grow
with the history. Never reads a clock, a file or a model. Untrusted words never become a task, a
next action, a decision or an insight.
"""

import json

from swapcache.model import AGENT, OWNER, UNTRUSTED, Item, Message, ToolCall, WorkingState
from swapcache.state import rules
from swapcache.transcripts.text import strip_frames

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LIMITS = {
    "fact": 240,
    "change": 80,
    "done": 60,
    "task": 80,
    "error": 30,
    "commit": 30,
    "decision": 40,
    "insight": 40,
    "discussed": 40,
    "request": 6,
    "failure": 3,
    "unknown": 40,
    "next": 10,
}
UNKNOWN_REQUESTS = 3
TEXT_LIMIT = 4000
LINE_LIMIT = 400
VERSION = 1


class Fold:
    """The state of one session while messages are added. `dump` and `load` are inverse."""

    def __init__(self) -> None:
        self.items: dict[str, dict[str, Item]] = {}
        """By kind, then by key; the newest last."""
        self.calls: dict[str, list[Any]] = {}
        """Calls without a result, by id: [tool, target, record, wall, changed path, verb,
        command line, requests made so far, tasks of a plan tool]."""
        self.counters: dict[str, int] = {}
        self.tainted = False
        """This turn has used a tool that reads the network."""
        self.answered = True
        """The last request got an answer."""
        self.leaf = ""
        """Id of the newest row of the branch that the host goes on with, where it keeps a tree."""

    @classmethod
    def load(cls, text: str) -> "Fold":
        """The fold that `dump` wrote."""
        value = json.loads(text)
        fold = cls()
        for given in value["items"]:
            fold.of(given[0])[given[1]] = Item(*given)
        fold.calls = value["calls"]
        fold.counters = value["counters"]
        fold.tainted, fold.answered = value["tainted"], value["answered"]
        fold.leaf = value.get("leaf", "")  # states of the first versions have none
        return fold

    def dump(self) -> str:
        """The whole state as JSON; equal states give equal text."""
        text = json.dumps(
            {
                "v": VERSION,
                "items": [i for kind in sorted(self.items) for i in self.items[kind].values()],
                "calls": self.calls,
                "counters": self.counters,
                "tainted": self.tainted,
                "answered": self.answered,
                "leaf": self.leaf,
            },
            ensure_ascii=False,
            separators=(",", ":"),
        )
        return whole(text)

    def state(self, session: int, seq: int) -> WorkingState:
        """A value of what is known; calls without a result are items of kind `unknown`."""
        unknown = tuple(
            Item("unknown", key, f"{c[0]}: {c[1]}", "unknown", AGENT, c[2], c[3])
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
        item = Item(
            kind,
            (key or text)[:LINE_LIMIT],
            _clip(text),
            status,
            origin or message.origin,
            record,
            message.wall,
        )
        self.set(item)

    def set(self, item: Item) -> None:
        """Sets an item as it is; an extracted one never replaces what the agent stated."""
        kept = self.of(item.kind)
        old = kept.pop(item.key, None)
        if old is not None and old.stated and not item.stated:
            item = old
        kept[item.key] = item
        if len(kept) > LIMITS.get(item.kind, 1):
            del kept[next((k for k, i in kept.items() if not i.stated), next(iter(kept)))]
            self.count(f"dropped {item.kind}")

    def of(self, kind: str) -> dict[str, Item]:
        """The items of a kind, by key."""
        return self.items.setdefault(kind, {})

    def count(self, name: str) -> None:
        """Adds one to a counter."""
        self.counters[name] = self.counters.get(name, 0) + 1

    def facts(self, text: str, message: Message, record: int, origin: str) -> None:
        """Keeps the exact paths, addresses, hashes and ids of a text."""
        for token in rules.facts(text):
            self.put("fact", token, "", message, record, token, origin)


def whole(text: str) -> str:
    """`text` as UTF-8 can hold it: hosts write halves of characters."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text


def _clip(text: str) -> str:
    return rules.cut(text, TEXT_LIMIT)


# -- one rule for each kind of message -------------------------------------------------------------


def _request(fold: Fold, message: Message, record: int) -> None:
    if message.results:
        _results(fold, message, record)
    fold.count("requests")
    fold.tainted, fold.answered = False, False
    fold.of("failure").clear()
    fold.of("reply").clear()
    _forget_calls(fold)
    fold.put("request", message.text, "open", message, record, key=message.id or str(record))
    if message.origin == OWNER:
        fold.facts(message.text, message, record, OWNER)


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
    origin = fold.origin_of(message)
    if message.text:
        fold.count("replies")
        fold.put("reply", strip_frames(message.text), "", message, record, "last", origin)
        if origin != UNTRUSTED:
            fold.facts(message.text, message, record, AGENT)
    for call in message.calls:
        _call(fold, call, message, record)
    if message.text and not message.calls:
        fold.answered = True


def _call(fold: Fold, call: ToolCall, message: Message, record: int) -> None:
    fold.count("calls")
    fold.tainted = fold.tainted or rules.is_network(call)
    fold.answered = False
    change = rules.changed(call) or ("", "")
    line = rules.cut(rules.target(call), LINE_LIMIT)
    asked = fold.counters.get("requests", 0)
    given = rules.command(call)
    tasks = None if fold.tainted else rules.plan(call)
    fold.calls[call.id] = [call.name, line, record, message.wall, *change, given, asked, tasks]
    origin = UNTRUSTED if fold.tainted else AGENT
    while len(fold.calls) > LIMITS["unknown"]:
        del fold.calls[next(iter(fold.calls))]
        fold.count("dropped unknown")
    if origin == AGENT:
        fold.facts(f"{change[0]} {rules.command(call)}", message, record, AGENT)


def _plan(fold: Fold, tasks: list[list[str]], output: str, message: Message, record: int) -> None:
    """What a plan tool did. A `list` is the whole plan: what it leaves out is no task any more."""
    names = {key[:LINE_LIMIT] for operation, key, _, _ in tasks if operation == "list"}
    kept = fold.of("task")
    if names:
        for key in [k for k, item in kept.items() if k not in names and not item.stated]:
            del kept[key]
    for operation, key, text, status in tasks:
        if operation == "new":
            key = rules.task_number(output) or text
        old = kept.get(key[:LINE_LIMIT])
        text = text or (old.text if old else key)
        if status == "deleted":
            kept.pop(key, None)
            continue
        if old is not None and old.stated:
            continue
        if old is not None:  # a task keeps its place in the plan
            kept[key[:LINE_LIMIT]] = old._replace(
                text=_clip(text), status=status, record=record, wall=message.wall
            )
        else:
            fold.put("task", text, status, message, record, key)
        if status == "done":
            fold.put("done", text, "done", message, record, key)
        elif key[:LINE_LIMIT] in fold.of("done") and not fold.of("done")[key[:LINE_LIMIT]].stated:
            del fold.of("done")[key[:LINE_LIMIT]]


def _results(fold: Fold, message: Message, record: int) -> None:
    for result in message.results:
        call = fold.calls.get(result.id)
        if call is None:
            fold.count("results without a call")
            continue
        if result.interrupted:
            continue  # the host's filler: the outcome stays unknown
        del fold.calls[result.id]
        name, line, _, _, path, verb, command, _, tasks = call
        key = f"{name}: {path or line}"
        if result.error:
            fold.count("errors")
            said = rules.failed(ToolCall("", name, {"command": command}), result.text)
            text = f"{key}: {said}"
            fold.put("error", text, "open", message, record, key, UNTRUSTED)
            continue
        failed = fold.of("error").get(key[:LINE_LIMIT])
        if failed is not None:
            fold.set(failed._replace(status="resolved", record=record, wall=message.wall))
        if tasks is not None:
            _plan(fold, tasks, result.text, message, record)
        if path:
            fold.put("change", f"{verb} {path}", "", message, record, path)
        commit = rules.committed(command, result.text)
        if commit:
            fold.put("commit", commit, "", message, record, commit.split()[0], UNTRUSTED)


def _failure(fold: Fold, message: Message, record: int) -> None:
    fold.count("failures")
    old = fold.of("failure").get(message.text[:LINE_LIMIT])
    times = int(old.status.split()[0]) + 1 if old else 1
    fold.put("failure", message.text, f"{times} times", message, record)


def _compaction(fold: Fold, message: Message, record: int) -> None:
    fold.count("compactions")


def _statement(fold: Fold, message: Message, record: int) -> None:
    """What the agent said with `swapcache state`; the text is JSON of lists by option."""
    given = json.loads(message.text)
    if message.origin == UNTRUSTED:  # said in a turn that had read strangers' words: kept apart
        for kind in ("next", "task", "insight", "discussed", "change", "done"):
            for text in given.get(kind, ()):
                key = f"untrusted: {text}"[:LINE_LIMIT]
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
    _reply(fold, message, record)
    fold.answered = False


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
    "results": _results,
    "partial": _partial,
    "interrupted": _interrupted,
    "failure": _failure,
    "compaction": _compaction,
    "statement": _statement,
    "inherited": _inherited,
    "command": _quiet,
    "heartbeat": _quiet,
}
