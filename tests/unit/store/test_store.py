"""Reading back, verdicts, and the attacks on a store at rest."""

import os
import shutil
import sqlite3
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from swapcache import paths
from swapcache.errors import SealError, StoreError
from swapcache.model import Identity, NewRecord, Verdict
from swapcache.store import identity, seal, witness
from swapcache.store.opening import open_store
from swapcache.store.store import Store, now
from tests.unit.store.making import (
    add,
    at_once,
    begun,
    body,
    child,
    database_path,
    dump,
    filled,
    line,
    opened,
    owner,
    raw,
    rest,
)

BODIES = [
    b"",
    b"plain",
    "äöü 東京 🧵".encode(),
    b"\x00\xff\xfe\r\n\x00",
    b'{"a": 1}\r',
    bytes(range(256)) * 3,
]


def witness_path(store_id: str) -> Path:
    return Path(paths.witness_file(store_id))


def verdicts(store_id: str) -> tuple[Verdict, Verdict]:
    """What `check` and `verify` say about a closed store."""
    with opened(store_id) as store:
        return store.check(), store.verify()


# -- beginning -------------------------------------------------------------------------------------


def test_a_new_store_begins_with_a_record_that_says_so(home: Path) -> None:
    who = owner(home)
    with begun(who) as store:
        assert store.identity == who
        assert store.id == identity.store_id(who)
        assert store.head()[0] == 0
        found = store.record(0)
        assert found is not None
        record, good = found
        assert good
        assert record.body == b""
        assert {"kind": "event", "event": "created"}.items() <= record.meta.items()
        assert "gap" not in record.meta
        assert store.check() == store.verify() == Verdict("VERIFIED", "", 0, 0)
        assert store.record(1) is None
        assert store.record(-1) is None


def test_opening_again_finds_the_same_store_and_adds_nothing(home: Path) -> None:
    who = owner(home)
    filled(who, 2)
    with begun(who) as store:
        before = (store.uuid, store.head())
    with begun(who) as store:
        assert (store.uuid, store.head()) == before
    assert len(identity.listing()) == 1


OPEN = """
import json, sys
from swapcache.model import Identity
from swapcache.store.opening import open_store
who = Identity(*json.loads(sys.argv[1]))
print("ready", flush=True)
sys.stdin.readline()
store = open_store(who, 20.0)
print(store.uuid, store.verify().name, flush=True)
store.close()
"""


def test_six_processes_that_open_a_new_store_at_once_share_one(home: Path) -> None:
    who = owner(home)
    given = seal.canon(list(who)).decode()
    (only,) = at_once(6, OPEN, given)
    uuid, verdict = only.split()
    assert verdict == "VERIFIED"
    with begun(who) as store:
        assert store.uuid == uuid
        assert store.head()[0] == 0
        assert store.verify().good
    assert len(identity.listing()) == 1


def test_a_store_whose_owner_row_is_missing_is_refused(home: Path) -> None:
    store_id = filled(owner(home), 0)
    with raw(store_id) as db:
        db.execute("DELETE FROM store")
    with pytest.raises(StoreError, match="no owner row"):
        Store(store_id)


def test_wall_time_is_iso_8601_with_an_offset() -> None:
    from datetime import UTC, datetime

    stamp = datetime.fromisoformat(now())
    assert stamp.tzinfo is not None
    assert abs((datetime.now(UTC) - stamp).total_seconds()) < 5


# -- reading back ----------------------------------------------------------------------------------


def test_bodies_and_meta_read_back_exactly(home: Path) -> None:
    meta = {"say": 'a "quote" \\ ü 東京 🧵 \x00 \ud800', "n": [1, None, True, {"b": "", "a": -1}]}
    with begun(owner(home)) as store:
        with store.writing() as writer:
            first = writer.append(
                NewRecord(one, meta | {"i": i}, 7, i * 10) for i, one in enumerate(BODIES)
            )
        assert first == 1
        found = list(store.read(1, len(BODIES)))
    with opened(store.id) as store:
        assert list(store.read(1, len(BODIES))) == found
    assert [record.body for record, _ in found] == BODIES
    assert [record.seq for record, _ in found] == list(range(1, len(BODIES) + 1))
    assert [record.meta for record, _ in found] == [meta | {"i": i} for i in range(len(BODIES))]
    assert [(r.source, r.position) for r, _ in found] == [(7, i * 10) for i in range(len(BODIES))]
    assert all(good for _, good in found)


