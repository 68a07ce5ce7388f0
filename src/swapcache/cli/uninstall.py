"""swapcache uninstall: take our part out of the hosts' files again."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from swapcache import paths
from swapcache.cli import setup
from swapcache.cli.options import words
from swapcache.hosts import edits
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
    changes = [c for name in chosen for c in _changes(name)]
    for change in changes:
        click.echo(change.diff())
    if not changes:
        words("the hosts' files hold nothing of ours")
    everything = purge and set(chosen) == set(setup.HOSTS)
    if purge and not everything:
        raise click.UsageError("--purge deletes the memory of all hosts: leave --host out")
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
    callers = [path for path in edits.known() if paths.launcher() in (edits.read(path) or "")]
    if callers or any(_changes(name) for name in setup.HOSTS if name not in chosen):
        words(f"the launcher stays: another host calls it {', '.join(callers)}".rstrip())
        return
    _remove_ours(everything)


def _changes(name: str) -> list[edits.Change]:
    """What the files of a host become without our part."""
    host = setup.HOSTS[name]
    files: list[tuple[str, Callable[[str, str], str]]] = [
        (host.settings_file(), lambda text, was: host.removed(text, paths.launcher(), was))
    ]
    if name == openclaw.NAME:
        files.append((setup.guide_file(), openclaw.without_fallback))
    found = [edits.take_back(path, remove) for path, remove in files]
    return [change for change in found if change is not None]


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
