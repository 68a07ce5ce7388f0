"""Codex's tools: what a call asks for, and what a result's text or object says.

Owns the forms that calls and results have had over the generations of rollouts. Promises an answer
for any value. Never decides whose words they are.
"""

import json

from swapcache.model import ToolCall, ToolResult
from swapcache.transcripts.text import mapping, string

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FAILED = (
    "unsupported call: ",
    "unsupported custom tool call: ",
    "failed to parse function arguments",
    "apply_patch verification failed",
    "exec_command failed",
    "execution error",
)
ABORTED = ("aborted by user", "aborted before dispatch")
EXIT = ("Process exited with code ", "Exit code: ")
OUTPUT = "\nOutput:\n"
REPORT = ("Chunk ID: ", "Command: ", "Wall time: ", "Exit code: ")


def call(kind: str, key: str, item: "dict[str, Any]") -> ToolCall | None:
    """The call in an item of this kind; None for items that are none.

    A server's tool is named after the server, so that its words are known for a stranger's.
    """
    name = string(item.get("name"))
    space = string(item.get("namespace"))
    if space.startswith("mcp"):
        name = f"{space}__{name}"
    if kind == "function_call":
        return ToolCall(key, name, _arguments(item.get("arguments")))
    if kind == "custom_tool_call":
        return ToolCall(key, name, {"input": string(item.get("input"))})
    if kind == "local_shell_call":
        return ToolCall(key, "shell", {"command": mapping(item.get("action")).get("command")})
    if kind == "web_search_call":
        return ToolCall(key, "web_search", mapping(item.get("action")))
    return None


def _arguments(given: "Any") -> "dict[str, Any]":
    if isinstance(given, dict):
        return given
    value = _decoded(string(given))
    return value if isinstance(value, dict) else {"arguments": string(given)}


def _decoded(text: str) -> "Any":
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def result(key: str, output: "Any") -> ToolResult:
    """What a tool answered: text or an object that holds it, with the exit code in either."""
    if isinstance(output, dict):
        return ToolResult(key, words(output.get("content")), output.get("success") is False)
    text = words(output)
    if text == "aborted" or text.startswith(ABORTED) or text.endswith(f"\n{ABORTED[0]}"):
        return ToolResult(key, text, False, True)
    code, text = _printed(text)
    inner = mapping(_decoded(text)) if text.startswith('{"') else {}
    if "output" in inner and "metadata" in inner:
        code = _code(inner["metadata"])
        text = string(inner["output"])
    return ToolResult(key, text, code not in ("", "0") or text.startswith(FAILED))


def _printed(text: str) -> tuple[str, str]:
    """(exit code, what was printed) of a shell tool's report; no code where it has none."""
    head, found, body = text.partition(OUTPUT)
    if not found or not head.startswith(REPORT):
        return "", text
    for line in head.split("\n"):
        for start in EXIT:
            if line.startswith(start):
                return line.removeprefix(start).strip(), body
    return "", body


def _code(given: "Any") -> str:
    code = mapping(given).get("exit_code")
    return str(code) if isinstance(code, int) else ""


def words(content: "Any") -> str:
    """The words of a content, whichever kinds of parts hold them."""
    if not isinstance(content, list):
        return string(content)
    return "\n".join(text for part in content if (text := string(mapping(part).get("text"))))
