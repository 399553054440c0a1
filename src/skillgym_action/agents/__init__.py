"""SHELF: agents. One file per agent: how to start it, how to read what it printed. No I/O.

An agent never starts a process: it says which process it wants and reads what came of it, which makes foreign CLIs
testable from recorded output. To add one: a file here, a line in ``AGENTS``, recorded captures in tests/.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    from skillgym_action.model.session import Capture, Invocation, Progress, Session
    from skillgym_action.model.session_report import Transcript, Trouble


@dataclass(frozen=True, kw_only=True, slots=True)
class AgentInfo:
    """What is known of an agent without importing its adapter.

    ``version`` is the one its adapter was verified with; ``streams``: its output tells how far it is while it runs.
    ``format``: only suites of that format can name it. ``plays``: it follows no text but plays what the suite recorded;
    ``changes_again``: changes of files among that, which are never made in a directory of the user's.
    ``configuration``: files and folders of a repository, in any folder, in which its CLI looks for how to work there.
    """

    module: str
    executable: str | None = None
    package: str | None = None
    version: str | None = None
    keys: tuple[str, ...] = ()
    streams: bool = False
    format: str | None = None
    plays: bool = False
    changes_again: bool = False
    configuration: tuple[str, ...] = ()


PLUGINS = (".claude-plugin", ".codex-plugin", ".cursor-plugin")
OF_COPILOT = (
    ".github/agents",
    ".github/allowed_models.txt",
    ".github/copilot",
    ".github/copilot-instructions.md",
    ".github/hooks",
    ".github/instructions",
    ".github/lsp.json",
    ".github/mcp.json",
    ".github/prompts",
    ".github/skills",
    ".vscode/mcp.json",
)
# A tag, a range or an address is none: what is installed today has to be what is installed tomorrow.
EXACT_VERSION = re.compile(r"\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?")
AGENTS = {
    "claude-code": AgentInfo(
        module="skillgym_action.agents.claude_code",
        executable="claude",
        package="@anthropic-ai/claude-code",
        version="2.1.197",
        streams=True,
        keys=("ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN", "ANTHROPIC_BASE_URL"),
        configuration=("CLAUDE.md", "CLAUDE.local.md", ".claude", ".mcp.json"),
    ),
    "codex": AgentInfo(
        module="skillgym_action.agents.codex",
        executable="codex",
        package="@openai/codex",
        version="0.169.0",
        streams=True,
        keys=("OPENAI_API_KEY", "CODEX_API_KEY", "OPENAI_BASE_URL"),
        configuration=("AGENTS.md", "AGENTS.override.md", ".agents", ".codex", *PLUGINS),
    ),
    "pi": AgentInfo(
        module="skillgym_action.agents.pi",
        executable="pi",
        package="@mariozechner/pi-coding-agent",
        version="0.73.1",
        streams=True,
        keys=(
            "ANTHROPIC_API_KEY",
            "OPENAI_API_KEY",
            "GEMINI_API_KEY",
            "OPENROUTER_API_KEY",
            "ANTHROPIC_BASE_URL",
            "OPENAI_BASE_URL",
            "GOOGLE_GEMINI_BASE_URL",
        ),
        configuration=("AGENTS.md", "AGENTS.MD", "CLAUDE.md", "CLAUDE.MD", ".agents", ".pi"),
    ),
    "opencode": AgentInfo(
        module="skillgym_action.agents.opencode",
        executable="opencode",
        package="opencode-ai",
        version="1.18.33",
        streams=True,
        keys=(
            "ANTHROPIC_API_KEY",
            "OPENAI_API_KEY",
            "GEMINI_API_KEY",
            "OPENROUTER_API_KEY",
            "OPENCODE_API_KEY",
            "ANTHROPIC_BASE_URL",
            "OPENAI_BASE_URL",
            "GOOGLE_GEMINI_BASE_URL",
        ),
        configuration=(
            "AGENTS.md",
            "CLAUDE.md",
            "CONTEXT.md",
            "opencode.json",
            "opencode.jsonc",
            ".agents",
            ".claude",
            ".opencode",
        ),
    ),
    "copilot": AgentInfo(
        module="skillgym_action.agents.copilot",
        executable="copilot",
        package="@github/copilot",
        version="1.0.102",
        streams=True,
        keys=(
            "COPILOT_GITHUB_TOKEN",
            "COPILOT_PROVIDER_API_KEY",
            "COPILOT_PROVIDER_BEARER_TOKEN",
            "COPILOT_PROVIDER_BASE_URL",
            "COPILOT_PROVIDER_TYPE",
            "COPILOT_PROVIDER_WIRE_API",
        ),
        configuration=("AGENTS.md", "CLAUDE.md", "GEMINI.md", ".agents", ".claude", ".mcp.json", *OF_COPILOT),
    ),
    "gemini": AgentInfo(
        module="skillgym_action.agents.gemini",
        executable="gemini",
        package="@google/gemini-cli",
        version="0.61.0",
        streams=True,
        keys=("GEMINI_API_KEY", "GOOGLE_GEMINI_BASE_URL"),
        configuration=("GEMINI.md", ".agents", ".gemini", ".geminiignore", ".env"),
    ),
    "qwen": AgentInfo(
        module="skillgym_action.agents.qwen",
        executable="qwen",
        package="@qwen-code/qwen-code",
        version="0.15.10",
        streams=True,
        keys=("OPENAI_API_KEY", "OPENAI_BASE_URL"),
        configuration=("QWEN.md", "AGENTS.md", ".agents", ".qwen", ".qwenignore", ".env"),
    ),
    "cursor-agent": AgentInfo(
        module="skillgym_action.agents.cursor_agent",
        executable="cursor-agent",
        streams=True,
        keys=("CURSOR_API_KEY",),
        configuration=("AGENTS.md", "CLAUDE.md", ".agents", ".claude", ".cursor", ".cursorrules", ".cursorignore"),
    ),
    "command": AgentInfo(module="skillgym_action.agents.command"),
    "replay": AgentInfo(module="skillgym_action.agents.replay", plays=True, changes_again=True),
    "agentv-cli": AgentInfo(module="skillgym_action.agentv.cli_agent", format="agentv"),
    "agentv-mock": AgentInfo(module="skillgym_action.agentv.mock_agent", format="agentv", plays=True),
    "agentv-replay": AgentInfo(module="skillgym_action.agentv.replay_agent", format="agentv", plays=True),
}


class Agent(Protocol):
    """What every module of this shelf offers."""

    def invocation(self, session: Session) -> Invocation:
        """The process that holds the session."""
        ...

    def transcript(self, capture: Capture, session: Session) -> Transcript:
        """What the agent did, read from its output; unknown lines are kept as ``Raw``, never fatal."""
        ...

    def trouble(self, capture: Capture, transcript: Transcript) -> Trouble | None:
        """Why the session cannot be judged, if so, in the agent's own signs."""
        ...

    def progress(self, line: str) -> Progress | None:
        """What one line of output says while the agent runs; None for lines that say nothing of it."""
        ...

    def resume(self, session: Session, session_id: str) -> Invocation:
        """The process that continues an ended session with ``session.prompt``."""
        ...


@cache
def agent_named(name: str) -> Agent:
    """The module of an agent; imported on first use."""
    return cast("Agent", import_module(AGENTS[name].module))
