"""Records and transcripts as two witnesses: what differs is named, and no host is blamed for it."""

import contextlib
import json
import os
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from swapcache import config
from swapcache.capture import corroborate, events, forget
from swapcache.capture.corroborate import BYTES, ELSEWHERE, GONE, NOWHERE, SINCE, Corroboration
from swapcache.hosts import claude_code
from swapcache.model import Event
from swapcache.store import forgetting, identity
from swapcache.store.opening import open_store
from swapcache.store.store import Store
from swapcache.transcripts import zstd
from tests.rows import Claude
from tests.unit.hosts.test_openclaw import Host

LONG = "x" * 900


@pytest.fixture
def store(project: Path) -> Iterator[Store]:
    """An open store of the project."""
    opened = open_store(identity.identify("claude-code", claude_code.state_dir(), str(project)))
    yield opened
    opened.close()


def record(store: Store, rows: Claude) -> None:
    """What the hook does at the end of a turn."""
    event = Event("claude-code", "turn-end", store.identity, "s1", "s1", str(rows.path))
    events.record(store, event, config.DEFAULTS)


@pytest.fixture
def rows(store: Store, home: Path) -> Claude:
    """A transcript of twenty long rows, captured."""
    made = Claude(home / "t.jsonl")
    for number in range(20):
        made.user(f"request {number} {LONG}")
    record(store, made)
    return made


def asked(store: Store) -> Corroboration:
    """What the transcripts say; every record is counted once."""
    found = corroborate.corroborate(store)
    rewritten = sum(one.records for one in found.rewritten)
    gone = sum(one.records for one in found.gone)
    counted = found.corroborated + found.differing + found.without + rewritten + gone
    assert counted == store.head()[0] + 1
    return found


def reasons(store: Store) -> dict[str, str]:
    """Reason by the first words of the record that differs."""
    found = {}
    for one in asked(store).differences:
        read = store.record(one.record)
        assert read is not None and read[1]
        text = json.loads(read[0].body)["message"]["content"]
        found[text[:10].strip()] = one.reason
    return found


def lines_of(rows: Claude) -> list[bytes]:
    """The transcript's lines."""
    return rows.path.read_bytes().splitlines(keepends=True)


def test_a_healthy_store_is_confirmed_and_its_own_records_need_no_witness(
    store: Store, rows: Claude
) -> None:
    found = asked(store)
    assert found.corroborated == 20 and found.differing == 0
    assert found.without == store.head()[0] + 1 - 20 > 1, "record 0, a snapshot"
    assert (found.rewritten, found.gone) == ((), ())


def test_damaged_and_glued_rows_are_confirmed_byte_for_byte(store: Store, home: Path) -> None:
    rows = Claude(home / "t.jsonl")
    rows.user("one")
    rows.raw(b'{"type":"strange"}{"type":"glued"}\r\n\n\x00\x00\nbroken {\n\xff\xfe\n')
    rows.raw(b'{"type":"system","uuid":"last"}')
    record(store, rows)
    rows.raw(b"\n")
    rows.say("done")
    record(store, rows)
    assert asked(store).differing == 0 and asked(store).corroborated >= 8


@pytest.mark.parametrize("new", ["REQUEST 10", "another 10"])
def test_an_edited_row_differs_and_only_that_one(store: Store, rows: Claude, new: str) -> None:
    data = rows.path.read_bytes()
    rows.path.write_bytes(data.replace(b"request 10", new.encode()))
    assert reasons(store) == {"request 10": BYTES}
    assert asked(store).corroborated == 19


def test_an_edited_row_of_another_length_differs_and_only_that_one(
    store: Store, rows: Claude
) -> None:
    data = rows.path.read_bytes()
    rows.path.write_bytes(data.replace(b"request 10", b"a much longer request 10"))
    assert reasons(store) == {"request 10": BYTES + SINCE}


def test_a_deleted_row_is_missed(store: Store, rows: Claude) -> None:
    left = [line for line in lines_of(rows) if b"request 10" not in line]
    rows.path.write_bytes(b"".join(left))
    assert reasons(store) == {"request 10": GONE + SINCE}


