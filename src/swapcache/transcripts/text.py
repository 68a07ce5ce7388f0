"""What all readers do with text: joining blocks, stripping what is not the person's own.

Owns the frame that marks our injected blocks (its look, so that it is never captured again) and the
markers around words of strangers. Promises to keep the text around such a block. Never parses a
host's format.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FRAME_OPEN = "<<<SWAPCACHE "
FRAME_CLOSE = "<<<END SWAPCACHE "
FRAME_END = ">>>"
MARK_SIZE = 32
EXTERNAL_OPEN = "<<<SWAPCACHE EXTERNAL "
EXTERNAL_CLOSE = "<<<END SWAPCACHE EXTERNAL "
OPENCLAW_OPEN = "<<<EXTERNAL_UNTRUSTED_CONTENT id="
OPENCLAW_CLOSE = "<<<END_EXTERNAL_UNTRUSTED_CONTENT id="
"""Where words of strangers begin and end: ours, and the markers that OpenClaw's models know."""


def strip_frames(text: str, *, closed: bool = False) -> str:
    """`text` without our own blocks, also when a host cut one short; a mere mention stays.

    With `closed` only whole ones: a person who names a marker is heard to the end.
    """
    at = text.find(FRAME_OPEN)
    ends = _ends(text) if at >= 0 else {}
    kept: list[str] = []
    done, spoken = 0, False
    while at >= 0:
        start = at + len(FRAME_OPEN)
        mark = text[start : start + MARK_SIZE]
        opened = text.startswith(FRAME_END, start + MARK_SIZE) or len(text) <= start + MARK_SIZE
        if opened and not mark.strip("0123456789abcdef"):
            spoken = spoken or bool(text[done:at].strip())
            after = ends.get(mark, [])
            while after and after[-1] < start:
                after.pop()
            if not after and not (closed and spoken):  # cut short; no person's words before it
                return "".join([*kept, text[done:at]])
            if after:
                kept.append(text[done:at])
                done = start = after[-1]
        at = text.find(FRAME_OPEN, start)
    return "".join([*kept, text[done:]])


def _ends(text: str) -> dict[str, list[int]]:
    """Where blocks end, by mark, the first one last."""
    found: dict[str, list[int]] = {}
    at = text.rfind(FRAME_CLOSE)
    while at >= 0:
        start = at + len(FRAME_CLOSE)
        if text.startswith(FRAME_END, start + MARK_SIZE):
            end = start + MARK_SIZE + len(FRAME_END)
            found.setdefault(text[start : start + MARK_SIZE], []).append(end)
        at = text.rfind(FRAME_CLOSE, 0, at)
    return found


def fenced(text: str) -> bool:
    """True when `text` holds a block between markers for words of strangers; a mention is none."""
    for opening, size in ((EXTERNAL_OPEN, MARK_SIZE), (OPENCLAW_OPEN, 16)):
        at = text.find(opening)
        while at >= 0:
            at += len(opening)
            mark = text[at : at + size + 4].lstrip('\\"')[:size]
            if len(mark) == size and not mark.strip("0123456789abcdef"):
                return True
            at = text.find(opening, at)
    return False


def strip_tag(text: str, tag: str) -> str:
    """`text` without <tag>...</tag> parts that a host put around its own words."""
    opening, closing = f"<{tag}>", f"</{tag}>"
    kept: list[str] = []
    done = 0
    while (at := text.find(opening, done)) >= 0:
        end = text.find(closing, at)
        if end < 0:
            break
        kept.append(text[done:at])
        done = end + len(closing)
    return "".join([*kept, text[done:]])


def joined(content: "Any", kind: str = "text") -> str:
    """All text blocks of a message's content, in order."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    parts = []
    for block in content:
        if isinstance(block, str):
            parts.append(block)
        elif isinstance(block, dict) and block.get("type") == kind:
            value = block.get("text")
            if isinstance(value, str):
                parts.append(value)
    return "\n".join(parts)


def string(value: "Any") -> str:
    """`value` if it is a string, else empty: hosts' rows may hold anything."""
    return value if isinstance(value, str) else ""


def mapping(value: "Any") -> "dict[str, Any]":
    """`value` if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}
