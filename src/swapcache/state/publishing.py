"""Publishing a view into a workspace that others may write to.

Owns context_snapshot there: latest.json, backups and quarantine. Promises that every step goes
through open directories, none of which is a link; that what does not verify is renamed into
quarantine, never deleted, overwritten or followed; and that only backups which verify as this
store's own are thinned. Never creates a workspace.
"""

from __future__ import annotations

import os
import stat
import time

from swapcache import paths
from swapcache.errors import StoreError
from swapcache.model import Verdict
from swapcache.state import views
from swapcache.state.views import BACKUPS, FOLDER, LATEST, QUARANTINE, Judge, Lying
from swapcache.store import files, seal
from swapcache.store.store import Store, now

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

IGNORE = ".gitignore"
NEWEST = 10
JUDGED = 500
"""So many backups are judged in one publishing; anybody can plant more."""
LAST_SECOND = 253402300799
"""Of the year 9999: times of files may lie beyond it."""


def publish(store: Store, text: str, keep: int) -> str:
    """Writes latest.json into the store's workspace, the old one into backups. Gives the path, or
    "" where there is no workspace or a newer view was published meanwhile.

    Raises StoreError when the disk refuses; the former latest.json is intact then.
    """
    workspace = store.identity.workspace
    try:
        root = files.open_directory(workspace)
    except FileNotFoundError:
        return ""
    except OSError as problem:
        raise files.failure(problem, f"cannot publish into {workspace}") from problem
    try:
        with files.Lock(paths.views_lock(workspace), store.wait):
            return _publish(store, root, text.encode("utf-8", "replace"), keep)
    except OSError as problem:
        raise files.failure(problem, f"cannot publish into {workspace}/{FOLDER}") from problem
    finally:
        os.close(root)


def _publish(store: Store, root: int, data: bytes, keep: int) -> str:
    mine = views.judge(store, data)
    if not mine.good or len(data) > views.LIMIT:
        raise StoreError(f"a view that does not verify is not published ({mine.detail})")
    place = _Place(store, root)
    note = place.judge.note
    path = f"{store.identity.workspace}/{FOLDER}/{LATEST}"
    try:
        if note.seq > mine.have:
            return ""
        place.enter()
        if _make_room(place, seal.sha256(data)):
            files.publish_in(place.folder, LATEST, data, path)
            _thin(place, keep)
        note = note._replace(seq=mine.have, tag=store.tag(mine.have))
    finally:
        place.close()
        if place.moved or note != place.judge.note:
            views.keep_note(store, note._replace(moved=[*note.moved, *place.moved]))
    return path


class _Place:
    """The open directories of a workspace's views; what is done there is done through them."""

    def __init__(self, store: Store, root: int) -> None:
        self.judge = Judge(store)
        self.moved: list[dict[str, Any]] = []
        self.folder = self.backups = self._quarantine = -1
        self._root = root
        self._open: list[int] = []

    def close(self) -> None:
        """Closes what was opened."""
        self.judge.close()
        for directory in self._open:
            os.close(directory)

    def enter(self) -> None:
        """Opens the directories, makes those that are missing, and moves away what is none."""
        self.folder, strangers = self._directory(self._root, FOLDER)
        if strangers:
            self.move(self._root, strangers, FOLDER)
        self.backups, strangers = self._directory(self.folder, BACKUPS)
        if strangers:
            self.move(self.folder, strangers, f"{FOLDER}/{BACKUPS}")
        found = _kind(self.folder, IGNORE)
        if found and not stat.S_ISREG(found):
            self.move(self.folder, IGNORE, f"{FOLDER}/{IGNORE}")
        if not stat.S_ISREG(found):
            files.publish_in(self.folder, IGNORE, "*\n", f"{FOLDER}/{IGNORE}")

    def _directory(self, inside: int, name: str) -> tuple[int, str]:
        """(a directory of ours, where what lay in its place is now or "")."""
        aside = ""
        found = _kind(inside, name)
        if found and not stat.S_ISDIR(found):
            aside = f"{name}-{os.urandom(8).hex()}"
            os.rename(name, aside, src_dir_fd=inside, dst_dir_fd=inside)
        if not stat.S_ISDIR(found):
            os.mkdir(name, 0o700, dir_fd=inside)
        opened = files.open_directory(name, inside)
        self._open.append(opened)
        if not stat.S_ISDIR(found):
            os.fchmod(opened, 0o700)  # whatever the umask took away
        return opened, aside

    def move(self, inside: int, name: str, place: str, verdict: Verdict | None = None) -> None:
        """Renames something into quarantine; it is neither opened nor followed for that."""
        if verdict is None:
            verdict = Verdict("UNSEALED", f"it is {files.kind(_kind(inside, name))}")
        if self._quarantine < 0:
            self._quarantine, strangers = self._directory(self.folder, QUARANTINE)
            if strangers:
                self.move(self.folder, strangers, f"{FOLDER}/{QUARANTINE}")
        utc = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        new = f"{utc}-{verdict.name}-{os.urandom(8).hex()}.json"
        try:
            os.rename(name, new, src_dir_fd=inside, dst_dir_fd=self._quarantine)
        except FileNotFoundError:
            return  # whoever put it there took it away again
        self.moved.append(
            {
                "name": new,
                "place": place,
                "verdict": verdict.name,
                "detail": verdict.detail,
                "wall": now(),
                "head": self.judge.store.head()[0],
            }
        )


