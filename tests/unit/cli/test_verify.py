"""verify: the seal decides the exit code, what the transcripts say is shown beside it."""

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from swapcache import config
from swapcache.capture import events
from swapcache.cli import verify
from swapcache.model import Event
from swapcache.store import identity
from swapcache.store.opening import open_store
from swapcache.store.store import Store
from tests.rows import Claude


@pytest.fixture
def rows(project: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Claude:
    """A captured transcript of the workspace that commands run in."""
    monkeypatch.chdir(project)
    made = Claude(home / "t.jsonl")
    for number in range(15):
        made.user(f"request {number} " + "x" * 900)
    whose = identity.identify("claude-code", str(home / ".claude"), str(project))
    with contextlib.closing(open_store(whose)) as store:
        event = Event("claude-code", "turn-end", whose, "s1", "s1", str(made.path))
        events.record(store, event, config.DEFAULTS)
    return made


def verified(*arguments: str) -> tuple[int, Any, str]:
    """(exit code, JSON, words) of verify."""
    words = CliRunner().invoke(verify.command, list(arguments))
    data = CliRunner().invoke(verify.command, [*arguments, "--json"])
    assert words.exit_code == data.exit_code
    return data.exit_code, json.loads(data.output), words.output


def test_only_a_full_check_asks_the_transcripts(rows: Claude) -> None:
    code, value, words = verified()
    assert (code, value["corroboration"]) == (0, None) and "transcripts" not in words
    code, value, words = verified("--full")
    assert code == 0 and value["corroboration"]["corroborated"] == 15
    assert "15 records stand in them as they were recorded, 0 differ" in words
    assert "either" not in words


def test_an_edited_transcript_is_said_with_both_possibilities(rows: Claude) -> None:
    data = rows.path.read_bytes()
    rows.path.write_bytes(data.replace(b"request 7 ", b"REQUEST 7 "))
    code, value, words = verified("--full")
    assert (code, value["verdict"]) == (0, "VERIFIED"), "the seal is another question"
    (one,) = value["corroboration"]["differences"]
    assert one["transcript"] == str(rows.path) and f"#{one['record']}: its bytes differ" in words
    assert "either those transcripts were changed" in words and "or the records" in words


def test_many_differences_are_counted_and_the_first_are_named(rows: Claude) -> None:
    rows.path.write_bytes(rows.path.read_bytes().replace(b"request", b"REQUEST"))
    code, value, words = verified("--full")
    assert (code, value["corroboration"]["differing"]) == (0, 15)
    assert words.count("its bytes differ") == 10 and "and 5 more that differ" in words


def test_a_transcript_that_is_gone_is_said_without_blame(rows: Claude) -> None:
    rows.path.unlink()
    code, value, words = verified("--full")
    assert code == 0 and value["corroboration"]["gone"][0]["records"] == 15
    assert f"15 of {rows.path}: " in words and "does not exist" in words and "either" not in words


def test_a_rewritten_transcript_is_said_with_its_generations(rows: Claude, home: Path) -> None:
    rows.path.write_bytes(rows.path.read_bytes()[:5000])
    ((store_id, _),) = identity.listing()
    with contextlib.closing(Store(store_id)) as store:
        event = Event("claude-code", "turn-end", store.identity, "s1", "s1", str(rows.path))
        events.record(store, event, config.DEFAULTS)
    code, value, words = verified("--full")
    (one,) = value["corroboration"]["rewritten"]
    assert code == 0 and value["corroboration"]["differing"] == 0
    assert (one["generation"], one["newest"]) == (0, 1)
    assert "generation 0 was cut or rewritten, and captured anew as generation 1" in words


def test_a_broken_seal_keeps_its_exit_code_beside_a_healthy_transcript(rows: Claude) -> None:
    ((store_id, _),) = identity.listing()
    with contextlib.closing(Store(store_id)) as store:
        store.db.execute("UPDATE record SET meta='{}' WHERE seq=4")
    code, value, _ = verified("--full")
    assert (code, value["verdict"]) == (1, "PREFIX")
    assert value["corroboration"]["corroborated"] == 15


def test_records_that_cannot_be_read_are_a_verdict_and_no_crash(rows: Claude) -> None:
    ((store_id, _),) = identity.listing()
    with contextlib.closing(Store(store_id)) as store:
        store.db.execute("DROP TABLE source")
    code, value, _ = verified("--full")
    assert code == 1 and value["corroboration"] is None


def test_a_name_that_steers_a_terminal_is_shown_harmless(rows: Claude) -> None:
    rows.path.unlink()
    ((store_id, _),) = identity.listing()
    with contextlib.closing(Store(store_id)) as store:
        store.db.execute("UPDATE source SET path='/x\x1b[2Jy' WHERE path<>''")
    assert "\x1b" not in verified("--full")[2]
