"""What each event of a host does to the store, up to the start of a session.

Owns the use cases prompt, tool, turn-end, turn-failed, before-compaction and end, and the late
capture of what a crash cut off. Promises that all of it is durable when it returns. A provisional
line (a prompt that the host has not written yet) is kept beside the state until the transcript has
it, and sealed as uncorroborated if it never gets it.
"""

import os

from swapcache.capture import capture, follow, process
from swapcache.errors import FormatError, MissingSourceError, SourceError, StoreError
from swapcache.model import (
    AGENT,
    OWNER,
    SYSTEM,
    UNTRUSTED,
    Event,
    Item,
    Message,
    Process,
    Session,
)
from swapcache.state import rules
from swapcache.store import sessions, times
from swapcache.store.store import Store, now

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SEALED = ("prompt", "turn-end", "turn-failed", "before-compaction", "end", "fold")
"""Events after which the state is sealed as a snapshot and published."""


def record(store: Store, event: Event, settings: "dict[str, Any]") -> capture.Ingested:
    """Captures one event. A view that cannot be published is a value: everything is stored then.

    Raises StoreError, SealError, SourceError (a transcript that is there but cannot be read).
    """
    with store.writing() as writer:
        session = capture.session_for(store, event)
        ledger = capture.Ledger(store, writer, session)
        done = capture.Ingested(0, 0, False)
        if event.transcript:
            done = _transcript(ledger, event)
        _provisional(ledger, event)
        if event.name in SEALED or (event.name == "import" and not done.more):
            capture.snapshot(ledger)
        if event.detail == sessions.IMPORTED:
            event, changes = _past(ledger, event)
        else:
            changes = {"process": event.process, "reason": event.detail}
        over = took_part(store, session, event)
        if event.name == "end" and over:
            changes["ended"] = now()
        elif session.ended and _goes_on(event, done.rows):
            changes["ended"] = ""
        ledger.save(**changes)
        if done.boundary:
            _next_window(ledger, event.transcript, event.process, done.boundary)
        state = ledger.fold.state(session.number, ledger.last)
    viewed = event.direct and event.host in settings["views"]["hosts"]
    if event.name in SEALED and viewed and store.keys:
        from swapcache.state import publishing, snapshot  # most hosts have no views

        given = settings["views"]
        text = snapshot.view(store, store.keys, state, session.id, given["heartbeat_hours"])
        try:
            publishing.publish(store, text, given["backups"])
        except StoreError as problem:  # whoever can write the workspace must not stop what follows
            return done._replace(unpublished=str(problem))
    return done


def _goes_on(event: Event, rows: int) -> bool:
    """True when an event shows that an ended session goes on after all."""
    if event.name == "end" or event.detail == sessions.IMPORTED:
        return False
    return rows > 0 or event.name != "fold"


def _past(ledger: capture.Ledger, event: Event) -> "tuple[Event, dict[str, Any]]":
    """(the event, what changes of its session) for an import: when that was says nothing.

    Nobody runs the session, unless the event names a process that may. One that hooks have seen
    stays as they left it.
    """
    session = ledger.session
    new = session.last < 0 and session.process is None
    if not new and session.reason != sessions.IMPORTED:
        return event._replace(process=None), {"touched": session.touched}
    wall = sessions.last_wall(ledger.store.db, session.number, ledger.last, now()) or now()
    ended = "" if event.process is not None else wall
    return event, {"touched": wall, "ended": ended, "reason": sessions.IMPORTED}


def record_whole(store: Store, event: Event, settings: "dict[str, Any]") -> capture.Ingested:
    """The same, step by step to the transcript's end; `rows` counts all steps."""
    rows, done = 0, capture.Ingested(0, 0, True)
    while done.more:
        done = record(store, event, settings)
        rows += done.rows
    return done._replace(rows=rows)


def _next_window(
    ledger: capture.Ledger, path: str, process: Process | None, reason: str
) -> Session:
    """Ends a session's window; what follows in its transcript belongs to the next one."""
    db, old = ledger.store.db, ledger.session
    sessions.touch(db, old.number, now(), last=ledger.last, ended=now(), reason=reason)
    before = sessions.find_source(db, old.number, path)
    made = sessions.add_session(db, old.key, old.id, process, now(), window=old.window + 1)
    capture.Ledger(ledger.store, ledger.writer, made).save()
    source = sessions.add_source(db, made.number, path, 0)
    if before is not None:
        moved = before._replace(number=source.number, session=made.number, generation=0, closed=0)
        sessions.move_cursor(db, moved, 0, 0, 0)
    return made


def _transcript(ledger: capture.Ledger, event: Event) -> capture.Ingested:
    try:
        return capture.ingest(ledger, event.transcript, event.host, event.name, follow.BATCH)
    except MissingSourceError:
        # Hosts name a transcript before they write it, and write it in batches: only one that is
        # still missing when a session with work in it ends is worth a line in the error log.
        ended = event.name == "end" and ledger.provisional.get("prompt")
        if event.name == "import" or ended:
            raise
    except FormatError:
        if event.name not in ("prompt", "tool"):  # the first batch may hold no message yet
            raise
    return capture.Ingested(0, 0, False)


