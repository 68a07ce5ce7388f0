"""swapcache uninstall: take our hooks out again."""

import os

import click

from swapcache import paths
from swapcache.cli import setup
from swapcache.cli.options import words
from swapcache.hosts import openclaw_config as openclaw


@click.command()
@click.option("--host", "hosts", multiple=True, type=click.Choice(tuple(setup.HOSTS)))
@click.option("--dry-run", is_flag=True, help="Show the change, write nothing.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def command(hosts: tuple[str, ...], dry_run: bool, yes: bool) -> None:
    """Remove our entries from the hosts' configuration. What was recorded stays."""
    for name in hosts or tuple(setup.HOSTS):
        host = setup.HOSTS[name]
        if not os.path.exists(host.settings_file()):
            continue
        setup.change(name, host.removed, dry_run, yes, "remove")
        if name == openclaw.NAME:
            setup.guide(False, dry_run)
        if not dry_run:
            host.remove_files()
    if dry_run or not os.path.exists(paths.launcher()):
        return
    callers = setup.forget_callers([setup.HOSTS[n].settings_file() for n in hosts or setup.HOSTS])
    if callers:
        words(f"the launcher stays: it is called from {', '.join(callers)}")
        return
    os.unlink(paths.launcher())
    words(f"removed {paths.launcher()}; the recorded memory stays in {paths.stores_dir()}")
