"""Verdicts on views: what was sealed here, and nothing else, verifies."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from swapcache import paths
from swapcache.model import Verdict
from swapcache.state import snapshot, views
from swapcache.store import files, identity, seal
from swapcache.store.opening import open_store
from swapcache.store.store import Store
from tests.unit.makers import state
from tests.unit.state.viewing import ITEMS, shown, view
from tests.unit.store.making import add


def said(store: Store, text: str) -> str:
    """Name of the verdict on a view."""
    return views.judge(store, text.encode()).name


def test_a_view_verifies_in_its_own_store(store: Store) -> None:
    assert said(store, view(store, *ITEMS)) == "VERIFIED"
    assert said(store, view(store)) == "VERIFIED"


@settings(max_examples=60)
@given(data=st.data())
def test_an_edit_of_any_value_is_seen(data: st.DataObject) -> None:
    workspace = os.environ["HOME"]
    opened = open_store(identity.identify("openclaw", workspace + "/.openclaw", workspace))
    try:
        value = shown(opened, *ITEMS)
        key = data.draw(st.sampled_from(sorted(set(value) - {"seal"})))
        value[key] = data.draw(st.text(max_size=8).filter(lambda text: text != value[key]))
        assert said(opened, json.dumps(value)) == "MODIFIED"
    finally:
        opened.close()


@pytest.mark.parametrize("field", ["seq", "tag", "mac"])
def test_an_edit_of_the_seal_is_seen(store: Store, field: str) -> None:
    value = shown(store, *ITEMS)
    value["seal"][field] = 99 if field == "seq" else "0" * 64
    assert said(store, json.dumps(value)) == "MODIFIED"


def test_a_key_that_was_added_or_removed_is_seen(store: Store) -> None:
    value = shown(store, *ITEMS)
    assert said(store, json.dumps(value | {"note": "x"})) == "MODIFIED"
    del value["next_actions"]
    assert said(store, json.dumps(value)) == "MODIFIED"


def test_another_layout_of_the_same_values_verifies(store: Store) -> None:
    value = json.loads(view(store, *ITEMS))
    turned = dict(reversed(list(value.items())))
    assert said(store, json.dumps(turned, indent=7)) == "VERIFIED"


def test_a_view_of_another_store_is_foreign(store: Store, other: Store) -> None:
    assert said(store, view(other, *ITEMS)) == "FOREIGN"
    assert said(other, view(store, *ITEMS)) == "FOREIGN"


def test_a_view_that_claims_this_store_without_its_key_is_modified(store: Store) -> None:
    assert store.keys is not None
    forged = seal.derive(b"x" * 32, "default", store.uuid, "w")._replace(id=store.keys.id)
    text = snapshot.view(store, forged, state(*ITEMS), "s1", 6)
    assert said(store, text) == "MODIFIED"


@pytest.mark.parametrize(
    "text",
    ['{"agent_name": "default", "next_actions": ["pay"]}', "{}", "[]", "null", "words", "",
     '{"seal": 5}', '{"seal": null}', '{"seal": []}'],
)  # fmt: skip
def test_what_somebody_wrote_by_hand_is_unsealed(store: Store, text: str) -> None:
    assert said(store, text) == "UNSEALED"


@pytest.mark.parametrize(
    "broken",
    [{}, {"seq": "x"}, {"seq": 1}, {"seq": 1, "tag": "a", "mac": "é"}, {"seq": None, "tag": 1}],
)
def test_a_seal_of_the_wrong_shape_is_a_verdict_and_no_crash(
    store: Store, broken: dict[str, Any]
) -> None:
    value = shown(store, *ITEMS)
    whose = {field: value["seal"][field] for field in ("key_id", "store", "agent")}
    value["seal"] = whose | broken
    assert said(store, json.dumps(value)) in ("MODIFIED", "UNSEALED")


def test_deep_nesting_is_a_verdict_and_no_crash(store: Store) -> None:
    assert said(store, '{"a":' + "[" * 100_000) == "UNSEALED"


@pytest.mark.parametrize("change", [{"v": 2}, {"v": "1"}, {"note": "not sealed"}, {"mac": 5}])
def test_a_seal_holds_nothing_that_is_not_sealed(store: Store, change: dict[str, Any]) -> None:
    value = shown(store, *ITEMS)
    value["seal"] |= change
    assert said(store, json.dumps(value)) == "MODIFIED"


@pytest.mark.parametrize("field", ["key_id", "store", "agent"])
def test_a_seal_in_another_name_is_foreign(store: Store, field: str) -> None:
    value = shown(store, *ITEMS)
    value["seal"][field] = "another"
    assert said(store, json.dumps(value)) == "FOREIGN"


@pytest.mark.parametrize("key_id", ["0badc0de", "../../etc", "\x00", "", 5, None])
def test_a_key_that_was_replaced_proves_nothing_and_is_named(store: Store, key_id: object) -> None:
    value = shown(store, *ITEMS)
    value["seal"]["key_id"] = key_id
    files.publish_private(paths.retired_key("0badc0de"), b"x" * 32)
    verdict = views.judge(store, json.dumps(value).encode())
    assert verdict.name == "FOREIGN"
    assert ("replaced" in verdict.detail) == (key_id == "0badc0de")


def test_a_key_that_stands_twice_is_no_seal(store: Store) -> None:
    text = view(store, *ITEMS)
    assert said(store, text.replace("{", '{"next_actions": ["pay"],', 1)) == "UNSEALED"


def test_an_older_view_verifies_and_says_that_it_is_older(store: Store) -> None:
    text = view(store, *ITEMS).encode()
    now = views.judge(store, text)
    add(store, b"row")
    later = views.judge(store, text)
    assert now.good and later.good and later.have == now.have
    assert (now.detail, later.detail) == ("", "older than the head")


def test_a_view_that_was_replaced_by_a_newer_one_is_rolled_back(store: Store) -> None:
    text = view(store, *ITEMS).encode()
    older = store.head()[0]
    newer = add(store, b"row")
    verdict = views.judge(store, text, newest=newer)
    assert (verdict.name, verdict.have, verdict.seen) == ("ROLLED_BACK", older, newer)
    assert views.judge(store, text, newest=older).good


def test_a_view_of_records_that_the_store_does_not_hold_says_so(store: Store) -> None:
    """As after a restored backup of the store."""
    before = store.head()[0]
    add(store, b"row")
    text = view(store, *ITEMS).encode()
    store.db.execute("DELETE FROM record WHERE seq>?", (before,))
    store.db.execute("UPDATE head SET seq=?, tag=?", (before, store.tag(before)))
    verdict = views.judge(store, text)
    assert (verdict.name, verdict.have, verdict.seen) == ("ROLLED_BACK", before, before + 1)
    add_other(store)
    assert views.judge(store, text).name == "MODIFIED"


def add_other(store: Store) -> None:
    """Another record in the place of the one that is gone; the head's seal is no matter here."""
    seq = store.head()[0] + 1
    store.db.execute(
        "INSERT INTO record SELECT ?, chunk, start, size, sha, meta, ?, NULL, NULL FROM record"
        " WHERE seq=0",
        (seq, b"\1" * 32),
    )
    store.db.execute("UPDATE head SET seq=?", (seq,))


