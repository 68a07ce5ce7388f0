"""What a person laid down: constraints, decisions, corrections; and what an answer leaves open.

Owns the words that tell such sentences, in English, Chinese, Japanese and Korean, and when one
replaces another. Promises sentences as they stand in the text, linear work, and string methods
only: a hook reads every request with it. Never judges whether a sentence is wise.
"""

from __future__ import annotations

from swapcache.model import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

LIMIT = 240
"""Characters of a sentence; a longer one is no statement but a text."""
MOST = 12
"""Statements of one message."""
TAIL = 600
"""Characters at the end of an answer in which a question is looked for."""
SUBJECT = 2
"""Characters at least by which two sentences speak of the same."""

CONSTRAINT = (
    *"never must mustn't only don't dont cannot can't shouldn't avoid always without".split(),
    *"deadline due until unless required forbidden keep before ensure important limit".split(),
    *("do not", "not allowed", "should not", "no longer", "at most", "at least", "needs to"),
    *("make sure", "ask me", "ask first", "no more than", "has to", "have to"),
)
DECISION = (
    *"use using instead rather let's lets rename switch replace choose prefer decided".split(),
    *"agreed option want change should we'll approved reject move drop".split(),
    *("go with", "call it", "name it", "i'd like", "stick with"),
)
CONSTRAINT_EAST = (
    *"必须 必須 不要 不许 不能 不得 不准 不可 禁止 务必 别 別".split(),
    *"只能 只许 只用 只做 只改 只重 一律 截止 之前 以前 不超过 至少 最多 先问".split(),
    *"冻结 不计 不算 不再 保留 不迁 不动 到点 为准 要求 注意".split(),
    *"必ず しないで だけ 以内 までに ないこと 반드시 금지 하지마 까지 이내 말고 마세요".split(),
    *("하지 마", "만 "),
)
DECISION_EAST = (
    *"改成 改为 改用 换成 采用 就用 选 方案 决定 确定 同意 定为 定在 按".split(),
    *"统一 降到 调到 先用 改到 用".split(),
    *"変更 にする にして を使 採用 ではなく 으로 사용 변경 대신 바꿔".split(),
)
ASKS = (
    *("shall i", "should i", "would you like", "do you want", "let me know", "please confirm"),
    *("waiting for your", "which one", "is that ok", "ready to proceed", "tell me"),
)
ASKS_EAST = (
    *("吗", "请确认", "是否", "等你", "等您", "等回复", "请选择", "请告诉", "ですか", "ますか"),
    *("でしょうか", "까요", "습니까", "주세요"),
)
_ENDS, _ENDS_SPACED = "。！？；", ".!?;"
_BULLETS = "-*•·>#"
_PLAIN = str.maketrans(dict.fromkeys('.,;:!?()[]{}"`*_/<>', " ") | {"’": "'"})


def sentences(text: str) -> list[str]:
    """The sentences of a text, one line each; what stands in code fences is left out."""
    return [part for part in _each(text) if any(c.isalnum() for c in part)]


def _each(text: str) -> Iterator[str]:
    """The sentences, and what stands alone between them."""
    fenced = False
    for line in text.splitlines():
        line = line.strip()
        if line.startswith(("```", "~~~")):
            fenced = not fenced
        elif line and not fenced:
            yield from _split(_bare(line))


def _bare(line: str) -> str:
    """A line without its bullet, number or heading mark."""
    line = line.lstrip(_BULLETS).lstrip()
    number, _, rest = line.partition(" ")
    if rest and len(number) <= 3 and number[:-1].isdigit() and number[-1] in ".)、":
        line = rest.lstrip()
    return line


def _split(line: str) -> list[str]:
    for char in _ENDS:
        line = line.replace(char, f"{char}\n")
    for char in _ENDS_SPACED:
        line = line.replace(f"{char} ", f"{char}\n")
    return [part.strip() for part in line.split("\n")]


def _alone(
    words: tuple[str, ...],
) -> tuple[frozenset[str], frozenset[str], tuple[str, ...]]:
    """(the first word of each, those that are one word, the others)."""
    single = frozenset(word for word in words if " " not in word)
    first = frozenset(word.partition(" ")[0] for word in words)
    return first, single, tuple(word for word in words if " " in word)


_KINDS = (
    ("constraint", *_alone(CONSTRAINT), CONSTRAINT_EAST),
    ("decision", *_alone(DECISION), DECISION_EAST),
)


_FIRST = _KINDS[0][1] | _KINDS[1][1]


def kind(sentence: str) -> str:
    """`constraint`, `decision` or nothing: what a sentence of the owner's is."""
    if len(sentence) > LIMIT or sentence.endswith(("?", "？")):
        return ""
    words, east = sentence.lower().translate(_PLAIN).split(), not sentence.isascii()
    if not east and _FIRST.isdisjoint(words):
        return ""
    spaced = f" {' '.join(words)} "
    spaced = spaced.replace(" the only ", " the ")  # says how many there are, and rules nothing
    words = spaced.split()
    for name, first, single, several, eastern in _KINDS:
        if not first.isdisjoint(words) and (
            not single.isdisjoint(words) or any(f" {some} " in spaced for some in several)
        ):
            return name
        if east and any(word in sentence for word in eastern):
            return name
    return ""


