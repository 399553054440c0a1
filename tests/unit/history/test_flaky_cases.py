"""Executions of a store whose sessions differ."""

from __future__ import annotations

from skillgym_action.history.flaky_cases import execution_histories
from skillgym_action.history.reading import read_history
from skillgym_action.model.comparison import Samples
from skillgym_action.results.statistics.exact_tests import Flakiness
from stored_runs import POINT, GivenLines, line_of, run_of


def line(sessions: str, hours: float, *, group: str | None = None, **changes: str) -> bytes:
    content = line_of(run_of("a passed"), hours=hours, group=group)
    content = content.replace(b'"sessions":"p"', f'"sessions":"{sessions}"'.encode())
    for name, value in changes.items():
        content = content.replace(f'"{name}":"'.encode(), f'"{name}":"{value}'.encode())
    return content


def histories(*lines: bytes):
    return list(execution_histories(read_history(GivenLines(*lines), POINT)))


def test_the_sessions_of_runs_with_equal_keys_are_counted_with_their_days():
    (found,) = histories(line("ppf", 1), line("pfp", 26), line("ppp", 50))
    assert (found.name.case, found.samples, found.runs) == ("a", Samples(passed=7, judged=9), 3)
    assert (found.first, found.last, found.verdict) == ("2026-01-08", "2026-01-10", Flakiness.FLAKY)


def test_runs_of_another_key_than_the_newest_do_not_count():
    other = line("fff", 3).replace(b'"workspace":"0', b'"workspace":"1')
    (found,) = histories(line("ppp", 1), line("ppp", 2), other)
    assert (found.samples, found.verdict) == (Samples(passed=6, judged=6), Flakiness.STEADY)


def test_parts_of_a_run_in_several_jobs_are_one_run():
    (found,) = histories(line("pf", 1, group="7/bench"), line("pf", 2, group="7/bench"), line("pf", 3))
    assert (found.runs, found.verdict) == (2, Flakiness.FEW)


def test_cases_that_are_expected_to_fail_are_left_out():
    expected = line("pfp", 1).replace(b'"sessions"', b'"expectedFail":true,"sessions"')
    assert histories(expected, line("pfp", 2)) == []
    (found,) = histories(line("pfp", 1), line("ppf", 2).replace(b'"sessions"', b'"expectedFail":true,"sessions"'))
    assert found.runs == 1
