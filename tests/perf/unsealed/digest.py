"""Nothing is hashed."""

NOTHING = "0" * 64


def sha256(data: bytes) -> str:
    """The same for all."""
    return NOTHING


def mac(key: bytes, data: bytes) -> str:
    """The same for all."""
    return NOTHING


def same(one: str, other: object) -> bool:
    """Nothing is compared."""
    return True
