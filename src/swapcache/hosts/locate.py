"""Where a host's transcripts lie: the one that is meant, or all that may be.

Owns the search in a host's directories and databases, for every host that is known by name.
Promises to find transcripts that their host renamed, moved aside or archived, and never to choose
among several: they are listed. Never reads more of a file than its beginning, but to list it, and
never opens a store.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from swapcache.capture import follow
from swapcache.errors import FormatError, MissingSourceError, SelectionError, SourceError
from swapcache.hosts import known, openclaw
from swapcache.state.rules import cut
from swapcache.store import files
from swapcache.transcripts import databases, formats, lines, sqlite, tables
from swapcache.transcripts.tables import Candidate
from swapcache.transcripts.text import string

if TYPE_CHECKING:
    from collections.abc import Iterator

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
    root = known.state_dir(host)
    place = f"{root}/{BELOW[host]}" if host in BELOW else root
    if not os.path.isdir(place):
        raise MissingSourceError(f"{place} does not exist; name a transcript, or check the host")
    return chosen(host, place, wanted)


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
    if not os.path.isdir(place):
        found = list(_of_file(host, place))
    else:
        found = []
        for path in _walk(host, place):
            try:
                found += _of_file(host, path)
            except SourceError:
                continue
    best: dict[str, Candidate] = {}
    for one in sorted(found, key=lambda c: (_ORDER[c.state], not _in_database(c))):
        best.setdefault(one.id, one)  # a host that moved to a database tells the same twice
    return sorted(best.values(), key=lambda c: c.wall, reverse=True)


def _in_database(one: Candidate) -> bool:
    return one.path.startswith(follow.DATABASE)


def _walk(host: str, place: str) -> Iterator[str]:
    flat = host not in BELOW
    for folder, below, names in os.walk(place):
        below.sort()
        for name in sorted(names):
            if _is_transcript(name) or name.endswith((".db", ".sqlite")):
                yield f"{folder}/{name}"
        if flat:
            return


def _is_transcript(name: str) -> bool:
    aside = any(f".jsonl{mark}" in name for mark in (*follow.RENAMED, ".imported-"))
    return (name.endswith(ENDS) or aside) and NOISE not in name


def _of_file(host: str, path: str) -> Iterator[Candidate]:
    if sqlite.is_database(path) or path.endswith((".db", ".sqlite")):
        whose, found = databases.candidates(path)
        if whose != host:
            raise FormatError(f"{path} is a database of {whose}, not of {host}")
        yield from found
    else:
        yield _transcript(host, path)


def _transcript(host: str, path: str) -> Candidate:
    file = follow.opened(path)
    try:
        rows = lines.read(file, 0, HEAD)[0]
        size = os.fstat(file).st_size
    finally:
        os.close(file)
    reader = formats.sniff(rows, path)
    if reader.name != FORMATS.get(host, host):
        raise FormatError(f"{path} is a transcript of {reader.name}, not of {host}")
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
        count if size <= HEAD else -1,
        next((w for v in values if (w := reader.workspace_of(v))), ""),
        path,
        host == "claude-code" and name.startswith("agent-"),
        _state(path),
    )


def session_of_name(path: str, session: str) -> str:
    """The session of a file: OpenClaw's topics of a session have files of their own."""
    stem = os.path.basename(path).partition(".jsonl")[0]
    return stem if session and stem.startswith(f"{session}-topic-") else session


def _state(path: str) -> str:
    folder, name = os.path.split(path)
    if name.endswith(".zst") or os.path.basename(folder) in ASIDE or ".imported-" in name:
        return "archived"
    return "live" if name.endswith(".jsonl") else "renamed"


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
