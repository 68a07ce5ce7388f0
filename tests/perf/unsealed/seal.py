"""Nothing is sealed and no key is read. The metadata need their JSON all the same."""

from __future__ import annotations

import json

from swapcache.digest import mac as mac
from swapcache.digest import same as same
from swapcache.digest import sha256 as sha256

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

START = "0" * 64
KEY_SIZE = 32

_encode = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
).encode


def canon(value: Any) -> bytes:
    """As the real one."""
    return _encode(value).encode("ascii")


class Keys:
    """No key."""

    id = "0" * 8
    record = head = witness = view = b""

    def tag(self, seq: int, body_hash: str, meta: str, previous: str) -> str:
        """The same for all."""
        return START

    def head_mac(self, seq: int, tag: str) -> str:
        """The same for all."""
        return START

    def view_mac(self, seq: int, tag: str, content_hash: str) -> str:
        """The same for all."""
        return START


def derive(key: bytes, agent: str, store: str, workspace: str) -> Keys:
    """No key."""
    return Keys()


def read_key(path: str) -> bytes:
    """No key."""
    return b""
