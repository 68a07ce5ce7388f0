"""Where a host's transcripts lie: the one that is meant, or all that may be.

Owns the search in a host's directories and databases, for every host that is known by name.
Promises to find transcripts that their host renamed, moved aside or archived, and never to choose
among several: they are listed. Never reads more of a file than its beginning, but to list it, and
never opens a store.
"""

from __future__ import annotations

import contextlib
import os
import time
from typing import TYPE_CHECKING

from swapcache.capture import follow
from swapcache.errors import FormatError, MissingSourceError, SelectionError, SourceError
from swapcache.hosts import known, openclaw
from swapcache.model import NamedTuple
from swapcache.state.rules import cut
from swapcache.store import files
from swapcache.transcripts import databases, formats, lines, plain, sqlite, tables
from swapcache.transcripts.tables import Candidate
from swapcache.transcripts.text import string

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

FORMATS = {"openclaw": "pi"}
"""Hosts whose transcripts have another one's form."""
BELOW = {
    "claude-code": "projects",
    "codex": "sessions",
    "gemini": "tmp",
    "qwen": "projects",
    "pi": "sessions",
    "copilot": "session-state",
    "openclaw": "agents",
}
"""Where in its state directory a host keeps transcripts; else at its top."""
ENDS = (".jsonl", ".jsonl.zst")
NOISE = ".trajectory.jsonl"
ASIDE = (follow.IMPORTED, "cold")
"""Directories of transcripts that a host has put away."""
HEAD = 1 << 18
LISTED = 40
TITLE = 80
_ORDER = {"live": 0, "renamed": 1, "archived": 2}


def locate(host: str, wanted: str = "") -> Candidate:
    """The transcript of a session id or key in a host's own directories; the only one without.

    Raises SelectionError that lists what there is, MissingSourceError.
    """
    where = place(host)
    if not os.path.isdir(where):
        raise MissingSourceError(f"{where} does not exist; name a transcript, or check the host")
    return chosen(host, where, wanted)


def place(host: str) -> str:
    """The directory of a host's transcripts, whether it is there or not."""
    root = known.state_dir(host)
    return f"{root}/{BELOW[host]}" if host in BELOW else root


def chosen(host: str, place: str, wanted: str = "") -> Candidate:
    """The session that is meant, of a file, a database or a directory.

    Raises SelectionError that lists what there is, SourceError, FormatError.
    """
    found = candidates(host, place)
    if not found:
        kind = "a directory" if os.path.isdir(place) else "a database"
        raise SourceError(f"{place} is {kind} without a session of {host}; name a transcript file")
    if wanted:
        fit = [c for c in found if wanted in (c.id, c.key)]
        live = [c for c in fit if c.state == "live"] or fit
        if len(live) == 1:
            return live[0]
        if not fit:
            raise SelectionError(_listed(f"no session of {place} is called {wanted}", found))
        raise SelectionError(_listed(f"several sessions of {place} are called {wanted}", fit))
    own = [c for c in found if not c.child]
    if len(own) == 1:
        return own[0]
    what = f"{place} holds {len(own)} sessions; name one with --session-key ID (or its key)"
    raise SelectionError(_listed(what, own or found))


def _listed(what: str, found: list[Candidate]) -> str:
    """What is there, a line each, the newest first."""
    made = [f"{what}:"]
    for one in found[:LISTED]:
        names = one.id if one.key == one.id else f"{one.id} ({one.key})"
        aside = "" if one.state == "live" else f", {one.state}"
        count = f"{one.messages} messages" if one.messages >= 0 else "not counted"
        made.append(f"  {names}  {one.wall or 'no time'}  {count}{aside}  {one.title}")
    if len(found) > LISTED:
        made.append(f"  and {len(found) - LISTED} more")
    return "\n".join(made)


def candidates(host: str, place: str) -> list[Candidate]:
    """The sessions of a host in a file, a database or a directory, the newest first.

    What cannot be read in a directory, and what another host wrote there, is left out.
    """
    if os.path.isdir(place):
        return _once(listed(host, place).found)
    return _once(list(_of_file(host, place, HEAD)))


class Listed(NamedTuple):
    """What a directory holds."""

    found: list[Candidate]
    """Of each session what its host goes on with, else what it put aside; the newest first."""
    copies: int
    """Of sessions which the host goes on with elsewhere: put aside, or left by a move."""
    unread: list[str]
    """What cannot be read, or another host wrote, with the reason."""


def stamps(host: str) -> dict[str, tuple[int, ...]]:
    """What changes with every writing, by file or database of a host. Opens nothing."""
    found = {}
    for path in _walk(host, place(host)):
        looks = []
        for file in (path, f"{path}-wal"):
            with contextlib.suppress(OSError):  # no log, or gone just now
                stat = os.stat(file)
                looks += [stat.st_size, stat.st_mtime_ns]
        found[path] = tuple(looks)
    return found


