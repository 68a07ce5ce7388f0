"""Which process a session runs in, and whether it still lives.

Owns the reading of /proc. Promises that a pid alone is never taken for an identity: boot id, pid
namespace and start time belong to it. Where /proc cannot be read the answer is "not known".
"""

import os

from swapcache.model import Process

SHELLS = frozenset(
    ("sh", "bash", "dash", "zsh", "fish", "ksh", "busybox", "env", "timeout", "swapcache-hook")
)


def _stat(pid: int) -> tuple[str, int, int] | None:
    """(name, parent, start time in ticks) of a process; None when it is gone or a zombie."""
    try:
        file = os.open(f"/proc/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        text = os.read(file, 4096).decode("utf-8", "replace")
    except OSError:
        return None
    finally:
        os.close(file)
    name, _, rest = text.partition("(")[2].rpartition(")")
    fields = rest.split()
    if len(fields) < 20 or fields[0] in ("Z", "X"):
        return None
    return name, int(fields[1]), int(fields[19])


def _boot() -> str:
    try:
        with open("/proc/sys/kernel/random/boot_id", "rb") as file:
            return file.read(64).decode("ascii", "replace").strip()
    except OSError:
        return ""


def _namespace() -> str:
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""


def identify(pid: int) -> Process | None:
    """The identity of a living process of this machine, or None."""
    found = _stat(pid)
    return Process(_boot(), _namespace(), pid, found[2]) if found else None


UNKNOWN = Process("", "", 0, 0)
"""A host whose process cannot be identified from here: it is never proven dead."""


def host(*, above_too: bool = True) -> tuple[Process, tuple[Process, ...]]:
    """The host that started this process: its nearest ancestor that is no shell.

    Also the processes above that one, unless they are not wanted.
    """
    pid = os.getppid()
    above: list[Process] = []
    owner: Process | None = None
    boot, namespace = _boot(), _namespace()
    while pid >= 1 and len(above) < 64:
        found = _stat(pid)
        if found is None:
            break
        if owner is not None:
            above.append(Process(boot, namespace, pid, found[2]))
        elif found[0] not in SHELLS or found[1] == 0:
            owner = Process(boot, namespace, pid, found[2])
            if not above_too:
                break
        pid = found[1]
    return owner or UNKNOWN, tuple(above)


def alive(process: Process | None) -> bool | None:
    """True or False when proven, None when it cannot be known from here."""
    if process is None or not process.boot:
        return None
    boot = _boot()
    if not boot:
        return None
    if boot != process.boot:
        return False
    if process.namespace != _namespace():
        return None
    found = _stat(process.pid)
    return found is not None and found[2] == process.started
