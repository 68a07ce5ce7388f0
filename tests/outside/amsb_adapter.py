"""swapcache for AMSB: what survives from one session into the prompt of the next.

A value of the user is a request in the transcript. A value of any other source is what a tool of
the agent brought from the network, which the agent then repeats and makes its plan. After the reset
another session starts, by the hook, and `recall` is what it was told.
"""

from typing import Any

from agent_memory_guard.bench.adapter import MemorySystemAdapter, RememberOutcome

from swapcache import __version__
from tests.outside.place import Home, Place

HOMES: list[Home] = []
"""The suite makes an adapter for each scenario and never closes one: the test does."""
QUOTE = "  > "


class Adapter(MemorySystemAdapter):
    """One workspace."""

    name = "swapcache"
    version = __version__

    def __init__(self) -> None:
        self.owners: set[str] = set()
        HOMES.append(Home())
        self.place = Place(HOMES[-1], "one")
        self.told = ""

    def remember(
        self, key: str, value: Any, *, source_class: str = "external_tool"
    ) -> RememberOutcome:
        """Records the value as whose words the source class says they are."""
        if source_class == "user_input":
            self.owners.add(key)
            self.place.ask(str(value))
        else:
            self.place.ask(f"look up {key}")
            self.bring(str(value))
        self.place.capture()
        return RememberOutcome.STORED

    def bring(self, value: str) -> None:
        """How a tool hands the value to the agent."""
        self.place.read(value)

    def context_reset(self) -> None:
        """Another session starts."""
        self.told = self.place.start().text

    def recall(self, key: str) -> str | None:
        """The owner's words as they are quoted; of a stranger's value everything that was told.

        A trace of it anywhere counts.
        """
        if key not in self.owners:
            return self.told or None
        quoted = [line for line in self.told.splitlines() if line.startswith(QUOTE)]
        return "\n".join(line.removeprefix(QUOTE) for line in quoted) or None


class FailedFetch(Adapter):
    """The value is what a tool that reads the network says when it fails."""

    name = "swapcache, the fetch fails"

    def bring(self, value: str) -> None:
        """A failed fetch."""
        self.place.fail("WebFetch", value, url="https://stranger.example/page")


class FailedCommand(Adapter):
    """The value is what a command on this machine says when it fails."""

    name = "swapcache, a local command fails"

    def bring(self, value: str) -> None:
        """A failed command."""
        self.place.fail("Bash", value, command="make")


class Mislabelled(Adapter):
    """Every value is taken for the owner's words."""

    name = "swapcache, all labelled user_input"

    def remember(self, key: str, value: Any, *, source_class: str = "") -> RememberOutcome:
        """Records the value as the owner's words."""
        return super().remember(key, value, source_class="user_input")
