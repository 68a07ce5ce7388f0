"""The shim alone, in a Node of its own: which text it serves for what it saw."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from swapcache import paths
from swapcache.hosts import openclaw_config
from swapcache.store import slots
from swapcache.wake import ready
from tests import needs

pytestmark = pytest.mark.hosts
KEY = "agent:main:main"
TEXTS = {"restart": "R", "new": "N", "reset": "S", "idle": "I", "compaction": "C"}
HOST = """
const shim = await import(process.argv[1]);
const { work, steps } = JSON.parse(process.argv[2]);
const served = [];
for (const [type, action, key, sessionId] of steps) {
  const context = { workspaceDir: work, bootstrapFiles: [], sessionId, agentId: "main" };
  const begin = performance.now();
  await shim.onInternal({ type, action, sessionKey: key, context });
  const ms = performance.now() - begin;
  if (action === "bootstrap") served.push([context.bootstrapFiles.map((f) => f.content), ms]);
}
console.log(JSON.stringify(served));
process.exit(0);
"""


@pytest.fixture
def shim(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The installed shim, a launcher that does nothing, ready texts; gives its directory."""
    node = os.environ.get("SWAPCACHE_NODE", "")
    if not node:
        needs.missing('Node is not installed; run: eval "$(scripts/hosts)"')
    state, work = home / ".openclaw", home / "work"
    state.mkdir()
    work.mkdir()
    monkeypatch.setenv("OPENCLAW_STATE_DIR", str(state))
    openclaw_config.place_files()
    launcher = Path(paths.launcher())
    launcher.parent.mkdir(parents=True, exist_ok=True)
    launcher.write_text("#!/bin/sh\nexit 0\n")
    launcher.chmod(0o700)
    place = Path(ready.path(str(state), "main", str(work), KEY))
    place.parent.mkdir(parents=True)
    write_ready(place, {"text": TEXTS})
    return work


def write_ready(place: Path, value: object) -> None:
    """A ready file as Python writes it."""
    body = json.dumps(value)
    mac = slots.mac(place.stem, body.encode())
    place.write_text(json.dumps({"v": 2, "mac": mac, "body": body}))


def served(work: Path, *steps: tuple[str, ...]) -> list[tuple[list[str], float]]:
    """(contents, milliseconds) of every bootstrap."""
    node = os.environ["SWAPCACHE_NODE"]
    given = json.dumps({"work": str(work), "steps": [filled(s) for s in steps]})
    module = f"{paths.plugin_dir('openclaw')}/index.js"
    run = [node, "--input-type=module", "-e", HOST, module, given]
    done = subprocess.run(run, capture_output=True, text=True, check=True)
    found: list[Any] = json.loads(done.stdout)
    return [(texts, ms) for texts, ms in found]


def filled(step: tuple[str, ...]) -> list[str]:
    """type, action, key, session id."""
    kind, action = step[0].split(":", 1)
    return [kind, action, KEY, step[1] if len(step) > 1 else "one"]


TURN = "agent:bootstrap"


@pytest.mark.parametrize(
    ("steps", "texts"),
    [
        ([(TURN,), (TURN,)], ["R", "R"]),
        ([(TURN,), ("command:new",), (TURN,), (TURN,)], ["R", "N", "N"]),
        ([(TURN,), ("command:reset",), (TURN,)], ["R", "S"]),
        ([(TURN,), ("command:reset",), (TURN, "two"), (TURN, "two")], ["R", "S", "S"]),
        ([(TURN,), ("session:compact:after",), (TURN,)], ["R", "C"]),
        ([(TURN,), ("session:auto-reset",), (TURN, "two")], ["R", "I"]),
        ([(TURN,), (TURN, "two"), (TURN, "two")], ["R", "I", "I"]),  # a rollover without a word
    ],
)
def test_the_text_goes_by_what_the_shim_saw(
    shim: Path, steps: list[tuple[str, ...]], texts: list[str]
) -> None:
    assert [contents for contents, _ in served(shim, *steps)] == [[text] for text in texts]
    assert not Path(paths.error_log()).exists()


def test_what_happens_during_the_first_turns_wait_is_not_lost(shim: Path) -> None:
    Path(paths.launcher()).write_text("#!/bin/sh\nsleep 0.5\n")
    given = [("during", TURN), ("", "command:new"), ("", TURN), ("", TURN)]
    assert served_at_once(shim, given) == [["R"], ["N"], ["N"]]
    given = [("during", TURN), ("two", TURN), ("two", TURN)]
    assert served_at_once(shim, given)[1:] == [["I"], ["I"]]


def served_at_once(work: Path, steps: list[tuple[str, str]]) -> list[list[str]]:
    """Like `served`, but a step marked `during` goes on while the next one runs."""
    plan = [
        ["later" if mark == "during" else "now", *filled((what, mark if mark == "two" else "one"))]
        for mark, what in steps
    ]
    node = os.environ["SWAPCACHE_NODE"]
    given = json.dumps({"work": str(work), "steps": plan})
    module = f"{paths.plugin_dir('openclaw')}/index.js"
    run = [node, "--input-type=module", "-e", AT_ONCE, module, given]
    done = subprocess.run(run, capture_output=True, text=True, check=True)
    found: list[list[str]] = json.loads(done.stdout)
    return found


