"""The values that travel: immutable, comparable, cheap to import."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import swapcache
from swapcache import model
from swapcache.model import Damage, Identity, NewRecord, Row, ToolResult, Verdict

VERDICTS = "VERIFIED PREFIX ROLLED_BACK FOREIGN MODIFIED GAP UNSEALED NO_KEY".split()


def every() -> list[Any]:
    found = [
        value
        for value in vars(model).values()
        if isinstance(value, type) and issubclass(value, tuple) and hasattr(value, "_fields")
    ]
    assert len(found) > 10
    return found


@pytest.mark.parametrize("kind", every(), ids=lambda kind: kind.__name__)
def test_every_value_is_an_immutable_tuple_that_says_what_it_is(kind: Any) -> None:
    made = kind._make(range(len(kind._fields)))
    assert made == tuple(range(len(kind._fields)))
    assert list(made._asdict()) == list(kind._fields)
    assert kind.__name__ in repr(made)
    assert kind.__module__ == "swapcache.model"
    assert kind.__doc__
    with pytest.raises(AttributeError):
        setattr(made, kind._fields[0], "changed")
    with pytest.raises(AttributeError):
        made.unknown = 1


def test_fields_are_given_by_name_or_place_and_have_their_defaults() -> None:
    assert Row(3, b"x", None) == Row(start=3, raw=b"x", value=None, reason="")
    assert ToolResult("1", "t", False).interrupted is False
    assert NewRecord(b"", {}) == NewRecord(b"", {}, None, None, 0)
    assert Damage(where=1, size=2, reason="r")._replace(size=3) == Damage(1, 3, "r")
    with pytest.raises(TypeError):
        Identity("host")  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        Damage(1, 2, "r", "too much")  # type: ignore[call-arg]


@pytest.mark.parametrize("name", VERDICTS)
def test_only_the_verdict_verified_is_good(name: str) -> None:
    assert Verdict(name).good is (name == "VERIFIED")
    assert Verdict(name) == Verdict(name, "", -1, -1)


def test_importing_the_values_loads_neither_typing_nor_dataclasses() -> None:
    root = Path(swapcache.__file__).parent.parent
    code = (
        f"import sys; sys.path.insert(0, {str(root)!r}); import swapcache.model\n"
        "print([m for m in ('typing', 'dataclasses', 're', 'enum', 'json') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
