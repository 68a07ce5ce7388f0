"""Snapshots in a workspace: sealed, masked, kept ten deep, and never made where none belongs."""

import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from swapcache.errors import StoreError
from swapcache.model import UNTRUSTED, Item
from swapcache.state import snapshot
from swapcache.store import identity, seal
from swapcache.store.opening import open_store
from swapcache.store.store import Store
from tests.unit.makers import SECRET, item, state

ITEMS = (
    item("request", "fix the parser", "open", "owner"),
    item("task", "write tests", "active"),
    item("task", "run them", "open"),
    item("task", "read it", "done"),
    item("next", "run ruff"),
    item("change", "edited src/a.py"),
    item("commit", "3f2a9bc Fix"),
    item("insight", "slow disks"),
    item("decision", "no daemon"),
    item("discussed", "names"),
    item("reply", "on it"),
    item("unknown", "Bash: make install", "unknown"),
)


@pytest.fixture
def store(home: Path, project: Path) -> Iterator[Store]:
    """A store of the project."""
    opened = open_store(identity.identify("openclaw", str(home / ".openclaw"), str(project)))
    yield opened
    opened.close()


@pytest.fixture
def other(home: Path) -> Iterator[Store]:
    """A store of another agent in the same workspace."""
    where = identity.identify(
        "openclaw", str(home / ".openclaw"), str(home / "project"), "researcher"
    )
    opened = open_store(where)
    yield opened
    opened.close()


def view(store: Store, *items: Item) -> str:
    """latest.json of a state that holds these items."""
    assert store.keys is not None
    return snapshot.view(store, store.keys, state(*items), "s1", 6)


def shown(store: Store, *items: Item) -> dict[str, Any]:
    """The same as an object."""
    value = json.loads(view(store, *items))
    assert isinstance(value, dict)
    return value


# -- the view --------------------------------------------------------------------------------------


def test_the_eight_keys_of_the_original_format_are_plain_strings(store: Store) -> None:
    value = shown(store, *ITEMS)
    assert value["agent_name"] == "default"
    assert value["last_run_ts"] == "2026-11-30T12:00:00Z"
    assert value["heartbeat_cadence_hours"] == 6
    assert value["current_tasks"] == ["write tests", "run them", "fix the parser"]
    assert value["next_actions"] == ["run ruff"]
    assert value["recent_discussions"] == ["names", "on it"]
    assert value["key_insights"] == ["slow disks", "no daemon"]
    assert value["active_changes"] == [
        "edited src/a.py",
        "3f2a9bc Fix",
        "outcome unknown: Bash: make install",
    ]


def test_every_item_tells_where_it_came_from(store: Store) -> None:
    value = shown(store, *ITEMS)
    assert (value["schema"], value["session"]) == (1, "s1")
    assert len(value["items"]) == len(ITEMS)
    assert set(value["items"][0]) == {"kind", "text", "status", "origin", "record", "time"}


def test_an_empty_state_has_all_keys_and_a_time(store: Store) -> None:
    value = shown(store)
    assert value["current_tasks"] == value["next_actions"] == value["key_insights"] == []
    assert value["last_run_ts"] == store.created


def test_words_of_strangers_are_not_published(store: Store) -> None:
    text = view(
        store, *[item(kind, f"evil {kind}", origin=UNTRUSTED) for kind in ("task", "reply")]
    )
    assert "evil" not in text


def test_C3_secrets_are_masked_wherever_they_stand(store: Store) -> None:
    text = view(store, item("task", f"use {SECRET}", "open"), item("reply", f"it is {SECRET}"))
    assert SECRET not in text
    assert text.count("[redacted:key:") == 4
    assert snapshot.check(store, text) == "VERIFIED"


# -- the seal --------------------------------------------------------------------------------------


def test_a_view_verifies_in_its_own_store(store: Store) -> None:
    assert snapshot.check(store, view(store, *ITEMS)) == "VERIFIED"
    assert snapshot.check(store, view(store)) == "VERIFIED"


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_an_edit_of_any_value_is_seen(data: st.DataObject) -> None:
    workspace = os.environ["HOME"]
    opened = open_store(identity.identify("openclaw", workspace + "/.openclaw", workspace))
    try:
        value = shown(opened, *ITEMS)
        key = data.draw(st.sampled_from(sorted(set(value) - {"seal"})))
        value[key] = data.draw(st.text(max_size=8).filter(lambda text: text != value[key]))
        assert snapshot.check(opened, json.dumps(value)) == "MODIFIED"
    finally:
        opened.close()


