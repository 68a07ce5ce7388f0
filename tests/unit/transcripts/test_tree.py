"""The tree of a transcript: which rows are on the branch that the host goes on with."""

import pytest

from swapcache.transcripts import pi
from swapcache.transcripts.tree import Place, Tree


def tree(*places: Place) -> Tree:
    """A tree with these rows."""
    made = Tree()
    for place in places:
        made.add(place)
    return made


def row(key: str, parent: str) -> Place:
    """An ordinary row."""
    return Place(key, parent, key)


def test_a_line_of_rows_leaves_nothing() -> None:
    made = tree(row("a", ""), row("b", "a"), row("c", "b"))
    assert made.leaf == "c" and not made.left()


def test_a_second_child_leaves_the_first_with_all_that_follows_it() -> None:
    made = tree(row("a", ""), row("b", "a"), row("c", "b"), row("d", "a"))
    assert made.leaf == "d" and made.left() == {"b", "c"}


def test_going_back_to_a_branch_takes_it_in_again() -> None:
    made = tree(row("a", ""), row("b", "a"), row("c", "a"), row("d", "b"))
    assert made.left() == {"c"}


def test_an_unknown_parent_leaves_nothing() -> None:
    made = tree(row("a", ""), row("b", "damaged"), row("c", "b"))
    assert made.left() == frozenset()


def test_a_row_beside_the_branch_is_left_and_what_hangs_on_it_is_not() -> None:
    made = tree(row("a", ""), Place("b", "a", None), row("c", "b"))
    assert made.leaf == "c" and made.left() == {"b"}


@pytest.mark.parametrize(
    ("target", "left"), [("a", {"b", "c"}), ("b", {"c"}), ("gone", set()), ("", {"a", "b", "c"})]
)
def test_a_leaf_row_points_to_what_goes_on(target: str, left: set[str]) -> None:
    made = tree(row("a", ""), row("b", "a"), row("c", "b"), Place("x", target, target))
    assert made.left() - {"x"} == left


def test_a_row_that_is_told_twice_counts_once() -> None:
    made = tree(row("a", ""), row("b", "a"), row("c", "b"), row("b", "a"), row("d", "c"))
    assert made.left() == frozenset()


@pytest.mark.parametrize(
    ("value", "place"),
    [
        ({"type": "message", "id": "b", "parentId": "a"}, Place("b", "a", "b")),
        ({"type": "message", "id": "b", "parentId": None}, Place("b", "", "b")),
        ({"type": "message", "id": "b", "parentId": "a", "appendMode": "side"}, ("b", "a", None)),
        ({"type": "leaf", "id": "x", "parentId": "b", "targetId": "a"}, Place("x", "a", "a")),
        ({"type": "session", "id": "s", "parentId": "r"}, None),
        ({"type": "message", "id": "b"}, None),
        ({"type": "message", "parentId": "a"}, None),
    ],
)
def test_where_a_row_of_the_pi_family_hangs(value: dict[str, object], place: Place | None) -> None:
    assert pi.place(value) == place
