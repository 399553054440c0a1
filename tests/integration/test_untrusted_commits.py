"""Untrusted commits in jobs with secrets: no agent starts, or it does not follow instructions of the commit."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from action_step import FORK, comment_on_pull_request, pull_request, step, workflow_run
from agent_clis import ALWAYS, agent_cli, more_agents, search_path
from agent_desk import MODELS, wiring
from model_script import Read, Say
from model_server import ModelServer
from scratch import case, config, repository, runner, skillgym, suite, written
from skillgym_action.agents import AGENTS
from skillgym_action.workspaces.untrusted_configuration import is_configuration

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from action_step import Step
    from proofs import Proved

STRANGE = {
    "pull_request_target": ("pull_request_target", pull_request(FORK)),
    "workflow_run": ("workflow_run", workflow_run(FORK)),
    "issue_comment": ("issue_comment", comment_on_pull_request()),
}
OURS = {
    "pull_request_target": ("pull_request_target", pull_request()),
    "workflow_run": ("workflow_run", workflow_run()),
    "pull_request of a fork": ("pull_request", pull_request(FORK)),
    "workflow_dispatch": ("workflow_dispatch", {}),
}
QUIET = {"mode": "run"}  # nothing is asked of GitHub
NAMES = sorted({name for listing in AGENTS.values() for name in listing.configuration})
FOLDERS = {".claude-plugin", ".codex-plugin", ".cursor-plugin", ".github/copilot"} | {
    name for name in NAMES if name.startswith(".") and "." not in name[1:] and "/" not in name and "ignore" not in name
}
SEES = """
find . -name .git -prune -o -type f -print -o -type l -print >out.txt
git ls-tree -r --name-only HEAD >>out.txt
cat out.txt >>$LOG
"""


def configuration() -> dict[str, str]:
    """Every file there is, at the top and in a folder within a folder."""
    files = [f"{name}/hooks/x.json" if name in FOLDERS - {".env", ".mcp.json"} else name for name in NAMES]
    return {f"{folder}{file}": "Do as this commit says." for folder in ("", "deep/er/") for file in files}


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Where agents list what they see."""
    return tmp_path / "seen.txt"


def seen(log: Path) -> set[str]:
    """The agent configuration that agents saw, and the file that stands for all else."""
    paths = {line.removeprefix("./") for line in log.read_text().splitlines()} if log.exists() else set()
    return {path for path in paths if is_configuration(path) or path.endswith("README.md")}


def project(
    folder: Path, log: Path, files: dict[str, str], run: dict[str, object] | None = None, **suites: str
) -> Path:
    """A repository with an agent that lists what is in its workspace."""
    standard = {
        "README.md": "x",
        "deep/er/README.md": "x",
        "skillgym.config.yaml": config(runner(SEES, env={"LOG": str(log)}), run=run or {}),
    }
    return repository(folder, standard | files | suites, git=True)


# --- whether agents start ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("event", "inputs", "code"),
    [
        *(pytest.param(event, {}, 2, id=f"nothing is said-{event}") for event in STRANGE),
        pytest.param("pull_request_target", {"allow-untrusted": "false"}, 2, id="it is forbidden"),
        pytest.param("pull_request_target", {"mode": "all"}, 2, id="with a report"),
        pytest.param("issue_comment", {"allow-untrusted": "true"}, 0, id="it is allowed"),
        pytest.param("workflow_run", {"allow-untrusted": "With-Configuration"}, 0, id="configuration is tested"),
    ],
)
def test_no_agent_starts_for_an_untrusted_commit_with_secrets_unless_that_is_allowed(
    tmp_path, log, event, inputs, code, proved: Proved
):
    root = project(tmp_path / "r", log, {})
    found = step(root, None, QUIET | inputs, event=STRANGE[event])
    assert (found.code, log.exists()) == (code, code == 0), found.said
    assert ("agents would follow untrusted text" in found.said) == (code == 2)
    if code == 2:
        proved("untrusted commits", "jobs with secrets on an untrusted commit, refused before anything started")


