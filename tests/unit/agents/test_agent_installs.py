"""The door to agents' CLIs: real npm, a registry on loopback, packages that are shell scripts."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from npm_registry import NpmRegistry, Package, stand_in
from scratch import environment
from skillgym_action.agents.install_cache import AgentCache
from skillgym_action.agents.installation import AgentInstalls
from skillgym_action.model.errors import InstallError
from skillgym_action.system.cancellation import Cancellation
from skillgym_action.system.processes.launcher import ProcessLauncher

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.slow  # starts npm

CLAUDE = "@anthropic-ai/claude-code"
# A package's own script leaves what it sees.
TELLS = {"scripts": {"postinstall": "env > env.txt"}}


@contextmanager
def door(
    folder: Path, *packages: Package, limit: float = 60, silent: bool = False, **env: str
) -> Iterator[AgentInstalls]:
    """The door into ``folder``, to a registry with those packages."""
    cancelled = Cancellation()
    with NpmRegistry(*packages, silent=silent) as registry:
        ours = environment(**{"SKILLGYM_AGENTS_DIR": str(folder)} | registry.settings | env)
        with ProcessLauncher(environment=ours, cancelled=cancelled) as processes:
            yield AgentInstalls(processes, ours, limit)
    cancelled.close()


def refused(folder: Path, *packages: Package, version: str | None = None, agent: str = "claude-code", **more) -> str:
    with door(folder, *packages, **more) as installs:
        with pytest.raises(InstallError) as caught:
            installs.install(agent, version)
        assert agent != "claude-code" or installs.installed_program("claude-code", version) is None
    assert [path.name for path in folder.glob("*") if path.is_dir()] == []
    return str(caught.value)


def test_the_verified_version_is_installed_unless_another_one_is_asked_for(tmp_path):
    with door(tmp_path, stand_in("claude-code"), stand_in("claude-code", "9.9.9")) as installs:
        verified, other = installs.install("claude-code"), installs.install("claude-code", "9.9.9")
        assert installs.version(str(verified.program)) == "2.1.332"
        assert installs.version(str(other.program)) == "9.9.9"
        assert (installs.installed_program("claude-code"), installs.installed_program("claude-code", "9.9.9")) == (
            verified.program,
            other.program,
        )
        assert installs.installed_program("claude-code", "9.9.8") is None


def test_what_is_there_is_not_installed_again(tmp_path):
    with door(tmp_path, stand_in("claude-code")) as installs:
        first = installs.install("claude-code")
    with door(tmp_path) as installs:
        second = installs.install("claude-code")
    assert first.seconds is not None
    assert (second.program, second.seconds) == (first.program, None)


def test_what_a_killed_process_left_is_installed_anew(tmp_path):
    (tmp_path / "claude-code-2.1.332" / "node_modules").mkdir(parents=True)
    with door(tmp_path, stand_in("claude-code")) as installs:
        assert installs.installed_program("claude-code") is None
        assert installs.install("claude-code").seconds is not None


def test_the_marker_holds_what_the_cli_said(tmp_path):
    with door(tmp_path, stand_in("claude-code", "9.9.9", says="9.9.9 (Claude Code)")) as installs:
        installs.install("claude-code", "9.9.9")
    assert (tmp_path / "claude-code-9.9.9" / "installed").read_text() == "9.9.9 (Claude Code)\n"


INSTALLS = """\
import os, sys
from pathlib import Path
from skillgym_action.agents.installation import AgentInstalls
from skillgym_action.system.cancellation import Cancellation
from skillgym_action.system.processes.launcher import ProcessLauncher
with ProcessLauncher(environment=dict(os.environ), cancelled=Cancellation()) as processes:
    made = AgentInstalls(processes, dict(os.environ)).install("claude-code")
