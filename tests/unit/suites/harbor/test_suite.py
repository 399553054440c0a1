"""Harbor tasks: which folders are tasks, what their keys become, and each mistake with its place."""

from __future__ import annotations

import os

import pytest

from harbor_tasks import TOML, loaded, problems, task, tasks
from scratch import skillgym, world_in
from scratch import suite as text_of_a_suite
from skillgym_action.model.containers import ContainerBuild, ContainerLimits, NetworkMode, NetworkPolicy
from skillgym_action.model.errors import SuiteError
from skillgym_action.pipeline.stages.discover import discover
from skillgym_action.settings.suite_options import DiscoverOptions
from skillgym_action.suites.harbor.cases import TaskPreparation, TaskSolution
from skillgym_action.suites.harbor.task_files import MAX_HARBOR_BYTES, MAX_HARBOR_FILES, TaskFolder
from skillgym_action.suites.harbor.task_settings import Healthcheck
from skillgym_action.workspaces.repository.suite_source import MAX_SUITE_DIGEST_FILE_BYTES, suite_digest

WHOLE = """\
version = "1.0"
[task]
name = "org/one"
keywords = ["a"]
[metadata]
tags = ["b"]
difficulty = "easy"
[agent]
timeout_sec = 120
user = 1000
[verifier]
timeout_sec = 90.5
env = { KEY = "${WORD:-none}", PLAIN = "x" }
[solution]
env = { HOW = "fast" }
[environment]
cpus = 0.5
memory = "2G"
storage_mb = 512
workdir = "/srv"
allow_internet = false
env = { MODE = "test" }
[environment.healthcheck]
command = "true"
retries = 2
"""


def found(root, *paths):
    with world_in(root) as services:
        return discover(services.repository, root, DiscoverOptions(paths=paths))


@pytest.mark.slow
def test_a_task_with_too_many_files_to_compare_is_named(tmp_path):
    root = tasks(tmp_path, task("tasks/one") | task("tasks/two"))
    data = root / "tasks/one/tests/data"
    data.mkdir()
    for number in range(MAX_HARBOR_FILES):
        os.mknod(data / str(number))
    suite = loaded(root)
    assert [case.id for case in suite.cases] == ["two"]
    assert "tasks/one/tests: has more than 100,000 files and folders" in str(suite.invalid[0].problem)


# --- which folders are tasks ------------------------------------------------------------------------


def test_a_folder_of_tasks_is_a_suite_and_a_task_is_a_case(tmp_path):
    suite = loaded(tasks(tmp_path, task("tasks/one") | task("tasks/two")))
    assert (suite.path, suite.name, suite.format, suite.invalid) == ("tasks", "tasks", "harbor", ())
    assert [(case.id, str(case.location)) for case in suite.cases] == [
        ("one", "tasks/one/task.toml:1"),
        ("two", "tasks/two/task.toml:1"),
    ]
    assert suite.hidden == ("tasks/one", "tasks/two")
    assert suite.digest


@pytest.mark.parametrize(
    ("paths", "ids"),
    [
        pytest.param(("tasks/one",), ["one"], id="a task"),
        pytest.param(("tasks/one/task.toml",), ["one"], id="its settings"),
        pytest.param(("tasks", "!tasks/one"), ["two"], id="without a task"),
        pytest.param(("tasks/t*/task.toml",), ["two"], id="a pattern"),
        pytest.param((), ["one", "two"], id="everything"),
    ],
)
def test_a_path_selects_tasks(tmp_path, paths, ids):
    root = tasks(tmp_path, task("tasks/one") | task("tasks/two"))
    suite = loaded(root, *paths)
    assert [case.id for case in suite.cases] == ids
    assert (suite.digest, suite.hidden) == (loaded(root).digest, ("tasks/one", "tasks/two"))


