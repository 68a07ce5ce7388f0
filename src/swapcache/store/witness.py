"""The witness: a small file outside the store that remembers the newest sealed record.

Owns its format: 1,024 bytes, two slots of 512, each one JSON line padded with blanks. Promises that
a torn slot never costs the other one and that the witness never goes backwards (it is written only
under the writer lock, after the commit). Never ahead of the store's head, so a store behind its
witness was rolled back.
"""

from __future__ import annotations

import json
import os

from swapcache.model import NamedTuple
from swapcache.store import files
from swapcache.store.seal import Keys, same

SLOT = 512


class Seen(NamedTuple):
    """What a slot says. `proven` is False when its MAC does not verify with the store's key."""

    seq: int
    tag: str
    epoch: int
    store: str
    slot: int
    proven: bool


def _parse(raw: bytes, slot: int, keys: Keys | None) -> Seen | None:
    try:
        value = json.loads(raw)
        seq, tag, epoch = value["seq"], value["tag"], value["epoch"]
        good = keys is not None and same(keys.witness_mac(seq, tag, epoch), value["mac"])
        return Seen(int(seq), str(tag), int(epoch), str(value["store"]), slot, good)
    except (ValueError, KeyError, TypeError, OverflowError):
        return None


def read(path: str, keys: Keys | None) -> Seen | None:
    """The newest slot that verifies; without one the newest that can be read; None if neither."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        raw = os.pread(file, 2 * SLOT, 0)
    except OSError:
        return None  # a directory or FIFO in its place: as good as missing
    finally:
        os.close(file)
    slots = [s for i in (0, 1) if (s := _parse(raw[i * SLOT : (i + 1) * SLOT], i, keys))]
    return max(slots, key=lambda s: (s.proven, s.seq), default=None)


def forget(path: str) -> None:
    """Drops what was remembered: a person accepted an older store. The caller holds the lock."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        return
    except OSError as problem:
        raise files.failure(problem, f"cannot remove the witness {path}") from problem


def write(path: str, keys: Keys, store: str, seq: int, tag: str, last: Seen | None) -> None:
    """Remembers (seq, tag) in the slot that `last` does not use. The caller holds the lock.

    Raises StoreError; the record itself is safe then, only the next witness is older.
    """
    value = {
        "epoch": 0,
        "mac": keys.witness_mac(seq, tag, 0),
        "seq": seq,
        "store": store,
        "tag": tag,
        "v": 1,
    }
    line = json.dumps(value, separators=(",", ":")).encode().ljust(SLOT - 1) + b"\n"
    slot = 1 - last.slot if last else 0
    try:
        file = os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        files.private_directory(os.path.dirname(path))
        files.publish(path, line + b" " * (SLOT - 1) + b"\n")
        return
    except OSError as problem:
        raise files.failure(problem, f"cannot write the witness {path}") from problem
    try:
        os.pwrite(file, line, slot * SLOT)
        os.fdatasync(file) if hasattr(os, "fdatasync") else os.fsync(file)
    except OSError as problem:
        raise files.failure(problem, f"cannot write the witness {path}") from problem
    finally:
        os.close(file)
