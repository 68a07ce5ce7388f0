"""Settings: what the user wrote in config.toml, and the compiled form that the hook reads.

Owns the defaults and their check. Promises that the hook never parses TOML unless the file changed
since it was compiled. Never writes config.toml.
"""

import errno
import json
import os
import stat

from swapcache import __version__, paths
from swapcache.errors import ConfigError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

LIMIT = 1 << 20
FORMS = ("full", "delta", "pointer", "nothing")

DEFAULTS: "dict[str, Any]" = {
    "wake": {"budget": 1200, "stale_hours": 24, "expire_days": 14},
    "policy": {
        "child": "nothing",
        "group": "nothing",
        "cron": "nothing",
        "unknown-audience": "nothing",
        "living": "pointer",
        "moved": "pointer",
        "resume": "delta",
        "restart": "full",
        "compact": "full",
        "overflow": "full",
        "new": "pointer",
        "clear": "pointer",
        "unknown": "pointer",
        "reset": "pointer",
        "reset-broken": "full",
        "crash": "full",
        "idle": "full",
        "daily": "full",
    },
    "views": {"hosts": ["openclaw"], "backups": 20, "heartbeat_hours": 6},
}

LEAST = (
    ("wake", "budget", 100),
    ("wake", "stale_hours", 0),
    ("wake", "expire_days", 0),
    ("views", "backups", 1),
    ("views", "heartbeat_hours", 1),
)


def check(given: "dict[str, Any]", where: str) -> "dict[str, Any]":
    """Settings with defaults filled in. Raises ConfigError naming the first wrong key."""
    settings = {section: dict(values) for section, values in DEFAULTS.items()}
    for section, values in given.items():
        if section not in settings or not isinstance(values, dict):
            raise ConfigError(
                f"{where}: [{section}] is no section; known are {', '.join(settings)}"
            )
        for key, value in values.items():
            default = settings[section].get(key)
            if default is None:
                known = ", ".join(settings[section])
                raise ConfigError(f"{where}: {section}.{key} is unknown; known are {known}")
            if type(value) is not type(default):
                raise ConfigError(
                    f"{where}: {section}.{key} must be like {default!r}, not {value!r}"
                )
            if section == "policy" and value not in FORMS:
                raise ConfigError(
                    f"{where}: policy.{key} is {value!r}; one of {', '.join(FORMS)} is allowed"
                )
            settings[section][key] = value
    for section, key, least in LEAST:
        if settings[section][key] < least:
            raise ConfigError(f"{where}: {section}.{key} must be {least} or more")
    if not all(isinstance(host, str) for host in settings["views"]["hosts"]):
        raise ConfigError(f"{where}: views.hosts must be a list of host names")
    return settings


def _stamp() -> "list[object]":
    """Size and time of config.toml, and who compiled it: an upgrade may add settings."""
    try:
        found = os.stat(paths.config_file())
    except FileNotFoundError:
        return []
    return [found.st_size, found.st_mtime_ns, __version__]


def load(publish: "Callable[[str, str], object]") -> "dict[str, Any]":
    """The settings in force; when config.toml changed, its compiled form is published first.

    `publish(path, text)` writes a file durably (it lives a layer above this one).
    Raises ConfigError when config.toml cannot be parsed or holds a wrong value.
    """
    stamp = _stamp()
    if not stamp:
        return check({}, "")
    try:
        compiled = json.loads(_read(paths.compiled_config(), os.O_NOFOLLOW))
        if compiled["stamp"] == stamp:
            settings: dict[str, Any] = compiled["settings"]
            return settings
    except (OSError, ValueError, KeyError, TypeError):
        pass  # absent or damaged: it is made anew from its source just below
    return _compile(stamp, publish)


def _read(path: str, flags: int = 0) -> bytes:
    """A regular file of at most `LIMIT` bytes. Raises OSError; a FIFO in its place is not waited
    for. (The functions that other modules have for this live a layer above.)"""
    file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | flags)
    try:
        found = os.fstat(file)
        if not stat.S_ISREG(found.st_mode) or found.st_size > LIMIT:
            raise OSError(errno.EINVAL, f"it is no regular file of at most {LIMIT} bytes")
        return os.read(file, LIMIT)
    finally:
        os.close(file)


def _compile(stamp: "list[object]", publish: "Callable[[str, str], object]") -> "dict[str, Any]":
    import tomllib  # only when the configuration changed

    where = paths.config_file()
    try:
        given = tomllib.loads(_read(where).decode())
    except (OSError, ValueError) as problem:
        raise ConfigError(f"{where}: {problem}; correct the file or move it away") from problem
    settings = check(given, where)
    publish(paths.compiled_config(), json.dumps({"stamp": stamp, "settings": settings}))
    return settings