def test_tasks_in_the_top_folder_are_a_suite(tmp_path):
    suite = loaded(tasks(tmp_path / "bench", task("one")))
    assert (suite.path, suite.name, [case.id for case in suite.cases]) == (".", "bench", ["one"])


def at_the_root(**changed):
    return {path.removeprefix("x/"): text for path, text in task("x", **changed).items()}


ROOTS = [
    pytest.param(at_the_root(task=WHOLE), ("one", "one"), id="a name in the settings"),
    pytest.param(at_the_root(task=WHOLE.replace("org/one", "one-more")), ("one-more", "one-more"), id="without org"),
    pytest.param(at_the_root(), ("checkout", "checkout"), id="no name: that of the folder"),
    pytest.param(at_the_root(solve="true\n"), ("checkout", "checkout"), id="with a solution"),
    pytest.param(at_the_root() | {"bench/core.json": None}, ("checkout", "checkout"), id="with a folder bench"),
]


@pytest.mark.parametrize("git", [False, True])
@pytest.mark.parametrize(("files", "names"), ROOTS)
def test_a_task_at_the_root_of_a_repository_is_read(tmp_path, files, names, git):
    root = tasks(tmp_path / "checkout", files, git=git)
    for paths in ((), ("task.toml",), (".",)):
        suite = loaded(root, *paths)
        assert (suite.path, suite.name, [case.id for case in suite.cases], suite.invalid) == (
            "task.toml",
            names[0],
            [names[1]],
            (),
        )
        assert suite.hidden == ("task.toml", "instruction.md", "environment", "tests", "solution")


def test_a_task_at_the_root_leaves_other_suites_as_they_are(tmp_path):
    root = tasks(tmp_path, at_the_root() | {"bench/core.json": text_of_a_suite()}, git=True)
    assert [suite.path for suite in found(root).suites] == ["bench/core.json", "task.toml"]
    ran = skillgym("check", cwd=root)
    assert (ran.code, ran.err) == (0, ""), ran.err


def test_tasks_outside_of_the_repository_hide_nothing_in_it(tmp_path):
    elsewhere = tasks(tmp_path / "elsewhere", task("tasks/one"))
    root = tasks(tmp_path / "repository", {})
    for path in ("tasks", "tasks/one"):
        assert loaded(root, str(elsewhere / path)).hidden == ()


HARBOR_LINKS = {"moved": "../gone", "round": "round", "linked": "../more/two", "notes": "../docs"}


def test_links_beside_tasks_are_named_if_a_task_may_be_behind_them(tmp_path):
    root = tasks(tmp_path, task("tasks/one") | task("more/two") | {"docs/x.md": "x"}, git=True)
    for name, target in HARBOR_LINKS.items():
        (root / "tasks" / name).symlink_to(target)
    suite = loaded(root, "tasks")
    assert [case.id for case in suite.cases] == ["one"]
    nothing = "is a symbolic link that leads to nothing; correct the link, or remove it"
    assert [str(one) for one in suite.warnings] == [
        "tasks/linked: skipped: linked is a symbolic link, which is not followed; copy the folder, or remove the link",
        f"tasks/moved: skipped: moved {nothing}",
        f"tasks/round: skipped: round {nothing}",
    ]


def test_links_are_not_named_where_other_tasks_are_selected(tmp_path):
    root = tasks(tmp_path, task("tasks/one") | task("tasks/two"))
    (root / "tasks/moved").symlink_to("gone")
    assert loaded(root, "tasks/one").warnings == ()


