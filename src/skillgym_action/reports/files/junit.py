"""Reporter: JUnit XML. A suite per suite and runner, a test case per execution, one result element at most each.

junit-xml builds the tree of each suite. What it has no parameters for is added to the tree: properties of a case, a
time of zero, types of skips, retried sessions. Each tree is serialised and dropped before the next one is built.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, cast
from xml.etree.ElementTree import Element, SubElement, tostring

from junit_xml import TestCase, TestSuite

from skillgym_action.model.comparison import is_flaky, samples_of
from skillgym_action.model.judge_question import united_judges
from skillgym_action.model.limits import MAX_REPORTED_EXPLANATION_CHARACTERS, MAX_REPORTED_MESSAGE_CHARACTERS
from skillgym_action.model.result import ADDRESSES_JUDGE, LEAK_DETECTED, format_score
from skillgym_action.model.verdicts import GREEN, NOT_BY_ASSERTIONS, Status
from skillgym_action.reports.wording.failed_assertions import explanation
from skillgym_action.reports.wording.results import QUESTION, cause, findings_in_words, judge_name, score
from skillgym_action.reports.wording.results_apart import QUARANTINE_TYPE, quarantine_message
from skillgym_action.text.escaping import clipped, tail, xml_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillgym_action.model.report import RunReport
    from skillgym_action.model.result import Result

MAX_REPORTED_OUTPUT_CHARACTERS = 16_000  # of its final output
MAX_FULL_JUNIT_CASES = 20_000  # in JUnit XML; with more, green ones have neither output nor properties


_ABRIDGED = f"green cases have no output and no properties: the run has more than {MAX_FULL_JUNIT_CASES:,} cases"
_VERDICTS = {True: "passed", False: "failed", None: "cannot tell"}


def render(report: RunReport) -> Iterator[str]:
    """Yield XML text, a piece for each suite and runner.

    Of very many cases those that are green have no output and no properties; a property of each suite says so.
    """
    groups: dict[tuple[str, str], list[Result]] = {}
    results_and_quarantined = (*report.results, *report.quarantined)
    for result in results_and_quarantined:
        groups.setdefault((result.suite.path, result.runner.id if result.runner else ""), []).append(result)
    root = Element("testsuites", {"name": "skillgym-action", **_sums(results_and_quarantined)})
    yield "<?xml version='1.0' encoding='utf-8'?>\n" + tostring(root, "unicode").removesuffix(" />") + ">\n"
    names = Counter(suite.name for suite in report.suites)
    for (path, runner_id), results in groups.items():
        suite = results[0].suite
        label = suite.name if names[suite.name] <= 1 else path
        name = xml_text(f"{label}.{runner_id}" if runner_id else label)
        tree = _suite(name, results, report, abridged=len(results_and_quarantined) > MAX_FULL_JUNIT_CASES)
        yield tostring(tree, "unicode") + "\n"
    yield "</testsuites>\n"


def _sums(results: tuple[Result, ...] | list[Result]) -> dict[str, str]:
    counts = Counter(result.status for result in results if not result.quarantine)
    return {
        "tests": str(len(results)),
        "failures": str(counts[Status.FAILED] + counts[Status.UNEXPECTED_PASSED]),
        "errors": str(counts[Status.ERRORED]),
        "time": _seconds(sum(result.duration_ms for result in results)),
    }


def _suite(name: str, results: list[Result], report: RunReport, *, abridged: bool) -> Element:
    cases = [_case(name, result, abridged=abridged and result.status in GREEN) for result in results]
    path = xml_text(results[0].suite.path)
    properties = {"skillgym.abridged": _ABRIDGED} if abridged else None
    suite = TestSuite(name, cases, timestamp=xml_text(report.started_at), file=path, properties=properties)
    tree = cast("Element", suite.build_xml_doc())
    del tree.attrib["disabled"]
    tree.set("time", _seconds(sum(result.duration_ms for result in results)))
    for element, result in zip(tree.iter("testcase"), results, strict=True):
        if abridged and result.status in GREEN:
            element.set("time", _seconds(result.duration_ms))
        else:
            _complete(element, result, report.sampled_repetitions)
    return tree


def _case(classname: str, result: Result, *, abridged: bool) -> TestCase:
    location = result.location
    case = TestCase(
        xml_text(result.case_id),
        classname=classname,
        file=xml_text(location.path if location else result.suite.path),
        line=location.line if location else None,
        stdout="" if abridged else xml_text(tail(result.final_output or "", MAX_REPORTED_OUTPUT_CHARACTERS)),
    )
    if result.status is Status.PASSED:
        return case
    if result.quarantine:
        case.add_skipped_info(xml_text(clipped(quarantine_message(result), MAX_REPORTED_MESSAGE_CHARACTERS)))
        return case
    body = xml_text(explanation(result, MAX_REPORTED_EXPLANATION_CHARACTERS))
    message = xml_text(clipped(_message(result), MAX_REPORTED_MESSAGE_CHARACTERS)).strip() or result.status
    if result.status is Status.ERRORED:
        case.add_error_info(message, body, _type(result))
    elif result.status in (Status.FAILED, Status.UNEXPECTED_PASSED):
        case.add_failure_info(message, body, _type(result))
    else:
        case.add_skipped_info(message)
    return case


def _message(result: Result) -> str:
    """Return the cause; with the score before it where the score was too low."""
    reason = cause(result)
    low = result.score is not None and result.status in (Status.FAILED, Status.EXPECTED_FAILED)
    return f"{score(result.judgement)}: {reason.message}" if low else reason.message


def _type(result: Result) -> str:
    if result.quarantine:
        return QUARANTINE_TYPE
    failure_class = result.judgement.failure_class
    name = xml_text(failure_class.id) if failure_class else ""
    if result.status is Status.FAILED and not (name and result.judgement.origin in NOT_BY_ASSERTIONS):
        return "assertion" if name in ("", "assertion") else f"assertion.{name}"
    if result.status in (Status.FAILED, Status.ERRORED) and name:
        return f"skillgym.{name}"
    return f"skillgym.{result.status}"


def _complete(element: Element, result: Result, repetitions: int | None) -> None:
    """Add what junit-xml has no parameters for."""
    element.set("time", _seconds(result.duration_ms))
    for skipped in element.iter("skipped"):
        skipped.set("type", _type(result))
    properties = Element("properties")
    for name, value in _properties(result, repetitions):
        if value is not None:
            SubElement(properties, "property", {"name": f"skillgym.{name}", "value": xml_text(str(value))})
    element.insert(0, properties)
    tag = "flakyFailure" if result.status in GREEN else "rerunFailure"
    for kind, message in _retried(result):
        SubElement(
            element,
            tag,
            {
                "type": f"skillgym.{xml_text(kind)}",
                "message": xml_text(clipped(message, MAX_REPORTED_MESSAGE_CHARACTERS)),
            },
        )


def _properties(result: Result, repetitions: int | None) -> Iterator[tuple[str, object]]:
    yield "status", result.status
    yield "score", None if result.score is None else format_score(result.score)
    threshold = result.judgement.threshold
    yield "threshold", None if threshold is None else format_score(threshold)
    yield "cost_usd", result.cost.usd
    usage = result.usage
    yield "tokens.input", usage.input_tokens
    yield "tokens.output", usage.output_tokens
    yield "tokens.reasoning", usage.reasoning_tokens
    yield "tokens.cache", usage.cache_tokens
    yield "tokens.total", usage.total_tokens
    yield "model", result.model
    yield "agent", result.runner.agent.type if result.runner else None
    yield "attempts", len(result.attempts)
    samples = samples_of(result, repetitions)
    if samples.judged > 1:
        yield "sessions.passed", samples.passed
        yield "sessions.judged", samples.judged
    if result.reused:
        yield "reused.commit", result.reused.commit
        yield "reused.at", result.reused.at
        yield "reused.link", result.reused.link
    yield "flaky", "true" if is_flaky(result, repetitions) else None
    yield "session", result.session_id
    yield "leaks", findings_in_words(result, LEAK_DETECTED) or None
    yield "addresses-judge", findings_in_words(result, ADDRESSES_JUDGE) or None
    judge = united_judges(outcome.judge for outcome in result.judgement.outcomes)
    yield "judge", judge_name(judge) if judge else None
    for outcome in result.judgement.outcomes:
        if outcome.type == QUESTION:
            says = f"{_VERDICTS[outcome.passed]}: {outcome.assertion}"
            yield "question", clipped(says, MAX_REPORTED_MESSAGE_CHARACTERS)


def _retried(result: Result) -> Iterator[tuple[str, str]]:
    """Yield class and message of each session that was followed by another one of the same repetition."""
    last = {attempt.repetition: attempt.session for attempt in result.attempts}
    for attempt in result.attempts:
        if attempt.session < last[attempt.repetition]:
            failure_class = attempt.failure_class
            yield failure_class.id if failure_class else attempt.status, attempt.message or attempt.status


def _seconds(milliseconds: int) -> str:
    return f"{milliseconds / 1000:.3f}"
