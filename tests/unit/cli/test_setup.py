"""Setup and uninstall over every kind of configuration: what was there comes back byte for byte."""

import contextlib
import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from swapcache import config, paths
from swapcache.capture import events, process
from swapcache.cli import setup, uninstall
from swapcache.errors import HostError, PasteError, SwapcacheError
from swapcache.hosts import (
    claude_code,
    claude_settings,
    edits,
    injectors,
    launcher,
    openclaw_config,
    spans,
)
from swapcache.model import Event
from swapcache.store import identity, sessions
from swapcache.store.opening import open_store
from tests.rows import Claude

HOSTS = {"claude-code": ".claude/settings.json", "openclaw": ".openclaw/openclaw.json"}
OTHER = {"type": "command", "command": "theirs"}
XDG = (".config", ".local", ".local/state", ".local/share")
CONTENTS = {
    "empty": "",
    "empty object": "{}\n",
    "comments": '{\n  // mine\n  "model": "opus" /* best */ // last\n}\n',
    "tabs": '{\n\t"model": "opus"\n}',
    "crlf": '{\r\n    "model": "opus"\r\n}\r\n',
    "other hooks": json.dumps(
        {
            "hooks": {"Stop": [{"hooks": [OTHER]}], "SessionStart": []},
            "plugins": {"load": {"paths": ["/theirs"]}, "allow": ["theirs"]},
        },
        indent=3,
    ),
    "trailing commas": "{\n  model: 'opus',\n  hooks: {Stop: [],},\n}\n",
    "one line": '{"model": "opus", "plugins": {"entries": {"theirs": {"enabled": true}}}}',
}


