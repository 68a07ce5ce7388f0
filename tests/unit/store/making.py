"""Stores, identities and child processes for the tests of this directory."""

import os
import signal
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from swapcache import paths
from swapcache.model import Identity, NewRecord
from swapcache.store import identity
from swapcache.store.opening import open_store
from swapcache.store.store import Store

HOST = "claude-code"


def owner(home: Path, name: str = "project", agent: str = "default") -> Identity:
    """The identity of an agent in a workspace below `home`, which is made."""
    workspace = home / name
    (workspace / ".git").mkdir(parents=True, exist_ok=True)
    return identity.identify(HOST, str(home / ".host"), str(workspace), agent)


@contextmanager
def opened(store_id: str, wait: float = 2.0, *, read_only: bool = False) -> Iterator[Store]:
    """An existing store, closed at the end."""
    store = Store(store_id, wait, read_only=read_only)
    try:
        yield store
    finally:
        store.close()


@contextmanager
def begun(who: Identity, wait: float = 2.0) -> Iterator[Store]:
    """The store of an identity, made if need be and closed at the end."""
    store = open_store(who, wait)
    try:
        yield store
    finally:
        store.close()


def body(number: int) -> bytes:
    """What `filled` puts into record `number`."""
    return f'{{"row":{number},"text":"Zeile {number} äöü"}}'.encode()


def add(store: Store, *bodies: bytes, **meta: object) -> int:
    """Appends records in one transaction; gives the first one's number."""
    with store.writing() as writer:
        return writer.append(NewRecord(one, {"kind": "row", **meta}) for one in bodies)


def filled(who: Identity, newest: int) -> str:
    """A closed store whose records 1..newest were added one transaction each; gives its id."""
    with begun(who) as store:
        for number in range(1, newest + 1):
            assert add(store, body(number), at=number) == number
        return store.id


def database_path(store_id: str) -> Path:
    """The database file of a store."""
    return Path(paths.database(paths.store_dir(store_id)))


@contextmanager
def raw(store_id: str) -> Iterator[sqlite3.Connection]:
    """The database as an attacker sees it; what was changed is committed."""
    db = sqlite3.connect(database_path(store_id))
    try:
        yield db
        db.commit()
    finally:
        db.close()


def dump(store_id: str) -> list[str]:
    """Every row of a store's database, as text."""
    with raw(store_id) as db:
        return list(db.iterdump())


def mode(path: str | Path) -> int:
    """Permission bits."""
    return stat.S_IMODE(os.lstat(path).st_mode)


@contextmanager
def child(code: str, *arguments: str) -> Iterator["subprocess.Popen[str]"]:
    """A Python process that runs `code`; killed at the end if it still runs."""
    with subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)


def line(process: "subprocess.Popen[str]") -> str:
    """The next line that a child prints."""
    assert process.stdout is not None
    return process.stdout.readline().strip()


def rest(process: "subprocess.Popen[str]", seconds: float = 60) -> list[str]:
    """Everything that a child still prints until it ends, which must be well."""
    output, _ = process.communicate(timeout=seconds)
    assert process.returncode == 0, output
    return output.splitlines()


def at_once(count: int, code: str, *arguments: str) -> set[str]:
    """The different lines that `together` gives."""
    return set(together(count, code, *arguments))


def together(count: int, code: str, *arguments: str) -> list[str]:
    """Lets `count` children, each of which printed "ready", go on together; their next lines."""
    with ExitStack() as stack:
        processes = [stack.enter_context(child(code, *arguments)) for _ in range(count)]
        for process in processes:
            assert line(process) == "ready"
        for process in processes:
            assert process.stdin is not None
            process.stdin.write("\n")
            process.stdin.flush()
        return [rest(process)[0] for process in processes]
