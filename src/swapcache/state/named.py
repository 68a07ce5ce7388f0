"""Secrets that are known by a name before them: password=…, "api_key": "…", --token …, 密码：…

Owns the names and the judgement of what stands behind them. Promises to leave alone what is
clearly none: a variable, a call, a type, a placeholder, a path, a count. Secrets that are known by
their own form are in redact.
"""

import functools

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Iterator

MASK = "[redacted:"
STRONG, WEAK = 4, 8
"""Characters at least: of a password; of a token or key, which are words for much else."""
JUDGED = 64
"""Characters of a value that are looked at."""
_DIGITS, _SIGNS = frozenset("0123456789"), frozenset("!@#$%^*+=?")
_HINTS = (
    *("pass", "pwd", "secret", "token", "_auth", "identified", *"密口令钥鑰凭"),
    *(f"{letter}key" for letter in "_-eghinrsy"),  # what stands before it in a name below
)
_NAME = (
    r"(?:(?P<strong>pass(?:word|wd|phrase|code)|(?<=[_-])pass|(?<=[\"'])pass(?=\\*[\"'])|pwd|secret"
    r"|identified[ ]by)|(?P<weak>token|(?:api|access|private|auth|signing|encryption|master|license"
    r"|service|deploy)[_-]?+key|(?<![a-z0-9])_auth)|(?P<han>密[码碼钥鑰]|口令|令牌|私钥|凭[证据]))"
    r"(?P<more>(?:[_-][a-z0-9]++|(?-i:[A-Z][a-z0-9]++)|[0-9]{1,2}(?![0-9])){0,4}+)"
    r"(?:\\*[\"'`]\]?+|\*\*?+|\[\])?+"
    r"(?P<sep>:[ \t]*+[a-z_&][\w.\[\]|?' ]{0,30}=[ \t]*+(?=[\"'])"  # with a type in between
    r"|[ \t]*+(?:={1,3}+>?+|:=|:(?!:)|[：＝])[ \t]*+|>|[ \t]++is:?+[ \t]++"
    r"|(?<=[码碼令钥鑰牌证据])[是为為][ \t]*+|(?P<gap>[ \t]++))"
)
_ABOUT = tuple(
    "count type id ids url uri file path dir name limit length len expires expiry expiration ttl"
    " usage policy hint field endpoint header prefix age days min max size budget rate window"
    " bucket index offset regex pattern label message manager store provider env var status format"
    " version source rotation reset input kind class error stdin prompt rules spec mode mgr".split()
)
"""A name that ends so stands for something about a secret: token_count, password_file."""
_QUOTED = (
    r"(?:[bBrRuUfF]{1,2}+(?=[\"']))?+(?:"
    r'"(?P<a>(?:[^"\\\r\n]|\\.)++)' r"|'(?P<b>(?:[^'\\\r\n]|\\.)++)"
    r'|\\+"(?P<c>[^"\r\n]++)' r"|\\+'(?P<d>[^'\r\n]++)"
    r"|`(?P<e>[^`\r\n]++)|[“‘「『](?P<f>[^”’」』\r\n]++))"
)  # fmt: skip
_BARE = r"[^\s\"'`,;<>&|\\]*+"
_WORDS = frozenset(
    "none null nil true false undefined empty unset missing required optional hidden masked"
    " redacted secret password passwd passphrase pass pwd token key value string str text bytes int"
    " any object bool boolean number char example sample changeme change-me change_me todo tbd foo"
    " bar baz dummy fake default invalid incorrect wrong unknown my-secret my_secret mysecret"
    " my-password my_password mypassword my-token my_token mytoken my-api-key my_api_key".split()
)
_FILES = frozenset(
    "py js jsx ts tsx go rs java json jsonl yaml yml toml ini cfg conf env txt md pem key crt p12"
    " sh sql html css log db csv xml lock".split()
)
_FILE = "abcdefghijklmnopqrstuvwxyz0123456789_./-"
_NO_SECRET = {
    "variable, template, list": r"[\[{(<&]|‹|\$[a-z_{(]|%[(\w]|!(?:vault|secret|ref|env|sub)\b",
    "hidden": r"\W?\*|x{3,}|--|••|●●|…|\.\.\.",
    "elsewhere": r"(?:https?|file|env|vault|op|arn|ref|ssm|cmd|keyring|s3|gs|data|sha256):",
    "to be filled in": r"(?:your|enter|insert|replace)[-_ ]|[\w-]*(?:[-_]here|placeholder)$",
    "date": r"\d{4}-\d\d-\d\d",
    "path": r"(?:~|\.{1,2}|[a-z]:)?[/\\](?![a-z0-9+/]{39}(?![\w+/=]))[\w.@/\\-]*+$",
    "type, encoding": r"(?:u?int|[iuf]|float|bytes?|varchar|char|string|base|sha|md)-?\d+"
    r"(?:[-_a-z]+)?$",
}
_CODE = {
    "call, index": r"(?P<call>[a-z_$][\w$]*+(?:(?:\.|::|->|\?\.)[a-z_$][\w$]*+)*+[!?]?[(\[{])",
    "member": r"[a-z_]\w*+(?:(?:\.|::|->|\?\.)[a-z_]\w*+)++$",
    "constant": r"(?-i:[A-Z][A-Z0-9]*+_[A-Z0-9_]*+$)",
    "word": r"(?P<word>[a-z_]++$)",
    "name": r"(?P<name>(?-i:[a-z][a-z0-9]*_[a-z0-9_]*+$))",
    "dashed words": r"(?P<dashed>[a-z]++[0-9]*+(?:-(?:[a-z]++|[0-9]{1,3}))++$)",
}
_NONE, _ANY_CODE = "|".join(_NO_SECRET.values()), "|".join(_CODE.values())
_COUNT = r"[\d.,:/+-]++[a-z%]{0,6}$"


