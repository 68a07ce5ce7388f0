"""Deleting what was recorded: one store with its witness, or everything that is ours.

Owns which files belong to a store. Promises to delete nothing outside of our own directories. Never
asks: commands do.
"""

from __future__ import annotations

import contextlib
import os
import shutil

from swapcache import paths
from swapcache.errors import StoreError


def remove_store(store_id: str) -> None:
    """Deletes a store, its witness and its locks."""
    shutil.rmtree(paths.store_dir(store_id), ignore_errors=True)
    folder = paths.witness_dir()
    for name in os.listdir(folder) if os.path.isdir(folder) else ():
        if name == store_id or name.startswith(f"{store_id}."):
            os.unlink(f"{folder}/{name}")


def remove_all() -> None:
    """Deletes every directory of ours: records, keys, configuration, logs. Raises StoreError."""
    for folder in own():
        shutil.rmtree(os.path.realpath(folder), ignore_errors=True)
        if os.path.islink(folder):
            os.unlink(folder)
        if os.path.lexists(folder):
            raise StoreError(f"{folder} could not be deleted; delete it by hand")
    if paths.portable():
        with contextlib.suppress(OSError):  # something of somebody else lies in it
            os.rmdir(paths.portable())


def prune(folder: str) -> None:
    """Deletes a directory of ours and those above it while they are ours and empty."""
    while any(folder == own or folder.startswith(f"{own}/") for own in own()):
        try:
            os.rmdir(folder)
        except FileNotFoundError:
            pass
        except OSError:
            return  # not empty
        folder = os.path.dirname(folder)


def own() -> tuple[str, ...]:
    """The directories that are ours."""
    return paths.state_dir(), paths.witness_dir(), paths.data_dir(), paths.config_dir()
