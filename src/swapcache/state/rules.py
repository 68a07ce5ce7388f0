"""What tools mean: plan tools, file tools, network tools; and what is worth keeping verbatim.

Owns the tables of tool names over all hosts and the patterns for paths, addresses, hashes and ids.
Promises deterministic answers. Never looks at a host's row format.
"""

import re

from swapcache.model import ToolCall
from swapcache.transcripts.text import mapping, string

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PLAN_TOOLS = ("todowrite", "update_plan", "todo_write", "write_todos")
EDIT_TOOLS = {
    "edit": "edited",
    "multiedit": "edited",
    "notebookedit": "edited",
    "write": "wrote",
    "create": "wrote",
    "write_file": "wrote",
    "replace": "edited",
    "apply_patch": "edited",
}
SHELL_TOOLS = ("bash", "exec", "exec_command", "shell", "run_shell_command", "terminal")
NETWORK_TOOLS = ("webfetch", "websearch", "web_fetch", "web_search", "browser", "google_web_search")
CHILD_TOOLS = ("task", "agent", "spawn_agent", "sessions_spawn")
STATUS = {"in_progress": "active", "completed": "done", "done": "done", "cancelled": "cancelled"}

FACT_LIMIT = 160
_FACT = (
    r"(?P<url>https?://[^\s<>\"'`)\]，。；、]+)"
    r"|(?P<path>(?<![\w./~-])(?:~|\.{1,2})?/?(?:[\w.@+-]+/)+[\w.@+-]*\w)"
    r"|(?P<file>(?<![\w./-])[\w-]+\.(?:py|js|ts|tsx|jsx|go|rs|java|c|h|cpp|md|json|toml|ya?ml|sh"
    r"|sql|txt|html|css|csv|png|jpg|ipynb|lock|cfg|ini|env)(?!\w))"
    r"|(?P<hash>(?<![\w-])(?=[0-9a-f]*[0-9])(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}(?![\w-]))"
    r"|(?P<id>(?<![\w-])(?:[A-Z][A-Z0-9]{1,9}-\d+|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22})(?![\w-]))"
    r"|(?P<issue>(?<![\w#&])#\d{1,7}(?!\w))"
)
_compiled: "re.Pattern[str] | None" = None


def facts(text: str) -> list[str]:
    """Paths, addresses, hashes and ids in `text`, in order, exactly as they stand there."""
    global _compiled
    if _compiled is None:
        _compiled = re.compile(_FACT)
    found: dict[str, None] = {}
    for match in _compiled.finditer(text):
        token = match.group().rstrip(".,:;")
        if 3 <= len(token) <= FACT_LIMIT:
            found[token] = None
    return list(found)


def is_network(call: ToolCall) -> bool:
    """True for a tool that reads what strangers wrote."""
    name = call.name.lower()
    return name in NETWORK_TOOLS or name.startswith("mcp__")


def plan(call: ToolCall) -> list[tuple[str, str]] | None:
    """(task, status) list of a plan tool's call; None for other tools."""
    if call.name.lower() not in PLAN_TOOLS:
        return None
    entries = call.arguments.get("todos") or call.arguments.get("plan") or ()
    tasks = []
    for entry in entries if isinstance(entries, list) else ():
        given = mapping(entry)
        text = string(given.get("content")) or string(given.get("step"))
        if text:
            tasks.append((text, STATUS.get(string(given.get("status")), "open")))
    return tasks


def changed(call: ToolCall) -> tuple[str, str] | None:
    """(path, verb) of a call that changes a file; None for others."""
    verb = EDIT_TOOLS.get(call.name.lower())
    if verb is None:
        return None
    given = call.arguments
    for key in ("file_path", "path", "notebook_path", "filename"):
        path = string(given.get(key))
        if path:
            return path, verb
    return None


def command(call: ToolCall) -> str:
    """The command line of a shell call, or empty."""
    if call.name.lower() not in SHELL_TOOLS:
        return ""
    given: Any = call.arguments.get("command") or call.arguments.get("cmd")
    if isinstance(given, list):
        return " ".join(string(part) for part in given)
    return string(given)


def target(call: ToolCall) -> str:
    """One line that names what a call does: its command, path or arguments."""
    change = changed(call)
    line = command(call) or (change[0] if change else "")
    if not line:
        for key in ("description", "file_path", "path", "query", "url", "pattern", "prompt"):
            line = string(call.arguments.get(key))
            if line:
                break
    if not line and call.arguments:
        first = next(iter(call.arguments.items()))
        line = f"{first[0]}={first[1]}"
    return " ".join(line.split())


def committed(line: str, output: str) -> str:
    """`<hash> <subject>` of a git commit that this command made, or empty."""
    if "git commit" not in line and "git -c" not in line:
        return ""
    for row in output.splitlines():
        head, closing, subject = row.partition("] ")
        words = head.removeprefix("[").split()
        if row.startswith("[") and closing and len(words) >= 2:
            digest = words[-1]
            if 7 <= len(digest) <= 40 and all(c in "0123456789abcdef" for c in digest):
                return f"{digest} {subject}"
    return ""


def error_line(output: str) -> str:
    """The line of an output that says what failed, at most 160 characters."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    lines = [line.removeprefix("<tool_use_error>").removesuffix("</tool_use_error>") for line in lines]
    words = ("error", "failed", "exception", "fatal", "not found", "denied", "错误", "失败")
    for line in reversed(lines):
        lower = line.lower()
        if any(word in lower for word in words):
            return line[:FACT_LIMIT]
    return lines[-1][:FACT_LIMIT] if lines else "no output"
