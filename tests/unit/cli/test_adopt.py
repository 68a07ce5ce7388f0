"""A copied machine, a moved workspace, a broken chain, a leaked key: one command each."""

import contextlib
import json
import os
import re
import shlex
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from swapcache import config, paths
from swapcache.capture import events
from swapcache.capture import forget as forgetting
from swapcache.cli import trust
from swapcache.errors import SelectionError
from swapcache.model import Event, Identity
from swapcache.state import views
from swapcache.store import identity, keyring, reseal, seal, sessions
from swapcache.store.forgetting import text_of
from swapcache.store.opening import open_store
from swapcache.store.store import Store
from swapcache.wake import wake
from tests.rows import Claude
from tests.unit.hosts.test_openclaw import Host


def run(command: str, *more: str) -> tuple[int, str]:
    """A command as it was printed, and what it says."""
    words = shlex.split(command)
    assert words[:2] == ["swapcache", "trust"], command
    done = CliRunner().invoke(trust.command, [*words[2:], *more])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.output


def shown(store: str = "") -> dict[str, Any]:
    """What trust show says."""
    which = f" --store {store}" if store else ""
    found: dict[str, Any] = json.loads(run(f"swapcache trust show --json{which}")[1])
    return found


def whose(project: Path, home: Path) -> Identity:
    return identity.identify("claude-code", str(home / ".claude"), str(project))


def turn(project: Path, home: Path, text: str, session: str = "s1") -> str:
    """One turn in a workspace; the id of its store."""
    rows = Claude(home / f"{session}.jsonl", session, str(project))
    rows.user(text)
    event = Event("claude-code", "turn-end", whose(project, home), session, session, str(rows.path))
    with contextlib.closing(open_store(event.identity)) as store:
        events.record(store, event, config.DEFAULTS)
        return store.id


def told(project: Path, home: Path, session: str) -> wake.Woken:
    """What a new session is told at its start."""
    event = Event("claude-code", "start", whose(project, home), session, session, "")
    with contextlib.closing(open_store(event.identity)) as store:
        return wake.start(store, event, config.DEFAULTS)


def command_in(text: str) -> str:
    """The command that a text names."""
    found = re.search(r"swapcache trust adopt \S+ --workspace \S+", text)
    assert found, text
    return found.group()


