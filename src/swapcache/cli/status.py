"""swapcache status: stores, sizes, the newest injection, failures."""

import json
import os
import sqlite3
import sys
from typing import Any

import click

from swapcache import paths
from swapcache.capture import events
from swapcache.cli import views
from swapcache.cli.options import emit, json_option, say, store_options
from swapcache.cli.setup import HOSTS
from swapcache.cli.sizes import words as sized
from swapcache.errors import SwapcacheError
from swapcache.hosts import claude_code, edits
from swapcache.store import files, identity, pruning, sessions
from swapcache.store.store import Store

TAIL = 65536


@click.command()
@store_options
@json_option
def command(agent: str | None, workspace: str | None, store_id: str | None, as_json: bool) -> None:
    """Show what is recorded and whether recording works. Exit code 1 when something is wrong."""
    known = identity.listing()
    if agent or workspace or store_id:
        wanted = identity.select(agent, workspace, None, store_id)
        known = [pair for pair in known if pair[0] == wanted]
    stores = [_store(store_id) for store_id, _ in known]
    failed = failures()
    value: dict[str, Any] = {
        "hosts": {
            name: _installed(host.settings_file(), mark(name)) for name, host in HOSTS.items()
        },
        "stores": stores,
        "bytes": sum(s["bytes"] for s in stores),
        "failures": failed,
        "spooled": _size(paths.spool_file()),
    }
    if as_json:
        emit(value)
    else:
        _print(value)
    if failed or any(s["verdict"] != "VERIFIED" or s["views"] for s in stores):
        sys.exit(1)


def mark(name: str) -> str:
    """What stands in a host's configuration when ours is installed there."""
    return paths.launcher() if name == claude_code.NAME else paths.plugin_dir(name)


def _installed(path: str, wanted: str) -> str:
    if not os.path.exists(path):
        return "no configuration file"
    if wanted not in edits.peek(path):
        return "not installed"
    if not os.path.exists(wanted):
        return f"installed, but {wanted} is missing: run swapcache setup again"
    if not os.access(paths.launcher(), os.X_OK):
        return f"installed, but {paths.launcher()} is missing: run swapcache setup again"
    return "installed"


def _store(store_id: str) -> dict[str, Any]:
    try:
        store = Store(store_id)
    except SwapcacheError as problem:
        return {
            "id": store_id,
            "verdict": "UNREADABLE",
            "detail": str(problem),
            "bytes": _tree(paths.store_dir(store_id)),
            "views": [],
        }
    try:
        verdict = store.check()
        last = sessions.last_receipt(store.db)
        everyone = sessions.sessions(store.db)
        size = _held(store)
        return {
            "id": store_id,
            "workspace": store.identity.workspace,
            "host": store.identity.host,
            "agent": store.identity.agent,
            "verdict": verdict.name,
            "detail": verdict.detail,
            "records": store.head()[0] + 1,
            "sessions": len(everyone),
            "living": sum(1 for s in everyone if events.living(store, s) is True),
            "bytes": _tree(store.directory),
            "transcript_bytes": size.kept,
            "share": round(size.disk / size.kept, 3) if size.kept else None,
            "pruned": {"records": size.pruned_records, "bytes": size.pruned},
            "last_record": everyone[0].touched if everyone else "",
            "last_injection": None if last is None else last,
            "views": [one._asdict() for one in views.strange(store)],
        }
    finally:
        store.close()


def _held(store: Store) -> pruning.Size:
    """How much of the hosts' transcripts a store holds; of a damaged one only its files' size."""
    try:
        return pruning.size(store)
    except sqlite3.DatabaseError:
        return pruning.Size(pruning.on_disk(store), 0, 0, 0)


def _tree(folder: str) -> int:
    return sum(_size(f"{folder}/{name}") for name in os.listdir(folder))


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return 0


def failures() -> list[dict[str, Any]]:
    """The newest ten lines of the error log."""
    try:
        lines = files.tail(paths.error_log(), TAIL)[-10:]
    except OSError:
        return []
    found = []
    for line in lines:
        torn = {"message": line.decode("utf-8", "replace"), "error": "torn line"}
        try:
            value = json.loads(line)
        except ValueError:
            value = torn
        found.append(value if isinstance(value, dict) else torn)
    return found


def _print(value: dict[str, Any]) -> None:
    for host, state in value["hosts"].items():
        say(f"{host}: {state}")
    if not value["stores"]:
        say("nothing is recorded yet")
    for store in value["stores"]:
        if store["verdict"] == "UNREADABLE":
            say(f"{store['id']}: UNREADABLE: {store['detail']}")
            continue
        injected = (
            "" if store["last_injection"] is None else f", injected #{store['last_injection']}"
        )
        say(
            f"{store['verdict']:<10} {store['workspace']}  ({store['host']}, {store['agent']}): "
            f"{store['records']} records, {store['sessions']} sessions, {store['living']} living, "
            f"last {store['last_record'] or '-'}{injected}"
        )
        say(f"  {_sizes(store)}")
        if store["detail"]:
            say(f"  {store['detail']}")
        for line in views.lines([views.Strange(**one) for one in store["views"]]):
            say(line)
    if len(value["stores"]) > 1:
        say(f"{sized(value['bytes'])} on disk in {len(value['stores'])} stores")
    if value["spooled"]:
        say(f"{value['spooled']} bytes wait in the spool {paths.spool_file()}")
    for failure in value["failures"]:
        say(f"failure {failure.get('wall')} {failure.get('event')}: {failure.get('message')}")
    if value["failures"]:
        say(f"when they are dealt with, remove {paths.error_log()}")


def _sizes(store: dict[str, Any]) -> str:
    """What one store takes, and for how much."""
    text = f"{sized(store['bytes'])} on disk"
    if store["transcript_bytes"]:
        text += f" for {sized(store['transcript_bytes'])} of transcripts ({store['share']:.0%})"
    pruned = store["pruned"]
    if pruned["records"]:
        text += f"; {pruned['records']} records of {sized(pruned['bytes'])} pruned"
    return text
