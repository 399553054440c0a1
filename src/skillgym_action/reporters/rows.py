"""One execution in a report template: its fields are escaped for Markdown and formatted."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from markupsafe import Markup

from skillgym_action.text import clipped, code_fence, code_span, markdown_inline
from skillgym_action.wording import amount, cause, cost, counted, duration, place, retries, runner_id

if TYPE_CHECKING:
    from skillgym_action.domain import Result

NAME, MESSAGE, DETAIL = 120, 400, 1_500  # characters
NOTHING = Markup()
_EXPECTATIONS = {
    "x-bench": '"expectedFail": true',
    "typescript": "expectedFail: true",
    "python": "expected_fail=True",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One execution. ``detail`` is a block, the rest fits on a line; what there is not is empty."""

    case: Markup
    runner: Markup
    place: Markup
    label: Markup = NOTHING
    assertion: Markup = NOTHING
    message: Markup = NOTHING
    detail: Markup = NOTHING
    edit: Markup = NOTHING
    time: Markup = NOTHING
    cost: Markup = NOTHING
    tokens: Markup = NOTHING
    retries: Markup = NOTHING


def row_of(result: Result, several: bool) -> Row:  # noqa: FBT001
    """A row without reasons. ``several``: there are suites enough to name this one's."""
    case = code(result.case_id)
    tries = retries(result)
    return Row(
        case=ours(f"{inline(result.suite.name, NAME)} › {case}") if several else case,  # noqa: RUF001
        runner=code(runner_id(result)),
        place=code(str(place(result))),
        time=ours(duration(result.duration_ms)),
        cost=ours(cost(result)),
        tokens=ours(amount(result.usage.total_tokens)),
        retries=ours(f"after {counted(tries, 'retry', 'retries')}") if tries else NOTHING,
    )


def failed_row(result: Result, several: bool) -> Row:  # noqa: FBT001
    """A row with its reason: one line of message, the rest of it and the evidence as detail."""
    reason = cause(result)
    first, _, rest = reason.message.strip().partition("\n")
    detail = "\n\n".join(filter(str.strip, (rest.strip("\n"), reason.evidence or "")))
    return replace(
        row_of(result, several),
        label=inline(reason.label, NAME),
        assertion=code(reason.assertion or ""),
        message=inline(first, MESSAGE),
        detail=ours(code_fence(clipped(detail, DETAIL))) if detail else NOTHING,
        place=code(str(reason.location)),
    )


def unexpected_row(result: Result, several: bool) -> Row:  # noqa: FBT001
    """A row with what to take out of the case, as its format writes it."""
    line = _EXPECTATIONS.get(result.suite.format, "the expectation")
    return replace(row_of(result, several), edit=code(line))


def inline(text: str, limit: int = MESSAGE) -> Markup:
    """Words on one line."""
    return ours(markdown_inline(clipped(text, limit)))


def code(text: str) -> Markup:
    """A name, as code."""
    return ours(code_span(clipped(text, NAME)))


def ours(text: str) -> Markup:
    """``text`` as a template may place it: words of ours, or escaped."""
    return Markup(text)  # noqa: S704
