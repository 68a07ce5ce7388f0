"""The table of attacks: what each was judged, and what the model would have seen."""

from pathlib import Path

import pytest

from tests.attacks.world import World

ROWS: dict[str, tuple[str, str, str, str]] = {}


@pytest.fixture
def world(home: Path) -> World:
    """Two workspaces with a history."""
    return World(home)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Prints the rows: number, attack, verdicts on reading and in full, what was seen."""
    if not ROWS:
        return
    terminalreporter.section(f"attacks of our own: {len(ROWS)} rows")
    for number, (title, read, full, shown) in sorted(ROWS.items()):
        verdicts = read if read == full else f"{read} (in full: {full})"
        terminalreporter.write_line(f"{number}  {title:<62} {verdicts:<32} {shown}")
