"""swapcache trust anchor: a line to keep elsewhere, and the proof by it later."""

from __future__ import annotations

import sys

import click

from swapcache import paths
from swapcache.cli.options import emit, json_option, open_selected, say, store_options, words
from swapcache.store import reseal, seal
from swapcache.store.store import Store

MARK = "swapcache-anchor"


@click.command()
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
            emit({"anchor": text, "verdict": verdict.name}) if as_json else say(text)
            good, reason = verdict.good, verdict.detail
        else:
            good, reason = _holds(store, line)
            emit({"good": good, "reason": reason}) if as_json else say(reason)
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
    after = f"records 0 to {seq} are those that the anchor saw; {head - seq} came since"
    if seal.same(store.tag(seq), fields[4]):
        return True, after
    for key_id in reseal.retired(store):
        try:
            key = seal.read_key(paths.retired_key(key_id))
        except FileNotFoundError:
            continue
        if seal.same(reseal.tag_under(store, key, seq), fields[4]):
            return True, f"{after}; it was sealed by key {key_id} then"
    return False, f"record {seq} is not the one that the anchor saw"
