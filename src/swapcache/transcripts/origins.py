"""Whose words are whose: what each host marks, and what is assumed where it marks nothing.

Owns one table for each host: the marks of its rows, the tools that read the network, the tools
whose results come from this machine. Promises that a host's mark goes before any assumption, and
that what a mark says which is not known here counts as a stranger's. Never says which rows are
messages: that is the readers'.

Marks of Claude Code 2.1.332, OpenClaw 2026.5.28 and 2026.9.6 were read in the programs; those of
the other hosts are what their transcripts showed.
"""

from __future__ import annotations

from swapcache.model import AGENT, OWNER, SYSTEM, UNTRUSTED, Message, NamedTuple
from swapcache.transcripts.text import fenced

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Place = tuple[str | int, ...]
    Mark = tuple[Place, dict[bool | str, str], str]


class Host(NamedTuple):
    """What one host says. A mark is (place in the row, origin by what stands there, origin for what
    else may stand there; empty when that says nothing). The first that says something counts."""

    user: tuple[Mark, ...]
    """Rows in a person's place; one without a mark is the owner's in a direct session (assumed)."""
    assistant: tuple[Mark, ...]
    """The model's rows; one without a mark is the agent's."""
    result: tuple[Mark, ...]
    """Results with words from the network; any other is what a tool of this machine gave."""
    begins: tuple[tuple[str, str], ...]
    """(beginning of a text in a person's place, origin), where the row itself has no mark."""
    network: tuple[str, ...]
    """Tools that read what strangers wrote, beside those whose names say so (NETWORK_PARTS)."""
    local: tuple[str, ...]
    """Tools whose results are this machine's: one line of an error may be shown."""


