"""The job summary and the comment.

After a change of the report templates: ``python tests/unit/reports/markdown/test_markdown.py``.
"""

from __future__ import annotations

import re
from contextlib import ExitStack
from dataclasses import replace
from html import unescape

import pytest
from hypothesis import given

from builders import run_report
from hostile import any_text
from markdown_structure import EACH, REPOSITORY, big_run, shown, spoken_by, structure
from paths import GOLDENS
from showcase import RUN, showcase
from skillgym_action.model.errors import ConfigError, Location
from skillgym_action.model.report import Links
from skillgym_action.model.verdicts import Status
from skillgym_action.reports.markdown.report import RunProgress, comment, marker, summary
from skillgym_action.results.statistics.comparison import compare
from users_templates import rendered_elsewhere

RUNS = {
    "green": "edit passed $0.20 12s\nflaky expected-failed $0.05 3s: not yet",
    "mixed": """
        suite bench/core-refactors.json
        extract-auth passed $1.87 45s 15600t
        add-tests failed $0.92 61s 22100t: test/budget.test.ts does not exist
        fix-race unexpected-passed $1.10 88s 31000t
        slow-query errored timeout $0.77 120s 18000t: no result within 120 s
        update-docs passed $0.12 12s 3200t 2x
        extract-auth @codex passed $? 52s 17600t
        add-tests @codex failed $? 40s 20100t: exit code 1
        rename-module @codex errored rate-limit 3x $? 3s: 429 Too Many Requests
        fix-race @codex expected-failed $? 70s 28000t: the counter is 3, expected 4
        update-docs @codex skipped: the run's budget is spent
        suite tests/skills.suite.py
        find-skill passed $0.08 9s 2100t
        warning: the second expectation holds even before the agent starts
    """,
    "scores": """
        suite evals/shop.eval.yaml
        kind passed 0.875/0.8
        terse passed 1/0.8
        polite failed 0.5/0.8: contains-please: the answer does not contain 'please'
        own failed 0.25/0.8 missed-skill: skill-trigger-csv: the skill csv was not used
        slow errored timeout
        later expected-failed 0/0.8: is-json: the answer is no JSON
        suite bench/core.json
        edit passed
    """,
    "leaks": """
        suite bench/core.json
        edit passed !github:stdout.log !secret:changes/a|b.env
        fix @codex failed !jwt:1 !jwt:2 !jwt:3 !jwt:4 !jwt:5 !jwt:6 !jwt:7
        calm passed
    """,
    "nothing": "",
}


def golden(name):
    return (GOLDENS / f"{name}.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", RUNS)
def test_the_summary_is_as_it_was(name):
    assert shown(summary, run_report(RUNS[name], commit="4f2a9c1d0e")) == golden(f"summary-{name}")


def running(done, total, spent, *, run=RUN, **settings):
    return shown(comment, RunProgress(done=done, total=total, spent=spent, run=run), **settings)


EVERYTHING = {
    "summary-everything": lambda: shown(summary, showcase()),
    "comment-everything": lambda: shown(comment, showcase(), run_key="4711/1"),
    "comment-everything-in-2000": lambda: shown(comment, showcase(), run_key="4711/1", limit=2_000),
    "comment-everything-in-500": lambda: shown(comment, showcase(), run_key="4711/1", limit=500),
    "running": lambda: running(12, 40, "$0.84 of $5", run_key="4711/1"),
}


@pytest.mark.parametrize("name", EVERYTHING)
def test_a_report_with_everything_in_it_is_as_it_was(name):
    assert EVERYTHING[name]() == golden(name)


def test_the_comment_begins_like_the_summary_below_its_marker():
    report = run_report(RUNS["mixed"])
    marked, _, rest = shown(comment, report, comment_id="nightly run").partition("\n")
    assert marked == "<!-- skillgym-action:nightly-run -->"
    assert rest.split("\n\n")[:2] == shown(summary, report).split("\n\n")[:2]


