"""swapcache trust: what is proven of a memory, and how to put it right."""

from __future__ import annotations

import click

from swapcache.cli.trust_adopt import adopt
from swapcache.cli.trust_anchor import anchor
from swapcache.cli.trust_rekey import rekey
from swapcache.cli.trust_rollback import accept_rollback
from swapcache.cli.trust_show import show


@click.group()
def command() -> None:
    """What is proven of this memory, and the one command that puts it right."""


for part in (show, adopt, rekey, accept_rollback, anchor):
    command.add_command(part)