def test_bodies_larger_than_a_chunk_read_back_exactly(home: Path) -> None:
    bodies = [os.urandom(n) for n in (10, 65_536, 1, 65_537, 300_000, 0, 65_535, 2)]
    with begun(owner(home)) as store:
        add(store, *bodies)
        assert [record.body for record, good in store.read(1, 99) if good] == bodies
        assert store.verify().good
    with raw(store.id) as db:
        (chunks,) = db.execute("SELECT count(*) FROM chunk").fetchone()
    assert chunks > 3, "nothing was cut into chunks"


def test_small_records_of_one_transaction_share_a_chunk(home: Path) -> None:
    with begun(owner(home)) as store:
        add(store, *(body(n) for n in range(1, 101)))
        assert store.verify() == Verdict("VERIFIED", "", 100, 100)
    with raw(store.id) as db:
        (chunks,) = db.execute("SELECT count(DISTINCT chunk) FROM record WHERE seq>0").fetchone()
    assert chunks == 1


def test_a_part_of_the_chain_is_judged_against_the_record_before_it(home: Path) -> None:
    store_id = filled(owner(home), 9)
    with opened(store_id) as store:
        found = list(store.read(4, 6))
        assert [(record.seq, good) for record, good in found] == [(4, True), (5, True), (6, True)]
        assert list(store.read(10, 20)) == []


def test_the_chain_goes_on_over_closing_and_opening(home: Path) -> None:
    who = owner(home)
    for number in range(1, 6):
        with begun(who) as store:
            assert add(store, body(number)) == number
    with begun(who) as store:
        assert [r.body for r, good in store.read(1, 99) if good] == [body(n) for n in range(1, 6)]
        assert store.verify() == Verdict("VERIFIED", "", 5, 5)


def test_the_chain_in_the_database_is_the_documented_one(home: Path) -> None:
    import hashlib
    import hmac
    import json

    store_id = filled(owner(home, agent='Ä"'), 4)
    key = Path(paths.key_file()).read_bytes()
    with raw(store_id) as db:
        agent, uuid = db.execute("SELECT agent, uuid FROM store").fetchone()
        rows = db.execute("SELECT seq, sha, meta, tag FROM record ORDER BY seq").fetchall()
        head = db.execute("SELECT seq, tag, mac FROM head").fetchone()

    def canon(value: object) -> bytes:
        return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()

    def mac(purpose: bytes, value: object) -> str:
        context = canon({"agent": agent, "store": uuid, "ws": store_id})
        sub = hmac.new(key, b"swapcache/v1/" + purpose + b"\0" + context, hashlib.sha256).digest()
        return hmac.new(sub, canon(value), hashlib.sha256).hexdigest()

    previous = "0" * 64
    for seq, sha, meta, tag in rows:
        if seq:
            assert sha == hashlib.sha256(body(seq)).digest()
        previous = mac(b"record", [1, seq, sha.hex(), meta, previous])
        assert tag.hex() == previous
    assert head == (4, previous, mac(b"head", [1, 4, previous]))


# -- attacks on a store at rest --------------------------------------------------------------------

NEWEST = 9


def rewrite_body(db: sqlite3.Connection, seq: int) -> None:
    (number,) = db.execute("SELECT chunk FROM record WHERE seq=?", (seq,)).fetchone()
    (data,) = db.execute("SELECT data FROM chunk WHERE id=?", (number,)).fetchone()
    changed = zlib.decompress(data).replace(b"Zeile", b"Ziele")
    db.execute("UPDATE chunk SET data=? WHERE id=?", (zlib.compress(changed), number))


def tamper_body(db: sqlite3.Connection) -> None:
    rewrite_body(db, 5)


def tamper_body_and_hash(db: sqlite3.Connection) -> None:
    rewrite_body(db, 5)
    sha = bytes.fromhex(seal.sha256(body(5).replace(b"Zeile", b"Ziele")))
    db.execute("UPDATE record SET sha=? WHERE seq=5", (sha,))


def destroy_chunk(db: sqlite3.Connection) -> None:
    db.execute("UPDATE chunk SET data=x'00' WHERE id=(SELECT chunk FROM record WHERE seq=5)")


