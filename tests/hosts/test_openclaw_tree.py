"""Which rows are on the branch: our reading against the code of the real host."""

import json
import os
import random
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from swapcache.transcripts import pi
from swapcache.transcripts.tree import Tree
from tests import needs
from tests.hosts.conftest import ROWS

pytestmark = pytest.mark.hosts
VERSION = "2026.9.6"
CASES = 400
SCRIPT = """
const host = await import(process.argv[1]);
const { scan, select } = JSON.parse(process.argv[2]);
let text = "";
for await (const part of process.stdin) text += part;
const active = JSON.parse(text).map((rows) => {
  const tree = host[scan](rows);
  return host[select](tree, tree.leafId).map((node) => node.id);
});
console.log(JSON.stringify(active));
"""


def case(seed: int) -> list[dict[str, Any]]:
    """A transcript with branches, rows beside them, leaf controls and unknown parents."""
    dice = random.Random(seed)
    rows: list[dict[str, Any]] = [{"type": "session", "id": "s"}]
    ids: list[str] = []
    for number in range(dice.randrange(1, 16)):
        key = f"m{number}"
        recent = ids[-1] if ids else None
        parent = recent if dice.random() < 0.6 else dice.choice([*ids, None])
        row: dict[str, Any] = {"type": "message", "id": key, "parentId": parent}
        kind = dice.random()
        if kind < 0.1 and ids:
            row = {"type": "leaf", "id": key, "parentId": recent, "targetId": dice.choice(ids)}
        elif kind < 0.2:
            row["appendMode"] = "side"
        elif kind < 0.27 and number:
            row["parentId"] = "gone"
        elif kind < 0.32:
            row["type"] = "label"
        rows.append(row)
        ids.append(key)
    return rows


def test_the_branch_is_the_hosts_own() -> None:
    folder, node = os.environ.get("SWAPCACHE_OPENCLAW", ""), os.environ.get("SWAPCACHE_NODE", "")
    dist = Path(folder) / f"openclaw-{VERSION}/node_modules/openclaw/dist"
    found = sorted(dist.glob("transcript-tree-*.mjs"))
    if not (folder and node and found):
        needs.missing(f'OpenClaw {VERSION} is not installed; run: eval "$(scripts/hosts)"')
    exported = found[0].read_text().rpartition("export {")[2]
    names = dict(re.findall(r"(\w+) as (\w+)", exported))
    wanted = {
        "scan": names["scanSessionTranscriptTree"],
        "select": names["selectSessionTranscriptTreePathNodes"],
    }
    cases = [case(seed) for seed in range(CASES)]
    run = [node, "--input-type=module", "-e", SCRIPT, str(found[0]), json.dumps(wanted)]
    done = subprocess.run(run, input=json.dumps(cases), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    branches = 0
    for rows, active in zip(cases, json.loads(done.stdout), strict=True):
        tree = Tree()
        places = [place for row in rows if (place := pi.place(row)) is not None]
        for place in places:
            tree.add(place)
        leaves = {row["id"] for row in rows if row["type"] == "leaf"}
        ours = [p.id for p in places if p.id not in tree.left() and p.id not in leaves]
        assert ours == [key for key in active if key not in leaves], json.dumps(rows)
        branches += bool(tree.left() - leaves)
    assert branches > CASES / 3, "most of the cases have branches"
    case_name = f"{CASES} transcripts, {branches} with branches"
    ROWS.append((f"openclaw {VERSION}", case_name, "active branch", "the host's own"))
