"""Agents, one file each: how to start the CLI, how to read what it printed. No I/O.

An agent starts no process: it returns the invocation, and reads the captured output. So all agents can be
tested with recorded output. To add one: a file here that assigns what fits from ``defaults``, a row in ``AGENTS``,
recorded captures in tests/captures (see CONTRIBUTING).
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast

from skillgym_action.agents.families import FAMILIES
from skillgym_action.model.plugin_table import PluginTable
from skillgym_action.model.records import record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from skillgym_action.agents.families import Family
    from skillgym_action.model.session import Capture, Invocation, Progress, Session
    from skillgym_action.model.session_report import Event, Transcript, Trouble


@record
class AgentInfo:
    """Facts about an agent that are needed without importing its adapter.

    ``module``: that of the adapter; a plug-in leaves it out. ``executable``: the program on the PATH; ``package``: its
    npm package, if there is one; ``former_packages``: the names that this package had before; ``version``: that of the
    CLI that the adapter was verified with.
    ``families``: variables with which its sessions get an account, the preferred ones first. ``streams``: it reports
    its progress while it runs.
    ``format``: only suites of that format can name it. ``replays``: it replays a recording and ignores the prompt;
    ``replays_changes``: it also repeats the recorded changes of files, and is therefore never run in a directory of the
    user. ``configuration``: names of files and folders of a repository, in any folder, from which its CLI reads
    instructions and settings. ``settings_files``: those of them, as paths in a workspace, that can name a key or
    another service. ``keyed_models``: beginnings of the models that cannot be used without a key. ``internal``: no
    configuration can name it. ``skills``: the folders of a workspace that skills under test are installed into for it.
    ``skills_variable``: the variable that has the absolute path of such a skill. ``needs_no_program``: ``--runner`` can
    name it although it has no executable. ``plugins``: whether it loads plugins from a folder. ``limits_tools``:
    whether it does what cases say about tools and the system prompt. ``provider``: the service that it uses if neither
    its model nor an address names another one. ``helper``: a program on the PATH that it cannot do without, and that it
    downloads in each session where it is missing; ``probe``: arguments with which it does so, without a session.
    """

    module: str = ""
    executable: str | None = None
    package: str | None = None
    former_packages: tuple[str, ...] = ()
    version: str | None = None
    families: tuple[Family, ...] = ()
    streams: bool = False
    format: str | None = None
    replays: bool = False
    replays_changes: bool = False
    configuration: tuple[str, ...] = ()
    settings_files: tuple[str, ...] = ()
    keyed_models: tuple[str, ...] = ("",)
    internal: bool = False
    needs_no_program: bool = False
    skills: tuple[str, ...] = ()
    skills_variable: str | None = None
    plugins: bool = False
    limits_tools: bool = False
    provider: str | None = None
    helper: str | None = None
    probe: tuple[str, ...] = ()


PLUGIN_FOLDERS = (".claude-plugin", ".codex-plugin", ".cursor-plugin")
COPILOT_CONFIGURATION = (
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
CLAUDE_SKILLS, AGENTS_SKILLS = ".claude/skills", ".agents/skills"
# No tag, range or address: they could install another version tomorrow.
EXACT_VERSION = re.compile(r"\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?")
_OWN = {
    "claude-code": AgentInfo(
        provider="anthropic",
        module="skillgym_action.agents.claude_code",
        executable="claude",
        package="@anthropic-ai/claude-code",
        version="2.1.332",
        streams=True,
        families=FAMILIES["claude-code"],
        configuration=("CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", ".claude", ".mcp.json"),
        settings_files=(".claude/settings.json", ".claude/settings.local.json"),
        skills=(CLAUDE_SKILLS,),
        plugins=True,
        limits_tools=True,
    ),
    "codex": AgentInfo(
        provider="openai",
        module="skillgym_action.agents.codex",
        executable="codex",
        package="@openai/codex",
        version="0.171.0",
        streams=True,
        families=FAMILIES["codex"],
        configuration=("AGENTS.md", "AGENTS.override.md", ".agents", ".codex", *PLUGIN_FOLDERS),
        settings_files=(".codex/config.toml",),
        skills=(AGENTS_SKILLS,),
    ),
    "pi": AgentInfo(
        module="skillgym_action.agents.pi",
        executable="pi",
        package="@earendil-works/pi-coding-agent",
        former_packages=("@mariozechner/pi-coding-agent",),
        version="1.6.0",
        streams=True,
        families=FAMILIES["pi"],
        configuration=("AGENTS.md", "AGENTS.MD", "AGENTS.override.md", "CLAUDE.md", "CLAUDE.MD", ".agents", ".pi"),
        settings_files=(".pi/settings.json",),
        skills=(AGENTS_SKILLS,),
    ),
    "opencode": AgentInfo(
        module="skillgym_action.agents.opencode",
        executable="opencode",
        package="opencode-ai",
        version="1.18.33",
        streams=True,
        families=FAMILIES["opencode"],
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
        helper="rg",
        probe=("debug", "rg", "files", "--limit", "1"),
        settings_files=("opencode.json", "opencode.jsonc", ".opencode/opencode.json", ".opencode/opencode.jsonc"),
        keyed_models=("anthropic/", "openai/", "google/", "openrouter/"),
        skills=(AGENTS_SKILLS,),
    ),
    "copilot": AgentInfo(
        provider="github-copilot",
        module="skillgym_action.agents.copilot",
        executable="copilot",
        package="@github/copilot",
        version="1.0.102",
        streams=True,
        families=FAMILIES["copilot"],
        configuration=(
            "AGENTS.md",
            "CLAUDE.md",
            "GEMINI.md",
            ".agents",
            ".claude",
            ".mcp.json",
            *COPILOT_CONFIGURATION,
        ),
        skills=(AGENTS_SKILLS,),
    ),
    "gemini": AgentInfo(
        provider="google",
        module="skillgym_action.agents.gemini",
        executable="gemini",
        package="@google/gemini-cli",
        version="0.61.0",
        streams=True,
        families=FAMILIES["gemini"],
        configuration=("GEMINI.md", ".agents", ".gemini", ".geminiignore", ".env"),
        settings_files=(".env", ".gemini/.env", ".gemini/settings.json"),
        skills=(AGENTS_SKILLS,),
    ),
    "qwen": AgentInfo(
        provider="openai",
        module="skillgym_action.agents.qwen",
        executable="qwen",
        package="@qwen-code/qwen-code",
        version="0.24.4",
        streams=True,
        families=FAMILIES["qwen"],
        configuration=(
            *("QWEN.md", "AGENTS.md", ".agents", ".qwen", ".mcp.json"),
            *(".qwenignore", ".agentignore", ".aiignore", ".env"),
        ),
        settings_files=(".env", ".qwen/.env", ".qwen/settings.json"),
        skills=(AGENTS_SKILLS,),
    ),
    "cursor-agent": AgentInfo(
        provider="cursor",
        module="skillgym_action.agents.cursor_agent",
        executable="cursor-agent",
        streams=True,
        families=FAMILIES["cursor-agent"],
        configuration=("AGENTS.md", "CLAUDE.md", ".agents", ".claude", ".cursor", ".cursorrules", ".cursorignore"),
        skills=(AGENTS_SKILLS,),
    ),
    "command": AgentInfo(
        module="skillgym_action.agents.command",
        skills=(AGENTS_SKILLS, CLAUDE_SKILLS),
        skills_variable="SKILLGYM_SKILL_DIR",
    ),
    "replay": AgentInfo(module="skillgym_action.agents.replay", replays=True, replays_changes=True),
    "nop": AgentInfo(module="skillgym_action.agents.nop", needs_no_program=True),
    "reference": AgentInfo(
        module="skillgym_action.agents.reference", replays=True, replays_changes=True, internal=True
    ),
    "agentv-cli": AgentInfo(module="skillgym_action.suites.agentv.cli_agent", format="agentv"),
    "agentv-mock": AgentInfo(module="skillgym_action.suites.agentv.mock_agent", format="agentv", replays=True),
    "agentv-replay": AgentInfo(module="skillgym_action.suites.agentv.replay_agent", format="agentv", replays=True),
    "agentv-transcript": AgentInfo(
        module="skillgym_action.suites.agentv.transcript_agent", format="agentv", replays=True
    ),
}


_NEEDS = ("INFO", "invocation", "transcript", "trouble", "progress", "event_reader", "resume")
AGENTS = PluginTable("agents", _OWN, _NEEDS, lambda module: replace(module.INFO, module=module.__name__))


class EventReader(Protocol):
    """The events of a session that is not over."""

    def read_line(self, line: str) -> None:
        """Take a line of the output."""
        ...

    @property
    def events_so_far(self) -> Sequence[Event | None]:
        """Events in their order; None: it turned out not to have happened. A later line may replace those there are."""
        ...


class Agent(Protocol):
    """The functions of every module of this package that is an agent."""

    def invocation(self, session: Session) -> Invocation:
        """The process that runs the session."""
        ...

    def transcript(self, capture: Capture, session: Session) -> Transcript:
        """What the agent did, read from its output. Unknown lines become ``Raw`` events; they are never an error."""
        ...

    def trouble(self, capture: Capture, transcript: Transcript) -> Trouble | None:
        """Why the session could not be judged, if so: what the agent reported, or how the process ended."""
        ...

    def progress(self, line: str) -> Progress | None:
        """The model round that one line of output belongs to, or that the session has ended; None for other lines."""
        ...

    def event_reader(self, session: Session) -> EventReader | None:
        """What reads the output line by line while it is printed; None: its events are known at its end only."""
        ...

    def resume(self, session: Session, session_id: str) -> Invocation:
        """The process that continues an ended session with ``session.prompt``."""
        ...


@cache
def agent_named(name: str) -> Agent:
    """The module of an agent; imported on first use."""
    return cast("Agent", import_module(AGENTS[name].module))
