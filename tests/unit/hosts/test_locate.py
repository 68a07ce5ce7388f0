"""Finding a transcript: live, renamed, archived; and never choosing among several."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from swapcache.errors import FormatError, MissingSourceError, SelectionError
from swapcache.hosts import known, locate
from tests import databases as made
from tests.rows import Claude, Pi

TRANSCRIPTS = Path(__file__).parents[2] / "conformance/transcripts"
OLD = "282d544e-b448-49a6-8927-befa1e528f89"
NOW = "679fbd56-6367-437e-8dc6-68b7166ce315"
DELETED = "4f7cc42a-e266-45ab-af2d-d9612e20b48e"


@pytest.fixture
def state(home: Path) -> Path:
    """OpenClaw's directory of the file era, as it was recorded."""
    folder = home / ".openclaw/agents/main/sessions"
    shutil.copytree(TRANSCRIPTS / "openclaw-5.28", folder)
    (folder / "sessions.json").write_text(json.dumps({"agent:main:main": {"sessionId": NOW}}))
    (folder / f"{NOW}.trajectory.jsonl").write_text('{"traceSchema":"x"}\n')
    return folder


def test_a_session_is_found_by_id_and_by_key_whatever_became_of_its_file(state: Path) -> None:
    root = str(state)
    assert locate.chosen("openclaw", root, NOW).state == "live"
    assert locate.chosen("openclaw", root, "agent:main:main").id == NOW
    reset, deleted = (locate.chosen("openclaw", root, name) for name in (OLD, DELETED))
    assert (reset.state, deleted.state) == ("renamed", "renamed")
    assert ".reset." in reset.path and ".deleted." in deleted.path
    assert reset.title == "List the files of the shop, ticket SHOP-7."
    assert (reset.messages, reset.workspace) == (3, "/srv/shop/work")


def test_among_several_none_is_chosen_and_all_are_listed(state: Path) -> None:
    with pytest.raises(SelectionError) as caught:
        locate.chosen("openclaw", str(state))
    words = str(caught.value)
    assert "3 sessions" in words and "--session-key" in words
    for part in (OLD, NOW, DELETED, "List the files", "3 messages", "renamed"):
        assert part in words
    with pytest.raises(SelectionError, match=r"no session of .* is called other"):
        locate.chosen("openclaw", str(state), "other")


def test_the_only_one_needs_no_name(state: Path) -> None:
    for path in state.iterdir():
        if path.name != f"{NOW}.jsonl":
            path.unlink()
    assert locate.chosen("openclaw", str(state)).id == NOW


def test_an_import_archive_does_not_tell_a_session_twice(state: Path, tmp_path: Path) -> None:
    shutil.copytree(
        TRANSCRIPTS / "openclaw-imported", state.parent / "session-sqlite-import-archive"
    )
    root = str(state.parent)
    assert [c.state for c in locate.candidates("openclaw", root) if c.id == NOW] == ["live"]
    (state / f"{NOW}.jsonl").unlink()
    assert locate.chosen("openclaw", root, NOW).state == "archived"


def test_a_topic_has_a_transcript_of_its_own(state: Path) -> None:
    shutil.copy(state / f"{NOW}.jsonl", state / f"{NOW}-topic-12.jsonl")
    found = locate.chosen("openclaw", str(state), f"{NOW}-topic-12")
    assert found.path.endswith("-topic-12.jsonl")
    assert locate.chosen("openclaw", str(state), NOW).path.endswith(f"{NOW}.jsonl")


def test_a_compressed_archive_is_read_as_it_is(tmp_path: Path) -> None:
    shutil.copytree(TRANSCRIPTS / "openclaw-9.6", tmp_path / "sessions")
    found = locate.chosen("openclaw", str(tmp_path))
    assert (found.state, found.title) == ("archived", "Go on with the second step.")


@pytest.mark.parametrize("host", made.HOSTS)
def test_a_hosts_own_directory_is_searched_without_a_path(host: str, home: Path) -> None:
    places = {
        "hermes": ".hermes/state.db",
        "opencode": ".local/share/opencode/opencode.db",
        "openclaw": ".openclaw/agents/main/agent/openclaw-agent.sqlite",
    }
    with pytest.raises(MissingSourceError):
        locate.locate(host)
    path = home / places[host]
    path.parent.mkdir(parents=True)
    made.build(path, host)
    found = locate.locate(host)
    assert found.path == made.session_of(path)
    assert locate.locate(host, found.id) == found


def test_children_are_no_candidates_unless_they_are_named(home: Path) -> None:
    host = made.OpenCode(home / "opencode.db")
    host.prompt("1", "main")
    host.begin("ses_child", parent="ses_1")
    host.session = "ses_child"
    host.prompt("2", "child")
    place = str(host.path)
    assert locate.chosen("opencode", place).id == "ses_1"
    assert locate.chosen("opencode", place, "ses_child").child


def test_another_hosts_transcripts_are_refused_by_name_and_left_out_of_a_directory(
    home: Path,
) -> None:
    path = made.build(home / "x.db", "hermes")
    with pytest.raises(FormatError, match="a database of hermes, not of opencode"):
        locate.chosen("opencode", str(path))
    rows = Claude(home / "t.jsonl")
    rows.user("hello")
    with pytest.raises(FormatError, match="a transcript of claude-code, not of pi"):
        locate.chosen("pi", str(rows.path))
    assert [c.id for c in locate.candidates("claude-code", str(home))] == ["s1"]


def test_every_host_has_a_place() -> None:
    assert set(locate.BELOW) <= set(known.NAMES)


def test_a_file_that_is_called_by_an_id_is_that_sessions(home: Path) -> None:
    """A fork begins with rows of the session that it was made from."""
    folder = home / ".claude/projects/-p"
    folder.mkdir(parents=True)
    for name in (OLD, NOW):
        Claude(folder / f"{name}.jsonl", session=OLD).user("the same words")
    Claude(folder / "copy.jsonl", session="s1").user("the same words")
    found = locate.candidates("claude-code", str(folder))
    assert sorted(one.id for one in found) == sorted([OLD, NOW, "s1"])


def test_of_two_files_of_one_session_both_are_listed_and_what_was_put_aside_is_counted(
    home: Path,
) -> None:
    folder = home / ".openclaw/agents/main/sessions"
    folder.mkdir(parents=True)
    for name in ("a.jsonl", "b.jsonl", "a.jsonl.reset.2026-11-30T12-00-00.000Z"):
        Pi(folder / name, session="s1").user("words")
    listed = locate.listed("openclaw", str(folder))
    assert sorted(os.path.basename(one.path) for one in listed.found) == ["a.jsonl", "b.jsonl"]
    assert listed.copies == 1 and listed.unread == []