def tamper_newest_tag(db: sqlite3.Connection) -> None:
    db.execute("UPDATE record SET tag=? WHERE seq=?", (b"\x00" * 32, NEWEST))


def truncate(db: sqlite3.Connection) -> None:
    db.execute("DELETE FROM record WHERE seq>?", (NEWEST - 2,))


def truncate_and_move_the_head(db: sqlite3.Connection) -> None:
    truncate(db)
    tag = db.execute("SELECT tag FROM record WHERE seq=?", (NEWEST - 2,)).fetchone()[0].hex()
    db.execute("UPDATE head SET seq=?, tag=?", (NEWEST - 2, tag))


def delete_the_head(db: sqlite3.Connection) -> None:
    db.execute("DELETE FROM head")


def empty(db: sqlite3.Connection) -> None:
    db.executescript("DELETE FROM head; DELETE FROM record; DELETE FROM chunk;")


def delete_in_the_middle(db: sqlite3.Connection) -> None:
    db.execute("DELETE FROM record WHERE seq=5")


def delete_and_close_up(db: sqlite3.Connection) -> None:
    db.execute("DELETE FROM record WHERE seq=5")
    for seq in range(6, NEWEST + 1):
        db.execute("UPDATE record SET seq=? WHERE seq=?", (seq - 1, seq))


def delete_the_first(db: sqlite3.Connection) -> None:
    db.execute("DELETE FROM record WHERE seq=0")


def reorder(db: sqlite3.Connection) -> None:
    for old, new in ((4, -1), (5, 4), (-1, 5)):
        db.execute("UPDATE record SET seq=? WHERE seq=?", (new, old))


def forge(db: sqlite3.Connection) -> None:
    db.execute(
        "INSERT INTO record SELECT seq+1, chunk, start, size, sha, meta, randomblob(32), NULL, NULL"
        " FROM record WHERE seq=?",
        (NEWEST,),
    )


def forge_and_move_the_head(db: sqlite3.Connection) -> None:
    forge(db)
    tag = db.execute("SELECT tag FROM record WHERE seq=?", (NEWEST + 1,)).fetchone()[0].hex()
    db.execute("UPDATE head SET seq=?, tag=?", (NEWEST + 1, tag))


def tamper_meta(db: sqlite3.Connection) -> None:
    db.execute("UPDATE record SET meta=replace(meta, 'row', 'raw') WHERE seq=5")


def respell_meta(db: sqlite3.Connection) -> None:
    db.execute("UPDATE record SET meta=replace(meta, ',', ', ') WHERE seq=5")


def repeat(db: sqlite3.Connection) -> None:
    db.execute(
        "UPDATE record SET (sha, meta, tag, chunk, start, size) ="
        " (SELECT sha, meta, tag, chunk, start, size FROM record WHERE seq=5) WHERE seq=6"
    )


Attack = Callable[[sqlite3.Connection], None]
# attack, what `check` (constant work) must say, what `verify` must say, newest proven record
ATTACKS: list[tuple[Attack, str, str, int]] = [
    (tamper_body, "VERIFIED", "PREFIX", 4),
    (tamper_body_and_hash, "VERIFIED", "PREFIX", 4),
    (destroy_chunk, "VERIFIED", "PREFIX", 4),
    (tamper_meta, "VERIFIED", "PREFIX", 4),
    (respell_meta, "VERIFIED", "PREFIX", 4),
    (delete_in_the_middle, "VERIFIED", "PREFIX", 4),
    (delete_and_close_up, "MODIFIED", "PREFIX", 4),
    (delete_the_first, "MODIFIED", "MODIFIED", -1),
    (reorder, "VERIFIED", "PREFIX", 3),
    (repeat, "VERIFIED", "PREFIX", 5),
    (tamper_newest_tag, "MODIFIED", "PREFIX", NEWEST - 1),
    (truncate, "MODIFIED", "MODIFIED", NEWEST),
    (truncate_and_move_the_head, "MODIFIED", "MODIFIED", -1),
    (delete_the_head, "MODIFIED", "MODIFIED", -1),
    (empty, "MODIFIED", "MODIFIED", -1),
    (forge, "MODIFIED", "PREFIX", NEWEST),
    (forge_and_move_the_head, "MODIFIED", "PREFIX", NEWEST),
]


