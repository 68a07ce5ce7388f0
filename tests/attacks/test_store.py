"""Attacks on the store, its slots, its witness and its key, by somebody without the key."""

import json
import os
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from swapcache import paths
from swapcache.store import seal
from tests.attacks.conftest import ROWS
from tests.attacks.world import CANARY, DIALOGUE, MARK, OWN, THEIRS, World

Act = Callable[[World], object]
EN, ZH = CANARY["en"], CANARY["zh"]


def state_item(kind: str) -> str:
    return json.dumps([kind, "k", EN, "open", "owner", 1, "2026-11-30T12:00:00Z", True])


def plant_state(world: World) -> None:
    """A task is put into the folded state."""
    with world.database() as db:
        for number, body in db.execute("SELECT session, body FROM state").fetchall():
            value = json.loads(body)
            value["items"].append(json.loads(state_item("task")))
            db.execute("UPDATE state SET body=? WHERE session=?", (json.dumps(value), number))


def plant_prompt(world: World) -> None:
    """A prompt that nobody gave is put among what no transcript holds yet."""
    waiting = json.dumps({"prompt": {"text": EN, "wall": "2026-11-30T12:00:00Z"}})
    world.sql(f"UPDATE state SET provisional='{waiting}'")


def borrow_state(world: World) -> None:
    """The other workspace's folded state is put in place of ours."""
    with world.database(world.other) as db:
        row = db.execute("SELECT seq, tag, body, provisional, mac FROM state").fetchone()
    with world.database() as db:
        db.execute("UPDATE state SET seq=?, tag=?, body=?, provisional=?, mac=?", row)


def foreign_record(world: World, meta: str = "") -> None:
    """A record behind the newest one, with the head moved, sealed by a key of the attacker's."""
    with world.database() as db:
        seq, tag = db.execute("SELECT seq, tag FROM head").fetchone()
        (uuid,) = db.execute("SELECT uuid FROM store").fetchone()
        keys = seal.derive(os.urandom(32), "default", uuid, world.store)
        body = json.dumps({"role": "user", "content": EN}).encode()
        meta = meta or json.dumps({"kind": "raw", "origin": "owner"})
        fresh = keys.tag(seq + 1, seal.sha256(body), meta, tag)
        import zlib

        db.execute("INSERT INTO chunk VALUES (9999, ?)", (zlib.compress(body),))
        row = (seq + 1, 9999, 0, len(body), bytes.fromhex(seal.sha256(body)), meta)
        db.execute(
            "INSERT INTO record VALUES (?,?,?,?,?,?,?,NULL,NULL)", (*row, bytes.fromhex(fresh))
        )
        mac = keys.head_mac(seq + 1, fresh)
        db.execute("UPDATE head SET seq=?, tag=?, mac=?", (seq + 1, fresh, mac))


def forged_adoption(world: World) -> None:
    """The chain is edited and a record says that the owner adopted it."""
    world.rewrite(OWN, EN)
    owner = {"workspace": str(world.mine), "agent": "default"}
    said = {"event": "adopt", "kind": "trust", "origin": "owner", "owner": owner, "proven": True}
    foreign_record(world, json.dumps(said))


def forged_forgetting(world: World) -> None:
    """A record is edited and another one says that a text was taken out of it."""
    world.rewrite(OWN, EN)
    foreign_record(world, json.dumps({"event": "forget", "kind": "trust", "count": 1}))


def forged_binding(world: World) -> None:
    """A record says that the other workspace's store belongs to ours."""
    with world.database() as db:
        owner = {"workspace": str(world.theirs)}
        db.execute(
            "UPDATE record SET meta=json_set(meta, '$.owner', json(?)) WHERE seq=0",
            (json.dumps(owner),),
        )


