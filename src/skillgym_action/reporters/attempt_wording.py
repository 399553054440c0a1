"""Words for the attempts of a job on GitHub that ran the sessions of a report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillgym_action.reporters.wording import counted, money

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillgym_action.model.job_attempt import AttemptShare
    from skillgym_action.model.run_report import RunReport


def attempt_sentences(report: RunReport) -> Iterator[str]:
    """Which attempt ran how many sessions, and what these cost; nothing if the job had one attempt."""
    if len(report.attempts) < 2:  # noqa: PLR2004
        return
    words = [_share(share) for share in report.attempts]
    yield f"sessions by attempt of the job: {', '.join(words)}"
    repeated = [share for share in report.attempts if share.repeated]
    if repeated:
        again = ", ".join(
            f"{counted(share.repeated, 'session')} of attempt {share.number}{_cost(share.repeated_cost_usd)}"
            for share in repeated
        )
        yield f"run again, and not counted in the results: {again}"


def _share(share: AttemptShare) -> str:
    """``12 of attempt 1 ($3.00)``."""
    number = f"{share.sessions:,}" if share.sessions else "none"
    return f"{number} of attempt {share.number}{_cost(share.cost_usd) if share.sessions else ''}"


def _cost(usd: float | None) -> str:
    return " (cost unknown)" if usd is None else f" ({money(usd)})"