@pytest.mark.parametrize("name", ["default", "a b", "--> <b>", "", "x" * 1_000])
def test_a_marker_is_one_hidden_comment(name):
    assert re.fullmatch(r"<!-- skillgym-action:[\w.-]{0,100} -->", marker(name))
    assert "-->" not in marker(name)[:-3]


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("edit passed\nfix passed", "## ✅ All 2 results pass"),
        ("edit passed\nfix failed", "## ❌ 1 of 2 results passes, 1 fails for 1 reason"),
        ("edit passed\nfix errored", "## ⚠️ Not sure: 1 of 2 results is missing"),
        ("", "## ⚠️ Not tested: nothing ran"),
    ],
)
def test_the_title_is_the_verdict(text, title):
    assert shown(summary, run_report(text)).splitlines()[0] == title
    assert shown(summary, run_report(text, decision=None)).splitlines()[0] == title


@pytest.mark.parametrize("key", ["4711/1", "999999999999999999/1"])
def test_below_the_marker_stands_which_run_wrote_the_comment(key):
    lines = shown(comment, run_report("edit passed"), comment_id="x", run_key=key).splitlines()
    assert lines[:2] == ["<!-- skillgym-action:x -->", f"<!-- run: {key} -->"]


@pytest.mark.parametrize("key", ["", "1", "1/", "1/2/3", "a/1", "1/1 --> <b>", "1/1\n", "\u0661/1"])
def test_nothing_else_does(key):
    with pytest.raises(ValueError, match="is not <run id>/<attempt>"):
        shown(comment, run_report("edit passed"), run_key=key)


def test_a_run_that_ended_before_its_report_says_so():
    assert shown(comment, RunProgress(run=RUN, ended=True), run_key="4711/1") == (
        f"{marker('default')}\n<!-- run: 4711/1 -->\n## ⚠️ Not tested: the run ended before its report\n\n"
        f"[all results]({RUN})\n"
    )


def test_a_running_comment_without_price_and_address():
    assert running(0, 1_200, "", run=None, comment_id="x") == (
        "<!-- skillgym-action:x -->\n## ⏳ Running: 0 of 1,200\n"
    )


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("a/x.bench.json", '"expectedFail": true'),
        ("a/x_suite.py", "expected_fail=True"),
        ("a/x.suite.ts", "expectedFail: true"),
        ("a/x.eval.yaml", "expected_fail: true"),
    ],
)
def test_an_unexpected_pass_shows_what_to_take_out_of_the_case(path, line):
    report = run_report(f"suite {path}\nold unexpected-passed", links=LINKS)
    assert (
        f"- **`old`** · `claude` · [`{path}:10`]({REPOSITORY}/blob/abc/{path}#L10)\n\n```diff\n- {line}\n```\n"
    ) in shown(summary, report)


def test_unexpected_passes_of_one_format_share_the_edit():
    cases = {"a.json": "old", "b.py": "older", "c.json": "oldest"}
    text = "\n".join(f"suite {path}\n{case} unexpected-passed" for path, case in cases.items())
    assert re.findall(r"`(old\w*)`|^- (\S+)$", shown(summary, run_report(text)).split("###")[1], re.MULTILINE) == [
        ("older", ""), ("", "expected_fail=True"), ("old", ""), ("oldest", ""),
    ]  # fmt: skip


LINKS = Links(repository=REPOSITORY, commit="abc", run=RUN)


def test_only_what_is_in_the_repository_is_linked():
    report = run_report("edit failed", links=LINKS)
    (result,) = report.results
    failure = replace(result.judgement.failure, location=Location(path="/usr/lib/x.py", line=3))
    report = replace(report, results=(replace(result, judgement=replace(result.judgement, failure=failure)),))
    assert "\n`edit` · `claude` · `/usr/lib/x.py:3` · artifacts in `core/edit/claude`\n" in shown(summary, report)


