"""Stores of other schemas: what was released is read for ever, what is newer is left alone."""

import contextlib
import json
import os
import sqlite3
import subprocess
import tarfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from swapcache import hook, paths
from swapcache.cli import doctor
from swapcache.errors import OlderSchemaError, StoreError
from swapcache.hosts import launcher
from swapcache.store import database, identity, migration, sessions
from swapcache.store.store import Store
from swapcache.wake import scene
from tests.rows import Claude

FIXTURES = Path(__file__).parents[2] / "fixtures"
RELEASED = sorted(FIXTURES.glob("schema-*.tar.gz"))


@pytest.fixture
def stop(project: Path, home: Path) -> dict[str, str]:
    """The payload of a turn's end of a session with one request."""
    rows = Claude(home / "t.jsonl")
    rows.user("sweep the yard")
    return {"session_id": "s1", "transcript_path": str(rows.path)}


def call(event: str, payload: dict[str, str], project: Path) -> bytes:
    """One event through the launcher."""
    launcher.install()
    run = [paths.launcher(), "claude-code", event]
    env = dict(os.environ, CLAUDE_PROJECT_DIR=str(project))
    text = json.dumps(payload).encode()
    return subprocess.run(run, input=text, env=env, capture_output=True, check=True).stdout


@pytest.fixture
def newer(monkeypatch: pytest.MonkeyPatch) -> None:
    """From here on this process knows one schema more."""
    step = "CREATE TABLE later(\n  x TEXT);\nINSERT INTO later VALUES ('a;b');\n"
    monkeypatch.setattr(database, "SCHEMA", database.SCHEMA + 1)
    monkeypatch.setattr(migration, "STEPS", {database.SCHEMA - 1: step})


def test_there_is_a_fixture_of_every_released_schema() -> None:
    numbers = [int(p.name.removeprefix("schema-").removesuffix(".tar.gz")) for p in RELEASED]
    assert numbers == list(range(1, database.SCHEMA + 1))


@pytest.mark.parametrize("archive", RELEASED, ids=lambda path: path.name)
def test_G3_a_store_of_every_released_schema_is_read_and_proven(archive: Path, home: Path) -> None:
    with tarfile.open(archive) as packed:
        for member in packed:  # `filter` came with 3.11.4 only
            target = home / "swapcache" / member.name
            if member.isdir():
                target.mkdir(parents=True)
            elif (source := packed.extractfile(member)) is not None:
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(source.read())
    os.chmod(paths.key_file(), 0o600)
    ((store_id, _),) = identity.listing()
    with contextlib.suppress(OlderSchemaError):
        Store(store_id).close()
    if database.SCHEMA > 1:
        migration.upgrade(store_id)
    with contextlib.closing(Store(store_id)) as store:
        assert store.verify().good
        (session,) = sessions.sessions(store.db)
        texts = [i.text for i in scene.known(store, session)[0].items if i.kind == "request"]
    assert texts == ["Move the 14 invoices to the archive, ticket FIX-1."]


@pytest.mark.usefixtures("newer")
def test_G3_an_old_store_is_migrated_after_a_backup(project: Path, stop: dict[str, str]) -> None:
    call("Stop", stop, project)  # the hook's own process knows the old schema only
    ((store_id, _),) = identity.listing()
    with pytest.raises(OlderSchemaError, match="doctor --fix"):
        Store(store_id)
    before = Path(paths.database(paths.store_dir(store_id))).read_bytes()
    done = CliRunner().invoke(doctor.command, ["--fix"])
    assert "mended" in done.output and "1. schema" not in done.output
    with contextlib.closing(Store(store_id)) as store:
        assert store.verify().good
        assert store.db.execute("SELECT x FROM later").fetchone() == ("a;b",)
    (backup,) = Path(paths.backups_dir()).glob("*.db")
    assert backup.stat().st_mode & 0o777 == 0o600
    with contextlib.closing(sqlite3.connect(backup)) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (database.SCHEMA - 1,)
        assert db.execute("SELECT count(*) FROM record").fetchone()[0] > 0
    assert before[:16] == b"SQLite format 3\0"
    call("Stop", stop, project)  # the old code meets the new store: spooled, said, no harm
    assert "schema" in Path(paths.error_log()).read_text()
    assert Path(paths.spool_file()).stat().st_size > 0


def test_G3_new_code_spools_for_an_old_store_until_it_is_migrated(
    project: Path, stop: dict[str, str], newer: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    call("Stop", stop, project)
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(project))
    monkeypatch.setenv("SWAPCACHE_PAYLOAD", json.dumps({"session_id": "s2", "prompt": "go on"}))
    assert hook.main(["claude-code", "UserPromptSubmit"]) == 0
    assert "doctor --fix" in Path(paths.error_log()).read_text()
    CliRunner().invoke(doctor.command, ["--fix"])
    ((store_id, _),) = identity.listing()
    with contextlib.closing(Store(store_id)) as store:
        assert {s.id for s in sessions.sessions(store.db)} == {"s1", "s2"}
    assert not os.path.exists(paths.spool_file())


def test_a_schema_that_no_release_wrote_is_refused(project: Path, stop: dict[str, str]) -> None:
    call("Stop", stop, project)
    ((store_id, _),) = identity.listing()
    with contextlib.closing(sqlite3.connect(paths.database(paths.store_dir(store_id)))) as db:
        db.execute("PRAGMA user_version=0")
    with pytest.raises(StoreError, match="no release ever wrote"):
        migration.upgrade(store_id)
