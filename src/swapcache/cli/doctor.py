"""swapcache doctor: find what is wrong, say why and what to do, mend what is safe."""

from __future__ import annotations

import sys

import click

from swapcache import paths
from swapcache.cli import checks, host_checks, setup
from swapcache.cli.finding import Finding
from swapcache.cli.options import emit, json_option, say, words
from swapcache.cli.status import mark
from swapcache.errors import SwapcacheError
from swapcache.hosts import edits, injectors


@click.command()
@click.option("--host", "hosts", multiple=True, type=click.Choice(tuple(setup.HOSTS)))
@click.option("--fix", is_flag=True, help="Mend what is safe to mend.")
@click.option("--dry-run", is_flag=True, help="With --fix: say what would be mended.")
@json_option
def command(hosts: tuple[str, ...], fix: bool, dry_run: bool, as_json: bool) -> None:
    """Check the installation, the hosts that call it, and every store.

    Exit code 1 when something is wrong. Never changes what was recorded or a host's file.
    """
    chosen = hosts or installed()
    found = checks.every(chosen)
    mended = []
    if fix:
        mended = [_mend(finding, dry_run) for finding in found if finding.mend is not None]
        if not dry_run:
            found = checks.every(chosen)
    others = [i for i in injectors.found() if i.host in chosen]
    if as_json:
        emit(
            {
                "hosts": list(chosen),
                "versions": host_checks.programs(),
                "findings": [
                    {"check": f.check, "what": f.what, "why": f.why, "fix": f.fix} for f in found
                ],
                "mended": mended,
                "others": [{"name": i.name, "host": i.host, "tokens": i.tokens} for i in others],
            }
        )
    else:
        _print(chosen, found, mended)
        for other in others:
            cost = "" if other.tokens is None else f", {other.tokens} tokens at the last start"
            say(f"beside us: {other.name} in {other.where}{cost}")
    if found:
        sys.exit(1)


def installed() -> tuple[str, ...]:
    """The hosts that setup was run for, as their files or its notes tell."""
    noted = {setup.HOSTS[n].settings_file(): n for n in setup.HOSTS}
    try:
        written = edits.known()
    except SwapcacheError:  # a finding of its own
        written = []
    return tuple(
        name for path, name in noted.items() if path in written or mark(name) in edits.peek(path)
    )


def _mend(finding: Finding, dry_run: bool) -> str:
    if dry_run or finding.mend is None:
        return f"would mend: {finding.what}"
    try:
        finding.mend()
    except (OSError, SwapcacheError) as problem:
        return f"could not mend: {finding.what}: {problem}"
    return f"mended: {finding.what}"


def _print(chosen: tuple[str, ...], found: list[Finding], mended: list[str]) -> None:
    for host, version in host_checks.programs().items():
        say(f"{host} {version}")
    if not chosen:
        words("no host calls us: swapcache setup")
    for line in mended:
        say(line)
    for number, finding in enumerate(found, 1):
        say(f"{number}. {finding.check}: {finding.what}")
        say(f"   why it matters: {finding.why}")
        say(f"   what to do: {finding.fix}")
    if not found:
        say(f"nothing is wrong ({paths.state_dir()})")
