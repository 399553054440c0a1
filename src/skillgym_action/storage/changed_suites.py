"""Suites of stored results, compared with those of the base commit: who changes a suite, changes the judge."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from skillgym_action.model.errors import Problem
from skillgym_action.reporters.wording import listed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from skillgym_action.model.run_report import RunReport
    from skillgym_action.model.suite import BenchmarkSuite, SuiteChange


@dataclass(frozen=True, kw_only=True, slots=True)
class SuiteComparison:
    """``all_expected``: no suite of the checkout may be missing from the results.

    ``without_checkout``: whether all suites count as changed then, there is a warning, or nothing.
    """

    all_expected: bool
    without_checkout: Literal["changed", "warning", "nothing"]


def marked(report: RunReport, base: Mapping[str, str | None] | None) -> RunReport:
    """The report with ``changed`` set anew for every suite; ``base``: digests by path, None without a base commit."""
    suites = {suite.path: replace(suite, changed=_change(suite, base)) for suite in report.suites}
    results, others, quarantined = (
        tuple(replace(result, suite=suites[result.suite.path]) for result in some)
        for some in (report.results, report.other_arms, report.quarantined)
    )
    return replace(report, suites=tuple(suites.values()), results=results, other_arms=others, quarantined=quarantined)


def _change(suite: BenchmarkSuite, base: Mapping[str, str | None] | None) -> SuiteChange | None:
    if base is None:
        return "not-compared"
    if suite.path not in base:
        return "added"
    if suite.digest is None:
        return "unidentified"
    return None if suite.digest == base[suite.path] else "differs"


def completed(report: RunReport, expected: Iterable[str]) -> RunReport:
    """The report, incomplete where one of the suites that are ``expected`` is not in it."""
    missing = sorted(set(expected) - {suite.path for suite in report.suites})
    if not missing:
        return report
    reason = f"the results lack suites of the base commit: {listed(missing)}"
    warnings = (*report.warnings, Problem(message=reason))
    return replace(report, incomplete=(*report.incomplete, reason), warnings=warnings)
