"""The pinned CLIs against a scripted model: what their adapters know is true of the real programs."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import psutil
import pytest

from agent_clis import ALWAYS, QUICK, agent_cli, more_agents, search_path, version_under_test
from agent_desk import KEY, MODELS, Desk, wiring
from model_script import Forever, Read, Say, Shell, Step, Together, Write
from model_server import ModelServer
from scratch import Ran, repository, skillgym
from skillgym_action.model.session_report import Command, SessionReport, Trouble
from skillgym_action.system.processes.outputs import OutputFile

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.agents
# Tokens of two rounds: input, cached, output, reasoning. The service told each agent the same.
TOKENS = {
    "claude-code": (2641, 600, 84, None),
    "codex": (2001, 600, 74, 10),
    "pi": (2001, 600, 74, 10),
    "opencode": (2001, 600, 74, 10),
    "copilot": (2001, 600, 74, 10),
    "gemini": (2001, 600, 84, 10),
    "qwen": (2001, 600, 84, None),
}
# The others load skills with a tool for it.
SURE = {"codex": "strong", "pi": "strong"}
REFUSALS = {"opencode": "--auto"}
# Its own record of sessions is a database; what it prints tells all that is in there.
RECORDLESS = ("opencode",)


@pytest.fixture(scope="module")
def models() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture(params=[pytest.param(agent, marks=() if agent in ALWAYS else more_agents) for agent in MODELS])
def desk(request: pytest.FixtureRequest, tmp_path: Path, models: ModelServer) -> Desk:
    return Desk(request.param, tmp_path, models)


def commands(report: SessionReport) -> list[Command]:
    return [replace(event, at=None) for event in report.events if isinstance(event, Command)]


def test_a_shell_command(desk):
    report, trouble = desk.scenario("shell")
    assert trouble is None
    assert commands(report) == [Command(command="echo hello > out.txt && cat out.txt", exit_code=0)]
    assert (desk.workspace / "out.txt").read_text() == "hello\n"
    assert report.final_output == "skillgym ready"
    assert report.session_id
    used = report.usage
    assert (used.input_tokens, used.cache_tokens, used.output_tokens, used.reasoning_tokens) == TOKENS[desk.agent]
    assert report.turns == 2
    assert report.cost.usd is not None


def test_the_prompt_arrives_as_it_is(desk):
    prompt = "--help\n\n" + "long " * 40_000 + "'\"$HOME` \n end"
    report, _ = desk.scenario("plain", prompt=prompt)
    assert json.dumps(prompt)[1:-1] in json.dumps(desk.models.requests[-1].body)
    assert report.prompt == prompt


def test_files_read_and_written(desk):
    read, made = str(desk.workspace / "notes.md"), str(desk.workspace / "made.txt")
    report, trouble = desk.report(
        desk.session(desk.models.script(Read(read), Write(made, "made\n"), Say("skillgym ready")))
    )
    assert trouble is None
    assert report.files.observed_reads == (read,)
    assert (desk.workspace / "made.txt").read_text() == "made\n"


def test_a_skill_that_was_used(desk):
    report, trouble = desk.scenario("skill")
    assert trouble is None
    assert [(found.skill, found.confidence) for found in report.detected_skills] == [
        ("greeter", SURE.get(desk.agent, "explicit"))
    ]


def test_the_skills_of_the_workspace_are_on_offer(desk):
    desk.scenario("plain")
    assert "Greets people. Use when asked for a greeting." in json.dumps(desk.models.requests[-1].body)


def test_thinking_and_commentary_are_told_apart(desk):
    report, _ = desk.scenario("thinking")
    said = [(event.phase, event.text) for event in report.events if event.type == "message" and event.phase]
    assert said == [("thinking", "Which folder?"), ("commentary", "Let me look."), ("final", "skillgym ready")]


def test_a_failing_command_is_no_trouble(desk):
    report, trouble = desk.scenario("failing-command")
    assert trouble is None
    assert commands(report) == [Command(command="ls /no/such/dir; exit 3", exit_code=3)]


def test_a_rate_limit_that_passes_is_waited_for(desk):
    report, trouble = desk.scenario("429-twice")
    assert (trouble, report.final_output) == (None, "skillgym ready")


def test_a_wrong_argument_is_a_crash_that_says_why(desk):
    session = desk.session(desk.models.scenario("plain"))
    wrong = replace(session, agent=replace(session.agent, command_args=("--nope",)))
    _, trouble = desk.report(wrong)
    assert trouble is not None
    assert trouble.kind == "runner-crash"
    assert REFUSALS.get(desk.agent, "nope") in trouble.message


def test_an_ended_session_can_be_asked_again(desk):
    base_url = desk.models.script(Shell("echo once"), Say("first"), Say("because"))
    first, _ = desk.report(desk.session(base_url))
    session = desk.session(base_url, prompt="Why?")
    second, trouble = desk.report(session, desk.adapter.resume(session, str(first.session_id)))
    assert (trouble, second.final_output) == (None, "because")
    assert second.session_id == first.session_id


def test_the_raw_session_lies_where_it_is_collected(desk):
    session = desk.session(desk.models.scenario("plain"))
    report, _ = desk.report(session)
    found = [str(path) for path in desk.collected(desk.adapter.invocation(session))]
    assert len(found) == (desk.agent not in RECORDLESS)
    assert all(str(report.session_id)[:8] in path for path in found)


def test_a_session_that_is_killed_tells_what_it_had_done(desk):
    session = desk.session(desk.models.scenario("loop"))
    invocation = desk.adapter.invocation(session)
    steps: set[str] = set()

    def enough(line: str) -> Trouble | None:
        progress = desk.adapter.progress(line)
        if progress and progress.step:
            steps.add(progress.step)
        elif desk.agent == "gemini" and '"tool_use"' in line:
            steps.add(line)
        return Trouble(kind="max-steps", message="enough") if len(steps) == 4 else None

    enough.finished, enough.may_stop = False, True
    report, _ = desk.report(session, invocation, watch=enough)
    assert len(commands(report)) >= 3
    assert report.usage.input_tokens >= 3 * 1000
    assert report.session_id


def test_nobody_is_called_but_the_model(desk):
    """Whatever else the CLI wants of the network would ask the proxy for it."""
    session = desk.session(desk.models.scenario("shell"))
    proxy = {"HTTPS_PROXY": desk.models.proxy, "HTTP_PROXY": desk.models.proxy, "NO_PROXY": "127.0.0.1"}
    invocation = desk.adapter.invocation(session)
    report, trouble = desk.report(session, replace(invocation, env={**proxy, **invocation.env}))
    assert (trouble, report.final_output) == (None, "skillgym ready")
    assert desk.models.refused == []


# --- the whole program ------------------------------------------------------------------------------


@pytest.fixture
def one_case(tmp_path: Path) -> Path:
    return repository(tmp_path / "repository", {"skillgym.config.yaml": None}, git=True)


def run(root: Path, desk: Desk, *script: Step, options: tuple[str, ...] = ()) -> tuple[Ran, dict[str, Any]]:
    """One run of a case on the agent whose model does what the script says; the case's result."""
    runner = desk.agent + (f":{MODELS[desk.agent]}" if MODELS[desk.agent] else "")
    env = wiring(desk.agent, desk.models.script(*script)) | {"PATH": search_path(agent_cli(desk.agent).parent)}
    ran = skillgym("run", "--runner", runner, "--output", "results", *options, cwd=root, **env)
    results = json.loads((root / "results" / "results.json").read_text())
    ((result,),) = [suite["results"] for suite in results["suites"]]
    return ran, result


