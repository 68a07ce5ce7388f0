"""Attacks on what is published into a workspace, by somebody who can write there and nowhere else."""

import contextlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from swapcache.state import views
from swapcache.store import identity
from swapcache.store.store import Store
from tests.attacks.conftest import ROWS
from tests.attacks.world import CANARY, MARK, OWN, named
from tests.unit.hosts.test_openclaw import Host

EN, ZH = CANARY["en"], CANARY["zh"]


@pytest.fixture
def host(home: Path) -> Host:
    """An OpenClaw with some turns of history, its views published."""
    made = Host(home)
    made.message("user", OWN)
    made.fold("bootstrap", "1/1").close()
    for number in range(12):
        made.message("assistant", [{"type": "text", "text": f"swept {number}"}], stopReason="stop")
        made.fold().close()
    return made


def latest(host: Host) -> Path:
    return host.work / "context_snapshot/latest.json"


def backups(host: Host) -> list[Path]:
    """Oldest first."""
    return sorted((host.work / "context_snapshot/backups").iterdir())


def changed(host: Host, text: str, **seal: object) -> None:
    """The published view with another task in it, and another seal."""
    value = json.loads(latest(host).read_text())
    value["current_tasks"] = value["next_actions"] = [text]
    value["seal"] |= seal
    latest(host).write_text(json.dumps(value, ensure_ascii=False))


def unsealed(host: Host, text: str) -> None:
    latest(host).write_text(json.dumps({"current_tasks": [text]}, ensure_ascii=False))


def linked(host: Host) -> None:
    outside = host.work.parent / "outside.json"
    outside.write_text(json.dumps({"current_tasks": [EN]}))
    latest(host).unlink()
    latest(host).symlink_to(outside)


def piped(host: Host) -> None:
    latest(host).unlink()
    os.mkfifo(latest(host))


def folder_linked(host: Host) -> None:
    folder = latest(host).parent
    outside = host.work.parent / "outside"
    shutil.move(folder, outside)
    (outside / "latest.json").write_text(json.dumps({"current_tasks": [EN]}))
    folder.symlink_to(outside)


def flooded(host: Host) -> None:
    for number in range(30):
        name = f"{9_000_000_000 + number}-20990101T000000.json"
        (latest(host).parent / "backups" / name).write_text(json.dumps({"current_tasks": [EN]}))


# number: (what is done, the deed, the verdicts under which things are moved away)
ATTACKS: dict[str, tuple[str, Callable[[Host], object], set[str]]] = {
    "V01": ("latest.json is written by hand (English)", lambda h: unsealed(h, EN), {"UNSEALED"}),
    "V02": ("latest.json is written by hand (Chinese)", lambda h: unsealed(h, ZH), {"UNSEALED"}),
    "V03": ("words of latest.json are changed", lambda h: changed(h, EN), {"MODIFIED"}),
    "V04": ("it claims to be sealed by another key", lambda h: changed(h, EN, key_id="0badc0de"), {"FOREIGN"}),
    "V05": ("it claims to be another agent's", lambda h: changed(h, EN, agent="other"), {"FOREIGN"}),
    "V06": ("an older view of ours is put back", lambda h: shutil.copy(backups(h)[3], latest(h)), {"ROLLED_BACK"}),
    "V07": ("a link lies in place of latest.json", linked, {"UNSEALED"}),
    "V08": ("a pipe lies in place of latest.json", piped, {"UNSEALED"}),
    "V09": ("the folder of the views is a link", folder_linked, {"UNSEALED"}),
    "V10": ("thirty backups are planted to push ours out", flooded, {"UNSEALED"}),
}  # fmt: skip


@pytest.mark.parametrize("number", ATTACKS)
def test_attack(host: Host, number: str) -> None:
    title, deed, verdicts = ATTACKS[number]
    kept = [path.read_bytes() for path in backups(host)[-9:]]
    deed(host)
    host.message("assistant", [{"type": "text", "text": "and the gate"}], stopReason="stop")
    with contextlib.closing(host.fold("fold", "2/2")) as store:
        full = store.verify().name
    texts = json.dumps(host.texts(), ensure_ascii=False)
    moved = os.listdir(latest(host).parent / "quarantine")
    ROWS[number] = (
        title,
        named(host.texts()["idle"]),
        full,
        "its own state; the thing is moved away",
    )
    assert full == named(host.texts()["idle"]) == "VERIFIED"
    assert OWN in texts and MARK not in texts
    assert MARK not in latest(host).read_text() and OWN in latest(host).read_text()
    assert {name.split("-")[1] for name in moved} == verdicts
    if number != "V09":  # there the backups went with the folder
        assert set(kept) <= {path.read_bytes() for path in backups(host)}
    ((store_id, _),) = identity.listing()
    with contextlib.closing(Store(store_id)) as store:
        assert views.judge(store, latest(host).read_bytes()).good
