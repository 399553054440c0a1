# ruff: noqa: PTH101, PTH104, PTH108, PTH115, PTH116, PTH208, PTH211

from __future__ import annotations

import os
import resource
import subprocess
import sys
import threading
from contextlib import contextmanager, suppress

import pytest

from folders import NAMES, as_plain_user, digging, opened, special, tree
from scratch import git_in, repository, written
from skillgym_action.system.files.bundle import BundleError
from skillgym_action.system.files.packing import copy_into, folder_entries, unpack

CANARY = "canary-1234567890"
OUTSIDE = ["canary", "folder", "folder/canary", "info", "info/exclude"]
SKILLS = (".claude/skills", ".agents/skills")


@pytest.fixture
def root(tmp_path):
    """A folder beside one that nothing may lead to."""
    written(tmp_path / "outside", {"canary": CANARY, "folder/canary": CANARY, "info/exclude": CANARY})
    (tmp_path / "root").mkdir()
    return tmp_path / "root"


def untouched(root) -> bool:
    return tree(root.parent / "outside") == {
        name: (
            mode,
            (CANARY.encode(), os.lstat(root.parent / "outside" / name).st_mtime_ns) if mode[0] == "-" else None,
        )
        for name, (mode, _) in tree(root.parent / "outside").items()
    } and sorted(tree(root.parent / "outside")) == ["canary", "folder", "folder/canary", "info", "info/exclude"]


# --- looked at --------------------------------------------------------------------------------------


def test_a_snapshot_has_all_but_histories_and_what_is_left_out(root):
    written(root, {"a/b": "1", ".git/HEAD": "x", "a/.git/x": "", "c/d/e": "", ".gitignore": "", "s/.git": "a file"})
    special(root)
    with opened(root) as folder:
        found = folder.snapshot(without={"c/d", "fifo", "socket", "null"})
        assert set(found) == {"a", "a/b", "c", ".gitignore", "s", "s/.git"}
        assert found["a"] == ("directory",)
        assert folder.snapshot()["fifo"][0] == "other"
        now = os.lstat(root / "a/b")
        assert found["a/b"] == folder.entry("a/b") == ("file", 1, now.st_mtime_ns, now.st_ctime_ns, now.st_ino)
        assert set(folder.snapshot("c")) == {"d", "d/e"}
        assert folder.snapshot("gone") == {}


@pytest.mark.parametrize("name", NAMES)
def test_names_of_any_bytes_are_seen_written_and_removed(root, name):
    with opened(root) as folder:
        folder.write(f"in/{name}", b"one")
        folder.write(name, b"two")
        folder.write(name, b"three")
        assert {name, f"in/{name}"} <= set(folder.snapshot())
        assert (folder.kind(name), folder.text(name, 9), folder.read(f"in/{name}", 3)) == ("file", "three", b"one")
        assert folder.target(f"in/../{name}") == name
        folder.remove([name])
        assert folder.entry(name) is None
        assert folder.empty()
    assert os.listdir(root) == []


def test_special_files_are_known_and_never_waited_for(root):
    special(root)
    with opened(root) as folder:
        for name in os.listdir(root):
            assert folder.kind(name) == "other"
            assert (folder.text(name, 9), folder.read(name, 9), folder.digest(name)) == (None, None, None)
            assert folder.mode(name) == os.lstat(root / name).st_mode
        assert folder.glob("*") == folder.files(["*"]) == ()
        assert folder.empty()


def test_the_way_back_from_a_folder_that_was_moved_is_not_the_one_above_it_now(root):
    """Whichever of the two is walked first: beside its new place there is one called as the other."""
    for name in "xy":
        (root / "a" / name).mkdir(parents=True)
        subprocess.run([sys.executable, "-c", digging(100)], cwd=root / "a" / name, check=True)
        written(root.parent, {f"{name}/canary": CANARY})
    with opened(root) as folder:
        walk = folder_entries(folder)
        first = next(one.path for one in walk if one.path.count("/") > 60).split("/")[1]
        os.rename(root / "a" / first, root.parent / "moved")
        rest = [one.path for one in walk]
    assert not any("canary" in path for path in rest)
    assert any(path.endswith("/deepest") and not path.startswith(f"a/{first}/") for path in rest)


