"""Durable publishing, appending, opening and locking on a real file system."""

import errno
import os
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from swapcache.errors import BusyError, NoSpaceError, SourceError, StoreError
from swapcache.store import files
from tests.unit.store.making import child, line, mode, rest


@pytest.fixture
def place(tmp_path: Path) -> Path:
    made = tmp_path / "place"
    made.mkdir()
    return made


@pytest.fixture
def open_umask() -> Iterator[None]:
    """A umask that takes nothing away."""
    before = os.umask(0)
    yield
    os.umask(before)


def leftovers(directory: Path) -> list[str]:
    return [name for name in os.listdir(directory) if name.startswith(files.TEMPORARY)]


# -- publish ---------------------------------------------------------------------------------------


@pytest.mark.usefixtures("open_umask")
def test_publish_makes_a_file_that_only_its_owner_can_read(place: Path) -> None:
    files.publish(str(place / "a"), "grüß\n")
    assert (place / "a").read_bytes() == "grüß\n".encode()
    assert mode(place / "a") == 0o600
    assert os.listdir(place) == ["a"]


@pytest.mark.usefixtures("open_umask")
def test_publish_tightens_a_file_that_was_open_to_all(place: Path) -> None:
    (place / "a").write_text("old")
    os.chmod(place / "a", 0o666)
    files.publish(str(place / "a"), b"new")
    assert mode(place / "a") == 0o600


def test_publish_takes_bytes_as_they_are_and_text_with_a_lone_surrogate(place: Path) -> None:
    files.publish(str(place / "bytes"), b"\xff\x00\r\n")
    files.publish(str(place / "text"), "a\ud800b")
    assert (place / "bytes").read_bytes() == b"\xff\x00\r\n"
    assert (place / "text").read_text(encoding="utf-8") == "a?b"


def test_publish_never_writes_in_place(place: Path) -> None:
    target, other_name = place / "a", place / "hard"
    target.write_text("old")
    os.link(target, other_name)
    files.publish(str(target), "new")
    assert target.read_text() == "new"
    assert other_name.read_text() == "old"


def test_publish_replaces_a_symlink_and_leaves_its_target_alone(place: Path) -> None:
    victim, target = place / "victim", place / "a"
    victim.write_text("precious")
    target.symlink_to(victim)
    files.publish(str(target), "new")
    assert victim.read_text() == "precious"
    assert not target.is_symlink()
    assert target.read_text() == "new"


def test_publish_refuses_a_directory_that_is_a_symlink(place: Path, tmp_path: Path) -> None:
    (place / "a").write_text("old")
    (tmp_path / "link").symlink_to(place)
    with pytest.raises(StoreError, match="link"):
        files.publish(str(tmp_path / "link/a"), "new")
    assert (place / "a").read_text() == "old"
    assert os.listdir(place) == ["a"]


def test_publish_into_a_directory_that_is_gone_leaves_the_old_file_as_it_was(
    place: Path, tmp_path: Path
) -> None:
    files.publish(str(place / "a"), "old")
    place.rename(tmp_path / "moved")
    with pytest.raises(StoreError, match="cannot write into"):
        files.publish(str(place / "a"), "new")
    assert (tmp_path / "moved/a").read_text() == "old"
    assert not place.exists()


def test_publish_below_a_regular_file_is_a_store_error(place: Path) -> None:
    (place / "file").write_text("x")
    with pytest.raises(StoreError, match="cannot write into"):
        files.publish(str(place / "file/a"), "new")


def test_publish_over_a_directory_fails_and_leaves_nothing_behind(place: Path) -> None:
    (place / "a").mkdir()
    with pytest.raises(StoreError, match="cannot write"):
        files.publish(str(place / "a"), "new")
    assert os.listdir(place) == ["a"]


PUBLISH_LIMITED = """
import resource, sys
from swapcache.errors import NoSpaceError
from swapcache.store import files
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    files.publish(sys.argv[1], b"n" * 5000)
except NoSpaceError as problem:
    print(problem)
"""


