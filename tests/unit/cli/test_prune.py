"""Pruning from the terminal: what is said before, what is done, what is refused."""

import contextlib
import json
import shutil
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from swapcache import hook, paths
from swapcache.capture import story
from swapcache.capture.corroborate import corroborate
from swapcache.cli import group, prune, status
from swapcache.cli.sizes import size, words
from swapcache.store import identity, pruning, sessions
from swapcache.store.store import Store
from tests import databases as made
from tests.unit.cli.test_import import BELOW, READERS
from tests.unit.store.making import raw
from tests.unit.store.pruned import Work, bodies, session_of, take_all

YEAR = "2026-01-01"
DATABASES = {
    "openclaw": ".openclaw/agents/main/agent/openclaw-agent.sqlite",
    "opencode": ".local/share/opencode/opencode.db",
    "hermes": ".hermes/state.db",
}


def run(*arguments: str, given: str | None = None, code: int = 0) -> Result:
    """A command; its exit code must be this one."""
    done = CliRunner().invoke(group, [*arguments], input=given)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == code, done.output
    return done


def data(*arguments: str, code: int = 0) -> Any:
    """A command's JSON."""
    return json.loads(run(*arguments, "--json", code=code).stdout)


@pytest.fixture
def work(project: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Work:
    """An old session and a new one; the workspace is the current directory."""
    made = Work(project, home)
    made.turns("old", 2024)
    made.turns("new", 2026)
    monkeypatch.chdir(project)
    return made


def held(work: Work) -> int:
    """Rows of the old session that still have their bodies."""
    with contextlib.closing(work.open()) as store:
        return len(bodies(store, "old"))


def everything(work: Work) -> bytes:
    """The database's bytes."""
    with contextlib.closing(work.open()):
        pass  # folds the write-ahead log in
    return Path(paths.database(paths.store_dir(work.id))).read_bytes()


def test_an_old_session_goes_and_its_room_is_told(work: Work) -> None:
    before = len(everything(work))
    done = data("prune", "--older-than", YEAR, "--yes")
    (place,) = done["stores"]
    (session,) = place["sessions"]
    assert (session["session"], session["newest"][:10]) == ("old", "2024-03-04")
    assert place["records"] == session["records"] >= 12 and place["bytes"] == session["bytes"]
    assert place["before"] >= before and place["freed"] == place["before"] - place["after"] > 0
    assert place["after"] == len(everything(work))
    assert held(work) == 0
    judged = data("verify", "--full")
    assert (judged["verdict"], judged["pruned"]) == ("VERIFIED", place["records"])
    assert f"{place['records']} records were pruned" in run("verify", "--full").stdout


def test_a_dry_run_shows_it_and_changes_nothing(
    work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hook, "drain", lambda: pytest.fail("a dry run drains nothing"))
    before = everything(work)
    told = run("prune", "--keep", "1", "--dry-run").stdout
    assert "1 sessions can go" in told and "2024-03-04" in told and "would free about" in told
    done = data("prune", "--keep", "1", "--dry-run")
    assert done["dry_run"] and done["stores"][0]["records"] >= 12
    assert everything(work) == before


def test_it_asks_first(work: Work) -> None:
    run("prune", "--older-than", YEAR, given="n\n", code=1)
    assert held(work) == 12
    run("prune", "--older-than", YEAR, given="y\n")
    assert held(work) == 0


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--older-than", "yesterday"],
        ["--older-than", "90"],
        ["--keep", "-1"],
        ["--max-bytes", "much"],
        ["--max-bytes", "5 PB"],
    ],
)
def test_what_cannot_be_meant_is_a_usage_error(work: Work, arguments: list[str]) -> None:
    before = everything(work)
    run("prune", *arguments, "--yes", code=2)
    assert everything(work) == before


def test_an_age_counts_from_now(work: Work) -> None:
    assert data("prune", "--older-than", "20w", "--dry-run")["stores"][0]["records"]
    assert not data("prune", "--older-than", "9000d", "--dry-run")["stores"][0]["records"]


def test_a_limit_that_cannot_be_reached_is_said(work: Work) -> None:
    done = data("prune", "--max-bytes", "1KB", "--yes", code=1)
    assert not done["stores"][0]["enough"] and held(work) == 0
    assert data("prune", "--max-bytes", "1GB", "--yes")["stores"][0]["enough"]


def test_every_store_is_pruned_and_a_broken_one_is_said(work: Work, home: Path) -> None:
    other = home / "other"
    (other / ".git").mkdir(parents=True)
    more = Work(other, home)
    more.rows = {}
    more.turns("old", 2024)
    more.turns("new2", 2026)
    with raw(work.id) as db:
        db.execute("UPDATE head SET mac='0'")
    refused = CliRunner().invoke(group, ["prune", "--everywhere", "--older-than", YEAR, "--yes"])
    assert "nothing was pruned" in str(refused.exception)
    assert (held(work), held(more)) == (12, 0)