print(made.seconds is not None)
"""


def test_processes_that_want_the_same_install_it_once(tmp_path):
    with NpmRegistry(stand_in("claude-code")) as registry:
        env = environment(SKILLGYM_AGENTS_DIR=str(tmp_path), **registry.settings)
        argv = (sys.executable, "-c", INSTALLS)
        started = [subprocess.Popen(argv, env=env, stdout=subprocess.PIPE, text=True) for _ in range(3)]
        said = [process.communicate(timeout=60)[0] for process in started]
    assert sorted(said) == ["False\n", "False\n", "True\n"]
    assert [path for path in registry.requests if path.endswith(".tgz")] == [f"{CLAUDE}/2.1.332.tgz"]


# --- what npm and packages see ----------------------------------------------------------------------


def test_only_the_clis_own_scripts_run(tmp_path):
    other = Package(manifest={"name": "other", "version": "1.0.0", **TELLS}, files={})
    package = stand_in("claude-code", dependencies={"other": "1.0.0"}, **TELLS)
    with door(tmp_path, package, other) as installs:
        installs.install("claude-code")
    assert (tmp_path / "claude-code-2.1.332" / "node_modules" / "other").is_dir()
    ran = [path.parent.name for path in tmp_path.rglob("env.txt")]
    assert ran == ["claude-code"]


def test_nothing_of_ours_is_seen_but_npms_settings(tmp_path):
    secret = {"ANTHROPIC_API_KEY": "sk-1", "GITHUB_TOKEN": "ghs-1", "SKILLGYM_X": "x", "npm_config_fund": "false"}
    with door(tmp_path, stand_in("claude-code", **TELLS), **secret) as installs:
        installs.install("claude-code")
    (told,) = tmp_path.rglob("env.txt")
    seen = dict(line.partition("=")[::2] for line in told.read_text().splitlines())
    assert seen.keys() & {"ANTHROPIC_API_KEY", "GITHUB_TOKEN", "SKILLGYM_X"} == set()
    assert seen["npm_config_fund"] == ""
    assert seen["HOME"] != os.environ["HOME"]


# --- what goes wrong --------------------------------------------------------------------------------


def test_a_version_that_does_not_exist(tmp_path):
    told = refused(tmp_path, stand_in("claude-code"), version="9.9.8")
    assert told == (
        f"cannot install {CLAUDE}@9.9.8: npm's registry does not have it\n"
        f"notarget No matching version found for {CLAUDE}@9.9.8.; check the version, and which registry npm asks"
    )


def test_a_package_that_the_registry_does_not_have(tmp_path):
    assert f"cannot install {CLAUDE}@2.1.332: npm's registry does not have it\n404 Not Found" in refused(tmp_path)


def test_a_registry_that_cannot_be_reached(tmp_path):
    unreachable = {"npm_config_registry": "http://127.0.0.1:9", "npm_config_fetch_retries": "0"}
    told = refused(tmp_path, **unreachable)
    assert re.search(r": npm's registry cannot be reached\n.*ECONNREFUSED.*; check network, proxy and npm_config", told)


@pytest.mark.timed
def test_a_registry_that_does_not_answer_in_time(tmp_path):
    told = refused(tmp_path, limit=1.5, silent=True)
    assert told.startswith(f"cannot install {CLAUDE}@2.1.332: npm did not end within 1.5 s; try again")


def test_no_npm(tmp_path):
    told = refused(tmp_path, PATH="/nonexistent")
    assert told == (
        f"cannot install {CLAUDE}@2.1.332: npm was not found; install Node.js, which includes npm, "
        "or install the agent yourself and name its program in agent.command"
    )


def test_a_script_of_the_cli_that_fails(tmp_path):
    fails = {"scripts": {"postinstall": "echo no such platform >&2; exit 3"}}
    told = refused(tmp_path, stand_in("claude-code", **fails))
    assert f"cannot install {CLAUDE}@2.1.332: npm ended with exit code 3\n" in told
    assert "\nno such platform; install the agent yourself" in told


@pytest.mark.parametrize(("says", "told"), [("1.0.0 (Other)", "1.0.0 (Other)"), ("$(exit 1)", "nothing")])
def test_a_cli_that_is_not_the_version_it_should_be(tmp_path, says, told):
    expected = f"{CLAUDE}@2.1.332 was installed, but its --version says: {told}; install the agent yourself"
    assert refused(tmp_path, stand_in("claude-code", says=says)).replace("; or ", "; ").startswith(expected)


def test_a_cli_that_does_not_start_with_the_node_that_is_there(tmp_path):
    """Its stack trace has other versions: that of Node.js, and that in the path of its own folder."""
    dies = "$(echo 'at /agents/pi-1.6.0/cli.js' >&2; echo 'Node.js v20.20.2' >&2; kill $$)"
    package = stand_in("pi", says=dies, engines={"node": ">=99.1.0"})
    told = refused(tmp_path, package, agent="pi")
    needs = r"@earendil-works/pi-coding-agent 1\.6\.0 needs Node\.js >=99\.1\.0, and PATH has \d+\.\d+\.\d+"
    assert re.fullmatch(rf"pi was installed, but does not start: {needs}; put a Node\.js of such a version .*", told)


def test_a_cli_that_starts_is_installed_whatever_it_says_of_node(tmp_path):
    with door(tmp_path, stand_in("pi", engines={"node": ">=99.1.0"})) as installs:
        assert installs.install("pi").seconds is not None


def test_a_version_from_before_a_package_was_renamed_names_the_old_package(tmp_path):
    told = refused(tmp_path, stand_in("pi"), agent="pi", version="0.73.1")
    assert "cannot install @earendil-works/pi-coding-agent@0.73.1: npm's registry does not have it\n" in told
    assert told.endswith(
        "; the package was named @mariozechner/pi-coding-agent before, and is not installed under that name"
    )


@pytest.mark.parametrize(
    "version", ["latest", "^2.1.0", "2.1", "https://host/x.tgz", "1.2.3 --prefix=/", "npm:other@1.2.3"]
)
def test_what_is_no_exact_version_is_refused(tmp_path, version):
    told = refused(tmp_path, stand_in("claude-code"), version=version)
    assert told == f"claude-code: {version!r} is not an exact version; such as 2.1.332"


def test_an_agent_that_does_not_come_from_npm(tmp_path):
    told = refused(tmp_path, agent="replay")
    assert told == "replay does not come from npm; install it yourself, where PATH finds it"


def test_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "file").touch()
    with door(tmp_path / "file" / "agents") as installs, pytest.raises(InstallError) as caught:
        installs.install("claude-code")
    assert str(caught.value) == (
        f"cannot install into {tmp_path}/file/agents: Not a directory; name another folder in SKILLGYM_AGENTS_DIR"
    )


# --- where ------------------------------------------------------------------------------------------


def folder_for(**env: str) -> str:
    cancelled = Cancellation()
    with ProcessLauncher(environment=env, cancelled=cancelled) as processes:
        found = AgentInstalls(processes, env).folder
    cancelled.close()
    return str(found)


def test_the_folder_is_one_that_the_users_of_agents_can_reach():
    """Root's home is closed to them; whoever is not root runs agents as himself."""
    root = "/var/cache/skillgym-action/agents"
    ours = {"/home/me/.cache/skillgym-action/agents", "/cache/skillgym-action/agents"}
    found = {folder_for(HOME="/home/me"), folder_for(HOME="/home/me", XDG_CACHE_HOME="/cache")}
    assert found == ({root} if os.geteuid() == 0 else ours)
    assert folder_for(HOME="/home/me", XDG_CACHE_HOME="cache") == folder_for(HOME="/home/me")


