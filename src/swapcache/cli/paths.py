"""swapcache paths: where everything lies."""

import click

from swapcache import paths
from swapcache.cli.options import emit, json_option, say
from swapcache.hosts import claude_settings


@click.command()
@json_option
def command(as_json: bool) -> None:
    """Print every path that swapcache uses."""
    found = {
        "config": paths.config_file(),
        "key": paths.key_file(),
        "stores": paths.stores_dir(),
        "witnesses": paths.witness_dir(),
        "launcher": paths.launcher(),
        "errors": paths.error_log(),
        "spool": paths.spool_file(),
        "config backups": paths.backups_dir(),
        "claude-code settings": claude_settings.settings_file(),
    }
    if as_json:
        emit(found)
        return
    for name, path in found.items():
        say(f"{name:<21} {path}")
