"""Ready texts: what a host that runs JavaScript in its own process serves without asking us.

Owns the file ready/<id>.json: for one session key the texts by cause of the next epoch. Promises
that the texts are rendered from verified state, that keys of groups, channels, cron jobs and child
runs get no file, and that a file is whole or absent. Never read by Python.
"""

from __future__ import annotations

import json
import os

from swapcache import paths
from swapcache.model import Session
from swapcache.state.fold import whole
from swapcache.store import files, seal, sessions
from swapcache.store.store import Store, now
from swapcache.wake import scene, wake

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

DIRECT = ("direct", "dm")


def path(state_dir: str, agent: str, workspace: str, key: str) -> str:
    """Where the texts for a session key lie; the shim computes the same name."""
    whose = "\0".join((state_dir, agent, workspace, key))
    return f"{paths.ready_dir()}/{seal.sha256(os.fsencode(whose))}.json"


def private(key: str) -> bool:
    """True for a key of the owner's own conversation; groups and unknown shapes are not."""
    parts = key.split(":")
    if len(parts) == 3 and parts[0] == "agent":
        return parts[2] == "main"
    return len(parts) == 5 and parts[0] == "agent" and parts[3] in DIRECT


def write(store: Store, key: str, settings: dict[str, Any]) -> str:
    """Renders and publishes the texts for a key; the path, or empty when it gets none."""
    owner = store.identity
    place = path(owner.state_dir, owner.agent, owner.workspace, key)
    if not private(key):
        if os.path.exists(place):
            os.unlink(place)
        return ""
    windows = [s for s in sessions.sessions(store.db) if s.key == key]
    windows.sort(key=lambda s: s.number, reverse=True)
    if not windows:
        return ""
    seq, tag = store.head()
    current = windows[0]
    value = {
        "v": 1,
        "key": key,
        "session": current.id,
        "window": current.window,
        "head": [seq, tag],
        "written": now(),
        "text": texts(store, windows, settings),
    }
    files.publish_private(place, whole(json.dumps(value, ensure_ascii=False)))
    return place


def texts(store: Store, windows: list[Session], settings: dict[str, Any]) -> dict[str, str]:
    """Text by cause. `windows` are the key's, newest first.

    A restart keeps the host's own history, so it is told only what that lacks; a window that holds
    nothing yet is told what its beginning was told.
    """
    current = windows[0]
    before = next((w for w in windows[1:] if w.requests), None)
    working = _works(store, current)
    subject = current if working else before

    def told(cause: str, whose: Session | None, form: str = "auto") -> str:
        found = scene.Scene(current, whose, (), (), cause, "owner")
        return wake.tell(store, found, settings, now_wall=now(), form=form).text

    if working:
        restart = told("restart", current, "delta")
    else:
        restart = told(before.reason, before) if before is not None else ""
    return {
        "restart": restart,
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
