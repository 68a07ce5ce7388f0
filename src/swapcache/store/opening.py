"""Opening the store of an identity, making it, and keeping it with its workspace.

Owns creation and the binding of a store to its owner. Promises that a key is never created where
stores exist, that a store is whole or absent, and that it follows a workspace only where its own
chain proves the rename. Never trusts the file beside a store that names its owner: that is a cache.
"""

from __future__ import annotations

import os

from swapcache import paths
from swapcache.errors import KeyProblem, StoreError
from swapcache.model import Identity, NewRecord
from swapcache.store import database, files, identity, seal, trust, witness
from swapcache.store.store import Store, now


def open_store(wanted: Identity, wait: float = 2.0) -> Store:
    """The store of an identity, made if it does not exist. Raises StoreError, KeyProblem.

    The key is created only together with the very first store: a key that is missing where
    stores exist was lost or moved, and a new one would make everything look foreign.
    """
    store = _found(wanted, wait)
    if store is None and identity.doubtful(wanted):
        correct_owners()
        store = _found(wanted, wait)
    if store is None:
        store = Store(_create(wanted), wait)
    try:
        if store.empty():  # new, or its maker was killed before record 0
            _begin_chain(store)
            store.learn_owner()
    except BaseException:
        store.close()
        raise
    return store


def _found(wanted: Identity, wait: float) -> Store | None:
    """The store that the files beside the stores name, if its own chain names the same owner."""
    found = identity.find(wanted)
    if found is None:
        return None
    store = Store(found, wait)
    try:
        same = store.identity[:4] == wanted[:4] or not store.owner_proven
        if same or _follow(store, wanted):
            return store  # one whose owner is not proven is served with its verdict
        identity.claim(store.id, store.identity)
    except BaseException:
        store.close()
        raise
    store.close()
    return None


def _create(wanted: Identity) -> str:
    try:
        key = seal.read_key(paths.key_file())
    except FileNotFoundError:
        key = _first_key()
    store_id = identity.free_id(wanted)
    files.private_directory(paths.stores_dir())
    files.private_directory(paths.witness_dir())
    directory = paths.store_dir(store_id)
    files.private_directory(directory)
    identity.claim(store_id, wanted)
    who = (database.bound(field) for field in wanted)
    database.create(directory, (_uuid(), seal.sha256(key)[:8], *who, now()))
    return store_id


def _first_key() -> bytes:
    if not identity.listing():
        return seal.create_key(paths.key_file())
    try:
        return seal.read_key(paths.key_file())  # another process made it and its store just now
    except FileNotFoundError:
        raise KeyProblem(
            f"the key {paths.key_file()} is missing, but stores exist; put the key back "
            "from a backup of that directory"
        ) from None


def _begin_chain(store: Store) -> None:
    """Seals record 0, which says what was here before: nothing, or a store that is gone."""
    before = witness.read(paths.witness_file(store.id), store.keys)
    owner = store.identity._asdict()
    meta: dict[str, object] = {"kind": "event", "event": "created", "owner": owner, "wall": now()}
    if before is not None and before.store != store.uuid:
        meta["gap"] = {"seq": before.seq, "store": before.store, "tag": before.tag}
    with store.writing() as writer:
        if writer.seq < 0:
            writer.append([NewRecord(b"", meta)])


def _uuid() -> str:
    raw = os.urandom(16).hex()
    return (
        f"{raw[:8]}-{raw[8:12]}-4{raw[13:16]}-{'89ab'[int(raw[16], 16) & 3]}{raw[17:20]}-{raw[20:]}"
    )


# -- whose it is -----------------------------------------------------------------------------------


def _follow(store: Store, wanted: Identity) -> bool:
    """Keeps a store with its renamed repository: same inode as sealed, and nothing at its old
    place. What is not proven is left as it is, and served with its verdict."""
    known = store.identity
    renamed = bool(known.inode) and known.inode == wanted.inode and known[:3] == wanted[:3]
    if not renamed or os.path.exists(known.workspace):
        return False
    if store.check().good:
        bind(store, wanted, "renamed")
    return True


def bind(store: Store, owner: Identity, why: str, **more: object) -> None:
    """Seals whose memory the store is from now on. Raises StoreError, SealError."""
    fields = [database.bound(field) for field in owner]
    with store.writing() as writer:
        before = store.identity._asdict()
        writer.append([trust.record(why, now(), owner=owner._asdict(), before=before, **more)])
        store.db.execute(
            "UPDATE store SET host=?, state_dir=?, agent=?, workspace=?, inode=?", fields
        )
    store.learn_owner()
    identity.claim(store.id, owner)


def correct_owners() -> bool:
    """Writes the file beside each store anew where it names another owner than the store's chain.

    True when one did: an accident, or somebody who wanted two memories exchanged.
    """
    wrong = False
    for store_id, noted in identity.listing():
        try:
            store = Store(store_id)
        except StoreError:
            continue
        try:
            if store.owner_proven and noted[:4] != store.identity[:4]:
                identity.claim(store_id, store.identity)
                wrong = True
        finally:
            store.close()
    return wrong
