"""Gemini CLI's old sessions, one JSON document each: read whole, grown, torn and damaged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from swapcache import config
from swapcache.capture import capture, corroborate, events, follow
from swapcache.errors import FormatError
from swapcache.hosts import locate
from swapcache.model import Event, Row, Source
from swapcache.store import identity, sessions
from swapcache.store.opening import open_store
from swapcache.transcripts import formats


def document(count: int, **more: Any) -> dict[str, Any]:
    """A session as Gemini CLI wrote it until it wrote lines."""
    messages: list[dict[str, Any]] = []
    for n in range(count):
        text = f'request {n} with "quotes", \\ and }}{{ [ and "id": in it'
        messages.append(
            {"id": f"u{n}", "timestamp": "2025-12-01T10:00:00Z", "type": "user", "content": text}
        )
        call = {"id": f"c{n}", "name": "run_shell_command", "args": {"command": "make"}}
        result = {"id": f"c{n}", "name": "run_shell_command", "response": {"output": "ok"}}
        done = {**call, "result": [{"functionResponse": result}], "status": "success"}
        answer = {"id": f"a{n}", "timestamp": "2025-12-01T10:00:01Z", "type": "gemini"}
        messages.append({**answer, "content": f"answer {n}", "thoughts": [], "toolCalls": [done]})
    head = {"sessionId": "s1", "projectHash": "0" * 64, "startTime": "2025-12-01T10:00:00Z"}
    return {**head, "lastUpdated": f"2025-12-01T11:00:{count:02d}Z", "messages": messages, **more}


def write(path: Path, count: int, **more: Any) -> bytes:
    """The document as a file; gives its bytes."""
    data = json.dumps(document(count, **more), indent=2).encode()
    path.write_bytes(data)
    return data


def read(path: Path) -> list[Row]:
    """All rows."""
    return follow.read_new(Source(1, 1, str(path), 0, 0, "", "", ""), 1 << 40).rows


def ids(rows: list[Row]) -> list[str]:
    """Of the messages that were read."""
    return [row.value["id"] for row in rows if row.value and "id" in row.value]


@pytest.fixture
def path(home: Path) -> Path:
    """Where the host keeps it."""
    folder = home / ".gemini/tmp/shop/chats"
    folder.mkdir(parents=True)
    return folder / "session-2025-12-01T10-00-s1.json"


def test_every_message_is_a_row_with_the_values_that_it_has(path: Path) -> None:
    write(path, 3)
    header, *rows = read(path)
    assert [row.value for row in rows] == document(3)["messages"]
    assert header.value == {k: document(3)[k] for k in ("sessionId", "projectHash", "startTime")}
    assert not any(row.reason for row in rows)
    assert formats.sniff([header, *rows], "x").name == "gemini"


def test_a_document_that_grew_is_gone_on_with_and_told_once(
    path: Path, home: Path, project: Path
) -> None:
    store = open_store(identity.identify("gemini", str(home), str(project)))
    event = Event("gemini", "import", store.identity, "s1", "s1", str(path))
    for count in (1, 2, 2, 5):
        data = write(path, count)
        events.record_whole(store, event, config.DEFAULTS)
        session = sessions.find_session(store.db, "s1", "s1")
        assert session is not None
        told = capture.report(store, session, 0, 0)
        assert (told.records, told.messages, told.lost) == (1 + 2 * count, 2 * count, ())
        assert path.read_bytes() == data
    assert not corroborate.corroborate(store).differing
    store.close()


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_C1_a_document_that_was_cut_anywhere_keeps_what_is_whole(path: Path, ends: str) -> None:
    whole = write(path, 2).replace(b"\n", ends.encode())
    stops = [whole.find(f'"id": "{name}",'.encode()) for name in ("u0", "a0", "u1", "a1")]
    for size in range(whole.find(b'"projectHash"') + 80, len(whole) - 1, 7):
        path.write_bytes(whole[:size])
        rows = read(path)
        kept = ids(rows)
        begun = [
            name for name, at in zip(("u0", "a0", "u1", "a1"), stops, strict=True) if at < size
        ]
        assert kept[: len(begun) - 1] == begun[:-1], size
        assert any(row.reason for row in rows), f"cut at {size}, and nothing says so"


def test_C1_damage_costs_the_message_that_it_hit(path: Path) -> None:
    whole = write(path, 3)
    every = ids(read(path))
    at = whole.find(b'"answer 1"')
    for damaged in (
        whole[:at] + b'answer 1"' + whole[at + 10 :],
        whole[:at] + b"\0" * 40 + whole[at + 40 :],
        whole[: at - 40] + whole[at:],
        whole[:at] + b'"}' + whole[at + 10 :],
    ):
        path.write_bytes(damaged)
        rows = read(path)
        kept = ids(rows)
        assert [name for name in every if name != "a1"] == [
            n for n in kept if n in every and n != "a1"
        ]
        assert any(row.reason for row in rows) or "a1" in kept


def test_a_child_agents_document_holds_no_request_of_the_owner(path: Path) -> None:
    write(path, 1, kind="subagent")
    text = path.read_text()
    head = text.index('"messages"')  # the host writes it in front
    path.write_text(text[:head] + '"kind": "subagent",\n  ' + text[head:])
    assert formats.sniff(read(path), "x").name == "gemini-child"


def test_it_is_found_among_the_sessions_of_the_host(path: Path) -> None:
    write(path, 1)
    found = locate.locate("gemini", "s1")
    assert (found.path, found.state) == (str(path), "live")
    (path.parent / "logs.json").write_text("[]")
    assert len(locate.candidates("gemini", str(path.parent))) == 1


def test_other_pretty_documents_are_refused(home: Path) -> None:
    (home / "package.json").write_text('{\n  "name": "x",\n  "version": "1"\n}\n')
    with pytest.raises(FormatError, match="no transcript"):
        read(home / "package.json")
