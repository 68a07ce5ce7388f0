"""What a host's own JavaScript and we hand each other in files: sealed line by line.

Owns the seal of a ready file and of a spool's lines, which the shim computes in the same way.
Promises that a text which was not written with this installation's key is never taken for one that
was, nor one session key's for another's. Says nothing about age: an older text of ours verifies.

    mac = HMAC-SHA256(HMAC-SHA256(key, "swapcache/v1/shim\\0"), name + "\\0" + text)
"""

from __future__ import annotations

import os

from swapcache import paths
from swapcache.store import seal

PURPOSE = b"swapcache/v1/shim\0"


def name_of(path: str) -> str:
    """The slot that a file is: its name without the ending."""
    return os.path.basename(path).partition(".")[0]


def mac(name: str, text: bytes) -> str:
    """The seal of a text in the slot `name` (64 hex). Raises FileNotFoundError, KeyProblem."""
    key = bytes.fromhex(seal.mac(seal.read_key(paths.key_file()), PURPOSE))
    return seal.mac(key, name.encode() + b"\0" + text)


def line(name: str, text: bytes) -> bytes:
    """A spool's line, without its end: the text, a tab, its seal."""
    return text + b"\t" + mac(name, text).encode()


def opened(name: str, raw: bytes) -> bytes | None:
    """The text of a spool's line; None for one that is not sealed by our key for this slot."""
    text, _, given = raw.rpartition(b"\t")
    return text if seal.same(mac(name, text), given.decode("ascii", "replace")) else None
