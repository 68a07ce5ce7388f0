"""OpenCode's messages: rows of the tables message and part of a SQLite database.

Owns which row is a message and of which kind. A record is a row's columns as one JSON object, with
the row's own JSON inside it byte for byte under `data`. Added are `role` and `summary` (of the
message that a part belongs to) and `cut`, `more`, `child`, `adrift`, `reverted`, `told` where they
are true of it (transcripts/opencode_tables.py). Promises a message or None for any object; whose
words it holds is in origins.py. Never takes the host's
additions to a prompt or our own block for the person's words. Recorded with OpenCode 1.18.
"""

from __future__ import annotations

from swapcache.model import AGENT, SYSTEM, UNTRUSTED, Message, ToolCall, ToolResult
from swapcache.transcripts import origins, tables
from swapcache.transcripts.text import mapping, string, strip_frames
from swapcache.transcripts.tree import Place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NAME = "opencode"
HOST = origins.HOSTS[NAME]
ABORTED = "Tool execution aborted"
"""What the host says of a tool that the person stopped."""
STOPPED = "MessageAbortedError"
UNKNOWN = "unknown"
"""Role of a message whose own row cannot be read, and that may be the person's."""


def matches(value: dict[str, Any]) -> bool:
    """True for a row that only this format has."""
    return isinstance(value.get("session_id"), str) and isinstance(value.get("data"), dict)


def session_of(value: dict[str, Any]) -> str:
    """The session id that a row names, or empty."""
    return string(value.get("session_id"))


def workspace_of(value: dict[str, Any]) -> str:
    """The working directory that an assistant's message names, or empty."""
    return string(mapping(mapping(value.get("data")).get("path")).get("cwd"))


def place(value: dict[str, Any]) -> Place | None:
    """Beside the conversation for a row that the person took back; else rows follow each other."""
    return Place(string(value.get("id")), "", None) if value.get("reverted") is True else None


def message(value: dict[str, Any]) -> Message | None:
    """The message in a row; None for rows that are none (steps, snapshots, a prompt's settings)."""
    if not matches(value):
        return None
    data = mapping(value.get("data"))
    if "message_id" not in value:
        return _ended(value, data)
    kind = data.get("type")
    if kind == "text":
        return _text(value, data)
    if kind == "tool":
        return _tool(value, data)
    if kind == "reasoning":
        return _made(value, "assistant", "reasoning", "", AGENT)
    return None


def _made(value: dict[str, Any], role: str, kind: str, text: str, origin: str) -> Message:
    given = mapping(value.get("data"))
    times = mapping(given.get("time")) or mapping(mapping(given.get("state")).get("time"))
    wall = times.get("end") or times.get("completed") or value.get("time_created")
    return Message(
        role,
        kind,
        text,
        origin,
        tables.iso(wall),
        string(value.get("id")),
        sidechain=value.get("child") is True,
    )


def _text(value: dict[str, Any], data: dict[str, Any]) -> Message | None:
    said = string(data.get("text"))
    if value.get("role") in ("user", UNKNOWN):
        own = strip_frames(_unquoted(said), closed=True).strip()
        if not own:
            return _made(value, "user", "injected", "", SYSTEM)
        origin, assumed = origins.said(HOST, value, own)
        if origin == SYSTEM or data.get("ignored") is True:
            return _made(value, "user", "notice", own, origin)
        return _made(value, "user", "request", own, origin)._replace(assumed=assumed)
    if value.get("summary") is True:
        return _made(value, "system", "compaction", said, UNTRUSTED)
    if not said.strip():
        return None
    kind = "partial" if value.get("cut") is True else _kind(value)
    return _made(value, "assistant", kind, said, AGENT)


def _kind(value: dict[str, Any]) -> str:
    """A message counts once, by its first part."""
    return "more" if value.get("more") is True else "reply"


def _unquoted(text: str) -> str:
    """A prompt without the quotes that `opencode run` puts around its words."""
    inner = text[1:-1]
    if len(text) < 2 or text[0] != '"' or text[-1] != '"' or inner.endswith("\\"):
        return text
    if '"' in inner.replace('\\"', ""):
        return text  # words that merely begin and end with a quotation
    return inner.replace('\\"', '"')


def _tool(value: dict[str, Any], data: dict[str, Any]) -> Message:
    """A call, with its result once it has one; only the result when the call was told before."""
    state = mapping(data.get("state"))
    key = string(data.get("callID"))
    call = ToolCall(key, string(data.get("tool")), mapping(state.get("input")))
    status, cut = state.get("status"), value.get("cut") is True
    results: tuple[ToolResult, ...] = ()
    if status in ("completed", "error") or cut:
        extra = mapping(state.get("metadata"))
        code = extra.get("exit")
        failed = status == "error" or (isinstance(code, int) and code != 0)
        words = string(state.get("output")) or string(state.get("error"))
        unknown = cut or extra.get("interrupted") is True or words.startswith(ABORTED)
        network = origins.from_network(HOST, value, words)
        results = (ToolResult(key, words, failed, unknown, network),)
    if value.get("told") is True:
        return _made(value, "user", "results", "", UNTRUSTED)._replace(results=results)
    made = _made(value, "assistant", _kind(value), "", AGENT)
    return made._replace(calls=(call,), results=results)


def _ended(value: dict[str, Any], data: dict[str, Any]) -> Message | None:
    """What a message's own row says: how a turn ended, if not well."""
    if data.get("role") != "assistant":
        return None
    error = mapping(data.get("error"))
    name = string(error.get("name"))
    if name == STOPPED or (value.get("cut") is True and not name):
        return _made(value, "user", "interrupted", "the turn was cut off", SYSTEM)
    if not name:
        return None
    words = string(mapping(error.get("data")).get("message")) or name
    return _made(value, "assistant", "failure", words, SYSTEM)