def test_a_dry_run_says_where_nothing_would_be_pruned(work: Work) -> None:
    with raw(work.id) as db:
        db.execute("UPDATE head SET mac='0'")
    done = CliRunner().invoke(group, ["prune", "--keep", "0", "--dry-run"])
    assert "nothing was pruned" in str(done.exception) and "0 sessions can go" in done.output


def test_what_was_pruned_is_shown_as_such(work: Work) -> None:
    with contextlib.closing(work.open()) as store:
        (seq,) = store.db.execute("SELECT min(seq) FROM record WHERE source=1").fetchone()
    run("prune", "--older-than", YEAR, "--yes")
    told = run("show", str(seq)).stdout
    assert "pruned" in told and "NOT VERIFIED" not in told
    shown = data("show", str(seq))
    assert (shown["pruned"], shown["verified"], shown["text"]) == (True, True, "")
    entries = data("log")
    assert all(entry["verified"] for entry in entries)
    assert [entry["pruned"] for entry in entries] == [False, False]


# -- status ----------------------------------------------------------------------------------------


def test_status_tells_what_the_store_takes(work: Work) -> None:
    value = data("status")
    (store,) = value["stores"]
    wrote = sum(rows.path.stat().st_size for rows in work.rows.values())
    assert store["transcript_bytes"] == wrote
    assert store["pruned"] == {"records": 0, "bytes": 0}
    assert store["share"] > 0 and value["bytes"] == store["bytes"] > 0
    pruned = data("prune", "--older-than", YEAR, "--yes")["stores"][0]
    (after,) = data("status")["stores"]
    assert after["pruned"] == {"records": pruned["records"], "bytes": pruned["bytes"]}
    assert after["transcript_bytes"] == work.rows["new"].path.stat().st_size
    assert after["bytes"] < store["bytes"]
    told = run("status").stdout
    assert "on disk for" in told and f"{pruned['records']} records of" in told


def test_a_store_whose_size_cannot_be_read_is_still_listed(work: Work) -> None:
    with contextlib.closing(Store(work.id)) as store:
        store.db.execute("DROP INDEX record_position")
        store.db.execute("ALTER TABLE record RENAME COLUMN size TO width")
        assert session_of(store, "old")
        assert status._held(store).kept == 0


@pytest.mark.parametrize(
    ("text", "expected"),
    [("500MB", 500_000_000), ("2GiB", 2 << 30), ("1.5 kb", 1500), ("77", 77), ("0", 0)],
)
def test_sizes_as_people_write_them(text: str, expected: int) -> None:
    assert size(click.Context(prune.command), prune.command.params[0], text) == expected


def test_sizes_as_people_read_them() -> None:
    assert [words(n) for n in (999, 1500, 2_000_000, 3_000_000_000)] == [
        "999 bytes",
        "1.5 KB",
        "2.0 MB",
        "3.0 GB",
    ]


# -- what hosts wrote before -----------------------------------------------------------------------


def test_an_import_after_a_pruning_adds_nothing(home: Path, project: Path) -> None:
    """Every kind of host: transcripts and databases."""
    every_host(home)
    imported("import", "--all")
    states: dict[tuple[str, int], str] = {}
    stores = [name for name, _ in identity.listing()]
    assert len(stores) == len(BELOW) + len(DATABASES)
    for name in stores:
        with contextlib.closing(Store(name)) as store:
            take_all(store)
            for session in sessions.sessions(store.db):
                row = sessions.load_state(store.db, store.keys, session.number)
                assert row is not None
                states[name, session.number] = row[1]
    heads = [status_of(name) for name in stores]
    again = imported("import", "--all")
    assert [host["new"] for host in again["hosts"].values()] == [0] * len(again["hosts"])
    assert [status_of(name) for name in stores] == heads
    for (name, number), state in states.items():
        with contextlib.closing(Store(name)) as store:
            store.db.execute("DELETE FROM state")
            told = story.refold(store, sessions.session(store.db, number))
            assert told.whole and told.fold.dump() == state
            assert corroborate(store).differing == 0


def imported(*arguments: str) -> Any:
    """What an import tells; some of the transcripts are damaged."""
    done = CliRunner().invoke(group, [*arguments, "--json"])
    return json.loads(done.stdout)


def status_of(name: str) -> tuple[int, int]:
    """Rows of transcripts, and those that lie there."""
    with contextlib.closing(Store(name)) as store:
        size = pruning.size(store)
        rows = store.db.execute("SELECT count(*) FROM record WHERE source > 0").fetchone()
        return int(rows[0]), size.pruned_records


def every_host(home: Path) -> None:
    """A history of every host."""
    for host, place in BELOW.items():
        (home / place).mkdir(parents=True)
        for path in READERS.glob(f"{host}*/*.jsonl"):
            shutil.copy(path, home / place / f"{path.parent.name}.jsonl")
    for host, place in DATABASES.items():
        (home / place).parent.mkdir(parents=True)
        made.build(home / place, host)
