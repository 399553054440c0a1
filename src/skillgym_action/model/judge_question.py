"""The judge, the model that graders ask: its configuration, questions to it, and its answers."""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING, Generic, TypeVar

from skillgym_action.model.records import record
from skillgym_action.model.session_report import Usage

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pydantic import BaseModel

    from skillgym_action.model.session_report import Price, Trouble


T = TypeVar("T", bound="BaseModel")
CHANGED_FILES = "changed files"
"""The name of the quoted text that is a unified diff: only its added lines are the agent's."""


JUDGE_VARIABLES = {
    "anthropic": ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"),
    "openai": ("OPENAI_API_KEY", "OPENAI_BASE_URL"),
}
"""API of a model's service -> the variables with its key and its address."""


@record
class JudgeConfig:
    """Configuration of the judge. ``env`` contains secrets and is excluded from ``repr``.

    ``api``: a key of ``protocols.PROTOCOLS``; ``problem``: why the judge cannot be used; ``prices``: by model name.
    ``votes``: independent answers to each question, an odd number.
    """

    api: str
    model: str
    votes: int = 1
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    problem: str | None = None
    prices: Mapping[str, Price] = field(default_factory=dict)


@record
class JudgeInfo:
    """The judge that answered, as results and reports show it.

    ``api`` and ``model``: as configured. ``versions``: what the service called the model in its replies, such as a
    dated snapshot, sorted; (): its replies do not say, or it never answered. ``votes``: answers asked for per question.
    """

    api: str
    model: str
    versions: tuple[str, ...] = ()
    votes: int = 1


@record(kw_only=False)
class QuotedText:
    """Untrusted text to judge. ``name`` is what the question calls it, such as ``final answer``."""

    name: str
    text: str


@record
class Question(Generic[T]):
    """A question to the judge.

    ``instructions``: the system prompt. ``prompt``: paragraphs; plain strings come from the suite or from skillgym,
    the rest is ``QuotedText``. ``form``: the pydantic model of the answer. The judge gets its JSON schema with the
    descriptions of fields, and the validation errors of an answer that does not match.
    """

    instructions: str
    prompt: tuple[str | QuotedText, ...]
    form: type[T]


@record
class Answer(Generic[T]):
    """The judge's answer: either ``content`` or ``trouble`` is set.

    ``cost_usd`` (US dollars; None: unknown) and ``usage`` include repeated questions. ``version``: what the service
    called the model; None: it did not say.
    """

    content: T | None = None
    trouble: Trouble | None = None
    cost_usd: float | None = 0.0
    usage: Usage = field(default_factory=Usage)
    version: str | None = None


@record
class ModelReply:
    """The model's answer to a program, in no form: either ``text`` or ``trouble`` is set.

    ``cost_usd``: US dollars; None: unknown. ``judge``: which model that was.
    """

    judge: JudgeInfo
    text: str | None = None
    trouble: Trouble | None = None
    cost_usd: float | None = 0.0
    usage: Usage = field(default_factory=Usage)


@record
class Poll(Generic[T]):
    """The answers to one question. There are fewer than ``judge.votes`` if the others could not change the result."""

    judge: JudgeInfo
    answers: tuple[Answer[T], ...]

    @property
    def cost_usd(self) -> float | None:
        """US dollars of all answers; None: unknown."""
        costs = [answer.cost_usd for answer in self.answers]
        return None if None in costs else sum(cost or 0.0 for cost in costs)


def needs_judge(questions: int) -> str:
    """Why questions cannot be decided where no judge is configured, and what to do about it."""
    return f"{questions:,} question{' needs' if questions == 1 else 's need'} a judge: set run.judge"


def majority(votes: int) -> int:
    """The number of votes that is more than half of ``votes``."""
    return votes // 2 + 1


def united_judges(judges: Iterable[JudgeInfo | None]) -> JudgeInfo | None:
    """The first judge, with the versions and the highest number of votes of all; None if there is none."""
    known = [judge for judge in judges if judge]
    if not known:
        return None
    versions = {version for judge in known for version in judge.versions}
    return replace(known[0], versions=tuple(sorted(versions)), votes=max(judge.votes for judge in known))
