"""Writing of promoted files: never outside of the target, never over what is there."""

from __future__ import annotations

import pytest

from folders import tree
from skillgym_action.authoring.promotion.files import PromotedFile
from skillgym_action.authoring.promotion.suite_files import PromotedFiles
from skillgym_action.model.errors import OutputError, UsageError
from skillgym_action.system.files.checkout import Checkout

FILE = PromotedFile(content=b"x\n")


def files(root, template=None, recorded=None, **more):
    values = {
        "file": root / "p" / "a.bench.json",
        "shown": "p/a.bench.json",
        "text": "{}\n",
        "recording": "s/c/r/repeat-1",
    }
    return PromotedFiles(
        template=template or {"t.txt": FILE}, recorded=recorded or {"report.json": FILE}, **values | more
    )


def test_all_is_written_beside_the_suite(tmp_path):
    made = {"run.sh": PromotedFile(content=b"x", mode=0o755), "d/link": PromotedFile(link="../run.sh")}
    files(tmp_path, template=made).write(Checkout(tmp_path), force=False)
    folder = tmp_path / "p"
    assert sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()) == [
        "a.bench.json",
        "a.bench.json.recordings/s/c/r/repeat-1/report.json",
        "a.bench.json.template/d/link",
        "a.bench.json.template/run.sh",
    ]
    assert (folder / "a.bench.json.template/d/link").read_text() == "x"
    assert (folder / "a.bench.json.template/run.sh").stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize("name", ["a.bench.json", "a.bench.json.template", "a.bench.json.recordings/s/c/r/repeat-1"])
def test_nothing_is_written_over_what_is_there(tmp_path, name):
    there = tmp_path / "p" / name
    there.parent.mkdir(parents=True)
    there.write_text("mine")
    with pytest.raises(UsageError, match=f"p/{name}: something is there already; choose --to or --id"):
        files(tmp_path).write(Checkout(tmp_path), force=False)
    assert there.read_text() == "mine"
    assert len([path for path in tmp_path.rglob("*") if path.is_file()]) == 1


def test_with_force_it_is_replaced_and_nothing_else(tmp_path):
    checkout = Checkout(tmp_path)
    files(tmp_path, template={"old.txt": FILE}).write(checkout, force=False)
    (tmp_path / "p/a.bench.json.recordings/other").mkdir()
    (tmp_path / "p/mine.txt").write_text("mine")
    files(tmp_path, template={"new.txt": FILE}).write(checkout, force=True)
    assert sorted(path.name for path in (tmp_path / "p/a.bench.json.template").iterdir()) == ["new.txt"]
    assert (tmp_path / "p/a.bench.json.recordings/other").is_dir()
    assert (tmp_path / "p/mine.txt").read_text() == "mine"


@pytest.mark.parametrize("path", ["../out.txt", "/out.txt", "a/../../../out.txt", ".git/hooks/pre-commit", "a/.GIT/x"])
@pytest.mark.parametrize("where", ["template", "recorded"])
def test_no_path_leads_out_of_its_folder(tmp_path, path, where):
    with pytest.raises(OutputError, match="leads out of"):
        files(tmp_path, **{where: {path: FILE}}).write(Checkout(tmp_path), force=False)
    assert not list(tmp_path.rglob("out.txt"))
    assert not list(tmp_path.rglob(".[gG]*"))


@pytest.mark.parametrize("link", ["p", "p/a.bench.json", "p/a.bench.json.recordings"])
def test_no_link_of_a_commit_is_followed(tmp_path, link):
    root, outside = tmp_path / "repo", tmp_path / "outside"
    outside.mkdir()
    (root / "p").mkdir(parents=True)
    if link == "p":
        (root / "p").rmdir()
    (root / link).symlink_to(outside)
    with pytest.raises((OutputError, UsageError)):
        files(root).write(Checkout(root), force=True)
    assert tree(outside) == {}


def test_what_is_there_is_kept_if_the_new_cannot_be_written(tmp_path):
    checkout = Checkout(tmp_path)
    files(tmp_path).write(checkout, force=False)
    before = tree(tmp_path)
    too_long = {"a.txt": FILE, "x" * 300: FILE}
    for broken in ({"recorded": too_long}, {"template": too_long}, {"template": {"d": FILE, "d/x": FILE}}):
        with pytest.raises(OutputError, match=r"cannot write p/a\.bench\.json"):
            files(tmp_path, text="new", **broken).write(checkout, force=True)
        assert tree(tmp_path) == before


def test_nothing_is_left_of_what_cannot_be_written(tmp_path):
    with pytest.raises(OutputError):
        files(tmp_path, recorded={"x" * 300: FILE}).write(Checkout(tmp_path), force=False)
    assert list((tmp_path / "p").iterdir()) == []
