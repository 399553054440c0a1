from __future__ import annotations

import json
import re
from base64 import b64encode
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import pytest

from builders import run_report
from html_tree import html_tree, text_of
from showcase import showcase
from skillgym_action.model.errors import ConfigError
from skillgym_action.model.limits import MAX_HTML_LISTED
from skillgym_action.model.session import NOT_STORED, SessionArtifacts, StoredText
from skillgym_action.reports.html.parts import MAX_HTML_EXECUTIONS, CaseRows
from skillgym_action.reports.html.report import MAX_HTML_BYTES, render
from skillgym_action.reports.html.session import MAX_HTML_PATHS, LongText, fitted, session_data

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

SECRET_PAGE = "<html><head>{policy}</head><body>{sessions}<p>mine</p></body></html>"


@dataclass
class Stored:
    """Artifacts that are all the same; fulfils ``ArtifactSource``."""

    artifacts: SessionArtifacts
    read: list[str] = field(default_factory=list)

    def session(self, directory: str, _most: int) -> SessionArtifacts:
        self.read.append(directory)
        return self.artifacts

    def baseline_session(self, directory: str, _most: int) -> SessionArtifacts:
        self.read.append(f"baseline {directory}")
        return self.artifacts


@dataclass
class Templates:
    """Templates of a user; fulfils ``reports.markdown.report.Templates``."""

    page: str
    views: list[Any] = field(default_factory=list)

    def replaces(self, name: str) -> bool:
        return name == "report.html.j2"

    def rendered(self, _name: str, view: Any) -> str:
        self.views.append(view)
        return self.page.format(policy=view.policy, sessions=view.sessions)


def page_of(*args: Any, **more: Any) -> str:
    return "".join(render(*args, **more))


def classed(page: str, name: str) -> list[Element]:
    """The elements of a class."""
    return [one for one in html_tree(page).iter() if name in one.get("class", "").split()]


def data_of(page: str) -> dict[str, Any]:
    scripts = html_tree(page).iter("script")
    return {one.get("id"): json.loads(one.text) for one in scripts if one.get("type") == "application/json"}


def report_json(*texts: str) -> dict[str, Any]:
    return {"events": [{"type": "message", "role": "assistant", "text": text} for text in texts]}


# --- the page ---------------------------------------------------------------------------------------


