"""Publishing into a workspace that others write to: what is not ours is moved, never lost."""

import contextlib
import json
import os
import shutil
import socket
import stat
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from swapcache import paths
from swapcache.cli import views as listing
from swapcache.errors import BusyError, StoreError
from swapcache.state import publishing, views
from swapcache.store import files
from swapcache.store.store import Store
from tests.unit.makers import item
from tests.unit.state.viewing import ITEMS, view
from tests.unit.store.making import add, mode


def turn(store: Store, words: str = "work", keep: int = 20) -> str:
    """One more record, and its view published; the view."""
    add(store, b"row")
    text = view(store, item("task", words, "open"))
    publishing.publish(store, text, keep)
    return text


@pytest.fixture
def folder(project: Path) -> Path:
    """The folder of the project's views."""
    return project / "context_snapshot"


def backups(folder: Path) -> list[str]:
    """Names of the backups, oldest first."""
    return sorted(os.listdir(folder / "backups"))


def quarantined(folder: Path) -> list[str]:
    """Names in quarantine."""
    place = folder / "quarantine"
    return sorted(os.listdir(place)) if place.is_dir() and not place.is_symlink() else []


# -- publishing ------------------------------------------------------------------------------------


def test_a_view_is_published_privately_and_out_of_the_way_of_git(
    store: Store, project: Path, folder: Path
) -> None:
    text = view(store, *ITEMS)
    assert publishing.publish(store, text, 20) == str(folder / "latest.json")
    assert (folder / "latest.json").read_text() == text
    assert (folder / ".gitignore").read_text() == "*\n"
    assert mode(folder / "latest.json") == mode(folder / ".gitignore") == 0o600
    assert mode(folder) == mode(folder / "backups") == 0o700
    assert sorted(os.listdir(folder)) == [".gitignore", "backups", "latest.json"]
    assert sorted(os.listdir(project)) == [".git", "context_snapshot"]


@pytest.mark.parametrize("mask", [0, 0o77, 0o277])
def test_modes_are_private_whatever_the_umask(store: Store, folder: Path, mask: int) -> None:
    before = os.umask(mask)
    try:
        turn(store)
        (folder / "latest.json").write_text("planted")
        turn(store)
    finally:
        os.umask(before)
    places = [folder, folder / "backups", folder / "quarantine"]
    assert [mode(place) for place in places] == [0o700] * 3
    noted = Path(paths.views_file(store.directory))
    written = [folder / "latest.json", folder / ".gitignore", noted]
    assert [mode(path) for path in written] == [0o600] * 3
    assert mode(paths.views_lock(str(folder.parent))) == 0o600


def test_a_workspace_is_never_created(store: Store, project: Path) -> None:
    text = view(store, *ITEMS)
    project.rename(project.with_name("moved"))
    assert publishing.publish(store, text, 20) == ""
    assert not project.exists()


def test_a_workspace_that_became_a_link_is_not_written_through(
    store: Store, project: Path, home: Path
) -> None:
    text = view(store, *ITEMS)
    project.rename(home / "elsewhere")
    project.symlink_to(home / "elsewhere")
    with pytest.raises(StoreError, match="cannot publish"):
        publishing.publish(store, text, 20)
    assert os.listdir(home / "elsewhere") == [".git"]


def test_what_does_not_verify_is_not_published(store: Store, folder: Path) -> None:
    text = view(store, *ITEMS)
    with pytest.raises(StoreError, match="does not verify"):
        publishing.publish(store, text.replace("ruff", "rm"), 20)
    assert not folder.exists()


def test_a_gitignore_that_is_there_stays(store: Store, folder: Path) -> None:
    folder.mkdir()
    (folder / ".gitignore").write_text("!latest.json\n")
    turn(store)
    assert (folder / ".gitignore").read_text() == "!latest.json\n"


def test_the_former_view_goes_into_backups_whole(store: Store, folder: Path) -> None:
    one = turn(store)
    assert backups(folder) == []
    two = turn(store)
    (name,) = backups(folder)
    assert (folder / "backups" / name).read_text() == one
    assert int(name[:10]) == json.loads(one)["seal"]["seq"]
    assert (folder / "latest.json").read_text() == two
    assert os.stat(folder / "backups" / name).st_nlink == 1


