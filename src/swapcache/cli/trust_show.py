"""swapcache trust show: what is proven, by which key, and what to do."""

from __future__ import annotations

import sys

import click

from swapcache import paths
from swapcache.cli import views
from swapcache.cli.options import emit, json_option, open_selected, say, store_options
from swapcache.model import Verdict
from swapcache.store import reseal, trust
from swapcache.store.store import Store

ADVICE = {
    "ROLLED_BACK": "if you restored this state on purpose",
    "GAP": "it checks the whole chain first",
    "NO_KEY": "put the key back where `swapcache paths` names it; if it is lost for good",
    "FOREIGN": "put the other machine's key at {retired}; then, or if you take it as it is",
    "MODIFIED": "swapcache verify --full says where; if you take it as it is",
    "PREFIX": "swapcache verify --full says where; if you take it as it is",
}
"""What stands before the command; the command alone where a key file only needs another mode."""
UNSAID = ("kind", "origin", trust.POINTER)
TOLD = ("seq", "wall", "event", "owner", "mac", "detail")


@click.command()
@store_options
@json_option
def show(agent: str | None, workspace: str | None, store_id: str | None, as_json: bool) -> None:
    """Say what is proven, by which key, and what to do. Exit code 1 if not VERIFIED."""
    store = open_selected(agent, workspace, store_id)
    try:
        verdict = store.verify()
        seq, tag = store.head()
        value = {
            "store": store.id,
            "workspace": store.identity.workspace,
            "agent": store.identity.agent,
            "verdict": verdict.name,
            "detail": verdict.detail,
            "head": [seq, tag],
            "witness": verdict.seen,
            "sealed_by": store.key_id,
            "key_here": store.keys.id if store.keys else "",
            "fix": fix(store, verdict),
            "accepted": _accepted(store),
        }
        strange = views.strange(store)
        value["views"] = [one._asdict() for one in strange]
    finally:
        store.close()
    if as_json:
        emit(value)
    else:
        say(f"{verdict.name}  {value['workspace']} (agent {value['agent']})")
        say(f"  records 0 to {seq}, sealed by key {value['sealed_by']}")
        say(f"  key on this machine: {value['key_here'] or store.key_problem}")
        say(f"  the witness saw record {verdict.seen}" if verdict.seen >= 0 else "  no witness")
        for line in _accepted_lines(value["accepted"]):
            say(line)
        if verdict.detail:
            say(f"  {verdict.detail}")
        if value["fix"]:
            say(f"  what to do: {_advice(store, verdict)}{value['fix']}")
        for line in views.lines(strange):
            say(line)
    if not verdict.good:
        sys.exit(1)


def fix(store: Store, verdict: Verdict) -> str:
    """The one command that puts a verdict right; empty when nothing is wrong."""
    if verdict.good:
        return ""
    if verdict.name in trust.FIXES:
        return trust.FIXES[verdict.name]
    if _only_loose(store, verdict):
        return store.key_problem
    return f"swapcache trust adopt {reseal.digest(store)} --store {store.id[:8]}"


def _only_loose(store: Store, verdict: Verdict) -> bool:
    """The key is there: a loose mode, another owner. What is wrong with it says how to mend it."""
    return verdict.name == "NO_KEY" and not store.key_missing


def _advice(store: Store, verdict: Verdict) -> str:
    if verdict.name not in ADVICE or _only_loose(store, verdict):
        return ""
    return ADVICE[verdict.name].format(retired=paths.retired_key(store.key_id)) + ": "


def _accepted(store: Store) -> list[dict[str, object]]:
    """What people decided in this store's history, oldest first."""
    found: list[dict[str, object]] = []
    for seq, meta in trust.records(store, store.head()[0]):
        if meta is not None:
            found.append({"seq": seq, **{k: v for k, v in meta.items() if k not in UNSAID}})
    return found[::-1]


def _accepted_lines(accepted: object) -> list[str]:
    lines = []
    for one in accepted if isinstance(accepted, list) else []:
        said = ", ".join(_said(name, value) for name, value in one.items() if name not in TOLD)
        lines.append(f"  #{one['seq']} {one['wall']}: {one['event']}, {said}")
    return lines


def _said(name: str, value: object) -> str:
    if name == "before" and isinstance(value, dict):
        return f"before that in {value.get('workspace')}"
    if name == "head" and isinstance(value, list):
        return f"at record {value[0]}"
    return f"{name} {value}"