def test_without_the_key_nothing_is_said_of_a_view(store: Store) -> None:
    text = view(store, *ITEMS).encode()
    store.keys, store.key_problem = None, "the key is missing"
    assert views.judge(store, text) == Verdict("NO_KEY", "the key is missing")


@settings(max_examples=60)
@given(st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
def test_no_bytes_make_a_verdict_fail(data: bytes) -> None:
    workspace = os.environ["HOME"]
    opened = open_store(identity.identify("openclaw", workspace + "/.openclaw", workspace))
    try:
        assert views.judge(opened, data).name == "UNSEALED"
    finally:
        opened.close()


def test_the_words_of_a_verdict_are_ours(store: Store) -> None:
    value = shown(store, *ITEMS)
    for field in value["seal"]:
        evil = value | {"seal": value["seal"] | {field: "EVIL \x1b[2J"}}
        verdict = views.judge(store, json.dumps(evil).encode())
        assert not verdict.good and "EVIL" not in verdict.detail


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        ("0000000412-20261130T120007.json", True),
        ("0000000412-20261130T120007.jsonx", False),
        ("0000000412-20261130 120007.json", False),
        ("000000041٣-20261130T120007.json", False),
        ("0000000412-2026113\x1bT120007.json", False),
        ("latest.json", False),
        ("", False),
    ],
)
def test_the_names_of_backups(name: str, ours: bool) -> None:
    assert views.is_backup(name) == ours


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        ("20261130T120007Z-FOREIGN-0123456789abcdef.json", True),
        ("20261130T120007Z-ROLLED_BACK-0123456789abcdef.json", True),
        ("20261130T120007Z-VERIFIED-0123456789abcdef.json", False),
        ("20261130T120007Z-FOREIGN-0123456789abcde\x1b.json", False),
        ("20261130T120007-FOREIGN-0123456789abcdef.json", False),
        ("notes.md", False),
        ("", False),
    ],
)
def test_the_names_in_quarantine(name: str, ours: bool) -> None:
    assert views.is_moved(name) == ours


def test_what_a_store_remembers_of_its_views_is_sealed(store: Store) -> None:
    moved = [{"name": "n", "place": "p", "verdict": "FOREIGN", "detail": "", "head": 0}]
    given = views.Note(*store.head(), moved)
    views.keep_note(store, given)
    assert views.note(store) == given
    path = Path(paths.views_file(store.directory))
    changes: list[dict[str, Any]] = [
        {"seq": -1},
        {"moved": []},
        {"mac": "0" * 64},
        {"moved": 5},
        {"seq": None},
    ]
    for change in changes:
        path.write_text(json.dumps(json.loads(path.read_text()) | change))
        assert views.note(store) == views.Note(-1, "", [])
        views.keep_note(store, given)
    path.unlink()
    os.mkfifo(path)
    assert views.note(store) == views.Note(-1, "", [])


def test_of_what_was_moved_the_newest_is_remembered(store: Store) -> None:
    many = [{"name": str(n), "head": n} for n in range(200)]
    views.keep_note(store, views.Note(*store.head(), many))
    assert views.note(store).moved == many[-views.REMEMBERED :]
    assert views.moved_since(store, 198) == many[198:]
    assert len(views.moved_since(store, None)) == views.REMEMBERED