def _provisional(ledger: capture.Ledger, event: Event) -> None:
    """Keeps what the event says and the transcript does not hold yet."""
    waiting = ledger.provisional
    if event.name in ("prompt", "end"):
        uncorroborated(ledger)
    if event.name == "prompt" and event.prompt.strip() and not _late(ledger, event):
        waiting["prompt"] = {"text": event.prompt.strip()[:16000], "wall": now()}
    if event.name in ("prompt", "turn-end"):
        waiting.pop("calls", None)  # by then the transcript has them
        waiting.pop("finished", None)
        waiting.pop("tainted", None)
    if event.name == "tool" and event.result is not None and event.call is not None:
        call = event.call
        said = (event.result.text or "no output") if event.result.error else ""
        waiting.setdefault("finished", {})[call.id] = rules.outcome(said, rules.source(call))
        if call.id not in ledger.fold.calls:
            what = f"{rules.tool(call.name)}: {rules.cut(rules.target(call), rules.LINE_LIMIT)}"
            origin = UNTRUSTED if tainted(ledger) else AGENT
            waiting.setdefault("calls", {})[call.id] = [what, now(), origin]
        if rules.is_network(call):
            waiting["tainted"] = True
    if event.name == "turn-failed":
        text = event.detail or "the turn failed"
        ledger.state_record(Message("assistant", "failure", text, SYSTEM, now()), event.name)


def tainted(ledger: capture.Ledger) -> bool:
    """True when strangers' words have come into this turn, by the transcript or by an event."""
    waiting = ledger.provisional
    begun = "prompt" in waiting  # the transcript is still in the turn before
    return bool(waiting.get("tainted")) or (ledger.fold.tainted and not begun)


def _late(ledger: capture.Ledger, event: Event) -> bool:
    """True for a spooled prompt that the transcript has meanwhile, or that newer ones followed."""
    if not event.spooled:
        return False
    start = event.prompt.strip()[: capture.SAME]
    asked = list(ledger.fold.of("request").values())
    newer = any(times.age(i.wall, event.spooled) < 0 for i in asked)
    return newer or any(i.text.startswith(start) for i in asked)


def uncorroborated(ledger: capture.Ledger) -> None:
    """Seals a prompt that the transcript never got."""
    prompt = ledger.provisional.pop("prompt", None)
    if prompt is not None:
        message = Message("user", "request", prompt["text"], OWNER, prompt["wall"], assumed=True)
        ledger.state_record(message, "uncorroborated")


def reconcile(
    store: Store, session: Session, host: str, *, gone: bool, steps: int = 1 << 30
) -> int:
    """Captures what a session's transcripts hold beyond their cursors. Gives the new rows.

    At most `steps` transactions of about 4 MB each (`behind` says whether more waits). With `gone`
    the session is known to be over: what stayed provisional is sealed. A transcript that vanished
    is no error: what was captured of it stays.
    """
    added = 0
    for _ in range(steps):
        with store.writing() as writer:
            session = sessions.session(store.db, session.number)
            ledger = capture.Ledger(store, writer, session)
            more, before, ended = False, ledger.last, ("", "")
            for source in sessions.sources(store.db, session.number):
                if source.path == capture.STATEMENTS:
                    continue
                try:
                    done = capture.ingest(ledger, source.path, host, "reconcile", follow.BATCH)
                except SourceError:
                    continue
                added += done.rows
                more = more or done.more
                if done.boundary:
                    ended = source.path, done.boundary
            if gone and ledger.provisional.get("prompt") and not more:
                uncorroborated(ledger)
            if ledger.last != before:
                capture.snapshot(ledger)
                ledger.save(session.touched)
            if ended[1]:
                session = _next_window(ledger, ended[0], session.process, ended[1])
        if not more:
            break
    return added


def behind(store: Store, key: str, session_id: str) -> bool:
    """True when a session's transcripts hold more than a hook should read at once."""
    session = sessions.find_session(store.db, key, session_id)
    for source in sessions.sources(store.db, session.number) if session is not None else ():
        try:
            if os.stat(source.path).st_size - source.cursor > follow.BATCH:
                return True
        except OSError:
            continue  # the pseudo-source, or a transcript that is gone
    return False


def living(store: Store, session: Session) -> bool | None:
    """Whether a session without an orderly end still runs: one of its processes lives.

    None when that cannot be known. A transcript that was only captured has no process: it is over.
    """
    if session.ended:
        return False
    answers = [process.alive(p) for p in sessions.processes(store.db, session.number)]
    if True in answers:
        return True
    return None if None in answers else False


def took_part(store: Store, session: Session, event: Event) -> bool:
    """Notes which process works on a session; False when it ends and another one still works."""
    if event.process is not None and event.name != "end":
        sessions.run(store.db, session.number, event.process)
    if event.name == "end":
        if event.process is not None:
            sessions.leave(store.db, session.number, event.process)
        others = [process.alive(p) for p in sessions.processes(store.db, session.number)]
        return not (True in others or None in others)
    return True


def provisional_items(waiting: "dict[str, Any]", record: int) -> tuple[Item, ...]:
    """What no transcript holds yet, as items: a prompt, calls that a hook saw."""
    found = [
        Item("unknown", key, text, "unknown", origin[0] if origin else AGENT, record, wall)
        for key, (text, wall, *origin) in waiting.get("calls", {}).items()
    ]
    prompt = waiting.get("prompt")
    if prompt:
        wall, text = prompt["wall"], prompt["text"]
        found.append(Item("request", "provisional", text, "open", OWNER, record, wall))
    return tuple(found)
