"""Agents that are not there are put there: whole runs, with npm and a registry on loopback."""

from __future__ import annotations

import html
import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from action_step import Step, step
from npm_registry import NpmRegistry, Package, stand_in
from scratch import Ran, config, repository, skillgym

KEY = {"ANTHROPIC_API_KEY": "key-of-nobody"}
CLAUDE = {"agent": {"type": "claude-code", "version": "9.9.9"}}
NINE = stand_in("claude-code", "9.9.9")


def without(program: str) -> str:
    """PATH without the folders that hold a program."""
    folders = os.environ["PATH"].split(os.pathsep)
    return os.pathsep.join(folder for folder in folders if not Path(folder, program).exists())


def run(root: Path, *args: str, packages: tuple[Package, ...] = (NINE,), **env: str) -> Ran:
    """One run; what it installs goes beside the repository."""
    with NpmRegistry(*packages) as registry:
        settings = {"PATH": without("claude"), "SKILLGYM_AGENTS_DIR": str(root.with_name("agents")), **KEY}
        return skillgym("run", "--output", "results", *args, cwd=root, **registry.settings, **(settings | env))


def results(root: Path) -> list[dict[str, Any]]:
    told = json.loads((root / "results" / "results.json").read_text())
    return [result for suite in told["suites"] for result in suite["results"]]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return repository(tmp_path / "repository", {"skillgym.config.yaml": config(claude=CLAUDE)})


def test_an_agent_is_installed_before_the_first_execution_and_found_by_later_runs(root):
    first = run(root, "--install-agents")
    assert first.code == 0, first.err
    assert re.match(r"installed claude-code 9\.9\.9 in \d+\.\d s\n", first.err)
    (result,) = results(root)
    assert result["status"] == "passed"
    later = run(root, packages=())
    assert (later.code, "installed claude-code" in later.err) == (0, False)


def test_a_runner_without_a_version_gets_the_verified_one(root):
    (root / "skillgym.config.yaml").unlink()
    ran = run(root, "--runner", "claude-code", "--install-agents", packages=(stand_in("claude-code"),))
    assert ran.code == 0, ran.err
    assert ran.err.startswith("installed claude-code 2.1.332 in ")


def test_an_agent_on_path_is_left_as_it_is(root, tmp_path):
    (root / "skillgym.config.yaml").unlink()
    program = tmp_path / "bin" / "claude"
    program.parent.mkdir()
    program.write_text(stand_in("claude-code").files["cli.sh"])
    program.chmod(0o755)
    path = f"{program.parent}{os.pathsep}{os.environ['PATH']}"
    ran = run(root, "--runner", "claude-code", "--install-agents", packages=(), PATH=path)
    assert (ran.code, "installed claude-code" in ran.err) == (0, False), ran.err


def put_on_path(folder: Path, **programs: str) -> str:
    """A PATH that begins with programs, which are lines of shell."""
    folder.mkdir(exist_ok=True)
    for name, script in programs.items():
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)
    return f"{folder}{os.pathsep}{os.environ['PATH']}"


def test_an_agent_that_does_not_start_with_this_node_is_told_before_its_first_session(root, tmp_path):
    """The program on the PATH is one of npm's package, which needs a newer Node.js."""
    (root / "skillgym.config.yaml").unlink()
    package = {"name": "@anthropic-ai/claude-code", "version": "2.1.332", "engines": {"node": ">=22.0.0"}}
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "package.json").write_text(json.dumps(package))
    dies = f"[ $# = 1 ] || touch {tmp_path}/paid; exit 1"
    path = put_on_path(tmp_path / "bin", claude=dies, node="echo v20.20.2")
    ran = run(root, "--runner", "claude-code", packages=(), PATH=path)
    (result,) = results(root)
    assert (ran.code, result["failureClass"]["id"], result["attempts"]) == (3, "agent-missing", [])
    assert result["error"]["message"] == (
        f"claude-code: {tmp_path}/bin/claude does not start: @anthropic-ai/claude-code 2.1.332 needs Node.js >=22.0.0, "
        "and PATH has 20.20.2; put a Node.js of such a version on the PATH, or set a version of the agent that needs "
        "no newer one"
    )
    assert not (tmp_path / "paid").exists()


def test_an_agent_that_starts_with_an_older_node_runs_with_a_note(root, tmp_path):
    old = stand_in("claude-code", "9.9.9", engines={"node": ">=99.0.0"})
    ran = run(root, "--install-agents", packages=(old,))
    assert ran.code == 0, ran.err
    note = r"note: claude-code: @anthropic-ai/claude-code 9\.9\.9 needs Node\.js >=99\.0\.0, and PATH has \d+\.\d+\.\d+"
    assert len(re.findall(rf"^{note}; it starts all the same$", ran.err, re.MULTILINE)) == 1