def test_a_variable_names_the_folder(tmp_path):
    assert folder_for(SKILLGYM_AGENTS_DIR=str(tmp_path)) == str(tmp_path)


def test_a_program_that_is_asked_for_its_version_sees_no_setting_of_npm(tmp_path):
    program = tmp_path / "cli"
    program.write_text(f"#!/bin/sh\nenv >{tmp_path}/seen\necho 1.2.3\n")
    program.chmod(0o755)
    with door(tmp_path / "agents", npm_config_token="npm-secret") as installs:
        assert installs.version(str(program)) == "1.2.3"
    assert "npm_config" not in (tmp_path / "seen").read_text()


@pytest.mark.parametrize(
    ("script", "version"),
    [
        pytest.param("echo 2.1.332 '(Claude Code)'", "2.1.332", id="at the beginning"),
        pytest.param("echo codex-cli 0.171.0; echo 9.9.9 is there >&2", "0.171.0", id="stdout before stderr"),
        pytest.param("echo 1.6.0 >&2", "1.6.0", id="on stderr"),
        pytest.param("echo GitHub Copilot CLI 1.0.102.", "1.0.102", id="at the end of a sentence"),
        pytest.param("echo v1.0.0-beta.2", "1.0.0-beta.2", id="before a release"),
        pytest.param("echo what", None, id="none"),
        pytest.param("echo at /agents/pi-1.6.0, Node.js v20.20.2 >&2; exit 1", None, id="of a program that failed"),
    ],
)
def test_the_version_that_a_program_tells(tmp_path, script, version):
    program = tmp_path / "cli"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    with door(tmp_path / "agents") as installs:
        assert installs.version(str(program)) == version
        assert installs.version(str(tmp_path / "missing")) is None


