"""Claude Code's settings.json: our hooks in it, and out again.

Owns the entries that we add. Promises to add and remove these only: everything else keeps its exact
bytes (spans.py). Never read by the hook.
"""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING, Any

from swapcache.errors import PasteError
from swapcache.hosts import spans
from swapcache.hosts.claude_code import EVENTS, state_dir
from swapcache.hosts.claude_code import NAME as NAME
from swapcache.transcripts.text import mapping, string

if TYPE_CHECKING:
    from collections.abc import Mapping

TIMEOUT = 10
END_TIMEOUT = 20  # without a timeout of its own the host cuts SessionEnd after 1.5 s


def settings_file(env: Mapping[str, str] = os.environ) -> str:
    """The user's settings of this host."""
    return f"{state_dir(env)}/settings.json"


def command(name: str, launcher: str) -> str:
    """The command line for an event: the same over upgrades."""
    return f"{shlex.quote(launcher)} {NAME} {name}"


def entry(name: str, launcher: str) -> dict[str, Any]:
    """Our entry for an event."""
    timeout = END_TIMEOUT if name == "SessionEnd" else TIMEOUT
    hook = {"type": "command", "command": command(name, launcher), "timeout": timeout}
    return {"hooks": [hook]}


def installed(text: str, launcher: str) -> str:
    """settings.json with our hooks in it; the same text when they are there already.

    Raises PasteError, with what to paste, when there is no safe place for them.
    """
    wanted = {name: entry(name, launcher) for name in EVENTS}
    try:
        present = spans.parse(text).value if text.strip() else {}
        if all(_entries(present, name).count(wanted[name]) == 1 for name in EVENTS):
            return text
        text = removed(text, launcher)
        if spans.find(spans.parse(text if text.strip() else "{}"), ("hooks",)) is None:
            return spans.put(text, ("hooks",), {name: [wanted[name]] for name in EVENTS})
        for name in EVENTS:
            text = spans.append(text, ("hooks", name), wanted[name])
        return text
    except spans.SpanError as problem:
        raise PasteError(
            "settings.json", problem, {"hooks": {name: [wanted[name]] for name in EVENTS}}
        ) from problem


def removed(text: str, launcher: str, was: str = "") -> str:
    """settings.json without our hooks; somebody's hook in the same entry stays.

    `was` is the text before ours came in, where it is known. Raises SpanError.
    """
    keep = frozenset(spans.empty(spans.parse(was))) if was.strip() else frozenset()
    if not text.strip() or launcher not in text.replace("\\/", "/"):
        return text
    for name in EVENTS:
        path, touched = ("hooks", name), False
        while (place := _first(spans.find(spans.parse(text), path), launcher)) is not None:
            text, touched = spans.remove(text, *place), True
        text = spans.prune(text, path, keep) if touched else text
    return text


def _first(entries: spans.Node | None, launcher: str) -> tuple[spans.Node, int] | None:
    """The first entry, or hook in an entry of somebody else's, that is ours: (owner, index)."""
    if entries is None or not isinstance(entries.value, list):
        return None
    for index, part in enumerate(entries.parts):
        hooks = part.node.get("hooks") if isinstance(part.node.value, dict) else None
        if hooks is None or not isinstance(hooks.value, list):
            continue
        ours = [i for i, hook in enumerate(hooks.value) if _is_ours(hook, launcher)]
        if ours:
            return (entries, index) if len(ours) == len(hooks.value) else (hooks, ours[0])
    return None


def _entries(settings: Any, name: str) -> list[Any]:
    found = mapping(mapping(settings).get("hooks")).get(name)
    return found if isinstance(found, list) else []


def _is_ours(hook: Any, launcher: str) -> bool:
    return launcher in string(mapping(hook).get("command"))


def switched_off(text: str) -> list[str]:
    """Settings that keep the host from calling hooks."""
    try:
        settings = mapping(spans.parse(text).value) if text.strip() else {}
    except spans.SpanError:
        return []
    return ["disableAllHooks: true"] if settings.get("disableAllHooks") is True else []


def place_files() -> None:
    """This host needs no files beside the launcher."""


def remove_files() -> None:
    """This host has no files of ours."""
