"""Durable files and locks.

Owns every write outside the databases. Promises that a published file is whole and on the disk when
`publish` returns, that nothing is written through a link somebody planted, and that everything is
0600 in 0700 directories whatever the umask. Never retries fsync on a descriptor that failed once:
the kernel may have dropped the dirty pages (docs/store-format.md, durability).
"""

import errno
import fcntl
import os
import stat
import time

from swapcache.errors import BusyError, MissingSourceError, NoSpaceError, SourceError, StoreError

TEMPORARY = ".swapcache-tmp-"
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG)


def private_directory(path: str) -> None:
    """Creates `path` and its missing parents with mode 0700. Raises StoreError if it cannot."""
    if os.path.isdir(path):
        return
    parent = os.path.dirname(path)
    if parent != path:
        private_directory(parent)
    try:
        os.mkdir(path, 0o700)
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
    content = data.encode("utf-8", "replace") if isinstance(data, str) else data
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    temporary = f"{TEMPORARY}{os.getpid()}-{os.urandom(6).hex()}"
    try:
        folder = os.open(directory, flags)
    except OSError as problem:
        raise failure(problem, f"cannot write into {directory}") from problem
    try:
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
    finally:
        os.close(folder)


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
            before = os.fstat(file)
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
        kind = "a directory" if stat.S_ISDIR(mode) else "no regular file"
        raise SourceError(f"{path} is {kind}; name the transcript file itself")
    return file


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
