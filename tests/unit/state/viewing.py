"""A state with something of everything, and its view."""

import json
from typing import Any

from swapcache.model import Item
from swapcache.state import snapshot
from swapcache.store.store import Store
from tests.unit.makers import item, state

ITEMS = (
    item("request", "fix the parser", "open", "owner"),
    item("task", "write tests", "active"),
    item("task", "run them", "open"),
    item("task", "read it", "done"),
    item("next", "run ruff"),
    item("change", "edited src/a.py"),
    item("commit", "3f2a9bc Fix"),
    item("insight", "slow disks"),
    item("decision", "no daemon"),
    item("discussed", "names"),
    item("reply", "on it"),
    item("unknown", "Bash: make install", "unknown"),
)


def view(store: Store, *items: Item) -> str:
    """latest.json of a state that holds these items."""
    assert store.keys is not None
    return snapshot.view(store, store.keys, state(*items), "s1", 6)


def shown(store: Store, *items: Item) -> dict[str, Any]:
    """The same as an object."""
    value = json.loads(view(store, *items))
    assert isinstance(value, dict)
    return value
