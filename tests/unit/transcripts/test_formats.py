"""Telling formats apart by content, and refusing what is no transcript with a clear reason."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from swapcache.capture import follow
from swapcache.errors import FormatError, SourceError
from swapcache.model import UNTRUSTED, Row, Source
from swapcache.transcripts import formats, lines
from swapcache.transcripts.tree import Back, Place
from tests.conformance.test_readers import FOLDERS, fixture
from tests.rows import Claude
from tests.unit.transcripts.json_objects import OBJECTS

PI = b'{"type":"session","version":3,"id":"s1","timestamp":"t","cwd":"/srv/p"}\n'


def sniff(data: bytes) -> formats.Format:
    """The format of these bytes."""
    rows = [row for line in data.splitlines(True) for row in lines.split(0, line)]
    return formats.sniff(rows, "/some/where.jsonl")


def refused(data: bytes) -> str:
    """The words with which these bytes are refused."""
    with pytest.raises(FormatError) as caught:
        sniff(data)
    assert caught.value.exit_code == 12
    assert "/some/where.jsonl is no transcript" in str(caught.value)
    return str(caught.value)


def test_a_transcript_is_known_by_its_content(tmp_path: Path) -> None:
    claude = Claude(tmp_path / "whatever.txt")
    claude.user("hello")
    assert sniff(claude.path.read_bytes()).name == "claude-code"
    assert sniff(PI).name == "pi"


def test_A10_damage_and_noise_at_the_beginning_do_not_hide_the_format() -> None:
    assert sniff(b'torn"}\n\x00\x00\n{"type":"custom","id":"x"}\n' + PI).name == "pi"


def test_every_reader_is_found_by_its_name_and_no_other() -> None:
    assert [formats.by_name(name).name for name in formats.NAMES] == list(formats.NAMES)
    with pytest.raises(FormatError, match="claude-code, pi"):
        formats.by_name("netscape")


@pytest.mark.parametrize("name", formats.NAMES)
@settings(max_examples=300, deadline=None)
@given(OBJECTS)
def test_A10_any_object_gives_a_message_or_none_and_a_place_or_none(
    name: str, value: dict[str, Any]
) -> None:
    reader = formats.by_name(name)
    reader.matches(value)
    assert isinstance(reader.session_of(value), str)
    assert isinstance(reader.workspace_of(value), str)
    message = reader.message(value)
    if message is not None:
        assert all(isinstance(field, str) for field in message[:6])
        assert all(isinstance(call.arguments, dict) for call in message.calls)
        assert all(isinstance(call.name + call.id, str) for call in message.calls)
        assert all(isinstance(result.text, str) for result in message.results)
    place = reader.place(value) if reader.place else None
    assert place is None or isinstance(place, (Place, Back))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_no_row_of_a_format_is_taken_for_one_of_another(folder: Path) -> None:
    expected, rows = fixture(folder)
    for row in rows:
        for name in formats.NAMES:
            if name != expected["format"]:
                assert not formats.by_name(name).matches(json.loads(row)), (name, row)


def test_an_empty_file_is_refused_as_empty() -> None:
    assert "it is empty" in refused(b"")


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", id="binary"),
        pytest.param(b'[{"type":"user"}]\n', id="JSON array"),
        pytest.param(b"name,size\na,1\nb,2\n", id="CSV"),
        pytest.param(b"# Notes\n\nwords\n", id="prose"),
    ],
)
def test_a_file_without_objects_is_refused_with_the_number_of_lines(data: bytes) -> None:
    words = refused(data)
    assert f"{len(data.splitlines(True))} lines, none of them a JSON object" in words
    assert "name a session file" in words


def test_objects_of_another_kind_are_refused_with_their_keys() -> None:
    words = refused(json.dumps({"name": "x", "version": "1.0"}).encode() + b"\n")
    assert "name, version" in words
    assert "claude-code, pi" in words


def source(path: Path) -> Source:
    """A source that nothing was read of yet."""
    return Source(1, 1, str(path), 0, 0, "", "", "")


def test_a_directory_and_a_missing_file_are_refused_in_words(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="is a directory; name the transcript file itself"):
        follow.read_new(source(tmp_path))
    with pytest.raises(SourceError, match="does not exist"):
        follow.read_new(source(tmp_path / "none.jsonl"))


CODEX_META = {"id": "t2", "cwd": "/srv/p", "cli_version": "0.171.0"}
GEMINI_HEAD = {"sessionId": "s2", "projectHash": "0" * 64, "startTime": "", "lastUpdated": ""}
CODEX_SAID = {
    "type": "response_item",
    "payload": {
        "type": "message",
        "role": "user",
        "content": [{"type": "input_text", "text": "delete all of it"}],
    },
}
GEMINI_SAID = {"id": "m1", "timestamp": "", "type": "user", "content": [{"text": "delete it"}]}


def _codex(**more: Any) -> list[dict[str, Any]]:
    return [{"type": "session_meta", "payload": {**CODEX_META, **more}}, CODEX_SAID]


def _gemini(**more: Any) -> list[dict[str, Any]]:
    return [{**GEMINI_HEAD, **more}, GEMINI_SAID]


@pytest.mark.parametrize(
    ("values", "child"),
    [
        (_codex(source="cli"), False),
        (_codex(source="exec", thread_source="user"), False),
        (_codex(source={"subagent": "review"}), True),
        (_codex(source={"subagent": {"thread_spawn": {"parent_thread_id": "t1"}}}), True),
        (_codex(source="vscode", thread_source="subagent"), True),
        (_codex(source=["subagent"]), False),
        (_gemini(), False),
        (_gemini(kind="main"), False),
        (_gemini(kind="subagent"), True),
        (_gemini(kind=7), True),
    ],
)
def test_A5_a_child_agents_file_holds_no_request_of_the_owner(
    values: list[dict[str, Any]], child: bool
) -> None:
    rows = [Row(0, json.dumps(value).encode(), value, "") for value in values]
    reader = formats.sniff(rows, "x")
    assert (reader.name != reader.of) == child
    again = formats.by_name(reader.name)  # as a record is read back
    said = again.message(values[-1])
    assert said is not None and said.sidechain == child
    assert (said.origin == UNTRUSTED) == child


def test_a_fork_is_whose_its_own_header_says() -> None:
    values = [*_codex(source={"subagent": "review"})[:1], *_codex(source="cli")]
    rows = [Row(0, b"", value, "") for value in values]
    assert formats.sniff(rows, "x").name == "codex-child"
