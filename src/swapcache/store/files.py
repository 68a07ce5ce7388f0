"""Durable files and locks.

Owns every write outside the databases and every reading of a small file of ours. Promises that a
published file is whole and on the disk when `publish` returns, that nothing is written or read
through a link somebody planted, that no FIFO in a file's place is waited for, and that everything
is 0600 in 0700 directories whatever the umask. Never retries fsync on a descriptor that failed
once: the kernel may have dropped the dirty pages (docs/store-format.md, durability).
"""

import errno
import fcntl
import os
import stat
import time

from swapcache.errors import BusyError, MissingSourceError, NoSpaceError, SourceError, StoreError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

TEMPORARY = ".swapcache-tmp-"
BLOCK = 1 << 20
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG)
KINDS = (
    (stat.S_ISREG, "a regular file"),
    (stat.S_ISLNK, "a symbolic link"),
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISSOCK, "a socket"),
)


def private_directory(path: str) -> None:
    """Creates `path` and its missing parents with mode 0700. Raises StoreError if it cannot."""
    if os.path.isdir(path):
        return
    parent = os.path.dirname(path)
    if parent != path:
        private_directory(parent)
    try:
        os.mkdir(path, 0o700)
        os.chmod(path, 0o700)  # whatever the umask took away
    except FileExistsError:
        if not os.path.isdir(path):
            raise StoreError(f"{path} is in the way: it is no directory; move it away") from None
    except OSError as problem:
        raise failure(problem, f"cannot create the directory {path}") from problem


def failure(problem: OSError, what: str) -> StoreError:
    """The error of ours for an operating system error."""
    reason = problem.strerror or str(problem)
    if problem.errno in FULL:
        return NoSpaceError(f"{what}: {reason}; free some space and run the command again")
    if problem.errno in (errno.EACCES, errno.EPERM):
        return StoreError(f"{what}: {reason}; check the owner and mode of that directory")
    return StoreError(f"{what}: {reason}")


def _sync(descriptor: int) -> None:
    if hasattr(fcntl, "F_FULLFSYNC"):  # macOS: fsync alone stops at the drive's cache
        fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
    else:
        os.fsync(descriptor)


def write_all(descriptor: int, data: bytes) -> None:
    """Writes everything, over short writes."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def publish(path: str, data: str | bytes) -> None:
    """Replaces `path` by `data`, durably and in one step. Raises StoreError, the old file intact.

    An error of the directory's sync after the rename means "unknown": the new content is visible
    but may not survive a power cut. Publishing again is safe.
    """
    directory, name = os.path.split(path)
    try:
        folder = open_directory(directory)
    except OSError as problem:
        raise failure(problem, f"cannot write into {directory}") from problem
    try:
        publish_in(folder, name, data, path)
    finally:
        os.close(folder)


def publish_in(folder: int, name: str, data: str | bytes, path: str) -> None:
    """`publish` in an open directory; `path` is what the file is called in an error."""
    content = data.encode("utf-8", "replace") if isinstance(data, str) else data
    temporary = f"{TEMPORARY}{os.getpid()}-{os.urandom(6).hex()}"
    try:
        file = os.open(
            temporary,
            os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC,
            0o600,
            dir_fd=folder,
        )
    except OSError as problem:
        raise failure(problem, f"cannot write {path}") from problem
    try:
        try:
            os.fchmod(file, 0o600)  # whatever the umask took away
            write_all(file, content)
            _sync(file)
        finally:
            os.close(file)
        os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError as problem:
        os.unlink(temporary, dir_fd=folder)
        raise failure(problem, f"cannot write {path}") from problem
    try:
        os.fsync(folder)
    except OSError as problem:
        raise StoreError(
            f"{path} was replaced, but the disk did not confirm it ({problem.strerror}); "
            "it may be the old one after a power cut: run the command again"
        ) from problem


def publish_private(path: str, data: str | bytes) -> None:
    """`publish`, with the private directory of `path` made first. Raises StoreError."""
    private_directory(os.path.dirname(path))
    publish(path, data)


def append_line(path: str, line: bytes, limit: int) -> bool:
    """Adds one line durably; False when the file would pass `limit` bytes. Raises StoreError."""
    private_directory(os.path.dirname(path))
    try:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
        file = os.open(path, flags | os.O_CLOEXEC, 0o600)
        try:
            before = _private(file)
            if not stat.S_ISREG(before.st_mode):
                raise StoreError(f"{path} is no regular file; move it away")
            if before.st_size + len(line) + 1 > limit:
                return False
            try:
                write_all(file, line + b"\n")
            except OSError:
                os.ftruncate(file, before.st_size)  # half a line would spoil the next one
                raise
            os.fdatasync(file) if hasattr(os, "fdatasync") else _sync(file)
        finally:
            os.close(file)
    except OSError as problem:
        raise failure(problem, f"cannot write {path}") from problem
    return True


def _private(file: int) -> os.stat_result:
    """What a file of ours is, after taking back what the umask, or somebody, made of its mode."""
    found = os.fstat(file)
    mine = found.st_uid == os.geteuid()
    if stat.S_ISREG(found.st_mode) and mine and stat.S_IMODE(found.st_mode) != 0o600:
        os.fchmod(file, 0o600)
    return found


def open_directory(path: str, inside: int | None = None) -> int:
    """A descriptor of a directory that is no link; a name in the directory `inside`, if that is
    given. What is done through it stays in that directory whatever its name becomes. Raises OSError
    """
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.open(path, flags, dir_fd=inside)


def open_own(path: str, limit: int, inside: int | None = None) -> int:
    """A descriptor for reading a regular file of at most `limit` bytes that is no link.

    Raises OSError that says what lies there instead. Nothing is opened that opening could move.
    """
    _regular(os.stat(path, dir_fd=inside, follow_symlinks=False), path)
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    file = os.open(path, flags, dir_fd=inside)
    try:
        found = os.fstat(file)
        _regular(found, path)
        if found.st_size > limit:
            raise OSError(errno.E2BIG, f"it has {found.st_size} bytes, more than {limit}", path)
    except OSError:
        os.close(file)
        raise
    return file


def _regular(found: os.stat_result, path: str) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, f"it is {kind(found.st_mode)}", path)


def kind(mode: int) -> str:
    """What a file's mode says that it is, in words."""
    return next((name for test, name in KINDS if test(mode)), "a device")


