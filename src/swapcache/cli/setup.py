"""swapcache setup: install hosts' hooks, after showing the change; then prove that it works."""

from __future__ import annotations

import os
import shutil
import sys
from functools import partial

import click

from swapcache import config, paths
from swapcache.cli import proof
from swapcache.cli.options import safe, say, words
from swapcache.errors import HostError
from swapcache.hosts import (
    claude_code,
    claude_settings,
    edits,
    history,
    injectors,
    known,
    launcher,
)
from swapcache.hosts import openclaw_config as openclaw
from swapcache.state import gate
from swapcache.store import files, removal, sessions
from swapcache.store.store import Store
from swapcache.wake import scene

EPHEMERAL = ("/uv/archive-v0/", "/uv/builds-v0/", "/pipx/.cache/", "/.cache/pipx/")
IMPORT_S = 4.0
HOSTS = {claude_settings.NAME: claude_settings, openclaw.NAME: openclaw}


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
@click.option("--no-import", is_flag=True, help="Leave the hosts' earlier sessions alone.")
def command(
    hosts: tuple[str, ...],
    dry_run: bool,
    yes: bool,
    directory_hook: bool,
    agents_md: bool,
    no_import: bool,
) -> None:
    """Install the hooks of a host: show the diff, ask once, back up, write, prove it.

    Only our own entries are added, everything else keeps its bytes. Exit code 11 when a file has no
    safe place for them: what to paste is printed.
    """
    refuse_ephemeral()
    chosen = hosts or tuple(name for name in HOSTS if os.path.isdir(known.state_dir(name)))
    if not chosen:
        raise HostError(
            f"no host was found ({' and '.join(map(known.state_dir, HOSTS))} do not exist); "
            "start the host once, or name it: swapcache setup --host claude-code"
        )
    changes = plan(chosen, directory_hook, agents_md)
    show(changes, chosen)
    if dry_run:
        return
    if changes and not yes:
        ask(f"write {len(changes)} file(s)?")
    install(changes, chosen)
    untold = _untold()
    if untold:
        words(f"not proven: {untold}")
    for name in () if untold else chosen:
        ms = proof.prove(name)
        words(f"proof: a synthetic {name} session was told to the next one, {ms:.0f} ms")
        program = shutil.which("claude") if name == claude_code.NAME else None
        if program is not None:
            try:
                words(f"proof: it reached the real program's prompt ({proof.reached(program)})")
            except HostError as problem:  # the hook itself is proven
                words(f"not proven on the real program: {problem}")
    if not no_import:
        own_history(chosen)
    words("installed. From the next session on the state is recorded (restart a running gateway).")
    words(
        "See it: swapcache status, swapcache wake. Stop it: swapcache off. Take it back: "
        "swapcache uninstall"
    )


def plan(
    chosen: tuple[str, ...], directory_hook: bool = False, agents_md: bool = False
) -> list[edits.Change]:
    """The changes that the hosts' files need. Raises HostError, PasteError."""
    found = []
    for name in chosen:
        edit = HOSTS[name].installed
        if name == openclaw.NAME and directory_hook:
            edit = openclaw.with_hook
        ours = partial(edit, launcher=paths.launcher())
        found.append(edits.plan(HOSTS[name].settings_file(), ours))
        if name == openclaw.NAME and agents_md:
            found.append(edits.plan(guide_file(), with_guide))
    return [change for change in found if change is not None]


def guide_file() -> str:
    """AGENTS.md of OpenClaw's default workspace."""
    text = edits.read(openclaw.settings_file()) or ""
    return f"{openclaw.workspace_of(text)}/AGENTS.md"


def with_guide(text: str) -> str:
    """AGENTS.md with our fallback block."""
    beside = os.path.join(os.path.dirname(sys.executable), "swapcache")
    program = beside if os.path.exists(beside) else f"{sys.executable} -m swapcache.cli"
    return openclaw.with_fallback(text, f"{program} wake")


