"""Counts what the origin rules keep from the next session, over a continuity set's cases.

    python -m tests.perf.continuity_origin DIRECTORY      (or CONTINUITY_DATA=DIRECTORY)

DIRECTORY holds cases.jsonl (a transcript, where it is cut, probes with literal answers), score.py
and the transcripts. Each case is folded twice: by the rules, and as if nobody's words were
untrusted. A probe that only the second brief answers, both at a budget without end, is lost to the
origin rules. One that neither answers, and whose answer stands in untrusted words alone, could not
be shown either. Both are listed with where the answer stands and why that is untrusted, so that a
person can judge whether the words are really a stranger's.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

from swapcache.model import AGENT, OWNER, UNTRUSTED, Message
from swapcache.state.fold import Fold
from swapcache.transcripts import formats, lines, origins
from swapcache.wake import brief, page

ENDLESS = 1 << 30
Found = Callable[[list[str], str], bool]


class Told(NamedTuple):
    """A message of a case, and whose words the rules say that it holds."""

    line: int
    message: Message
    origin: str
    because: str
    """What tainted its turn, or empty."""


def main() -> int:
    """Prints the table; 0 unless the data is missing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", nargs="?", default=os.environ.get("CONTINUITY_DATA", ""))
    folder = Path(parser.parse_args().directory or ".")
    if not (folder / "cases.jsonl").is_file():
        print(
            f"{folder}/cases.jsonl is missing: name the continuity set's directory", file=sys.stderr
        )
        return 2
    score = _scorer(folder)

    def found(answers: list[str], text: str) -> bool:
        return bool(score.contains_any(answers, score.norm(text)))

    totals: Counter[str] = Counter()
    for line in (folder / "cases.jsonl").read_text(encoding="utf-8").splitlines():
        totals += _case(folder, json.loads(line), found)
    for what, count in sorted(totals.items()):
        print(f"{count:5}  {what}")
    return 0


def _scorer(folder: Path) -> Any:
    """The set's own scorer: a probe is judged as the set judges it."""
    spec = importlib.util.spec_from_file_location("continuity_score", folder / "score.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _case(folder: Path, case: dict[str, Any], found: Found) -> Counter[str]:
    messages = _messages(folder, case)
    told, shown = _folded(messages)
    with mock.patch.object(origins, "source", return_value=origins.LOCAL):
        trusting = _folded([(n, _trusted(m)) for n, m in messages])[1]
    counts: Counter[str] = Counter()
    for probe in case["probes"]:
        answers = probe["must_contain_any"]
        if found(answers, shown):
            counts["shown"] += 1
        else:
            where = [t for t in told if found(answers, _words(t.message))]
            lost = found(answers, trusting)
            what = "LOST TO ORIGIN RULES" if lost else f"not shown by either, {_place(where)}"
            counts[what] += 1
            if lost or _place(where) != TRUSTED:
                _list(probe, what, where)
    return counts


def _trusted(message: Message) -> Message:
    results = tuple(r._replace(network=False) for r in message.results)
    whose = message.origin
    if whose == UNTRUSTED:
        whose = AGENT if message.role == "assistant" else OWNER
    return message._replace(origin=whose, results=results)


def _messages(folder: Path, case: dict[str, Any]) -> list[tuple[int, Message]]:
    """(line, message) of the rows before the cut, a torn row included as its writer left it."""
    rows = (folder / case["transcript"]).read_bytes().split(b"\n")
    cut = case["cut"]
    kept = [*rows[: cut["line"]], rows[cut["line"]][: cut.get("torn_bytes", 0)]]
    parsed = [(n, row) for n, raw in enumerate(kept, 1) for row in lines.split(0, raw)]
    reader = formats.sniff([row for _, row in parsed], case["transcript"])
    made = [(n, reader.message(row.value)) for n, row in parsed if row.value is not None]
    return [(n, message) for n, message in made if message is not None]


def _folded(messages: list[tuple[int, Message]]) -> tuple[list[Told], str]:
    """Every message with its origin, and the whole brief."""
    fold, told, because = Fold(), [], ""
    for line, message in messages:
        if message.kind == "request":
            because = ""
        origin = fold.origin_of(message)
        told.append(Told(line, message, origin, because))
        before = fold.tainted
        fold.add(message, line)
        if fold.tainted and not before:
            because = f"line {line}: {', '.join(c.name for c in message.calls) or message.kind}"
    with mock.patch.object(page, "CHARS", ENDLESS):
        state = fold.state(1, len(messages))
        return told, brief.full([], state, {}, fold.answered, ENDLESS, b"", []).text


def _words(message: Message) -> str:
    calls = [json.dumps(c.arguments, ensure_ascii=False) for c in message.calls]
    return "\n".join([message.text, *calls, *(r.text for r in message.results)])


TRUSTED = "stands in trusted words"


def _place(where: list[Told]) -> str:
    """The most trusted place where an answer stands."""
    if any(_why(told) == "" for told in where):
        return TRUSTED
    if any(not told.message.results for told in where):
        return "stands in untrusted words only"
    return "stands in tool results only" if where else "stands in no message"


def _why(told: Told) -> str:
    """Why the words of a message are untrusted, or empty."""
    if told.message.sidechain:
        return "a child agent's"
    if told.message.results:
        return "a tool's result"
    if told.message.kind in ("compaction", "summary"):
        return "a summary of all that its window held"
    if told.origin != UNTRUSTED:
        return ""
    return f"in a turn tainted by {told.because}" if told.because else "not the owner's"


def _list(probe: dict[str, Any], what: str, where: list[Told]) -> None:
    print(f"{probe['id']} ({probe['family']}, weight {probe['weight']}): {what}")
    print(f"    answers: {probe['must_contain_any']}")
    for told in where[-6:]:
        print(f"    line {told.line}: {told.message.kind}, {_why(told) or told.origin}")


if __name__ == "__main__":
    sys.exit(main())
