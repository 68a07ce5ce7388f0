"""What tools mean: plan tools, file tools; and what is worth keeping verbatim.

Owns the tables of tool names over all hosts and the patterns for paths, addresses, hashes and ids.
Promises deterministic answers. Never looks at a host's row format.
"""

from swapcache.model import ToolCall
from swapcache.transcripts import origins
from swapcache.transcripts.text import mapping, string

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PLAN_TOOLS = ("todowrite", "update_plan", "todo_write", "write_todos", "todo")
EDIT_TOOLS = {
    "edit": "edited",
    "multiedit": "edited",
    "notebookedit": "edited",
    "write": "wrote",
    "create": "wrote",
    "write_file": "wrote",
    "replace": "edited",
    "notebook_edit": "edited",
    "apply_patch": "edited",
    "patch": "edited",
}
PATCH = "*** Begin Patch"
PATCH_LINES = {
    "*** Add File: ": "wrote",
    "*** Update File: ": "edited",
    "*** Delete File: ": "deleted",
    "*** Move to: ": "wrote",
}
SHELL_TOOLS = (
    *("bash", "exec", "exec_command", "shell", "shell_command", "run_shell_command", "terminal"),
)
STATUS = {"in_progress": "active", "completed": "done", "done": "done", "cancelled": "cancelled"}

SECRETS_ZH = ("密码", "口令", "密钥", "令牌")
SECRETS = ("password", "passwd", "passphrase", "secret", "token", "key", "pwd", *SECRETS_ZH)

FACT_LIMIT = 160
TOOL_LIMIT, TOOL_WORDS = 64, 7
"""Characters and words of a tool's name: servers put their own name before it."""
TEXT_LIMIT = 4000
LINE_LIMIT = 400
FILES = frozenset(
    "py js ts tsx jsx go rs java c h cpp md json jsonl toml yaml yml sh sql txt html css csv png"
    " jpg ipynb lock cfg ini env xml vue rb php pl swift kt gz zip tar pdf docx xlsx log".split()
)
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_WORD = f"{_LETTERS}{_LETTERS.upper()}0123456789_"
_HEX = "0123456789abcdef"
_OPENING = "()[]{}<>\"'`,;:!?*|\\"
_CLOSING = _OPENING + "."
_IN_FACTS = frozenset("/.0123456789")
"""Every path, address, hash and id has one of them."""
_JOINTS = frozenset("/.:#-=")
"""All but hashes have one of these too."""
_HEX_QUOTED = _HEX + _CLOSING
_NO_PATH = "<>\"'`|,;()$*{}"


def facts(text: str) -> list[str]:
    """Paths, addresses, hashes and ids in `text`, in order, exactly as they stand there.

    What stands behind a word like `password=` is left out. By string methods: compiling a pattern
    for it would cost the hook a twentieth of its time.
    """
    found: dict[str, None] = {}
    words = text.split()
    for index, word in enumerate(words):
        if word.isalpha() or _IN_FACTS.isdisjoint(word) or len(word) < 3:
            continue
        if not word.isascii():
            if _tells_secret(word):
                continue
        elif _JOINTS.isdisjoint(word) and word.strip(_HEX_QUOTED):
            continue
        tokens = [t for p in _parts(word) if (t := p.lstrip(_OPENING).rstrip(_CLOSING))]
        told = [t for t in tokens if 3 <= len(t) <= FACT_LIMIT and _is_fact(t)]
        if told and not (index and _names_secret(words[index - 1].lower().strip("\"'"))):
            found.update(dict.fromkeys(told))
    return list(found)


def _parts(word: str) -> list[str]:
    """What a word may hold: both sides of an equals sign, the parts of a Chinese word."""
    parts: list[str] = []
    for token in (word,) if word.isascii() else _pieces(word):
        name, equals, value = token.partition("=")
        if not equals or "://" in name:
            parts.append(token)
        elif not _names_secret(f"{name.lower()}="):
            parts += (name, value)
    return parts


def _names_secret(word: str) -> bool:
    """True for `bearer`, `token:`, `--token`, `db_password=`: what follows is nobody's business."""
    if word in ("bearer", "basic"):
        return True
    name = word.rstrip(":=：＝是为\"' ")
    return (name != word or word.startswith("-")) and name.endswith(SECRETS)


def _tells_secret(word: str) -> bool:
    """True for `密码：x1` and alike: Chinese text has no blank before what follows."""
    return any(
        word[word.index(name) + len(name) :][:1] in ("：", ":", "＝", "=", "是", "为")
        for name in SECRETS_ZH
        if name in word
    )


def _pieces(word: str) -> list[str]:
    """The parts of a word without blanks that may be facts: Chinese text has none between words.

    A letter of another script belongs to a path only behind a slash, and not behind the name's end.
    """
    spaced = []
    inside, end = False, ""
    for char in word:
        if char.isascii():
            inside = char == "/" or (inside and (char.isalnum() or char in "._-"))
            end = "" if not char.isalnum() else end + char
            spaced.append(char)
            if char == ".":
                end = "."
        else:
            inside = inside and char.isalnum() and end[1:] not in FILES
            end = ""
            spaced.append(char if inside else " ")
    return "".join(spaced).split()


