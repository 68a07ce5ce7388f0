"""Codex CLI's rollout: JSON lines of response items, in three generations.

Bare items, items in an envelope (`type` and `payload`), and paginated ones with an `ordinal`. Owns
which row is a message and of which kind, and how the host goes back; whose words it holds is in
origins.py. Promises a message or None for any object. Takes response items only: events tell the
same words a second time. Never takes the host's own user-role items (environment, AGENTS files, a
hook's or our block) for the person's words. Schema: recorded with Codex 0.25, 0.116 and 0.171.
"""

from swapcache.model import AGENT, OWNER, SYSTEM, UNTRUSTED, Message, ToolResult
from swapcache.transcripts import codex_tools, origins
from swapcache.transcripts.text import mapping, string, strip_frames
from swapcache.transcripts.tree import Back, Place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NAME = "codex"
ROWS = ("session_meta", "response_item", "event_msg", "turn_context", "compacted", "world_state")
BARE = (
    "message reasoning function_call function_call_output custom_tool_call custom_tool_call_output"
    " local_shell_call local_shell_call_output web_search_call"
).split()
WHOSE = {
    "command": OWNER,
    "reply": AGENT,
    "reasoning": AGENT,
    "results": UNTRUSTED,
    "summary": UNTRUSTED,
    "compaction": UNTRUSTED,
}
"""Origin by kind; a request's is in origins.py, whatever else it is, it is the host's."""
LABELS = {
    "user.text": "request",
    "hooks.additional_context": "injected",
    "shell.user_command": "command",
    "compaction.summary": "summary",
}
"""What the host calls a part of a message; any other label is its own context."""
STARTS = {
    "<user_shell_command>": "command",
    "Another language model started to solve this problem": "summary",
    "<hook_prompt": "injected",
    "<environment_context>": "notice",
    "<user_instructions>": "notice",
    "# AGENTS.md instructions": "notice",
    "<turn_aborted>": "notice",
    "<subagent_notification>": "notice",
    "<skill>": "notice",
    "<codex_internal_context": "notice",
    "<permissions instructions>": "notice",
    "<recommended_plugins>": "notice",
    "<goal_context>": "notice",
    "<external_": "notice",
    "<heartbeat>": "heartbeat",
    "Warning: apply_patch was requested via ": "notice",
    "Warning: The maximum number of unified exec processes you can keep open is": "notice",
    "Warning: Your account was flagged for potentially high-risk cyber activity": "notice",
}
"""How the host's own user-role text begins, for rollouts without labels."""
EDITOR = "# Context from my IDE setup:"
ASKED = "## My request for Codex:"
"""Behind it stand the person's words in a prompt that an editor sends."""


def matches(value: "dict[str, Any]") -> bool:
    """True for a row that only this format has."""
    kind = value.get("type")
    if kind in ROWS:
        return isinstance(value.get("payload"), dict)
    if "record_type" in value or _bare_header(value):
        return True
    return kind in BARE and ("call_id" in value or _has_items(value.get("content")))


def _bare_header(value: "dict[str, Any]") -> bool:
    return "instructions" in value and "id" in value and "type" not in value


def _has_items(content: "Any") -> bool:
    kinds = ("input_text", "output_text", "input_image")
    items = content if isinstance(content, list) else []
    return any(isinstance(i, dict) and i.get("type") in kinds for i in items)


def child(value: "dict[str, Any]") -> bool | None:
    """Whether a header says that another agent began the thread; None for any other row."""
    if value.get("type") != "session_meta":
        return None
    given = mapping(value.get("payload"))
    by = given.get("source")
    spawned = isinstance(by, dict) and "subagent" in by
    return spawned or "subagent" in (given.get("thread_source"), by)


def session_of(value: "dict[str, Any]") -> str:
    """The thread's id, as a header or a later row names it, or empty."""
    if _bare_header(value):
        return string(value.get("id"))
    given = mapping(value.get("payload"))
    return string(given.get("id" if value.get("type") == "session_meta" else "thread_id"))


def workspace_of(value: "dict[str, Any]") -> str:
    """The working directory in a header, a turn's context or the environment, or empty."""
    if value.get("type") in ("session_meta", "turn_context"):
        return string(mapping(value.get("payload")).get("cwd"))
    item = _item(value)
    text = codex_tools.words(item.get("content")) if item.get("role") == "user" else ""
    if text.startswith("<environment_context>"):
        return text.partition("<cwd>")[2].partition("</cwd>")[0].strip()
    return ""


def message(value: "dict[str, Any]") -> Message | None:
    """The message in a row; None for rows that are none (events, contexts, usage)."""
    kind = value.get("type")
    given = mapping(value.get("payload"))
    wall = string(value.get("timestamp"))
    if kind == "compacted":
        return _made(given, "system", "compaction", string(given.get("message")), wall)
    if kind == "event_msg":
        return _event(given, wall)
    item = _item(value)
    if item.get("type") == "message":
        extra = mapping(value.get("metadata"))
        return _message(item, wall, extra.get("compaction_output") is True)
    return _tool(item, wall)


def place(value: "dict[str, Any]") -> Place | Back | None:
    """Where a row stands: behind the newest one, or a step back.

    A rollback counts requests. A revert begins another file, whose header names the first ordinal
    that is left; a fork's header names another thread and leaves nothing.
    """
    given = mapping(value.get("payload"))
    if value.get("type") == "event_msg" and given.get("type") == "thread_rolled_back":
        turns = given.get("num_turns")
        return Back(turns=turns) if isinstance(turns, int) and turns > 0 else None
    base = mapping(given.get("history_base")) if value.get("type") == "session_meta" else {}
    if base and base.get("thread_id") == given.get("id"):
        return Back(before=_number(base.get("end_ordinal_exclusive")))
    key = _number(value.get("ordinal"))
    return Place(key, None, key)


