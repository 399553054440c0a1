"""The reward of a task: what its tests have written to ``/logs/verifier``."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass

REWARD = "reward"
_SHOWN = 60


class NoRewardError(Exception):
    """There is no usable reward; the message says why."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Reward:
    """The reward, a finite number; and the numbers beside it by name, in the order in which they are written."""

    value: float
    others: tuple[tuple[str, float], ...] = ()

    @property
    def score(self) -> float:
        """The reward as a score, from 0 to 1."""
        return min(1.0, max(0.0, self.value))


def reward_of_text(content: bytes) -> Reward:
    """The reward in a ``reward.txt``: one number. Raises NoRewardError."""
    text = _decoded(content, "reward.txt")
    try:
        value = float(text)
    except ValueError:
        raise NoRewardError(f"reward.txt is not a number: {_quoted(text.strip())}") from None
    return Reward(value=_finite(value, "reward.txt", text.strip()))


def reward_of_json(content: bytes) -> Reward:
    """The reward in a ``reward.json``: the number under ``reward``, or the only number. Raises NoRewardError."""
    text = _decoded(content, "reward.json")
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        raise NoRewardError(f"reward.json is not JSON: {_quoted(text.strip())}") from None
    if not isinstance(found, dict) or not found:
        raise NoRewardError('reward.json has to be an object with numbers, such as {"reward": 1}')
    numbers = {str(name): _number(name, value) for name, value in found.items()}
    if REWARD not in numbers and len(numbers) > 1:
        names = ", ".join(_quoted(name) for name in list(numbers)[:5])
        raise NoRewardError(f"reward.json has several numbers and none is called reward: {names}")
    name = REWARD if REWARD in numbers else next(iter(numbers))
    return Reward(value=numbers.pop(name), others=tuple(numbers.items()))


def _decoded(content: bytes, name: str) -> str:
    if not content.strip():
        raise NoRewardError(f"{name} is empty")
    return content.decode("utf-8", "replace")


def _number(name: object, value: object) -> float:
    if not isinstance(value, int | float):
        raise NoRewardError(f"reward.json: {_quoted(str(name))} is not a number")
    try:
        return _finite(float(value), f"reward.json: {_quoted(str(name))}", str(value))
    except OverflowError:
        raise NoRewardError(f"reward.json: {_quoted(str(name))} is too large") from None


def _finite(value: float, where: str, written: str) -> float:
    if not math.isfinite(value):
        raise NoRewardError(f"{where} is not finite: {_quoted(written)}")
    return value


def _quoted(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")
