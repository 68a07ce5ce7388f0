"""Message parts as Google's API shapes them, in the transcripts of Gemini CLI and Qwen Code.

Owns which part is words, a call or a result, and what a shell tool's report says. Promises an
answer for any value. Never decides whose words they are.
"""

from swapcache.model import ToolCall, ToolResult
from swapcache.transcripts import origins
from swapcache.transcripts.text import mapping, string

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SHELL = "run_shell_command"
_HEAD = ("Command: ", "Directory: ")
_TAIL = ("Error: ", "Exit Code: ", "Signal: ", "Background PIDs: ", "Process Group PGID: ")
_NONE = ("(none)", "0")
_AROUND = ("<untrusted_context>", "</untrusted_context>")


def several(content: "Any") -> "list[dict[str, Any]]":
    """The parts of a message, whichever way they are given."""
    if isinstance(content, str):
        return [{"text": content}]
    given = content if isinstance(content, list) else [content]
    return [{"text": p} if isinstance(p, str) else p for p in given if isinstance(p, (str, dict))]


def words(parts: "list[dict[str, Any]]") -> list[str]:
    """The texts among them; what the model only thought is none."""
    found = [string(p.get("text")) for p in parts if p.get("thought") is not True]
    return [text for text in found if text]


def calls(parts: "list[dict[str, Any]]") -> tuple[ToolCall, ...]:
    """The tool calls among them."""
    return tuple(call(mapping(p["functionCall"])) for p in parts if "functionCall" in p)


def call(given: "dict[str, Any]") -> ToolCall:
    """A call as the hosts write it: id, name, args."""
    return ToolCall(string(given.get("id")), string(given.get("name")), mapping(given.get("args")))


def results(parts: "list[dict[str, Any]]", host: origins.Host) -> tuple[ToolResult, ...]:
    """The answers to tool calls among them."""
    found = [result(mapping(p["functionResponse"])) for p in parts if "functionResponse" in p]
    return tuple(r._replace(network=origins.from_network(host, {}, r.text)) for r in found)


def result(given: "dict[str, Any]") -> ToolResult:
    """An answer; `error` when the host or the command's exit code says so."""
    response = mapping(given.get("response"))
    failed = "error" in response
    text = string(response.get("error" if failed else "output"))
    if not text:
        text = "\n".join(words(several(response.get("content"))))
    text = text.strip()
    text = text.removeprefix(_AROUND[0]).removesuffix(_AROUND[1]).strip()
    if given.get("name") == SHELL:
        text, refused = _report(text)
        failed = failed or refused
    return ToolResult(string(given.get("id")), text, failed)


def _report(text: str) -> tuple[str, bool]:
    """(what a command printed, whether it failed) of a shell tool's report."""
    lines, fields = text.split("\n"), {}
    while lines and lines[-1].startswith(_TAIL):
        name, _, value = lines.pop().partition(": ")
        fields[name] = value.strip()
    while lines and lines[0].startswith(_HEAD):
        lines.pop(0)
    printed = "\n".join(lines).removeprefix("Output: ")
    problem = fields.get("Error", "")
    if problem not in ("", *_NONE):
        printed = f"{printed}\n{problem}"
    failed = [fields.get(name, "(none)") not in _NONE for name in ("Exit Code", "Signal", "Error")]
    return printed.removesuffix("(empty)").strip(), any(failed)
