"""The launcher: the one path that host configurations name.

Owns its text. Promises a path and arguments that stay the same over upgrades, an interpreter that
does not depend on PATH or an activated environment, and exit 0 with a line in the error log when
that interpreter is gone. Never a second language: it is /bin/sh.
"""

import contextlib
import os
import shlex
import sys

from swapcache import paths
from swapcache.store import files

LIMIT = 65536
_TEXT = """#!/bin/sh
# Written by `swapcache setup`. Hosts call it as: swapcache-hook HOST EVENT < payload
{home}python={python}
if [ -x "$python" ] && [ -f {package}/swapcache/hook.py ]; then
  exec "$python" -I -S -c {code} "$@"
fi
mkdir -p {state} && printf '%s\\n' {line} >> {log}
exit 0
"""


def path() -> str:
    """Where the launcher lies."""
    return paths.launcher()


def python() -> str:
    """The interpreter that hooks run with: without an environment, its real path."""
    in_environment = sys.prefix != sys.base_prefix
    return sys.executable if in_environment else os.path.realpath(sys.executable)


def package() -> str:
    """The directory that holds the package."""
    return os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def installed() -> str | None:
    """The launcher's text as it lies there; None when there is none."""
    try:
        return files.read_own(path(), LIMIT).decode("utf-8", "replace")
    except OSError:
        return None


def text() -> str:
    """The launcher for this interpreter, this package and this SWAPCACHE_HOME."""
    code = f"import sys; sys.path.insert(0, {package()!r}); from swapcache.hook import run; run()"
    line = (
        '{"wall":"","event":"launcher","error":"HostError","message":"the interpreter or the '
        'package is gone; run swapcache setup again","at":""}'
    )
    home = paths.portable()
    quote = shlex.quote
    return _TEXT.format(
        home=f"SWAPCACHE_HOME={quote(home)}; export SWAPCACHE_HOME\n" if home else "",
        python=quote(python()),
        package=quote(package()),
        code=quote(code),
        state=quote(paths.state_dir()),
        line=quote(line),
        log=quote(paths.error_log()),
    )


def interpreter(text: str) -> str:
    """The interpreter that a launcher names; empty when it names none."""
    for line in text.splitlines():
        if line.startswith("python="):
            with contextlib.suppress(ValueError):  # torn in the middle of a quote
                return next(iter(shlex.split(line.removeprefix("python="))), "")
    return ""


def install() -> bool:
    """Writes the launcher; False when it is up to date already. Raises StoreError."""
    wanted = text()
    if installed() == wanted and os.access(path(), os.X_OK):
        return False
    files.publish_private(path(), wanted)
    os.chmod(path(), 0o700)
    return True
