"""Errors that mean "cannot go on".

Owns the tree below and its exit codes. A verdict, a damage report and a receipt are values, not
errors. Every message says what happened, where, and what to do next.

    SwapcacheError            10
    ├── SourceError           14  a transcript cannot be read, or is none
    │   ├── FormatError       12  its content is no transcript that we know
    │   └── MissingSourceError 13  there is no such file
    ├── StoreError            20  a store cannot be opened or written
    │   ├── NewerSchemaError  21  a newer swapcache wrote it
    │   ├── OlderSchemaError  26  an older swapcache wrote it
    │   ├── BusyError         22  another process holds it for too long
    │   ├── NoSpaceError      23  the disk is full or read-only
    │   └── SealError         24  the chain is broken: nothing is appended to it
    ├── KeyProblem            25  the key is missing, loose or not ours
    ├── SelectionError        30  no store or session, or several, fit what was asked for
    ├── HostError             40  a host is missing, or its configuration cannot be read
    │   └── PasteError        11  a configuration has no safe place for us: what to paste is printed
    ├── ConfigError           41  the configuration file is wrong
    └── DrillError            50  the drill did not come out as it must

0 good, 1 something is wrong and said so (not verified, records lost), 2 usage.
"""


class SwapcacheError(Exception):
    """Base of all errors that a command reports; carries the exit code."""

    exit_code = 10


class SourceError(SwapcacheError):
    """A transcript cannot be read: missing, a directory, no permission, not a regular file."""

    exit_code = 14


class MissingSourceError(SourceError):
    """There is no such file: hosts name a transcript before they write it."""

    exit_code = 13


class FormatError(SourceError):
    """A file is readable, but no known transcript."""

    exit_code = 12


class StoreError(SwapcacheError):
    """A store cannot be opened, read or written."""

    exit_code = 20


class NewerSchemaError(StoreError):
    """The store was written by a newer swapcache; this one leaves it alone."""

    exit_code = 21


class OlderSchemaError(StoreError):
    """The store was written by an older swapcache; only a command migrates it, after a backup."""

    exit_code = 26


class BusyError(StoreError):
    """Another process holds the store longer than we wait."""

    exit_code = 22


class NoSpaceError(StoreError):
    """The disk is full, over quota or read-only; what was stored before is unharmed."""

    exit_code = 23


class SealError(StoreError):
    """The chain does not verify, so nothing is appended behind it."""

    exit_code = 24


class KeyProblem(SwapcacheError):
    """The sealing key is missing where records exist, or its file is not to be trusted."""

    exit_code = 25


class SelectionError(SwapcacheError):
    """What was asked for fits no store or session, or more than one."""

    exit_code = 30


class HostError(SwapcacheError):
    """A host is not there, or its configuration cannot be changed safely."""

    exit_code = 40


class PasteError(HostError):
    """A host's configuration has no safe place for our part; says what to paste."""

    exit_code = 11

    def __init__(self, file: str, problem: Exception, part: object) -> None:
        import json  # only setup needs it

        super().__init__(
            f"{file} was not changed: {problem}. Correct it, or put this in by hand:\n"
            f"{json.dumps(part, indent=2)}"
        )


class ConfigError(SwapcacheError):
    """The configuration file cannot be read or holds a value that is not allowed."""

    exit_code = 41


class DrillError(SwapcacheError):
    """The drill could not run, or the next session was not told what it must know."""

    exit_code = 50