def found(text: str) -> "Iterator[tuple[int, int, str, str]]":
    """(begin, end, kind, secret) of what stands behind a name and is not clearly no secret."""
    lower = text.lower()
    if not any(hint in lower for hint in _HINTS):
        return
    over = run = 0
    for name in _compiled(_NAME).finditer(text):
        at = name.end()
        if name.start() < over or _other(text, name):
            continue
        quoted = _compiled(_QUOTED).match(text, at)
        if quoted is not None:
            begin, end = quoted.span(quoted.lastgroup or 0)
            end = begin + len(text[begin:end].rstrip("\\"))  # it belongs to the quote's escape
            value = text[begin : min(end, begin + JUDGED)]
        else:
            if at > run:  # many names may stand in one run of characters: its end is sought once
                bare = _compiled(_BARE).match(text, at)
                run = bare.end() if bare else at
            begin, end = at, max(at, run)
            value = _trimmed(text[begin : min(end, begin + JUDGED)])
        if _secret(text, name, value, None if quoted else begin + len(value)):
            over = end if len(value) == JUDGED else begin + len(value)
            yield begin, over, "value", text[begin:over]


def placeholder(value: str) -> bool:
    """True for what stands where a secret belongs and is none: $VAR, ***, a path, a mask."""
    plain = value.rstrip("?!.:").lower()
    stem, _, end = plain.rpartition(".")
    file = end in _FILES and not stem.strip(_FILE)
    return MASK in value or plain in _WORDS or file or bool(_compiled(_NONE).match(value))


def _other(text: str, name: "re.Match[str]") -> bool:
    """True for a name of something about a secret, and in the middle of one: arn:…:secret:name."""
    about = name["more"] != "" and name["more"].lower().endswith(_ABOUT)
    return about or (name["sep"][0] == ":" and text[name.start() - 1 : name.start()] == ":")


def _secret(text: str, name: "re.Match[str]", value: str, end: int | None) -> bool:
    """Whether a value is one. `end` is where one without quotes ends."""
    strong, digit = name["weak"] is None, not _DIGITS.isdisjoint(value)
    if len(value) < (STRONG if strong else WEAK) or not (strong or digit or end is None):
        return False
    if placeholder(value):
        return False
    option = _option(text, name.start())
    if name["gap"] is not None and not option:  # only blanks, as in: 密码 …; the password "…"
        plain = name["han"] in ("密码", "密碼", "口令") and len(value) > STRONG + 1
        return strong and digit and (end is None or plain) and " " not in value
    if end is None:
        if " " in value:
            return (name["strong"] or "").lower() == "passphrase"
        mixed = len(value) >= 20 and value.lower() != value != value.upper()
        return not _names(value) if strong else digit or mixed
    if name["sep"] == ">" and not text.startswith(("</", "‹/"), end):
        return False
    return _bare(name, value, option, text[end : end + 1] in (",", ")"))


def _bare(name: "re.Match[str]", value: str, option: bool, argument: bool) -> bool:
    """Whether a value without quotes is one, and no code, count or word of a sentence."""
    strong, digit = name["weak"] is None, not _DIGITS.isdisjoint(value)
    tight = name["han"] is not None or name["sep"].strip() == name["sep"]
    counts = _compiled(_COUNT).match(value) and not (strong and (tight or value.isdigit()))
    code = _compiled(_ANY_CODE).match(value)
    if counts or not (strong or digit) or (code and code["call"]):
        return False
    if code is None:
        return digit or tight or not _SIGNS.isdisjoint(value)
    if code["word"]:
        assigned = tight and ("=" in name["sep"] or name["han"] is not None)
        return assigned and not argument and value.isalpha() and not _names(value)
    if code["name"] or code["dashed"]:
        return tight and not _names(value)
    shell = tight and (name["strong"] or name["weak"] or "").isupper()
    return digit and (option or shell)


def _names(value: str) -> bool:
    """True for the name of a secret in the place of one: user_password, access-token."""
    plain = value.replace("_", "").replace("-", "").replace(".", "").lower()
    return plain.isalpha() and any(w in plain for w in ("pass", "pwd", "secret", "token", "cred"))


def _option(text: str, at: int) -> bool:
    """True for the name of an option, at its end: --db-password."""
    return _compiled(r"(?:^|[\s\"'(=`])--?[\w-]*$").search(text[max(0, at - 32) : at]) is not None


def _trimmed(value: str) -> str:
    """`value` without the end of the sentence or of the brackets that it stands in."""
    if not value.isascii():  # Chinese words and marks follow without a blank
        value = value[: next((at for at, c in enumerate(value) if c >= "\u2018"), len(value))]
    pairs = {")": "(", "]": "[", "}": "{"}
    while value:
        last = value[-1]
        inside = last in pairs and value.count(pairs[last]) >= value.count(last)
        if inside or last not in ".:!?)]}":
            return value
        value = value[:-1]
    return value


@functools.cache
def _compiled(pattern: str) -> "re.Pattern[str]":
    """Compiled at first use: a hook pays only for what its text needs."""
    import re

    return re.compile(pattern, re.ASCII | re.IGNORECASE)
