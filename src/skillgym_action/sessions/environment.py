"""Whether a session had what was asked for: the model, MCP servers, and the time for work in the background."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING

from skillgym_action.agents import AGENTS
from skillgym_action.agents.output.mcp_servers import NAME_CHARACTERS, failed_servers
from skillgym_action.agents.output.models import asked_model, other_models
from skillgym_action.history.digests import canonical
from skillgym_action.model.limits import MAX_SUITE_FILE_BYTES
from skillgym_action.model.result import BACKGROUND, EXIT, MCP_SERVER, OTHER_MODEL, Finding
from skillgym_action.model.session import Ending
from skillgym_action.model.session_report import Trouble
from skillgym_action.text.escaping import clipped, one_line

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from skillgym_action.model.execution import Execution
    from skillgym_action.model.session_report import Transcript
    from skillgym_action.workspaces.repository.repository import Repository

_MCP = re.compile("mcp", re.IGNORECASE)
_KEY = re.compile(
    r"mcp(?:[_-]?servers?)?\\{0,3}[\"']?[ \t]{0,9}[:=][ \t]{0,9}(?=[{\[]|[ \t\r]*$)", re.IGNORECASE | re.MULTILINE
)
_BRACKET = re.compile(r"[{}\[\]]")


def environment_findings(execution: Execution, transcript: Transcript, ending: Ending, where: str) -> Iterator[Finding]:
    """What the session had instead of what was asked for, and how it ended. ``where``: the artifact that says so."""
    if AGENTS[execution.runner.agent.type].replays:
        return
    asked = asked_model(execution.agent, execution.model)
    for model in other_models(asked, transcript):
        yield Finding(id=OTHER_MODEL, kind=_shown(f"{model} instead of {asked}"), where=where)
    for server in failed_servers(transcript):
        yield Finding(id=MCP_SERVER, kind=_shown(server), where=where)
    if ending is Ending.LINGERED:
        yield Finding(id=EXIT, kind="the tool ended it, because it did not exit", where=where)
    elif transcript.exit_note:
        yield Finding(id=EXIT, kind=_shown(transcript.exit_note), where=where)
    for work in transcript.background:
        yield Finding(id=BACKGROUND, kind=_shown(work), where=where)


def server_trouble(execution: Execution, transcript: Transcript, suites: Repository) -> Trouble | None:
    """The trouble with an MCP server that failed, if the suite, the arm or the configuration names it."""
    failed = failed_servers(transcript)
    if not failed or AGENTS[execution.runner.agent.type].replays:
        return None
    texts = tuple(filter(_MCP.search, _texts(execution, suites)))
    settings = [setting for text in texts for setting in _settings(text)]
    for server in failed:
        if any(_names(text, server) for text in texts) or any(_sets(setting, server) for setting in settings):
            return Trouble(kind="mcp-server", message=f"the MCP server {_shown(server)} could not be used by the agent")
    return None


def _shown(text: str) -> str:
    return clipped(one_line(text), NAME_CHARACTERS)


def _names(text: str, server: str) -> bool:
    """Whether a text has the name in the name of a tool, in a key or an argument about MCP, or beside "MCP server".

    The name alone is not enough: many servers are called like a word, such as docs, files or time.
    """
    name, in_tools = re.escape(server), re.escape(re.sub(r"[^A-Za-z0-9_-]", "_", server))
    shapes = (
        rf"mcp_{{1,2}}{in_tools}(?:_|\b)",
        rf"(?i:mcp_?servers?)\.\\*[\"']?{name}(?![\w-])",
        rf"(?i:--[\w-]{{0,40}}mcp[\w-]{{0,40}})[\\\"',= ]{{1,6}}{name}(?![\w./-])",
        rf"(?i:\bmcp[ -](?:server|tool)s?(?: (?:named|called))?:?\s{{1,9}}[\"'`(]?){name}(?![\w-])",
        rf"(?<![\w-]){name}[\"'`)]?\s{{1,9}}(?i:mcp[ -](?:server|tool)\b)",
    )
    return re.search("|".join(shapes), text) is not None


def _settings(text: str) -> Iterator[str]:
    """The values of keys about MCP, in any notation: what is in their brackets, or the lines that are indented more."""
    position = 0
    while key := _KEY.search(text, position):
        position = _end_of_value(text, key)
        yield text[key.end() : position]


def _end_of_value(text: str, key: re.Match[str]) -> int:
    if text.startswith(("{", "["), key.end()):
        depth = 0
        for bracket in _BRACKET.finditer(text, key.end()):
            depth += 1 if bracket[0] in "{[" else -1
            if depth == 0:
                return bracket.end()
        return len(text)
    begin = text.rfind("\n", 0, key.start()) + 1
    indent = len(text[begin : key.start()]) - len(text[begin : key.start()].lstrip(" -"))
    block = re.compile(rf"[ \t]*(?:\r?\n(?:[ \t]*(?=\r?\n)|[ ]{{{indent}}}[ -][^\n]*))*").match(text, key.end())
    return block.end() if block else key.end()


def _sets(setting: str, server: str) -> bool:
    """Whether the value of a key about MCP has the name as a key, in quotes or as a part of a list."""
    name = re.escape(server)
    shapes = (
        rf"[\"'`]{name}\\*[\"'`]",
        rf"(?<![\w./@-]){name}\\*[\"'`]?\s{{0,9}}[:=]",
        rf"(?:[\[,]|^\s*-)\s{{0,9}}{name}\s{{0,9}}(?=[\],\n]|$)",
    )
    return re.search("|".join(shapes), setting, re.MULTILINE) is not None


def _texts(execution: Execution, suites: Repository) -> Iterator[str]:
    """What may name a server: the suite's file and the case, the arm's files, the runner's arguments with their files.

    Folders and files that are too large have no text.
    """
    arm, agent = execution.arm, execution.agent
    yield _content(suites.root / execution.suite.path)
    yield "\n".join(canonical(execution.case))
    for file in (*arm.files, *arm.home) if arm else ():
        yield f"{file.path}\n{file.content.decode('utf-8', 'replace')}"
    words = (*agent.command, *agent.command_args)
    yield " ".join(words)
    for word in words:
        yield _content(suites.root / (word.partition("=")[2] if word.startswith("-") else word))


def _content(path: Path) -> str:
    """The text of a file; empty if it is a folder or cannot be read."""
    with suppress(OSError, ValueError):
        if path.is_file() and path.stat().st_size <= MAX_SUITE_FILE_BYTES:
            return path.read_text("utf-8", "replace")
    return ""
