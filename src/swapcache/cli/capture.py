"""swapcache capture: a transcript into the store."""

import hashlib
import os
import sys
from typing import Any

import click

from swapcache import config, paths
from swapcache.capture import capture as capturing
from swapcache.capture import events, follow
from swapcache.cli.options import emit, json_option, say, words
from swapcache.errors import FormatError
from swapcache.hosts import known
from swapcache.model import Capture, Damage, Event, Row
from swapcache.store import files, identity, sessions
from swapcache.store.opening import open_store
from swapcache.store.store import Store
from swapcache.transcripts import formats, lines
from swapcache.transcripts.tree import Tree


@click.command()
@click.argument("source")
@click.option("--host", required=True, type=click.Choice(known.NAMES), help="Who wrote it.")
@click.option("--session-key", default="", help="Key of the session (default: its id).")
@click.option("--workspace", help="Its workspace (default: the one that the transcript names).")
@click.option("--agent", default=identity.DEFAULT_AGENT, show_default=True)
@click.option("--dry-run", is_flag=True, help="Read and count, store nothing.")
@json_option
def command(
    source: str,
    host: str,
    session_key: str,
    workspace: str | None,
    agent: str,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Store what is new in the transcript SOURCE (a file, or - for standard input).

    Repeating it adds nothing. Exit code 1 when something in it could not be read.
    """
    path = _from_stdin(host, session_key) if source == "-" else os.path.abspath(source)
    rows = _first_rows(path)
    reader = formats.sniff(rows, source)
    values = [row.value for row in rows if row.value is not None]
    session = next((s for v in values if (s := reader.session_of(v))), "") or session_key
    if not session:
        session = hashlib.sha256(path.encode()).hexdigest()[:16]
    place = workspace or next((w for v in values if (w := reader.workspace_of(v))), os.getcwd())
    whose = identity.identify(host, known.state_dir(host), place, agent)
    event = Event(host, "import", whose, session, session_key or session, path)
    if dry_run:
        report = _count(path, session, reader)
    else:
        store = open_store(whose)
        try:
            report = _store(store, event)
        finally:
            store.close()
    _print(report, as_json)
    if report.lost:
        sys.exit(1)


def _first_rows(path: str) -> list[Row]:
    file = files.open_regular(path)
    try:
        return lines.read(file, 0, follow.BATCH)[0]
    finally:
        os.close(file)


def _store(store: Store, event: Event) -> Capture:
    settings = config.load(files.publish_private)
    done = events.record_whole(store, event, settings)
    session = sessions.find_session(store.db, event.session_key, event.session_id)
    if session is None:
        raise FormatError(f"{event.transcript}: nothing was stored")
    report = capturing.report(store, session, done.rows, done.pending)
    return _with_tail(report, event.transcript)


def _with_tail(report: Capture, path: str) -> Capture:
    """Counts an unfinished last line as lost until its end is written."""
    if not report.pending:
        return report
    size = os.stat(path).st_size
    reason = "unfinished last line, read when its end is written"
    damage = Damage(size - report.pending, report.pending, reason)
    return report._replace(lost=(*report.lost, damage))


def _count(path: str, session: str, reader: formats.Format) -> Capture:
    file = files.open_regular(path)
    rows: list[Row] = []
    try:
        start, more, pending = 0, True, 0
        while more:
            found, start, pending, more = lines.read(file, start, follow.BATCH)
            rows += found
    finally:
        os.close(file)
    lost = tuple(Damage(r.start, len(r.raw), r.reason) for r in rows if r.reason)
    values = [row.value for row in rows if row.value is not None]
    told = messages(values, reader)
    report = Capture(session, len(rows), len(values), 0, told, lost, -1, "", pending)
    return _with_tail(report, path)


def messages(values: list[dict[str, Any]], reader: formats.Format) -> int:
    """Messages of dialogue on the branch that the host goes on with, each once."""
    tree, told = Tree(), []
    for value in values:
        message = reader.message(value)
        asks = message is not None and message.kind == "request"
        key, again = tree.take(reader.place(value) if reader.place else None, asks)
        if message is not None and capturing.dialogue(message) and not again:
            told.append(key)
    left = tree.left()
    return sum(key not in left for key in told)


def _from_stdin(host: str, key: str) -> str:
    """Standard input as a file that a later call can go on with."""
    data = sys.stdin.buffer.read()
    if not key:
        rows = lines.split(0, data.partition(b"\n")[0] + b"\n")
        key = hashlib.sha256(rows[0].raw).hexdigest()[:16]
    name = f"{host}-{hashlib.sha256(key.encode()).hexdigest()[:24]}.jsonl"
    path = f"{paths.state_dir()}/stdin/{name}"
    files.publish_private(path, data)
    return path


def _print(report: Capture, as_json: bool) -> None:
    if as_json:
        emit(
            {
                "stream": report.stream,
                "records": report.records,
                "kept": report.kept,
                "new": report.new,
                "lost": [
                    {"where": d.where, "size": d.size, "reason": d.reason} for d in report.lost
                ],
                "messages": report.messages,
                "head": report.head,
                "tag": report.tag,
            }
        )
        return
    say(
        f"session {report.stream}: {report.records} rows, {report.kept} readable, "
        f"{report.messages} messages, {report.new} new; newest record #{report.head}"
    )
    for damage in report.lost:
        words(f"  not readable: byte {damage.where}, {damage.size} bytes: {damage.reason}")
