"""A transcript's plain bytes, whatever its file looks like: compressed, or one old JSON document.

Owns how such files are told from JSON lines. Promises a descriptor of rows that has no name in any
directory. Never writes to the transcript.
"""

import os

from swapcache import paths
from swapcache.store import files

ZSTD = b"\x28\xb5\x2f\xfd"
"""How a file begins that its host compressed when it moved it aside."""
DOCUMENT = (b"{\n", b"{\r")
"""How a document begins that a host keeps as a whole (Gemini CLI up to 0.38)."""
LIMIT = 256 << 20
HEAD = 4096


def opened(path: str) -> int:
    """A descriptor of a transcript's plain bytes. Raises SourceError."""
    file = files.open_regular(path)
    begin = os.pread(file, len(ZSTD), 0)
    if begin == ZSTD:
        from swapcache.transcripts import zstd  # archives only

        return zstd.plain_file(file, copies(), LIMIT)
    return document(file) if begin[:2] in DOCUMENT else file


def document(file: int) -> int:
    """A descriptor of an old document's rows, or of the file that is none; closes the other."""
    from swapcache.transcripts import documents  # old sessions only

    if not documents.is_one(os.pread(file, HEAD, 0)):
        return file
    data = files.contents(file, LIMIT)
    os.close(file)
    return files.unnamed(copies(), [documents.rows(data)])


def copies() -> str:
    folder = f"{paths.state_dir()}/copies"
    files.private_directory(folder)
    return folder
