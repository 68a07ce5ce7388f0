"""Whether a process lives: proven, disproven or not known; a pid alone proves nothing."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from swapcache.capture import process
from swapcache.model import Process


def me() -> Process:
    """The identity of this process."""
    found = process.identify(os.getpid())
    assert found is not None
    return found


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    """A child that waits until its input ends."""
    started = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    yield started
    started.kill()
    started.wait()
    assert started.stdin is not None
    started.stdin.close()


def test_the_own_process_lives() -> None:
    assert process.alive(me()) is True
    assert me().pid == os.getpid()
    assert me().boot
    assert me().namespace.startswith("pid:")


def test_a_pid_that_is_used_again_is_another_process() -> None:
    assert process.alive(me()._replace(started=me().started - 1)) is False


def test_a_process_of_another_boot_is_dead() -> None:
    other = "00000000-0000-0000-0000-000000000000"
    assert process.alive(me()._replace(boot=other)) is False


def test_a_process_of_another_namespace_is_not_known() -> None:
    assert process.alive(me()._replace(namespace="pid:[1]")) is None
    assert process.alive(me()._replace(namespace="")) is None


def test_a_process_of_another_boot_is_dead_in_any_namespace() -> None:
    assert process.alive(me()._replace(boot="another", namespace="pid:[1]")) is False


def test_without_an_identity_nothing_is_known() -> None:
    assert process.alive(None) is None
    assert process.alive(me()._replace(boot="")) is None


def test_a_child_lives_until_it_is_killed_and_reaped(child: subprocess.Popen[bytes]) -> None:
    known = process.identify(child.pid)
    assert process.alive(known) is True
    child.kill()
    child.wait()
    assert process.alive(known) is False
    assert process.identify(child.pid) is None


def test_a_zombie_counts_as_dead(child: subprocess.Popen[bytes]) -> None:
    known = process.identify(child.pid)
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert Path(f"/proc/{child.pid}/stat").exists(), "it is not reaped yet"
    assert process.alive(known) is False
    assert process.identify(child.pid) is None


def test_a_stopped_process_lives(child: subprocess.Popen[bytes]) -> None:
    known = process.identify(child.pid)
    child.send_signal(19)
    os.waitid(os.P_PID, child.pid, os.WSTOPPED | os.WNOWAIT)
    assert process.alive(known) is True


@pytest.mark.parametrize("name", ["x) Z 1 (y", "a b", "((("])
def test_a_name_that_imitates_the_status_line_does_not_mislead(tmp_path: Path, name: str) -> None:
    cat = shutil.which("cat")
    assert cat is not None
    shutil.copy(os.path.realpath(cat), tmp_path / name)
    with subprocess.Popen([tmp_path / name], stdin=subprocess.PIPE) as started:
        deadline = time.monotonic() + 10
        while Path(f"/proc/{started.pid}/comm").read_text() != f"{name}\n":
            assert time.monotonic() < deadline
        known = process.identify(started.pid)
        assert known is not None
        assert known.started >= me().started
        assert process.alive(known) is True
        started.kill()


def test_no_process_has_pid_zero_or_a_free_pid() -> None:
    assert process.identify(0) is None
    with open("/proc/sys/kernel/pid_max", encoding="ascii") as file:
        assert process.identify(int(file.read()) + 1) is None


ASK = (
    "import json; from swapcache.capture import process; owner, above = process.host();"
    "print(json.dumps([owner, above]))"
)


def asked(*command: str) -> tuple[Process, list[Process]]:
    """What a program started like this says about its host."""
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    owner, above = json.loads(done.stdout)
    return Process(*owner), [Process(*one) for one in above]


def test_the_host_is_the_process_that_started_this_one() -> None:
    owner, above = asked(sys.executable, "-c", ASK)
    assert owner == me()
    assert owner not in above
    assert [p.pid for p in above[:1]] == ([os.getppid()] if os.getppid() > 0 else [])


@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_shells_between_the_host_and_this_one_are_passed_over(shell: str) -> None:
    line = f"{sys.executable} -c '{ASK}'; true"
    owner, _ = asked(shell, "-c", f"{shell} -c {json.dumps(line)}; true")
    assert owner == me()
