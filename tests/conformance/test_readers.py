"""The kit that every transcript reader passes: one folder under readers/ for each format.

A folder holds `expected.json` and, unless it names a `source`, one recorded transcript. The oracle
shares no code with the readers: it knows what it damaged.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from swapcache import config
from swapcache.capture import capture, events, story
from swapcache.model import Event
from swapcache.store import identity, sessions
from swapcache.store.opening import open_store
from swapcache.store.store import Store
from swapcache.transcripts import formats, lines

HERE = Path(__file__).parent
FOLDERS = sorted((HERE / "readers").iterdir())
Change = Callable[[bytes], bytes]
DAMAGES: dict[str, Change] = {
    "torn": lambda raw: raw[: len(raw) // 2] + b"\n",
    "garbage": lambda raw: b"\x00\xff{]" + raw[4:],
    "zeros": lambda raw: b"\x00" * (len(raw) - 1) + b"\n",
    "array": lambda raw: b"[1,2,3]\n",
    "words": lambda raw: b"an editor was here\n",
}
HARMLESS: dict[str, Change] = {
    "crlf": lambda raw: raw[:-1] + b"\r\n",
    "bom": lambda raw: b"\xef\xbb\xbf" + raw,
    "leading zeros": lambda raw: b"\x00\x00" + raw,
    "trailing blanks": lambda raw: raw[:-1] + b"   \n",
}


def fixture(folder: Path) -> tuple[dict[str, Any], list[bytes]]:
    """(expectation, rows) of a folder."""
    expected = json.loads((folder / "expected.json").read_text())
    source = HERE.parents[1] / expected["source"] if "source" in expected else None
    path = source or next(folder.glob("*.jsonl"))
    return expected, path.read_bytes().splitlines(keepends=True)


@pytest.fixture(params=FOLDERS, ids=lambda folder: folder.name)
def recorded(request: pytest.FixtureRequest) -> tuple[dict[str, Any], list[bytes]]:
    """Each format's recorded transcript."""
    return fixture(request.param)


def stored(
    expected: dict[str, Any], rows: list[bytes], home: Path, project: Path
) -> tuple[Store, Any]:
    """A store that holds the transcript, and the report."""
    path = home / "transcript"
    path.write_bytes(b"".join(rows))
    store = open_store(identity.identify(expected["host"], str(home), str(project)))
    key = expected["stream"]
    event = Event(expected["host"], "import", store.identity, key, key, str(path))
    events.record(store, event, config.DEFAULTS)
    session = sessions.find_session(store.db, key, key)
    assert session is not None
    return store, capture.report(store, session, 0, 0)


def bodies(store: Store) -> bytes:
    """All raw records, joined."""
    records = (r for r, good in store.read(0, 1 << 40) if good and r.meta.get("kind") == "raw")
    return b"".join(r.body for r in records)


def test_every_format_that_is_read_has_a_folder() -> None:
    assert {fixture(folder)[0]["format"] for folder in FOLDERS} == set(formats.NAMES)


def test_the_format_is_known_by_content(recorded: tuple[dict[str, Any], list[bytes]]) -> None:
    expected, rows = recorded
    parsed = [row for raw in rows for row in lines.split(0, raw)]
    assert formats.sniff(parsed, "test").name == expected["format"]


def test_an_undamaged_transcript_is_kept_whole(
    recorded: tuple[dict[str, Any], list[bytes]], home: Path, project: Path
) -> None:
    expected, rows = recorded
    store, report = stored(expected, rows, home, project)
    assert (report.records, report.kept) == (expected["records"], expected["records"])
    assert report.messages == expected["messages"] and report.lost == ()
    assert bodies(store) == b"".join(rows)
    store.close()


def test_the_state_knows_request_and_open_call(
    recorded: tuple[dict[str, Any], list[bytes]], home: Path, project: Path
) -> None:
    expected, rows = recorded
    store, _ = stored(expected, rows, home, project)
    session = sessions.sessions(store.db)[0]
    items = story.refold(store, session)[0].state(session.number, -1).items
    requests = [i.text for i in items if i.kind == "request"]
    assert expected["last_request"] in requests[-1]
    for kind, words in expected.get("known", {}).items():
        assert any(words in i.text for i in items if i.kind == kind), (kind, words)
    unknown = [i.text for i in items if i.kind == "unknown"]
    if expected["open_call"] is None:  # a host that writes a call when it is done
        assert unknown == []
    else:
        assert len(unknown) == 1 and expected["open_call"] in unknown[0]
    store.close()


@pytest.mark.parametrize("damage", sorted(DAMAGES))
def test_A10_damage_costs_only_the_damaged_row(
    recorded: tuple[dict[str, Any], list[bytes]], damage: str, home: Path, project: Path
) -> None:
    expected, rows = recorded
    at = len(rows) // 2
    hurt = [*rows[:at], DAMAGES[damage](rows[at]), *rows[at + 1 :]]
    store, report = stored(expected, hurt, home, project)
    assert report.kept == expected["records"] - 1
    assert [d.where for d in report.lost] == [len(b"".join(rows[:at]))]
    assert report.lost[0].reason
    assert bodies(store) == b"".join(hurt), "what cannot be read is kept all the same"
    assert store.verify().good
    store.close()


@pytest.mark.parametrize("change", sorted(HARMLESS))
def test_A10_harmless_oddities_cost_nothing(
    recorded: tuple[dict[str, Any], list[bytes]], change: str, home: Path, project: Path
) -> None:
    expected, rows = recorded
    odd = [HARMLESS[change](row) for row in rows]
    store, report = stored(expected, odd, home, project)
    assert report.kept == expected["records"] and report.lost == ()
    assert report.messages == expected["messages"]
    assert bodies(store) == b"".join(odd)
    store.close()


def test_A10_a_torn_row_with_the_next_one_glued_to_it(
    recorded: tuple[dict[str, Any], list[bytes]], home: Path, project: Path
) -> None:
    expected, rows = recorded
    at = len(rows) // 2
    glued = rows[at][: len(rows[at]) // 3] + rows[at + 1]
    store, report = stored(expected, [*rows[:at], glued, *rows[at + 2 :]], home, project)
    assert report.kept == expected["records"] - 1 and len(report.lost) == 1
    store.close()


def test_A10_cut_at_every_part_of_the_last_row(
    recorded: tuple[dict[str, Any], list[bytes]], home: Path, project: Path
) -> None:
    expected, rows = recorded
    last = rows[-1]
    for size in {1, 2, len(last) // 3, len(last) // 2, len(last) - 2}:
        found, cursor, pending, _ = _read(home, [*rows[:-1], last[:size]])
        assert len(found) == len(rows) - 1 and pending == size
        assert cursor == len(b"".join(rows[:-1]))
    assert expected["records"] == len(rows)


def _read(home: Path, rows: list[bytes]) -> tuple[list[Any], int, int, bool]:
    path = home / "cut"
    path.write_bytes(b"".join(rows))
    with path.open("rb") as file:
        return lines.read(file.fileno(), 0, 1 << 30)