@pytest.fixture(autouse=True)
def real_layout(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Our own files lie in the home directory too, as for a person."""
    monkeypatch.delenv("SWAPCACHE_HOME")
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "OPENCLAW_STATE_DIR"):
        monkeypatch.delenv(name, raising=False)


def fingerprint(home: Path) -> dict[str, str]:
    """Every file, directory and link with mode and sha256, but for the XDG directories."""

    def entries(folder: Path) -> Iterator[tuple[str, str]]:
        for entry in sorted(folder.iterdir()):
            name, mode = str(entry.relative_to(home)), oct(entry.lstat().st_mode)
            if entry.is_symlink():
                yield name, f"{mode} -> {os.readlink(entry)}"
            elif entry.is_dir():
                yield name, mode
                yield from entries(entry)
            else:
                yield name, f"{mode} {hashlib.sha256(entry.read_bytes()).hexdigest()}"

    return {name: what for name, what in entries(home) if name not in XDG}


def run(command: Any, *arguments: str) -> Result:
    """A command in this process. Raises what it raises."""
    done = CliRunner().invoke(command, list(arguments), standalone_mode=False)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done


def install(host: str, *more: str) -> Result:
    """swapcache setup."""
    return run(setup.command, "--host", host, "--yes", *more)


def part(host: str, text: str) -> bool:
    """True when a configuration holds our part."""
    ours = paths.launcher() if host == "claude-code" else paths.plugin_dir("openclaw")
    return ours in json.dumps(spans.parse(text).value) if text.strip() else False


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("case", [*CONTENTS, "absent", "symlinked", "no directory"])
def test_G6_uninstall_gives_every_byte_of_the_home_back(home: Path, host: str, case: str) -> None:
    settings = home / HOSTS[host]
    if case != "no directory":
        settings.parent.mkdir()
    if case == "symlinked":
        (home / "dotfiles").mkdir()
        (home / "dotfiles/it.json").write_text(CONTENTS["tabs"])
        settings.symlink_to(home / "dotfiles/it.json")
    elif case in CONTENTS:
        settings.write_bytes(CONTENTS[case].encode())
        settings.chmod(0o640)
    before = fingerprint(home)
    done = install(host)
    assert "proof" in done.stderr and part(host, settings.read_text())
    if case in CONTENTS:
        assert settings.stat().st_mode & 0o777 == 0o640
    run(uninstall.command, "--yes", "--purge")
    assert fingerprint(home) == before


@pytest.mark.parametrize("host", HOSTS)
def test_G6_without_purge_only_our_own_directories_are_left(home: Path, host: str) -> None:
    settings = home / HOSTS[host]
    settings.parent.mkdir()
    settings.write_text(CONTENTS["tabs"])
    before = fingerprint(home)
    install(host)
    run(uninstall.command, "--yes")
    left = fingerprint(home)
    new = {name for name in left if name not in before and "swapcache" not in name}
    assert {n: left[n] for n in before} == before
    assert not new
    assert not os.path.exists(paths.launcher())


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("case", ["tabs", "comments", "other hooks", "absent"])
@pytest.mark.parametrize("who", ["user", "host"])
def test_G6_after_an_edit_exactly_our_part_goes(home: Path, host: str, case: str, who: str) -> None:
    settings = home / HOSTS[host]
    settings.parent.mkdir()
    if case in CONTENTS:
        settings.write_text(CONTENTS[case])
    install(host)
    text = settings.read_text()
    if who == "host":  # it writes the file anew, in its own form
        value = spans.parse(text).value
        settings.write_text(json.dumps({**value, "added": 1}, indent=1))
        expected = spans.parse(CONTENTS.get(case, "{}")).value | {"added": 1}
    else:
        edited = spans.put(text, ("added",), 1)
        settings.write_text(edited)
        expected = spans.parse(CONTENTS.get(case, "{}")).value | {"added": 1}
    run(uninstall.command, "--yes")
    left = settings.read_text()
    assert spans.parse(left).value == expected
    assert not part(host, left)
    if who == "user" and case == "comments":
        assert "// mine" in left and "/* best */" in left and "// last" in left


@pytest.mark.parametrize("host", HOSTS)
def test_G6_a_read_only_file_is_refused_with_what_to_paste(home: Path, host: str) -> None:
    settings = home / HOSTS[host]
    settings.parent.mkdir()
    settings.write_text(CONTENTS["tabs"])
    settings.chmod(0o444)
    before = fingerprint(home)
    with pytest.raises(PasteError, match="read-only") as refused:
        install(host)
    assert refused.value.exit_code == 11 and "swapcache" in str(refused.value)
    run(uninstall.command, "--yes", "--purge")
    assert fingerprint(home) == before


@pytest.mark.parametrize(
    ("host", "text"),
    [
        ("claude-code", "{broken"),
        ("claude-code", "[]"),
        ("claude-code", '{"hooks": []}'),
        ("claude-code", '{"hooks": {"Stop": {}}}'),
        ("openclaw", "{plugins: 5}"),
        ("openclaw", "{plugins: {load: []}}"),
        ("openclaw", '{"plugins": {"load": {"paths": "x"}}}'),
        ("openclaw", "not at all"),
    ],
)
def test_without_a_safe_place_what_to_paste_is_said(home: Path, host: str, text: str) -> None:
    settings = home / HOSTS[host]
    settings.parent.mkdir()
    settings.write_text(text)
    before = fingerprint(home)
    with pytest.raises(PasteError, match="by hand") as refused:
        install(host)
    assert refused.value.exit_code == 11
    assert paths.launcher() in str(refused.value) or paths.plugin_dir(host) in str(refused.value)
    assert fingerprint(home) == before


def test_setup_asks_and_a_dry_run_writes_nothing(home: Path) -> None:
    settings = home / HOSTS["claude-code"]
    settings.parent.mkdir()
    settings.write_text(CONTENTS["tabs"])
    before = fingerprint(home)
    dry = run(setup.command, "--host", "claude-code", "--dry-run")
    assert "+" in dry.stdout and f"creates {paths.launcher()}" in dry.stderr
    with pytest.raises(HostError, match="--yes"):
        run(setup.command, "--host", "claude-code")
    left = {n: v for n, v in fingerprint(home).items() if "swapcache" not in n}
    assert {n: left[n] for n in before} == before


def test_setup_twice_changes_nothing_and_is_taken_back_exactly(home: Path) -> None:
    settings = home / HOSTS["claude-code"]
    settings.parent.mkdir()
    settings.write_text(CONTENTS["crlf"])
    before = fingerprint(home)
    install("claude-code")
    once = settings.read_bytes()
    assert "as wanted already" in install("claude-code").stderr
    assert settings.read_bytes() == once
    run(uninstall.command, "--yes", "--purge")
    assert fingerprint(home) == before


def test_a_file_that_changes_while_it_is_shown_is_not_written(home: Path) -> None:
    settings = home / HOSTS["claude-code"]
    settings.parent.mkdir()
    settings.write_text(CONTENTS["tabs"])
    (change,) = setup.plan(("claude-code",))
    settings.write_text('{"mine": 1}')
    with pytest.raises(HostError, match="changed meanwhile"):
        edits.apply(change)
    assert settings.read_text() == '{"mine": 1}'


def test_our_entries_never_switch_others_off(home: Path) -> None:
    text = CONTENTS["other hooks"]
    claude = spans.parse(claude_settings.installed(text, paths.launcher())).value
    assert {"hooks": [OTHER]} in claude["hooks"]["Stop"] and len(claude["hooks"]["Stop"]) == 2
    other = spans.parse(openclaw_config.installed(text, paths.launcher())).value
    assert other["plugins"]["allow"] == ["theirs", "swapcache"]
    assert other["plugins"]["load"]["paths"][0] == "/theirs"


def test_a_hook_of_ours_in_somebodys_entry_goes_alone(home: Path) -> None:
    ours = {"type": "command", "command": f"{paths.launcher()} claude-code Stop"}
    text = json.dumps({"hooks": {"Stop": [{"hooks": [OTHER, ours]}]}})
    left = claude_settings.removed(text, paths.launcher())
    assert json.loads(left) == {"hooks": {"Stop": [{"hooks": [OTHER]}]}}


def test_one_host_goes_and_the_launcher_stays_for_the_other(home: Path) -> None:
    for path in HOSTS.values():
        (home / path).parent.mkdir()
    run(setup.command, "--yes")
    run(uninstall.command, "--yes", "--host", "openclaw")
    assert os.path.exists(paths.launcher()) and not (home / HOSTS["openclaw"]).exists()
    run(uninstall.command, "--yes")
    assert not os.path.exists(paths.launcher())


def test_the_proof_leaves_nothing_in_the_memory(home: Path) -> None:
    (home / ".claude").mkdir()
    install("claude-code")
    assert identity.listing() == []


def test_the_persons_own_last_task_is_shown(home: Path) -> None:
    folder = home / ".claude/projects/-work"
    folder.mkdir(parents=True)
    for number in range(3):
        work = home / f"work{number}"
        work.mkdir()
        rows = Claude(folder / f"s{number}.jsonl", session=f"s{number}", cwd=str(work))
        rows.user(f"paint room {number}")
        rows.say("ok")
        os.utime(rows.path, (1000 + number, 1000 + number))
    (folder / "torn.jsonl").write_bytes(rows.path.read_bytes()[:-20] + b"\n")
    os.utime(folder / "torn.jsonl", (500, 500))
    done = install("claude-code")
    assert "last request: paint room 2" in done.stdout
    assert "4 sessions found, 4 imported" in done.stderr and "1 damaged" in done.stderr
    assert len(identity.listing()) == 3


def test_other_injectors_are_named_with_what_they_cost(home: Path) -> None:
    settings = home / HOSTS["claude-code"]
    settings.parent.mkdir()
    theirs = {"hooks": [{"type": "command", "command": "node /x/claude-mem/start.js"}]}
    settings.write_text(json.dumps({"hooks": {"SessionStart": [theirs]}}))
    folder = home / ".claude/projects/-w"
    folder.mkdir(parents=True)
    note = {"type": "hook_success", "hookEvent": "SessionStart", "stdout": "word " * 400}
    row = {"type": "attachment", "attachment": {**note, "command": "node /x/claude-mem/start.js"}}
    (folder / "s.jsonl").write_text(json.dumps(row) + "\n")
    (home / ".openclaw").mkdir()
    (home / HOSTS["openclaw"]).write_text(
        "{plugins: {slots: {contextEngine: 'lossless-claw'}},"
        " hooks: {internal: {entries: {'session-memory': {enabled: true}}}}}"
    )
    found = {i.name: i.tokens for i in injectors.found()}
    assert found.keys() == {"claude-mem", "lossless-claw", "session-memory"}
    assert 300 < (found["claude-mem"] or 0) < 900
    shown = run(setup.command, "--dry-run").stderr
    assert "beside us: claude-mem" in shown and "beside us: session-memory" in shown


def test_an_ephemeral_environment_is_refused(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    cache = "/home/x/.cache/uv/archive-v0/abc/lib"
    monkeypatch.setattr(launcher, "package", lambda: cache)
    with pytest.raises(SwapcacheError, match="uv tool install"):
        run(setup.command, "--host", "claude-code", "--yes")
    assert fingerprint(home) == {}


@pytest.mark.parametrize("damage", ["gone", "cut"])
def test_G6_a_lost_backup_never_costs_the_owners_file(home: Path, damage: str) -> None:
    settings = home / HOSTS["claude-code"]
    settings.parent.mkdir()
    settings.write_text(CONTENTS["comments"])
    install("claude-code")
    (backup,) = Path(paths.backups_dir()).iterdir()
    backup.unlink() if damage == "gone" else backup.write_text("")
    run(uninstall.command, "--yes")
    assert settings.read_text() == CONTENTS["comments"]


def test_a_second_setup_leaves_a_living_session_alone(home: Path, project: Path) -> None:
    folder = home / ".claude/projects/-work"
    folder.mkdir(parents=True)
    rows = Claude(folder / "s1.jsonl", cwd=str(project))
    rows.user("still thinking")
    whose = identity.identify("claude-code", claude_code.state_dir(), str(project))
    me = process.identify(os.getpid())
    event = Event("claude-code", "prompt", whose, "s1", "s1", str(rows.path), process=me)
    with contextlib.closing(open_store(whose)) as store:
        events.record(store, event, config.DEFAULTS)
        os.utime(rows.path, (1000, 1000))
        install("claude-code")
        (session,) = sessions.sessions(store.db)
        assert events.living(store, session) is True


def test_G6_the_owners_own_switch_comes_back_after_the_directory_hook(home: Path) -> None:
    settings = home / HOSTS["openclaw"]
    settings.parent.mkdir()
    settings.write_text(
        '{\n  "hooks": {\n    "internal": {\n      "enabled": false\n    }\n  }\n}\n'
    )
    install("openclaw", "--directory-hook")
    text = settings.read_text()
    assert spans.parse(text).value["hooks"]["internal"]["enabled"] is True
    settings.write_text(spans.put(text, ("mine",), 1))
    run(uninstall.command, "--yes")
    left = spans.parse(settings.read_text()).value
    assert left == {"hooks": {"internal": {"enabled": False}}, "mine": 1}


def test_another_hosts_damaged_file_blocks_nothing(home: Path) -> None:
    (home / ".claude").mkdir()
    install("claude-code")
    (home / ".openclaw").mkdir()
    (home / HOSTS["openclaw"]).write_text("{ ")
    run(uninstall.command, "--yes")
    assert not os.path.exists(paths.launcher())
    assert not (home / HOSTS["claude-code"]).exists()


def test_G6_where_setup_wrote_is_remembered(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "elsewhere").mkdir()
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(home / "elsewhere"))
    before = fingerprint(home)
    install("claude-code")
    monkeypatch.delenv("CLAUDE_CONFIG_DIR")
    run(uninstall.command, "--yes", "--purge")
    assert fingerprint(home) == before


def test_a_purge_that_cannot_take_everything_back_says_so(home: Path) -> None:
    settings = home / HOSTS["claude-code"]
    settings.parent.mkdir()
    install("claude-code")
    settings.write_text(settings.read_text()[:-40])
    with pytest.raises(HostError, match="nothing that was recorded was deleted"):
        run(uninstall.command, "--yes", "--purge")
    assert os.path.exists(paths.launcher())


def test_a_workspace_below_the_home_is_the_one_of_the_home(home: Path) -> None:
    text = "{agents: {defaults: {workspace: '~/.openclaw/here'}}}"
    assert openclaw_config.workspace_of(text) == f"{home}/.openclaw/here"


def test_a_link_in_place_of_our_directory_is_refused_before_anything(home: Path) -> None:
    (home / ".claude").mkdir()
    (home / "disk").mkdir()
    Path(paths.state_dir()).parent.mkdir(parents=True)
    Path(paths.state_dir()).symlink_to(home / "disk")
    before = fingerprint(home)
    with pytest.raises(HostError, match="SWAPCACHE_HOME"):
        install("claude-code")
    assert {n: v for n, v in fingerprint(home).items() if "disk/" not in n} == before


@pytest.mark.parametrize(
    "cwd", ["/tmp/a\u0000b", "/tmp/\ud800x", "/proc/1/root/../../nope", "relative/place"]
)
def test_odd_places_in_the_history_stop_nothing(home: Path, cwd: str) -> None:
    folder = home / ".claude/projects/-work"
    folder.mkdir(parents=True)
    row = {"type": "user", "uuid": "u", "sessionId": "s9", "cwd": cwd, "timestamp": ""}
    row["message"] = {"role": "user", "content": "x"}  # type: ignore[assignment]
    (folder / "odd.jsonl").write_text(json.dumps(row) + "\n")
    rows = Claude(folder / "good.jsonl", session="s1", cwd=str(home))
    rows.user("good words")
    assert "good words" in install("claude-code").stdout


@pytest.mark.parametrize("content", ["5", "null", '[{"a": 1}, 2]', "{"])
def test_odd_session_lists_stop_nothing(home: Path, content: str) -> None:
    folder = home / ".openclaw/agents/main/sessions"
    folder.mkdir(parents=True)
    (folder / "sessions.json").write_text(content)
    (home / ".openclaw/agents/ops/agent").mkdir(parents=True)
    (home / ".openclaw/agents/ops/agent/openclaw-agent.sqlite").write_bytes(b"")
    assert "installed" in install("openclaw").stderr


def test_a_pipe_in_place_of_the_settings_is_refused(home: Path) -> None:
    (home / ".claude").mkdir()
    os.mkfifo(home / HOSTS["claude-code"])
    with pytest.raises(HostError, match="no regular file"):
        install("claude-code")


def test_off_is_said_instead_of_a_proof(home: Path) -> None:
    (home / ".claude").mkdir()
    Path(paths.off_file()).parent.mkdir(parents=True)
    Path(paths.off_file()).touch()
    assert "not proven: swapcache is off" in install("claude-code").stderr
