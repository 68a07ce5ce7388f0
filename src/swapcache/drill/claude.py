"""A real Claude Code in a home of its own, against the scripted model.

Owns the isolation (home, configuration, dummy key, no other network use) and the killing. Promises
that the user's own home and account are never touched. Never searches processes by name.
"""

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from swapcache.drill.model import Model
from swapcache.errors import DrillError

TIMEOUT = 90.0


@dataclass(frozen=True)
class Claude:
    """An isolated installation: program, home and project directory."""

    program: str
    root: Path
    model: Model

    @property
    def home(self) -> Path:
        """Its HOME."""
        return self.root / "home"

    @property
    def project(self) -> Path:
        """Its working directory, a git repository."""
        return self.root / "project"

    def env(self) -> dict[str, str]:
        """The whole environment of the host; nothing of ours leaks into it."""
        path = f"{Path(self.program).parent}:/usr/local/bin:/usr/bin:/bin"
        node = shutil.which("node")
        return {
            "PATH": f"{path}:{Path(node).parent}" if node else path,
            "HOME": str(self.home),
            "SWAPCACHE_HOME": str(self.root / "swapcache"),
            "TMPDIR": str(self.root / "tmp"),
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
            "ANTHROPIC_BASE_URL": self.model.url,
            "ANTHROPIC_API_KEY": "dummy",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_ENABLE_TODO_TOOLS": "1",
            "DISABLE_AUTOUPDATER": "1",
        }

    def prepare(self) -> None:
        """Makes the directories and the repository."""
        for folder in (self.home / ".claude", self.project, self.root / "tmp"):
            folder.mkdir(parents=True, exist_ok=True)
        run = ["git", "init", "-q", "-b", "main", str(self.project)]
        subprocess.run(run, check=True, env=self.env())  # noqa: S603
        (self.home / ".claude.json").write_text(
            json.dumps(
                {
                    "hasCompletedOnboarding": True,
                    "theme": "dark",
                    "customApiKeyResponses": {"approved": ["dummy"], "rejected": []},
                    "projects": {
                        str(self.project): {
                            "hasTrustDialogAccepted": True,
                            "hasCompletedProjectOnboarding": True,
                        }
                    },
                }
            )
        )

    def version(self) -> str:
        """What the program says of itself."""
        run = [self.program, "--version"]
        done = subprocess.run(run, capture_output=True, text=True, env=self.env(), check=False)  # noqa: S603
        return done.stdout.split()[0] if done.stdout.split() else "unknown"

    def start(self, prompt: str, *options: str) -> "subprocess.Popen[bytes]":
        """Starts a turn without a terminal, in a process session of its own."""
        return subprocess.Popen(  # noqa: S603
            [self.program, "-p", *options, prompt, "--allowedTools", "Bash,Write,Edit,TodoWrite"],
            cwd=self.project,
            env=self.env(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def turn(self, prompt: str, *options: str) -> None:
        """Runs one turn to its end. Raises DrillError when it does not end."""
        running = self.start(prompt, *options)
        try:
            running.wait(TIMEOUT)
        except subprocess.TimeoutExpired:
            self.kill(running)
            raise DrillError(f"{self.program} did not finish within {TIMEOUT:g} s") from None

    def kill(self, running: "subprocess.Popen[bytes]") -> None:
        """SIGKILL to the host, then to the orphans of its process group."""
        if running.poll() is None:
            os.kill(running.pid, signal.SIGKILL)
        running.wait()
        for pid in session_members(running.pid):
            os.kill(pid, signal.SIGKILL)

    def transcripts(self) -> list[Path]:
        """Its transcripts, oldest first."""
        found = (self.home / ".claude/projects").glob("*/*.jsonl")
        return sorted(found, key=lambda p: p.stat().st_mtime_ns)


def session_members(leader: int) -> list[int]:
    """Pids whose process session is `leader`'s (its own children; a tool's shell included)."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text(errors="replace").rpartition(")")[2].split()
            except OSError:
                continue
            if fields[3] == str(leader) and fields[0] not in "ZX":
                found.append(int(entry.name))
    return found


def wait_for(condition: Callable[[], bool], what: str, seconds: float = TIMEOUT) -> None:
    """Waits until `condition` holds. Raises DrillError naming what did not happen."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise DrillError(f"{what} did not happen within {seconds:g} s")
        time.sleep(0.05)


def find_program(name: str = "claude") -> str:
    """Path of the installed Claude Code. Raises DrillError that says how to get it."""
    found = os.environ.get("SWAPCACHE_CLAUDE") or shutil.which(name)
    if not found:
        raise DrillError(
            "Claude Code is not installed (no `claude` on PATH); install it with "
            "`npm install -g @anthropic-ai/claude-code`, or run `swapcache drill` without --host"
        )
    return found
