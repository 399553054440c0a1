"""The command doctor: one line for each finding, as a person reads it."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from shutil import which

import pytest

from npm_registry import NpmRegistry, stand_in
from scratch import Ran, config, skillgym, written

CLAUDE = {"agent": {"type": "claude-code"}}
KEY = {"ANTHROPIC_API_KEY": "sk-ant-secret-0123456789"}
ON_GITHUB = {
    "GITHUB_ACTIONS": "true",
    "GITHUB_API_URL": "https://api.github.com",
    "GITHUB_REF": "refs/heads/main",
    "GITHUB_REPOSITORY": "octocat/benchmarks",
    "GITHUB_RUN_ATTEMPT": "1",
    "GITHUB_RUN_ID": "4711",
    "GITHUB_SERVER_URL": "https://github.com",
    "GITHUB_SHA": "0123456789abcdef0123456789abcdef01234567",
}


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A PATH with what the tool needs, and the agents that a test puts there."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("git", "sh", "cat", "env", "id", "node", "npm", "rm", "chmod"):
        (folder / name).symlink_to(str(which(name)))
    return str(folder)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    folder.mkdir()
    return folder


def doctor(root: Path, path: str, *args: str, **env: str) -> Ran:
    settings = {"PATH": path, "SKILLGYM_AGENTS_DIR": str(root.with_name("agents"))}
    return skillgym("doctor", *args, cwd=root, **(settings | env))


def program(path: str, name: str, text: str) -> None:
    file = Path(path) / name
    file.write_text(text)
    file.chmod(0o755)


def claude(path: str, version: str = "2.1.332") -> None:
    program(path, "claude", stand_in("claude-code", version).files["cli.sh"])


def line(ran: Ran, context: str) -> str:
    """What is said of a subject: sign and text."""
    (found,) = [text for text in ran.out.splitlines() if re.match(rf". {re.escape(context)} {{2,}}|. {context}$", text)]
    return f"{found[0]} {found[2:].removeprefix(context).strip()}"


# --- the machine ------------------------------------------------------------------------------------


def test_programs_have_a_line_each(root, path):
    for name, version in (("git", "git version 2.39.5"), ("node", "v24.1.0"), ("npm", "11.3.0")):
        (root.parent / "bin" / name).unlink()
        program(path, name, f"#!/bin/sh\necho {version}\n")
    ran = doctor(root, path)
    assert re.fullmatch(r"✓ \d+\.\d+\.\d+ on Python 3\.\d+\.\d+", line(ran, "skillgym-action"))
    assert line(ran, "git") == "✓ 2.39.5"
    assert line(ran, "Node.js") == "✓ 24.1.0, npm 11.3.0"
    assert line(ran, "configuration") == "· no skillgym.config.* in this folder or above"


def test_what_is_missing_comes_with_its_remedy(root, path):
    for name in ("git", "npm"):
        (root.parent / "bin" / name).unlink()
    ran = doctor(root, path)
    assert ran.code == 1
    assert line(ran, "git") == "✗ not found; copies of the repository need it; install git"
    assert line(ran, "Node.js").endswith("npm not found; agents are installed through npm: install Node.js")
    assert line(ran, "runners") == (
        "✗ none is configured, and no agent's CLI was found; skillgym-action doctor --install claude-code"
    )


def test_a_node_that_is_too_old_for_suites_in_typescript_is_a_warning(root, path):
    (root.parent / "bin" / "node").unlink()
    program(path, "node", "#!/bin/sh\necho v20.1.0\n")
    claude(path)
    ran = doctor(root, path, SKILLGYM_NODE=f"{path}/node")
    assert ran.code == 0
    assert line(ran, "Node.js").startswith("! 20.1.0, npm")
    assert "suites in TypeScript need Node.js 22.18 or newer" in line(ran, "Node.js")


def test_who_agents_run_as(root, path):
    found = line(doctor(root, path), "agents")
    root_runs = "! run as the caller, root; use --agent-user, unless this machine is thrown away afterwards"
    assert found == (root_runs if os.geteuid() == 0 else "· run as the caller")


def test_what_keeps_sessions_apart(root, path):
    found = line(doctor(root, path), "sessions")
    assert found == (
        "· not isolated from each other, and can read the caller's files; all their processes are ended with them"
    )
    if os.geteuid() == 0:
        found = line(doctor(root, path, "--agent-user", "nobody"), "sessions")
        assert found == (
            "! each has a user id of its own, 50000 to 59999, and cannot access other sessions;"
            " these users have no name, so os.userInfo() of Node.js fails; give them names in /etc/passwd"
        )


def test_what_protects_the_tools_own_process(root, path):
    found = line(doctor(root, path), "this process")
    assert (
        found == "✓ other processes cannot read its memory, and nothing it starts gains rights through setuid programs"
    )


# --- agents and runners -----------------------------------------------------------------------------


def test_without_a_configuration_the_agents_there_are_have_a_line(root, path):
    claude(path)
    ran = doctor(root, path, **KEY)
    assert ran.code == 0
    assert line(ran, "claude-code") == (
        f"✓ claude-code 2.1.332, the verified version; {path}/claude; key in ANTHROPIC_API_KEY"
    )
    assert [text for text in ran.out.splitlines() if "codex" in text] == []


def test_no_value_of_a_key_is_ever_shown(root, path):
    claude(path)
    ran = doctor(root, path, "--probe", **KEY)
    assert "ANTHROPIC_API_KEY" in ran.out
    assert KEY["ANTHROPIC_API_KEY"] not in ran.out + ran.err


def test_another_version_than_the_verified_one_is_a_warning(root, path):
    claude(path, "2.0.1")
    ran = doctor(root, path, **KEY)
    assert ran.code == 0
    assert line(ran, "claude-code").startswith("! claude-code 2.0.1, verified was 2.1.332; ")


@pytest.fixture
def old_node(tmp_path: Path) -> Path:
    """A folder of its own, not that of ``path``, whose entries are links to programs of the system."""
    folder = tmp_path / "old-node"
    folder.mkdir()
    said = {"name": "@anthropic-ai/claude-code", "version": "2.1.332", "engines": {"node": ">=22.0.0"}}
    (folder / "package.json").write_text(json.dumps(said))
    for name, text in {"claude": "echo 2.1.332", "node": "echo v20.20.2"}.items():
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(0o755)
    return folder


NEEDS = "@anthropic-ai/claude-code 2.1.332 needs Node.js >=22.0.0, and PATH has 20.20.2"


def test_a_node_that_is_too_old_is_a_problem_where_the_agent_does_not_start(root, path, old_node):
    (old_node / "claude").write_text("#!/bin/sh\nexit 1\n")
    ran = doctor(root, f"{old_node}:{path}", "--runner", "claude-code", **KEY)
    assert ran.code == 1
    why = f"claude-code: {old_node}/claude does not start: {NEEDS}; put a Node.js "
    assert line(ran, "claude-code").startswith(f"✗ {why}")


def test_a_node_that_is_too_old_is_a_warning_where_the_agent_starts(root, path, old_node):
    ran = doctor(root, f"{old_node}:{path}", "--runner", "claude-code", **KEY)
    assert ran.code == 0
    assert line(ran, "claude-code").startswith("✓ claude-code 2.1.332, the verified version; ")
    assert f"\n! claude-code, program claude-code: {NEEDS}; it starts all the same\n" in ran.out


@pytest.mark.parametrize(
    ("runner", "told"),
    [
        pytest.param(
            {"type": "claude-code"},
            "✗ claude-code: claude was not found; skillgym-action doctor --install claude-code",
            id="it is nowhere",
        ),
        pytest.param(
            {"type": "claude-code", "version": "9.9.9"},
            "✗ claude-code: version 9.9.9 is not installed; skillgym-action doctor --install claude-code@9.9.9",
            id="not in this version",
        ),
        pytest.param(
            {"type": "claude-code", "env": ["MY_KEY"]},
            "✗ skillgym.config.yaml:1:55: runners.one.agent.env: MY_KEY is not set in the environment; "
            "set MY_KEY, or pass it to the job as a secret",
            id="a variable is not set",
        ),
        pytest.param({"type": "command", "command": ["sh", "x"]}, "✓ command: {path}/sh", id="a program"),
        pytest.param(
            {"type": "replay", "sessions": "rec"},
            "✗ replay: {root}/rec does not exist; record sessions with run --record",
            id="no recordings",
        ),
    ],
)
def test_a_configured_runner(root, path, runner, told):
    written(root, {"skillgym.config.yaml": config(one={"agent": runner})})
    ran = doctor(root, path, **KEY)
    assert line(ran, "configuration") == "✓ skillgym.config.yaml"
    assert line(ran, "one") == told.format(root=root, path=path)
    assert ran.code == (1 if told.startswith("✗") else 0)


@pytest.mark.parametrize(
    ("agent", "program"),
    [
        pytest.param({"type": "command", "command": ["./agent.sh"]}, "{root}/agent.sh", id="at its path"),
    ],
)
def test_a_program_that_is_not_executable(root, path, agent, program):
    file = program.format(root=root, path=path)
    written(root, {"skillgym.config.yaml": config(one={"agent": agent})})
    Path(file).write_text("#!/bin/sh\n")
    ran = doctor(root, path, **KEY)
    named = file if "/" in agent["command"][0] else agent["command"][0]
    assert line(ran, "one") == f"✗ {agent['type']}: {named} is not executable; run chmod +x {file}"
    assert ran.code == 1


def test_a_misspelt_placeholder_is_a_warning(root, path):
    written(root, {"skillgym.config.yaml": 'runners: {one: {agent: {type: command, command: [sh, "{promt}"]}}}\n'})
    ran = doctor(root, path)
    place = "skillgym.config.yaml:1:54: runners.one.agent.command[1]"
    assert line(ran, "one, command") == f"! {place}: unknown placeholder '{{promt}}'; did you mean '{{prompt}}'?"
    assert ran.code == 0


@pytest.mark.parametrize(
    ("agent", "sign"),
    [
        pytest.param({"type": "claude-code"}, "✗", id="nothing else would let it in"),
        pytest.param(
            {"type": "claude-code", "env": {"CLAUDE_CODE_USE_BEDROCK": "1", "AWS_REGION": "r", "AWS_PROFILE": "p"}},
            "!",
            id="something else may",
        ),
    ],
)
def test_a_configured_runner_without_a_key(root, path, agent, sign):
    claude(path)
    written(root, {"skillgym.config.yaml": config(one={"agent": agent})})
    ran = doctor(root, path)
    assert line(ran, "one").startswith(f"{sign} claude-code 2.1.332")
    ways = (
        "run `claude` once to log in, or set ANTHROPIC_API_KEY or CLAUDE_CODE_OAUTH_TOKEN "
        "(for a plan, from `claude setup-token`); for a cloud, set "
        "CLAUDE_CODE_USE_BEDROCK or CLAUDE_CODE_USE_VERTEX or CLAUDE_CODE_USE_FOUNDRY; for a gateway, set "
        "ANTHROPIC_BASE_URL; "
        "see docs/how-to/log-in.md of skillgym-action"
    )
    assert line(ran, "one").endswith(f"{'no account' if sign == '✗' else 'bedrock, no key'}; {ways}")
    assert ran.code == (1 if sign == "✗" else 0)


def test_in_a_job_it_names_the_secret_also_of_an_agent_that_is_not_installed(root, path):
    written(root, {"skillgym.config.yaml": config(one={"agent": {"type": "claude-code", "version": "9.9.9"}})})
    ran = doctor(root, path, GITHUB_ACTIONS="true")
    install = "skillgym-action doctor --install claude-code@9.9.9"
    assert f"9.9.9 is not installed; no account; {install}, then create the secret and pass it to " in line(ran, "one")
    assert "`env: {ANTHROPIC_API_KEY: ${{ secrets.ANTHROPIC_API_KEY }}}`" in line(ran, "one")


def test_without_the_cli_it_says_whether_a_login_is_stored_and_installs_first(root, path):
    written(root, {"skillgym.config.yaml": config(one={"agent": {"type": "claude-code"}})})
    missing, install = "✗ claude-code: claude was not found", "skillgym-action doctor --install claude-code"
    more = "run `claude` once to log in, or set ANTHROPIC_API_KEY"
    assert line(doctor(root, path), "one") == f"{missing}; no account; {install}, then {more}"
    written(root.parent / "store", {".credentials.json": "{}"})
    found = line(doctor(root, path, CLAUDE_CONFIG_DIR=str(root.parent / "store")), "one")
    assert found == f"{missing}; your own login is stored; {install}"


def test_runners_can_be_selected(root, path):
    written(root, {"skillgym.config.yaml": config(one=CLAUDE, two={"agent": {"type": "command", "command": "true"}})})
    ran = doctor(root, path, "--runner", "two", "--runner", "three")
    assert line(ran, "two") == "✓ command: true"
    assert line(ran, "three").startswith("✗ unknown runner 'three'; ")
    assert "one" not in [text.split()[1] for text in ran.out.splitlines()]


def test_a_broken_configuration_is_a_finding_among_others(root, path):
    written(root, {"skillgym.config.yaml": "runers: {}\n"})
    ran = doctor(root, path)
    assert ran.code == 1
    assert line(ran, "configuration").startswith("✗ skillgym.config.yaml:1:1: runers: ")
    assert line(ran, "git").startswith("✓")


# --- install, probe ---------------------------------------------------------------------------------


def test_an_agent_is_installed_and_then_found(root, path):
    with NpmRegistry(stand_in("claude-code")) as registry:
        ran = doctor(root, path, "--install", "claude-code", **registry.settings, **KEY)
    installed = f"{root.with_name('agents')}/claude-code-2.1.332/node_modules/.bin/claude"
    assert ran.code == 0, ran.out
    assert re.fullmatch(rf"✓ claude-code 2\.1\.332 installed in \d+\.\d s: {installed}", line(ran, "install"))
    assert line(ran, "claude-code") == (
        f"✓ claude-code 2.1.332, the verified version; {installed}; key in ANTHROPIC_API_KEY"
    )
    again = doctor(root, path, "--install", "claude-code", **KEY)
    assert line(again, "install") == f"✓ claude-code 2.1.332 was already installed: {installed}"


def test_what_cannot_be_installed_is_a_problem(root, path):
    with NpmRegistry() as registry:
        ran = doctor(root, path, "--install", "claude-code@9.9.9", **registry.settings)
    assert ran.code == 1
    assert line(ran, "install").startswith(
        "✗ cannot install @anthropic-ai/claude-code@9.9.9: npm's registry does not have it 404 Not Found"
    )


def test_a_probe_holds_a_session_and_says_what_came(root, path):
    claude(path)
    event = json.dumps({"type": "error", "class": "auth", "message": "no such key"})
    broken = {"agent": {"type": "command", "output": "events", "command": f"echo '{event}'"}}
    silent = {"agent": {"type": "command", "command": "true"}}
    written(root, {"skillgym.config.yaml": config(claude=CLAUDE, broken=broken, silent=silent)})
    ran = doctor(root, path, "--probe", **KEY)
    assert ran.code == 1
    assert re.fullmatch(r"✓ answered 'fine' after \d+\.\d s, \$0\.0100", line(ran, "claude, probed"))
    assert line(ran, "broken, probed") == (
        "✗ Authentication failed (auth): no such key; check the runner's API key and that the job may read the secret"
    )
    assert re.match(r"✗ no answer after \d+\.\d s, cost unknown; ", line(ran, "silent, probed"))
    assert list(root.iterdir()) == [root / "skillgym.config.yaml"]


# --- on GitHub --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("env", "told"),
    [
        pytest.param(
            {},
            "· push on octocat/benchmarks; no token: nothing is published on the pull request",
            id="without a token",
        ),
        pytest.param(
            {"GITHUB_TOKEN": "ghs_0123456789abcdefghijklmnopqrstuvwxyz"},
            "✓ push on octocat/benchmarks; a token is present; whether it may write depends on the job's permissions: "
            "pull-requests: write",
            id="with a token",
        ),
    ],
)
def test_what_is_known_of_the_job(root, path, env, told):
    event = root.with_name("event.json")
    event.write_text("{}")
    ran = doctor(root, path, **ON_GITHUB, GITHUB_EVENT_NAME="push", GITHUB_EVENT_PATH=str(event), **env)
    assert line(ran, "GitHub") == told


def test_off_github_nothing_is_said_of_it(root, path):
    assert "GitHub" not in doctor(root, path).out


def test_it_says_that_no_engine_of_containers_answers(root, path):
    ran = doctor(root, path, DOCKER_HOST=f"unix://{root}/no.sock")
    remedy = "start Docker, or set DOCKER_HOST to the address of an engine"
    said = f"none: no Docker engine answers at unix://{root}/no.sock: No such file or directory; {remedy}"
    assert line(ran, "containers") == f"· {said}"
    ran = doctor(root, path, "--sweep", DOCKER_HOST=f"unix://{root}/no.sock")
    assert (line(ran, "containers"), ran.code) == (f"✗ {said}", 1)
