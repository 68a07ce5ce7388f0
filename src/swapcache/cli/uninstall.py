"""swapcache uninstall: take our part out of the hosts' files again."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

import click

from swapcache import paths
from swapcache.cli import setup
from swapcache.cli.options import say, words
from swapcache.cli.status import mark
from swapcache.errors import HostError
from swapcache.hosts import claude_settings, edits
from swapcache.hosts import openclaw_config as openclaw
from swapcache.store import removal

if TYPE_CHECKING:
    from collections.abc import Callable


@click.command()
@click.option("--host", "hosts", multiple=True, type=click.Choice(tuple(setup.HOSTS)))
@click.option("--purge", is_flag=True, help="Also delete everything that was recorded.")
@click.option("--dry-run", is_flag=True, help="Show the change, write nothing.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def command(hosts: tuple[str, ...], purge: bool, dry_run: bool, yes: bool) -> None:
    """Take exactly our part out of the hosts' files. What was recorded stays, without --purge.

    A live gateway is inert from its next event on.
    """
    chosen = hosts or tuple(setup.HOSTS)
    everything = purge and set(chosen) == set(setup.HOSTS)
    if purge and not everything:
        raise click.UsageError("--purge deletes the memory of all hosts: leave --host out")
    changes, problems = _changes(chosen)
    for change in changes:
        for line in change.diff().split("\n"):
            say(line)
    if not changes:
        words("the hosts' files hold nothing of ours")
    if everything:
        words(f"deletes {paths.state_dir()}, {paths.config_dir()} and {paths.witness_dir()}")
    if dry_run:
        return
    if (changes or everything) and not yes:
        setup.ask(f"change {len(changes)} file(s)" + (" and delete the memory?" if purge else "?"))
    for change in changes:
        edits.undo(change)
    for name in chosen:
        setup.HOSTS[name].remove_files()
    if problems:
        kept = "; nothing that was recorded was deleted" if everything else ""
        raise HostError("\n".join(problems) + f"\nthe launcher stays{kept}")
    others = tuple(name for name in setup.HOSTS if name not in chosen)
    left, unclear = _changes(others)
    if left or unclear:
        words(f"the launcher stays: {', '.join([c.path for c in left] + unclear)} calls it")
        return
    _remove_ours(everything)


def _changes(names: tuple[str, ...]) -> tuple[list[edits.Change], list[str]]:
    """What the files of hosts become without our part, and what could not be read of ours."""
    changes, problems = [], []
    for path, name in _files().items():
        if name not in names:
            continue
        try:
            change = edits.take_back(path, _remover(path, name))
        except HostError as problem:
            if path in edits.known() or _names_us(path, name):
                problems.append(str(problem))
            continue
        if change is not None:
            changes.append(change)
    return changes, problems


def _files() -> dict[str, str]:
    """Host by file: where setup would write now, and wherever it wrote before."""
    found = {host.settings_file(): name for name, host in setup.HOSTS.items()}
    with contextlib.suppress(HostError):  # a damaged configuration names no workspace
        found[setup.guide_file()] = openclaw.NAME
    for path in edits.known():
        claude = os.path.basename(path) == "settings.json"
        found.setdefault(path, claude_settings.NAME if claude else openclaw.NAME)
    return found


def _remover(path: str, name: str) -> Callable[[str, str], str]:
    if os.path.basename(path) == "AGENTS.md":
        return openclaw.without_fallback
    host = setup.HOSTS[name]
    return lambda text, was: host.removed(text, paths.launcher(), was)


def _names_us(path: str, name: str) -> bool:
    wanted = openclaw.BEGIN if os.path.basename(path) == "AGENTS.md" else mark(name)
    return wanted in edits.peek(path)


def _remove_ours(everything: bool) -> None:
    if os.path.exists(paths.launcher()):
        os.unlink(paths.launcher())
    removal.prune(os.path.dirname(paths.launcher()))
    removal.prune(paths.backups_dir())
    if everything:
        removal.remove_all()
        words("removed, with everything that was recorded")
    else:
        words(f"removed; the recorded memory stays in {paths.state_dir()}")
