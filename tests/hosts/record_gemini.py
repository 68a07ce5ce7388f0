"""Records Gemini CLI transcripts for the kit, by running the real host.

    SWAPCACHE_GEMINI=/path/to/gemini python -m tests.hosts.record_gemini ROOT

See recording.py about ROOT. Cut: nothing, there are no prompts of the host's own in its rows.
"""

import sys
from pathlib import Path
from typing import Any

from swapcache.drill.model import Script, call, say
from tests.hosts.dialects import Dialects, report, think
from tests.hosts.recording import KNOWN, Host, Row, Terminal, program, rows, save

CHATS = ".gemini/tmp/*/chats/*.jsonl"
TODOS = [
    {"description": "Read the old prices", "status": "completed"},
    {"description": "Migrate the prices", "status": "in_progress"},
    {"description": "Tell the shop", "status": "pending"},
]
FIRST = "Move all prices to net, ticket SHOP-7. Make a plan first."
SECOND = "Which table is the biggest?"
THIRD = "Now run the migration."
FOURTH = "What happened to the migration?"
SUMMARY = (
    "<state_snapshot>\nPrices go net for SHOP-7; prices.py holds the factor.\n</state_snapshot>"
)


def shell(line: str) -> dict[str, Any]:
    """A shell call."""
    return call("run_shell_command", command=line, description="Run it")


SCRIPT: Script = {
    "SHOP-7": [
        [
            think("Three steps."),
            say("I start with a plan."),
            call("write_todos", todos=TODOS),
            shell("cat prices/old.csv"),
        ],
        [call("write_file", file_path="prices.py", content="FACTOR = 1.19\n")],
        [say("The factor is in prices.py. Shall old invoices stay as they are?")],
    ],
    "biggest": [
        [report(900_000), shell("ls tools")],
        [say("The table order_lines, with 2,400,000 rows.")],
    ],
    "state_snapshot": [[say(SUMMARY)]] * 2,
    "run the migration": [[say("I run it."), shell("./tools/migrate.sh 100 order_lines")]],
    "happened": [[say("It was cut off; I check the table first.")]],
}


def host(root: Path, model: Dialects) -> Host:
    """The host, configured for the scripted model, with a hook that adds a block of ours."""
    settings = {
        "GEMINI_API_KEY": "dummy",
        "GOOGLE_GEMINI_BASE_URL": model.url,
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
    }
    made = Host([program("SWAPCACHE_GEMINI"), "--approval-mode", "yolo"], root, settings)
    made.prepare()
    made.hooked(
        ".gemini",
        "BeforeAgent",
        {
            "security": {"auth": {"selectedType": "gemini-api-key"}},
            "general": {"sessionRetention": {"enabled": False}, "enableAutoUpdate": False},
            "privacy": {"usageStatisticsEnabled": False},
            "telemetry": {"enabled": False},
            "model": {"name": "gemini-2.5-pro"},
        },
    )
    return made


def newest(gemini: Host) -> list[Row]:
    """The transcript that holds the most."""
    return rows(max(gemini.transcripts(CHATS), key=lambda path: path.stat().st_size))


def went_back(gemini: Host) -> list[Row]:
    """Three requests; the person goes back behind the second; a fourth one follows."""

    def script(terminal: Terminal) -> None:
        terminal.watch(15, "Type your message")
        for text in ("Paint the shed.", "Paint it red.", "Add a second coat of red."):
            terminal.press(text)
            terminal.press("\r", 4)
        terminal.press("/rewind")
        terminal.press("\r", 3)
        for _ in range(2):
            terminal.press("\x1b[A")
        terminal.press("\r", 3)
        terminal.press("\r", 3)
        terminal.press("\x15")
        terminal.press("Paint it green.")
        terminal.press("\r", 4)
        (gemini.root / "screen.txt").write_text(terminal.screen)

    gemini.typed(script)
    return newest(gemini)


def main() -> None:
    """Records what this program writes."""
    root = Path(sys.argv[1])
    with Dialects(SCRIPT) as model:
        gemini = host(root, model)
        gemini.run("-p", FIRST)
        gemini.run("--resume", "latest", "-p", SECOND)
        gemini.kill_in_tool("--resume", "latest", "-p", THIRD)
        gemini.run("--resume", "latest", "-p", FOURTH)
        found = newest(gemini)
        common = {"host": "gemini", "format": "gemini"}
        save(
            "readers/gemini",
            [found],
            **common,
            recorded_with=f"Gemini CLI {gemini.version()}, killed in a tool call, resumed",
            stream=found[0]["sessionId"],
            messages=11,
            known=KNOWN,
            last_request=FOURTH,
            open_call=None,
        )
        for path in gemini.transcripts(CHATS):
            path.unlink()
        found = went_back(gemini)
        save(
            "branches/gemini",
            [found],
            **common,
            recorded_with=f"Gemini CLI {gemini.version()}, rewound",
            stream=found[0]["sessionId"],
            asked=["Paint the shed.", "Paint it green."],
            left=4,
        )


if __name__ == "__main__":
    main()
