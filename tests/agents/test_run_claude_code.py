"""The whole program with the real Claude Code and a scripted model: suites in, verdicts out."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from agent_clis import claude_code
from model_script import Fail, Forever, Read, Say, Shell, Skill, Step, Write
from model_server import ModelServer
from paths import DATA
from scratch import Ran, repository, skillgym

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.agents
SEED = DATA / "x-bench" / "example-suite.json"
PACKAGE = '{"name": "app", "private": true, "type": "module", "scripts": {"test": "node --test"}}'
TESTS = 'import test from "node:test";\ntest("the app works", () => {});\n'
SKILL = "---\nname: greeter\ndescription: Greets people. Use when asked for a greeting.\n---\n\n# Greeter\n\nGreet.\n"
AUTH = "export function login() {}\n"
PYTHON_SUITE = """\
from skillgym_action import Suite, Workspace, expect

workspace = Workspace(template_dir="template")
suite = Suite("greetings")


@suite.case("greets", prompt="Please greet the repository.")
def greets(report, ctx):
    assert [(found.skill, found.confidence) for found in ctx.detected_skills()] == [("greeter", "explicit")]
    assert ctx.get_commands() == ["echo greeted > greeted.txt && cat greeted.txt"]
    assert [path.rpartition("/")[2] for path in ctx.get_file_reads()] == ["notes.md", "greeted.txt"]
    expect.match(ctx.final_output(), "greeted")
    used = report.usage
    assert used.total_tokens == used.input_tokens + used.output_tokens - used.cache_tokens
    assert report.cost.usd > 0


@suite.case("claims", prompt="Please greet the repository.")
def claims(report, ctx):
    assert len(ctx.get_commands()) == 2
"""
TYPESCRIPT_SUITE = """\
import { assert, commandMatcher, type Suite, type SuiteWorkspaceConfig } from "skillgym";

export const workspace: SuiteWorkspaceConfig = { mode: "isolated", templateDir: "./template" };
const prompt = "Please greet the repository.";

const suite: Suite = {
  greets: {
    id: "greets",
    prompt,
    assert(report, ctx) {
      assert.skills.has(report, "greeter", { minConfidence: "explicit" });
      assert.skills.only(report, ["greeter"]);
      assert.commands.only(report, [/^echo greeted/]);
      assert.commands.first(report, commandMatcher("echo").arg("greeted"));
      assert.fileReads.only(report, ["notes.md"]);
      assert.toolCalls.sequence(report, [{ tool: "Skill" }, { tool: "Read" }, { tool: "Bash" }]);
      assert.toolCalls.has(report, { tool: "Skill", where: (args) => args.skill === "greeter" });
      assert.output.includes(ctx.finalOutput() && report, "greeted");
      assert.equal(report.usage.source.input, "provider");
    },
  },
  claims: {
    id: "claims",
    prompt,
    assert(report) {
      assert.classify("no tests", () => assert.commands.includes(report, commandMatcher("npm").arg("test")));
    },
  },
};
export default suite;
"""


@pytest.fixture(scope="module")
def models() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


def run(root: Path, models: ModelServer, *script: Step, options: tuple[str, ...] = ()) -> tuple[Ran, dict[str, Any]]:
    """One run of everything in ``root`` on Claude Code, whose model does what the script says; its results."""
    env = {"ANTHROPIC_API_KEY": "sk-ant-scripted-0123456789", "ANTHROPIC_BASE_URL": models.script(*script)}
    path = f"{claude_code().parent}{os.pathsep}{os.environ['PATH']}"
    ran = skillgym(
        "run", "--runner", "claude-code", "--output", "results", *options, cwd=root, limit=170, PATH=path, **env
    )
    return ran, json.loads((root / "results" / "results.json").read_text())


def results_of(results: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {result["caseId"]: result for suite in results["suites"] for result in suite["results"]}


def errors_of(results: dict[str, Any]) -> list[tuple[str, str]]:
    return [(result["status"], result["failureClass"]["id"]) for result in results_of(results).values()]


@pytest.fixture
def app(tmp_path: Path) -> Path:
    """A repository with the example suite of the format's documentation, unchanged, and tests that work."""
    files = {
        "bench/example-suite.json": SEED.read_text(),
        "bench/core.json": None,
        "skillgym.config.yaml": None,
        "package.json": PACKAGE,
        "app.test.js": TESTS,
    }
    return repository(tmp_path, files, git=True)


@pytest.fixture
def one_case(tmp_path: Path) -> Path:
    return repository(tmp_path, {"skillgym.config.yaml": None}, git=True)


def test_the_example_suite_passes_when_the_agent_does_the_work(app, models):
    ran, results = run(
        app, models, Write("src/auth.ts", AUTH), Write("test/budget.test.ts", "export {};\n"), Say("Done.")
    )
    assert ran.code == 0, ran.err
    assert {name: result["status"] for name, result in results_of(results).items()} == {
        "extract-auth": "passed",
        "add-tests": "passed",
    }
    first = results_of(results)["extract-auth"]
    assert first["costUsd"] > 0
    assert first["model"].startswith("claude-opus-4-6")
    folder = app / "results" / first["artifactDir"]
    assert (folder / "changes" / "src" / "auth.ts").read_text() == AUTH
    assert json.loads((folder / "workspace.json").read_text())["created"] == ["src/auth.ts", "test/budget.test.ts"]
    assert (folder / "session.jsonl").stat().st_size > 0
    assert json.loads((folder / "report.json").read_text())["rawArtifacts"] == {
        "stdoutPath": "stdout.log",
        "stderrPath": "stderr.log",
        "sessionPath": "session.jsonl",
    }
    assert not (app / "src").exists()


