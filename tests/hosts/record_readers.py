"""Records the sessions that the reader tests use, by running the real hosts.

    SWAPCACHE_HERMES=… SWAPCACHE_OPENCODE=… SWAPCACHE_COPILOT=… SWAPCACHE_OPENCLAW=… \\
        python -m tests.hosts.record_readers ROOT [hermes] [opencode] [copilot] [openclaw]

Each variable names a host's program, the last one the directory of both versions. The model is
scripted; everything in the rows is what the host wrote. ROOT becomes part of the recorded paths, so
give a neutral one. What holds a host's own prompts is left out: Copilot's system messages and model
calls, Hermes' column system_prompt, OpenClaw's entry_json. Databases are kept as SQL text: schema
and rows as they were.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from swapcache.drill.claude import wait_for
from swapcache.drill.model import Block, Model, Script, call, say
from tests.hosts.openclaw_host import OpenClaw

READERS = Path(__file__).parents[1] / "conformance/readers"
DATABASES = Path(__file__).parents[1] / "conformance/databases"
LIST = "List the files of the shop, ticket SHOP-7."
PLAN = "Plan it, then write prices.py."
FAIL = "Run the tests."
COMPACT = "Go on with the second step."
KILLED = "Migrate the prices."
MORE = "Count the files."
COMPACTED = "Count them again."
AFTER = "What is the state of the migration?"
SLOW = 'perl -e "select(undef,undef,undef,37)"'
PRICES = "PRICES = {'tea': 3}\n"
TURN_S = 120.0


class Scripted(Model):
    """The scripted model; a request without tools (a title, a summary) takes no turn of it."""

    def answer(self, body: dict[str, Any]) -> list[Block]:
        """The blocks for a request."""
        if body.get("tools"):
            return super().answer(body)
        return [say("Summary: the shop has tea; prices.py was written, SHOP-7 goes on.")]


def story(shell: str, write: str, path: str, content: str, plan: Block | None) -> Script:
    """The same story in the tools of a host."""
    planned = [[say("Two steps."), plan]] if plan else []
    return {
        LIST: [[say("I look."), call(shell, command="ls -a", description="List")], [say("Empty.")]],
        PLAN: [
            *planned,
            [call(write, **{path: "{work}/prices.py", content: PRICES})],
            [say("prices.py is written.")],
        ],
        FAIL: [
            [call(shell, command="python3 tests.py", description="Test")],
            [say("There are no tests yet.")],
        ],
        MORE: [[call(shell, command="ls | wc -l", description="Count")], [say("One.")]],
        COMPACTED: [[call(shell, command="ls | wc -l", description="Count")], [say("One, still.")]],
        COMPACT: [[say("The second step waits for the migration.")]],
        KILLED: [[say("I migrate."), call(shell, command=SLOW, description="Migrate")]],
        AFTER: [[say("Unknown: it was cut off.")]],
    }


def placed(script: Script, work: Path) -> Script:
    """The script with the workspace's path in it."""
    return json.loads(json.dumps(script).replace("{work}", str(work)))  # type: ignore[no-any-return]


