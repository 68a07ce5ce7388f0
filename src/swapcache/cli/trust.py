"""swapcache trust: what is proven, how to put it right, and a line to prove it by later."""

from __future__ import annotations

import sys

import click

from swapcache import paths
from swapcache.cli.options import emit, json_option, open_selected, store_options, words
from swapcache.store.store import Store, now

MARK = "swapcache-anchor"
FIXES = {
    "VERIFIED": "",
    "ROLLED_BACK": "if you restored this state on purpose: swapcache trust accept-rollback",
    "GAP": "swapcache verify --renew-witness (it checks the whole chain first)",
    "NO_KEY": "put the key back where `swapcache paths` names it, with mode 600",
    "FOREIGN": "put the key of the machine that recorded it where `swapcache paths` names it",
    "MODIFIED": "swapcache verify --full says where; move the store away to begin anew",
    "PREFIX": "swapcache verify --full says where; move the store away to begin anew",
    "UNSEALED": "swapcache capture records it anew from the transcript",
}


@click.group()
def command() -> None:
    """What is proven of this memory, and the one command that puts it right."""


@command.command()
@store_options
@json_option
def show(agent: str | None, workspace: str | None, store_id: str | None, as_json: bool) -> None:
    """Say what is proven, by which key, and what to do. Exit code 1 if not VERIFIED."""
    store = open_selected(agent, workspace, store_id)
    try:
        verdict = store.verify()
        seq, tag = store.head()
        value = {
            "store": store.id,
            "workspace": store.identity.workspace,
            "agent": store.identity.agent,
            "verdict": verdict.name,
            "detail": verdict.detail,
            "head": [seq, tag],
            "witness": verdict.seen,
            "sealed_by": store.key_id,
            "key_here": store.keys.id if store.keys else "",
            "fix": FIXES.get(verdict.name, "swapcache verify --full"),
            "accepted": _accepted(store),
        }
    finally:
        store.close()
    if as_json:
        emit(value)
    else:
        click.echo(f"{verdict.name}  {value['workspace']} (agent {value['agent']})")
        click.echo(f"  records 0 to {seq}, sealed by key {value['sealed_by']}")
        click.echo(f"  key on this machine: {value['key_here'] or store.key_problem}")
        click.echo(
            f"  the witness saw record {verdict.seen}" if verdict.seen >= 0 else "  no witness"
        )
        for line in _accepted_lines(value["accepted"]):
            click.echo(line)
        if verdict.detail:
            click.echo(f"  {verdict.detail}")
        if value["fix"]:
            click.echo(f"  what to do: {value['fix']}")
    if not verdict.good:
        sys.exit(1)


def _accepted(store: Store) -> list[dict[str, object]]:
    """What people accepted in this store's history, oldest first."""
    rows = store.db.execute(
        "SELECT seq FROM record WHERE json_extract(meta, '$.kind')='trust' ORDER BY seq"
    ).fetchall()
    found = []
    for (seq,) in rows:
        record = store.record(seq)
        if record is not None and record[1]:
            meta = record[0].meta
            found.append({k: meta.get(k) for k in ("event", "have", "seen", "wall")} | {"seq": seq})
    return found


def _accepted_lines(accepted: object) -> list[str]:
    rows = accepted if isinstance(accepted, list) else []
    return [
        f"  #{a['seq']} {a['wall']}: {a['event']}, from record {a['seen']} back to {a['have']}"
        for a in rows
    ]


@command.command("accept-rollback")
@click.option("--dry-run", is_flag=True, help="Say what would be accepted.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@store_options
def accept_rollback(
    dry_run: bool, yes: bool, agent: str | None, workspace: str | None, store_id: str | None
) -> None:
    """Go on from an older state that you restored. What it lacks is read again from transcripts.

    A sealed record says that it happened. Exit code 1 when there is nothing to accept.
    """
    store = open_selected(agent, workspace, store_id)
    try:
        verdict = store.verify()
        if verdict.name != "ROLLED_BACK":
            fix = FIXES.get(verdict.name, "")
            words(f"nothing to accept: {verdict.name} {verdict.detail}; {fix}".rstrip("; "))
            sys.exit(0 if verdict.good else 1)
        words(f"record {verdict.have} is the newest here, record {verdict.seen} was sealed")
        if dry_run:
            return
        if not yes:
            click.confirm("go on from the older state?", abort=True, err=True)
        verdict = store.accept_rollback(now())
    finally:
        store.close()
    words(f"{verdict.name}; the history says that you accepted it")
    if not verdict.good:
        sys.exit(1)


@command.command()
@click.option("--check", "line", help="An anchor printed before: prove that nothing changed since.")
@store_options
@json_option
def anchor(
    line: str | None, agent: str | None, workspace: str | None, store_id: str | None, as_json: bool
) -> None:
    """Print a line to keep elsewhere; with --check prove the history up to it by one.

    Whoever holds the line needs no key: a store that was rolled back, or made anew with the same
    key, does not match it. Exit code 1 if it does not.
    """
    store = open_selected(agent, workspace, store_id)
    try:
        verdict = store.verify()
        seq, tag = store.head()
        if line is None:
            text = f"{MARK} 1 {store.uuid} {seq} {tag}"
            emit({"anchor": text, "verdict": verdict.name}) if as_json else click.echo(text)
            good, reason = verdict.good, verdict.detail
        else:
            good, reason = _holds(store, line)
            emit({"good": good, "reason": reason}) if as_json else click.echo(reason)
    finally:
        store.close()
    if not good:
        words(f"not proven: {reason} ({paths.stores_dir()}/{store.id})")
        sys.exit(1)


def _holds(store: Store, line: str) -> tuple[bool, str]:
    """Whether a store's history up to an anchor is the one that the anchor saw."""
    fields = line.split()
    if len(fields) != 5 or fields[:2] != [MARK, "1"] or not fields[3].isdigit():
        raise click.UsageError(f"--check wants a line that begins with {MARK!r}")
    if fields[2] != store.uuid:
        return False, "the anchor is another store's"
    seq = int(fields[3])
    head = store.head()[0]
    if seq > head:
        return False, f"the anchor saw record {seq}, this store ends at {head}"
    for record, good in store.read(0, seq):
        if not good:
            return False, f"record {record.seq} does not match its seal"
    if store.tag(seq) != fields[4]:
        return False, f"record {seq} is not the one that the anchor saw"
    return True, f"records 0 to {seq} are those that the anchor saw; {head - seq} came since"
