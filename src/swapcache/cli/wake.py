"""swapcache wake: what a next session is told."""

import sys

import click

from swapcache import config
from swapcache.capture import events, process
from swapcache.cli.options import block, emit, json_option, open_selected, store_options, words
from swapcache.errors import SealError, SelectionError
from swapcache.hosts import known
from swapcache.model import Session
from swapcache.state import gate
from swapcache.store import files, sessions, times
from swapcache.store.store import Store, now
from swapcache.wake import policy, receipts, scene
from swapcache.wake import wake as waking

NOBODY = Session(-1, "", "", 0, None, None, "", "", "", "", 0, 0, -1)


@click.command()
@click.option("--host", type=click.Choice(known.NAMES))
@click.option("--session-key", default="", help="Show this session's work (default: the newest).")
@click.option("--cause", default="unknown", type=click.Choice(policy.CAUSES))
@click.option("--audience", default="owner", type=click.Choice(policy.AUDIENCES))
@click.option(
    "--form", default="auto", type=click.Choice(("auto", "full", "pointer")), show_default=True
)
@click.option("--now", "now_wall", default="", help="ISO 8601 time to judge ages by.")
@click.option("--budget", default=0, type=click.IntRange(min=0), help="Tokens, 100 or more.")
@click.option("--explain", is_flag=True, help="Say which rule decided.")
@click.option("--last", is_flag=True, help="Show what was injected last, byte for byte.")
@store_options
@json_option
def command(
    host: str | None,
    session_key: str,
    cause: str,
    audience: str,
    form: str,
    now_wall: str,
    budget: int,
    explain: bool,
    last: bool,
    agent: str | None,
    workspace: str | None,
    store_id: str | None,
    as_json: bool,
) -> None:
    """Print what a session that starts now would be told. Reading consumes nothing.

    Exit code 1 when the seal does not verify.
    """
    if 0 < budget < 100:
        raise click.UsageError("--budget must be 100 tokens or more")
    if now_wall and times.parse(now_wall) is None:
        raise click.UsageError(f"--now {now_wall!r} is no ISO 8601 time")
    store = open_selected(agent, workspace, store_id, host)
    try:
        if last:
            _last(store, as_json)
            return
        found = _scene(store, session_key, cause, audience)
        settings = config.load(files.publish_private)
        woken = waking.tell(
            store, found, settings, now_wall=now_wall or now(), form=form, budget=budget
        )
    finally:
        store.close()
    if as_json:
        value: dict[str, object] = {
            "cause": woken.cause,
            "form": woken.form,
            "verdict": woken.verdict.name,
            "at": woken.at,
            "tokens": woken.tokens,
            "chars": len(woken.text),
            "text": woken.text,
            "omitted": woken.omitted,
            "withheld": woken.withheld,
        }
        if explain:
            value["row"], value["reasons"] = woken.decision.row, list(woken.decision.reasons)
        emit(value, exact="text")
    else:
        if explain:
            words(f"{woken.form}: {woken.decision.row} ({'; '.join(woken.decision.reasons)})")
        if woken.text:
            block(woken.text)
        else:
            words("nothing to restore")
    if not woken.verdict.good:
        words(f"seal {woken.verdict.name}: {woken.verdict.detail}")
        sys.exit(1)


def _scene(store: Store, key: str, cause: str, audience: str) -> scene.Scene:
    """The session that was asked for, caught up; else the newest that the caller may see."""
    try:
        scene.settle(store, store.identity.host)
        for session in sessions.open_sessions(store.db):
            if key in ("", session.key, session.id, gate.handle(session.key)):
                events.reconcile(store, session, store.identity.host, gone=False)
    except SealError as problem:
        words(str(problem))  # what is there is shown all the same, with its verdict
    everyone = sessions.sessions(store.db)
    if key:
        names = {s.number: (s.key, s.id, gate.handle(s.key)) for s in everyone}
        fitting = [s for s in everyone if key in names[s.number] or s.key.startswith(key)]
        if len({s.key for s in fitting}) != 1:
            known_keys = "\n".join(
                f"  {gate.handle(s.key)}  (last active {s.touched})" for s in everyone[:20]
            )
            raise SelectionError(f"no single session is called {key!r}; there are:\n{known_keys}")
        subject: Session | None = fitting[0]
    else:
        subject = _newest(store, everyone)
    if cause == "unknown" and subject is not None:
        over = subject.ended and subject.reason != scene.CRASH
        cause = "restart" if over else scene.CRASH
    return scene.Scene(NOBODY, subject, (), (), cause, audience)


def _newest(store: Store, everyone: list[Session]) -> Session | None:
    """The caller's own session when it runs inside one, else the newest with work in it.

    Inside a live session another live one's work is nobody's business.
    """
    owner, _ = process.host()
    mine = [s for s in everyone if not s.ended and owner in sessions.processes(store.db, s.number)]
    if mine:
        parent = mine[0].parent
        if mine[0].requests or parent is None:
            return mine[0] if mine[0].requests else _dead(store, everyone)
        return sessions.session(store.db, parent)
    return _dead(store, everyone) or next((s for s in everyone if s.requests), None)


def _dead(store: Store, everyone: list[Session]) -> Session | None:
    working = [s for s in everyone if s.requests]
    return next((s for s in working if not events.living(store, s)), None)


def _last(store: Store, as_json: bool) -> None:
    seq = sessions.last_receipt(store.db)
    if seq is None:
        raise SelectionError("nothing was injected yet in this workspace")
    kept = receipts.read(store, seq)
    answers = receipts.answers(store, seq)
    if as_json:
        sizes = {"chars": len(kept.text), "bytes": len(kept.text.encode())}
        total = {"answers": answers, "tokens_total": kept.tokens * answers}
        emit({**kept._asdict(), **sizes, **total}, exact="text")
        return
    block(kept.text)
    size = len(kept.text.encode())
    words(
        f"injected {kept.wall} into session {kept.session}: form {kept.form}, cause {kept.cause}, "
        f"seal {kept.verdict}, {size} bytes, about {kept.tokens} tokens (record #{seq}); "
        f"{answers} answers since then carried it: about {kept.tokens * answers} tokens"
    )