def show(changes: list[edits.Change], chosen: tuple[str, ...]) -> None:
    """Every change, every file that would be made, every other tool at the same place."""
    for change in changes:
        for line in change.diff().split("\n"):
            say(line)
    if not changes:
        words("the hosts' files are as wanted already")
    made = [paths.launcher()]
    if openclaw.NAME in chosen:
        made += [f"{paths.plugin_dir(openclaw.NAME)}/{name}" for name in openclaw.ASSETS]
    for path in made:
        if not os.path.exists(path):
            words(f"creates {path}")
    for other in injectors.found():
        if other.host in chosen:
            cost = "its cost shows nowhere" if other.tokens is None else f"{other.tokens} tokens"
            words(
                f"beside us: {other.name} ({other.where}), {cost} at the last session start; "
                f"ours: at most {_budget()}"
            )


def _budget() -> int:
    return int(config.load(files.publish_private)["wake"]["budget"])


def _untold() -> str:
    """Why a synthetic session would be told nothing; empty when it would."""
    if os.path.exists(paths.off_file()):
        return "swapcache is off everywhere (swapcache on)"
    policy = config.load(files.publish_private)["policy"]["restart"]
    return "" if policy == "full" else f'the policy for "restart" is "{policy}"'


def ask(question: str) -> None:
    """Asks once. Raises HostError without a terminal."""
    if not sys.stdin.isatty():
        raise HostError("nothing was changed: there is no terminal to ask; add --yes")
    click.confirm(question, abort=True, err=True)


def install(changes: list[edits.Change], chosen: tuple[str, ...]) -> None:
    """Writes our own files first, then the hosts' files that name them."""
    for folder in removal.own():
        if os.path.islink(folder):
            raise HostError(
                f"{folder} is a link, which anybody who owns its target could move; nothing was "
                f"changed: set SWAPCACHE_HOME to {os.path.realpath(folder)}"
            )
    launcher.install()
    for name in chosen:
        HOSTS[name].place_files()
    for change in changes:
        backup = edits.apply(change)
        if backup:
            words(f"backup: {backup}")


def refuse_ephemeral() -> None:
    """A cache that a tool clears is no place for what hosts will call. Raises HostError."""
    if any(part in launcher.package() for part in EPHEMERAL):
        raise HostError(
            "this swapcache runs from a cache that will be cleared; install it first, with "
            "`pipx install swapcache` or `uv tool install swapcache`"
        )


def own_history(chosen: tuple[str, ...]) -> None:
    """Imports what fits into some seconds and shows the person's own last task."""
    done = history.quick(chosen, IMPORT_S)
    for problem in done.failed:
        words(f"not imported: {problem}")
    if not done.sessions:
        words("no earlier session was found" if not done.failed else "no session was imported")
        return
    told = {taken.session: taken.report for taken in done.sessions}  # of several files of one: once
    reports = told.values()
    rows, kept = sum(r.records for r in reports), sum(r.kept for r in reports)
    lost = sum(len(r.lost) for r in reports)
    count = len(done.sessions)
    left = done.found - count - len(done.failed)
    words(
        f"{done.found} sessions found, {count} imported: {kept} of {rows} rows readable, "
        f"{lost} damaged" + (f"; {left} left for `swapcache import`" if left else "")
    )
    past = done.sessions[0].past
    store = Store(done.sessions[0].store)
    try:
        found = sessions.find_session(store.db, past.key, past.session)
        items = gate.passed(scene.known(store, found)[0])
        last = next((i.text for i in reversed(items) if i.kind == "request"), "")
        following = next((i.text for i in items if i.kind == "next"), "")
        task = next((i.text for i in items if i.kind == "task" and i.status != "done"), "")
        say(f"your last session: {past.workspace} ({past.host})")
        say(f"  last request: {safe(last, store)[:300] or '-'}")
        say(f"  next: {safe(following or task, store)[:300] or '-'}")
    finally:
        store.close()
