"""Writes transcripts as hosts do, row by row; for tests."""

import json
from pathlib import Path
from typing import Any


class Claude:
    """A Claude Code transcript under construction; every method adds rows."""

    def __init__(self, path: Path, session: str = "s1", cwd: str = "/srv/p") -> None:
        self.path = path
        self.session = session
        self.cwd = cwd
        self.count = 0
        path.touch()

    def _add(self, kind: str, message: dict[str, Any], **more: Any) -> None:
        self.count += 1
        row = {
            "parentUuid": f"{self.session}-{self.count - 1}" if self.count > 1 else None,
            "isSidechain": False,
            "type": kind,
            "message": message,
            "uuid": f"{self.session}-{self.count}",
            "timestamp": f"2026-11-30T12:{self.count // 60 % 60:02d}:{self.count % 60:02d}.000Z",
            "sessionId": self.session,
            "cwd": self.cwd,
        } | more
        with self.path.open("ab") as file:
            file.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")

    def user(self, text: str, **more: Any) -> None:
        """A prompt."""
        self._add("user", {"role": "user", "content": text}, **more)

    def say(self, text: str, **more: Any) -> None:
        """An answer in words."""
        self._add(
            "assistant", {"role": "assistant", "content": [{"type": "text", "text": text}]}, **more
        )

    def call(self, key: str, name: str, **given: Any) -> None:
        """A tool call."""
        block = {"type": "tool_use", "id": key, "name": name, "input": given}
        self._add("assistant", {"role": "assistant", "content": [block]})

    def result(self, key: str, text: str, error: bool = False) -> None:
        """A tool's result."""
        block = {"type": "tool_result", "tool_use_id": key, "content": text, "is_error": error}
        self._add("user", {"role": "user", "content": [block]})

    def raw(self, data: bytes) -> None:
        """Bytes as they are."""
        with self.path.open("ab") as file:
            file.write(data)
