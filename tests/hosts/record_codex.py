"""Records Codex rollouts for the kit, by running the real host, in its three generations.

    SWAPCACHE_CODEX=/path/to/codex python -m tests.hosts.record_codex ROOT

One program records the generation that it writes: 0.25 bare items, 0.116 items in envelopes and a
rollback, 0.171 paginated items and a revert. See recording.py about ROOT. Cut: the host's
instructions, its lists of skills and permissions, the rows that repeat its settings.
"""

import json
import sys
from pathlib import Path
from typing import Any

from swapcache.drill.model import Script, call, say
from tests.hosts.dialects import Dialects, fail, report, think
from tests.hosts.recording import BLOCK, KNOWN, Host, Row, Talk, program, rows, save

CONFIG = """model = "gpt-5.5"
model_provider = "scripted"
[model_providers.scripted]
name = "scripted"
base_url = "{url}/v1"
env_key = "OPENAI_API_KEY"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
[projects."{project}"]
trust_level = "trusted"
"""
STEPS = [
    {"step": "Read the old prices", "status": "completed"},
    {"step": "Migrate the prices", "status": "in_progress"},
    {"step": "Tell the shop", "status": "pending"},
]
PATCH = """*** Begin Patch
*** Add File: prices.py
+FACTOR = 1.19
*** Add File: docs/prices.md
+Prices are stored net.
*** End Patch"""
FIRST = "Move all prices to net, ticket SHOP-7. Make a plan first."
SECOND = "Which table is the biggest?"
THIRD = "Now run the migration."
FOURTH = "What happened to the migration?"
SESSIONS = ".codex/sessions/**/*.jsonl"
CUT = ("world_state", "turn_context", "token_usage_record")
CUT_EVENTS = ("token_count", "thread_settings_applied")


def script(number: str) -> Script:
    """What the model says; tools have other names from generation to generation."""
    old = minor(number) < 31

    def shell(line: str) -> dict[str, Any]:
        if old:
            return call("shell", command=["bash", "-lc", line])
        return call("exec_command", cmd=line)

    patch = call("apply_patch", input=PATCH)
    if minor(number) < 150:
        patch = shell(f"apply_patch <<'EOF'\n{PATCH}\nEOF")
    migrate = [
        shell("git log --oneline -1 || echo no commit yet"),
        shell("./tools/migrate.sh 100 order_lines"),
    ]
    if old:
        migrate = migrate[1:]
    return {
        "SHOP-7": [
            [
                think("Three steps."),
                say("I start with a plan."),
                call("update_plan", explanation="Three steps", plan=STEPS),
            ],
            [shell("cat prices/old.csv")],
            [patch],
            migrate if old else [say("The factor is in prices.py. Shall old invoices stay?")],
        ],
        "biggest": [[report(9000), say("The table order_lines, with 2,400,000 rows.")]],
        "CONTEXT CHECKPOINT": [[say("Prices go net for SHOP-7; prices.py holds the factor.")]] * 3,
        "run the migration": [migrate],
        "happened": [[say("It was cut off; I check the table first.")]],
        "unreachable": [[fail(400)]],
    }


def host(root: Path, model: Dialects) -> Host:
    """The host, configured for the scripted model, with a hook that adds a block of ours."""
    made = Host([program("SWAPCACHE_CODEX")], root, {"OPENAI_API_KEY": "dummy"})
    made.prepare()
    folder = made.home / ".codex"
    folder.mkdir()
    (folder / "config.toml").write_text(CONFIG.format(url=model.url, project=made.project))
    block = root / "block.txt"
    block.write_text(BLOCK)
    hook = {"hooks": [{"type": "command", "timeout": 5, "command": f"cat {block}"}]}
    (folder / "hooks.json").write_text(json.dumps({"hooks": {"SessionStart": [hook]}}))
    return made


def minor(number: str) -> int:
    """25 of 0.25.0."""
    return int(number.split(".")[1])


