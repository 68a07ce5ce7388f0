"""Real OpenClaw gateways of both eras: what their model is told after kills, resets, and so on."""

import contextlib
import json
import os
import signal
import sqlite3
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from swapcache import config, paths
from swapcache.capture import capture, story
from swapcache.cli import setup as setup_command
from swapcache.cli import uninstall
from swapcache.drill.claude import session_members, wait_for
from swapcache.drill.model import Model, Request, Script, call, say
from swapcache.hosts import launcher
from swapcache.hosts import openclaw_config as openclaw
from swapcache.store import files, identity, sessions
from swapcache.store.store import Store
from swapcache.transcripts.text import FRAME_CLOSE, FRAME_OPEN
from swapcache.wake import ready, scene, wake
from tests import disks, needs
from tests.hosts.conftest import ROWS
from tests.hosts.openclaw_host import TURN_S, OpenClaw

pytestmark = pytest.mark.hosts
VERSIONS = ("2026.9.6", "2026.5.28")
FOLD_S = 3.0
"""What a turn's fold takes at most before a person would type the next command."""


def setup(host: OpenClaw) -> None:
    """Installs our plugin into an isolated home, as `swapcache setup` does."""
    launcher.install()
    openclaw.place_files()
    path = host.state / "openclaw.json"
    files.publish(str(path), openclaw.installed(path.read_text(), launcher.path()))


@pytest.fixture
def disk(home: Path) -> Iterator[Path]:
    """A small disk that holds SWAPCACHE_HOME; named before `gateway`, it is there first."""
    with disks.small(home / "swapcache", "2m") as mount:
        yield mount


