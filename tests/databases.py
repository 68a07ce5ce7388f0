"""Hosts' databases for tests: the recorded ones as files, and rows as hosts write them."""

from __future__ import annotations

import json
import re
import sqlite3
from pathlib import Path
from typing import Any

from swapcache.model import Row, Source
from swapcache.transcripts import databases

RECORDED = Path(__file__).parent / "conformance/databases"
HOSTS = ("hermes", "opencode", "openclaw")


def _octets(value: object) -> int:
    return len(value if isinstance(value, bytes) else str(value).encode())


def connect(path: Path) -> sqlite3.Connection:
    """A writer's connection, with what newer versions of SQLite know."""
    db = sqlite3.connect(path, isolation_level=None)
    db.create_function("octet_length", 1, _octets, deterministic=True)
    db.execute("PRAGMA ignore_check_constraints=1")
    return db


def build(path: Path, host: str, name: str = "recorded", *, loose: bool = False) -> Path:
    """A recorded database as a file; `loose` without the rules that forbid what damage leaves."""
    text = (RECORDED / host / f"{name}.sql").read_text()
    schema, insert, rows = text.partition("INSERT INTO")
    if loose:
        schema = re.sub(r"(?<!IS )NOT NULL", "", schema.replace(" STRICT;", ";"))
    text = schema + insert + rows
    db = connect(path)
    db.executescript(f"PRAGMA page_size=1024; BEGIN; {text} COMMIT;")
    db.close()
    return path


def session_of(path: Path) -> str:
    """The path of a database's newest session, as a source's."""
    _, found = databases.candidates(str(path))
    return next(c.path for c in found if c.state == "live")


def fresh(path: str) -> Source:
    """A source of which nothing was read."""
    return Source(1, 1, path, 0, 0, "", "", "")


def rows_of(path: str, limit: int = 1 << 40) -> list[Row]:
    """All rows of a session."""
    source, rows, more = fresh(path), list[Row](), True
    while more:
        found = databases.read(source, limit)
        rows += found.rows
        source, more = found.source, found.more
    return rows


class OpenCode:
    """An OpenCode at work: inserts and updates as the host does."""

    def __init__(self, path: Path, session: str = "ses_1") -> None:
        self.path, self.session, self.clock = path, session, 1_796_000_000_000
        self.db = connect(path)
        text = (RECORDED / "opencode/recorded.sql").read_text()
        schema = text.partition("INSERT INTO")[0]
        self.db.executescript(f"PRAGMA journal_mode=WAL; {schema}")
        self.begin(session)

    def begin(self, session: str, parent: str | None = None) -> None:
        """One more session."""
        self.db.execute(
            "INSERT INTO session(id, project_id, parent_id, slug, directory, title, version,"
            " time_created, time_updated) VALUES (?,'global',?,'s','/srv/p','A title','1.18',?,?)",
            (session, parent, self.tick(), self.clock),
        )

    def tick(self) -> int:
        """The next time."""
        self.clock += 1000
        return self.clock

    def message(self, name: str, role: str, **data: Any) -> str:
        """One more message."""
        when = self.tick()
        given = {"role": role, "time": {"created": when}, **data}
        row = (name, self.session, when, when, json.dumps(given))
        self.db.execute("INSERT INTO message VALUES (?,?,?,?,?)", row)
        return name

    def part(self, name: str, message: str, **data: Any) -> str:
        """One more part of a message."""
        when = self.tick()
        row = (name, message, self.session, when, when, json.dumps(data))
        self.db.execute("INSERT INTO part VALUES (?,?,?,?,?,?)", row)
        return name

    def change(self, table: str, name: str, **data: Any) -> None:
        """Changes a row in place."""
        (old,) = self.db.execute(f"SELECT data FROM {table} WHERE id=?", (name,)).fetchone()
        new = json.dumps({**json.loads(old), **data})
        query = f"UPDATE {table} SET data=?, time_updated=? WHERE id=?"
        self.db.execute(query, (new, self.tick(), name))

    def prompt(self, name: str, text: str) -> str:
        """A person's prompt."""
        message = self.message(f"msg_{name}", "user", agent="build")
        self.part(f"prt_{name}_1", message, type="text", text=text)
        return message

    def answer(self, name: str, text: str) -> str:
        """A finished answer in words."""
        message = self.message(f"msg_{name}", "assistant", path={"cwd": "/srv/p"})
        self.part(f"prt_{name}_1", message, type="step-start")
        times = {"start": self.clock, "end": self.clock}
        self.part(f"prt_{name}_2", message, type="text", text=text, time=times)
        self.complete(message)
        return message

    def complete(self, message: str) -> None:
        """Ends an assistant's message."""
        times = {"created": self.clock, "completed": self.clock + 1}
        self.change("message", message, time=times, finish="stop")


class Hermes:
    """A Hermes at work."""

    SESSION = "20261130_120000_abcdef"

    def __init__(self, path: Path, session: str = SESSION) -> None:
        self.path, self.session, self.clock = path, session, 1_796_000_000.25
        self.db = connect(path)
        text = (RECORDED / "hermes/recorded.sql").read_text()
        self.db.executescript(f"PRAGMA journal_mode=WAL; {text.partition('INSERT INTO')[0]}")
        self.begin(session)

    def begin(self, session: str, **columns: Any) -> None:
        """One more session."""
        given = {"id": session, "source": "cli", "started_at": self.tick(), "cwd": "/srv/p"}
        self._insert("sessions", {**given, **columns})

    def _insert(self, table: str, columns: dict[str, Any]) -> int:
        names, marks = ",".join(columns), ",".join("?" * len(columns))
        query = f"INSERT INTO {table}({names}) VALUES ({marks})"
        return int(self.db.execute(query, tuple(columns.values())).lastrowid or 0)

    def tick(self) -> float:
        """The next time."""
        self.clock += 1
        return self.clock

    def add(self, role: str, content: Any = None, **columns: Any) -> int:
        """One more message; gives its id."""
        given = {"session_id": self.session, "role": role, "content": content}
        return self._insert("messages", {**given, "timestamp": self.tick(), **columns})

    def call(self, key: str, name: str, **arguments: Any) -> int:
        """A tool call."""
        function = {"name": name, "arguments": json.dumps(arguments)}
        calls = [{"id": key, "type": "function", "function": function}]
        return self.add("assistant", "", tool_calls=json.dumps(calls), finish_reason="tool_calls")

    def result(self, key: str, content: str, **columns: Any) -> int:
        """A tool's result."""
        return self.add("tool", content, tool_call_id=key, **columns)

    def compact(self, kept: list[int], summary: str) -> None:
        """Puts a summary and copies of some rows in the place of all that were active."""
        self.db.execute("UPDATE messages SET active=0, compacted=1 WHERE active=1")
        self.add("user", f"[CONTEXT COMPACTION — REFERENCE ONLY] {summary}")
        for number in kept:
            columns = "session_id, role, content, tool_call_id, tool_calls, tool_name, timestamp"
            self.db.execute(
                f"INSERT INTO messages({columns}) SELECT {columns} FROM messages WHERE id=?",
                (number,),
            )
