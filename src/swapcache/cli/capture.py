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
from swapcache.hosts import known, locate
from swapcache.model import Capture, Damage, Event, Row, Source
from swapcache.store import files, identity, sessions
from swapcache.store.opening import open_store
from swapcache.store.store import Store
from swapcache.transcripts import formats, kinds, lines, plain, sqlite
from swapcache.transcripts.tables import Candidate
from swapcache.transcripts.tree import Tree


@click.command()
@click.argument("source")
@click.option("--host", required=True, type=click.Choice(known.NAMES), help="Who wrote it.")
@click.option(
    "--session-key",
    default="",
    help="Which session, where there are several: its id or key. Else its key (default: its id).",
)
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
    """Store what is new in the transcript SOURCE.

    SOURCE is a file, a host's database, a directory of transcripts, the id or key of a session of
    the host, or - for standard input. Of several sessions --session-key names one, by id or key.
    Repeating it adds nothing. Exit code 1 when something in it could not be read.
    """
    meant = _meant(source, host, session_key)
    place = workspace or meant.workspace or os.getcwd()
    if agent == identity.DEFAULT_AGENT and meant.key.startswith("agent:"):
        agent = meant.key.split(":")[1]
    whose = identity.identify(host, known.state_dir(host), place, agent)
    event = Event(host, "import", whose, meant.id, meant.key, meant.path)
    if dry_run:
        report = _count(meant)
    else:
        store = open_store(whose)
        try:
            report = _store(store, event)
        finally:
            store.close()
    _print(report, as_json, "row" if _in_database(meant.path) else "byte")
    if report.lost:
        sys.exit(1)


def _meant(source: str, host: str, key: str) -> Candidate:
    """The session that is meant. Raises SelectionError that lists the others, SourceError."""
    if source != "-":
        path = os.path.abspath(source)
        if path == paths.spool_file() or os.path.dirname(path) == paths.shim_spool_dir():
            raise FormatError(
                f"{source} is our own spool, no transcript: the next event of its session takes up "
                "what it holds, and seals what the host never wrote"
            )
        if os.path.isdir(path):
            return locate.chosen(host, path, key)
        if not os.path.exists(path) and os.sep not in source:
            return locate.locate(host, source)
        if sqlite.is_database(path) or path.endswith((".db", ".sqlite")):
            return locate.chosen(host, path, key)
    else:
        path = _from_stdin(host, key)
    rows = _first_rows(path)
    reader = formats.sniff(rows, source)
    values = [row.value for row in rows if row.value is not None]
    session = next((s for v in values if (s := reader.session_of(v))), "")
    session = locate.session_of_name(path, session) or key
    session = session or hashlib.sha256(path.encode()).hexdigest()[:16]
    work = next((w for v in values if (w := reader.workspace_of(v))), "")
    return Candidate(session, key or session, "", "", -1, work, path)


def _in_database(path: str) -> bool:
    return path.startswith(follow.DATABASE)


def _first_rows(path: str) -> list[Row]:
    file = plain.opened(path)
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


def _count(meant: Candidate) -> Capture:
    """What a capture would give, without a store."""
    source = Source(0, 0, meant.path, 0, 0, "", "", "")
    rows: list[Row] = []
    more, pending = True, 0
    while more:
        new = follow.read_new(source, follow.BATCH)
        source, more, pending = new.source, new.more, new.pending
        rows += new.rows
    reader = formats.by_name(source.format) if rows else None
    lost = tuple(Damage(r.start, len(r.raw), r.reason) for r in rows if r.reason)
    good = [r.value for r in rows if r.value is not None]
    told = messages(good, reader) if reader is not None else 0
    named = [k for v in good if reader is not None and (k := kinds.unknown(reader.name, v))]
    unknown = tuple((kind, named.count(kind)) for kind in sorted(set(named)))
    report = Capture(meant.id, len(rows), len(good), 0, told, lost, -1, "", pending, unknown)
    return _with_tail(report, meant.path)


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


def _print(report: Capture, as_json: bool, place: str) -> None:
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
                "unknown": dict(report.unknown),
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
    for kind, count in report.unknown:
        words(f"  of a type that is not known, kept as it is: {kind} ({count} rows)")
    for damage in report.lost:
        words(f"  not readable: {place} {damage.where}, {damage.size} bytes: {damage.reason}")