LINKS = {
    "to a file": ("a/file", "file", "a/file"),
    "to a folder": ("a", "directory", "a"),
    "to its folder": (".", "directory", "."),
    "up and down": ("a/../a/file", "file", "a/file"),
    "by way of a link": ("to-a/file", "file", "a/file"),
    "by way of a link, and up": ("to-a/../file.txt", "file", "file.txt"),
    "a chain": ("chain-1", "file", "a/file"),
    "absolute": ("{root}/a/file", "file", "a/file"),
    "to the folder itself, absolute": ("{root}", "directory", "."),
    "to a FIFO": ("fifo", "other", "fifo"),
    "to nothing": ("nowhere", "symlink", None),
    "to nothing in a folder": ("a/nowhere", "symlink", None),
    "to nothing, absolute": ("{root}/nowhere", "symlink", None),
    "below a file": ("a/file/x", None, None),
    "a file with a slash": ("a/file/", None, None),
    "to itself": ("link", None, None),
    "a loop": ("loop", None, None),
    "40 links": ("forty-1", "file", "a/file"),
    "41 links": ("forty-0", None, None),
    "out": ("../outside/canary", "outside", None),
    "out and in": ("../root/a", "outside", None),
    "out, absolute": ("{root}/../outside/canary", "outside", None),
    "to the root": ("/", "outside", None),
    "to a process": ("/proc/self/environ", "outside", None),
    "out by way of a link": ("out/canary", "outside", None),
    "out to nothing": ("../nowhere", "outside", None),
    "a namesake of the folder": ("{root}-other/x", "outside", None),
}


@pytest.mark.parametrize("case", LINKS)
def test_links_are_followed_inside_alone(root, case):
    target, kind, place = LINKS[case]
    written(root, {"a/file": "content", "file.txt": "content"})
    os.mkfifo(root / "fifo")
    made = {"to-a": "a", "chain-1": "chain-2", "chain-2": "a/file", "loop": "loop-2", "loop-2": "loop"}
    made |= {f"forty-{number}": f"forty-{number + 1}" for number in range(39)} | {"forty-39": "a/file"}
    for name, led in (made | {"out": "../outside", "link": target.format(root=root)}).items():
        (root / name).symlink_to(led)
    with opened(root) as folder:
        assert (folder.kind("link"), folder.target("link")) == (kind, place)
        assert folder.text("link", 99) == ("content" if kind == "file" else None)
        assert folder.glob("link") == (("link",) if kind == "file" else ())
        assert (folder.read("link", 99), folder.entry("link")[0]) == (None, "symlink")
        assert folder.digest("link") == f"-> {os.readlink(root / 'link')}"
        assert folder.files(["link"]) == ()
        if kind == "directory":
            assert folder.kind("link/a/file" if place == "." else "link/file") == "file"


@pytest.mark.parametrize("path", ["../outside/canary", "..", "/etc/passwd", "a/../../outside/canary", "{root}/../x"])
def test_paths_out_of_the_folder_are_outside(root, path):
    (root / "a").mkdir()
    with opened(root) as folder:
        path = path.format(root=root)
        assert (folder.kind(path), folder.text(path, 99), folder.target(path)) == ("outside", None, None)
        assert folder.snapshot_path(path) is None
        assert (folder.entry(path), folder.digest(path), folder.read(path, 99)) == (None, None, None)
        for change in (
            lambda: folder.write(path, b"x"),
            lambda: folder.make_folder(path),
            lambda: folder.remove([path]),
        ):
            with pytest.raises(OSError, match="no path below the folder"):
                change()
    assert untouched(root)


@pytest.mark.parametrize("path", ["a\0b", "\ud800", "x/" * 3000, "n" * 256, "gone", "gone/x", "file/x"])
def test_paths_of_nothing_are_nothing(root, path):
    written(root, {"file": ""})
    with opened(root) as folder:
        seen = (folder.kind(path), folder.text(path, 9), folder.target(path), folder.entry(path), folder.digest(path))
        assert seen == (None,) * 5
        assert folder.glob(path) == ()


def test_too_much_text_is_none_and_lines_end_as_they_do_here(root):
    written(root, {"four": "1\r\n2", "no text": b"caf\xe9"})
    with opened(root) as folder:
        assert (folder.text("four", 4), folder.text("four", 3)) == ("1\n2", None)
        assert folder.text("no text", 9) == "caf\ufffd"
        os.truncate(root / "four", 2**40)
        assert folder.text("four", 1000) is folder.read("four", 1000) is None