@pytest.fixture(params=VERSIONS)
def gateway(
    request: pytest.FixtureRequest, home: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[OpenClaw]:
    """A gateway with our plugin, not started yet; its model follows the script of the test."""
    folder = os.environ.get("SWAPCACHE_OPENCLAW", "")
    install = Path(folder) / f"openclaw-{request.param}"
    node = os.environ.get("SWAPCACHE_NODE", "")
    if not (folder and node and install.is_dir()):
        needs.missing(f'OpenClaw {request.param} is not installed; run: eval "$(scripts/hosts)"')
    root = home / "gateway"
    script: Script = {}
    with Model(script) as model:
        host = OpenClaw(install, node, root, model)
        host.prepare()
        monkeypatch.setenv("OPENCLAW_STATE_DIR", str(host.state))
        setup(host)
        yield host
        host.kill()
        log = home / "swapcache/state/errors.jsonl"
        assert log.exists() == host.faulty, log.read_text() if log.exists() else "silent"


def blocks(request: Request) -> list[tuple[str, str]]:
    """(place, inside of our fence) for every block in a request."""
    found = []
    for place, text in request.texts:
        for part in text.split(FRAME_OPEN)[1:]:
            found.append((place, part.partition(FRAME_CLOSE)[0]))
    return found


def told(host: OpenClaw, seen: int, case: str) -> str:
    """The one block of the first request after `seen`; empty when it has none. Notes the row."""
    requests = host.model.requests[seen:]
    assert requests, f"{case}: no request"
    found = blocks(requests[0])
    assert len(found) <= 1, f"{case}: {len(found)} blocks"
    place = found[0][0] if found else "no block"
    ROWS.append((f"openclaw {host.version}", case, f"request {requests[0].number}", place))
    return found[0][1] if found else ""


def kill_in_tool(host: OpenClaw, prompt: str) -> None:
    """Kills the gateway inside an endless tool call of a turn."""
    marker = host.work / "started"
    marker.unlink(missing_ok=True)
    client = host.begin(prompt)
    wait_for(marker.exists, "the tool call")
    time.sleep(1.0)
    host.kill()
    client.join(10)


def endless(name: str) -> list[dict[str, object]]:
    """A shell call that runs until it is killed."""
    sleep = f"{sys.executable} -c 'import time; time.sleep(120)' {name}"
    return [call("exec", command=f"touch started && {sleep}")]


def test_A3_killed_in_mid_tool_the_recovery_knows(gateway: OpenClaw) -> None:
    gateway.model.script["OPS-77"] = [endless("move-orders")]
    gateway.start()
    gateway.turn("Good morning.")
    kill_in_tool(gateway, "Move the orders, OPS-77.")
    seen = len(gateway.model.requests)
    gateway.start()
    if gateway.modern:  # it runs the interrupted session again by itself
        wait_for(lambda: len(gateway.model.requests) > seen, "the host's own recovery")
    else:
        gateway.turn("Are you there?")
    inside = told(gateway, seen, "kill -9 in mid-tool, recovery")
    assert "Seal VERIFIED" in inside and "unknown outcome" in inside and "move-orders" in inside
    assert "Move the orders" not in inside, "the host's history holds the request: no second one"
    assert ROWS[-1][3].startswith("system")
    time.sleep(FOLD_S)
    gateway.stop()
    seen = len(gateway.model.requests)
    gateway.start()
    gateway.turn("And now?")
    assert told(gateway, seen, "plain restart, nothing new") == ""


def test_B4_new_gives_a_pointer_and_reset_by_how_it_ended(gateway: OpenClaw) -> None:
    gateway.model.script["blue shed"] = [[say("Painted.")]]
    gateway.start()
    gateway.turn("Paint the blue shed.")
    time.sleep(FOLD_S)
    gateway.reset("new")
    seen = len(gateway.model.requests)
    gateway.turn("Hello.")
    inside = told(gateway, seen, "/new")
    assert "swapcache wake --session-key agent:main:main" in inside and "shed" not in inside
    if gateway.modern:
        seen = len(gateway.model.requests)
        gateway.command("/new Sweep the yard.")
        inside = told(gateway, seen, "/new with words")
        assert "swapcache wake --session-key" in inside and "shed" not in inside
    gateway.turn("Paint the red barn.")
    time.sleep(FOLD_S)
    gateway.reset("reset")
    seen = len(gateway.model.requests)
    gateway.turn("Hello again.")
    inside = told(gateway, seen, "/reset, healthy")
    assert "swapcache wake --session-key" in inside and "barn" not in inside
    gateway.model.script["green gate"] = [[] for _ in range(12)]
    gateway.turn("Paint the green gate.")
    time.sleep(FOLD_S)
    gateway.reset("reset")
    seen = len(gateway.model.requests)
    gateway.turn("What happened?")
    inside = told(gateway, seen, "/reset after empty turns")
    assert "Paint the green gate." in inside and "Turns that failed" in inside
    assert "Seal VERIFIED" in inside


def test_A1_after_compaction_the_state_is_there(gateway: OpenClaw) -> None:
    gateway.start()
    for number in range(3):
        gateway.turn(f"Copy shelf {number} to the archive, ticket LIB-{number}0. " + "word " * 400)
    time.sleep(FOLD_S)
    gateway.call("sessions.compact", key="agent:main:main")
    seen = len(gateway.model.requests)
    gateway.turn("Go on.")
    inside = told(gateway, seen, "compaction")
    assert "Cause: compact" in inside and "LIB-20" in inside and "Seal VERIFIED" in inside


def test_B3_the_same_bytes_through_a_window_of_turns(gateway: OpenClaw) -> None:
    gateway.model.script["OPS-78"] = [endless("count-stock")]
    gateway.start()
    kill_in_tool(gateway, "Count the stock, OPS-78.")
    gateway.start()
    seen = len(gateway.model.requests)
    turns = 30
    for number in range(turns):
        gateway.model.script[f"step {number}."] = [[call("exec", command="true")], [say("ok")]]
        gateway.turn(f"Do step {number}.")
    requests = [r for r in gateway.model.requests[seen:] if r.body.get("tools")]
    texts = [blocks(r) for r in requests]
    assert len(texts) >= 2 * turns
    assert all(t == texts[0] and len(t) == 1 for t in texts)
    heads = {dict(r.texts)["system[0]"].partition(FRAME_OPEN)[0] for r in requests[-2 * turns :]}
    assert len(heads) == 1, "what stands before the block does not change either"
    case = f"frozen over {turns} turns"
    ROWS.append((f"openclaw {gateway.version}", case, f"{len(texts)} requests", "same bytes"))
    gateway.reset("new")
    seen = len(gateway.model.requests)
    gateway.turn("Something else.")
    assert told(gateway, seen, "a new epoch") != texts[0][0][1]


def test_B6_a_broken_memory_never_costs_a_turn(gateway: OpenClaw, home: Path) -> None:
    gateway.start()
    gateway.turn("First words.")
    ((store_id, _),) = identity.listing()
    script = home / "swapcache/data/bin/swapcache-hook"
    real = script.read_text()
    gateway.faulty = True
    faults = ["garbage", "slow"]
    if gateway.modern:  # the shim is the same file: the whole list runs on one era
        faults += ["huge", "no python", "locked store", "no file"]
    for number, fault in enumerate(faults):
        key = f"agent:main:direct:p{number}"  # a conversation of its own: its first turn waits
        place = Path(ready.path(str(gateway.state), "main", str(gateway.work), key))
        huge = '{"text": {"restart": "' + "x" * 3_000_000 + '"}}'
        if fault in ("garbage", "slow", "huge"):
            place.write_bytes(huge.encode() if fault == "huge" else b"\xff{not json")
        script.write_text("#!/bin/sh\nsleep 30\n" if fault == "slow" else "#!/bin/sh\nexit 0\n")
        with contextlib.ExitStack() as undo:
            if fault == "locked store":
                script.write_text(real)
                db = sqlite3.connect(paths.database(paths.store_dir(store_id)))
                undo.enter_context(contextlib.closing(db))
                db.execute("BEGIN IMMEDIATE")
            elif fault == "no python":
                script.unlink()
            seen = len(gateway.model.requests)
            gateway.turn(f"Are you well with {fault}?", key=key)
            assert len(gateway.model.requests) > seen, "the turn went on"
            told(gateway, seen, f"turn goes on: {fault}")
            if fault == "locked store":
                time.sleep(FOLD_S)
        script.touch(mode=0o700)
    log = (home / "swapcache/state/errors.jsonl").read_text()
    assert "ready file" in log and "took more than 1500 ms" in log, "status shows what happened"
    assert "held by another process" in log or not gateway.modern


@pytest.mark.parametrize("gateway", VERSIONS[:1], indirect=True)
def test_F4_a_full_disk_never_costs_a_turn(disk: Path, gateway: OpenClaw) -> None:
    gateway.start()
    gateway.turn("First words.")
    wait_for(lambda: bool(identity.listing()), "the first fold")
    time.sleep(FOLD_S)
    gateway.faulty = True
    disks.fill(disk)
    seen = len(gateway.model.requests)
    gateway.turn("And with a full disk?")
    gateway.turn("Still there?", key="agent:main:direct:anna")
    assert len(gateway.model.requests) == seen + 2, "the turns went on"
    told(gateway, seen, "turn goes on: full disk")
    log = Path(paths.error_log())
    wait_for(lambda: log.exists() and "free some space" in log.read_text(), "the line that says so")


def test_A3_without_a_gateway_too(gateway: OpenClaw) -> None:
    gateway.model.script["OPS-82"] = [endless("stack-crates")]
    turn = gateway.local("Stack the crates, OPS-82.")
    wait_for((gateway.work / "started").exists, "the tool call", TURN_S)
    time.sleep(1.0)
    turn.kill()
    turn.wait()
    for pid in session_members(turn.pid):
        os.kill(pid, signal.SIGKILL)
    seen = len(gateway.model.requests)
    gateway.local("Are you there?").wait()
    inside = told(gateway, seen, "agent --local, killed in mid-tool")
    assert "Seal VERIFIED" in inside and "stack-crates" in inside


def test_A1_a_rollover_is_told_each_conversation_its_own(gateway: OpenClaw, home: Path) -> None:
    (home / "link").symlink_to(gateway.work)
    defaults = json.loads((gateway.state / "openclaw.json").read_text())["agents"]["defaults"]
    gateway.configure(
        agents={"defaults": {**defaults, "workspace": str(home / "link")}},
        session={"reset": {"mode": "idle", "idleMinutes": 60}},
    )
    people = {"anna": "ALPHA-1", "bob:thread:7": "BETA-2"}
    gateway.start()
    for name, order in people.items():
        gateway.turn(f"Prepare the order {order}.", key=f"agent:main:direct:{name}")
    time.sleep(FOLD_S)
    gateway.stop()
    gateway.backdate(2)
    gateway.start()
    for name, order in people.items():
        seen = len(gateway.model.requests)
        gateway.turn("Good morning.", key=f"agent:main:direct:{name}")
        inside = told(gateway, seen, f"idle rollover: {name}")
        foreign = (set(people.values()) - {order}).pop()
        history = str(gateway.model.requests[seen].body["messages"][1:])
        assert foreign not in inside + history
        if order in history:  # this era goes on in the same file: nothing is lost
            assert not gateway.modern and inside == ""
        else:
            assert order in inside and "Cause: idle" in inside
    time.sleep(FOLD_S)
    ((store_id, owner),) = identity.listing()
    assert owner.workspace == str(gateway.work), "by its real path"
    with contextlib.closing(Store(store_id)) as store:
        everyone = sessions.sessions(store.db)
        assert sum(capture.report(store, s, 0, 0).messages for s in everyone) == 8, "each once"
        assert len(everyone) == (4 if gateway.modern else 2)


@pytest.mark.parametrize("gateway", VERSIONS[:1], indirect=True)
def test_B5_one_agent_in_two_workspaces_does_not_mix(gateway: OpenClaw, home: Path) -> None:
    defaults = json.loads((gateway.state / "openclaw.json").read_text())["agents"]["defaults"]
    for name in ("alpha", "beta"):
        (home / name).mkdir()
        gateway.configure(agents={"defaults": {**defaults, "workspace": str(home / name)}})
        gateway.start()
        gateway.turn(f"Do the work of {name}, {name.upper()}-1.")
        time.sleep(FOLD_S)
        gateway.stop()
    asked = {}
    for store_id, owner in identity.listing():
        with contextlib.closing(Store(store_id)) as store:
            (session,) = sessions.sessions(store.db)
            items = story.refold(store, session)[0].of("request").values()
            asked[Path(owner.workspace).name] = [i.text for i in items]
            text = wake.tell(
                store,
                scene.Scene(session, session, (), (), "idle", "owner"),
                config.DEFAULTS,
                now_wall="2026-11-30T00:00:00+00:00",
            ).text
            foreign = "BETA" if owner.workspace.endswith("alpha") else "ALPHA"
            assert foreign not in text
    assert asked == {
        "alpha": ["Do the work of alpha, ALPHA-1."],
        "beta": ["Do the work of beta, BETA-1."],
    }
    for name, texts in asked.items():
        row = (f"openclaw {gateway.version}", f"two workspaces: {name}", f"{len(texts)} request")
        ROWS.append((*row, "its own only"))


def test_the_directory_hook_alone_tells_the_next_start(gateway: OpenClaw) -> None:
    path = gateway.state / "openclaw.json"
    bare = openclaw.removed(path.read_text(), launcher.path())
    assert "plugins" not in bare
    files.publish(str(path), openclaw.with_hook(bare, launcher.path()))
    gateway.model.script["OPS-81"] = [endless("paint-doors")]
    gateway.start()
    gateway.turn("Good morning.")
    kill_in_tool(gateway, "Paint the doors, OPS-81.")
    seen = len(gateway.model.requests)
    gateway.start()
    gateway.turn("Are you there?")
    inside = told(gateway, seen, "directory hook, kill -9 in mid-tool")
    assert "Seal VERIFIED" in inside and "paint-doors" in inside
    assert ROWS[-1][3].startswith("system")


def test_G6_uninstall_and_reinstall_under_a_live_gateway(gateway: OpenClaw) -> None:
    gateway.model.script["OPS-79"] = [endless("weigh-goods")]
    gateway.start()
    kill_in_tool(gateway, "Weigh the goods, OPS-79.")
    gateway.start()
    seen = len(gateway.model.requests)
    gateway.turn("Still there?")
    assert "weigh-goods" in told(gateway, seen, "installed")
    time.sleep(2 * FOLD_S)  # the host's own recovery may still have a turn under way
    for command, words, block in (
        (uninstall.command, "uninstalled, live gateway", False),
        (setup_command.command, "reinstalled, live gateway", True),
    ):
        done = CliRunner().invoke(command, ["--yes", "--host", "openclaw"])
        assert done.exit_code == 0, done.output
        time.sleep(FOLD_S)  # the host reloads its configuration
        seen = len(gateway.model.requests)
        gateway.turn(f"And now, {words}?")
        own = [r for r in gateway.model.requests[seen:] if words in str(r.body)]
        found = blocks(own[0])
        assert bool(found) == block and all(bool(blocks(r)) == block for r in own)
        row = (f"openclaw {gateway.version}", words, f"request {own[0].number}")
        ROWS.append((*row, found[0][0] if found else "no block"))


def test_views_are_published_into_the_workspace(gateway: OpenClaw) -> None:
    gateway.start()
    gateway.turn("Write the view, ticket V-1.")
    latest = gateway.work / "context_snapshot/latest.json"
    wait_for(lambda: latest.exists() and "V-1" in latest.read_text(), "the view", 15)
    value = json.loads(latest.read_text())
    assert set(value) >= {
        "agent_name",
        "last_run_ts",
        "current_tasks",
        "recent_discussions",
        "active_changes",
        "heartbeat_cadence_hours",
        "key_insights",
        "next_actions",
    }
    assert value["agent_name"] == "main"


@pytest.mark.parametrize("gateway", VERSIONS[:1], indirect=True)
def test_B5_two_gateways_whose_agents_are_both_main_do_not_mix(
    gateway: OpenClaw, home: Path
) -> None:
    other = OpenClaw(gateway.install, gateway.node, home / "second", gateway.model)
    other.prepare()
    setup(other)
    gateway.model.script["ALPHA-1"] = [endless("alpha-job")]
    gateway.model.script["BETA-2"] = [endless("beta-job")]
    try:
        for host, prompt in ((gateway, "Do ALPHA-1."), (other, "Do BETA-2.")):
            host.start()
            kill_in_tool(host, prompt)
        for host, own, foreign in ((gateway, "alpha", "beta"), (other, "beta", "alpha")):
            seen = len(gateway.model.requests)
            host.start()
            host.turn("What is open?")
            inside = told(gateway, seen, f"two gateways: the one of {own}")
            assert f"{own}-job" in inside and foreign not in inside.lower()
            host.stop()
    finally:
        other.kill()


def test_C1_the_hosts_own_marks_say_whose_words_they_are(gateway: OpenClaw) -> None:
    page = {"url": "http://page.invalid/"}
    fetch = call("tool_call", id="web_fetch", args=page) if gateway.modern else None
    gateway.model.script["PAGE-7"] = [
        [fetch or call("web_fetch", **page)],
        [say("The page wants PAGEWORDS.")],
    ]
    gateway.start()
    gateway.turn("Read the page, PAGE-7.")
    gateway.turn("Say this to the GROUP.", key="agent:main:telegram:group:5")
    time.sleep(FOLD_S)
    ((store_id, _),) = identity.listing()
    with contextlib.closing(Store(store_id)) as store:
        records = [(r.body, r.meta) for r, _ in store.read(0, 1 << 40)]
        texts = ready.texts(
            store, sessions.windows(store.db, "agent:main:main")[0], config.DEFAULTS
        )
    asked = [(m["origin"], "assumed" in m) for _, m in records if m.get("class") == "request"]
    if gateway.modern:  # it marks every sender, also the operator's words into a group
        assert asked == [("owner", False), ("owner", False)]
    else:
        assert asked == [("owner", True), ("untrusted", False)]
    said = [m["origin"] for body, m in records if m.get("class") == "reply" and b"PAGEW" in body]
    assert said == ["untrusted"]
    assert "PAGE-7" in texts["idle"] and "PAGEWORDS" not in texts["idle"]


@pytest.mark.parametrize("gateway", VERSIONS[:1], indirect=True)
def test_B7_two_agents_in_one_gateway_do_not_mix(gateway: OpenClaw, home: Path) -> None:
    gateway.run("agents", "add", "ops", "--workspace", str(home / "ops"), "--non-interactive")
    gateway.model.script["ALPHA-1"] = [endless("alpha-job")]
    gateway.start()
    kill_in_tool(gateway, "Do ALPHA-1.")
    seen = len(gateway.model.requests)
    gateway.start()
    wait_for(lambda: len(gateway.model.requests) > seen, "the host's own recovery")
    assert "alpha-job" in told(gateway, seen, "two agents: main")
    time.sleep(FOLD_S)
    gateway.turn("What is open, ops?", "ops")
    own = [r for r in gateway.model.requests if "ops?" in str(r.body)]
    assert own and not any(blocks(r) for r in own)
    row = f"request {own[0].number}"
    ROWS.append((f"openclaw {gateway.version}", "two agents: ops", row, "no block"))
    assert {owner.agent for _, owner in identity.listing()} == {"main", "ops"}


@pytest.mark.parametrize("gateway", VERSIONS[1:], indirect=True)
def test_A6_an_upgraded_session_is_kept_once(gateway: OpenClaw) -> None:
    gateway.start()
    for number in (1, 2):
        gateway.turn(f"Remember shelf {number}, LIB-{number}.")
    time.sleep(FOLD_S)
    gateway.stop()
    newer = gateway.install.with_name(f"openclaw-{VERSIONS[0]}")
    upgraded = OpenClaw(newer, gateway.node, gateway.root, gateway.model, port=gateway.port)
    upgraded.run("doctor", "--fix", "--yes")  # the host's own migration
    upgraded.start()
    try:
        upgraded.turn("Remember shelf 3, LIB-3.")
        time.sleep(2 * FOLD_S)
    finally:
        upgraded.kill()
    ((store_id, _),) = identity.listing()
    store = Store(store_id)
    (session,) = sessions.sessions(store.db)
    messages = capture.report(store, session, 0, 0).messages
    asked = [i.text for i in story.refold(store, session)[0].of("request").values()]
    sources = [s.path.partition(":")[0] for s in sessions.sources(store.db, session.number)]
    store.close()
    assert asked == [f"Remember shelf {n}, LIB-{n}." for n in (1, 2, 3)]
    assert messages == 6 and len(sources) == 2
    case = f"{gateway.version} upgraded to {upgraded.version}"
    ROWS.append((f"openclaw {upgraded.version}", case, f"{messages} messages", "each once"))