def another_database(world: World) -> None:
    """The whole database is replaced by one of the attacker's installation."""
    there = world.home / "attacker"
    os.environ["SWAPCACHE_HOME"], kept = str(there), os.environ["SWAPCACHE_HOME"]
    try:
        from swapcache.store import identity
        from swapcache.store.opening import open_store

        whose = identity.identify("claude-code", f"{world.home}/.claude", str(world.mine))
        store = open_store(whose)
        store.close()
        made = paths.database(paths.store_dir(store.id))
    finally:
        os.environ["SWAPCACHE_HOME"] = kept
    target = paths.database(paths.store_dir(world.store))
    for end in ("-wal", "-shm"):
        Path(target + end).unlink(missing_ok=True)
    shutil.copy(made, target)


def receipt_of_another_record(world: World) -> None:
    """The row that names what this session was shown names a record with other words."""
    world.next()
    world.sql("UPDATE receipt SET seq=1")


def swap_owner_files(world: World) -> None:
    folders = paths.store_dir(world.store), paths.store_dir(world.other)
    world.swap(*(paths.owner_file(folder) for folder in folders))


def swap_owner_rows(world: World) -> None:
    swap_owner_files(world)
    world.sql(f"UPDATE store SET workspace='{world.theirs}'")
    world.sql(f"UPDATE store SET workspace='{world.mine}'", store=world.other)


def swap_directories(world: World) -> None:
    world.swap(paths.store_dir(world.store), paths.store_dir(world.other))


def swap_records(world: World) -> None:
    """The other store's newest record is put in place of our newest one."""
    with world.database(world.other) as db:
        row = db.execute(
            "SELECT sha, meta, tag, c.data, start, size FROM record r JOIN chunk c ON c.id=r.chunk"
            " WHERE seq=1"
        ).fetchone()
    with world.database() as db:
        sha, meta, tag, data, start, size = row
        db.execute("INSERT INTO chunk VALUES (8888, ?)", (data,))
        db.execute(
            "UPDATE record SET sha=?, meta=?, tag=?, chunk=8888, start=?, size=? WHERE seq=1",
            (sha, meta, tag, start, size),
        )


def rolled_back(world: World, *, witness: bool = False) -> None:
    restore = world.copy("older", witness=witness)
    world.go_on()
    restore()


def witness_of_the_other(world: World) -> None:
    shutil.copy(paths.witness_file(world.other), paths.witness_file(world.store))


def witness_ahead(world: World) -> None:
    """A slot of the witness claims more than there is, without the key."""
    slot = {"v": 1, "seq": 99999, "tag": "0" * 64, "epoch": 0, "mac": "0" * 64, "store": ""}
    path = Path(paths.witness_file(world.store))
    path.write_bytes(json.dumps(slot).encode().ljust(511) + b"\n" + path.read_bytes()[512:])


def torn_witness(world: World) -> None:
    path = Path(paths.witness_file(world.store))
    raw = path.read_bytes()
    newest = max(
        (0, 1),
        key=lambda i: (
            json.loads(raw[i * 512 : (i + 1) * 512] or b'{"seq":-1}')["seq"]
            if raw[i * 512 : (i + 1) * 512].strip()
            else -1
        ),
    )
    torn = bytearray(raw)
    torn[(1 - newest) * 512 : (1 - newest) * 512 + 100] = b"\0" * 100
    path.write_bytes(bytes(torn))


def link_at_witness(world: World) -> None:
    path = Path(paths.witness_file(world.store))
    victim = world.home / "victim"
    victim.write_bytes(path.read_bytes())
    path.unlink()
    path.symlink_to(victim)


def plain_key(world: World) -> Path:
    return Path(paths.key_file())


def key_link(world: World) -> None:
    plain_key(world).rename(world.home / "key")
    plain_key(world).symlink_to(world.home / "key")


def key_pipe(world: World) -> None:
    plain_key(world).unlink()
    os.mkfifo(plain_key(world), 0o600)


def key_directory(world: World) -> None:
    plain_key(world).unlink()
    plain_key(world).mkdir()


def retired_key_planted(world: World) -> None:
    """The store is sealed by a key of the attacker's, which lies among the retired ones."""
    another_database(world)
    key = (world.home / "attacker/config/key").read_bytes()
    place = Path(paths.retired_key(seal.sha256(key)[:8]))
    place.parent.mkdir(mode=0o700)
    place.write_bytes(key)
    place.chmod(0o600)


