"""Settings: defaults, wrong values named, compiled once for each change of the file."""

import copy
import json
import os
from pathlib import Path
from typing import Any

import pytest

from swapcache import config, paths
from swapcache.errors import ConfigError
from swapcache.store import files


class Publisher:
    """Publishes for real and counts."""

    def __init__(self) -> None:
        self.published: list[str] = []

    def __call__(self, path: str, text: str) -> None:
        files.private_directory(os.path.dirname(path))
        files.publish(path, text)
        self.published.append(path)


@pytest.fixture
def publisher() -> Publisher:
    return Publisher()


def write(text: str | bytes) -> Path:
    path = Path(paths.config_file())
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def refused(text: str, publisher: Publisher) -> str:
    path = write(text)
    with pytest.raises(ConfigError) as caught:
        config.load(publisher)
    assert str(path) in str(caught.value)
    assert publisher.published == []
    return str(caught.value)


def test_without_a_file_the_defaults_hold_and_nothing_is_made(
    home: Path, publisher: Publisher
) -> None:
    assert config.load(publisher) == config.DEFAULTS
    assert publisher.published == []
    assert os.listdir(home) == []


@pytest.mark.parametrize("text", ["", "# nothing yet\n", "[wake]\n", "[wake]\nbudget = 1200\n"])
def test_a_file_that_changes_nothing_gives_the_defaults(text: str, publisher: Publisher) -> None:
    write(text)
    assert config.load(publisher) == config.DEFAULTS


def test_given_values_replace_their_defaults_and_no_others(publisher: Publisher) -> None:
    before = copy.deepcopy(config.DEFAULTS)
    write(
        "[wake]\nbudget = 700\n"
        '[policy]\nreset-broken = "pointer"\n'
        '[views]\nhosts = ["openclaw", "x"]\n'
    )
    expected = copy.deepcopy(before)
    expected["wake"]["budget"] = 700
    expected["policy"]["reset-broken"] = "pointer"
    expected["views"]["hosts"] = ["openclaw", "x"]
    assert config.load(publisher) == expected
    assert before == config.DEFAULTS


def test_every_default_is_itself_allowed() -> None:
    assert config.check(copy.deepcopy(config.DEFAULTS), "here") == config.DEFAULTS


@pytest.mark.parametrize("form", config.FORMS)
@pytest.mark.parametrize("cause", list(config.DEFAULTS["policy"]))
def test_every_cause_takes_every_form(cause: str, form: str) -> None:
    assert config.check({"policy": {cause: form}}, "here")["policy"][cause] == form


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("[wkae]\nbudget = 700\n", ["[wkae]", "wake, policy, views"]),
        ("budget = 700\n", ["[budget]", "wake, policy, views"]),
        ("wake = 3\n", ["[wake]"]),
        ("[wake]\nbugdet = 700\n", ["wake.bugdet", "budget, stale_hours, expire_days"]),
        ('[wake]\nbudget = "700"\n', ["wake.budget", "'700'"]),
        ("[wake]\nbudget = 700.0\n", ["wake.budget", "700.0"]),
        ("[wake]\nbudget = true\n", ["wake.budget", "True"]),
        ("[wake]\nbudget = 99\n", ["wake.budget", "100"]),
        ("[wake]\nbudget = -1\n", ["wake.budget", "100"]),
        ('[policy]\ncrash = "some"\n', ["policy.crash", "'some'", "full, delta, pointer, nothing"]),
        ("[policy]\ncrash = false\n", ["policy.crash", "False"]),
        ('[policy]\ncarsh = "full"\n', ["policy.carsh", "reset-broken"]),
        ('[views]\nhosts = "openclaw"\n', ["views.hosts", "'openclaw'"]),
        ("[views]\nbackups = []\n", ["views.backups", "[]"]),
    ],
)
def test_what_is_wrong_is_named_with_what_would_be_right(
    text: str, named: list[str], publisher: Publisher
) -> None:
    message = refused(text, publisher)
    for part in named:
        assert part in message


@pytest.mark.parametrize("text", ["[wake\n", "wake]", "a = \n", "[wake]\nbudget = 1\nbudget = 2\n"])
def test_a_file_that_is_no_toml_is_named_with_what_to_do(text: str, publisher: Publisher) -> None:
    assert "correct the file or move it away" in refused(text, publisher)


def test_a_directory_in_its_place_is_a_config_error(publisher: Publisher) -> None:
    Path(paths.config_file()).mkdir(parents=True)
    with pytest.raises(ConfigError, match=r"config\.toml"):
        config.load(publisher)


def test_the_file_is_compiled_once_and_again_only_when_it_changes(publisher: Publisher) -> None:
    path = write("[wake]\nbudget = 700\n")
    first = config.load(publisher)
    assert config.load(publisher) == config.load(publisher) == first
    assert publisher.published == [paths.compiled_config()]
    write("[wake]\nbudget = 7000\n")
    assert config.load(publisher)["wake"]["budget"] == 7000
    assert len(publisher.published) == 2
    os.utime(path, ns=(1, 1))
    assert config.load(publisher)["wake"]["budget"] == 7000
    assert len(publisher.published) == 3


def test_the_same_size_at_another_time_is_a_change(publisher: Publisher) -> None:
    path = write("[wake]\nbudget = 700\n")
    config.load(publisher)
    write("[wake]\nbudget = 800\n")
    os.utime(path, ns=(10**18, 10**18))
    assert config.load(publisher)["wake"]["budget"] == 800


def test_what_was_compiled_is_read_without_the_source(publisher: Publisher) -> None:
    path = write("[wake]\nbudget = 700\n")
    config.load(publisher)
    stamp = path.stat()
    path.write_bytes(b"#" * stamp.st_size)
    os.utime(path, ns=(stamp.st_mtime_ns, stamp.st_mtime_ns))
    assert config.load(publisher)["wake"]["budget"] == 700


def test_a_file_taken_away_means_the_defaults_again(publisher: Publisher) -> None:
    path = write("[wake]\nbudget = 700\n")
    config.load(publisher)
    path.unlink()
    assert config.load(publisher) == config.DEFAULTS


def test_a_file_that_became_wrong_is_not_hidden_by_its_compiled_form(publisher: Publisher) -> None:
    write("[wake]\nbudget = 700\n")
    config.load(publisher)
    write("[wake]\nbudget = nonsense\n")
    with pytest.raises(ConfigError):
        config.load(publisher)


@pytest.mark.parametrize(
    "damage", ["", "{", "[]", "null", "{}", '{"stamp": 1}', "\udcff", "[" * 200]
)
def test_a_damaged_compiled_form_is_made_anew(damage: str, publisher: Publisher) -> None:
    write("[wake]\nbudget = 700\n")
    config.load(publisher)
    compiled = Path(paths.compiled_config())
    compiled.write_bytes(damage.encode("utf-8", "surrogateescape"))
    assert config.load(publisher)["wake"]["budget"] == 700
    assert len(publisher.published) == 2
    made: dict[str, Any] = json.loads(compiled.read_bytes())
    assert made["settings"]["wake"]["budget"] == 700
