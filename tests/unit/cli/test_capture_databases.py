"""swapcache capture of what is no plain file: databases, directories, names of sessions."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import click.testing
import pytest

from swapcache import paths
from swapcache.cli import capture
from swapcache.errors import FormatError, SelectionError
from tests import databases as made

TRANSCRIPTS = Path(__file__).parents[2] / "conformance/transcripts"


def run(*arguments: str) -> click.testing.Result:
    """The command."""
    return click.testing.CliRunner().invoke(capture.command, list(arguments))


def report(*arguments: str) -> dict[str, Any]:
    """What it reports."""
    done = run(*arguments, "--json")
    assert done.exit_code == 0, done.output
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("host", made.HOSTS)
def test_a_database_with_one_session_is_taken_and_repeating_it_adds_nothing(
    host: str, tmp_path: Path, project: Path
) -> None:
    path = made.build(tmp_path / "x.db", host)
    more = ("--host", host, "--workspace", str(project), str(path))
    counted = report(*more, "--dry-run")
    first, again = report(*more), report(*more)
    assert first["new"] == first["records"] == counted["records"] > 20
    assert (again["new"], again["records"]) == (0, first["records"])
    assert first["messages"] == counted["messages"] > 10 and first["lost"] == []


def test_of_several_sessions_one_has_to_be_named(tmp_path: Path, project: Path) -> None:
    host = made.Hermes(tmp_path / "state.db")
    host.add("user", "the first one's words")
    host.begin("other", session_key="telegram:1")
    host.session = "other"
    host.add("user", "the other one's words")
    more = ("--host", "hermes", "--workspace", str(project), str(host.path))
    done = run(*more)
    assert isinstance(done.exception, SelectionError) and done.exception.exit_code == 30
    assert "the first one's words" in str(done.exception)
    assert "other (telegram:1)" in str(done.exception)
    for name in ("other", "telegram:1"):
        assert report(*more, "--session-key", name)["stream"] == "other"


def test_a_directory_is_searched_by_the_same_rule(tmp_path: Path, project: Path) -> None:
    shutil.copytree(TRANSCRIPTS / "openclaw-5.28", tmp_path / "sessions")
    more = ("--host", "openclaw", "--workspace", str(project), str(tmp_path / "sessions"))
    assert isinstance(run(*more).exception, SelectionError)
    found = report(*more, "--session-key", "282d544e-b448-49a6-8927-befa1e528f89")
    assert (found["messages"], found["lost"]) == (3, [])


def test_a_compressed_archive_of_the_host_is_a_transcript(project: Path) -> None:
    (path,) = (TRANSCRIPTS / "openclaw-9.6").iterdir()
    found = report("--host", "openclaw", "--workspace", str(project), str(path))
    assert (found["records"], found["messages"], found["lost"]) == (6, 2, [])


def test_an_archived_session_in_a_database_is_found_by_its_key(
    tmp_path: Path, project: Path
) -> None:
    path = made.build(tmp_path / "x.db", "openclaw", "archived")
    more = ("--host", "openclaw", "--workspace", str(project), str(path))
    found = report(*more, "--session-key", "agent:main:other")
    assert (found["records"], found["messages"], found["lost"]) == (6, 2, [])


def test_a_session_of_the_host_may_be_named_instead_of_a_file(home: Path, project: Path) -> None:
    path = home / ".hermes/state.db"
    path.parent.mkdir()
    made.build(path, "hermes")
    name = made.session_of(path).split(":")[1]
    assert report("--host", "hermes", "--workspace", str(project), name)["stream"] == name


def test_our_own_spool_is_no_source_of_records() -> None:
    for place in (Path(paths.spool_file()), Path(paths.shim_spool_dir()) / "x.jsonl"):
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text('{"kind":"message"}\n')
        done = run("--host", "openclaw", str(place))
        assert isinstance(done.exception, FormatError)
        assert "our own spool" in str(done.exception)


def test_what_is_lost_is_named_by_its_row(tmp_path: Path, project: Path) -> None:
    path = made.build(tmp_path / "x.db", "opencode", loose=True)
    with made.connect(path) as db:
        db.execute("UPDATE part SET data='{\"type' WHERE rowid=3")
    done = run("--host", "opencode", "--workspace", str(project), str(path))
    assert done.exit_code == 1
    assert "not readable: row 192" in done.stderr
