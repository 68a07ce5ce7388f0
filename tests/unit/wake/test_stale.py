"""What later words take back is left out of what was said before them."""

import pytest

from swapcache.wake import stale
from swapcache.wake.talk import Line


def settled(*lines: Line) -> list[str]:
    return [line.text for line in stale.settled(list(lines), [], "replaced")]


def before(text: str, who: str = "final") -> Line:
    """Said before the owner's newest request."""
    return Line(1, who, text, 1, 2)


def asked(text: str) -> Line:
    """The owner's newest request."""
    return Line(2, "user", text, 0, 1)


@pytest.mark.parametrize(
    ("answer", "said", "left"),
    [
        ("It has 4 parts. Shall I go on?", "yes", "It has 4 parts."),
        ("共 29 家。建议先删掉。", "好", "共 29 家。"),
        ("All helpers go into lib/core. It has 4 parts.", "no, helpers do not go into lib/core",
         "It has 4 parts."),
        ("净销售额合计 30 元。共 29 家。", "净销售额不对，要减补贴", "共 29 家。"),
        ("方案 A：删掉；方案 B：保留。", "走方案 B", "方案 B：保留。"),
        ("Option A: block it. Option B: queue it.", "option B please", "Option B: queue it."),
    ],
)  # fmt: skip
def test_what_the_owner_answered_or_corrected_is_left_out(
    answer: str, said: str, left: str
) -> None:
    assert settled(asked(said), before(answer)) == [said, left]


def test_an_agreed_answer_stays_whole() -> None:
    answer = "All helpers go into lib/core. It has 4 parts."
    assert settled(asked("good, continue with helpers in lib/core"), before(answer))[1] == answer


def test_an_older_request_loses_the_value_that_was_changed() -> None:
    old = before("批大小先用 5000。不许删数据。", "user")
    assert settled(asked("批大小降到 2000。"), old)[1] == "不许删数据。"


def test_newer_words_are_never_touched() -> None:
    newer = Line(3, "final", "Shall I deploy port 8080?", 0, 0)
    assert settled(newer, asked("change it to port 8081"))[0] == newer.text


def test_a_value_that_was_given_up_is_marked_in_older_calls_only() -> None:
    lines = [Line(9, "call", "bash run --batch 5000"), Line(3, "call", "bash run --batch 5000")]
    new, old = stale.settled(lines, [(5, "5000")], "replaced later")
    assert new.text == "bash run --batch 5000"
    assert old.text == "bash run --batch 5000 (replaced later)"


@pytest.mark.parametrize("newest", ["img/a-v2.png", "img/a_v2.png", "img/a-final.png"])
def test_a_file_made_again_points_to_its_successor(newest: str) -> None:
    lines = [Line(2, "call", f"make {newest}"), Line(1, "call", "make img/a.png")]
    newer = stale.successors(lines)
    assert newer == {"img/a.png": newest}
    assert stale.renewed("read img/a.png", newer) == f"read img/a.png (→ {newest[4:]})"


def test_files_of_other_names_have_no_successor() -> None:
    lines = [Line(2, "call", "make img/b.png img/01.png"), Line(1, "call", "make img/a.png")]
    assert stale.successors(lines) == {}
