"""Trees of files in memory."""

from __future__ import annotations

import pytest

from folders import opened
from skillgym_action.authoring.promotion.files import (
    MAX_PROMOTED_FILES,
    PromotedFile,
    file_tree,
    is_inside,
    same_content,
)
from skillgym_action.model.errors import UsageError
from skillgym_action.model.limits import MAX_PROMOTED_BYTES


def test_files_and_links_that_stay_inside_are_taken(tmp_path):
    (tmp_path / "run.sh").write_text("x")
    (tmp_path / "run.sh").chmod(0o775)
    (tmp_path / "d").mkdir()
    (tmp_path / "d/in").symlink_to("../run.sh")
    (tmp_path / "d/out").symlink_to("../../etc")
    (tmp_path / "absolute").symlink_to(tmp_path / "run.sh")
    with opened(tmp_path) as folder:
        tree, left_out = file_tree(folder, ["run.sh", "d/in", "d/out", "absolute", "gone"], "it")
    assert tree == {"run.sh": PromotedFile(content=b"x", mode=0o755), "d/in": PromotedFile(link="../run.sh")}
    assert left_out == ["d/out", "absolute", "gone"]


@pytest.mark.slow
def test_too_much_is_refused(tmp_path):
    (tmp_path / "large").write_bytes(b"x" * (MAX_PROMOTED_BYTES // 2 + 1))
    (tmp_path / "other").write_bytes(b"x" * (MAX_PROMOTED_BYTES // 2 + 1))
    names = [f"f{number}" for number in range(MAX_PROMOTED_FILES + 1)]
    for name in names:
        (tmp_path / name).touch()
    with opened(tmp_path) as folder:
        with pytest.raises(UsageError, match="it is larger than 20 MiB"):
            file_tree(folder, ["large", "other"], "it")
        with pytest.raises(UsageError, match="it has more than 2,000 files"):
            file_tree(folder, names, "it")


@pytest.mark.parametrize("path", ["..", "../a", "/a", "a/../../b", ".git/config", "a/.GIT", "a\0b"])
def test_paths_that_are_not_inside(path):
    assert not is_inside(path)


def test_permissions_do_not_matter_for_the_content():
    tree = {"a": PromotedFile(content=b"x")}
    assert same_content(tree, {"a": PromotedFile(content=b"x", mode=0o755)})
    assert not same_content(tree, {"a": PromotedFile(content=b"y")})
    assert not same_content(tree, {**tree, "b": PromotedFile(link="a")})
