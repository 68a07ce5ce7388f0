"""A host's JSON configuration as text again, in the form that its owner gave it.

Owns the indentation of what setup and uninstall write. Promises the same text when the value is the
same. Never decides what stands in it.
"""

from __future__ import annotations

import json
from typing import Any

from swapcache.state.fold import whole


def render(value: dict[str, Any], before: str) -> str:
    """`value` as JSON with the indentation of `before`; `before` itself when it says the same."""
    if before.strip() and value == json.loads(before):
        return before
    indent: int | str = 2
    for line in before.splitlines():
        if line[:1] in (" ", "\t") and line.strip():
            indent = "\t" if line[0] == "\t" else len(line) - len(line.lstrip())
            break
    text = json.dumps(value, indent=indent, ensure_ascii=False) + "\n"
    return text if text == whole(text) else json.dumps(value, indent=indent) + "\n"
