"""A page: paths below a common directory are told once."""

from swapcache.wake import page


def test_the_directory_that_saves_most_is_named() -> None:
    paths = [f"/srv/work/app/src/{name}.py" for name in "abcd"] + ["/srv/work/other/x.py", "b.py"]
    assert page.common(paths) == "/srv/work/app/src"
    assert page.common(paths[:2]) == ""
    assert page.common(["src/a.py"] * 9) == ""


def test_paths_are_seen_from_there() -> None:
    root = "/srv/work/app"
    assert page.below(f"edit {root}/src/a.py {root}/b.py", root) == "edit src/a.py b.py"
    assert page.below(f"cd {root} && make; cd /srv/work && ls", root) == "make; ls"
    assert page.below(f"/backup{root}/a.py {root}", root) == f"/backup{root}/a.py {root}"
