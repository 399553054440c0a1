"""What most agents do in the same way; an adapter assigns what fits it, as in ``trouble = reported``."""

from __future__ import annotations

import re
from dataclasses import field, replace
from typing import TYPE_CHECKING, ClassVar

from skillgym_action.agents.output.agent_output import TranscriptParser
from skillgym_action.agents.output.lenient_json import LenientJson, json_object
from skillgym_action.model.records import record
from skillgym_action.model.session import Invocation
from skillgym_action.model.session_report import Command, FileRead, FileWrite, SkillSignal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from skillgym_action.agents.output.agent_output import Effect
    from skillgym_action.model.session import Capture, Progress, Session
    from skillgym_action.model.session_report import Transcript, Trouble

PATCHED_FILE = re.compile(r"^\*\*\* (?:Add File|Update File|Move to): (.+)$", re.MULTILINE)


# --- starting ---------------------------------------------------------------------------------------


def cli_invocation(
    session: Session,
    argv: tuple[str, ...],
    *,
    last: tuple[str, ...] = (),
    env: Mapping[str, str] | None = None,
    files: Mapping[Path, str] | None = None,
    collect: tuple[str, ...] = (),
) -> Invocation:
    """The process of a CLI with the session's model, arguments, private home and prompt.

    ``argv``: program and options, of which the runner's ``command`` replaces the program; ``last``: what follows the
    runner's arguments. The prompt is written to stdin. ``env`` is added to HOME; the runner's own variables win.
    ``files`` and ``collect``: as in Invocation. A file with credentials is copied into the home.
    """
    agent = session.agent
    copies = {name: session.home / f".{name.lower()}.json" for name in agent.account.contents}
    program, *options = argv
    model = ("--model", agent.model) if agent.model else ()
    return Invocation(
        argv=(*(agent.command or (program,)), *options, *model, *agent.command_args, *last),
        cwd=session.workspace,
        timeout=session.timeout,
        stdin=session.prompt,
        env={
            "HOME": str(session.home),
            **(env or {}),
            **agent.env,
            **agent.account.env,
            **{name: str(path) for name, path in copies.items()},
        },
        files={
            **(files or {}),
            **{path: agent.account.contents[name] for name, path in copies.items()},
            **{session.home / name: text for name, text in agent.account.home.items()},
        },
        collect=collect,
    )


def started_again(invocation: Callable[[Session], Invocation]) -> Callable[[Session, str], Invocation]:
    """``resume`` of agents that keep no sessions: the process is started again, with the new prompt."""

    def resume(session: Session, session_id: str) -> Invocation:  # noqa: ARG001 - there is no session to continue
        return invocation(session)

    return resume


# --- reading ----------------------------------------------------------------------------------------


class StreamParser(TranscriptParser):
    """Builds a transcript from what an agent printed, one JSON object a line, and from the files it left.

    ``COLLECTED``: where it is set, only lines of collected files in which it is found are parsed. ``wordless``: the
    last answer has no words, which some CLIs call an error.
    """

    COLLECTED: ClassVar[re.Pattern[str] | None] = None
    wordless = False

    def begin(self, capture: Capture) -> None:
        """Read what the agent left besides its output; called before the first line of stdout."""
        for file in capture.collected:
            for line in file.lines():
                if self.COLLECTED is None or self.COLLECTED.search(line):
                    self.take_collected(json_object(line) or LenientJson({}))

    def take_collected(self, record: LenientJson) -> None:
        """Take the object of one line of a collected file."""

    def finish(self, capture: Capture) -> None:
        """Complete what has been read; called after the last line of stdout."""

    def transcript(self, capture: Capture) -> Transcript:
        """The transcript. After an answer without words, the exit code says nothing."""
        return super().transcript(replace(capture, exit_code=0) if self.wordless and self.complete else capture)


def streamed_events(parser: Callable[[], StreamParser]) -> Callable[[Capture, Session], Transcript]:
    """``transcript`` of agents that print events: read line by line; of a session that was ended early, what is there.

    ``parser`` makes a new parser for each session: its class.
    """

    def transcript(capture: Capture, session: Session) -> Transcript:  # noqa: ARG001 - all is in the output
        parsed = parser()
        parsed.begin(capture)
        parsed.read(capture.stdout)
        parsed.finish(capture)
        return parsed.transcript(capture)

    return transcript


def lines_of(parser: Callable[[], StreamParser]) -> Callable[[Session], StreamParser]:
    """``event_reader`` of agents that print events."""

    def event_reader(session: Session) -> StreamParser:  # noqa: ARG001 - all is in the output
        return parser()

    return event_reader


def no_event_reader(session: Session) -> None:  # noqa: ARG001 - the output has no events
    """``event_reader`` of agents whose events are known at the end only, or not at all."""
    return


def no_progress(line: str) -> Progress | None:  # noqa: ARG001 - the output reports no progress
    """``progress`` of agents that do not report model rounds while they run."""
    return None


def reported(capture: Capture, transcript: Transcript) -> Trouble | None:  # noqa: ARG001 - the transcript has it all
    """``trouble`` of agents whose transcript has what they reported, or else how the process ended."""
    return transcript.trouble


# --- tools ------------------------------------------------------------------------------------------


@record
class Tools:
    """The tools of an agent whose calls have effects: tool -> the argument with the command, skill, path or patch."""

    commands: Mapping[str, str] = field(default_factory=dict)
    skills: Mapping[str, str] = field(default_factory=dict)
    reads: Mapping[str, str] = field(default_factory=dict)
    writes: Mapping[str, str] = field(default_factory=dict)
    patches: Mapping[str, str] = field(default_factory=dict)

    def effects(self, tool: str, arguments: LenientJson) -> Iterator[Effect]:
        """What a call does, if it succeeds; nothing for other tools, and without the argument."""
        if (command := self._argument(self.commands, tool, arguments)) is not None:
            yield Command(command=command)
        elif skill := self._argument(self.skills, tool, arguments):
            yield SkillSignal(skill=skill.lstrip("/"), signal=f"{tool} tool")
        elif path := self._argument(self.reads, tool, arguments):
            yield FileRead(path=path)
        elif path := self._argument(self.writes, tool, arguments):
            yield FileWrite(path=path)
        elif patch := self._argument(self.patches, tool, arguments):
            for path in PATCHED_FILE.findall(patch):
                yield FileWrite(path=path)

    @staticmethod
    def _argument(names: Mapping[str, str], tool: str, arguments: LenientJson) -> str | None:
        return arguments.text(names[tool]) if tool in names else None
