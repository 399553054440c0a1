"""Paths that a commit can choose are walked by descriptors: what leads out, or is not a regular file, is refused."""

from __future__ import annotations

import os
import socket
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from scratch import written
from skillgym_action.model.errors import UsageError
from skillgym_action.system.files.checked_paths import MAX_LINKS_IN_PATH, PathRefusedError
from skillgym_action.system.files.checkout import Checkout, folder_to_write_in, working_directory

if TYPE_CHECKING:
    from collections.abc import Callable

CANARY = b"canary-of-the-folder-outside"
FOLLOW, NO_LINK = True, False


@pytest.fixture
def root(tmp_path) -> Path:
    """A checkout with a file three folders down; the canary is beside it."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "f.txt").write_bytes(CANARY)
    return written(tmp_path / "repo", {"a/b/c/f.txt": b"inside", "top.txt": b"top", ".git/config": b"token"})


def content(descriptor: int) -> bytes:
    with os.fdopen(descriptor, "rb") as file:
        return file.read()


def names(folder: int | Path | str) -> list[str]:
    return os.listdir(folder)  # noqa: PTH208 - of a descriptor, too


def read(root: Path, path: str | Path, *, follow: bool) -> bytes:
    return content(Checkout(root).open_file(path, follow=follow))


def refused(root: Path, path: str | Path, *, follow: bool) -> str:
    with pytest.raises(PathRefusedError) as caught:
        Checkout(root).open_file(path, follow=follow)
    return str(caught.value)


@pytest.mark.parametrize("follow", [FOLLOW, NO_LINK])
@pytest.mark.parametrize("path", ["a/b/c/f.txt", "./a//b/./c/f.txt", "a/b/../b/c/f.txt"])
def test_a_file_without_links_is_read(root, path, follow):
    assert read(root, path, follow=follow) == b"inside"
    assert read(root, root / path, follow=follow) == b"inside"


@pytest.mark.parametrize("place", ["a", "a/b", "a/b/c", "a/b/c/f.txt"])
@pytest.mark.parametrize("target", ["relative", "absolute", "inside"])
def test_a_link_in_any_component_is_seen(root, place, target):
    link = root / place
    there = root / "moved"
    link.rename(there)
    outside = root.parent / "outside"
    up = "../" * place.count("/")
    link.symlink_to({"relative": f"{up}../outside", "absolute": outside, "inside": f"{up}moved"}[target])
    assert refused(root, "a/b/c/f.txt", follow=NO_LINK) == f"{place} is a symbolic link"
    if target == "inside":
        assert read(root, "a/b/c/f.txt", follow=FOLLOW) == b"inside"
    else:
        assert "leads out of the checkout" in refused(root, "a/b/c/f.txt", follow=FOLLOW)


def test_dots_after_a_link_go_up_from_where_it_leads(root):
    """As the kernel has it, and not as text: ``link/..`` is ``a/b``, not the root."""
    (root / "link").symlink_to("a/b/c")
    (root / "a/b/top.txt").write_bytes(b"of b")
    assert read(root, "link/../top.txt", follow=FOLLOW) == b"of b"


@pytest.mark.parametrize("path", ["..", "../outside/f.txt", "a/../../outside/f.txt", "a/b/c/../../../../outside/f.txt"])
def test_dots_do_not_lead_out(root, path):
    for follow in (FOLLOW, NO_LINK):
        assert refused(root, path, follow=follow).endswith(".. leads out of the checkout")
        assert "leads out of the checkout" in refused(root, root / path, follow=follow)


@pytest.mark.parametrize(
    "target", ["/", "/proc/self/environ", "/dev/zero", "../outside/f.txt", "a/../../outside/f.txt"]
)
def test_a_link_that_leads_out_is_refused(root, target):
    (root / "link").symlink_to(target)
    assert "leads out of the checkout" in refused(root, "link", follow=FOLLOW)


def test_an_absolute_link_is_refused_even_where_it_leads_inside(root):
    """On another machine the same commit would lead elsewhere."""
    (root / "link").symlink_to(root / "top.txt")
    assert "leads out of the checkout" in refused(root, "link", follow=FOLLOW)


def test_twenty_links_are_followed_and_no_more(root):
    (root / "link0").symlink_to("top.txt")
    for number in range(1, MAX_LINKS_IN_PATH + 1):
        (root / f"link{number}").symlink_to(f"link{number - 1}")
    assert read(root, f"link{MAX_LINKS_IN_PATH - 1}", follow=FOLLOW) == b"top"
    assert "20 are followed" in refused(root, f"link{MAX_LINKS_IN_PATH}", follow=FOLLOW)


def test_a_loop_ends(root):
    (root / "loop").symlink_to("loop")
    (root / "a" / "up").symlink_to("up/up/../up")
    for path in ("loop", "loop/x", "a/up"):
        assert "one symbolic link too many" in refused(root, path, follow=FOLLOW)


@pytest.mark.parametrize("path", [".git/config", ".GIT/config", "a/../.git/config", "a/.Git/config"])
def test_git_is_not_entered(root, path):
    for follow in (FOLLOW, NO_LINK):
        assert "leads into .git" in refused(root, path, follow=follow)


@pytest.mark.parametrize("target", [".git/config", "a/../.GIT/config"])
def test_no_link_leads_into_git(root, target):
    (root / "link").symlink_to(target)
    assert "leads into .git" in refused(root, "link", follow=FOLLOW)


def fifo(place: Path) -> None:
    os.mkfifo(place)


def listening(place: Path) -> None:
    with socket.socket(socket.AF_UNIX) as one:
        before = Path.cwd()
        os.chdir(place.parent)  # the name of a socket is short
        try:
            one.bind(place.name)
        finally:
            os.chdir(before)


@pytest.mark.parametrize(
    ("make", "says"),
    [(Path.mkdir, "a folder"), (fifo, "a FIFO"), (listening, "a socket")],
    ids=["folder", "fifo", "socket"],
)
def test_what_is_no_regular_file_is_refused_at_once(root, make: Callable[[Path], None], says):
    make(root / "thing")
    (root / "link").symlink_to("thing")
    assert refused(root, "thing", follow=NO_LINK) == f"thing is {says}, not a regular file"
    assert refused(root, "link", follow=FOLLOW) == f"thing is {says}, not a regular file"


def test_a_device_is_not_opened():
    assert refused(Path("/dev"), "zero", follow=NO_LINK) == "zero is a device, not a regular file"


def test_the_checkout_itself_is_no_file(root):
    assert refused(root, ".", follow=NO_LINK) == ". is a folder, not a regular file"


@pytest.mark.parametrize("path", ["a\0b", "a\0/f.txt", "\udfff\ud800"])
def test_a_path_that_no_file_can_have_is_refused(root, path):
    assert "is not a valid path" in refused(root, path, follow=FOLLOW)


def test_a_path_outside_is_not_the_checkouts(root):
    assert "leads out of the checkout" in refused(root, root.parent / "outside" / "f.txt", follow=FOLLOW)


def test_what_is_not_there_is_no_refusal(root):
    checkout = Checkout(root)
    for path in ("nothing", "nothing/more", "top.txt/more", "a/nothing"):
        assert checkout.refusal(path) is None
        with pytest.raises((FileNotFoundError, NotADirectoryError)):
            checkout.open_file(path, follow=FOLLOW)


def test_a_path_that_cannot_be_looked_at_is_refused(root):
    """An error on the way is no permission."""
    assert Checkout(root).refusal("x" * 300) == "cannot be looked at: File name too long"


def test_a_checkout_is_known_by_other_names(root):
    """As ``/tmp`` and ``/private/tmp`` are the same."""
    other = root.parent / "other"
    other.symlink_to(root.parent)
    checkout = Checkout(root)
    assert checkout.contains(other / "repo" / "top.txt")
    assert not checkout.contains(other / "outside" / "f.txt")
    (root / "link").symlink_to("top.txt")
    assert checkout.refusal(other / "repo" / "link") == "link is a symbolic link"
    assert content(checkout.open_file(other / "repo" / "top.txt", follow=False)) == b"top"


def test_a_checkout_that_is_moved_stays_itself(root):
    checkout = Checkout(root)
    root.rename(root.with_name("moved"))
    root.symlink_to("outside")
    assert content(checkout.open_file("a/b/c/f.txt", follow=False)) == b"inside"


def test_paths_elsewhere_are_trusted_but_regular(root):
    checkout, outside = Checkout(root), root.parent / "outside"
    (outside / "link").symlink_to(outside / "f.txt")
    with open(outside / "link", "rb", opener=checkout.opener(outside / "link")) as file:
        assert file.read() == CANARY
    os.mkfifo(outside / "fifo")
    with pytest.raises(PathRefusedError, match="a FIFO"):
        checkout.opener(outside / "fifo")(outside / "fifo", os.O_RDONLY)


def test_a_suite_of_the_checkout_has_files_of_the_checkout_only(root):
    opener = Checkout(root).opener(root / "a" / "suite.json")
    with (
        pytest.raises(PathRefusedError, match="leads out of the checkout"),
        open(root.parent / "outside" / "f.txt", opener=opener),
    ):
        pass


# --- folders ----------------------------------------------------------------------------------------


def test_a_folder_is_listed_by_its_descriptor(root):
    checkout = Checkout(root)
    folder = checkout.open_folder("a/b")
    assert names(folder) == ["c"]
    os.close(folder)
    with pytest.raises(NotADirectoryError):
        checkout.open_folder("top.txt")


def test_folders_are_made_but_not_through_links(root):
    checkout, outside = Checkout(root), root.parent / "outside"
    os.close(checkout.make_folder("new/er/est"))
    assert (root / "new/er/est").is_dir()
    (root / "link").symlink_to(outside)
    for path in ("link", "link/new", "link/new/er", "a/../../new"):
        with pytest.raises(PathRefusedError):
            checkout.make_folder(path)
    assert names(outside) == ["f.txt"]


def test_a_file_is_written_beside_no_link(root):
    checkout = Checkout(root)
    (root / "report.xml").symlink_to("../outside/f.txt")
    with pytest.raises(PathRefusedError, match="is a symbolic link"), folder_to_write_in(root / "report.xml", checkout):
        pass
    with folder_to_write_in(root / "new" / "report.xml", checkout) as folder:
        assert names(folder) == []


def test_a_template_is_neither_the_checkout_nor_git_nor_outside(root):
    checkout = Checkout(root)
    assert checkout.template_refusal(root / "a") is None
    assert checkout.template_refusal(root / "nothing") is None
    assert checkout.template_refusal(root / "a" / "..") == "is the checkout itself, and its .git would be copied"
    assert checkout.template_refusal(root / ".git" / "hooks") == ".git leads into .git"
    assert "leads out" in str(checkout.template_refusal(root / ".." / "outside"))


def test_no_descriptor_is_left_open(root):
    checkout, before = Checkout(root), len(names("/dev/fd"))
    (root / "link").symlink_to("../outside/f.txt")
    for path in ("a/b/c/f.txt", "link", "a/b/nothing/x", "a/b/.git/x", "top.txt/x", "a\0"):
        with suppress(OSError):
            os.close(checkout.open_file(path, follow=True))
        checkout.refusal(path)
    assert len(names("/dev/fd")) == before


# --- while somebody else is at work -----------------------------------------------------------------


OFTEN = 500


@pytest.mark.parametrize("place", ["a", "a/b", "a/b/c", "a/b/c/f.txt"])
def test_what_is_swapped_during_the_walk_is_never_read(root, place):
    """A component is now what it was, now a link to the canary or its folder, until both were seen often enough."""
    checkout, mine, outside = Checkout(root), root / place, root.parent / "outside"
    written(outside, dict.fromkeys(("f.txt", "c/f.txt", "b/c/f.txt"), CANARY))
    target = {"a": outside, "a/b": outside, "a/b/c": outside, "a/b/c/f.txt": outside / "f.txt"}[place]
    aside, link = root / "aside", root / "link"
    link.symlink_to(target)
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            mine.rename(aside)
            link.rename(mine)
            mine.rename(link)
            aside.rename(mine)

    seen: dict[str, int] = {"inside": 0, "refused": 0}
    racing = threading.Thread(target=swap)
    racing.start()
    try:
        for _ in range(200_000):
            if min(seen.values()) > OFTEN:
                break
            for follow in (True, False):
                try:
                    assert content(checkout.open_file("a/b/c/f.txt", follow=follow)) == b"inside"
                    seen["inside"] += 1
                except OSError:
                    seen["refused"] += 1
    finally:
        stop.set()
        racing.join()
    assert min(seen.values()) > OFTEN


# --- the action's working directory -----------------------------------------------------------------


@pytest.fixture
def workspace(root, monkeypatch) -> Path:
    monkeypatch.chdir(root)
    return root


def test_a_working_directory_is_taken_without_links(workspace):
    assert working_directory(Path("a/b")) == workspace / "a/b"
    assert working_directory(Path()) == workspace
    assert working_directory(workspace / "a/b") == workspace / "a/b"
    assert working_directory(workspace.parent / "outside") == workspace.parent / "outside"


@pytest.mark.parametrize(
    ("named", "words"),
    [
        pytest.param("packges", "there is no folder packges; did you mean 'packages'?", id="a typing error"),
        pytest.param(
            "packages/weeb/x", "there is no folder packages/weeb/x; did you mean 'packages/api'?", id="further down"
        ),
        pytest.param("zzz", "there is no folder zzz; known: a, packages", id="like no other"),
        pytest.param(
            "packages/api/x", "there is no folder packages/api/x; check the repository out", id="below nothing"
        ),
        pytest.param("README.md", "README.md is not a folder; name the folder that it is in", id="a file"),
        pytest.param("/home/runner/x", "name it relative to the workspace: other folders", id="of the machine"),
    ],
)
def test_a_working_directory_that_is_not_there_is_an_error_and_is_not_made(workspace, named, words):
    (workspace / "packages/api").mkdir(parents=True)
    (workspace / "README.md").write_text("")
    (workspace / ".hidden").mkdir()
    before = sorted(workspace.rglob("*"))
    with pytest.raises(UsageError) as raised:
        working_directory(Path(named))
    assert words in str(raised.value)
    assert sorted(workspace.rglob("*")) == before


@pytest.mark.parametrize("named", ["link", "link/x", "a/../..", ".git", "inner/link"])
def test_a_working_directory_that_a_commit_chooses_is_refused(workspace, named):
    (workspace / "link").symlink_to("../outside")
    (workspace / "inner").mkdir()
    (workspace / "inner" / "link").symlink_to("..")
    with pytest.raises(UsageError, match=r"^input working-directory: "):
        working_directory(Path(named))
