"""The seal: which bytes are hashed how, and the key.

Owns the formulas of docs/store-format.md. Promises constant-time comparison and that the key file
is either whole or absent. Never sends the key anywhere, never creates one over existing records.

    canon(o)  JSON, keys sorted, no blanks, ASCII; integers only
    K_x       HMAC-SHA256(key, "swapcache/v1/<purpose>\\0" + canon(context))
    tag_i     HMAC-SHA256(K_record, canon([1, i, sha256(body_i), meta_i, tag_(i-1)]))
"""

from __future__ import annotations

import fcntl
import json
import json.encoder
import os
import stat

from swapcache.digest import mac as mac
from swapcache.digest import same as same
from swapcache.digest import sha256 as sha256
from swapcache.errors import KeyProblem
from swapcache.model import NamedTuple
from swapcache.store import files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

START = "0" * 64
KEY_SIZE = 32

_escape = json.encoder.encode_basestring_ascii
_encode = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
).encode


def canon(value: Any) -> bytes:
    """The one byte form of a JSON value that is hashed."""
    return _encode(value).encode("ascii")


class Keys(NamedTuple):
    """Subkeys of one store; nothing sealed for another store, agent or workspace verifies."""

    id: str
    """First 8 hex of the key's SHA-256: names the key without telling it."""
    record: bytes
    head: bytes
    witness: bytes
    view: bytes

    def tag(self, seq: int, body_hash: str, meta: str, previous: str) -> str:
        """The tag of record `seq`; `meta` is the stored string, `previous` the tag before it."""
        # canon([1, seq, body_hash, meta, previous]), written out: half of the sealing's cost
        text = f'[1,{seq},"{body_hash}",{_escape(meta)},"{previous}"]'
        return mac(self.record, text.encode("ascii"))

    def head_mac(self, seq: int, tag: str) -> str:
        """What the head row carries."""
        return mac(self.head, canon([1, seq, tag]))

    def witness_mac(self, seq: int, tag: str, epoch: int) -> str:
        """What a witness slot carries."""
        return mac(self.witness, canon([1, seq, tag, epoch]))

    def view_mac(self, seq: int, tag: str, content_hash: str) -> str:
        """What a derived view (state row, latest.json) carries."""
        return mac(self.view, canon([1, seq, tag, content_hash]))


def derive(key: bytes, agent: str, store: str, workspace: str) -> Keys:
    """The subkeys of a store. `store` is its random id, `workspace` the workspace's."""
    context = canon({"agent": agent, "store": store, "ws": workspace})

    def subkey(purpose: str) -> bytes:
        text = b"swapcache/v1/" + purpose.encode() + b"\0" + context
        return bytes.fromhex(mac(key, text))

    return Keys(
        sha256(key)[:8], subkey("record"), subkey("head"), subkey("witness"), subkey("view")
    )


def read_key(path: str) -> bytes:
    """The sealing key. Raises KeyProblem that says what is wrong with the file and how to mend it.

    FileNotFoundError passes through: whether a missing key is an error depends on the store.
    """
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise
    except OSError as problem:
        raise KeyProblem(f"the key {path} cannot be opened: {problem.strerror}") from problem
    try:
        found = os.fstat(file)
        if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1:
            raise KeyProblem(f"the key {path} is no plain file with one name; move it away")
        if found.st_uid != os.geteuid():
            raise KeyProblem(f"the key {path} belongs to another user (uid {found.st_uid})")
        if found.st_mode & 0o077:
            raise KeyProblem(f"others can read the key {path}; run: chmod 600 {path}")
        key = os.read(file, KEY_SIZE + 1)
    finally:
        os.close(file)
    if len(key) != KEY_SIZE:
        raise KeyProblem(f"the key {path} has {len(key)} bytes instead of {KEY_SIZE}")
    return key


def create_key(path: str) -> bytes:
    """Makes the key, or reads the one that another process made at the same time.

    Published under a lock: a half-written key is never visible and no key is ever replaced.
    """
    directory = os.path.dirname(path)
    files.private_directory(directory)
    folder = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        if not os.path.lexists(path):
            files.publish(path, os.urandom(KEY_SIZE))
    finally:
        os.close(folder)
    return read_key(path)
