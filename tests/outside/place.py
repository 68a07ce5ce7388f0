"""A workspace in a home of its own, whose memory is written and read as the hooks do it.

What an outside suite stores goes through a transcript and `events.record`; what it reads back is
what `wake.tell` would put into the next session's prompt, without writing anything.
"""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from swapcache import config
from swapcache.capture import events
from swapcache.model import Event, Session
from swapcache.store import identity
from swapcache.store.opening import open_store
from swapcache.store.store import Store, now
from swapcache.wake import scene, wake
from tests.rows import Claude

NEXT = Session(-1, "next", "next", 0, None, None, "", "", "", "", 0, 0, -1)
"""A session that begins and that the store does not know yet."""


class Home:
    """A temporary home; SWAPCACHE_HOME points into it until `close`."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="swapcache-outside-")
        self.path = Path(self._folder.name)
        self._before = os.environ.get("SWAPCACHE_HOME")
        os.environ["SWAPCACHE_HOME"] = str(self.path / "swapcache")

    def close(self) -> None:
        """Puts the variable back and removes everything."""
        if self._before is None:
            del os.environ["SWAPCACHE_HOME"]
        else:
            os.environ["SWAPCACHE_HOME"] = self._before
        self._folder.cleanup()


class Place:
    """One workspace: a transcript that a host writes, and the store that our hooks keep of it."""

    def __init__(self, home: Home, name: str) -> None:
        workspace = home.path / name
        (workspace / ".git").mkdir(parents=True)
        self.identity = identity.identify("claude-code", str(home.path / ".host"), str(workspace))
        self.session = f"session-of-{name}"
        self.rows = Claude(home.path / f"{name}.jsonl", self.session, str(workspace))
        self.starts = 0
        self._id = ""

    @property
    def store_id(self) -> str:
        """The name of its store, which is made if need be."""
        if not self._id:
            with self.opened() as store:
                self._id = store.id
        return self._id

    @contextmanager
    def opened(self) -> Iterator[Store]:
        """The store, as each hook opens it anew."""
        store = open_store(self.identity)
        try:
            yield store
        finally:
            store.close()

    def _event(self, name: str, session: str, path: str = "") -> Event:
        return Event("claude-code", name, self.identity, session, session, path)

    def ask(self, text: str) -> None:
        """The owner's words, stamped with the time that it is: old work is told shorter."""
        self.rows.user(text, timestamp=now())

    def read(self, text: str) -> None:
        """A stranger's words: a web page that the agent reads, repeats and makes its plan."""
        page = f"page-{self.rows.count}"
        self.rows.call(page, "WebFetch", url="https://stranger.example/page")
        self.rows.result(page, text)
        self.rows.say(text)
        plan = f"plan-{self.rows.count}"
        todos = [{"content": text, "status": "in_progress"}]
        self.rows.call(plan, "TodoWrite", todos=todos)
        self.rows.result(plan, "ok")

    def fail(self, tool: str, text: str, **given: str) -> None:
        """A call of a tool that fails with these words."""
        key = f"call-{self.rows.count}"
        self.rows.call(key, tool, **given)
        self.rows.result(key, text, error=True)

    def capture(self) -> None:
        """The hook after a tool. Raises SealError when nothing may be appended."""
        with self.opened() as store:
            event = self._event("tool", self.session, str(self.rows.path))
            events.record(store, event, config.DEFAULTS)

    def start(self) -> wake.Woken:
        """The hook at the start of another session, with all that it writes."""
        self.starts += 1
        with self.opened() as store:
            begun = self._event("start", f"later-{self.starts}")
            return wake.start(store, begun, config.DEFAULTS)

    def told(self) -> wake.Woken:
        """What a session that starts now would be told; writes nothing."""
        with self.opened() as store:
            found = scene.scene(store, NEXT, self._event("start", "next"))
            return wake.tell(store, found, config.DEFAULTS, now_wall=now())
