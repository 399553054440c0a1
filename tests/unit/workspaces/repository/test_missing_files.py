"""What git tracks and the checkout lacks: submodules, files of Git LFS, sparse checkouts; broken skills."""

from __future__ import annotations

from contextlib import closing

import pytest

from scratch import committed, git_in, repository, written
from skillgym_action.system.cancellation import Cancellation
from skillgym_action.system.processes.launcher import ProcessLauncher
from skillgym_action.workspaces.repository.broken_skills import broken_skills
from skillgym_action.workspaces.repository.missing_files import MissingFiles, missing_files
from skillgym_action.workspaces.repository.repository import Repository
from table_rows import each_row_holds

COMMIT = "0123456789abcdef0123456789abcdef01234567"
POINTER = f"version https://git-lfs.github.com/spec/v1\noid sha256:{COMMIT}\nsize 12345\n"
LFS = "*.bin filter=lfs diff=lfs merge=lfs -text\n"


@pytest.fixture
def processes():
    with closing(Cancellation()) as cancelled, ProcessLauncher(environment={}, cancelled=cancelled) as launcher:
        yield launcher


def with_submodule(root, path):
    """A submodule as a checkout without submodules has it."""
    git_in(root, "update-index", "--add", "--cacheinfo", f"160000,{COMMIT},{path}")
    git_in(root, "-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-qm", "submodule")
    (root / path).mkdir(parents=True, exist_ok=True)


def missing(root, processes, *folders):
    return missing_files(Repository(root, processes), folders or ("",))


def test_a_complete_checkout_lacks_nothing(tmp_path, processes):
    root = repository(tmp_path, {"a.bin": "x", ".gitattributes": LFS}, git=True)
    assert missing(root, processes) == MissingFiles()
    assert missing(repository(tmp_path / "plain"), processes) == MissingFiles()


def test_a_submodule_that_was_not_fetched_is_named_where_it_is_used(tmp_path, processes):
    root = repository(tmp_path, {"template/a.txt": "a"}, git=True)
    with_submodule(root, "template/lib")
    with_submodule(root, "vendor/other")
    (root / "vendor/other").rmdir()
    assert missing(root, processes).submodules == ("template/lib", "vendor/other")
    assert missing(root, processes, "template").submodules == ("template/lib",)
    assert missing(root, processes, "temp") == MissingFiles()


def test_a_submodule_of_a_submodule_is_looked_at(tmp_path, processes):
    root = repository(tmp_path / "r", git=True)
    inner = repository(root / "lib", git=True)
    with_submodule(inner, "deep/lib")
    git_in(root, "-c", "advice.addEmbeddedRepo=false", "add", "lib")
    committed(root)
    assert missing(root, processes).submodules == ("lib/deep/lib",)
    written(inner, {"deep/lib/a.txt": "a"})
    assert missing(root, processes).submodules == ()


def test_pointers_of_git_lfs_are_no_files(tmp_path, processes):
    files = {"assets/.gitattributes": LFS, "assets/a.bin": POINTER, "assets/b.bin": "content", "assets/c.txt": POINTER}
    root = repository(tmp_path, files | {"d.bin": POINTER}, git=True)
    assert missing(root, processes).pointers == ("assets/a.bin",)
    assert missing(root, processes, "assets/a.bin").pointers == ("assets/a.bin",)
    assert missing(root, processes, "bench").pointers == ()


def test_files_that_a_sparse_checkout_leaves_out_are_named(tmp_path, processes):
    root = repository(tmp_path, {"docs/a.md": "a", "src/b.py": "b"}, git=True)
    git_in(root, "sparse-checkout", "set", "--no-cone", "/*", "!/docs/")
    assert missing(root, processes).sparse == ("docs/a.md",)


# --- skills -----------------------------------------------------------------------------------------

GOOD = "---\nname: a\ndescription: 'Reads: all of it'\n---\nText\n"
COLON = "---\nname: a\ndescription: Reads: all of it\n---\nText\n"
SKILLS = (
    ("a colon", COLON, ("is not YAML", 3)),
    ("a colon, with the line ends of Windows", COLON.replace("\n", "\r\n"), ("is not YAML", 3)),
    ("a tab", "---\nname: a\n\tdescription: b\n---\n", ("is not YAML", 3)),
    ("no mapping", "---\n- name\n---\n", ("is no mapping of keys to values", 1)),
    ("no end", "---\nname: a\n", ("has no end: a line ---", 1)),
    ("quotes", GOOD, None),
    ("a byte order mark", "\ufeff" + GOOD, None),
    ("no frontmatter", "# A skill\n", None),
)


def test_a_skill_whose_frontmatter_is_not_yaml_is_named_with_its_line(tmp_path, processes):
    def check(row):
        number, (_, text, expected) = row
        root = repository(tmp_path / str(number), {".claude/skills/x/SKILL.md": text})
        found = list(broken_skills(Repository(root, processes), [""]))
        assert len(found) == (expected is not None)
        if expected:
            (problem,) = found
            assert problem.message.startswith(f"the frontmatter of the skill {expected[0]}")
            assert (problem.location.path, problem.location.line) == (".claude/skills/x/SKILL.md", expected[1])

    each_row_holds(((row[0], (number, row)) for number, row in enumerate(SKILLS)), check)


def test_skills_count_where_agents_look_for_them(tmp_path, processes):
    places = (
        ".claude/skills/a",
        ".agents/skills/b",
        ".github/skills/c",
        "template/.codex/skills/d",
        "my-skill",
        "p/skills/e",
    )
    root = repository(tmp_path, {f"{place}/SKILL.md": COLON for place in (*places, "docs/f", "skills/g")})

    def found(*folders):
        problems = broken_skills(Repository(root, processes), folders)
        return {problem.location.path.removesuffix("/SKILL.md") for problem in problems}

    assert found("") == set(places[:3])
    assert found("template", "my-skill", "p") == set(places[3:])
    assert found("bench") == set()
