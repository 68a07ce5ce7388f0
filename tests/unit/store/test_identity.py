"""Whose store it is: git roots, links, renames, copies, and who never shares."""

import os
import shutil
from pathlib import Path

import pytest

from swapcache import paths
from swapcache.errors import SelectionError
from swapcache.model import Identity
from swapcache.store import identity
from tests.unit.store.making import begun, database_path, filled, opened, owner


def who(home: Path, directory: Path, agent: str = "default", host: str = "claude-code") -> Identity:
    return identity.identify(host, str(home / ".host"), str(directory), agent)


# -- workspace_of ----------------------------------------------------------------------------------


def test_a_workspace_is_the_git_root_above(project: Path) -> None:
    deep = project / "src/deep"
    deep.mkdir(parents=True)
    assert identity.workspace_of(str(deep)) == str(project)
    assert identity.workspace_of(str(project)) == str(project)


def test_the_nearest_git_root_wins(project: Path) -> None:
    inner = project / "vendor/inner"
    (inner / ".git").mkdir(parents=True)
    (inner / "src").mkdir()
    assert identity.workspace_of(str(inner / "src")) == str(inner)


def test_a_linked_worktree_is_a_workspace_of_its_own(project: Path) -> None:
    linked = project / "trees/linked"
    linked.mkdir(parents=True)
    (linked / ".git").write_text("gitdir: ../../.git/worktrees/linked\n")
    assert identity.workspace_of(str(linked)) == str(linked)


def test_without_git_the_directory_itself_is_the_workspace(home: Path) -> None:
    plain = home / "plain/below"
    plain.mkdir(parents=True)
    assert identity.workspace_of(str(plain)) == str(plain)


def test_a_workspace_is_a_real_path(home: Path, project: Path) -> None:
    (project / "src").mkdir()
    (home / "link").symlink_to(project)
    (home / "link-below").symlink_to(project / "src")
    assert identity.workspace_of(str(home / "link/src")) == str(project)
    assert identity.workspace_of(str(home / "link-below")) == str(project)
    assert identity.workspace_of(f"{project}/src/../.") == str(project)


def test_no_directory_means_the_working_directory(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "src").mkdir()
    monkeypatch.chdir(project / "src")
    assert identity.workspace_of("") == str(project)


def test_only_a_repository_is_known_again_after_a_rename(home: Path, project: Path) -> None:
    found = project.stat()
    assert identity.inode_of(str(project)).startswith(f"{found.st_dev}:{found.st_ino}:")
    assert identity.inode_of(str(home)) == "", "an inode alone is used again for a stranger"
    assert identity.inode_of(str(home / "gone")) == ""


def test_an_identity_holds_real_paths_only(home: Path, project: Path) -> None:
    (home / ".host-real").mkdir()
    (home / ".host").symlink_to(".host-real")
    (home / "link").symlink_to(project)
    made = who(home, home / "link")
    assert made == Identity(
        "claude-code",
        str(home / ".host-real"),
        "default",
        str(project),
        identity.inode_of(str(project)),
    )


# -- store_id --------------------------------------------------------------------------------------


def test_the_same_identity_always_gives_the_same_name(project: Path, home: Path) -> None:
    one = identity.store_id(who(home, project))
    assert one == identity.store_id(who(home, project))
    assert len(one) == 24
    assert set(one) <= set("0123456789abcdef")
    assert one == identity.store_id(who(home, project)._replace(inode="9:9"))


@pytest.mark.parametrize("field", ["host", "state_dir", "agent", "workspace"])
def test_everything_but_the_inode_makes_another_name(home: Path, project: Path, field: str) -> None:
    mine = who(home, project)
    other = Identity(**(mine._asdict() | {field: "/other"}))
    assert identity.store_id(mine) != identity.store_id(other)


def test_names_do_not_run_into_each_other() -> None:
    one = Identity("a", "b,c", "d", "e", "")
    two = Identity("a", "b", "c,d", "e", "")
    three = Identity("a", 'b","c', "d", "e", "")
    four = Identity("a", "b", 'c","d', "e", "")
    assert len({identity.store_id(i) for i in (one, two, three, four)}) == 4


