"""What the machine has to do with accounts of agents: that there may be none, and files with credentials."""

from __future__ import annotations

import json
import os
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skillgym_action.agents import AGENTS
from skillgym_action.model.errors import ConfigError
from skillgym_action.system.processes.github_job import is_github_job
from skillgym_action.text.secret_forms import is_secret_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from skillgym_action.model.session import AgentConfig

MAX_AGENT_SETTINGS_BYTES = 65_536  # of a settings file of an agent's CLI that are searched for a key
MAX_CREDENTIALS_BYTES = 65_536  # of a file with credentials
LOGIN_PAGE = "docs/how-to/log-in.md of skillgym-action"
# What a CLI's settings file in a workspace says if it has a key, a program that prints one, or another service.
# Escapes and other encodings may hide it.
LOGS_IN = re.compile(rb"(?i)key|token|auth|login|url|provider|bedrock|vertex|\benv\b|\\[ux]|\0")
LOGIN_COMMANDS = {"claude-code": "claude", "codex": "codex login"}  # of the agents whose own login can be used
GOOGLE_ACTION_FILE = re.compile(r"gha-creds-\w+\.json")


class AgentAccounts:
    """Knows how agents can get accounts where the tool was started.

    A session has an empty home directory and no variables but those of its runner, so the CLI has nothing to log in
    with if the runner sets none of them. Wherever another way is possible, nothing is reported: see ``missing``.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        """``environment``: the tool's; of it only the kind of job and its workspace matter."""
        self._in_job = is_github_job(environment)
        self._job_folder = environment.get("GITHUB_WORKSPACE")
        # On macOS CLIs keep logins in the system's keychain, whatever HOME is; GitHub's own machines have none.
        self._has_keychain = sys.platform == "darwin" and environment.get("RUNNER_ENVIRONMENT") != "github-hosted"

    def missing(self, agent: AgentConfig, folders: Iterable[Path]) -> str | None:
        """That the agent has no account, and how to get one; None if it may have one, or needs none.

        It may have one if the runner sets any variable (of the agent's own only those that are set are passed on), a
        program or arguments; if a settings file of its CLI in one of ``folders`` may name one; or if the system has a
        keychain. It needs none for a model that its own service offers to everybody.
        """
        info, found = AGENTS[agent.type], agent.account
        if found.problem:
            return found.problem
        if found.asked and not found.way and info.families:
            return f"{agent.type} has no account of the way {found.asked} to use: {self.remedy(agent.type)}"
        if found.way or not info.families or agent.env or agent.command or agent.command_args or self._has_keychain:
            return None
        if not (agent.model or "").startswith(info.keyed_models):
            return None
        if any(settings_with_account(agent.type, folders)):
            return None
        return f"{agent.type} has no account to use: {self.remedy(agent.type)}"

    def remedy(self, agent: str) -> str:
        """How to get an account for the agent."""
        families = AGENTS[agent].families
        keys = [f"{name} ({one.advice})" if one.advice else name for one in families for name in one.keys]
        ways = [f"{'' if self._in_job else log_in(agent)}set {' or '.join(dict.fromkeys(keys))}"]
        if switches := [family.switch for family in families if family.switch]:
            ways.append(f"for a cloud, set {' or '.join(switches)}")
        ways += [f"for a gateway, set {one.address}" for one in families if one.first_of]
        if self._in_job:
            ways = [self.first_remedy(agent), "workflows of forks and Dependabot get no secrets", *ways]
        return f"{'; '.join(ways)}; see {LOGIN_PAGE}"

    def first_remedy(self, agent: str) -> str:
        """The usual way to get an account for the agent."""
        name = key_names(agent)[0]
        if self._in_job:
            return f"create the secret and pass it to this step, `env: {{{name}: ${{{{ secrets.{name} }}}}}}`"
        return f"{log_in(agent)}set {name}"

    def with_files(self, agent: AgentConfig, tracked: Iterable[Path]) -> tuple[AgentConfig, tuple[Path, ...]]:
        """The agent with the contents of the files that its variables name, and the paths of these files.

        ``tracked``: the files of the checkout that git tracks; every reader of the repository has them. Raises
        ConfigError for one of these, and for a file that cannot be read.
        """
        paths = {name: self._credentials(agent.env[name]) for name in agent.account.files}
        known = {os.path.realpath(path) for path in tracked} if paths else set()
        contents = {}
        for name, path in paths.items():
            if os.path.realpath(path) in known:
                message = f"{name} names {path}, which git tracks"
                raise ConfigError(message, remedy="revoke these credentials, and name a file outside of the repository")
            try:
                contents[name] = _text(path)
            except (OSError, UnicodeDecodeError) as error:
                reason = error.strerror if isinstance(error, OSError) else "it is not text"
                raise ConfigError(f"{name} names {path}, which cannot be read: {reason}") from None
            if len(contents[name]) > MAX_CREDENTIALS_BYTES:
                raise ConfigError(f"{name} names {path}, which has more than {MAX_CREDENTIALS_BYTES:,} bytes")
        account = replace(agent.account, contents=contents)
        return replace(agent, account=account), tuple(paths.values())

    def _credentials(self, named: str) -> Path:
        """The path of a file with credentials. Google's action names it as it is outside of the action's container."""
        path = Path(named)
        if self._job_folder and GOOGLE_ACTION_FILE.fullmatch(path.name) and not path.exists():
            return Path(self._job_folder) / path.name
        return path


