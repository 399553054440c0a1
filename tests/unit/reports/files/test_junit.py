from __future__ import annotations

import copy
import functools
import io
import subprocess
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace

import junitparser
import pytest
import xunitparser
from hypothesis import given

from builders import run_report
from hostile import any_text
from paths import DATA, SUPPORT
from skillgym_action.model.errors import Location
from skillgym_action.model.judgement import Outcome
from skillgym_action.reports.files.junit import MAX_FULL_JUNIT_CASES, render

EVERY_STATUS = """
suite bench/core.json
edit passed $0.20 12s 2x
fix failed: expected a file
late failed 2x: expected a file
flaky expected-failed: not yet
old unexpected-passed
slow errored timeout 3x: no answer
off skipped: not selected
edit @codex passed $? 0s
suite tests/skills.suite.py
find passed
"""
RESULT_ELEMENTS = {"failure", "error", "skipped"}


def tree(report):
    return ET.fromstring("".join(render(report)).encode())


@functools.cache
def schema():
    from lxml import etree

    return etree.XMLSchema(file=DATA / "junit-10.xsd")


def valid(root):
    """Without what the schema does not know although many readers do."""
    root = copy.deepcopy(root)
    for case in root.iter("testcase"):
        case.attrib.pop("file", None)
        case.attrib.pop("line", None)
        case.remove(case.find("properties"))
    from lxml import etree

    schema().assertValid(etree.fromstring(ET.tostring(root)))
    return True


def case(root, name):
    return root.find(f".//testcase[@name='{name}']")


def with_an_unusable_case():
    report = run_report("edit errored suite-invalid: no prompt")
    (result,) = report.results
    return replace(report, results=(replace(result, runner=None, location=None, attempts=()),), runners=())


@pytest.mark.slow
@pytest.mark.parametrize("report", [run_report(EVERY_STATUS), with_an_unusable_case()], ids=["all", "unusable"])
def test_the_schema_accepts_every_status(report):
    assert valid(tree(report))


def test_a_suite_for_each_suite_and_runner():
    root = tree(run_report(EVERY_STATUS))
    assert dict(root.attrib) == {
        "name": "skillgym-action", "tests": "9", "failures": "3", "errors": "1", "time": "18.000",
    }  # fmt: skip
    assert [dict(suite.attrib) for suite in root] == [
        {
            "name": "core.claude", "tests": "7", "failures": "3", "errors": "1", "skipped": "2", "time": "17.000",
            "timestamp": "2025-01-02T03:04:05Z", "file": "bench/core.json",
        },
        {
            "name": "core.codex", "tests": "1", "failures": "0", "errors": "0", "skipped": "0", "time": "0.000",
            "timestamp": "2025-01-02T03:04:05Z", "file": "bench/core.json",
        },
        {
            "name": "skills.suite.claude", "tests": "1", "failures": "0", "errors": "0", "skipped": "0",
            "time": "1.000", "timestamp": "2025-01-02T03:04:05Z", "file": "tests/skills.suite.py",
        },
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "element", "kind", "message"),
    [
        pytest.param("edit", None, None, None, id="passed: none at all"),
        pytest.param("fix", "failure", "assertion", "expected a file", id="failed"),
        pytest.param("old", "failure", "skillgym.unexpected-passed", "every assertion passed", id="unexpected"),
        pytest.param("flaky", "skipped", "skillgym.expected-failed", "not yet", id="failed as expected"),
        pytest.param("slow", "error", "skillgym.timeout", "no answer", id="errored"),
        pytest.param("off", "skipped", "skillgym.skipped", "not selected", id="skipped"),
    ],
)
def test_each_execution_has_its_one_result_element(name, element, kind, message):
    found = [child for child in case(tree(run_report(EVERY_STATUS)), name) if child.tag in RESULT_ELEMENTS]
    expected = [(element, kind, message)] if element else []
    assert [(child.tag, child.get("type"), child.get("message")) for child in found] == expected


def test_a_class_of_the_suite_is_part_of_the_type():
    root = tree(run_report("fix failed missed-skill: no"))
    assert root.find(".//failure").get("type") == "assertion.missed-skill"


def test_a_failure_lists_all_that_does_not_hold():
    failure = tree(run_report("fix failed: expected a file")).find(".//failure")
    assert failure.text == ("file:out.txt exists: expected a file\nsrc/\nREADME.md\n\nat bench/core.json:10")


@pytest.mark.parametrize(
    ("name", "tag", "times"), [("edit", "flakyFailure", 1), ("late", "rerunFailure", 1), ("slow", "rerunFailure", 2)]
)
def test_sessions_that_were_tried_again_are_kept(name, tag, times):
    found = case(tree(run_report(EVERY_STATUS)), name).findall(tag)
    assert [dict(element.attrib) for element in found] == [
        {"type": "skillgym.rate-limit", "message": "429 too many requests"}
    ] * times


