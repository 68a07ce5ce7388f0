"""swapcache verify: the seal, and what the hosts' own transcripts say of the records."""

import sqlite3
import sys
from collections.abc import Iterator
from typing import Any

import click

from swapcache.capture.corroborate import Corroboration, corroborate
from swapcache.cli.options import emit, json_option, open_selected, safe, say, store_options
from swapcache.store import pruning
from swapcache.store.store import Store

SHOWN = 10


@click.command()
@click.option(
    "--full", is_flag=True, help="Every record, and each against its transcript; not only the head."
)
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
    """Check who recorded this memory and that nothing is missing. Exit code 1 if not VERIFIED.

    With --full the records are also compared with the hosts' transcripts, where those still exist.
    What differs is said and changes no exit code: hosts, and their owners, edit transcripts.
    """
    store = open_selected(agent, workspace, store_id)
    try:
        if renew_witness:
            verdict = store.renew_witness()
        else:
            verdict = store.verify() if full else store.check()
        seq, tag = store.head()
        who = store.identity
        key = store.keys.id if store.keys else ""
        found = _corroborated(store) if full else None
        pruned = pruning.size(store).pruned_records if full and verdict.good else None
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
                "pruned": pruned,
                "corroboration": None if found is None else _data(found),
            }
        )
    else:
        depth = "whole chain" if full or renew_witness else "head and witness"
        say(f"{verdict.name}  {seq + 1} records, {depth}, {who.host} in {who.workspace}")
        if verdict.detail:
            say(f"  {verdict.detail}")
        if verdict.seen > verdict.have >= 0:
            say(f"  proven up to #{verdict.have}, the witness saw #{verdict.seen}")
        if pruned:
            say(f"  the words of {pruned} records were pruned; sealed records of it name them")
        for line in _lines(found) if found is not None else ():
            say(line)
    if not verdict.good:
        sys.exit(1)


def _corroborated(store: Store) -> Corroboration | None:
    """None when the records cannot be read; the verdict says so then."""
    try:
        return corroborate(store)
    except sqlite3.DatabaseError:
        return None


def _data(found: Corroboration) -> dict[str, Any]:
    return {
        "corroborated": found.corroborated,
        "differing": found.differing,
        "without": found.without,
        "differences": [one._asdict() for one in found.differences],
        "rewritten": [one._asdict() for one in found.rewritten],
        "gone": [one._asdict() for one in found.gone],
    }


def _lines(found: Corroboration) -> Iterator[str]:
    rewritten = sum(one.records for one in found.rewritten)
    gone = sum(one.records for one in found.gone)
    yield (
        f"  transcripts: {found.corroborated} records stand in them as they were recorded, "
        f"{found.differing} differ, {rewritten} were in parts that were rewritten, {gone} in "
        f"transcripts that cannot be read, {found.without} are in none"
    )
    for one in found.rewritten[:SHOWN]:
        yield (
            f"  {one.records} of {safe(one.transcript)}: generation {one.generation} was cut or "
            f"rewritten, and captured anew as generation {one.newest}"
        )
    for lost in found.gone[:SHOWN]:
        yield f"  {lost.records} of {safe(lost.transcript)}: {safe(lost.reason)}"
    for other in found.differences[:SHOWN]:
        yield f"  #{other.record}: {other.reason} ({safe(other.transcript) or 'none'})"
    if found.differing > SHOWN:
        yield f"  and {found.differing - SHOWN} more that differ; --json names them"
    if found.differing:
        yield (
            "  either those transcripts were changed after they were recorded, or the records are "
            "not what the host wrote; the verdict above only says whether they are as sealed"
        )
