"""Options and output that commands share.

Owns --agent, --workspace, --json and how a store is chosen. Promises data on standard output and
words on standard error. Never opens a store by a guess.
"""

import json
import os
from collections.abc import Callable
from typing import Any, TypeVar

import click

from swapcache.state.fold import whole
from swapcache.state.redact import redact
from swapcache.store import identity, sessions
from swapcache.store.store import Store
from swapcache.wake import fence

Command = TypeVar("Command", bound=Callable[..., Any])


def store_options(command: Command) -> Command:
    """--agent and --workspace: either alone is enough when it fits one store."""
    command = click.option("--store", "store_id", help="First characters of a store's id.")(command)
    command = click.option("--agent", help="Agent name (default: the only one).")(command)
    return click.option("--workspace", help="Directory of the work (default: the current one).")(
        command
    )


def json_option(command: Command) -> Command:
    """--json."""
    return click.option("--json", "as_json", is_flag=True, help="Data for programs.")(command)


def open_selected(
    agent: str | None, workspace: str | None, store_id: str | None, host: str | None = None
) -> Store:
    """The one store that fits. Raises SelectionError with the candidates, StoreError."""
    session = os.environ.get("CLAUDE_CODE_SESSION_ID", "")
    if session and not (agent or workspace or store_id):
        for name, _ in identity.listing():
            opened = Store(name)
            if sessions.find_session(opened.db, session, session) is not None:
                return opened
            opened.close()
    return Store(identity.select(agent, workspace, host, store_id))


def emit(value: object) -> None:
    """Prints data as JSON."""
    click.echo(whole(json.dumps(value, ensure_ascii=False, indent=2)))


def safe(text: str, store: Store | None = None) -> str:
    """Recorded text that may be printed: secrets masked, nothing that steers a terminal."""
    key = store.keys.view if store is not None and store.keys is not None else b""
    return fence.neutralise(redact(text, key))[0]


def words(text: str) -> None:
    """Prints words for a person."""
    click.echo(text, err=True)
