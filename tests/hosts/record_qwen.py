"""Records Qwen Code transcripts for the kit, by running the real host.

    SWAPCACHE_QWEN=/path/to/qwen python -m tests.hosts.record_qwen ROOT

See recording.py about ROOT. Cut: the history that a compression row repeats, after its summary.
"""

import sys
import time
from pathlib import Path
from typing import Any

from swapcache.drill.model import Script, call, say
from tests.hosts.dialects import Dialects, fail
from tests.hosts.recording import KNOWN, Host, Row, Talk, program, rows, save

CHATS = ".qwen/projects/*/chats/*.jsonl"
TODOS = [
    {"id": "1", "content": "Read the old prices", "status": "completed"},
    {"id": "2", "content": "Migrate the prices", "status": "in_progress"},
    {"id": "3", "content": "Tell the shop", "status": "pending"},
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
    return call("run_shell_command", command=line, description="Run it", is_background=False)


SCRIPT: Script = {
    "SHOP-7": [
        [
            say("I start with a plan."),
            call("todo_write", todos=TODOS),
            shell("cat prices/old.csv || (sleep 1; exit 1)"),
        ],
        [call("write_file", file_path="{project}/prices.py", content="FACTOR = 1.19\n")],
        [say("The factor is in prices.py. Shall old invoices stay as they are?")],
    ],
    "biggest": [[say("The table order_lines, with 2,400,000 rows.")]],
    "state_snapshot": [[say(SUMMARY)]] * 2,
    "run the migration": [[say("I run it."), shell("./tools/migrate.sh 100 order_lines")]],
    "happened": [[say("It was cut off; I check the table first.")]],
    "unreachable": [[fail(400)]],
    "Paint it green": [[say("It is green.")]] * 2,
    "nails": [[shell("./tools/migrate.sh 20 nails")], [say("There are 314 nails.")]],
}


def host(root: Path, model: Dialects) -> Host:
    """The host, configured for the scripted model, with a hook that adds a block of ours."""
    settings = {
        "OPENAI_API_KEY": "dummy",
        "OPENAI_BASE_URL": f"{model.url}/v1",
        "OPENAI_MODEL": "scripted",
    }
    made = Host([program("SWAPCACHE_QWEN"), "--approval-mode", "yolo"], root, settings)
    made.prepare()
    made.hooked(
        ".qwen",
        "UserPromptSubmit",
        {
            "security": {"auth": {"selectedType": "openai"}},
            "privacy": {"usageStatisticsEnabled": False},
            "model": {"name": "scripted"},
            "tools": {"todoWrite": {"enabled": True}},
            "general": {"disableAutoUpdate": True},
        },
    )
    return made


def went_back(qwen: Host) -> list[Row]:
    """Three requests; the person goes back behind the second; a fourth one follows."""
    agent = Talk(qwen, "--acp", jsonrpc="2.0")
    agent.ask("initialize", protocolVersion=1, clientCapabilities={})
    session = agent.ask("session/new", cwd=str(qwen.project), mcpServers=[])["sessionId"]

    def turn(text: str) -> None:
        agent.ask("session/prompt", sessionId=session, prompt=[{"type": "text", "text": text}])

    for text in ("Paint the shed.", "Paint it red.", "Add a second coat of red."):
        turn(text)
    agent.ask("rewindSession", sessionId=session, targetTurnIndex=1)
    turn("Paint it green.")
    time.sleep(1)
    agent.end()
    return rows(qwen.transcripts(CHATS)[-1])


def outlived(qwen: Host) -> list[Row]:
    """The launcher is killed; its child ends its turn while the resumed session asks another."""
    qwen.run("-p", "Paint the shed.")
    qwen.kill_in_tool("-c", "-p", "Count the nails.", orphans=True)
    qwen.run("-c", "-p", "Paint it green.")
    time.sleep(25)
    return rows(qwen.transcripts(CHATS)[-1])


def neutral(given: list[Row]) -> list[Row]:
    """Rows without what a compression repeats."""
    for row in given:
        if row.get("subtype") == "chat_compression":
            history = row["systemPayload"]["compressedHistory"]
            row["systemPayload"]["compressedHistory"] = history[:2]
    return given


def main() -> None:
    """Records what this program writes."""
    root = Path(sys.argv[1])
    with Dialects(SCRIPT) as model:
        qwen = host(root, model)
        written = SCRIPT["SHOP-7"][1][0]["input"]
        written["file_path"] = written["file_path"].format(project=qwen.project)
        qwen.run("-p", FIRST)
        qwen.run("-c", "-p", SECOND)
        qwen.run("-c", "-p", "/compress")
        qwen.kill_in_tool("-c", "-p", THIRD)
        qwen.run("-c", "-p", "Are you unreachable?")
        qwen.run("-c", "-p", FOURTH)
        found = neutral(rows(qwen.transcripts(CHATS)[-1]))
        common = {"host": "qwen", "format": "qwen"}
        save(
            "readers/qwen",
            [found],
            **common,
            recorded_with=f"Qwen Code {qwen.version()}, killed in a tool call, resumed",
            stream=found[0]["sessionId"],
            messages=11,
            known=KNOWN,
            last_request=FOURTH,
            open_call="tools/migrate.sh",
        )
        for name, how, asked, left in (
            ("qwen-rewound", went_back, ["Paint the shed.", "Paint it green."], 4),
            (
                "qwen-outlived",
                outlived,
                ["Paint the shed.", "Count the nails.", "Paint it green."],
                1,
            ),
        ):
            for path in qwen.transcripts(CHATS):
                path.unlink()
            found = how(qwen)
            save(
                f"branches/{name}",
                [found],
                **common,
                recorded_with=f"Qwen Code {qwen.version()}",
                stream=found[0]["sessionId"],
                asked=asked,
                left=left,
            )


if __name__ == "__main__":
    main()
