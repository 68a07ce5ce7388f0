"""Which store belongs to whom.

Owns the mapping from an identity (host, state directory, agent, workspace) to a store directory.
Promises that a renamed workspace keeps its store (same inode) and that two hosts, two state
directories, two agents or two workspaces never share one. Never guesses by name or time.
"""

import json
import os

from swapcache import paths
from swapcache.errors import SelectionError
from swapcache.model import Identity
from swapcache.store import files, seal

DEFAULT_AGENT = "default"
LEFT_BEHIND = 3


def workspace_of(directory: str) -> str:
    """The git worktree root above `directory`, else `directory`; real paths."""
    start = os.path.realpath(directory or ".")
    if not os.path.isdir(start):
        return start  # gone: what lies around it is another workspace
    here = start
    while True:
        if os.path.exists(f"{here}/.git"):
            return here
        parent = os.path.dirname(here)
        if parent == here:
            return start
        here = parent


def inode_of(workspace: str) -> str:
    """What a renamed repository is known by: device, inode and the birth of its .git.

    Empty without a .git: an inode alone is used again for a stranger's directory.
    """
    try:
        found = os.stat(workspace)
        for name in (".git/description", ".git/config", ".git"):
            if os.path.exists(f"{workspace}/{name}"):
                mark = os.stat(f"{workspace}/{name}")
                return f"{found.st_dev}:{found.st_ino}:{mark.st_ino}:{mark.st_mtime_ns}"
    except OSError:
        return ""  # gone while we looked
    return ""


def identify(host: str, state_dir: str, directory: str, agent: str = DEFAULT_AGENT) -> Identity:
    """The identity for a host's state directory and a working directory."""
    workspace = workspace_of(directory)
    return Identity(host, os.path.realpath(state_dir), agent, workspace, inode_of(workspace))


def store_id(identity: Identity) -> str:
    """24 hex; the same identity always gives the same one. The inode takes no part."""
    name = seal.canon([identity.host, identity.state_dir, identity.agent, identity.workspace])
    return seal.sha256(name)[:24]


def find(identity: Identity) -> str | None:
    """The id of this identity's store: by path, else as a renamed repository; None without one."""
    wanted = store_id(identity)
    if os.path.exists(paths.database(paths.store_dir(wanted))):
        owner = owner_of(wanted)
        if owner is None or owner[:4] == identity[:4]:
            return wanted
    for other, known in listing():
        if known[:4] == identity[:4]:
            return other
        renamed = identity.inode and known.inode == identity.inode and known[:3] == identity[:3]
        if renamed and not os.path.exists(known.workspace):
            return other
    return None


def left_behind(identity: Identity) -> list[tuple[str, Identity]]:
    """Stores of the same host and agent that may be this workspace's: theirs had the same name,
    and is gone or of the same birth (of its .git, which a copy keeps)."""
    name = os.path.basename(identity.workspace)
    birth = identity.inode.rpartition(":")[2]
    found = []
    for store, known in listing():
        if (known.host, known.agent) != (identity.host, identity.agent):
            continue
        if os.path.basename(known.workspace) != name or known.workspace == identity.workspace:
            continue
        copied = bool(birth) and known.inode.rpartition(":")[2] == birth
        if copied or not os.path.exists(known.workspace):
            found.append((store, known))
    return found[:LEFT_BEHIND]


def doubtful(identity: Identity) -> bool:
    """True when the directory that this identity's store would have is noted as another one's."""
    directory = paths.store_dir(store_id(identity))
    return os.path.exists(paths.database(directory))


def free_id(identity: Identity) -> str:
    """The directory name for a new store: another one when a renamed workspace's store has it.

    One of this very identity was made by another process just now, and is shared.
    """
    wanted, number = store_id(identity), 1
    while os.path.exists(paths.database(paths.store_dir(wanted))):
        owner = owner_of(wanted)
        if owner is not None and owner[:4] == identity[:4]:
            return wanted
        number += 1
        wanted = f"{store_id(identity)}-{number}"
    return wanted


def claim(store: str, identity: Identity) -> None:
    """Writes whose store it is beside its database."""
    files.publish(paths.owner_file(paths.store_dir(store)), json.dumps(identity._asdict()))


def owner_of(store: str) -> Identity | None:
    """Whose store it is; None when that cannot be read."""
    try:
        given = json.loads(files.read_own(paths.owner_file(paths.store_dir(store)), 1 << 16))
        return Identity(*(str(given[field]) for field in Identity._fields))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def listing() -> list[tuple[str, Identity]]:
    """(store id, identity) of every store, sorted by workspace. Opens no database."""
    found = []
    try:
        names = sorted(os.listdir(paths.stores_dir()))
    except FileNotFoundError:
        return []
    except OSError as problem:
        raise files.failure(problem, f"cannot read {paths.stores_dir()}") from problem
    for name in names:
        directory = paths.store_dir(name)
        if not os.path.exists(paths.database(directory)):
            continue
        owner = owner_of(name) or Identity("unknown", "", "unknown", directory, "")
        found.append((name, owner))
    return sorted(found, key=lambda pair: pair[1][3:])


def select(
    agent: str | None, workspace: str | None, host: str | None = None, store: str | None = None
) -> str:
    """The one store that fits; for commands. Raises SelectionError that lists the candidates.

    Without a choice it is the workspace of the current directory, never an unrelated one.
    """
    stores = listing()
    if not stores:
        raise SelectionError(
            "nothing is recorded yet; run `swapcache setup --host claude-code`, "
            "then work with the agent, or try `swapcache drill`"
        )
    fitting = [s for s in stores if not store or s[0].startswith(store)]
    fitting = [s for s in fitting if not host or s[1].host == host]
    fitting = [s for s in fitting if not agent or s[1].agent == agent]
    if workspace or not (agent or store):
        fitting = _here(fitting, os.path.realpath(workspace or os.getcwd()))
    if len(fitting) == 1:
        return fitting[0][0]
    lines = [
        f"  --store {name[:8]}  {i.workspace}  ({i.host}, agent {i.agent}, {i.state_dir})"
        for name, i in fitting or stores
    ]
    lines = [line.replace("\n", "⏎ ") for line in lines]  # a name is no line of its own
    what = "several stores fit" if fitting else "no store fits"
    raise SelectionError("\n".join([f"{what}; choose one of:", *lines]))


def _here(stores: list[tuple[str, Identity]], directory: str) -> list[tuple[str, Identity]]:
    """The stores of the workspace that a directory belongs to."""
    real = workspace_of(directory)
    mark = inode_of(real)
    found = [s for s in stores if s[1].workspace == directory]
    if found:
        return found
    found = [s for s in stores if s[1].workspace == real or (mark and s[1].inode == mark)]
    if found:
        return found
    around = [s for s in stores if directory.startswith(s[1].workspace.rstrip("/") + "/")]
    if os.path.exists(f"{real}/.git"):
        return []  # a repository of its own inside another workspace
    longest = max((len(s[1].workspace) for s in around), default=0)
    return [s for s in around if len(s[1].workspace) == longest]