def test_the_same_view_once_more_changes_nothing(store: Store, folder: Path) -> None:
    text = turn(store)
    before = os.stat(folder / "latest.json")
    publishing.publish(store, text, 20)
    assert os.stat(folder / "latest.json") == before and backups(folder) == []
    os.unlink(paths.views_file(store.directory))
    publishing.publish(store, text, 20)
    assert views.note(store).seq == store.head()[0], "what a killed publishing did not note"


def test_a_view_that_is_older_than_what_is_published_is_not_published(
    store: Store, folder: Path
) -> None:
    add(store, b"row")
    late = view(store, item("task", "late", "open"))
    newer = turn(store, "newer")
    assert publishing.publish(store, late, 20) == ""
    assert (folder / "latest.json").read_text() == newer and quarantined(folder) == []


def test_one_publishes_at_a_time(store: Store, folder: Path) -> None:
    store.wait = 0.05
    with files.Lock(paths.views_lock(str(folder.parent)), 1), pytest.raises(BusyError):
        turn(store)
    assert not folder.exists()
    turn(store)
    assert (folder / "latest.json").exists()


def test_a_kill_between_any_two_steps_loses_and_moves_nothing(
    store: Store, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    turn(store)
    for step in ("link", "rename", "unlink"):
        for _ in range(14):
            turn(store, keep=10)
        real = getattr(os, step)

        def killed(*given: Any, real: Callable[..., Any] = real, **more: Any) -> None:
            real(*given, **more)
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(os, step, killed)
            with pytest.raises(KeyboardInterrupt):
                turn(store, keep=10)
    text = turn(store, keep=10)
    assert (folder / "latest.json").read_text() == text
    assert quarantined(folder) == [] and len(backups(folder)) == 10
    assert listing.strange(store) == []


def test_a_full_disk_leaves_the_former_view(
    store: Store, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = turn(store)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(files, "write_all", full)
        with pytest.raises(StoreError, match="free some space"):
            turn(store)
    assert (folder / "latest.json").read_text() == before
    turn(store)
    assert quarantined(folder) == []


# -- thinning --------------------------------------------------------------------------------------


def test_the_newest_ten_backups_stay_whatever_their_time(store: Store, folder: Path) -> None:
    texts = [turn(store, f"view {number}") for number in range(40)]
    kept = [(folder / "backups" / name).read_text() for name in backups(folder)]
    assert kept[-10:] == texts[29:39]
    assert len(kept) <= 20 and quarantined(folder) == []


def test_backups_of_a_clock_that_went_back_are_ordered_by_record(
    store: Store, folder: Path
) -> None:
    texts = []
    for number in range(15):
        texts.append(turn(store))
        os.utime(folder / "latest.json", (2_000_000_000 - number * 86400,) * 2)
    kept = [(folder / "backups" / name).read_text() for name in backups(folder)]
    assert kept[-10:] == texts[4:14]


@pytest.mark.parametrize("when", [-(1 << 33), 1 << 40])
def test_a_time_that_no_calendar_has_is_no_failure(store: Store, folder: Path, when: int) -> None:
    turn(store)
    os.utime(folder / "latest.json", (when, when))
    turn(store)
    assert len(backups(folder)) == 1 and views.is_backup(backups(folder)[0])


def named(count: int, seconds: int) -> list[str]:
    """Names of backups that are `seconds` apart, newest first."""
    stamps = [time.gmtime(1_800_000_000 + n * seconds) for n in range(count)]
    names = [f"{n:010d}-{time.strftime('%Y%m%dT%H%M%S', s)}.json" for n, s in enumerate(stamps)]
    return names[::-1]


def test_older_backups_are_thinned_to_one_an_hour_up_to_twenty() -> None:
    names = named(200, 600)  # six an hour
    gone = publishing.superfluous(names, 20)
    kept = [name for name in names if name not in gone]
    assert kept[:10] == names[:10] and len(kept) == 20
    hours = [name[11:22] for name in kept[10:]]
    assert len(set(hours)) == len(hours)


def test_thinning_again_changes_nothing() -> None:
    names = named(60, 600)
    gone = publishing.superfluous(names, 20)
    assert gone and publishing.superfluous([n for n in names if n not in gone], 20) == []


def test_files_of_others_in_backups_are_never_touched(store: Store, folder: Path) -> None:
    theirs = ["notes.md", "latest.json", "0000000001.json", "x" * 26 + ".json", "2026-01-01.json",
              "0000000001-20260101T000000.json.bak"]  # fmt: skip
    (folder / "backups").mkdir(parents=True)
    for name in theirs:
        (folder / "backups" / name).write_text("mine")
    for _ in range(30):
        turn(store, keep=10)
    left = backups(folder)
    assert set(left) >= set(theirs) and len(left) == 10 + len(theirs)
    assert all((folder / "backups" / name).read_text() == "mine" for name in theirs)


def test_planted_backups_do_not_push_out_real_ones(store: Store, folder: Path) -> None:
    texts = [turn(store) for _ in range(9)]
    old = sorted((folder / "backups").iterdir())[0]
    for number in range(40):
        name = f"{9_000_000_000 + number}-20990101T000000.json"
        (folder / "backups" / name).write_text("planted" if number % 2 else old.read_text())
    for number in range(30):  # copies of a real one, under its own number
        (folder / "backups" / f"{old.name[:10]}-20990101T0000{number:02d}.json").write_text(
            old.read_text()
        )
    texts += [turn(store) for _ in range(2)]
    kept = {(folder / "backups" / name).read_text() for name in backups(folder)}
    assert kept >= set(texts[:-1])
    assert len(quarantined(folder)) == 40
    verdicts = {name.split("-")[1] for name in quarantined(folder)}
    assert verdicts == {"UNSEALED", "ROLLED_BACK"}


def test_nothing_is_read_while_nothing_is_to_be_deleted(
    store: Store, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(5):
        turn(store)
    looked: list[str] = []
    real = views.Judge.look

    def look(self: views.Judge, inside: int, name: str, *, latest: bool = False) -> Any:
        looked.append(name)
        return real(self, inside, name, latest=latest)

    monkeypatch.setattr(views.Judge, "look", look)
    turn(store)
    assert looked.count("latest.json") == 1
    assert set(looked) - {"latest.json"} == {backups(folder)[-1]}, "the one that was made just now"


# -- two who publish into one workspace ------------------------------------------------------------


def test_agents_of_one_workspace_do_not_quarantine_each_other(
    store: Store, other: Store, folder: Path
) -> None:
    for _ in range(30):
        add(other, b"its numbers are others")
    for number in range(30):
        turn(store, f"mine {number}", keep=10)
        turn(other, f"theirs {number}", keep=10)
    assert quarantined(folder) == [] and listing.strange(store) == listing.strange(other) == []
    seals = [json.loads((folder / "backups" / n).read_text())["seal"] for n in backups(folder)]
    agents = [s["agent"] for s in seals]
    assert agents.count("researcher") == 10
    assert agents.count("default") == 11, "its newest one was put there by the other"


def test_an_older_view_of_another_agent_is_no_newer_for_that(
    store: Store, other: Store, folder: Path
) -> None:
    old = turn(other)
    turn(other)
    (folder / "latest.json").write_text(old)
    turn(store)
    assert [name.split("-")[1] for name in quarantined(folder)] == ["ROLLED_BACK"]


# -- what somebody planted -------------------------------------------------------------------------


class Outside:
    """What lies outside of the workspace and must not change."""

    def __init__(self, home: Path) -> None:
        self.folder = home / "outside"
        self.folder.mkdir()
        self.file = self.folder / "precious"
        self.file.write_text("precious")
        self.file.chmod(0o640)
        (self.folder / "latest.json").write_text("another program's")
        (self.folder / "quarantine").mkdir()
        (self.folder / "backups").mkdir()
        (self.folder / "backups/0000000001-20260101T000000.json").write_text("not ours")
        self.before = self.state()

    def state(self) -> dict[str, tuple[int, int, bytes]]:
        """Names, modes, times and bytes."""
        found = {}
        for path in sorted([self.folder, *self.folder.rglob("*")]):
            seen = path.lstat()
            data = path.read_bytes() if path.is_file() else b""
            found[str(path)] = (seen.st_mode, seen.st_mtime_ns, data)
        return found


Plant = Callable[[Path, Outside], object]


def _socket(path: Path, _: Outside) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        here = os.getcwd()
        os.chdir(path.parent)  # the name of a socket is short
        try:
            made.bind(path.name)
        finally:
            os.chdir(here)


def _huge(path: Path, _: Outside) -> None:
    path.touch()
    os.truncate(path, 1 << 40)


def _full_directory(path: Path, _: Outside) -> None:
    path.mkdir()
    (path / "inside").write_text("planted")


KINDS: dict[str, Plant] = {
    "link to a file": lambda path, out: path.symlink_to(out.file),
    "link to a directory": lambda path, out: path.symlink_to(out.folder),
    "link to nothing": lambda path, out: path.symlink_to(out.folder / "new"),
    "hard link": lambda path, out: os.link(out.file, path),
    "fifo": lambda path, out: os.mkfifo(path),
    "socket": _socket,
    "directory": _full_directory,
    "file": lambda path, out: path.write_text('{"next_actions": ["pay"]}'),
    "empty file": lambda path, out: path.touch(),
    "huge file": _huge,
    "no mode": lambda path, out: path.touch(0),
}
PLACES = {
    "view": "context_snapshot/latest.json",
    "backup": "context_snapshot/backups/9999999999-20990101T000000.json",
    "backups": "context_snapshot/backups",
    "folder": "context_snapshot",
    "quarantine": "context_snapshot/quarantine",
    "gitignore": "context_snapshot/.gitignore",
}
CASES = [
    (place, kind)
    for place in PLACES
    for kind in KINDS
    if not (place in ("backups", "folder", "quarantine") and kind == "directory")  # that is as ours
    and not (place == "gitignore" and kind in ("file", "empty file", "huge file", "hard link",
                                               "no mode"))  # the owner's choice
]  # fmt: skip


def identity_of(path: Path) -> tuple[int, int, int]:
    """What a thing is known by, whatever its name."""
    found = path.lstat()
    return found.st_dev, found.st_ino, stat.S_IFMT(found.st_mode)


@pytest.fixture
def outside(home: Path) -> Outside:
    """What must not change."""
    return Outside(home)


@pytest.mark.parametrize(("place", "kind"), CASES)
def test_whatever_is_planted_wherever_is_moved_and_listed(
    store: Store, project: Path, folder: Path, outside: Outside, place: str, kind: str
) -> None:
    for _ in range(12 if place == "backup" else 2):
        turn(store)
    target = project / PLACES[place]
    if os.path.lexists(target):
        target.rename(project / "was")
    KINDS[kind](target, outside)
    planted = identity_of(target)
    if place == "quarantine":
        (folder / "latest.json").unlink()  # else there is nothing to move, and it is not needed
        (folder / "latest.json").write_text("planted too")
    found = [one for one in listing.strange(store) if one.path == str(target)]
    assert [one.verdict for one in found] == ["UNSEALED"] or place == "gitignore"
    text = turn(store)
    assert (folder / "latest.json").read_text() == text
    assert outside.state() == outside.before
    where = {identity_of(folder / "quarantine" / n): n for n in quarantined(folder)}
    assert planted in where
    (listed,) = [one for one in listing.strange(store) if one.path.endswith(where[planted])]
    assert (listed.verdict, bool(listed.moved)) == ("UNSEALED", True)
    assert PLACES[place] in listed.detail and listed.fix
    before = quarantined(folder)
    turn(store)
    assert quarantined(folder) == before and outside.state() == outside.before


def _foreign(store: Store, other: Store, folder: Path) -> str:
    assert store.keys is not None
    mine, store.keys = store.keys, store.keys._replace(id="0badc0de", view=b"x" * 32)
    text = view(store, *ITEMS)
    store.keys = mine
    return text


def _elsewhere(store: Store, other: Store, folder: Path) -> str:
    text = view(other, *ITEMS)
    other.db.execute("UPDATE store SET uuid='gone'")
    return text


def _edited(store: Store, other: Store, folder: Path) -> str:
    return (folder / "latest.json").read_text().replace("work", "pay me")


def _older(store: Store, other: Store, folder: Path) -> str:
    return (folder / "backups" / backups(folder)[0]).read_text()


@pytest.mark.parametrize(
    ("make", "verdict"),
    [
        (_foreign, "FOREIGN"),
        (_elsewhere, "FOREIGN"),
        (_edited, "MODIFIED"),
        (_older, "ROLLED_BACK"),
    ],
)
def test_a_view_that_is_not_the_published_one_is_moved_with_its_verdict(
    store: Store, other: Store, folder: Path, make: Callable[..., str], verdict: str
) -> None:
    for _ in range(3):
        turn(store)
    text = make(store, other, folder)
    (folder / "latest.json").write_text(text)
    (lying,) = listing.strange(store)
    assert (lying.verdict, lying.moved) == (verdict, "")
    turn(store)
    (name,) = quarantined(folder)
    assert (folder / "quarantine" / name).read_text() == text
    assert name.split("-")[1] == verdict and len(backups(folder)) == 2, "it is no backup"
    (listed,) = listing.strange(store)
    assert listed.verdict == verdict and "latest.json" in listed.detail


def test_an_edited_backup_is_moved_when_it_would_be_deleted(store: Store, folder: Path) -> None:
    for _ in range(11):
        turn(store, keep=10)
    oldest = folder / "backups" / backups(folder)[0]
    oldest.write_text(oldest.read_text().replace("work", "pay me"))
    for _ in range(3):
        turn(store, keep=10)
    assert [name.split("-")[1] for name in quarantined(folder)] == ["MODIFIED"]
    assert len(backups(folder)) == 10


def test_nothing_in_quarantine_is_overwritten(
    store: Store, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "strftime", lambda *_: "20261130T120000Z")
    turn(store)
    for number in range(5):
        (folder / "latest.json").write_text(f"planted {number}")
        turn(store)
    texts = {(folder / "quarantine" / name).read_text() for name in quarantined(folder)}
    assert texts == {f"planted {number}" for number in range(5)}


def test_much_that_was_planted_is_listed_within_bounds(store: Store, folder: Path) -> None:
    turn(store)
    (folder / "quarantine").mkdir()
    for number in range(150):
        name = f"20261130T120007Z-FOREIGN-{number:016x}.json"
        (folder / "quarantine" / name).write_text("x")
        (folder / "backups" / f"{number:010d}-20261130T120007.json").write_text("x")
    (folder / "quarantine/\x1b[2J").write_text("x")
    found = listing.strange(store)
    assert len(found) == 2 * listing.SHOWN + 2
    assert any("50 older" in one.detail for one in found)
    assert any("1 that swapcache did not put there" in one.detail for one in found)
    assert not any("\x1b" in line for line in listing.lines(found))


def test_a_store_that_publishes_nothing_judges_nothing(store: Store, folder: Path) -> None:
    folder.mkdir()
    (folder / "latest.json").write_text("of another program")
    assert listing.strange(store) == []


def test_a_workspace_that_is_gone_has_no_views(store: Store, project: Path) -> None:
    turn(store)
    project.rename(project.with_name("moved"))
    assert listing.strange(store) == []


# -- somebody who is quick -------------------------------------------------------------------------

STEPS = ("open", "stat", "rename", "link", "mkdir", "unlink", "listdir", "fchmod")


@pytest.mark.parametrize("planted", [True, False])
@pytest.mark.parametrize("what", ["", "/backups", "/quarantine"])
def test_a_directory_exchanged_for_a_link_at_any_moment_leads_nowhere(
    store: Store,
    folder: Path,
    outside: Outside,
    what: str,
    planted: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for _ in range(12):
        turn(store, keep=10)
    place, aside = Path(f"{folder}{what}"), folder.parent / "mine"
    taken: set[str] = set()
    for at in range(1, 500):  # before the first step, the second, and so on
        if planted:
            (folder / "latest.json").write_text("planted")
            shutil.rmtree(folder / "quarantine", ignore_errors=True)
        calls = 0

        def quick(step: str, real: Callable[..., Any], *given: Any, at: int, **more: Any) -> Any:
            nonlocal calls
            calls += 1
            taken.add(step)
            if calls == at:
                if place.exists():
                    place.rename(aside)
                place.symlink_to(outside.folder)
            return real(*given, **more)

        with monkeypatch.context() as patch, contextlib.suppress(StoreError):
            for step in STEPS:
                patch.setattr(os, step, partial(quick, step, getattr(os, step), at=at))
            turn(store, keep=10)
        assert outside.state() == outside.before, f"before step {at}"
        if calls < at:
            break
        put_back(place, aside)
    assert taken >= {"open", "stat", "rename"} | ({"mkdir"} if planted else {"link", "unlink"})


def put_back(place: Path, aside: Path) -> None:
    """The directory is in its place again, and the link is gone."""
    if place.is_symlink():
        place.unlink()
        if aside.exists():
            aside.rename(place)
    else:  # publishing moved the link away and made another directory
        shutil.rmtree(aside, ignore_errors=True)