def _number(value: "Any") -> str:
    return str(value) if isinstance(value, int) else ""


def _item(value: "dict[str, Any]") -> "dict[str, Any]":
    """The response item of a row, or nothing."""
    if value.get("type") == "response_item":
        return mapping(value.get("payload"))
    return value if value.get("type") in BARE and "payload" not in value else {}


def _made(item: "dict[str, Any]", role: str, kind: str, text: str, wall: str) -> Message:
    return Message(role, kind, text, WHOSE.get(kind, SYSTEM), wall, string(item.get("id")))


def _event(given: "dict[str, Any]", wall: str) -> Message | None:
    kind = given.get("type")
    if kind == "turn_aborted":
        return _made(given, "user", "interrupted", string(given.get("reason")), wall)
    error = given if kind == "error" else mapping(given.get("error"))
    if kind == "error" or (kind == "task_complete" and error):
        return _made(given, "assistant", "failure", string(error.get("message")), wall)
    return None


def _message(item: "dict[str, Any]", wall: str, summary: bool) -> Message:
    role = string(item.get("role"))
    if role == "assistant":
        text = codex_tools.words(item.get("content"))
        kind = "summary" if summary else "reply" if text.strip() else "reasoning"
        return _made(item, "assistant", kind, text, wall)
    parts = _parts(item)
    if role != "user":
        hooks = parts and all(kind == "injected" for kind, _ in parts)
        return _context(item, "system", not hooks, wall)
    own = _asked([text for kind, text in parts if kind == "request"])
    if own:
        origin, assumed = origins.said(origins.CODEX, _mark(item), own)
        made = _made(item, "user", "request", own, wall)
        return made._replace(origin=origin, assumed=assumed)
    for kind, text in parts:
        if kind == "command":
            line = text.partition("<command>")[2].partition("</command>")[0].strip()
            return _made(item, "user", "command", f"! {line}", wall)
        if kind in ("summary", "heartbeat"):
            return _made(item, "user", kind, text, wall)
    return _context(item, "user", any(kind == "notice" for kind, _ in parts), wall)


def _context(item: "dict[str, Any]", role: str, notice: bool, wall: str) -> Message:
    """What the host tells the model; a label that is not known may stand for a stranger's words."""
    if not notice:
        return _made(item, role, "injected", "", wall)
    text = codex_tools.words(item.get("content"))
    marks = [{"kind": label} for label in _labels(item) if label] or [{}]
    whose = {origins.said(origins.CODEX, mark, text.lstrip())[0] for mark in marks}
    made = _made(item, role, "notice", text, wall)
    return made._replace(origin=UNTRUSTED) if UNTRUSTED in whose else made


def _asked(texts: list[str]) -> str:
    """The person's own words: without what an editor sends along, and without our block."""
    said = "\n".join(texts)
    if said.startswith(EDITOR) and ASKED in said:
        said = said.partition(ASKED)[2]
    return strip_frames(said, closed=True).strip()


def _labels(item: "dict[str, Any]") -> list[str]:
    """What the host calls each part of a message; nothing in older rollouts."""
    marks = mapping(item.get("internal_chat_message_metadata_passthrough"))
    given = marks.get("content_item_kinds")
    labels = [string(label) for label in given] if isinstance(given, list) else []
    return ["" if label == "unknown" else label for label in labels]


def _mark(item: "dict[str, Any]") -> dict[str, str]:
    """The mark of the parts that are a request, as origins.py knows it."""
    return {"kind": "user.text"} if "user.text" in _labels(item) else {}


def _parts(item: "dict[str, Any]") -> list[tuple[str, str]]:
    """(kind, text) of each part of a message: by the host's labels, else by how it begins."""
    content = item.get("content")
    given = content if isinstance(content, list) else [{"text": content}]
    labels = _labels(item)
    named = labels if len(labels) == len(given) else [""] * len(given)
    found = []
    for part, label in zip(given, named, strict=True):
        text = string(mapping(part).get("text"))
        kind = LABELS.get(label, "notice") if label else _begun(text.lstrip())
        found.append((kind, text))
    return found


def _begun(text: str) -> str:
    return next((kind for start, kind in STARTS.items() if text.startswith(start)), "request")


def _tool(item: "dict[str, Any]", wall: str) -> Message | None:
    kind = string(item.get("type"))
    key = string(item.get("call_id")) or string(item.get("id"))
    if kind == "reasoning":
        return _made(item, "assistant", "reasoning", "", wall)
    if kind == "agent_message":
        return _made(item, "user", "notice", "", wall)._replace(origin=UNTRUSTED)
    if kind.endswith("_call_output"):
        made = _made(item, "user", "results", "", wall)
        result = codex_tools.result(key, item.get("output"))
        strange = origins.from_network(origins.CODEX, {}, result.text)
        return made._replace(results=(result._replace(network=strange),))
    call = codex_tools.call(kind, key, item)
    if call is None:
        return None
    made = _made(item, "assistant", "reply", "", wall)._replace(calls=(call,))
    if kind != "web_search_call":
        return made
    failed = item.get("status") == "failed"  # the provider has searched already
    return made._replace(results=(ToolResult(key, "", failed),))
