"""The pi family's transcript: JSON lines with a session header.

Written by pi (versions 1 to 3) and by OpenClaw up to 2026.7. Owns which row is a message and of
which kind (heartbeats, time prefixes); whose words it holds is in origins.py. Promises a message or
None for any object. Never takes heartbeats, mirrors or failed turns for dialogue.
"""

from swapcache.model import AGENT, OWNER, SYSTEM, UNTRUSTED, Message, ToolCall, ToolResult
from swapcache.transcripts import origins
from swapcache.transcripts.text import joined, mapping, string, strip_frames
from swapcache.transcripts.tree import Place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NAME = "pi"
HEARTBEAT_ANSWERS = ("HEARTBEAT_OK", "NO_REPLY")
_HEARTBEAT_MARKS = ("[OpenClaw heartbeat", "Read HEARTBEAT.md if it exists")
RETRY = "The previous attempt did not produce a user-visible answer."
QUEUED = "[Queued user message that arrived while the previous turn was still active]"
FAILED = "[assistant turn failed before producing content]"
NO_RESULT = ("No result provided", "[openclaw] missing tool result in session history")
"""Words that the hosts of this family put in the place of a result that they do not have."""
PASSED_ON = "tool_call"
"""The tool that runs those which the model was not given by name."""
_MIRROR_MODELS = ("delivery-mirror", "gateway-injected")


def matches(value: "dict[str, Any]") -> bool:
    """True for a row that only this format has."""
    kind = value.get("type")
    if kind == "session":
        return "cwd" in value or "version" in value
    inner = value.get("message")
    return (
        kind == "message"
        and isinstance(inner, dict)
        and "role" in inner
        and "parentUuid" not in value
    )


def session_of(value: "dict[str, Any]") -> str:
    """The session id in the header row, else empty."""
    return string(value.get("id")) if value.get("type") == "session" else ""


def workspace_of(value: "dict[str, Any]") -> str:
    """The working directory in the header row, else empty."""
    return string(value.get("cwd")) if value.get("type") == "session" else ""


def message(value: "dict[str, Any]") -> Message | None:
    """The message in a row; None for rows that are none.

    A summary is untrusted: a model wrote it from all that its window held.
    """
    kind = value.get("type")
    if kind == "compaction":
        return _made(value, "system", "compaction", string(value.get("summary")), UNTRUSTED)
    if kind == "branch_summary":
        return _made(value, "system", "summary", string(value.get("summary")), UNTRUSTED)
    if kind == "reset":
        return _made(value, "system", "notice", "reset", SYSTEM)
    if kind == "custom_message":
        return _made(value, "user", "injected", "", SYSTEM)
    if kind != "message":
        return None
    inner = mapping(value.get("message"))
    role = inner.get("role")
    if role == "user":
        return _user(value, inner)
    if role == "assistant":
        return _assistant(value, inner)
    if role == "toolResult":
        text, more = joined(inner.get("content")), mapping(inner.get("details"))
        code = more.get("exitCode")
        result = ToolResult(
            string(inner.get("toolCallId")),
            text,
            inner.get("isError") is True or (isinstance(code, int) and code != 0),
            text.startswith(NO_RESULT) or more.get("status") == "running",
            origins.from_network(origins.OPENCLAW, value, text),
        )
        return _made(value, "user", "results", "", UNTRUSTED)._replace(results=(result,))
    if role == "bashExecution":
        made = _made(value, "user", "command", f"! {string(inner.get('command'))}", OWNER)
        return made._replace(results=(ToolResult("", string(inner.get("output")), False),))
    whose = SYSTEM if role == "system" else UNTRUSTED  # others hold what nested tools gave
    return _made(value, string(role), "notice", joined(inner.get("content")), whose)


def place(value: "dict[str, Any]") -> Place | None:
    """Where a row hangs in the transcript's tree; None for one that is outside of it.

    A `leaf` row points to the row that goes on; one with `appendMode` side hangs beside the branch.
    """
    key = string(value.get("id"))
    if value.get("type") == "session" or "parentId" not in value or not key:
        return None
    if value.get("type") == "leaf":
        target = string(value.get("targetId"))
        return Place(key, target, target)
    beside = value.get("appendMode") == "side"
    return Place(key, string(value.get("parentId")), None if beside else key)


def _made(value: "dict[str, Any]", role: str, kind: str, text: str, origin: str) -> Message:
    return Message(
        role, kind, text, origin, string(value.get("timestamp")), string(value.get("id"))
    )


def _user(value: "dict[str, Any]", inner: "dict[str, Any]") -> Message:
    text = _without_time(strip_frames(joined(inner.get("content")), closed=True)).strip()
    origin, assumed = origins.said(origins.OPENCLAW, value, text)
    if RETRY in text:
        return _made(value, "user", "notice", text, SYSTEM)  # the host repeats the prompt
    if text.startswith(QUEUED):
        text = text.removeprefix(QUEUED).strip()
    if text.startswith(_HEARTBEAT_MARKS):
        return _made(value, "user", "heartbeat", text, SYSTEM)
    if not text:
        return _made(value, "user", "injected", "", SYSTEM)
    if origin == SYSTEM:
        return _made(value, "user", "notice", text, SYSTEM)
    return _made(value, "user", "request", text, origin)._replace(assumed=assumed)


def _without_time(text: str) -> str:
    """Text without OpenClaw's leading [Wed 2026-06-17 21:05 GMT+8]."""
    stripped = text.lstrip()
    head, closing, rest = stripped.partition("] ")
    words = head[1:].split(" ") if stripped.startswith("[") and closing else []
    if len(words) in (3, 4) and len(words[0]) == 3 and len(words[1]) == 10 and words[1][4] == "-":
        return rest
    return text


def _call(block: "dict[str, Any]") -> ToolCall:
    """A call; one that OpenClaw passes on (`tool_call` with SOURCE:OWNER:NAME or NAME) by what it
    runs."""
    key, name, given = string(block.get("id")), string(block.get("name")), block.get("arguments")
    inner = string(mapping(given).get("id"))
    if name == PASSED_ON and inner:
        own = inner.startswith("openclaw:")
        name, given = inner.rpartition(":")[2] if own else inner, mapping(given).get("args")
    return ToolCall(key, name, mapping(given))


def _assistant(value: "dict[str, Any]", inner: "dict[str, Any]") -> Message:
    content = inner.get("content")
    text = joined(content)
    if string(inner.get("model")) in _MIRROR_MODELS:
        return _made(value, "assistant", "notice", text, SYSTEM)
    calls = tuple(
        _call(block)
        for block in (content if isinstance(content, list) else ())
        if isinstance(block, dict) and block.get("type") == "toolCall"
    )
    if text.strip() in HEARTBEAT_ANSWERS and not calls:
        return _made(value, "assistant", "heartbeat", text, SYSTEM)
    if text.strip() == FAILED and not calls:
        return _made(value, "assistant", "failure", FAILED, SYSTEM)
    if not text and not calls:
        error = string(inner.get("errorMessage"))
        if inner.get("stopReason") in ("error", "aborted") or not content:
            reason = error or "the model answered without content"
            return _made(value, "assistant", "failure", reason, SYSTEM)
        return _made(value, "assistant", "reasoning", "", AGENT)
    origin = origins.answered(origins.OPENCLAW, value)
    cut_off = inner.get("stopReason") in ("error", "aborted")
    kind = "partial" if cut_off else "reply"
    return _made(value, "assistant", kind, text, origin)._replace(calls=calls)
