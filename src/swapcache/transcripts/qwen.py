"""Qwen Code's transcript: JSON lines, a tree by uuid and parentUuid, with the host's own marks.

Owns which row is a message and of which kind; whose words it holds is in origins.py. Promises a
message or None for any object. Never takes a notification, a hook's or our own block for the
person's words. A process that outlived its launcher may write on in the same file: only a person's
request, or the host's rewind, begins another branch. Schema: rows recorded with Qwen Code 0.24.
"""

import json

from swapcache.model import OWNER, SYSTEM, UNTRUSTED, Message, ToolCall
from swapcache.transcripts import origins, parts
from swapcache.transcripts.claude_code import made
from swapcache.transcripts.claude_code import session_of as session_of
from swapcache.transcripts.claude_code import workspace_of as workspace_of
from swapcache.transcripts.text import mapping, string, strip_frames, strip_tag
from swapcache.transcripts.tree import Place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NAME = "qwen"
NOT_SAID = ("notification", "cron", "goal_runtime")
"""User rows that no person wrote."""
ASIDE = (
    "custom_title",
    "session_source",
    "session_artifact_event",
    "session_artifact_snapshot",
    "session_sources_snapshot",
)
"""System rows that the host appends without going on behind them."""
HOOKS = ("qwen:user-prompt-submit-context", "qwen:session-start-context")
HIDDEN = '<qwen:session-start-context hidden="true">'
ANY_TOOL = "tool_call"
"""The tool through which the model calls those that were not shown to it."""


def matches(value: "dict[str, Any]") -> bool:
    """True for a row that only this format has."""
    kind = value.get("type")
    if "uuid" not in value or "parentUuid" not in value:
        return False
    if kind in ("user", "assistant", "tool_result"):
        return kind == "tool_result" or isinstance(mapping(value.get("message")).get("parts"), list)
    return kind == "system" and "systemPayload" in value


def message(value: "dict[str, Any]") -> Message | None:
    """The message in a row; None for rows that are none (telemetry, snapshots, titles)."""
    kind = value.get("type")
    if kind == "user":
        return _user(value)
    if kind == "assistant":
        return _assistant(value)
    if kind == "tool_result":
        return _results(value)
    return _system(value) if kind == "system" else None


def place(value: "dict[str, Any]") -> Place | None:
    """Where a row hangs in the transcript's tree; None for one that has no id."""
    key = string(value.get("uuid"))
    if not key or "parentUuid" not in value:
        return None
    kind, subtype = value.get("type"), value.get("subtype")
    aside = kind == "system" and subtype in ASIDE
    leads = (kind == "user" and subtype not in NOT_SAID) or subtype == "rewind"
    return Place(key, string(value.get("parentUuid")), None if aside else key, leads)


def _given(value: "dict[str, Any]") -> "list[dict[str, Any]]":
    return parts.several(mapping(value.get("message")).get("parts"))


def _user(value: "dict[str, Any]") -> Message:
    payload = mapping(value.get("systemPayload"))
    text = string(payload.get("displayText")) or "\n".join(parts.words(_given(value)))
    origin, assumed = origins.said(origins.QWEN, value, text)
    if origin == SYSTEM or value.get("subtype") in NOT_SAID:
        return made(value, "user", "notice", text, origin)
    text = text.replace(HIDDEN, f"<{HOOKS[1]}>")
    for tag in HOOKS:
        text = strip_tag(text, tag)
    own = strip_frames(text, closed=True).strip()
    if not own:
        return made(value, "user", "injected", "", SYSTEM)
    return made(value, "user", "request", own, origin)._replace(assumed=assumed)


def _assistant(value: "dict[str, Any]") -> Message:
    given = _given(value)
    text = "\n".join(parts.words(given)).strip()
    calls = tuple(_unwrapped(call) for call in parts.calls(given))
    kind = "reply" if text or calls else "reasoning"
    whose = origins.answered(origins.QWEN, value)
    return made(value, "assistant", kind, text, whose)._replace(calls=calls)


def _unwrapped(call: ToolCall) -> ToolCall:
    """The tool that is meant, for rules that go by its name."""
    inner = call.arguments.get("arguments")
    if call.name != ANY_TOOL or not string(call.arguments.get("name")):
        return call
    if isinstance(inner, str):
        try:
            inner = json.loads(inner)
        except (ValueError, RecursionError):
            inner = {"arguments": inner}
    return ToolCall(call.id, string(call.arguments.get("name")), mapping(inner))


def _results(value: "dict[str, Any]") -> Message:
    """Tool results; a cancelled call may have done a part of its work."""
    outcome = mapping(value.get("toolCallResult"))
    status = outcome.get("status")
    cut = status == "cancelled" and outcome.get("executionStatus") != "not_started"
    results = tuple(
        r._replace(error=r.error or status in ("error", "cancelled"), interrupted=cut)
        for r in parts.results(_given(value), origins.QWEN)
    )
    return made(value, "user", "results", "", UNTRUSTED)._replace(results=results)


def _system(value: "dict[str, Any]") -> Message | None:
    payload = mapping(value.get("systemPayload"))
    subtype = value.get("subtype")
    if subtype == "chat_compression":
        return made(value, "system", "compaction", _summary(payload), UNTRUSTED)
    if subtype == "rewind":
        return made(value, "system", "notice", "rewind", SYSTEM)
    if subtype == "slash_command" and payload.get("phase") == "invocation":
        return made(value, "user", "command", string(payload.get("rawCommand")), OWNER)
    event = mapping(payload.get("uiEvent"))
    child = "subagent_id" in event
    if subtype == "ui_telemetry" and event.get("event.name") == "qwen-code.api_error" and not child:
        text = string(event.get("error_message")) or "the model could not be reached"
        return made(value, "assistant", "failure", text, SYSTEM)
    return None


def _summary(payload: "dict[str, Any]") -> str:
    """What a compression left of the history: its first words."""
    history = payload.get("compressedHistory")
    first = mapping(history[0]) if isinstance(history, list) and history else {}
    return "\n".join(parts.words(parts.several(first.get("parts")))).strip()