# --- kept for later jobs ----------------------------------------------------------------------------


def test_a_later_job_restores_what_an_earlier_one_installed(tmp_path):
    kept = {"SKILLGYM_AGENTS_CACHE": str(tmp_path / "kept")}
    with door(tmp_path / "first", stand_in("claude-code"), **kept) as installs:
        assert not installs.install("claude-code").restored
    with door(tmp_path / "second", **kept) as installs:
        later = installs.install("claude-code")
        assert (later.restored, later.note) == (True, None)
        assert installs.version(str(later.program)) == "2.1.332"
    assert [path.name for path in (tmp_path / "second").iterdir() if path.is_dir()] == ["claude-code-2.1.332"]


def test_one_that_is_damaged_is_installed_and_kept_anew(tmp_path):
    kept = {"SKILLGYM_AGENTS_CACHE": str(tmp_path / "kept")}
    with door(tmp_path / "first", stand_in("claude-code"), **kept) as installs:
        installs.install("claude-code")
    (file,) = (tmp_path / "kept").iterdir()
    file.write_bytes(file.read_bytes()[:-40])
    with door(tmp_path / "second", stand_in("claude-code"), **kept) as installs:
        again = installs.install("claude-code")
    assert not again.restored
    assert again.note is not None
    assert again.note.startswith(f"claude-code-2.1.332 could not be restored from {tmp_path}/kept, and was installed: ")
    with door(tmp_path / "third", **kept) as installs:
        assert installs.install("claude-code").restored


def test_one_that_does_not_start_here_is_installed_anew(tmp_path):
    """As with a module that was built for another Node.js."""
    kept = {"SKILLGYM_AGENTS_CACHE": str(tmp_path / "kept")}
    with door(tmp_path / "first", stand_in("claude-code", "9.9.9"), **kept) as installs:
        installs.install("claude-code", "9.9.9")
    program = tmp_path / "first" / "claude-code-9.9.9" / "node_modules" / CLAUDE / "cli.sh"
    program.write_text("#!/bin/sh\nexit 1\n")
    AgentCache(tmp_path / "kept").keep("claude-code-9.9.9", tmp_path / "first" / "claude-code-9.9.9")
    with door(tmp_path / "second", stand_in("claude-code", "9.9.9"), **kept) as installs:
        again = installs.install("claude-code", "9.9.9")
    assert (again.restored, "could not be restored" in str(again.note)) == (False, True)


def test_a_cache_that_cannot_be_written_costs_nothing_but_a_note(tmp_path):
    (tmp_path / "file").write_text("")
    kept = {"SKILLGYM_AGENTS_CACHE": str(tmp_path / "file" / "kept")}
    with door(tmp_path / "first", stand_in("claude-code"), **kept) as installs:
        made = installs.install("claude-code")
    assert made.program.exists()
    assert str(made.note).startswith("claude-code-2.1.332 could not be ")


def test_the_tool_cache_of_a_runner_is_used_where_there_is_one(tmp_path):
    (tmp_path / "tools").mkdir()
    found = folder_for(HOME="/home/me", RUNNER_TOOL_CACHE=str(tmp_path / "tools"))
    shared = "/var/cache/skillgym-action/agents"
    assert found == (shared if os.geteuid() == 0 else str(tmp_path / "tools" / "skillgym-agents"))
    assert folder_for(HOME="/home/me", RUNNER_TOOL_CACHE="/nowhere") == folder_for(HOME="/home/me")