def test_publish_that_runs_out_of_space_says_so_and_keeps_the_old_file(place: Path) -> None:
    target = place / "a"
    target.write_text("old")
    with child(PUBLISH_LIMITED, str(target)) as process:
        (message,) = rest(process)
    assert str(target) in message
    assert "free some space" in message
    assert target.read_text() == "old"
    assert leftovers(place) == []


PUBLISH_FOR_EVER = """
import sys
from swapcache.store import files
print("begun", flush=True)
for number in range(1 << 30):
    files.publish(sys.argv[1], b"%d" % (number % 10) * 50000)
"""


def test_a_reader_sees_only_whole_files_even_when_the_publisher_is_killed(place: Path) -> None:
    target = place / "a"
    files.publish(str(target), b"9" * 50000)
    seen = set()
    for _ in range(4):
        with child(PUBLISH_FOR_EVER, str(target)) as process:
            assert line(process) == "begun"
            end = time.monotonic() + 0.15
            while time.monotonic() < end:
                content = target.read_bytes()
                assert len(content) == 50000
                assert len(set(content)) == 1
                seen.add(content[:1])
        content = target.read_bytes()
        assert (len(content), len(set(content))) == (50000, 1)
    assert len(seen) > 1, "the publisher never got to write"


# -- append_line -----------------------------------------------------------------------------------


@pytest.mark.usefixtures("open_umask")
def test_append_line_makes_private_parents_and_keeps_every_line_in_order(place: Path) -> None:
    log = place / "x/y/log"
    assert files.append_line(str(log), b"one", 1000)
    assert files.append_line(str(log), "zwö".encode(), 1000)
    assert log.read_bytes() == "one\nzwö\n".encode()
    assert mode(log) == 0o600
    assert [mode(place / "x"), mode(place / "x/y")] == [0o700, 0o700]


def test_append_line_stops_at_the_limit_and_leaves_the_file_alone(place: Path) -> None:
    log = place / "log"
    assert files.append_line(str(log), b"x" * 50, 100)
    assert files.append_line(str(log), b"y" * 50, 100) is False
    assert log.read_bytes() == b"x" * 50 + b"\n"


def test_append_line_does_not_write_through_a_symlink(place: Path) -> None:
    (place / "victim").write_text("precious")
    (place / "log").symlink_to(place / "victim")
    with pytest.raises(StoreError, match="log"):
        files.append_line(str(place / "log"), b"one", 1000)
    assert (place / "victim").read_text() == "precious"


def test_append_line_to_a_device_is_refused() -> None:
    with pytest.raises(StoreError, match="no regular file"):
        files.append_line("/dev/full", b"one", 1000)


# -- open_regular ----------------------------------------------------------------------------------


def test_open_regular_reads_a_regular_file(place: Path) -> None:
    (place / "a").write_bytes(b"content")
    descriptor = files.open_regular(str(place / "a"))
    try:
        assert os.read(descriptor, 100) == b"content"
        assert not os.get_inheritable(descriptor)
    finally:
        os.close(descriptor)


def test_open_regular_says_that_a_file_is_missing(place: Path) -> None:
    with pytest.raises(SourceError, match="nowhere does not exist"):
        files.open_regular(str(place / "nowhere"))


def test_open_regular_refuses_a_directory(place: Path) -> None:
    with pytest.raises(SourceError, match="is a directory"):
        files.open_regular(str(place))


def test_open_regular_refuses_a_device() -> None:
    with pytest.raises(SourceError, match="no regular file"):
        files.open_regular("/dev/null")


def test_open_regular_refuses_a_name_below_a_file(place: Path) -> None:
    (place / "a").write_text("x")
    with pytest.raises(SourceError, match="cannot be read"):
        files.open_regular(str(place / "a/b"))


