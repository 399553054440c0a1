"""What reports say about arms that were compared: words, the table in Markdown and in the HTML report."""

from __future__ import annotations

from dataclasses import replace
from html import unescape
from typing import TYPE_CHECKING, Any

import pytest

from showcase import showcase
from skillgym_action.model.uplift import ArmAssertion, ArmCase, Spent, Uplift
from skillgym_action.reports.html.statements import arm_rows
from skillgym_action.reports.markdown.rows import RowBudget
from skillgym_action.reports.markdown.view import NO_ARMS, arms_of
from skillgym_action.reports.terminal.statements import said
from skillgym_action.reports.wording.statements import MAX_LISTING_LINES
from skillgym_action.reports.wording.uplift import arms

if TYPE_CHECKING:
    from skillgym_action.model.report import RunReport

FIVE = tuple(ArmCase(case_id=name, deciding=1.0, other=0.5) for name in "abcde")
HELD = ArmAssertion(case_id="a", assertion="It is there")


def uplift(**fields: Any) -> Uplift:
    given = {"suite_name": "s_1", "runner": "r", "arm": "with_skill", "other": "without_skill", "verdict": "helps"}
    return Uplift(suite="s.json", **(given | {"cases": FIVE, "interval": (50, 50)} | fields))


def compared(*found: Uplift) -> RunReport:
    return replace(showcase(), uplifts=found)


@pytest.mark.parametrize(
    ("fields", "sentences"),
    [
        pytest.param(
            {},
            [
                "uplift +50 points, 95% interval [+50, +50] over 5 cases: helps",
                "100% of assertions passed in with_skill, 50% in without_skill",
                "cost unknown, tokens unknown, time unknown",
            ],
            id="an interval",
        ),
        pytest.param(
            {
                "cases": FIVE[:1],
                "interval": None,
                "verdict": "too-few-cases",
                "duration_ms": Spent(deciding=9, other=6),
            },
            [
                "uplift +50 points (too few cases for an interval) over 1 case",
                "100% of assertions passed in with_skill, 50% in without_skill",
                "cost unknown, tokens unknown, time 1.5 × (9 ms against 6 ms)",
            ],
            id="no interval",
        ),
        pytest.param(
            {"cases": (), "interval": None, "verdict": "nothing-compared", "unjudged": ("a",)},
            ["uplift nothing was judged in both arms", "incomplete: 1 of 1 case could not be judged in both arms"],
            id="nothing",
        ),
        pytest.param(
            {"fixed": ("a", "b"), "newly_failing": ("c",), "in_both": (HELD,), "in_none": (HELD, HELD)},
            [
                "uplift +50 points, 95% interval [+50, +50] over 5 cases: helps",
                "100% of assertions passed in with_skill, 50% in without_skill",
                "fixed, passed in with_skill only: a; b",
                "newly failing, passed in without_skill only: c",
                "cost unknown, tokens unknown, time unknown",
                "1 assertion passes in both arms and shows nothing about the difference: a: It is there",
                "2 assertions pass in no arm and show nothing about the difference: a: It is there; a: It is there",
            ],
            id="cases and assertions",
        ),
    ],
)
def test_sentences(fields, sentences):
    title, *lines, end = said(arms(compared(uplift(**fields))))
    assert (title, end) == ("arms s_1 [r]: with_skill against without_skill\n", "\n")
    assert lines == [f"    {sentence}\n" for sentence in sentences]


def test_what_was_compared_is_explained():
    explained = arms(compared(uplift(), uplift(other="old_skill"))).explanation
    assert "with_skill has the skill as it is now, without_skill has no skill, old_skill has the skill" in explained
    assert explained.count("with_skill has") == 1
    assert "skill" not in arms(compared(uplift(arm="with", other="without"))).explanation
    assert arms(showcase()).explanation == ""


def markdown(*found: Uplift, room: int = 10_000) -> Any:
    return arms_of(compared(*found), RowBudget(room))


def plain(text: str) -> str:
    return unescape(text).replace("\N{NO-BREAK SPACE}", " ")


def test_markdown_has_a_row_for_each_comparison_and_what_tells_nothing_is_folded():
    view = markdown(uplift(in_both=(HELD,) * (MAX_LISTING_LINES + 2)), uplift(runner="other", verdict="hurts"))
    assert [plain(cell) for cell in view.table.rows[0]] == [
        "s_1", "`r`", "with_skill against without_skill", "100% against 50%", "**+50 points [+50, +50]**", "helps",
    ]  # fmt: skip
    assert [plain(row[-1]) for row in view.table.rows] == ["helps", "hurts"]
    (folded,) = view.comparisons[0].lists
    assert folded.title == "12 assertions pass in both arms and show nothing about the difference"
    assert [plain(line) for line in folded.lines] == ["a: It is there"] * MAX_LISTING_LINES + ["2 assertions left out"]


def test_names_are_escaped():
    attack = "<img src=x> @ada | `"
    found = uplift(
        suite_name=attack, arm=attack, fixed=(attack,), in_none=(ArmAssertion(case_id="a", assertion=attack),)
    )
    view = markdown(found)
    told = [*view.table.rows[0], view.explanation, view.comparisons[0].title, *view.comparisons[0].lines]
    told += view.comparisons[0].lists[0].lines
    assert [text for text in told if "<img" in text or "@ada" in text or " | " in text] == []
    (row,) = arm_rows(arms(compared(found)))
    assert [text for text in (row.suite, row.arms, *row.more, *row.lists[0][1]) if "<img" in text] == []


def test_what_does_not_fit_is_counted():
    several = [uplift(runner=f"runner-{number}") for number in range(30)]
    view = markdown(*several, room=2_000)
    assert 0 < len(view.table.rows) < 30
    assert view.table.left_out == f"{30 - len(view.table.rows)} comparisons left out"
    assert view.comparisons == ()
    assert markdown(*several, room=100) == NO_ARMS == markdown()


def test_a_row_of_the_html_report():
    report = compared(uplift(in_both=(HELD,) * (MAX_LISTING_LINES + 1)), uplift(cases=(), interval=None))
    first, second = arm_rows(arms(report))
    assert (first.shares, first.uplift, first.verdict) == ("100% against 50%", "+50 points [+50, +50]", "helps")
    assert (second.shares, second.uplift) == ("—", "—")
    ((title, lines),) = first.lists
    assert title == "11 assertions pass in both arms and show nothing about the difference"
    assert lines[-1] == "1 more assertion left out"
