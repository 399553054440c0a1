"""The assertion of a task: its tests run in the container after the agent, and write the reward, which is read here."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

from skillgym_action.judging.assertions.printed_scores import UnusableScoreError, json_of, number_in, score_of
from skillgym_action.model.containers import ContainerCommand
from skillgym_action.model.judgement import Outcome
from skillgym_action.model.limits import MAX_COMMAND_EVIDENCE_BYTES, MAX_COMMAND_EVIDENCE_LINES
from skillgym_action.model.records import record
from skillgym_action.model.resource_limits import format_size
from skillgym_action.model.result import format_score
from skillgym_action.suites.harbor.paths import (
    REWARD_JSON,
    REWARD_TEXT,
    ROOT,
    TEST_PATH,
    TESTS_PATH,
    VERIFIER_LOGS,
    as_shell,
    program,
)
from skillgym_action.text.javascript.values import number

if TYPE_CHECKING:
    from pathlib import Path

    from skillgym_action.model.assertion import AssertionContext, CaseContainer, CommandResult
    from skillgym_action.model.errors import Location
    from skillgym_action.suites.harbor.task_settings import Variables

MAX_REWARD_BYTES = 1024**2  # of reward.json and reward.txt
_PREPARE_SECONDS = 120.0
_CLEAR = f"""\
for place in /logs {VERIFIER_LOGS}; do
  if [ -L "$place" ] || [ ! -d "$place" ]; then rm -rf "$place"; fi