def in_place_of_the_database(world: World, make: Callable[[Path], object]) -> None:
    folder = Path(paths.store_dir(world.store))
    for name in ("store.db", "store.db-wal", "store.db-shm"):
        (folder / name).unlink(missing_ok=True)
    make(folder / "store.db")


SQL = {
    "origin": "UPDATE record SET meta=json_set(meta, '$.origin', 'system') WHERE seq=1",
    "wall": "UPDATE record SET meta=json_set(meta, '$.wall', '2031-01-01') WHERE seq=2",
    "session": "UPDATE record SET meta=json_set(meta, '$.session', 'x') WHERE seq=3",
    "middle": "DELETE FROM record WHERE seq=2",
    "newest": "DELETE FROM record WHERE seq=(SELECT max(seq) FROM record)",
    "head": "UPDATE head SET seq=seq-1",
    "no head": "DELETE FROM head",
    "source": "UPDATE record SET source=NULL WHERE seq=1",
    "key id": "UPDATE store SET key_id='00000000'",
    "uuid": "UPDATE store SET uuid='00000000-0000-4000-8000-000000000000'",
    "agent": "UPDATE store SET agent='other'",
}

# number: (what is done, the deed, verdict on reading, verdict in full, is our state still told)
ATTACKS: dict[str, tuple[str, Act, str, str]] = {
    "S01": ("a record's words are changed, hashes too (English)", lambda w: w.rewrite(OWN, EN), "MODIFIED", "PREFIX"),
    "S02": ("a record's words are changed, hashes too (Chinese)", lambda w: w.rewrite(OWN, ZH), "MODIFIED", "PREFIX"),
    "S03": ("a record's words are changed, hashes not", lambda w: w.rewrite(OWN, EN, hashes=False), "MODIFIED", "PREFIX"),
    "S04": ("a record's origin is changed", lambda w: w.sql(SQL["origin"]), "MODIFIED", "PREFIX"),
    "S05": ("the time of a record that is not served is changed", lambda w: w.sql(SQL["wall"]), "VERIFIED", "PREFIX"),
    "S06": ("a record's session is changed", lambda w: w.sql(SQL["session"]), "MODIFIED", "PREFIX"),
    "S07": ("a record in the middle is deleted", lambda w: w.sql(SQL["middle"]), "MODIFIED", "PREFIX"),
    "S08": ("the newest record is deleted", lambda w: w.sql(SQL["newest"]), "MODIFIED", "MODIFIED"),
    "S09": ("the newest record is deleted, the head moved", lambda w: w.sql(SQL["newest"], SQL["head"]), "MODIFIED", "MODIFIED"),
    "S10": ("the head is deleted", lambda w: w.sql(SQL["no head"]), "MODIFIED", "MODIFIED"),
    "S11": ("a record is added behind the head", foreign_record, "MODIFIED", "PREFIX"),
    "S12": ("a task is put into the folded state", plant_state, "VERIFIED", "VERIFIED"),
    "S13": ("a prompt is put among the provisional ones", plant_prompt, "VERIFIED", "VERIFIED"),
    "S14": ("another workspace's folded state is put in", borrow_state, "VERIFIED", "VERIFIED"),
    "S15": ("a record of another workspace's store is put in", swap_records, "MODIFIED", "PREFIX"),
    "S16": ("the files that name two stores' owners are exchanged", swap_owner_files, "VERIFIED", "VERIFIED"),
    "S17": ("the files and rows that name them are exchanged", swap_owner_rows, "VERIFIED", "VERIFIED"),
    "S18": ("two stores' directories are exchanged", swap_directories, "MODIFIED", "MODIFIED"),
    "S19": ("the row that names the agent is changed", lambda w: w.sql(SQL["agent"]), "MODIFIED", "MODIFIED"),
    "S20": ("the store's id is changed", lambda w: w.sql(SQL["uuid"]), "MODIFIED", "MODIFIED"),
    "S21": ("the store names another key", lambda w: w.sql(SQL["key id"]), "FOREIGN", "FOREIGN"),
    "S22": ("the database is replaced by one of another key", another_database, "FOREIGN", "FOREIGN"),
    "S23": ("the same, its key planted among the retired ones", retired_key_planted, "FOREIGN", "FOREIGN"),
    "S24": ("a forged record says that the owner adopted an edit", forged_adoption, "MODIFIED", "PREFIX"),
    "S25": ("a forged record says that an edit was a forgetting", forged_forgetting, "MODIFIED", "PREFIX"),
    "S26": ("record 0 is made to name another owner", forged_binding, "MODIFIED", "MODIFIED"),
    "S27": ("an epoch's receipt names another record", receipt_of_another_record, "VERIFIED", "VERIFIED"),
    "S28": ("an older copy of the store is put back", rolled_back, "ROLLED_BACK", "ROLLED_BACK"),
    "S29": ("the same with its witness (limit: an anchor tells)", lambda w: rolled_back(w, witness=True), "VERIFIED", "VERIFIED"),
    "S30": ("the witness is deleted", lambda w: os.unlink(paths.witness_file(w.store)), "GAP", "GAP"),
    "S31": ("another store's witness is put in", witness_of_the_other, "GAP", "GAP"),
    "S32": ("a slot of the witness claims more, without the key", witness_ahead, "VERIFIED", "VERIFIED"),
    "S33": ("the older slot of the witness is torn", torn_witness, "VERIFIED", "VERIFIED"),
    "S34": ("a link lies in place of the witness", link_at_witness, "GAP", "GAP"),
    "K01": ("the key is deleted", lambda w: plain_key(w).unlink(), "NO_KEY", "NO_KEY"),
    "K02": ("the key is replaced", lambda w: plain_key(w).write_bytes(b"k" * 32), "FOREIGN", "FOREIGN"),
    "K03": ("the key can be read by others", lambda w: plain_key(w).chmod(0o644), "NO_KEY", "NO_KEY"),
    "K04": ("a link lies in place of the key", key_link, "NO_KEY", "NO_KEY"),
    "K05": ("the key has a second name", lambda w: os.link(plain_key(w), w.home / "second"), "NO_KEY", "NO_KEY"),
    "K06": ("a pipe lies in place of the key", key_pipe, "NO_KEY", "NO_KEY"),
    "K07": ("a directory lies in place of the key", key_directory, "NO_KEY", "NO_KEY"),
    "K08": ("the key is cut short", lambda w: plain_key(w).write_bytes(b"k" * 31), "NO_KEY", "NO_KEY"),
    "D01": ("garbage lies in place of the database", lambda w: in_place_of_the_database(w, lambda p: p.write_bytes(b"x" * 9000)), "-", "StoreError"),
    "D02": ("another program's database lies there", lambda w: in_place_of_the_database(w, lambda p: sqlite3.connect(p).execute("CREATE TABLE t(a)")), "-", "StoreError"),
    "D03": ("a directory lies in place of the database", lambda w: in_place_of_the_database(w, lambda p: p.mkdir()), "-", "StoreError"),
}  # fmt: skip


@pytest.mark.parametrize("number", ATTACKS)
def test_attack(world: World, number: str) -> None:
    title, deed, read, full = ATTACKS[number]
    deed(world)
    seen = world.next()
    ROWS[number] = (title, seen.read, seen.full, seen.shown)
    assert (seen.read, seen.full) == (read, full), seen
    assert THEIRS not in seen.text, "another workspace's memory"
    for line in seen.text.splitlines():
        marked = "Not verified" in line or seen.read not in ("VERIFIED", "MODIFIED")
        assert MARK not in line or marked, line
    if seen.read == "VERIFIED":
        assert OWN in seen.text
    elif seen.text:
        assert "swapcache " in seen.text.splitlines()[1], "the command that puts it right"
    else:
        assert seen.error, "nothing fails silently"
    assert len(DIALOGUE) == 4