def test_a_row_that_was_blanked_in_its_place_is_missed(store: Store, rows: Claude) -> None:
    kept = [b" " * (len(n) - 1) + b"\n" if b"request 10" in n else n for n in lines_of(rows)]
    rows.path.write_bytes(b"".join(kept))
    assert reasons(store) == {"request 10": GONE}


def test_a_row_without_a_name_is_known_by_its_place(store: Store, home: Path) -> None:
    rows = Claude(home / "t.jsonl")
    rows.user(f"one {LONG * 5}")
    rows.raw(b'{"type":"strange","text":"AAA"}\n')
    rows.user(f"two {LONG * 5}")
    record(store, rows)
    rows.path.write_bytes(rows.path.read_bytes().replace(b"AAA", b"BBB"))
    assert [one.reason for one in asked(store).differences] == [BYTES]


def test_what_a_cut_took_away_is_missed_and_the_rest_confirmed(store: Store, rows: Claude) -> None:
    left = lines_of(rows)[:12]
    rows.path.write_bytes(b"".join(left))
    assert reasons(store) == {f"request {n}": GONE + SINCE for n in range(12, 20)}
    rows.say("and on")
    record(store, rows)
    found = asked(store)
    assert found.differing == 0, "the store knows of the cut now"
    (one,) = found.rewritten
    assert (one.generation, one.newest, one.records) == (0, 1, 8)


def test_a_host_that_rewrote_its_file_is_not_blamed(store: Store, rows: Claude) -> None:
    changed = lines_of(rows)
    changed[0] = changed[0].replace(b"request 0", b"a summary of what was before")
    rows.path.write_bytes(b"".join(changed))
    record(store, rows)
    found = asked(store)
    assert found.differing == 0
    (one,) = found.rewritten
    assert (one.transcript, one.generation, one.newest, one.records) == (str(rows.path), 0, 1, 1)
    assert found.corroborated == 39, "19 old ones that are still there, 20 of the new generation"


@pytest.mark.parametrize("suffix", [".reset.2026-11-30T12-00-00Z", ".deleted.1"])
def test_a_transcript_that_its_host_renamed_is_found(
    store: Store, rows: Claude, suffix: str
) -> None:
    moved = rows.path.with_name(rows.path.name + suffix)
    rows.path.rename(moved)
    assert asked(store).corroborated == 20
    rows.path.write_bytes(b'{"type":"user","uuid":"new","message":{"role":"user"}}\n')
    assert asked(store).corroborated == 20, "another file has its old name"
    moved.unlink()
    assert asked(store).differing == 20


@pytest.mark.parametrize(
    "make",
    [lambda path: None, os.mkfifo, os.mkdir, lambda path: path.symlink_to(path / "loop")],
)
def test_a_transcript_that_cannot_be_asked_is_gone(
    store: Store, rows: Claude, make: Callable[[Path], object]
) -> None:
    rows.path.unlink()
    make(rows.path)
    found = asked(store)
    (one,) = found.gone
    assert (one.transcript, one.records) == (str(rows.path), 20) and one.reason
    assert found.corroborated == found.differing == 0


# -- somebody who can write the database -----------------------------------------------------------


def numbers(store: Store) -> list[int]:
    """Sequence numbers of the captured rows, in their order."""
    rows = store.db.execute("SELECT seq FROM record WHERE position IS NOT NULL ORDER BY position")
    return [seq for (seq,) in rows]


def test_a_record_that_was_moved_to_another_place_is_said(store: Store, rows: Claude) -> None:
    seq = numbers(store)[7]
    store.db.execute("UPDATE record SET position=position+3 WHERE seq=?", (seq,))
    assert reasons(store) == {"request 7": ELSEWHERE}


