"""Where everything lives, with SWAPCACHE_HOME, with XDG variables and without."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from swapcache import paths

STORE = "0123456789abcdef01234567"
PORTABLE = {"HOME": "/home/u", "SWAPCACHE_HOME": "/opt/sc"}
PLAIN = {"HOME": "/home/u"}
XDG = PLAIN | {
    "XDG_CONFIG_HOME": "/x/config",
    "XDG_STATE_HOME": "/x/state",
    "XDG_DATA_HOME": "/x/data",
}
FILES: list[Callable[[Mapping[str, str]], str]] = [
    paths.key_file,
    paths.config_file,
    paths.compiled_config,
    paths.error_log,
    paths.spool_file,
    paths.reserve_file,
    paths.launcher,
    lambda env: paths.witness_file(STORE, env),
    lambda env: paths.lock_file(STORE, env),
    lambda env: paths.database(paths.store_dir(STORE, env)),
    lambda env: paths.owner_file(paths.store_dir(STORE, env)),
]


def roots(env: Mapping[str, str]) -> dict[str, str]:
    return {
        "config": paths.config_dir(env),
        "state": paths.state_dir(env),
        "data": paths.data_dir(env),
        "witness": paths.witness_dir(env),
    }


def test_swapcache_home_holds_everything_whatever_xdg_says() -> None:
    assert roots(XDG | PORTABLE) == {
        name: f"/opt/sc/{name}" for name in ("config", "state", "data", "witness")
    }


def test_without_variables_the_xdg_defaults_below_home_are_used() -> None:
    assert roots(PLAIN) == {
        "config": "/home/u/.config/swapcache",
        "state": "/home/u/.local/state/swapcache",
        "data": "/home/u/.local/share/swapcache",
        "witness": "/home/u/.local/state/swapcache-witness",
    }


def test_xdg_variables_are_followed() -> None:
    assert roots(XDG) == {
        "config": "/x/config/swapcache",
        "state": "/x/state/swapcache",
        "data": "/x/data/swapcache",
        "witness": "/x/state/swapcache-witness",
    }


@pytest.mark.parametrize("value", ["", "relative/state", "~/state", "."])
def test_an_xdg_variable_that_is_not_absolute_is_ignored(value: str) -> None:
    env = PLAIN | {f"XDG_{kind}_HOME": value for kind in ("CONFIG", "STATE", "DATA")}
    assert roots(env) == roots(PLAIN)


def test_an_empty_swapcache_home_is_none() -> None:
    assert roots(PLAIN | {"SWAPCACHE_HOME": ""}) == roots(PLAIN)


@pytest.mark.parametrize("env", [PORTABLE, PLAIN, XDG], ids=["portable", "plain", "xdg"])
def test_every_path_is_absolute_and_no_two_are_the_same(env: dict[str, str]) -> None:
    made = [file(env) for file in FILES]
    assert len(set(made)) == len(FILES)
    assert all(path == os.path.normpath(path) and os.path.isabs(path) for path in made)


@pytest.mark.parametrize("env", [PORTABLE, PLAIN, XDG], ids=["portable", "plain", "xdg"])
def test_neither_key_nor_witness_lies_inside_what_holds_the_stores(env: dict[str, str]) -> None:
    for path in (paths.key_file(env), paths.witness_file(STORE, env)):
        assert not path.startswith(paths.state_dir(env) + "/")
    for path in (paths.stores_dir(env), paths.spool_file(env), paths.backups_dir(env)):
        assert path.startswith(paths.state_dir(env) + "/")


def test_two_stores_share_no_file() -> None:
    other = STORE[::-1]
    assert paths.store_dir(STORE, PLAIN) != paths.store_dir(other, PLAIN)
    assert paths.witness_file(STORE, PLAIN) != paths.witness_file(other, PLAIN)
    assert paths.lock_file(STORE, PLAIN) != paths.lock_file(other, PLAIN)


def test_the_environment_is_read_at_the_time_of_the_call(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert paths.state_dir() == str(home / "swapcache/state")
    monkeypatch.setenv("SWAPCACHE_HOME", str(home / "other"))
    assert paths.state_dir() == str(home / "other/state")
    monkeypatch.delenv("SWAPCACHE_HOME")
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    assert paths.state_dir() == str(home / ".local/state/swapcache")


def test_naming_a_path_creates_nothing(home: Path) -> None:
    for file in FILES:
        file(os.environ)
    assert os.listdir(home) == []
