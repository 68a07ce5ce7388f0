"""Rows of a JSON-lines transcript, however damaged.

Owns the split into rows and the salvage of one row. Promises that the rows' bytes, joined, are the
bytes that were read, that damage costs only the damaged piece, and that every piece that cannot be
read has a reason. Never writes to the source and never interprets a value.
"""

import json
import os

from swapcache.model import Row

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

BLOCK = 1 << 20
GLUE_TRIES = 64
_BOM = b"\xef\xbb\xbf"
_BLANK = b" \t\r\n\x00"

_tolerant = json.JSONDecoder(strict=False)  # raw control characters inside strings


def read(file: int, start: int, limit: int) -> tuple[list[Row], int, int, bool]:
    """Rows from byte `start` on, about `limit` bytes of them.

    Returns (rows, next start, bytes that follow and are not read, whether the bound was reached).
    A last line without its end is taken only when it is a whole object; else it stays for the next
    call, since its writer may be at work. A line longer than `limit` is read whole.
    """
    size = os.fstat(file).st_size
    if start >= size:
        return [], start, 0, False
    data = os.pread(file, min(limit, size - start), start)
    while data and b"\n" not in data and start + len(data) < size:
        data += os.pread(file, max(BLOCK, len(data)), start + len(data))
    end = data.rfind(b"\n") + 1
    if start + len(data) >= size and end < len(data) and _parse(data[end:])[0] is not None:
        end = len(data)
    rows: list[Row] = []
    at = 0
    while at < end:
        stop = data.find(b"\n", at) + 1 or end
        rows += split(start + at, data[at:stop], rows)
        at = stop
    return rows, start + end, max(0, size - start - end), start + len(data) < size


def split(start: int, raw: bytes, before: "Iterable[Row]" = ()) -> list[Row]:
    """The rows of one line: one, or several when records or fragments are glued together.

    `before` are rows of the same source: they show what a whole record looks like there.
    """
    rows: list[Row] = []
    while True:
        value, reason = _parse(raw)
        if value is not None or not reason:
            return [*rows, Row(start, raw, value, reason)]
        first = _first_record(raw)
        if first is None:
            return rows + _torn(start, raw, reason, before or rows)
        rows.append(Row(start, raw[: first[0]], first[1]))
        start, raw = start + first[0], raw[first[0] :]


def _first_record(raw: bytes) -> "tuple[int, dict[str, Any]] | None":
    """(length, object) of a whole record that another one follows on the same line."""
    at = raw.find(b'{"', 1)
    for _ in range(GLUE_TRIES):
        if at < 0:
            return None
        if raw[:at].rstrip(_BLANK).endswith(b"}"):
            value, _reason = _parse(raw[:at])
            if value is not None:
                return at, value
        at = raw.find(b'{"', at + 1)
    return None


def _torn(start: int, raw: bytes, reason: str, before: "Iterable[Row]") -> list[Row]:
    """A damaged line: whole, or a torn fragment and the whole record glued to it."""
    for at in _glued_at(raw):
        glued, _ = _parse(raw[at:])
        if glued is not None and (_stands_alone(raw[:at]) or _looks_like(glued, before)):
            lost = Row(start, raw[:at], None, f"torn record before a whole one ({reason})")
            return [lost, Row(start + at, raw[at:], glued)]
    return [Row(start, raw, None, reason)]


def _stands_alone(torn: bytes) -> bool:
    """True when what follows `torn` can be no part of it: inside a record, an object stands behind
    a colon, a comma or a bracket."""
    begun = torn.removeprefix(_BOM).lstrip(_BLANK).startswith(b'{"')
    return begun and not torn.rstrip(_BLANK).endswith((b":", b",", b"["))


def _looks_like(value: "dict[str, Any]", before: "Iterable[Row]") -> bool:
    return any(row.value is not None and row.value.keys() == value.keys() for row in before)


def _glued_at(raw: bytes) -> list[int]:
    """Where a whole record may begin behind a torn one: nearest to where parsing failed first."""
    text = raw.decode("utf-8", "replace")
    try:
        _tolerant.decode(text)
        return []
    except RecursionError:
        return []
    except ValueError as problem:
        failed = len(text[: getattr(problem, "pos", 0)].encode("utf-8", "replace")) + 1
    found: list[int] = []
    at = raw.rfind(b'{"', 1, failed + 1)
    while at > 0 and len(found) < GLUE_TRIES:
        found.append(at)
        at = raw.rfind(b'{"', 1, at)
    at = raw.find(b'{"', failed)
    while at > 0 and len(found) < 2 * GLUE_TRIES:
        found.append(at)
        at = raw.find(b'{"', at + 1)
    return found


def _parse(raw: bytes) -> "tuple[dict[str, Any] | None, str]":
    """(object, "") or (None, reason); (None, "") for a blank line."""
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        value, reason = _salvage(raw)
        if reason or value is None:
            return None, reason
    if not isinstance(value, dict):
        return None, f"a JSON {type(value).__name__} instead of an object"
    return value, ""


def _salvage(raw: bytes) -> "tuple[Any, str]":
    text = raw.removeprefix(_BOM).strip(_BLANK)
    if not text:
        if b"\x00" in raw:
            return None, "a run of NUL bytes"
        return None, "a byte order mark and nothing else" if _BOM in raw else ""
    try:
        return _tolerant.decode(text.decode("utf-8", "replace")), ""
    except RecursionError:
        return None, "nested too deeply"
    except ValueError as problem:
        detail = str(problem).split(":", 1)[0].lower()
        if not raw.endswith(b"\n"):
            return None, f"torn last line ({detail})"
        return None, f"not JSON ({detail})"
