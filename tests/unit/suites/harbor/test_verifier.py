"""The tests of a task, and what is done before the agent: in which order, as whom, and what is no reward."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fake_container import Done, FakeContainer
from skillgym_action.suites.harbor.cases import TaskPreparation, TaskSolution
from skillgym_action.suites.harbor.paths import REWARD_JSON, REWARD_TEXT
from skillgym_action.suites.harbor.task_settings import Healthcheck
from skillgym_action.suites.harbor.verifier import HarborVerifier

VERIFIER = HarborVerifier(tests=Path("/task/tests"), timeout=30, env=(("A", "b"),))


def outcome(container: FakeContainer | None, verifier: HarborVerifier = VERIFIER) -> Any:
    """The only outcome."""
    context: Any = SimpleNamespace(container=container)
    (found,) = verifier.judge(context)
    return found


def test_tests_come_after_what_the_agent_left_is_removed():
    container = FakeContainer(tests={REWARD_TEXT: b"1\n"})
    found = outcome(container)
    assert (found.passed, found.score, found.explanation) == (True, 1, "the reward is 1")
    assert container.steps == ["for", "put tests at /tests", "chmod", "tests"]
    tests = container.commands[-1]
    assert (tests.user, dict(tests.env), tests.timeout, tests.cwd) == ("root", {"A": "b"}, 30, None)
    assert {command.user for command in container.commands[:-1]} == {"root"}
    assert not any(command.keep_processes for command in container.commands)


@pytest.mark.parametrize(("user", "image", "runs_as"), [("1000", "root", "1000"), (None, "app", "app")])
def test_tests_run_as_the_user_of_the_task_or_the_image(user, image, runs_as):
    container = FakeContainer(tests={REWARD_TEXT: b"1"}, image_user=image)
    outcome(container, HarborVerifier(tests=Path("/t"), timeout=30, user=user))
    assert container.commands[-1].user == runs_as


def test_a_stale_reward_does_not_count():
    found = outcome(FakeContainer(files={REWARD_JSON: b'{"reward": 1}', REWARD_TEXT: b"1"}))
    assert (found.passed, found.trouble) == (None, "grader")
    assert found.explanation.startswith("tests/test.sh exited with 0 and wrote neither /logs/verifier/reward.json nor")
    assert " nor /logs/verifier/reward.txt, as a file of at most 1 MiB: " in found.explanation


def test_a_reward_that_cannot_be_removed_is_an_error():
    container = FakeContainer(files={REWARD_TEXT: b"1"}, removes=False, tests={REWARD_TEXT: b"1"})
    found = outcome(container)
    assert (found.passed, found.explanation) == (None, "a reward that the agent has written cannot be removed")
    assert "tests" not in container.steps


@pytest.mark.parametrize(
    ("written", "passed", "explanation"),
    [
        ({REWARD_JSON: b'{"reward": 0.5, "n": 2}', REWARD_TEXT: b"1"}, False, "the reward is 0.5, n 2"),
        ({REWARD_TEXT: b"7"}, None, "reward.txt is 7, and must be a number from 0 to 1"),
        ({REWARD_JSON: b"", REWARD_TEXT: b"1"}, None, "reward.json is empty"),
        ({REWARD_TEXT: b"1" * 2**21}, None, "tests/test.sh exited with 0 and wrote neither"),
    ],
)
def test_what_tests_write(written, passed, explanation):
    found = outcome(FakeContainer(tests=written))
    assert found.passed is passed
    assert found.explanation.startswith(explanation)


def test_tests_that_exceed_their_time_are_an_error_even_with_a_reward():
    found = outcome(FakeContainer(tests={REWARD_TEXT: b"1"}, ended=Done(exit_code=None, timed_out=True)))
    assert (found.passed, found.explanation) == (None, "the tests did not end within 30 s")


def test_a_failed_removal_is_an_error():
    found = outcome(FakeContainer(tries=[1]))
    assert (found.passed, found.explanation.startswith("the agent's files at")) == (None, True)


def test_without_a_container_nothing_is_known():
    assert outcome(None).passed is None


# --- before the agent -------------------------------------------------------------------------------


def test_tests_and_solution_of_the_image_are_removed_first():
    container = FakeContainer()
    assert TaskPreparation(environment=Path("/task/environment")).prepare(container) is None
    assert container.steps == ["rm", "put environment at /app"]
    assert "rm -rf /tests /solution" in container.commands[0].argv[2]


def test_a_solution_comes_last():
    container = FakeContainer()
    usual = TaskPreparation(healthcheck=Healthcheck(command="ready"))
    solution = TaskSolution(folder=Path("/task/solution"))
    assert solution.preparation(usual).prepare(container) is None
    assert container.steps == ["rm", "ready", "put solution at /solution", "chmod"]


def test_a_health_check_is_tried_until_it_succeeds():
    container = FakeContainer(tries=[0, 1, 1, 0])
    check = Healthcheck(command="ready", interval=5, retries=3)
    assert TaskPreparation(healthcheck=check, env=(("A", "b"),)).prepare(container) is None
    assert container.steps == ["rm", "ready", "pause 5", "ready", "pause 5", "ready"]
    assert (dict(container.commands[1].env), container.commands[1].keep_processes) == ({"A": "b"}, True)


def test_a_cancelled_run_does_not_wait_for_the_next_health_check():
    container = FakeContainer(tries=[0, 1, 1], patience=60)
    check = Healthcheck(command="ready", interval=600, retries=3)
    with pytest.raises(InterruptedError):
        TaskPreparation(healthcheck=check).prepare(container)
    assert container.steps == ["rm", "ready", "pause 600"]


def test_a_container_that_does_not_get_ready_is_trouble():
    trouble = TaskPreparation(healthcheck=Healthcheck(command="ready", interval=0, retries=2)).prepare(
        FakeContainer(tries=[0, 1, 1])
    )
    assert trouble
    assert (trouble.kind, trouble.message) == ("container", "the health check failed 2 times: ready: output")


def test_failed_checks_of_the_start_period_do_not_count():
    check = Healthcheck(command="ready", interval=0, start_period=60, start_interval=0, retries=1)
    assert TaskPreparation(healthcheck=check).prepare(FakeContainer(tries=[0, 1, 1, 1, 0])) is None
