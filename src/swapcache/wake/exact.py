"""What must be exact to be of use, and a text made short around it.

Owns the patterns of names and numbers that code can tell (paths, ids, identifiers, numbers with
their unit, places in files) and the choice of a text's sentences that hold them. Promises words as
they stand in the text, in their order. Never reads what they mean.
"""

from __future__ import annotations

import functools

from swapcache.context.tokens import estimate
from swapcache.state import gate, rules, statements

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re

_IDENTIFIERS = (
    r"\b0x[0-9A-Fa-f]{1,16}\b"
    r"|\[[\w./-]{1,40} (?:\(root-commit\) )?[0-9a-f]{7,40}\]"  # the branch and hash of a commit
    r"|[A-Za-z_$][\w$./-]*\.\w+:\d+(?::\d+)?"  # a place in a file
    r"|(?<![A-Za-z0-9])_*[a-z]+(?:[A-Z][a-z0-9]+)+\b(?:\(\))?"  # camelCase
    r"|\b(?:[A-Z][a-z0-9]+){2,}\b(?:\(\))?"  # PascalCase
    r"|\b_*[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)+\b(?:\(\))?"  # snake_case
    r"|\b[A-Za-z]+[0-9]+\b"  # WP15, v4, utf8
    r"|\b[a-z]\w*(?:\.\w+)*\(\)"  # call()
    r"|\b[a-z0-9]+(?:-[a-z0-9]+)+\b(?![/-])"  # kebab-case
)
_NUMBERS = (
    r"(?<![\w.])[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?%?"
    r"|(?<![\w.-])[0-9]+(?:\.[0-9]+)?[ ]?(?:%|ms|s|m|h|d|min|sec|[KMGT]i?B|px|rows?|lines?|tests?"
    r"|passed|failed|bytes?|万|亿|元|行|条|个|家|页|次|人|分|秒|天|年|月|日|号|時|건|개|명|원)(?![\w-])"
    r"|[0-9]{1,2}月[0-9]{1,2}日"
    r"|(?<![\w.-])[0-9]{3,}(?![\w-])"
    r"|(?<![\w.:])[0-9]{1,2}:[0-9]{2}(?![\w:])"
    r"|(?<![\w.])[0-9]+/[0-9]+(?![\w/])"
    r"|(?i:exit (?:code|status):? ?[0-9]+)"
    r"|(?i:\b(?:page|step|line|chunk|part|pass|passed|fail|failed|round|phase|port|row|task|test"
    r"|version|epoch|batch|issue|pr)[ :#=]{1,2}[0-9]+)\b"
)


_TITLES = r"《[^《》]{2,40}》|「[^「」]{2,40}」|“[^“”]{2,24}”|\"[^\"\n]{3,24}\""
"""What somebody set between marks: a title, a name, a word to be used. Of trusted words only."""


def spoken(text: str) -> list[str]:
    """The exact tokens of trusted words, titles among them."""
    titles = [m[0][1:-1] for m in _compiled(_TITLES).finditer(text)]
    return list(dict.fromkeys([*tokens(text), *titles]))


@functools.cache
def _compiled(pattern: str) -> re.Pattern[str]:
    import re

    return re.compile(pattern, re.ASCII)  # other scripts need no blanks around a name


def tokens(text: str) -> list[str]:
    """The exact tokens of a text, in order, each once."""
    found = [(m.start(), m[0]) for m in _compiled(f"{_IDENTIFIERS}|{_NUMBERS}").finditer(text)]
    known = dict.fromkeys(rules.facts(text))
    for _, token in sorted(found):
        if not any(token in fact for fact in known):
            known[token] = None
    return list(known)


DIAGNOSES = ("error", "warning", "unused", "fail", "deprecated", "missing", "expected")


def names(text: str, most: int) -> list[str]:
    """Exact tokens of untrusted words that may be shown: the first and the last of them."""
    telling = [x for x in text.splitlines() if any(w in x.lower() for w in DIAGNOSES)]
    found = tokens("\n".join([*telling[:8], text]))
    found = [t for t in found if gate.is_name(t.replace(" ", ""))]
    return found if len(found) <= most else [*found[: most // 2], *found[-(most - most // 2) :]]


def condensed(text: str, room: int) -> str:
    """`text` within `room` tokens: whole, or the sentences of it that tell most."""
    flat = " ".join(text.split())
    if estimate(flat) <= room:
        return flat
    parts = statements.sentences(text) or [flat]
    order = sorted(range(len(parts)), key=lambda n: -_worth(parts, n))
    kept: dict[int, str] = {}
    left = room
    for n in order:
        cost = estimate(parts[n]) + 1
        if cost <= left:
            kept[n] = parts[n]
            left -= cost
        elif left >= 12 and not kept:
            kept[n] = clipped(parts[n], left - 1)
            left = 0
        if left < 4:
            break
    return " ".join(kept[n] for n in sorted(kept))


def _worth(parts: list[str], n: int) -> float:
    """What a sentence tells for its length: exact tokens, rules, questions, its place."""
    part = parts[n]
    worth = 1.0 + min(len(tokens(part)), 6) + 2 * bool(statements.kind(part))
    if n == 0:
        worth += 2
    if n >= len(parts) - 2:
        worth += 2 + 2 * part.endswith(("?", "？"))
    return worth / float((8 + estimate(part)) ** 0.6)


def clipped(text: str, room: int) -> str:
    """The head of one line, cut between words where that is possible."""
    if estimate(text) <= room:
        return text
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if estimate(text[:middle]) < room else (low, middle - 1)
    while 0 < low < len(text) and joins(text[low], text[low - 1]):
        low -= 1
    head = text[:low]
    space = head.rfind(" ")
    if space > low * 2 // 3:
        head = head[:space]
    return f"{head.rstrip()}…" if head.strip() else ""


def joins(char: str, before: str) -> bool:
    """True when a character belongs to the one before, as people see it."""
    import unicodedata

    marks = "\u200d\ufe0f\ufe0e"
    skin = "\U0001f3fb" <= char <= "\U0001f3ff"
    flag = "\U0001f1e6" <= char <= "\U0001f1ff"
    return bool(unicodedata.combining(char)) or char in marks or before == "\u200d" or skin or flag


# -- facts -----------------------------------------------------------------------------------------


def unsaid(facts: list[str], told: str) -> list[str]:
    """The names that stand in no other line; of files of one name the newest place only."""
    files = {word.strip(EDGES).rpartition("/")[2] for word in told.split() if "/" in word}
    found = []
    for fact in dict.fromkeys(facts):
        file = fact.rpartition("/")[2] if "/" in fact and "." in fact else ""
        if fact in told or (file and file in files) or _pair(fact):
            continue
        if file and not file.startswith(EVERYWHERE):
            files.add(file)
        found.append(fact)
    return found


def _pair(fact: str) -> bool:
    """True for two words of a sentence with a slash between them: show/hide, n/a."""
    one, slash, other = fact.partition("/")
    return bool(slash) and one.isalpha() and other.isalpha()


EDGES = ".,:;()[]\"'"
EVERYWHERE = ("index.", "__init__.", "main.", "mod.", "README.", "readme.")
"""Names of files that are in many directories."""
