"""Other tools that put text into the same prompts, and what they cost.

Owns the list of their names. Promises to read configurations and one transcript, and to say how
many tokens a tool put into the last session where the transcript tells. Never changes them.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Any

from swapcache.context import tokens
from swapcache.errors import SwapcacheError
from swapcache.hosts import claude_settings, openclaw_config, spans
from swapcache.store import files
from swapcache.transcripts.text import mapping, string

NAMES = ("claude-mem", "memorix", "context-mode", "lossless-claw", "ccrecall", "session-memory")
READ = 4 << 20


@dataclass(frozen=True, slots=True)
class Injector:
    """Another tool at the same place."""

    name: str
    host: str
    where: str
    tokens: int | None
    """Estimated tokens of its text at the newest session start; None where nothing tells."""


def found() -> list[Injector]:
    """What the configurations of Claude Code and OpenClaw name."""
    return [*_claude(), *_openclaw()]


def _config(path: str) -> dict[str, Any]:
    try:
        return mapping(spans.parse(_head(path).decode()).value)
    except ValueError:
        return {}


def _head(path: str) -> bytes:
    """The first 4 MB of a regular file; nothing of anything else."""
    try:
        with open(files.open_regular(path), "rb") as file:
            return file.read(READ)
    except (OSError, SwapcacheError):
        return b""


def _claude() -> list[Injector]:
    path = claude_settings.settings_file()
    settings = _config(path)
    text = json.dumps([settings.get("hooks"), settings.get("enabledPlugins")])
    names = [name for name in NAMES if name in text]
    costs = _costs(_newest(f"{os.path.dirname(path)}/projects")) if names else {}
    return [Injector(name, "claude-code", path, costs.get(name)) for name in names]


def _openclaw() -> list[Injector]:
    path = openclaw_config.settings_file()
    config = _config(path)
    plugins = mapping(config.get("plugins"))
    hooks = mapping(mapping(mapping(config.get("hooks")).get("internal")).get("entries"))
    entries = {**mapping(plugins.get("entries")), **hooks, **mapping(plugins.get("slots"))}
    names = []
    for name in NAMES:
        on = [k for k, v in entries.items() if name in k and mapping(v).get("enabled") is not False]
        if on or name in map(string, mapping(plugins.get("slots")).values()):
            names.append(name)
    return [Injector(name, "openclaw", path, None) for name in names]


def _newest(folder: str) -> str:
    """The transcript that was written last: only its costs are read from it."""
    newest, when = "", 0
    for directory, _, names in os.walk(folder):
        for name in names:
            path = f"{directory}/{name}"
            if not name.endswith(".jsonl") or not os.path.isfile(path):
                continue
            at = os.stat(path).st_mtime_ns
            if at > when:
                newest, when = path, at
    return newest


def _costs(path: str) -> dict[str, int]:
    """Tokens by tool, from the rows in which the host notes what its hooks printed."""
    costs: dict[str, int] = {}
    for row in _head(path).splitlines():
        if b'"hook_' not in row:
            continue
        try:
            note = mapping(mapping(json.loads(row)).get("attachment"))
        except ValueError:
            continue
        if note.get("hookEvent") not in ("SessionStart", "UserPromptSubmit"):
            continue
        for name in NAMES:
            if name in string(note.get("command")):
                printed = string(note.get("stdout")) or string(note.get("content"))
                costs[name] = costs.get(name, 0) + tokens.estimate(printed)
    return costs
