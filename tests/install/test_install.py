"""The ways to install: each gives a program that sets itself up and finds nothing wrong."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import needs

pytestmark = pytest.mark.install
ROOT = Path(__file__).parents[2]
DISTRIBUTIONS, MEGABYTES = 10, 20


def run(*arguments: str | Path, **env: str) -> subprocess.CompletedProcess[str]:
    """A command with nothing of this environment's Python in it."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "VIRTUAL_ENV"))}
    return subprocess.run(
        [str(a) for a in arguments], capture_output=True, text=True, check=False, env=kept | env
    )


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Directory with uv and pipx. Without a package index: a failure in CI, else a skip."""
    folder = tmp_path_factory.mktemp("tools")
    run(sys.executable, "-m", "venv", folder).check_returncode()
    done = run(folder / "bin/python", "-m", "pip", "install", "--quiet", "uv", "pipx")
    if done.returncode:
        needs.missing(f"no package index can be reached: {done.stderr[-400:]}")
    return folder / "bin"


def with_pip(tools: Path, place: Path) -> Path:
    """A wheel, in a new environment."""
    run(sys.executable, "-m", "venv", place).check_returncode()
    pip = (place / "bin/python", "-m", "pip")
    built = run(*pip, "wheel", "--quiet", "--no-deps", "--wheel-dir", place / "wheels", ROOT)
    assert built.returncode == 0, built.stderr
    (wheel,) = (place / "wheels").iterdir()
    done = run(*pip, "install", "--quiet", wheel)
    assert done.returncode == 0, done.stderr
    return place / "bin/swapcache"


def with_pipx(tools: Path, place: Path) -> Path:
    """pipx install ."""
    places = {"PIPX_HOME": str(place / "home"), "PIPX_BIN_DIR": str(place / "bin")}
    done = run(tools / "pipx", "install", ROOT, **places)
    assert done.returncode == 0, done.stderr
    return place / "bin/swapcache"


def with_uv(tools: Path, place: Path) -> Path:
    """uv tool install ."""
    places = {"UV_TOOL_DIR": str(place / "home"), "UV_TOOL_BIN_DIR": str(place / "bin")}
    done = run(tools / "uv", "tool", "install", "--python", sys.executable, ROOT, **places)
    assert done.returncode == 0, done.stderr
    return place / "bin/swapcache"


@pytest.mark.parametrize("way", [with_pip, with_pipx, with_uv])
def test_G2_what_is_installed_sets_itself_up(
    way: Callable[[Path, Path], Path], tools: Path, home: Path
) -> None:
    program = way(tools, home / "place")
    (home / ".claude").mkdir()
    assert run(program, "--version").stdout.startswith("swapcache, version ")
    done = run(program, "setup", "--host", "claude-code", "--yes")
    assert done.returncode == 0 and "proof" in done.stderr, done.stderr
    checked = run(program, "doctor", "--json")
    assert '"findings": []' in checked.stdout, checked.stdout
    interpreter = next(iter(program.resolve().parent.glob("python")))
    listed = run(interpreter, "-c", LIST)
    names = set(listed.stdout.split()) - {"pip", "setuptools", "wheel"}
    assert "swapcache" in names and len(names) <= DISTRIBUTIONS, names
    site = Path(run(interpreter, "-c", "import swapcache; print(swapcache.__path__[0])").stdout)
    files = [f for f in site.parent.rglob("*") if f.is_file() and not _pips(f, site.parent)]
    assert sum(f.stat().st_size for f in files) < MEGABYTES * 1e6


LIST = "import importlib.metadata as m; print(*(d.name for d in m.distributions()))"


def _pips(file: Path, site: Path) -> bool:
    """Part of what an environment begins with."""
    return file.relative_to(site).parts[0].startswith(("pip", "setuptools", "wheel"))


def test_G2_a_cache_that_will_be_cleared_is_refused(tools: Path, home: Path) -> None:
    (home / ".claude").mkdir()
    uvx = (tools / "uv", "tool", "run", "--python", sys.executable, "--from", ROOT)
    cache = {"UV_CACHE_DIR": str(home / ".cache/uv")}
    done = run(*uvx, "swapcache", "setup", "--yes", **cache)
    assert done.returncode == 40 and "uv tool install swapcache" in done.stderr, done.stderr
    assert list((home / ".claude").iterdir()) == []