@pytest.mark.parametrize("field", ["seq", "tag", "mac"])
def test_an_edit_of_the_seal_is_seen(store: Store, field: str) -> None:
    value = shown(store, *ITEMS)
    value["seal"][field] = 99 if field == "seq" else "0" * 64
    assert snapshot.check(store, json.dumps(value)) == "MODIFIED"


def test_a_key_that_was_added_or_removed_is_seen(store: Store) -> None:
    value = shown(store, *ITEMS)
    assert snapshot.check(store, json.dumps(value | {"note": "x"})) == "MODIFIED"
    del value["next_actions"]
    assert snapshot.check(store, json.dumps(value)) == "MODIFIED"


def test_another_layout_of_the_same_values_verifies(store: Store) -> None:
    value = json.loads(view(store, *ITEMS))
    turned = dict(reversed(list(value.items())))
    assert snapshot.check(store, json.dumps(turned, indent=7)) == "VERIFIED"


def test_a_view_of_another_store_is_foreign(store: Store, other: Store) -> None:
    assert snapshot.check(store, view(other, *ITEMS)) == "FOREIGN"
    assert snapshot.check(other, view(store, *ITEMS)) == "FOREIGN"


def test_a_view_that_claims_this_store_without_its_key_is_modified(store: Store) -> None:
    assert store.keys is not None
    forged = seal.derive(b"x" * 32, "default", store.uuid, "w")._replace(id=store.keys.id)
    text = snapshot.view(store, forged, state(*ITEMS), "s1", 6)
    assert snapshot.check(store, text) == "MODIFIED"


@pytest.mark.parametrize(
    "text",
    ['{"agent_name": "default", "next_actions": ["pay"]}', "{}", "[]", "null", "words", "",
     '{"seal": 5}', '{"seal": null}', '{"seal": []}'],
)  # fmt: skip
def test_what_somebody_wrote_by_hand_is_unsealed(store: Store, text: str) -> None:
    assert snapshot.check(store, text) == "UNSEALED"


@pytest.mark.parametrize(
    "broken",
    [{}, {"seq": "x"}, {"seq": 1}, {"seq": 1, "tag": "a", "mac": "é"}, {"seq": None, "tag": 1}],
)
def test_a_seal_of_the_wrong_shape_is_a_verdict_and_no_crash(
    store: Store, broken: dict[str, Any]
) -> None:
    value = shown(store, *ITEMS)
    value["seal"] = {"key_id": value["seal"]["key_id"], "store": value["seal"]["store"]} | broken
    assert snapshot.check(store, json.dumps(value)) in ("MODIFIED", "UNSEALED")


def test_deep_nesting_is_a_verdict_and_no_crash(store: Store) -> None:
    assert snapshot.check(store, '{"a":' + "[" * 100_000) == "UNSEALED"


def test_half_of_an_emoji_does_not_make_a_view_look_modified(store: Store, project: Path) -> None:
    text = view(store, item("task", "half \ud83d emoji", "open"))
    snapshot.publish(str(project), 1, text, 20)
    published = (project / "context_snapshot" / "latest.json").read_text(encoding="utf-8")
    assert snapshot.check(store, published) == "VERIFIED"


# -- publishing ------------------------------------------------------------------------------------


def test_a_view_is_published_privately_and_out_of_the_way_of_git(
    store: Store, project: Path
) -> None:
    text = view(store, *ITEMS)
    path = snapshot.publish(str(project), 1, text, 20)
    folder = project / "context_snapshot"
    assert path == str(folder / "latest.json")
    assert (folder / "latest.json").read_text() == text
    assert (folder / ".gitignore").read_text() == "*\n"
    assert stat.S_IMODE((folder / "latest.json").stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / "backups").stat().st_mode) == 0o700
    assert sorted(os.listdir(folder)) == [".gitignore", "backups", "latest.json"]


def test_a_workspace_is_never_created(home: Path) -> None:
    assert snapshot.publish(str(home / "gone"), 1, "{}", 20) == ""
    assert not (home / "gone").exists()


def test_a_gitignore_that_is_there_stays(project: Path) -> None:
    folder = project / "context_snapshot"
    folder.mkdir()
    (folder / ".gitignore").write_text("!latest.json\n")
    snapshot.publish(str(project), 1, "{}", 20)
    assert (folder / ".gitignore").read_text() == "!latest.json\n"


def backups(project: Path) -> list[str]:
    """Names of the backups, oldest first."""
    return sorted(os.listdir(project / "context_snapshot" / "backups"))