def test_files_are_found_in_the_order_of_patterns_and_parts(root):
    written(root, {"b/2.txt": "", "b/1.txt": "", "b.c/3.txt": "", "b/in/.x.txt": "", "a.log": ""})
    (root / "b/link.txt").symlink_to("1.txt")
    (root / "c").symlink_to("b")
    with opened(root) as folder:
        expected = ("a.log", "b/1.txt", "b/2.txt", "b.c/3.txt")
        assert folder.files(["*.log", "gone/*", "*/*.txt"]) == expected
        assert folder.files(["b/**/*.txt"]) == ("b/1.txt", "b/2.txt", "b/in/.x.txt")
        assert folder.files(["c/*", "", "..", "../outside/*", "/etc/*", "x" * 2000]) == ()


# --- changed ----------------------------------------------------------------------------------------


def test_a_file_is_written_with_its_mode_in_place_of_whatever_file_is_there(root):
    written(root, {"file": "old"})
    (root / "file").chmod(0o444)
    (root / "link").symlink_to("../outside/canary")
    (root / "lost").symlink_to("nowhere")
    os.mkfifo(root / "fifo")
    with opened(root) as folder:
        for name in ("file", "link", "lost", "fifo", "new/in/here"):
            folder.write(name, b"new", 0o640)
            assert (folder.read(name, 9), folder.mode(name) & 0o7777) == (b"new", 0o640)
    assert sorted(tree(root)) == ["fifo", "file", "link", "lost", "new", "new/in", "new/in/here"]
    assert untouched(root)


@pytest.mark.parametrize("target", ["../outside", "inside", "nowhere", ".", "/"])
def test_nothing_is_written_or_removed_by_way_of_a_link(root, target):
    written(root, {"inside/canary": "x"})
    (root / "link").symlink_to(target)
    (root / "inside/link").symlink_to("../../outside")
    before = tree(root)
    with opened(root) as folder:
        for change in (folder.write, lambda path, _: folder.make_folder(path), lambda path, _: folder.remove([path])):
            with pytest.raises(NotADirectoryError) as error:
                change("link/canary/x", b"x")
            assert error.value.filename.startswith("link")
            with pytest.raises(NotADirectoryError):
                change("inside/link/folder/new", b"x")
        assert folder.read("link/canary", 9) is folder.entry("link/canary") is folder.readlink("link/x") is None
    assert tree(root) == before
    assert untouched(root)


def test_a_folder_in_the_way_of_a_file_is_an_error_and_nothing_is_left_beside(root):
    (root / "folder").mkdir()
    written(root, {"file": ""})
    with opened(root) as folder:
        for path in ("folder", "file/x"):
            with pytest.raises(OSError, match="directory") as error:
                folder.write(path, b"x")
            assert error.value.filename == path.partition("/")[0]
        with pytest.raises(OSError, match="not the name of a file"):
            folder.write(".", b"x")
    assert sorted(os.listdir(root)) == ["file", "folder"]


def test_trees_are_removed_and_links_to_them_are_not_followed(root):
    written(root, {"a/b/c": "", "a/d": "", "keep": "x"})
    (root / "a/out").symlink_to("../../outside")
    (root / "out").symlink_to("../outside")
    with opened(root) as folder:
        folder.remove(["a", "out", "gone", "gone/too"])
    assert os.listdir(root) == ["keep"]
    assert untouched(root)


@pytest.mark.parametrize("missing", SKILLS)
def test_skills_are_linked_and_hidden_from_git(tmp_path, missing):
    there = SKILLS[1 - SKILLS.index(missing)]
    root = repository(tmp_path / "r", {f"{there}/greeter/SKILL.md": "# Greeter"}, git=True)
    with opened(root) as folder:
        assert folder.link_skills() == (missing.split("/")[0],)
        assert folder.text(f"{missing}/greeter/SKILL.md", 99) == "# Greeter"
        assert folder.link_skills() == ()
    assert git_in(root, "status", "--porcelain") == ""


