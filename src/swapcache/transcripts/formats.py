"""Which format a transcript has, by its content, never by its name.

Owns the list of readers. Promises that a file that is no transcript is refused with the reason.
"""

from __future__ import annotations

from swapcache.errors import FormatError
from swapcache.model import UNTRUSTED, Message, NamedTuple, Row

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from swapcache.transcripts.tree import Back, Place


class Format(NamedTuple):
    """A reader. `message` gives None for rows that are no messages."""

    name: str
    matches: Callable[[dict[str, Any]], bool]
    session_of: Callable[[dict[str, Any]], str]
    workspace_of: Callable[[dict[str, Any]], str]
    message: Callable[[dict[str, Any]], Message | None]
    place: Callable[[dict[str, Any]], Place | Back | None] | None = None
    """Where a row hangs, or that the host went back; None for a format that is read as one line of
    rows."""
    child: Callable[[dict[str, Any]], bool | None] | None = None
    """Whether a header says that another agent began the session; None for a row that is none."""

    @property
    def of(self) -> str:
        """The format's name, whoever began the session."""
        return self.name.removesuffix(CHILD)


def by_name(name: str) -> Format:
    """The reader called `name`; imports only that one."""
    if name.endswith(CHILD):
        reader = by_name(name.removesuffix(CHILD))
        return reader._replace(name=name, message=lambda value: _of_child(reader.message(value)))
    if name == "claude-code":
        from swapcache.transcripts import claude_code as m

        return Format(m.NAME, m.matches, m.session_of, m.workspace_of, m.message, m.place)
    if name == "pi":
        from swapcache.transcripts import pi

        return Format(pi.NAME, pi.matches, pi.session_of, pi.workspace_of, pi.message, pi.place)
    if name == "codex":
        from swapcache.transcripts import codex as c

        return Format(c.NAME, c.matches, c.session_of, c.workspace_of, c.message, c.place, c.child)
    if name == "gemini":
        from swapcache.transcripts import gemini as g

        return Format(g.NAME, g.matches, g.session_of, g.workspace_of, g.message, g.place, g.child)
    if name == "qwen":
        from swapcache.transcripts import qwen as q

        return Format(q.NAME, q.matches, q.session_of, q.workspace_of, q.message, q.place)
    if name == "copilot":
        from swapcache.transcripts import copilot as p

        return Format(p.NAME, p.matches, p.session_of, p.workspace_of, p.message, p.place)
    if name == "opencode":
        from swapcache.transcripts import opencode as o

        return Format(o.NAME, o.matches, o.session_of, o.workspace_of, o.message, o.place)
    if name == "hermes":
        from swapcache.transcripts import hermes as h

        return Format(h.NAME, h.matches, h.session_of, h.workspace_of, h.message, h.place)
    known = ", ".join((*NAMES, *DATABASES))
    raise FormatError(f"no reader is called {name!r}; known are {known}")


def _of_child(message: Message | None) -> Message | None:
    """What is said in a child agent's session is nobody's word in the person's."""
    return message and message._replace(sidechain=True, origin=UNTRUSTED)


CHILD = "-child"
"""Behind the name of the format of a file that tells of a child agent's session as a whole."""
IN_DATABASE = "sqlite:"
"""How the path of a session in a database begins: sqlite:<session id>:<file>."""
NAMES = ("claude-code", "pi", "codex", "gemini", "qwen", "copilot")
"""Formats of files, which are known by what stands in them."""
DATABASES = ("opencode", "hermes")
"""Formats of databases' rows (transcripts/databases.py tells databases apart)."""


def sniff(rows: list[Row], where: str) -> Format:
    """The format of the first rows of a source. Raises FormatError."""
    values = [row.value for row in rows if row.value is not None]
    if not values:
        nothing = "it is empty or has no whole line"
        seen = f"{len(rows)} lines, none of them a JSON object" if rows else nothing
        raise FormatError(f"{where} is no transcript: {seen}; name a session file of the host")
    for name in NAMES:
        candidate = by_name(name)
        if any(candidate.matches(value) for value in values):
            said = map(candidate.child, values) if candidate.child is not None else ()
            child = next((one for one in said if one is not None), False)
            return by_name(f"{name}{CHILD}") if child else candidate
    keys = ", ".join(sorted(values[0])[:6])
    raise FormatError(
        f"{where} is no transcript that is known here (its first object has: {keys}); "
        f"readable are {', '.join(NAMES)}"
    )