@pytest.mark.parametrize(
    "files",
    [
        pytest.param({"other/task.toml": "[tasks.build]\ncommand = 'make'\n"}, id="a task.toml of another program"),
        pytest.param(task("tasks/one/environment/inner"), id="a task inside of a task"),
        pytest.param({"tasks/README.md": "x", "tasks/dataset.toml": "name = 'x'\n"}, id="files beside tasks"),
    ],
)
def test_other_files_are_no_tasks(tmp_path, files):
    discovery = found(tasks(tmp_path, task() | files))
    assert [(suite.path, suite.parts) for suite in discovery.suites] == [("tasks", ("tasks/one/task.toml",))]
    assert discovery.skipped == ()


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"tasks/two/tasks.toml": "[agent]\ntimeout_sec = 5\n"}, "tasks/two/tasks.toml: looks like the settings of"),
        ({"tasks/two/settings.toml": TOML}, "tasks/two/settings.toml: looks like the settings of a Harbor task"),
        (
            {"old/one/task.yaml": "instruction: x\nparser_name: pytest\nmax_agent_timeout_sec: 5\n"},
            "old/one/task.yaml: is a task of Terminal-Bench in its old form; turn it into a task of Harbor with",
        ),
    ],
)
def test_near_misses_are_warnings(tmp_path, files, message):
    ran = skillgym("check", cwd=tasks(tmp_path, task() | files))
    assert ran.code == 0
    assert message in ran.err


def test_a_task_under_another_name_is_an_error_if_it_is_named(tmp_path):
    root = tasks(tmp_path, {"tasks/one/settings.toml": TOML})
    ran = skillgym("check", "tasks/one/settings.toml", cwd=root)
    assert ran.code == 2
    assert "tasks/one/settings.toml: is not a Harbor task: the settings of a task are in task.toml" in ran.err


# --- what the keys become ---------------------------------------------------------------------------


def test_keys_become_a_case(tmp_path):
    root = tasks(tmp_path, task(task=WHOLE, solve="true\n"))
    (case,) = loaded(root, environment={"WORD": "found"}).cases
    (verifier,) = case.assertions
    assert (case.title, case.tags, case.timeout, case.threshold) == ("org/one", ("a", "b"), 120, 1.0)
    assert case.metadata == {"tags": ["b"], "difficulty": "easy", "schema_version": "1.0"}
    assert (verifier.tests, verifier.timeout, verifier.user) == (root / "tasks/one/tests", 90.5, None)
    assert verifier.env == (("MODE", "test"), ("KEY", "found"), ("PLAIN", "x"))
    assert case.agent.env == (("MODE", "test"),)
    assert case.solution == TaskSolution(
        folder=root / "tasks/one/solution",
        env=(("DEBIAN_FRONTEND", "noninteractive"), ("MODE", "test"), ("HOW", "fast")),
    )


def test_keys_become_a_container(tmp_path):
    (case,) = loaded(tasks(tmp_path, task(task=WHOLE))).cases
    container = case.workspace.container
    assert (container.image, container.build) == (None, ContainerBuild(context=tmp_path / "tasks/one/environment"))
    assert (container.workdir, container.user) == ("/srv", "1000")
    assert container.limits == ContainerLimits(cpus=0.5, memory=2 * 1024**3, disk=512 * 1024**2)
    assert container.network == NetworkPolicy(mode=NetworkMode.MODEL_ONLY)
    assert case.workspace.preparation == TaskPreparation(
        env=(("MODE", "test"),), healthcheck=Healthcheck(command="true", retries=2)
    )


def test_a_ready_image_gets_the_files_of_the_environment(tmp_path):
    files = task(task='[environment]\ndocker_image = "x"\n', docker=None) | {"tasks/one/environment/a.txt": "a"}
    (case,) = loaded(tasks(tmp_path, files)).cases
    assert case.workspace.container.image == "x"
    preparation = case.workspace.preparation
    assert (preparation.environment, len(preparation.digest)) == (tmp_path / "tasks/one/environment", 64)


