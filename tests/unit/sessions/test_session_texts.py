"""What assertions see of texts with secrets: they decide on the texts as they are, and write nothing of the secrets."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import pytest
import regex

from agentv_context import call, session
from scratch import repository, world_in, written
from skillgym_action.judging.assertions.files import FileContains, FileMatches
from skillgym_action.judging.assertions.graders import ScoredAssertion
from skillgym_action.model.judgement import Outcome
from skillgym_action.model.suite import WorkspaceSpec
from skillgym_action.sessions.session_texts import NOT_SHOWN, Reports, SessionTexts
from skillgym_action.suites.agentv.action_graders import Trajectory
from skillgym_action.suites.agentv.answer_graders import Compares, Contains, IsJson, Matches
from skillgym_action.suites.plugin_evals.graders import RegexGrader, Target
from skillgym_action.suites.skill_evals.assertions import TextFound
from skillgym_action.text.javascript.regex import SearchBudget
from skillgym_action.text.redaction import Redactor
from table_rows import each_row
from ways_of_writing import encoded, lines

KEY = "Vq7xE4rT1yU8iO0pAs2dF5gH6jK9lX3cVbNmQwErTyUiOpAsDfGhJkLzXcVbNm1q2w3e4r5t"
FOLDED = lines(encoded(KEY), 10)
FIRST = FOLDED.splitlines()[1]
SAYS = Outcome(assertion="it", type="x", passed=True, explanation="yes")


@dataclass
class Context:
    """The part of an assertion's context that needs no program."""

    texts: SessionTexts
    budget: SearchBudget = field(default_factory=SearchBudget)

    @property
    def report(self) -> Any:
        return self.texts.report

    @property
    def files(self) -> Any:
        return self.texts.files

    def search(self, pattern: Any, text: str, *, at_start: bool = False, start: int = 0) -> Any:
        return self.budget.search(pattern, text, at_start=at_start, start=start)

    def outcome(self, assertion: Any) -> Outcome:
        (outcome,) = self.texts.decided(lambda: assertion.judge(self))
        return outcome


@pytest.fixture(scope="module")
def context(tmp_path_factory):
    """A session that printed a folded key, wrote it to files, and gave it to a tool."""
    folder = tmp_path_factory.mktemp("texts")
    redactor = Redactor([KEY])
    text = f"It is\n{FOLDED}\nthat is all\n"
    raw = session(text, call("Bash", {"command": f"echo '{FOLDED}'", "then": ["x"]}, FOLDED))
    with world_in(repository(folder / "repo")) as services:
        workspace = services.workspaces.create(
            WorkspaceSpec(source="template", template=written(folder / "t", {"had.txt": "as it was\n"}))
        )
        workspace.record_state()
        written(workspace.path, {"leak.txt": text, "had.txt": f"as it was\n{text}", "clean.txt": "nothing\n"})
        texts = SessionTexts(redactor, workspace)
        texts.reports = Reports(redactor.redacted(raw), raw)
        yield Context(texts)


def scored(grader: Any) -> ScoredAssertion:
    return ScoredAssertion(name="it", type="grader", grader=grader)


def contains(path: str, text: str) -> FileContains:
    return FileContains(name="it", path=path, text=text)


@dataclass
class Found:
    """A check of an eval of a skill as an assertion."""

    check: TextFound

    def judge(self, context: Any) -> tuple[Outcome, ...]:
        found = self.check.find(context)
        return (replace(SAYS, passed=found.holds, explanation=found.explanation, evidence=found.evidence),)


FILE = Target(source="file", path="leak.txt")
FAIL = {
    "a text in a new file": contains("leak.txt", "nothing\nof it"),
    "a text in a changed file": contains("had.txt", "nothing"),
    "a pattern in a file": FileMatches(name="it", path="leak.txt", pattern=regex.compile("nothing .* of it")),
    "a text in an answer": scored(Contains(texts=("nothing of it",))),
    "an answer": scored(Compares(comparison="equals", text="It is\nsomething\n")),
    "the end of an answer": scored(Compares(comparison="ends-with", text="x")),
    "a pattern in an answer": scored(Matches(written="//", pattern=regex.compile("nothing"))),
    "JSON": scored(IsJson()),
    "calls of tools": scored(Trajectory(mode="any_order", minimums=(("Read", 1),))),
    "a plugin's pattern": scored(RegexGrader(pattern=regex.compile("nothing"))),
    "a plugin's pattern in a file": scored(RegexGrader(pattern=regex.compile("(?s)I.*all"), target=FILE, wanted=False)),
    "an assertion of an eval": Found(TextFound(wanted=("nothing",), path="leak.txt")),
}  # fmt: skip


def test_what_fails_shows_no_line_of_a_folded_key(context):
    @each_row(FAIL.items())
    def shown(assertion):
        outcome = context.outcome(assertion)
        assert outcome.passed is False
        text = f"{outcome.explanation}\n{outcome.evidence}"
        assert not any(line in text for line in FOLDED.splitlines()), text
        assert "***" in text or outcome.explanation == NOT_SHOWN or "JSON" in text, text

    shown()


def test_lines_keep_their_numbers(context):
    pattern = Matches(written="//", pattern=regex.compile("that is all"), negated=True)
    assert context.outcome(scored(pattern)).evidence == f"  {FOLDED.count(chr(10)) + 3} | that is all"


DECIDED = {
    "a text": (contains("leak.txt", FIRST), True),
    "a pattern": (FileMatches(name="it", path="leak.txt", pattern=regex.compile(FIRST[:5])), True),
    "no text": (replace(scored(Contains(texts=(FIRST,), negated=True)), negate=True), False),
    "the mask": (contains("leak.txt", "***"), False),
}  # fmt: skip


def test_the_texts_as_they_are_decide(context):
    @each_row(DECIDED.items())
    def decides(row):
        assertion, passed = row
        outcome = context.outcome(assertion)
        assert (outcome.passed, outcome.explanation, outcome.evidence) == (passed, NOT_SHOWN, None)

    decides()


def test_what_reads_no_secret_is_evaluated_once(context):
    evaluated = []

    def judge() -> tuple[Outcome, ...]:
        evaluated.append(context.files.text("clean.txt", 100))
        return (SAYS,)

    assert context.texts.decided(judge)[0].explanation == "yes"
    assert evaluated == ["nothing\n"]


def test_other_texts_are_without_secrets(context):
    assert FIRST not in context.files.text("leak.txt", 1_000) + context.report.final_output + str(context.report.events)


def test_outcomes_that_are_more_without_the_secret_are_not_shown(context):
    def judge() -> tuple[Outcome, ...]:
        outcome = replace(SAYS, passed=False, explanation=context.report.final_output)
        return (outcome,) if FIRST in context.report.final_output else (outcome, replace(outcome, passed=True))

    assert [one.explanation for one in context.texts.decided(judge)] == [NOT_SHOWN]
