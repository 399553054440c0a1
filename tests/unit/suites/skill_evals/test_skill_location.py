"""Which folder is the skill of a suite: the order of places, names, and the message if there is none."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from scratch import git_in, repository, world_in, written
from skillgym_action.model.errors import SuiteError
from skillgym_action.model.suite import FoundSuite, SkillSettings
from skillgym_action.pipeline.stages.load import HeadCheckout, SuiteFileAccess
from skillgym_action.suites.skill_evals.skill_location import SkillLocation, located_skill
from skillgym_action.text.documents.skill_files import SkillFiles, frontmatter

if TYPE_CHECKING:
    from pathlib import Path


def skill(name: str | None = None) -> str:
    return f"---\nname: {name}\ndescription: Does {name}.\n---\n\n# Steps\n" if name else "# No frontmatter\n"


@dataclass(frozen=True)
class OfSuite:
    """As much of a suite file as the search for its skill uses."""

    path: str
    skills: SkillFiles


def located(root: Path, suite: str, name: str | None = None, path: str | None = None, named=()) -> SkillLocation:
    settings = SkillSettings(path=root / path if path else None)
    files = SkillFiles(root=root, file=root / suite, settings=settings)
    return located_skill(OfSuite(path=suite, skills=files), name, named=named)


def shown(location: SkillLocation, root: Path) -> dict[str, str]:
    return {skill.name: skill.folder.relative_to(root).as_posix() for skill in location.skills}


@pytest.mark.parametrize(
    ("files", "suite", "expected"),
    [
        pytest.param({"a/SKILL.md": "b", "c/SKILL.md": "c"}, "a/evals/evals.json", {"b": "a"}, id="above evals"),
        pytest.param({"a/SKILL.md": "a"}, "a/evals/more/evals.json", {"a": "a"}, id="above evals, further down"),
        pytest.param({"SKILL.md": "whole"}, "evals/evals.json", {"whole": "."}, id="the repository is the skill"),
        pytest.param({"a/SKILL.md": "a", "b/SKILL.md": "b"}, "a/trigger.json", {"a": "a"}, id="beside the file"),
        pytest.param({"p/skills/x/SKILL.md": "x", "q/SKILL.md": "q"}, "p/evals/e.json", {"x": "p/skills/x"}, id="only"),
        pytest.param(
            {"skills/a/SKILL.md": "a", "skills/b/SKILL.md": "b"}, "evals/b/evals.json", {"b": "skills/b"}, id="folder"
        ),
        pytest.param(
            {"skills/a/SKILL.md": "x-a", "skills/b/SKILL.md": "x-b"},
            "evals/x-a/evals.json",
            {"x-a": "skills/a"},
            id="the folder of the suite has the name of the frontmatter",
        ),
        pytest.param({"SKILL.md": "top", "docs/readme.md": ""}, "docs/x/cases.json", {"top": "."}, id="further up"),
        pytest.param(
            {"skills/a/SKILL.md": "a", "skills/b/SKILL.md": "b"},
            "evals/evals.json",
            {"a": "skills/a", "b": "skills/b"},
            id="several and no choice",
        ),
        pytest.param(
            {"a/SKILL.md": "a", "a/evals/files/SKILL.md": "input", "a/x-workspace/SKILL.md": "old"},
            "a/evals/evals.json",
            {"a": "a"},
            id="skills among input files and results are none",
        ),
    ],
)
def test_the_first_place_that_fits(tmp_path, files, suite, expected):
    written(tmp_path, {name: skill(text) if name.endswith("SKILL.md") else text for name, text in files.items()})
    assert shown(located(tmp_path, suite), tmp_path) == expected


def test_the_name_that_the_suite_gives_chooses_among_several(tmp_path):
    written(tmp_path, {f"skills/{name}/SKILL.md": skill(name) for name in "abc"})
    assert shown(located(tmp_path, "evals/evals.json", "b"), tmp_path) == {"b": "skills/b"}


def test_a_list_of_queries_takes_the_name_of_the_suite_beside_it(tmp_path):
    written(tmp_path, {f"skills/{name}/SKILL.md": skill(name) for name in "abc"})
    written(tmp_path, {"evals/evals.json": '{"skill_name": "c"}'})
    assert shown(located(tmp_path, "evals/trigger-eval.json"), tmp_path) == {"c": "skills/c"}


def test_the_name_of_the_plugin_chooses_last(tmp_path):
    written(tmp_path, {f"skills/{name}/SKILL.md": skill(name) for name in "abc"})
    written(tmp_path, {".claude-plugin/plugin.json": '{"name": "a"}'})
    assert shown(located(tmp_path, "evals/evals.json"), tmp_path) == {"a": "skills/a"}


def test_queries_that_name_skills_install_all_of_them(tmp_path):
    written(tmp_path, {f"skills/{name}/SKILL.md": skill(name) for name in "abc"})
    location = located(tmp_path, "skills/a/evals/trigger-eval.json", named={"a", "c"})
    assert location.names == ("a", "b", "c")
    assert located(tmp_path, "skills/a/evals/trigger-eval.json", named={"a"}).names == ("a",)


def test_a_configured_folder_wins(tmp_path):
    written(tmp_path, {"a/SKILL.md": skill("a"), "b/SKILL.md": skill("b")})
    assert located(tmp_path, "a/evals/evals.json", path="b").names == ("b",)
    with pytest.raises(SuiteError, match=r"skills\.path: there is no SKILL\.md in c"):
        located(tmp_path, "a/evals/evals.json", path="c")


def test_another_name_than_the_frontmatter_is_a_warning(tmp_path):
    written(tmp_path, {"a/SKILL.md": skill("b")})
    location = located(tmp_path, "a/evals/evals.json", "a")
    assert location.names == ("b",)
    (warning,) = location.warnings
    assert str(warning) == (
        "a/evals/evals.json: the suite calls its skill a, but a/SKILL.md calls itself b, under which it is installed; "
        "write the same name in both"
    )


def test_without_a_name_the_folder_is_the_name(tmp_path):
    written(tmp_path, {"a/SKILL.md": skill()})
    location = located(tmp_path, "a/evals/evals.json")
    assert location.names == ("a",)
    assert "a/SKILL.md has no name in its frontmatter; it is installed as a" in str(location.warnings[0])


def test_no_skill_is_an_error_that_lists_the_places(tmp_path):
    written(tmp_path, {"a/b/evals/evals.json": "[]"})
    with pytest.raises(SuiteError) as error:
        located(tmp_path, "a/b/evals/evals.json")
    assert str(error.value) == (
        "a/b/evals/evals.json: the skill under test was not found: there is no SKILL.md. Looked in a/b, in a/b/evals, "
        "below a/b, below a, below .; put the suite into the folder evals/ of the skill, or name the skill's folder "
        "with skills.path"
    )


def test_a_name_that_no_skill_has_is_an_error_that_lists_them(tmp_path):
    written(tmp_path, {f"skills/{name}/SKILL.md": skill(name) for name in "ab"})
    with pytest.raises(SuiteError, match="no skill is called z; there are a, b"):
        located(tmp_path, "evals/evals.json", "z")


@pytest.mark.parametrize("name", ["../x", "a/b", ".hidden", "a\\\\b", "x" * 101])
def test_a_name_that_cannot_be_a_folder_is_refused(tmp_path, name):
    written(tmp_path, {"a/SKILL.md": f'---\nname: "{name}"\n---\n'})
    with pytest.raises(SuiteError, match=r"a/SKILL\.md:1: name: the name .* of the skill"):
        located(tmp_path, "a/evals/evals.json")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("---\nname: a\ndescription: b\n---\n", {"name": "a", "description": "b"}, id="plain"),
        pytest.param("\ufeff---\nname: a\n---", {"name": "a"}, id="byte order mark"),
        pytest.param("---\nname: 12\n---\n", {"name": "12"}, id="a number"),
        pytest.param(
            "---\nname: 'a'\ndescription: Use when: asked\n---\n",
            {"name": "a", "description": "Use when: asked"},
            id="no valid YAML",
        ),
        pytest.param("# name: a\n", {}, id="none"),
        pytest.param("---\n- a\n---\n", {}, id="a list"),
        pytest.param("---\nname:\n---\n", {}, id="empty"),
    ],
)
def test_the_frontmatter(text, expected):
    assert frontmatter(text) == expected


def test_links_do_not_lead_to_a_skill(tmp_path):
    written(tmp_path, {"elsewhere/SKILL.md": skill("x"), "repo/a/evals/evals.json": "[]"})
    (tmp_path / "repo" / "a" / "linked").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(SuiteError, match="was not found"):
        located(tmp_path / "repo", "a/evals/evals.json")


def test_a_skill_that_a_link_of_the_checkout_leads_to_is_not_read(tmp_path):
    written(tmp_path, {"secret/SKILL.md": skill("x")})
    root = repository(tmp_path / "repo", {"a/evals/evals.json": "[]"}, git=True)
    (root / "a" / "SKILL.md").symlink_to(tmp_path / "secret" / "SKILL.md")
    with world_in(root) as services:
        source = SuiteFileAccess("a/evals/evals.json", root / "a/evals/evals.json", services.hosts, {})
        checked = HeadCheckout(checkout=services.repository.checkout)
        of_checkout = SuiteFileAccess(source.path, source.file, services.hosts, {}, head=checked)
        with pytest.raises(SuiteError, match="leads out of the checkout"):
            located_skill(of_checkout)


def test_the_skill_of_the_checkout_is_tested_by_the_suite_of_another_folder(tmp_path):
    base = written(tmp_path / "base", {"a/SKILL.md": skill("old"), "a/evals/evals.json": "[]"})
    root = repository(tmp_path / "repo", {"a/SKILL.md": skill("new")}, git=True)
    assert git_in(root, "status", "--short") == ""
    found = FoundSuite(path="a/evals/evals.json", file=base / "a/evals/evals.json", format="skill-evals")
    with world_in(root) as services:
        head = HeadCheckout(checkout=services.repository.checkout, path_of=lambda path: root / path.relative_to(base))
        location = located_skill(SuiteFileAccess(found.path, found.file, services.hosts, {}, head=head))
    assert shown(location, root) == {"new": "a"}


@pytest.mark.timed
def test_blanks_in_a_frontmatter_that_is_no_yaml_take_no_quadratic_time():
    began = time.process_time()
    known = frontmatter(f"---\nname: a: b{' ' * 100_000}c\ndescription: 'd'  \n---\n")
    assert time.process_time() - began < 5
    assert known["name"].startswith("a: b")
    assert known["description"] == "d"