@pytest.mark.parametrize("address", ["javascript:alert(1)", "data:x", "/etc", "x"])
def test_only_an_address_of_the_web_is_linked(address):
    report = run_report("edit failed", links=Links(repository=address, commit="abc", run=address))
    assert "](" not in shown(comment, report)


def nine(status):
    return "\n".join(f"c{number} {status}" for number in range(9))


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        pytest.param(
            nine("passed 5of5"),
            nine("passed 5of5"),
            ("Of 9 cases with a result both in run-1 and now, 100% of attempts passed then and 100% now.",
             "No regression shown: a drop of up to 5.7 points is not excluded."),
            id="no news",
        ),
        pytest.param(
            "a errored",
            "a passed",
            ("No attempt has a result both in run-1 and now.",
             "Inconclusive: no case was judged both in the baseline and now."),
            id="nothing to compare",
        ),
        pytest.param(
            nine("passed"),
            nine("failed"),
            ("Of 9 cases with a result both in run-1 and now, 100% of attempts passed then and 0% now.",
             "Regression: the pass rate dropped by 100 points since the baseline (p = 0.002)."),
            id="worse",
        ),
        pytest.param(
            nine("failed"),
            nine("passed"),
            ("No regression shown: nothing passed in the baseline, so nothing could get worse.",),
            id="better",
        ),
        pytest.param(
            nine("passed 5of5") + "\na @codex passed 5of5",
            nine("passed 5of5") + "\na @codex passed 5of5",
            ("Of 10 cases on runners with a result both in run-1 and now,",),
            id="several runners",
        ),
    ],
)  # fmt: skip
def test_how_sure_a_comparison_is_is_said_in_words(before, after, told):
    base, head = run_report(before, commit="0123abc"), run_report(after)
    markdown = shown(summary, replace(head, comparison=compare(base, head))).replace("\u2060", "")
    assert [words for words in told if words not in markdown.split("How sure")[1]] == []


def test_what_is_not_compared_has_twenty_names_at_most():
    base = run_report("a passed")
    head = run_report("a passed\n" + "\n".join(f"c{number} failed 0of5" for number in range(30)))
    line = next(
        line
        for line in shown(summary, replace(head, comparison=compare(base, head))).splitlines()
        if line.startswith("- 30 added")
    )
    assert line.startswith("- 30 added: `c0` on `claude`, `c1` on `claude`")
    assert line.endswith("`c19` on `claude` and 10 more")


def test_what_newly_fails_comes_first_in_its_reason():
    base, head = run_report("a passed 5of5\nb passed 5of5"), run_report("a failed 3of5\nb failed 0of5")
    markdown = shown(summary, replace(head, comparison=compare(base, head)))
    assert "\n`b` · `claude` · **new** · 0 of 5 attempts passed · " in markdown
    assert "\n`a` · `claude` · 3 of 5 attempts passed · `bench" in markdown
    assert "<br>b on claude, a on claude</summary>" in markdown


def test_what_else_differs_stands_below_the_table():
    base, head = run_report("a passed\nb passed", version="0.1.0"), run_report("a passed\nb passed", version="0.2.0")
    markdown = shown(summary, replace(head, comparison=compare(base, head)))
    differs = "Compared with run of 2 Jan, this also differs:\n\n- skillgym-action: 0.1.0 then, 0.2.0 now\n"
    assert markdown.index("| **All** |") < markdown.index(differs)


# --- rates --------------------------------------------------------------------------------------------

