"""Ready texts: what a host that runs JavaScript in its own process serves without asking us.

Owns the file ready/<id>.json: for one session key the texts by cause of the next epoch. Promises
that the texts are rendered from the store and that a file is sealed, whole or absent. Never decides
which keys get one.
"""

from __future__ import annotations

import json
import os

from swapcache import paths
from swapcache.errors import StoreError
from swapcache.model import Session
from swapcache.state.fold import whole
from swapcache.store import files, seal, sessions, slots
from swapcache.store.store import Store, now
from swapcache.wake import scene, wake

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


LIMIT = 1 << 20


def path(state_dir: str, agent: str, workspace: str, key: str) -> str:
    """Where the texts for a session key lie; the shim computes the same name."""
    whose = "\0".join((state_dir, agent, workspace, key))
    return f"{paths.ready_dir()}/{seal.sha256(os.fsencode(whose))}.json"


def write(store: Store, current: Session, settings: dict[str, Any]) -> str:
    """Renders and publishes the texts for the key of a window; the path."""
    owner = store.identity
    place = path(owner.state_dir, owner.agent, owner.workspace, current.key)
    seq, tag = store.head()
    value = {
        "key": current.key,
        "session": current.id,
        "window": current.window,
        "head": [seq, tag],
        "written": now(),
        "text": texts(store, current, settings),
    }
    body = whole(json.dumps(value, ensure_ascii=False))
    sealed = {"v": 2, "mac": slots.mac(slots.name_of(place), body.encode()), "body": body}
    files.publish_private(place, json.dumps(sealed, ensure_ascii=False))
    return place


def read(place: str) -> dict[str, str]:
    """The texts in a ready file, as the shim takes them. Raises OSError, StoreError."""
    raw = files.read_own(place, LIMIT)
    try:
        value = json.loads(raw)
        body, given = str(value["body"]), value["mac"]
        if not seal.same(slots.mac(slots.name_of(place), body.encode("utf-8", "replace")), given):
            raise StoreError(f"{place} is not sealed by our key; remove it")
        return dict(json.loads(body)["text"])
    except (ValueError, KeyError, TypeError) as problem:
        raise StoreError(f"{place} is no ready file; remove it") from problem


def texts(store: Store, current: Session, settings: dict[str, Any]) -> dict[str, str]:
    """Text by cause for what follows a window.

    A restart keeps the host's own history, so it is told only what that lacks; a window that holds
    nothing yet is told what its beginning was told.
    """
    before, left = scene.before(store, current)
    working = _works(store, current)
    subject = current if working else before
    moved = () if subject is not None else scene.moved(store)

    def told(cause: str, whose: Session | None, form: str = "auto") -> str:
        found = scene.Scene(current, whose, (), (), cause, "owner", moved)
        return wake.tell(store, found, settings, now_wall=now(), form=form).text

    return {
        "restart": told("restart", current, "delta") if working else told(left, before),
        "new": told("new", subject),
        "reset": told("reset", subject),
        "compaction": told("compact", current) if working else "",
        "idle": told("idle", subject),
    }


def _works(store: Store, session: Session) -> bool:
    if session.requests:
        return True
    row = sessions.load_state(store.db, store.keys, session.number)
    return row is not None and '"prompt"' in row[2]
