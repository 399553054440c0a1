"""What `init` finds out about a repository from its files."""

from __future__ import annotations

import json

import pytest

from skillgym_action.authoring.starter.facts import FoundSkill, TestCommand, chosen_agents, keys_of, repository_facts

NPM = json.dumps({"scripts": {"test": "node --test"}})
WITH_NEEDS = json.dumps({"scripts": {"test": "vitest"}, "devDependencies": {"vitest": "3"}})
UNWRITTEN = json.dumps({"scripts": {"test": 'echo "Error: no test specified" && exit 1'}})


def facts_of(files: dict[str, str]):
    return repository_facts(files, files.get)


@pytest.mark.parametrize(
    ("files", "named", "run"),
    [
        ({"package.json": NPM}, "npm test", "npm test"),
        ({"package.json": WITH_NEEDS}, "npm test", None),
        ({"tests/test_cart.py": ""}, "pytest", None),
        ({"test/unit/cart_test.py": ""}, "pytest", None),
        ({"a_test.py": ""}, "pytest", None),
        ({"setup.py": "", "shop/tests/test_cart.py": ""}, "pytest", None),
        ({"pyproject.toml": "[tool.pytest.ini_options]"}, "pytest", None),
        ({"Cargo.toml": ""}, "cargo test", "cargo test"),
        ({"go.mod": ""}, "go test", "go test ./..."),
        ({"Makefile": "all: build\ntest: all\n\tsh t.sh\n"}, "make test", "make test"),
        ({"package.json": UNWRITTEN, "Makefile": "test:\n"}, "make test", "make test"),
    ],
)
def test_the_test_command_is_that_of_the_first_build_file_with_tests(files, named, run):
    assert facts_of(files).test == TestCommand(named=named, run=run)


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"package.json": UNWRITTEN},
        {"package.json": "{"},
        {"package.json": "[]"},
        {"package.json": json.dumps({"scripts": ["test"]})},
        {"package.json": "[" * 100_000},
        {"Makefile": "test := unit\n"},
        {"src/contest.py": ""},
        {"services/worker/tests/test_worker.py": "", "packages/api/package.json": NPM},
    ],
)
def test_without_tests_there_is_no_test_command(files):
    assert facts_of(files).test is None


def test_skills_have_the_name_of_their_frontmatter_and_the_one_nearest_to_the_root_comes_first():
    files = {
        "a/b/skills/deep/SKILL.md": "---\nname: deep\n---\n",
        "skills/pages/SKILL.md": "---\nname: count-pages\ndescription: Counts.\n---\n",
        "skills/plain/SKILL.md": "No frontmatter",
        "skills/bad/SKILL.md": "---\nname: ../etc\n---\n",
        "skills/plain/evals/evals.json": "{}",
    }
    facts = facts_of(files)
    pages = FoundSkill(name="count-pages", folder="skills/pages")
    plain, deep = FoundSkill(name="plain", folder="skills/plain"), FoundSkill(name="deep", folder="a/b/skills/deep")
    assert facts.skills == (pages, plain, deep)
    assert facts.skills_without_evals == (pages, deep)
    assert pages.evals == "skills/pages/evals/evals.json"


def test_a_skill_in_the_root_has_its_evals_in_the_root():
    (skill,) = facts_of({"SKILL.md": "---\nname: alone\n---\n"}).skills
    assert (skill.folder, skill.evals) == ("", "evals/evals.json")


@pytest.mark.parametrize(
    ("readme", "title"),
    [("# Shop\n\ntext", "Shop"), ("text\n# The shop #\n", "The shop"), ("## Only\n", None), (None, None)],
)
def test_the_title_is_the_first_heading_of_the_readme(readme, title):
    assert facts_of({"README.md": readme} if readme else {}).title == title


KEYS = {"claude": ("CLAUDE_KEY", "CLAUDE_TOKEN"), "pi": ("CLAUDE_KEY", "OTHER_KEY"), "codex": ("CODEX_KEY",)}


@pytest.mark.parametrize(
    ("present", "installed", "chosen"),
    [
        ({"CLAUDE_KEY"}, set(), {"claude": "CLAUDE_KEY"}),
        ({"CLAUDE_TOKEN", "CODEX_KEY"}, set(), {"claude": "CLAUDE_TOKEN", "codex": "CODEX_KEY"}),
        ({"OTHER_KEY"}, {"codex"}, {"pi": "OTHER_KEY"}),
        (set(), {"codex", "pi"}, {"pi": "CLAUDE_KEY"}),
        (set(), set(), {"claude": "CLAUDE_KEY"}),
    ],
)
def test_one_agent_is_chosen_for_each_key_or_else_one_that_is_installed(present, installed, chosen):
    found = chosen_agents(KEYS, has_key=present.__contains__, is_installed=installed.__contains__)
    assert found == chosen


@pytest.mark.parametrize(("present", "key"), [({"CLAUDE_TOKEN"}, "CLAUDE_TOKEN"), (set(), "CLAUDE_KEY")])
def test_a_named_agent_gets_the_key_that_is_there_or_else_its_first_one(present, key):
    assert keys_of(("claude",), KEYS, has_key=present.__contains__) == {"claude": key}
