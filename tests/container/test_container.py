"""The image as GitHub's runner uses it. Needs a Docker engine: ``make test-container``."""

from __future__ import annotations

import json
import os
import subprocess
from ipaddress import ip_network
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest
import yaml
from junitparser import JUnitXml

from attempts import CONTENT, ENVIRONMENT, IN_ACTION, said
from container.boxes import BASE
from container.image import built, docker
from container.runner import ROOT, run_step
from led_by_names import outcomes
from npm_registry import NpmRegistry, stand_in
from positions import BY_NAME, IN_PLAY, applies, attempts_of, disagreements, kept_of, play
from runner_parsers import command, commands, read_lines
from scratch import written

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.container

RUNNER_USER = 1001  # who the checkout belongs to on GitHub's machines

CONFIG = """\
runners:
  script:
    agent: {type: command, command: [sh, ./agent.sh, "{prompt}"]}
"""
# Its output tries to speak to the runner; the agent's text is not for the log.
AGENT = """\
echo '::error::from the agent'
echo '##[error]from the agent'
env >environment.txt
case $1 in
  write) echo hello >hello.txt ;;
  crash) exit 9 ;;
esac
"""
IDENTITY = ("-c", "user.name=t", "-c", "user.email=t@example.com")
WRITES = {"id": "writes", "prompt": "write", "expect": ["file:hello.txt contains 'hello'"]}
IDLES = {"id": "idles", "prompt": "idle", "expect": ["file:hello.txt exists"]}
CRASHES = {"id": "crashes", "prompt": "crash", "expect": ["file:hello.txt exists"]}


@pytest.fixture(scope="session")
def image() -> str:
    return built()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A repository with an agent, as actions/checkout leaves it: it belongs to the runner's user, not to root."""
    repository = tmp_path / "checkout"
    (repository / "bench").mkdir(parents=True)
    (repository / "skillgym.config.yaml").write_text(CONFIG)
    (repository / "agent.sh").write_text(AGENT)
    return repository


def check_out(repository: Path, *cases: dict[str, object]) -> None:
    """Write the suite and make a checkout of it all."""
    if cases:
        (repository / "bench" / "files.json").write_text(json.dumps({"name": "files", "cases": cases}))
    for arguments in (["init", "-q"], ["add", "-A"], [*IDENTITY, "commit", "-q", "-m", "suite"]):
        git(repository, *arguments)
    hand_over(repository)


def git(repository: Path, *arguments: str) -> str:
    command = ["git", "-c", "safe.directory=*", *arguments]
    return subprocess.run(command, cwd=repository, check=True, capture_output=True, text=True).stdout.strip()


def hand_over(repository: Path) -> None:
    """Give it to the runner's user, as far as we can."""
    if os.geteuid() == 0:
        for path in (repository, *repository.rglob("*")):
            os.chown(path, RUNNER_USER, RUNNER_USER, follow_symlinks=False)


@pytest.mark.parametrize(
    ("cases", "exit_code", "outputs"),
    [
        pytest.param(
            [WRITES],
            0,
            {"verdict": "passed", "executions": "1", "passed": "1", "failed": "0", "errored": "0"},
            id="all cases passed: green",
        ),
        pytest.param(
            [WRITES, IDLES],
            1,
            {"verdict": "failed", "executions": "2", "passed": "1", "failed": "1", "errored": "0"},
            id="a case failed: red",
        ),
        pytest.param(
            [WRITES, CRASHES],
            3,
            {"verdict": "inconclusive", "executions": "2", "passed": "1", "failed": "0", "errored": "1"},
            id="a case could not be judged: inconclusive",
        ),
    ],
)
def test_verdict_outputs_and_reports_agree(image, checkout, cases, exit_code, outputs):
    check_out(checkout, *cases)

    inputs = {"junit-path": "reports/junit.xml", "report-dir": "reports/run", "comment": "off"}
    step = run_step(image, checkout, inputs=inputs)

    assert step.exit_code == exit_code, step.log
    assert step.outputs | outputs == step.outputs
    assert step.outputs["exit-code"] == str(exit_code)
    assert step.outputs["junit-path"] == "reports/junit.xml"
    junit = JUnitXml.fromfile(str(checkout / step.outputs["junit-path"]))
    assert sum(suite.tests for suite in junit) == len(cases)
    results = json.loads((checkout / step.outputs["results-path"]).read_text())
    assert results["run"]["decision"]["exitCode"] == exit_code
    assert (checkout / step.outputs["summary-path"]).read_text() == step.summary != ""


