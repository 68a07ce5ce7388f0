"""The gate: what of untrusted words may be shown outside of a fence.

Owns the choice. Promises that only names that code has matched, single lines of local tools' output
and commit subjects pass, quoted, and that all else is a stub which says where the words are. Never
judges words by what they mean: an honest label is all there is.
"""

from __future__ import annotations

from swapcache.model import UNTRUSTED, Item, WorkingState
from swapcache.state import rules
from swapcache.store import seal

OUTPUT = ("error", "commit")
"""Kinds of items that hold one line of a tool's output."""
NAME_LIMIT = 120
WORDS = 5
"""More words than that in one part of a name are a sentence without blanks."""
COMMAND_WORDS, DOES = 6, 12
"""The same for what is shown of a command line; characters of what a program is told to do."""
_WORD = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:/-"
_KEY = _WORD + "@+,=%"
"""What a session's key may hold to be named in a command line."""
VERBS = frozenset(rules.EDIT_TOOLS.values())


# -- names -----------------------------------------------------------------------------------------


def names(text: str) -> list[str]:
    """The facts of untrusted words that may be shown: names, and no sentence in disguise."""
    return [fact for fact in rules.facts(text) if is_name(fact)]


def is_name(token: str) -> bool:
    """True for one printable ASCII word in which no part reads like a sentence.

    ASCII only, since other scripts need no blanks.
    """
    if not token or len(token) > NAME_LIMIT or " " in token:
        return False
    if not (token.isascii() and token.isprintable()):
        return False
    parts = token.replace("\\", "/").replace(":", "/").split("/")
    return all(rules.words(part) <= WORDS for part in parts) and rules.words(token) <= 3 * WORDS


def line(tool: str, text: str) -> str:
    """What of a call's untrusted line may be shown: its names, and of a command the program, what
    it is told to do (`git push`), options and assignments. Any other word is left out."""
    shell = tool.lower() in rules.SHELL_TOOLS
    known, kept, words, place = frozenset(names(text)), list[str](), 0, 0
    for word in text.split():
        bare = word.strip("'\"`()[]{},;").rstrip(".")
        does = place == 1 and bare.isalpha() and bare.islower() and len(bare) <= DOES
        option = shell and (place == 0 or does or bare[:1] == "-" or "=" in bare.strip("="))
        words += rules.words(bare) if option else 0
        if not any(char.isalnum() for char in word):
            kept.append(word)
        elif bare in known or (option and words <= COMMAND_WORDS and is_name(bare)):
            kept.append(bare)
        elif kept[-1:] != ["…"]:
            kept.append("…")
        place = 0 if word[-1] in "&|;(" else place + 1
    return " ".join(kept) if set(kept) - {"…"} else ""


def handle(key: str) -> str:
    """What a session is called in a text: its key, or a hash of one that is no plain name."""
    plain = bool(key) and not key.strip(_KEY) and key[0] != "-" and is_name(key)
    return key if plain else digest(key)


def digest(text: str) -> str:
    """The first 12 hex of a text's sha256."""
    return seal.sha256(text.encode("utf-8", "replace"))[:12]


# -- items -----------------------------------------------------------------------------------------


def quoted(text: str) -> str:
    """One line of foreign words in quotes that it cannot close."""
    return '"' + " ".join(text.split()).replace('"', "\u201d") + '"'


def shown(item: Item) -> str:
    """What of an item may be shown: its text, what passes of untrusted words, or nothing."""
    if item.kind in OUTPUT:
        return quoted(item.text)
    strange = item.origin == UNTRUSTED
    if item.kind == "failure" and not strange:
        return quoted(item.text)  # the host's or a provider's words
    verb, _, path = item.text.partition(" ")
    if item.kind == "change" and verb in VERBS and (strange or " " in path):
        return f"{verb} {quoted(path)}" if not strange or is_name(path) else ""
    if not strange:
        return item.text
    if item.kind == "name":
        return quoted(item.text)
    if item.kind == "unknown":
        name, _, said = item.text.partition(": ")
        words = line(name, said)
        return f"{name}: {quoted(words)}" if words else name
    return ""


def whole(item: Item) -> bool:
    """True when nothing of an item is withheld."""
    if item.origin != UNTRUSTED or item.kind in (*OUTPUT, "name"):
        return True
    return item.kind == "change" and bool(shown(item))


def passed(state: WorkingState) -> list[Item]:
    """The items with what may be shown of them as their text; those that are withheld are left
    out, and foreign words say what they are."""
    found = []
    for item in state.items:
        text = shown(item) if item.origin == UNTRUSTED or item.kind == "change" else item.text
        if item.origin == UNTRUSTED and item.kind in OUTPUT:
            text = f"{item.kind} (tool output) {text}"
        elif text and not whole(item):
            text += f" (its words are withheld: record #{item.record})"
        if text and item.kind != "name":
            found.append(item._replace(text=text))
    return found


def withheld(state: WorkingState) -> list[Item]:
    """The items whose words are withheld, at least in part; the newest last."""
    return sorted((i for i in state.items if not whole(i)), key=lambda i: i.record)


def stub(item: Item) -> str:
    """What stands in the place of words that are withheld: `swapcache show N` shows them fenced."""
    kind = "call" if item.kind == "unknown" else item.kind
    return f"#{item.record} {kind} {len(item.text)} chars sha {digest(item.text)}"
