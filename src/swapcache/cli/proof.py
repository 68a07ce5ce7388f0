"""A synthetic session through the real launcher, and on to the real host's request.

Owns the play. Promises a workspace of its own, to delete what it recorded, and that a host is
started in a home of its own against a model on this machine only. Never uses the network.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from swapcache import paths
from swapcache.drill.claude import Claude
from swapcache.drill.model import Model
from swapcache.errors import DrillError, HostError, StoreError
from swapcache.hosts import claude_code, claude_settings, openclaw
from swapcache.store import identity, removal
from swapcache.wake import ready

KEY = "agent:main:main"


def prove(host: str) -> float:
    """Records a request and is told it at the next start. Gives ms for all of it.

    Raises HostError with what went wrong.
    """
    canary = f"canary-{os.urandom(4).hex()}"
    with tempfile.TemporaryDirectory(prefix="swapcache-proof-") as folder:
        work = f"{folder}/work"
        os.makedirs(f"{work}/.git")  # a workspace of its own, wherever it lies
        begin = time.perf_counter()
        try:
            if host == claude_code.NAME:
                _first_session(folder, work, canary, {})
                told = _next_session(work, canary)
            else:
                told = _openclaw(folder, work, canary)
        finally:
            _forget(work)
        if canary not in told or "VERIFIED" not in told:
            raise HostError(
                f"the hook ran, but the next session was not told the last request: {told[:200]!r};"
                " run: swapcache doctor"
            )
        return (time.perf_counter() - begin) * 1000


def reached(program: str) -> str:
    """Starts the real Claude Code once; says in which request and where our block stood.

    In a home of its own with our entries alone, so that nobody else's hooks run. Raises HostError.
    """
    canary = f"canary-{os.urandom(4).hex()}"
    with tempfile.TemporaryDirectory(prefix="swapcache-proof-") as folder, Model({}) as model:
        host = Claude(program, Path(folder), model)
        host.prepare()
        settings = host.home / ".claude/settings.json"
        settings.write_text(claude_settings.installed("", paths.launcher()))
        try:
            _first_session(folder, str(host.project), canary, host.env())
            host.turn("Hello.")
        except DrillError as problem:
            raise HostError(f"{program} could not be tried: {problem}") from problem
        finally:
            _forget(str(host.project))
        for request in model.requests:
            for place, text in request.texts:
                if canary in text and "VERIFIED" in text:
                    return f"request {request.number}, {place}"
    raise HostError(
        f"{program} made {len(model.requests)} request(s), none held what the last session was "
        "asked; run: swapcache doctor"
    )


def _forget(work: str) -> None:
    for store_id, owner in identity.listing():
        if owner.workspace == os.path.realpath(work):
            removal.remove_store(store_id)


def _run(host: str, event: str, payload: dict[str, Any], env: dict[str, str]) -> str:
    text = json.dumps(payload)
    if host == openclaw.NAME:
        env = {**env, "SWAPCACHE_PAYLOAD": text}
    run = [paths.launcher(), host, event]
    done = subprocess.run(  # noqa: S603 - our own launcher
        run, input=text, capture_output=True, text=True, check=False, env={**os.environ, **env}
    )
    if done.returncode or done.stderr:
        raise HostError(f"the hook does not run: exit {done.returncode}, {done.stderr.strip()!r}")
    return done.stdout


def _first_session(folder: str, work: str, canary: str, env: dict[str, str]) -> None:
    transcript = f"{folder}/first.jsonl"
    row = {
        "type": "user",
        "uuid": "u1",
        "parentUuid": None,
        "sessionId": f"{canary}-1",
        "cwd": work,
        "timestamp": "",
        "message": {"role": "user", "content": f"Keep this in mind: {canary}"},
    }
    with open(transcript, "w", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")
    first = {"session_id": f"{canary}-1", "transcript_path": transcript, "cwd": work}
    for event in ("SessionStart", "Stop", "SessionEnd"):
        payload = {**first, "source": "startup"}
        _run(claude_code.NAME, event, payload, {**env, "CLAUDE_PROJECT_DIR": work})


def _next_session(work: str, canary: str) -> str:
    second = {"session_id": f"{canary}-2", "cwd": work, "source": "startup"}
    return _run(claude_code.NAME, "SessionStart", second, {"CLAUDE_PROJECT_DIR": work})


def _openclaw(folder: str, work: str, canary: str) -> str:
    sessions = f"{folder}/state/agents/main/sessions"
    os.makedirs(sessions)
    transcript = f"{sessions}/{canary}.jsonl"
    message = {"role": "user", "content": f"Keep this in mind: {canary}"}
    rows = [
        {"type": "session", "version": 3, "id": canary, "timestamp": "", "cwd": work},
        {"type": "message", "id": "m1", "parentId": None, "timestamp": "", "message": message},
    ]
    with open(transcript, "w", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    with open(f"{sessions}/sessions.json", "w", encoding="utf-8") as file:
        json.dump({KEY: {"sessionId": canary, "sessionFile": transcript}}, file)
    state = os.path.realpath(f"{folder}/state")
    payload = {"stateDir": state, "agentId": "main", "workspaceDir": work, "sessionKey": KEY}
    _run(openclaw.NAME, "fold", payload, {})
    place = ready.path(state, "main", os.path.realpath(work), KEY)
    try:
        return ready.read(place)["idle"]
    except (OSError, StoreError) as problem:
        raise HostError(
            f"the fold wrote no ready text ({problem}); run: swapcache doctor"
        ) from problem
    finally:
        if os.path.exists(place):
            os.unlink(place)