def test_opencode_without_ripgrep_is_told_before_its_first_session(root, tmp_path):
    (root / "skillgym.config.yaml").unlink()
    cannot = f'[ "$1" = debug ] && exit 1; touch {tmp_path}/paid'
    # A PATH on which no ripgrep of the machine is.
    path = put_on_path(tmp_path / "bin", opencode=cannot).partition(os.pathsep)[0] + f"{os.pathsep}{tools(tmp_path)}"
    ran = run(root, "--runner", "opencode:openai/m", packages=(), OPENAI_API_KEY="k", PATH=path)
    (result,) = results(root)
    assert (ran.code, result["failureClass"]["id"], result["attempts"]) == (3, "agent-missing", [])
    assert result["error"]["message"] == (
        "opencode needs rg, which is not on PATH, and which it could not download; install rg where PATH finds it"
    )
    assert not (tmp_path / "paid").exists()


def tools(folder: Path) -> Path:
    """A folder with the programs that runs need."""
    (folder / "tools").mkdir()
    for name in ("sh", "git", "cat", "touch", "id", "env"):
        found = shutil.which(name)
        assert found is not None
        (folder / "tools" / name).symlink_to(found)
    return folder / "tools"


def test_an_agent_that_cannot_be_installed_costs_its_own_executions(root):
    files = {
        "skillgym.config.yaml": config({"agent": {"type": "command", "command": "echo done > out.txt"}}, claude=CLAUDE)
    }
    repository(root, files)
    ran = run(root, "--install-agents", packages=())
    assert ran.code == 3
    told = {result["runnerId"]: result for result in results(root)}
    assert told["sh"]["status"] == "passed"
    assert told["claude"]["failureClass"] == {"id": "agent-missing", "label": "Agent missing"}
    message = "cannot install @anthropic-ai/claude-code@9.9.9: npm's registry does not have it"
    assert told["claude"]["error"]["message"].startswith(message)
    assert f"    {message}\n" in ran.err
    assert "Traceback" not in ran.err


def test_two_runners_of_one_agent_install_it_once(root):
    two = config(a=CLAUDE, b={"agent": {"type": "claude-code", "version": "9.9.9", "model": "m"}})
    repository(root, {"skillgym.config.yaml": two})
    ran = run(root, "--install-agents")
    assert ran.code == 0, ran.err
    assert ran.err.count("installed claude-code") == 1


@pytest.mark.parametrize(
    ("configured", "told"),
    [
        pytest.param(
            {"type": "claude-code", "version": "9.9.8"},
            "claude-code: version 9.9.8 is not installed; use --install-agents, "
            "or skillgym-action doctor --install claude-code@9.9.8",
            id="not in this version",
        ),
    ],
)
def test_nothing_is_installed_without_being_asked(root, configured, told):
    repository(root, {"skillgym.config.yaml": config(claude={"agent": configured})})
    ran = run(root)
    assert ran.code == 3
    assert f"    {told}\n" in ran.err


@pytest.mark.parametrize(("inputs", "code"), [({}, 0), ({"install-agents": "false"}, 3)])
def test_the_action_installs_unless_it_is_told_not_to(root, inputs, code):
    quiet = {"comment": "off", "status": "off", **inputs}
    with NpmRegistry(NINE) as registry:
        agents = {"PATH": without("claude"), "SKILLGYM_AGENTS_DIR": str(root.with_name("agents")), **KEY}
        found = step(root, None, quiet, **registry.settings, **agents)
    assert found.code == code, found.said
    assert ("installed claude-code 9.9.9 in " in found.said) == (code == 0)


def test_nothing_is_installed_for_a_runner_that_nothing_runs_on(root):
    ran = run(root, "--install-agents", "--dry-run")
    assert (ran.code, ran.err) == (0, "")
    assert not root.with_name("agents").exists()


@pytest.mark.parametrize(
    ("agent", "told"),
    [
        pytest.param(
            {"type": "claude-code", "version": "latest"},
            "runners.claude.agent.version: 'latest' is not an exact version, such as 1.2.3",
            id="a tag",
        ),
        pytest.param(
            {"type": "command", "version": "9.9.9", "command": "true"},
            "runners.claude.agent: version has no effect, since command names its program; remove version",
            id="of a command",
        ),
    ],
)
def test_a_version_that_means_nothing_is_an_error(root, agent, told):
    repository(root, {"skillgym.config.yaml": config(claude={"agent": agent})})
    ran = run(root)
    assert ran.code == 2
    assert told in ran.err


NEEDS = "claude-code has no account to use: "