@pytest.mark.parametrize(("attack", "check", "verify", "have"), ATTACKS)
def test_an_attack_on_a_closed_store_is_detected(
    home: Path, attack: Attack, check: str, verify: str, have: int
) -> None:
    store_id = filled(owner(home), NEWEST)
    assert verdicts(store_id)[1] == Verdict("VERIFIED", "", NEWEST, NEWEST)
    with raw(store_id) as db:
        attack(db)
    checked, verified = verdicts(store_id)
    assert checked.name == check
    assert (verified.name, verified.have) == (verify, have)
    assert not verified.good
    assert verified.detail


@pytest.mark.parametrize(
    "attack", [attack for attack, check, _, _ in ATTACKS if check != "VERIFIED"]
)
def test_nothing_is_appended_behind_a_broken_chain(home: Path, attack: Attack) -> None:
    store_id = filled(owner(home), NEWEST)
    with raw(store_id) as db:
        attack(db)
    before, seen = dump(store_id), witness_path(store_id).read_bytes()
    with opened(store_id) as store:
        with pytest.raises(SealError, match="nothing was appended"):
            add(store, b"laundered")
        assert not store.db.in_transaction
    assert dump(store_id) == before
    assert witness_path(store_id).read_bytes() == seen


@pytest.mark.parametrize("attack", [tamper_body, tamper_meta, destroy_chunk, reorder, repeat])
def test_a_record_that_was_tampered_with_is_marked_when_it_is_read(
    home: Path, attack: Attack
) -> None:
    store_id = filled(owner(home), NEWEST)
    with raw(store_id) as db:
        attack(db)
    with opened(store_id) as store:
        good = {record.seq for record, proven in store.read(0, 99) if proven}
        alone = {seq for seq in range(NEWEST + 1) if (found := store.record(seq)) and found[1]}
    assert not {5, 6} <= good
    assert not {5, 6} <= alone
    assert {0, 1, 2, 3, 8, 9} <= good & alone


def test_a_record_behind_a_hole_does_not_verify_with_its_neighbour(home: Path) -> None:
    store_id = filled(owner(home), NEWEST)
    with raw(store_id) as db:
        delete_in_the_middle(db)
    with opened(store_id) as store:
        assert store.record(5) is None
        assert {record.seq for record, good in store.read(4, 7) if not good} == {6}
        behind = store.record(6)
        assert behind is not None
        assert behind[1] is False


@pytest.mark.parametrize("with_head", [False, True])
def test_a_record_of_another_store_does_not_verify_here(home: Path, with_head: bool) -> None:
    mine, other = filled(owner(home), 3), filled(owner(home, agent="other"), 3)
    with raw(other) as db:
        row = db.execute("SELECT * FROM record WHERE seq=3").fetchone()
        data = db.execute("SELECT * FROM chunk WHERE id=?", (row[1],)).fetchone()
        head = db.execute("SELECT * FROM head").fetchone()
    with raw(mine) as db:
        db.execute("INSERT OR REPLACE INTO chunk VALUES (?,?)", data)
        db.execute("INSERT OR REPLACE INTO record VALUES (?,?,?,?,?,?,?,?,?)", row)
        if with_head:
            db.execute("INSERT OR REPLACE INTO head VALUES (?,?,?,?)", head)
    checked, verified = verdicts(mine)
    assert checked.name == "MODIFIED"
    assert (verified.name, verified.have) == ("PREFIX", 2)


def test_a_whole_chain_of_another_store_does_not_verify_here(home: Path) -> None:
    mine, other = filled(owner(home), 3), filled(owner(home, "workspace2"), 3)
    with raw(mine) as db:
        db.execute("ATTACH ? AS other", (str(database_path(other)),))
        for table in ("record", "chunk", "head"):
            db.execute(f"DELETE FROM {table}")
            db.execute(f"INSERT INTO {table} SELECT * FROM other.{table}")
        db.commit()
        db.execute("DETACH other")
    checked, verified = verdicts(mine)
    assert checked.name == "MODIFIED"
    assert verified.name == "MODIFIED"


@pytest.mark.parametrize("column", ["agent", "uuid"])
def test_a_store_cannot_be_given_to_somebody_else(home: Path, column: str) -> None:
    store_id = filled(owner(home), 3)
    with raw(store_id) as db:
        db.execute(f"UPDATE store SET {column}='other'")
    checked, verified = verdicts(store_id)
    assert checked.name == verified.name == "MODIFIED"
    assert verified.have == -1