def test_a_case_says_where_it_is_written_and_what_it_took():
    element = case(tree(run_report("edit passed $0.20 12s 1200t")), "edit")
    assert dict(element.attrib) == {
        "name": "edit", "classname": "core.claude", "file": "bench/core.json", "line": "10", "time": "12.000",
    }  # fmt: skip
    assert {one.get("name"): one.get("value") for one in element.find("properties")} == {
        "skillgym.status": "passed",
        "skillgym.cost_usd": "0.2",
        "skillgym.tokens.input": "1000",
        "skillgym.tokens.output": "200",
        "skillgym.tokens.total": "1200",
        "skillgym.model": "claude-model",
        "skillgym.agent": "claude-code",
        "skillgym.attempts": "1",
        "skillgym.session": "session-0",
    }
    assert element.find("system-out").text == "Done."


def test_what_is_not_known_has_no_property():
    element = case(tree(run_report("edit passed $?")), "edit")
    assert element.find("properties/property[@name='skillgym.cost_usd']") is None


def test_a_case_that_could_not_be_used_belongs_to_its_suite():
    root = tree(with_an_unusable_case())
    assert root.find("testsuite").get("name") == "core"
    assert case(root, "edit").get("file") == "bench/core.json"


def test_suites_of_one_name_are_told_apart_by_their_path():
    root = tree(run_report("suite a/core.json\nedit passed\nsuite b/core.json\nedit passed"))
    assert [suite.get("name") for suite in root] == ["a/core.json.claude", "b/core.json.claude"]


def test_a_run_without_results_is_a_document():
    root = tree(run_report(""))
    assert (root.get("tests"), len(root)) == ("0", 0)


def test_a_long_final_output_keeps_its_end():
    report = run_report("edit passed")
    (result,) = report.results
    root = tree(replace(report, results=(replace(result, final_output="a" * 100_000 + "z"),)))
    text = root.find(".//system-out").text
    assert text.startswith("… 100,001 characters, beginning left out …\n")
    assert text.endswith("az")
    assert len(text) == 16_000


def of_text(name, message, output):
    """A run in which these texts are everywhere."""
    report = run_report("edit failed 2x\nfix errored\noff skipped")
    outcome = Outcome(assertion=name, type=output, passed=False, explanation=message, evidence=output)
    results = []
    for result in report.results:
        failure = result.judgement.failure and replace(result.judgement.failure, message=message)
        judgement = replace(result.judgement, failure=failure, outcomes=(outcome,), reason=message)
        results.append(
            replace(
                result,
                case_id=name,
                judgement=judgement,
                final_output=output,
                location=Location(path=name),
                model=output,
            )
        )
    return replace(report, results=tuple(results))


@given(any_text, any_text, any_text)
def test_any_text_makes_a_document_with_one_result_for_each_case(name, message, output):
    root = tree(of_text(name, message, output))
    counts = [sum(child.tag in RESULT_ELEMENTS for child in element) for element in root.iter("testcase")]
    assert counts == [1, 1, 1]


@pytest.mark.slow
@given(any_text, any_text, any_text)
def test_any_text_makes_a_valid_document(name, message, output):
    assert valid(tree(of_text(name, message, output)))


def test_junitparser_reads_it():
    root = junitparser.JUnitXml.fromstring("".join(render(run_report(EVERY_STATUS))).encode())
    cases = {one.name: one for suite in root for one in suite if suite.name == "core.claude"}
    assert type(next(iter(cases["slow"].result))).__name__ == "Error"
    assert (root.tests, root.failures, root.errors) == (9, 3, 1)


def test_xunitparser_reads_it():
    suite, _ = xunitparser.parse(io.StringIO("".join(render(run_report(EVERY_STATUS))).partition("\n")[2]))
    outcomes = {f"{one.classname}.{one.methodname}": one.result for one in suite}
    assert outcomes["core.claude.edit"] == "success"
    assert outcomes["core.claude.fix"] == "failure"
    assert outcomes["core.claude.slow"] == "error"
    assert outcomes["core.claude.flaky"] == "skipped"


@pytest.mark.slow
def test_nothing_of_the_package_below_warns():
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from builders import run_report\n"
        "from skillgym_action.reports.files.junit import render\n"
        "''.join(render(run_report('edit passed')))\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code, str(SUPPORT)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
def test_of_very_many_cases_green_ones_are_short_and_the_report_says_so():
    cases = [f"c{number} passed" for number in range(MAX_FULL_JUNIT_CASES)]
    text = "".join(render(run_report("\n".join([*cases, "last failed: no out.txt"]))))
    root = ET.fromstring(text.encode())
    (note,) = [one.get("value") for one in root.iter("property") if one.get("name") == "skillgym.abridged"]
    assert note == "green cases have no output and no properties: the run has more than 20,000 cases"
    found = list(root.iter("testcase"))
    assert len(found) == MAX_FULL_JUNIT_CASES + 1 == int(root.get("tests"))
    assert [child.tag for child in found[0]] == []
    assert found[0].get("time") is not None
    assert "properties" in [child.tag for child in found[-1]]


@pytest.mark.slow
def test_of_many_cases_all_are_whole():
    cases = [f"c{number} passed" for number in range(MAX_FULL_JUNIT_CASES)]
    text = "".join(render(run_report("\n".join(cases))))
    assert ("skillgym.abridged" in text, text.count('"skillgym.status"')) == (False, MAX_FULL_JUNIT_CASES)
