"""``expect.skills``: the skills a session used."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from skillgym_action.suite_programs.failure_messages import ExplainContext, FailureMessage
from skillgym_action.suite_programs.matching import counted, in_json, listed, nearest_first, require_list
from skillgym_action.suite_programs.showing import shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from skillgym_action.model.session_report import SessionReport
    from skillgym_action.suite_programs.failure_messages import Explain, Failed

Confidence: TypeAlias = Literal["weak", "medium", "strong", "explicit"]

CONFIDENCE = ("weak", "medium", "strong", "explicit")


@dataclass(frozen=True, kw_only=True)
class _Detected:
    """The skills that were detected with at least the confidence ``least``."""

    failed: Failed
    report: SessionReport
    words: FailureMessage
    least: str | None
    names: list[str]
    found: list[str]

    def fail(self, expectation: str, near: Sequence[str] = (), **context: Any) -> None:
        """``near``: the skills that are missing."""
        text = f"{expectation} (confidence: {self.least} or more)" if self.least else expectation
        observed = self.report.detected_skills
        order = nearest_first(near, [each.skill for each in observed])
        words = replace(self.words, observed=listed("detected skills", self.found, order))
        words.fail(self.failed, text, ExplainContext(report=self.report, observed=observed, **context))


class Skills:
    """``min_confidence``: skills detected with less confidence do not count. weak < medium < strong < explicit."""

    def __init__(self, failed: Failed) -> None:
        self._failed = failed

    def has(
        self,
        report: SessionReport,
        skill: str,
        message: str | None = None,
        *,
        min_confidence: Confidence | None = None,
        explain: Explain | None = None,
    ) -> None:
        """The skill was used."""
        seen = self._detected(report, min_confidence, message, explain)
        if skill not in seen.names:
            seen.fail(f"expected the skill {in_json(skill)}", (skill,), expected=skill, actual=0)

    def not_has(
        self,
        report: SessionReport,
        skill: str,
        message: str | None = None,
        *,
        min_confidence: Confidence | None = None,
        explain: Explain | None = None,
    ) -> None:
        """The skill was not used."""
        seen = self._detected(report, min_confidence, message, explain)
        if actual := seen.names.count(skill):
            seen.fail(f"expected no skill {in_json(skill)}", expected=0, actual=actual)

    def includes(
        self,
        report: SessionReport,
        skills: Sequence[str],
        message: str | None = None,
        *,
        min_confidence: Confidence | None = None,
        explain: Explain | None = None,
    ) -> None:
        """All these skills were used."""
        require_list(skills, "skills")
        seen = self._detected(report, min_confidence, message, explain)
        if missing := [skill for skill in skills if skill not in seen.names]:
            wanted = f"expected the skills {_names(skills)}; missing: {_names(missing)}"
            seen.fail(wanted, missing, expected=skills, actual=missing)

    def count(
        self,
        report: SessionReport,
        skill: str,
        expected: int,
        message: str | None = None,
        *,
        min_confidence: Confidence | None = None,
        explain: Explain | None = None,
    ) -> None:
        """The skill was detected that many times."""
        seen = self._detected(report, min_confidence, message, explain)
        if (actual := seen.names.count(skill)) != expected:
            wanted = counted(expected, "detection", "detections")
            seen.fail(
                f"expected {wanted} of the skill {in_json(skill)}, found {actual}", expected=expected, actual=actual
            )

    def exactly_one(
        self,
        report: SessionReport,
        skill: str,
        message: str | None = None,
        *,
        min_confidence: Confidence | None = None,
        explain: Explain | None = None,
    ) -> None:
        """The skill was detected once."""
        self.count(report, skill, 1, message, min_confidence=min_confidence, explain=explain)

    def only(
        self,
        report: SessionReport,
        skills: Sequence[str],
        message: str | None = None,
        *,
        min_confidence: Confidence | None = None,
        explain: Explain | None = None,
    ) -> None:
        """No other skills than these were used; some of these may be unused."""
        require_list(skills, "skills")
        seen = self._detected(report, min_confidence, message, explain)
        if others := [skill for skill in seen.names if skill not in skills]:
            wanted = f"expected no skills but {_names(skills)}" if skills else "expected no skills"
            seen.fail(f"{wanted}; found: {_names(others)}", expected=skills, actual=others)

    def _detected(
        self, report: SessionReport, least: str | None, message: str | None, explain: Explain | None
    ) -> _Detected:
        if least is not None and least not in CONFIDENCE:
            raise TypeError(f"min_confidence is one of {', '.join(CONFIDENCE)}, not {shown(least)}")
        enough = CONFIDENCE[CONFIDENCE.index(least) if least else 0 :]
        found = [f"{each.skill} ({each.confidence})" for each in report.detected_skills]
        return _Detected(
            failed=self._failed,
            report=report,
            words=FailureMessage(observed="", message=message, explain=explain),
            least=least,
            names=[each.skill for each in report.detected_skills if each.confidence in enough],
            found=found,
        )


def _names(skills: Sequence[str]) -> str:
    return ", ".join(map(in_json, skills))
