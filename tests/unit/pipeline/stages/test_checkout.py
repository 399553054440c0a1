"""Warnings about a checkout that lacks what agents are to work on."""

from __future__ import annotations

from dataclasses import replace

from builders import suite_at
from scratch import git_in, repository, world_in
from skillgym_action.model.arm import SkillUnderTest
from skillgym_action.model.errors import Location
from skillgym_action.model.suite import BenchmarkCase, InputFile, WorkspaceSpec
from skillgym_action.pipeline.stages.checkout import checkout_warnings

COMMIT = "0123456789abcdef0123456789abcdef01234567"
BROKEN = "---\nname: a\ndescription: Reads: all of it\n---\n"
FILES = {
    ".gitattributes": "*.bin filter=lfs -text\n",
    "template/a.bin": f"version https://git-lfs.github.com/spec/v1\noid sha256:{COMMIT}\nsize 12345\n",
    ".claude/skills/x/SKILL.md": BROKEN,
    "skill/SKILL.md": BROKEN,
}


def checkout(tmp_path):
    root = repository(tmp_path, FILES, git=True)
    for path in ("lib", "template/lib"):
        git_in(root, "update-index", "--add", "--cacheinfo", f"160000,{COMMIT},{path}")
    return root


def warnings(root, **spec):
    place = Location(path="bench/core.json")
    cases = (BenchmarkCase(id="a", prompt="p", location=place, assertions=(), workspace=WorkspaceSpec(**spec)),)
    with world_in(root) as services:
        return [str(one) for one in checkout_warnings(services, [replace(suite_at(), cases=cases)])]


SUBMODULES = "git submodule update --init --recursive; in a workflow actions/checkout with submodules: recursive"
LFS = (
    "agents find pointers of Git LFS instead of 1 file (template/a.bin); git lfs pull; "
    "in a workflow actions/checkout with lfs: true"
)
SKILL = (
    "SKILL.md:3:19: the frontmatter of the skill is not YAML: mapping values are not allowed in this context. "
    "Some agents ignore such a skill without a message; put texts with a colon in quotes"
)


def test_a_copy_of_the_repository_lacks_what_the_checkout_lacks(tmp_path):
    both = "not checked out, so that agents find empty folders: 2 submodules (lib, template/lib)"
    expected = [f"{both}; {SUBMODULES}", LFS, f".claude/skills/x/{SKILL}"]
    root = checkout(tmp_path)
    assert warnings(root) == expected
    assert warnings(root, mode="none") == expected
    assert warnings(root, source="directory") == expected


def test_other_workspaces_lack_only_what_they_are_made_of(tmp_path):
    root = checkout(tmp_path)
    of_template = f"not checked out, so that agents find empty folders: 1 submodule (template/lib); {SUBMODULES}"
    assert warnings(root, source="template", template=root / "template") == [of_template, LFS]
    files = (InputFile(path="x", source=root / "template/a.bin"),)
    assert warnings(root, source="empty", files=files) == [LFS]
    skills = (SkillUnderTest(name="a", folder=root / "skill"),)
    assert warnings(root, source="empty", skills=skills) == [f"skill/{SKILL}"]
    assert warnings(root, source="empty") == []


def test_a_checkout_without_git_lacks_nothing(tmp_path):
    assert warnings(repository(tmp_path, {"a.bin": FILES["template/a.bin"]})) == []
