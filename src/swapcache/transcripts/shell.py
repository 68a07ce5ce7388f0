"""A shell's command line, taken apart as far as we need it.

Owns the split into simple commands and words, and where a fetch goes. Promises words for any text,
a quoted text as one word. Never expands anything: what a variable or a script hides is not seen.
"""

ENDS = "&|;()`\n"
WRAPPERS = frozenset(
    "sudo doas env time timeout nohup exec command xargs nice watch stdbuf ! { while until if then"
    " do else elif".split()
)
"""Words behind which another program begins."""
SHELLS = ("sh", "bash", "zsh", "dash", "ssh", "eval")
OPTIONS = ("-o", "-d", "-H", "-T", "-F", "-X", "-u", "-A", "--data", "--output", "--header")
"""Options of a fetching program behind which something else than a place stands."""


def commands(line: str) -> list[list[str]]:
    """The words of each simple command of a line."""
    found: list[list[str]] = [[]]
    word, quote, quoted = "", "", False
    for char in line:
        if quote:
            quote = "" if char == quote else quote
            word += "" if not quote else char
        elif char in "'\"":
            quote, quoted = char, True
        elif char in ENDS or char.isspace():
            if word or quoted:
                found[-1].append(word)
            word, quoted = "", False
            if char in ENDS and found[-1]:
                found.append([])
        else:
            word += char
    if word or quoted:
        found[-1].append(word)
    return [words for words in found if words]


def program(words: list[str]) -> int:
    """Where in a simple command the program stands, behind assignments and wrappers."""
    wrapped = False
    for at, word in enumerate(words):
        if word in WRAPPERS:
            wrapped = True
        elif "=" in word.partition("/")[0] or (wrapped and (word[:1] == "-" or word.isdigit())):
            continue
        else:
            return at
    return len(words)


def fetches(line: str, programs: tuple[str, ...], here: tuple[str, ...]) -> bool:
    """True when a line runs one of these programs for a place that is not among `here`."""
    return any(_fetches(words, programs, here) for words in commands(line))


def _fetches(words: list[str], programs: tuple[str, ...], here: tuple[str, ...]) -> bool:
    first = program(words)
    names = [word.rpartition("/")[2] for word in words]
    if first < len(words) and names[first] in SHELLS:
        return any(fetches(word, programs, here) for word in words[first + 1 :] if " " in word)
    for at, name in enumerate(names):
        rest = words[at + 1 :]
        if name in programs and (at == first or any("://" in other for other in rest)):
            return not _stays(rest, here)
    return False


def _stays(arguments: list[str], here: tuple[str, ...]) -> bool:
    """True when every place that a fetch names is one of `here`."""
    places = []
    before = ""
    for word in arguments:
        before, option = word, before
        if word.startswith("-") or option in OPTIONS:
            continue
        scheme, separator, rest = word.partition("://")
        place = (rest if separator else scheme).partition("/")[0].rpartition("@")[2]
        host = place if place.startswith("[") else place.partition(":")[0]
        if separator or host in here or "." in host or place.startswith(":"):
            places.append(host.partition("]:")[0] + "]" * ("]:" in host))
    return bool(places) and all(host in ("", *here) for host in places)
