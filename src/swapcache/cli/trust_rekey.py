"""swapcache trust rekey: replace the sealing key."""

from __future__ import annotations

import sys

import click

from swapcache import paths
from swapcache.cli.options import words
from swapcache.errors import StoreError
from swapcache.state import rewriting, views
from swapcache.store import identity, keyring, reseal
from swapcache.store.store import Store


@click.command()
@click.option("--dry-run", is_flag=True, help="Say which stores would be sealed anew.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def rekey(dry_run: bool, yes: bool) -> None:
    """Replace the sealing key and seal every store anew, for when somebody may have read it.

    A sealed record of each store says so, under both keys. The old key then opens nothing; it is
    kept only to prove anchors of its time. A run that was cut off is gone on with by the next one.
    Exit code 1 when a store could not be sealed anew: put it right, then run this again.
    """
    names = [name for name, _ in identity.listing()]
    words(f"{len(names)} stores; the new key will lie at {paths.key_file()}")
    if dry_run:
        return
    if not yes:
        click.confirm("replace the key?", abort=True, err=True)
    old, new = keyring.begin()
    left = [line for name in names if (line := _one(name, old, new))]
    for line in left:
        words(line)
    if left:
        words(f"the old key still opens these: put them right, then run this again ({len(left)})")
        sys.exit(1)
    keyring.end()
    words(f"every store is sealed by key {new} now; the old one lies at {paths.retired_key(old)}")


def _one(name: str, old: str, new: str) -> str:
    """What keeps a store from being sealed anew, or empty."""
    try:
        store = Store(name, 30.0)
    except StoreError as problem:
        return str(problem)
    try:
        if store.key_id == new:
            return ""
        kept, published = views.note(store), rewriting.own(store)
        verdict = reseal.rekey(store, old, new)
        if verdict.good:
            if published or kept.moved:
                views.keep_note(store, kept._replace(tag=store.tag(kept.seq)))
            rewriting.rewrite(store, published, bytes)
            return ""
        return f"{name} ({store.identity.workspace}): {verdict.name}: swapcache trust show"
    finally:
        store.close()
