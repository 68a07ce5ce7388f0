"""The start of a session: reconcile, decide, render, leave a receipt.

Owns the order of these steps and the choice of whose work is shown. Promises frozen bytes per epoch
(window, host process, number of compactions), that reading consumes nothing, and that a living
session's work is shown to nobody else. Never waits for a model or a network.
"""

from __future__ import annotations

import os
from functools import partial

from swapcache import paths
from swapcache.capture import capture, events
from swapcache.errors import SealError
from swapcache.model import (
    Event,
    Item,
    NamedTuple,
    Receipt,
    Session,
    Verdict,
    WorkingState,
)
from swapcache.state import gate
from swapcache.store import sessions, times, trust
from swapcache.store.store import Store, now
from swapcache.wake import brief, labels, page, policy, receipts, talk
from swapcache.wake import scene as scenes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


SMALL = 300
"""Tokens from which on the head of a brief says that records follow."""
HOOK_STEPS = 2
"""What a start reads of a long backlog; the rest follows in a process of its own."""


class Woken(NamedTuple):
    """What was told, and why."""

    cause: str
    form: str
    verdict: Verdict
    at: str
    tokens: int
    text: str
    omitted: int
    withheld: int
    decision: policy.Decision


def start(store: Store, event: Event, settings: dict[str, Any], failing: str = "") -> Woken:
    """A host starts a session: what it is told. Raises StoreError; SealError is a verdict here.

    `failing` is the newest unseen line of the error log.
    """
    wall = now()
    try:
        with store.writing() as writer:
            me = capture.session_for(store, event)
            if event.transcript:
                capture.source_for(store, me, event.transcript)
            ledger = capture.Ledger(store, writer, me)
            compacted = event.cause in ("compact", "overflow")
            ended = "" if me.ended else None
            events.took_part(store, me, event)
            ledger.save(process=event.process, compacted=compacted, ended=ended)
        scenes.settle(store, event.host, HOOK_STEPS)
        me = sessions.session(store.db, me.number)
        events.reconcile(store, me, event.host, gone=False, steps=HOOK_STEPS)
    except SealError:
        return _unsealed(store, event, settings)
    epoch = _epoch(me, event)
    shown = receipts.shown(store, me, epoch)
    if shown is not None:
        return _again(store, shown)
    while True:
        found = scenes.scene(store, me, event)
        woken = tell(store, found, settings, now_wall=wall, failing=failing)
        if not woken.text or receipts.keep(store, found, woken, epoch):
            return woken
        # another session took this work over since we looked: look again


def _epoch(me: Session, event: Event) -> str:
    process = event.process
    where = f"{process.boot}/{process.pid}/{process.started}" if process else "no process"
    return f"{me.window}/{where}/{me.compactions}"


def _again(store: Store, receipt: Receipt) -> Woken:
    decision = policy.Decision(receipt.form, "same epoch", ("these bytes were shown already",))
    verdict = store.check()
    return Woken(
        receipt.cause,
        receipt.form,
        verdict,
        receipt.at,
        receipt.tokens,
        receipt.text,
        receipt.omitted,
        receipt.withheld,
        decision,
    )


def tell(
    store: Store,
    found: scenes.Scene,
    settings: dict[str, Any],
    *,
    now_wall: str,
    form: str = "auto",
    budget: int = 0,
    failing: str = "",
) -> Woken:
    """Decides and renders; writes nothing. Raises nothing: every verdict has its form."""
    limit = budget or settings["wake"]["budget"]
    with store.snapshot() as verdict:
        subject = found.subject
        state, provisional, answered, notes, trail, whole = scenes.known(store, subject)
        if verdict.good and not whole:
            verdict = Verdict("MODIFIED", "the chain behind this state", verdict.have)
        partly = verdict.good and bool(notes)
        if partly:
            first = min(i.record for i in notes)
            verdict = Verdict("MODIFIED", f"record {first} does not match its seal", verdict.have)
        else:
            state = state._replace(items=(*state.items, *notes))
        at = scenes.last_wall(state, subject)
        age = times.age(at, now_wall) if at else 0.0
        broken = not answered or _failed_last(state)
        case = policy.Case(
            found.audience,
            found.cause,
            len(found.living),
            subject is not None,
            age,
            broken,
            verdict.good,
            bool(found.moved),
        )
        decision = policy.decide(case, settings, form)
        language = brief.language(state)
        say = labels.TEXT[language]
        key = store.keys.view if store.keys else b""
        head = _head(store, verdict, say, at, found.cause, decision, age, limit, partly)
        moved = _quarantined(store, say)
        tail = [
            *(_note(i, say) for i in notes if partly),
            *_tail(store, found, say, failing),
            *moved,
        ]
        made: brief.Brief | None = None
        if decision.form == "full" and subject is not None:
            done = provisional.get("finished", {})
            said = talk.latest(store, list(trail))
            made = brief.full(head, state, done, answered, limit, key, tail, said)
        elif decision.form == "delta" and subject is not None:
            head += [page.flat(line, key) for line in moved]
            made = _delta(store, found, head, state, provisional, limit, key)
        elif decision.form in ("pointer", "living"):
            seal = [] if verdict.good else head[:1]
            made = _pointer(found, decision, verdict, say, at, limit, key, [*seal, *tail])
        if made is None:
            made = brief.Brief("", 0, 0, 0)
        return Woken(
            found.cause,
            decision.form,
            verdict,
            at,
            made.tokens,
            made.text,
            made.omitted,
            made.withheld,
            decision,
        )


