"""Secrets are masked in everything that is published, shown to a model or printed.

Owns the forms of secrets, the masks, and the order: first neutral, then masked, since nothing
invisible may hide a secret. Promises the same eight hex for the same secret, that hashes, ids,
paths and model names stay, that a mask stays as it is, and linear time. Never changes a raw record;
unknown forms pass (docs/threat-model.md).
"""

import functools

from swapcache.state import named
from swapcache.state.neutral import neutralise
from swapcache.store import seal

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Iterator

    Span = tuple[int, int, str, str]
    """Begin, end, kind, secret."""

_LEFT = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt]))"
_ALONE = r"(?:(?<![\w.~-])|(?<=\\[nrt]))"
"""A key begins a word; in JSON text an escaped line end may stand before it."""
_QUOTE = r"\\*[\"']?+"
_NAMES = rf"{_QUOTE}[ \t]*+[:=][ \t]*+{_QUOTE}"
_PEM = r" (?:[A-Z0-9]{1,16} ){0,3}PRIVATE KEY(?: BLOCK)?+-----"
_ALNUM = "A-Za-z0-9"


def _key(prefixes: str, least: int, letters: str = r"\w-", more: str = "") -> str:
    """A key that is known by its prefix; a shorter one when its end was cut off."""
    cut = rf"(?=[a-z_-]{{0,40}}+[A-Z0-9])[{letters}]{{10,}}+(?=…|\Z)"
    return rf"{_LEFT}(?:{prefixes})(?:[{letters}]{{{least},}}+{more}|{cut})"


