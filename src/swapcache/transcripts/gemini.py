"""Gemini CLI's transcript: JSON lines of messages and of patches to them, without links.

Owns which row is a message and of which kind, and how the host goes back; whose words it holds is
in origins.py. Promises a message or None for any object. Never takes the host's context, a hook's
or our own block for the person's words, and never lets a patch remove what happened: at every
resume the host repeats its history in `$set`, without the prompts that begin with a hook's block
and, after a compression, under new ids. Schema: rows recorded with Gemini CLI 0.61.
"""

from swapcache.model import SYSTEM, UNTRUSTED, Message, ToolResult
from swapcache.transcripts import origins, parts
from swapcache.transcripts.text import mapping, string, strip_frames, strip_tag
from swapcache.transcripts.tree import Back, Place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NAME = "gemini"
TYPES = ("user", "gemini", "info", "warning", "error")
CONTEXT = "<session_context>"
SNAPSHOT = "<state_snapshot>"
TAKEN = "Got it. Thanks for the additional context!"
"""What the host lets the model say to a summary."""
CANCELLED = "Request cancelled."
API_ERROR = "[API Error"
FOLDER = "- **Workspace Directories:**\n  - "


def matches(value: "dict[str, Any]") -> bool:
    """True for a row that only this format has."""
    if "$set" in value or "$rewindTo" in value:
        return True
    if "projectHash" in value and "sessionId" in value:
        return True
    return value.get("type") == "gemini" and "id" in value and "content" in value


def child(value: "dict[str, Any]") -> bool | None:
    """Whether a header says that another agent began the session; None for any other row."""
    if "projectHash" not in value:
        return None
    return bool(value.get("kind", "main") != "main")


def session_of(value: "dict[str, Any]") -> str:
    """The session id that a header or a patch names, or empty."""
    return string(value.get("sessionId")) or string(mapping(value.get("$set")).get("sessionId"))


def workspace_of(value: "dict[str, Any]") -> str:
    """The first directory that the host told the model to work in, or empty."""
    given = value.get("directories")
    if isinstance(given, list) and given:
        return string(given[0])
    for entry in _entries(value):
        text = "\n".join(parts.words(parts.several(entry.get("content"))))
        if text.startswith(CONTEXT) and FOLDER in text:
            return text.partition(FOLDER)[2].partition("\n")[0]
    return ""


def message(value: "dict[str, Any]") -> Message | None:
    """The message in a row; None for headers and for patches that tell nothing new."""
    kind = value.get("type")
    if "$set" in value:
        return _compression(value)
    if not isinstance(kind, str) or kind not in TYPES or "id" not in value:
        return None
    if kind == "user":
        return _user(value)
    if kind == "gemini":
        return _model(value)
    text = "\n".join(parts.words(parts.several(value.get("content")))).strip()
    if text == CANCELLED:
        return _made(value, "user", "interrupted", text)
    if kind == "error" and text.startswith(API_ERROR):
        return _made(value, "assistant", "failure", text)
    return _made(value, "system", "notice", text)


def place(value: "dict[str, Any]") -> Place | Back | None:
    """Where a row stands: behind the newest one. `$rewindTo` names the first row that is left."""
    target = value.get("$rewindTo")
    if isinstance(target, str):
        return Back(before=target)
    key = string(value.get("id"))
    return Place(key, None, key) if key and isinstance(value.get("type"), str) else None


def _made(
    value: "dict[str, Any]", role: str, kind: str, text: str, origin: str = SYSTEM
) -> Message:
    return Message(
        role, kind, text, origin, string(value.get("timestamp")), string(value.get("id"))
    )


def _entries(value: "dict[str, Any]") -> "list[dict[str, Any]]":
    """The messages that a patch carries."""
    given = mapping(value.get("$set")).get("messages")
    return [e for e in given if isinstance(e, dict)] if isinstance(given, list) else []


def _compression(value: "dict[str, Any]") -> Message | None:
    """The summary in a patch's history; later patches repeat it under the same id."""
    entries = _entries(value)
    for entry, answer in zip(entries, [*entries[1:], {}], strict=False):
        text = "\n".join(parts.words(parts.several(entry.get("content")))).strip()
        taken = parts.words(parts.several(answer.get("content"))) == [TAKEN]
        if entry.get("type") == "user" and (taken or text.startswith(SNAPSHOT)):
            return _made(entry, "system", "compaction", text, UNTRUSTED)
    return None


def _user(value: "dict[str, Any]") -> Message:
    given = parts.several(value.get("content"))
    shown = value.get("displayContent")  # without the files that the prompt names
    texts = parts.words(parts.several(shown) if shown else given)
    results = parts.results(given, origins.GEMINI)
    if results:
        return _made(value, "user", "results", "", UNTRUSTED)._replace(results=results)
    text = "\n".join(texts).strip()
    if text.startswith(CONTEXT):
        return _made(value, "user", "notice", text)
    if text.startswith(SNAPSHOT):
        return _made(value, "system", "compaction", text, UNTRUSTED)
    own = strip_frames(strip_tag(text, "hook_context"), closed=True).strip()
    if not own:
        return _made(value, "user", "injected", "")
    origin, assumed = origins.said(origins.GEMINI, value, own)
    return _made(value, "user", "request", own, origin)._replace(assumed=assumed)


def _model(value: "dict[str, Any]") -> Message:
    """An answer. The host tells it once more, under the same id, when its calls are done."""
    given = parts.several(value.get("content"))
    text = "\n".join(parts.words(given)).strip()
    told = value.get("toolCalls")
    tools = [t for t in told if isinstance(t, dict)] if isinstance(told, list) else []
    whose = origins.answered(origins.GEMINI, value)
    made = _made(value, "assistant", "reply", text, whose)
    if not tools:
        return made._replace(calls=parts.calls(given))
    results = [r for tool in tools for r in _results(tool)]
    return made._replace(calls=tuple(map(parts.call, tools)), results=tuple(results))


def _results(tool: "dict[str, Any]") -> list[ToolResult]:
    """What came of one call; a cancelled one may have done a part of its work."""
    given = tool.get("result")
    if isinstance(given, str):
        found = [ToolResult(string(tool.get("id")), given, False)]
    else:
        found = list(parts.results(parts.several(given), origins.GEMINI))
    status = tool.get("status")
    own = [r for r in found if r.id == tool.get("id")]
    return [
        r._replace(error=r.error or status == "error", interrupted=status == "cancelled")
        for r in own
    ]
