"""Claude Code: its hook payloads in our words, our answer in its shape, its settings file.

Owns everything that is particular to this host (docs/hosts/claude-code.md). Promises exactly one
answer shape and to change nothing in settings.json but its own entries. Never runs the host.

Payloads, measured with 2.1.332: session_id, transcript_path, cwd, hook_event_name always;
SessionStart has source startup|resume|clear|compact; UserPromptSubmit has prompt; PostToolUse and
PostToolUseFailure have tool_name, tool_input, tool_response, tool_use_id; SessionEnd has reason.
"""

import json
import os

from swapcache import paths
from swapcache.capture import process
from swapcache.errors import HostError
from swapcache.model import Event, ToolCall, ToolResult
from swapcache.store import identity
from swapcache.transcripts.text import mapping, string

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    Edit = Callable[[str, str], str]

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
TIMEOUT = 10
END_TIMEOUT = 20  # without a timeout of its own the host cuts SessionEnd after 1.5 s
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
        string(payload.get("prompt")) if ours == "prompt" else "",
        call,
        result,
        detail=string(payload.get("reason")) or string(payload.get("error")),
        process=owner,
        ancestors=ancestors,
    )


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


# -- settings.json ---------------------------------------------------------------------------------


def settings_file(env: "Mapping[str, str]" = os.environ) -> str:
    """The user's settings of this host."""
    return f"{state_dir(env)}/settings.json"


def command(name: str, launcher: str) -> str:
    """The command line for an event: the same over upgrades."""
    import shlex  # only setup needs it

    return f"{shlex.quote(launcher)} {NAME} {name}"


def _entry(name: str, launcher: str) -> "dict[str, Any]":
    timeout = END_TIMEOUT if name == "SessionEnd" else TIMEOUT
    hook = {"type": "command", "command": command(name, launcher), "timeout": timeout}
    return {"hooks": [hook]}


def _without_ours(entries: "list[Any]", launcher: str) -> "list[Any]":
    """Entries without our own hooks; somebody's hook in the same entry stays."""
    kept = []
    for entry in entries:
        hooks = mapping(entry).get("hooks")
        if not isinstance(hooks, list):
            kept.append(entry)
            continue
        others = [h for h in hooks if launcher not in string(mapping(h).get("command"))]
        if len(others) == len(hooks):
            kept.append(entry)
        elif others:
            kept.append({**entry, "hooks": others})
    return kept


def installed(text: str, launcher: str) -> str:
    """settings.json with our hooks in it; the same text when they are there already.

    Raises HostError when it cannot be changed safely.
    """
    from swapcache.hosts import rendering  # only setup needs it

    settings = _parse(text)
    hooks = settings.setdefault("hooks", {})
    if not isinstance(hooks, dict):
        raise HostError('"hooks" in settings.json is no object; correct it, then run setup again')
    for name in EVENTS:
        entries = hooks.setdefault(name, [])
        if not isinstance(entries, list):
            raise HostError(f'"hooks.{name}" in settings.json is no list; correct it first')
        wanted = _entry(name, launcher)
        if wanted not in entries or _without_ours(entries, launcher) != [
            e for e in entries if e != wanted
        ]:
            hooks[name] = [*_without_ours(entries, launcher), wanted]
    return rendering.render(settings, text)


def removed(text: str, launcher: str) -> str:
    """settings.json without our hooks; other entries stay."""
    from swapcache.hosts import rendering  # only setup needs it

    settings = _parse(text)
    hooks = settings.get("hooks")
    if isinstance(hooks, dict):
        for name in list(hooks):
            if isinstance(hooks[name], list):
                kept = _without_ours(hooks[name], launcher)
                if kept != hooks[name]:
                    hooks[name] = kept
                    if not kept:
                        del hooks[name]
        if not hooks:
            del settings["hooks"]
    return rendering.render(settings, text)


def place_files() -> None:
    """This host needs no files beside the launcher."""


def remove_files() -> None:
    """This host has no files of ours."""


def _parse(text: str) -> "dict[str, Any]":
    if not text.strip():
        return {}
    try:
        value = json.loads(text)
    except ValueError as problem:
        raise HostError(f"settings.json is no JSON ({problem}); correct it first") from problem
    if not isinstance(value, dict):
        raise HostError("settings.json holds no object; correct it first")
    return value
