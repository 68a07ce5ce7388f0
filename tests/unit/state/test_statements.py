"""What a person lays down, what replaces what, and what an answer leaves open."""

import time

import pytest

from swapcache.model import AGENT, UNTRUSTED
from swapcache.state import statements
from swapcache.state.fold import Fold
from tests.unit.makers import reply, request


@pytest.mark.parametrize(
    ("sentence", "kind"),
    [
        ("Never push to main.", "constraint"),
        ("You must ask me before a release", "constraint"),
        ("don’t touch the schema", "constraint"),
        ("Let's use the second one instead", "decision"),
        ("call it main-new", "decision"),
        ("任何删数据都要先问我", "constraint"),
        ("正文不许再改", "constraint"),
        ("主色改用深红", "decision"),
        ("設定は変更しないで", "constraint"),
        ("포트는 반드시 8080", "constraint"),
        ("It rained all day", ""),
        ("Only the owner may merge", "constraint"),
        ("this is the only request", ""),
        ("Should we use the second one?", ""),
        ("天气很好", ""),
        ("must " * 80, ""),
    ],
)
def test_a_sentence_is_told_by_its_words(sentence: str, kind: str) -> None:
    assert statements.kind(sentence) == kind


def test_a_text_is_cut_into_sentences_without_bullets_and_code() -> None:
    text = "1. Keep it. Version 1.2 is old!\n- 不要动。先问我；再改\n```\nnever run\n```\n> said"
    assert statements.sentences(text) == [
        "Keep it.", "Version 1.2 is old!", "不要动。", "先问我；", "再改", "said",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("It is done. Shall I deploy?", "Shall I deploy?"),
        ("都好了。可以上线吗", "可以上线吗"),
        ("終わりました。公開してもよろしいですか。", "公開してもよろしいですか。"),
        ("끝났습니다. 배포할까요?", "배포할까요?"),
        ("Why? Because it was late. Then it worked. All is well. I am done.", ""),
        ("It is done.", ""),
    ],
)
def test_what_an_answer_asks_at_its_end(text: str, asked: str) -> None:
    assert statements.question(text) == asked


@pytest.mark.parametrize(
    ("new", "old", "value"),
    [
        ("批大小降到 2000", "批大小先用 5000", "5000"),
        ("后面的插图主色改用 #9E2F23", "主色朱砂红 #B5382A", "#B5382A"),
        ("the port is 8081", "use port 8080", ""),
        ("put it on port 8081", "use port 8080", ""),
        ("set port 8081 now", "port 8080", "8080"),
        ("paint shed 2 blue", "paint shed 1 blue", ""),
        ("第二批 2000 条", "第二批 5000 条", ""),
        ("use tabs instead of spaces", "indent with spaces", "spaces"),
        ("not redis but sqlite", "put it into redis", "redis"),
        ("按钮改成蓝色", "按钮用红色", "按钮"),
        ("插图主色改用 #9E2F23", "插图 1200 宽", ""),
        ("keep it", "use port 8080", ""),
    ],
)
def test_a_sentence_replaces_the_value_of_an_older_one(new: str, old: str, value: str) -> None:
    corrects = statements.correction(new)
    assert (corrects.replaced(old) if corrects else "") == value


def kept(fold: Fold) -> dict[str, str]:
    return {i.text: i.status for kind in ("constraint", "decision") for i in fold.of(kind).values()}


def test_the_owners_words_stay_until_they_are_corrected() -> None:
    fold = Fold()
    fold.add(request("批大小先用 5000。不许删数据。", key="a"), 1)
    fold.add(reply("好"), 2)
    fold.add(request("批大小降到 2000。", key="b"), 3)
    assert kept(fold) == {"不许删数据。": "", "批大小降到 2000。": "replaces 5000"}


def test_nobody_else_lays_anything_down() -> None:
    fold = Fold()
    fold.add(request("Never do that again.", UNTRUSTED), 1)
    fold.add(reply("You must never do that."), 2)
    fold.add(request("go on", AGENT), 3)
    assert kept(fold) == {}


def test_a_question_waits_until_the_owner_says_something() -> None:
    fold = Fold()
    fold.add(request("deploy it"), 1)
    fold.add(reply("It is built. Shall I deploy it now?"), 2)
    assert [i.text for i in fold.of("question").values()] == ["Shall I deploy it now?"]
    fold.add(request("yes", key="n"), 3)
    assert not fold.of("question")


def test_what_was_laid_down_is_bounded_and_quick() -> None:
    text = "\n".join(f"Never use port {n} for it." for n in range(20_000))
    begin = time.process_time()
    found = statements.laid_down(text)
    assert time.process_time() - begin < 2
    assert len(found) == statements.MOST