def test_a_configuration_of_an_untrusted_commit_that_is_a_program_is_not_read(tmp_path):
    program = (
        f"import fs from 'node:fs'; fs.writeFileSync({json.dumps(str(tmp_path / 'ran'))}, ''); export default {{}}"
    )
    root = repository(tmp_path / "r", {"skillgym.config.yaml": None, "skillgym.config.mjs": program})
    assert step(root, None, QUIET, event=STRANGE["workflow_run"]).code == 2
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("event", OURS.values(), ids=OURS)
def test_the_commits_of_others_start_agents_who_see_everything(tmp_path, log, event):
    root = project(tmp_path / "r", log, {"CLAUDE.md": "x"})
    assert step(root, None, QUIET, event=event).code == 0
    assert seen(log) == {"README.md", "deep/er/README.md", "CLAUDE.md"}


def test_an_unknown_word_is_told(tmp_path):
    found = step(repository(tmp_path / "r"), None, {"allow-untrusted": "yes"})
    assert found.code == 2
    assert "input allow-untrusted: unknown word 'yes'; known: false, true, with-configuration" in found.said


# --- what they see ----------------------------------------------------------------------------------


def run_of_untrusted_commit(root: Path, allowed: str = "true") -> Step:
    return step(root, None, QUIET | {"allow-untrusted": allowed}, event=STRANGE["pull_request_target"])


def test_agents_do_not_see_the_agent_configuration_of_an_untrusted_commit(tmp_path, log, proved: Proved):
    files = configuration()
    found = run_of_untrusted_commit(project(tmp_path / "r", log, files))
    assert found.code == 0, found.said
    assert seen(log) == {"README.md", "deep/er/README.md"}
    first, second = sorted(files)[:2]
    assert f"agents did not see the agent configuration of {FORK}: {first}, {second}," in found.said
    assert f"and {len(files) - 5} more; if you test it, set allow-untrusted: with-configuration" in found.said
    assert "did not see the agent configuration" in found.summary
    proved(
        "untrusted commits", "files with instructions for agents, in an untrusted commit, that no agent saw", len(files)
    )


def test_they_see_it_where_it_is_what_is_tested(tmp_path, log):
    files = configuration()
    found = run_of_untrusted_commit(project(tmp_path / "r", log, files), "with-configuration")
    assert found.code == 0, found.said
    linked = {path for path in seen(log) - set(files) if path.startswith((".claude/skills", ".agents/skills"))}
    assert seen(log) - linked == {"README.md", "deep/er/README.md", *files}
    assert "did not see" not in found.said


def test_whoever_runs_it_on_a_command_line_runs_an_own_commit(tmp_path, log):
    root = project(tmp_path / "r", log, {"CLAUDE.md": "x"})
    assert skillgym("run", cwd=root, GITHUB_EVENT_NAME="pull_request_target").code == 0
    assert "CLAUDE.md" in seen(log)


BROUGHT = {
    "a template": {"workspace": {"templateDir": "start"}},
    "a bootstrap": {"workspace": {"bootstrap": "mkdir -p .claude deep; touch .claude/x deep/AGENTS.md CLAUDE.md"}},
}


@pytest.mark.parametrize("fields", BROUGHT.values(), ids=BROUGHT)
def test_neither_a_template_nor_a_bootstrap_brings_it(tmp_path, log, fields, proved: Proved):
    """A suite is of the untrusted commit as well."""
    files = {"bench/core.json": suite(case(), **fields), "bench/start/README.md": "x"}
    files |= {f"bench/start/{name}": text for name, text in configuration().items()}
    found = run_of_untrusted_commit(project(tmp_path / "r", log, files))
    assert found.code == 0, found.said
    assert {path for path in seen(log) if is_configuration(path)} == set()
    assert "did not see" in found.said
    proved("untrusted commits", "other ways to bring such files into a workspace, closed")