def test_paths_in_outputs_are_those_of_later_steps(image, checkout):
    """They are relative to the workspace; the folder that the action works in is below it."""
    check_out(checkout, WRITES)
    workspace = checkout.parent
    workspace.chmod(0o755)

    step = run_step(image, workspace, inputs={"working-directory": checkout.name, "junit-path": "junit.xml"})

    assert step.exit_code == 0, step.log
    run = step.outputs["report-dir"]
    assert run.startswith(f"{checkout.name}/.skillgym-results/")
    assert step.outputs["junit-path"] == f"{checkout.name}/junit.xml"
    assert [step.outputs[f"{name}-path"] for name in ("results", "summary")] == [
        f"{run}/results.json",
        f"{run}/summary.md",
    ]
    assert step.outputs["store-path"] == "", "which only a run with the store artifact has"
    paths = {name: value for name, value in step.outputs.items() if name.endswith("-path") and value}
    assert [name for name, path in paths.items() if not (workspace / path).is_file()] == []


def test_an_unfinished_run_goes_on_in_another_container(image, checkout):
    check_out(checkout, WRITES, IDLES)
    first = run_step(image, checkout, inputs={"report-dir": "run", "cases": str(WRITES["id"])})
    assert first.exit_code == 0, first.log
    again = run_step(image, checkout, inputs={"resume": "run", "report-dir": "run", "agent-user": "www-data"})
    assert again.exit_code == 1, again.log
    assert "resumed: 1 session finished before" in again.log
    assert (again.outputs["executions"], again.outputs["report-dir"]) == ("2", "run")


@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        pytest.param({"agent-user": "root"}, "root may do everything", id="root"),
        pytest.param({"report-dir": "../x"}, "it would be lost with the action's container", id="a lost run directory"),
        pytest.param({"working-directory": "nope"}, "there is no folder nope; known: bench", id="no such folder"),
    ],
)
def test_what_a_container_cannot_do_is_told(image, checkout, inputs, words):
    check_out(checkout, WRITES)
    step = run_step(image, checkout, inputs=inputs)
    assert step.exit_code == 2
    assert words in step.log
    assert not (checkout / "nope").exists()


def test_the_suite_of_the_base_commit_judges_the_head(image, checkout):
    shows = {"type": "command", "command": "cat tool.txt >hello.txt"}
    (checkout / "skillgym.config.yaml").write_text(json.dumps({"runners": {"script": {"agent": shows}}}))
    (checkout / "tool.txt").write_text("hello\n")
    check_out(checkout, WRITES)
    base = git(checkout, "rev-parse", "HEAD")
    (checkout / "tool.txt").write_text("bye\n")
    lax = json.dumps({"name": "files", "cases": [WRITES | {"expect": ["file:hello.txt exists"]}]})
    (checkout / "bench/files.json").write_text(lax)
    git(checkout, *IDENTITY, "commit", "-q", "-a", "-m", "head")
    hand_over(checkout)
    head = {"sha": git(checkout, "rev-parse", "HEAD"), "ref": "topic", "repo": {"full_name": "octocat/benchmarks"}}
    event = {"action": "synchronize", "pull_request": {"number": 7, "head": head, "base": {"sha": base}}}
    env = {"GITHUB_EVENT_NAME": "pull_request"}

    own = run_step(image, checkout, inputs={"report-dir": "own"}, env=env, event=event)
    bases = run_step(image, checkout, inputs={"report-dir": "bases", "suites-from": "base"}, env=env, event=event)

    assert (own.exit_code, bases.exit_code) == (0, 1), own.log + bases.log
    assert "bench/files.json" in bases.summary


def test_every_output_of_the_action_is_written_and_no_other(image, checkout):
    check_out(checkout, WRITES)
    declared = yaml.safe_load((ROOT / "action.yml").read_text())["outputs"]
    of_plans = {"matrix", "shard-count", "plan-path"}  # written by the modes plan and missing
    assert set(run_step(image, checkout).outputs) == set(declared) - of_plans


def test_what_the_run_leaves_belongs_to_the_owner_of_the_checkout(image, checkout):
    check_out(checkout, WRITES, IDLES)
    step = run_step(image, checkout, inputs={"junit-path": "reports/junit.xml"})
    assert step.exit_code == 1, step.log
    assert (checkout / "reports" / "junit.xml").is_file()
    owner = checkout.stat().st_uid
    assert {str(path) for path in checkout.rglob("*") if path.lstat().st_uid != owner} == set()


def test_an_agent_gives_the_runner_no_command_and_later_steps_no_environment(image, checkout):
    check_out(checkout, WRITES, IDLES)
    step = run_step(image, checkout, inputs={"comment": "off"})
    assert step.exit_code == 1, step.log
    told = [found for line in read_lines(step.log) if (found := command(line))]
    assert [name for name, _, _ in told] == ["group", "endgroup", "group", "endgroup", "error"]
    assert [line.strip() for line in read_lines(step.log) if "from the agent" in line][:2] == [
        ": :error::from the agent",
        "## [error]from the agent",
    ]
    assert set(commands(step.log)) == {"group", "endgroup", "error"}
    assert (step.env, step.path) == ("", "")