def copy_of(store_id: str) -> bytes:
    return database_path(store_id).read_bytes()


def test_a_store_that_was_rolled_back_says_how_far(home: Path) -> None:
    who = owner(home)
    store_id = filled(who, 5)
    old = copy_of(store_id)
    with opened(store_id) as store:
        for number in (6, 7, 8):
            add(store, body(number))
    database_path(store_id).write_bytes(old)
    for verdict in verdicts(store_id):
        assert (verdict.name, verdict.have, verdict.seen) == ("ROLLED_BACK", 5, 8)
    before = dump(store_id)
    with opened(store_id) as store, pytest.raises(SealError, match="ROLLED_BACK"):
        add(store, b"laundered")
    assert dump(store_id) == before
    assert verdicts(store_id)[1].name == "ROLLED_BACK"


def test_a_store_that_was_rolled_back_to_its_first_record_says_so_too(home: Path) -> None:
    store_id = filled(owner(home), 0)
    old = copy_of(store_id)
    with opened(store_id) as store:
        add(store, body(1))
    database_path(store_id).write_bytes(old)
    verdict = verdicts(store_id)[0]
    assert (verdict.name, verdict.have, verdict.seen) == ("ROLLED_BACK", 0, 1)


def test_a_fork_that_is_longer_than_what_was_seen_is_modified(home: Path) -> None:
    store_id = filled(owner(home), 3)
    old, old_witness = copy_of(store_id), witness_path(store_id).read_bytes()
    with opened(store_id) as store:
        add(store, b"true", b"history")
    true_witness = witness_path(store_id).read_bytes()
    database_path(store_id).write_bytes(old)
    witness_path(store_id).write_bytes(old_witness)
    with opened(store_id) as store:
        add(store, b"another", b"history", b"longer")
    witness_path(store_id).write_bytes(true_witness)
    verdict = verdicts(store_id)[0]
    assert verdict.name == "MODIFIED"
    assert "5" in verdict.detail


# -- key -------------------------------------------------------------------------------------------


def test_without_the_key_everything_can_be_read_and_nothing_is_proven(home: Path) -> None:
    store_id = filled(owner(home), 3)
    os.unlink(paths.key_file())
    with opened(store_id) as store:
        for verdict in (store.check(), store.verify()):
            assert verdict.name == "NO_KEY"
            assert paths.key_file() in verdict.detail
        found = list(store.read(1, 3))
        assert [record.body for record, _ in found] == [body(n) for n in (1, 2, 3)]
        assert not any(good for _, good in found)
        with pytest.raises(SealError, match="NO_KEY"):
            add(store, b"unsealed")
        assert store.head()[0] == 3
    assert not os.path.exists(paths.key_file())


def test_a_loose_key_is_no_key_and_the_verdict_names_the_command(home: Path) -> None:
    store_id = filled(owner(home), 1)
    os.chmod(paths.key_file(), 0o644)
    assert all(v.name == "NO_KEY" and "chmod 600" in v.detail for v in verdicts(store_id))
    os.chmod(paths.key_file(), 0o600)
    assert verdicts(store_id)[1].good


def test_another_key_makes_a_store_foreign_and_names_the_one_it_was_sealed_by(home: Path) -> None:
    store_id = filled(owner(home), 2)
    key = Path(paths.key_file())
    name = seal.sha256(key.read_bytes())[:8]
    key.write_bytes(b"x" * 32)
    for verdict in verdicts(store_id):
        assert verdict.name == "FOREIGN"
        assert name in verdict.detail
    with opened(store_id) as store, pytest.raises(SealError, match="FOREIGN"):
        add(store, b"foreign")


def test_claiming_to_be_sealed_by_this_key_does_not_help(home: Path) -> None:
    store_id = filled(owner(home), 2)
    key = Path(paths.key_file())
    key.write_bytes(b"x" * 32)
    with raw(store_id) as db:
        db.execute("UPDATE store SET key_id=?", (seal.sha256(b"x" * 32)[:8],))
    assert all(verdict.name == "MODIFIED" for verdict in verdicts(store_id))


# -- witness ---------------------------------------------------------------------------------------