def log_in(agent: str) -> str:
    """How to log in at the CLI, if its login can be used, as the beginning of a sentence about other ways."""
    return f"run `{LOGIN_COMMANDS[agent]}` once to log in, or " if agent in LOGIN_COMMANDS else ""


def google_action_files(folder: Path) -> Iterator[Path]:
    """The files with credentials that Google's action for jobs leaves in a checkout."""
    return (path for path in folder.glob("gha-creds-*.json") if path.is_file())


def secrets_in_file(path: Path) -> tuple[str, ...]:
    """The secret values in a file with credentials; none if it cannot be read."""
    try:
        return secrets_in(_text(path))
    except (OSError, UnicodeDecodeError):
        return ()


def _text(path: Path) -> str:
    """At most one byte more than files with credentials may have. Raises OSError, UnicodeDecodeError."""
    with path.open("rb") as file:
        return file.read(MAX_CREDENTIALS_BYTES + 1).decode()


def key_names(agent: str) -> tuple[str, ...]:
    """The names of the variables that alone give the agent an account."""
    return tuple(dict.fromkeys(name for family in AGENTS[agent].families for name in family.keys))


def secrets_in(content: str) -> tuple[str, ...]:
    """The secret values in a JSON document with credentials."""
    try:
        return tuple(_secrets(json.loads(content)))
    except (ValueError, RecursionError):
        return (content,)


def _secrets(value: Any) -> Iterator[str]:
    for name, inner in value.items() if isinstance(value, dict) else ():
        for text in inner if isinstance(inner, list) else [inner]:
            if isinstance(text, str) and is_secret_name(name) and not text.startswith(("https:", "http:", "urn:")):
                yield text
        yield from _secrets(inner)
    for inner in value if isinstance(value, list) else ():
        yield from _secrets(inner)


def settings_with_account(agent: str, folders: Iterable[Path]) -> Iterator[Path]:
    """The settings files of the agent's CLI in the folders that may name an account or another service."""
    files = (folder / name for folder in folders for name in AGENTS[agent].settings_files)
    return (file for file in files if _may_log_in(file))


def _may_log_in(file: Path) -> bool:
    """Whether it is a regular file that may name a key; also if it cannot be read, or is too large to be searched."""
    try:
        if not file.is_file():
            return False
        with file.open("rb") as opened:
            text = opened.read(MAX_AGENT_SETTINGS_BYTES + 1)
            return len(text) > MAX_AGENT_SETTINGS_BYTES or LOGS_IN.search(text) is not None
    except OSError:
        return True