def _kind(inside: int, name: str) -> int:
    """Mode of what lies at a name, 0 for nothing."""
    try:
        return os.stat(name, dir_fd=inside, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return 0


def _make_room(place: _Place, wanted: str) -> bool:
    """Puts the view that lies there into backups, or what else lies there into quarantine.

    False when the very bytes that are `wanted` lie there.
    """
    lying = place.judge.look(place.folder, LATEST, latest=True)
    if lying is None:
        return True
    if not lying.verdict.good:
        place.move(place.folder, LATEST, f"{FOLDER}/{LATEST}", lying.verdict)
        return True
    if lying.digest == wanted:
        return False
    written = time.gmtime(min(max(lying.written, 0), LAST_SECOND))
    name = f"{lying.verdict.have:010d}-{time.strftime('%Y%m%dT%H%M%S', written)}.json"
    _clear(place, name)
    try:
        os.link(
            LATEST,
            name,
            src_dir_fd=place.folder,
            dst_dir_fd=place.backups,
            follow_symlinks=False,
        )
    except FileExistsError:
        return True  # a publishing that was killed got so far, or the same record's other view did
    linked = place.judge.look(place.backups, name)
    if linked is None or linked.inode != lying.inode:
        _clear(place, name)  # it was exchanged since it was judged
    return True


def _clear(place: _Place, name: str) -> Lying | None:
    """Moves a backup that does not verify into quarantine; gives it if it does."""
    lying = place.judge.look(place.backups, name)
    if lying is None or lying.verdict.good:
        return lying
    place.move(place.backups, name, f"{FOLDER}/{BACKUPS}/{name}", lying.verdict)
    return None


def _thin(place: _Place, keep: int) -> None:
    """Keeps the newest ten backups and, of the older ones, the newest of each hour, then day.

    Nothing is judged while nothing is to go. Files whose names are not ours, and the backups of
    other stores, are never touched.
    """
    names = sorted((n for n in os.listdir(place.backups) if views.is_backup(n)), reverse=True)
    if not superfluous(names, keep):
        return
    mine: dict[str, Lying] = {}
    for name in names[:JUDGED]:
        lying = _clear(place, name)
        if lying is not None and lying.own:
            mine[name] = lying
    for name in superfluous(list(mine), keep):
        found = os.stat(name, dir_fd=place.backups, follow_symlinks=False)
        if (found.st_dev, found.st_ino) == mine[name].inode:
            os.unlink(name, dir_fd=place.backups)


def superfluous(names: list[str], keep: int) -> list[str]:
    """The backups that go, of all, the newest first. Of one record one stays: copies of it are no
    way to push the others out."""
    single = list({name[:10]: name for name in names}.values())
    kept, hours, days = single[:NEWEST], set[str](), set[str]()
    for name in single[NEWEST:]:
        hour, day = name[11:22], name[11:19]
        if len(kept) < keep and (hour not in hours or day not in days):
            kept.append(name)
        hours.add(hour)
        days.add(day)
    return sorted(set(names) - set(kept))
