"""The drill on the real Claude Code: killed in mid-tool, started anew, its request inspected.

Owns the scene (prompt, endless command, kill) and where our block stood in the request. Promises to
use a home, a key and a model of its own. Never touches the user's account.
"""

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from swapcache.drill import drill
from swapcache.drill.claude import Claude, find_program, wait_for
from swapcache.drill.model import Model, Request, Script, call, say
from swapcache.errors import DrillError
from swapcache.hosts import claude_code, claude_settings, launcher
from swapcache.store import files
from swapcache.transcripts.text import FRAME_OPEN

PROMPT = "Rename the column user_ref to account_ref in all 14 migrations, ticket DB-77."
ENDLESS = f"touch started && exec {sys.executable} -c 'import time; time.sleep(120)' --rename"
SCRIPT: Script = {"DB-77": [[say("I start with the migrations."), call("Bash", command=ENDLESS)]]}


def install(host: Claude) -> None:
    """Installs our hooks into an isolated home, as `setup` does."""
    launcher.install()
    settings = host.home / ".claude/settings.json"
    before = settings.read_text() if settings.exists() else ""
    files.publish(str(settings), claude_settings.installed(before, launcher.path()))


def blocks(request: Request) -> list[tuple[str, str]]:
    """(place, text) of every text of a request that holds a block of ours."""
    return [(place, text) for place, text in request.texts if FRAME_OPEN in text]


def kill_in_tool(host: Claude, prompt: str, *options: str) -> int:
    """Starts a turn, waits until its endless command runs, kills the host. Gives the pid."""
    marker = host.project / "started"
    marker.unlink(missing_ok=True)
    running = host.start(prompt, *options)
    wait_for(lambda: marker.exists() or running.poll() is not None, "the tool call")
    time.sleep(0.3)
    if running.poll() is not None:
        raise DrillError(f"{host.program} ended before it could be killed")
    host.kill(running)
    return running.pid


def run() -> tuple[drill.Outcome, dict[str, Any]]:
    """Kills a real session and starts the next one. Gives (outcome, the request's facts)."""
    program = find_program()
    with tempfile.TemporaryDirectory(prefix="swapcache-drill-") as folder, Model(SCRIPT) as model:
        host = Claude(program, Path(folder), model)
        host.prepare()
        drill.isolate(host.root, host.home / ".claude")
        install(host)
        pid = kill_in_tool(host, PROMPT)
        rows = len(host.transcripts()[-1].read_bytes().splitlines())
        killed = drill.Killed(pid, rows, PROMPT, ENDLESS, str(host.project), host.root)
        seen = len(model.requests)
        begin = time.perf_counter()
        host.turn("Hello again.")
        ms = (time.perf_counter() - begin) * 1000
        found = [(r.number, *b) for r in model.requests[seen:] for b in blocks(r)]
        if not found:
            raise DrillError("no request of the next session held a block of ours")
        number, place, text = found[0]
        text = text[text.index(FRAME_OPEN) :]
        drill.judge(text, PROMPT, ENDLESS)
        told = drill.receipt(str(host.project), text[: text.rindex(">>>") + 3])
        facts = {"version": host.version(), "request": number, "role": place}
        return drill.Outcome(claude_code.NAME, killed, told, ms), facts
