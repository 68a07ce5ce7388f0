"""What later words took back: sentences of older messages that hold no longer.

Owns the rules: an answer's question or plan ends with the owner's next words; what the owner
corrects, or gives another value for, is left out of what was said before it; of lettered options
the chosen one stays; a file that was made again under a further name points to its successor.
Promises to drop whole sentences only, and nothing of what was said after. Never reads a store.
"""

from __future__ import annotations

from swapcache.state import statements
from swapcache.wake import exact

TYPE_CHECKING = False
if TYPE_CHECKING:
    from swapcache.wake.talk import Line

CORRECTS = (
    *("no", "not", "nope", "wrong", "actually", "instead", "rather", "don't", "never", "should"),
    *("stop", "wait", "revert", "undo", "only", "change", "rename", "drop"),
)
CORRECTS_EAST = (
    *("不对", "错", "不是", "改", "别", "不要", "不用", "不许", "不能", "不按", "不", "换", "重新"),
    *("ではなく", "違", "しないで", "変更", "아니", "말고", "바꿔", "틀렸"),
)
PLANS = (
    *("next", "now ", "let me", "i'll", "i will", "shall", "should i", "i suggest"),
    *("i recommend", "i propose", "ready to"),
)
PLANS_EAST = ("下一步", "接下来", "建议", "我先", "打算", "要不要", "可以吗", "次に", "다음")
OPTIONS = ("方案", "选项", "option ", "plan ", "choice ", "案", "옵션 ")
WORD, SHARED = 4, 2
"""Letters of a word that counts; so many words or pairs of characters make one matter."""
_COMMON = frozenset(
    "this that with from have will would should could there their what when which your about into"
    " then them they been just like need want make also some only".split()
)


def settled(lines: list[Line], replaced: list[tuple[int, str]], mark: str) -> list[Line]:
    """The lines (the newest first) without what later words took back.

    `replaced` holds (record, value) of values that were given up there; `mark` says so behind them
    in calls that were made before.
    """
    newer: list[tuple[str, dict[str, str]]] = []
    kept: list[Line] = []
    said = ""  # the owner's words that came next
    for line in lines:
        text = line.text
        if line.who in ("user", "agent", "final"):
            sentences = statements.sentences(text)
            good = [s for s in sentences if _holds(s, line.who, said, newer)]
            if len(good) < len(sentences):
                text = "\n".join(good)
        elif line.who in ("call", "change"):
            for record, value in replaced:
                if line.record < record:
                    text = _marked(text, value, mark)
        if line.who == "user":
            said = line.text
            for sentence in statements.sentences(line.text):
                values = statements.values(sentence) if statements.changes(sentence) else {}
                if values:
                    newer.append((sentence, values))
        if text:
            kept.append(line._replace(text=text))
    return kept


def _marked(text: str, value: str, mark: str) -> str:
    """`text` with a mark behind a value that does not hold any more."""
    head, found, tail = text.partition(value)
    inside = head[-1:].isalnum() or tail[:1].isalnum()
    return text if not found or inside else f"{head}{value} ({mark}){tail}"


def _holds(sentence: str, who: str, said: str, newer: list[tuple[str, dict[str, str]]]) -> bool:
    """Whether what a sentence says was not taken back by newer words of the owner."""
    if said and who != "user":
        corrected = _corrects(said) and _shares(sentence, said)
        if _passed(sentence) or corrected or _other_option(sentence, said):
            return False
    given = statements.values(sentence)
    if not given:
        return True
    return not any(statements.differs(later, values, given) for later, values in newer)


def _passed(sentence: str) -> bool:
    """True for a question or a plan: the owner's next words have answered it."""
    return sentence.endswith(("?", "？")) or plans(sentence)


def plans(sentence: str) -> bool:
    """True for what somebody is about to do."""
    return sentence.lower().startswith(PLANS) or any(words in sentence for words in PLANS_EAST)


def _corrects(text: str) -> bool:
    """True for words that take something back."""
    words = text[:200].lower().replace(",", " ").replace(".", " ").split()
    return any(w in CORRECTS for w in words) or any(w in text for w in CORRECTS_EAST)


def _shares(sentence: str, text: str) -> bool:
    """True when two texts speak of the same matter."""
    exacts = set(exact.tokens(sentence)) & set(exact.tokens(text))
    return bool(exacts) or len(_matter(sentence) & _matter(text)) >= SHARED


def _matter(text: str) -> set[str]:
    words = "".join(c if c.isalnum() else " " for c in text.lower()).split()
    latin = {w for w in words if w.isascii() and len(w) >= WORD and w not in _COMMON}
    wide = {text[n : n + 2] for n in range(len(text) - 1) if text[n] > "\u2fff" < text[n + 1]}
    return latin | {pair for pair in wide if pair.isalnum()}


def _other_option(sentence: str, said: str) -> bool:
    """True for an option that the owner did not choose: B is chosen, this is A."""
    lower, chosen = sentence.lower(), said.lower()
    for name in OPTIONS:
        mine, theirs = _letters(lower, name), _letters(chosen, name)
        if mine and theirs and not mine & theirs:
            return True
    return False


def _letters(text: str, name: str) -> set[str]:
    found = set()
    for part in text.split(name)[1:]:
        letter = part.lstrip()[:1]
        after = part.lstrip()[1:2]
        if letter.isascii() and letter.isalnum() and not (after.isascii() and after.isalnum()):
            found.add(letter)
    return found


def successors(lines: list[Line]) -> dict[str, str]:
    """{older: newest} of files that were made again under a further name: a.png, a-v2.png."""
    files = dict.fromkeys(
        word.strip(EDGES)
        for line in lines
        if line.who in ("change", "call", "output")
        for word in line.text.split()
        if "." in word
    )
    by_stem: dict[str, list[str]] = {}
    for path in files:
        stem, dot, end = path.rpartition(".")
        if dot and end.isalnum():
            by_stem.setdefault(f"{_stem(stem)}.{end}", []).append(path)
    found: dict[str, str] = {}
    for names in by_stem.values():
        newest = max(names, key=lambda path: _version(path.rpartition(".")[0]))
        if _version(newest.rpartition(".")[0]):
            found |= {path: newest for path in names if path != newest}
    return found


EDGES = ".,:;()[]{}\"'`"


def renewed(text: str, newer: dict[str, str]) -> str:
    """`text` with each file that has a successor pointing to it."""
    for old, new in newer.items():
        if old in text and new not in text:
            name = new.rpartition("/")[2]
            at = text.find(old) + len(old)
            if not text[at : at + 1].isalnum():
                text = f"{text[:at]} (→ {name}){text[at:]}"
    return text


def _stem(stem: str) -> str:
    return _versioned(stem)[0]


def _version(stem: str) -> int:
    return _versioned(stem)[1]


def _versioned(stem: str) -> tuple[str, int]:
    """(name without its version, version): a-v2, a_v2, 02-1977b, a-final."""
    for sign in ("-", "_", "."):
        head, joint, end = stem.rpartition(sign)
        if joint and end in AGAIN:
            return head, 99
        if joint and end[:1] == "v" and end[1:].isdigit():
            return head, int(end[1:])
    if len(stem) > 2 and stem[-1].islower() and stem[-2].isdigit() and stem[-1] in "bcdef":
        return stem[:-1], ord(stem[-1]) - ord("a") + 1
    return stem, 0


AGAIN = ("final", "new", "fixed", "updated", "revised")
