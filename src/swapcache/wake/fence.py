"""The fence around injected text.

Owns the frame and its id. Promises an id that nobody can guess. What stands inside is made harmless
by state/redact.shown, so that it can neither close the frame nor open another one.
"""

import os

from swapcache.transcripts.text import (
    EXTERNAL_CLOSE,
    EXTERNAL_OPEN,
    FRAME_CLOSE,
    FRAME_END,
    FRAME_OPEN,
    OPENCLAW_CLOSE,
    OPENCLAW_OPEN,
)


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
