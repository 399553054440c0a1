"""What reports say about the attempts of a job."""

from __future__ import annotations

import html

import pytest

from builders import run_report
from skillgym_action.model.report import AttemptShare
from skillgym_action.reports import reporter_named
from skillgym_action.reports.terminal.terminal import render as terminal
from skillgym_action.reports.wording.plan import attempt_sentences
from skillgym_action.results.merge import merged


def share(number: int, sessions: int, usd: float | None = 0.0, **more: object) -> AttemptShare:
    return AttemptShare(number=number, sessions=sessions, cost_usd=usd, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("shares", "sentences"),
    [
        pytest.param((), [], id="not in a job"),
        pytest.param((share(1, 12, 3.0),), [], id="one attempt"),
        pytest.param(
            (share(1, 12, 3.0), share(2, 3, 0.75)),
            ["sessions by attempt of the job: 12 of attempt 1 ($3.00), 3 of attempt 2 ($0.75)"],
            id="two attempts",
        ),
        pytest.param(
            (share(1, 12, None), share(2, 0)),
            ["sessions by attempt of the job: 12 of attempt 1 (cost unknown), none of attempt 2"],
            id="nothing ran in this one",
        ),
        pytest.param(
            (share(1, 1, 0.5, repeated=1, repeated_cost_usd=0.25), share(2, 1, 0.5)),
            [
                "sessions by attempt of the job: 1 of attempt 1 ($0.50), 1 of attempt 2 ($0.50)",
                "run again, and not counted in the results: 1 session of attempt 1 ($0.25)",
            ],
            id="a session ran again",
        ),
    ],
)
def test_each_attempt_has_its_sessions_and_their_cost(shares, sentences):
    assert list(attempt_sentences(run_report("a passed", attempts=shares))) == sentences


@pytest.mark.parametrize("kind", ["summary", "comment", "html"])
def test_reports_for_people_say_which_attempt_ran_what(kind):
    found = run_report("a passed", attempts=(share(1, 12, 3.0), share(2, 3, 0.75)))
    text = html.unescape("".join(reporter_named(kind)(found))).replace("\\", "")
    assert "essions by attempt of the job: 12 of attempt 1 ($3.00), 3 of attempt 2 ($0.75)" in text


def test_the_terminal_says_it_too():
    found = run_report("a passed", attempts=(share(1, 12, 3.0), share(2, 3, 0.75)))
    assert "12 of attempt 1 ($3.00), 3 of attempt 2 ($0.75)\n" in "".join(terminal(found))


def test_shards_are_put_together_by_attempt(tmp_path):
    """One shard was run again, the other one was not; of a run without attempts nothing is known."""
    again = run_report("a passed", attempts=(share(1, 1, 0.5), share(2, 1, 0.25)), shard="1/2")
    once = run_report("b passed", attempts=(share(1, 2, 1.0),), shard="2/2")
    both = merged([(tmp_path / "1", again), (tmp_path / "2", once)], "both")
    assert both.attempts == (share(1, 3, 1.5), share(2, 1, 0.25))
    unknown = merged([(tmp_path / "1", again), (tmp_path / "2", run_report("b passed", shard="2/2"))], "both")
    assert unknown.attempts == ()