def _note(item: Item, say: dict[str, str]) -> str:
    """An item whose record does not verify, as far as the gate lets it pass."""
    text = (gate.shown(item) or gate.stub(item)).replace('"', "\u201d")
    return say["doubtful"].format(record=item.record, text=text)


def _failed_last(state: WorkingState) -> bool:
    """True when the newest thing that the model did was to fail."""
    failed = max((i.record for i in state.items if i.kind == "failure"), default=-1)
    return failed > max((i.record for i in state.items if i.kind == "reply"), default=-1)


def _head(
    store: Store,
    verdict: Verdict,
    say: dict[str, str],
    at: str,
    cause: str,
    decision: policy.Decision,
    age: float,
    budget: int,
    partly: bool,
) -> list[str]:
    lines = []
    flat = partial(page.flat, key=store.keys.view if store.keys else b"")
    if verdict.good and store.keys:
        text = say["verified" if budget >= brief.ROOMY else "verified-short"]
        workspace = store.identity.workspace.rstrip("/").rpartition("/")[2] or "/"
        lines.append(
            text.format(
                seq=verdict.have,
                agent=flat(store.identity.agent),
                workspace=flat(workspace),
                key=store.keys.id,
            )
        )
    else:
        fix = trust.FIXES.get(verdict.name, trust.SHOW)
        text = say["partly" if partly else "unverified"]
        lines.append(text.format(verdict=verdict.name, detail=flat(verdict.detail), fix=fix))
    why = cause if cause in policy.CAUSES else "unknown"
    told = say["at"].format(at=flat(times.shown(at)) or "-", cause=why)
    if budget >= brief.ROOMY:
        lines += [told, say["wins"]]
    else:
        lines[-1] += f" {told}" + (f" {say['wins-short']}" if budget >= SMALL else "")
    if decision.stale:
        lines.append(say["stale"].format(age=times.words(age)))
    first = store.record(0)
    if first is not None and first[1] and "gap" in first[0].meta:
        lines.append(say["gap"].format(count=int(first[0].meta["gap"]["seq"]) + 1))
    return lines


def _tail(store: Store, found: scenes.Scene, say: dict[str, str], failing: str) -> list[str]:
    lines = []
    if found.moved:
        from shlex import quote  # rarely needed

        here = quote(store.identity.workspace)
        lines += [say["moved"].format(here=here, **m._asdict()) for m in found.moved]
    for s in found.living:
        lines.append(say["living"].format(session=gate.handle(s.key), at=times.shown(s.begun)))
    for s in found.others:
        lines.append(say["another"].format(session=gate.handle(s.key), at=times.shown(s.touched)))
    if failing:
        lines.append(say["failing"].format(line=gate.quoted(failing)))
    return lines


def _quarantined(store: Store, say: dict[str, str]) -> list[str]:
    """What was moved out of the views' way since anybody was last told anything, in one line."""
    if not os.path.exists(paths.views_file(store.directory)):
        return []  # most stores publish none
    from swapcache.state import views

    moved = views.moved_since(store, sessions.last_receipt(store.db))
    if not moved:
        return []
    newest = {k: str(moved[-1][k]) for k in ("place", "verdict", "detail")}
    name = f"{views.FOLDER}/{views.QUARANTINE}/{moved[-1]['name']}"
    return [say["quarantined"].format(count=len(moved), name=name, **newest)]


def _pointer(
    found: scenes.Scene,
    decision: policy.Decision,
    verdict: Verdict,
    say: dict[str, str],
    at: str,
    limit: int,
    key: bytes,
    tail: list[str],
) -> brief.Brief | None:
    lines = []
    if decision.form == "pointer" and found.subject is not None:
        lines.append(
            say["pointer"].format(
                at=times.shown(at), verdict=verdict.name, session=gate.handle(found.subject.key)
            )
        )
    lines += tail
    return brief.lines(lines, limit, key) if lines else None


def _delta(
    store: Store,
    found: scenes.Scene,
    head: list[str],
    state: WorkingState,
    provisional: dict[str, Any],
    limit: int,
    key: bytes,
) -> brief.Brief | None:
    """What a resumed conversation lacks: calls cut off since it was last told, others' work."""
    me = found.me
    told = store.db.execute("SELECT max(seq) FROM receipt WHERE session=?", (me.number,))
    last = told.fetchone()[0]
    news = [i for i in state.items if i.kind == "unknown" and (last is None or i.record > last)]
    elsewhere: list[str] = []
    for other in sessions.sessions(store.db):
        after = other.last > max(me.last, -1 if last is None else last)
        if other.number == me.number or not after or events.living(store, other) is not False:
            continue
        theirs = scenes.known(store, other)
        for item in theirs.state.items if theirs.whole else ():
            text = gate.shown(item) if item.kind in ("change", "commit", "done") else ""
            if text and item.record > me.last:
                text = f"commit (tool output) {text}" if item.kind == "commit" else text
                elsewhere.append(f"{gate.handle(other.key)[:8]}: {text}")
    lost = provisional.get("prompt", {}).get("text", "")
    done = provisional.get("finished", {})
    words = [i for i in state.items if i.kind == "request"]
    shown = state._replace(items=(*words, *news))
    return brief.delta(head, shown, done, lost, elsewhere, limit, key)


def _unsealed(store: Store, event: Event, settings: dict[str, Any]) -> Woken:
    """The chain is broken: nothing is written, what exists is shown as unverified notes."""
    me = sessions.find_session(
        store.db, event.session_key or event.session_id, event.session_id
    ) or Session(-1, event.session_key, event.session_id, 0, None, None, "", "", "", "", 0, 0, -1)
    return tell(store, scenes.scene(store, me, event), settings, now_wall=now())
