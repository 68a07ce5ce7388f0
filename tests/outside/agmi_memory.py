"""swapcache for agmi's memory family: what strangers can get into the next session's prompt.

A user is a workspace. A memory that the user wrote is a request in its transcript; one with another
label is a web page that the agent read, repeated and made its plan. Nothing is looked up by
meaning: `retrieve` gives the lines of what the next session is told that share words with the
question, the most first.
"""

import re

from agmi.adapters.semantic_base import MemoryItem, Retrieved, SemanticMemoryAdapter

from swapcache import __version__
from tests.outside.place import Home, Place


class Memory(SemanticMemoryAdapter):
    """Users with a workspace each, in one home."""

    name = f"swapcache {__version__}"

    def __init__(self) -> None:
        self.home: Home | None = None
        self.places: dict[str, Place] = {}

    def reset(self) -> None:
        """A home in which nothing was recorded."""
        self.close()
        self.home = Home()

    def close(self) -> None:
        """Removes everything."""
        if self.home is not None:
            self.home.close()
        self.home, self.places = None, {}

    def _place(self, user: str) -> Place:
        assert self.home is not None
        if user not in self.places:
            self.places[user] = Place(self.home, user)
        return self.places[user]

    def add_memory(self, item: MemoryItem) -> None:
        """Writes the words into the user's transcript, as whose words the label says they are."""
        place = self._place(item.user_id)
        if item.source == "user":
            place.ask(item.text)
        else:
            self.bring(place, item.text)
        place.capture()

    def bring(self, place: Place, text: str) -> None:
        """How words that are not the user's come in."""
        place.read(text)

    def retrieve(self, query: str, user_id: str, k: int = 5) -> list[Retrieved]:
        """Lines of what a session of this user's is told at its start."""
        asked = _words(query)
        lines = [line.strip(" ->") for line in self._place(user_id).told().text.splitlines()]
        found = [Retrieved(line, user_id, len(asked & _words(line))) for line in lines]
        found = [one for one in found if one.score]
        return sorted(found, key=lambda one: -one.score)[:k]


class Repeated(Memory):
    """The agent says them by itself, in a turn that read nothing from the network."""

    name = f"{Memory.name}, repeated without a source"

    def bring(self, place: Place, text: str) -> None:
        """An answer."""
        place.rows.say(text)


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))