def test_an_agent_without_its_key_is_neither_installed_nor_started(root):
    ran = run(root, "--install-agents", ANTHROPIC_API_KEY="")
    assert ran.code == 3
    (result,) = results(root)
    assert result["failureClass"]["id"] == "auth"
    assert result["error"]["message"].startswith(f"{NEEDS}run `claude` once to log in, or set ANTHROPIC_API_KEY or ")
    assert not root.with_name("agents").exists()


@pytest.mark.parametrize(("package", "code"), [("@anthropic-ai/claude-code", 3), ("our-wrapper", 0)])
def test_the_cli_on_path_is_not_started_without_an_account_unless_it_may_be_a_wrapper(root, tmp_path, package, code):
    (root / "skillgym.config.yaml").unlink()
    path = put_on_path(tmp_path / "bin", claude=stand_in("claude-code").files["cli.sh"])
    (tmp_path / "bin" / "package.json").write_text(json.dumps({"name": package, "version": "2.1.332"}))
    ran = run(root, "--runner", "claude-code", packages=(), PATH=path, ANTHROPIC_API_KEY="")
    assert ran.code == code, ran.err
    (result,) = results(root)
    assert (result.get("failureClass") or {}).get("id") == ("auth" if code else None)
    assert (result["attempts"] == []) == bool(code)


def test_the_action_names_the_secret_and_where_it_belongs(root):
    with NpmRegistry(NINE) as registry:
        agents = {"PATH": without("claude"), "SKILLGYM_AGENTS_DIR": str(root.with_name("agents"))}
        found = step(root, None, {"comment": "off", "status": "off"}, **registry.settings, **agents)
        assert registry.requests == []
    assert found.code == 3, found.said
    example = "`env: {ANTHROPIC_API_KEY: ${{ secrets.ANTHROPIC_API_KEY }}}`"
    assert f"{NEEDS}create the secret and pass it to this step, {example}; workflows of forks" in found.said
    assert example in html.unescape(found.summary)


@pytest.mark.parametrize(
    ("agent", "env", "files"),
    [
        pytest.param({}, {"CLAUDE_CODE_OAUTH_TOKEN": "t"}, {}, id="the other key"),
        pytest.param(
            {"env": {"CLAUDE_CODE_USE_BEDROCK": "1", "AWS_REGION": "r", "AWS_PROFILE": "p"}},
            {},
            {},
            id="variables of the runner",
        ),
        pytest.param(
            {}, {}, {".claude/settings.json": '{"apiKeyHelper": "./key.sh"}'}, id="a helper in the repository"
        ),
    ],
)
def test_an_agent_that_may_have_a_key_is_started(root, agent, env, files):
    claude = {"agent": {**CLAUDE["agent"], **agent}}
    repository(root, {"skillgym.config.yaml": config(claude=claude), **files})
    ran = run(root, "--install-agents", **{"ANTHROPIC_API_KEY": "", **env})
    assert ran.code == 0, ran.err


def cached(root: Path, *packages: Package, cache: str = "skillgym-agents", job: str) -> Step:
    """A step of a job on a machine of its own, whose temporary folder outlives it."""
    (root.parent / "temp").mkdir(exist_ok=True)
    quiet = {"comment": "off", "status": "off", "agents-cache": cache}
    with NpmRegistry(*packages) as registry:
        folders = {"SKILLGYM_AGENTS_DIR": str(root.with_name(job)), "RUNNER_TEMP": str(root.with_name("temp"))}
        return step(root, None, quiet, **registry.settings, **folders, **KEY, PATH=without("claude"))


def test_a_later_job_gets_the_agents_of_the_cache(root):
    first = cached(root, NINE, job="first")
    assert (first.code, "installed claude-code 9.9.9 in " in first.said) == (0, True), first.said
    second = cached(root, job="second")
    assert (second.code, "restored claude-code 9.9.9 in " in second.said) == (0, True), second.said


@pytest.mark.parametrize("variable", ["SKILLGYM_AGENTS_CACHE", "SKILLGYM_AGENTS_DIR"])
def test_agents_of_the_checkout_are_refused(root, variable):
    found = step(root, None, {"comment": "off", "status": "off"}, **{variable: str(root / ".agents-cache")}, **KEY)
    assert found.code == 2
    assert f"{root}/.agents-cache is in the checkout, where a commit could put programs" in found.said


def test_also_through_a_link_or_by_dots(root):
    (root.parent / "temp").mkdir()
    (root.parent / "temp" / "link").symlink_to(root)
    for named in ("link/agents", "../repository/agents"):
        found = cached(root, cache=named, job="first")
        assert (found.code, "is in the checkout" in found.said) == (2, True), found.said
