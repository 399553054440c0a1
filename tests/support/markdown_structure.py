"""What a reader of Markdown makes of a report, and reports in which every word is somebody else's."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape

from markdown_it import MarkdownIt

from builders import run_report
from showcase import RUN
from skillgym_action.model.errors import Location, Problem
from skillgym_action.model.judgement import Outcome
from skillgym_action.model.report import Links
from skillgym_action.model.verdicts import FailureClass, Status
from skillgym_action.results.statistics.comparison import compare

MARKDOWN = MarkdownIt("commonmark").enable("table")
OURS = {"<code>", "</code>", "<br>", "<sub>", "</sub>"}
SUMMARY = re.compile(r"<summary>((?:[^<&\n]|&(?:#\d+|amp|lt|gt);|</?code>|</?b>|<br>)*)</summary>")
BLOCKS = re.compile(
    rf"(</?details>|<details open>|{SUMMARY.pattern}|<!-- skillgym-action:[\w.-]+ -->|<!-- run: \d+/\d+ -->"
    r"|<!-- skillgym-action-report: (?:[0-9a-f]{40}|unknown) -->|<!-- skillgym-action-report-end -->|\n)+"
)
REPOSITORY = "https://github.com/octo/skills"
ADDRESS = re.compile(
    rf"{REPOSITORY}/(?:(?:blob|commit)/[\w.%~-]+(?:/[\w.%~-]+)*(?:#L\d+)?|actions/runs/4711(?:#artifacts)?)"
)
INLINE = {"text", "code_inline", "html_inline", "softbreak", "strong_open", "strong_close", "link_open", "link_close"}
REFERENCES = re.compile(
    r"@[a-z0-9]|#\d|\b(?:gh|ghsa|cve)-\w|\w://|\bwww\.|[0-9a-f]{7}|[\w.+-]@[\w-]|:[a-z][\w+-]*:", re.IGNORECASE
)

EACH = "a failed\nb unexpected-passed\nc errored timeout\nd skipped\ne expected-failed\nf passed"


def shown(reporter, report, **options):
    return "".join(reporter(report, **options))


def structure(markdown):
    """What kinds of blocks there are, after checking that none of them obeys anybody."""
    tokens = MARKDOWN.parse(markdown)
    for token in tokens:
        if token.type == "html_block":
            assert BLOCKS.fullmatch(token.content), token.content
            for title in filter(lambda one: "<b>" in one, SUMMARY.findall(token.content)):  # with words of others
                words = unescape(re.sub(r"</?code>|</?b>|<br>", " ", title))
                assert not REFERENCES.search(words), title
        for child in token.children or ():
            assert child.type in INLINE, child
            assert child.type != "link_open" or ADDRESS.fullmatch(child.attrs["href"]), child
            assert child.type != "html_inline" or child.content in OURS
            assert child.type != "text" or not REFERENCES.search(child.content), child.content
    return [token.type for token in tokens]


def spoken_by(report, name, message):
    """The report with each word of a suite or an agent replaced."""
    outcome = Outcome(assertion=name, type="x", passed=False, explanation=message, evidence="x" + message)
    own_class = FailureClass(id="own", label=f"l{name}")
    suite = replace(report.suites[0], name=f"s{name}", path=f"p{name}")
    runner = replace(report.runners[0], id=f"r{name}")
    results = []
    for result in report.results:
        judgement = replace(result.judgement, outcomes=(outcome,), reason=f"m{message}", failure_class=own_class)
        if judgement.failure:
            judgement = replace(judgement, failure=replace(judgement.failure, message=f"m {message}", location=None))
        results.append(
            replace(
                result, suite=suite, runner=runner, case_id=f"c{result.index}{name}", judgement=judgement,
                model=f"m{name}", location=Location(path=f"p/{name}.x"), version=f"v{name}",
            )
        )  # fmt: skip
    warnings = (Problem(message=f"m{message}", location=Location(path=f"p/{name}.x")),)
    cases = report.results
    other = replace(suite, name="other")
    report = replace(
        report, results=tuple(results), suites=(suite, other), runners=(runner,), warnings=warnings, commit=f"c{name}",
        id=f"i{name}", links=Links(repository=REPOSITORY, commit="abc", run=RUN),
    )  # fmt: skip
    before = {"a": Status.PASSED, "d": Status.FAILED, "f": Status.FAILED}
    base = replace(
        report,
        id=f"b{name}",
        commit=f"c{name}" if len(name) % 2 else None,
        version="0.0.9",
        results=tuple(
            repeated(result, before.get(old.case_id, old.status)) for old, result in zip(cases, results, strict=True)
        ),
    )
    report = replace(report, results=tuple(repeated(result, result.status) for result in results))
    return replace(report, comparison=compare(base, report))


def repeated(result, status):
    """The result with this status, that of all of its sessions: five, so that a comparison may name it."""
    attempts = [
        replace(one, repetition=number, status=status) for one in result.attempts[-1:] for number in range(1, 6)
    ]
    return replace(result, judgement=replace(result.judgement, status=status), attempts=tuple(attempts))


def of_each(number, runners=1):
    """So many executions of every status, in the words of ``run_report``."""
    lines = EACH.splitlines()
    return "\n".join(
        line.replace(" ", f"-{copy} @runner-{copy % runners} ", 1) for copy in range(number) for line in lines
    )


def big_run(failed, passed):
    lines = [f"fails-{number} failed: it says {number} and more of that" for number in range(failed)]
    return run_report("\n".join(lines + [f"case-of-the-usual-length-{number} passed" for number in range(passed)]))
