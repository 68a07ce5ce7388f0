"""What results of calls change in the state: errors, changed files, commits, tasks.

Owns the part of the fold that results drive. Promises that a call counts only once its result says
that it worked, and that nothing of a result becomes a task: the words are those of the call. Never
keeps more of an output than one line.
"""

from __future__ import annotations

from swapcache.model import AGENT, UNTRUSTED, Message
from swapcache.state import rules
from swapcache.transcripts import origins

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from swapcache.state.fold import Fold

STATUSES = frozenset(("open", *rules.STATUS.values()))


def fold_in(fold: Fold, message: Message, record: int) -> None:
    """Settles the calls that a message has results for."""
    for result in message.results:
        fold.tainted = fold.tainted or result.network
        call = fold.calls.get(result.id)
        if call is None:
            fold.count("results without a call")
            continue
        if result.interrupted:
            continue  # the host's filler: the outcome stays unknown
        del fold.calls[result.id]
        name, line, _, _, paths, _, _, _, tasks, origin, source = call
        source = origins.NETWORK if result.network else source
        fold.tainted = fold.tainted or source == origins.NETWORK
        key = f"{name}: {line if len(call[5].split()) > 1 else paths or line}"
        if result.error:
            fold.count("errors")
            said = rules.outcome(result.text or "no output", source)
            named = key if origin != UNTRUSTED else _named(name, line)
            fold.put("error", f"{named}: {said}", "open", message, record, key, UNTRUSTED)
            continue
        if (
            source == origins.LOCAL
            and name.lower() in rules.SHELL_TOOLS
            and rules.failed(result.text)
        ):
            said = rules.outcome(result.text, source)  # the host did not mark it
            named = key if origin != UNTRUSTED else _named(name, line)
            _resolve(fold, name, key, call[6], message, record)
            fold.put("error", f"{named}: {said}", "open", message, record, key, UNTRUSTED)
            _effects(fold, call, result.text, source, message, record)
            continue
        _resolve(fold, name, key, call[6], message, record)
        if tasks is not None and origin == UNTRUSTED:
            _progress(fold, tasks, message, record)
        elif tasks is not None:
            _plan(fold, tasks, result.text, message, record)
        _effects(fold, call, result.text, source, message, record)


def _resolve(fold: Fold, name: str, key: str, command: str, message: Message, record: int) -> None:
    """A call that works resolves the errors of the same call, whatever options that had."""
    errors = fold.of("error")
    if not errors:
        return
    keys = {key[: rules.LINE_LIMIT]}
    if stem := rules.stem(command):
        start = f"{name}: "
        keys |= {k for k in errors if k.startswith(start) and rules.stem(k[len(start) :]) == stem}
    for one in keys:
        failed = errors.get(one)
        if failed is not None and failed.status == "open":
            fold.set(failed._replace(status="resolved", record=record, wall=message.wall))


def _named(name: str, line: str) -> str:
    from swapcache.state import gate  # rarely needed

    words = gate.line(name, line)
    return f"{name}: {words}" if words else name


def _effects(
    fold: Fold, call: list[Any], output: str, source: str, message: Message, record: int
) -> None:
    """What a call that succeeded left behind: changed files, a commit."""
    command, origin, verbs = call[6], call[9], call[5].split("\n")
    paths = call[4].split("\n") if len(verbs) > 1 else [call[4]]
    for path, verb in zip(paths, verbs, strict=True):
        text = f"{verb} {path}"
        old = fold.of("change").get(path[: rules.LINE_LIMIT])
        known = old is not None and old.text == rules.clip(text) and old.origin != UNTRUSTED
        if path:
            fold.put("change", text, "", message, record, path, AGENT if known else origin)
    commit = rules.committed(command, output)
    if commit:
        commit = commit if source == origins.LOCAL else commit.split()[0]
        fold.put("commit", commit, "", message, record, commit.split()[0], UNTRUSTED)


# -- tasks -----------------------------------------------------------------------------------------


def _plan(fold: Fold, tasks: list[list[str]], output: str, message: Message, record: int) -> None:
    """What a plan tool did. A `list` is the whole plan: what it leaves out is no task any more."""
    fold.of("plan").clear()
    names = {key[: rules.LINE_LIMIT] for operation, key, _, _ in tasks if operation == "list"}
    kept = fold.of("task")
    if names:
        for key in [k for k, item in kept.items() if k not in names and not item.stated]:
            del kept[key]
    for operation, key, text, status in tasks:
        if operation == "new":
            key = rules.task_number(output) or text
        old = kept.get(key[: rules.LINE_LIMIT])
        text = text or (old.text if old else key)
        if status == "deleted":
            kept.pop(key, None)
            continue
        if old is not None and old.stated:
            continue
        if old is not None:  # a task keeps its place in the plan
            kept[key[: rules.LINE_LIMIT]] = old._replace(
                text=rules.clip(text), status=status, record=record, wall=message.wall
            )
        else:
            fold.put("task", text, status, message, record, key, AGENT)
        _finished(fold, key, text, status, message, record)


def _finished(fold: Fold, key: str, text: str, status: str, message: Message, record: int) -> None:
    done = fold.of("done").get(key[: rules.LINE_LIMIT])
    if status == "done":
        fold.put("done", text, "done", message, record, key, AGENT)
    elif done is not None and not done.stated:
        del fold.of("done")[key[: rules.LINE_LIMIT]]


def _progress(fold: Fold, tasks: list[list[str]], message: Message, record: int) -> None:
    """A plan of a tainted turn: how known tasks stand is no word of a stranger's; the rest is kept
    apart."""
    kept = fold.of("task")
    new = []
    for _, key, text, status in tasks:
        old = kept.get(key[: rules.LINE_LIMIT])
        if old is None or old.origin == UNTRUSTED:
            new.append(text or key)
        elif status in STATUSES and not old.stated:
            kept[old.key] = old._replace(status=status, record=record, wall=message.wall)
            _finished(fold, key, old.text, status, message, record)
    if new:
        fold.put("plan", "\n".join(new), "", message, record, "last", UNTRUSTED)
