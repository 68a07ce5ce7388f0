"""Builders for the values that these tests hand in: messages, items, states."""

import time
from collections.abc import Callable
from typing import Any

from swapcache.model import (
    AGENT,
    OWNER,
    SYSTEM,
    Item,
    Message,
    ToolCall,
    ToolResult,
    WorkingState,
)

WALL = "2026-11-30T12:00:00Z"
SECRET = "sk-" + "A1b2C3d4" * 4


def request(text: str, origin: str = OWNER, key: str = "", wall: str = WALL) -> Message:
    """What a person asked."""
    return Message("user", "request", text, origin, wall, key)


def reply(text: str, *calls: ToolCall, origin: str = AGENT) -> Message:
    """What the model answered, with the calls it made."""
    return Message("assistant", "reply", text, origin, WALL, calls=calls)


def call(key: str, name: str = "Bash", **arguments: Any) -> ToolCall:
    """A tool call; a shell call of `make` when nothing else is said."""
    return ToolCall(key, name, arguments or {"command": "make"})


def result(key: str, text: str = "ok", error: bool = False, interrupted: bool = False) -> Message:
    """A message with one tool result."""
    found = (ToolResult(key, text, error, interrupted),)
    return Message("user", "results", "", AGENT, WALL, results=found)


def failure(text: str = "529 overloaded") -> Message:
    """A turn that produced nothing."""
    return Message("assistant", "failure", text, SYSTEM, WALL)


def item(
    kind: str, text: str, status: str = "", origin: str = AGENT, record: int = 1, key: str = ""
) -> Item:
    """An item of a state."""
    return Item(kind, key or text[:400], text, status, origin, record, WALL)


def state(*items: Item) -> WorkingState:
    """A state that holds these items."""
    return WorkingState(1, len(items), items, {})


def quick(work: Callable[[], object], limit: float = 1.0) -> bool:
    """Whether `work` takes less CPU than `limit` seconds, at best: the machine has other work."""
    for _ in range(3):
        begin = time.process_time()
        work()
        if time.process_time() - begin < limit:
            return True
    return False