def test_a_crash_between_commit_and_witness_is_harmless(home: Path) -> None:
    store_id = filled(owner(home), 3)
    old = witness_path(store_id).read_bytes()
    with opened(store_id) as store:
        add(store, body(4))
        add(store, body(5))
    witness_path(store_id).write_bytes(old)
    assert verdicts(store_id) == (Verdict("VERIFIED", "", 5, 3),) * 2
    with opened(store_id) as store:
        assert add(store, body(6)) == 6
        assert store.verify() == Verdict("VERIFIED", "", 6, 6)


def test_a_crash_between_the_first_commit_and_the_first_witness_is_harmless(home: Path) -> None:
    store_id = filled(owner(home), 0)
    witness_path(store_id).unlink()
    assert all(verdict.good for verdict in verdicts(store_id))
    with opened(store_id) as store:
        assert add(store, body(1)) == 1
        assert store.verify() == Verdict("VERIFIED", "", 1, 1)


def test_a_missing_witness_is_a_gap_until_it_is_renewed(home: Path) -> None:
    store_id = filled(owner(home), 3)
    witness_path(store_id).unlink()
    for verdict in verdicts(store_id):
        assert (verdict.name, verdict.have) == ("GAP", 3)
        assert "swapcache verify" in verdict.detail
    with opened(store_id) as store:
        with pytest.raises(SealError, match="GAP"):
            add(store, body(4))
        assert store.check().name == "GAP", "a refused writing renewed the witness"
        assert store.renew_witness() == Verdict("VERIFIED", "", 3, 3)
        assert add(store, body(4)) == 4
    assert verdicts(store_id)[1].good


@pytest.mark.parametrize("content", [b"", b"garbage", b"\x00" * 1024, b"x" * 5000])
def test_a_witness_that_was_destroyed_is_a_gap_that_can_be_renewed(
    home: Path, content: bytes
) -> None:
    store_id = filled(owner(home), 3)
    witness_path(store_id).write_bytes(content)
    assert verdicts(store_id)[0].name == "GAP"
    with opened(store_id) as store:
        assert store.renew_witness().good
        add(store, body(4))
        add(store, body(5))
        assert store.verify() == Verdict("VERIFIED", "", 5, 5)


def test_the_witness_of_another_store_is_a_gap(home: Path) -> None:
    mine, other = filled(owner(home), 3), filled(owner(home, agent="other"), 7)
    shutil.copy(witness_path(other), witness_path(mine))
    assert verdicts(mine)[0].name == "GAP"
    with opened(mine) as store:
        assert store.renew_witness().good
        for number in (4, 5, 6):
            add(store, body(number))
        assert store.verify() == Verdict("VERIFIED", "", 6, 6)


@pytest.mark.parametrize("attack", [attack for attack, _, verify, _ in ATTACKS])
def test_a_witness_is_not_renewed_for_a_chain_that_does_not_verify(
    home: Path, attack: Attack
) -> None:
    if attack is empty:
        attack = truncate
    store_id = filled(owner(home), NEWEST)
    with raw(store_id) as db:
        attack(db)
    witness_path(store_id).unlink()
    with opened(store_id) as store:
        verdict = store.renew_witness()
    assert verdict.name in ("PREFIX", "MODIFIED")
    assert not witness_path(store_id).exists()


def test_renewing_never_hides_that_a_store_was_rolled_back(home: Path) -> None:
    store_id = filled(owner(home), 2)
    old = copy_of(store_id)
    with opened(store_id) as store:
        add(store, body(3))
    database_path(store_id).write_bytes(old)
    with opened(store_id) as store:
        assert store.renew_witness().name == "ROLLED_BACK"
    assert verdicts(store_id)[0].name == "ROLLED_BACK"


def test_renewing_a_good_witness_changes_nothing(home: Path) -> None:
    store_id = filled(owner(home), 2)
    before = witness_path(store_id).read_bytes()
    with opened(store_id) as store:
        assert store.renew_witness().good
    assert witness_path(store_id).read_bytes() == before


def test_a_torn_witness_slot_costs_nothing(home: Path) -> None:
    store_id = filled(owner(home), 4)
    with opened(store_id) as store:
        seen = store.witnessed()
    assert seen is not None
    content = bytearray(witness_path(store_id).read_bytes())
    content[seen.slot * witness.SLOT : seen.slot * witness.SLOT + 60] = b"\x00" * 60
    witness_path(store_id).write_bytes(content)
    assert verdicts(store_id) == (Verdict("VERIFIED", "", 4, 3),) * 2


