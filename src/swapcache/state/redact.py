"""Secrets are masked in everything that is published, shown to a model or printed.

Owns the patterns. Promises the same mask for the same secret and that hashes, ids and model names
stay. Never changes a raw record; unknown forms of secrets pass (docs/threat-model.md).
"""

import re

from swapcache.store import seal

_SECRET = re.compile(
    r"(?P<aws>\b(?:AKIA|ASIA)[A-Z0-9]{16}\b)"
    r"|(?P<key>\bsk-[A-Za-z0-9_-]{20,})"
    r"|(?P<github>\bgh[pousr]_[A-Za-z0-9]{36,}|\bgithub_pat_[A-Za-z0-9_]{22,})"
    r"|(?P<slack>\bxox[abprs]-[A-Za-z0-9-]{10,})"
    r"|(?P<google>\bAIza[A-Za-z0-9_-]{35})"
    r"|(?P<package>\b(?:glpat-|npm_|pypi-)[A-Za-z0-9_-]{20,})"
    r"|(?P<jwt>\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,})"
    r"|(?P<pem>-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z))"
    r"|(?P<url>(?<=://)[^\s/:@]+:[^\s/@]+(?=@))"
    r"|(?P<bearer>(?<=[Bb]earer )[A-Za-z0-9._~+/-]{20,})"
    r"|(?P<azure>(?<=AccountKey=)[A-Za-z0-9+/=]{20,})"
    r"|(?P<value>(?i:(?:password|passwd|secret|token|api[_-]?key)(?:_[a-z_]+)?[\"']?\s*[:=]"
    r"\s*[\"']?)(?P<word>(?!\[redacted:)[^\s\"',;]{6,}))",
    re.DOTALL,
)


def redact(text: str, key: bytes = b"") -> str:
    """`text` with every known secret replaced by [redacted:<kind>:<8 hex>]."""

    def mask(match: "re.Match[str]") -> str:
        kind = match.lastgroup or "value"
        secret = match.group()
        if match.group("word"):
            kind, secret = "value", match.group("word")
        digest = seal.mac(key, secret.encode("utf-8", "replace"))[:8]
        return match.group().replace(secret, f"[redacted:{kind}:{digest}]")

    return _SECRET.sub(mask, text)
