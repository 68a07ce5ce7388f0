"""The values that travel between layers.

Owns their names and fields. Promises that they are immutable and cheap to import: the hook loads
this file on every event. Never reads a file, a clock or the environment.
"""

from __future__ import annotations

TYPE_CHECKING = False  # the name type checkers know; importing typing costs a sixth of the hook
if TYPE_CHECKING:
    from typing import Any, Final
    from typing import NamedTuple as NamedTuple
else:
    from _collections import _tuplegetter

    _new = tuple.__new__

    def _filled(cls, args, given):
        """All fields from positional, named and default values. Raises TypeError."""
        fields = cls._fields
        if len(args) > len(fields):
            raise TypeError(f"{cls.__name__} takes {len(fields)} values, {len(args)} were given")
        values = dict(zip(fields, args, strict=False))
        for name, value in given.items():
            if name not in fields or name in values:
                raise TypeError(f"{cls.__name__} has no place for {name!r}")
            values[name] = value
        missing = [f for f in fields if f not in values and f not in cls._field_defaults]
        if missing:
            raise TypeError(f"{cls.__name__} lacks {', '.join(missing)}")
        return [values[f] if f in values else cls._field_defaults[f] for f in fields]

    class _Named(tuple):
        """What typing.NamedTuple gives a class, without its source-building at import."""

        __slots__ = ()

        def __new__(cls, *args, **given):
            lacking = cls._size - len(args)
            if given or lacking:
                if given or not 0 < lacking <= len(cls._tail):
                    return _new(cls, _filled(cls, args, given))
                args += cls._tail[-lacking:]
            return _new(cls, args)

        @classmethod
        def _make(cls, values):
            return cls(*values)

        def _asdict(self):
            return dict(zip(self._fields, self, strict=True))

        def _replace(self, **changes):
            values = list(self)
            for name, value in changes.items():
                if name not in self._fields:
                    raise TypeError(f"{type(self).__name__} has no place for {name!r}")
                values[self._fields.index(name)] = value
            return _new(type(self), values)

        def __repr__(self):
            inside = ", ".join(f"{k}={v!r}" for k, v in self._asdict().items())
            return f"{type(self).__name__}({inside})"

        def __getnewargs__(self):
            return tuple(self)

    class _TupleMeta(type):
        """Builds such a class from a class body with annotated fields."""

        def __new__(mcls, name, bases, body):
            if not bases:
                return super().__new__(mcls, name, bases, body)
            fields = tuple(body.get("__annotations__", ()))
            made = {k: v for k, v in body.items() if k not in fields}
            made |= {f: _tuplegetter(i, None) for i, f in enumerate(fields)}
            defaults = {f: body[f] for f in fields if f in body}
            made |= {
                "__slots__": (),
                "_fields": fields,
                "_field_defaults": defaults,
                "_tail": tuple(defaults.values()),
                "_size": len(fields),
                "__match_args__": fields,
            }
            return type(name, (_Named,), made)

    class NamedTuple(metaclass=_TupleMeta):
        pass


# -- what a transcript holds -----------------------------------------------------------------------

OWNER: Final = "owner"
AGENT: Final = "agent"
UNTRUSTED: Final = "untrusted"
SYSTEM: Final = "system"
"""Origin classes: where words came from (threat model). The seal never changes them."""


class ToolCall(NamedTuple):
    """A tool call as the assistant made it."""

    id: str
    name: str
    arguments: dict[str, Any]


class ToolResult(NamedTuple):
    """The answer to a tool call; `id` is the call's."""

    id: str
    text: str
    error: bool
    interrupted: bool = False
    """The host itself says that the outcome is unknown."""
    network: bool = False
    """Marked as words of strangers, by the host or by the fence that they stand in."""


class Message(NamedTuple):
    """One message of a transcript, classified.

    kind: request (a person's or program's own words), command, reply, partial (a reply that was cut
    off), more (the newest reply told once more, or a further part of it), reasoning, results,
    compaction, summary (of one), interrupted, heartbeat, notice (the host's words), failure (a turn
    that produced nothing), injected (our own or another hook's text).
    """

    role: str
    kind: str
    text: str
    origin: str
    wall: str
    """ISO 8601 as the host wrote it, or empty."""
    id: str = ""
    calls: tuple[ToolCall, ...] = ()
    results: tuple[ToolResult, ...] = ()
    sidechain: bool = False
    """Belongs to a child agent: recorded, but not what happened in this session."""
    assumed: bool = False
    """The host does not say whose words these are; the origin is what is assumed then."""


class Row(NamedTuple):
    """One piece of a transcript: its place, its exact bytes, what it parsed to."""

    start: int
    """Byte offset in the source."""
    raw: bytes
    """The bytes, without the line end."""
    value: dict[str, Any] | None
    """None when the piece is damaged beyond reading."""
    reason: str = ""
    """Why it is damaged, or empty."""


class Damage(NamedTuple):
    """Something in a source that could not be read; its bytes are kept all the same."""

    where: int
    """Byte offset in the source."""
    size: int
    """Length in bytes."""
    reason: str


# -- what a store holds ----------------------------------------------------------------------------


