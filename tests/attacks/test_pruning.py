"""Attacks by way of pruning, without the key: an absent body is believed to be pruned only where a
sealed record of this very chain says so."""

import contextlib
import json
import zlib
from collections.abc import Callable

import pytest

from swapcache.store.store import Store
from tests.attacks.conftest import ROWS
from tests.attacks.test_store import foreign_record
from tests.attacks.world import CANARY, MARK, OWN, THEIRS, World
from tests.unit.store.pruned import take_all

EN = CANARY["en"]


def pruned(world: World, store_id: str = "") -> int:
    """The owner prunes every session of a store; gives the number of the record that says so."""
    with contextlib.closing(Store(store_id or world.store)) as store:
        return take_all(store)


def words_deleted(world: World) -> None:
    """What the transcript said is taken out of the chunks, as pruning does."""
    with world.database() as db:
        db.execute("UPDATE record SET chunk=-2, start=0 WHERE json_extract(meta, '$.kind')='raw'")


def forged_pruning(world: World) -> None:
    """The same, and a record behind the head that says it was pruned."""
    words_deleted(world)
    said = {"event": "prune", "kind": "trust", "count": 4, "bytes": 9, "origin": "owner"}
    foreign_record(world, json.dumps(said))


def borrowed_pruning(world: World) -> None:
    """The same, with the sealed prune record of the other workspace."""
    seq = pruned(world, world.other)
    with world.database(world.other) as db:
        sha, meta, tag, data, start, size = db.execute(
            "SELECT sha, meta, tag, data, start, size FROM record JOIN chunk ON chunk.id=chunk"
            " WHERE seq=?",
            (seq,),
        ).fetchone()
        head = db.execute("SELECT tag, mac FROM head").fetchone()
    words_deleted(world)
    with world.database() as db:
        (newest,) = db.execute("SELECT seq FROM head").fetchone()
        db.execute("INSERT INTO chunk VALUES (8888, ?)", (data,))
        row = (newest + 1, 8888, start, size, sha, meta, tag)
        db.execute("INSERT INTO record VALUES (?,?,?,?,?,?,?,NULL,NULL)", row)
        db.execute("UPDATE head SET seq=?, tag=?, mac=?", (newest + 1, *head))


def pruning_taken_back(world: World) -> None:
    """The sealed record of a pruning is deleted, and the head of before it put back."""
    with world.database() as db:
        head = db.execute("SELECT seq, tag, mac FROM head").fetchone()
    seq = pruned(world)
    world.sql(f"DELETE FROM record WHERE seq>{head[0]}")
    with world.database() as db:
        db.execute("UPDATE head SET seq=?, tag=?, mac=?", head)
    assert seq > head[0]


def pruning_emptied(world: World) -> None:
    """The list in the sealed record of a pruning is changed."""
    seq = pruned(world)
    with world.database() as db:
        (number,) = db.execute("SELECT chunk FROM record WHERE seq=?", (seq,)).fetchone()
        (data,) = db.execute("SELECT data FROM chunk WHERE id=?", (number,)).fetchone()
        plain = zlib.decompress(data).replace(b'"ranges":[[1,', b'"ranges":[[3,')
        db.execute("UPDATE chunk SET data=? WHERE id=?", (zlib.compress(plain), number))


def more_deleted(world: World) -> None:
    """After a pruning, what the owner said then is made to look pruned too."""
    pruned(world)
    world.go_on()
    words_deleted(world)


def words_put_in(world: World) -> None:
    """Pruned records get words again."""
    pruned(world)
    body = json.dumps({"type": "user", "message": {"role": "user", "content": EN}}).encode()
    with world.database() as db:
        db.execute("INSERT INTO chunk VALUES (8888, ?)", (zlib.compress(body),))
        db.execute("UPDATE record SET chunk=8888, start=0, size=? WHERE chunk=-2", (len(body),))


def snapshot_edited(world: World) -> None:
    """The snapshot that a pruned session stands on gets other words."""
    pruned(world)
    world.rewrite(OWN, EN, hashes=False)


def snapshot_edited_state_deleted(world: World) -> None:
    """The same, and the state row is gone: only the snapshot could tell."""
    snapshot_edited(world)
    world.sql("DELETE FROM state")


def state_deleted(world: World) -> None:
    """The state row of a pruned session is gone: its snapshot tells."""
    pruned(world)
    world.sql("DELETE FROM state")


def chunks_renamed(world: World) -> None:
    """The rows say no longer that anything was pruned, and the state row is gone."""
    pruned(world)
    world.sql("UPDATE record SET chunk=77777, size=0 WHERE chunk=-2", "DELETE FROM state")


ATTACKS: dict[str, tuple[str, Callable[[World], object], str, str]] = {
    "P01": ("words are deleted as if they had been pruned", words_deleted, "MODIFIED", "PREFIX"),
    "P02": ("the same, with a forged record of a pruning", forged_pruning, "MODIFIED", "PREFIX"),
    "P03": ("the same, with another store's record of one", borrowed_pruning, "MODIFIED", "PREFIX"),
    "P04": ("the record of a pruning is deleted, the head put back", pruning_taken_back, "ROLLED_BACK", "PREFIX"),
    "P05": ("the list of what was pruned is changed", pruning_emptied, "MODIFIED", "PREFIX"),
    "P06": ("after a pruning more is made to look pruned", more_deleted, "MODIFIED", "PREFIX"),
    "P07": ("pruned records get words again", words_put_in, "MODIFIED", "PREFIX"),
    "P08": ("what a pruned session stands on is edited", snapshot_edited, "VERIFIED", "PREFIX"),
    "P09": ("the same, its state row deleted", snapshot_edited_state_deleted, "MODIFIED", "PREFIX"),
    "P10": ("a pruned session's state row is deleted", state_deleted, "VERIFIED", "VERIFIED"),
    "P11": ("the same, and the rows do not look pruned", chunks_renamed, "VERIFIED", "VERIFIED"),
}  # fmt: skip


@pytest.mark.parametrize("number", ATTACKS)
def test_attack(world: World, number: str) -> None:
    title, deed, read, full = ATTACKS[number]
    deed(world)
    seen = world.next()
    ROWS[number] = (title, seen.read, seen.full, seen.shown)
    assert (seen.read, seen.full) == (read, full), seen
    assert THEIRS not in seen.text, "another workspace's memory"
    assert MARK not in seen.text
    if read == "VERIFIED":
        assert OWN in seen.text
    else:
        assert "swapcache " in seen.text or seen.error, "nothing fails silently"