@pytest.mark.parametrize("way", [".agents", ".agents/skills", ".agents/"])
def test_skills_are_not_linked_where_something_is_in_the_way(root, way):
    written(root, {".claude/skills/a/SKILL.md": ""})
    if way == ".agents":
        (root / ".agents").symlink_to("../outside")
    elif way == ".agents/":
        (root / ".agents").write_text("a file")
    else:
        (root / ".agents").mkdir()
        (root / way).symlink_to("nowhere")
    with opened(root) as folder:
        assert folder.link_skills() == ()
    assert untouched(root)


@pytest.mark.parametrize("link", [".git", ".git/info", ".git/info/exclude", "fifo", "hard link"])
def test_a_history_with_links_in_it_is_left_alone(root, link):
    written(root, {".claude/skills/a/SKILL.md": ""})
    for above in (".git", ".git/info"):
        if link == above:
            (root / link).symlink_to(
                os.path.relpath(root.parent / "outside" / ("info" if "/" in link else ""), (root / link).parent)
            )
            break
        (root / above).mkdir()
    else:
        exclude = root / ".git/info/exclude"
        if link == "fifo":
            os.mkfifo(exclude)
        elif link == "hard link":
            os.link(root.parent / "outside/info/exclude", exclude)
        else:
            exclude.symlink_to("../../../outside/info/exclude")
    with opened(root) as folder:
        assert folder.link_skills() == (".agents",)
        assert folder.kind(".agents/skills/a/SKILL.md") == "file"
    assert untouched(root)


# --- emptied ----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_folders_deeper_than_any_path_are_emptied(root):
    for name in ("d", "n" * 255):
        subprocess.run([sys.executable, "-c", digging(3000, name)], cwd=root, check=True)
    before = open_descriptors()
    with opened(root) as folder:
        seen = folder.snapshot()
        assert max(map(len, seen)) < 5000
        assert folder.text("d/" * 900 + "d", 9) is None
        assert folder.kind("d/" * 900) == "directory"
        assert folder.empty()
        assert open_descriptors() == before + 1
    assert os.listdir(root) == []


def test_few_descriptors_are_enough_for_any_depth(root):
    subprocess.run([sys.executable, "-c", digging(1500)], cwd=root, check=True)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with opened(root) as folder:
        resource.setrlimit(resource.RLIMIT_NOFILE, (open_descriptors() + 50, hard))
        try:
            assert len(folder.snapshot()) == 1501
            assert folder.kind("d/" * 1500 + "deepest") == "file"
            assert folder.kind("d/" * 1200 + "../" * 500 + "d") == "directory"
            assert sum(1 for _ in folder_entries(folder)) == 1501
            assert folder.empty()
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def open_descriptors() -> int:
    return len(os.listdir("/dev/fd"))


def test_closed_folders_are_emptied_by_their_owner(root):
    written(root, {"closed/in/file": "x", "ro/file": "x", "half/file": "x", "wx/file": "x"})
    (root / "out").symlink_to("../outside")
    (root / "closed/in").chmod(0)
    for name, mode in (("closed", 0), ("ro", 0o555), ("half", 0o444), ("wx", 0o333)):
        (root / name).chmod(mode)
    root.parent.joinpath("outside").chmod(0o500)

    def check():
        with opened(root) as folder:
            assert {"closed", "ro", "half", "wx", "ro/file"} <= set(folder.snapshot())
            assert folder.kind("closed/in") is folder.text("closed/in/file", 9) is None
            os.chmod(root, 0)
            folder.open_up()
            folder.open_up("closed")
            assert folder.kind("closed/in") == "directory"
            folder.remove(["ro/file", "half"])
            os.chmod(root, 0)
            assert folder.empty()
            assert os.listdir(root) == []
        assert os.stat(root.parent / "outside").st_mode & 0o777 == 0o500

    for above in root.parents:
        if os.stat(above).st_uid == os.geteuid() and not os.stat(above).st_mode & 0o001:
            above.chmod(0o711)
    as_plain_user(root.parent, check)