HOSTS = {
    "claude-code": Host(
        (
            (("isCompactSummary",), {True: UNTRUSTED}, ""),
            (("repeatsCompactSummary",), {True: UNTRUSTED}, ""),
            (
                ("origin", "kind"),
                {
                    "auto-continuation": SYSTEM,
                    "plugin": SYSTEM,
                    "task-notification": UNTRUSTED,
                    "peer": UNTRUSTED,
                    "channel": UNTRUSTED,
                    "coordinator": UNTRUSTED,
                    "observer": UNTRUSTED,
                    "observer-activity": UNTRUSTED,
                    "slack-ping": UNTRUSTED,
                },
                "",
            ),
            (("isMeta",), {True: SYSTEM}, ""),  # also what a command of the owner's expands to
            (("origin", "kind"), {"human": OWNER}, ""),
            (
                ("promptSource",),
                {"typed": OWNER, "queued": OWNER, "suggestion_accepted": OWNER, "sdk": OWNER},
                UNTRUSTED,
            ),
            (
                ("turnOrigin",),
                {
                    "human": OWNER,
                    "sdk": OWNER,
                    "scheduled": SYSTEM,
                    "auto_continuation": SYSTEM,
                    "host_synthetic": SYSTEM,
                    "system": SYSTEM,
                    "task_notification": UNTRUSTED,
                    "peer": UNTRUSTED,
                },
                "",
            ),
            (("origin", "kind"), {}, UNTRUSTED),
        ),
        (),
        (),
        (("<task-notification", UNTRUSTED),),
        ("webfetch", "websearch", "readmcpresourcetool", "listmcpresourcestool"),
        (
            *("bash", "bashoutput", "killbash", "killshell", "read", "write", "edit", "multiedit"),
            *("notebookedit", "glob", "grep", "ls", "lsp", "todowrite", "taskcreate", "taskupdate"),
            *("taskget", "tasklist", "exitplanmode"),
        ),
    ),
    "openclaw": Host(  # and pi, which has the same rows without OpenClaw's marks
        (
            (
                ("message", "provenance", "kind"),
                {"internal_system": SYSTEM, "inter_session": UNTRUSTED},
                "",
            ),
            (("message", "__openclaw", "senderIsOwner"), {True: OWNER}, UNTRUSTED),
            (("__openclaw", "senderIsOwner"), {True: OWNER}, UNTRUSTED),
            (("message", "provenance", "kind"), {}, UNTRUSTED),
        ),
        (
            (("message", "__openclaw", "turnTainted"), {True: UNTRUSTED}, ""),
            (("__openclaw", "turnTainted"), {True: UNTRUSTED}, ""),
        ),
        (
            (("message", "__openclaw", "resultContentSource"), {"network": UNTRUSTED}, ""),
            (("__openclaw", "resultContentSource"), {"network": UNTRUSTED}, ""),
        ),
        (("[Inter-session message]", UNTRUSTED),),
        ("web_search", "web_fetch", "browser", "canvas", "x_search"),
        (
            *("read", "write", "edit", "apply_patch", "exec", "process", "bash", "grep", "find"),
            *("ls", "update_plan"),
        ),
    ),
    "codex": Host(  # each part of a message has a mark: a row is a part here
        (
            (
                ("kind",),
                {
                    "user.text": OWNER,
                    "shell.user_command": OWNER,
                    "hooks.additional_context": SYSTEM,
                    "environments.environment_context": SYSTEM,
                    "generic.turn_aborted": SYSTEM,
                    "generic.developer_instructions": SYSTEM,
                    "agents_md.instructions": SYSTEM,
                    "host_skills.instructions": SYSTEM,
                    "permissions.instructions": SYSTEM,
                    "tools.deferred_namespaces": SYSTEM,
                    "plugins.usage_instructions": SYSTEM,
                },
                UNTRUSTED,
            ),
        ),
        (),
        (),
        (
            ("<environment_context>", SYSTEM),
            ("<turn_aborted>", SYSTEM),
            ("<subagent_notification>", UNTRUSTED),
        ),
        ("web_search",),
        (
            *("exec_command", "write_stdin", "shell", "shell_command", "local_shell"),
            *("apply_patch", "update_plan", "view_image"),
        ),
    ),
    "qwen": Host(
        ((("provenance",), {"real_user": OWNER, "system": SYSTEM}, UNTRUSTED),),
        (),
        (),
        (),
        ("web_fetch",),
        (
            *("run_shell_command", "read_file", "write_file", "edit", "notebook_edit", "glob"),
            *("grep_search", "list_directory", "todo_write"),
        ),
    ),
    "gemini": Host(
        ((("type",), {"info": SYSTEM, "warning": SYSTEM, "error": SYSTEM}, ""),),
        (),
        (),
        (("<session_context>", SYSTEM), ("<hook_context>", SYSTEM)),
        ("web_fetch", "google_web_search"),
        (
            *("run_shell_command", "read_file", "read_many_files", "write_file", "replace", "glob"),
            *("grep_search", "list_directory", "write_todos"),
        ),
    ),
    "opencode": Host(
        (
            (("data", "synthetic"), {True: SYSTEM}, ""),
            (("role",), {"unknown": UNTRUSTED}, ""),  # the message's own row cannot be read
            (("adrift",), {}, UNTRUSTED),  # the session's row cannot
        ),
        (),
        (),
        (),
        ("webfetch", "websearch", "codesearch"),
        (
            *("bash", "read", "write", "edit", "multiedit", "patch", "apply_patch", "glob", "grep"),
            *("list", "lsp", "todowrite", "todoread"),
        ),
    ),
    "copilot": Host(
        (
            (("type",), {"system.message": SYSTEM}, ""),
            (("data", "isAutopilotContinuation"), {True: SYSTEM}, ""),
            (("data", "source"), {}, UNTRUSTED),  # a skill's or another agent's words
        ),
        (),
        (),
        (),
        ("web_fetch", "web_search", "fetch_copilot_cli_documentation"),
        (
            *("bash", "read_bash", "write_bash", "stop_bash", "list_bash", "view", "create"),
            *("edit", "grep", "glob", "sql"),
        ),
    ),
    "hermes": Host(
        (
            (("role",), {"system": SYSTEM}, ""),
            (("chat",), {}, UNTRUSTED),  # of a group or channel
            (("observed",), {}, UNTRUSTED),
        ),
        (),
        (),
        (
            ("[System:", SYSTEM),
            ("[System note:", SYSTEM),
            ("[SYSTEM", SYSTEM),
            ("[Your active task list was preserved", SYSTEM),
            ("[IMPORTANT: Background process", SYSTEM),
        ),
        ("web_search", "web_extract", "x_search"),
        (
            *("terminal", "process", "read_terminal", "read_file", "write_file", "patch"),
            *("search_files", "todo"),
        ),
    ),
}
CLAUDE, OPENCLAW = HOSTS["claude-code"], HOSTS["openclaw"]
CODEX, GEMINI, QWEN = HOSTS["codex"], HOSTS["gemini"], HOSTS["qwen"]

