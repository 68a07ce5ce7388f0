"""Zstandard, which OpenClaw compresses large events and archives with.

Owns finding a decoder: the standard library's from Python 3.14 on, else its backport. Promises what
can be decompressed of damaged data, with the reason, and never an exception. Never compresses.
"""

from __future__ import annotations

import os
import sys

from swapcache.store import files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

NO_DECODER = "no zstd decoder here (install backports.zstd)"
BLOCK = 1 << 16
PIECE = 1 << 20
LARGEST = 4 << 30
"""More is taken for a file that was made to fill a disk."""


def unpacked(data: bytes, limit: int) -> tuple[bytes, str]:
    """(plain bytes, "") or (those before the damage, reason); at most about `limit` bytes."""
    work = Unpacking()
    blocks = (data[at : at + BLOCK] for at in range(0, len(data), BLOCK))
    return b"".join(work.pieces(blocks, limit)), work.reason


def plain_file(file: int, folder: str, limit: int) -> int:
    """A descriptor of what a compressed file holds, as far as it can be read; closes `file`.

    Where it is damaged, a last line that is no JSON says so. `folder` is private and exists;
    nothing stays in it.
    """
    try:
        return files.unnamed(folder, Unpacking().lines(file, limit))
    finally:
        os.close(file)


class Unpacking:
    """One stream that is unpacked, piece by piece."""

    def __init__(self) -> None:
        self.reason = ""
        """Why what was given is not all, or empty."""

    def lines(self, file: int, limit: int) -> Iterator[bytes]:
        """What a compressed file holds, and where it is damaged a last line that says so."""
        places = range(0, os.fstat(file).st_size, BLOCK)
        yield from self.pieces((os.pread(file, BLOCK, at) for at in places), limit)
        if self.reason:
            yield f"\n\0{self.reason}; the rest of the file is lost\n".encode()

    def pieces(self, blocks: Iterable[bytes], limit: int) -> Iterator[bytes]:
        """The plain bytes, at most about `limit`."""
        try:
            if sys.version_info >= (3, 14):
                from compression import zstd
            else:
                _add_site()
                from backports import zstd
        except ImportError:
            self.reason = NO_DECODER
            return
        decoder, largest = zstd.ZstdDecompressor(), limit
        reason = "damaged zstd data (its end is missing)"
        try:
            for block in blocks:
                given = block
                while limit > 0 and (given or not (decoder.needs_input or decoder.eof)):
                    if decoder.eof:  # one more frame behind the first
                        decoder = zstd.ZstdDecompressor()
                    piece = decoder.decompress(given, max_length=min(limit, PIECE))
                    given, limit = decoder.unused_data if decoder.eof else b"", limit - len(piece)
                    if piece:
                        yield piece
                if limit <= 0 and not decoder.eof:
                    reason = f"more than {largest >> 20} MB of zstd data"
                    break
        except zstd.ZstdError as problem:
            reason = f"damaged zstd data ({str(problem).lower()[:60]})"
        self.reason = "" if decoder.eof else reason


def _add_site() -> None:
    """The hook runs without site-packages; only compressed data needs them."""
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    prefix = os.path.dirname(os.path.dirname(sys.executable))
    site = f"{prefix}/lib/{version}/site-packages"
    if site not in sys.path:
        sys.path.append(site)
