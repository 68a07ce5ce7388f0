"""A small disk of its own, for tests of what happens when it is full."""

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tests import needs


@contextlib.contextmanager
def small(mount: Path, size: str = "600k") -> Iterator[Path]:
    """A disk at `mount`. Needs root: missing it fails in CI, elsewhere it skips."""
    mount.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(mount)], capture_output=True
    )
    if done.returncode:
        needs.missing(f"mounting a small disk needs root: {done.stderr.decode()}")
    try:
        yield mount
    finally:
        subprocess.run(["umount", "-l", str(mount)], check=True)


def fill(disk: Path) -> Path:
    """Fills the disk to its last byte; gives the file that does it."""
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(os.urandom(4096))
    return ballast
