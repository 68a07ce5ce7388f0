"""What lies in a workspace's context_snapshot, judged.

Owns the verdict on a view, and what a store remembers of its views. Promises that nothing in a
workspace is followed, waited for or read beyond 256 KB, and that none of it becomes state: what is
read only decides what is kept, moved or named. Never writes into a workspace (publishing.py does).
"""

from __future__ import annotations

import json
import os

from swapcache import paths
from swapcache.errors import StoreError
from swapcache.model import NamedTuple, Verdict
from swapcache.store import files, identity, seal
from swapcache.store.store import Store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FOLDER = "context_snapshot"
LATEST = "latest.json"
BACKUPS = "backups"
QUARANTINE = "quarantine"
LIMIT = 256 * 1024
VERDICTS = ("FOREIGN", "MODIFIED", "UNSEALED", "ROLLED_BACK")
"""What makes publishing move something away."""
REMEMBERED = 50
SEAL = {"v", "key_id", "store", "agent", "seq", "tag", "mac"}
NOTE_LIMIT = 64 * 1024


# -- the verdict -----------------------------------------------------------------------------------


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose keys are unique: with two of a key each reader may take another one."""
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("a key stands twice")
    return value


def judge(store: Store, data: bytes, newest: int = -1) -> Verdict:
    """Verdict on a view; `have` is the record that it was sealed at.

    VERIFIED only if the store holds that very record. `newest` is the newest record that a view
    was published for, where that matters. What the bytes say never gets into the words.
    """
    if store.keys is None:
        return Verdict("NO_KEY", store.key_problem)
    try:
        value = json.loads(data, object_pairs_hook=_unique)
        given = value.pop("seal")
        digest = seal.sha256(seal.canon(value))
        key_id, uuid, agent = given.get("key_id"), given.get("store"), given.get("agent")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return Verdict("UNSEALED", "it carries no seal")
    if key_id != store.keys.id:
        return Verdict("FOREIGN", f"sealed by {_another(key_id)}")
    if (uuid, agent) != (store.uuid, store.identity.agent):
        return Verdict("FOREIGN", "sealed for another store or agent")
    seq, tag, mac = given.get("seq"), given.get("tag"), given.get("mac")
    formed = given.keys() == SEAL and given["v"] == 1 and type(seq) is int and isinstance(tag, str)
    if not formed or not seal.same(store.keys.view_mac(seq, tag, digest), mac):
        return Verdict("MODIFIED", "it is not what was sealed")
    return _placed(store, seq, tag, newest)


def _another(key_id: object) -> str:
    """Whose key it may be. One that was replaced proves nothing: it may have leaked."""
    named = isinstance(key_id, str) and len(key_id) == 8 and not key_id.strip("0123456789abcdef")
    replaced = named and os.path.exists(paths.retired_key(str(key_id)))
    return "a key of ours that was replaced" if replaced else "another key"


def _placed(store: Store, seq: int, tag: str, newest: int) -> Verdict:
    """Verdict on a view whose own seal is good, by what the store knows of its record."""
    head = store.head()[0]
    if seq > head:
        return Verdict("ROLLED_BACK", f"made at record {seq}, the store ends at {head}", head, seq)
    if store.tag(seq) != tag:
        return Verdict("MODIFIED", f"record {seq} of the store is another one")
    if seq < newest:
        detail = f"made at record {seq}, a view of record {newest} was published after it"
        return Verdict("ROLLED_BACK", detail, seq, newest)
    return Verdict("VERIFIED", "" if seq == head else "older than the head", seq, head)


class Lying(NamedTuple):
    """Something that lies at a name, judged."""

    verdict: Verdict
    own: bool
    """It is this store's, if it is anybody's."""
    inode: tuple[int, int]
    written: float
    digest: str
    """SHA-256 of the bytes that were judged; empty where none were read."""


class Judge:
    """Judges for a store and for the others of the same workspace; close with `close`.

    Several agents and hosts may publish into one workspace: what another store of this machine
    sealed for it is not planted.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self.note = note(store)
        self._others: list[tuple[Store, int]] | None = None

    def close(self) -> None:
        """Closes what was opened."""
        for other, _ in self._others or ():
            other.close()

    def look(self, folder: int, name: str, *, latest: bool = False) -> Lying | None:
        """What lies at a name in an open directory; None for nothing."""
        try:
            file = files.open_own(name, LIMIT, folder)
            try:
                found, data = os.fstat(file), files.contents(file, LIMIT)
            finally:
                os.close(file)
        except FileNotFoundError:
            return None
        except OSError as problem:
            return Lying(Verdict("UNSEALED", problem.strerror or ""), True, (-1, -1), 0.0, "")
        verdict, own = self._judge(data, latest)
        if verdict.good and is_backup(name) and int(name[:10]) != verdict.have:
            said = int(name[:10])
            detail = f"made at record {verdict.have}, its name says {said}"
            verdict = Verdict("ROLLED_BACK", detail, verdict.have, said)
        inode = found.st_dev, found.st_ino
        return Lying(verdict, own, inode, found.st_mtime, seal.sha256(data))

    def _judge(self, data: bytes, latest: bool) -> tuple[Verdict, bool]:
        found = judge(self.store, data, self.note.seq if latest else -1)
        if found.name != "FOREIGN":
            return found, True
        for other, newest in self._kin():
            theirs = judge(other, data, newest if latest else -1)
            if theirs.name != "FOREIGN":
                return theirs, False
        return found, True

    def _kin(self) -> list[tuple[Store, int]]:
        if self._others is None:
            self._others = []
            for name, owner in identity.listing():
                if name != self.store.id and owner.workspace == self.store.identity.workspace:
                    try:
                        other = Store(name)
                    except StoreError:
                        continue
                    self._others.append((other, note(other).seq))
        return self._others


