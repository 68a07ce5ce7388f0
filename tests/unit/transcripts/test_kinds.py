"""Types of rows that no reader knows are named; those of recorded sessions are not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given

from swapcache.cli import capture as command
from swapcache.transcripts import formats, kinds
from tests import databases as made
from tests.conformance.test_readers import FOLDERS, fixture
from tests.unit.transcripts.json_objects import OBJECTS

LATER: dict[str, dict[str, Any]] = {
    "claude-code": {"type": "hologram", "uuid": "u1", "parentUuid": None},
    "codex": {"type": "response_item", "payload": {"type": "hologram"}},
    "gemini": {"type": "hologram", "id": "m1", "content": []},
    "qwen": {"type": "hologram", "uuid": "u1", "provenance": "system"},
    "pi": {"type": "hologram", "id": "a", "parentId": None},
    "copilot": {"type": "hologram", "id": "a", "parentId": None, "data": {}},
    "opencode": {"session_id": "s", "message_id": "m", "data": {"type": "hologram"}},
    "hermes": {"id": 1, "session_id": "s", "role": "hologram", "timestamp": 1.0},
}


@pytest.mark.parametrize("name", [*formats.NAMES, *formats.DATABASES])
def test_a_type_that_came_later_is_named(name: str) -> None:
    assert kinds.unknown(name, LATER[name]) == "hologram"


@pytest.mark.parametrize("name", ["codex-child", "gemini-child"])
def test_a_child_agents_file_has_the_types_of_its_format(name: str) -> None:
    assert kinds.unknown(name, LATER[name.partition("-")[0]]) == "hologram"


@given(OBJECTS)
def test_any_object_has_an_answer_that_can_be_kept(value: dict[str, Any]) -> None:
    for name in (*formats.NAMES, *formats.DATABASES):
        said = kinds.unknown(name, value)
        assert len(said.encode()) <= 4 * kinds.CUT


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_recorded_sessions_have_no_type_that_is_not_known(folder: Path) -> None:
    expected, lines = fixture(folder)
    for line in lines:
        assert kinds.unknown(expected["format"], json.loads(line)) == "", line


@pytest.mark.parametrize("host", made.HOSTS)
def test_recorded_databases_have_no_type_that_is_not_known(host: str, tmp_path: Path) -> None:
    path = made.build(tmp_path / "host.db", host)
    name = "pi" if host == "openclaw" else host
    for row in made.rows_of(made.session_of(path)):
        assert row.value is not None and kinds.unknown(name, row.value) == "", row


def test_a_version_of_pi_that_came_later_is_named_and_read(home: Path, project: Path) -> None:
    assert kinds.unknown("pi", {"type": "session", "version": 3}) == ""
    assert kinds.unknown("pi", {"type": "session", "version": 9}) == "session version 9"


@pytest.mark.parametrize("dry", [True, False])
def test_a_capture_counts_and_shows_them(dry: bool, home: Path, project: Path) -> None:
    rows = [
        {"type": "session", "version": 9, "id": "s1", "cwd": str(project)},
        {
            "type": "message",
            "id": "a",
            "parentId": None,
            "message": {"role": "user", "content": "x"},
        },
        {"type": "hologram\x1b[31m", "id": "b", "parentId": "a"},
        {"type": "hologram\x1b[31m", "id": "c", "parentId": "b"},
    ]
    path = home / "s.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    given = [
        str(path),
        "--host",
        "pi",
        "--workspace",
        str(project),
        *(["--dry-run"] if dry else []),
    ]
    told = CliRunner().invoke(command.command, given)
    assert told.exit_code == 0, told.output
    assert "4 rows, 4 readable, 1 messages" in told.output
    assert "(2 rows)" in told.output and "session version 9 (1 rows)" in told.output
    assert "\x1b" not in told.output
    counted = json.loads(CliRunner().invoke(command.command, [*given, "--json"]).output)["unknown"]
    assert sorted(counted.values()) == [1, 2]
