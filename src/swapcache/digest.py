"""SHA-256, HMAC and their comparison, cheap to import.

Owns which implementation is used. Promises the values of hashlib and hmac without loading them:
they load OpenSSL, which takes longer than everything else that sealing an event needs. Python's own
SHA-256 is slower on megabytes, but a hook hashes kilobytes; a program that has OpenSSL loaded uses
it. Never keeps a key.
"""

import sys
from _operator import _compare_digest  # what hmac has without OpenSSL: constant time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hashlib import sha256 as _sha256
elif "_hashlib" in sys.modules:
    from hashlib import sha256 as _sha256  # commands have paid for it already
else:
    try:
        if sys.version_info >= (3, 12):
            from _sha2 import sha256 as _sha256
        else:
            from _sha256 import sha256 as _sha256
    except ImportError:
        from hashlib import sha256 as _sha256  # a Python that was built with OpenSSL's only

BLOCK = 64
_INNER = int.from_bytes(b"\x36" * BLOCK)
_OUTER = int.from_bytes(b"\x5c" * BLOCK)


def sha256(data: bytes) -> str:
    """Hexadecimal SHA-256."""
    return _sha256(data).hexdigest()


def mac(key: bytes, data: bytes) -> str:
    """Hexadecimal HMAC-SHA256 (RFC 2104)."""
    if len(key) > BLOCK:
        key = _sha256(key).digest()
    block = int.from_bytes(key.ljust(BLOCK, b"\0"))
    inner = _sha256((block ^ _INNER).to_bytes(BLOCK) + data).digest()
    return _sha256((block ^ _OUTER).to_bytes(BLOCK) + inner).hexdigest()


def same(one: str, other: object) -> bool:
    """Constant-time comparison; False for what is no text."""
    if not isinstance(other, str):
        return False
    return _compare_digest(one.encode(), other.encode("utf-8", "replace"))
