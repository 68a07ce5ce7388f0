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


class Pi:
    """A transcript of the pi family (pi, OpenClaw) under construction; every method adds rows."""

    def __init__(self, path: Path, session: str = "s1", cwd: str = "/srv/p") -> None:
        self.path = path
        self.count = 0
        self.row(type="session", version=3, id=session, cwd=cwd)

    def row(self, **value: Any) -> None:
        """A row as it is."""
        stamp = f"2026-11-30T12:{self.count // 60 % 60:02d}:{self.count % 60:02d}.000Z"
        with self.path.open("ab") as file:
            file.write(
                json.dumps({"timestamp": stamp} | value, ensure_ascii=False).encode() + b"\n"
            )
        self.count += 1

    def _message(self, role: str, content: Any, **inner: Any) -> None:
        message = {"role": role, "content": content} | inner
        self.row(type="message", id=f"m{self.count}", message=message)

    def user(self, text: str, **inner: Any) -> None:
        """A prompt."""
        self._message("user", text, **inner)

    def say(self, text: str, **inner: Any) -> None:
        """An answer in words."""
        self._message("assistant", [{"type": "text", "text": text}], stopReason="stop", **inner)

    def call(self, key: str, name: str, **given: Any) -> None:
        """A tool call."""
        self.calls([{"type": "toolCall", "id": key, "name": name, "arguments": given}])

    def calls(self, blocks: list[dict[str, Any]], **inner: Any) -> None:
        """An assistant message of these blocks."""
        self._message("assistant", blocks, stopReason="toolUse", **inner)

    def result(self, key: str, text: str, error: bool = False, **inner: Any) -> None:
        """A tool's result."""
        content = [{"type": "text", "text": text}]
        self._message("toolResult", content, toolCallId=key, isError=error, **inner)