def test_open_regular_does_not_hang_on_a_fifo(place: Path) -> None:
    os.mkfifo(place / "fifo")
    code = (
        "import sys\nfrom swapcache.errors import SourceError\nfrom swapcache.store import files\n"
        "try:\n    files.open_regular(sys.argv[1])\n"
        "except SourceError as problem:\n    print(problem)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(place / "fifo")],
        timeout=20,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "no regular file" in done.stdout


def test_open_regular_leaves_no_descriptor_open_when_it_refuses(place: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(20):
        with pytest.raises(SourceError):
            files.open_regular(str(place))
    assert len(os.listdir("/proc/self/fd")) == before


# -- read_own, tail --------------------------------------------------------------------------------


def test_a_file_of_ours_is_read_whole(place: Path) -> None:
    data = os.urandom(3 << 20)
    (place / "a").write_bytes(data)
    assert files.read_own(str(place / "a"), 4 << 20) == data
    with pytest.raises(OSError, match="more than 100"):
        files.read_own(str(place / "a"), 100)
    with pytest.raises(FileNotFoundError):
        files.read_own(str(place / "b"), 100)


@pytest.mark.parametrize(
    ("plant", "what"),
    [
        (lambda path: path.symlink_to(path.with_name("real")), "a symbolic link"),
        (lambda path: path.mkdir(), "a directory"),
        (os.mkfifo, "a FIFO"),
        (lambda path: os.mknod(path, 0o600 | stat.S_IFSOCK), "a socket"),
    ],
)
@pytest.mark.parametrize("read", [lambda p: files.read_own(p, 100), lambda p: files.tail(p, 100)])
def test_what_lies_in_the_place_of_a_file_of_ours_is_named_and_not_waited_for(
    place: Path, plant: Callable[[Path], object], what: str, read: Callable[[str], object]
) -> None:
    (place / "real").write_text("x")
    plant(place / "a")
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(OSError, match=f"it is {what}"):
        read(str(place / "a"))
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_link_that_comes_between_looking_and_opening_is_not_followed(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place / "real").write_text("secret")
    (place / "a").write_text("mine")
    real = os.stat

    def looked(*given: Any, **more: Any) -> os.stat_result:
        found = real(*given, **more)
        (place / "a").unlink(missing_ok=True)
        os.symlink(place / "real", place / "a")
        return found

    with monkeypatch.context() as patch:
        patch.setattr(os, "stat", looked)
        with pytest.raises(OSError, match="symbolic"):
            files.read_own(str(place / "a"), 100)


def test_the_last_whole_lines_of_a_log(place: Path) -> None:
    log = place / "log"
    log.write_bytes(b"first\nsecond\nthird\n")
    assert files.tail(str(log), 100) == [b"first", b"second", b"third"]
    assert files.tail(str(log), 10) == [b"third"]
    log.write_bytes(b"")
    assert files.tail(str(log), 10) == []


# -- the umask -------------------------------------------------------------------------------------


@pytest.mark.parametrize("mask", [0, 0o27, 0o777])
def test_everything_is_private_whatever_the_umask(place: Path, mask: int) -> None:
    before = os.umask(mask)
    try:
        files.private_directory(str(place / "a/b"))
        files.publish(str(place / "a/b/file"), "x")
        files.append_line(str(place / "a/b/log"), b"x", 100)
        with files.Lock(str(place / "a/b/lock"), 1):
            pass
    finally:
        os.umask(before)
    assert [mode(place / "a"), mode(place / "a/b")] == [0o700] * 2
    assert [mode(place / "a/b" / name) for name in ("file", "log", "lock")] == [0o600] * 3


def test_a_log_that_others_could_read_is_private_from_its_next_line_on(place: Path) -> None:
    (place / "log").write_text("old\n")
    (place / "log").chmod(0o644)
    files.append_line(str(place / "log"), b"new", 100)
    assert mode(place / "log") == 0o600


# -- private_directory -----------------------------------------------------------------------------


@pytest.mark.usefixtures("open_umask")
def test_private_directory_makes_all_missing_parents_private(place: Path) -> None:
    files.private_directory(str(place / "a/b/c"))
    assert [mode(place / part) for part in ("a", "a/b", "a/b/c")] == [0o700] * 3
    files.private_directory(str(place / "a/b/c"))


@pytest.mark.parametrize("wanted", ["file", "file/below"])
def test_private_directory_names_the_file_that_is_in_the_way(place: Path, wanted: str) -> None:
    (place / "file").write_text("x")
    with pytest.raises(StoreError, match="file"):
        files.private_directory(str(place / wanted))
    assert (place / "file").read_text() == "x"


# -- failure ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG])
def test_a_full_or_read_only_disk_is_a_no_space_error_with_advice(number: int) -> None:
    made = files.failure(OSError(number, os.strerror(number)), "cannot write /x")
    assert isinstance(made, NoSpaceError)
    assert "cannot write /x" in str(made)
    assert os.strerror(number) in str(made)
    assert "free some space" in str(made)


@pytest.mark.parametrize("number", [errno.EACCES, errno.EPERM])
def test_a_lack_of_permission_points_at_owner_and_mode(number: int) -> None:
    made = files.failure(OSError(number, os.strerror(number)), "cannot write /x")
    assert type(made) is StoreError
    assert "owner and mode" in str(made)


# -- Lock ------------------------------------------------------------------------------------------

HOLD = """
import sys
from swapcache.store.files import Lock
with Lock(sys.argv[1], 5):
    print("held", flush=True)
    sys.stdin.readline()
print("released", flush=True)
"""


def test_a_lock_held_elsewhere_is_waited_for_and_then_a_busy_error(place: Path) -> None:
    path = str(place / "lock")
    with child(HOLD, path) as holder:
        assert line(holder) == "held"
        start = time.monotonic()
        with (
            pytest.raises(BusyError, match=r"lock is held by another process"),
            files.Lock(path, 0.3),
        ):
            pytest.fail("the lock was given twice")
        assert 0.3 <= time.monotonic() - start < 5


def test_a_lock_is_had_as_soon_as_its_holder_lets_go(place: Path) -> None:
    path = str(place / "lock")
    with child(HOLD, path) as holder:
        assert line(holder) == "held"
        rest_of_holder = holder.communicate("\n", timeout=20)[0]
        with files.Lock(path, 5):
            assert rest_of_holder.strip() == "released"


def test_a_lock_dies_with_a_holder_that_is_killed(place: Path) -> None:
    path = str(place / "lock")
    with child(HOLD, path) as holder:
        assert line(holder) == "held"
        holder.kill()
        holder.wait(20)
        with files.Lock(path, 0):
            assert holder.returncode == -9


def test_a_lock_excludes_inside_one_process_too_and_ends_with_an_exception(place: Path) -> None:
    path = str(place / "lock")
    with pytest.raises(ZeroDivisionError), files.Lock(path, 0):
        with pytest.raises(BusyError), files.Lock(path, 0):
            pytest.fail("the lock was given twice")
        raise ZeroDivisionError
    with files.Lock(path, 0):
        assert mode(path) == 0o600


def test_a_busy_lock_leaks_no_descriptor(place: Path) -> None:
    path = str(place / "lock")
    with files.Lock(path, 0):
        before = len(os.listdir("/proc/self/fd"))
        for _ in range(20):
            with pytest.raises(BusyError), files.Lock(path, 0):
                pytest.fail("the lock was given twice")
        assert len(os.listdir("/proc/self/fd")) == before


def test_a_lock_is_not_taken_through_a_symlink(place: Path) -> None:
    (place / "victim").write_text("x")
    (place / "lock").symlink_to(place / "victim")
    with pytest.raises(StoreError, match="cannot lock"), files.Lock(str(place / "lock"), 0):
        pytest.fail("the lock was taken through a link")


def test_a_lock_in_a_directory_that_is_missing_is_a_store_error(place: Path) -> None:
    with pytest.raises(StoreError, match="cannot lock"), files.Lock(str(place / "no/lock"), 0):
        pytest.fail("the lock was taken nowhere")
