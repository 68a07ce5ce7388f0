"""Real hosts: found or, in CI, missing is a failure. What they were told is printed as a table."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from swapcache.drill import drill, live
from swapcache.drill.claude import Claude, find_program
from swapcache.drill.model import Model, Request, Script
from swapcache.errors import DrillError
from tests import needs

ROWS: list[tuple[str, ...]] = []


@pytest.fixture(scope="session")
def program() -> str:
    """Claude Code's program. Missing: a failure in CI, a skip with the reason elsewhere."""
    try:
        return find_program()
    except DrillError as problem:
        needs.missing(str(problem))


class Stage:
    """A real host with our hooks in an isolated home; keeps the table."""

    def __init__(self, host: Claude) -> None:
        self.host = host
        self.faulty = False
        """The test breaks something on purpose: the error log may hold lines."""
        self.version = host.version()

    @property
    def seen(self) -> int:
        """Number of requests so far."""
        return len(self.host.model.requests)

    def since(self, seen: int) -> list[Request]:
        """Requests after the first `seen`."""
        return self.host.model.requests[seen:]

    def blocks(self, seen: int, case: str) -> list[str]:
        """Our blocks in the first request after `seen`, each noted as a row of the table."""
        requests = self.since(seen)
        assert requests, f"{case}: the host sent no request"
        found = live.blocks(requests[0])
        for place, _ in found:
            ROWS.append(
                (f"claude-code {self.version}", case, f"request {requests[0].number}", place)
            )
        if not found:
            none = (
                f"claude-code {self.version}",
                case,
                f"request {requests[0].number}",
                "no block",
            )
            ROWS.append(none)
        return [text for _, text in found]


@pytest.fixture
def stage(program: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    """A stage whose model follows the script that a test fills in."""
    script: Script = {}
    root = home / "host"
    root.mkdir()
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", "")
    with Model(script) as model:
        host = Claude(program, root, model)
        host.prepare()
        drill.isolate(root, host.home / ".claude")
        live.install(host)
        made = Stage(host)
        yield made
        log = root / "swapcache/state/errors.jsonl"
        assert made.faulty or not log.exists(), log.read_text()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The table: host version, case, request number, place of our block."""
    if ROWS:
        terminalreporter.section("where the blocks stood in real requests")
        for row in ROWS:
            terminalreporter.write_line("  ".join(f"{cell:<28}" for cell in row).rstrip())