def is_backup(name: str) -> bool:
    """True for a name that publishing gives: <record>-<utc>.json."""
    shape = name[10:11] + name[19:20] + name[26:] == "-T.json"
    digits = name[:10] + name[11:19] + name[20:26]
    return len(name) == 31 and shape and digits.isascii() and digits.isdigit()


def is_moved(name: str) -> bool:
    """True for a name that quarantine gives: <utc>-<verdict>-<random>.json."""
    utc, _, rest = name.partition("-")
    verdict, _, mark = rest.partition("-")
    digits = utc[:8] + utc[9:15]
    shaped = len(utc) == 16 and utc[8] + utc[15] == "TZ" and digits.isascii() and digits.isdigit()
    known = verdict in VERDICTS and len(mark) == 21 and mark.endswith(".json")
    return shaped and known and not mark[:16].strip("0123456789abcdef")


# -- what was published and moved ------------------------------------------------------------------


class Note(NamedTuple):
    """What a store remembers of its views; sealed like one."""

    seq: int
    """The record of the newest view that was published, -1 where that is not known."""
    tag: str
    moved: list[dict[str, Any]]
    """What was moved into quarantine, newest last: name, place, verdict, detail, wall, head."""


def note(store: Store) -> Note:
    """What is remembered; nothing where the file is missing or not ours."""
    try:
        given = json.loads(files.read_own(paths.views_file(store.directory), NOTE_LIMIT))
        seq, tag, moved = int(given["seq"]), str(given["tag"]), list(given["moved"])
        digest = seal.sha256(seal.canon({"moved": moved}))
        good = store.keys is not None and seal.same(
            store.keys.view_mac(seq, tag, digest), given["mac"]
        )
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        good = False
    if not good:
        return Note(-1, "", [])
    return Note(seq if seq >= 0 and store.tag(seq) == tag else -1, tag, moved)


def keep_note(store: Store, given: Note) -> None:
    """Publishes what is to be remembered. Raises StoreError."""
    moved = given.moved[-REMEMBERED:]
    digest = seal.sha256(seal.canon({"moved": moved}))
    mac = "" if store.keys is None else store.keys.view_mac(given.seq, given.tag, digest)
    text = json.dumps({"seq": given.seq, "tag": given.tag, "moved": moved, "mac": mac})
    files.publish(paths.views_file(store.directory), text)


def moved_since(store: Store, seq: int | None) -> list[dict[str, Any]]:
    """What was moved into quarantine since record `seq`."""
    return [m for m in note(store).moved if seq is None or m["head"] >= seq]