@pytest.mark.parametrize(
    ("keys", "policy"),
    [
        ("", NetworkPolicy(mode=NetworkMode.OPEN)),
        ('network_mode = "no-network"', NetworkPolicy(mode=NetworkMode.MODEL_ONLY)),
        (
            'network_mode = "allowlist"\nallowed_hosts = ["PyPI.org.", "a.example"]',
            NetworkPolicy(mode=NetworkMode.MODEL_ONLY, hosts=("pypi.org", "a.example")),
        ),
        ('network_mode = "allowlist"', NetworkPolicy(mode=NetworkMode.MODEL_ONLY)),
        ("allow_internet = true", NetworkPolicy(mode=NetworkMode.OPEN)),
    ],
)
def test_the_network(tmp_path, keys, policy):
    (case,) = loaded(tasks(tmp_path, task(task=f"[environment]\n{keys}\n"))).cases
    assert case.workspace.container.network == policy


@pytest.mark.parametrize(
    ("text", "prompt"),
    [
        ("<!-- harbor-canary GUID 1 -->\n# a canary\n\nDo it.\n", "Do it.\n"),
        ("# Do it\n", "# Do it\n"),
        ("Do it.\n# canary\n", "Do it.\n# canary\n"),
    ],
)
def test_marks_against_training_are_not_in_the_prompt(tmp_path, text, prompt):
    (case,) = loaded(tasks(tmp_path, task(instruction=text))).cases
    assert case.prompt == prompt


# --- mistakes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"instruction": None}, "tasks/one/instruction.md: is missing: the task has no prompt"),
        ({"instruction": " \n"}, "tasks/one/instruction.md: is empty"),
        ({"test": None}, "tasks/one/tests/test.sh: is missing: nothing decides the task"),
        ({"docker": None}, "environment: has neither docker_image nor environment/Dockerfile"),
        ({"task": "[agent\n"}, "tasks/one/task.toml:1:7: not TOML"),
        ({"task": "[agent]\ntimeout_sec = 'x'\n"}, "tasks/one/task.toml:2:1: agent.timeout_sec: must be a number"),
        ({"task": "[environment]\nos = 'windows'\n"}, "environment.os: windows containers are not supported"),
        ({"task": "[environment]\ngpus = 1\n"}, "environment.gpus: GPUs are not supported"),
        ({"task": "[environment]\ngpu_types = ['T4']\n"}, "environment.gpu_types: GPUs are not supported"),
        ({"task": "[environment]\nskills_dir = '/s'\n"}, "environment.skills_dir: skills in an image"),
        ({"task": "[[environment.mcp_servers]]\nname = 'x'\n"}, "environment.mcp_servers: MCP servers"),
        ({"task": "[[steps]]\nname = 'x'\n"}, "steps: tasks with several steps are not supported; run this task with"),
        (
            {"task": "[verifier]\nenvironment_mode = 'separate'\n"},
            "verifier.environment_mode: tests in a separate environment",
        ),
        ({"task": "[verifier.environment]\ncpus = 1\n"}, "verifier.environment: tests in a separate environment"),
        ({"task": "[environment]\nworkdir = 'app'\n"}, "environment.workdir: must be an absolute path"),
        ({"task": "[environment]\nmemory = 'big'\n"}, "environment.memory: 'big' is not a size"),
        ({"task": "[environment]\nmemory = '1G'\nmemory_mb = 512\n"}, "environment.memory: contradicts memory_mb"),
        ({"task": "[agent]\nuser = 'a b'\n"}, "agent.user: is neither a user name nor a user id"),
        ({"task": "[agent]\nnetwork_mode = 'no-network'\n"}, "agent.network_mode: another network for the agent"),
        (
            {"task": "[environment]\nnetwork_mode = 'allowlist'\nallowed_hosts = ['*.x.org']\n"},
            "environment.allowed_hosts[0]: wildcards are not supported",
        ),
        (
            {"task": "[environment]\nnetwork_mode = 'allowlist'\nallowed_hosts = ['10.0.0.1']\n"},
            "environment.allowed_hosts[0]: is not a host name",
        ),
        (
            {
                "task": "[environment]\nnetwork_mode = 'allowlist'\nallowed_hosts = "
                + str([f"h{number}.example" for number in range(201)])
            },
            "tasks/one/task.toml:3:1: environment.allowed_hosts: has more than 200 hosts; run this task with Harbor",
        ),
        (
            {"task": "[environment]\ndocker_image = '--privileged'\n"},
            "environment.docker_image: '--privileged' is not the name of an image, such as python:3.12-slim",
        ),
        (
            {"task": '[environment]\ndocker_image = "a\\nb"\n'},
            "environment.docker_image: 'a\\nb' is not the name of an image",
        ),
        ({"task": "[environment]\nallowed_hosts = ['x.org']\n"}, "environment.allowed_hosts: only has an effect with"),
        ({"task": "[environment]\nhealthcheck = {}\n"}, "environment.healthcheck: has no command"),
        ({"task": "schema_version = '2.0'\n"}, "schema_version: needs another version than this one, which reads 1.x"),
        (
            {"task": "[verifier]\nenv = { A = '${NOT_SET}' }\n"},
            "verifier.env.A: there is no environment variable NOT_SET",
        ),
    ],
)
def test_what_cannot_be_run_is_an_error_with_its_place(tmp_path, changed, message):
    (problem,) = problems(tasks(tmp_path, task(**changed) | task("tasks/two")))
    assert message in problem
    assert problem.startswith("tasks/one/")


