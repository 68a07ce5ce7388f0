"""What tools mean, and which tokens of a text are worth keeping verbatim."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swapcache.model import ToolCall
from swapcache.state import rules
from tests.unit.makers import call

UUID = "123e4567-e89b-42d3-a456-426614174000"
COMMIT = "9fceb02d0ae598e95dc970b74767f19372d61af8"

PROSE = """\
Please fix the parser and run the tests again.
I think we should wait until tomorrow, because nobody is here.
The build failed twice; the second time it was the network.
Why does it take so long? It used to be fast!
Add a button that says "Save" next to the one that says "Cancel".
He said: do not touch the database - it is fragile.
We need better names for these functions (and shorter ones).
It works on my machine... or so I was told.
Self-contained, well-known and easy-to-read code is what we want.
The first attempt was wrong, the second one was right.
Use the e-mail template, i.e. the new one, e.g. for invoices.
Thanks, that looks great. Now do the same for the other page.
There are 12 rows in 3 tables and 100 users.
Rename x to y, then z to x.
Let's make it 50% faster, or at least try.
Can you explain what a closure is?
No. Stop. Go back to the old version.
The quick brown fox jumps over the lazy dog.
Make it so that users can't log in twice.
Decade, facade, beaded, deface and accede are just words.
请把解析器修好，然后再跑一遍测试。
我觉得应该等到明天再说，因为现在没有人。
构建失败了两次；第二次是网络的问题。
为什么这么慢？以前很快的！
在“取消”旁边加一个“保存”按钮。
他说：不要动数据库，它很脆弱。
第一次是错的，第二次才对。
一共有12行、3张表和100个用户。
谢谢，看起来很好。另一个页面也照这样做。
改名字，然后提交，最后告诉我结果。""".splitlines()


def test_thirty_sentences_of_prose_are_listed() -> None:
    assert len(PROSE) == 30


@pytest.mark.parametrize("sentence", PROSE)
def test_ordinary_words_are_no_facts(sentence: str) -> None:
    assert rules.facts(sentence) == []


@pytest.mark.parametrize(
    "fact",
    [
        "/etc/hosts",
        "~/notes/todo.md",
        "src/swapcache/model.py",
        "tests/unit",
        "README.md",
        "my-file_2.tar.lock",
        "https://example.org/a/b?c=d&e=f#g",
        "http://127.0.0.1:8080/x",
        COMMIT,
        COMMIT[:7],
        "a" * 63 + "1",
        UUID,
        UUID.upper(),
        "ABC-123",
        "JIRA2-7",
        "#42",
        "v1.2.3",
        "3.11.7",
        "10.0.0.1",
        "/srv/项目/说明.md",
    ],
)
@pytest.mark.parametrize(
    "around",
    ["{}", "see {} please", "({})", "`{}`", '"{}"', "{},", "see {}.", "<{}>", "{}: it", "**{}**"],
)
def test_a_fact_is_found_exactly_as_it_stands(fact: str, around: str) -> None:
    assert rules.facts(around.format(fact)) == [fact]


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("修复ABC-123问题", ["ABC-123"]),
        ("见https://a.b/c?d=e。", ["https://a.b/c?d=e"]),
        ("提交3f2a9bc1已合并", ["3f2a9bc1"]),
        ("版本v1.2.3发布", ["v1.2.3"]),
        ("打开/srv/项目/说明.md，然后改", ["/srv/项目/说明.md"]),
        ("（src/a.py）和“docs/b.md”", ["src/a.py", "docs/b.md"]),
        ("改fold.py，不改rules.py", ["fold.py", "rules.py"]),
        (f"编号{UUID}。", [UUID]),
        ("请看 src/parser.py 的第3行", ["src/parser.py"]),
    ],
)
def test_facts_glued_to_chinese_words_are_found(text: str, facts: list[str]) -> None:
    assert rules.facts(text) == facts


def test_a_path_glued_to_chinese_words_behind_it_ends_where_the_path_ends() -> None:
    assert rules.facts("请看src/parser.py的第3行") == ["src/parser.py"]
    assert rules.facts("state/rules.py都要改") == ["state/rules.py"]


def test_a_path_behind_an_equals_sign_is_found() -> None:
    assert rules.facts("OUT=build/x.json make") == ["build/x.json"]


def test_facts_come_once_and_in_order() -> None:
    assert rules.facts("b.py a.py b.py ABC-1") == ["b.py", "a.py", "ABC-1"]


@given(st.text(max_size=200))
def test_every_fact_stands_in_the_text_and_is_bounded(text: str) -> None:
    for fact in rules.facts(text):
        assert fact in text
        assert 3 <= len(fact) <= rules.FACT_LIMIT
        assert not any(c.isspace() for c in fact)


def test_a_token_that_is_too_long_is_no_fact() -> None:
    assert rules.facts("/" + "x" * 200) == []


# -- tools -----------------------------------------------------------------------------------------


PATCH = """*** Begin Patch
*** Add File: src/new.py
+*** no line of the patch's own
*** Update File: src/old.py
*** Move to: src/moved.py
@@
-a
+b
*** Delete File: src/gone.py
*** End Patch"""
PATCHED = [
    ("src/new.py", "wrote"),
    ("src/old.py", "edited"),
    ("src/moved.py", "wrote"),
    ("src/gone.py", "deleted"),
]


@pytest.mark.parametrize(
    ("given_call", "change"),
    [
        (call("1", "Edit", file_path="/a"), [("/a", "edited")]),
        (call("1", "MultiEdit", file_path="/a"), [("/a", "edited")]),
        (call("1", "NotebookEdit", notebook_path="/n"), [("/n", "edited")]),
        (call("1", "notebook_edit", notebook_path="/n"), [("/n", "edited")]),
        (call("1", "replace", file_path="/a"), [("/a", "edited")]),
        (call("1", "write_file", file_path="/a"), [("/a", "wrote")]),
        (call("1", "Write", file_path="/a"), [("/a", "wrote")]),
        (call("1", "write", path="/a"), [("/a", "wrote")]),
        (call("1", "write", filePath="/a"), [("/a", "wrote")]),
        (call("1", "patch", path="/a", old_string="x"), [("/a", "edited")]),
        (
            call("1", "apply_patch", patchText="*** Begin Patch\n*** Add File: b.py\n+x"),
            [("b.py", "wrote")],
        ),
        (call("1", "Read", file_path="/a"), []),
        (call("1", "Bash", command="rm /a"), []),
        (call("1", "Edit", file_path=5), []),
        (call("1", "Edit", old="x"), []),
        (call("1", "apply_patch", input="no patch"), []),
        (call("1", "Read", input=PATCH), []),
        (call("1", "apply_patch", input=PATCH), PATCHED),
        (call("1", "exec_command", cmd=f"apply_patch <<'EOF'\n{PATCH}\nEOF"), PATCHED),
        (call("1", "shell", command=["apply_patch", PATCH]), PATCHED),
    ],
)
def test_only_tools_that_edit_change_a_file(
    given_call: ToolCall, change: list[tuple[str, str]]
) -> None:
    assert rules.changed(given_call) == change


@pytest.mark.parametrize(
    ("given_call", "line"),
    [
        (call("1", "Bash", command="make\n  all"), "make all"),
        (call("1", "exec", cmd=["git", "log"]), "git log"),
        (call("1", "Edit", file_path="/a", old_string="x"), "/a"),
        (call("1", "Grep", pattern="foo"), "foo"),
        (call("1", "Odd", depth=3), "depth=3"),
        (ToolCall("1", "Odd", {}), ""),
    ],
)
def test_a_call_is_named_in_one_line(given_call: ToolCall, line: str) -> None:
    assert rules.target(given_call) == line


@pytest.mark.parametrize(
    ("entries", "tasks"),
    [
        (
            {"todos": [{"content": "a", "status": "in_progress"}, {"content": "b"}]},
            [["list", "a", "a", "active"], ["list", "b", "b", "open"]],
        ),
        (
            {"plan": [{"step": "a", "status": "completed"}]},
            [["list", "a", "a", "done"]],
        ),
        (
            {"todos": [{"description": "a", "status": "cancelled"}]},
            [["list", "a", "a", "cancelled"]],
        ),
        (
            {"merge": True, "todos": [{"id": "1", "content": "a", "status": "completed"}]},
            [["set", "a", "a", "done"]],
        ),
        ({"todos": "words"}, []),
        ({"todos": [None, 5, {"content": 7}, {}]}, []),
        ({}, []),
    ],
)
@pytest.mark.parametrize("name", ["TodoWrite", "update_plan", "todo_write", "write_todos", "todo"])
def test_a_plan_tool_states_the_whole_plan(
    name: str, entries: dict[str, Any], tasks: list[list[str]]
) -> None:
    assert rules.plan(ToolCall("1", name, entries)) == tasks


def test_task_tools_change_one_task() -> None:
    assert rules.plan(call("1", "TaskCreate", subject="a")) == [["new", "", "a", "open"]]
    update = call("1", "TaskUpdate", taskId="7", status="completed")
    assert rules.plan(update) == [["set", "#7", "", "done"]]
    assert rules.plan(call("1", "Bash", command="x")) is None


@pytest.mark.parametrize(
    ("output", "number"),
    [
        ("Task #7 created: x", "#7"),
        ("Created #123", "#123"),
        ("created", ""),
        ("# 7", ""),
        ("", ""),
    ],
)
def test_the_number_of_a_new_task_is_read_from_the_output(output: str, number: str) -> None:
    assert rules.task_number(output) == number


@pytest.mark.parametrize(
    ("line", "output", "commit"),
    [
        ("git commit -m x", "[main 3f2a9bc] Fix it", "3f2a9bc Fix it"),
        ("git commit -m x", "[main (root-commit) 3f2a9bc] Fix", "3f2a9bc Fix"),
        ("git commit -m x", "hook ok\n[feature/a 3f2a9bcd1] Fix\n 1 file", "3f2a9bcd1 Fix"),
        ("git commit -m x && git log --oneline -1", "3f2a9bc Fix", "3f2a9bc Fix"),
        ("git -C /srv/p commit -m x", "[main 3f2a9bc] Fix", "3f2a9bc Fix"),
        ("git commit -m x", "nothing to commit, working tree clean", ""),
        ("git log --oneline", "3f2a9bc Fix it", ""),
        ("git -c core.pager=cat log --oneline", "3f2a9bc An old one", ""),
        ("make", "[main 3f2a9bc] Fix it", ""),
        ("git commit", "", ""),
    ],
)
def test_a_commit_is_read_from_the_output_of_the_command_that_made_it(
    line: str, output: str, commit: str
) -> None:
    assert rules.committed(line, output) == commit


@pytest.mark.parametrize(
    ("output", "line"),
    [
        ("a\nmake: *** Error 2\nbye", "make: *** Error 2"),
        ("error: first\nmore\nerror: last\n", "error: last"),
        ("<tool_use_error>File not found</tool_use_error>", "File not found"),
        ("编译\n错误：没有文件\n", "错误：没有文件"),
        ("one\n\n  two  \n", "two"),
        ("", "no output"),
        ("  \n ", "no output"),
    ],
)
def test_the_line_that_says_what_failed_is_found(output: str, line: str) -> None:
    assert rules.error_line(output) == line


@given(st.text(max_size=600))
def test_an_error_line_is_one_line_of_at_most_160_characters(output: str) -> None:
    assert len(rules.error_line(output)) <= 160
    assert "\n" not in rules.error_line(output)


@pytest.mark.parametrize(
    "line",
    [
        "deploy --token 9fceb02d0ae598e95dc970b74767f19372d61af8",
        "deploy --api-key=9fceb02d0ae598e95dc970b74767f19372d61af8",
        "login -password 9fceb02d",
        "密码：9fceb02d0ae598e9",
        "口令是 9fceb02d0ae598e9",
        "数据库密钥=9fceb02d0ae598e9",
        "令牌： 9fceb02d0ae598e9",
    ],
)
def test_C3_what_stands_behind_the_name_of_a_secret_is_no_fact(line: str) -> None:
    assert rules.facts(line) == []


def test_facts_beside_the_name_of_a_secret_are_found() -> None:
    assert rules.facts("the token file is src/token.py") == ["src/token.py"]
    assert rules.facts("密码文件在conf/app.ini里") == ["conf/app.ini"]
