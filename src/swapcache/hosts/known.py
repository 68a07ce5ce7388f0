"""The hosts that swapcache knows by name, and where each keeps its state.

Owns the list. Promises a path for every name, existing or not. Hosts whose hooks are served have a
file of their own beside this one, which says it.
"""

import os

from swapcache import paths
from swapcache.hosts import claude_code, openclaw_config

_SERVED = {
    openclaw_config.NAME: openclaw_config.state_dir,
    claude_code.NAME: claude_code.state_dir,
}
_PLACES = {
    "codex": ("CODEX_HOME", ".codex"),
    "gemini": ("", ".gemini"),
    "qwen": ("", ".qwen"),
    "opencode": ("", ".local/share/opencode"),
    "pi": ("", ".pi/agent"),
    "copilot": ("", ".copilot"),
    "hermes": ("", ".hermes"),
}
NAMES = (*_SERVED, *_PLACES)


def state_dir(host: str) -> str:
    """The state directory of a host."""
    if host in _SERVED:
        return _SERVED[host]()
    variable, folder = _PLACES[host]
    return (os.environ.get(variable) if variable else "") or f"{paths.home()}/{folder}"
