"""GitHub Copilot CLI's transcript: JSON lines of events (session-state/<id>/events.jsonl).

Owns which event is a message and of which kind. Events name the one before them; after a rewind the
host goes on behind an earlier one, so a tree tells what was taken back. Promises a message or None
for any object; whose words it holds is in origins.py. Never takes the host's own additions
(`transformedContent`, skills, other agents, hooks) or our own block for the person's words.
Recorded with Copilot CLI 1.0.102.
"""

from __future__ import annotations

from swapcache.model import AGENT, OWNER, SYSTEM, UNTRUSTED, Message, ToolCall, ToolResult
from swapcache.transcripts import origins
from swapcache.transcripts.text import mapping, string, strip_frames
from swapcache.transcripts.tree import Place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NAME = "copilot"
HOST = origins.HOSTS[NAME]
BEGINS = ("session.start", "session.resume", "session.context_changed")
GROUPS = ("session", "user", "assistant", "tool", "system", "hook", "subagent", "model", "skill")
INTERRUPTED = "interrupted"
RUNNING = "is still running after"
"""What the host says of a command that goes on in the background: its outcome is not known."""


def matches(value: dict[str, Any]) -> bool:
    """True for a row that only this format has."""
    group, dot, _ = string(value.get("type")).partition(".")
    known = (bool(dot) and group in GROUPS) or value.get("type") == "abort"
    return known and isinstance(value.get("data"), dict) and "parentId" in value and "id" in value


def session_of(value: dict[str, Any]) -> str:
    """The session id in the first event, else empty."""
    start = value.get("type") == "session.start"
    return string(mapping(value.get("data")).get("sessionId")) if start else ""


def workspace_of(value: dict[str, Any]) -> str:
    """The working directory that an event names, or empty."""
    data = mapping(value.get("data"))
    known = value.get("type") in BEGINS
    return string(mapping(data.get("context")).get("cwd") or data.get("cwd")) if known else ""


def place(value: dict[str, Any]) -> Place | None:
    """Where an event hangs; None for the events of a summary's own model call, which have none."""
    key, parent = string(value.get("id")), value.get("parentId")
    first = value.get("type") == "session.start"
    if not key or not (first or isinstance(parent, str)):
        return None
    return Place(key, string(parent), key)


def message(value: dict[str, Any]) -> Message | None:
    """The message in an event; None for those that are none (usage, turns, hooks, titles)."""
    kind, data = value.get("type"), mapping(value.get("data"))
    if kind == "user.message":
        return _user(value, data)
    if kind == "assistant.message":
        return _assistant(value, data)
    if kind == "tool.execution_complete":
        made = _made(value, "user", "results", "", UNTRUSTED)
        return made._replace(results=(_result(value, data),))
    if kind == "tool.user_requested":
        line = string(mapping(data.get("arguments")).get("command"))
        return _made(value, "user", "command", f"! {line}", OWNER)
    if kind == "session.compaction_complete" and data.get("success") is True:
        summary = string(data.get("summaryContent"))
        return _made(value, "system", "compaction", summary, UNTRUSTED)
    if kind == "abort":
        return _made(value, "user", "interrupted", string(data.get("reason")), SYSTEM)
    if kind == "session.error":
        words = string(data.get("message")) or string(data.get("errorType")) or "an error"
        return _made(value, "assistant", "failure", words, SYSTEM)
    if kind in ("system.notification", "session.context_cleared"):
        return _made(value, "system", "notice", string(data.get("content")), SYSTEM)
    return None


def _made(value: dict[str, Any], role: str, kind: str, text: str, origin: str) -> Message:
    data = mapping(value.get("data"))
    child = bool(value.get("agentId") or data.get("parentToolCallId"))
    wall, key = string(value.get("timestamp")), string(value.get("id"))
    return Message(role, kind, text, origin, wall, key, sidechain=child)


def _user(value: dict[str, Any], data: dict[str, Any]) -> Message:
    own = strip_frames(string(data.get("content")), closed=True).strip()
    origin, assumed = origins.said(HOST, value, own)
    if not own:
        return _made(value, "user", "injected", "", SYSTEM)
    if origin != OWNER:  # a skill's text, another agent's, the host's own "go on"
        return _made(value, "user", "notice", own, origin)
    return _made(value, "user", "request", own, origin)._replace(assumed=assumed)


def _assistant(value: dict[str, Any], data: dict[str, Any]) -> Message:
    text, asked = string(data.get("content")), data.get("toolRequests")
    calls = tuple(
        ToolCall(string(c.get("toolCallId")), string(c.get("name")), _given(c.get("arguments")))
        for c in (asked if isinstance(asked, list) else ())
        if isinstance(c, dict)
    )
    if text or calls:
        return _made(value, "assistant", "reply", text, AGENT)._replace(calls=calls)
    if any(data.get(name) for name in ("reasoningText", "reasoningOpaque", "encryptedContent")):
        return _made(value, "assistant", "reasoning", "", AGENT)
    return _made(value, "assistant", "failure", "the model answered without content", SYSTEM)


def _given(arguments: Any) -> dict[str, Any]:
    """A call's arguments; those of a tool that takes plain text stand under `input`."""
    return {"input": arguments} if isinstance(arguments, str) else mapping(arguments)


def _result(value: dict[str, Any], data: dict[str, Any]) -> ToolResult:
    error, code = mapping(data.get("error")), mapping(data.get("shellExecution")).get("exitCode")
    words = string(mapping(data.get("result")).get("content")) or string(error.get("message"))
    failed = data.get("success") is not True or (isinstance(code, int) and code != 0)
    unknown = error.get("code") == INTERRUPTED or (words.startswith("<") and RUNNING in words)
    network = origins.from_network(HOST, value, words)
    return ToolResult(string(data.get("toolCallId")), words, failed, unknown, network)