@pytest.fixture
def work(project: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A workspace with one turn; its store."""
    monkeypatch.chdir(project)
    return turn(project, home, "sweep the yard")


def elsewhere(home: Path, monkeypatch: pytest.MonkeyPatch, *, key: bool) -> None:
    """Another machine: the stores are copied, with or without the key; no witness."""
    other = home / "other machine"
    shutil.copytree(paths.stores_dir(), other / "state" / "stores")
    if key:
        (other / "config").mkdir(mode=0o700)
        shutil.copy(paths.key_file(), other / "config" / "key")
    monkeypatch.setenv("SWAPCACHE_HOME", str(other))


def test_a_machine_that_was_copied_with_its_key(
    work: str, home: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere(home, monkeypatch, key=True)
    found = shown()
    assert (found["verdict"], found["fix"]) == ("GAP", "swapcache verify --renew-witness")


@pytest.mark.parametrize("key", ["none", "another"])
def test_a_machine_that_was_copied_without_its_key(
    work: str, home: Path, project: Path, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    elsewhere(home, monkeypatch, key=False)
    if key == "another":
        seal.create_key(paths.key_file())
    found = shown()
    assert found["verdict"] == {"none": "NO_KEY", "another": "FOREIGN"}[key]
    code, output = run(found["fix"], "--yes")
    assert (code, "VERIFIED" in output) == (0, True), output
    after = shown()
    assert after["verdict"] == "VERIFIED"
    (decision,) = after["accepted"]
    assert (decision["event"], decision["proven"]) == ("adopt", False)
    assert decision["from_key"] == found["sealed_by"]
    turn(project, home, "paint the shed", "s2")
    assert shown()["verdict"] == "VERIFIED"


def test_the_other_machines_key_beside_ours_proves_what_is_adopted(
    work: str, home: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = Path(paths.key_file()).read_bytes()
    elsewhere(home, monkeypatch, key=False)
    seal.create_key(paths.key_file())
    place = Path(paths.retired_key(seal.sha256(key)[:8]))
    place.parent.mkdir(mode=0o700)
    place.write_bytes(key)
    place.chmod(0o600)
    assert run(shown()["fix"], "--yes")[0] == 0
    (decision,) = shown()["accepted"]
    assert decision["proven"] is True


def edit(store: str, statement: str) -> None:
    """What an attacker does to the database."""
    with contextlib.closing(sqlite3.connect(f"{paths.store_dir(store)}/store.db")) as db:
        db.execute(statement)
        db.commit()


DAMAGES = {
    "an edited record": "UPDATE record SET meta=json_set(meta, '$.origin', 'agent') WHERE seq=1",
    "a record that is gone": "DELETE FROM record WHERE seq=1",
    "a destroyed chunk": "UPDATE chunk SET data=x'00' WHERE id=1",
    "a head that is gone": "DELETE FROM head",
    "metadata that are none": "UPDATE record SET meta=x'ff' WHERE seq=1",
    "a pointer that is none": "UPDATE record SET meta=json_set(meta, '$.trust', 'x')",
    "a pointer to itself": "UPDATE record SET meta=json_set(meta, '$.trust', seq)",
    "a number that is none": "UPDATE record SET size='many' WHERE seq=1",
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_broken_chain_is_adopted_as_it_lies_there(
    work: str, home: Path, project: Path, damage: str
) -> None:
    before = len(rows_of(work))
    edit(work, DAMAGES[damage])
    found = shown()
    assert found["verdict"] in ("MODIFIED", "PREFIX")
    code, output = run(found["fix"], "--yes")
    assert code == 0, output
    assert shown()["verdict"] == "VERIFIED"
    assert len(rows_of(work)) == before + 1, "every number is still there, and the decision"
    turn(project, home, "paint the shed", "s2")
    assert shown()["verdict"] == "VERIFIED"


def rows_of(store: str) -> list[tuple[int]]:
    with contextlib.closing(Store(store)) as opened:
        return opened.db.execute("SELECT seq FROM record").fetchall()


@pytest.mark.parametrize("when", ["before", "after"])
def test_only_what_the_digest_names_is_adopted(work: str, when: str) -> None:
    edit(work, DAMAGES["an edited record"])
    command = shown()["fix"]
    if when == "after":
        edit(work, "UPDATE record SET meta=json_set(meta, '$.origin', 'system') WHERE seq=1")
    else:
        words = command.split()
        command = " ".join([*words[:3], "0" * 24, *words[4:]])
    with pytest.raises(SelectionError, match="trust show"):
        run(command, "--yes")
    assert shown()["verdict"] != "VERIFIED"


def test_adoption_says_first_what_it_would_do(work: str) -> None:
    edit(work, DAMAGES["an edited record"])
    before = shown()
    code, output = run(before["fix"], "--dry-run")
    assert code == 0 and "records of claude-code" in output
    assert shown() == before


@pytest.mark.parametrize("gone", [True, False])
def test_a_moved_or_copied_workspace_is_told_how_to_go_on(
    work: str, home: Path, project: Path, monkeypatch: pytest.MonkeyPatch, gone: bool
) -> None:
    (project / ".git" / "config").write_text("[core]\n")
    turn(project, home, "sweep the yard", "s0")
    there = home / "disk" / "project"
    shutil.copytree(project, there)
    if gone:
        shutil.rmtree(project)
    else:  # the mark of its .git that the store sealed
        with contextlib.closing(Store(work)) as store:
            birth = int(store.identity.inode.rpartition(":")[2])
        os.utime(there / ".git" / "config", ns=(birth, birth))
        os.utime(there / ".git", ns=(birth, birth))
    monkeypatch.chdir(there)
    first = told(there, home, "new")
    assert (first.form, first.decision.row) == ("pointer", "moved")
    command = command_in(first.text)
    code, output = run(command, "--yes")
    assert code == 0, output
    with contextlib.closing(Store(work)) as store:
        assert store.identity.workspace == str(there)
        assert store.verify().good
    following = told(there, home, "newer")
    assert "sweep the yard" in following.text or "swapcache wake" in following.text
    decision = shown()["accepted"][-1]
    assert (decision["event"], decision["before"]["workspace"]) == ("bound", str(project))
    aside = [i for _, i in identity.listing() if "set aside" in i.workspace]
    assert len(aside) == 1, "the memory that had begun there is kept"
    with contextlib.closing(open_store(whose(there, home))) as store:
        assert store.id == work


def test_a_workspace_of_another_name_is_no_candidate(home: Path, project: Path, work: str) -> None:
    shutil.rmtree(project)
    (home / "other" / ".git").mkdir(parents=True)
    assert told(home / "other", home, "new").form == "nothing"


def test_a_new_key_seals_everything_and_the_old_one_opens_nothing(
    work: str, home: Path, project: Path
) -> None:
    (home / "two" / ".git").mkdir(parents=True)
    second = turn(home / "two", home, "mow the lawn", "s2")
    anchor = run("swapcache trust anchor")[1].strip()
    old = seal.read_key(paths.key_file())
    code, output = run("swapcache trust rekey", "--yes")
    assert code == 0, output
    new = seal.read_key(paths.key_file())
    assert new != old
    for store in (work, second):
        with contextlib.closing(Store(store)) as sealed:
            states = [s.number for s in sessions.sessions(sealed.db)]
            assert all(sessions.load_state(sealed.db, sealed.keys, n) for n in states)
        assert shown(store)["verdict"] == "VERIFIED"
        assert shown(store)["sealed_by"] == seal.sha256(new)[:8]
        assert shown(store)["accepted"][-1]["event"] == "rekey"
    code, output = run(f"swapcache trust anchor --check {shlex.quote(anchor)}")
    assert code == 0 and seal.sha256(old)[:8] in output
    turn(project, home, "paint the shed", "s3")
    assert shown(work)["verdict"] == "VERIFIED"
    with contextlib.closing(Store(work)) as opened:
        forger = opened.derive(old)
        head = opened.head()
    edit(work, f"UPDATE head SET mac='{forger.head_mac(*head)}'")
    edit(work, f"UPDATE store SET key_id='{forger.id}'")
    assert shown(work)["verdict"] == "FOREIGN"


def test_what_was_forgotten_stays_proven_under_a_new_key(work: str) -> None:
    anchor = run("swapcache trust anchor")[1].strip()
    with contextlib.closing(Store(work)) as store:
        masked = forgetting.forget(store, text_of("sweep the yard"))
    assert run("swapcache trust rekey", "--yes")[0] == 0
    with contextlib.closing(Store(work)) as store:
        assert store.verify().good
        found = store.record(masked[0])
        assert found is not None and found[1] and b"[forgotten]" in found[0].body
    code, output = run(f"swapcache trust anchor --check {shlex.quote(anchor)}")
    assert code == 0, output


def test_a_change_of_keys_that_was_cut_off_goes_on(work: str, home: Path, project: Path) -> None:
    old, new = keyring.begin()  # killed here
    assert shown()["verdict"] == "VERIFIED", "the retiring key opens it meanwhile"
    turn(project, home, "paint the shed", "s2")
    assert keyring.begin() == (old, new), "no third key is made"
    assert run("swapcache trust rekey", "--yes")[0] == 0
    assert (shown()["sealed_by"], shown()["verdict"]) == (new, "VERIFIED")
    assert keyring.retiring() == ""


def test_a_store_that_is_not_proven_is_not_sealed_anew(
    work: str, home: Path, project: Path
) -> None:
    (home / "two" / ".git").mkdir(parents=True)
    second = turn(home / "two", home, "mow the lawn", "s2")
    edit(work, DAMAGES["an edited record"])
    code, output = run("swapcache trust rekey", "--yes")
    assert code == 1 and work in output
    assert shown(second)["verdict"] == "VERIFIED"
    assert shown(work)["verdict"] == "PREFIX"
    assert run(shown(work)["fix"], "--yes")[0] == 0
    assert run("swapcache trust rekey", "--yes")[0] == 0
    assert shown(work)["verdict"] == "VERIFIED"


def test_a_reader_that_was_open_while_the_key_changed_accuses_nobody(work: str) -> None:
    with contextlib.closing(Store(work)) as reader:
        assert run("swapcache trust rekey", "--yes")[0] == 0
        assert reader.check().name == "NO_KEY"
    assert reseal.retired(Store(work))


def test_views_follow_a_change_of_keys(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    host = Host(home)
    monkeypatch.chdir(host.work)
    for text in ("sweep the yard", "mow the lawn"):
        host.message("user", text)
        host.fold("fold").close()
    latest = host.work / "context_snapshot" / "latest.json"
    assert run("swapcache trust rekey", "--yes")[0] == 0
    ((store_id, _),) = identity.listing()
    with contextlib.closing(Store(store_id)) as store:
        assert views.judge(store, latest.read_bytes()).good
        assert views.note(store).seq >= 0
    host.message("user", "oil the gate")
    host.fold("fold").close()
    assert not (latest.parent / "quarantine").exists()