def played(codex: Host, number: str) -> list[Row]:
    """Plan, failure, patch, compaction, kill in a tool, a failed turn, one more."""
    options = ["exec", "--skip-git-repo-check"]
    if minor(number) < 31:  # it cannot resume in this mode
        codex.kill_in_tool(*options, "--dangerously-bypass-approvals-and-sandbox", FIRST)
        return rows(codex.transcripts(SESSIONS)[-1])
    if minor(number) > 150:
        options += ["--dangerously-bypass-hook-trust", "-c", "tools.update_plan.enabled=true"]
    limit = ["-c", "model_auto_compact_token_limit=5000"]
    codex.run(*options, FIRST)
    codex.run(*options, *limit, "resume", "--last", SECOND)
    codex.kill_in_tool(*options, *limit, "resume", "--last", THIRD)
    codex.run(*options, "resume", "--last", "Are you unreachable?")
    codex.run(*options, "resume", "--last", FOURTH)
    return rows(codex.transcripts(SESSIONS)[-1])


def went_back(codex: Host, number: str) -> list[list[Row]]:
    """Three requests; the host goes back behind the second; a fourth one follows."""
    server = Talk(codex, "app-server")
    ask = server.ask
    client = {"name": "recorder", "version": "1"}
    ask("initialize", clientInfo=client, capabilities={"experimentalApi": True})
    server.tell(method="initialized")
    begun = ask("thread/start", cwd=str(codex.project), approvalPolicy="never")
    thread = begun["thread"]["id"]

    def turn(text: str) -> None:
        ask("turn/start", threadId=thread, input=[{"type": "text", "text": text}])
        server.wait("turn/completed")

    for text in ("Paint the shed.", "Paint it red.", "Add a second coat of red."):
        turn(text)
    if minor(number) < 150:
        ask("thread/rollback", threadId=thread, numTurns=2)
    else:
        turns = ask("thread/turns/list", threadId=thread)["data"]
        ask("thread/revert", threadId=thread, beforeTurnId=turns[1]["id"])
    turn("Paint it green.")
    server.end()
    return [rows(path) for path in codex.transcripts(SESSIONS)]


def neutral(given: list[Row]) -> list[Row]:
    """Rows without the host's own texts."""
    kept = []
    for row in given:
        inner = row.get("payload", {})
        if row.get("type") in CUT or inner.get("type") in CUT_EVENTS:
            continue
        inner.pop("base_instructions", None)
        if inner.get("role") == "developer" and "SWAPCACHE" not in json.dumps(inner):
            for part in inner["content"]:
                part["text"] = "(the host's own)"
        if row.get("type") == "compacted":
            inner.pop("latest_token_usage_record", None)
            inner.pop("replacement_history_metadata", None)
            inner["replacement_history"] = inner.get("replacement_history", [])[:1]
        kept.append(row)
    return kept


def main() -> None:
    """Records what this program writes."""
    root = Path(sys.argv[1])
    with Dialects({}) as model:
        codex = host(root, model)
        number = codex.version()
        model.script.update(script(number))
        found = neutral(played(codex, number))
        generation = "bare" if minor(number) < 31 else "paginated"
        if 31 <= minor(number) < 150:
            generation = "envelope"
        common = {"host": "codex", "format": "codex"}
        save(
            f"readers/codex-{generation}",
            [found],
            **common,
            recorded_with=f"Codex {number}, killed in a tool call",
            stream=found[0].get("payload", found[0])["id"],
            messages=5 if generation == "bare" else 14,
            known=KNOWN,
            last_request=FIRST if generation == "bare" else FOURTH,
            open_call=None if generation == "bare" else "tools/migrate.sh",
        )
        if generation == "bare":
            return
        for path in codex.transcripts(SESSIONS):
            path.unlink()
        parts = [neutral(part) for part in went_back(codex, number)]
        save(
            f"branches/codex-{generation}",
            parts,
            **common,
            recorded_with=f"Codex {number}, {'reverted' if len(parts) > 1 else 'rolled back'}",
            stream=parts[0][0]["payload"]["id"],
            asked=["Paint the shed.", "Paint it green."],
            left=4,
        )


if __name__ == "__main__":
    main()