def delete_store(who: Identity) -> tuple[int, str, str]:
    """Removes the store of an identity; gives what its witness still knows."""
    with begun(who) as store:
        seen = (*store.head(), store.uuid)
        directory = store.directory
    shutil.rmtree(directory)
    return seen


def test_a_store_that_was_deleted_leaves_a_gap_that_its_successor_records(home: Path) -> None:
    who = owner(home)
    filled(who, 6)
    seq, tag, uuid = delete_store(who)
    with begun(who) as store:
        found = store.record(0)
        assert found is not None
        assert found[1]
        assert found[0].meta["gap"] == {"seq": seq, "store": uuid, "tag": tag}
        assert store.uuid != uuid
        assert store.verify().good
        for number in (1, 2, 3):
            add(store, body(number))
        assert store.verify() == Verdict("VERIFIED", "", 3, 3)


def test_a_store_deleted_with_all_others_leaves_its_gap_too(home: Path) -> None:
    who = owner(home)
    filled(who, 1)
    shutil.rmtree(paths.state_dir())
    with begun(who) as store:
        found = store.record(0)
        assert found is not None
        assert "gap" in found[0].meta


# -- readers beside a writer -----------------------------------------------------------------------

READ_FOR_EVER = """
import sys
from swapcache.store.store import Store
store = Store(sys.argv[1], 20.0, read_only=sys.argv[2] == "read-only")
print("ready", flush=True)
names, newest, last = set(), set(), -1
while last < int(sys.argv[3]):
    with store.snapshot() as verdict:
        served = [good for _, good in store.read(max(0, verdict.have - 3), verdict.have)]
    names.add(verdict.name if all(served) else "UNPROVEN")
    names.add(store.verify().name)
    assert verdict.have >= last, "a reader went back in time"
    last = verdict.have
    newest.add(last)
print(sorted(names), len(newest))
store.close()
"""


def test_readers_beside_a_writer_never_see_a_false_verdict(home: Path) -> None:
    store_id = filled(owner(home), 0)
    with (
        child(READ_FOR_EVER, store_id, "read-only", "300") as one,
        child(READ_FOR_EVER, store_id, "", "300") as two,
    ):
        assert line(one) == line(two) == "ready"
        with opened(store_id) as store:
            for number in range(1, 301):
                add(store, body(number))
        for reader in (one, two):
            (summary,) = rest(reader)
            names, count = summary.rsplit(" ", 1)
            assert names == "['VERIFIED']"
            assert int(count) > 2, "the reader saw almost nothing of the writing"


def test_a_snapshot_does_not_move_while_others_write(home: Path) -> None:
    store_id = filled(owner(home), 2)
    with opened(store_id) as reader, opened(store_id) as writer:
        with reader.snapshot() as verdict:
            add(writer, body(3))
            assert verdict == Verdict("VERIFIED", "", 2, 2)
            assert reader.head()[0] == 2
            assert reader.record(3) is None
        assert reader.head()[0] == 3
        assert not reader.db.in_transaction


def test_a_snapshot_ends_with_an_exception(home: Path) -> None:
    with begun(owner(home)) as store:
        with pytest.raises(ZeroDivisionError), store.snapshot():
            raise ZeroDivisionError
        assert not store.db.in_transaction
        assert add(store, body(1)) == 1


def test_a_read_only_store_reads_and_judges_but_does_not_write(home: Path) -> None:
    store_id = filled(owner(home), 2)
    with opened(store_id, read_only=True) as store:
        assert store.verify().good
        with pytest.raises(StoreError):
            add(store, body(3))
        assert store.head()[0] == 2
    assert verdicts(store_id) == (Verdict("VERIFIED", "", 2, 2),) * 2


def test_opening_what_is_no_store_any_more_says_so(home: Path) -> None:
    who = owner(home)
    store_id = filled(who, 1)
    path = database_path(store_id)
    path.write_bytes(b"garbage" * 1000)
    with pytest.raises(StoreError, match=str(path)):
        open_store(who)
    assert path.read_bytes() == b"garbage" * 1000
