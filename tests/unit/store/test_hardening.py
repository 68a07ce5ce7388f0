"""What a store must survive: tampering of any type, lost directories, odd paths, busy writers."""

import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from swapcache import config, paths
from swapcache.errors import ConfigError, NoSpaceError, SealError
from swapcache.model import Event
from swapcache.store import database, files, identity, sessions, witness
from swapcache.store.opening import open_store
from swapcache.store.store import Store
from tests.unit.store.making import add, filled, opened, owner, raw

TAMPERING = (
    "UPDATE head SET mac = 'Ä'",
    "UPDATE head SET seq = 'abc'",
    "UPDATE head SET tag = x'00'",
    "UPDATE record SET tag = 'text' WHERE seq = 2",
    "UPDATE record SET sha = 'text' WHERE seq = 2",
    "UPDATE record SET meta = x'00ff' WHERE seq = 2",
    "UPDATE record SET start = 'text' WHERE seq = 2",
    "UPDATE chunk SET data = 'text'",
    "UPDATE chunk SET data = NULL",
)


@pytest.mark.parametrize("change", TAMPERING)
def test_values_of_another_type_are_a_verdict_and_no_crash(home: Path, change: str) -> None:
    store_id = filled(owner(home), 4)
    with raw(store_id) as db:
        try:
            db.execute(change)
        except Exception as refused:
            assert "constraint" in str(refused)
            return
    with opened(store_id) as store:
        assert store.verify().name in ("MODIFIED", "PREFIX")
        assert not store.verify().good


def test_damaged_pages_are_a_verdict_or_a_clear_error(home: Path) -> None:
    store_id = filled(owner(home), 40)
    path = paths.database(paths.store_dir(store_id))
    whole = Path(path).read_bytes()
    for page in range(1, len(whole) // 4096):
        hurt = whole[: page * 4096] + os.urandom(4096) + whole[(page + 1) * 4096 :]
        Path(path).write_bytes(hurt)
        try:
            store = Store(store_id)
        except Exception as refused:
            assert type(refused).__module__ == "swapcache.errors", page
            continue
        try:
            store.check()
            assert not store.verify().good or page > 0
        finally:
            store.close()
    Path(path).write_bytes(whole)
    with opened(store_id) as store:
        assert store.verify().good


def test_checks_beside_a_writer_give_no_false_verdict(home: Path) -> None:
    store_id = filled(owner(home), 1)
    code = (
        "import sys; from tests.unit.store.making import add, opened\n"
        "with opened(sys.argv[1]) as store:\n"
        "    for n in range(300): add(store, b'row')\n"
    )
    writer = subprocess.Popen([sys.executable, "-c", code, store_id])
    false = checks = 0
    with opened(store_id) as store:
        while writer.poll() is None:
            checks += 1
            false += not store.check().good
    assert writer.returncode == 0 and checks > 50
    assert false == 0


def test_a_store_whose_maker_was_killed_gets_its_first_record(home: Path) -> None:
    who = owner(home)
    store_id = filled(who, 3)
    shutil.rmtree(paths.store_dir(store_id))
    other = filled(owner(home, agent="other"), 1)
    assert other != store_id
    made = identity.free_id(who)
    files.private_directory(paths.store_dir(made))
    identity.claim(made, who)
    row = ("u-1", identity_key(), *who, "2026-11-30T12:00:00+00:00")
    database.create(paths.store_dir(made), row)
    store = open_store(who)
    first = store.record(0)
    assert first is not None and first[1] and first[0].meta["gap"]["seq"] == 3
    assert store.verify().good
    store.close()


def identity_key() -> str:
    """Id of the key of this home."""
    import hashlib

    return hashlib.sha256(Path(paths.key_file()).read_bytes()).hexdigest()[:8]


def test_an_empty_transaction_on_an_empty_store_writes_no_witness(home: Path) -> None:
    store_id = filled(owner(home), 1)
    with raw(store_id) as db:
        db.executescript("DELETE FROM record; DELETE FROM head; DELETE FROM chunk")
    os.unlink(paths.witness_file(store_id))
    with opened(store_id) as store:
        with store.writing():
            pass
        assert not os.path.exists(paths.witness_file(store_id))


def test_a_lost_witness_directory_is_said_and_mended(home: Path) -> None:
    store_id = filled(owner(home), 2)
    shutil.rmtree(paths.witness_dir())
    with opened(store_id) as store:
        with pytest.raises(SealError, match="GAP"):
            add(store, b"row")
        assert store.renew_witness().good
        add(store, b"row")
        assert store.verify().good


@pytest.mark.parametrize("kind", ["directory", "fifo", "infinity"])
def test_anything_in_the_witness_place_is_a_verdict(home: Path, kind: str) -> None:
    store_id = filled(owner(home), 2)
    path = paths.witness_file(store_id)
    os.unlink(path)
    if kind == "directory":
        os.mkdir(path)
    elif kind == "fifo":
        os.mkfifo(path)
    else:
        line = b'{"epoch":0,"mac":"x","seq":1e999,"store":"s","tag":"t","v":1}'
        Path(path).write_bytes(line.ljust(witness.SLOT))
    with opened(store_id) as store:
        assert store.check().name == "GAP"


def test_one_agents_database_in_anothers_place_does_not_verify(home: Path) -> None:
    mine, theirs = filled(owner(home), 3), filled(owner(home, agent="other"), 3)
    shutil.copy(paths.database(paths.store_dir(theirs)), paths.database(paths.store_dir(mine)))
    shutil.copy(paths.witness_file(theirs), paths.witness_file(mine))
    with opened(mine) as store:
        assert not store.verify().good and not store.renew_witness().good


def test_a_workspace_whose_name_is_no_utf8(home: Path) -> None:
    place = os.fsdecode(os.fsencode(str(home)) + b"/caf\xe9")
    os.mkdir(place)
    os.mkdir(f"{place}/.git")
    who = identity.identify("claude-code", str(home), place)
    store = open_store(who)
    event = Event("claude-code", "prompt", who, "s", "s", f"{place}/t.jsonl")
    with store.writing():
        made = sessions.add_session(store.db, "s", "s", None, "2026-11-30T12:00:00+00:00")
        sessions.add_source(store.db, made.number, event.transcript, 0)
    assert sessions.sources(store.db, made.number)[0].path == event.transcript
    assert store.identity.workspace == place
    store.close()
    assert identity.find(who) == store.id


def test_half_a_line_is_taken_back(home: Path) -> None:
    import resource

    path = str(home / "log")
    assert files.append_line(path, b"one", 1 << 20)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        with pytest.raises(NoSpaceError):
            files.append_line(path, b"x" * 500, 1 << 20)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert files.append_line(path, b"two", 1 << 20)
    assert Path(path).read_bytes() == b"one\ntwo\n"


def test_a_configuration_that_is_no_utf8_is_named(home: Path) -> None:
    folder = Path(paths.config_dir())
    folder.mkdir(parents=True)
    (folder / "config.toml").write_bytes(b"[wake]\nbudget = 700 # \xff\n")
    with pytest.raises(ConfigError, match=r"config\.toml"):
        config.load(lambda path, text: None)


def test_threads_of_one_process_may_open_the_same_new_store(home: Path) -> None:
    who, found, failed = owner(home), [], []

    def go() -> None:
        try:
            store = open_store(who)
            found.append(store.id)
            store.close()
        except Exception as problem:
            failed.append(problem)

    threads = [threading.Thread(target=go) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed and len(set(found)) == 1
