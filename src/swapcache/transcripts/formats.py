"""Which format a transcript has, by its content, never by its name.

Owns the list of readers. Promises that a file that is no transcript is refused with the reason.
"""

from __future__ import annotations

from swapcache.errors import FormatError
from swapcache.model import Message, NamedTuple, Row

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from swapcache.transcripts.tree import Place


class Format(NamedTuple):
    """A reader. `message` gives None for rows that are no messages."""

    name: str
    matches: Callable[[dict[str, Any]], bool]
    session_of: Callable[[dict[str, Any]], str]
    workspace_of: Callable[[dict[str, Any]], str]
    message: Callable[[dict[str, Any]], Message | None]
    place: Callable[[dict[str, Any]], Place | None] | None = None
    """Where a row hangs; None for a format that is read as one line of rows."""


def by_name(name: str) -> Format:
    """The reader called `name`; imports only that one."""
    if name == "claude-code":
        from swapcache.transcripts import claude_code

        module = claude_code
        return Format(
            module.NAME, module.matches, module.session_of, module.workspace_of, module.message
        )
    if name == "pi":
        from swapcache.transcripts import pi

        return Format(pi.NAME, pi.matches, pi.session_of, pi.workspace_of, pi.message, pi.place)
    raise FormatError(f"no reader is called {name!r}; known are {', '.join(NAMES)}")


NAMES = ("claude-code", "pi")


def sniff(rows: list[Row], where: str) -> Format:
    """The format of the first rows of a source. Raises FormatError."""
    values = [row.value for row in rows if row.value is not None]
    if not values:
        seen = f"{len(rows)} lines, none of them a JSON object" if rows else "it is empty"
        raise FormatError(f"{where} is no transcript: {seen}; name a session file of the host")
    for name in NAMES:
        candidate = by_name(name)
        if any(candidate.matches(value) for value in values):
            return candidate
    keys = ", ".join(sorted(values[0])[:6])
    raise FormatError(
        f"{where} is no transcript that is known here (its first object has: {keys}); "
        f"readable are {', '.join(NAMES)}"
    )
