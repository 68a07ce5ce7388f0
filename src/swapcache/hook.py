"""The per-event process: payload in, one use case, host-shaped answer out.

Owns the only fail-open boundary. Promises to exit 0, to print nothing but the answer, and that a
failure is one line in the error log (which status and the next brief show). Uses the standard
library's allow-list only; never waits for a model or a network.

    python -I -S -c "<put the package on the path>; from swapcache.hook import run; run()" \
        HOST EVENT < payload        (hosts/launcher.py writes this line)
"""

import json
import os
import sys

from swapcache import config, paths
from swapcache.capture import events, process
from swapcache.errors import (
    BusyError,
    ConfigError,
    HostError,
    KeyProblem,
    NoSpaceError,
    StoreError,
    SwapcacheError,
)
from swapcache.model import Event, Identity, Process
from swapcache.store import files, identity
from swapcache.store.opening import open_store
from swapcache.store.store import Store, now

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

WAIT = 2.0
PAYLOAD = "SWAPCACHE_PAYLOAD"
"""Where a host that may be killed at any moment puts the payload; a pipe could stay empty."""
SPOOL_LIMIT = 64 << 20
DRAIN_LIMIT = 1 << 20
LOG_LIMIT = 1 << 20
TAIL = 16384
RESERVE = 16384


def run() -> None:
    """Ends without a shutdown of the interpreter: everything is on the disk by then."""
    os._exit(main(sys.argv[1:]))


def main(argv: list[str]) -> int:
    """Runs one event. Always gives 0."""
    answer = b""
    more = False
    event: Event | None = None
    try:
        host, name = argv[0], argv[1]
        if os.path.exists(paths.off_file()):
            return 0
        payload = json.loads(os.environ.get(PAYLOAD) or sys.stdin.buffer.read() or b"{}")
        event = parse(host, name, payload)
        if event is not None and paths.is_off(event.identity.workspace):
            return 0
        if event is not None:
            answer, more = handle(event)
    except Exception as problem:  # the one place: a host must never be disturbed
        _log(argv, problem, event)
        if event is not None:
            _spool(argv, payload, event, problem)
    try:
        if answer:
            files.write_all(1, answer)
        if more and event is not None:
            _go_on(event)
    except Exception as problem:  # the host closed its end, or no process can be started
        _log(argv, problem, event)
    return 0


def parse(host: str, name: str, payload: "dict[str, Any]") -> Event | None:
    """The event of a payload. Raises HostError for a host without hooks of ours."""
    if host == "claude-code":
        from swapcache.hosts import claude_code

        return claude_code.event(name, payload, os.environ)
    if host == "openclaw":
        from swapcache.hosts import openclaw

        return openclaw.event(name, payload, os.environ)
    raise HostError(f"no hook of ours serves the host {host!r}")


def handle(event: Event) -> tuple[bytes, bool]:
    """One use case. Gives (answer for the host, whether more of the transcript waits)."""
    settings = config.load(files.publish_private)
    store = open_store(event.identity, WAIT)
    more = False
    try:
        if event.host == "openclaw":
            from swapcache.hosts import openclaw

            _reserve()
            more, problem = openclaw.run(store, event, settings)
            _complain(problem, event)
            return b"", more
        if event.name != "start":
            done = events.record(store, event, settings)
            more = done.more
            _complain(done.unpublished, event)
            return b"", more
        from swapcache.hosts import claude_code
        from swapcache.wake import wake

        _reserve()
        drain()
        woken = wake.start(store, event, settings, newest_failure(event.identity.workspace))
        more = events.behind(store, event.session_key, event.session_id)
        return claude_code.answer(woken.text), more
    finally:
        if more:
            store.close()  # a process of its own goes on with the rest
        else:
            store.leave()


def _complain(problem: str, event: Event) -> None:
    """Logs what went wrong beside the memory, which is whole: nothing is spooled for it."""
    if problem:
        _log([event.host, event.name], StoreError(problem), event)


# -- failures --------------------------------------------------------------------------------------


def _log(argv: list[str], problem: Exception, event: Event | None = None) -> None:
    """One line: what failed, where, when. When even that fails there is nowhere left to say it."""
    try:
        _write_log(argv, problem, event)
    except (OSError, SwapcacheError):
        return


def _write_log(argv: list[str], problem: Exception, event: Event | None) -> None:
    where = problem.__traceback__
    while where is not None and where.tb_next is not None:
        where = where.tb_next
    line = {
        "wall": now(),
        "event": " ".join(argv[:2]),
        "error": type(problem).__name__,
        "message": str(problem)[:500],
        "at": f"{where.tb_frame.f_code.co_name}:{where.tb_lineno}" if where else "",
        "workspace": event.identity.workspace if event is not None else "",
    }
    log, text = paths.error_log(), json.dumps(line).encode()
    if os.path.exists(log) and os.stat(log).st_size > LOG_LIMIT:
        os.replace(log, f"{log}.1")
    try:
        files.append_line(log, text, LOG_LIMIT * 2)
    except NoSpaceError:
        os.unlink(paths.reserve_file())
        files.append_line(log, text, LOG_LIMIT * 2)


