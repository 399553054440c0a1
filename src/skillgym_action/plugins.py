"""What a plug-in may import: a package that adds an agent, a format, a reporter or a sandbox. Nothing else is stable.

``API`` is the number of this interface; the module of a plug-in says ``API = 1`` in figures, and not ``API = API``.
``check_agent``, ``check_format`` and ``check_reporter`` are for tests of plug-ins: they return what is wrong.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from skillgym_action.agents import Agent, AgentInfo, EventReader
from skillgym_action.agents.defaults import (
    StreamParser,
    Tools,
    cli_invocation,
    lines_of,
    no_event_reader,
    no_progress,
    reported,
    started_again,
    streamed_events,
)
from skillgym_action.agents.families import Family
from skillgym_action.agents.output.agent_output import EventLog
from skillgym_action.agents.output.lenient_json import LenientJson, json_object
from skillgym_action.agents.output.trouble_signs import crashed
from skillgym_action.model.assertion import Assertion, AssertionContext
from skillgym_action.model.errors import Location, Problem, SandboxError, SuiteError
from skillgym_action.model.judgement import Failure, Judgement, Outcome
from skillgym_action.model.plugin_table import API
from skillgym_action.model.records import record
from skillgym_action.model.report import Decision, RunReport
from skillgym_action.model.result import Result
from skillgym_action.model.runner import Runner
from skillgym_action.model.session import AgentConfig, Capture, Ending, Invocation, Output, Progress, Session
from skillgym_action.model.session_report import (
    Command,
    Cost,
    Event,
    FileRead,
    FileWrite,
    Message,
    Raw,
    SkillSignal,
    ToolCall,
    ToolResult,
    Transcript,
    Trouble,
    Usage,
)
from skillgym_action.model.suite import BenchmarkCase, BenchmarkSuite, Invalid, NotASuite, WorkspaceSpec
from skillgym_action.model.verdicts import TROUBLES, Status
from skillgym_action.pipeline.stages.load import SuiteFileAccess
from skillgym_action.reports import Reporter
from skillgym_action.suites import Format, SuiteFile
from skillgym_action.system.containers import Sandbox, SandboxContainer, SandboxSettings
from skillgym_action.text.escaping import (
    html_text,
    markdown_code_block,
    markdown_code_span,
    markdown_inline,
    terminal_line,
    terminal_text,
    xml_text,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = [
    "API", "Agent", "AgentConfig", "AgentInfo", "Assertion", "AssertionContext", "BenchmarkCase", "BenchmarkSuite",
    "Capture", "Command", "Cost", "Ending", "Event", "EventLog", "EventReader", "Family", "FileRead", "FileWrite",
    "Format", "Invalid", "Invocation", "LenientJson", "Location", "Message", "NotASuite", "Outcome", "Output",
    "Problem", "Progress", "Raw", "Reporter", "Result", "RunReport", "Sandbox", "SandboxContainer", "SandboxError",
    "SandboxSettings", "Session", "SkillSignal", "Status", "StreamParser", "SuiteError", "SuiteFile", "ToolCall",
    "ToolResult", "Tools", "Transcript", "Trouble", "Usage", "WorkspaceSpec", "check_agent", "check_format",
    "check_reporter", "cli_invocation", "crashed", "html_text", "json_object", "lines_of", "markdown_code_block",
    "markdown_code_span", "markdown_inline", "no_event_reader", "no_progress", "reported", "started_again",
    "streamed_events", "terminal_line", "terminal_text", "xml_text",
]  # fmt: skip

HOSTILE = "\x1b[31m\r::error::<b>`x` |\0\u202e\n##[group]\ud800"
UNEXPECTED = ("", "\0\x1b[31m{\n", '{"type": 1}\n[1]\n"x"\nnull\n{"type": "of a later version"}\n', "[" * 5_000)


@record(kw_only=False)
class _Printed:
    text: str

    def lines(self) -> Iterator[str]:
        yield from self.text.splitlines()

    def tail(self, size: int) -> str:
        return self.text[-size:]


def _ended(text: str, ending: Ending = Ending.EXITED, exit_code: int = 0) -> Capture:
    return Capture(ending=ending, exit_code=exit_code, stdout=_Printed(text), stderr=_Printed(""), seconds=1.0)


def check_agent(agent: Agent, recorded: Iterable[str]) -> list[str]:
    """What is wrong with an agent, a sentence each. ``recorded``: what its CLI printed in sessions, to stdout.

    An agent passes the prompt on, starts in the workspace, reads each recording, and knows that it was killed. An error
    that it raises for some output is raised.
    """
    session = Session(
        agent=AgentConfig(type="of-a-plug-in", command=("program",)),
        prompt="Do one thing.",
        case_id="case",
        key=("suite", "case", "runner", "1"),
        workspace=Path("/session/workspace"),
        home=Path("/session/home"),
        scratch=Path("/session/scratch"),
        timeout=60.0,
    )
    found = []
    for name, started in (("invocation", agent.invocation(session)), ("resume", agent.resume(session, "id"))):
        if (started.cwd, started.timeout) != (session.workspace, session.timeout):
            found.append(f"{name}: the folder or the timeout is not that of the session")
        if not any(session.prompt in text for text in (*started.argv, started.stdin or "", *started.files.values())):
            found.append(f"{name}: the prompt is not in the arguments, on stdin, or in a file")
    whole = list(recorded)
    for text in (*whole, *(text[: len(text) // 2] for text in whole), *UNEXPECTED):
        transcript = agent.transcript(_ended(text), session)
        trouble, reader = agent.trouble(_ended(text), transcript), agent.event_reader(session)
        for line in text.splitlines():
            agent.progress(line)
            if reader:
                reader.read_line(line)
        wrong = [f"{event!r} is not an event" for event in transcript.events if not isinstance(event, Event)]
        wrong += [f"the trouble {trouble.kind} is unknown"] if trouble and trouble.kind not in TROUBLES else []
        wrong += ["nothing was read"] if text in whole and not (transcript.events or trouble) else []
        found += [f"{text[:40]!r}: {what}" for what in wrong]
    killed = _ended("", Ending.SIGNALLED, -9)
    if agent.trouble(killed, agent.transcript(killed, session)) is None:
        found.append("a process that was killed and printed nothing has no trouble")
    return found


def check_format(format_: Format, root: Path, suites: Iterable[str], mistakes: Iterable[str]) -> list[str]:
    """What is wrong with a format, a sentence each. The paths of files are relative to ``root``.

    A format accepts and reads each of ``suites``, which are no programs. Of ``mistakes``, files with one mistake each,
    it raises SuiteError or returns an invalid case or suite, which names the file. Other errors are raised.
    """
    found, sound = [], tuple(suites)
    no_programs: Any = SimpleNamespace(cancelled=False)
    for path in (*sound, *mistakes):
        if not format_.accepts(path, (root / path).read_text(encoding="utf-8")[: 64 * 1024]):
            found.append(f"{path}: is not accepted")
        try:
            suite = format_.suite(SuiteFileAccess(path=path, file=root / path, hosts=no_programs, environment={}))
            problems = [invalid.problem for invalid in suite.invalid]
            if suite.path != path or not (suite.cases or problems):
                found.append(f"{path}: the suite has another path, or no case")
        except SuiteError as error:
            problems = list(error.problems)
        if path in sound:
            found += [f"{path}: {problem}" for problem in problems]
        elif not problems or any(problem.location is None for problem in problems):
            found.append(f"{path}: the mistake is not reported with its place")
    return found


def check_reporter(render: Reporter) -> list[str]:
    """What is wrong with a reporter, a sentence each: for a run with every status and hostile texts, and an empty run.

    A reporter yields texts, without control characters other than line feeds and tabs. An error of it is raised.
    """
    suite = BenchmarkSuite(path="core.json", file=Path("/repository/core.json"), name=HOSTILE, format="x-bench")
    runner = Runner(id="runner", path_key="runner", agent=AgentConfig(type="command", model=HOSTILE))
    failure = Failure(name="Failure", message=HOSTILE, location=Location(path="core.json", line=1))
    outcome = Outcome(assertion=HOSTILE, type="FileExists", passed=False, explanation=HOSTILE, evidence=HOSTILE)
    judged = Judgement(status=Status.FAILED, outcomes=(outcome,), failure=failure, reason=HOSTILE)
    results = tuple(
        Result(index=at, suite=suite, case_id=f"{at}{HOSTILE}", runner=runner, judgement=replace(judged, status=status))
        for at, status in enumerate(Status)
    )
    report = RunReport(
        id="run",
        version="1.0.0",
        command="run",
        started_at="2025-01-02T03:04:05Z",
        ended_at="2025-01-02T03:04:06Z",
        duration_ms=1000,
        results=results,
        suites=(suite,),
        runners=(runner,),
        warnings=(Problem(message=HOSTILE),),
        decision=Decision(verdict="failed", exit_code=1, reasons=(HOSTILE,)),
    )
    text = "".join((*render(report), *render(replace(report, results=()))))
    controls = sorted({letter for letter in text if ord(letter) < ord(" ") and letter not in "\n\t"})
    return [f"the text has the control characters {controls!r}"] if controls else []
