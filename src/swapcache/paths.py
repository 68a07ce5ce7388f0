"""Every path and file name that swapcache uses outside a workspace's own views.

Owns the layout. Promises absolute paths and to create nothing. Never follows the working directory.

    with SWAPCACHE_HOME:  <home>/{config,state,data,witness}
    else (XDG):           $XDG_CONFIG_HOME/swapcache, $XDG_STATE_HOME/swapcache,
                          $XDG_DATA_HOME/swapcache, $XDG_STATE_HOME/swapcache-witness
"""

import os

from swapcache import digest
from swapcache.errors import ConfigError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


def _base(env: "Mapping[str, str]", variable: str, fallback: str) -> str:
    value = env.get(variable, "")
    if value.startswith("/"):  # the XDG specification says to ignore relative values
        return value
    return os.path.join(home(env), fallback)


def home(env: "Mapping[str, str]" = os.environ) -> str:
    """The user's home directory."""
    return env.get("HOME") or os.path.expanduser("~")


def portable(env: "Mapping[str, str]" = os.environ) -> str:
    """SWAPCACHE_HOME, or empty. Raises ConfigError when it is relative: it would move about."""
    value = env.get("SWAPCACHE_HOME", "")
    if value.startswith("~"):
        value = home(env) + value[1:]
    if value and not value.startswith("/"):
        raise ConfigError(f"SWAPCACHE_HOME is {value!r}; it must be an absolute path")
    return value.rstrip("/")


def config_dir(env: "Mapping[str, str]" = os.environ) -> str:
    """Configuration and the sealing key."""
    root = portable(env)
    return f"{root}/config" if root else f"{_base(env, 'XDG_CONFIG_HOME', '.config')}/swapcache"


def state_dir(env: "Mapping[str, str]" = os.environ) -> str:
    """Stores, spools and logs."""
    root = portable(env)
    return f"{root}/state" if root else f"{_base(env, 'XDG_STATE_HOME', '.local/state')}/swapcache"


def witness_dir(env: "Mapping[str, str]" = os.environ) -> str:
    """Witness files, outside of what holds the stores."""
    root = portable(env)
    if root:
        return f"{root}/witness"
    return f"{_base(env, 'XDG_STATE_HOME', '.local/state')}/swapcache-witness"


def data_dir(env: "Mapping[str, str]" = os.environ) -> str:
    """The launcher that host configurations name."""
    root = portable(env)
    return f"{root}/data" if root else f"{_base(env, 'XDG_DATA_HOME', '.local/share')}/swapcache"


def key_file(env: "Mapping[str, str]" = os.environ) -> str:
    """The sealing key, 32 bytes."""
    return f"{config_dir(env)}/key"


def retired_key(key_id: str, env: "Mapping[str, str]" = os.environ) -> str:
    """A key that was replaced; it proves anchors of its time."""
    return f"{config_dir(env)}/key.d/{key_id}"


def rekey_file(env: "Mapping[str, str]" = os.environ) -> str:
    """While it exists a change of keys is under way."""
    return f"{config_dir(env)}/rekey.json"


def config_file(env: "Mapping[str, str]" = os.environ) -> str:
    """What the user writes."""
    return f"{config_dir(env)}/config.toml"


def compiled_config(env: "Mapping[str, str]" = os.environ) -> str:
    """What the hook reads: config.toml compiled."""
    return f"{state_dir(env)}/hook.json"


def stores_dir(env: "Mapping[str, str]" = os.environ) -> str:
    """One directory per store."""
    return f"{state_dir(env)}/stores"


def store_dir(store_id: str, env: "Mapping[str, str]" = os.environ) -> str:
    """The directory of one store."""
    return f"{stores_dir(env)}/{store_id}"


def database(directory: str) -> str:
    """The database of a store directory."""
    return f"{directory}/store.db"


def owner_file(directory: str) -> str:
    """Whose store it is, readable without opening the database."""
    return f"{directory}/owner.json"


def views_file(directory: str) -> str:
    """What a store published into its workspace, and what it moved out of the way there."""
    return f"{directory}/views.json"


def witness_file(store_id: str, env: "Mapping[str, str]" = os.environ) -> str:
    """The two-slot witness of a store."""
    return f"{witness_dir(env)}/{store_id}"


def lock_file(store_id: str, env: "Mapping[str, str]" = os.environ) -> str:
    """The writer lock of a store, beside its witness."""
    return f"{witness_dir(env)}/{store_id}.lock"


def views_lock(workspace: str, env: "Mapping[str, str]" = os.environ) -> str:
    """The lock of those who publish into a workspace: several stores may."""
    return f"{witness_dir(env)}/views-{digest.sha256(os.fsencode(workspace))[:24]}.lock"


def error_log(env: "Mapping[str, str]" = os.environ) -> str:
    """One JSON line per failure of a hook."""
    return f"{state_dir(env)}/errors.jsonl"


def ready_dir(env: "Mapping[str, str]" = os.environ) -> str:
    """Texts that a host's own JavaScript serves."""
    return f"{state_dir(env)}/ready"


def shim_spool_dir(env: "Mapping[str, str]" = os.environ) -> str:
    """What a host's own JavaScript writes ahead."""
    return f"{state_dir(env)}/shim-spool"


def plugin_dir(host: str, env: "Mapping[str, str]" = os.environ) -> str:
    """The plugin of a host that loads JavaScript."""
    return f"{data_dir(env)}/{host}"


def reserve_file(env: "Mapping[str, str]" = os.environ) -> str:
    """Space that is given up to write the error log on a full disk."""
    return f"{state_dir(env)}/reserve"


def spool_file(env: "Mapping[str, str]" = os.environ) -> str:
    """Events that could not be stored when they came."""
    return f"{state_dir(env)}/spool.jsonl"


def launcher(env: "Mapping[str, str]" = os.environ) -> str:
    """What host configurations call; its path and arguments stay the same over upgrades."""
    return f"{data_dir(env)}/bin/swapcache-hook"


def installs_file(env: "Mapping[str, str]" = os.environ) -> str:
    """What setup changed outside of our own directories, and how to take it back."""
    return f"{state_dir(env)}/installs.json"


def off_file(workspace: str = "", env: "Mapping[str, str]" = os.environ) -> str:
    """While it exists nothing is recorded and nothing told: everywhere, or in one workspace."""
    name = digest.sha256(os.fsencode(workspace))[:24] if workspace else "everywhere"
    return f"{state_dir(env)}/off/{name}"


def is_off(workspace: str, env: "Mapping[str, str]" = os.environ) -> bool:
    """True where the owner, or the project itself, wants nothing recorded and nothing told."""
    files = (off_file(workspace, env), opt_out_file(workspace))
    return any(os.path.exists(file) for file in files)


def on_file(env: "Mapping[str, str]" = os.environ) -> str:
    """Its time says when `swapcache on` was last said."""
    return f"{state_dir(env)}/on"


def opt_out_file(workspace: str) -> str:
    """The same as a file of the workspace itself, for a team to keep with the project."""
    return f"{workspace}/.swapcache-off"


def backups_dir(env: "Mapping[str, str]" = os.environ) -> str:
    """Copies of host configuration files as they were before a change."""
    return f"{state_dir(env)}/config-backups"
