"""Sealing published views anew: after a text was forgotten, or the key was replaced.

Owns the change of views that verify as the store's own. Promises that nothing else in a workspace
is touched and that a view stays at the record it was made for. Never judges (views.py does) and
never publishes a new state (publishing.py does).
"""

from __future__ import annotations

import json
import os

from swapcache import paths
from swapcache.model import NamedTuple
from swapcache.state import snapshot, views
from swapcache.state.views import BACKUPS, FOLDER, LATEST
from swapcache.store import files
from swapcache.store.store import Store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class View(NamedTuple):
    """A view that verified when it was read."""

    inside: tuple[str, ...]
    """Its directories below the workspace."""
    name: str
    data: bytes


def own(store: Store) -> list[View]:
    """The views in the store's workspace that verify as its own; none for a store without any."""
    if not os.path.exists(paths.views_file(store.directory)):
        return []
    return [
        View(inside, name, data)
        for inside in ((FOLDER,), (FOLDER, BACKUPS))
        for name, data in _read(store, inside)
        if views.judge(store, data).good
    ]


def _read(store: Store, inside: tuple[str, ...]) -> Iterator[tuple[str, bytes]]:
    try:
        folder = _open(store.identity.workspace, inside)
    except OSError:
        return  # the workspace is gone, or somebody put something else there
    try:
        for name in sorted(os.listdir(folder)):
            if name != LATEST and not views.is_backup(name):
                continue
            try:
                file = files.open_own(name, views.LIMIT, folder)
            except OSError:
                continue  # no file of ours; publishing moves it away
            try:
                yield name, files.contents(file, views.LIMIT)
            finally:
                os.close(file)
    finally:
        os.close(folder)


def _open(workspace: str, inside: tuple[str, ...]) -> int:
    folder = files.open_directory(workspace)
    for name in inside:
        below = -1
        try:
            below = files.open_directory(name, folder)
        finally:
            os.close(folder)
        folder = below
    return folder


def rewrite(store: Store, some: list[View], change: Callable[[bytes], bytes]) -> int:
    """Changes the words of these views and seals them with the store's key, each in one step.

    Gives their number. Raises StoreError.
    """
    workspace = store.identity.workspace
    if store.keys is None or not some:
        return 0
    with files.Lock(paths.views_lock(workspace), store.wait):
        for view in some:
            value = json.loads(view.data)
            seq = value.pop("seal")["seq"]
            words = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
            text = snapshot.sealed(store, store.keys, json.loads(change(words)), seq)
            path = "/".join((workspace, *view.inside, view.name))
            try:
                folder = _open(workspace, view.inside)
            except OSError as problem:
                raise files.failure(problem, f"cannot write {path}") from problem
            try:
                files.publish_in(folder, view.name, text, path)
            finally:
                os.close(folder)
    return len(some)