NETWORK_PARTS = (
    *("web", "fetch", "browser", "brave", "mcp", "http", "url", "crawl", "search_engine"),
    *("mail", "__"),
)
"""Parts of a tool's name that say where its results come from; servers' tools are SERVER__TOOL."""
NETWORK_PROGRAMS = (
    *("curl", "wget", "lynx", "w3m", "links", "elinks", "http", "https", "xh", "aria2c"),
    *("himalaya", "mutt", "neomutt", "notmuch", "mail", "mailx", "fetchmail"),
)
"""Programs of the shell that read the network or mail."""
LOCAL_HOSTS = ("localhost", "127.0.0.1", "[::1]", "0.0.0.0")  # noqa: S104 - compared, never bound
NETWORK, LOCAL = "network", "local"
"""Where a tool's result comes from; empty when that is not known."""
_NETWORK_TOOLS = frozenset(name for host in HOSTS.values() for name in host.network)
_LOCAL_TOOLS = frozenset(name for host in HOSTS.values() for name in host.local)

DIRECT = ("direct", "dm")
SHARED = ("group", "channel", "cron", "subagent")
"""Parts of an OpenClaw session key that say who speaks in it."""


# -- rows ------------------------------------------------------------------------------------------


def said(host: Host, row: dict[str, Any], text: str) -> tuple[str, bool]:
    """(origin, whether it is assumed) of the text in a row that stands in a person's place."""
    origin = _marked(host.user, row) or _begun(host, text)
    return (origin, False) if origin else (OWNER, True)


def _begun(host: Host, text: str) -> str:
    return next((whose for beginning, whose in host.begins if text.startswith(beginning)), "")


def answered(host: Host, row: dict[str, Any]) -> str:
    """Origin of the model's words in a row, as far as the host marks it."""
    return _marked(host.assistant, row) or AGENT


def from_network(host: Host, row: dict[str, Any], text: str) -> bool:
    """True for a result that the host or a fence in it calls a stranger's words."""
    return bool(_marked(host.result, row)) or fenced(text)


def _marked(marks: tuple[Mark, ...], row: dict[str, Any]) -> str:
    for place, known, otherwise in marks:
        value: Any = row
        for key in place:
            if isinstance(value, dict):
                value = value.get(key)
            elif isinstance(value, list) and isinstance(key, int) and key < len(value):
                value = value[key]
            else:
                value = None
        if value is None:
            continue
        says = known.get(value, otherwise) if isinstance(value, (bool, str)) else otherwise
        if says:
            return says
    return ""


# -- sessions --------------------------------------------------------------------------------------


def direct(key: str) -> bool:
    """True for an OpenClaw session key of the owner's own conversation, in a thread or not.

    agent:A:main, agent:A:direct:PEER, agent:A:CHANNEL:direct:PEER, agent:A:CHANNEL:ACCOUNT:direct:
    PEER; unknown shapes are not.
    """
    parts = key.partition(":thread:")[0].split(":")
    if parts[0] != "agent" or len(parts) < 3:
        return False
    rest = parts[2:]
    if rest == ["main"]:
        return True
    at = next((i for i, part in enumerate(rest[:3]) if part in DIRECT), -1)
    return at >= 0 and len(rest) > at + 1 and not set(rest[:at]) & set(SHARED)


def shared(host: str, key: str, session_id: str) -> bool:
    """True for a session in which others than the owner may speak.

    A transcript that somebody captured by hand without a session key has its id for a key.
    """
    return host == "openclaw" and key != session_id and not direct(key)


def in_shared(message: Message) -> Message:
    """A message of a shared session: what was only assumed to be the owner's is nobody's."""
    return message._replace(origin=UNTRUSTED, assumed=False) if message.assumed else message


# -- tools -----------------------------------------------------------------------------------------


def source(tool: str, line: str) -> str:
    """Where a tool's results come from: NETWORK, LOCAL or empty. `line` is a shell's command."""
    name = tool.lower()
    if name in _LOCAL_TOOLS:
        return NETWORK if line and _reads_network(line) else LOCAL
    if name in _NETWORK_TOOLS or any(part in name for part in NETWORK_PARTS):
        return NETWORK
    return NETWORK if line and _reads_network(line) else ""


def _reads_network(line: str) -> bool:
    if not any(name in line for name in NETWORK_PROGRAMS):
        return False
    from swapcache.transcripts import shell  # rarely needed

    return shell.fetches(line, NETWORK_PROGRAMS, LOCAL_HOSTS)