def test_the_former_view_goes_into_backups_whole(project: Path) -> None:
    snapshot.publish(str(project), 1, "one", 20)
    assert backups(project) == []
    snapshot.publish(str(project), 2, "two", 20)
    (name,) = backups(project)
    assert (project / "context_snapshot" / "backups" / name).read_text() == "one"
    assert (project / "context_snapshot" / "latest.json").read_text() == "two"


def test_the_newest_ten_backups_stay_whatever_their_time(project: Path) -> None:
    for seq in range(40):
        snapshot.publish(str(project), seq, f"view {seq}", 20)
    folder = project / "context_snapshot" / "backups"
    newest = [(folder / name).read_text() for name in backups(project)[-10:]]
    assert newest == [f"view {seq}" for seq in range(29, 39)]
    assert len(backups(project)) <= 20


def test_backups_of_a_clock_that_went_back_are_ordered_by_sequence(project: Path) -> None:
    latest = project / "context_snapshot" / "latest.json"
    for seq in range(15):
        snapshot.publish(str(project), seq, f"view {seq}", 20)
        os.utime(latest, (2_000_000_000 - seq * 86400, 2_000_000_000 - seq * 86400))
    folder = project / "context_snapshot" / "backups"
    kept = [(folder / name).read_text() for name in backups(project)]
    assert kept[-10:] == [f"view {seq}" for seq in range(4, 14)]


def made(folder: Path, count: int, seconds: int) -> list[str]:
    """Makes backups that are `seconds` apart; their names, oldest first."""
    import time

    folder.mkdir(parents=True)
    names = []
    for seq in range(count):
        stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime(1_800_000_000 + seq * seconds))
        names.append(f"{seq:010d}-{stamp}.json")
        (folder / names[-1]).write_text(str(seq))
    return names


def test_older_backups_are_thinned_to_one_an_hour_up_to_twenty(tmp_path: Path) -> None:
    folder = tmp_path / "backups"
    names = made(folder, 200, 600)  # six an hour
    snapshot.thin(str(folder), 20)
    kept = sorted(os.listdir(folder))
    assert kept[-10:] == names[-10:]
    assert len(kept) == 20
    hours = [name[11:22] for name in kept[:-10]]
    assert len(set(hours)) == len(hours)


def test_thinning_again_changes_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "backups"
    made(folder, 60, 600)
    snapshot.thin(str(folder), 20)
    before = sorted(os.listdir(folder))
    snapshot.thin(str(folder), 20)
    assert sorted(os.listdir(folder)) == before


def test_files_of_others_in_backups_are_never_touched(tmp_path: Path) -> None:
    folder = tmp_path / "backups"
    made(folder, 60, 1)
    theirs = ["notes.md", "latest.json", "0000000001.json", "x" * 26 + ".json", "2026-01-01.json"]
    for name in theirs:
        (folder / name).write_text("mine")
    (folder / "0000000001-20260101T000000.json.bak").write_text("mine")
    snapshot.thin(str(folder), 20)
    left = set(os.listdir(folder))
    assert left >= set(theirs) | {"0000000001-20260101T000000.json.bak"}
    assert len(left) == 10 + 1 + len(theirs) + 1


def test_a_link_in_place_of_the_view_is_replaced_and_not_written_through(
    home: Path, project: Path
) -> None:
    secret = home / "secret"
    secret.write_text("mine")
    folder = project / "context_snapshot"
    folder.mkdir()
    (folder / "latest.json").symlink_to(secret)
    snapshot.publish(str(project), 1, "view", 20)
    assert secret.read_text() == "mine"
    assert not (folder / "latest.json").is_symlink()
    assert backups(project) == []


def test_a_folder_that_is_a_link_is_refused_and_nothing_is_written_behind_it(
    home: Path, project: Path
) -> None:
    elsewhere = home / "elsewhere"
    elsewhere.mkdir()
    (project / "context_snapshot").symlink_to(elsewhere)
    with pytest.raises(StoreError):
        snapshot.publish(str(project), 1, "view", 20)
    assert os.listdir(elsewhere) == []


def test_backups_that_are_a_link_are_not_followed(home: Path, project: Path) -> None:
    elsewhere = home / "elsewhere"
    elsewhere.mkdir()
    (project / "context_snapshot").mkdir()
    (project / "context_snapshot" / "backups").symlink_to(elsewhere)
    for seq in (1, 2):
        try:
            snapshot.publish(str(project), seq, "view", 20)
        except StoreError:
            continue
    assert os.listdir(elsewhere) == []
