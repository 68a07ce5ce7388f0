"""swapcache verify: the seal."""

import sys

import click

from swapcache.cli.options import emit, json_option, open_selected, store_options


@click.command()
@click.option("--full", is_flag=True, help="Every record, not only the head.")
@click.option(
    "--renew-witness",
    is_flag=True,
    help="Write a new witness when the whole chain verifies and only the witness is missing.",
)
@store_options
@json_option
def command(
    full: bool,
    renew_witness: bool,
    agent: str | None,
    workspace: str | None,
    store_id: str | None,
    as_json: bool,
) -> None:
    """Check who recorded this memory and that nothing is missing. Exit code 1 if not VERIFIED."""
    store = open_selected(agent, workspace, store_id)
    try:
        if renew_witness:
            verdict = store.renew_witness()
        else:
            verdict = store.verify() if full else store.check()
        seq, tag = store.head()
        who = store.identity
        key = store.keys.id if store.keys else ""
    finally:
        store.close()
    if as_json:
        emit(
            {
                "verdict": verdict.name,
                "detail": verdict.detail,
                "have": verdict.have,
                "seen": verdict.seen,
                "records": seq + 1,
                "tag": tag,
                "key": key,
                "store": store.id,
            }
        )
    else:
        depth = "whole chain" if full or renew_witness else "head and witness"
        click.echo(f"{verdict.name}  {seq + 1} records, {depth}, {who.host} in {who.workspace}")
        if verdict.detail:
            click.echo(f"  {verdict.detail}")
        if verdict.seen > verdict.have >= 0:
            click.echo(f"  proven up to #{verdict.have}, the witness saw #{verdict.seen}")
    if not verdict.good:
        sys.exit(1)