def listed(host: str, place: str, head: int = HEAD, only: Container[str] | None = None) -> Listed:
    """The sessions of a host in a directory, judged by the first `head` bytes of each file.

    With `only` those of these files.
    """
    found, unread = list[Candidate](), list[str]()
    for path in _walk(host, place):
        if only is not None and path not in only:
            continue
        try:
            found += _of_file(host, path, head)
        except SourceError as problem:
            unread.append(str(problem) if path in str(problem) else f"{path}: {problem}")
    best: dict[str, tuple[int, bool]] = {}
    for one in found:
        best[one.id] = min(best.get(one.id, _rank(one)), _rank(one))
    kept = [one for one in found if _rank(one) == best[one.id]]
    kept.sort(key=lambda c: c.wall, reverse=True)
    return Listed(kept, len(found) - len(kept), unread)


def _once(found: list[Candidate]) -> list[Candidate]:
    once: dict[str, Candidate] = {}
    for one in sorted(found, key=_rank):
        once.setdefault(one.id, one)
    return sorted(once.values(), key=lambda c: c.wall, reverse=True)


def _rank(one: Candidate) -> tuple[int, bool]:
    """A host that moved to a database tells the same twice."""
    return _ORDER[one.state], not _in_database(one)


def _in_database(one: Candidate) -> bool:
    return bool(database_of(one.path))


def database_of(source: str) -> str:
    """The database that a source's path names; empty for a file."""
    return tables.parts(source)[1] if source.startswith(follow.DATABASE) else ""


def _walk(host: str, place: str) -> Iterator[str]:
    flat = host not in BELOW
    for folder, below, names in os.walk(place):
        below.sort()
        for name in sorted(names):
            if _is_transcript(name, host) or name.endswith((".db", ".sqlite")):
                yield f"{folder}/{name}"
        if flat:
            return


def _is_transcript(name: str, host: str) -> bool:
    if host == "gemini" and name.startswith("session-") and name.endswith(".json"):
        return True
    aside = any(f".jsonl{mark}" in name for mark in (*follow.RENAMED, ".imported-"))
    return (name.endswith(ENDS) or aside) and NOISE not in name


def _of_file(host: str, path: str, head: int) -> Iterator[Candidate]:
    if sqlite.is_database(path) or path.endswith((".db", ".sqlite")):
        whose, found = databases.candidates(path)
        if whose != host:
            raise FormatError(f"{path} is a database of {whose}, not of {host}")
        yield from found
    else:
        yield _transcript(host, path, head)


def _transcript(host: str, path: str, head: int) -> Candidate:
    file = plain.opened(path)
    try:
        rows = lines.read(file, 0, head)[0]
        size = os.fstat(file).st_size
    finally:
        os.close(file)
    reader = formats.sniff(rows, path)
    if reader.of != FORMATS.get(host, host):
        raise FormatError(f"{path} is a transcript of {reader.of}, not of {host}")
    values = [row.value for row in rows if row.value is not None]
    session = next((s for v in values if (s := reader.session_of(v))), "")
    made = [m for v in values if (m := reader.message(v)) is not None]
    words = next((m.text for m in made if m.kind == "request"), "")
    session = session_of_name(path, session)
    count = sum(1 for m in made if m.kind in ("request", "reply", "partial") and not m.sidechain)
    name = os.path.basename(path)
    return Candidate(
        session or name,
        _key(host, path, session),
        cut(" ".join(words.split()), TITLE),
        _when(path),
        count if size <= head else -1,
        next((w for v in values if (w := reader.workspace_of(v))), ""),
        path,
        reader.name != reader.of or (host == "claude-code" and name.startswith("agent-")),
        _state(path),
    )


def session_of_name(path: str, session: str) -> str:
    """The session of a file, whose rows name `session`.

    A file that is called by an id is that session's: a fork begins with rows that name the other
    one. OpenClaw's topics of a session have files of their own.
    """
    stem = os.path.basename(path).partition(".jsonl")[0]
    topic = session and stem.startswith(f"{session}-topic-")
    return stem if topic or _is_id(stem) else session


def _is_id(stem: str) -> bool:
    """True for a UUID."""
    return len(stem) == 36 and stem.count("-") == 4 and not stem.strip("0123456789abcdef-")


def _state(path: str) -> str:
    folder, name = os.path.split(path)
    if name.endswith(".zst") or os.path.basename(folder) in ASIDE or ".imported-" in name:
        return "archived"
    return "live" if name.endswith((".jsonl", ".json")) else "renamed"


def _key(host: str, path: str, session: str) -> str:
    """What the host calls the conversation: OpenClaw's index beside the file says it."""
    if host != "openclaw":
        return session
    folder, name = os.path.split(path)
    for key, entry in openclaw.index(folder).items():
        given = entry if isinstance(entry, dict) else {}
        file = os.path.basename(string(given.get("sessionFile")))
        meant = bool(session) and string(given.get("sessionId")) == session
        if meant or (file and file == name):
            return key
    return session


def _when(path: str) -> str:
    file = files.open_regular(path)
    try:
        seconds = os.fstat(file).st_mtime
    finally:
        os.close(file)
    return tables.iso(seconds * 1000) or time.strftime("%Y", time.gmtime(0))
