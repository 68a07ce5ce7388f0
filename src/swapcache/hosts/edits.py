"""Changes to files that belong to the user: shown, backed up, written, taken back.

Owns the record of every file that setup changed. Promises that taking back gives the exact bytes of
before where nobody changed the file since, and else takes out exactly our part; links stay links,
modes stay. Never writes a file that changed between the showing and the writing.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from swapcache import __version__, paths
from swapcache.errors import HostError, MissingSourceError, PasteError, SourceError
from swapcache.store import files
from swapcache.store.store import now

if TYPE_CHECKING:
    from collections.abc import Callable

LIMIT = 16 << 20
"""Bytes of the largest file of a host's that is read."""
NOTE = {"path", "before", "after", "backup", "existed", "exact", "made", "wall"}
"""What is noted of a changed file."""


@dataclass(frozen=True, slots=True)
class Change:
    """One file and what it becomes; None stands for no file."""

    path: str
    before: str | None
    after: str | None

    def diff(self) -> str:
        """Unified, for people; empty when nothing changes."""
        old, new = (self.before or "").splitlines(), (self.after or "").splitlines()
        where = "/dev/null" if self.before is None else self.path
        target = "/dev/null" if self.after is None else self.path
        made = f"{target} (swapcache {__version__})"
        lines = list(difflib.unified_diff(old, new, where, made, lineterm=""))
        if not lines and self.before != self.after:  # an empty file comes, goes, or ends otherwise
            lines = [f"--- {where}", f"+++ {made}"]
        return "\n".join(lines)


def read(path: str) -> str | None:
    """A file's text with its line ends as they are; None when there is none. Raises HostError."""
    try:
        return _bytes(path).decode()
    except MissingSourceError:
        return None
    except SourceError as problem:
        raise HostError(f"{problem}; nothing was changed") from problem
    except (OSError, UnicodeDecodeError) as problem:
        raise HostError(f"{path} cannot be read ({problem}); nothing was changed") from problem


def peek(path: str) -> str:
    """A file's text for looking only: what cannot be read is empty, odd bytes are marked."""
    try:
        return _bytes(path).decode("utf-8", "replace")
    except (OSError, SourceError):
        return ""


def _bytes(path: str) -> bytes:
    """A host's file, which may be a link. Raises SourceError, OSError."""
    file = files.open_regular(path)
    try:
        size = os.fstat(file).st_size
        if size > LIMIT:
            raise SourceError(f"{path} has {size} bytes, more than a host's configuration")
        return files.contents(file, LIMIT)
    finally:
        os.close(file)


def plan(path: str, edit: Callable[[str], str]) -> Change | None:
    """The change that an edit of ours makes; None when the file is as wanted already.

    Raises HostError, PasteError (also when the owner made the file read-only).
    """
    before = read(path)
    after = edit(before or "")
    if after == (before or ""):
        return None
    real = os.path.realpath(path)
    if before is not None and not os.stat(real).st_mode & 0o222:
        raise PasteError(path, OSError("it is read-only"), _added(before, after))
    return Change(path, before, after)


def _added(before: str, after: str) -> list[str]:
    lines = difflib.ndiff(before.splitlines(), after.splitlines())
    return [line[2:] for line in lines if line.startswith("+ ")]


def apply(change: Change) -> str:
    """Backs the file up, writes it, and notes how to take it back. Gives the backup's path or "".

    Raises HostError when the file is not what was shown.
    """
    real = os.path.realpath(change.path)
    if read(real) != change.before:
        raise HostError(f"{real} was changed meanwhile; nothing was written: run it again")
    known = _load()
    old = known.get(real)
    if old is None:
        note = {
            "path": change.path,
            "before": _digest(change.before or ""),
            "backup": _back_up(real, change.before),
            "existed": change.before is not None,
            "exact": True,
            "made": _directories(os.path.dirname(real)),
        }
    else:  # set up once more: not exact when somebody's edit lies in between
        same = change.before is not None and old["after"] == _digest(change.before)
        note = {**old, "exact": old["exact"] and same}
    known[real] = {**note, "after": _digest(change.after or ""), "wall": now()}
    _save(known)  # first: whatever happens next, the way back is known
    _write(real, change.after or "")
    return str(note["backup"])


