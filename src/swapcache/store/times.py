"""Times as hosts write them, and how old they are.

Owns the parsing of ISO 8601. Promises an age for any text, zero when it is no time. Never reads a
clock.
"""

from datetime import UTC, datetime


def parse(wall: str) -> datetime | None:
    """An ISO 8601 time with its zone (UTC when it names none), or None."""
    try:
        found = datetime.fromisoformat(wall)
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def seconds(wall: str) -> float:
    """`wall` as seconds of Unix time; 0 when it is no time."""
    found = parse(wall)
    return found.timestamp() if found else 0.0


def age(wall: str, now: str) -> float:
    """Seconds from `wall` to `now`; negative when `wall` is later; 0 when one is no time."""
    then, here = parse(wall), parse(now)
    return (here - then).total_seconds() if then and here else 0.0


def shown(wall: str) -> str:
    """`wall` in whole seconds with its zone; as it is when it is no time."""
    found = parse(wall)
    return found.isoformat(timespec="seconds") if found else wall


def words(seconds: float) -> str:
    """An age in days and hours."""
    if seconds < 0:
        return "its clock was ahead"
    days, hours = divmod(int(seconds) // 3600, 24)
    return f"{days} d {hours} h" if days else f"{hours} h"
