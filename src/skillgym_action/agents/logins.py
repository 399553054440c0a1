"""The caller's own login at the CLI of an agent: found, checked, and used without a copy that could end it.

Claude Code reads its own store, and refreshes the login there: of the store, the tool reads when the login expires and
nothing else. Codex gets the access token without the one that refreshes it, so that nothing can be refreshed twice.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import sys
import time
from base64 import urlsafe_b64decode
from contextlib import contextmanager
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from skillgym_action.agents.output.lenient_json import LenientJson, json_object
from skillgym_action.model.session import Account, Invocation
from skillgym_action.system.clock import Clock, iso_timestamp
from skillgym_action.system.processes.github_job import is_github_job
from skillgym_action.text.escaping import clipped, one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from skillgym_action.model.session import AgentConfig
    from skillgym_action.system.processes.launcher import ProcessLauncher

LOGIN_PROBE_SECONDS = 60.0  # for the CLI to report whether it is logged in; it may refresh the login meanwhile
LOGIN_MARGIN_SECONDS = 600.0  # by which a login must outlast a session, or the session runs alone
MAX_STORE_BYTES = 262_144  # of a file with a login
PAUSE = 0.2  # seconds between two attempts to lock a store
# Variables that could send a login elsewhere, or are another way to get an account, by their names.
REDIRECTS = re.compile(
    r"URL|PROXY|CERT|_CA_|CONFIG|HELPER|ENDPOINT|HOST|^(?:NODE|LD|DYLD)_|^(?:HOME|PATH)$"
    r"|^(?:ANTHROPIC_(?!MODEL|DEFAULT_)|CLAUDE_CODE_USE_|AWS_|AZURE_|CODEX_|GOOGLE_|OPENAI_)"
)
RISKY_ARGUMENTS = {
    "claude-code": re.compile(r"--setting"),
    "codex": re.compile(r"-c|--config|-p|--profile|--oss|--local-provider"),
}


class Logins:
    """Finds the caller's logins, and checks them once for each agent."""

    def __init__(self, processes: ProcessLauncher, environment: Mapping[str, str]) -> None:
        """``environment``: the tool's, with the folders of the CLIs."""
        self._processes, self._environment, self._clock = processes, environment, Clock()
        cache = environment.get("XDG_CACHE_HOME") or ""
        home = Path(environment.get("HOME") or "/")
        self._home, self._cache = home, Path(cache) if Path(cache).is_absolute() else home / ".cache"

    def is_there(self, agent: str) -> bool:
        """Whether the CLI's own store may have a login."""
        if agent == "claude-code":
            return self._claude_file.is_file() or sys.platform == "darwin"
        return agent == "codex" and self._codex_file.is_file()

    def refusal(self, agent: AgentConfig, variables: Iterable[str]) -> str | None:
        """Why a login must not be used here; None: it may be. ``variables``: names of those that sessions get.

        Only what the runner and the job say is considered; where sessions run is not.
        """
        asked = agent.account.asked == "login"
        if is_github_job(self._environment):
            return "the tool runs in GitHub Actions"
        if not asked and self._environment.get("CI", "").lower() not in {"", "0", "false"}:
            return "CI is set"
        if not asked and agent.command:
            return "the runner sets command"
        if found := next(filter(REDIRECTS.search, variables), None):
            return f"{found} is set for sessions"
        if found := next(filter(RISKY_ARGUMENTS[agent.type].match, agent.command_args), None):
            return f"the runner has the argument {clipped(one_line(found), 50)}"
        return None

    def account(self, agent: AgentConfig, program: tuple[str, ...], seconds: float) -> tuple[Account, tuple[str, ...]]:
        """The account that is the caller's login, and secrets in it; with a problem if it cannot be used.

        ``program``: the CLI, which is asked. ``seconds``: the longest session, which the login must outlast.
        """
        found = Account(asked=agent.account.asked, way="login", billing="plan", family=agent.type)
        if agent.type == "codex":
            return self._codex(found, seconds)
        return self._claude(found, program, agent.env), ()

    # --- Claude Code --------------------------------------------------------------------------------

    @property
    def _claude_folder(self) -> Path:
        return Path.cwd() / (self._environment.get("CLAUDE_CONFIG_DIR") or self._home / ".claude")

    @property
    def _claude_file(self) -> Path:
        return self._claude_folder / ".credentials.json"

    def _claude(self, account: Account, program: tuple[str, ...], own: Mapping[str, str]) -> Account:
        """The account, if the CLI says in the environment of a session that it is logged in."""
        named = sys.platform != "darwin" or "CLAUDE_CONFIG_DIR" in self._environment
        store = {"CLAUDE_SECURESTORAGE_CONFIG_DIR": str(self._claude_folder) if named else ""}
        with TemporaryDirectory(prefix="skillgym-login-") as folder:
            home = Path(folder)
            private = {"HOME": folder, "CLAUDE_CONFIG_DIR": str(home / ".claude"), "DISABLE_AUTOUPDATER": "1"}
            invocation = Invocation(
                argv=(*program, "auth", "status"),
                cwd=home,
                timeout=LOGIN_PROBE_SECONDS,
                env={**private, **own, **store},
            )
            ran = self._processes.run(invocation, stdout=home / "stdout.log", stderr=home / "stderr.log")
            told = json_object(" ".join(ran.stdout.tail(8192).split())) or LenientJson({})
        if ran.exit_code != 0 or not told.true("loggedIn") or told.text("authMethod") != "claude.ai":
            return replace(account, way=None, problem="claude-code is not logged in: run `claude` once")
        return replace(account, env=store, store=str(self._claude_folder))

    @contextmanager
    def turn(self, account: Account, seconds: float) -> Iterator[None]:
        """Context of a session of at most ``seconds``. If its login expires meanwhile, it is the only one on the store.

        So one session refreshes the login, and those that wait for it, also in other runs, find the new one.
        """
        if not self._expires_within(account, seconds + LOGIN_MARGIN_SECONDS):
            yield
            return
        folder = self._cache / "skillgym-action"
        folder.mkdir(parents=True, exist_ok=True)
        name = sha256(os.fsencode(account.store or "")).hexdigest()[:16]
        with (folder / f"login-{name}.lock").open("w", encoding="utf-8") as lock:
            while not self._processes.cancelled and self._expires_within(account, seconds + LOGIN_MARGIN_SECONDS):
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    time.sleep(PAUSE)
            if not self._expires_within(account, seconds + LOGIN_MARGIN_SECONDS):
                fcntl.flock(lock, fcntl.LOCK_UN)
            yield

    def _expires_within(self, account: Account, seconds: float) -> bool:
        if account.store is None:
            return False
        stored = _content(Path(account.store) / ".credentials.json")
        expires = LenientJson(stored).child("claudeAiOauth").amount("expiresAt")
        return expires is not None and expires / 1000 < self._clock.now().timestamp() + seconds

    # --- Codex --------------------------------------------------------------------------------------

    @property
    def _codex_file(self) -> Path:
        return Path(self._environment.get("CODEX_HOME") or self._home / ".codex") / "auth.json"

    def _codex(self, account: Account, seconds: float) -> tuple[Account, tuple[str, ...]]:
        """The account with the access token alone, or with the API key that ``codex login`` stored."""
        stored = _content(self._codex_file)
        tokens, key = stored.get("tokens"), stored.get("OPENAI_API_KEY")
        if isinstance(key, str) and key:
            return replace(account, billing="key", env={"OPENAI_API_KEY": key}), (key,)
        names = ("id_token", "access_token", "account_id")
        kept = {name: tokens.get(name) for name in names} if isinstance(tokens, dict) else {}
        access = kept.get("access_token")
        if not isinstance(access, str):
            return replace(account, way=None, problem="codex has no login in auth.json: run `codex login`"), ()
        if _expiry(access) < self._clock.now().timestamp() + seconds:
            return replace(account, way=None, problem="the login of codex expires too soon: run `codex` once"), ()
        # Without any of these the CLI sends no token; in this mode it never refreshes one.
        content = {
            "auth_mode": "chatgptAuthTokens",
            "tokens": {**kept, "refresh_token": ""},
            "last_refresh": stored.get("last_refresh") or iso_timestamp(self._clock.now()),
        }
        secrets = tuple(value for name, value in kept.items() if isinstance(value, str) and name != "account_id")
        return replace(account, home={".codex/auth.json": json.dumps(content)}), secrets


def _content(file: Path) -> dict[str, Any]:
    """The object in a JSON file; empty if there is none that can be read."""
    try:
        with file.open("rb") as opened:
            found = json.loads(opened.read(MAX_STORE_BYTES))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _expiry(token: str) -> float:
    """When a JWT expires, in seconds since 1970; 0: it does not say so."""
    try:
        payload = token.split(".")[1]
        return float(json.loads(urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))["exp"])
    except (IndexError, KeyError, TypeError, ValueError, RecursionError):
        return 0.0
