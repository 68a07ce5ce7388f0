"""The command line: one file per command, loaded when it is called.

Owns the list of commands, exit codes and where errors are shown (standard error). Promises that
standard output holds data only. Never prompts without a terminal.
"""

import importlib
import sqlite3
import sys

import click

from swapcache import __version__
from swapcache.errors import StoreError, SwapcacheError

COMMANDS = {
    "setup": "install the hooks of an agent host, after showing the change",
    "uninstall": "take our hooks out again",
    "off": "stop at once, everywhere or --here",
    "on": "go on",
    "drill": "kill a session in mid-turn and show what the next one is told",
    "status": "stores, sizes, the newest injection, failures",
    "doctor": "check everything that can be wrong, and mend what is safe",
    "capture": "store a transcript",
    "import": "store the hosts' earlier sessions, and on request what they write",
    "wake": "what a next session is told; --last: what was injected",
    "state": "show the working state, or state tasks, next actions and insights",
    "log": "snapshots, newest first",
    "show": "one record",
    "verify": "check the seal",
    "trust": "what is proven, and how to put it right",
    "prune": "give the disk back what old sessions take",
    "forget": "take a text out of everything that is ours, and prove it",
    "paths": "where everything lies",
}
FILES = {"import": "importing"}
"""Commands whose names a module cannot have."""


class Lazy(click.Group):
    """Imports only the command that is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"swapcache.cli.{FILES.get(cmd_name, cmd_name)}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "-V", "--version", prog_name="swapcache")
def group() -> None:
    """Continuity for AI agents: the next session knows, and knows whose memory it is."""


def main() -> None:
    """Entry point. Errors of ours become one message and their exit code."""
    try:
        group.main(prog_name="swapcache", standalone_mode=True)
    except SwapcacheError as problem:
        _say(str(problem))
        sys.exit(problem.exit_code)
    except sqlite3.DatabaseError as problem:
        _say(f"the store is damaged ({problem}); nothing was changed")
        sys.exit(StoreError.exit_code)
    except UnicodeEncodeError as problem:
        _say(f"a name or text is no UTF-8 ({problem.reason})")
        sys.exit(SwapcacheError.exit_code)
    except PermissionError as problem:
        _say(f"{problem.filename}: no permission; it is another user's")
        sys.exit(StoreError.exit_code)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)


def _say(what: str) -> None:
    from swapcache.cli import options  # a command that works does not need them here

    options.problem(f"swapcache: {what}")