class Host:
    """A host's program in a home of its own."""

    def __init__(self, program: str, root: Path, model: Model, **env: str) -> None:
        self.program, self.root, self.model = program, root, model
        self.home, self.work = root / "home", root / "work"
        for folder in (self.home, self.work, root / "tmp"):
            folder.mkdir(parents=True, exist_ok=True)
        node = os.environ.get("SWAPCACHE_NODE") or shutil.which("node") or "/usr/bin/node"
        self.env = {
            "PATH": f"{Path(node).parent}:/usr/local/bin:/usr/bin:/bin",
            "HOME": str(self.home),
            "TMPDIR": str(root / "tmp"),
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
            **env,
        }
        subprocess.run(["git", "init", "-q", "-b", "main", str(self.work)], check=True)

    def begin(self, *arguments: str) -> subprocess.Popen[bytes]:
        """Starts the program in a process session of its own."""
        return subprocess.Popen(
            [self.program, *arguments],
            cwd=self.work,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def turn(self, *arguments: str) -> None:
        """Runs the program to its end."""
        self.begin(*arguments).wait(TURN_S)

    def killed(self, *arguments: str) -> None:
        """SIGKILL while the slow command runs."""
        seen = len(self.model.requests)
        running = self.begin(*arguments)
        wait_for(lambda: len(self.model.requests) > seen, "the killed turn's request", TURN_S)
        wait_for(
            lambda: any(b"select(undef" in c for c in family(running.pid).values()), "the tool"
        )
        time.sleep(1)
        for pid in family(running.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        running.wait()


def family(leader: int) -> dict[int, bytes]:
    """A process and all that it started, with their command lines: tools leave its session."""
    parents, lines = {}, {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                stat = (entry / "stat").read_text(errors="replace").rpartition(")")[2].split()
                parents[int(entry.name)] = int(stat[1])
                lines[int(entry.name)] = (entry / "cmdline").read_bytes()
    found = [leader]
    for pid in found:
        found += [child for child, parent in parents.items() if parent == pid]
    return {pid: lines.get(pid, b"") for pid in found}


def dump(path: Path, tables: tuple[str, ...], blank: tuple[str, ...] = ()) -> str:
    """Schema and rows of some tables as SQL; columns in `blank` are emptied."""
    with contextlib.closing(sqlite3.connect(path)) as db:
        made = []
        for table in tables:
            query = "SELECT sql FROM sqlite_master WHERE tbl_name=? AND sql IS NOT NULL AND type<>"
            made += [f"{sql};" for (sql,) in db.execute(f"{query}'trigger'", (table,))]
        for table in tables:
            columns = [c[1] for c in db.execute(f'PRAGMA table_info("{table}")')]
            keys = [c[1] for c in db.execute(f'PRAGMA table_info("{table}")') if c[5]]
            hidden = (
                "" if columns[:1] == ["id"] and keys == ["id"] and table == "messages" else "rowid"
            )
            names = ", ".join(([hidden] if hidden else []) + [f'"{c}"' for c in columns])
            quoted = ["quote(rowid)"] if hidden else []
            quoted += ["''''''" if c in blank else f'quote("{c}")' for c in columns]
            rows = db.execute(f'SELECT {", ".join(quoted)} FROM "{table}" ORDER BY rowid')
            made += [f'INSERT INTO "{table}" ({names}) VALUES ({",".join(r)});' for r in rows]
    return "\n".join(made) + "\n"


def settled(path: Path) -> Path:
    """The database with what its killed host left in the log beside it."""
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path


@contextlib.contextmanager
def stage(root: Path, script: Script) -> Iterator[tuple[Model, Path]]:
    """A fresh root and a model at work."""
    shutil.rmtree(root, ignore_errors=True)
    with Scripted(placed(script, root / "work")) as model:
        yield model, root


def hermes(root: Path) -> None:
    """Hermes: three turns, a compaction in place, a rewind, a kill in a tool, a turn after it."""
    todo = call(
        "todo",
        todos=[
            {"id": "1", "content": "Write prices.py", "status": "in_progress"},
            {"id": "2", "content": "Migrate the prices", "status": "pending"},
        ],
    )
    script = story("terminal", "write_file", "path", "content", todo)
    with stage(root, script) as (model, _):
        host = Host(os.environ["SWAPCACHE_HERMES"], root, model)
        (host.home / ".hermes").mkdir()
        config = {
            "model": {
                "default": "mock",
                "provider": "custom",
                "base_url": f"{model.url}/v1",
                "api_key": "dummy",
                "context_length": 100000,
            }
        }
        (host.home / ".hermes/config.yaml").write_text(json.dumps(config))  # JSON is YAML
        more = ("chat", "-Q", "--yolo", "--continue", "-q")
        host.turn("chat", "-Q", "--yolo", "-q", LIST)
        host.turn(*more, PLAN)
        host.turn(*more, FAIL)
        host.turn(*more, MORE)
        model.tokens = 90000
        host.turn(*more, COMPACTED)  # the host compacts within this turn
        model.tokens = 1000
        host.turn(*more, COMPACT)
        host.killed(*more, KILLED)
        database = host.home / ".hermes/state.db"
        _write("hermes/recorded", database, ("sessions", "messages", "schema_version"))
        host.turn(*more, AFTER)
        _write("hermes/after", database, ("sessions", "messages", "schema_version"))


def opencode(root: Path) -> None:
    """OpenCode: three turns, a compaction, a kill in a tool; then a turn after it."""
    todo = call(
        "todowrite",
        todos=[
            {"content": "Write prices.py", "status": "in_progress", "priority": "high"},
            {"content": "Migrate the prices", "status": "pending", "priority": "high"},
        ],
    )
    script = story("bash", "write", "filePath", "content", todo)
    with stage(root, script) as (model, _):
        off = {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1"}
        host = Host(os.environ["SWAPCACHE_OPENCODE"], root, model, **off)
        limits = {"context": 100000, "output": 4000}
        config = {
            "model": "mock/mock",
            "small_model": "mock/mock",
            "autoupdate": False,
            "share": "disabled",
            "permission": {"bash": "allow", "edit": "allow"},
            "provider": {
                "mock": {
                    "npm": "@ai-sdk/openai-compatible",
                    "name": "mock",
                    "options": {"baseURL": f"{model.url}/v1", "apiKey": "dummy"},
                    "models": {"mock": {"name": "mock", "limit": limits}},
                }
            },
        }
        place = host.home / ".config/opencode/opencode.json"
        place.parent.mkdir(parents=True)
        place.write_text(json.dumps(config))
        host.turn("run", LIST)
        host.turn("run", "-c", PLAN)
        host.turn("run", "-c", FAIL)
        database = host.home / ".local/share/opencode/opencode.db"
        _summarized(host, _only(database, "SELECT id FROM session"))
        host.turn("run", "-c", COMPACT)
        host.killed("run", "-c", KILLED)
        tables = ("session", "message", "part", "todo")
        _write("opencode/recorded", database, tables)
        host.turn("run", "-c", AFTER)
        _write("opencode/after", database, tables)


def _only(database: Path, query: str) -> str:
    with contextlib.closing(sqlite3.connect(database)) as db:
        return str(db.execute(query).fetchone()[0])


def _summarized(host: Host, session: str) -> None:
    """The host's own compaction, asked for over its server's door."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = host.begin("serve", "--port", str(port), "--hostname", "127.0.0.1")
    url = f"http://127.0.0.1:{port}/session/{session}/summarize"
    body = json.dumps({"providerID": "mock", "modelID": "mock"}).encode()
    asked = urllib.request.Request(url, body, {"content-type": "application/json"})

    def done() -> bool:
        try:
            with urllib.request.urlopen(asked, timeout=30) as answer:
                return bool(answer.read())
        except (urllib.error.URLError, TimeoutError):
            return False  # the server is not up yet

    try:
        wait_for(done, "the compaction")
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(20)


def _write(name: str, database: Path, tables: tuple[str, ...]) -> None:
    place = DATABASES / f"{name}.sql"
    place.parent.mkdir(parents=True, exist_ok=True)
    settled(database)
    text = dump(database, tables, ("system_prompt", "billing_base_url", "entry_json"))
    place.write_text(text)
    print(f"{name}: {text.count('INSERT INTO')} rows, {len(text)} characters")


GATEWAY_TABLES = (
    "transcript_events",
    "transcript_event_identities",
    "transcript_rewrite_watermarks",
    "session_windows",
    "session_nodes",
    "session_transcript_archives",
)


def openclaw(root: Path) -> None:
    """OpenClaw of the SQLite era: a turn with a large result, a kill in a tool; then the session
    is deleted, which leaves an archive. Of the file era: a reset and a deleted session's files."""
    places = Path(os.environ["SWAPCACHE_OPENCLAW"])
    node = os.environ["SWAPCACHE_NODE"]
    script = story("exec", "write", "path", "content", None)
    script[LIST] = [[say("I look."), call("exec", command="seq 1 3000")], [say("Many.")]]
    with stage(root, script) as (model, _):
        host = OpenClaw(places / "openclaw-2026.9.6", node, root, model)
        host.prepare()
        host.start()
        for words in (LIST, PLAN, FAIL):
            host.turn(words)
        host.begin(KILLED)
        wait_for(lambda: _slow(host), "the slow command")
        time.sleep(1)
        host.kill()
        database = host.state / "agents/main/agent/openclaw-agent.sqlite"
        _write("openclaw/recorded", database, GATEWAY_TABLES)
        host.start()
        host.call("sessions.reset", key="agent:main:main", reason="new")
        host.turn(AFTER)
        host.turn(COMPACT, key="agent:main:other")
        host.call("sessions.delete", key="agent:main:other", deleteTranscript=True)
        host.stop()
        _write("openclaw/archived", database, GATEWAY_TABLES)
        _moved_aside(host, "9.6")
    with stage(root, story("exec", "write", "path", "content", None)) as (model, _):
        host = OpenClaw(places / "openclaw-2026.5.28", node, root, model)
        host.prepare()
        host.start()
        host.turn(LIST)
        host.turn(COMPACT, key="agent:main:other")
        host.call("sessions.delete", key="agent:main:other", deleteTranscript=True)
        host.reset("new")
        host.turn(AFTER)
        host.stop()
        _moved_aside(host, "5.28")


def _slow(host: OpenClaw) -> bool:
    gateway = host.gateway
    return gateway is not None and any(b"select(undef" in c for c in family(gateway.pid).values())


def _moved_aside(host: OpenClaw, era: str) -> None:
    """Keeps what the host's directory of sessions holds."""
    folder = DATABASES.parent / "transcripts" / f"openclaw-{era}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for path in sorted((host.state / "agents/main/sessions").iterdir()):
        if ".jsonl" in path.name and "trajectory" not in path.name and ".lock" not in path.name:
            shutil.copy(path, folder / path.name)
            print(f"{era}: {path.name}, {path.stat().st_size} bytes")


COPILOT_LEFT_OUT = ("system.message", "model.")


def copilot(root: Path) -> None:
    """Copilot CLI: three turns, a compaction, a kill in a tool; then a turn after it."""
    script = story("bash", "create", "path", "file_text", None)
    with stage(root, script) as (model, _):
        own = {
            "COPILOT_OFFLINE": "true",
            "COPILOT_PROVIDER_BASE_URL": f"{model.url}/v1",
            "COPILOT_PROVIDER_API_KEY": "dummy",
            "COPILOT_MODEL": "mock",
        }
        host = Host(os.environ["SWAPCACHE_COPILOT"], root, model, **own)
        more = ("--allow-all-tools", "--continue", "-p")
        host.turn("--allow-all-tools", "-p", LIST)
        host.turn(*more, PLAN)
        host.turn(*more, FAIL)
        host.turn(*more, "/compact")
        host.turn(*more, COMPACT)
        host.killed(*more, KILLED)
        rows = next(host.home.glob(".copilot/session-state/*/events.jsonl"))
        _keep(rows, READERS / "copilot/killed.jsonl")
        host.turn(*more, AFTER)
        _keep(rows, DATABASES.parent / "transcripts/copilot-after.jsonl")


def _keep(rows: Path, place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    all_rows = rows.read_bytes().splitlines(keepends=True)
    kept = [r for r in all_rows if not json.loads(r)["type"].startswith(COPILOT_LEFT_OUT)]
    place.write_bytes(b"".join(kept))
    print(f"{place.name}: {len(kept)} of {len(all_rows)} rows kept")


def main() -> None:
    """Records what is named, else all."""
    known = {"hermes": hermes, "opencode": opencode, "copilot": copilot, "openclaw": openclaw}
    for name in sys.argv[2:] or known:
        known[name](Path(sys.argv[1]))


if __name__ == "__main__":
    main()
