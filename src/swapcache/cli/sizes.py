"""Sizes and ages as people write them.

Owns the parsing of `500MB`, `90d` and dates, and how a size is printed. Promises a usage error for
anything else. Never guesses a unit.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta

import click

UNITS = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
UNITS |= {"KIB": 1 << 10, "MIB": 1 << 20, "GIB": 1 << 30, "TIB": 1 << 40}
AGES = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}
_SIZE = re.compile(r"(\d+(?:\.\d+)?) ?([KMGT]?I?B)?", re.IGNORECASE)
_AGE = re.compile(r"(\d{1,5})([hdw])")


def size(ctx: click.Context, param: click.Parameter, value: str | None) -> int | None:
    """Bytes: `500MB`, `1.5GiB`, `200000`. A callback of an option."""
    if value is None:
        return None
    found = _SIZE.fullmatch(value.strip())
    unit = None if found is None else UNITS.get((found[2] or "B").upper())
    if found is None or unit is None:
        raise click.BadParameter(f"{value!r} is no size: write 500MB, 2GiB or a number of bytes")
    return int(float(found[1]) * unit)


def since(ctx: click.Context, param: click.Parameter, value: str | None) -> datetime | None:
    """A moment in the past: `12h`, `90d`, `12w` before now, or a date. A callback of an option."""
    if value is None:
        return None
    found = _AGE.fullmatch(value.strip())
    try:
        if found is not None:
            return datetime.now().astimezone() - int(found[1]) * AGES[found[2]]
        return datetime.fromisoformat(value.strip()).astimezone()  # a date is its midnight here
    except (ValueError, OverflowError):
        raise click.BadParameter(
            f"{value!r} is no age: write 90d, 12w or a date (2026-01-31)"
        ) from None


def words(size: int) -> str:
    """A size for people, in powers of ten."""
    for unit in ("TB", "GB", "MB", "KB"):
        if size >= UNITS[unit]:
            return f"{size / UNITS[unit]:.1f} {unit}"
    return f"{size} bytes"