def test_what_cannot_be_removed_is_said(root):
    written(root, {"theirs/file": "x"})

    def check():
        with opened(root) as folder:
            assert not folder.empty()

    if os.geteuid() == 0:
        for above in root.parents:
            if os.stat(above).st_uid == 0 and not os.stat(above).st_mode & 0o001:
                above.chmod(0o711)
        (root / "theirs").chmod(0o755)
        child = os.fork()
        if child == 0:
            os.chown(root, 65534, 65534)
            os.setuid(65534)
            with suppress(BaseException):
                check()
                os._exit(0)
            os._exit(1)
        assert os.waitpid(child, 0)[1] == 0
        assert (root / "theirs/file").read_text() == "x"
    with opened(root) as folder:
        assert folder.empty()


# --- while somebody changes it ----------------------------------------------------------------------


SWAPPED = {"a": "../outside", "b/folder": "../../outside", "b/canary": "../../outside/canary"}


@contextmanager
def swapping(root):
    """Meanwhile folders and a file are links outside, half of the time; a list that grows with each round of that."""
    ended, rounds = threading.Event(), []

    def swap():
        while not ended.is_set():
            rounds.append(None)
            for name, target in (
                ("a", "../outside"),
                ("b/folder", "../../outside"),
                ("b/canary", "../../outside/canary"),
            ):
                with suppress(OSError):
                    os.symlink(target, root / "link")
                    os.rename(root / name, root / "aside")
                    os.rename(root / "link", root / name)
                    os.sched_yield()  # so that it is seen, also where one of the two threads runs at a time
                    os.unlink(root / name)
                    os.rename(root / "aside", root / name)
                with suppress(OSError):
                    os.unlink(root / "link")

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        yield rounds
    finally:
        ended.set()
        thread.join()


ROUNDS = 1_000


OPERATIONS = {
    "text": lambda folder: [folder.text(path, 99) for path in ("a/canary", "b/folder/canary", "b/canary")],
    "read": lambda folder: [folder.read(path, 99) for path in ("a/canary", "b/folder/canary", "b/canary")],
    "digest": lambda folder: [folder.digest(path) for path in ("a/canary", "b/folder/canary", "b/canary")],
    "snapshot": lambda folder: list(folder.snapshot()),
    "glob": lambda folder: folder.glob("**"),
    "entries": lambda folder: [b"".join(one.chunks()) for one in folder_entries(folder, open_up=True)],
    "write": lambda folder: [folder.write(path, b"x") for path in ("a/new", "b/folder/canary", "b/canary")],
    "remove": lambda folder: [folder.remove([path]) for path in ("a/canary", "b/folder", "b/canary")],
    "empty": lambda folder: folder.empty(),
}


@pytest.mark.slow
@pytest.mark.parametrize("operation", OPERATIONS)
def test_nothing_outside_is_read_or_changed_while_folders_become_links(root, operation):
    secret = {CANARY, CANARY.encode(), "info/exclude", *(f"{at}/info" for at in ("a", "b/folder"))}
    with opened(root.parent / "outside") as outside:
        secret.add(outside.digest("canary"))
    with opened(root) as folder, swapping(root) as rounds:
        while len(rounds) < ROUNDS:
            with suppress(OSError):
                for path in ("a", "b/folder"):
                    folder.make_folder(path)
                    folder.write(f"{path}/canary", b"mine")
                folder.write("b/canary", b"mine")
            with suppress(OSError, BundleError):
                seen = OPERATIONS[operation](folder)
                assert not isinstance(seen, list) or not secret & set(seen)
    assert untouched(root)


@pytest.mark.slow
def test_nothing_outside_is_filled_while_folders_become_links(root):
    source = written(root.parent / "source", {"a/x": "x", "b/folder/y": "y", "b/canary": "z"})
    with opened(root) as folder, opened(source) as full, swapping(root) as rounds:
        while len(rounds) < ROUNDS:
            for fill in (lambda: copy_into(full, folder), lambda: unpack(folder, folder_entries(full))):
                with suppress(OSError):
                    fill()
                folder.empty()
    assert untouched(root)


def test_a_folder_that_is_moved_while_it_is_walked_leads_nowhere_else(root):
    subprocess.run([sys.executable, "-c", digging(100)], cwd=root, check=True)
    with opened(root) as folder:
        walk = folder_entries(folder)
        for _ in range(90):
            next(walk)
        os.rename(root / "d/d/d", root.parent / "moved")
        rest = [one.path for one in walk]
        assert len(rest) == 11
        assert all(path.startswith("d/d/d") for path in rest)