def contents(file: int, limit: int) -> bytes:
    """The bytes of an open file, at most `limit`."""
    parts, left = [], limit
    while left and (more := os.read(file, min(left, BLOCK))):
        parts.append(more)
        left -= len(more)
    return b"".join(parts)


def read_own(path: str, limit: int) -> bytes:
    """A small file of ours, whole. Raises OSError, also for what is no regular file, or larger."""
    file = open_own(path, limit)
    try:
        return contents(file, limit)
    finally:
        os.close(file)


def tail(path: str, size: int) -> list[bytes]:
    """The whole lines among the last `size` bytes of a log of ours. Raises OSError."""
    file = open_own(path, 1 << 62)
    try:
        start = max(0, os.fstat(file).st_size - size)
        lines = os.pread(file, size, start).splitlines()
    finally:
        os.close(file)
    return lines[1:] if start else lines


def open_regular(path: str) -> int:
    """A descriptor for reading a regular file. Raises SourceError that says what is wrong.

    O_NONBLOCK: opening a FIFO that somebody planted must not hang.
    """
    try:
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise MissingSourceError(f"{path} does not exist; check the path") from None
    except OSError as problem:
        raise SourceError(f"{path} cannot be read: {problem.strerror}") from problem
    mode = os.fstat(file).st_mode
    if not stat.S_ISREG(mode):
        os.close(file)
        what = "a directory" if stat.S_ISDIR(mode) else "no regular file"
        raise SourceError(f"{path} is {what}; name the transcript file itself")
    return file


def read_regular(path: str, limit: int) -> bytes:
    """At most `limit` bytes of a host's file, which may be a link. Raises SourceError, OSError."""
    file = open_regular(path)
    try:
        return contents(file, limit)
    finally:
        os.close(file)


def unnamed(folder: str, pieces: "Iterable[bytes]") -> int:
    """A descriptor of a file that holds these bytes and has no name; `folder` is private and
    exists."""
    place = f"{folder}/{os.getpid()}-{os.urandom(6).hex()}"
    made = os.open(place, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    os.unlink(place)
    try:
        for piece in pieces:
            write_all(made, piece)
    except BaseException:
        os.close(made)
        raise
    return made


class Lock:
    """An exclusive lock of the kernel's, released when the process dies.

    Used as a context manager. Raises BusyError after `wait` seconds.
    """

    def __init__(self, path: str, wait: float) -> None:
        self._path = path
        self._wait = wait
        self._file = -1

    def __enter__(self) -> "Lock":
        try:
            self._file = os.open(
                self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600
            )
            _private(self._file)
        except OSError as problem:
            raise failure(problem, f"cannot lock {self._path}") from problem
        end = time.monotonic() + self._wait
        while True:
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return self
            except BlockingIOError:
                if time.monotonic() >= end:
                    os.close(self._file)
                    raise BusyError(
                        f"{self._path} is held by another process for more than {self._wait:g} s; "
                        "try again"
                    ) from None
                time.sleep(0.01)

    def __exit__(self, *_: object) -> None:
        os.close(self._file)
