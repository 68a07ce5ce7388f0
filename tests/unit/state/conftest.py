"""Stores of one workspace."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from swapcache.store import identity
from swapcache.store.opening import open_store
from swapcache.store.store import Store


@pytest.fixture
def store(home: Path, project: Path) -> Iterator[Store]:
    """A store of the project."""
    opened = open_store(identity.identify("openclaw", str(home / ".openclaw"), str(project)))
    yield opened
    opened.close()


@pytest.fixture
def other(home: Path) -> Iterator[Store]:
    """A store of another agent in the same workspace."""
    where = identity.identify(
        "openclaw", str(home / ".openclaw"), str(home / "project"), "researcher"
    )
    opened = open_store(where)
    yield opened
    opened.close()
