"""swapcache drill: kill a session, show what the next one is told."""

from pathlib import Path

import click

from swapcache.cli.options import block, emit, json_option, safe, words
from swapcache.drill import drill


@click.command()
@click.option("--session", type=click.Path(path_type=Path), help="Transcript (default: our own).")
@click.option("--kill-at", default=0, type=click.IntRange(min=0), help="Row of a tool call.")
@click.option(
    "--host",
    type=click.Choice(("claude-code",)),
    help="Kill the real program instead, against a scripted model.",
)
@json_option
def command(session: Path | None, kill_at: int, host: str | None, as_json: bool) -> None:
    """Kill a session between a tool call and its result; print what the next one is told.

    Runs in a temporary home; nothing of yours is read or changed. Fails when the next session is
    not told the last request and the interrupted call under a VERIFIED seal.
    """
    if host and (session or kill_at):
        raise click.UsageError("--host runs a session of its own; leave --session and --kill-at")
    facts: dict[str, object] = {}
    if host:
        from swapcache.drill import live

        outcome, facts = live.run()
    else:
        outcome = drill.run((session or drill.SHIPPED).resolve(), kill_at)
    if as_json:
        emit(outcome.as_json() | facts, exact="text")
        return
    killed, wake = outcome.killed, outcome.wake
    words(f"session   {host or 'a recorded one, event by event through the hook'}")
    words(f"killed    pid {killed.pid} by SIGKILL after row {killed.at}, inside this call:")
    words(f"          {safe(killed.call)[:100]}")
    words("without   the next session starts blank (0 tokens)")
    words(
        f"with      {wake['tokens']} tokens, seal {wake['verdict']}, in {outcome.ms:.0f} ms; "
        "the next session is told:"
    )
    for key, value in facts.items():
        words(f"{key:<9} {value}")
    block(str(wake["text"]))
