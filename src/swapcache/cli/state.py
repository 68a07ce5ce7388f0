"""swapcache state: show the working state, or let the agent state it."""

import json
import os

import click

from swapcache.capture import capture, events, process
from swapcache.capture.capture import LEFT
from swapcache.cli.options import emit, json_option, open_selected, safe, say, store_options
from swapcache.errors import SelectionError
from swapcache.model import AGENT, UNTRUSTED, Item, Message, Session, Verdict
from swapcache.state import gate
from swapcache.store import sessions
from swapcache.store.store import Store, now

ASIDE = (LEFT,)
"""Counters of what was kept and not folded."""
ORDER = (
    "next",
    "task",
    "request",
    "unknown",
    "question",
    "decision",
    "constraint",
    "failure",
    "error",
    "insight",
    "change",
    "commit",
    "fact",
    "done",
    "discussed",
    "reply",
    "name",
    "plan",
)


@click.command()
@click.option("--task", multiple=True, help="An open task.")
@click.option("--next", "next_", multiple=True, help="What comes next (replaces the former).")
@click.option("--insight", multiple=True, help="Something learnt.")
@click.option("--discussed", multiple=True, help="What was talked over, with its outcome.")
@click.option("--changed", multiple=True, help="A file or thing that was changed.")
@click.option("--done", multiple=True, help="What is finished; closes tasks that contain it.")
@click.option("--session", "key", default="", help="Session key (default: the one this runs in).")
@click.option("--dry-run", is_flag=True, help="Show what would be stated, store nothing.")
@store_options
@json_option
def command(
    task: tuple[str, ...],
    next_: tuple[str, ...],
    insight: tuple[str, ...],
    discussed: tuple[str, ...],
    changed: tuple[str, ...],
    done: tuple[str, ...],
    key: str,
    dry_run: bool,
    agent: str | None,
    workspace: str | None,
    store_id: str | None,
    as_json: bool,
) -> None:
    """Show the working state; with options, state it. What is stated outranks what is extracted.

    An agent calls this in its shell: `swapcache state --task "migrate orders" --next "run 007"`.
    """
    given = {
        "task": task,
        "next": next_,
        "insight": insight,
        "discussed": discussed,
        "change": changed,
        "done": done,
    }
    stated = {kind: [t.strip() for t in texts if t.strip()] for kind, texts in given.items()}
    stated = {kind: texts for kind, texts in stated.items() if texts}
    store = open_selected(agent, workspace, store_id)
    try:
        session = choose(store, key)
        if stated and not dry_run:
            _state(store, session, stated)
        row = sessions.load_state(store.db, store.keys, session.number)
        fold, _, _, whole = capture.current(store, session, row)
        if stated and dry_run:
            text = json.dumps(stated, ensure_ascii=False)
            fold.add(Message("assistant", "statement", text, AGENT, now()), -1)
        items = fold.state(session.number, session.last).items
        verdict = store.check()
        if verdict.good and not whole:
            verdict = Verdict("MODIFIED", "the chain behind this state", verdict.have)
        _print(store, session, items, fold.counters, verdict, as_json)
    finally:
        store.close()


def choose(store: Store, key: str) -> Session:
    """The session by key; else the one this process runs in; else the newest with work in it."""
    everyone = sessions.sessions(store.db)
    if key:
        for session in everyone:
            if key in (session.key, session.id, gate.handle(session.key)):
                return session
        raise SelectionError(f"no session is called {key!r} in this workspace; see: swapcache log")
    owner, _ = process.host()
    own_id = os.environ.get("CLAUDE_CODE_SESSION_ID", "")
    for session in everyone:
        here = not session.ended and owner in sessions.processes(store.db, session.number)
        if here or (own_id and session.id == own_id):
            return session
    for session in everyone:
        if session.requests:
            return session
    raise SelectionError("no session with work in it is recorded for this workspace yet")


def _state(store: Store, session: Session, stated: dict[str, list[str]]) -> None:
    events.reconcile(store, session, store.identity.host, gone=False)  # what this turn has read
    with store.writing() as writer:
        ledger = capture.Ledger(store, writer, sessions.session(store.db, session.number))
        text = json.dumps(stated, ensure_ascii=False)
        origin = UNTRUSTED if events.tainted(ledger) else AGENT
        ledger.state_record(Message("assistant", "statement", text, origin, now()), "state")
        capture.snapshot(ledger)
        ledger.save()


def _print(
    store: Store,
    session: Session,
    items: tuple[Item, ...],
    counters: dict[str, int],
    verdict: Verdict,
    as_json: bool,
) -> None:
    shown = [i for kind in ORDER for i in items if i.kind == kind]
    if as_json:
        emit(
            {
                "session": session.key,
                "verdict": verdict.name,
                "items": [_gated(i, store) for i in shown],
                "counters": counters,
            }
        )
        return
    say(f"session {gate.handle(session.key)}, seal {verdict.name}")
    aside = [f"{count} {what}" for what, count in sorted(counters.items()) if what in ASIDE]
    if aside:
        say(f"  not part of it: {', '.join(aside)}")
    for item in shown:
        status = f" [{item.status}]" if item.status else ""
        origin = "" if item.origin in ("owner", "agent") else f" ({item.origin})"
        text = " ".join(str(_gated(item, store)["text"]).split())
        say(f"  {item.kind:<9} #{item.record:<6}{text[:200]}{status}{origin}")


def _gated(item: Item, store: Store) -> dict[str, object]:
    """An item as it may be printed; words that are withheld are a stub, `show` has them fenced."""
    text = gate.shown(item) or f"withheld: {gate.stub(item)}"
    key = gate.handle(item.key) if item.kind == "unknown" or not gate.whole(item) else item.key
    if item.kind == "error" and item.origin == UNTRUSTED:
        key = gate.digest(item.key)
    withheld = not gate.whole(item)
    texts = {"key": safe(key, store), "text": safe(text, store)}
    return item._asdict() | texts | {"withheld": withheld}
