"""The hosts that swapcache knows by name, and where each keeps its state.

Owns the list. Promises a path for every name, existing or not. Hosts whose hooks are served have a
file of their own beside this one.
"""

import os

from swapcache import paths

_PLACES = {
    "openclaw": ("OPENCLAW_STATE_DIR", ".openclaw"),
    "claude-code": ("CLAUDE_CONFIG_DIR", ".claude"),
    "codex": ("CODEX_HOME", ".codex"),
    "gemini": ("", ".gemini"),
    "qwen": ("", ".qwen"),
    "opencode": ("", ".local/share/opencode"),
    "pi": ("", ".pi/agent"),
    "copilot": ("", ".copilot"),
    "hermes": ("", ".hermes"),
}
NAMES = tuple(_PLACES)


def state_dir(host: str) -> str:
    """The state directory of a host."""
    variable, folder = _PLACES[host]
    return (os.environ.get(variable) if variable else "") or f"{paths.home()}/{folder}"
