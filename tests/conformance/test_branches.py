"""What real hosts went back behind: kept, counted, and no part of the state.

One folder under branches/ for each way a host goes back; its files are one session, in order.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from swapcache import config
from swapcache.capture import capture, events, story
from swapcache.model import Event, Session
from swapcache.state.fold import Fold
from swapcache.store import identity, sessions
from swapcache.store.opening import open_store
from swapcache.store.store import Store
from tests.conformance.test_readers import FOLDERS, HERE

BRANCHES = sorted((HERE / "branches").iterdir())


class Told:
    """A session whose host writes while it is captured."""

    def __init__(self, folder: Path, home: Path, project: Path) -> None:
        self.expected: dict[str, Any] = json.loads((folder / "expected.json").read_text())
        source = self.expected.get("source")
        paths = [HERE.parents[1] / source] if source else sorted(folder.glob("*.jsonl"))
        self.files = [(home / path.name, path.read_bytes().splitlines(True)) for path in paths]
        self.store: Store = open_store(
            identity.identify(self.expected["host"], str(home), str(project))
        )

    def capture(self, path: Path) -> None:
        """One step."""
        host, key = self.expected["host"], self.expected["stream"]
        event = Event(host, "fold", self.store.identity, key, key, str(path))
        events.record(self.store, event, config.DEFAULTS)

    def grow(self, step: int) -> None:
        """All of it, `step` rows at a time."""
        for path, rows in self.files:
            with path.open("ab") as file:
                for at in range(0, len(rows), step):
                    file.write(b"".join(rows[at : at + step]))
                    file.flush()
                    self.capture(path)

    @property
    def session(self) -> Session:
        """The session."""
        return sessions.sessions(self.store.db)[0]

    @property
    def kept(self) -> Fold:
        """The state row."""
        row = sessions.load_state(self.store.db, self.store.keys, self.session.number)
        assert row is not None
        return Fold.load(row[1])


@pytest.fixture(
    params=[*FOLDERS, *BRANCHES], ids=lambda folder: f"{folder.parent.name}-{folder.name}"
)
def told(request: pytest.FixtureRequest, home: Path, project: Path) -> Iterator[Told]:
    """Each recorded session, not captured yet."""
    made = Told(request.param, home, project)
    yield made
    made.store.close()


@pytest.mark.parametrize("folder", BRANCHES, ids=lambda folder: folder.name)
def test_A2_what_the_host_went_back_behind_is_counted_and_not_folded(
    folder: Path, home: Path, project: Path
) -> None:
    told = Told(folder, home, project)
    told.grow(1 << 20)
    requests = [item.text for item in told.kept.of("request").values()]
    assert requests == told.expected["asked"]
    assert told.kept.counters[capture.LEFT] == told.expected["left"]
    assert capture.report(told.store, told.session, 0, 0).records == told.expected["records"]
    raw = (r for r, good in told.store.read(0, 1 << 40) if good and r.meta.get("kind") == "raw")
    rows = [row for _, part in told.files for row in part]
    assert b"".join(record.body for record in raw) == b"".join(rows), "nothing is purged"
    told.store.close()


def test_a_session_that_is_captured_while_it_grows_ends_in_the_same_state(
    told: Told, tmp_path: Path, project: Path
) -> None:
    told.grow(5)
    grown, session = told.kept, told.session
    assert story.refold(told.store, session).fold.dump() == grown.dump()
    messages = capture.report(told.store, session, 0, 0).messages
    told.store.close()
    told.store = open_store(identity.identify("another", str(tmp_path), str(project)))
    told.files = [(tmp_path / path.name, rows) for path, rows in told.files]
    told.grow(1 << 20)
    assert told.kept.counters == grown.counters
    assert said(told.kept) == said(grown)
    assert capture.report(told.store, told.session, 0, 0).messages == messages


def said(fold: Fold) -> list[tuple[str, str, str]]:
    """What a state says, without the numbers of its records."""
    return [(item.kind, item.text, item.status) for item in fold.state(0, 0).items]
