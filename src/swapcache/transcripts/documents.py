"""Gemini CLI's older sessions: one JSON document each, written anew at every turn.

Owns giving such a document as the rows of the newer form: a header, then a message a row, byte for
byte but for line breaks between values, which become blanks. A document that grew gives the same
rows and more. Promises every message that is whole of a torn or damaged document, and a row that
cannot be read for what lies between them. Never writes to the document.
"""

from __future__ import annotations

import json
import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

FIXED = ("sessionId", "projectHash", "startTime", "kind")
"""What does not change while the session goes on."""
_MESSAGES = re.compile(rb'"messages"\s*:\s*\[')
_MESSAGE = re.compile(rb'(?<=\n    )\{\s*"id"\s*:')
"""As the host indents it: calls and results further in begin with an id, too."""
_FIELD = rb'"%s"\s*:\s*("(?:[^"\\\\]|\\\\.)*")'


def is_one(data: bytes) -> bool:
    """True for the beginning of such a document."""
    return b'"sessionId"' in data and b'"projectHash"' in data


def rows(data: bytes) -> bytes:
    """A document as JSON lines."""
    begin = _MESSAGES.search(data)
    head = data[: begin.start()] if begin else data
    found = [_header(head)]
    if begin is None:
        found.append(_lost(data[len(head) :]) or b"\0no messages in this document")
    else:
        found += _messages(data, begin.end())
    return b"\n".join(found) + b"\n"


def _header(head: bytes) -> bytes:
    fields = {"sessionId": "", "projectHash": ""}
    for name in FIXED:
        given = re.search(_FIELD % name.encode(), head)
        if given:
            fields[name] = json.loads(given[1].decode("utf-8", "replace"), strict=False)
    return json.dumps(fields, separators=(",", ":")).encode()


def _messages(data: bytes, at: int) -> Iterator[bytes]:
    """The messages from a place on, and what is between them that is none."""
    while True:
        begin = _MESSAGE.search(data, at)
        start = begin.start() if begin else len(data)
        between = data[at:start].strip(b" \t\r\n,")
        if begin is None:
            closed = between.startswith(b"]") and between.endswith(b"}")
            yield from () if closed else [_lost(between)]
            return
        if between:
            yield _lost(between)
        end = _end(data, start)
        if not _is_json(data[start:end]):
            other = _MESSAGE.search(data, start + 1)
            end = other.start() if other else len(data)
        yield _one_line(data[start:end])
        at = end
        if at == len(data):
            return


def _is_json(data: bytes) -> bool:
    try:
        json.loads(data)
    except (ValueError, RecursionError):
        return False
    return True


def _end(data: bytes, start: int) -> int:
    """Where the object that begins at a place ends; at that place for one that does not."""
    depth, at, quoted = 0, start, False
    while at < len(data):
        found = _TOKEN.search(data, at)
        if found is None:
            return start
        token, at = found[0], found.end()
        if token[:1] == b"\\":
            continue
        if token == b'"':
            quoted = not quoted
        elif not quoted:
            depth += 1 if token in b"{[" else -1
            if depth == 0:
                return at
    return start


_TOKEN = re.compile(rb'\\.|["{}\[\]]', re.DOTALL)


def _one_line(data: bytes) -> bytes:
    return data.replace(b"\r", b" ").replace(b"\n", b" ")


def _lost(data: bytes) -> bytes:
    """A row for a piece that is no message: it cannot be read, and says so."""
    return _one_line(data) or b"\0the document ends here: its end is missing"