FEW = "fewer than 5 cases say nothing about other cases"
MEANS = (
    "Time and tokens of an execution are the average of its passing sessions or, without such sessions, of "
    "the last session of each repetition; its cost is the sum of all sessions."
)


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        pytest.param(
            "\n".join(f"c{number} passed" for number in range(4)) + "\nd failed",
            ["80% of attempts pass, 95% interval [38, 96] for cases like these."],
            id="one session each",
        ),
        pytest.param(
            "a passed 5of5\nb failed 4of5\nc failed 0of5\nd failed 3of5\ne passed 5of5",
            [
                (
                    "68% of attempts pass, 95% interval [31, 91] for cases like these "
                    "and [55, 79] for the same 5 cases again."
                ),
                "At least one of 5 attempts passes in 80% of cases (pass@\u20605), all 5 pass in 40% (pass^5).",
                MEANS,
            ],
            id="five sessions each",
        ),
        pytest.param(
            "a passed 5of5",
            [
                f"100% of attempts pass, 95% interval [57, 100] for the same case again; {FEW}.",
                "At least one of 5 attempts passes in 100% of cases (pass@\u20605), all 5 pass in 100% (pass^5).",
                MEANS,
            ],
            id="one case",
        ),
        pytest.param(
            "a passed\nb errored timeout\nold expected-failed\nolder expected-failed",
            [
                f"100% of attempts pass, 95% interval [21, 100] for the same case again; {FEW}.",
                "1 case has no result and counts in no pass rate.",
                "2 results are marked as failing and count in no pass rate.",
            ],
            id="what is in no rate",
        ),
    ],
)
def test_a_rate_says_what_it_is_a_rate_of(text, lines):
    shown_lines = unescape(shown(summary, run_report(text))).splitlines()
    assert [line[2:] for line in shown_lines if re.match(r"- (?!\*\*|`)", line) and "·" not in line] == lines


def test_runners_are_no_independent_samples():
    text = "\n".join(
        f"c{number} @{runner} {'passed' if number else 'failed'}" for number in range(5) for runner in "xyz"
    )
    cells = re.findall(r"(\d+%) \[(\d+, \d+)\] of attempts pass\.", unescape(shown(summary, run_report(text))))
    assert cells == [("80%", "38, 96")] * 3
    assert "80% of attempts pass, 95% interval [38, 96] for cases like these" in unescape(
        shown(summary, run_report(text))
    )


def test_flaky_executions_are_listed_with_their_sessions():
    markdown = shown(summary, run_report("a failed 3of5\nb failed 1of3\nc passed 5of5\nd passed"))
    assert "<summary>🔀 1 flaky result, 1 result with some failed attempts</summary>\n\n" in markdown
    assert "- `a` · `claude` · 3 of 5 attempts passed, 95% interval [23, 88]\n" in markdown
    assert "- `b` · `claude` · 1 of 3 attempts passed, too few to call it flaky\n" in markdown
    assert "| a | 🔀\u00a03/5, flaky |" in markdown


def retried(text):
    report = run_report(text)
    (result,) = report.results
    (attempt,) = result.attempts
    attempts = (replace(attempt, status=Status.FAILED), replace(attempt, session=2))
    return replace(report, results=(replace(result, attempts=attempts),))


def test_a_pass_after_a_retry_is_never_a_plain_pass():
    markdown = shown(summary, retried("edit passed"))
    assert "🔀 1 flaky result</summary>\n\n- `edit` · `claude` · passed only after a retry\n" in markdown
    assert "| `edit` · flaky · after 1 retry | `claude` |" in markdown
    assert "0% of attempts pass" in markdown


@pytest.mark.parametrize(
    ("digests", "shows"), [(("a" * 64, "b" * 64), True), (("a" * 64, None), False), ((None, None), False)]
)
def test_the_suites_have_a_digest_if_all_have_one(digests, shows):
    report = run_report("suite a.json\na passed\nsuite b.json\nb passed")
    suites = tuple(replace(suite, digest=digest) for suite, digest in zip(report.suites, digests, strict=True))
    assert bool(re.search(r"suites `[0-9a-f]{12}`", shown(summary, replace(report, suites=suites)))) == shows


