"""swapcache off: stop recording and telling, everywhere or here, at once."""

from __future__ import annotations

import os

import click

from swapcache import paths
from swapcache.cli.options import words
from swapcache.store import files, identity


@click.command()
@click.option("--here", is_flag=True, help="Only in the current workspace.")
@click.option("--dry-run", is_flag=True, help="Say what would happen.")
def command(here: bool, dry_run: bool) -> None:
    """Stop at once: from the next event on nothing is recorded and nothing is told.

    What was recorded stays. A team can keep the same in its project as a file .swapcache-off.
    """
    path, where = place(here)
    if not dry_run:
        files.publish_private(path, "")
    words(f"off {where}; swapcache on{' --here' if here else ''} goes on")


def place(here: bool) -> tuple[str, str]:
    """(the file that stands for it, words for it)."""
    if not here:
        return paths.off_file(), "everywhere"
    workspace = identity.workspace_of(os.getcwd())
    return paths.off_file(workspace), f"in {workspace}"
