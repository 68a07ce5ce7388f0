"""What can be wrong with an installation: one function a check.

Owns the list. Promises that a check only reads, that a finding says what is wrong, why it matters
and what to do, and that mending never touches recorded data or a host's file. Never uses the
network.
"""

from __future__ import annotations

import os
import pwd
import sqlite3
import stat
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

from swapcache import config, paths
from swapcache.cli import host_checks, store_checks
from swapcache.cli.finding import Finding
from swapcache.cli.status import failures
from swapcache.errors import (
    ConfigError,
    HostError,
    KeyProblem,
)
from swapcache.hosts import edits
from swapcache.hosts import openclaw_config as openclaw
from swapcache.store import (
    files,
    identity,
    keyring,
    removal,
    seal,
    times,
)
from swapcache.store.store import now

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOM = 64 << 20
LATELY_S = 86400.0
HOST_CHECKS = (
    host_checks.version,
    host_checks.entries,
    host_checks.switches,
    host_checks.fired,
    host_checks.injected,
)


def every(hosts: tuple[str, ...]) -> list[Finding]:
    """All findings, in the order in which they are best dealt with. `hosts` are those installed."""
    found: list[Finding] = []
    for check in (_configuration, _directories, _key, _rekey, _room, _persistence, _owner):
        found += check()
    for host in hosts:
        for host_check in HOST_CHECKS:
            found += host_check(host)
    if hosts:
        found += host_checks.launcher()
    if openclaw.NAME in hosts:
        found += host_checks.plugin()
    for store_id, owner in identity.listing():
        try:
            found += store_checks.store(store_id, owner.workspace)
        except sqlite3.DatabaseError as problem:
            found.append(store_checks.damaged(store_id, owner.workspace, problem))
    return [*found, *_notes(), *_spool(), *_errors()]


# -- the machine -----------------------------------------------------------------------------------


def _configuration() -> Iterator[Finding]:
    try:
        config.load(files.publish_private)
    except ConfigError as problem:
        yield Finding(
            "configuration",
            str(problem),
            "hooks record nothing while it is wrong",
            f"correct {paths.config_file()}",
        )


def _directories() -> Iterator[Finding]:
    stores = [paths.database(paths.store_dir(store_id)) for store_id, _ in identity.listing()]
    for wanted, places in ((0o700, removal.own()), (0o600, stores)):
        for place in places:
            mode = stat.S_IMODE(os.stat(place).st_mode) if os.path.exists(place) else wanted
            if mode & 0o077:
                yield Finding(
                    "modes",
                    f"{place} has mode {mode:o}",
                    "other users of this machine can read what agents said",
                    f"chmod {wanted:o} {place}",
                    partial(os.chmod, place, wanted),
                )


def _key() -> Iterator[Finding]:
    path = paths.key_file()
    try:
        seal.read_key(path)
    except FileNotFoundError:
        if identity.listing():
            yield Finding(
                "key",
                f"{path} is missing and records exist",
                "nothing can be sealed or proven, so nothing is recorded",
                f"put the key back from a backup, or move {paths.stores_dir()} away",
            )
    except KeyProblem as problem:
        loose = "chmod 600" in str(problem)
        yield Finding(
            "key",
            str(problem),
            "a key that others can read or replace proves nothing",
            f"chmod 600 {path}" if loose else "put the right key there",
            partial(os.chmod, path, 0o600) if loose else None,
        )


def _rekey() -> Iterator[Finding]:
    old = keyring.retiring()
    if old:
        yield Finding(
            "rekey",
            f"the key {old} is being replaced since {_time(paths.rekey_file())}",
            "until it is done the old key still opens stores",
            "swapcache trust rekey goes on with it",
        )


def _time(path: str) -> str:
    return datetime.fromtimestamp(os.stat(path).st_mtime, UTC).isoformat(timespec="seconds")


def _room() -> Iterator[Finding]:
    folder = _existing(paths.state_dir())
    disk = os.statvfs(folder)
    free = disk.f_bavail * disk.f_frsize
    if free < ROOM:
        yield Finding(
            "room",
            f"{free >> 20} MB are free on the disk of {folder}",
            "with a full disk nothing more is recorded",
            "free some space",
        )


def _persistence() -> Iterator[Finding]:
    folder = os.path.realpath(_existing(paths.state_dir()))
    kind = _file_system(folder)
    inside = os.path.exists("/.dockerenv") or os.path.exists("/run/.containerenv")
    if kind in ("tmpfs", "ramfs") or (kind == "overlay" and inside):
        yield Finding(
            "persistence",
            f"{folder} lies on {kind}",
            "the memory is gone with the next start of the machine or container",
            "set SWAPCACHE_HOME to a directory on a disk or volume that stays, then run setup",
        )


def _existing(folder: str) -> str:
    while not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    return folder


def _file_system(folder: str) -> str:
    """Type of the file system that holds a directory; empty where that is not told."""
    best, kind = "", ""
    try:
        with open("/proc/mounts", encoding="utf-8", errors="replace") as file:
            for line in file:
                fields = line.split()
                place = fields[1].replace("\\040", " ").rstrip("/")
                if (folder == place or folder.startswith(f"{place}/")) and len(place) >= len(best):
                    best, kind = place, fields[2]
    except (OSError, IndexError):
        return ""
    return kind


def _owner() -> Iterator[Finding]:
    folder = paths.state_dir()
    if os.path.isdir(folder) and os.stat(folder).st_uid != os.geteuid():
        yield Finding(
            "owner",
            f"{folder} belongs to uid {os.stat(folder).st_uid}, this is uid {os.geteuid()}",
            "hooks of another user write where this one cannot read, or the other way round",
            f"run as that user, or: chown -R {os.geteuid()} {folder}",
        )
    try:
        home = pwd.getpwuid(os.geteuid()).pw_dir
    except KeyError:
        return
    if not paths.portable() and os.path.realpath(home) != os.path.realpath(paths.home()):
        elsewhere = f"{home}/{os.path.relpath(paths.state_dir(), paths.home())}"
        if os.path.isdir(f"{elsewhere}/stores"):
            yield Finding(
                "home",
                f"HOME is {paths.home()}, the user's own is {home}, and both hold a memory",
                "a host that runs with the other HOME has another memory",
                "run the hosts with one HOME, or set SWAPCACHE_HOME",
            )


# -- what waits and what failed --------------------------------------------------------------------


def _notes() -> Iterator[Finding]:
    try:
        edits.known()
    except HostError as problem:
        yield Finding(
            "notes",
            str(problem),
            "uninstall cannot give the hosts' files their exact bytes back",
            f"move {paths.installs_file()} away; uninstall then takes out exactly our part",
        )


def _spool() -> Iterator[Finding]:
    path = paths.spool_file()
    size = os.stat(path).st_size if os.path.exists(path) else 0
    if size:
        yield Finding(
            "spool",
            f"{size} bytes of events wait in {path}",
            "a store could not be written when they came",
            "the next start of a session stores them; doctor --fix does it now",
            _drain,
        )


def _drain() -> None:
    from swapcache import hook

    hook.drain()


def _errors() -> Iterator[Finding]:
    recent = [f for f in failures() if times.age(str(f.get("wall")), now()) < LATELY_S]
    if recent:
        last = recent[-1]
        yield Finding(
            "errors",
            f"{len(recent)} failure(s) in the last day, the newest {last.get('wall')} "
            f"{last.get('event')}: {last.get('message')}",
            "an event may be missing from the memory",
            f"deal with it, then remove {paths.error_log()}",
        )