def test_what_the_title_says_is_not_said_again_as_a_reason():
    report = run_report("a failed\nb errored")
    reasons = ("1 failed", "1 of 2 have no result", "pass rate 0.0% is below 90.0%")
    quotes = re.findall(
        r"^> (.*)$", shown(summary, replace(report, decision=replace(report.decision, reasons=reasons))), re.MULTILINE
    )
    assert quotes == []
    assert "## ❌ Failed: pass rate 0.0% is below 90.0%\n" in shown(
        summary, replace(report, decision=replace(report.decision, reasons=reasons))
    )


def test_a_cancelled_run_says_so():
    report = run_report("edit passed", cancelled=True)
    assert shown(summary, report).startswith("## ⚠️ Cancelled: edit passes\n")


@pytest.mark.parametrize(
    ("text", "cost"),
    [("a passed $?", "unknown"), ("a passed $?\nb passed $1", "≥ $1.00"), ("a passed $1", "$1.00")],
)
def test_what_is_not_known_is_never_shown_as_nothing(text, cost):
    markdown = shown(summary, run_report(text))
    assert f"cost {cost} ·" in markdown
    assert "$0.00" not in markdown


def test_a_message_of_several_lines_opens_with_its_first():
    report = run_report("fix failed")
    (result,) = report.results
    failure = replace(result.judgement.failure, message="lists differ\n- a\n+ b")
    report = replace(report, results=(replace(result, judgement=replace(result.judgement, failure=failure)),))
    assert "<code>file:out.txt exists</code>: lists differ · - a · + b<br>fix on claude</summary>\n" in shown(
        summary, report
    )
    assert "```\n- a\n+ b\n\nsrc/\nREADME.md\n```" in shown(summary, report)


def test_what_no_runner_ran_has_its_row():
    report = run_report("edit errored suite-invalid: no prompt\nfix passed")
    first, second = report.results
    markdown = shown(summary, replace(report, results=(replace(first, runner=None), second)))
    assert "\n| Passed | — | claude |\n" in markdown
    assert "\n| edit | ⚠️\u00a0no result | — |\n" in markdown
    assert "- **1 result:** Invalid suite: no prompt; run &#96;skillgym-action check&#96; (edit on —" in markdown


# --- hostile text -----------------------------------------------------------------------------------


@pytest.mark.slow
@given(any_text, any_text)
def test_any_text_stays_in_its_place(name, message):
    report = run_report(EACH, duration_ms=999)
    assert structure(shown(comment, spoken_by(report, name, message))) == structure(
        shown(comment, spoken_by(report, "name", "message"))
    )


def test_the_property_above_sees_every_kind_of_change():
    comparison = spoken_by(run_report(EACH), "name", "message").comparison
    assert (len(comparison.newly_failing), len(comparison.fixed)) == (1, 1)


@given(any_text)
def test_what_is_said_of_a_running_run_stays_in_its_place(spent):
    markdown = running(1, 2, f"x{spent}", run_key="4711/1")
    assert structure(markdown) == structure(running(1, 2, "x", run_key="4711/1"))


# --- templates of the user --------------------------------------------------------------------------


@pytest.fixture
def written_by_a_user(tmp_path):
    """Write report templates, and get what renders them."""
    with ExitStack() as stack:

        def write(**texts):
            for name, text in texts.items():
                (tmp_path / f"{name}.md.j2").write_text(text)
            return stack.enter_context(rendered_elsewhere(tmp_path))

        yield write


@pytest.mark.slow
def test_a_user_may_replace_one_block(written_by_a_user):
    templates = written_by_a_user(
        summary='{% extends "packaged/summary.md.j2" %}{% block head %}# Mine: {{ view.title }}{% endblock %}'
    )
    report = run_report("edit passed")
    assert shown(summary, report, templates=templates).startswith("# Mine: ✅ edit passes")
    assert shown(comment, report, templates=templates).startswith(f"{marker('default')}\n# Mine: ")


