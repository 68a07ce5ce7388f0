"""Snapshots: the sealed state as a record, and as files that people and other programs read.

Owns latest.json (the original eight keys as plain strings, then schema, session, items and seal)
and its backups. Promises that a published file is whole and sealed and that a workspace is never
created. Never trusts such a file unless its seal verifies.
"""

import json
import os
import time

from swapcache.errors import StoreError
from swapcache.model import WorkingState
from swapcache.state import gate
from swapcache.state.redact import redact
from swapcache.store import files, seal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from swapcache.store.store import Store

FOLDER = "context_snapshot"
LATEST = "latest.json"
BACKUPS = "backups"
NEWEST = 10
SCHEMA = 1
LIMIT = 256 * 1024


def texts(state: WorkingState, *kinds: str, status: tuple[str, ...] = ()) -> list[str]:
    """Texts of the items of these kinds, newest last; with `status` only those."""
    return [
        item.text
        for kind in kinds
        for item in state.items
        if item.kind == kind and (not status or item.status in status)
    ]


def view(
    store: "Store", keys: seal.Keys, state: WorkingState, session: str, heartbeat_hours: int
) -> str:
    """latest.json as text, sealed, secrets masked; of untrusted words what the gate lets pass."""
    own = state._replace(items=tuple(gate.passed(state)))
    unknown = [f"outcome unknown: {t}" for t in texts(own, "unknown")]
    value: dict[str, Any] = {
        "agent_name": store.identity.agent,
        "last_run_ts": max((i.wall for i in own.items), default="") or store.created,
        "current_tasks": texts(own, "task", status=("open", "active")) + texts(own, "request"),
        "recent_discussions": texts(own, "discussed", "reply"),
        "active_changes": texts(own, "change", "commit") + unknown,
        "heartbeat_cadence_hours": heartbeat_hours,
        "key_insights": texts(own, "insight", "decision"),
        "next_actions": texts(own, "next"),
    }
    value["schema"] = SCHEMA
    value["session"] = session
    value["items"] = [
        {
            "kind": i.kind,
            "text": i.text,
            "status": i.status,
            "origin": i.origin,
            "record": i.record,
            "time": i.wall,
        }
        for i in own.items
    ]
    value = _masked(value, keys.view)
    seq, tag = store.head()
    digest = seal.sha256(seal.canon(value))
    value["seal"] = {
        "v": 1,
        "key_id": keys.id,
        "store": store.uuid,
        "agent": store.identity.agent,
        "seq": seq,
        "tag": tag,
        "mac": keys.view_mac(seq, tag, digest),
    }
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"


def _masked(value: "Any", key: bytes) -> "Any":
    """`value` with the secrets in its strings masked."""
    if isinstance(value, str):
        return redact(value.encode("utf-8", "replace").decode(), key)  # no half characters
    if isinstance(value, list):
        return [_masked(v, key) for v in value]
    if isinstance(value, dict):
        return {k: _masked(v, key) for k, v in value.items()}
    return value


def _unique(pairs: "list[tuple[str, Any]]") -> "dict[str, Any]":
    """An object whose keys are unique: with two of a key each reader may take another one."""
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("a key stands twice")
    return value


def check(store: "Store", text: str) -> str:
    """Verdict name for a latest.json: VERIFIED, MODIFIED, FOREIGN or UNSEALED."""
    try:
        value = json.loads(text, object_pairs_hook=_unique)
        given = value.pop("seal")
        digest = seal.sha256(seal.canon(value))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return "UNSEALED"
    if store.keys is None or not isinstance(given, dict):
        return "UNSEALED"
    if given.get("key_id") != store.keys.id or given.get("store") != store.uuid:
        return "FOREIGN"
    seq, tag, mac = given.get("seq"), given.get("tag"), given.get("mac")
    if not (isinstance(seq, int) and isinstance(tag, str) and isinstance(mac, str)):
        return "MODIFIED"
    wanted = store.keys.view_mac(seq, tag, digest)
    return "VERIFIED" if seal.same(wanted, mac) else "MODIFIED"


def publish(workspace: str, seq: int, text: str, keep: int) -> str:
    """Writes latest.json into an existing workspace, the old one into backups. Gives the path.

    Raises StoreError when the disk refuses; the former latest.json is intact then.
    """
    folder = f"{workspace}/{FOLDER}"
    backups = f"{folder}/{BACKUPS}"
    if not os.path.isdir(workspace):
        return ""
    for path in (folder, backups):
        if os.path.islink(path):
            raise StoreError(f"{path} is a link; nothing is written through it: remove it")
    files.private_directory(backups)
    if not os.path.exists(f"{folder}/.gitignore"):
        files.publish(f"{folder}/.gitignore", "*\n")
    latest = f"{folder}/{LATEST}"
    if os.path.isfile(latest) and not os.path.islink(latest):
        stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime(os.stat(latest).st_mtime))
        name = f"{seq:010d}-{stamp}.json"  # ordered by sequence: clocks go backwards
        if not os.path.exists(f"{backups}/{name}"):
            os.link(latest, f"{backups}/{name}", follow_symlinks=False)
        thin(backups, keep)
    files.publish(latest, text)
    return latest


def thin(backups: str, keep: int) -> None:
    """Keeps the newest ten backups and, of the older ones, the newest of each hour, then day.

    Files whose names are not ours are never touched.
    """
    names = sorted((n for n in os.listdir(backups) if _ours(n)), reverse=True)
    kept, hours, days = names[:NEWEST], set[str](), set[str]()
    for name in names[NEWEST:]:
        hour, day = name[11:22], name[11:19]
        if len(kept) < keep and (hour not in hours or day not in days):
            kept.append(name)
        hours.add(hour)
        days.add(day)
    for name in set(names) - set(kept):
        os.unlink(f"{backups}/{name}")


def _ours(name: str) -> bool:
    return len(name) == 31 and name[:10].isdigit() and name[10] == "-" and name.endswith(".json")
