"""Options and output that commands share.

Owns --agent, --workspace, --json, how a store is chosen, and every print. Promises data on standard
output, words on standard error, and that no name, path or recorded text steers a terminal, makes a
line of its own, passes for structure or shows a secret. Never opens a store by a guess.
"""

import json
import os
from collections.abc import Callable
from typing import Any, TypeVar

import click

from swapcache.state.fold import whole
from swapcache.state.redact import shown
from swapcache.store import identity, sessions
from swapcache.store.store import Store

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


def emit(value: object, exact: str = "") -> None:
    """Prints data as JSON. What stands under the key `exact` is a brief: byte for byte."""
    click.echo(whole(json.dumps(_shown(value, exact), ensure_ascii=False, indent=2)))


def _shown(value: object, exact: str) -> object:
    if isinstance(value, str):
        return shown(value)
    if isinstance(value, (list, tuple)):
        return [_shown(one, exact) for one in value]
    if isinstance(value, dict):
        return {
            shown(str(k)): v if exact and k == exact else _shown(v, exact) for k, v in value.items()
        }
    return value


def safe(text: str, store: Store | None = None) -> str:
    """Recorded text that may be printed, its secrets masked as in the briefs of its store."""
    return shown(text, store.keys.view if store is not None and store.keys is not None else b"")


def one_line(text: str) -> str:
    """A sentence of ours on one line, whatever the names in it hold."""
    return shown(text).replace("\n", "⏎ ")


def say(text: str) -> None:
    """Prints a line of data."""
    click.echo(one_line(text))


def block(text: str) -> None:
    """Prints text of several lines that is safe already: a brief, a record."""
    click.echo(text)


def words(text: str) -> None:
    """Prints a line of words for a person."""
    click.echo(one_line(text), err=True)


def over(text: str) -> None:
    """Writes a line of words over the last one; for a terminal."""
    click.echo(f"\r\x1b[K{one_line(text)}", nl=False, err=True)


def problem(text: str) -> None:
    """Prints what went wrong, on as many lines as it has."""
    click.echo(shown(text), err=True)
