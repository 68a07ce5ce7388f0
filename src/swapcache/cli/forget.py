"""swapcache forget: take a text out of everything that is ours, and prove that it is gone."""

from __future__ import annotations

import os
import sys
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import click

from swapcache import hook, paths
from swapcache.capture import follow
from swapcache.capture import forget as forgetting
from swapcache.cli.options import emit, json_option, open_selected, safe, say, store_options, words
from swapcache.errors import StoreError
from swapcache.state import rewriting
from swapcache.state.neutral import neutralise
from swapcache.state.views import FOLDER
from swapcache.store import files, identity, removal, sessions
from swapcache.store.forgetting import LEAST, NAMES, Text, file_holds, text_of
from swapcache.store.store import Store
from swapcache.transcripts import formats, tables

if TYPE_CHECKING:
    from collections.abc import Iterator

LIMIT = 64 << 20


@dataclass(frozen=True, slots=True)
class Place:
    """Where the text stood in one store, and what is left of it."""

    store: str
    workspace: str
    records: int
    rows: int
    files: int
    left: list[str]


@click.command()
@click.argument("text")
@click.option("--everywhere", is_flag=True, help="In every store, not only this workspace's.")
@click.option("--dry-run", is_flag=True, help="Say where it stands, change nothing.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@store_options
@json_option
def command(
    text: str,
    everywhere: bool,
    dry_run: bool,
    yes: bool,
    agent: str | None,
    workspace: str | None,
    store_id: str | None,
    as_json: bool,
) -> None:
    """Take TEXT (- reads it from standard input) out of records, states, views and backups.

    Records keep their numbers and their seal; a sealed record says which ones were masked. Then
    every byte of ours is searched for it. The hosts' own transcripts are never written: those that
    still hold it are named. Exit code 1 when something of ours still holds it.
    """
    wanted = _wanted(text)
    if not dry_run:
        hook.drain()
    if everywhere:
        stores = [Store(name, 30.0) for name, _ in identity.listing()]
    else:
        stores = [open_selected(agent, workspace, store_id)]
    try:
        found = [(store, forgetting.search(store, wanted)) for store in stores]
        total = sum(len(where.records) for _, where in found)
        words(f"it stands in {total} records of {len(stores)} stores")
        if not dry_run and not yes:
            click.confirm("mask it there for good?", abort=True, err=True)
        places = [_one(store, where, wanted, dry_run) for store, where in found]
        kept = sorted({path for store in stores for path in _transcripts(store, wanted)})
        shown = [safe(path, stores[0]) for path in kept] if stores else []
    finally:
        for store in stores:
            store.close()
    others = list(_ours(wanted, mask=not dry_run))
    _print(places, others, shown, as_json)
    if not dry_run and (others or any(place.left for place in places)):
        sys.exit(1)


def _wanted(text: str) -> Text:
    if text == "-":
        text = sys.stdin.read().rstrip("\n")
    if "\n" in text.strip("\n"):
        raise click.UsageError("give one line at a time: lines are stored apart")
    if len(text.strip()) < LEAST:
        raise click.UsageError(f"fewer than {LEAST} characters stand everywhere by chance")
    return text_of(text, neutralise(text)[0])


def _one(store: Store, where: forgetting.Found, text: Text, dry_run: bool) -> Place:
    """Forgets in one store; searches again."""
    folder = f"{store.identity.workspace}/{FOLDER}"
    published = list(_holding(folder, text))
    left: list[str] = []
    if not dry_run:
        try:
            if not where.nothing:
                forgetting.forget(store, text)
            some = [view for view in rewriting.own(store) if text.inside(view.data)]
            rewriting.rewrite(store, some, text.masked)
        except StoreError as problem:
            left.append(str(problem))
        left += _holding(folder, text)
        after = forgetting.search(store, text)
        left += [f"record {seq}" for seq in after.records]
        left += [f"{rows} rows of {column}" for column, rows in after.columns.items()]
        left += after.files
        if any(column in NAMES for column in after.columns):
            left.append("it is part of a name (session, workspace, transcript), which is sealed")
    return Place(
        store.id,
        store.identity.workspace,
        len(where.records),
        sum(where.columns.values()),
        len(where.files) + len(published),
        left,
    )


def _transcripts(store: Store, text: Text) -> Iterator[str]:
    """The hosts' files that a store was recorded from and that still hold the text."""
    for path in {source.path for source in sessions.every_source(store.db)}:
        if path.startswith(formats.IN_DATABASE):
            path = tables.parts(path)[1]
        elif path and not os.path.exists(path):
            path = follow.renamed(path)
        if path and file_holds(path, text):
            yield path


def _holding(folder: str, text: Text) -> Iterator[str]:
    """The files below a folder that hold the text."""
    for directory, _, names in os.walk(folder):
        for path in (f"{directory}/{name}" for name in sorted(names)):
            if not directory.startswith(paths.stores_dir()) and file_holds(path, text):
                yield path


def _ours(text: Text, *, mask: bool) -> Iterator[str]:
    """Files of ours beside the stores that hold it still, after dealing with those that may change.

    A ready text is made anew by the next fold; until then its session is told nothing.
    """
    for path in (found for folder in removal.own() for found in _holding(folder, text)):
        if mask and os.path.dirname(path) == paths.ready_dir():
            os.unlink(path)
        elif mask and path == paths.error_log():
            files.publish(path, text.masked(files.read_regular(path, LIMIT)))
        else:
            yield path


def _print(places: list[Place], others: list[str], transcripts: list[str], as_json: bool) -> None:
    if as_json:
        emit(
            {
                "stores": [asdict(place) for place in places],
                "other_files": others,
                "transcripts": transcripts,
            }
        )
        return
    for place in places:
        say(
            f"{place.store[:8]}  {safe(place.workspace)}: {place.records} records, {place.rows} "
            f"rows, {place.files} files held it; {len(place.left)} places hold it now"
        )
        for line in place.left:
            say(f"  left: {safe(line)}")
    for path in others:
        say(f"left: {safe(path)}")
    for path in transcripts:
        say(f"the host's own transcript still holds it: {path}")
