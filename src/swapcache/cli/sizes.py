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
AGES = {"d": timedelta(days=1), "w": timedelta(weeks=1)}
_SIZE = re.compile(r"(\d+(?:\.\d+)?) ?([KMGT]?I?B)?", re.IGNORECASE)
_AGE = re.compile(r"(\d{1,5})([dw])")


class SizeType(click.ParamType):
    """Bytes: `500MB`, `1.5GiB`, `200000`."""

    name = "SIZE"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        found = _SIZE.fullmatch(str(value).strip())
        unit = None if found is None else UNITS.get((found[2] or "B").upper())
        if found is None or unit is None:
            self.fail(f"{value!r} is no size: write 500MB, 2GiB or a number of bytes", param, ctx)
        return int(float(found[1]) * unit)


class SinceType(click.ParamType):
    """A moment in the past: `90d`, `12w` before now, or a date."""

    name = "AGE"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> datetime:
        if isinstance(value, datetime):
            return value
        text = str(value).strip()
        found = _AGE.fullmatch(text)
        try:
            if found is not None:
                return datetime.now().astimezone() - int(found[1]) * AGES[found[2]]
            return datetime.fromisoformat(text).astimezone()  # a date is its midnight here
        except (ValueError, OverflowError):
            self.fail(f"{value!r} is no age: write 90d, 12w or a date (2026-01-31)", param, ctx)


def words(size: int) -> str:
    """A size for people, in powers of ten."""
    for unit in ("TB", "GB", "MB", "KB"):
        if size >= UNITS[unit]:
            return f"{size / UNITS[unit]:.1f} {unit}"
    return f"{size} bytes"