def test_a_task_that_cannot_be_used_leaves_the_others(tmp_path):
    suite = loaded(tasks(tmp_path, task("tasks/one", test=None) | task("tasks/two")))
    assert ([one.case_id for one in suite.invalid], [case.id for case in suite.cases]) == (["one"], ["two"])


@pytest.mark.parametrize("name", ["docker-compose.yaml", "compose.yml"])
def test_several_containers_are_refused(tmp_path, name):
    (problem,) = problems(tasks(tmp_path, task() | {f"tasks/one/environment/{name}": "services: {}\n"}))
    assert "tasks with several containers (compose) are not supported" in problem


def test_a_secret_of_the_tool_is_not_given_to_a_task(tmp_path):
    root = tasks(tmp_path, task(task="[verifier]\nenv = { KEY = '${ANTHROPIC_API_KEY}' }\n"))
    suite = loaded(root, environment={"ANTHROPIC_API_KEY": "sk-ant-secret"})
    assert "ANTHROPIC_API_KEY is a secret, which tasks do not get" in str(suite.invalid[0].problem)
    assert "sk-ant-secret" not in repr(suite)


@pytest.mark.parametrize("value", ["postgres://u:hunter22@db/x", f"ghp_{'a1B2' * 9}"])
@pytest.mark.parametrize("table", ["environment", "verifier", "solution"])
def test_a_secret_by_its_value_is_not_given_to_a_task(tmp_path, value, table):
    root = tasks(tmp_path, task(task=f"[{table}]\nenv = {{ URL = '${{DATABASE_URL:-none}}' }}\n"))
    suite = loaded(root, environment={"DATABASE_URL": value})
    assert "DATABASE_URL is a secret, which tasks do not get" in str(suite.invalid[0].problem)
    assert value not in repr(suite)
    assert loaded(root, environment={"DATABASE_URL": "postgres://u@db/x"}).invalid == ()


def test_tests_behind_a_link_are_refused(tmp_path):
    root = tasks(tmp_path, {**task(test=None), "elsewhere/test.sh": "true\n"})
    (root / "tasks/one/tests").symlink_to("../../elsewhere")
    assert "tests is a symbolic link" in problems(root)[0]


def test_a_link_that_is_a_second_problem_is_told_without_a_key(tmp_path):
    root = tasks(tmp_path, {**task(test=None), "elsewhere/other.sh": "true\n"})
    (root / "tasks/one/tests").symlink_to("../../elsewhere")
    (problem,) = problems(root)
    assert problem == (
        "tasks/one/tests/test.sh: is missing: nothing decides the task; also tasks/one/tests: tasks/one/tests is a "
        "symbolic link; write it; it writes the reward"
    )


