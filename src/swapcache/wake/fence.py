"""The fence around injected text, and the neutralising of what stands inside.

Owns the frame and the list of what is made harmless. Promises that nothing inside can close the
frame, open another one, steer a terminal or pass for a chat template. Shows content; never deletes
words.
"""

import os
import re

from swapcache.transcripts.text import (
    EXTERNAL_CLOSE,
    EXTERNAL_OPEN,
    FRAME_CLOSE,
    FRAME_END,
    FRAME_OPEN,
    OPENCLAW_CLOSE,
    OPENCLAW_OPEN,
)

_INVISIBLE = re.compile(
    "\x1b\\[[0-?]*[ -/]*[@-~]|\x1b\\][^\x07\x1b\n]{0,512}(?:\x07|\x1b\\\\)|\x1b.?"
    "|[\x00-\x08\x0b-\x1f\x7f-\x9f]|[\u00ad\u180e\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]"
    "|[\U000e0000-\U000e007f]|[\ud800-\udfff]",
    re.DOTALL,
)
_MARKS = re.compile(
    r"[<＜]\|[a-z0-9_]+\|[>＞]|</?(?:start|end)_of_turn>|＜＜＜|\[/?INST\]|<<?/?SYS>>?|"
    r"<<<[\s_/]*[A-Z]{3,}|[<＜][|｜]|‹｜|"
    r"</?\s*(?:system|assistant|user|human|tool|function|task|hook|environment|s)"
    r"(?:[_-][a-z_-]+)?\b[^>]*>",
    re.IGNORECASE,
)
_SELECTOR = re.compile("(?<=[A-Za-z<>_-])[\ufe00-\ufe0f]")
_HARMLESS = str.maketrans("<＜[|｜", "‹‹⁅¦¦")


def neutralise(text: str) -> tuple[str, int]:
    """(text that is safe to show, number of changes). Line ends and tabs stay."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\u3000", "  ")
    text, removed = _INVISIBLE.subn("", text)
    text = _SELECTOR.sub("", text)
    text, marked = _MARKS.subn(
        lambda m: m.group().replace("<", "‹").replace("＜", "‹").replace("[", "⁅"), text
    )
    return text, removed + marked


def identifier() -> str:
    """A fresh id for one rendering, 32 hex."""
    return os.urandom(16).hex()


def frame(body: str, mark: str) -> str:
    """`body` between the two marker lines."""
    return f"{FRAME_OPEN}{mark}{FRAME_END}\n{body}\n{FRAME_CLOSE}{mark}{FRAME_END}"


def external(body: str, host: str) -> str:
    """Neutralised words of external origin between marker lines with a fresh id; on OpenClaw the
    markers that its models know."""
    mark = identifier()
    if host == "openclaw":
        mark = mark[:16]
        opening, closing = f'{OPENCLAW_OPEN}"{mark}"', f'{OPENCLAW_CLOSE}"{mark}"'
    else:
        opening, closing = f"{EXTERNAL_OPEN}{mark}", f"{EXTERNAL_CLOSE}{mark}"
    return f"{opening}{FRAME_END}\n{body}\n{closing}{FRAME_END}"
