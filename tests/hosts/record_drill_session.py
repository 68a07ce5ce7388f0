"""Records the session that `swapcache drill` ships, by running the real Claude Code.

    SWAPCACHE_CLAUDE=/path/to/claude python -m tests.hosts.record_drill_session ROOT

The model is scripted; everything in the rows is what the host wrote. ROOT becomes part of the
recorded paths, so give a neutral one. Rows of types that hold the host's own prompts and tool
descriptions are left out; the others are kept byte for byte.
"""

import json
import shutil
import sys
from pathlib import Path

from swapcache.drill import drill
from swapcache.drill.claude import Claude, find_program
from swapcache.drill.live import kill_in_tool
from swapcache.drill.model import Block, Model, Script, call, say

STEPS = (
    "Write the token bucket in src/limiter.py",
    "Wire it into src/app.py",
    "Cover burst and refill in tests/test_limiter.py",
    "Migrate the stored limits and document them in docs/limits.md",
)
BUCKET = '''"""A token bucket: `rate` tokens a second, at most `burst` at once."""

import time


class Bucket:
    def __init__(self, rate: float, burst: int) -> None:
        self.rate, self.burst = rate, burst
        self.tokens, self.at = float(burst), time.monotonic()

    def take(self) -> bool:
        now = time.monotonic()
        self.tokens = min(self.burst, self.tokens + (now - self.at) * self.rate)
        self.at = now
        if self.tokens < 1:
            return False
        self.tokens -= 1
        return True
'''
APP = """from limiter import Bucket

LIMITS = {}


def allow(client: str) -> bool:
    bucket = LIMITS.setdefault(client, Bucket(rate=5, burst=20))
    return bucket.take()
"""
TEST = """import sys

sys.path.insert(0, "src")
from limiter import Bucket

bucket = Bucket(rate=1, burst=3)
assert [bucket.take() for _ in range(4)] == [True, True, True, False]
from limiter import refill
"""
COMMIT = (
    "git add src && git -c user.name=agent -c user.email=agent@example.invalid commit -qm "
    "'Token bucket: 5 requests a second, burst 20' && git log --oneline -1"
)
MIGRATE = "python3 tools/migrate_limits.py --table api_limits --batch 500"
TOOL = """import pathlib
import time

pathlib.Path("started").touch()
time.sleep(100)
"""
FIRST = (
    "Add a rate limiter to the API: 5 requests a second per client, burst 20. Plan first, then "
    "work in src/ and tests/, and commit what works. Ticket API-312."
)
SECOND = (
    "Keep /healthz exempt. Then migrate the stored limits (table api_limits, batches of 500), "
    "and never touch the table api_keys."
)


def update(number: int, status: str) -> Block:
    """The host's plan tool."""
    return call("TaskUpdate", taskId=str(number), status=status)


SCRIPT: Script = {
    "API-312": [
        [
            say("Four steps; I start with the bucket itself."),
            *[call("TaskCreate", subject=s, description=s, activeForm=s) for s in STEPS],
        ],
        [update(1, "in_progress")],
        [call("Write", file_path="src/limiter.py", content=BUCKET)],
        [update(1, "completed"), update(2, "in_progress")],
        [call("Write", file_path="src/app.py", content=APP)],
        [call("Write", file_path="tests/test_limiter.py", content=TEST)],
        [call("Bash", command="python3 tests/test_limiter.py", description="Run the tests")],
        [
            say("The burst case passes; a refill helper does not exist yet. I commit what works."),
            call("Bash", command=COMMIT, description="Commit"),
        ],
        [update(2, "completed"), update(3, "in_progress")],
        [say("The bucket is wired in. Shall health checks be exempt from the limit?")],
    ],
    "api_keys": [
        [
            call(
                "Edit",
                file_path="src/app.py",
                old_string="def allow(client: str) -> bool:\n",
                new_string='def allow(client: str, path: str) -> bool:\n    if path == "/healthz":'
                "\n        return True\n",
            )
        ],
        [update(4, "in_progress")],
        [
            say("Health checks pass without a token now. Next is the migration."),
            call("Bash", command=MIGRATE, description="Migrate the stored limits"),
        ],
    ],
}
KEPT = ("user", "assistant", "system", "queue-operation")


def main() -> None:
    """Records into the package."""
    root = Path(sys.argv[1])
    shutil.rmtree(root, ignore_errors=True)
    with Model(SCRIPT) as model:
        host = Claude(find_program(), root, model)
        host.prepare()
        for folder in ("src", "tests", "tools"):
            (host.project / folder).mkdir()
        (host.project / "tools/migrate_limits.py").write_text(TOOL)
        host.turn(FIRST)
        kill_in_tool(host, SECOND, "-c")
        raw = host.transcripts()[-1].read_bytes()
    rows = [r for r in raw.splitlines(keepends=True) if json.loads(r).get("type") in KEPT]
    drill.SHIPPED.write_bytes(b"".join(rows))
    print(f"Claude Code {host.version()}: {len(rows)} of {len(raw.splitlines())} rows kept")


if __name__ == "__main__":
    main()
