"""A real OpenClaw gateway in a home of its own, against the scripted model."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import socket
import sqlite3
import subprocess
import threading
import time
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from swapcache.drill.claude import session_members, wait_for
from swapcache.drill.model import Model
from swapcache.errors import DrillError

TURN_S = 90.0
TOKEN = "dummy-token"  # of a gateway on the loopback that lives for one test


@dataclass
class OpenClaw:
    """One gateway: program directory, home, workspace, model."""

    install: Path
    """The directory whose node_modules holds openclaw."""
    node: str
    root: Path
    model: Model
    gateway: subprocess.Popen[bytes] | None = field(default=None)
    port: int = 0
    faulty: bool = False
    """The test breaks something on purpose: the error log must say so."""

    @property
    def state(self) -> Path:
        """Its state directory."""
        return self.root / "home/.openclaw"

    @property
    def work(self) -> Path:
        """Its workspace."""
        return self.root / "work"

    @property
    def version(self) -> str:
        """From its package."""
        manifest = self.install / "node_modules/openclaw/package.json"
        return str(json.loads(manifest.read_text())["version"])

    @property
    def modern(self) -> bool:
        """True for the SQLite era."""
        return [int(x) for x in self.version.split("-")[0].split(".")[:2]] >= [2026, 8]

    def env(self) -> dict[str, str]:
        """The whole environment of the host."""
        return {
            "PATH": f"{Path(self.node).parent}:/usr/local/bin:/usr/bin:/bin",
            "HOME": str(self.root / "home"),
            "TMPDIR": str(self.root / "tmp"),
            "LANG": "C.UTF-8",
            "NO_COLOR": "1",
            "OPENCLAW_STATE_DIR": str(self.state),
            "OPENCLAW_CONFIG_PATH": str(self.state / "openclaw.json"),
            "OPENCLAW_NO_RESPAWN": "1",
            "OPENCLAW_DISABLE_BONJOUR": "1",
        }

    def prepare(self) -> None:
        """Directories and configuration."""
        for folder in (self.state, self.work, self.root / "tmp"):
            folder.mkdir(parents=True, exist_ok=True)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        limits = {"contextWindow": 128000, "maxTokens": 4096, "reasoning": False, "input": ["text"]}
        cost = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}
        provider = {
            "baseUrl": f"{self.model.url}/v1",
            "apiKey": "dummy",
            "api": "openai-completions",
            "models": [{"id": "mock", "name": "mock", "cost": cost, **limits}],
        }
        config: dict[str, Any] = {
            "gateway": {
                "mode": "local",
                "port": self.port,
                "bind": "loopback",
                "auth": {"mode": "token", "token": TOKEN},
                "http": {"endpoints": {"chatCompletions": {"enabled": True}}},
            },
            "update": {"checkOnStart": False},
            "models": {"providers": {"mock": provider}},
            "agents": {
                "defaults": {
                    "workspace": str(self.work),
                    "model": {"primary": "mock/mock"},
                    "skipBootstrap": True,
                }
            },
        }
        (self.state / "openclaw.json").write_text(json.dumps(config, indent=2))

    def cli(self, *arguments: str) -> list[str]:
        """A command of the host."""
        return [self.node, str(self.install / "node_modules/openclaw/openclaw.mjs"), *arguments]

    def start(self) -> None:
        """Starts the gateway and waits until it answers."""
        log = self.root / "gateway.log"
        with log.open("ab") as out:
            begin = log.stat().st_size
            self.gateway = subprocess.Popen(
                self.cli("gateway", "run"),
                cwd=self.work,
                env=self.env(),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )

        def up() -> bool:
            text = log.read_text(errors="replace")[begin:]
            if self.gateway is not None and self.gateway.poll() is not None:
                raise DrillError(f"the gateway ended: {text[-800:]}")
            return "[gateway] ready" in text or "internal hook handler" in text

        wait_for(up, "the gateway's start")
        if not self.modern and not self.model.requests:
            # The first contact pairs the client with the scope that it asks for.
            self.call("sessions.delete", key="agent:main:none")

    def stop(self) -> None:
        """An orderly end."""
        if self.gateway is not None and self.gateway.poll() is None:
            self.gateway.send_signal(signal.SIGTERM)
            try:
                self.gateway.wait(20)
            except subprocess.TimeoutExpired:
                self.kill()

    def kill(self) -> None:
        """SIGKILL to the gateway and what it started."""
        if self.gateway is None:
            return
        if self.gateway.poll() is None:
            os.kill(self.gateway.pid, signal.SIGKILL)
        self.gateway.wait()
        for pid in session_members(self.gateway.pid):
            os.kill(pid, signal.SIGKILL)

    def backdate(self, days: int) -> None:
        """Moves the host's own times of all its sessions into the past, while it is stopped."""
        back = days * 86400000

        def earlier(entry: dict[str, Any]) -> dict[str, Any]:
            times = {k: v - back for k, v in entry.items() if k.endswith("At") and v}
            return {**entry, **times}

        if not self.modern:
            index = self.state / "agents/main/sessions/sessions.json"
            entries = json.loads(index.read_text())
            index.write_text(json.dumps({k: earlier(v) for k, v in entries.items()}))
            return
        with contextlib.closing(
            sqlite3.connect(self.state / "agents/main/agent/openclaw-agent.sqlite")
        ) as db:
            for key, text in db.execute(
                "SELECT session_key, entry_json FROM session_nodes"
            ).fetchall():
                db.execute(
                    "UPDATE session_nodes SET entry_json=?, updated_at=updated_at-?,"
                    " last_interaction_at=last_interaction_at-? WHERE session_key=?",
                    (json.dumps(earlier(json.loads(text))), back, back, key),
                )
            db.commit()

    def local(self, text: str) -> subprocess.Popen[bytes]:
        """A turn without a gateway (`agent --local`)."""
        return subprocess.Popen(
            self.cli("agent", "--local", "--agent", "main", "--message", text, "--json"),
            cwd=self.work,
            env=self.env(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def configure(self, **sections: Any) -> None:
        """Sets whole sections of the configuration."""
        path = self.state / "openclaw.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), **sections}, indent=2))

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """A command of the host, to its end."""
        return subprocess.run(
            self.cli(*arguments),
            cwd=self.work,
            env=self.env(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=TURN_S,
            check=False,
        )

    def call(self, method: str, **params: Any) -> None:
        """A method of the gateway."""
        self.run("gateway", "call", method, "--params", json.dumps(params), "--json")

    def turn(self, text: str, agent: str = "main", key: str = "") -> None:
        """One turn of an agent, over the gateway's HTTP door: no start of a client.

        A turn whose model fails is refused too; one that never reached the model (the host's own
        recovery was at work) is tried again.
        """
        seen = len(self.model.requests)
        for _ in range(8):
            try:
                self.post(text, agent, key)
                return
            except DrillError:
                if len(self.model.requests) > seen:
                    return
                time.sleep(2)

    def post(self, text: str, agent: str = "main", key: str = "") -> float:
        """The same; gives its seconds. Raises DrillError when the gateway refuses it.

        `key` is the session key, of the agent's main conversation if empty.
        """
        body = {"model": "openclaw", "messages": [{"role": "user", "content": text}]}
        headers = {
            "authorization": f"Bearer {TOKEN}",
            "content-type": "application/json",
            "x-openclaw-agent-id": agent,
            "x-openclaw-session-key": key or f"agent:{agent}:main",
        }
        url = f"http://127.0.0.1:{self.port}/v1/chat/completions"
        request = urllib.request.Request(url, json.dumps(body).encode(), headers)
        begin = time.perf_counter()
        try:
            with urllib.request.urlopen(request, timeout=TURN_S) as answer:
                answer.read()
        except urllib.error.HTTPError as refused:
            raise DrillError(f"turn: {refused.code} {refused.read()[:400]!r}") from refused
        return time.perf_counter() - begin

    def command(self, text: str, agent: str = "main") -> None:
        """A message that the host's own commands are looked for in (/new, /reset)."""
        for _ in range(8):
            done = self.run("agent", "--agent", agent, "--message", text, "--json")
            if "SESSION_WORK_START_CHANGED" not in done.stderr:
                return  # the host's own recovery was at work
            time.sleep(2)

    def reset(self, reason: str) -> None:
        """/new or /reset, by the way of its era."""
        if self.modern:
            self.command(f"/{reason}")
        else:
            self.call("sessions.reset", key="agent:main:main", reason=reason)

    def begin(self, text: str) -> threading.Thread:
        """Starts a turn and does not wait for it; the gateway may die meanwhile."""

        def ask() -> None:
            with contextlib.suppress(OSError, http.client.HTTPException):
                self.post(text)

        client = threading.Thread(target=ask, daemon=True)
        client.start()
        return client
