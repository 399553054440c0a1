"""Any program that stands in for an agent: its command line with placeholders, its output as text or as events.

Placeholders: ``{prompt} {prompt_file} {workspace} {model} {case_id} {output_file}``; a program that takes the prompt
by none of them finds it on stdin. With ``output: events`` each line of stdout is an event of a session report in JSON,
or one of

    {"type": "step", "id": "1", "usage": {…}, "model": "…"}             a model round, for the limits
    {"type": "session", "usage": {…}, "cost": {…}, "finalOutput": "…"}   also model, turns, sessionId
    {"type": "error", "class": "rate-limit", "message": "…", "retryAfter": 5}
"""

from __future__ import annotations

import re
import shlex
from dataclasses import fields, replace
from typing import TYPE_CHECKING

from skillgym_action.agents.defaults import reported, started_again
from skillgym_action.agents.output.agent_output import Events, round_usage
from skillgym_action.agents.output.lenient_json import LenientJson, json_object, shortened
from skillgym_action.agents.output.trouble_signs import brief, crashed, is_killed, kind_of_text, stderr_words
from skillgym_action.model.errors import ConfigError, closest_match
from skillgym_action.model.json_codec import from_json
from skillgym_action.model.limits import MAX_JSON_TEXT_CHARACTERS
from skillgym_action.model.session import Invocation, Progress
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
from skillgym_action.model.verdicts import TROUBLES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from skillgym_action.model.session import Capture, Output, Session

PLACEHOLDERS = ("prompt", "prompt_file", "workspace", "model", "case_id", "output_file")
PLACEHOLDER = re.compile(rf"\{{({'|'.join(PLACEHOLDERS)})\}}")
_IN_BRACES = re.compile(r"(?<!\$)\{([A-Za-z_]+)\}")  # not ${NAME}, a variable of the shell
_LIKENESS = 0.7  # 0 to 1; other words in braces are of the shell, of awk or of the program
OUTPUT_FILE = "output.txt"
EVENTS: dict[str, type[Event]] = {
    "message": Message,
    "toolCall": ToolCall,
    "toolResult": ToolResult,
    "command": Command,
    "fileRead": FileRead,
    "fileWrite": FileWrite,
    "skillSignal": SkillSignal,
}
LEFT_OUT = "[the middle of the output is left out here]"
LEAVES: dict[str, type | tuple[type, ...]] = {
    "str": str,
    "str | None": (str, type(None)),
    "int | None": (int, type(None)),
    "bool | None": (bool, type(None)),
}


def invocation(session: Session) -> Invocation:
    """Raises ConfigError when the runner names no command."""
    agent = session.agent
    if not agent.command:
        raise ConfigError("an agent of type 'command' needs a command", remedy="set agent.command in the configuration")
    prompt_file = session.scratch / "prompt.txt"
    values = {
        "prompt": session.prompt,
        "prompt_file": str(prompt_file),
        "workspace": str(session.workspace),
        "model": agent.model or "",
        "case_id": session.case_id,
        "output_file": str(session.home / OUTPUT_FILE),
    }
    used = {name for part in (*agent.command, *agent.command_args) for name in PLACEHOLDER.findall(part)}
    return Invocation(
        argv=_shell_argv(session, values) if agent.shell else _argv(session, values),
        cwd=session.workspace,
        timeout=session.timeout,
        stdin=None if used & {"prompt", "prompt_file"} else session.prompt,
        env={"HOME": str(session.home), **agent.env},
        files={prompt_file: session.prompt} if "prompt_file" in used else {},
        collect=(OUTPUT_FILE,) if "output_file" in used else (),
    )


resume = started_again(invocation)
trouble = reported


def misspelt_placeholders(part: str) -> Iterator[tuple[str, str]]:
    """Words in braces of a part of a command that are no placeholders, each with the similar one: promt, prompt."""
    for word in dict.fromkeys(_IN_BRACES.findall(part)):
        meant = closest_match(word.lower(), PLACEHOLDERS, _LIKENESS)
        if meant and meant != word:
            yield word, meant


def _argv(session: Session, values: Mapping[str, str]) -> tuple[str, ...]:
    parts = (*session.agent.command, *session.agent.command_args)
    return tuple(PLACEHOLDER.sub(lambda found: values[found[1]], part) for part in parts)


def _shell_argv(session: Session, values: Mapping[str, str]) -> tuple[str, ...]:
    """A placeholder becomes one quoted word of the line, so that no prompt can become a command."""
    line = PLACEHOLDER.sub(lambda found: shlex.quote(values[found[1]]), " ".join(session.agent.command))
    arguments = (PLACEHOLDER.sub(lambda found: values[found[1]], part) for part in session.agent.command_args)
    return ("sh", "-c", " ".join([line, *map(shlex.quote, arguments)]))


