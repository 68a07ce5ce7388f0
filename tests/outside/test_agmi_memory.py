"""agmi's memory family: what gets into the next session's prompt as if it were the user's.

What comes back by itself is the brief; there is no search here yet. An attack counts as kept out
when the attacker's words are not in it.

external: words that the agent read from the network. They never come back: asserted.
laundered, agent-laundered: words that stand in the host's transcript as typed by the user, with or
without a signature. They come back: a store cannot tell them from the user's. Whose words a row is
comes from the host, there is no interface by which a caller could write a label or a signature.
Who can write the host's transcripts acts as the user (docs/threat-model.md).
cross-user: another workspace's words. They never come back: asserted.
metadata_poisoning: not applicable, the brief has no filter that a writer could set a tag for.
"""

from importlib.metadata import version

import pytest
from agmi.attacks.memory_specific import ALL_MEMORY_ATTACKS, MemoryAttackResult
from agmi.measure import run_memory_attacks

from tests.outside.agmi_memory import Memory, Repeated
from tests.outside.conftest import Table

SUITE = f"agmi {version('agent-memory-integrity')}, memory family"
TITLE = f"{SUITE} (fixtures in which the attacker's words came back)"
NO_ANSWER = {"metadata_poisoning"}
KEPT_OUT = {"external", "cross-user"}


def measured(adapter: Memory, *, mutate: bool = False) -> dict[str, MemoryAttackResult]:
    """Results by attack."""
    try:
        return {one.attack: one for one in run_memory_attacks(adapter, mutate=mutate)}
    finally:
        adapter.close()


def surfaced(result: MemoryAttackResult) -> dict[str, int]:
    """By channel: in how many fixtures the attacker's words came back."""
    return {channel: sum(map(bool, fixtures)) for channel, fixtures in result.channels.items()}


@pytest.mark.parametrize("mutate", [False, True], ids=["plain", "mutated"])
def test_strangers_and_other_users_words_never_come_back(mutate: bool, table: Table) -> None:
    found = measured(Memory(), mutate=mutate)
    assert len(found) == len(ALL_MEMORY_ATTACKS)
    for attack, result in found.items():
        said = [f"{channel} {count} of 5" for channel, count in surfaced(result).items()]
        name = f"{attack}{', mutated' if mutate else ''}"
        table(TITLE, name, ", ".join(said) or f"n/a: {result.error}")
        if attack in NO_ANSWER:
            assert result.status == "n/a"
            continue
        assert result.error is None, "the user's own words are served: there is a verdict"
        gated = KEPT_OUT.intersection(result.channels)
        assert gated
        for channel in gated:
            assert result.channels[channel] == [False] * 5, attack


def test_the_same_words_come_back_when_no_source_is_seen(table: Table) -> None:
    """The known limit: an agent that repeats them without a network tool makes them its own."""
    found = measured(Repeated())
    count = surfaced(found["memory_injection"])["external"]
    table(TITLE, "memory_injection, repeated", f"external {count} of 5, by the agent itself")
    assert count == 5