# -- find ------------------------------------------------------------------------------------------


def test_nothing_is_found_and_nothing_is_made_before_the_first_store(
    home: Path, project: Path
) -> None:
    assert identity.find(who(home, project)) is None
    assert identity.listing() == []
    assert not os.path.exists(paths.state_dir())


def test_a_store_is_found_from_below_and_through_a_link(home: Path, project: Path) -> None:
    store_id = filled(who(home, project), 1)
    (project / "src").mkdir()
    (home / "link").symlink_to(project)
    assert identity.find(who(home, project / "src")) == store_id
    assert identity.find(who(home, home / "link/src")) == store_id


def test_a_renamed_workspace_keeps_its_store(home: Path, project: Path) -> None:
    store_id = filled(who(home, project), 2)
    moved = home / "moved"
    project.rename(moved)
    assert identity.find(who(home, moved)) == store_id
    with begun(who(home, moved)) as store:
        assert store.id == store_id
        assert store.identity.workspace == str(moved)
        assert store.head()[0] == 3, "the rename itself is a record"
        assert store.verify().good


def test_a_workspace_renamed_twice_keeps_its_store(home: Path, project: Path) -> None:
    store_id = filled(who(home, project), 1)
    project.rename(home / "second")
    with begun(who(home, home / "second")) as store:
        assert store.id == store_id
    (home / "second").rename(home / "third")
    assert identity.find(who(home, home / "third")) == store_id


def test_a_renamed_workspace_of_another_agent_is_not_taken_over(home: Path, project: Path) -> None:
    filled(who(home, project, agent="one"), 1)
    project.rename(home / "moved")
    assert identity.find(who(home, home / "moved", agent="two")) is None
    assert identity.find(who(home, home / "moved", agent="one", host="openclaw")) is None


def test_a_copy_gets_a_store_of_its_own(home: Path, project: Path) -> None:
    store_id = filled(who(home, project), 2)
    shutil.copytree(project, home / "copy")
    assert identity.find(who(home, home / "copy")) is None
    with begun(who(home, home / "copy")) as store:
        assert store.id != store_id
        assert store.head()[0] == 0
    assert identity.find(who(home, project)) == store_id


def test_a_hard_linked_name_is_no_reason_to_share_while_the_old_path_exists(
    home: Path, project: Path
) -> None:
    filled(who(home, project), 1)
    elsewhere = home / "elsewhere"
    elsewhere.mkdir()
    same_inode = who(home, elsewhere)._replace(inode=identity.inode_of(str(project)))
    assert identity.find(same_inode) is None


def test_agents_hosts_state_directories_and_workspaces_never_share(
    home: Path, project: Path
) -> None:
    (home / "other/.git").mkdir(parents=True)
    everyone = [
        who(home, project),
        who(home, project, agent="second"),
        who(home, project, host="openclaw"),
        who(home, home / "other"),
        identity.identify("claude-code", str(home / ".host2"), str(project)),
    ]
    ids = [filled(one, 1 + number) for number, one in enumerate(everyone)]
    assert len(set(ids)) == len(everyone)
    for number, (one, store_id) in enumerate(zip(everyone, ids, strict=True)):
        assert identity.find(one) == store_id
        with opened(store_id) as store:
            assert store.identity == one
            assert store.head()[0] == 1 + number
            assert store.verify().good


# -- listing and select ----------------------------------------------------------------------------


def test_a_listing_holds_every_store_by_workspace(home: Path) -> None:
    names = ["b", "a", "c"]
    made = {filled(owner(home, name), 0): owner(home, name) for name in names}
    listed = identity.listing()
    assert dict(listed) == made
    assert [Path(one.workspace).name for _, one in listed] == ["a", "b", "c"]


def test_a_listing_holds_a_store_that_is_damaged_too(home: Path) -> None:
    good, bad = filled(owner(home, "good"), 0), filled(owner(home, "bad"), 0)
    database_path(bad).write_bytes(b"garbage" * 999)
    assert dict(identity.listing()) == {good: owner(home, "good"), bad: owner(home, "bad")}