def error_of(result: dict[str, Any]) -> tuple[str, str]:
    return result["status"], result["failureClass"]["id"]


def test_a_case_passes_and_its_session_is_kept_without_the_key(one_case, desk):
    ran, result = run(one_case, desk, Shell("env > out.txt"), Say("Done."))
    assert (ran.code, result["status"]) == (0, "passed"), ran.err
    folder = one_case / "results" / result["artifactDir"]
    assert (folder / ("stdout.log" if desk.agent in RECORDLESS else "session.jsonl")).stat().st_size > 0
    holding = [path for path in folder.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]
    assert holding == []


def test_an_endless_loop_ends_at_the_limit_of_steps(one_case, desk):
    again = Forever(Together((Say("Once more."), Shell("echo again"))))
    ran, result = run(one_case, desk, again, options=("--max-steps", "3"))
    assert (ran.code, error_of(result)) == (1, ("failed", "max-steps"))
    (attempt,) = result["attempts"]
    assert (one_case / "results" / attempt["artifactDir"] / "stdout.log").stat().st_size > 0


def test_a_session_that_takes_too_long_ends_with_everything_it_started(one_case, desk, tmp_path):
    held = tmp_path / "held"
    held.touch()
    orphan = Shell(f"setsid tail -f {held} > /dev/null 2>&1 & tail -f {held}")
    ran, result = run(one_case, desk, orphan, options=("--timeout", "30" if desk.agent in QUICK else "60"))
    assert (ran.code, error_of(result)) == (1, ("failed", "timeout"))
    report = json.loads((one_case / "results" / result["artifactDir"] / "report.json").read_text())
    assert {event["command"] for event in report["events"] if event["type"] == "command"} == {orphan.command}
    alive = [process.info["cmdline"] or [] for process in psutil.process_iter(["cmdline"])]
    assert [argv for argv in alive if str(held) in argv] == []


# --- of one agent only ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "agent",
    ["claude-code", *(pytest.param(agent, marks=more_agents) for agent in ("codex", "opencode", "copilot", "qwen"))],
)
def test_the_version_that_ran_is_known(tmp_path, models, agent):
    report, _ = Desk(agent, tmp_path, models).scenario("plain")
    assert report.version == version_under_test(agent)


@more_agents
def test_codex_tells_the_model_it_chose_and_commands_that_it_runs_from_a_program(tmp_path, models):
    report, trouble = Desk("codex", tmp_path, models).scenario("failing-command", model=None)
    assert trouble is None
    assert report.model
    assert commands(report) == [Command(command="ls /no/such/dir; exit 3", exit_code=3)]


@more_agents
def test_a_patch_of_codex_is_files_written(tmp_path, models):
    desk = Desk("codex", tmp_path, models)
    patch = "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: made.txt\n+made\n*** End Patch\nEOF"
    report, _ = desk.report(desk.session(models.script(Shell(patch), Say("ok"))))
    written = [event.path for event in report.events if event.type == "fileWrite"]
    assert written == [str(desk.workspace / "made.txt")]


@more_agents
def test_pi_talks_to_anthropic_too_and_knows_no_price_of_a_model_it_does_not_know(tmp_path, models):
    desk = Desk("pi", tmp_path, models)
    env = wiring("claude-code", models.scenario("shell"))
    report, trouble = desk.report(desk.session("", model="anthropic/claude-nobody-knows", env=env))
    assert (trouble, report.final_output) == (None, "skillgym ready")
    assert "Using custom model id" in OutputFile(tmp_path / "stderr.log").tail(1000)
    assert report.cost.source == "unknown"
    assert report.usage.input_tokens == 2641


@more_agents
def test_qwen_asks_the_model_nothing_but_what_the_session_is_about(tmp_path, models):
    asked = len(models.requests)
    report, _ = Desk("qwen", tmp_path, models).scenario("plain")
    assert (report.final_output, len(models.requests) - asked) == ("skillgym ready", 1)