AT_ONCE = """
const shim = await import(process.argv[1]);
const { work, steps } = JSON.parse(process.argv[2]);
const served = [];
for (const [when, type, action, key, sessionId] of steps) {
  const context = { workspaceDir: work, bootstrapFiles: [], sessionId, agentId: "main" };
  const ended = shim.onInternal({ type, action, sessionKey: key, context });
  if (action === "bootstrap") served.push([ended, context]);
  if (when === "now") await ended;
}
for (const [ended] of served) await ended;
console.log(JSON.stringify(served.map(([, c]) => c.bootstrapFiles.map((f) => f.content))));
process.exit(0);
"""


def test_a_spool_that_cannot_be_written_costs_nobody_the_text(shim: Path) -> None:
    Path(paths.shim_spool_dir()).parent.mkdir(parents=True, exist_ok=True)
    Path(paths.shim_spool_dir()).write_text("a file in its place")
    assert [contents for contents, _ in served(shim, (TURN,), (TURN,))] == [["R"], ["R"]]


def test_B6_only_the_first_turn_waits_and_never_longer_than_its_bound(shim: Path) -> None:
    Path(paths.launcher()).write_text("#!/bin/sh\nsleep 30\n")
    (first, waited), (second, quick) = served(shim, (TURN,), (TURN,))
    late = "\nA newer turn was interrupted; verify before redoing."
    assert (first, second) == (["R" + late], ["R" + late])
    assert 1400 < waited < 1900 and quick < 100
    assert "took more than 1500 ms" in Path(paths.error_log()).read_text()


@pytest.mark.parametrize(
    "content", [b"", b"\xff{no", b"[]", b'{"text": 5}', b'{"text": {"restart": 5}}']
)
def test_B6_a_malformed_ready_file_injects_nothing(shim: Path, content: bytes) -> None:
    (place,) = Path(paths.ready_dir()).iterdir()
    place.write_bytes(content)
    assert [contents for contents, _ in served(shim, (TURN,))] == [[]]


@pytest.mark.parametrize("value", [[], {"text": 5}, {"text": {"restart": 5}}])
def test_B6_a_sealed_ready_file_of_another_form_injects_nothing(shim: Path, value: object) -> None:
    (place,) = Path(paths.ready_dir()).iterdir()
    write_ready(place, value)
    assert [contents for contents, _ in served(shim, (TURN,))] == [[]]


@pytest.mark.parametrize("planted", ["as before", "no seal", "another slot's", "edited"])
def test_a_ready_file_that_is_not_ours_is_never_injected(shim: Path, planted: str) -> None:
    (place,) = Path(paths.ready_dir()).iterdir()
    sealed = json.loads(place.read_text())
    if planted == "as before":
        sealed = {"text": TEXTS}
    elif planted == "no seal":
        sealed["mac"] = ""
    elif planted == "another slot's":
        sealed["mac"] = slots.mac("0" * 64, sealed["body"].encode())
    else:
        sealed["body"] = sealed["body"].replace('"R"', '"obey"')
    place.write_text(json.dumps(sealed))
    assert [contents for contents, _ in served(shim, (TURN,))] == [[]]
    assert "not sealed by our key" in Path(paths.error_log()).read_text()


def test_what_the_shim_writes_ahead_is_sealed(shim: Path) -> None:
    served(shim, (TURN,))  # its receipt is a line of the spool
    (spool,) = Path(paths.shim_spool_dir()).iterdir()
    lines = spool.read_bytes().splitlines()
    texts = [slots.opened(spool.stem, line) for line in lines]
    assert texts and all(text and json.loads(text) for text in texts)
    assert slots.opened("0" * 64, lines[0]) is None
    assert slots.opened(spool.stem, lines[0].replace(b"injected", b"message_")) is None


def test_B6_a_ready_file_that_cannot_be_opened_injects_nothing(shim: Path) -> None:
    (place,) = Path(paths.ready_dir()).iterdir()
    place.unlink()
    place.mkdir()
    assert [contents for contents, _ in served(shim, (TURN,))] == [[]]
    assert "ready file" in Path(paths.error_log()).read_text()


def test_G6_without_its_files_the_shim_is_inert(shim: Path) -> None:
    module = Path(paths.plugin_dir("openclaw")) / "index.js"
    copy = shim / "index.mjs"
    copy.write_bytes(module.read_bytes())  # as a host that loaded it before
    (shim / "paths.json").write_bytes((module.parent / "paths.json").read_bytes())
    openclaw_config.remove_files()
    node = os.environ["SWAPCACHE_NODE"]
    given = json.dumps({"work": str(shim), "steps": [filled((TURN,))]})
    run = [node, "--input-type=module", "-e", HOST, str(copy), given]
    done = subprocess.run(run, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)[0][0] == []
    assert not Path(paths.error_log()).exists()


@pytest.mark.parametrize("where", ["everywhere", "here", "in the project"])
def test_off_serves_nothing(shim: Path, where: str) -> None:
    file = {
        "everywhere": Path(paths.off_file()),
        "here": Path(paths.off_file(str(shim))),
        "in the project": Path(paths.opt_out_file(str(shim))),
    }[where]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.touch()
    assert [contents for contents, _ in served(shim, (TURN,))] == [[]]
    file.unlink()
    assert [contents for contents, _ in served(shim, (TURN,))] == [["R"]]
    assert not Path(paths.error_log()).exists()
