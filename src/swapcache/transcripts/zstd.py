"""Zstandard, which OpenClaw compresses large events and archives with.

Owns finding a decoder: the standard library's from Python 3.14 on, else its backport. Promises what
can be decompressed of damaged data, with the reason, and never an exception. Never compresses.
"""

from __future__ import annotations

import os
import sys

from swapcache.store import files

NO_DECODER = "no zstd decoder here (install backports.zstd)"
BLOCK = 1 << 16


def unpacked(data: bytes, limit: int) -> tuple[bytes, str]:
    """(plain bytes, "") or (those before the damage, reason); at most about `limit` bytes."""
    try:
        if sys.version_info >= (3, 14):
            from compression import zstd
        else:
            _add_site()
            from backports import zstd
    except ImportError:
        return b"", NO_DECODER
    decoder = zstd.ZstdDecompressor()
    plain: list[bytes] = []
    left = limit
    try:
        for at in range(0, len(data), BLOCK):
            given = data[at : at + BLOCK]
            while given or not (decoder.needs_input or decoder.eof):
                if left <= 0:
                    return b"".join(plain), f"more than {limit >> 20} MB of zstd data"
                if decoder.eof:  # one more frame behind the first
                    decoder = zstd.ZstdDecompressor()
                plain.append(decoder.decompress(given, max_length=left))
                left -= len(plain[-1])
                given = decoder.unused_data if decoder.eof else b""
    except zstd.ZstdError as problem:
        return b"".join(plain), f"damaged zstd data ({str(problem).lower()[:60]})"
    return b"".join(plain), "" if decoder.eof else "damaged zstd data (its end is missing)"


def plain_file(file: int, folder: str, limit: int) -> int:
    """A descriptor of what a compressed file holds, as far as it can be read; closes `file`.

    Where it is damaged, a last line that is no JSON says so. `folder` is private and exists;
    nothing stays in it.
    """
    try:
        plain, reason = unpacked(os.pread(file, os.fstat(file).st_size, 0), limit)
    finally:
        os.close(file)
    if reason:
        plain += f"\n\0{reason}; the rest of the file is lost\n".encode()
    return files.unnamed(folder, plain)


def _add_site() -> None:
    """The hook runs without site-packages; only compressed data needs them."""
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    prefix = os.path.dirname(os.path.dirname(sys.executable))
    site = f"{prefix}/lib/{version}/site-packages"
    if site not in sys.path:
        sys.path.append(site)
