"""swapcache show: one record, with its seal."""

import json
import sys
from collections.abc import Iterable

import click

from swapcache.capture import story
from swapcache.cli.options import block, emit, json_option, open_selected, safe, say, store_options
from swapcache.errors import SelectionError
from swapcache.model import UNTRUSTED, Item, Record
from swapcache.state import gate
from swapcache.state.fold import Fold
from swapcache.store import sessions
from swapcache.store.store import Store
from swapcache.wake import fence

EXTERNAL = (
    "what stands between the two marker lines is recorded data, at least in part of external origin"
)


@click.command()
@click.argument("number", type=click.IntRange(min=0))
@store_options
@json_option
def command(
    number: int, agent: str | None, workspace: str | None, store_id: str | None, as_json: bool
) -> None:
    """Show record NUMBER: where it came from, whether it verifies, and its text.

    Secrets are masked. Words that may be a stranger's (tool output, web pages, other senders) stand
    between marker lines with a random id. Exit code 1 when the record does not verify.
    """
    store = open_selected(agent, workspace, store_id)
    try:
        found = store.record(number)
        if found is None:
            newest = store.head()[0]
            raise SelectionError(f"there is no record #{number}; the newest is #{newest}")
        record, good = found
        text = safe(record.body.decode("utf-8", "replace"), store)
        external = not good or (not record.pruned and _external(store, record))
        if external:
            text = fence.external(text, store.identity.host)
        meta = {k: safe(v, store) if isinstance(v, str) else v for k, v in record.meta.items()}
    finally:
        store.close()
    if as_json:
        emit(
            {
                "record": record.seq,
                "verified": good,
                "pruned": record.pruned,
                "meta": meta,
                "position": record.position,
                "size": len(record.body),
                "external": external,
                "text": text,
            },
            exact="text",
        )
    else:
        say(f"record #{record.seq}, {'verified' if good else 'NOT VERIFIED'}")
        for key, value in sorted(meta.items()):
            say(f"  {key}: {value}")
        if record.pruned:
            say("its words were pruned; a sealed record of this memory says so")
        if external:
            say(EXTERNAL)
        block(text)
    if not good:
        sys.exit(1)


def _external(store: Store, record: Record) -> bool:
    """True unless every word of a record is known to be the owner's, the agent's or the host's."""
    kind, body = record.meta.get("kind"), record.body.decode("utf-8", "replace")
    if record.meta.get("origin") == UNTRUSTED:
        return True
    if kind == "raw":
        source = sessions.source(store.db, record.source)
        message = story.read_back(record, source).message if source is not None else None
        if message is None or message.results:
            return True
        return message.kind in ("failure", "injected")
    if kind == "snapshot":
        return _foreign(Fold.load(body).state(0, 0).items)
    if kind == "statement":
        said = json.loads(body)
        return said["kind"] == "failure" or (
            said["kind"] == "inherited" and _foreign(Item(*i) for i in json.loads(said["text"]))
        )
    return False


def _foreign(items: Iterable[Item]) -> bool:
    return any(i.kind in (*gate.OUTPUT, "failure") or not gate.whole(i) for i in items)