@pytest.mark.slow
@pytest.mark.parametrize("size", [MAX_HARBOR_BYTES, 100 * MAX_HARBOR_BYTES])
def test_tests_that_are_too_large_are_an_error_with_their_place(tmp_path, size):
    root = tasks(tmp_path, task("tasks/one") | task("tasks/two"))
    with (root / "tasks/one/tests/data.bin").open("wb") as data:
        data.truncate(size)
    ran = skillgym("check", cwd=root)
    message = "error: tasks/one/tests: its files have more than 2 GiB together (suite tasks); put large files into "
    assert (ran.code, ran.err.startswith(message)) == (2, True)
    assert "tasks: harbor, 1 case, and 1 that cannot be used" in ran.out


def test_no_more_files_are_read_once_the_run_is_cancelled(tmp_path):
    root = tasks(tmp_path)
    task_folder = TaskFolder(
        folder=root / "tasks/one", root=root, opener=None, refusal=lambda _: None, cancelled=lambda: True
    )
    with pytest.raises(SuiteError, match="the run was cancelled"):
        task_folder.digest("tests")


def test_a_suite_has_no_digest_once_the_run_is_cancelled_or_with_a_file_that_is_too_large(tmp_path):
    root = tasks(tmp_path)
    suite = loaded(root)
    with world_in(root) as services:
        assert suite_digest(suite, services.repository) is not None
        with (root / "tasks/one/environment/data.bin").open("wb") as data:
            data.truncate(MAX_SUITE_DIGEST_FILE_BYTES + 1)
        assert suite_digest(suite, services.repository) is None
        (root / "tasks/one/environment/data.bin").unlink()
        services.cancelled.set()
        assert suite_digest(suite, services.repository) is None


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"tasks/one/task.toml": f"{TOML}cpu = 1\n"}, "environment.cpu: unknown key 'cpu'; did you mean 'cpus'?"),
        ({"tasks/one/task.toml": f"artifacts = ['/x']\n{TOML}"}, "artifacts: are not collected"),
        ({"tasks/one/.harborignore": "x\n"}, "tasks/one/.harborignore: has no effect"),
        ({"tasks/one/solution/solution.py": "x\n"}, "tasks/one/solution: has no solve.sh"),
        (
            {"tasks/one/tests/answer.txt": "42\n", "tasks/one/environment/data/a.txt": "42\n"},
            "tasks/one/environment/data/a.txt: is the same file as tests/answer.txt: the image has it",
        ),
    ],
)
def test_warnings(tmp_path, files, message):
    (warning,) = loaded(tasks(tmp_path, task() | files)).warnings
    assert message in str(warning)


# --- what stored results are compared by ------------------------------------------------------------


@pytest.mark.parametrize("name", ["tests/data.json", "tests/test.sh"])
def test_other_tests_are_another_assertion(tmp_path, name):
    first = loaded(tasks(tmp_path / "a", task() | {f"tasks/one/{name}": "1\n"}))
    second = loaded(tasks(tmp_path / "b", task() | {f"tasks/one/{name}": "2\n"}))
    same = loaded(tasks(tmp_path / "c", task() | {f"tasks/one/{name}": "1\n"}))
    digests = [suite.cases[0].assertions[0].digest for suite in (first, second, same)]
    assert digests[0] == digests[2] != digests[1]
    assert sorted(first.files) == ["tasks/one/instruction.md", "tasks/one/task.toml"]


def test_tools_that_are_granted_to_plugins_are_not_those_of_a_task(tmp_path):
    files = task(task=TOML + "[environment.env]\nMODE = 'fast'\n")
    (case,) = loaded(tasks(tmp_path, files), allow_tools=("Read",)).cases
    assert dict(case.agent.env) == {"MODE": "fast"}
    assert case.agent.allowed_tools == ()