def take_back(path: str, remove: Callable[[str, str], str]) -> Change | None:
    """What a file becomes without our part; None when there is nothing of ours in it.

    `remove` is given the text and, where it is known, the text before our part came in.
    """
    real = os.path.realpath(path)
    before = read(real)
    if before is None:
        return None
    note = _load().get(real)
    was = _was(note) if note is not None else None
    if note is not None and was is not None and note["exact"] and note["after"] == _digest(before):
        return Change(path, before, was if note["existed"] else None)
    try:
        after = remove(before, was or "")
    except ValueError as problem:
        raise HostError(f"{real} is damaged: {problem}; take our part out by hand") from problem
    if after == before:
        return None
    ours_alone = note is not None and not note["existed"] and after.strip() in ("", "{}")
    return Change(path, before, None if ours_alone else after)


def undo(change: Change) -> None:
    """Writes what `take_back` found, and forgets the file. Raises HostError."""
    real = os.path.realpath(change.path)
    if read(real) != change.before:
        raise HostError(f"{real} was changed meanwhile; nothing was written: run it again")
    if change.after is None:
        os.unlink(real)
    else:
        _write(real, change.after)
    forget(change.path)


def forget(path: str) -> None:
    """Drops the note of a file, its backup, and the directories that setup made for it."""
    known = _load()
    note = known.pop(os.path.realpath(path), None)
    if note is None:
        return
    if note["backup"] and os.path.exists(note["backup"]):
        os.unlink(note["backup"])
    for folder in reversed(note["made"]):
        if os.path.isdir(folder) and not os.listdir(folder):
            os.rmdir(folder)
    _save(known)


def _was(note: dict[str, Any]) -> str | None:
    """The text before our part came in; None when its backup is gone or not what was kept."""
    try:
        was = (read(note["backup"]) or "") if note["backup"] else ""
    except HostError:
        return None
    return was if _digest(was) == note["before"] else None


def known() -> list[str]:
    """The files that hold a part of ours, as far as was noted."""
    return [str(note["path"]) for note in _load().values()]


def written(path: str) -> str:
    """When setup changed a file, as wall time; empty when it did not."""
    try:
        note = _load().get(os.path.realpath(path))
    except HostError:
        return ""
    return str(note["wall"]) if note is not None else ""


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _back_up(real: str, before: str | None) -> str:
    if not before:
        return ""
    name = f"{now().replace(':', '')}-{os.urandom(2).hex()}-{os.path.basename(real)}"
    files.publish_private(f"{paths.backups_dir()}/{name}", before)
    return f"{paths.backups_dir()}/{name}"


def _directories(folder: str) -> list[str]:
    """The directories that must be made for a file, the outermost first."""
    missing = []
    while folder and not os.path.isdir(folder):
        missing.append(folder)
        folder = os.path.dirname(folder)
    return missing[::-1]


def _write(real: str, text: str) -> None:
    old = os.stat(real) if os.path.exists(real) else None
    files.publish_private(real, text)
    if old is not None:
        if (old.st_uid, old.st_gid) != (os.geteuid(), os.getegid()):
            os.chown(real, old.st_uid, old.st_gid)
        os.chmod(real, old.st_mode & 0o777)


def _load() -> dict[str, dict[str, Any]]:
    try:
        found: dict[str, dict[str, Any]] = json.loads(files.read_own(paths.installs_file(), LIMIT))
        if all(note.keys() >= NOTE for note in found.values()):
            return found
        problem: Exception = ValueError("not of its form")
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, TypeError, AttributeError) as damage:
        problem = damage
    raise HostError(f"{paths.installs_file()} is damaged: {problem}; move it away") from problem


def _save(known: dict[str, dict[str, Any]]) -> None:
    if known:
        files.publish_private(paths.installs_file(), json.dumps(known, indent=1))
    elif os.path.exists(paths.installs_file()):
        os.unlink(paths.installs_file())
