"""What can be wrong with a store: its schema, seal, witness, owner and published views.

Owns these checks of doctor. Promises what checks.py promises. Never changes a record.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from swapcache import paths
from swapcache.cli import views
from swapcache.cli.finding import Finding
from swapcache.errors import KeyProblem, NewerSchemaError, OlderSchemaError, SwapcacheError
from swapcache.store import identity, migration, opening, trust
from swapcache.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator


def store(store_id: str, workspace: str) -> Iterator[Finding]:
    """What is wrong with one store and what it published."""
    try:
        opened = Store(store_id)
    except NewerSchemaError as problem:
        yield Finding(
            "schema",
            str(problem),
            "hooks spool what comes until then",
            "upgrade swapcache",
        )
        return
    except OlderSchemaError as problem:
        yield Finding(
            "schema",
            str(problem),
            "hooks spool what comes until then",
            "swapcache doctor --fix",
            partial(migration.upgrade, store_id),
        )
        return
    except SwapcacheError as problem:
        if not isinstance(problem, KeyProblem):  # that one is found once, not for every store
            yield damaged(store_id, workspace, problem)
        return
    try:
        verdict = opened.check()
        if verdict.name == "GAP":
            yield Finding(
                "witness",
                f"{workspace}: {verdict.detail}",
                "a rollback could not be told from the truth",
                "swapcache doctor --fix writes a new one if the whole chain verifies",
                partial(_renew, store_id),
            )
        elif not verdict.good and opened.keys is not None:
            yield Finding(
                "seal",
                f"{workspace}: {verdict.name}: {verdict.detail}",
                "the next session is told that this memory is not proven",
                trust.FIXES.get(verdict.name, f"{trust.SHOW} names the command, with its digest"),
            )
        noted = identity.owner_of(store_id)
        if opened.owner_proven and (noted is None or noted[:4] != opened.identity[:4]):
            yield Finding(
                "owner file",
                f"{paths.owner_file(opened.directory)} does not name {opened.identity.workspace}",
                "the memory of that workspace is found late, or another one beside it",
                "swapcache doctor --fix writes what the chain says",
                opening.correct_owners,
            )
        yield from views.findings(opened)
    finally:
        opened.close()


def damaged(store_id: str, workspace: str, problem: Exception) -> Finding:
    """A store that cannot be read."""
    where = f"move {paths.store_dir(store_id)} away; transcripts are read again where they exist"
    return Finding("store", f"{workspace}: {problem}", "it cannot be read", where)


def _renew(store_id: str) -> None:
    store = Store(store_id)
    try:
        store.renew_witness()
    finally:
        store.close()