done
rm -rf {TESTS_PATH} {REWARD_JSON} {REWARD_TEXT} && mkdir -p {VERIFIER_LOGS} && chmod 777 {VERIFIER_LOGS}
"""
_EXECUTABLE = f"chmod 755 {TEST_PATH}"


@record
class HarborVerifier:
    """Runs the tests of a task, once the agent's processes have ended; what it left in place of a reward is removed.

    ``tests``: their folder; ``timeout`` is in seconds; ``user`` None: that of the image. ``digest``: of the content of
    the tests, so that results of other tests are not compared with theirs.
    """

    tests: Path
    timeout: float
    user: str | None = None
    env: Variables = ()
    digest: str = ""
    location: Location | None = None

    name: ClassVar[str] = "tests/test.sh"
    type: ClassVar[str] = "harbor-tests"
    diagnostic: ClassVar[bool] = False
    fail_fast: ClassVar[bool] = False

    def judge(self, context: AssertionContext) -> tuple[Outcome, ...]:
        """The reward as the score. Not judged: no usable reward, or tests that do not end in time."""
        container = context.container
        if container is None:
            return (self._undecided("the session ran in no container"),)
        try:
            ran = self._run_tests(container)
            return (self._outcome(self._reward(container, ran), ran),)
        except NoRewardError as error:
            return (self._undecided(str(error)),)

    def _run_tests(self, container: CaseContainer) -> CommandResult:
        """Run the tests, with no reward there before. Raises NoRewardError, OSError."""
        _as_root(container, _CLEAR, "the agent's files at the paths of tests and reward cannot be removed")
        if any(container.read(path, MAX_REWARD_BYTES) is not None for path in (REWARD_JSON, REWARD_TEXT)):
            raise NoRewardError("a reward that the agent has written cannot be removed")
        container.put(self.tests, TESTS_PATH)
        _as_root(container, _EXECUTABLE, "the tests cannot be made executable")
        command = ContainerCommand(
            argv=program(TEST_PATH),
            env=dict(self.env),
            user=self.user or container.image_user or ROOT,
            timeout=self.timeout,
        )
        ran = container.run(command)
        if ran.timed_out:
            raise NoRewardError(f"the tests did not end within {self.timeout:g} s")
        return ran

    def _reward(self, container: CaseContainer, ran: CommandResult) -> Reward:
        content = container.read(REWARD_JSON, MAX_REWARD_BYTES)
        if content is not None:
            return reward_of_json(content)
        content = container.read(REWARD_TEXT, MAX_REWARD_BYTES)
        if content is not None:
            return reward_of_text(content)
        ended = "was ended" if ran.exit_code is None else f"exited with {ran.exit_code}"
        raise NoRewardError(
            f"tests/test.sh {ended} and wrote neither {REWARD_JSON} nor {REWARD_TEXT}, as a file of at most "
            f"{format_size(MAX_REWARD_BYTES)}: {_tail(ran) or 'no output'}"
        )

    def _outcome(self, reward: Reward, ran: CommandResult) -> Outcome:
        others = "".join(f", {name} {format_score(value)}" for name, value in reward.others[:10])
        shown = f"the reward is {format_score(reward.value)}{others}"
        return Outcome(
            assertion=self.name,
            type=self.type,
            passed=reward.value >= 1,
            explanation=shown,
            evidence=_tail(ran) or None,
            score=reward.value,
            location=self.location,
        )

    def _undecided(self, reason: str) -> Outcome:
        return Outcome(
            assertion=self.name,
            type=self.type,
            passed=None,
            explanation=reason,
            location=self.location,
            trouble="grader",
        )


def _as_root(container: CaseContainer, script: str, failure: str) -> None:
    """Run a script as root. Raises NoRewardError if it fails."""
    command = ContainerCommand(argv=as_shell(script), user=ROOT, cwd="/", timeout=_PREPARE_SECONDS)
    ran = container.run(command)
    if ran.exit_code != 0:
        raise NoRewardError(f"{failure}: {_tail(ran) or 'no output'}")


def _tail(ran: CommandResult) -> str:
    text = ran.tail.strip().encode("utf-8", "replace")[-MAX_COMMAND_EVIDENCE_BYTES:].decode("utf-8", "ignore")
    return "\n".join(text.split("\n")[-MAX_COMMAND_EVIDENCE_LINES:])


REWARD = "reward"
_SHOWN = 60


class NoRewardError(Exception):
    """There is no usable reward; the message says why."""


@record
class Reward:
    """The reward, from 0 to 1; and the numbers beside it by name, in the order in which they are written."""

    value: float
    others: tuple[tuple[str, float], ...] = ()


def reward_of_text(content: bytes) -> Reward:
    """The reward in a ``reward.txt``: one number. Raises NoRewardError."""
    text = _decoded(content, "reward.txt").strip()
    value = number_in(text)
    if value is None:
        raise NoRewardError(f"reward.txt is not a number: {_quoted(text)}")
    return Reward(value=_score(value, "reward.txt"))


def reward_of_json(content: bytes) -> Reward:
    """The reward in a ``reward.json``: the number under ``reward``, or the only number. Raises NoRewardError."""
    text = _decoded(content, "reward.json")
    try:
        found = json_of(text)
    except ValueError:
        raise NoRewardError(f"reward.json is not JSON: {_quoted(text.strip())}") from None
    except UnusableScoreError as error:
        raise NoRewardError(f"reward.json: {error}") from None
    if not isinstance(found, dict) or not found:
        raise NoRewardError('reward.json has to be an object with numbers, such as {"reward": 1}')
    if REWARD not in found and len(found) > 1:
        names = ", ".join(_quoted(name) for name in list(found)[:5])
        raise NoRewardError(f"reward.json has several numbers and none is called reward: {names}")
    name = REWARD if REWARD in found else next(iter(found))
    value = _score(found.pop(name), f"reward.json: {_quoted(name)}")
    return Reward(value=value, others=tuple((other, _number(other, found[other])) for other in found))


def _score(value: object, name: str) -> float:
    try:
        return score_of(value, name)
    except UnusableScoreError as error:
        raise NoRewardError(str(error)) from None


def _decoded(content: bytes, name: str) -> str:
    if not content.strip():
        raise NoRewardError(f"{name} is empty")
    return content.decode("utf-8", "replace")


def _number(name: str, value: object) -> float:
    """A number that is shown beside the reward. Raises NoRewardError."""
    where = f"reward.json: {_quoted(name)}"
    found = number(value)
    if found is None:
        raise NoRewardError(f"{where} is not a number")
    if not math.isfinite(found):
        raise NoRewardError(f"{where} is not finite, or too large: {_quoted(str(value))}")
    return found


def _quoted(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")