def laid_down(text: str) -> list[tuple[str, str]]:
    """(kind, sentence) of what a request lays down, in order."""
    found: list[tuple[str, str]] = []
    for sentence in _each(text):
        if name := kind(sentence):
            found.append((name, sentence))
            if len(found) == MOST:
                break
    return found


def question(text: str) -> str:
    """What an answer asks at its end, or nothing."""
    last = sentences(text[-TAIL:])[-3:]
    for sentence in reversed(last):
        lower = sentence.lower()
        asks = any(words in lower for words in ASKS) or any(w in sentence for w in ASKS_EAST)
        if sentence.endswith(("?", "？")) or asks:
            return sentence[:LIMIT]
    return ""


# -- one that replaces another ---------------------------------------------------------------------


def values(sentence: str) -> dict[str, str]:
    """What is said of what, as far as a value with a digit follows a name: {`批大小`: `5000`}."""
    found: dict[str, str] = {}
    name = run = ""
    for char in f"{sentence}\n":
        if char.isascii() and (char.isalnum() or char in _IN_VALUES):
            run += char
            continue
        if any(c.isdigit() for c in run):
            subject = _subject(name)
            if subject:
                found.setdefault(subject, run.strip(".,:/-"))
            name = ""
        else:
            name += run
        name = "" if char in _BREAKS else name + char
        run = ""
    return found


_IN_VALUES, _BREAKS = "#._/:%-", "，。；、,;!?！？（）()\n"


def _subject(name: str) -> str:
    words = name.lower().split()
    if name.isascii():
        words = [w for w in words if w not in ("to", "is", "the", "a", "of", "at", "on", "be", "=")]
        return " ".join(words[-2:])
    return "".join(words)


class Correction(NamedTuple):
    """What a sentence may take back of what was said before it."""

    sentence: str
    values: dict[str, str]
    """What it says of what, if it has a word of change."""
    withdrawn: list[str]

    def replaced(self, old: str) -> str:
        """The value in `old` that it gives another one for, or nothing."""
        if self.values and (value := differs(self.sentence, self.values, values(old))):
            return value
        return next((value for value in self.withdrawn if value in old), "")


def correction(sentence: str) -> Correction | None:
    """What a sentence corrects; None for one that cannot."""
    found = values(sentence) if changes(sentence) else {}
    gone = withdrawn(sentence)
    return Correction(sentence, found, gone) if found or gone else None


def differs(sentence: str, new: dict[str, str], old: dict[str, str]) -> str:
    """The value of `old` for which a sentence with the values `new` says another one, or nothing.

    Without a word that changes something it is one more of a kind: shed 1, shed 2.
    """
    for subject, value in old.items():
        for other, now in new.items():
            alike = now != value and _shape(now) == _shape(value)
            if alike and (_begins_alike(subject, other) or _speaks_of(subject, other)):
                return value if changes(sentence) else ""
    return ""


CHANGES = (
    *"change changed now instead rather actually lower raise reduce increase set switch".split(),
    *"bump correction wrong".split(),
)
CHANGES_EAST = (*"改 换 降 调 升 不是 不对 应为 更正 変更 変え 바꾸 바꿔 변경".split(),)


def changes(sentence: str) -> bool:
    """True for a sentence with a word of change."""
    words = sentence.lower().translate(_PLAIN).split()
    return any(w in CHANGES for w in words) or any(w in sentence for w in CHANGES_EAST)


def _shape(value: str) -> str:
    """What kind of value it is: a colour, a time, a share, a number, or a name with digits."""
    for sign in "#:%/":
        if sign in value:
            return sign
    return "9" if value.replace(",", "").replace(".", "").isdigit() else "a"


def _begins_alike(one: str, other: str) -> bool:
    if one.isascii() or other.isascii():
        return one.split()[-1:] == other.split()[-1:]
    shared = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        shared += 1
    return shared >= SUBJECT


def _speaks_of(one: str, other: str) -> bool:
    """True for two names in Chinese or alike that share a word: `主色朱砂红`, `插图主色改用`."""
    if one.isascii() or other.isascii():
        return False
    pairs = {one[n : n + 2] for n in range(len(one) - 1) if one[n] > "\u2fff" < one[n + 1]}
    return any(other[n : n + 2] in pairs for n in range(len(other) - 1))


def withdrawn(sentence: str) -> list[str]:
    """The values that a correction takes back: A in `not A but B`, `B instead of A`, `A 改成 B`."""
    found = []
    lower = sentence.lower()
    for before, after in (("not ", " but "), ("instead of ", ""), ("rather than ", "")):
        at = lower.find(before)
        if at >= 0:
            rest = sentence[at + len(before) :]
            end = rest.lower().find(after) if after else len(rest)
            if end >= 0:
                found.append(rest[:end])
    for verb in (" to ", "改成", "改为", "换成", "->", "→", "に変更"):
        head, joint, _ = sentence.partition(verb)
        words = head.split()
        if joint and words and (verb != " to " or words[0].lower() in ("rename", "change")):
            found.append(words[-1].lstrip("把将从"))
    for before, after in (("不是", "是"), ("不要", "要"), ("不用", "用")):
        _, joint, rest = sentence.partition(before)
        value, second, _ = rest.partition(after)
        if joint and second:
            found.append(value)
    plain = (value.strip(" ,，。.;；:：'\"`“”「」") for value in found)
    return [value for value in plain if 2 <= len(value) <= 60]
