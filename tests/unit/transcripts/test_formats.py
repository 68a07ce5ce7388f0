"""Telling formats apart by content, and refusing what is no transcript with a clear reason."""

import json
from pathlib import Path

import pytest

from swapcache.capture import follow
from swapcache.errors import FormatError, SourceError
from swapcache.model import Source
from swapcache.transcripts import formats, lines
from tests.rows import Claude

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
