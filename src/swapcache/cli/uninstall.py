"""swapcache uninstall: take our hooks out again."""

import os

import click

from swapcache import paths
from swapcache.cli import setup
from swapcache.cli.options import words
from swapcache.hosts import claude_code


@click.command()
@click.option("--host", "hosts", multiple=True, type=click.Choice((claude_code.NAME,)))
@click.option("--dry-run", is_flag=True, help="Show the change, write nothing.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def command(hosts: tuple[str, ...], dry_run: bool, yes: bool) -> None:
    """Remove our entries from the host's settings and the launcher. What was recorded stays."""
    setup.change(claude_code.removed, dry_run, yes, "remove")
    if not dry_run and os.path.exists(paths.launcher()):
        os.unlink(paths.launcher())
        words(f"removed {paths.launcher()}; the recorded memory stays in {paths.stores_dir()}")
