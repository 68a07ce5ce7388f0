"""swapcache on: record and tell again."""

from __future__ import annotations

import os

import click

from swapcache import paths
from swapcache.cli import off
from swapcache.cli.options import words
from swapcache.errors import SelectionError
from swapcache.store import files, identity


@click.command()
@click.option("--here", is_flag=True, help="Only in the current workspace.")
@click.option("--dry-run", is_flag=True, help="Say what would happen.")
def command(here: bool, dry_run: bool) -> None:
    """Record and tell again, from the next event on."""
    path, where = off.place(here)
    if os.path.exists(path) and not dry_run:
        os.unlink(path)
        files.publish_private(paths.on_file(), "")
    workspace = identity.workspace_of(os.getcwd())
    if here and os.path.exists(paths.opt_out_file(workspace)):
        raise SelectionError(f"{paths.opt_out_file(workspace)} keeps it off here; remove that file")
    words(f"on {where}")
    if here and os.path.exists(paths.off_file()):
        words("but it is off everywhere: swapcache on")
