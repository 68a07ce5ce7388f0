"""The import of some sessions: progress on the way, a table at the end.

Owns the counting and what is said of it. Promises that every session, every loss and every file
that was not read is counted, that one bad session stops no other, and that a person may stop it.
Never chooses what is imported.
"""

from __future__ import annotations

import gc
import sys
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

from swapcache import config
from swapcache.cli import sizes
from swapcache.cli.options import emit, over, say, words
from swapcache.hosts import history
from swapcache.hosts.history import Listing, Past, Taken
from swapcache.store import files

NAMED = 20
"""So many files that were not read are named; all are counted."""
SELDOM = 500_000
"""Objects between two searches for cycles: rows hold none, and a search takes long."""
EVERY_S = 5.0
"""Seconds between two lines of progress where there is no terminal."""
HEADS = (*("host", "sessions", "rows", "readable", "messages", "new", "lost", "oldest", "newest"),)


@dataclass
class Sum:
    """What was imported of one host."""

    sessions: int = 0
    records: int = 0
    kept: int = 0
    messages: int = 0
    new: int = 0
    lost: Counter[str] = field(default_factory=Counter)
    """Damaged rows by reason."""
    first: dict[str, str] = field(default_factory=dict)
    """Where the first one with a reason lies."""
    unknown: Counter[str] = field(default_factory=Counter)
    """Rows of types that no reader knows; they are kept."""
    oldest: str = ""
    """Day of the last message of the session that is over the longest."""
    newest: str = ""

    def add(self, taken: Taken) -> None:
        """Counts one session in."""
        report = taken.report
        self.sessions += 1
        self.records += report.records
        self.kept += report.kept
        self.messages += report.messages
        self.new += report.new
        for damage in report.lost:
            self.lost[damage.reason] += 1
            self.first.setdefault(damage.reason, f"{taken.past.transcript}, {damage.where}")
        self.unknown.update(dict(report.unknown))
        day = taken.wall[:10]
        self.oldest = min(self.oldest or day, day)
        self.newest = max(self.newest, day)


class Work:
    """The import of some sessions: its progress and what came of it."""

    def __init__(self, wanted: list[Past], stores: history.Stores, quiet: bool) -> None:
        self.wanted = wanted
        self.done: dict[tuple[str, str, str], Taken] = {}
        """By session."""
        self.taken = 0
        """Transcripts."""
        self.failed: list[str] = []
        self._stores = stores
        self._settings = config.load(files.publish_private)
        self._quiet = quiet
        self._size = sum(past.size for past in wanted)
        self._read = 0
        self._told = time.monotonic()

    def run(self) -> bool:
        """Imports them; True when a person stopped it."""
        usual = gc.get_threshold()
        gc.set_threshold(SELDOM)
        try:
            for number, past in enumerate(self.wanted, 1):
                self.take(past, number)
                self._read += past.size
        except KeyboardInterrupt:
            return True
        finally:
            gc.set_threshold(*usual)
            self._tell("")
        return False

    def take(self, past: Past, number: int) -> None:
        """Imports one session; what is wrong with it stops no other."""

        def step(size: int) -> None:
            done = self._read + min(size, past.size)
            share = f"{done * 100 // self._size} % " if self._size else ""
            self._tell(f"{share}{number} of {len(self.wanted)} sessions, {sizes.words(done)}")

        try:
            taken = history.take(past, self._stores, self._settings, step)
        except history.PROBLEMS as problem:
            self.failed.append(f"{past.transcript}: {problem}")
            return
        self.taken += 1
        before = self.done.get(taken.session)
        new = taken.report.new + (before.report.new if before else 0)
        self.done[taken.session] = replace(taken, report=taken.report._replace(new=new))

    def sums(self) -> dict[str, Sum]:
        """What was imported, by host."""
        found: dict[str, Sum] = {}
        for taken in self.done.values():
            found.setdefault(taken.past.host, Sum()).add(taken)
        return found

    def _tell(self, text: str) -> None:
        """One line that is written over on a terminal, else a line now and then."""
        if self._quiet:
            return
        if sys.stderr.isatty():
            over(text)
        elif text and time.monotonic() - self._told > EVERY_S:
            self._told = time.monotonic()
            words(text)


def report(
    work: Work, found: dict[str, Listing], left: dict[str, int], stopped: bool, as_json: bool
) -> None:
    sums = work.sums()
    unread = [line for listed in found.values() for line in listed.unread]
    if as_json:
        emit(
            {
                "hosts": {host: _json(one) for host, one in sums.items()},
                "failed": work.failed,
                "not_read": unread,
                "left_out": left,
                "stopped": stopped,
            }
        )
        return
    table = [[host, *_cells(one)] for host, one in sums.items()]
    for line in _aligned([list(HEADS), *table]) if table else ():
        say(line)
    for one in sums.values():
        for reason, count in one.lost.most_common():
            words(f"lost: {count} x {reason} (the first: {one.first[reason]})")
        if one.unknown:
            kinds = ", ".join(f"{name} ({count})" for name, count in one.unknown.most_common())
            words(f"kept, of types that are not known here: {kinds}")
    for problem in work.failed:
        words(f"not imported: {problem}")
    for line in unread[:NAMED]:
        words(f"not read: {line}")
    if len(unread) > NAMED:
        words(f"not read: {len(unread) - NAMED} more")
    done = work.taken + len(work.failed)
    if stopped and done < len(work.wanted):
        words(f"stopped after {done} of {len(work.wanted)}; the next swapcache import goes on here")


def _cells(one: Sum) -> list[str]:
    counts = (one.sessions, one.records, one.kept, one.messages, one.new, one.lost.total())
    return [*map(str, counts), one.oldest, one.newest]


def _json(one: Sum) -> dict[str, Any]:
    return {
        "sessions": one.sessions,
        "records": one.records,
        "kept": one.kept,
        "messages": one.messages,
        "new": one.new,
        "lost": dict(one.lost),
        "unknown": dict(one.unknown),
        "oldest": one.oldest,
        "newest": one.newest,
    }


def _aligned(rows: list[list[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(w) for cell, w in zip(r, widths, strict=True)) for r in rows]
