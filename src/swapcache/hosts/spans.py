"""JSON and JSON5 texts, read with the place of every value and edited in place.

Owns the parser (json5.org, which every JSON text satisfies) and the edits: a member or an item
comes in behind the last one, and goes with its comma. Promises that everything else keeps its exact
bytes: comments, indentation, order, line ends. Never reformats, never guesses: what cannot be
parsed raises.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    Path = tuple[str, ...]
    Paths = Collection[Path]

_SKIP = re.compile(r"(?:\s|\ufeff|//[^\n\r]*|/\*.*?\*/)*", re.DOTALL)
_BARE = re.compile(r"[\w$\u200c\u200d]+")
_WORD = re.compile(r"[-+]?[\w.$]+(?:(?<=[eE])[-+]\d+)?")
_STRING = re.compile(r"\"(?:[^\"\\\n\r]|\\(?:\r\n|.))*\"|'(?:[^'\\\n\r]|\\(?:\r\n|.))*'", re.DOTALL)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|\r\n|.)", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0"}
_WORDS = {"true": True, "false": False, "null": None}


@dataclass(frozen=True, slots=True)
class Node:
    """A value and where it stands: text[start:end]."""

    start: int
    end: int
    value: Any
    parts: tuple[Part, ...] = ()
    """Of an object its members, of an array its items, in order."""

    def get(self, key: str) -> Node | None:
        """The value of a member; of a key that stands twice the last, as readers take it."""
        return next((p.node for p in reversed(self.parts) if p.key == key), None)


@dataclass(frozen=True, slots=True)
class Part:
    """A member or an item; `start` is the place of its key."""

    key: str
    start: int
    node: Node


class SpanError(ValueError):
    """A text that is no JSON5; says what and on which line."""


def parse(text: str) -> Node:
    """The value of a text. Raises SpanError."""
    try:
        node, at = _value(text, _skip(text, 0))
    except RecursionError:
        raise SpanError("line 1: it is nested too deeply") from None
    at = _skip(text, at)
    if at != len(text):
        raise _wrong(text, at, "something after the end of the value")
    return node


def _wrong(text: str, at: int, what: str) -> SpanError:
    line = text.count("\n", 0, at) + 1
    return SpanError(f"line {line}: {what}")


def _skip(text: str, at: int) -> int:
    found = _SKIP.match(text, at)
    return found.end() if found else at


def _value(text: str, at: int) -> tuple[Node, int]:
    opening = text[at : at + 1]
    if opening in ("{", "["):
        return _container(text, at, "}" if opening == "{" else "]")
    if opening in ('"', "'"):
        value, end = _string(text, at)
        return Node(at, end, value), end
    found = _WORD.match(text, at)
    if found is None:
        raise _wrong(text, at, "a value is missing" if opening else "the text ends too early")
    return Node(at, found.end(), _word(text, at, found[0])), found.end()


def _container(text: str, at: int, closing: str) -> tuple[Node, int]:
    start, parts = at, []
    at = _skip(text, at + 1)
    while text[at : at + 1] != closing:
        key, begin = "", at
        if closing == "}":
            key, at = _key(text, at)
            at = _skip(text, at)
            if text[at : at + 1] != ":":
                raise _wrong(text, at, f"a colon is missing behind {key!r}")
            at = _skip(text, at + 1)
        node, at = _value(text, at)
        parts.append(Part(key, begin, node))
        at = _skip(text, at)
        if text[at : at + 1] == ",":
            at = _skip(text, at + 1)
        elif text[at : at + 1] != closing:
            raise _wrong(text, at, f"a comma or {closing} is missing")
    if closing == "}":
        value: Any = {part.key: part.node.value for part in parts}
    else:
        value = [part.node.value for part in parts]
    return Node(start, at + 1, value, tuple(parts)), at + 1


def _key(text: str, at: int) -> tuple[str, int]:
    if text[at : at + 1] in ('"', "'"):
        return _string(text, at)
    found = _BARE.match(text, at)
    if found is None:
        raise _wrong(text, at, "a key is missing")
    return found[0], found.end()


def _string(text: str, at: int) -> tuple[str, int]:
    found = _STRING.match(text, at)
    if found is None:
        raise _wrong(text, at, "a string without an end")

    def plain(escape: re.Match[str]) -> str:
        what = escape[1]
        if what[0] in "ux" and len(what) > 1:
            return chr(int(what[1:], 16))
        return "" if what in ("\n", "\r\n", "\r") else _ESCAPES.get(what, what)

    value = _ESCAPE.sub(plain, found[0][1:-1])
    if "\\u" in found[0]:  # two halves make one character
        value = value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return value, found.end()


def _word(text: str, at: int, word: str) -> Any:
    if word in _WORDS:
        return _WORDS[word]
    bare = word.lstrip("+-")
    sign = -1 if word.startswith("-") else 1
    try:
        if bare[:2] in ("0x", "0X"):
            return sign * int(bare, 16)
        if bare in ("Infinity", "NaN"):
            return sign * float(bare)
        return sign * (float(bare) if re.search(r"[.eE]", bare) else int(bare))
    except ValueError:
        raise _wrong(text, at, f"{word!r} is no value") from None


# -- edits -----------------------------------------------------------------------------------------


def put(text: str, path: Path, value: Any) -> str:
    """`text` with the member at `path` set; missing objects on the way come in as one member.

    An empty text becomes an object. Raises SpanError when something on the way is no object.
    """
    text = text if text.strip() else "{}\n"
    owner = parse(text)
    for depth, key in enumerate(path):
        if not isinstance(owner.value, dict):
            raise SpanError(f"{'.'.join(path[:depth]) or 'the file'} is no object")
        found = owner.get(key)
        if found is None:
            for outer in reversed(path[depth + 1 :]):
                value = {outer: value}
            return add(text, owner, value, key)
        owner = found
    if owner.value == value:
        return text
    return text[: owner.start] + json.dumps(value, ensure_ascii=False) + text[owner.end :]


def append(text: str, path: Path, item: Any) -> str:
    """`text` with one more item in the array at `path`. Raises SpanError when it is no array."""
    found = find(parse(text), path) if text.strip() else None
    if found is None:
        return put(text, path, [item])
    if not isinstance(found.value, list):
        raise SpanError(f"{'.'.join(path)} is no list")
    return add(text, found, item)


def find(node: Node, path: Path) -> Node | None:
    """The value at a path of keys, or None."""
    for key in path:
        inside = node.get(key) if isinstance(node.value, dict) else None
        if inside is None:
            return None
        node = inside
    return node


def drop(text: str, path: Path, ours: Callable[[Any], bool], keep: Paths = ()) -> str:
    """`text` without the items at `path` that are ours, nor the containers that this empties.

    Those in `keep` stay: they were there, empty, before ours came in.
    """
    found = find(parse(text), path)
    if found is None or not isinstance(found.value, list):
        return text
    before = len(found.parts)
    for index in reversed(range(before)):
        if ours(found.parts[index].node.value):
            text = remove(text, found, index)
            found = find(parse(text), path) or found
    return text if len(found.parts) == before else prune(text, path, keep)


def cut(text: str, path: Path, keep: Paths = ()) -> str:
    """`text` without the member at `path`, nor the objects that this empties."""
    owner = find(parse(text), path[:-1])
    if owner is None or not isinstance(owner.value, dict) or owner.get(path[-1]) is None:
        return text
    index = next(i for i, part in enumerate(owner.parts) if part.key == path[-1])
    return prune(remove(text, owner, index), path[:-1], keep)


def prune(text: str, path: Path, keep: Paths = ()) -> str:
    """`text` without the containers at `path` and above that hold nothing."""
    found = find(parse(text), path)
    if (
        not path
        or path in keep
        or found is None
        or found.parts
        or not isinstance(found.value, dict | list)
    ):
        return text
    if text[found.start + 1 : found.end - 1].strip():
        return text  # somebody's comment stands in it
    return cut(text, path, keep)


def empty(node: Node, path: Path = ()) -> Iterator[Path]:
    """The paths of the objects and arrays in a value that hold nothing, but for those in arrays."""
    if isinstance(node.value, dict | list) and not node.parts:
        yield path
    elif isinstance(node.value, dict):
        for part in node.parts:
            yield from empty(part.node, (*path, part.key))


def add(text: str, owner: Node, value: Any, key: str | None = None) -> str:
    """`text` with one more member (with a key) or item behind the last one of `owner`."""
    newline = "\r\n" if "\r\n" in text else "\n"
    outer = _indent(text, owner.start)
    unit = _unit(text)
    spread = not owner.parts or newline[-1] in text[owner.start : owner.parts[0].start]
    inner = _indent(text, owner.parts[-1].start) if owner.parts and spread else outer + unit
    body = json.dumps(value, ensure_ascii=False, indent=unit if spread else None)
    body = body.replace("\n", newline + inner)
    if key is not None:
        body = f"{json.dumps(key)}: {body}"
    if not owner.parts:
        inside = text[owner.start + 1 : owner.end - 1].rstrip()  # a comment, if anything
        return (
            f"{text[: owner.start + 1]}{inside}{newline}{inner}{body}{newline}{outer}"
            f"{text[owner.end - 1 :]}"
        )
    last = owner.parts[-1].node.end
    rest = text[last : owner.end - 1]
    comma = _skip(text, last)
    trailing = text[comma] == ","
    kept = rest.rstrip()  # a trailing comma, comments
    glue = f"{newline}{inner}" if spread or kept.strip(", \t") else " "
    end = "," if trailing else ""
    if not trailing:
        kept = f",{kept}"
    return (
        f"{text[:last]}{kept}{glue}{body}{end}{rest[len(rest.rstrip()) :]}{text[owner.end - 1 :]}"
    )


def remove(text: str, owner: Node, index: int) -> str:
    """`text` without one member or item of `owner`, its comma and its line."""
    part = owner.parts[index]
    start, end = part.start, part.node.end
    comma = _skip(text, end)
    if text[comma] == ",":
        end = comma + 1
    elif index:  # the last one: the comma before it goes
        before = owner.parts[index - 1].node.end
        place = _skip(text, before)
        text = text[:place] + text[place + 1 :]
        start, end = start - 1, end - 1
    line = len(text[:start].rstrip(" \t"))
    above = text[:line].rstrip("\r\n").rpartition("\n")[2]
    behind = text[end:].partition("\n")[0]
    if behind.strip() and "//" in above:
        pass  # what follows must not come behind that comment
    elif text[line - 1 : line] == "\n":
        start = line - (2 if text[line - 2 : line] == "\r\n" else 1)
    elif text[end : end + 1] == " ":
        end += 1
    elif text[start - 1 : start] == " ":
        start -= 1
    made = text[:start] + text[end:]
    if len(owner.parts) == 1:  # nothing but white space is left of what held it
        made = _closed(made, owner.start)
    return made


def _closed(text: str, start: int) -> str:
    closing = text.index("}" if text[start] == "{" else "]", start)
    between = text[start + 1 : closing]
    return text if between.strip() else text[: start + 1] + text[closing:]


def _indent(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _unit(text: str) -> str:
    """One step of indentation as the text has it; two spaces where it shows none."""
    found = re.search(r"\n([ \t]+)\S", text)
    return found[1] if found else "  "
