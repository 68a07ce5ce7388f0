"""What can be wrong between a host and us: one function a check.

Owns the checks of versions, entries, switches, silent hooks, launcher and plugin. Promises only to
read. Never starts more of a host than its --version.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import time
from typing import TYPE_CHECKING

from swapcache import paths
from swapcache.cli import setup
from swapcache.cli.finding import Finding
from swapcache.errors import SwapcacheError
from swapcache.hosts import edits, history, versions
from swapcache.hosts import launcher as launchers
from swapcache.hosts import openclaw_config as openclaw
from swapcache.store import identity, sessions, times
from swapcache.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from swapcache.model import Session

SILENT_S = 600.0
"""A host may write its transcript this much later than our last record of it."""
UNTOLD = 3


def version(host: str) -> Iterator[Finding]:
    probe = versions.probe(host)
    if probe.verdict == "too old":
        yield Finding(
            "version",
            f"{host} {probe.version} is older than {probe.oldest}",
            "its hooks or transcripts are not what this swapcache knows",
            f"upgrade {host}",
        )


def entries(host: str) -> Iterator[Finding]:
    path = setup.HOSTS[host].settings_file()
    try:
        changes = setup.plan((host,))
    except SwapcacheError as problem:
        yield Finding("entries", str(problem), "the host cannot call us", f"correct {path}")
        return
    hooked = host == openclaw.NAME and openclaw.hooked(edits.peek(path))
    if changes and not hooked:
        yield Finding(
            "entries",
            f"{path} lacks a part of our entries, or holds them twice",
            "some events of the host are not recorded, or nothing is told",
            f"swapcache setup --host {host}",
        )


def switches(host: str) -> Iterator[Finding]:
    path = setup.HOSTS[host].settings_file()
    for name in setup.HOSTS[host].switched_off(edits.peek(path)):
        yield Finding(
            "switches",
            f"{path} has {name}",
            "the host calls no hooks of ours",
            f"remove {name} from {path}",
        )
    if os.path.exists(paths.off_file()):
        yield Finding(
            "off", "swapcache is off everywhere", "nothing is recorded or told", "swapcache on"
        )


def fired(host: str) -> Iterator[Finding]:
    """The newest transcript is newer than what its store holds: the hook was not called."""
    if os.path.exists(paths.off_file()):
        return
    newest = next(
        (past for past in history.listing(host).past if not (past.child or _off(past.workspace))),
        None,
    )
    if newest is None or newest.wall_ns / 1e9 < _installed_at(host) + SILENT_S:
        return
    if newest.wall_ns / 1e9 > _last_record(host) + SILENT_S:
        yield Finding(
            "fired",
            f"{newest.transcript} was written {_ago(newest.wall_ns / 1e9)} ago, and no record is "
            "as new",
            "the host does not call our hook: it was started before setup, or does not trust it",
            f"start {host} anew, then look again; without success: swapcache setup --host {host}",
        )


def injected(host: str) -> Iterator[Finding]:
    """Sessions began where there was work to tell, and none was ever told anything."""
    for store, known in _stores(host):
        everyone = sorted(known, key=lambda s: s.begun)
        worked = next((n for n, s in enumerate(everyone) if s.requests), len(everyone))
        begun = [s for s in everyone[worked + 1 :] if s.process is not None]
        if len(begun) >= UNTOLD and sessions.last_receipt(store.db) is None:
            yield Finding(
                "injected",
                f"{store.identity.workspace}: {len(begun)} sessions began, none was told anything",
                "the host may drop the hook's answer, or the policy tells nothing",
                "swapcache wake --explain says what the next session is told, and why",
            )


def _off(workspace: str) -> bool:
    try:
        return paths.is_off(identity.workspace_of(workspace))
    except OSError:  # a directory of somebody else's
        return False


def _installed_at(host: str) -> float:
    """When setup wrote the host's file, or `swapcache on` was said; never, if neither."""
    times_known = [_seconds(edits.written(setup.HOSTS[host].settings_file()))]
    with contextlib.suppress(FileNotFoundError):
        times_known.append(os.stat(paths.on_file()).st_mtime)
    return max(times_known) or float("inf")


def _last_record(host: str) -> float:
    """When the newest record of a host was made, in seconds."""
    touched = [s.touched for _, everyone in _stores(host) for s in everyone]
    return max(map(_seconds, touched), default=0.0)


def _stores(host: str) -> Iterator[tuple[Store, list[Session]]]:
    """The stores of a host that can be read; the others are findings of their own."""
    for store_id, owner in identity.listing():
        if owner.host != host:
            continue
        try:
            store = Store(store_id)
        except SwapcacheError:
            continue
        with contextlib.closing(store):
            try:
                everyone = sessions.sessions(store.db)
            except sqlite3.DatabaseError:
                continue
            yield store, everyone


def _seconds(wall: str) -> float:
    parsed = times.parse(wall)
    return parsed.timestamp() if parsed else 0.0


def _ago(wall: float) -> str:
    return times.words(max(0.0, time.time() - wall))


def launcher() -> Iterator[Finding]:
    path = paths.launcher()
    text = launchers.installed()
    if text is None:
        yield Finding(
            "launcher",
            f"{path} is missing",
            "every hook fails",
            "swapcache doctor --fix",
            launchers.install,
        )
        return
    program = launchers.interpreter(text)
    if not os.access(program, os.X_OK):
        what = f"the interpreter {program} that {path} names is gone"
    elif not os.access(path, os.X_OK):
        what = f"{path} cannot be run"
    elif text != launchers.text():
        what = f"{path} belongs to another installation of swapcache"
    else:
        return
    why = "hooks record nothing, or with another version"
    yield Finding("launcher", what, why, "swapcache doctor --fix", launchers.install)


def plugin() -> Iterator[Finding]:
    stale = openclaw.stale_files()
    if stale:
        yield Finding(
            "plugin",
            f"{paths.plugin_dir(openclaw.NAME)}: {', '.join(stale)} missing or of another version",
            "the gateway runs without it, or with an old one",
            "swapcache doctor --fix, then restart the gateway",
            openclaw.place_files,
        )


def programs() -> dict[str, str]:
    """The version verdict of every host that is on the PATH, for display."""
    found = {}
    for host in versions.PROGRAMS:
        if shutil.which(versions.PROGRAMS[host]):
            probe = versions.probe(host)
            found[host] = f"{probe.version or '?'} ({probe.verdict})"
    return found
