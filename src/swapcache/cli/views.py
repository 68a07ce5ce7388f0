"""What lies among the views of a workspace and is not proven.

Owns the list that status, doctor and `trust show` print. Promises to read within bounds and through
open directories only, and to change nothing. Never shows what such a file says.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from swapcache import paths
from swapcache.cli.finding import Finding
from swapcache.cli.options import safe
from swapcache.state import views
from swapcache.state.views import BACKUPS, FOLDER, LATEST, QUARANTINE
from swapcache.store import files
from swapcache.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator

SHOWN = 100
"""So many entries of a folder are looked at; anybody can plant more."""
MOVED = "look at it, then delete it; nothing ever read it as state"
IN_PLACE = "nothing reads it as state; the next publishing moves it into quarantine"


class Strange(NamedTuple):
    """Something among a workspace's views that is not proven."""

    path: str
    verdict: str
    detail: str
    moved: str
    """When it was moved into quarantine, UTC; empty for what lies in its place."""
    fix: str


def strange(store: Store) -> list[Strange]:
    """What was quarantined, then views in place that do not verify. Nothing for a store that never
    published a view."""
    if not os.path.exists(paths.views_file(store.directory)):
        return []
    try:
        root = files.open_directory(store.identity.workspace)
    except OSError:
        return []  # the workspace is gone
    judge = views.Judge(store)
    try:
        return list(_folder(judge, root, f"{store.identity.workspace}/{FOLDER}"))
    finally:
        judge.close()
        os.close(root)


def lines(found: list[Strange]) -> Iterator[str]:
    """The same in words."""
    for one in found:
        when = f", moved {one.moved}" if one.moved else ""
        yield f"  {one.verdict} {safe(one.path)} ({one.detail}{when}): {one.fix}"


def findings(store: Store) -> Iterator[Finding]:
    """The same for doctor."""
    for one in strange(store):
        when = f", moved {one.moved}" if one.moved else ""
        what = f"{safe(one.path)} is {one.verdict} ({one.detail}{when})"
        yield Finding("views", what, "something puts files where ours belong", one.fix)


def _folder(judge: views.Judge, root: int, path: str) -> Iterator[Strange]:
    folder, others = _opened(root, FOLDER, path)
    yield from others
    if folder < 0:
        return
    try:
        yield from _quarantined(judge, folder, f"{path}/{QUARANTINE}")
        if judge.store.keys is not None and judge.store.keys.id == judge.store.key_id:
            yield from _judged(judge, folder, [LATEST], path)
            yield from _backups(judge, folder, f"{path}/{BACKUPS}")
    finally:
        os.close(folder)


def _opened(inside: int, name: str, path: str) -> tuple[int, list[Strange]]:
    """(an open directory or -1, what lies in its place)."""
    try:
        return files.open_directory(name, inside), []
    except FileNotFoundError:
        return -1, []
    except OSError as problem:
        detail = f"it is no directory that can be opened: {problem.strerror}"
        return -1, [Strange(path, "UNSEALED", detail, "", IN_PLACE)]


def _backups(judge: views.Judge, folder: int, path: str) -> Iterator[Strange]:
    opened, others = _opened(folder, BACKUPS, path)
    yield from others
    if opened >= 0:
        try:
            names = sorted(filter(views.is_backup, os.listdir(opened)), reverse=True)
            yield from _judged(judge, opened, names[:SHOWN], path)
        finally:
            os.close(opened)


def _judged(judge: views.Judge, folder: int, names: list[str], path: str) -> Iterator[Strange]:
    for name in names:
        lying = judge.look(folder, name, latest=name == LATEST)
        if lying is not None and not lying.verdict.good:
            yield Strange(f"{path}/{name}", lying.verdict.name, lying.verdict.detail, "", IN_PLACE)


def _quarantined(judge: views.Judge, folder: int, path: str) -> Iterator[Strange]:
    opened, others = _opened(folder, QUARANTINE, path)
    yield from others
    if opened < 0:
        return
    try:
        names = os.listdir(opened)
    finally:
        os.close(opened)
    known = {m["name"]: m for m in judge.note.moved}
    moved = sorted((n for n in names if views.is_moved(n)), reverse=True)
    for name in moved[:SHOWN]:
        utc, verdict, _ = name.split("-")
        noted = known.get(name)
        detail = f"it lay at {noted['place']}: {noted['detail']}" if noted else "an older one"
        yield Strange(f"{path}/{name}", verdict, detail, utc, MOVED)
    if len(moved) > SHOWN:
        yield Strange(path, "UNSEALED", f"{len(moved) - SHOWN} older ones", "", MOVED)
    if len(names) > len(moved):
        detail = f"{len(names) - len(moved)} that swapcache did not put there"
        yield Strange(path, "UNSEALED", detail, "", MOVED)
