"""The pinned Claude Code CLI against a scripted model: what its adapter knows is true of the real program."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from typing import TYPE_CHECKING, Any

import pytest

from agent_clis import claude_code as installed
from model_script import Fail, Read, Say, Shell, Write
from model_server import ModelServer
from sessions import session_with
from skillgym_action.agents import claude_code
from skillgym_action.effects.processes import OutputFile
from skillgym_action.normalise import session_report
from skillgym_action.session import AgentConfig, Capture, Ending, Invocation, Session
from skillgym_action.session_report import AgentRef, Command, RunnerRef, SessionReport, Trouble, Usage

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.agents
LIMIT = 90.0
SKILL = "---\nname: greeter\ndescription: Greets people. Use when asked for a greeting.\n---\n\n# Greeter\n\nGreet.\n"


class Desk:
    """A workspace and a home for one agent, and the scripted model it talks to."""

    def __init__(self, folder: Path, models: ModelServer) -> None:
        self.folder, self.models = folder, models
        self.workspace = folder / "workspace"
        skill = self.workspace / ".claude" / "skills" / "greeter"
        skill.mkdir(parents=True)
        (skill / "SKILL.md").write_text(SKILL)
        (self.workspace / "notes.md").write_text("note\n")
        (folder / "home").mkdir()

    def session(self, base_url: str, **changes: Any) -> Session:
        agent = AgentConfig(
            type="claude-code",
            command=(str(installed()),),
            model=changes.pop("model", None),
            env={"ANTHROPIC_BASE_URL": base_url, "ANTHROPIC_API_KEY": "sk-scripted"},
        )
        return session_with(agent, workspace=self.workspace, home=self.folder / "home", **changes)

    def start(self, invocation: Invocation) -> subprocess.Popen[bytes]:
        prompt = self.folder / "prompt"
        prompt.write_text(invocation.stdin or "")
        env = {"PATH": os.environ["PATH"], **invocation.env}
        with prompt.open("rb") as stdin, self.stdout.path.open("wb") as out, self.stderr.path.open("wb") as err:
            return subprocess.Popen(
                invocation.argv,
                cwd=invocation.cwd,
                env=env,
                stdin=stdin,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )

    @property
    def stdout(self) -> OutputFile:
        return OutputFile(self.folder / "stdout.log")

    @property
    def stderr(self) -> OutputFile:
        return OutputFile(self.folder / "stderr.log")

    def captured(self, process: subprocess.Popen[bytes], **changes: Any) -> Capture:
        code = process.wait(LIMIT)
        known = {"ending": Ending.EXITED, "exit_code": code, "seconds": 1.0} | changes
        return Capture(stdout=self.stdout, stderr=self.stderr, **known)

    def report(self, session: Session, invocation: Invocation | None = None) -> tuple[SessionReport, Trouble | None]:
        capture = self.captured(self.start(invocation or claude_code.invocation(session)))
        transcript = claude_code.transcript(capture, session)
        runner = RunnerRef(id="claude", path_key="claude", agent=AgentRef(type="claude-code"))
        made = session_report(transcript, capture, session, runner, started_at=None, ended_at=None)
        return made, claude_code.trouble(capture, transcript)

    def scenario(self, name: str, **changes: Any) -> tuple[SessionReport, Trouble | None]:
        return self.report(self.session(self.models.scenario(name), **changes))


@pytest.fixture(scope="module")
def models() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture
def desk(tmp_path, models) -> Desk:
    return Desk(tmp_path, models)


def commands(report: SessionReport) -> list[Command]:
    return [event for event in report.events if isinstance(event, Command)]


def test_a_shell_command(desk):
    report, trouble = desk.scenario("shell")
    assert trouble is None
    assert commands(report) == [Command(command="echo hello > out.txt && cat out.txt", exit_code=0)]
    assert (desk.workspace / "out.txt").read_text() == "hello\n"
    assert report.final_output == "skillgym ready"
    assert report.usage == Usage(
        input_tokens=2641,
        output_tokens=84,
        cache_tokens=600,
        total_tokens=2125,
        input_chars=19,
        output_chars=14,
    )
    assert (report.version, report.turns, report.cost.source) == ("2.1.197", 2, "reported")
    assert report.cost.usd == pytest.approx(0.012655)


def test_the_prompt_arrives_as_it_is(desk):
    prompt = "--help\n\n" + "long " * 40_000 + "'\"$HOME` \n end"
    report, _ = desk.scenario("plain", prompt=prompt)
    texts = [part["text"] for message in desk.models.requests[-1].body["messages"] for part in _parts(message)]
    assert prompt in texts
    assert report.prompt == prompt


def test_thinking_and_commentary_are_told_apart(desk):
    report, _ = desk.scenario("thinking")
    said = [(event.phase, event.text) for event in report.events if event.type == "message" and event.phase]
    assert said == [("thinking", "Which folder?"), ("commentary", "Let me look."), ("final", "skillgym ready")]


def test_files_read_and_written(desk):
    base_url = desk.models.script(Read("notes.md"), Read("gone.md"), Write("a/made.txt", "made\n"), Say("ok"))
    report, _ = desk.report(desk.session(base_url))
    files = [(event.type, event.path) for event in report.events if event.type in {"fileRead", "fileWrite"}]
    assert files == [("fileRead", f"{desk.workspace}/notes.md"), ("fileWrite", f"{desk.workspace}/a/made.txt")]
    assert (desk.workspace / "a" / "made.txt").read_text() == "made\n"


@pytest.mark.parametrize(("scenario", "confidence"), [("skill", "explicit"), ("skill-read", "strong")])
def test_a_skill_that_was_used(desk, scenario, confidence):
    report, _ = desk.scenario(scenario)
    assert [(found.skill, found.confidence) for found in report.detected_skills] == [("greeter", confidence)]


def test_a_failing_command_is_no_trouble(desk):
    report, trouble = desk.scenario("failing-command")
    assert trouble is None
    assert commands(report) == [Command(command="ls /no/such/dir; exit 3", exit_code=3)]


@pytest.mark.parametrize(
    ("scenario", "kind", "words"),
    [
        ("401", "auth", "401"),
        ("404", "model-rejected", "selected model"),
        ("500", "provider", "500"),
        ("cut", "network", "ECONNRESET"),
    ],
)
def test_a_model_call_that_fails_is_trouble(desk, scenario, kind, words):
    report, trouble = desk.scenario(scenario)
    assert trouble is not None
    assert (trouble.kind, words in trouble.message) == (kind, True)
    assert report.exit_code == 1


def test_a_rate_limit_that_passes_is_waited_for(desk):
    report, trouble = desk.scenario("429-twice")
    assert (trouble, report.final_output) == (None, "skillgym ready")


def test_a_rate_limit_that_stays_tells_when_to_come_back(desk):
    _, trouble = desk.report(desk.session(desk.models.script(Fail(429))))
    assert trouble is not None
    assert trouble.kind == "rate-limit"
    assert trouble.retry_after is not None
    assert trouble.retry_after >= 1.0


def test_nobody_listening_is_a_network_trouble(desk):
    _, trouble = desk.report(desk.session("http://127.0.0.1:9"))
    assert trouble is not None
    assert trouble.kind == "network"


def test_the_cli_keeps_the_budget(desk):
    _, trouble = desk.scenario("loop", budget=0.02)
    assert trouble == Trouble(kind="budget-exceeded", message="Reached maximum budget ($0.02)")


def test_a_wrong_argument_is_a_crash_that_says_why(desk):
    session = desk.session(desk.models.scenario("plain"))
    invocation = claude_code.invocation(session)
    wrong = Invocation(argv=(*invocation.argv, "--nope"), cwd=invocation.cwd, timeout=9, env=invocation.env)
    _, trouble = desk.report(session, wrong)
    assert trouble is not None
    assert trouble.kind == "runner-crash"
    assert "unknown option '--nope'" in trouble.message


def test_steps_can_be_counted_while_the_loop_runs(desk):
    session = desk.session(desk.models.scenario("loop"))
    process = desk.start(claude_code.invocation(session))
    steps: set[str] = set()
    deadline = time.monotonic() + LIMIT
    try:
        while len(steps) < 5 and time.monotonic() < deadline:
            seen = [claude_code.progress(line) for line in desk.stdout.lines()]
            steps = {progress.step for progress in seen if progress and progress.step}
            time.sleep(0.05)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
    capture = desk.captured(process, ending=Ending.SIGNALLED)
    transcript = claude_code.transcript(capture, session)
    assert len(steps) >= 5
    assert transcript.usage.input_tokens is not None
    assert transcript.usage.input_tokens >= 5 * 1320
    assert claude_code.trouble(capture, transcript) == Trouble(kind="runner-crash", message="ended by SIGKILL")


def test_an_ended_session_can_be_asked_again(desk):
    base_url = desk.models.script(Shell("echo once"), Say("first"), Say("because"))
    first, _ = desk.report(desk.session(base_url))
    assert first.session_id is not None
    session = desk.session(base_url, prompt="Why?")
    second, trouble = desk.report(session, claude_code.resume(session, first.session_id))
    assert (trouble, second.final_output) == (None, "because")
    assert second.session_id == first.session_id


def test_the_raw_session_lies_where_it_is_collected(desk):
    session = desk.session(desk.models.scenario("plain"))
    report, _ = desk.report(session)
    (pattern,) = claude_code.invocation(session).collect
    assert [path.stem for path in session.home.glob(pattern)] == [report.session_id]


def _parts(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = message["content"]
    return [part for part in content if part["type"] == "text"] if isinstance(content, list) else [{"text": content}]