@pytest.mark.slow
def test_what_a_template_repeats_is_taken_into_account(written_by_a_user):
    templates = written_by_a_user(
        summary="{% for row in view.passed.rows %}{{ row.place }}{{ row.place }}{{ row.place }}{{ row.place }}\n"
        "{% endfor %}{{ view.passed.left_out }}"
    )
    assert len(shown(comment, big_run(0, 5_000), templates=templates)) <= 65_000


@pytest.mark.parametrize(
    ("template", "message"),
    [
        pytest.param("a\n{% if %}", r"summary\.md\.j2:2: .*; correct the report template", id="no template"),
        pytest.param("a\n{{ view.titel }}", r"summary\.md\.j2:2: .*no attribute 'titel'", id="a misspelt field"),
        pytest.param("{{ view.__class__ }}", "unsafe", id="the inside of Python"),
        pytest.param('{% include "other.md.j2" %}', "other.md.j2", id="a missing file"),
        pytest.param('{% include "../secret" %}', "secret", id="a file elsewhere"),
        pytest.param("x" * 1_000_001, "more text than fits", id="too long"),
    ],
)
def test_a_template_that_does_not_work_is_the_users_error(written_by_a_user, template, message):
    with pytest.raises(ConfigError, match=message):
        shown(summary, run_report("edit passed"), templates=written_by_a_user(summary=template))


def test_an_error_names_the_template_it_is_in(written_by_a_user):
    templates = written_by_a_user(summary="{{ view.titel }}", comment='\n{% extends "summary.md.j2" %}')
    with pytest.raises(ConfigError, match=r"summary\.md\.j2:1: "):
        shown(comment, run_report("edit passed"), templates=templates)


FORGED = "<!-- skillgym-action:other -->"


@pytest.mark.parametrize(
    "template", [FORGED, "a <!--skillgym-action:default-->", "<!-- run: 1/1 -->", "<!--\nskillgym-action:x\n-->"]
)
@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("comment", lambda templates: shown(comment, run_report("edit passed"), templates=templates)),
        ("summary", lambda templates: shown(summary, run_report("edit passed"), templates=templates)),
        ("running", lambda templates: running(1, 2, "", run=None, templates=templates)),
    ],
)
def test_a_template_forges_no_marker(written_by_a_user, name, write, template):
    with pytest.raises(ConfigError, match=rf"{name}\.md\.j2: the hidden lines .*; remove them"):
        write(written_by_a_user(**{name: template}))


@pytest.mark.parametrize("removed", ["", "\x00", "\x1b[0m", "\u202a", "\U000e0041"], ids=ascii)
def test_a_marker_that_an_agent_wrote_is_text(removed):
    forged = FORGED.replace("<", f"<{removed}")  # what is not shown may stand inside
    report = run_report("fix failed")
    report = spoken_by(report, forged, f"x\n{forged}")
    assert shown(comment, report).count("<!--") == 1


def test_a_template_does_without_the_marker(written_by_a_user):
    templates = written_by_a_user(comment="{{ view.title }}")
    assert shown(comment, run_report("edit passed"), templates=templates, comment_id="x", run_key="1/2") == (
        "<!-- skillgym-action:x -->\n<!-- run: 1/2 -->\n✅ edit passes\n"
    )


def test_a_user_may_replace_the_live_comment(written_by_a_user):
    templates = written_by_a_user(
        running='{% extends "packaged/running.md.j2" %}{% block head %}# Wait: {{ view.title }}{% endblock %}'
    )
    assert running(1, 2, "$1", run=None, templates=templates) == (
        f"{marker('default')}\n# Wait: ⏳ Running: 1 of 2\n&#36;1\n"
    )


if __name__ == "__main__":
    for name, made in EVERYTHING.items():
        (GOLDENS / f"{name}.md").write_text(made(), encoding="utf-8")
    for name, text in RUNS.items():
        markdown = shown(summary, run_report(text, commit="4f2a9c1d0e"))
        (GOLDENS / f"summary-{name}.md").write_text(markdown, encoding="utf-8")
