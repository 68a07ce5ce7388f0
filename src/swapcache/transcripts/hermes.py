"""Hermes' messages: rows of a SQLite database.

Owns which row is a message and of which kind. A record is a row's columns as one JSON object: the
filled ones, in the table's order, without `active`, `compacted` and `api_content`, which the host
changes in place (flags, and a copy of the words as they went to the model). Added are `rewound`,
`copy`, `child` and `chat` where they are true of it (transcripts/hermes_tables.py). Promises a
message or None for any object; whose words it holds is in origins.py. Never takes a summary, a
nudge of the host's, a copy that a compaction made or our own block for the person's words. Recorded
with hermes-agent 0.19.
"""

from __future__ import annotations

import json

from swapcache.model import AGENT, SYSTEM, UNTRUSTED, Message, ToolCall, ToolResult
from swapcache.transcripts import origins, tables
from swapcache.transcripts.text import joined, mapping, string, strip_frames
from swapcache.transcripts.tree import Place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NAME = "hermes"
ENCODED = "\0json:"
"""How content begins that is a list of parts."""
SUMMARIES = ("[CONTEXT COMPACTION", "[CONTEXT SUMMARY]:", "[PRIOR CONTEXT ")
HOST = origins.HOSTS[NAME]
CLOSED = "Operation interrupted."
"""What the host says in the assistant's place when the person stopped a turn."""
STOPPED = "[command interrupted]"


def matches(value: dict[str, Any]) -> bool:
    """True for a row that only this format has."""
    return (
        isinstance(value.get("id"), int)
        and isinstance(value.get("session_id"), str)
        and isinstance(value.get("role"), str)
        and "timestamp" in value
    )


def session_of(value: dict[str, Any]) -> str:
    """The session id that a row names, or empty."""
    return string(value.get("session_id"))


def workspace_of(value: dict[str, Any]) -> str:
    """Empty: the session's row says it."""
    return ""


def place(value: dict[str, Any]) -> Place | None:
    """Beside the conversation for a row that the person took back; else rows follow each other."""
    return Place(_key(value), "", None) if value.get("rewound") is True else None


def _key(value: dict[str, Any]) -> str:
    return f"{string(value.get('session_id'))}:{value.get('id')}"


def message(value: dict[str, Any]) -> Message | None:
    """The message in a row; None for one that tells another row's words again."""
    if value.get("copy") is True or not matches(value):
        return None
    role, content = string(value.get("role")), _decoded(value.get("content"))
    text = joined(content)
    if role in ("user", "assistant") and text.lstrip().startswith(SUMMARIES):
        return _made(value, "system", "compaction", text, UNTRUSTED)
    if role == "user":
        return _user(value, text)
    if role == "assistant":
        return _assistant(value, text)
    if role == "tool":
        made = _made(value, "user", "results", "", UNTRUSTED)
        return made._replace(results=(_result(value, text),))
    return _made(value, role, "notice", text, SYSTEM)


def _decoded(content: Any) -> Any:
    if isinstance(content, str) and content.startswith(ENCODED):
        try:
            return json.loads(content[len(ENCODED) :])
        except (ValueError, RecursionError):
            return content
    return content


def _made(value: dict[str, Any], role: str, kind: str, text: str, origin: str) -> Message:
    stamp = value.get("timestamp")
    wall = tables.iso(stamp * 1000 if isinstance(stamp, int | float) else None)
    return Message(
        role, kind, text, origin, wall, _key(value), sidechain=value.get("child") is True
    )


def _user(value: dict[str, Any], text: str) -> Message:
    own = strip_frames(text, closed=True).strip()
    if not own:
        return _made(value, "user", "injected", "", SYSTEM)
    origin, assumed = origins.said(HOST, value, own)
    if origin == SYSTEM or "observed" in value:  # said in a group, not to the agent
        return _made(value, "user", "notice", own, origin)
    return _made(value, "user", "request", own, origin)._replace(assumed=assumed)


def _assistant(value: dict[str, Any], text: str) -> Message:
    calls = _calls(value.get("tool_calls"))
    if text.strip() == CLOSED and not calls:
        return _made(value, "user", "interrupted", text, SYSTEM)
    if text.strip() or calls:
        return _made(value, "assistant", "reply", text, AGENT)._replace(calls=calls)
    thought = ("reasoning", "reasoning_content", "reasoning_details", "codex_reasoning_items")
    if any(value.get(name) for name in thought):
        return _made(value, "assistant", "reasoning", "", AGENT)
    return _made(value, "assistant", "failure", "the model answered without content", SYSTEM)


def _calls(given: Any) -> tuple[ToolCall, ...]:
    found = []
    for one in _list(given):
        function = mapping(one.get("function"))
        key = string(one.get("id")) or string(one.get("call_id"))
        found.append(ToolCall(key, string(function.get("name")), _object(function["arguments"])))
    return tuple(found)


def _list(given: Any) -> list[dict[str, Any]]:
    """The calls in the column tool_calls, which is JSON text."""
    try:
        value = json.loads(given) if isinstance(given, str) else given
    except (ValueError, RecursionError):
        return []
    calls = value if isinstance(value, list) else [value]
    return [c for c in calls if isinstance(c, dict) and "arguments" in mapping(c.get("function"))]


def _object(given: Any) -> dict[str, Any]:
    """Arguments, which the model wrote as JSON text; what is none is kept under `raw`."""
    try:
        value = json.loads(given) if isinstance(given, str) else given
    except (ValueError, RecursionError):
        return {"raw": string(given)}
    return mapping(value)


def _result(value: dict[str, Any], text: str) -> ToolResult:
    """A tool's answer: JSON for most tools, of which the words and the outcome are taken."""
    given = {}
    if text.startswith("{"):
        try:
            given = mapping(json.loads(text))
        except (ValueError, RecursionError):
            given = {}
    code, error = given.get("exit_code"), given.get("error")
    failed = bool(error) or given.get("success") is False
    failed = failed or (isinstance(code, int) and code != 0)
    failed = failed or text.startswith("[Tool execution ")
    words = text
    if "output" in given:
        words = "\n".join(part for part in (string(given["output"]), string(error)) if part)
    unknown = value.get("effect_disposition") == "unknown" or STOPPED in text.lower()
    network = origins.from_network(HOST, value, text)
    return ToolResult(string(value.get("tool_call_id")), words, failed, unknown, network)
