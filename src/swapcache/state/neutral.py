"""What is shown is made harmless: markers, forged headers, what is hidden or steers a terminal.

Owns the tables of markers and of invisible characters. Promises that a marker is found whatever its
case, width, compatibility form or hidden characters, in linear time, that the words stay, and that
what is neutral stays as it is. Never judges what words mean.
"""

import functools
import unicodedata

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Iterator

HARMLESS = str.maketrans("<[]", "‹⁅⁆")
BAR = "¦ "
"""Stands before a line that looks like a header."""

# -- what cannot be seen ---------------------------------------------------------------------------

_EMOJI = (
    "©®‼⁉™ℹ\u2190-\u21ff\u2300-\u23ffⓂ\u25a0-\u27bf\u2900-\u297f\u2b00-\u2bff〰〽㊗㊙"
    "\U0001f000-\U0001faff"
)
_JOINING = "\u0620-\u0dff\u1000-\u109f\u1780-\u17b3"
"""Scripts in which a joiner changes how a word is spelt: Arabic, those of India, Burmese, Khmer."""
_SPELLING = "\u200c\u200d\ufe0e\ufe0f"
_LOOSE = (
    f"(?!(?<=[{_EMOJI}])[\ufe0e\ufe0f]|(?<=[0-9#*])\ufe0f(?=\u20e3)"
    f"|(?:(?<=[{_EMOJI}])|(?<=[{_EMOJI}]\ufe0f))\u200d(?=[{_EMOJI}])"
    f"|(?<=[{_JOINING}])[\u200c\u200d](?=[{_JOINING}]))[{_SPELLING}]"
)
"""A joiner or selector that makes no emoji and no letter what it is."""
_CONTROLS = {
    "colour, cursor": r"\x1b\[[0-?]*+[ -/]*+[@-~]",
    "title, link, device": r"\x1b[\]PX^_][^\x00-\x1f\x7f-\x9f]{0,512}+(?:\x07|\x1b\\|\x9c)",
    "other escape": r"\x1b[^\w\s]?",  # no letter: it may begin a word, maybe a secret's name
    "line": r"(?P<line>[\x0b\x0c\x85])",
    "control": r"[\x00-\x08\x0e-\x1f\x7f-\x9f]",
}
_IGNORABLE = {
    "line of Unicode": r"(?P<break>[\u2028\u2029])",
    "blank": r"(?P<blank>\u2800)",
    "half character": r"[\ud800-\udfff]",
    "ignorable": r"[\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f"
    r"\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb"
    r"\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]",
}
_INSTEAD = {"line": "\n", "break": "\n", "blank": " "}
_UNMARKED = "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0"
"""Those of them that no category tells."""

# -- what a tokeniser, a host or a reader takes for structure --------------------------------------

_ROLES = frozenset(
    "system assistant human developer tool tools function functions environment".split()
)
"""Tags that are or begin with one of these words: system-reminder, tool_result."""
_TAGS = frozenset(
    "task hook user think thinking final instructions local-command-stdout local-command-stderr"
    " local-command-caveat command-name command-message command-args command-contents bash-input"
    " bash-stdout bash-stderr user-prompt-submit-hook session-start-hook user-memory-input"
    " task-notification persisted-output new-diagnostics ide_opened_file ide_selection"
    " ide_diagnostics mcp-resource subagent_notification turn_aborted user_instructions user_action"
    " user_shell_command user_query user_message user_info collaboration_mode multi_agent_mode"
    " app-context apps_instructions skills_instructions plugins_instructions recommended_plugins"
    " codex_internal_context session_context hook_context project_context global_context"
    " extension_context loaded_context untrusted_context state_snapshot activated_skill"
    " available_skills available_subagents longcat_tool_call".split()
)
_TOKENS = frozenset("s bos eos pad unk sop eop".split())
_NUMBERED = ("extra_id_", "special_", "start_of_", "end_of_", "start_function_", "end_function_")
"""Tokens in angle brackets: alone between them, whole or by their beginning."""
_ANGLE = {
    "own and hosts' frames": r"(?<=<<<)\s{0,3}+/?+[\s_]{0,3}+(?:(?:begin|start|end)[\s_-]{0,3}+)?+"
    r"(?:swapcache|openclaw|external[\s_-]{0,3}+untrusted|untrusted|[a-z](?:(?!‹)[^<>,\n])*+>>>)",
    "llama 2": r"(?<=<<)\s{0,2}+/?+\s{0,2}+sys\s{0,2}+>>",
    "chatml, llama 3, harmony, deepseek, command-r, gemma 4": r"\|(?:(?!‹)[^\s<>|]){1,64}+\|?+>"
    r"|(?:(?!‹)[^\s<>|]){1,64}+\|>",
    "tags": r"\s{0,3}+/?+\s{0,3}+(?P<space>[a-z0-9_-]{1,24}+:)?+(?P<tag>[a-z0-9_-]++)"
    r"(?P<rest>\s*+/?+>|=[\w.-]|\s++[\w:.-]++\s*+[=>]|\Z)?+",
}
_SQUARE = {
    "llama 2, mistral": r"\s{0,2}+/?+\s{0,2}+(?:inst|system_prompt)\s{0,2}+\]",
    "mistral": r"/?+(?P<upper>available_tools|tool_calls|tool_results|tool_content|call_id|think"
    r"|model_settings|begin_audio|args(?=\]\{))\]",
    "exaone": r"\|/?+(?:system|user|assistant|tool|endofturn)\|\]",
    "minimax": r"e~\[",
    "hosts": r"\s{0,2}+(?:openclaw\b|system message\]|request interrupted by|tool call interrupted"
    r"|inter-session message)",
}
_HEADER = {
    "own seal": r"(?i:seal[ \t]++verified|封印[ \t]*+verified)",
    "own next": r"(?i:next[ \t]++actions?+|下一步)[ \t*_]*+:",
    "roles": r"(?:Human|HUMAN|Assistant|ASSISTANT|System|SYSTEM|系[统統]|システム)[ \t*_]*+:"
    r"|\[(?:System|Assistant|Internal)\]",
    "codex": r"(?<=#[ ])AGENTS\.md instructions\b",
    "gemini": r"(?<=---[ ])(?:End of )?+Context from:",
    "alpaca": r"(?<=##[ ])(?:Instruction|Response|Input)[ ]?+:",
}
_HINTS = (
    "seal 封印 next 下一步 human assistant system internal] 系 システム agents.md from: instruction"
    " response input"
).split()
"""Without one of these there is no header."""


