"""Makes the session report, the same for all agents, of a transcript.

Paths become absolute; observed reads, detected skills, total tokens and cost are computed.
"""

from __future__ import annotations

import posixpath
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from skillgym_action.agents.output.file_reads import files_read
from skillgym_action.agents.output.models import asked_model, other_models
from skillgym_action.agents.output.prices import cost_usd, price_of
from skillgym_action.agents.output.skills import detected_skills, skill_of
from skillgym_action.model.limits import MAX_EVIDENCE_COMMAND_CHARACTERS
from skillgym_action.model.records import record
from skillgym_action.model.session_report import (
    Command,
    Cost,
    Event,
    FileRead,
    FileWrite,
    Message,
    ObservedFiles,
    SessionReport,
    Transcript,
    Usage,
)
from skillgym_action.system.clock import iso_timestamp

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from skillgym_action.agents import Agent
    from skillgym_action.model.session import Capture, Session
    from skillgym_action.model.session_report import Price, RunnerRef


def normalise(
    transcript: Transcript,
    capture: Capture,
    session: Session,
    runner: RunnerRef,
    *,
    started_at: str | None,
    ended_at: str | None,
) -> SessionReport:
    """The session report. Times are ISO 8601 in UTC. The prompt is an event, even if the agent did not print it."""
    cwd, home = str(session.workspace), str(session.home)
    events = _with_prompt(tuple(_with_absolute_path(event, cwd, home) for event in transcript.events), session.prompt)
    reads = _reads(events, cwd, home)
    from_workspace = {_from_folder(path, cwd, home): how for path, how in reads.items()}
    others = other_models(asked_model(session.agent, session.agent.model), transcript)
    model = others[-1] if others else transcript.model or session.agent.model
    usage = _usage(transcript.usage, events)
    return SessionReport(
        runner=runner,
        prompt=session.prompt,
        cwd=cwd,
        session_id=transcript.session_id,
        usage=usage,
        files=ObservedFiles(
            observed_reads=tuple(reads),
            observed_skill_reads=tuple(path for path in reads if skill_of(_from_folder(path, cwd, home))),
        ),
        detected_skills=detected_skills(events, from_workspace, transcript.skills),
        events=events,
        final_output=transcript.final_output or _last_answer(events),
        started_at=started_at,
        ended_at=ended_at,
        duration_ms=round(capture.seconds * 1000) if transcript.duration_ms is None else transcript.duration_ms,
        cost=_cost(transcript.cost, model, usage, session.prices),
        model=model,
        turns=transcript.turns,
        version=transcript.version,
        exit_code=capture.exit_code,
        mcp_servers=transcript.mcp_servers,
        trouble=transcript.trouble,
        watched_skills=transcript.watched_skills,
        answered=transcript.answered,
        exchanges=transcript.exchanges,
        dropped_events=transcript.dropped_events or None,
    )


def _with_prompt(events: tuple[Event, ...], prompt: str) -> tuple[Event, ...]:
    if any(isinstance(event, Message) and event.role == "user" for event in events):
        return events
    return (Message(role="user", text=prompt), *events)


def _with_absolute_path(event: Event, cwd: str, home: str) -> Event:
    """The event; reads and writes of files with absolute, normalised paths."""
    return replace(event, path=_absolute(event.path, cwd, home)) if isinstance(event, FileRead | FileWrite) else event


def _absolute(path: str, cwd: str, home: str) -> str:
    if path.startswith("~/"):
        path = posixpath.join(home, path[2:])
    return posixpath.normpath(posixpath.join(cwd, path))


def _reads(events: Iterable[Event], cwd: str, home: str) -> dict[str, str]:
    """Absolute path -> how it was read first. Commands that failed are not evidence of a read."""
    reads: dict[str, str] = {}
    for event in events:
        if isinstance(event, FileRead):
            reads.setdefault(event.path, f"read: {_from_folder(event.path, cwd, home)}")
        elif isinstance(event, Command) and not event.exit_code:
            for path in files_read(event.command):
                reads.setdefault(
                    _absolute(path, cwd, home), f"command: {event.command[:MAX_EVIDENCE_COMMAND_CHARACTERS]}"
                )
    return reads


def _from_folder(path: str, *folders: str) -> str:
    """The path relative to the first folder that contains it: names above a workspace do not identify skills."""
    for folder in folders:
        if path.startswith(f"{folder}/"):
            return path.removeprefix(f"{folder}/")
    return path


def _usage(usage: Usage, events: Iterable[Event]) -> Usage:
    total = usage.total_tokens
    if usage.input_tokens is not None and usage.output_tokens is not None:
        gross = usage.input_tokens + usage.output_tokens + (usage.reasoning_tokens or 0)
        total = max(0, gross - (usage.cache_tokens or 0))
    messages = [event for event in events if isinstance(event, Message)]
    thinking = [message for message in messages if message.phase == "thinking"]
    answers = [message for message in messages if message.role == "assistant" and message.phase != "thinking"]
    return replace(
        usage,
        total_tokens=total,
        input_chars=_length(message for message in messages if message.role == "user"),
        output_chars=_length(answers),
        reasoning_chars=_length(thinking),
    )


def _length(messages: Iterable[Message]) -> int:
    return sum(len(message.text) for message in messages)


def _cost(cost: Cost, model: str | None, usage: Usage, prices: Mapping[str, Price]) -> Cost:
    """Computed from a configured price; else as the agent reports it; else from the price list; else unknown."""
    if model is None or (cost.usd is not None and not price_of(model, prices)):
        return cost
    usd = cost_usd(model, usage, prices)
    return cost if usd is None else Cost(usd=usd, source="computed")


def _last_answer(events: tuple[Event, ...]) -> str:
    for event in reversed(events):
        if isinstance(event, Message) and event.role == "assistant" and event.phase != "thinking":
            return event.text
    return ""


@record
class AgentOutput:
    """The output of an agent for one prompt, in files that are read again once they are redacted."""

    agent: Agent
    session: Session
    runner: RunnerRef
    began: datetime

    def read(self, capture: Capture) -> tuple[Transcript, SessionReport]:
        """What the agent's adapter reads from its output now. Raises OSError, and what an adapter raises."""
        transcript = self.agent.transcript(capture, self.session)
        ended = self.began + timedelta(seconds=capture.seconds)
        times = {"started_at": iso_timestamp(self.began), "ended_at": iso_timestamp(ended)}
        return transcript, normalise(transcript, capture, self.session, self.runner, **times)