def test_an_agent_sees_nothing_that_the_job_gives_to_the_action(image, checkout):
    seen = "! grep -E '^(ACTIONS_|INPUT_|GITHUB_)|runtime-token|token-of-the-user' environment.txt"
    check_out(checkout, {"id": "looks", "prompt": "write", "expect": [f"test:{seen}"]})
    step = run_step(image, checkout, env={"GITHUB_TOKEN": "token-of-the-user"})
    assert step.exit_code == 0, step.log


def test_an_agent_that_the_image_lacks_is_installed_and_started_by_its_own_user(image, checkout):
    """From a registry on this machine, which containers see as their gateway."""
    # Some engines do not list the gateway; it is the first address of the network.
    subnet = docker("network", "inspect", "bridge", "--format", "{{(index .IPAM.Config 0).Subnet}}").strip()
    gateway = next(ip_network(subnet).hosts())
    (checkout / "skillgym.config.yaml").write_text("runners: {claude: {agent: {type: claude-code, version: 9.9.9}}}\n")
    check_out(checkout, {"id": "works", "prompt": "work", "expect": ["file:user.txt contains 'agent'"]})
    with NpmRegistry(stand_in("claude-code", "9.9.9"), host="0.0.0.0") as registry:
        job = {"npm_config_registry": f"http://{gateway}:{registry.port}", "ANTHROPIC_API_KEY": "key-of-the-user"}
        step = run_step(image, checkout, env=job)
        assert step.exit_code == 0, step.log
        assert "installed claude-code 9.9.9 in " in step.log
        refused = run_step(image, checkout, env=job, inputs={"install-agents": "false"})
    assert refused.exit_code == 3
    assert "claude-code: version 9.9.9 is not installed" in refused.log


def test_sessions_run_in_containers_beside_that_of_the_action(image, checkout):
    """GitHub's runner mounts the engine's socket into containers of actions."""
    agent = {"type": "command", "command": "cat /etc/hostname > host.txt; echo done > out.txt"}
    (checkout / "skillgym.config.yaml").write_text(json.dumps({"runners": {"own": {"agent": agent}}}))
    suite = {
        "name": "files",
        "workspace": {"image": BASE, "network": "none"},
        "cases": [{"id": "works", "prompt": "work", "expect": ["file:out.txt contains 'done'"]}],
    }
    (checkout / "bench" / "files.json").write_text(json.dumps(suite))
    check_out(checkout)
    step = run_step(image, checkout, inputs={"report-dir": "results", "keep": "changed"})
    assert step.exit_code == 0, step.log + step.summary
    (host,) = (checkout / "results").rglob("changes/host.txt")
    assert len(host.read_text().strip()) == 12, "the name of a container"
    refused = run_step(image, checkout, inputs={"sandbox": "none"})
    assert refused.exit_code == 2


INSIDE: dict[str, str | Path] = {
    "checkout": "/github/workspace",
    "results": "/github/workspace/results",
    "operator": "/github/home",
    "package": "/usr/local/lib/python3.12/site-packages",
    "closed": "/var/lib/closed",
    "socket": "/var/run/docker.sock",
    **IN_ACTION,
}


@pytest.fixture
def closed(tmp_path: Path) -> Path:
    """A folder that only root can enter, for the container."""
    folder = written(
        tmp_path / "closed", {"file.json": json.dumps({"name": CONTENT, "cases": []}), "results/.keep": ""}
    )
    folder.chmod(0o700)
    return folder


def test_no_position_reaches_anything_of_the_job(image, checkout, closed, proved):
    """Each session is a user of its own. Beside another agent, and the host of a suite that judges."""
    tried, mark = attempts_of("container"), uuid4().hex
    files = play(tried, mark, **INSIDE)
    check_out(written(checkout, {name: text for name, text in files.items() if text is not None}))
    step = run_step(
        image, checkout, inputs={"report-dir": "results", "jobs": "2"}, env=ENVIRONMENT,
        options=("--volume", f"{closed}:/var/lib/closed"),
    )  # fmt: skip
    assert step.exit_code == 0, step.log + step.summary
    told = said(mark, checkout / "results")
    for position in IN_PLAY:
        assert (told[position]["able"], sorted(told[position]["tried"])) == ([0], list(range(len(tried))))
        assert told[position]["user"][0] in range(50_000, 60_000)
    reached = {position: {tried[number].words for number in told[position].get("reached", ())} for position in IN_PLAY}
    found = {position: kept_of(tried, reached[position]) for position in IN_PLAY}
    assert disagreements(found, "container") == []
    proved.cells("container", found)


