"""swapcache show: one record, with its seal."""

import sys

import click

from swapcache.cli.options import emit, json_option, open_selected, safe, store_options
from swapcache.errors import SelectionError


@click.command()
@click.argument("number", type=click.IntRange(min=0))
@store_options
@json_option
def command(
    number: int, agent: str | None, workspace: str | None, store_id: str | None, as_json: bool
) -> None:
    """Show record NUMBER: where it came from, whether it verifies, and its text.

    Secrets are masked. Exit code 1 when the record does not verify.
    """
    store = open_selected(agent, workspace, store_id)
    try:
        found = store.record(number)
        if found is None:
            newest = store.head()[0]
            raise SelectionError(f"there is no record #{number}; the newest is #{newest}")
        record, good = found
        text = safe(record.body.decode("utf-8", "replace"), store)
    finally:
        store.close()
    if as_json:
        emit(
            {
                "record": record.seq,
                "verified": good,
                "meta": record.meta,
                "position": record.position,
                "size": len(record.body),
                "text": text,
            }
        )
    else:
        click.echo(f"record #{record.seq}, {'verified' if good else 'NOT VERIFIED'}")
        for key, value in sorted(record.meta.items()):
            click.echo(f"  {key}: {value}")
        click.echo(text)
    if not good:
        sys.exit(1)
