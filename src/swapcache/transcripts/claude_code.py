"""Claude Code's transcript: JSON lines, a tree by uuid and parentUuid.

Owns which row is a message and of which kind (docs/hosts/claude-code.md); whose words it holds is
in origins.py. Promises a message or None for any object. Never takes the host's own words, a child
agent's or our injected block for the person's. Schema: rows recorded with Claude Code 1.0 to 2.1.
"""

from swapcache.model import AGENT, SYSTEM, UNTRUSTED, Message, ToolCall, ToolResult
from swapcache.transcripts import origins
from swapcache.transcripts.text import joined, mapping, string, strip_frames, strip_tag
from swapcache.transcripts.tree import Place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NAME = "claude-code"
HOST_COMMANDS = [
    [f"/{name}"]
    for name in (
        "add-dir agents bug clear compact config context copy cost doctor effort exit export fast"
        " feedback help hooks ide keybindings login logout mcp memory model output-style"
        " permissions plugin privacy-settings quit release-notes remote-control rename resume"
        " rewind sandbox skills stats status statusline tasks terminal-setup theme todos upgrade"
        " usage vim"
    ).split()
]
"""Commands that the host carries out itself; any other one is a request to the agent."""
INTERRUPTED = "[Tool call interrupted:"
INTERRUPTION = "[Request interrupted by user"
NOTIFIED = ("task-notification", "task_notification", "system")
"""What a row's marks say of a report on something that ran in the background: no request."""
NO_REQUEST = (INTERRUPTION, "<local-command-", "<bash-stdout>", "<command-")


def matches(value: "dict[str, Any]") -> bool:
    """True for a row that only this format has."""
    if "provenance" in value or "systemPayload" in value:
        return False  # Qwen Code's, which has this form too
    if value.get("type") in ("user", "assistant", "system", "attachment"):
        own = "parentUuid" in value or "isSidechain" in value
        return own and "parts" not in mapping(value.get("message"))
    return value.get("type") == "summary" and "leafUuid" in value


def session_of(value: "dict[str, Any]") -> str:
    """The session id that a row names, or empty."""
    return string(value.get("sessionId"))


def workspace_of(value: "dict[str, Any]") -> str:
    """The working directory that a row names, or empty."""
    return string(value.get("cwd"))


def place(value: "dict[str, Any]") -> Place | None:
    """Where a row of the main line hangs; a compaction's hangs behind the row before it.

    Results of calls that ran at once hang behind their own calls, and so do attachments: only what
    a person asks begins another branch.
    """
    key, parent = value.get("uuid"), value.get("parentUuid")
    if not isinstance(key, str) or value.get("isSidechain") is True:
        return None
    content = mapping(value.get("message")).get("content")
    blocks = content if isinstance(content, list) else ()
    results = any(isinstance(b, dict) and b.get("type") == "tool_result" for b in blocks)
    leads = value.get("type") == "user" and not results
    return Place(key, parent if isinstance(parent, str) else "", key, leads, True)


def message(value: "dict[str, Any]") -> Message | None:
    """The message in a row; None for rows that are none (attachments, request logs, titles)."""
    kind = value.get("type")
    if kind == "user":
        return _user(value)
    if kind == "assistant":
        return _assistant(value)
    if kind == "attachment":
        return _queued(value)
    if kind == "system" and value.get("subtype") == "compact_boundary":
        return made(value, "system", "compaction", "", SYSTEM)
    return None


def made(value: "dict[str, Any]", role: str, kind: str, text: str, origin: str) -> Message:
    """A message of a row with these ids, times and marks; a child agent's is nobody's word."""
    return Message(
        role,
        kind,
        text,
        UNTRUSTED if value.get("isSidechain") is True else origin,
        string(value.get("timestamp")),
        string(value.get("uuid")),
        sidechain=value.get("isSidechain") is True,
    )


