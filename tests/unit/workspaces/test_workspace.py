"""The workspace door: what a session finds, what became of it, what is kept."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from folders import tree
from scratch import committed, git_in, repository, world_in, written
from skillgym_action.model.suite import WorkspaceSpec
from skillgym_action.workspaces.archive import SavedChanges, save_changes, save_workspace
from skillgym_action.workspaces.workspace import Changes

BYTES = os.fsdecode(b"caf\xe9.txt")  # Latin-1: not UTF-8
NEWLINE = "two\nlines.txt"


@pytest.fixture
def services(tmp_path):
    with world_in(repository(tmp_path / "repo")) as services:
        yield services


@pytest.fixture
def workspaces(services):
    return services.workspaces


def started(workspaces, template: Path | None = None, **spec):
    """A workspace as the agent finds it."""
    source = "empty" if template is None else "template"
    workspace = workspaces.create(WorkspaceSpec(**{"source": source, "template": template} | spec))
    workspace.record_state()
    return workspace


def names(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


# --- what is copied ---------------------------------------------------------------------------------


def test_a_template_is_copied_with_dotfiles_and_git_and_executables(workspaces, tmp_path):
    template = written(tmp_path / "t", {".env": "A=1", ".git/HEAD": "x", "bin/run": "#!/bin/sh\n", "é/ü.txt": "ö"})
    (template / "bin/run").chmod(0o755)
    (template / "empty").mkdir()
    workspace = started(workspaces, template)
    assert names(workspace.path) == names(template)
    assert os.access(workspace.path / "bin/run", os.X_OK)
    assert (workspace.path / "é/ü.txt").read_text() == "ö"


def test_symlinks_are_copied_as_symlinks_wherever_they_lead(workspaces, tmp_path):
    template = written(tmp_path / "t", {"a.txt": "a"})
    (template / "in").symlink_to("a.txt")
    (template / "out").symlink_to("/etc")
    (template / "dangling").symlink_to("nowhere")
    workspace = started(workspaces, template)
    links = [str((workspace.path / name).readlink()) for name in ("in", "out", "dangling")]
    assert links == ["a.txt", "/etc", "nowhere"]


def test_what_is_no_file_is_left_out(workspaces, tmp_path):
    template = written(tmp_path / "t", {"a.txt": "a"})
    os.mkfifo(template / "fifo")
    with socket.socket(socket.AF_UNIX) as unix:
        unix.bind(os.path.relpath(template / "socket"))
        assert names(started(workspaces, template).path) == ["a.txt"]


def test_names_of_any_bytes_are_copied(workspaces, tmp_path):
    template = written(tmp_path / "t", {BYTES: "b", NEWLINE: "n"})
    assert names(started(workspaces, template).path) == sorted([BYTES, NEWLINE])


def test_a_missing_template_raises_an_error_of_the_system(workspaces, tmp_path):
    with pytest.raises(OSError, match="nowhere"):
        started(workspaces, tmp_path / "nowhere")


def test_an_agent_s_place_says_nothing_of_its_case(workspaces):
    workspace = started(workspaces)
    assert re.fullmatch("[0-9a-f]{16}", workspace.path.parent.name)
    assert workspace.path.name == "workspace"
    assert workspace.path.parent.parent == workspaces.root


def test_every_session_has_a_directory_of_its_own(workspaces, tmp_path):
    template = written(tmp_path / "t", {"a.txt": "a"})
    first, second = started(workspaces, template), started(workspaces, template)
    (first.path / "a.txt").write_text("changed")
    assert (second.path / "a.txt").read_text() == "a"
    assert first.home != second.home


# --- a copy of the repository -----------------------------------------------------------------------


def copied(services, *hidden: str) -> Path:
    services.workspaces.hide(hidden)
    return started(services.workspaces, None, source="repository").path


def files_of(folder: Path) -> list[str]:
    return [name for name in names(folder) if (folder / name).is_file() and not name.startswith(".git/")]


def test_the_repository_s_copy_has_what_git_does_not_ignore(tmp_path):
    root = repository(
        tmp_path,
        {"a.txt": "a", ".gitignore": "secret.env\nbuild/\n", "gone.txt": "x"},
        git=True,
    )
    written(
        root,
        {"new.txt": "n", "node_modules/m.js": "m", "secret.env": "s", "build/out.o": "o", BYTES: "b", NEWLINE: "n"},
    )
    (root / "gone.txt").unlink()
    (root / "a.txt").write_text("changed")
    with world_in(root, output="out/run") as services:
        path = copied(services, "bench/core.json")
        assert files_of(path) == sorted([".gitignore", "a.txt", "new.txt", "skillgym.config.yaml", BYTES, NEWLINE])
        assert (path / "a.txt").read_text() == "changed"


def test_the_copy_has_what_git_tracks_whatever_its_folder_is_called(tmp_path):
    tracked = {
        "test/fixtures/node_modules/dep/index.js": "1",
        "venv/bin/activate": "2",
        "docs/.venv/a.txt": "3",
        "a/.tox/b/.nox/c.txt": "4",
        "__pycache__/d.pyc": "5",
    }
    root = repository(tmp_path, tracked, git=True)
    written(root, {"node_modules/new.js": "n", "venv/new.txt": "n", "test/fixtures/node_modules/dep/new.js": "n"})
    with world_in(root, output="out/run") as services:
        path = copied(services, "bench/core.json")
        assert {name: (path / name).read_text() for name in files_of(path) if name != "skillgym.config.yaml"} == tracked
        assert git_in(path, "status", "--porcelain") == ""


def test_a_copy_of_a_folder_has_all_of_it(tmp_path):
    root = repository(tmp_path, {"work/node_modules/a.js": "a", "work/venv/b": "b"}, git=True)
    written(root, {"work/node_modules/new.js": "n"})
    with world_in(root) as services:
        path = started(services.workspaces, None, source="directory", cwd=root / "work").path
        assert files_of(path) == ["node_modules/a.js", "node_modules/new.js", "venv/b"]


def test_results_that_are_tracked_are_not_in_the_copy(tmp_path):
    root = repository(tmp_path, {".skillgym-results/run/results.json": "42", "a.txt": "a"}, git=True)
    with world_in(root, output="out/run") as services:
        assert files_of(copied(services, "bench/core.json")) == ["a.txt", "skillgym.config.yaml"]


def test_the_copy_knows_neither_credentials_nor_history(tmp_path):
    root = repository(tmp_path, {"answer.txt": "42"}, git=True)
    (root / "answer.txt").unlink()
    committed(root)
    git_in(root, "config", "http.https://github.com/.extraheader", "AUTHORIZATION: basic c2VjcmV0")
    with world_in(root) as services:
        path = copied(services)
        assert "c2VjcmV0" not in (path / ".git/config").read_text()
        assert git_in(path, "status", "--porcelain") == ""
        assert git_in(path, "log", "--format=%s %an") == "workspace skillgym-action\n"
        assert "answer.txt" not in git_in(path, "log", "--name-only")


def test_earlier_runs_are_not_in_the_copy(tmp_path):
    root = repository(tmp_path, git=True)
    with world_in(root, output="out/first"):
        written(root, {"out/first/workspaces/answer.txt": "42"})
    with world_in(root, output="out/second") as services:
        assert files_of(copied(services)) == ["bench/core.json", "skillgym.config.yaml"]


def test_a_folder_that_is_no_repository_is_copied_too(tmp_path):
    root = repository(tmp_path, {"a.txt": "a", ".venv/x": "x"})
    (root / "link").symlink_to("a.txt")
    with world_in(root, output="out/first"):
        pass
    with world_in(root, output="out/second") as services:
        path = copied(services, "bench/core.json")
        assert names(path) == ["a.txt", "link", "skillgym.config.yaml"]
        assert (path / "link").readlink() == Path("a.txt")


def test_a_hidden_folder_hides_what_is_below_and_no_namesake(tmp_path):
    root = repository(tmp_path, {"bench/deep/a.txt": "a", "bench.txt": "b"})
    with world_in(root) as services:
        assert files_of(copied(services, "bench")) == ["bench.txt", "skillgym.config.yaml"]


def test_a_repository_in_the_repository_comes_without_its_own_git(tmp_path):
    root = repository(tmp_path, git=True)
    inner = written(root / "vendor/lib", {"lib.txt": "l"})
    git_in(inner, "init", "--quiet")
    committed(inner)
    with world_in(root) as services:
        assert [name for name in names(copied(services)) if name.startswith("vendor")] == [
            "vendor",
            "vendor/lib",
            "vendor/lib/lib.txt",
        ]


@pytest.mark.slow
def test_many_sessions_may_ask_for_the_first_copy_at_once(tmp_path):
    root = repository(tmp_path, {f"{number}.txt": "x" for number in range(200)}, git=True)
    with world_in(root) as services:
        paths: list[Path] = []
        threads = [threading.Thread(target=lambda: paths.append(copied(services))) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [len(files_of(path)) for path in paths] == [202] * 8


# --- what the agent changed -------------------------------------------------------------------------


def edited_behind_the_clock(path: Path) -> None:
    """Other content, same size, same modification time."""
    before = path.stat()
    path.write_text("B")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def remade(path: Path) -> None:
    path.unlink()
    path.write_text("A")


CHANGES = [
    pytest.param(lambda _: None, Changes(), id="nothing"),
    pytest.param(lambda root: (root / "a.txt").write_text("B"), Changes(modified=("a.txt",)), id="edited"),
    pytest.param(
        lambda root: edited_behind_the_clock(root / "a.txt"),
        Changes(modified=("a.txt",)),
        id="edited with the modification time set back",
    ),
    pytest.param(lambda root: (root / "a.txt").touch(), Changes(), id="only touched"),
    pytest.param(lambda root: (root / "a.txt").chmod(0o600), Changes(), id="only another mode"),
    pytest.param(lambda root: (root / "a.txt").write_text("A"), Changes(), id="written anew with the same content"),
    pytest.param(lambda root: remade(root / "a.txt"), Changes(), id="removed and made again"),
    pytest.param(lambda root: (root / "new.txt").touch(), Changes(created=("new.txt",)), id="created, though empty"),
    pytest.param(lambda root: (root / "d/b.txt").unlink(), Changes(deleted=("d/b.txt",)), id="deleted"),
    pytest.param(
        lambda root: (root / "a.txt").rename(root / "z.txt"),
        Changes(created=("z.txt",), deleted=("a.txt",)),
        id="renamed",
    ),
    pytest.param(
        lambda root: ((root / "a.txt").unlink(), (root / "a.txt").symlink_to("d/b.txt")),
        Changes(modified=("a.txt",)),
        id="replaced by a symlink",
    ),
    pytest.param(
        lambda root: ((root / "link").unlink(), (root / "link").symlink_to("d")),
        Changes(modified=("link",)),
        id="a symlink that leads elsewhere",
    ),
    pytest.param(
        lambda root: written(root, {BYTES: "", NEWLINE: ""}),
        Changes(created=tuple(sorted([BYTES, NEWLINE]))),
        id="names of any bytes",
    ),
    pytest.param(lambda root: written(root, {".git/x": "", "d/.git/y": ""}), Changes(), id="git's own"),
    pytest.param(lambda root: os.mkfifo(root / "fifo"), Changes(created=("fifo",)), id="a FIFO"),
]


@pytest.mark.parametrize(("edit", "changes"), CHANGES)
def test_changes_are_seen_by_content(workspaces, tmp_path, edit, changes):
    template = written(tmp_path / "t", {"a.txt": "A", "d/b.txt": "b"})
    (template / "link").symlink_to("a.txt")
    workspace = started(workspaces, template)
    edit(workspace.path)
    assert workspace.changes() == changes


@pytest.mark.parametrize(
    ("pattern", "there"),
    [("**/*.txt", True), ("d/*.txt", True), ("link", True), ("d", False), ("*.tmp", False), ("*/new.txt", False)],
)
def test_patterns_are_compared_with_the_files_that_were_there_before_the_agent(workspaces, tmp_path, pattern, there):
    template = written(tmp_path / "t", {"a.txt": "A", "d/b.txt": "b"})
    (template / "link").symlink_to("a.txt")
    workspace = started(workspaces, template)
    written(workspace.path, {"d/new.txt": "new", "x.tmp": ""})
    (workspace.path / "d/b.txt").unlink()
    assert workspace.files.matched_before(pattern) is there


def test_what_the_bootstrap_made_was_there_before_the_agent(workspaces, tmp_path):
    template = written(tmp_path / "t", {"a.txt": "A", "b.txt": "B"})
    workspace = workspaces.create(WorkspaceSpec(source="template", template=template))
    with workspace.bootstrapping():
        written(workspace.path, {"a.txt": "from bootstrap", "made.txt": "M", "kept.txt": "K"})
        os.mkfifo(workspace.path / "fifo")
    assert workspace.existed("made.txt")
    assert workspace.changes() == Changes()
    (workspace.path / "kept.txt").touch()
    written(workspace.path, {"a.txt": "A", "made.txt": "changed"})
    assert workspace.changes() == Changes(modified=("a.txt", "made.txt"))


def test_evidence_is_about_what_the_agent_left(workspaces, tmp_path):
    workspace = started(workspaces, written(tmp_path / "t", {"a.txt": "A\r\n", "b.txt": "B", "d/gone": ""}))
    written(workspace.path, {"a.txt": "changed", "d/new.txt": "new"})
    (workspace.path / "d/gone").unlink()
    (workspace.path / "link").symlink_to("d/new.txt")
    workspace.changes()
    written(workspace.path, {"b.txt": "changed by a grader", "build/out.o": ""})
    assert "b.txt" in workspace.changes().modified
    files = workspace.files
    assert files.names() == ("a.txt", "b.txt", "d/new.txt", "link")
    assert files.created() == ("d/new.txt", "link")
    assert files.changed_names() == ("a.txt", "d/gone", "d/new.txt", "link")
    assert (files.text_before("a.txt", 100), files.text_before("./d/../b.txt", 100)) == ("A\n", "B")
    assert (files.text_before("a.txt", 2), files.text_before("d/new.txt", 100)) == (None, None)
    assert files.text_before("../outside", 100) is None


def test_what_a_file_was_that_the_bootstrap_wrote_is_not_known(workspaces, tmp_path):
    workspace = workspaces.create(WorkspaceSpec(source="template", template=written(tmp_path / "t", {"a.txt": "A"})))
    with workspace.bootstrapping():
        written(workspace.path, {"a.txt": "from bootstrap"})
    assert workspace.files.text_before("a.txt", 100) is None


@pytest.mark.parametrize(
    ("path", "changed"),
    [
        pytest.param("a.txt", False, id="an untouched file"),
        pytest.param("d/b.txt", True, id="an edited file"),
        pytest.param("d", True, id="a folder with an edited file"),
        pytest.param("e", False, id="a folder that lost a file"),
        pytest.param("e/c.txt", False, id="a deleted file"),
        pytest.param("new", True, id="a new folder with a file"),
        pytest.param("bare", False, id="a new folder without one"),
        pytest.param("nowhere", False, id="nothing at all"),
    ],
)
def test_one_path_is_asked_for(workspaces, tmp_path, path, changed):
    workspace = started(workspaces, written(tmp_path / "t", {"a.txt": "A", "d/b.txt": "b", "e/c.txt": "c"}))
    written(workspace.path, {"d/b.txt": "changed", "new/x.txt": "x"})
    (workspace.path / "e/c.txt").unlink()
    (workspace.path / "bare").mkdir()
    assert workspace.changed(path) is changed


def test_a_directory_of_the_user_is_watched_and_never_removed(workspaces, tmp_path):
    folder = written(tmp_path / "mine", {"a.txt": "a", "b.txt": "b", ".git/HEAD": "x"})
    workspace = started(workspaces, mode="none", cwd=folder)
    written(folder, {"a.txt": "changed", "new.txt": "n"})
    workspace.restore_folders()
    assert not workspace.is_own
    assert workspace.changes() == Changes(created=("new.txt",), modified=("a.txt",))
    before = tree(folder)
    assert save_changes(workspace, workspace.changes(), tmp_path / "saved") == SavedChanges(complete=True)
    workspaces.discard(workspace)
    assert tree(folder) == before
    assert names(folder) == [".git", ".git/HEAD", "a.txt", "b.txt", "new.txt"]
    assert names(tmp_path / "saved") == ["a.txt", "new.txt"]
    assert not workspace.path.is_relative_to(workspaces.root)


def test_what_is_no_directory_is_no_place_for_a_session(workspaces, tmp_path):
    file = written(tmp_path, {"file": "x"}) / "file"
    with pytest.raises(NotADirectoryError):
        workspaces.create(WorkspaceSpec(mode="none", cwd=file))
    assert file.read_text() == "x"


def test_a_shared_directory_is_prepared_once(workspaces, tmp_path):
    spec = WorkspaceSpec(mode="shared", source="template", template=written(tmp_path / "t", {"a.txt": "a"}))
    prepared: list[Path] = []
    first, second = (workspaces.shared("s", spec, lambda one: prepared.append(one.path)) for _ in range(2))
    assert first.path == second.path == prepared[0]
    assert len(prepared) == 1
    assert first.home != second.home


# --- what an agent may do to the place itself -------------------------------------------------------


def gone(path: Path) -> None:
    for below in sorted(path.rglob("*"), reverse=True):
        below.rmdir() if below.is_dir() else below.unlink()
    path.rmdir()


@pytest.mark.parametrize(
    "harm",
    [
        pytest.param(lambda workspace: gone(workspace.path), id="removed"),
        pytest.param(lambda workspace: (gone(workspace.path), workspace.path.write_text("x")), id="a file"),
        pytest.param(lambda workspace: (gone(workspace.path), workspace.path.symlink_to("/etc")), id="a symlink"),
        pytest.param(lambda workspace: gone(workspace.home), id="the whole home removed"),
        pytest.param(
            lambda workspace: (gone(workspace.scratch), workspace.scratch.symlink_to("/etc")), id="scratch a symlink"
        ),
    ],
)
def test_a_workspace_that_was_removed_or_replaced_is_an_empty_one(workspaces, tmp_path, harm):
    workspace = started(workspaces, written(tmp_path / "t", {"a.txt": "a"}))
    harm(workspace)
    workspace.restore_folders()
    assert workspace.path.is_dir()
    assert workspace.scratch.is_dir()
    assert not workspace.path.is_symlink()
    assert not workspace.scratch.is_symlink()
    kept = names(workspace.path)
    assert workspace.changes() == Changes(deleted=() if kept else ("a.txt",))
    workspaces.discard(workspace)


def test_only_files_of_the_private_home_are_collected(workspaces, tmp_path):
    workspace = started(workspaces)
    outside = written(tmp_path / "outside", {"secret.jsonl": "s"})
    written(workspace.home, {".agent/a.jsonl": "a", ".agent/b.txt": "b"})
    (workspace.home / ".agent/link.jsonl").symlink_to(outside / "secret.jsonl")
    (workspace.home / ".other").symlink_to(outside)
    target = workspaces.new_records_folder()
    found = workspace.collect((".agent/*.jsonl", ".other/*.jsonl"), target)
    assert found == (target / ".agent/a.jsonl",)
    assert names(target) == [".agent", ".agent/a.jsonl"]
    (workspace.home / ".agent/a.jsonl").write_text("changed")
    assert found[0].read_text() == "a"


def test_graders_have_a_home_the_agent_never_saw(workspaces):
    workspace = started(workspaces)
    written(workspace.home, {"grader-home/.npmrc": "x", ".npmrc": "x"})
    home = Path(workspace.grader_env()["HOME"])
    assert list(home.iterdir()) == []
    assert workspace.agent_env()["HOME"] == os.fspath(workspace.home)


# --- what is kept -----------------------------------------------------------------------------------


def test_changes_are_saved_so_that_they_can_be_played_again(workspaces, tmp_path):
    workspace = started(workspaces, written(tmp_path / "t", {"a.txt": "A", "b.txt": "B", "d/c.txt": "C"}))
    written(workspace.path, {"a.txt": "changed", "new/x.sh": "x", BYTES: "b", NEWLINE: "n"})
    (workspace.path / "new/x.sh").chmod(0o755)
    (workspace.path / "link").symlink_to("new/x.sh")
    (workspace.path / "out").symlink_to("/etc")
    os.mkfifo(workspace.path / "fifo")
    (workspace.path / "b.txt").unlink()
    saved = tmp_path / "saved"
    saved_files = save_changes(workspace, workspace.changes(), saved)
    assert names(saved) == sorted(["a.txt", "new", "new/x.sh", "link", BYTES, NEWLINE])
    assert (saved / "a.txt").read_text() == "changed"
    assert os.access(saved / "new/x.sh", os.X_OK)
    assert (saved / "link").readlink() == Path("new/x.sh")
    assert (saved_files.complete, saved_files.links) == (True, {"out": "/etc"})


@pytest.mark.slow
@pytest.mark.parametrize(
    "files",
    [
        pytest.param({"large.bin": b"\0" * (16 * 1024 * 1024 + 1)}, id="too large"),
        pytest.param({f"{number}.txt": "x" for number in range(2001)}, id="too many"),
    ],
)
def test_too_much_to_keep_is_not_kept_and_told(workspaces, tmp_path, files):
    workspace = started(workspaces)
    written(workspace.path, files)
    assert save_changes(workspace, workspace.changes(), tmp_path / "saved") == SavedChanges(complete=False)
    assert not (tmp_path / "saved").exists()


def test_a_kept_workspace_replaces_that_of_an_earlier_run(services):
    workspaces = services.workspaces
    kept = written(services.directory.path / "workspaces/repeat-1", {"stale.txt": "x"})
    workspace = started(workspaces)
    written(workspace.path, {"out.txt": "x"})
    (workspace.path / "link").symlink_to("/etc")
    save_workspace(workspace, workspace.changes(), services.directory, "workspaces/repeat-1")
    assert names(kept.parent) == ["repeat-1", "repeat-1/link", "repeat-1/out.txt"]
    assert (kept / "link").read_text() == "a symbolic link to /etc\n"
    workspaces.discard(workspace)
    assert not workspace.path.exists()


@pytest.mark.slow
def test_nothing_is_left_when_the_run_ends_however_deep_it_was(tmp_path):
    with world_in(repository(tmp_path)) as services:
        workspace = started(services.workspaces)
        dig = "import os\nfor _ in range(1500): os.mkdir('d'); os.chdir('d')"
        subprocess.run([sys.executable, "-c", dig], cwd=workspace.path, check=True)
        assert workspace.changes() == Changes()
        root = services.workspaces.root
    assert not root.exists()


@pytest.mark.parametrize(
    ("there", "missing"), [(".claude/skills", ".agents/skills"), (".agents/skills", ".claude/skills")]
)
def test_skills_of_a_project_are_visible_to_every_agent_and_no_change_of_its_own(tmp_path, there, missing):
    root = repository(tmp_path / "r", {f"{there}/greeter/SKILL.md": "# Greeter"}, git=True)
    with world_in(root) as services:
        workspace = services.workspaces.create(WorkspaceSpec())
        workspace.record_state()
        assert (workspace.path / missing / "greeter/SKILL.md").read_text() == "# Greeter"
        assert workspace.changes() == Changes()
        assert git_in(workspace.path, "status", "--porcelain") == ""


def test_skill_folders_that_are_both_there_stay_as_they_are(tmp_path):
    files = {".claude/skills/a/SKILL.md": "a", ".agents/skills/b/SKILL.md": "b"}
    with world_in(repository(tmp_path / "r", files)) as services:
        workspace = services.workspaces.create(WorkspaceSpec())
        workspace.record_state()
        assert [
            [path.name for path in (workspace.path / name).iterdir()] for name in (".claude/skills", ".agents/skills")
        ] == [
            ["a"],
            ["b"],
        ]
