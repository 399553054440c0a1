"""The judge, the model that graders ask: its configuration, questions to it, and its answers."""

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
    """Configuration of the judge. ``env`` contains secrets and is excluded from ``repr``.

    ``api``: a key of ``protocols.PROTOCOLS``; ``problem``: why the judge cannot be used; ``prices``: by model name.
    """

    api: str
    model: str
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    problem: str | None = None
    prices: Mapping[str, Price] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class QuotedText:
    """Untrusted text to judge. ``name`` is what the question calls it, such as ``final answer``."""

    name: str
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Question(Generic[T]):
    """A question to the judge.

    ``instructions``: the system prompt. ``prompt``: paragraphs; plain strings come from the suite or from skillgym,
    the rest is ``QuotedText``. ``form``: the pydantic model of the answer. The judge gets its JSON schema with the
    descriptions of fields, and the validation errors of an answer that does not match.
    """

    instructions: str
    prompt: tuple[str | QuotedText, ...]
    form: type[T]


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer(Generic[T]):
    """The judge's answer: either ``content`` or ``trouble`` is set.

    ``cost_usd`` (US dollars; None: unknown) and ``usage`` include repeated questions.
    """

    content: T | None = None
    trouble: Trouble | None = None
    cost_usd: float | None = 0.0
    usage: Usage = field(default_factory=Usage)
