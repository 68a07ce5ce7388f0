"""Which types of rows each format is known to have.

Owns the names of all types that the readers know, also of those that are no messages. Promises an
answer for any object: a type that no reader knows is named, so that it can be counted and shown.
Such rows are kept like all others. Never decides what a row says.
"""

from __future__ import annotations

from swapcache.transcripts.text import mapping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

CUT = 60
CLAUDE = frozenset(
    "user assistant system attachment summary file-history-snapshot queue-operation progress"
    " custom-title ai-title tag agent-name agent-color agent-setting mode permission-mode"
    " last-prompt pr-link worktree-state content-replacement attribution-snapshot"
    " marble-origami-commit marble-origami-snapshot".split()
)
CODEX = frozenset("session_meta event_msg turn_context compacted world_state state".split())
"""Without the response items; whatever an event is, the items say the same."""
ITEMS = frozenset(
    "message agent_message reasoning function_call function_call_output custom_tool_call"
    " custom_tool_call_output local_shell_call local_shell_call_output web_search_call"
    " tool_search_call tool_search_output image_generation_call ghost_snapshot compaction"
    " compaction_summary context_compaction".split()
)
GEMINI = frozenset("user gemini info warning error".split())
QWEN = frozenset("user assistant tool_result system".split())
PI = frozenset(
    "message model_change thinking_level_change custom custom_message compaction branch_summary"
    " label session_info leaf reset".split()
)
PI_VERSIONS = (None, 1, 2, 3, 4)
COPILOT = frozenset(
    "session user assistant tool system hook subagent model skill abort pending_messages permission"
    " external_tool command elicitation exit_plan_mode".split()
)
"""What stands in front of an event's dot."""
OPENCODE = frozenset(
    "text tool reasoning step-start step-finish patch snapshot file agent subtask retry"
    " compaction".split()
)
HERMES = frozenset("user assistant tool system session_meta".split())


def unknown(name: str, value: dict[str, Any]) -> str:
    """What the type of a row is called that the format `name` is not known to have, or empty."""
    found = _CHECKS[name.partition("-child")[0]](value)
    return found[:CUT].encode("utf-8", "replace").decode() if found else ""


def _named(kind: Any, known: frozenset[str]) -> str:
    if isinstance(kind, str):
        return "" if kind in known else kind or "an empty type"
    return "no type" if kind is None else f"a type that is {kind!a}"


def _claude(value: dict[str, Any]) -> str:
    return _named(value.get("type"), CLAUDE)


def _codex(value: dict[str, Any]) -> str:
    kind = value.get("type")
    if kind in CODEX or "record_type" in value or (kind is None and "instructions" in value):
        return ""
    item = mapping(value.get("payload")) if kind == "response_item" else value
    return _named(item.get("type"), ITEMS)


def _gemini(value: dict[str, Any]) -> str:
    patch = "$set" in value or "$rewindTo" in value or "projectHash" in value
    if "projectHash" in value and "messages" in value:
        return "a whole session in one row"
    return "" if patch else _named(value.get("type"), GEMINI)


def _qwen(value: dict[str, Any]) -> str:
    return _named(value.get("type"), QWEN)


def _pi(value: dict[str, Any]) -> str:
    if value.get("type") != "session":
        return _named(value.get("type"), PI)
    version = value.get("version")
    known = not isinstance(version, list | dict) and version in PI_VERSIONS
    return "" if known else f"session version {version!a}"


def _copilot(value: dict[str, Any]) -> str:
    kind = value.get("type")
    group = kind.partition(".")[0] if isinstance(kind, str) else kind
    return "" if isinstance(group, str) and group in COPILOT else _named(kind, frozenset())


def _opencode(value: dict[str, Any]) -> str:
    data = mapping(value.get("data"))
    return _named(data.get("type"), OPENCODE) if "message_id" in value else ""


def _hermes(value: dict[str, Any]) -> str:
    return _named(value.get("role"), HERMES)


_CHECKS: dict[str, Callable[[dict[str, Any]], str]] = {
    "claude-code": _claude,
    "codex": _codex,
    "gemini": _gemini,
    "qwen": _qwen,
    "pi": _pi,
    "copilot": _copilot,
    "opencode": _opencode,
    "hermes": _hermes,
}
