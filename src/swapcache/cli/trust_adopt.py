"""swapcache trust adopt: take a memory for our own as it lies there."""

from __future__ import annotations

import os
import sys

import click

from swapcache.cli.options import words
from swapcache.errors import OlderSchemaError, SelectionError, StoreError
from swapcache.hosts import known, openclaw_config
from swapcache.model import Identity
from swapcache.store import identity, opening, reseal, sessions, trust
from swapcache.store.store import Store, now


@click.command()
@click.argument("digest")
@click.option("--workspace", help="Where it belongs from now on (default: where it belongs now).")
@click.option("--store", "store_id", default="", help="First characters of a store's id.")
@click.option("--dry-run", is_flag=True, help="Say what would be done.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def adopt(digest: str, workspace: str | None, store_id: str, dry_run: bool, yes: bool) -> None:
    """Take the memory that DIGEST names for our own, byte for byte as it lies there.

    For a store of another machine, one whose seal is broken and that you have looked at, or one
    whose workspace was moved or copied (--workspace). `swapcache trust show` prints DIGEST. A
    sealed record says what was adopted and what was proven of it then.
    """
    store = _named(digest, store_id)
    try:
        verdict = store.verify()
        if verdict.name == "ROLLED_BACK":
            words("this is an older state of a memory of ours: swapcache trust accept-rollback")
            sys.exit(1)
        owner = _owner(store, workspace)
        whose = f"{store.identity.host}, agent {store.identity.agent}, {store.identity.workspace}"
        words(f"{store.id}: {store.head()[0] + 1} records of {whose}: {verdict.name}")
        if owner[:4] != store.identity[:4]:
            words(f"  will belong to {owner.workspace}{_instead(owner, store)}")
        if dry_run:
            return
        if not yes:
            click.confirm("take it for our own, as it lies there?", abort=True, err=True)
        if verdict.name == "GAP":
            verdict = store.renew_witness()
        elif not verdict.good:
            verdict = reseal.adopt(store, digest)
        if verdict.good and owner[:4] != store.identity[:4]:
            _move(store, owner)
            verdict = store.verify()
    finally:
        store.close()
    words(f"{verdict.name}; the history says that you adopted it")
    if not verdict.good:
        sys.exit(1)


def _named(digest: str, store_id: str) -> Store:
    """The store that a digest names: by its head where the chain holds, else by its content."""
    names = [name for name, _ in identity.listing() if name.startswith(store_id)]
    for by_head in (True, False):
        for name in names:
            try:
                store = Store(name)
            except OlderSchemaError as problem:
                words(str(problem))
                continue
            except StoreError:
                continue  # no store that can be read: nothing of it can be adopted
            if by_head and store.head()[1][: trust.DIGEST_SIZE] == digest and store.check().good:
                return store
            if not by_head and reseal.digest(store) == digest:
                return store
            store.close()
    raise SelectionError(
        f"no store here is what {digest} names; it changed since, or the digest is another "
        "machine's; run: swapcache trust show"
    )


def _owner(store: Store, workspace: str | None) -> Identity:
    """Whose it is from now on."""
    if workspace is None:
        return store.identity
    place = os.path.realpath(workspace)
    if not os.path.isdir(place):
        raise click.UsageError(f"--workspace {place} is no directory")
    host = store.identity.host
    found = identity.identify(host, known.state_dir(host), place, store.identity.agent)
    return found._replace(workspace=place) if host == openclaw_config.NAME else found


def _instead(owner: Identity, store: Store) -> str:
    other = identity.find(owner)
    if other is None or other == store.id:
        return ""
    young = Store(other)
    try:
        asked = sum(s.requests for s in sessions.sessions(young.db))
    finally:
        young.close()
    return f" (instead of a memory with {asked} requests, {other}, which is set aside)"


def _move(store: Store, owner: Identity) -> None:
    """Binds a store to another workspace; one that is there already is set aside, not deleted."""
    other = identity.find(owner)
    if other is not None and other != store.id:
        young = Store(other)
        try:
            aside = owner._replace(workspace=f"{owner.workspace} (set aside {now()})", inode="")
            opening.bind(young, aside, "set aside", by=store.id)
        finally:
            young.close()
    opening.bind(store, owner, "bound")