def neutralise(text: str) -> tuple[str, int]:
    """(text that is safe to show, number of changes). Line ends and tabs stay."""
    text, removed = _without_hidden(text.replace("\r\n", "\n").replace("\r", "\n"))
    folded, places = _folded(text)
    parts, at, marked = [], 0, 0
    for begin, end, instead in sorted([*_markers(folded), *_headers(folded)]):
        parts += [text[at : places[begin]], instead]
        at = places[end - 1] + 1 if end > begin else places[begin]
        marked += 1
    return "".join([*parts, text[at:]]), removed + marked


def _without_hidden(text: str) -> tuple[str, int]:
    hidden = {char for char in set(text) if _hidden(char)}
    removed = loose = 0
    if hidden:
        name = "control" if max(hidden) < "\xa0" else "ignorable"
        text, removed = _pattern(name).subn(_seen, text)
    if not hidden.isdisjoint(_SPELLING):
        text, loose = _pattern("loose").subn("", text)
    return text, removed + loose


def _markers(folded: str) -> "Iterator[tuple[int, int, str]]":
    """(begin, end, what stands there instead) of every bracket that opens a marker."""
    lower = folded.lower()
    for name, signs in (("angle", "<"), ("square", "[]")):
        if any(sign in lower for sign in signs):
            for match in _pattern(name).finditer(lower):
                if match.lastgroup is None or _marks(match, folded):
                    yield *match.span(), match.group().translate(HARMLESS)


def _headers(folded: str) -> "Iterator[tuple[int, int, str]]":
    lower = folded.lower()
    if any(hint in lower for hint in _HINTS):
        for match in _pattern("header").finditer(folded):
            yield match.end(), match.end(), BAR


@functools.cache
def _pattern(name: str) -> "re.Pattern[str]":
    """Compiled at first use: a hook pays only for what its text needs."""
    import re

    if name == "header":
        return re.compile(rf"^[ \t>*#_~`-]*+(?={'|'.join(_HEADER.values())})", re.MULTILINE)
    if name == "angle":
        return re.compile(rf"(?<!<)<++(?={'|'.join(_ANGLE.values())})")
    if name == "square":
        return re.compile(rf"\[(?={'|'.join(_SQUARE.values())})|\](?=~!?+b[\[\]])")
    if name == "loose":
        return re.compile(_LOOSE)
    rules = _CONTROLS if name == "control" else _CONTROLS | _IGNORABLE
    return re.compile("|".join(rules.values()))


def _hidden(char: str) -> bool:
    """True for what may be invisible or steer a terminal."""
    if char < "\x7f":
        return char < " " and char not in "\n\t"
    kind = unicodedata.category(char)
    return (
        kind in ("Cc", "Cf", "Cn", "Cs", "Zl", "Zp")
        or "\ufe00" <= char <= "\ufe0f"
        or char >= "\U000e0000"
        or char in _UNMARKED
    )


def _seen(match: "re.Match[str]") -> str:
    return _INSTEAD.get(match.lastgroup or "", "")


def _marks(match: "re.Match[str]", text: str) -> bool:
    """Whether a name in brackets is a marker."""
    if match.lastgroup == "upper":  # an index but for its capitals
        return text[match.start("upper") : match.end("upper")].isupper()
    at, tag, rest = match.start(), match["tag"], match["rest"]
    if rest is None:
        return match["space"] == "antml:" or tag == "function_calls"
    named = at > 0 and (text[at - 1].isalnum() or text[at - 1] == "_")
    if named and text[at + 1].isupper() and text[at + 2 : at + 3].islower():
        return False  # the parameter of a type: List<User>
    if match["space"] == "antml:" or tag == "function_calls":
        return True
    alone, given = rest.strip() in (">", "/>"), rest.rstrip().endswith("=")
    if tag in _TAGS or tag.replace("-", "_").partition("_")[0] in _ROLES:
        value = rest[:1] == "=" and tag in ("function", "tool")  # <function=name>
        return alone or given or value or not rest
    if tag in ("invoke", "parameter"):
        return rest[:1] == "=" or rest.split() in (["name="], ["name", "="])
    if tag == "permissions":
        return rest.split() == ["instructions>"]
    return alone and (tag in _TOKENS or tag.startswith(_NUMBERED))


class _Folds(dict[str, str]):
    """What a character is to a reader that folds width and form, and skips what is hidden."""

    def __missing__(self, char: str) -> str:
        plain = unicodedata.normalize("NFKC", char)
        self[char] = folded = plain if plain.isascii() else plain.casefold()
        return folded


_FOLDS = _Folds(dict.fromkeys(_SPELLING, ""))


def _folded(text: str) -> "tuple[str, range | list[int]]":
    """(`text` as such a reader sees it, where each of its characters stands in `text`)."""
    if text.isascii():
        return text, range(len(text) + 1)
    pieces = [_FOLDS[char] for char in text]
    places = [at for at, piece in enumerate(pieces) for _ in piece]
    return "".join(pieces), [*places, len(text)]
