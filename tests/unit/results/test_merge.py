"""Several stored runs as one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from builders import run_report, runner_named, suite_at
from skillgym_action.model.errors import UsageError
from skillgym_action.model.judge_question import JudgeInfo
from skillgym_action.model.report import LimitSettings
from skillgym_action.model.session import AgentConfig
from skillgym_action.model.shard_plan import WholePlan
from skillgym_action.pipeline.stages.gate import gate
from skillgym_action.results.merge import merged
from skillgym_action.results.results_file import render
from skillgym_action.results.stored_runs import stored_reports
from skillgym_action.settings.slices import GateOptions

if TYPE_CHECKING:
    from skillgym_action.model.report import RunReport

PLAN = """
    suite bench/a.json
    one passed
    one @codex failed
    two passed
    suite bench/b.json
    three passed
    three @codex passed
"""


def files(*reports: RunReport) -> list[tuple[Path, RunReport]]:
    return [(Path(f"run-{number}/results.json"), report) for number, report in enumerate(reports, 1)]


def one_of(*reports: RunReport) -> RunReport:
    return merged(files(*reports), "merged")


def shards(text: str, parts: int) -> list[RunReport]:
    """What that many jobs make of a plan; each knows all of its suites and runners."""
    whole = run_report(text)
    return [
        replace(whole, id=f"shard-{part}", shard=f"{part}/{parts}", results=whole.results[part - 1 :: parts])
        for part in range(1, parts + 1)
    ]


def told(report: RunReport) -> list[str]:
    return [
        f"{one.suite.path} {one.case_id} {one.runner.id if one.runner else '-'} {one.status}" for one in report.results
    ]


def warned(*reports: RunReport) -> list[str]:
    return [str(problem) for problem in one_of(*reports).warnings]


# --- the parts of one plan --------------------------------------------------------------------------


@pytest.mark.parametrize("parts", [2, 3, 5, 7])
def test_shards_in_any_order_are_the_whole_plan(parts):
    whole = run_report(PLAN)
    together = one_of(*reversed(shards(PLAN, parts)))
    assert told(together) == told(whole)
    assert (together.suites, together.runners, together.totals()) == (whole.suites, whole.runners, whole.totals())
    assert (together.id, together.shard, together.incomplete, together.warnings) == ("merged", None, (), ())


@pytest.mark.parametrize(
    ("there", "parts", "missing"),
    [
        pytest.param([1, 3], 3, "shard 2/3 is missing", id="one of three"),
        pytest.param([2], 2, "shard 1/2 is missing", id="a single file"),
        pytest.param([1], 4, "shards 2/4, 3/4, 4/4 are missing", id="several"),
        pytest.param(
            [1], 999_999,
            "shards 2/999999, 3/999999, 4/999999, 5/999999, 6/999999, 7/999999, 8/999999, 9/999999 and 999,990 more"
            " are missing",
            id="as many as somebody likes to say",
        ),
    ],
)  # fmt: skip
def test_a_shard_that_is_missing_is_told_and_never_green(there, parts, missing):
    whole = run_report("one passed\ntwo passed\nthree passed")
    found = [replace(whole, shard=f"{part}/{parts}", results=whole.results[part - 1 : part]) for part in there]
    together = one_of(*found)
    assert (together.incomplete, [str(one) for one in together.warnings]) == ((missing,), [missing])
    decision = gate(together, GateOptions())
    assert (decision.verdict, decision.exit_code, decision.reasons) == ("inconclusive", 3, (missing,))


def test_each_runner_s_job_has_shards_of_its_own():
    claude, codex = (shards(f"one @{name} passed\ntwo @{name} passed", 2) for name in ("claude", "codex"))
    assert one_of(*claude, *codex).incomplete == ()
    assert one_of(*claude, codex[0]).incomplete == ("shard 2/2 of codex is missing",)


def test_what_was_missing_before_is_still_missing():
    first, _, third = shards(PLAN, 3)
    again = one_of(one_of(first, third))
    assert (again.incomplete, again.warnings) == (("shard 2/3 is missing",), one_of(first, third).warnings)


def test_red_stays_red_whatever_is_missing():
    decision = gate(one_of(shards("one failed\ntwo passed", 2)[0]), GateOptions())
    assert (decision.exit_code, decision.reasons) == (1, ("1 failed", "shard 2/2 is missing"))


def test_a_missing_shard_is_never_green_whatever_may_fail_the_run():
    merged_once = one_of(shards(PLAN, 2)[0])
    for report in (merged_once, one_of(merged_once)):
        decision = gate(report, GateOptions(fail_on=frozenset()))
        assert (decision.exit_code, decision.reasons) == (3, ("shard 2/2 is missing",))


# --- the jobs of a matrix ---------------------------------------------------------------------------


OTHER_EXECUTIONS = "other executions, or other numbers of repetitions of cases"
WHOLE = WholePlan(executions=5, digest="a" * 64, repeat=3, require="all", retry=0)


def planned(*plans: WholePlan | None) -> list[RunReport]:
    """A green shard for each plan."""
    text = "\n".join(f"case-{number} passed" for number in range(len(plans)))
    return [replace(one, whole_plan=plan) for one, plan in zip(shards(text, len(plans)), plans, strict=True)]


@pytest.mark.parametrize(
    ("plans", "missing", "sentences"),
    [
        pytest.param([WHOLE, WHOLE, WHOLE], (), (), id="one plan"),
        pytest.param([None, None, None], (), (), id="results of earlier versions"),
        pytest.param([WHOLE, None, WHOLE], (), (), id="one of an earlier version"),
        pytest.param(
            [replace(WHOLE, executions=1, digest="b" * 64), WHOLE, WHOLE],
            ("1/3",),
            ("the plan of shard 1/3 differs from that of shard 2/3: 1 execution instead of 5",),
            id="a filter",
        ),
        pytest.param(
            [WHOLE, replace(WHOLE, digest="b" * 64), replace(WHOLE, digest="b" * 64), WHOLE],
            ("2/4", "3/4"),
            ("the plan of shards 2/4, 3/4 differs from that of shard 1/4: " + OTHER_EXECUTIONS,),
            id="other cases",
        ),
        pytest.param(
            [WHOLE, replace(WHOLE, repeat=2), replace(WHOLE, require=1, retry=2)],
            ("2/3", "3/3"),
            (
                "the plan of shard 2/3 differs from that of shard 1/3: repeat 2 instead of 3",
                "the plan of shard 3/3 differs from that of shard 1/3: require 1 instead of all, retry 2 instead of 0",
            ),
            id="other options",
        ),
    ],
)
@pytest.mark.parametrize("fail_on", [GateOptions(), GateOptions(fail_on=frozenset())], ids=["default", "none"])
def test_shards_of_different_plans_are_never_green(plans, missing, sentences, fail_on):
    together = one_of(*planned(*plans))
    assert (together.missing_shards, together.incomplete) == (missing, sentences)
    assert [str(one) for one in together.warnings] == list(sentences)
    decision = gate(together, fail_on)
    assert (decision.exit_code, decision.reasons) == (3 if sentences else 0, sentences)
    assert one_of(together).incomplete == sentences


def test_shards_of_different_runners_may_have_different_plans():
    claude, codex = (shards(f"one @{name} passed\ntwo @{name} passed", 2) for name in ("claude", "codex"))
    other = replace(WHOLE, executions=2)
    parts = [replace(one, whole_plan=WHOLE) for one in claude] + [replace(one, whole_plan=other) for one in codex]
    assert one_of(*parts).incomplete == ()
    parts[3] = replace(parts[3], whole_plan=WHOLE)
    assert one_of(*parts).incomplete == (
        "the plan of shard 2/2 differs from that of shard 1/2 of codex: 5 executions instead of 2",
    )


def test_a_cancelled_shard_is_not_said_to_have_another_plan():
    first, second = planned(WHOLE, replace(WHOLE, executions=1))
    assert one_of(first, replace(second, cancelled=True)).incomplete == ()


def test_runners_of_several_jobs_stand_side_by_side():
    claude = run_report("suite b.json\none passed\ntwo failed\nsuite a.json\nthree passed")
    codex = run_report("suite b.json\none @codex passed\ntwo @codex passed\nsuite a.json\nthree @codex failed")
    assert told(one_of(claude, codex)) == [
        "b.json one claude passed",
        "b.json one codex passed",
        "b.json two claude failed",
        "b.json two codex passed",
        "a.json three claude passed",
        "a.json three codex failed",
    ]


def test_suites_of_several_jobs_are_in_the_order_they_come():
    together = one_of(run_report("suite b.json\none passed"), run_report("suite a.json\ntwo passed"))
    assert [suite.path for suite in together.suites] == ["b.json", "a.json"]


def test_one_case_on_one_runner_is_in_one_run_only():
    with pytest.raises(UsageError) as caught:
        one_of(run_report("one passed"), run_report("two passed"), run_report("one failed"))
    assert str(caught.value) == (
        "'one' of bench/core.json on claude is in run-1/results.json and in run-3/results.json;"
        " name each run once; jobs that run the same cases need runners with different ids"
    )


def test_a_case_that_no_job_could_use_is_told_once():
    def job(name: str, message: str = "no prompt") -> RunReport:
        report = run_report(f"bad errored suite-invalid: {message}\none @{name} passed")
        bad = replace(report.results[0], runner=None, attempts=(), directory=None)
        return replace(report, results=(bad, *report.results[1:]), runners=(runner_named(name),))

    assert told(one_of(job("claude"), job("codex"))) == [
        "bench/core.json bad - errored",
        "bench/core.json one claude passed",
        "bench/core.json one codex passed",
    ]
    assert len(one_of(job("claude"), job("codex", "no expectation")).results) == 4


def test_cases_with_one_id_that_one_job_could_not_use_are_all_there():
    report = run_report("bad errored suite-invalid: no prompt\none passed")
    bad = replace(report.results[0], runner=None, attempts=(), directory=None)
    first = replace(report, id="a", results=(bad, replace(bad, index=2), report.results[1]))
    second = replace(report, id="b", results=(bad,))
    assert [result.case_id for result in one_of(first, second).results] == ["bad", "one", "bad"]


def test_one_id_is_one_agent():
    other = run_report("two passed")
    runner = replace(runner_named(), agent=AgentConfig(type="codex"))
    with pytest.raises(UsageError) as caught:
        one_of(run_report("one passed"), replace(other, runners=(runner,)))
    assert str(caught.value) == (
        "runner 'claude' is claude-code in run-1/results.json and codex in run-2/results.json;"
        " give different agents different ids"
    )


# --- the run ----------------------------------------------------------------------------------------


def test_a_single_run_keeps_its_own_name_and_times():
    report = run_report(PLAN, commit="abc", command="action")
    assert one_of(report) == report


def test_the_run_lasts_from_the_first_start_to_the_last_end():
    first = run_report("one passed", started_at="2025-01-02T03:00:00Z", ended_at="2025-01-02T03:01:00Z")
    last = run_report("two passed", started_at="2025-01-02T03:00:00.500Z", ended_at="2025-01-02T03:00:30.250Z")
    together = one_of(last, first)
    assert (together.started_at, together.ended_at, together.duration_ms) == (
        "2025-01-02T03:00:00Z", "2025-01-02T03:01:00Z", 60_000,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        pytest.param({"commit": ("abc", "abc")}, "abc", id="the commit of all"),
        pytest.param({"commit": ("abc", "def")}, None, id="different commits"),
        pytest.param({"commit": ("abc", None)}, None, id="one unknown commit"),
        pytest.param({"command": ("action", "action")}, "action", id="the command of all"),
        pytest.param({"command": ("action", "run")}, "report", id="different commands"),
        pytest.param({"cancelled": (False, False)}, False, id="none cancelled"),
        pytest.param({"cancelled": (False, True)}, True, id="one cancelled"),
    ],
)
def test_what_the_runs_have_in_common(values, expected):
    ((name, (one, other)),) = values.items()
    together = one_of(run_report("one passed", **{name: one}), run_report("two passed", **{name: other}))
    assert getattr(together, name) == expected


def with_digest(text: str, digest: str | None) -> RunReport:
    suite = replace(suite_at(), digest=digest)
    report = run_report(text)
    return replace(report, suites=(suite,), results=tuple(replace(one, suite=suite) for one in report.results))


@pytest.mark.parametrize(
    ("one", "other", "warnings"),
    [
        pytest.param({}, {}, [], id="nothing"),
        pytest.param({"commit": "b"}, {"commit": "a"}, ["the runs are of different commits: a, b"], id="commits"),
        pytest.param({"commit": "b"}, {}, ["the runs are of different commits: b, none"], id="one unknown commit"),
        pytest.param(
            {"version": "1"}, {"version": "2"}, ["the runs are of different versions of skillgym-action: 1, 2"],
            id="versions",
        ),
    ],
)  # fmt: skip
def test_what_the_runs_should_have_in_common_and_have_not(one: dict[str, Any], other: dict[str, Any], warnings):
    assert warned(run_report("one passed", **one), run_report("two passed", **other)) == warnings


@pytest.mark.parametrize(
    ("one", "other", "warnings"),
    [
        pytest.param("1" * 64, "1" * 64, [], id="the same"),
        pytest.param("1" * 64, None, [], id="one is not known"),
        pytest.param("1" * 64, "2" * 64, ["the runs had different versions of bench/core.json"], id="different"),
    ],
)
def test_a_suite_that_changed_between_the_runs(one, other, warnings):
    assert warned(with_digest("one passed", one), with_digest("two passed", other)) == warnings


def test_a_warning_of_all_runs_is_told_once():
    text = "warning: odd\nwarning: strange"
    assert warned(run_report(f"one passed\n{text}"), run_report(f"two passed\n{text}")) == [
        "bench/core.json:1: odd",
        "bench/core.json:1: strange",
    ]


# --- the judge --------------------------------------------------------------------------------------

JUDGE = JudgeInfo(api="anthropic", model="m", versions=("m-1",), votes=3)


def judged(*judges: JudgeInfo | None) -> list[RunReport]:
    return [replace(shard, judge=judge) for shard, judge in zip(shards(PLAN, len(judges)), judges, strict=True)]


def test_shards_with_one_judge_have_it_with_all_its_versions():
    together = one_of(*judged(JUDGE, None, replace(JUDGE, versions=("m-2",))))
    assert (together.judge, together.warnings) == (replace(JUDGE, versions=("m-1", "m-2")), ())


@pytest.mark.parametrize(
    ("other", "name"),
    [
        pytest.param(replace(JUDGE, model="n"), "n (anthropic, 3 votes)", id="another model"),
        pytest.param(replace(JUDGE, api="openai"), "m (openai, 3 votes)", id="another service"),
        pytest.param(replace(JUDGE, votes=1), "m (anthropic, 1 vote)", id="another number of votes"),
    ],
)
def test_shards_with_different_judges_have_none_and_a_warning(other, name):
    together = one_of(*judged(JUDGE, other))
    names = sorted(["m (anthropic, 3 votes)", name])
    assert together.judge is None
    assert [str(one) for one in together.warnings] == [f"the runs are of different judges: {', '.join(names)}"]


def test_shards_with_one_limit_have_it_and_those_with_several_have_a_warning():
    usual, other = LimitSettings(default_timeout=300.0), LimitSettings(default_timeout=300.0, timeout=60.0)

    def together(*limits):
        plain = judged(*(None for _ in limits))
        return one_of(*(replace(report, limits=limit) for report, limit in zip(plain, limits, strict=True)))

    same, different = together(usual, usual), together(usual, other)
    assert (same.limits, same.warnings) == (usual, ())
    assert different.limits is None
    (warning,) = map(str, different.warnings)
    assert "different limits of sessions: 300 s; no limit of steps; failed if exceeded, 60 s; no limit" in warning


def test_a_single_run_keeps_its_judge():
    assert one_of(replace(run_report(PLAN), judge=JUDGE)).judge == JUDGE


def test_results_of_several_plans_have_indexes_of_their_own():
    runs = [
        run_report(f"suite bench/{name}.json\n{name}1 failed\n{name}2 passed", id=name, shard=None) for name in "ab"
    ]
    together = one_of(*runs)
    assert [(result.case_id, result.index) for result in together.results] == [
        ("a1", 0), ("a2", 1), ("b1", 2), ("b2", 3),
    ]  # fmt: skip
    first, _ = shards(PLAN, 2)
    assert [result.index for result in one_of(first).results] == [0, 2, 4]


def test_stored_results_with_equal_indexes_are_numbered_again(tmp_path):
    report = run_report("a failed\nb passed\nc passed")
    same = replace(report, results=tuple(replace(result, index=0) for result in report.results))
    file = tmp_path / "results.json"
    file.write_text("".join(render(same)))
    ((_, stored),) = stored_reports([str(file)], tmp_path)
    assert [(result.case_id, result.index) for result in stored.results] == [("a", 0), ("b", 1), ("c", 2)]


# --- memory -----------------------------------------------------------------------------------------


def stored_shards(folder: Path, *reports: RunReport) -> tuple[tuple[Path, RunReport], ...]:
    for report in reports:
        (folder / report.id).mkdir()
        (folder / report.id / "results.json").write_text("".join(render(report)))
    return stored_reports([report.id for report in reports], folder)


def test_shards_share_what_their_results_have_in_common(tmp_path):
    report = run_report("one passed\none @codex passed")
    whole = replace(report, results=tuple(replace(result, tags=("slow", "nightly")) for result in report.results))
    parts = stored_shards(
        tmp_path, *(replace(whole, id=f"shard-{n}", results=whole.results[n : n + 1]) for n in (0, 1))
    )
    (first, second) = (part.results[0] for _, part in parts)
    assert (first.runner.id, second.runner.id) == ("claude", "codex")
    for name in ("suite", "case_id", "prompt", "tags"):
        assert getattr(first, name) is getattr(second, name), name
    of_first, of_second = ([id(runner) for runner in part.runners] for _, part in parts)
    assert of_first == of_second
    together = merged(parts, "merged")
    assert (together.results[0], together.results[1]) == (first, second)
    assert together.results[0] is first, "no result is copied"


def test_suites_and_runners_that_differ_are_not_shared(tmp_path):
    one, other = run_report("one passed", id="a"), run_report("two passed", id="b")
    suites = tuple(replace(suite, digest="0" * 64) for suite in other.suites)
    results = tuple(replace(result, suite=suites[0]) for result in other.results)
    runner = replace(other.runners[0], agent=replace(other.runners[0].agent, model="another"))
    changed = replace(
        other, suites=suites, runners=(runner,), results=tuple(replace(result, runner=runner) for result in results)
    )
    (_, first), (_, second) = stored_shards(tmp_path, one, changed)
    assert (first.suites[0].digest, second.suites[0].digest) == (one.suites[0].digest, "0" * 64)
    assert first.runners[0].agent.model != second.runners[0].agent.model == "another"


def test_files_that_are_read_apart_share_nothing(tmp_path):
    report = run_report("one passed", id="a")
    ((_, first),) = stored_shards(tmp_path, report)
    ((_, second),) = stored_reports(["a"], tmp_path)
    assert first.results[0].prompt == second.results[0].prompt
    assert first.results[0].prompt is not second.results[0].prompt, "what was read would never be freed"
