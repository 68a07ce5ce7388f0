"""The digests against the standard library's, and what loading them costs."""

import hashlib
import hmac
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from swapcache import digest

RFC_4231 = (
    (b"\x0b" * 20, b"Hi There", "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"),
    (
        b"Jefe",
        b"what do ya want for nothing?",
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
    ),
    (
        b"\xaa" * 131,
        b"Test Using Larger Than Block-Size Key - Hash Key First",
        "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
    ),
)


@pytest.mark.parametrize(("key", "data", "wanted"), RFC_4231)
def test_the_vectors_of_rfc_4231(key: bytes, data: bytes, wanted: str) -> None:
    assert digest.mac(key, data) == wanted


@settings(database=None, max_examples=300)
@given(st.binary(max_size=200), st.binary(max_size=300))
def test_they_are_the_standard_librarys(key: bytes, data: bytes) -> None:
    assert digest.sha256(data) == hashlib.sha256(data).hexdigest()
    assert digest.mac(key, data) == hmac.new(key, data, hashlib.sha256).hexdigest()


@pytest.mark.parametrize("size", range(62, 67))
def test_keys_around_a_block(size: int) -> None:
    key = b"k" * size
    assert digest.mac(key, b"data") == hmac.new(key, b"data", hashlib.sha256).hexdigest()


def test_same_compares_text_and_nothing_else() -> None:
    assert digest.same("ab", "ab")
    for other in ("aB", "a", "abc", "", b"ab", None, 5, "Ä", "\ud800"):
        assert not digest.same("ab", other)


@pytest.mark.parametrize("missing", [[], ["_sha2", "_sha256"]])
def test_openssl_is_loaded_only_where_python_has_no_sha256_of_its_own(missing: list[str]) -> None:
    code = (
        "import sys\n"
        f"for name in {missing!r}: sys.modules[name] = None\n"
        "from swapcache import digest\n"
        "print(digest.mac(b'Jefe', b'what do ya want for nothing?'), '_hashlib' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [RFC_4231[1][2], str(bool(missing))]
