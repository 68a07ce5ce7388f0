"""swapcache prune: give the disk back what old sessions take, and keep what they came to."""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import click

from swapcache import hook
from swapcache.capture import prune as pruning
from swapcache.capture.prune import Part, Pruned, Wanted
from swapcache.cli import sizes
from swapcache.cli.options import (
    emit,
    json_option,
    open_selected,
    problem,
    safe,
    say,
    store_options,
    words,
)
from swapcache.cli.sizes import words as sized
from swapcache.errors import StoreError
from swapcache.state import gate
from swapcache.store import identity
from swapcache.store import pruning as store_sizes
from swapcache.store.store import Store

if TYPE_CHECKING:
    from datetime import datetime

SHOWN = 40
"""So many sessions are listed in words; --json lists all."""


@dataclass(frozen=True, slots=True)
class Place:
    """What goes, or went, in one store."""

    store: str
    workspace: str
    sessions: list[dict[str, Any]]
    records: int
    bytes: int
    before: int
    after: int
    freed: int
    enough: bool
    """The store is as small as --max-bytes asked."""


@click.command()
@click.option(
    "--older-than",
    "before",
    metavar="AGE",
    callback=sizes.since,
    help="Sessions whose last message is older: 90d, 12w, or before a date (2026-01-31).",
)
@click.option(
    "--keep", type=click.IntRange(min=0), metavar="N", help="All but the newest N of each store."
)
@click.option(
    "--max-bytes",
    "limit",
    metavar="SIZE",
    callback=sizes.size,
    help="The oldest, until each store is below this size on the disk: 500MB, 2GiB.",
)
@click.option("--everywhere", is_flag=True, help="In every store, not only this workspace's.")
@click.option("--dry-run", is_flag=True, help="Show what would go, change nothing.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@store_options
@json_option
def command(
    before: datetime | None,
    keep: int | None,
    limit: int | None,
    everywhere: bool,
    dry_run: bool,
    yes: bool,
    agent: str | None,
    workspace: str | None,
    store_id: str | None,
    as_json: bool,
) -> None:
    """Take the words of old sessions out of the store, for good, and give their room back.

    Give at least one of --older-than, --keep and --max-bytes: a session goes when any of those that
    are given selects it. Its last state, what the agent stated, and number, hash and seal of every
    record stay: the next session is told the same, and `verify --full` still proves the chain.
    Never taken: a session that may still run, the newest one of the store, and the newest one of a
    session key that was used more than once. The hosts' own transcripts are not touched, and
    capturing one again adds nothing.

    Exit code 1 when a store is still larger than --max-bytes afterwards.
    """
    wanted = _wanted(before, keep, limit)
    if not dry_run:
        hook.drain()
    if everywhere:
        stores = [Store(name, 30.0) for name, _ in identity.listing()]
    else:
        stores = [open_selected(agent, workspace, store_id)]
    try:
        plans, failed = _plans(stores, wanted)
        if not as_json:
            for store, parts in zip(stores, plans, strict=True):
                _show(store, parts)
        total = sum(map(len, plans))
        if not dry_run and total and not yes:
            words(f"{total} sessions of {len(stores)} stores lose their words for good")
            click.confirm("take them away?", abort=True, err=True)
        if dry_run:
            places = [_planned(s, p, limit) for s, p in zip(stores, plans, strict=True)]
        else:
            places, failed = _all(stores, wanted)
    finally:
        for store in stores:
            store.close()
    _print(places, dry_run, as_json)
    if failed is not None:
        raise failed
    if not dry_run and not all(place.enough for place in places):
        sys.exit(1)


def _wanted(before: datetime | None, keep: int | None, limit: int | None) -> Wanted:
    why = []
    if before is not None:
        why.append(f"older than {before.isoformat(timespec='seconds')}")
    if keep is not None:
        why.append(f"not among the newest {keep}")
    if limit is not None:
        why.append(f"store over {limit} bytes")
    if not why:
        raise click.UsageError(
            "say what may go: --older-than 90d, --keep N or --max-bytes 500MB "
            "(--dry-run shows what that is)"
        )
    return Wanted(before, keep, limit, "; ".join(why))


def _plans(stores: list[Store], wanted: Wanted) -> tuple[list[list[Part]], StoreError | None]:
    """What would go in each store: nothing in one that cannot be read or is not proven."""
    plans: list[list[Part]] = []
    failed: StoreError | None = None
    for store in stores:
        try:
            verdict = store.check()
            if not verdict.good:
                raise pruning.refused(store, verdict)
            plans.append(pruning.plan(store, wanted))
        except StoreError as refused:
            plans.append([])
            failed = refused
    return plans, failed


def _all(stores: list[Store], wanted: Wanted) -> tuple[list[Place], StoreError | None]:
    """Prunes each store; one that cannot be pruned does not keep the others from it."""
    places: list[Place] = []
    failed: StoreError | None = None
    for store in stores:
        try:
            places.append(_place(store, pruning.prune(store, wanted), wanted.limit))
        except StoreError as refused:
            if failed is not None:
                problem(f"swapcache: {failed}")
            failed = refused
    return places, failed


def _planned(store: Store, parts: list[Part], limit: int | None) -> Place:
    before = store_sizes.on_disk(store)
    after = max(min(before, store_sizes.in_use(store)) - sum(p.disk for p in parts), 0)
    records, size = sum(p.records for p in parts), sum(p.bytes for p in parts)
    return _place(store, Pruned(parts, records, size, before, after), limit)


def _place(store: Store, done: Pruned, limit: int | None) -> Place:
    return Place(
        store.id,
        store.identity.workspace,
        [_session(part) for part in done.parts],
        done.records,
        done.bytes,
        done.before,
        done.after,
        done.before - done.after,
        limit is None or done.after <= limit,
    )


def _session(part: Part) -> dict[str, Any]:
    return {
        "session": part.session.id,
        "key": part.session.key,
        "window": part.session.window,
        "records": part.records,
        "bytes": part.bytes,
        "disk": part.disk,
        "oldest": part.first.isoformat(timespec="seconds"),
        "newest": part.last.isoformat(timespec="seconds"),
    }


def _show(store: Store, parts: list[Part]) -> None:
    say(f"{store.id[:8]}  {safe(store.identity.workspace)}: {len(parts)} sessions can go")
    if parts:
        say(f"  {'session':<12} {'records':>8} {'bytes':>10} {'on disk':>10}  oldest      newest")
    for part in parts[:SHOWN]:
        say(
            f"  {gate.handle(part.session.id)[:12]:<12} {part.records:>8} {sized(part.bytes):>10} "
            f"{sized(part.disk):>10}  {part.first:%Y-%m-%d}  {part.last:%Y-%m-%d}"
        )
    if len(parts) > SHOWN:
        say(f"  and {len(parts) - SHOWN} more; --json lists them")


def _print(places: list[Place], dry_run: bool, as_json: bool) -> None:
    if as_json:
        emit({"dry_run": dry_run, "stores": [asdict(place) for place in places]})
        return
    for place in places:
        about = "would free about" if dry_run else "freed"
        say(
            f"{place.store[:8]}  {len(place.sessions)} sessions, {place.records} records, "
            f"{sized(place.bytes)} of text: {about} {sized(max(place.freed, 0))} "
            f"({sized(place.before)} before, {sized(place.after)} after)"
        )
        if not place.enough:
            say(
                "  larger than --max-bytes: what is left may still run, is the newest, or is no "
                "session's words"
            )
