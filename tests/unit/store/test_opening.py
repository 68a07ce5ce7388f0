"""A store belongs to whom its own chain names, whatever lies beside it."""

import json
import os
import shutil
from pathlib import Path

from swapcache import paths
from swapcache.model import Identity
from swapcache.store import identity, opening, trust
from swapcache.store.opening import open_store
from swapcache.store.store import Store
from tests.unit.store.making import add, begun, body, filled, opened, owner, raw


def owner_file(store_id: str) -> Path:
    return Path(paths.owner_file(paths.store_dir(store_id)))


def served(who: Identity) -> tuple[str, str, str]:
    """(store, whose it says it is, verdict) for what an identity is given."""
    store = open_store(who)
    try:
        return store.id, store.identity.workspace, store.check().name
    finally:
        store.close()


def test_swapped_owner_files_do_not_swap_memories(home: Path) -> None:
    one, two = owner(home, "one"), owner(home, "two")
    first, second = filled(one, 2), filled(two, 3)
    a, b = owner_file(first).read_bytes(), owner_file(second).read_bytes()
    owner_file(first).write_bytes(b)
    owner_file(second).write_bytes(a)
    assert served(one) == (first, one.workspace, "VERIFIED")
    assert served(two) == (second, two.workspace, "VERIFIED")
    assert len(identity.listing()) == 2, "no third store was made"
    assert owner_file(first).read_bytes() == a, "the file is corrected"


def test_an_owner_row_that_was_edited_changes_nothing(home: Path) -> None:
    one, two = owner(home, "one"), owner(home, "two")
    first, second = filled(one, 2), filled(two, 3)
    for store_id, other in ((first, two), (second, one)):
        with raw(store_id) as db:
            db.execute("UPDATE store SET workspace=?, inode=?", (other.workspace, other.inode))
        owner_file(store_id).write_text(json.dumps(other._asdict()))
    assert served(one) == (first, one.workspace, "VERIFIED")
    assert served(two) == (second, two.workspace, "VERIFIED")


def test_an_agent_that_was_edited_is_no_other_agents_memory(home: Path) -> None:
    one, two = owner(home, agent="one"), owner(home, agent="two")
    first = filled(one, 2)
    with raw(first) as db:
        db.execute("UPDATE store SET agent='two'")
    owner_file(first).write_text(json.dumps(two._asdict()))
    store_id, _, verdict = served(two)
    assert (store_id != first and verdict == "VERIFIED") or verdict == "MODIFIED"


def test_swapped_store_directories_prove_nothing(home: Path) -> None:
    one, two = owner(home, "one"), owner(home, "two")
    first, second = filled(one, 2), filled(two, 3)
    a, b = (Path(paths.store_dir(s)) for s in (first, second))
    a.rename(home / "aside")
    b.rename(a)
    (home / "aside").rename(b)
    assert served(one)[2] == "MODIFIED"
    assert served(two)[2] == "MODIFIED"


def test_a_rename_is_sealed_and_followed_by_the_sealed_inode_only(home: Path) -> None:
    before = owner(home)
    store_id = filled(before, 1)
    Path(before.workspace).rename(home / "after")
    after = owner(home, "after")
    with begun(after) as store:
        assert (store.id, store.identity) == (store_id, after)
        meta = trust.sealed(store, store.head()[0])
        assert meta is not None
        assert meta["event"] == "renamed"
        assert meta["before"]["workspace"] == before.workspace
    stranger = owner(home, "stranger")
    (home / "after").rename(home / "gone")
    owner_file(store_id).write_text(json.dumps(after._replace(inode=stranger.inode)._asdict()))
    with begun(stranger) as store:
        assert store.id != store_id, "the inode beside the store is not the sealed one"


def test_a_binding_cannot_be_hidden(home: Path) -> None:
    before = owner(home)
    store_id = filled(before, 1)
    Path(before.workspace).rename(home / "after")
    with begun(owner(home, "after")) as store:
        bound = store.head()[0]
        add(store, body(1), body(2))
    with raw(store_id) as db:
        db.execute("UPDATE record SET meta=json_set(meta, '$.kind', 'row') WHERE seq=?", (bound,))
    with opened(store_id) as store:
        assert store.check().name == "MODIFIED"
        assert store.verify().name == "PREFIX"


def test_every_record_names_the_newest_decision_before_it(home: Path) -> None:
    who = owner(home)
    with begun(who) as store:
        add(store, body(1))
        opening.bind(store, who, "bound again")
        add(store, body(2), body(3))
        opening.bind(store, who, "and again")
        add(store, body(4))
        found = [seq for seq, meta in trust.records(store, store.head()[0]) if meta]
        assert found == [5, 2]
        assert store.verify().good


def test_a_store_that_is_deleted_between_is_made_anew(home: Path) -> None:
    who = owner(home)
    store_id = filled(who, 2)
    shutil.rmtree(paths.store_dir(store_id))
    with begun(who) as store:
        assert store.head()[0] == 0
        first = store.record(0)
        assert first is not None
        assert first[0].meta["gap"]["seq"] == 2


def test_owners_are_corrected_by_name(home: Path) -> None:
    who = owner(home)
    store_id = filled(who, 1)
    assert not opening.correct_owners()
    owner_file(store_id).write_text(json.dumps(who._replace(workspace="/else")._asdict()))
    assert opening.correct_owners()
    assert not opening.correct_owners()
    noted = identity.owner_of(store_id)
    assert noted is not None and noted.workspace == who.workspace
    assert os.stat(owner_file(store_id)).st_mode & 0o777 == 0o600
    Store(store_id).close()
