"""Errors: one tree, one exit code each, as the documentation lists them."""

import re

import pytest

from swapcache import errors


def every() -> list[type[errors.SwapcacheError]]:
    found = [errors.SwapcacheError]
    for kind in found:
        found.extend(kind.__subclasses__())
    return [kind for kind in found if kind.__module__ == errors.__name__]


def test_every_error_has_an_exit_code_of_its_own_that_means_neither_success_nor_usage() -> None:
    codes = [kind.exit_code for kind in every()]
    assert len(set(codes)) == len(codes)
    assert all(2 < code < 126 for code in codes)


def test_the_documented_tree_is_the_real_one() -> None:
    listed = dict(re.findall(r"(\w+(?:Error|Problem))\s+(\d+)", errors.__doc__ or ""))
    assert {name: int(code) for name, code in listed.items()} == {
        kind.__name__: kind.exit_code for kind in every()
    }


@pytest.mark.parametrize(
    "kind",
    [errors.NewerSchemaError, errors.BusyError, errors.NoSpaceError, errors.SealError],
)
def test_whoever_catches_a_store_error_catches_its_kinds(kind: type[errors.StoreError]) -> None:
    with pytest.raises(errors.StoreError, match="what and where"):
        raise kind("what and where")
    assert issubclass(errors.FormatError, errors.SourceError)
    assert not issubclass(errors.KeyProblem, errors.StoreError)
