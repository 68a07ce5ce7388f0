"""The tree of a transcript: which rows are on the branch that the host goes on with."""

import pytest

from swapcache.transcripts import pi
from swapcache.transcripts.tree import Back, Place, Tree


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


def test_a_row_that_may_not_lead_stays_beside_until_one_that_may_goes_on_from_it() -> None:
    made = tree(row("a", ""), row("b", "a"))
    made.add(Place("late", "a", "late", leads=False))
    made.add(Place("later", "late", "later", leads=False))
    assert made.leaf == "b" and made.left() == {"late", "later"}
    made.add(Place("c", "b", "c", leads=False))
    assert made.leaf == "c" and made.left() == {"late", "later"}
    made.add(row("d", "later"))
    assert made.leaf == "d" and made.left() == {"b", "c"}


def test_a_row_that_may_not_lead_goes_on_behind_a_hole() -> None:
    made = tree(row("a", ""), Place("c", "damaged", "c", leads=False))
    assert made.leaf == "c" and not made.left()


# -- formats without links ---------------------------------------------------------------------


def line(*ids: str, asks: str = "") -> tuple[Tree, dict[str, str]]:
    """A tree of rows that stand in a line, and their keys; those in `asks` are requests."""
    made = Tree()
    return made, {key: made.add(Place(key, None, key), key in asks) for key in ids}


def test_rows_without_links_follow_each_other() -> None:
    made, _ = line("a", "b", "c")
    assert made.leaf == "c" and not made.left()
    assert Place("d", None, "d").follows("c", True) and Place("", None, "").follows("", True)


def test_a_step_back_leaves_the_row_that_it_names_and_all_behind_it() -> None:
    made, keys = line("a", "b", "c")
    made.back(Back(before="b"))
    assert made.leaf == "a" and made.left() == {keys["b"], keys["c"]}
    again = made.add(Place("b", None, "b"))
    assert made.leaf == "b" and again not in made.left() and keys["b"] in made.left()


def test_a_step_back_to_a_row_that_nobody_knows_leaves_nothing() -> None:
    made, _ = line("a", "b")
    made.back(Back(before="damaged"))
    made.back(Back())
    assert made.leaf == "b" and not made.left()


@pytest.mark.parametrize(
    ("turns", "left"), [(1, "cd"), (2, "bcd"), (3, "abcd"), (9, "abcd"), (0, "")]
)
def test_a_step_back_by_requests(turns: int, left: str) -> None:
    made, keys = line("x", "a", "b", "c", "d", asks="abc")
    made.back(Back(turns=turns))
    assert made.left() == {keys[key] for key in left}


def test_steps_back_add_up() -> None:
    made, keys = line("a", "b", "c", asks="abc")
    made.back(Back(turns=1))
    made.back(Back(turns=1))
    assert made.left() == {keys["b"], keys["c"]} and made.leaf == "a"


def test_the_newest_row_may_be_told_once_more_and_is_one_row() -> None:
    made, keys = line("a", "b")
    assert made.take(Place("b", None, "b"), False) == (keys["b"], True)
    key, again = made.take(Place("a", None, "a"), False)
    assert not again and key != keys["a"], "only the newest one"
    made.back(Back(before="a"))
    assert made.left() == {*keys.values(), key}, "it keeps its first place"


def test_rows_without_names_are_rows_of_their_own() -> None:
    made = Tree()
    keys = {made.take(Place("", None, ""), True)[0] for _ in range(3)}
    assert len(keys) == 3
    made.back(Back(turns=1))
    assert len(made.left()) == 1
    assert made.take(None, False) == ("", False) and made.take(Back(turns=9), False) == ("", False)
    assert made.left() == keys


@pytest.mark.parametrize(
    ("value", "place"),
    [
        ({"type": "message", "id": "b", "parentId": "a"}, Place("b", "a", "b")),
        ({"type": "message", "id": "b", "parentId": None}, Place("b", "", "b")),
        (
            {"type": "message", "id": "b", "parentId": "a", "appendMode": "side"},
            Place("b", "a", None),
        ),
        ({"type": "leaf", "id": "x", "parentId": "b", "targetId": "a"}, Place("x", "a", "a")),
        ({"type": "session", "id": "s", "parentId": "r"}, None),
        ({"type": "message", "id": "b"}, None),
        ({"type": "message", "parentId": "a"}, None),
    ],
)
def test_where_a_row_of_the_pi_family_hangs(value: dict[str, object], place: Place | None) -> None:
    assert pi.place(value) == place