def _is_fact(token: str) -> bool:
    if token.startswith(("http://", "https://")):
        return len(token) > 10
    if "/" in token:
        token = token.removeprefix("./")
        named = any(part.strip("._-+@~") for part in token.split("/"))
        return named and not any(c in token for c in _NO_PATH)
    if token[0] == "#":
        return token[1:].isdigit()
    stem, dot, end = token.rpartition(".")
    if dot and end in FILES:
        return not stem.strip(_WORD + ".-")
    if len(token) == 36 and token.count("-") == 4:
        return not token.lower().strip(_HEX + "-")
    place, colon, row = token.rpartition(":")
    if colon and row.isdigit():
        return _is_fact(place)
    if "." in token and token.lstrip("v").replace(".", "").isdigit():
        return True
    head, dash, number = token.rpartition("-")
    if dash and number.isdigit():
        return head.isupper() and head.isalnum() and len(head) <= 10
    if 7 <= len(token) <= 64 and not token.strip(_HEX):
        return not token.isdigit() and not token.isalpha()
    return False


def source(call: ToolCall) -> str:
    """Where a call's result comes from: origins.NETWORK, origins.LOCAL, or empty."""
    return origins.source(call.name, command(call))


def is_network(call: ToolCall) -> bool:
    """True for a call that reads what strangers wrote; a fetch from this machine is none."""
    return source(call) == origins.NETWORK


def plan(call: ToolCall) -> list[list[str]] | None:
    """What a plan tool's call does to the tasks: [operation, key, text, status] each.

    `list` entries state the whole plan; `new` gets its key from the result; `set` changes one.
    None for other tools.
    """
    name, given = call.name.lower(), call.arguments
    if name in PLAN_TOOLS:
        entries = given.get("todos") or given.get("plan") or ()
        some = "set" if given.get("merge") is True else "list"
        tasks = []
        for entry in entries if isinstance(entries, list) else ():
            one = mapping(entry)
            named = (string(one.get(key)) for key in ("content", "step", "description"))
            text = next(filter(None, named), "")
            if text:
                tasks.append([some, text, text, STATUS.get(string(one.get("status")), "open")])
        return tasks
    if name == "taskcreate":
        return [["new", "", string(given.get("subject")), "open"]]
    if name == "taskupdate":
        status = string(given.get("status"))
        key = f"#{given.get('taskId')}"
        return [["set", key, string(given.get("subject")), STATUS.get(status, status or "open")]]
    return None


HOST_COMMANDS = frozenset(
    "reset new clear compact stop abort exit quit resume restart status help model models login"
    " logout cost usage config settings context session sessions".split()
)


def is_command(text: str) -> bool:
    """True for a bare command to the host, `/reset`: it asks the agent for nothing."""
    word = text.strip()
    return word[:1] == "/" and word[1:].lower() in HOST_COMMANDS


def task_number(output: str) -> str:
    """`#7` of an output like `Task #7 created`, or empty."""
    digits = ""
    for char in output.partition("#")[2]:
        if not char.isdigit():
            break
        digits += char
    return f"#{digits}" if digits else ""


def changed(call: ToolCall) -> list[tuple[str, str]]:
    """(path, verb) of every file that a call changes."""
    given = call.arguments
    verb = EDIT_TOOLS.get(call.name.lower(), "")
    keys = ("file_path", "filePath", "path", "notebook_path", "filename")
    for key in keys if verb else ():
        path = string(given.get(key))
        if path:
            return [(path, verb)]
    named = (string(given.get(key)) for key in ("input", "patchText", "patch"))
    text = next(filter(None, named), "") if verb else command(call)
    return _patched(text) if PATCH in text else []


def _patched(text: str) -> list[tuple[str, str]]:
    """What a patch in the form of `apply_patch` changes; the last verb of a path counts."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        for start, verb in PATCH_LINES.items():
            if line.startswith(start):
                found[line.removeprefix(start).strip()] = verb
    return [(path, verb) for path, verb in found.items() if path]


def command(call: ToolCall) -> str:
    """The command line of a shell call, or empty."""
    if call.name.lower() not in SHELL_TOOLS:
        return ""
    given: Any = call.arguments.get("command") or call.arguments.get("cmd")
    if isinstance(given, list):
        return " ".join(string(part) for part in given)
    return string(given)


def words(name: str) -> int:
    """How many words a name is made of."""
    for separator in "_.,+=%~@#&;!?/:":
        name = name.replace(separator, "-")
    return sum(1 for word in name.split("-") if len(word) > 1 and word.isalpha())


def tool(name: str) -> str:
    """A tool's name as it may be shown; `tool` for one that is a sentence, or none."""
    fits = 0 < len(name) <= TOOL_LIMIT and not name.strip(_WORD + ".:/-")
    return name if fits and words(name) <= TOOL_WORDS else "tool"


