"""What the recorders of hosts' transcripts share: an isolated host, a kill, rows made neutral.

A recorder is given the host's program by an environment variable and a neutral, new ROOT, since
ROOT becomes part of the recorded paths. Everything in the rows is what the host wrote, but for
texts of the host's own (prompts, tool descriptions), which are cut.
"""

import itertools
import json
import os
import pty
import queue
import select
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from swapcache.drill.claude import session_members, wait_for

KIT = Path(__file__).parents[1] / "conformance"
SLEEPER = "#!/bin/sh\ntouch started\nsleep ${1:-100}\n"
KNOWN = {
    "task": "Migrate the prices",
    "done": "Read the old prices",
    "change": "prices.py",
    "error": "prices/old.csv: No such file",
}
"""What the state must hold of the scene that all recorders play, by kind."""
Row = dict[str, Any]
MARK = "0123456789abcdef" * 2
BLOCK = f"<<<SWAPCACHE {MARK}>>>\nnotes of an earlier session\n<<<END SWAPCACHE {MARK}>>>"
"""What a hook adds: a block of ours, which must not be taken for the person's words."""


def program(variable: str) -> str:
    """The host's program, from the environment."""
    found = os.environ.get(variable, "")
    if not found:
        sys.exit(f"set {variable} to the program of the host")
    return found


@dataclass
class Host:
    """A host in a home of its own, in a project with a tool that never ends."""

    argv: list[str]
    root: Path
    settings: dict[str, str] = field(default_factory=dict)
    """More environment."""

    @property
    def home(self) -> Path:
        """Its HOME."""
        return self.root / "home"

    @property
    def project(self) -> Path:
        """Its working directory, a git repository."""
        return self.root / "project"

    def prepare(self) -> None:
        """Makes the directories, the repository and the tool."""
        if self.root.exists():
            sys.exit(f"{self.root} exists already; name a new directory")
        for folder in (self.home, self.project / "tools", self.root / "tmp"):
            folder.mkdir(parents=True)
        run = ["git", "init", "-q", "-b", "main", str(self.project)]
        subprocess.run(run, check=True, env=self.env())
        tool = self.project / "tools/migrate.sh"
        tool.write_text(SLEEPER)
        tool.chmod(0o755)

    def hooked(self, folder: str, event: str, settings: dict[str, Any]) -> None:
        """Writes its settings, with a hook at an event that adds a block of ours."""
        block = self.root / "block.json"
        answer = {"hookSpecificOutput": {"hookEventName": event, "additionalContext": BLOCK}}
        block.write_text(json.dumps(answer))
        hook = {"type": "command", "name": "block", "timeout": 5000, "command": f"cat {block}"}
        place = self.home / folder
        place.mkdir()
        whole = {"hooks": {event: [{"hooks": [hook]}]}, **settings}
        (place / "settings.json").write_text(json.dumps(whole))

    def env(self) -> dict[str, str]:
        """The whole environment of the host."""
        own = Path(self.argv[0]).parent
        node = shutil.which("node")
        path = f"{own}:{Path(node).parent if node else own}:/usr/local/bin:/usr/bin:/bin"
        return {
            "PATH": path,
            "HOME": str(self.home),
            "TMPDIR": str(self.root / "tmp"),
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
            **self.settings,
        }

    def version(self) -> str:
        """What the program says of itself."""
        run = [self.argv[0], "--version"]
        done = subprocess.run(run, capture_output=True, text=True, env=self.env(), check=True)
        return done.stdout.split()[-1]

    def start(self, *arguments: str) -> "subprocess.Popen[bytes]":
        """Starts a process of it, in a process session of its own."""
        log = (self.root / "output.txt").open("ab")
        return subprocess.Popen(
            [*self.argv, *arguments],
            cwd=self.project,
            env=self.env(),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )

    def run(self, *arguments: str) -> None:
        """One process, to its end."""
        self.start(*arguments).wait(120)

    def kill_in_tool(self, *arguments: str, orphans: bool = False) -> None:
        """Starts a process and kills it while its tool runs; its children too, unless `orphans`."""
        marker = self.project / "started"
        marker.unlink(missing_ok=True)
        running = self.start(*arguments)
        wait_for(lambda: marker.exists() or running.poll() is not None, "the tool call")
        time.sleep(0.5)
        assert running.poll() is None, (self.root / "output.txt").read_text()
        for pid in [running.pid, *([] if orphans else session_members(running.pid))]:
            os.kill(pid, 9)
        running.wait()

    def typed(self, script: "Callable[[Terminal], None]", *arguments: str) -> None:
        """An interactive process, with somebody at its keyboard."""
        ours, theirs = pty.openpty()
        running = subprocess.Popen(
            [*self.argv, *arguments],
            cwd=self.project,
            env=self.env(),
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)
        try:
            script(Terminal(ours))
        finally:
            for pid in [running.pid, *session_members(running.pid)]:
                os.kill(pid, 9)
            running.wait()
            os.close(ours)

    def transcripts(self, pattern: str) -> list[Path]:
        """Its transcripts, oldest first."""
        return sorted(self.home.glob(pattern), key=lambda p: p.stat().st_mtime_ns)


