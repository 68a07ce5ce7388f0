"""Which key seals which store.

Owns the choice of the key and its change. Promises that a retired key opens a store only while a
change of keys is under way, and never after it: whoever has it then can forge nothing. Never puts a
key into a workspace, an argument or a log.
"""

from __future__ import annotations

import json
import os

from swapcache import paths
from swapcache.store import files, seal


def key_for(key_id: str) -> bytes:
    """The key to judge a store by that was sealed by `key_id`: the current one, or during a change
    of keys the one that is being retired. Raises FileNotFoundError, KeyProblem."""
    key = seal.read_key(paths.key_file())
    if seal.sha256(key)[:8] != key_id and key_id == retiring():
        return seal.read_key(paths.retired_key(key_id))
    return key


def current_id() -> str:
    """Id of the current key, or empty. Raises KeyProblem."""
    try:
        return seal.sha256(seal.read_key(paths.key_file()))[:8]
    except FileNotFoundError:
        return ""


def retiring() -> str:
    """Id of the key that is being retired, or empty."""
    try:
        value = json.loads(files.read_own(paths.rekey_file(), 4096))
    except (OSError, ValueError):
        return ""
    found = value.get("retiring") if isinstance(value, dict) else None
    return found if isinstance(found, str) else ""


def begin() -> tuple[str, str]:
    """Makes a new key and keeps the old one beside it; (id of the old, id of the new).

    A change that was cut off is gone on with instead. Raises FileNotFoundError, KeyProblem,
    StoreError. The order is what makes a kill harmless: the old key is safe before the note that
    lets stores use it, and that note before the key is replaced.
    """
    key = seal.read_key(paths.key_file())
    current, old = seal.sha256(key)[:8], retiring()
    if old and old != current:
        return old, current
    fresh = os.urandom(seal.KEY_SIZE)
    files.publish_private(paths.retired_key(current), key)
    files.publish(paths.rekey_file(), json.dumps({"retiring": current}))
    files.publish(paths.key_file(), fresh)
    return current, seal.sha256(fresh)[:8]


def end() -> None:
    """Every store has the new key: the old one opens nothing any more, but proves old anchors."""
    os.unlink(paths.rekey_file())