@pytest.mark.parametrize("content", [None, b"", b"{", b"[]", b'{"host": "x"}', b"\xff\xfe", b"3"])
def test_a_store_that_does_not_say_whose_it_is_is_listed_and_given_to_nobody(
    home: Path, project: Path, content: bytes | None
) -> None:
    good, lost = filled(owner(home, "good"), 0), filled(who(home, project), 0)
    file = Path(paths.owner_file(paths.store_dir(lost)))
    if content is None:
        file.unlink()
    else:
        file.write_bytes(content)
    listed = dict(identity.listing())
    assert set(listed) == {good, lost}
    assert listed[good] == owner(home, "good")
    assert listed[lost].inode == ""
    assert paths.store_dir(lost) == listed[lost].workspace
    project.rename(home / "moved")
    assert identity.find(who(home, home / "moved")) is None


def test_what_is_no_store_is_not_listed(home: Path) -> None:
    store_id = filled(owner(home), 0)
    os.makedirs(paths.store_dir("empty-directory"))
    (Path(paths.stores_dir()) / "file").write_text("x")
    assert [found for found, _ in identity.listing()] == [store_id]


def test_an_owner_with_any_characters_reads_back(home: Path) -> None:
    one = owner(home, 'näme "quoted" 東京 \\ \n', agent="Ä\"'\u2028")
    store_id = filled(one, 0)
    assert identity.listing() == [(store_id, one)]
    with opened(store_id) as store:
        assert store.identity == one
        assert store.verify().good


def test_select_gives_the_store_of_the_working_directory(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(owner(home, "a"), 0)
    store_id = filled(owner(home, "b"), 0)
    (home / "b/src").mkdir()
    monkeypatch.chdir(home / "b/src")
    assert identity.select(None, None) == store_id


def test_select_never_takes_an_unrelated_workspace(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store_id = filled(owner(home), 0)
    (home / "elsewhere").mkdir()
    monkeypatch.chdir(home / "elsewhere")
    with pytest.raises(SelectionError, match="no store fits"):
        identity.select(None, None)
    assert identity.select(None, None, None, store_id[:8]) == store_id


def test_select_takes_a_named_workspace_only(home: Path) -> None:
    store_id = filled(owner(home, "a"), 0)
    assert identity.select(None, str(home / "a")) == store_id
    owner(home, "b")
    with pytest.raises(SelectionError, match="no store fits"):
        identity.select(None, str(home / "b"))


def test_select_finds_a_workspace_that_was_renamed(home: Path) -> None:
    store_id = filled(owner(home, "a"), 0)
    filled(owner(home, "b"), 0)
    (home / "a").rename(home / "moved")
    assert identity.select(None, str(home / "moved")) == store_id


def test_select_tells_agents_and_hosts_apart(home: Path, project: Path) -> None:
    one = filled(who(home, project, agent="one"), 0)
    two = filled(who(home, project, agent="two"), 0)
    claw = filled(who(home, project, agent="two", host="openclaw"), 0)
    assert identity.select("one", None) == one
    assert identity.select("one", str(project)) == one
    assert identity.select("two", str(project), "openclaw") == claw
    assert identity.select("two", str(project), "claude-code") == two


def test_select_lists_the_candidates_when_several_fit(home: Path, project: Path) -> None:
    filled(who(home, project, agent="one"), 0)
    filled(who(home, project, agent="two"), 0)
    (home / "far/.git").mkdir(parents=True)
    filled(who(home, home / "far", agent="three"), 0)
    with pytest.raises(SelectionError) as caught:
        identity.select(None, str(project))
    message = str(caught.value)
    assert "several stores fit" in message
    assert str(project) in message and "agent one" in message and "agent two" in message
    assert message.count("--store ") == 2
    assert "three" not in message


def test_select_lists_all_stores_when_none_fits(home: Path) -> None:
    filled(owner(home, "a", agent="one"), 0)
    filled(owner(home, "b", agent="two"), 0)
    with pytest.raises(SelectionError) as caught:
        identity.select("nobody", None)
    message = str(caught.value)
    assert "no store fits" in message
    assert "agent one" in message and "agent two" in message


def test_select_says_how_to_begin_when_nothing_is_recorded() -> None:
    with pytest.raises(SelectionError, match="swapcache setup"):
        identity.select(None, None)
