"""Every test runs in a home of its own; the real one is out of reach."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("shared machine", deadline=None)  # how long an example takes is noise
settings.load_profile("shared machine")

REAL_HOME = os.path.expanduser("~")
CLEARED = (
    "CLAUDE_PROJECT_DIR",
    "CLAUDE_CONFIG_DIR",
    "CLAUDE_CODE_SESSION_ID",
    "CLAUDECODE",
    "SWAPCACHE_PAYLOAD",
)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A fresh home directory, with SWAPCACHE_HOME inside it."""
    fresh = tmp_path / "home"
    fresh.mkdir()
    monkeypatch.setenv("HOME", str(fresh))
    monkeypatch.setenv("SWAPCACHE_HOME", str(fresh / "swapcache"))
    for name in CLEARED:
        monkeypatch.delenv(name, raising=False)
    yield fresh
    assert os.path.expanduser("~") != REAL_HOME, "a test put the real home back"


@pytest.fixture
def project(home: Path) -> Path:
    """A workspace: a directory with a .git in it."""
    made = home / "project"
    (made / ".git").mkdir(parents=True)
    return made