def test_the_example_suite_fails_when_the_agent_only_talks(app, models):
    ran, results = run(app, models, Say("I would extract the auth logic."))
    assert ran.code == 1
    outcomes = results_of(results)["extract-auth"]["outcomes"]
    assert [(outcome["assertion"], outcome["passed"]) for outcome in outcomes] == [
        ("file:src/auth.ts exists", False),
        ("file:src/auth.ts contains 'export function'", False),
        ("test:npm test passes", True),
    ]
    assert all(outcome["explanation"] for outcome in outcomes)


def test_a_python_suite_sees_what_the_agent_did(tmp_path, models):
    files = {
        "greetings_suite.py": PYTHON_SUITE,
        "bench/core.json": None,
        "skillgym.config.yaml": None,
        "template/.claude/skills/greeter/SKILL.md": SKILL,
        "template/notes.md": "note\n",
    }
    root = repository(tmp_path, files, git=True)
    greet = "echo greeted > greeted.txt && cat greeted.txt"
    ran, results = run(root, models, Skill("greeter"), Read("notes.md"), Shell(greet), Say("I greeted everybody."))
    assert ran.code == 1
    assert {name: result["status"] for name, result in results_of(results).items()} == {
        "greets": "passed",
        "claims": "failed",
    }
    error = results_of(results)["claims"]["error"]
    assert error["location"] == {"path": "greetings_suite.py", "line": 20, "column": 5}
    assert "assert len(ctx.get_commands()) == 2" in error["message"]


def test_a_typescript_suite_sees_what_the_agent_did(tmp_path, models):
    files = {
        "bench/greetings-suite.ts": TYPESCRIPT_SUITE,
        "bench/core.json": None,
        "skillgym.config.yaml": None,
        "bench/template/.claude/skills/greeter/SKILL.md": SKILL,
        "bench/template/notes.md": "note\n",
    }
    root = repository(tmp_path, files, git=True)
    greet = "echo greeted > greeted.txt && cat greeted.txt"
    ran, results = run(root, models, Skill("greeter"), Read("notes.md"), Shell(greet), Say("I greeted everybody."))
    assert ran.code == 1, ran.err
    found = results_of(results)
    assert (found["greets"]["status"], found["greets"].get("error")) == ("passed", None)
    claims = found["claims"]
    assert (claims["status"], claims["failureClass"]["id"]) == ("failed", "no tests")
    assert claims["error"]["location"] == {"path": "bench/greetings-suite.ts", "line": 26, "column": 57}
    assert greet in claims["error"]["message"]


@pytest.mark.parametrize(
    ("status", "kind"),
    [pytest.param(401, "auth", id="401 is auth"), pytest.param(500, "provider", id="500 is the provider's")],
)
def test_trouble_with_the_service_is_not_the_agents_failure(one_case, models, status, kind):
    ran, results = run(one_case, models, Fail(status))
    assert (ran.code, errors_of(results)) == (3, [("errored", kind)])
    assert results["totals"]["passRate"] is None


def test_an_endless_loop_ends_at_the_limit_of_steps(one_case, models):
    ran, results = run(one_case, models, Forever(Shell("echo again")), options=("--max-steps", "3"))
    assert (ran.code, errors_of(results)) == (1, [("failed", "max-steps")])
    attempt = results_of(results)["one"]["attempts"]
    assert len(attempt) == 1
    assert (one_case / "results" / attempt[0]["artifactDir"] / "stdout.log").stat().st_size > 0


def test_an_auth_failure_stops_the_runner(app, models):
    before = len(models.requests)
    _, results = run(app, models, Fail(401))
    assert errors_of(results) == [("errored", "auth"), ("errored", "auth")]
    assert "not started" in results_of(results)["add-tests"]["error"]["message"]
    assert results_of(results)["add-tests"]["attempts"] == []
    assert len(models.requests) > before


def test_the_key_is_in_no_artifact(one_case, models):
    _, results = run(one_case, models, Shell("env; echo $ANTHROPIC_API_KEY > out.txt"), Say("Done."))
    assert results_of(results)["one"]["status"] == "passed"
    holding = [
        path
        for path in (one_case / "results").rglob("*")
        if path.is_file() and b"sk-ant-scripted-0123456789" in path.read_bytes()
    ]
    assert holding == []


def test_the_key_is_in_no_report_either_when_the_agent_says_it(one_case, models):
    ran, results = run(one_case, models, Say("The key is sk-ant-scripted-0123456789, and no file was written."))
    assert results_of(results)["one"]["finalOutput"] == "The key is ***, and no file was written."
    for name in ("summary.md", "comment.md", "junit.xml"):
        assert "scripted-0123456789" not in (one_case / "results" / name).read_text()
    assert "scripted-0123456789" not in ran.out + ran.err
