"""swapcache log: snapshots, newest first."""

import click

from swapcache.cli.options import emit, json_option, open_selected, safe, say, store_options
from swapcache.model import UNTRUSTED
from swapcache.state import gate
from swapcache.state.fold import Fold
from swapcache.store import sessions


@click.command()
@click.option("--limit", default=20, show_default=True, type=click.IntRange(min=1))
@click.option("--session", "key", default="", help="Only this session.")
@store_options
@json_option
def command(
    limit: int,
    key: str,
    agent: str | None,
    workspace: str | None,
    store_id: str | None,
    as_json: bool,
) -> None:
    """List the sealed snapshots: when, which session, what was asked, how many tasks are open."""
    store = open_selected(agent, workspace, store_id)
    try:
        entries = []
        everyone = sessions.sessions(store.db)
        keys = {s.number: gate.handle(s.key) for s in everyone}
        wanted = {s.number for s in everyone if key in ("", s.key, keys[s.number])}
        for seq, number in sessions.snapshots(store.db, None, limit if not key else 1 << 30):
            if number not in wanted:
                continue
            found = store.record(seq)
            if found is None:
                entries.append({"record": seq, "verified": False, "session": keys.get(number)})
                continue
            record, good = found
            items = (
                Fold.load(record.body.decode()).state(number, seq).items
                if good and record.body
                else ()
            )
            asked = [i.text for i in items if i.kind == "request" and i.origin != UNTRUSTED]
            entries.append(
                {
                    "record": seq,
                    "wall": record.meta.get("wall"),
                    "session": keys.get(number),
                    "verified": good,
                    "pruned": record.pruned,
                    "asked": safe(asked[-1], store) if asked else "",
                    "open_tasks": sum(
                        1 for i in items if i.kind == "task" and i.status in ("open", "active")
                    ),
                    "unknown": sum(1 for i in items if i.kind == "unknown"),
                }
            )
            if len(entries) >= limit:
                break
    finally:
        store.close()
    if as_json:
        emit(entries)
        return
    for entry in entries:
        mark = "  (pruned)" if entry.get("pruned") else ""
        mark = mark if entry["verified"] else "  NOT VERIFIED"
        asked_text = " ".join(str(entry.get("asked", "")).split())[:70]
        say(
            f"#{entry['record']:<6} {entry.get('wall') or '-':<25} {str(entry['session'])[:8]:<8} "
            f"{entry.get('open_tasks', 0):>2} open  {asked_text}{mark}"
        )
