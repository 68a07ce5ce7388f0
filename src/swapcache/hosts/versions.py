"""Which version of a host is installed, and whether we know it.

Owns the oldest version that works and the newest that was tried. Promises a verdict for every
answer, also for none. Never starts more than the program's own --version.
"""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
from dataclasses import dataclass

PROGRAMS = {"claude-code": "claude", "openclaw": "openclaw"}
KNOWN = {"claude-code": ("2.0.0", "2.1.332"), "openclaw": ("2026.5.28", "2026.9.6")}
"""(the oldest whose hooks we use, the newest that the tests run)."""
PROBE_S = 10.0


@dataclass(frozen=True, slots=True)
class Probe:
    """What a host says of itself."""

    version: str
    verdict: str
    """known, newer than known, too old, or not found."""
    oldest: str


def probe(host: str) -> Probe:
    """Asks the program on the PATH."""
    oldest, newest = KNOWN[host]
    program = shutil.which(PROGRAMS[host])
    said = _said(program) if program is not None else ""
    return Probe(*judge(said, oldest, newest), oldest)


@functools.cache
def _said(program: str) -> str:
    """What a program prints of its version; asked once in a process: some take seconds."""
    try:
        done = subprocess.run(  # noqa: S603 - the host's own program
            [program, "--version"],
            capture_output=True,
            text=True,
            check=False,
            timeout=PROBE_S,
            stdin=subprocess.DEVNULL,
            env={**os.environ, "NO_COLOR": "1"},
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout


def judge(said: str, oldest: str, newest: str) -> tuple[str, str]:
    """(version, verdict) from what --version printed."""
    found = re.search(r"\d+(?:\.\d+)+", said)
    if found is None:
        return "", "not found"
    version = _numbers(found[0])
    if version < _numbers(oldest):
        return found[0], "too old"
    return found[0], "newer than known" if version > _numbers(newest) else "known"


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split("."))
