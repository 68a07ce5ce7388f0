"""What the outside suites found is printed as tables, so that a log of CI holds it."""

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.outside import amsb_adapter

TABLES: dict[str, list[tuple[str, ...]]] = {}
Table = Callable[..., None]


@pytest.fixture(scope="session")
def table() -> Table:
    """Adds a row of cells to the table of a title."""

    def add(title: str, *cells: str) -> None:
        TABLES.setdefault(title, []).append(cells)

    return add


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The suites leave their temporary directories behind: here they go with the test's own."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    """Removes the homes that AMSB leaves behind."""
    yield
    while amsb_adapter.HOMES:
        amsb_adapter.HOMES.pop().close()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The tables; the last cell of a row may be as long as it likes."""
    for title, rows in TABLES.items():
        terminalreporter.section(title)
        for row in rows:
            *cells, last = row
            line = "  ".join([*(f"{cell:<34}" for cell in cells), last])
            terminalreporter.write_line(line)