def test_the_policy_allows_the_script_and_the_style_by_their_hashes_and_nothing_else():
    page = page_of(showcase())
    (policy,) = re.findall(r'<meta http-equiv="Content-Security-Policy" content="([^"]+)">', page)
    (style,), (script,) = (
        re.findall(r"<style>(.*?)</style>", page, re.DOTALL),
        re.findall(r"<script>(.*?)</script>", page, re.DOTALL),
    )
    hashes = [f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'" for text in (script, style)]
    assert policy.split("; ") == [
        "default-src 'none'",
        f"script-src {hashes[0]}",
        f"style-src {hashes[1]}",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
    ]
    assert page.index("Content-Security-Policy") < page.index("<style>") < page.index("<script>")


def test_the_page_names_no_address_but_those_on_github():
    root = html_tree(page_of(showcase()))
    outside = {one.get("href") for one in root.iter() if one.get("href") and not one.get("href").startswith("#")}
    assert outside == {"https://github.com/octo/skills/actions/runs/4711"}
    assert [one.tag for one in root.iter() if one.get("src") or one.get("style") or one.get("onclick")] == []


def test_the_matrix_has_what_filters_and_people_look_for():
    root = html_tree(page_of(showcase()))
    row = next(one for one in root.iter("tr") if one.get("data-case") == "extract-auth")
    cells = {cell.get("data-runner"): cell for cell in row.iter("td") if cell.get("data-status")}
    own = cells["claude"]
    assert (own.get("data-status"), own.get("data-flaky"), own.get("data-class")) == (
        "failed",
        "flaky",
        "Assertion failure",
    )
    assert " ".join(text_of(own).split()) == "✗ Failed 3 of 5 flaky changed$1.87 · 45 sAssertion failure"
    named = {one.get("data-changed") for one in root.iter("td")}
    assert named >= {"newly failing", "changed"}
    filters = [one.get("name") for one in root.iter("select")]
    assert filters == ["status", "in", "on", "tag", "class", "flaky", "changed", "sort"]


def test_a_filter_that_lists_only_some_of_its_values_says_so():
    cases = "\n".join(f"c{number} @r{number} passed" for number in range(MAX_HTML_LISTED + 5))
    root = html_tree(page_of(run_report(cases)))
    ((label, select),) = (
        (label, select) for label in root.iter("label") for select in label.iter("select") if select.get("name") == "on"
    )
    assert label.text.strip() == f"Runner (the first {MAX_HTML_LISTED} of {MAX_HTML_LISTED + 5})"
    assert len([one for one in select.iter("option") if one.get("value")]) == MAX_HTML_LISTED


def test_causes_that_several_executions_share_are_one_entry():
    page = page_of(run_report("a failed: no out.txt\na @codex failed: no out.txt\nb failed: other"))
    causes = classed(page, "cause")
    assert [" ".join(text_of(one.find("h3")).split()) for one in causes] == ["2 results: no out.txt", "1 result: other"]
    assert len(causes[0].findall(".//li")) == 2


def test_a_cause_and_its_only_assertion_are_said_once():
    (cause,) = classed(page_of(run_report("a failed: no out.txt")), "cause")
    assert text_of(cause).count("no out.txt") == 1
    assert cause.find(".//pre").text.startswith("file:out.txt exists\n")


def test_of_very_many_executions_green_ones_are_left_out_first():
    cases = [f"c{number} passed" for number in range(MAX_HTML_EXECUTIONS)]
    rows = CaseRows(run_report("\n".join([*cases, "last failed"])))
    names = [str(row.case) for row in rows.shown()]
    assert (rows.left_out, len(names), names[0], names[-1]) == (1, MAX_HTML_EXECUTIONS, "c0", "last")


def test_of_the_baseline_a_session_that_ended_differently_is_compared_with():
    report = showcase()
    pair = report.comparison.newly_failing[0]
    one = pair.before.attempts[0]
    own = pair.after.attempts[0].status
    attempts = (replace(one, status=own, directory="same"), replace(one, status="passed", directory="different"))
    before = replace(pair.before, attempts=attempts)
    comparison = replace(report.comparison, newly_failing=(replace(pair, before=before),))
    stored = Stored(SessionArtifacts(report=report_json("text")))
    page_of(replace(report, comparison=comparison), artifacts=stored)
    assert own != "passed"
    assert "baseline different" in stored.read
    assert "baseline same" not in stored.read


def test_nothing_ran_is_a_page_too():
    assert "Nothing ran." in page_of(run_report(""))


# --- templates of users -----------------------------------------------------------------------------


def test_sessions_do_not_pass_through_a_template():
    templates = Templates(SECRET_PAGE)
    stored = Stored(SessionArtifacts(report=report_json("what the agent said")))
    page = page_of(run_report("a passed"), templates=templates, artifacts=stored)
    assert page.endswith("<p>mine</p></body></html>")
    assert "what the agent said" in page
    assert "what the agent said" not in str(templates.views)


def test_styles_of_a_template_are_allowed_and_its_scripts_are_not():
    page = page_of(
        run_report(""), templates=Templates(SECRET_PAGE.replace("<p>", "<style>p {{}}</style><script>x</script><p>"))
    )
    for text, allowed in (("p {}", True), ("x", False)):
        assert (b64encode(sha256(text.encode()).digest()).decode() in page) == allowed


@pytest.mark.parametrize(
    "page",
    [
        pytest.param("<p>no policy</p>{sessions}", id="none"),
        pytest.param("{policy}{policy}{sessions}", id="twice"),
        pytest.param("<script>x</script>{policy}{sessions}", id="too late for a script"),
        pytest.param("<body>{policy}{sessions}", id="in the body, where browsers ignore it"),
        pytest.param("<p>Our report</p>{policy}{sessions}", id="behind a paragraph, which begins the body"),
        pytest.param("<head>Our report{policy}{sessions}", id="behind text, which begins the body"),
        pytest.param("<head></head>{policy}{sessions}", id="behind the head"),
        pytest.param("<meta name='a{policy}'>{sessions}", id="in an attribute"),
        pytest.param("<title>{policy}</title>{sessions}", id="in the title"),
        pytest.param("<!-- {policy} -->{sessions}", id="in a comment"),
        pytest.param("{policy}{sessions}{sessions}", id="sessions twice"),
    ],
)
def test_a_template_without_the_policy_is_an_error(page):
    with pytest.raises(ConfigError, match="policy"):
        page_of(run_report("a passed"), templates=Templates(page))


@pytest.mark.slow  # it needs a parser that knows where a head ends
@pytest.mark.parametrize(
    "before", ["", "<!DOCTYPE html>\n<html lang='de'>\n<head>", "<meta charset=utf-8><title>A</title>"]
)
def test_what_begins_a_head_may_be_before_the_policy(before):
    from lxml import html as lxml_html

    page = page_of(run_report("a passed"), templates=Templates(before + "{policy}{sessions}"))
    (policy,) = lxml_html.document_fromstring(page).xpath("//head/meta[@http-equiv='Content-Security-Policy']")
    assert policy.get("content").startswith("default-src 'none'")


# --- the data of sessions ---------------------------------------------------------------------------


def test_each_execution_and_each_session_has_its_data():
    report = run_report("a passed 2of2\nb failed 2x\nc skipped: no budget")
    data = data_of(page_of(report, artifacts=Stored(SessionArtifacts(report=report_json("hi")))))
    assert [name for name in data if name.startswith("session")] == [
        "session-0-1-1", "session-0-2-1", "session-1-1-1", "session-1-1-2",
    ]  # fmt: skip
    assert [one["id"] for one in data["execution-1"]["sessions"]] == ["session-1-1-1", "session-1-1-2"]
    assert data["session-0-1-1"]["steps"][0]["text"] == "hi"
    assert data["left-out"] == 0


def test_sessions_are_read_one_after_the_other_as_the_report_is_written():
    stored = Stored(NOT_STORED)
    pieces = render(run_report("a passed\nb passed"), artifacts=stored)
    next(pieces)
    assert stored.read == []
    rest = list(pieces)
    assert len(stored.read) == 2
    assert '{"found":false}' in "".join(rest)


def test_a_session_that_changed_is_compared_with_one_of_the_baseline():
    read = Stored(SessionArtifacts(report=report_json("hi")))
    data = data_of(page_of(showcase(), artifacts=read))
    assert any(one.startswith("baseline ") for one in read.read)
    assert "baseline" in data["session-0-1-1"]


def test_without_artifacts_the_results_are_shown():
    data = data_of(page_of(run_report("a failed: no out.txt")))
    assert list(data) == ["settings", "execution-0", "left-out"]
    assert data["execution-0"]["failure"]["message"] == "no out.txt"


def test_data_cannot_end_its_element():
    text = "</script><!--<script>&\u2028\u2029"
    page = page_of(run_report("a passed"), artifacts=Stored(SessionArtifacts(report=report_json(text))))
    assert text not in page
    assert "\u2028" not in page
    assert data_of(page)["session-0-1-1"]["steps"][0]["text"] == text


def test_long_texts_are_cut_in_the_middle_with_a_count_and_long_timelines_too():
    text, fits = fitted({"a": LongText("x" * 90_000 + "y" * 10_000), "steps": [{"kind": "raw"}] * 3_000}, 40_000)
    found = json.loads(text)
    assert fits
    assert len(text) <= 40_000
    head, left_out, tail = found["a"]
    assert len(head) + left_out + len(tail) == 100_000
    assert (head[0], tail[-1]) == ("x", "y")
    shown = [step.get("steps", 1) for step in found["steps"]]
    assert sum(shown) == 3_000


def test_what_does_not_fit_even_cut_is_said_not_to_fit():
    assert not fitted({"names": ["n" * 50] * 100}, 1_000)[1]


@pytest.mark.slow
def test_many_large_sessions_share_the_space_and_failed_ones_get_more():
    events = report_json(*["words " * 500] * 40)
    log = StoredText(name="stdout.log", head="line\n" * 5_000, tail="end", left_out=9)
    report = run_report("\n".join(f"c{number} {'failed' if number % 10 == 0 else 'passed'}" for number in range(400)))
    stored = Stored(SessionArtifacts(report=events, logs=(log,)))
    page = page_of(report, artifacts=stored)
    assert len(page.encode()) < MAX_HTML_BYTES + 1_000_000
    data = re.findall(r'id="session-(\d+)-1-1">(.*?)</script>', page)
    assert len(data) == 400
    sizes = {number: len(text) for number, text in data}
    assert sizes["200"] > 2 * sizes["201"]


def test_numbers_and_texts_of_a_forged_report_are_checked():
    report = {
        "usage": {"inputTokens": "many", "outputTokens": True, "totalTokens": 3},
        "model": 5,
        "detectedSkills": [1],
    }
    workspace = {"created": "x", "modified": [1, "a"], "complete": "yes"}
    data = session_data(SessionArtifacts(report=report, workspace=workspace, questions=({"votes": 3},)), None)
    assert data["usage"] == {"totalTokens": 3}
    assert (data["model"], data["skills"]) == ("", [])
    nothing = {"paths": [], "total": 0}
    modified = {"paths": ["a"], "total": 1}
    assert data["changes"] == {"created": nothing, "modified": modified, "deleted": nothing, "complete": None}


def test_changed_files_that_are_not_named_are_counted():
    names = [f"f{number}" for number in range(MAX_HTML_PATHS + 7)]
    data = session_data(SessionArtifacts(workspace={"created": names}), None)
    assert data["changes"]["created"] == {"paths": names[:-7], "total": len(names)}
    more = {"created": 5, "modified": 6, "deleted": "many"}
    data = session_data(SessionArtifacts(workspace={"created": names[:2], "leftOut": more}), None)
    assert [data["changes"][kind]["total"] for kind in more] == [7, 6, 0]


def test_executions_are_found_at_the_same_address_in_each_run():
    page = page_of(replace(run_report("a b passed"), id="other"))
    assert 'data-address="#suite=bench%2Fcore.json&amp;case=a&amp;runner=claude"' in page


def test_the_names_of_files_that_cannot_be_read_may_be_any_text():
    stored = SessionArtifacts(report=report_json("hi"), problems=("changes/\ud800\0 cannot be read",))
    page = page_of(run_report("a passed"), artifacts=Stored(stored))
    page.encode()
    assert data_of(page)["session-0-1-1"]["problems"] == ["changes/\ufffd cannot be read"]


def test_failures_with_the_same_first_assertion_that_fails_are_one_reason():
    first, second, third = run_report("a failed: no file\nb failed: no file\nc failed: no file").results
    (outcome,) = second.judgement.outcomes
    outcomes = outcome, replace(outcome, assertion="npm test", explanation="exit code 1")
    second = replace(second, judgement=replace(second.judgement, outcomes=outcomes))
    page = page_of(replace(run_report("a failed\nb failed\nc failed"), results=(first, second, third)))
    (reason,) = html_tree(page).iter("article")
    assert len(reason.findall(".//li")) == 3


@pytest.mark.slow
def test_what_lists_leave_out_is_counted():
    lines = [f"fl{number} passed 2of3" for number in range(203)] + [f"c{number} failed" for number in range(5_002)]
    page = page_of(run_report("\n".join(lines)))
    shown = [text_of(one) for one in html_tree(page).iterfind(".//p[@class='muted']")]
    assert "3 more executions left out" in shown  # of those whose sessions differ
    assert "205 more executions left out, 2 of them not green; they have no page here, and are in results.json" in shown


@pytest.mark.slow
def test_executions_that_the_tables_leave_out_have_no_page_and_are_counted():
    """Otherwise a page of each would make the report larger than a browser opens."""
    cases = [f"c{number} passed" for number in range(MAX_HTML_EXECUTIONS + 40)]
    page = page_of(run_report("\n".join([*cases, "last failed"])))
    assert page.count('id="execution-') == MAX_HTML_EXECUTIONS
    assert f'id="execution-{MAX_HTML_EXECUTIONS + 40}"' in page
    assert '<script type="application/json" id="left-out">41</script>' in page
    assert "41 more green executions left out; they have no page here, and are in results.json" in " ".join(
        text_of(html_tree(page)).split()
    )
    assert len(page) < MAX_HTML_BYTES