class InContainer:
    """Fulfils ``led_by_names.Tool``."""

    def __init__(self, image: str, checkout: Path, closed: Path) -> None:
        self._image, self._checkout, self._options = image, checkout, ("--volume", f"{closed}:/var/lib/closed")

    def run(self, *, output: str = "results", template_dir: str | None = None) -> tuple[int, str]:
        templates = {"template-dir": template_dir} if template_dir else {}
        return self._step({"report-dir": output, "keep": "all", **templates})

    def report(self, folder: str) -> tuple[int, str]:
        return self._step({"mode": "report", "results": folder, "report-dir": "merged"})

    def _step(self, inputs: dict[str, str]) -> tuple[int, str]:
        hand_over(self._checkout)
        step = run_step(self._image, self._checkout, inputs=inputs, env=ENVIRONMENT, options=self._options)
        return step.exit_code, step.log


def test_the_tool_is_led_nowhere_by_names_in_the_container(image, tmp_path, closed, proved):
    root, tried = tmp_path / "named", attempts_of("container")
    found = outcomes(InContainer(image, root, closed), root, tried, INSIDE)
    for position in BY_NAME:
        assert found[position].keys() == {one.words for one in tried if applies(one, position, "container")}
    assert disagreements(found, "container") == []
    assert sorted(path.name for path in closed.rglob("*")) == [".keep", "file.json", "results"]
    proved.cells("container", found)


STORM = """\
trap "" TERM
case $1 in
  storm) while :; do setsid sh "$0" storm & done ;;
  write) echo hello >hello.txt ;;
esac
"""


def test_a_fork_storm_costs_its_own_execution_alone(image, checkout, proved):
    """Where the container may have 200 processes, the tool's own among them."""
    (checkout / "agent.sh").write_text(STORM)
    check_out(checkout, IDLES | {"prompt": "storm", "timeout": 3}, WRITES)
    step = run_step(image, checkout, inputs={"jobs": "1"}, options=("--pids-limit", "200"))
    # A shell that cannot fork ends by itself: then its agent has crashed, else it has reached the time limit.
    assert (step.exit_code in {1, 3}, step.outputs.get("passed")) == (True, "1"), step.log
    proved("processes", "kinds of programs that do not want to end, of which nothing was left")


def test_a_suite_program_runs_as_the_agents_user(image, checkout):
    (checkout / "bench").mkdir(exist_ok=True)
    (checkout / "bench" / "user_suite.py").write_text(
        "import os\nfrom skillgym_action import Suite\nsuite = Suite('user')\n"
        "@suite.case('who', prompt='write')\ndef who(report, ctx):\n    assert 50_000 <= os.getuid() < 60_000\n"
        "    assert not os.access('/github/workspace/.git/config', os.R_OK)\n"
    )
    check_out(checkout, WRITES)
    step = run_step(image, checkout)
    assert (step.exit_code, step.outputs["passed"]) == (0, "2"), step.log + step.summary


def test_a_mistake_in_an_input_is_told_without_a_traceback(image, checkout):
    check_out(checkout, WRITES)
    step = run_step(image, checkout, inputs={"fail-on": "faild"})
    assert step.exit_code == 2
    assert "faild" in step.log
    assert "failed" in step.log
    assert "Traceback" not in step.log


def test_nothing_in_the_checkout_becomes_a_module_of_ours(image, checkout):
    hostile = "import pathlib\npathlib.Path('/github/workspace/taken-over').touch()\n"
    for name in ("click.py", "json.py", "sitecustomize.py", "usercustomize.py", "skillgym_action/__init__.py"):
        (checkout / name).parent.mkdir(exist_ok=True)
        (checkout / name).write_text(hostile)
    check_out(checkout, WRITES)
    step = run_step(image, checkout, env={"PYTHONPATH": ".:/github/workspace", "PYTHONSTARTUP": "click.py"})
    assert step.exit_code == 0, step.log
    assert not (checkout / "taken-over").exists()


def test_the_image_carries_node_npm_and_git_and_no_agent(image):
    def inside(command: str) -> str:
        return docker("run", "--rm", "--entrypoint", "sh", image, "-c", command)

    assert inside("node --version").startswith("v24.")
    assert inside("npm --version && npx --version").split() != []
    assert inside("git --version").startswith("git version 2.")
    assert inside("for agent in claude codex opencode copilot gemini pi qwen; do command -v $agent; done; true") == ""


def test_agents_have_a_user_of_their_own_that_nobody_can_log_in_as(image):
    assert docker("run", "--rm", "--entrypoint", "getent", image, "passwd", "agent").split(":")[2:] == [
        "10001", "10001", "", "/nonexistent", "/usr/sbin/nologin\n",
    ]  # fmt: skip
