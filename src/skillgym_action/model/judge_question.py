"""A question to the judge, the model that graders ask, and the answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar

from skillgym_action.model.session_report import Usage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import BaseModel

    from skillgym_action.model.session_report import Price, Trouble


T = TypeVar("T", bound="BaseModel")


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgeConfig:
    """The judge as it is configured. ``env`` holds resolved values, hence is never printed.

    ``api``: a key of ``protocols.PROTOCOLS``; ``problem``: why it cannot be asked; ``prices``: by model.
    """

    api: str
    model: str
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    problem: str | None = None
    prices: Mapping[str, Price] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Quoted:
    """Text that is judged. ``name`` is what the question calls it, such as ``final answer``."""

    name: str
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Question(Generic[T]):
    """``instructions`` and the texts of ``prompt`` are the suite's and ours; all else in the prompt is quoted.

    The pieces of a prompt are paragraphs. ``form``: the pydantic model of the answer; the judge is told all of its
    schema, descriptions of fields as well, and what is wrong with an answer that does not fit.
    """

    instructions: str
    prompt: tuple[str | Quoted, ...]
    form: type[T]


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer(Generic[T]):
    """Either ``content`` or ``trouble`` is there.

    ``cost_usd``, in US dollars, and ``usage`` are those of all that was asked; None: not known.
    """

    content: T | None = None
    trouble: Trouble | None = None
    cost_usd: float | None = 0.0
    usage: Usage = field(default_factory=Usage)