def progress(line: str) -> Progress | None:
    """Only programs that print events report steps."""
    record = json_object(line)
    if record is None or record.text("type") not in {"step", "session"}:
        return None
    if record.text("type") == "session":
        return Progress(finished=True)
    return Progress(step=record.text("id"), usage=_usage(record.child("usage")), model=record.text("model"))


def transcript(capture: Capture, session: Session) -> Transcript:
    """Text becomes one final message."""
    if session.agent.output == "events":
        return _from_events(capture)
    text = (
        next((text for output in capture.collected if (text := _text(output).strip())), "")
        or _text(capture.stdout).strip()
    )
    events = (Message(role="assistant", phase="final", text=text),) if text else ()
    return Transcript(events=events, final_output=text, model=session.agent.model, trouble=_crash(capture))


def _text(output: Output) -> str:
    lines, size = [], 0
    for line in output.lines():
        lines.append(line)
        size += len(line) + 1
        if size > MAX_JSON_TEXT_CHARACTERS:
            half = MAX_JSON_TEXT_CHARACTERS // 2
            return "\n".join((shortened("\n".join(lines)[:half]), LEFT_OUT, shortened(output.tail(half))))
    return shortened("\n".join(lines))


class _Lines:
    """The lines of a program that prints events. ``summary``: the line ``session``; ``reported``: its error."""

    def __init__(self) -> None:
        self.events = Events()
        self.summary = LenientJson({})
        self.reported: Trouble | None = None

    def read_line(self, line: str) -> None:
        record = json_object(line) or LenientJson({})
        match record.text("type"):
            case "session":
                self.summary = record
            case "error":
                self.reported = _trouble(record)
            case "step":
                pass
            case _ if line.strip():
                self.events.add(_event(record) or Raw(line=shortened(line)))

    @property
    def events_so_far(self) -> Sequence[Event | None]:
        return self.events.kept


def event_reader(session: Session) -> _Lines | None:
    """Only programs that print events can be read while they run."""
    return _Lines() if session.agent.output == "events" else None


def _from_events(capture: Capture) -> Transcript:
    lines = _Lines()
    for line in capture.stdout.lines():
        lines.read_line(line)
    summary = lines.summary
    usd, crash = summary.amount("cost", "usd"), _crash(capture)
    is_judged = bool(crash and summary.value) and not is_killed(capture)
    return Transcript(
        events=tuple(event for event in lines.events.kept if event),
        final_output=summary.text("finalOutput") or "",
        session_id=summary.text("sessionId"),
        model=summary.text("model"),
        usage=_usage(summary.child("usage")),
        cost=Cost(usd=usd, source="reported") if usd is not None else Cost(),
        turns=summary.count("turns"),
        trouble=lines.reported or (None if is_judged else crash),
        exit_note=crash.message if crash and is_judged else None,
        dropped_events=lines.events.dropped,
    )


def _crash(capture: Capture) -> Trouble | None:
    """How the process crashed, if it did; what it printed to stderr tells the kind, since its answer is on stdout."""
    crash, words = crashed(capture), stderr_words(capture)
    kind = kind_of_text(words) if crash and crash.kind == "runner-crash" and not is_killed(capture) else None
    return replace(crash, kind=kind) if crash and kind else crash


def _event(record: LenientJson) -> Event | None:
    """None when a field is missing or of the wrong type."""
    try:
        event: Event = from_json(EVENTS[record.text("type") or ""], record.value)
    except (KeyError, TypeError, ValueError):
        return None
    if record.text("type") == "message" and record.text("role") not in {"user", "assistant"}:
        return None
    sound = all(isinstance(getattr(event, leaf.name), LEAVES.get(str(leaf.type), object)) for leaf in fields(event))
    if sound and isinstance(event, Message | ToolCall) and event.usage is not None:
        event = replace(event, usage=round_usage(_usage(record.child("usage"))))
    return event if sound else None


def _usage(counts: LenientJson) -> Usage:
    return Usage(
        input_tokens=counts.count("inputTokens"),
        output_tokens=counts.count("outputTokens"),
        reasoning_tokens=counts.count("reasoningTokens"),
        cache_tokens=counts.count("cacheTokens"),
    )


def _trouble(record: LenientJson) -> Trouble:
    kind = record.text("class")
    message = brief(record.text("message") or "the agent reported an error")
    return Trouble(
        kind=kind if kind in TROUBLES else "runner-crash", message=message, retry_after=record.amount("retryAfter")
    )
