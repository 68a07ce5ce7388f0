"""swapcache trust accept-rollback: go on from an older state that was restored on purpose."""

from __future__ import annotations

import sys

import click

from swapcache.cli.options import open_selected, store_options, words
from swapcache.cli.trust_show import fix
from swapcache.store.store import now


@click.command("accept-rollback")
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
            what = f"nothing to accept: {verdict.name} {verdict.detail}; {fix(store, verdict)}"
            words(what.rstrip("; "))
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
