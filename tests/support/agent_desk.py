"""A real agent at work: its workspace, its private home, and the scripted model it talks to."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from agent_clis import agent_cli, search_path
from sessions import session_with
from skillgym_action.agents import agent_named
from skillgym_action.model.session import AgentConfig, Capture, Invocation, Session
from skillgym_action.model.session_report import AgentRef, RunnerRef, SessionReport, Trouble
from skillgym_action.sessions.session_reports import normalise
from skillgym_action.system.cancellation import Cancellation
from skillgym_action.system.processes.launcher import ProcessLauncher
from skillgym_action.system.processes.outputs import OutputFile

if TYPE_CHECKING:
    from pathlib import Path

    from model_server import ModelServer

LIMIT = 60.0
# Those that try a failed call again for long.
LIMITS = {"copilot": 120.0, "gemini": 120.0, "qwen": 180.0}
KEY = "sk-scripted-0123456789"
SKILL = "---\nname: greeter\ndescription: Greets people. Use when asked for a greeting.\n---\n\n# Greeter\n\nGreet.\n"
# The model each agent is asked for, and what leads it to a service: key, base URL.
MODELS = {
    "claude-code": None,
    "codex": "gpt-5.1-codex",
    "pi": "openai/gpt-5-mini",
    "opencode": "openai/gpt-5-mini",
    "copilot": "gpt-5-mini",
    "gemini": "gemini-2.5-flash",
    "qwen": "gpt-5-mini",
}
OPENAI = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "/v1")
SERVICES = {
    "claude-code": ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", ""),
    "codex": OPENAI,
    "pi": OPENAI,
    "opencode": OPENAI,
    "copilot": ("COPILOT_PROVIDER_API_KEY", "COPILOT_PROVIDER_BASE_URL", "/v1"),
    "gemini": ("GEMINI_API_KEY", "GOOGLE_GEMINI_BASE_URL", ""),
    "qwen": OPENAI,
}


def wiring(agent: str, base_url: str) -> dict[str, str]:
    """The environment in which an agent finds the scripted model."""
    key, variable, path = SERVICES[agent]
    return {key: KEY, variable: f"{base_url}{path}"}


class Desk:
    """Use it for one session, and for those that continue it."""

    def __init__(self, agent: str, folder: Path, models: ModelServer) -> None:
        self.agent, self.folder, self.models = agent, folder, models
        self.adapter = agent_named(agent)
        self.workspace, self.home, self.scratch = folder / "workspace", folder / "home", folder / "scratch"
        for place in (self.home, self.scratch):
            place.mkdir()
        for place in (".claude", ".agents"):
            skill = self.workspace / place / "skills" / "greeter"
            skill.mkdir(parents=True)
            (skill / "SKILL.md").write_text(SKILL)
        (self.workspace / "notes.md").write_text("note\n")

    def session(self, base_url: str, **changes: Any) -> Session:
        config = AgentConfig(
            type=self.agent,
            command=(str(agent_cli(self.agent)),),
            model=changes.pop("model", MODELS[self.agent]),
            env=changes.pop("env", wiring(self.agent, base_url)),
        )
        places = {"workspace": self.workspace, "home": self.home, "scratch": self.scratch}
        return session_with(config, timeout=LIMITS.get(self.agent, LIMIT), **places, **changes)

    def capture(self, invocation: Invocation, **settings: Any) -> Capture:
        """Start it as a run would, and wait."""
        for path, text in invocation.files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        invocation = replace(invocation, env={"TMPDIR": str(self.scratch), **invocation.env})
        logs = {"stdout": self.folder / "stdout.log", "stderr": self.folder / "stderr.log"}
        cancelled = Cancellation()
        with ProcessLauncher(environment={**os.environ, "PATH": search_path()}, cancelled=cancelled) as door:
            capture = door.run(invocation, **logs, **settings)
        cancelled.close()
        return replace(capture, collected=tuple(map(OutputFile, self.collected(invocation))))

    def collected(self, invocation: Invocation) -> list[Path]:
        """The agent's own record of the session."""
        return [path for pattern in invocation.collect for path in sorted(self.home.glob(pattern))]

    def report(
        self, session: Session, invocation: Invocation | None = None, **settings: Any
    ) -> tuple[SessionReport, Trouble | None]:
        capture = self.capture(invocation or self.adapter.invocation(session), **settings)
        transcript = self.adapter.transcript(capture, session)
        runner = RunnerRef(id=self.agent, path_key=self.agent, agent=AgentRef(type=self.agent))
        made = normalise(transcript, capture, session, runner, started_at=None, ended_at=None)
        return made, self.adapter.trouble(capture, transcript)

    def scenario(self, name: str, **changes: Any) -> tuple[SessionReport, Trouble | None]:
        return self.report(self.session(self.models.scenario(name), **changes))
