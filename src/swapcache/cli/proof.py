"""A synthetic session through the real launcher: proof that an installation works.

Owns the play. Promises to use a workspace of its own and to delete what it recorded. Never starts a
host, never uses the network.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from typing import Any

from swapcache import paths
from swapcache.errors import HostError
from swapcache.hosts import claude_code, openclaw
from swapcache.store import identity, removal
from swapcache.wake import ready

KEY = "agent:main:main"


def prove(host: str) -> float:
    """Records a request and is told it at the next start. Gives ms of the last hook.

    Raises HostError with what went wrong.
    """
    canary = f"canary-{os.urandom(4).hex()}"
    with tempfile.TemporaryDirectory(prefix="swapcache-proof-") as folder:
        work = f"{folder}/work"
        os.mkdir(work)
        begin = time.perf_counter()
        try:
            if host == claude_code.NAME:
                told = _claude(folder, work, canary)
            else:
                told = _openclaw(folder, work, canary)
        finally:
            for store_id, owner in identity.listing():
                if owner.workspace == os.path.realpath(work):
                    removal.remove_store(store_id)
        if canary not in told or "VERIFIED" not in told:
            raise HostError(
                f"the hook ran, but the next session was not told the last request: {told[:200]!r};"
                " run: swapcache doctor"
            )
        return (time.perf_counter() - begin) * 1000


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


def _claude(folder: str, work: str, canary: str) -> str:
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
    env = {"CLAUDE_PROJECT_DIR": work}
    for event in ("SessionStart", "Stop", "SessionEnd"):
        _run(claude_code.NAME, event, {**first, "source": "startup"}, env)
    second = {"session_id": f"{canary}-2", "cwd": work, "source": "startup"}
    return _run(claude_code.NAME, "SessionStart", second, env)


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
        with open(place, encoding="utf-8") as file:
            return str(json.load(file)["text"]["idle"])
    except OSError as problem:
        raise HostError(
            f"the fold wrote no ready text ({problem}); run: swapcache doctor"
        ) from problem
    finally:
        if os.path.exists(place):
            os.unlink(place)