def _reserve() -> None:
    """Keeps a little space for the day when the disk is full."""
    if not os.path.exists(paths.reserve_file()):
        try:
            files.publish(paths.reserve_file(), b"\0" * RESERVE)
        except StoreError:
            return  # the day has come: what is to be told is told all the same


def newest_failure(workspace: str) -> str:
    """The newest error line of the last day that concerns a workspace, for its brief; or empty."""
    try:
        lines = files.tail(paths.error_log(), TAIL)
    except OSError:
        return ""
    from swapcache.store import times

    for line in reversed(lines):
        try:
            last = json.loads(line)
            concerns = last.get("workspace", "") in ("", workspace)
        except (ValueError, AttributeError):
            continue  # torn
        if concerns and times.age(str(last.get("wall")), now()) < 86400:
            return f"{last.get('wall')} {last.get('event')}: {last.get('message')}"[:300]
    return ""


def _spool(argv: list[str], payload: "dict[str, Any]", event: Event, problem: Exception) -> None:
    """Keeps an event that could not be stored; only what no transcript holds."""
    kept = {k: v for k, v in payload.items() if k not in ("tool_response", "tool_input")}
    line = json.dumps(
        {
            "argv": argv[:2],
            "whose": list(event.identity),
            "process": list(event.process or ()),
            "payload": kept,
            "wall": now(),
        }
    )
    try:
        if not files.append_line(paths.spool_file(), line.encode(), SPOOL_LIMIT):
            _log(argv, StoreError(f"the spool is full, an event was lost: {problem}"), event)
    except SwapcacheError:
        return


def drain() -> None:
    """Stores what was spooled; lines that still fail go back. Never raises."""
    try:
        for taken in _take_spools():
            _drain_file(taken)
    except (OSError, SwapcacheError) as problem:
        _log(["spool", "drain"], problem)


def _drain_file(taken: str) -> None:
    try:
        lines = files.read_own(taken, SPOOL_LIMIT).splitlines()
    except OSError as problem:  # what lies there is no spool; it stays, and the others are read
        _log(["spool", "drain"], problem)
        return
    for line in lines:
        _drain_line(line)
    os.unlink(taken)


def _take_spools() -> list[str]:
    """The spool under a name of ours, and what drains that were killed left behind."""
    spool = paths.spool_file()
    folder, name = os.path.split(spool)
    found = []
    for other in sorted(os.listdir(folder)):
        pid = other.removeprefix(f"{name}.")
        if other.startswith(f"{name}.") and pid.isdigit() and process.identify(int(pid)) is None:
            found.append(f"{folder}/{other}")
    if os.path.exists(spool) and os.stat(spool).st_size <= DRAIN_LIMIT:
        os.rename(spool, f"{spool}.{os.getpid()}")
        found.append(f"{spool}.{os.getpid()}")
    return found


def _drain_line(line: bytes) -> None:
    try:
        kept = json.loads(line)
        host, name = kept["argv"]
        event = parse(host, name, kept["payload"])
        if event is None or event.name == "start" or event.host == "openclaw":
            return  # the shim of OpenClaw has a spool of its own, which holds what matters
        # whoever drains is neither in that workspace nor the process of that event
        owner = Process(*kept["process"]) if kept["process"] else None
        event = event._replace(
            identity=Identity(*kept["whose"]), process=owner, spooled=str(kept["wall"])
        )
        settings = config.load(files.publish_private)
        store = open_store(event.identity, WAIT)
        try:
            events.record(store, event, settings)
        finally:
            store.close()
    except (StoreError, KeyProblem, ConfigError):
        files.append_line(paths.spool_file(), line, SPOOL_LIMIT)
    except (ValueError, KeyError, TypeError, SwapcacheError) as damaged:
        _log(["spool", "drain"], damaged)


# -- the rest of a long transcript -----------------------------------------------------------------


def _go_on(event: Event) -> None:
    """Captures the rest in a process of its own, one at a time, and ends with it."""
    if os.fork():
        return
    os.setsid()
    quiet = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(quiet, descriptor)
    try:
        found = identity.find(event.identity)
        if found is not None:
            with files.Lock(f"{paths.lock_file(found)}.catch-up", 0.0):
                _catch_up(found, event)
    except BusyError:
        os._exit(0)  # another one is at it
    except Exception as problem:  # the same boundary, in the detached half of it
        _log([event.host, "catch-up"], problem)
    os._exit(0)


def _catch_up(store_id: str, event: Event) -> None:
    from swapcache.store import sessions

    store = Store(store_id, 30.0)
    session = sessions.find_session(store.db, event.session_key, event.session_id)
    if session is not None:
        events.reconcile(store, session, event.host, gone=False)
    store.close()