def test_two_records_that_were_exchanged_are_said(store: Store, rows: Claude) -> None:
    one, two = numbers(store)[3], numbers(store)[4]
    places = dict(store.db.execute("SELECT seq, position FROM record"))
    for seq, place in ((one, -5), (two, places[one]), (one, places[two])):
        store.db.execute("UPDATE record SET position=? WHERE seq=?", (place, seq))
    assert reasons(store) == {"request 3": ELSEWHERE, "request 4": ELSEWHERE}


@pytest.mark.parametrize("source", [None, 4711])
def test_a_captured_row_that_names_no_transcript_is_said(
    store: Store, rows: Claude, source: int | None
) -> None:
    store.db.execute("UPDATE record SET source=? WHERE seq=?", (source, numbers(store)[7]))
    assert reasons(store) == {"request 7": NOWHERE}


def test_a_captured_row_among_statements_is_said(store: Store, rows: Claude) -> None:
    session = store.db.execute("SELECT session FROM source").fetchone()[0]
    store.db.execute(
        "INSERT INTO source SELECT 99, ?, '', 0, 0, '', '', '', 0, 0, 0, 0 FROM store", (session,)
    )
    store.db.execute("UPDATE record SET source=99 WHERE seq=?", (numbers(store)[7],))
    assert reasons(store) == {"request 7": NOWHERE}


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE record SET position='x' WHERE seq=5",
        "UPDATE record SET position=-1 WHERE seq=5",
        "UPDATE record SET position=1 << 62 WHERE seq=5",
        "UPDATE record SET size='x' WHERE seq=5",
        "UPDATE record SET size=1 << 62 WHERE seq=5",
        "UPDATE record SET sha='x' WHERE seq=5",
        "UPDATE record SET meta=x'00' WHERE seq=5",
        "UPDATE record SET meta='[' , source=NULL WHERE seq=5",
        "UPDATE source SET cursor='x'",
        "UPDATE source SET cursor=-9",
        "UPDATE source SET generation='x'",
        "UPDATE source SET generation=-1",
        "UPDATE source SET session='x'",
        "UPDATE source SET head=NULL || 'x'",
        "UPDATE source SET format='no such'",
        "UPDATE source SET path=5",
    ],
)
def test_columns_of_any_value_are_no_crash(store: Store, rows: Claude, change: str) -> None:
    with contextlib.suppress(Exception):
        store.db.execute(change)
    found = asked(store)
    assert found.corroborated <= 20 and found.differing <= 20


def test_the_seal_and_the_transcript_are_two_questions(store: Store, rows: Claude) -> None:
    data = rows.path.read_bytes()
    rows.path.write_bytes(data.replace(b"request 10", b"REQUEST 10"))
    assert store.verify().good and asked(store).differing == 1
    rows.path.write_bytes(data)
    store.db.execute("UPDATE record SET meta='{}' WHERE seq=5")
    assert not store.verify().good and asked(store).differing == 0


def test_a_text_that_was_forgotten_needs_no_witness(store: Store, rows: Claude) -> None:
    text = forgetting.text_of("request 10")
    assert forget.forget(store, text)
    assert asked(store).corroborated == 20, "the hash of what was there is what is sealed"
    rows.path.write_bytes(rows.path.read_bytes().replace(b"request 10", b"[xxxxxxxx]"))
    found = asked(store)
    assert (found.corroborated, found.differing) == (19, 0)


# -- bounds ----------------------------------------------------------------------------------------


