"""Plays a recorded session through the hook, as a host would, until it is told to die.

    python -m swapcache.drill.play SESSION STOP TRANSCRIPT SESSION_ID PROJECT

Owns the order of events: a prompt's event comes before its row, a tool's before its result's row,
as measured on the real host. Promises to call the very launcher that hosts call. After row STOP
it says so on standard output and waits for its SIGKILL.
"""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from swapcache import paths
from swapcache.hosts import claude_code
from swapcache.model import Message, Row
from swapcache.transcripts import formats, lines


def load(session: Path) -> tuple[list[Row], list[Message | None]]:
    """Rows and messages of a recorded session. Raises SourceError, FormatError."""
    from swapcache.store import files

    file = files.open_regular(str(session))
    try:
        rows: list[Row] = []
        start, more = 0, True
        while more:
            found, start, _, more = lines.read(file, start, 16 << 20)
            rows += found
    finally:
        os.close(file)
    reader = formats.sniff(rows, str(session))
    return rows, [reader.message(r.value) if r.value is not None else None for r in rows]


def call_hook(event: str, payload: dict[str, object], project: str) -> bytes:
    """One event through the launcher. Gives what the host would read."""
    env = dict(os.environ, CLAUDE_PROJECT_DIR=project)
    given = payload | {"hook_event_name": event, "cwd": project}
    run = [paths.launcher(), claude_code.NAME, event]
    done = subprocess.run(  # noqa: S603
        run, input=json.dumps(given).encode(), env=env, cwd=project, capture_output=True, check=True
    )
    return done.stdout


def play(session: Path, stop: int, transcript: Path, session_id: str, project: str) -> None:
    """Plays rows 1 to `stop`."""
    rows, messages = load(session)
    payload: dict[str, object] = {"session_id": session_id, "transcript_path": str(transcript)}
    call_hook("SessionStart", payload | {"source": "startup"}, project)
    with transcript.open("ab") as file:
        for number, (row, message) in enumerate(zip(rows, messages, strict=True), 1):
            if message is not None and not message.sidechain:
                _before(message, payload, project)
            file.write(row.raw)
            file.flush()
            if number == stop:
                return
            if message is not None and _ends_turn(number, messages):
                call_hook("Stop", payload, project)


def _before(message: Message, payload: dict[str, object], project: str) -> None:
    if message.kind in ("request", "command"):
        call_hook("UserPromptSubmit", payload | {"prompt": message.text}, project)
    for result in message.results:
        given = {"tool_use_id": result.id, "tool_response": result.text, "tool_name": ""}
        event = "PostToolUseFailure" if result.error else "PostToolUse"
        call_hook(event, payload | given, project)


def _ends_turn(number: int, messages: list[Message | None]) -> bool:
    """An answer without calls that is followed by a prompt or by nothing."""
    message = messages[number - 1]
    if message is None or message.kind != "reply" or message.calls or message.sidechain:
        return False
    following = next((m for m in messages[number:] if m is not None), None)
    return following is None or following.kind in ("request", "command")


def main() -> None:
    """See the module's head."""
    session, stop, transcript, session_id, project = sys.argv[1:]
    play(Path(session), int(stop), Path(transcript), session_id, project)
    sys.stdout.write(f"at {stop}\n")
    sys.stdout.flush()
    while True:
        signal.pause()


if __name__ == "__main__":
    main()
