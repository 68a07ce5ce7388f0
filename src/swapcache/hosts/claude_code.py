"""Claude Code: its hook payloads in our words, our answer in its shape.

Owns what the hook needs to know of this host (docs/hosts/claude-code.md; its settings file is in
claude_settings.py). Promises exactly one answer shape. Never runs the host.

Payloads, measured with 2.1.332: session_id, transcript_path, cwd, hook_event_name always;
SessionStart has source startup|resume|clear|compact; UserPromptSubmit has prompt; PostToolUse and
PostToolUseFailure have tool_name, tool_input, tool_response, tool_use_id; SessionEnd has reason.
"""

import json
import os

from swapcache import paths
from swapcache.capture import process
from swapcache.errors import HostError
from swapcache.model import OWNER, Event, ToolCall, ToolResult
from swapcache.store import identity
from swapcache.transcripts import origins
from swapcache.transcripts.text import mapping, string

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

NAME = "claude-code"
EVENTS = {
    "SessionStart": "start",
    "UserPromptSubmit": "prompt",
    "PostToolUse": "tool",
    "PostToolUseFailure": "tool",
    "Stop": "turn-end",
    "StopFailure": "turn-failed",
    "PreCompact": "before-compaction",
    "SessionEnd": "end",
}
CAUSES = {"startup": "unknown", "resume": "resume", "clear": "clear", "compact": "compact"}
FINISHED = 4000


def state_dir(env: "Mapping[str, str]" = os.environ) -> str:
    """Where this host keeps its settings and transcripts."""
    return env.get("CLAUDE_CONFIG_DIR") or f"{paths.home(env)}/.claude"


def event(name: str, payload: "dict[str, Any]", env: "Mapping[str, str]") -> Event | None:
    """The event of a payload; None for one that we have no use for. Raises HostError.

    The project directory comes from the host's variable: `cwd` follows the agent's `cd`.
    """
    ours = EVENTS.get(name)
    if ours is None:
        return None
    session = string(payload.get("session_id"))
    if not session:
        raise HostError(f"{name} of {NAME} without session_id; is this host newer than 2.1?")
    directory = env.get("CLAUDE_PROJECT_DIR") or string(payload.get("cwd")) or os.getcwd()
    owner, ancestors = process.host(above_too=ours == "start")
    call, result = _tool(payload) if ours == "tool" else (None, None)
    return Event(
        NAME,
        ours,
        identity.identify(NAME, state_dir(env), directory),
        session,
        session,
        string(payload.get("transcript_path")),
        CAUSES.get(string(payload.get("source")), "unknown"),
        _prompt(payload) if ours == "prompt" else "",
        call,
        result,
        detail=string(payload.get("reason")) or string(payload.get("error")),
        process=owner,
        ancestors=ancestors,
    )


def _prompt(payload: "dict[str, Any]") -> str:
    """The owner's words; a report on something that ran in the background is none of them."""
    text = string(payload.get("prompt"))
    return text if origins.said(origins.CLAUDE, {}, text.lstrip())[0] == OWNER else ""


def _tool(payload: "dict[str, Any]") -> tuple[ToolCall, ToolResult]:
    key = string(payload.get("tool_use_id"))
    name = string(payload.get("tool_name"))
    call = ToolCall(key, name, mapping(payload.get("tool_input")))
    response = payload.get("tool_response")
    given = mapping(response)
    text = string(response) or string(given.get("stdout")) or string(payload.get("error"))
    failed = bool(payload.get("error")) or payload.get("hook_event_name") == "PostToolUseFailure"
    return call, ToolResult(key, text[-FINISHED:], failed)


def answer(text: str) -> bytes:
    """What the hook prints at SessionStart so that `text` reaches the model."""
    if not text:
        return b""
    output = {"hookEventName": "SessionStart", "additionalContext": text}
    return json.dumps({"hookSpecificOutput": output}).encode()