_RULES = {
    # name: (kind, without one of these words there is none,
    #        pattern: the secret is group "s" or all of it, what the mask replaces "all", "s" or it)
    "private key": (
        "pem",
        "PRIVATE",
        rf"-----BEGIN{_PEM}(?=[\s\\nr\"'+>|]{{0,40}}(?:Proc-Type|Version|Comment|[{_ALNUM}+/]{{16}}))"
        rf".*?(?:-----END{_PEM}|\Z)",
    ),
    "json web token": (
        "jwt",
        "eyJ",
        rf"{_ALONE}eyJ[\w-]{{8,}}+\.(?:[\w-]{{8,}}+\.[\w-]{{8,}}+|eyJ[\w-]{{8,}}+\.?+"
        r"|[\w-]*+\.?+[\w-]*+(?=…))",
    ),
    "aws": (
        "aws",
        "AKIA ASIA ABIA ACCA",
        r"(?<![A-Z0-9])(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])",
    ),
    "openai, anthropic, openrouter": (
        "key",
        "sk-",
        _key("sk-(?:proj|ant|svcacct|admin|or|lf)-", 16),
    ),
    "sk- of others": (
        "key",
        "sk-",
        rf"{_LEFT}sk-(?:[{_ALNUM}]{{20,}}+|(?=[A-Za-z_-]{{0,40}}+[0-9])[\w-]{{20,}}+"
        rf"|(?:[a-z]{{1,20}}+-){{1,3}}+[{_ALNUM}]{{24,}}+)",
    ),
    "hugging face, groq, replicate": ("key", "hf_ gsk_ r8_", _key("hf_|gsk_|r8_", 30, _ALNUM)),
    "other models": (
        "key",
        "xai- pplx- nvapi- csk- tgp_v1_ pcsk_ tvly- lsv2_ AQ.",
        _key(r"xai-|pplx-|nvapi-|csk-|tgp_v1_|pcsk_|tvly-|lsv2_[ps][tk]_|AQ\.", 24),
    ),
    "github": (
        "github",
        "ghp_ gho_ ghu_ ghs_ ghr_",
        _key("gh[pousr]_", 36, _ALNUM, r"(?:[._-][\w-]{20,}+)*+"),
    ),
    "github, fine-grained": ("github", "github_pat_", _key("github_pat_", 22)),
    "gitlab": (
        "package",
        "glpat- gldt- glrt- glcbt- glptt- glft- glimt- glagent- gloas- glsoat-",
        _key(
            r"gl(?:pat|[dr]t|cbt|ptt|ft|imt|agent|s?oat|oas)-",
            20,
            more=r"(?:\.\w{2}\.[a-z0-9]{9})?+",
        ),
    ),
    "npm": ("package", "npm_", _key("npm_", 30, _ALNUM)),
    "pypi, docker, rubygems": (
        "package",
        "pypi-Ag dckr_ rubygems_",
        _key("pypi-(?=Ag)|dckr_[po]at_|rubygems_", 20),
    ),
    "slack": ("slack", "xox xapp-", _key("xox[abeoprs]-|xapp-", 10)),
    "slack, address": (
        "slack",
        "hooks.slack.com",
        r"(?<=hooks\.slack\.com/)(?:services|workflows|triggers)/[\w/-]{20,}+",
    ),
    "google": ("google", "AIza", _key("AIza", 35)),
    "google, oauth": ("google", "ya29. GOCSPX- 1//0", _key(r"ya29\.|GOCSPX-|1//0", 20)),
    "stripe, shopify": (
        "key",
        "k_live_ k_test_ whsec_ shp",
        _key("[sr]k_(?:live|test)_|whsec_|shp(?:at|ss|ca|pa)_", 16, _ALNUM),
    ),
    "sendgrid, mailgun": (
        "key",
        "SG. key-",
        rf"{_LEFT}(?:SG\.[\w-]{{16,}}+\.[\w-]{{16,}}+|key-[0-9a-f]{{32}}(?![\w-]))",
    ),
    "infrastructure": (
        "key",
        "dop_v1_ hvs. glsa_ sntry ATATT3x NRAK- PMAK- lin_api_ figd_ sbp_ sb_secret_ ntn_ xkeysib-"
        " SECRET-KEY-1",
        _key(
            r"dop_v1_|hvs\.|glsa_|sntry[su]_|ATATT3x|NRAK-|PMAK-|lin_api_|figd_|sbp_|sb_secret_"
            r"|ntn_|xkeysib-|AGE-SECRET-KEY-1",
            20,
        ),
    ),
    "telegram": ("telegram", ":AA", r"(?<![0-9])[0-9]{8,10}:AA[\w-]{33}(?![\w-])"),
    "discord": ("discord", ".", rf"{_ALONE}[MNO][\w-]{{23,27}}\.[\w-]{{6}}\.[\w-]{{27,}}+"),
    "discord, address": (
        "discord",
        "/api/webhooks/",
        r"(?<=/api/webhooks/)[0-9]{15,20}/[\w-]{40,}+",
    ),
    "azure": ("azure", "AccountKey=", r"(?<=AccountKey=)[\w+/=-]{20,}+"),
    "azure, client": ("azure", "Q~", rf"{_ALONE}[\w.~-]{{3}}[0-9]Q~[\w.~-]{{31,34}}"),
    "alibaba, tencent": ("key", "LTAI AKID", _key("LTAI|AKID", 16, _ALNUM)),
    "zhipu": ("key", ".", rf"{_ALONE}[0-9a-f]{{32}}\.[{_ALNUM}]{{16}}(?!\w|\.\w)"),
    "signed address": (
        "signature",
        "sig= ignature= Security-Token=",
        r"[?&](?i:sig|(?:x-(?:amz|goog)-)?signature|x-amz-security-token)=(?P<s>[\w+/=%.-]{16,}+)",
    ),
    "address": (
        "url",
        "://",
        r"(?<=://)(?P<all>[^\s/:@\"'<>]*+:(?![0-9]{1,5}[?#,;)])(?P<s>[^\s/\"'<>]+))(?=@)",
    ),
    "address of a token": (
        "url",
        "://",
        r"(?<=://)(?P<s>(?=[A-Za-z_-]{0,40}+[0-9])[\w-]{20,}+)(?=@)",
    ),
    "bearer": (
        "bearer",
        "earer EARER",
        r"(?i:bearer)[ \t]++(?P<s>(?=[A-Za-z_-]{0,60}+[0-9])[\w.~+/-]{16,}+)",
    ),
    "basic": (
        "basic",
        "asic ASIC",
        rf"(?i:authorization){_NAMES}(?i:basic)[ \t]++(?P<s>[\w+/]{{6,}}+=*+)",
    ),
    "authorization": (
        "value",
        "uthorization UTHORIZATION",
        rf"(?i:authorization){_NAMES}(?:(?i:token|apikey|key|bot)[ \t]++)?+"
        r"(?P<s>(?!AWS4)(?=[A-Za-z_-]{0,60}+[0-9])[\w.~+/=-]{16,}+)",
    ),
    "cookie": (
        "cookie",
        "ookie OOKIE",
        rf"(?i:cookie){_NAMES}(?P<s>(?=[^\s0-9\"']{{0,200}}+[0-9])[\w.-]++=[^\s;\"'\\]{{6,}}+"
        r"(?:;[ \t]*+[\w.-]++(?:=[^\s;\"'\\]*+)?+)*+)",
    ),
    "curl": (
        "value",
        "curl",
        r"\bcurl\b(?:[ \t]++(?!-u|--user|--proxy-user)\S++){0,24}[ \t]++(?:-u|--user|--proxy-user)"
        rf"[ \t=]*+{_QUOTE}[^\s:\"']{{1,64}}+:(?P<s>[^\s\"'\\]++)",
    ),
    "sshpass": ("value", "sshpass", rf"\bsshpass[ \t]++-p[ \t]*+{_QUOTE}(?P<s>[^\s\"'\\]++)"),
    "netrc": (
        "value",
        "login",
        r"\bmachine\s++\S{1,128}+\s++login\s++\S{1,128}+\s++password\s++(?P<s>\S++)",
    ),
}


