"""What a test needs and a machine may not have."""

import os
from typing import NoReturn

import pytest


def missing(what: str) -> NoReturn:
    """Fails in CI, which must have it; skips elsewhere and says why."""
    if os.environ.get("CI"):
        pytest.fail(f"CI must have it: {what}")
    pytest.skip(what)
