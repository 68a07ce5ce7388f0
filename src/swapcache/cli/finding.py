"""What doctor found wrong.

Owns the shape of a finding. Promises that each says what is wrong, why it matters and what to do.
Never looks for anything itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is wrong."""

    check: str
    what: str
    why: str
    fix: str
    mend: Callable[[], object] | None = None
    """What `doctor --fix` does about it; None for what only a person can decide."""