def target(call: ToolCall) -> str:
    """One line that names what a call does: its command, path or arguments."""
    line = command(call)
    if not line:
        paths = [path for path, _ in changed(call)]
        line = f"{paths[0]} and {len(paths) - 1} more" if len(paths) > 1 else "".join(paths)
    if not line:
        keys = ("description", "file_path", "filePath", "path", "query", "url", "pattern", "prompt")
        for key in keys:
            line = string(call.arguments.get(key))
            if line:
                break
    if not line and call.arguments:
        first = next(iter(call.arguments.items()))
        line = f"{first[0]}={first[1]}"
    return " ".join(line.split())


def committed(line: str, output: str) -> str:
    """`<hash> <subject>` of a git commit that this command made, or empty."""
    if not _commits(line):
        return ""
    for row in output.splitlines():
        head, closing, subject = row.partition("] ")
        words = head.removeprefix("[").split()
        if not (row.startswith("[") and closing and len(words) >= 2):
            words, subject = row.split(" ", 1)[:1], row.partition(" ")[2]
        digest = words[-1] if words else ""
        if 7 <= len(digest) <= 40 and not digest.strip(_HEX):
            return cut(f"{digest} {subject}", FACT_LIMIT)
    return ""


def _commits(line: str) -> bool:
    """True when a command line runs `git commit`, whatever stands around it."""
    for separator in "&|;()\n":
        line = line.replace(separator, " ; ")
    words = [*line.split(), ";"]
    for at, word in enumerate(words):
        if word.rpartition("/")[2] != "git":
            continue
        at += 1
        while words[at].startswith("-"):
            at += 2 if words[at] in ("-C", "-c") and at + 2 < len(words) else 1
        if words[at] == "commit":
            return True
    return False


def cut(text: str, limit: int) -> str:
    """`text` in at most `limit` characters, cut between words: half a secret looks like none."""
    if len(text) <= limit:
        return text
    head = text[: limit - 1]
    if not text[limit - 1].isspace():
        space = max(head.rfind(" "), head.rfind("\n"), head.rfind("\t"))
        head = head[:space] if space >= limit // 2 else head
    return head + "…"


def clip(text: str) -> str:
    """A text as an item keeps it."""
    return cut(text, TEXT_LIMIT)


FAILED = (
    *("error:", "fatal:", "exception:", "npm err", "traceback (most", "command not found"),
    *("no such file", "permission denied", "segmentation fault", "failed:", "cannot find"),
    *("wrong ", "incorrect", "invalid ", "unmatched", "not been applied", " failed"),
    *("错误：", "错误:", "失败", "エラー", "오류", "실패"),
)
SHOWN_END = 400
"""Characters at each end of an output that say how it went."""


MORE = ("wrong", "incorrect", "invalid", "unmatched", "エラー", "오류", "실패")
STRONG = ("error:", "exception:", "fatal:", "错误:", "错误：")
"""How the words end behind which a program says what failed."""


def stem(line: str) -> str:
    """What a command line runs, without its options: `npm run check`, `python3 verify.py`."""
    for separator in ("&&", ";"):
        head, joint, rest = line.partition(separator)
        if joint and head.split()[:1] in (["cd"], ["source"], ["export"]):
            line = rest
    words: list[str] = []
    for word in line.split():
        if word.startswith(("-", "|", ">", "<", "&", "2>", ";")) or len(words) == STEM_WORDS:
            break
        if words or "=" not in word:
            words.append(word)
    return " ".join(words)


STEM_WORDS = 3


def failed(output: str) -> bool:
    """True for an output that says of itself that something failed, in its last lines."""
    lower = (output[:SHOWN_END] + output[max(SHOWN_END, len(output) - SHOWN_END) :]).lower()
    head, _, code = lower.rpartition("exit code")
    if head or code != lower:
        digits = code.strip(" :=").partition(" ")[0].partition("\n")[0]
        if digits.isdigit():
            return int(digits) != 0
    return any(words in lower for words in FAILED)


def outcome(error: str, source: str) -> str:
    """One line of what a failed call said, if its words are this machine's; empty without one."""
    if not error:
        return ""
    return error_line(error) if source == origins.LOCAL else "failed"


def error_line(output: str) -> str:
    """The line of an output that says what failed, at most 160 characters."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    lines = [
        line.removeprefix("<tool_use_error>").removesuffix("</tool_use_error>") for line in lines
    ]
    words = ("error", "failed", "exception", "fatal", "not found", "denied", "错误", "失败", *MORE)
    found = ""
    for line in reversed(lines):
        lower = line.lower()
        if any(word.endswith(STRONG) for word in lower.split()):
            return cut(line, FACT_LIMIT)
        found = found or (line if any(word in lower for word in words) else "")
    if found:
        return cut(found, FACT_LIMIT)
    return cut(lines[-1], FACT_LIMIT) if lines else "no output"