def _user(value: "dict[str, Any]") -> Message:
    content = mapping(value.get("message")).get("content")
    results = _results(content)
    text = joined(content)
    origin, assumed = origins.said(origins.CLAUDE, value, text.lstrip())
    if value.get("isCompactSummary"):
        return made(value, "user", "summary", text, origin)
    meta = origin == SYSTEM or value.get("repeatsCompactSummary") or _notified(value, text)
    if results:
        own = strip_frames(strip_tag(text, "system-reminder"), closed=True).strip()
        said = own and not meta and not own.startswith(NO_REQUEST)
        kind, whose = ("request", origin) if said else ("results", UNTRUSTED)
        told = made(value, "user", kind, own if said else "", whose)
        return told._replace(results=results, assumed=bool(said) and assumed)
    if meta:
        return made(value, "user", "notice", text, origin)
    if text.startswith(("<local-command-", "<bash-stdout>")):
        return made(value, "user", "notice", text, UNTRUSTED)
    if text.startswith(INTERRUPTION):
        return made(value, "user", "interrupted", text, SYSTEM)
    if text.lstrip().startswith(("<command-name>", "<command-message>")):
        line = _command(text)
        kind = "command" if line.split()[:1] in HOST_COMMANDS else "request"
        return made(value, "user", kind, line, origin)._replace(assumed=assumed)
    own = strip_frames(strip_tag(text, "system-reminder"), closed=True).strip()
    if not own:
        return made(value, "user", "injected", "", SYSTEM)
    return made(value, "user", "request", own, origin)._replace(assumed=assumed)


def _notified(value: "dict[str, Any]", text: str) -> bool:
    marks = (
        mapping(value.get("origin")).get("kind"),
        value.get("promptSource"),
        value.get("turnOrigin"),
    )
    return any(mark in NOTIFIED for mark in marks) or text.lstrip().startswith("<task-notification")


def _queued(value: "dict[str, Any]") -> Message | None:
    """Words that somebody sent while the agent was at work."""
    inner = mapping(value.get("attachment"))
    if inner.get("type") != "queued_command" or inner.get("commandMode", "prompt") != "prompt":
        return None
    prompt = inner.get("prompt")
    text = strip_frames(joined(prompt), closed=True).strip()
    origin, assumed = origins.said(origins.CLAUDE, inner, text)
    if not text or origin == SYSTEM or _notified(inner, text):
        return None
    return made(value, "user", "request", text, origin)._replace(assumed=assumed)


def _command(text: str) -> str:
    def part(tag: str) -> str:
        return text.partition(f"<{tag}>")[2].partition(f"</{tag}>")[0].strip()

    return f"{part('command-name')} {part('command-args')}".strip()


def _results(content: "Any") -> tuple[ToolResult, ...]:
    if not isinstance(content, list):
        return ()
    found = []
    for block in content:
        if isinstance(block, dict) and block.get("type") == "tool_result":
            text = joined(block.get("content"))
            found.append(
                ToolResult(
                    string(block.get("tool_use_id")),
                    text,
                    block.get("is_error") is True,
                    text.startswith(INTERRUPTED),
                    origins.from_network(origins.CLAUDE, block, text),
                )
            )
    return tuple(found)


def _assistant(value: "dict[str, Any]") -> Message:
    inner = mapping(value.get("message"))
    content = inner.get("content")
    text = joined(content)
    if value.get("isApiErrorMessage"):
        return made(value, "assistant", "failure", text, SYSTEM)
    if inner.get("model") == "<synthetic>":
        return made(value, "assistant", "notice", text, SYSTEM)
    calls = tuple(
        ToolCall(string(b.get("id")), string(b.get("name")), mapping(b.get("input")))
        for b in (content if isinstance(content, list) else ())
        if isinstance(b, dict) and b.get("type") == "tool_use"
    )
    if not text and not calls:
        thinking = isinstance(content, list) and len(content) > 0
        if thinking:
            return made(value, "assistant", "reasoning", "", AGENT)
        return made(value, "assistant", "failure", "the model answered without content", SYSTEM)
    return made(value, "assistant", "reply", text, AGENT)._replace(calls=calls)