def test_batches_and_lists_have_bounds_and_counts_have_none(
    store: Store, rows: Claude, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(corroborate, "BATCH", 3)
    monkeypatch.setattr(corroborate, "NAMED", 4)
    rows.path.write_bytes(rows.path.read_bytes().replace(b"request", b"REQUEST"))
    found = asked(store)
    assert (found.corroborated, found.differing) == (0, 20)
    assert [one.record for one in found.differences] == numbers(store)[:4]


def test_memory_does_not_grow_with_a_row(store: Store, home: Path) -> None:
    rows = Claude(home / "t.jsonl")
    rows.user("x" * (24 << 20))
    rows.user("short")
    event = Event("claude-code", "import", store.identity, "s1", "s1", str(rows.path))
    events.record_whole(store, event, config.DEFAULTS)
    tracemalloc.start()
    found = asked(store)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.corroborated == 2 and peak < 6 << 20


# -- a host's database -----------------------------------------------------------------------------


@pytest.fixture
def host(home: Path) -> Host:
    """A session of some events, one of them compressed, captured."""
    made = Host(home)
    made.message("user", "pack the boxes")
    inner = {"role": "assistant", "content": "y" * 5000}
    made.event({"type": "message", "id": "big", "timestamp": "", "message": inner}, packed=True)
    for number in range(6):
        made.message("user", f"request {number}")
    made.fold().close()
    return made


@contextlib.contextmanager
def folded(host: Host) -> Iterator[Store]:
    """Its store."""
    store = host.fold()
    try:
        yield store
    finally:
        store.close()


def compared(host: Host) -> Corroboration:
    """What the database says, without a capture in between."""
    ((store_id, _),) = identity.listing()
    with contextlib.closing(Store(store_id)) as store:
        return asked(store)


def test_a_hosts_database_confirms_its_events(host: Host) -> None:
    found = compared(host)
    assert (found.corroborated, found.differing, found.gone) == (9, 0, ())


def test_events_that_were_captured_compressed_are_confirmed(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Host(home)
    with monkeypatch.context() as patch:
        patch.setattr(zstd, "unpacked", lambda data, limit: (b"", zstd.NO_DECODER))
        made.event({"type": "message", "id": "big", "message": {"content": "y" * 99}}, packed=True)
        made.message("user", "go on")
        made.fold().close()
        assert compared(made).corroborated == 3
    assert compared(made).corroborated == 3, "where it can be decompressed, too"


def test_an_event_that_cannot_be_decompressed_here_is_not_said_to_differ(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(zstd, "unpacked", lambda data, limit: (b"", zstd.NO_DECODER))
    found = compared(host)
    assert found.differing == 0
    (one,) = found.gone
    assert "zstd" in one.reason and found.corroborated + one.records == 9


def test_an_edited_event_differs(host: Host) -> None:
    query = "UPDATE transcript_events SET event_json=replace(event_json, 'request 3', 'pay')"
    host.db.execute(query)
    found = compared(host)
    assert [one.reason for one in found.differences] == [BYTES]
    assert found.differences[0].transcript.startswith("sqlite:sid:")


def test_a_deleted_event_is_missed(host: Host) -> None:
    host.db.execute("DELETE FROM transcript_events WHERE event_json LIKE '%request 3%'")
    assert [one.reason for one in compared(host).differences] == [GONE]


def test_events_that_were_cut_off_are_missed(host: Host) -> None:
    host.db.execute("DELETE FROM transcript_events WHERE seq>4")
    assert [one.reason for one in compared(host).differences] == [GONE] * 4


def test_a_position_that_was_moved_in_the_store_is_said(host: Host) -> None:
    with folded(host) as store:
        store.db.execute("UPDATE record SET position=900 WHERE seq=?", (numbers(store)[3],))
        assert [one.reason for one in asked(store).differences] == [ELSEWHERE]


def test_a_session_that_the_host_deleted_is_gone(host: Host) -> None:
    host.db.execute("DELETE FROM transcript_events")
    found = compared(host)
    assert found.differing == 0 and [one.records for one in found.gone] == [9]
    os.unlink(host.path)
    assert [one.records for one in compared(host).gone] == [9]


def test_a_database_that_its_host_rewrote_is_not_blamed(host: Host) -> None:
    host.db.execute("UPDATE transcript_rewrite_watermarks SET generation='g2'")
    host.db.execute("DELETE FROM transcript_events WHERE event_json LIKE '%request 3%'")
    assert [one.reason for one in compared(host).differences] == [GONE + SINCE]
    with folded(host) as store:
        found = asked(store)
    assert found.differing == 0
    assert [(one.generation, one.newest, one.records) for one in found.rewritten] == [(0, 1, 1)]