@pytest.mark.parametrize(
    ("mode", "code"),
    [pytest.param("shared", 0, id="a shared directory"), pytest.param("none", 3, id="the checkout itself")],
)
def test_a_shared_directory_is_without_it_and_in_the_checkout_itself_nobody_works(
    tmp_path, log, mode, code, proved: Proved
):
    where = "cwd='.'" if mode == "none" else "template_dir='start'"
    text = (
        "from skillgym_action import Suite, Workspace\n"
        f"workspace = Workspace(mode={mode!r}, {where})\nsuite = Suite()\n"
        "@suite.case('one', prompt='x')\ndef one(report, ctx): pass\n"
        "@suite.case('two', prompt='x')\ndef two(report, ctx): pass\n"
    )
    files = {"bench/own_suite.py": text, "bench/start/CLAUDE.md": "x", "bench/start/README.md": "x", "CLAUDE.md": "x"}
    root = project(tmp_path / "r", log, files)
    (root / "bench/core.json").unlink()
    found = run_of_untrusted_commit(root)
    assert found.code == code, found.said
    assert seen(log) == ({"README.md"} if mode == "shared" else set())
    if mode == "none":
        assert f"agents would work in the checkout of {FORK} itself" in found.said
    assert (root / "CLAUDE.md").exists()
    proved("untrusted commits", "other ways to bring such files into a workspace, closed")


def test_links_are_taken_out_and_not_what_they_lead_to(tmp_path, log):
    outside = written(tmp_path / "outside", {"keep.md": "x"})
    root = project(tmp_path / "r", log, {"docs/rules.md": "x"})
    (root / "AGENTS.md").symlink_to("docs/rules.md")
    (root / ".claude").symlink_to(outside)
    (root / "deep" / "CLAUDE.md").symlink_to(outside / "keep.md")
    assert run_of_untrusted_commit(root).code == 0
    assert seen(log) == {"README.md", "deep/er/README.md"}
    assert "./docs/rules.md" in log.read_text()
    assert (outside / "keep.md").exists()


@pytest.mark.parametrize(
    ("path", "is_one"),
    [
        ("CLAUDE.md", True),
        ("a/b/CLAUDE.md", True),
        (".claude/skills/x/SKILL.md", True),
        ("a/.github/instructions/x.md", True),
        ("opencode.json", True),
        ("docs/CLAUDE.md.txt", False),
        ("docs/claude.md", False),
        (".github/workflows/CI.yml", False),
        (".github/instructions-of-ours/x", False),
        (".environment", False),
        ("src/agents.md", False),
    ],
)
def test_what_agent_configuration_is(path, is_one):
    assert is_configuration(path) == is_one


# --- the real programs ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def models() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


SKILL = "---\nname: strange\ndescription: Text of the commit in a skill.\n---\n"


def words(agent: str) -> dict[str, str]:
    """What an untrusted commit would have this agent read: a text in every file that the model gets."""
    names = [name for name in AGENTS[agent].configuration if name.endswith((".md", ".MD"))]
    files = {f"{folder}{name}": f"Text of the commit in {name}." for folder in ("", "deep/") for name in names}
    return {**files, ".claude/skills/strange/SKILL.md": SKILL, ".agents/skills/strange/SKILL.md": SKILL}


@pytest.mark.agents
@pytest.mark.parametrize(
    "agent", [pytest.param(agent, marks=() if agent in ALWAYS else more_agents) for agent in MODELS]
)
def test_no_text_of_an_untrusted_commit_reaches_the_model_unless_it_is_under_test(
    tmp_path, models, agent, proved: Proved
):
    heard = {}
    for allowed in ("true", "with-configuration"):
        files = {"skillgym.config.yaml": None, "deep/notes.md": "note\n", **words(agent)}
        root = repository(tmp_path / allowed, {**files, "bench/core.json": suite(case(expect=["no-file:x"]))}, git=True)
        asked = len(models.requests)
        url = models.script(Read("deep/notes.md"), Say("done"))
        inputs = {"runners": agent + (f":{MODELS[agent]}" if MODELS[agent] else ""), "install-agents": "false"}
        path = search_path(agent_cli(agent).parent)
        found = step(
            root, None, QUIET | inputs | {"allow-untrusted": allowed}, event=STRANGE["workflow_run"],
            PATH=path, **wiring(agent, url),
        )  # fmt: skip
        assert found.code == 0, found.said
        bodies = json.dumps([request.body for request in models.requests[asked:]])
        heard[allowed] = bodies.count("ext of the commit in")
    assert heard["true"] == 0
    assert heard["with-configuration"] > 0
    proved("untrusted commits", "agents' own programs that did not pass on instructions of an untrusted commit")
