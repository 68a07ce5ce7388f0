"""Deleting what was recorded: one store with its witness, or everything that is ours.

Owns which files belong to a store. Promises to delete nothing outside of our own directories. Never
asks: commands do.
"""

from __future__ import annotations

import contextlib
import os
import shutil

from swapcache import paths


def remove_store(store_id: str) -> None:
    """Deletes a store, its witness and its locks."""
    shutil.rmtree(paths.store_dir(store_id), ignore_errors=True)
    folder = paths.witness_dir()
    for name in os.listdir(folder) if os.path.isdir(folder) else ():
        if name == store_id or name.startswith(f"{store_id}."):
            os.unlink(f"{folder}/{name}")


def remove_all() -> None:
    """Deletes every directory of ours: records, keys, configuration, logs."""
    for folder in _own():
        shutil.rmtree(folder, ignore_errors=True)
    if paths.portable():
        with contextlib.suppress(OSError):  # something of somebody else lies in it
            os.rmdir(paths.portable())


def prune(folder: str) -> None:
    """Deletes a directory of ours and those above it while they are ours and empty."""
    while any(folder == own or folder.startswith(f"{own}/") for own in _own()):
        try:
            os.rmdir(folder)
        except FileNotFoundError:
            pass
        except OSError:
            return  # not empty
        folder = os.path.dirname(folder)


def _own() -> tuple[str, ...]:
    return paths.state_dir(), paths.witness_dir(), paths.data_dir(), paths.config_dir()
