"""Snapshots: the state as a file that people and other programs read.

Owns the form of latest.json: the original eight keys as plain strings, then schema, session, items
and seal. Promises that its words are neutral and masked, that none are a stranger's, and that it is
never larger than what is read of such a file. Never writes (publishing.py) and never judges
(views.py).
"""

import json

from swapcache.model import Item, WorkingState
from swapcache.state import gate, rules
from swapcache.state.redact import shown
from swapcache.state.views import LIMIT
from swapcache.store import seal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from swapcache.store.store import Store

SCHEMA = 1
SHORT = 100
"""Texts are cut no shorter than this; then older items are left out."""


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
    """latest.json as text, sealed; its words neutral and masked, of untrusted ones what the gate
    lets pass. What is too long is cut, then left out."""
    items = [Item(*_shown(i, keys.view)) for i in gate.passed(state)]
    agent, named = shown(store.identity.agent, keys.view), shown(session, keys.view)
    while True:
        own = state._replace(items=tuple(items))
        value = _value(store, own, agent, named, heartbeat_hours)
        text = sealed(store, keys, value, store.head()[0])
        size = len(text.encode("utf-8", "replace"))
        if size <= LIMIT or not items:
            return text
        items = _shorter(items, size)


def _shorter(items: list[Item], size: int) -> list[Item]:
    """Items in less room: long texts cut, and where all are short the older half gone."""
    longest = max(len(i.text) for i in items)
    if longest > SHORT:
        room = max(SHORT, min(longest // 2, longest * LIMIT // size))
        return [i._replace(text=rules.cut(i.text, room)) for i in items]
    middle = sorted(i.record for i in items)[len(items) // 2]
    return [i for i in items if i.record > middle]


def _value(
    store: "Store", own: WorkingState, agent: str, session: str, heartbeat_hours: int
) -> "dict[str, Any]":
    unknown = [f"outcome unknown: {t}" for t in texts(own, "unknown")]
    value: dict[str, Any] = {
        "agent_name": agent,
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
    return value


def sealed(store: "Store", keys: seal.Keys, value: "dict[str, Any]", seq: int) -> str:
    """A view as text, sealed as made at record `seq`."""
    tag = store.tag(seq)
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


def _shown(item: Item, key: bytes) -> "list[Any]":
    """An item's fields, neutral and masked: other programs put them before a model."""
    return [shown(field, key) if isinstance(field, str) else field for field in item]