class Terminal:
    """The keyboard and the screen of an interactive host."""

    def __init__(self, file: int) -> None:
        self._file = file
        self.screen = ""

    def watch(self, seconds: float, words: str = "") -> None:
        """Reads the screen until it shows `words`, at most so long."""
        end, seen = time.monotonic() + seconds, len(self.screen)
        while time.monotonic() < end and not (words and words in self.screen[seen:]):
            if select.select([self._file], [], [], 0.1)[0]:
                try:
                    self.screen += os.read(self._file, 65536).decode("utf-8", "replace")
                except OSError:
                    return

    def press(self, keys: str, seconds: float = 1.0) -> None:
        """Presses keys and lets the host draw."""
        os.write(self._file, keys.encode())
        self.watch(seconds)


class Talk:
    """A host that is told what to do as JSON lines on its standard input."""

    def __init__(self, host: Host, *arguments: str, **envelope: str) -> None:
        self._envelope = envelope
        self._running = subprocess.Popen(
            [*host.argv, *arguments],
            cwd=host.project,
            env=host.env(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self._told: queue.Queue[dict[str, Any]] = queue.Queue()
        self._calls = itertools.count(1)
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self._running.stdout is not None
        for line in self._running.stdout:
            self._told.put(json.loads(line))

    def tell(self, **message: Any) -> None:
        """Sends a message."""
        assert self._running.stdin is not None
        self._running.stdin.write(json.dumps(self._envelope | message) + "\n")
        self._running.stdin.flush()

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """Sends a request and gives its result."""
        number = next(self._calls)
        self.tell(id=number, method=method, params=params)
        while (answer := self._told.get(timeout=60)).get("id") != number or "method" in answer:
            pass
        assert "result" in answer, answer
        return dict(answer["result"])

    def wait(self, method: str) -> None:
        """Waits until the host says so."""
        while self._told.get(timeout=60).get("method") != method:
            pass

    def end(self) -> None:
        """Ends it."""
        self._running.kill()
        self._running.wait()


def rows(path: Path) -> list[Row]:
    """A transcript's rows."""
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def save(folder: str, kept: list[list[Row]], **expected: Any) -> None:
    """Writes a fixture: the files, the way the hosts write them, and what the kit shall find."""
    where = KIT / folder
    shutil.rmtree(where, ignore_errors=True)
    where.mkdir(parents=True)
    for number, part in enumerate(kept, 1):
        lines = [json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in part]
        (where / f"{number}.jsonl").write_text("".join(f"{line}\n" for line in lines))
    count = sum(map(len, kept))
    text = json.dumps({**expected, "records": count}, indent=2, ensure_ascii=False)
    (where / "expected.json").write_text(f"{text}\n")
    size = sum(path.stat().st_size for path in where.iterdir())
    print(f"{folder}: {count} rows, {size / 1024:.1f} KB")
