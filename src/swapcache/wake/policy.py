"""Whether a session is told anything, and in which form.

Owns the table of the design (audience, liveness, cause, age; first match wins). Promises one
decision with the row that made it. Never reads a store.
"""

from __future__ import annotations

from swapcache.model import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

CAUSES = (
    "crash",
    "restart",
    "idle",
    "daily",
    "compact",
    "overflow",
    "new",
    "clear",
    "reset",
    "resume",
    "unknown",
)
AUDIENCES = ("owner", "group", "cron", "child", "unknown")


class Case(NamedTuple):
    """What is known when a session starts."""

    audience: str
    cause: str
    living: int
    """Other sessions of this workspace that live or are not proven dead."""
    candidate: bool
    """There is work of a session that is over and that nobody took over."""
    age: float
    """Seconds since the last record of that work; negative when its clock is ahead."""
    broken: bool = False
    """That session ended in failed, empty, interrupted or unanswered turns."""
    proven: bool = True
    """The seal verifies."""
    moved: bool = False
    """There is a memory that may be this workspace's: it was moved or copied."""


class Decision(NamedTuple):
    """What is told, and why."""

    form: str
    """full, delta, pointer, living or nothing."""
    row: str
    """The row of the table that matched."""
    reasons: tuple[str, ...]
    stale: bool = False


def decide(case: Case, settings: dict[str, Any], forced: str = "auto") -> Decision:
    """The first row that matches. `forced` is a form that a person asked for."""
    reasons = [f"audience {case.audience}", f"cause {case.cause}"]
    policy, limits = settings["policy"], settings["wake"]
    beats = 2 * settings["views"]["heartbeat_hours"]
    stale = case.age > max(limits["stale_hours"], beats) * 3600 or case.age < -300
    if forced != "auto":
        return Decision(forced, "asked for", (*reasons, f"--form {forced}"), stale)
    if case.audience != "owner":
        known = case.audience in ("child", "group", "cron")
        form = policy[case.audience if known else "unknown-audience"]
        return Decision(form, f"audience {case.audience}", tuple(reasons), stale)
    if case.cause in ("resume", "compact", "overflow"):
        form = policy[case.cause]
        return Decision(form, f"cause {case.cause}", (*reasons, "its own history"), stale)
    if not case.candidate:
        if case.living and policy["living"] != "nothing":
            reasons.append(f"{case.living} other session(s) live or are not proven dead")
            return Decision("living", "liveness", tuple(reasons))
        if not case.proven:
            return Decision("pointer", "seal", (*reasons, "the seal does not verify"))
        if case.moved:
            return Decision(policy["moved"], "moved", (*reasons, "a workspace like this is gone"))
        return Decision("nothing", "nothing to restore", (*reasons, "no earlier work is open"))
    row = case.cause if case.cause in policy else "unknown"
    if row == "reset" and case.broken:
        row = "reset-broken"
        reasons.append("the old session ended in turns that failed or were not answered")
    form = policy[row]
    if form == "full" and case.age > limits["expire_days"] * 86400:
        reasons.append(f"older than {limits['expire_days']} days")
        return Decision("pointer", "age", tuple(reasons), True)
    if stale:
        reasons.append(f"older than {limits['stale_hours']} hours, or its clock was ahead")
    return Decision(form, f"cause {row}", tuple(reasons), stale)