class Identity(NamedTuple):
    """Whose memory it is: one store each."""

    host: str
    state_dir: str
    """Real path of the host's state directory."""
    agent: str
    workspace: str
    """Real path of the git worktree root, else of the working directory."""
    inode: str
    """`device:inode` of the workspace, which survives a rename."""


class Process(NamedTuple):
    """What identifies a process. A pid alone is no identity: pids are used again."""

    boot: str
    """Boot id of the kernel, or empty where it cannot be read."""
    namespace: str
    """Pid namespace, or empty where it cannot be read."""
    pid: int
    started: int
    """Start time in clock ticks since boot."""


class Session(NamedTuple):
    """One run of an agent, known by (key, id, window); never by a path or a time."""

    number: int
    key: str
    id: str
    window: int
    process: Process | None
    parent: int | None
    """Number of the session whose work it took over."""
    begun: str
    touched: str
    ended: str
    """Empty while no orderly end was seen."""
    reason: str
    requests: int
    compactions: int
    last: int
    """Sequence number of its newest record, -1 for none."""


class Source(NamedTuple):
    """A transcript and how far it has been read."""

    number: int
    session: int
    path: str
    generation: int
    cursor: int
    """Bytes read so far; always at a line start."""
    head: str
    """sha256 of the first min(4096, cursor) bytes."""
    tail: str
    """sha256 of the last min(4096, cursor) bytes before the cursor."""
    format: str
    closed: int = 0
    """1 when its window is over: what follows in it belongs to the next one."""


class Record(NamedTuple):
    """A sealed record as it is read back."""

    seq: int
    body: bytes
    meta: dict[str, Any]
    source: int | None
    position: int | None
    pruned: bool = False
    """Its body is absent, and a sealed record says that it was pruned."""


class NewRecord(NamedTuple):
    """A record that is to be sealed."""

    body: bytes
    meta: dict[str, Any]
    source: int | None = None
    position: int | None = None
    size: int = 0
    """Bytes that it takes in its source, line end included."""


class Verdict(NamedTuple):
    """What the seal proves. A value, never an exception (threat model, verdicts)."""

    name: str
    """VERIFIED, PREFIX, ROLLED_BACK, FOREIGN, MODIFIED, GAP, UNSEALED or NO_KEY."""
    detail: str = ""
    have: int = -1
    """Newest sequence number that is proven."""
    seen: int = -1
    """Newest sequence number that the witness knows."""

    @property
    def good(self) -> bool:
        """True when the whole of what is served is proven."""
        return self.name == "VERIFIED"


# -- working state ---------------------------------------------------------------------------------


class Item(NamedTuple):
    """One thing that the next session should know.

    kind: next, task, request, unknown, question, decision, constraint, error, change, commit,
    fact, done, reply, insight, discussed, failure; of untrusted words also name and plan.
    """

    kind: str
    key: str
    """Same kind and key means the same thing; a later one replaces an earlier one."""
    text: str
    status: str
    origin: str
    record: int
    """Sequence number of the record that it came from."""
    wall: str
    stated: bool = False
    """The agent said so itself; outranks what was extracted."""


class WorkingState(NamedTuple):
    """The state of one session, folded from its records."""

    session: int
    seq: int
    """Newest record folded in."""
    items: tuple[Item, ...]
    counters: dict[str, int]
    """requests, replies, calls, failures, dropped items by kind."""


class Receipt(NamedTuple):
    """Proof of what was injected."""

    seq: int
    session: str
    epoch: str
    form: str
    cause: str
    verdict: str
    at: str
    """Time of the last record that the text stands on."""
    wall: str
    text: str
    tokens: int
    omitted: int
    withheld: int


class Capture(NamedTuple):
    """What one capture did; every part of the source is counted in it."""

    stream: str
    records: int
    """Rows of this stream in the store, readable or not."""
    kept: int
    """Readable ones among them."""
    new: int
    """Rows added by this capture."""
    messages: int
    lost: tuple[Damage, ...]
    head: int
    """Newest sequence number of the store."""
    tag: str
    pending: int = 0
    """Bytes of the source that are not read yet (an unfinished last line, or a bound reached)."""
    unknown: tuple[tuple[str, int], ...] = ()
    """(type, rows) of the types of rows that the format is not known to have; they are kept."""


# -- what a host says ------------------------------------------------------------------------------


class Event(NamedTuple):
    """A host's event in our words.

    name: start, prompt, tool, turn-end, turn-failed, before-compaction, end.
    """

    host: str
    name: str
    identity: Identity
    session_id: str
    session_key: str
    transcript: str
    """Path of the transcript, or empty."""
    cause: str = "unknown"
    """Why a session starts, as far as the host says."""
    prompt: str = ""
    """The prompt of a prompt event; of OpenClaw's shim the process that it runs in."""
    call: ToolCall | None = None
    result: ToolResult | None = None
    spooled: str = ""
    """Time of an event that could not be stored when it came."""
    detail: str = ""
    """Reason of an end, message of a failure."""
    process: Process | None = None
    direct: bool = True
    """The owner's own conversation, not a group's, a job's or a child run's."""
    ancestors: tuple[Process, ...] = ()
    """Above the host's process: a session of ours among them makes this one a child run."""
