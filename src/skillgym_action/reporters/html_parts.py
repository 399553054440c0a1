"""Parts of the view of the HTML report, and how texts become markup. All text is escaped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from skillgym_action.model.verdicts import GREEN, Status
from skillgym_action.reporters.html_session import address
from skillgym_action.reporters.template_values import NOTHING, markup
from skillgym_action.reporters.wording import RED, case_name, counted, runner_id
from skillgym_action.text.escaping import clipped, html_text, one_line

if TYPE_CHECKING:
    from markupsafe import Markup

    from skillgym_action.model.result import Result

WORDS = {
    Status.PASSED: "Passed",
    Status.FAILED: "Failed",
    Status.EXPECTED_FAILED: "Failed as expected",
    Status.UNEXPECTED_PASSED: "Unexpected pass",
    Status.ERRORED: "Not judged",
    Status.SKIPPED: "Skipped",
}
SIGNS = {
    Status.PASSED: "✓",
    Status.FAILED: "✗",
    Status.EXPECTED_FAILED: "✓",
    Status.UNEXPECTED_PASSED: "!",
    Status.ERRORED: "?",
    Status.SKIPPED: "-",
}
ORDER = (*RED, Status.PASSED, Status.EXPECTED_FAILED, Status.SKIPPED)
MESSAGE = 600  # characters


@dataclass(frozen=True, kw_only=True, slots=True)
class Figure:
    """A number of the run with its unit, and what there is to add."""

    label: Markup
    value: Markup
    note: Markup = NOTHING


@dataclass(frozen=True, kw_only=True, slots=True)
class Choice:
    """A value that executions can be filtered by, with the number of executions that have it."""

    value: Markup
    label: Markup
    count: Markup


@dataclass(frozen=True, kw_only=True, slots=True)
class Filter:
    """A property of executions; ``name`` is its key in the address."""

    name: Markup
    label: Markup
    choices: tuple[Choice, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Cell:
    """One execution. ``link`` leads to its page; empty where the case did not run on the runner.

    ``status`` is a value of ``Status``, ``word`` its name; ``share`` such as ``3 of 5``; ``tone``: good, bad, odd or
    none. ``changed`` is what the comparison says, such as ``newly failing``; ``failure`` the failure class.
    """

    runner: Markup
    link: Markup = NOTHING
    status: Markup = NOTHING
    word: Markup = NOTHING
    sign: Markup = NOTHING
    tone: Markup = NOTHING
    share: Markup = NOTHING
    score: Markup = NOTHING
    cost: Markup = NOTHING
    time: Markup = NOTHING
    failure: Markup = NOTHING
    flaky: Markup = NOTHING
    changed: Markup = NOTHING


@dataclass(frozen=True, kw_only=True, slots=True)
class CaseRow:
    """One case on all runners. ``title``: what people call it, if that is not its id.

    ``number``, ``red``, ``usd`` and ``ms`` are for sorting.
    """

    suite: Markup
    case: Markup
    tags: tuple[Markup, ...]
    cells: tuple[Cell, ...]
    cost: Markup
    time: Markup
    number: Markup
    red: Markup
    usd: Markup
    ms: Markup
    title: Markup = NOTHING


@dataclass(frozen=True, kw_only=True, slots=True)
class Named:
    """An execution in a list: ``title`` is case and runner, ``detail`` what there is to say about it."""

    link: Markup
    title: Markup
    detail: Markup = NOTHING
    tone: Markup = NOTHING


@dataclass(frozen=True, kw_only=True, slots=True)
class ExecutionGroup:
    """Executions with something in common. ``label``: such as the failure class; ``detail`` is preformatted."""

    label: Markup
    title: Markup
    members: tuple[Named, ...]
    remedy: Markup = NOTHING
    detail: Markup = NOTHING
    tone: Markup = NOTHING
    left_out: Markup = NOTHING


@dataclass(frozen=True, kw_only=True, slots=True)
class BaselineView:
    """The comparison: the verdict, both rates and what else differs as sentences, and the executions that changed."""

    verdict: Markup
    rate: Markup
    differences: tuple[Markup, ...]
    groups: tuple[ExecutionGroup, ...]


def inline(text: str) -> Markup:
    """Any text on one line."""
    if not text:
        return NOTHING
    return markup(html_text(one_line(text)))


def left_out(number: int, one: str, many: str | None = None) -> Markup:
    """How many are left out; empty unless there are any."""
    return inline(f"{counted(number, f'more {one}', many and f'more {many}')} left out") if number > 0 else NOTHING


def tone_of(status: Status) -> Markup:
    """The class of the colour of a status."""
    if status in GREEN:
        return markup("good")
    return markup("none" if status is Status.SKIPPED else "bad" if status is Status.FAILED else "odd")


def named(result: Result, detail: str = "") -> Named:
    """An execution in a list."""
    title = f"{case_name(result)} · {runner_id(result)}"
    return Named(
        link=markup(html_text(address(result))),
        title=inline(clipped(title, 200)),
        detail=inline(clipped(detail, MESSAGE)),
        tone=tone_of(result.status),
    )


def runner_of(result: Result) -> str:
    """The runner's id; empty without a runner."""
    return result.runner.id if result.runner else ""