def shown(text: str, key: bytes = b"") -> str:
    """`text` as it may be shown: neutral, secrets masked."""
    return redact(neutralise(text)[0], key)


def redact(text: str, key: bytes = b"") -> str:
    """`text` with every known secret replaced by [redacted:<kind>:<8 hex>]."""
    plain, places = _unescaped(text)
    spans: list[Span] = []
    busy = bytearray(len(plain))
    for begin, end, kind, secret in (*_found(plain), *named.found(plain)):
        if busy.find(1, begin, end) < 0:  # what is known by its form has that mask everywhere
            busy[begin:end] = b"\1" * (end - begin)
            spans.append((begin, end, kind, secret))
    masks: dict[tuple[str, str], str] = {}
    parts, at = [], 0
    for begin, end, kind, secret in sorted(spans):
        if (kind, secret) not in masks:
            digest = seal.mac(key, secret.encode("utf-8", "replace"))[:8]
            masks[kind, secret] = f"{named.MASK}{kind}:{digest}]"
        parts += [text[at : places[begin]], masks[kind, secret]]
        at = places[end]
    return "".join([*parts, text[at:]])


def _found(text: str) -> "Iterator[Span]":
    for kind, words, pattern in _RULES.values():
        if not any(word in text for word in words.split()):
            continue
        compiled = _compiled(pattern)
        part = "s" if "s" in compiled.groupindex else 0
        whole = "all" if "all" in compiled.groupindex else part
        for match in compiled.finditer(text):
            secret = match[part]
            if named.MASK in match[whole] or (part and named.placeholder(secret)):
                continue
            if kind == "pem":  # the same key, however its lines are wrapped
                secret = _compiled(r"\\[nrt]|[^\w+/=]").sub("", secret)
            yield *match.span(whole), kind, secret


@functools.cache
def _compiled(pattern: str) -> "re.Pattern[str]":
    """Compiled at first use: a hook pays only for the rules that its text may need."""
    import re

    return re.compile(pattern, re.ASCII | re.DOTALL)


def _unescaped(text: str) -> "tuple[str, range | list[int]]":
    r"""(`text` without escapes of plain characters, \u0041; where each character stands in it)."""
    if "\\u00" not in text:
        return text, range(len(text) + 1)
    parts: list[str] = []
    places: list[int] = []
    at = 0
    for match in _compiled(r"\\++u00([2-7][0-9a-fA-F])").finditer(text):
        char = chr(int(match[1], 16))
        if char.isalnum() or char in "-_.:=/+@":
            parts += [text[at : match.start()], char]
            places += [*range(at, match.start()), match.start()]
            at = match.end()
    return "".join([*parts, text[at:]]), [*places, *range(at, len(text) + 1)]
