"""swapcache import: the hosts' earlier sessions into the stores, and on request what comes."""

from __future__ import annotations

import hashlib  # noqa: F401 - loaded first: swapcache.digest takes OpenSSL's where it is loaded
import os
import sys
import time
from datetime import datetime
from typing import Any

import click

from swapcache import paths
from swapcache.cli import sizes
from swapcache.cli.imported import Work, report
from swapcache.cli.options import emit, json_option, words
from swapcache.errors import NoSpaceError
from swapcache.hosts import history, known, locate
from swapcache.hosts.history import Listing, Past
from swapcache.store.store import now

SINCE = "30d"
SHARE = 0.6
"""Bytes of a store for each byte of transcripts, at most as a rule (docs/benchmarks.md)."""
MARGIN = 64 << 20
STOPPED = 130


@click.command(name="import")
@click.option(
    "--host", "hosts", multiple=True, type=click.Choice(known.NAMES), help="Only this host's."
)
@click.option(
    "--since",
    default=SINCE,
    show_default=True,
    callback=sizes.since,
    help="Sessions written since: 12h, 30d, 8w, or a date like 2026-11-01.",
)
@click.option("--all", "everything", is_flag=True, help="Sessions of any age.")
@click.option("--dry-run", is_flag=True, help="Show what would be imported, store nothing.")
@click.option(
    "--follow", is_flag=True, help="Then go on with what the hosts write, until it is stopped."
)
@click.option("--interval", default=2.0, show_default=True, help="Seconds between two looks.")
@json_option
def command(
    hosts: tuple[str, ...],
    since: datetime,
    everything: bool,
    dry_run: bool,
    follow: bool,
    interval: float,
    as_json: bool,
) -> None:
    """Store the earlier sessions of the hosts on this machine.

    It may be stopped and called again: it goes on where it was, and what is there already is not
    stored twice. Exit code 1 when something could not be read, 130 when it was stopped.
    """
    oldest = 0.0 if everything else since.timestamp()
    chosen = hosts or known.NAMES
    began = time.time_ns()
    before = {host: locate.stamps(host) for host in chosen} if follow else {}
    found = {host: listed for host in chosen if _any(listed := history.listing(host))}
    wanted = [
        past
        for listed in found.values()
        for past in listed.past
        if not past.child and past.wall_ns / 1e9 >= oldest
    ]
    left = _left_out(found, wanted)
    need = _announce(found, wanted, left)
    if dry_run:
        if as_json:
            emit({"found": [_row(past) for past in wanted], "left_out": left})
        return
    _room(need)
    with history.Stores() as stores:
        work = Work(wanted, stores, as_json)
        stopped = work.run()
        if not stopped and follow:
            stopped = _follow(work, stores, before, began, interval)
    report(work, found, left, stopped, as_json)
    if stopped and not follow:
        sys.exit(STOPPED)
    if work.failed or any(one.lost for one in work.sums().values()):
        sys.exit(1)


def _any(listed: Listing) -> bool:
    return bool(listed.past or listed.unread)


# -- before ----------------------------------------------------------------------------------------


def _left_out(found: dict[str, Listing], wanted: list[Past]) -> dict[str, int]:
    """What was found and is not imported, by why."""
    children = sum(past.child for listed in found.values() for past in listed.past)
    everyone = sum(len(listed.past) for listed in found.values())
    return {
        "older": everyone - children - len(wanted),
        "of sub-agents": children,
        "copies": sum(listed.copies for listed in found.values()),
        "not read": sum(len(listed.unread) for listed in found.values()),
    }


def _announce(found: dict[str, Listing], wanted: list[Past], left: dict[str, int]) -> int:
    """Says what was found and how much disk it needs at most; gives that."""
    if not found:
        places = ", ".join(known.state_dir(host) for host in known.NAMES)
        words(f"no host's history was found (looked at {places})")
    total = 0
    for host, listed in found.items():
        mine = [past for past in wanted if past.host == host]
        size = sum(past.size for past in mine)
        if any(not past.size for past in mine):
            size += sum(listed.databases.values())
        total += size
        words(f"{host}: {len(mine)} sessions, {sizes.words(size)} of transcripts")
    for why, text in (
        ("older", "sessions are older (--all, --since)"),
        ("of sub-agents", "transcripts of sub-agents (their parents hold what came of them)"),
        ("copies", "files tell of the same sessions again"),
    ):
        if left[why]:
            words(f"left out: {left[why]} {text}")
    need = int(total * SHARE)
    if wanted:
        words(
            f"at most about {sizes.words(need)} of disk in {paths.stores_dir()}, less what is there"
        )
    return need


def _room(need: int) -> None:
    """Raises NoSpaceError when the disk cannot hold what is about to come."""
    place = paths.state_dir()
    while not os.path.isdir(place):
        place = os.path.dirname(place)
    disk = os.statvfs(place)
    free = disk.f_bavail * disk.f_frsize
    if free < need + MARGIN:
        raise NoSpaceError(
            f"{place} has {sizes.words(free)} free, and about {sizes.words(need)} may be needed; "
            "nothing was imported: make room, or take less with --since or --host"
        )


def _row(past: Past) -> dict[str, Any]:
    return {
        "host": past.host,
        "session": past.session,
        "workspace": past.workspace,
        "transcript": past.transcript,
        "bytes": past.size,
    }


def _follow(
    work: Work,
    stores: history.Stores,
    seen: dict[str, dict[str, tuple[int, ...]]],
    began: int,
    interval: float,
) -> bool:
    """Goes on with what the hosts write since they were `seen`; True when it was stopped."""
    words(f"following {', '.join(seen)}; stop it with Ctrl-C")
    wanted = {past.transcript for past in work.wanted}
    try:
        while True:
            for host in seen:
                look = locate.stamps(host)
                changed = {path for path, stamp in look.items() if seen[host].get(path) != stamp}
                seen[host] = look
                for past in history.listing(host, changed).past if changed else ():
                    if not past.child and (past.transcript in wanted or past.wall_ns >= began):
                        _again(work, past)
            stores.close()  # others may rekey, adopt or remove them
            time.sleep(interval)
    except KeyboardInterrupt:
        return True


def _again(work: Work, past: Past) -> None:
    before = sum(taken.report.new for taken in work.done.values())
    work.take(past, len(work.wanted))
    new = sum(taken.report.new for taken in work.done.values()) - before
    if new:
        words(f"{now()} {past.host} {past.session}: {new} new rows")
