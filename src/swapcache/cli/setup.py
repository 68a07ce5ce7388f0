"""swapcache setup: install a host's hooks, after showing the change."""

import difflib
import os
import subprocess
import sys

import click

from swapcache import __version__, paths
from swapcache.cli.options import words
from swapcache.errors import HostError
from swapcache.hosts import claude_code, launcher
from swapcache.hosts import openclaw_config as openclaw
from swapcache.store import files
from swapcache.store.store import now

EPHEMERAL = ("/uv/archive-v0/", "/uv/builds-v0/", "/pipx/.cache/", "/.cache/pipx/")


HOSTS = {claude_code.NAME: claude_code, openclaw.NAME: openclaw}


@click.command()
@click.option("--host", "hosts", multiple=True, type=click.Choice(tuple(HOSTS)))
@click.option("--dry-run", is_flag=True, help="Show the change, write nothing.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option(
    "--directory-hook",
    is_flag=True,
    help="OpenClaw: a directory hook instead of the plugin (gateway only).",
)
@click.option("--agents-md", is_flag=True, help="OpenClaw: also a fallback block in AGENTS.md.")
def command(
    hosts: tuple[str, ...], dry_run: bool, yes: bool, directory_hook: bool, agents_md: bool
) -> None:
    """Install the hooks of a host: show the diff, ask, back up, write, try the hook.

    Only our own entries are added; everything else in the file stays.
    """
    refuse_ephemeral()
    chosen = hosts or tuple(n for n, host in HOSTS.items() if os.path.isdir(host.state_dir()))
    if not chosen:
        raise HostError(
            f"no host was found ({claude_code.state_dir()} and {openclaw.state_dir()} do not "
            "exist); start the host once, or name it: swapcache setup --host claude-code"
        )
    for name in chosen:
        edit = HOSTS[name].installed
        if name == openclaw.NAME and directory_hook:
            edit = openclaw.with_hook
        change(name, edit, dry_run, yes, "install")
        if name == openclaw.NAME and agents_md:
            guide(True, dry_run)
        if not dry_run:
            HOSTS[name].place_files()
            note_caller(HOSTS[name].settings_file())
    if not dry_run:
        launcher.install()
        prove(chosen[0])
        words(
            "installed. From the next session on the state is recorded (restart a running gateway);"
            " `swapcache status` shows it, `swapcache uninstall` takes it back."
        )


def change(host: str, edit: "claude_code.Edit", dry_run: bool, yes: bool, verb: str) -> bool:
    """Shows and writes a change of a host's file; False when there is nothing to change."""
    path = HOSTS[host].settings_file()
    before = read(path)
    after = edit(before, paths.launcher())
    if after == before:
        words(f"{path}: nothing to {verb}")
        return False
    diff = difflib.unified_diff(
        before.splitlines(),
        after.splitlines(),
        path,
        f"{path} (swapcache {__version__})",
        "",
        "",
        3,
        "",
    )
    click.echo("\n".join(diff))
    if dry_run:
        return False
    if not yes:
        if not sys.stdin.isatty():
            raise HostError("nothing was changed: there is no terminal to ask; add --yes")
        click.confirm(f"change {path}?", abort=True, err=True)
    if read(path) != before:
        raise HostError(f"{path} was changed meanwhile; nothing was written: run it again")
    write(path, before, after)
    return True


def guide(wanted: bool, dry_run: bool) -> None:
    """Puts the fallback block into the workspace's AGENTS.md, or takes it out again."""
    path = f"{openclaw.workspace_of(read(openclaw.settings_file()))}/AGENTS.md"
    before = read(path)
    beside = os.path.join(os.path.dirname(sys.executable), "swapcache")
    program = beside if os.path.exists(beside) else f"{sys.executable} -m swapcache.cli"
    after = (
        openclaw.with_fallback(before, f"{program} wake")
        if wanted
        else openclaw.without_fallback(before)
    )
    if after == before:
        return
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), path, path, "", "", 1, "")
    click.echo("\n".join(lines))
    if dry_run or not os.path.isdir(os.path.dirname(path)):
        return
    if after:
        write(path, before, after)
    else:
        os.unlink(path)


def read(path: str) -> str:
    """The settings file, empty when there is none. Raises HostError."""
    try:
        with open(path, encoding="utf-8", newline="") as file:
            return file.read()
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as problem:
        raise HostError(f"{path} cannot be read ({problem}); nothing was changed") from problem


def write(path: str, before: str, after: str) -> None:
    """Backs the file up and replaces it; a link is followed, so that it stays one."""
    real = os.path.realpath(path)
    mode = os.stat(real).st_mode & 0o777 if os.path.exists(real) else 0o600
    if before:
        name = f"{now().replace(':', '')}-{os.urandom(2).hex()}-{os.path.basename(real)}"
        files.publish_private(f"{paths.backups_dir()}/{name}", before)
        words(f"backup: {paths.backups_dir()}/{name}")
    files.publish_private(real, after)
    os.chmod(real, mode)


def _callers() -> list[str]:
    try:
        with open(paths.callers_file(), encoding="utf-8") as file:
            return [line for line in file.read().splitlines() if line]
    except FileNotFoundError:
        return []


def note_caller(path: str) -> None:
    """Remembers a configuration that calls the launcher."""
    files.publish_private(paths.callers_file(), "\n".join(sorted({*_callers(), path})) + "\n")


def forget_callers(gone: list[str]) -> list[str]:
    """Forgets configurations; gives those that still call the launcher."""
    left = [path for path in _callers() if path not in gone and paths.launcher() in read(path)]
    files.publish(paths.callers_file(), "\n".join(left) + "\n")
    return left


def refuse_ephemeral() -> None:
    """A cache that a tool clears is no place for what hosts will call. Raises HostError."""
    if any(part in launcher.package() for part in EPHEMERAL):
        raise HostError(
            "this swapcache runs from a cache that will be cleared; install it first, with "
            "`pipx install swapcache` or `uv tool install swapcache`"
        )


def prove(host: str) -> None:
    """Calls the launcher as a host does, with an event that stores nothing. Raises HostError."""
    run = [paths.launcher(), host, "Notification"]
    done = subprocess.run(run, input=b"{}", capture_output=True, check=False)  # noqa: S603
    if done.returncode or done.stdout or done.stderr:
        said = (done.stdout + done.stderr).decode("utf-8", "replace").strip()
        raise HostError(f"the hook does not run: exit {done.returncode}, {said!r}")
