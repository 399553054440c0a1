"""Settings: validated whatever way they come; and which of option, configuration and default wins."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from scratch import case, repository, skillgym, suite
from skillgym_action.model.errors import UsageError
from skillgym_action.settings import resolve
from skillgym_action.settings.configuration import ConfigFile
from skillgym_action.settings.configuration_file import Config
from skillgym_action.settings.context import current_context
from skillgym_action.settings.option_types import FAIL_ON
from skillgym_action.settings.settings import ExecuteOptions, Settings, validated_settings
from skillgym_action.settings.slices import GateOptions, Options, PlanOptions

if TYPE_CHECKING:
    from pathlib import Path


def given(**values: Any) -> Settings:
    return validated_settings(values, lambda name: "--" + name.replace("_", "-"))


def problems(**values: Any) -> list[str]:
    with pytest.raises(UsageError) as caught:
        given(**values)
    return str(caught.value).splitlines()


def resolved(folder: Path, run: dict[str, Any] | None = None, runners: int = 1, **values: Any) -> Options:
    file = ConfigFile.model_validate({"run": run or {}})
    return resolve.options(
        given(**values), Config(file=file, folder=folder), current_context(folder, {}), runners=runners
    )


# --- what is understood -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "name", "value"),
    [
        pytest.param({"tag": ("a,b", "c")}, "tag", ("a", "b", "c"), id="repeated and with commas"),
        pytest.param({"tag": "a,\n b ,\n\n"}, "tag", ("a", "b"), id="one text of many lines"),
        pytest.param({"paths": "a b\nc\n"}, "paths", ("a b", "c"), id="paths keep their blanks"),
        pytest.param({"jobs": "4"}, "jobs", 4, id="a whole number"),
        pytest.param({"timeout": "0.5"}, "timeout", 0.5, id="seconds"),
        pytest.param({"shard": "2/4"}, "shard", (2, 4), id="a shard"),
        pytest.param({"fail_on": "failed, errored"}, "fail_on", ("failed", "errored"), id="words"),
        pytest.param({"format": ("Python,evals",)}, "format", ("python", "skill-evals"), id="other words for formats"),
        pytest.param({"fail_on": "none"}, "fail_on", ("none",), id="the gate turned off"),
        pytest.param(
            {"report": ("junit=a=b.xml",)}, "report", (("junit", "a=b.xml"),), id="a path with an equals sign"
        ),
        pytest.param({"report": "junit=a\nx-bench=b"}, "report", (("junit", "a"), ("x-bench", "b")), id="two reports"),
        pytest.param({"jobs": None, "tag": (), "model": ""}, "jobs", None, id="empty is not given"),
    ],
)
def test_what_is_given_is_understood(values, name, value):
    assert getattr(given(**values), name) == value


@pytest.mark.parametrize("word", FAIL_ON)
def test_every_word_of_the_gate_is_accepted(word):
    assert given(fail_on=word).fail_on == (word,)


# --- what is refused --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "told"),
    [
        pytest.param({"fail_on": "faild"}, "--fail-on: unknown word 'faild'; did you mean 'failed'?", id="gate"),
        pytest.param(
            {"schedule": "paralel"}, "--schedule: unknown word 'paralel'; did you mean 'parallel'?", id="schedule"
        ),
        pytest.param({"format": ("xbench",)}, "--format: unknown word 'xbench'; did you mean 'x-bench'?", id="format"),
        pytest.param(
            {"report": ("junti=x",)}, "--report: unknown report kind 'junti'; did you mean 'junit'?", id="report kind"
        ),
        pytest.param(
            {"report": ("junit",)},
            "--report: 'junit' is not KIND=PATH, such as html=report.html",
            id="report without a path",
        ),
        pytest.param(
            {"report": ("junit=",)},
            "--report: 'junit=' is not KIND=PATH, such as html=report.html",
            id="report with an empty path",
        ),
        pytest.param(
            {"fail_on": "none,failed"}, "--fail-on: 'none' cannot be combined with other values", id="none and more"
        ),
        pytest.param(
            {"reporter": "./mine.js"},
            "--reporter: reporter modules are not supported; use standard, json, json-summary, html or github-actions, "
            "and --report for other reports",
            id="a reporter module",
        ),
        pytest.param({"max_parallel": "0"}, "--max-parallel: must be greater than 0, not 0", id="nothing in parallel"),
        pytest.param({"jobs": "0"}, "--jobs: must be greater than 0, not 0", id="no jobs"),
        pytest.param({"jobs": "many"}, "--jobs: 'many' is not a whole number", id="no number"),
        pytest.param({"maxfail": "1.5"}, "--maxfail: '1.5' is not a whole number", id="a fraction"),
        pytest.param(
            {"max_cost": "5USD"}, "--max-cost: '5USD' is not a number; write 5", id="an amount with its currency"
        ),
        pytest.param(
            {"min_pass_rate": "90%"}, "--min-pass-rate: '90%' is not a number; write 0.9", id="a percent sign"
        ),
        pytest.param(
            {"min_uplift": "5%"}, "--min-uplift: '5%' is not a number; write 5", id="a percent sign for points"
        ),
        pytest.param({"timeout": "inf"}, "--timeout: must be a finite number", id="infinite time"),
        pytest.param({"max_cost": "nan"}, "--max-cost: must be a finite number", id="not a number"),
        pytest.param({"max_cost": "-1"}, "--max-cost: must be greater than 0, not -1", id="negative money"),
        pytest.param({"retry": "-1"}, "--retry: must be greater than or equal to 0, not -1", id="negative retries"),
        pytest.param(
            {"min_pass_rate": "80"}, "--min-pass-rate: must be from 0 to 1, not 80; write 0.8 for 80%", id="percent"
        ),
        pytest.param({"shard": "0/2"}, "--shard: '0/2' is not I/N with 1 <= I <= N, such as 2/4", id="shard 0"),
        pytest.param({"shard": "3/2"}, "--shard: '3/2' is not I/N with 1 <= I <= N, such as 2/4", id="shard too high"),
        pytest.param({"shard": "2"}, "--shard: '2' is not I/N with 1 <= I <= N, such as 2/4", id="half a shard"),
    ],
)
def test_what_makes_no_sense_is_refused(values, told):
    assert problems(**values) == [told]


def test_all_mistakes_are_reported_at_once():
    assert len(problems(jobs="x", fail_on="x", shard="x")) == 3


# --- precedence -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "run", "expected"),
    [
        pytest.param({}, {}, ExecuteOptions(), id="defaults"),
        pytest.param(
            {},
            {"repeat": 2, "repeatFailure": 3, "maxSteps": 4, "maxCost": 5},
            ExecuteOptions(repeat=2, retry=3, max_steps=4, max_cost=5.0),
            id="the configuration wins over defaults",
        ),
        pytest.param({"retry_failed": 2}, {"repeatFailure": 3}, ExecuteOptions(retry=2), id="its older option"),
        pytest.param({"retry": 0, "retry_failed": 2}, {}, ExecuteOptions(retry=0), id="which the newer wins over"),
        pytest.param({}, {"retryFailed": 3}, ExecuteOptions(retry=3), id="the older name of repeatFailure"),
        pytest.param(
            {}, {"repeatFailure": 0, "retryFailed": 3}, ExecuteOptions(retry=0), id="which repeatFailure wins over"
        ),
        pytest.param(
            {"repeat": 6, "retry": 0, "max_steps": 7, "max_cost": 8},
            {"repeat": 2, "repeatFailure": 3, "maxSteps": 4, "maxCost": 5},
            ExecuteOptions(repeat=6, retry=0, max_steps=7, max_cost=8.0),
            id="the option wins over the configuration, even when it is 0",
        ),
    ],
)
def test_how_executions_run(tmp_path, options, run, expected):
    assert resolved(tmp_path, run, **options).execute == expected


@pytest.mark.parametrize(
    ("options", "run", "runners", "schedule", "jobs"),
    [
        pytest.param({}, {}, 3, "serial", 1, id="one after the other"),
        pytest.param({"jobs": 4}, {}, 1, "parallel", 4, id="several jobs mean parallel"),
        pytest.param({"jobs": 4, "schedule": "serial"}, {}, 1, "serial", 1, id="serial is always one at a time"),
        pytest.param({}, {"schedule": "parallel", "maxParallel": 5}, 1, "parallel", 5, id="as the configuration says"),
        pytest.param({"jobs": 2}, {"schedule": "parallel", "maxParallel": 5}, 1, "parallel", 2, id="the option wins"),
        pytest.param({"schedule": "isolated-by-runner"}, {}, 3, "isolated-by-runner", 3, id="a group for each runner"),
        pytest.param({"schedule": "isolated-by-runner"}, {}, 0, "isolated-by-runner", 1, id="at least one group"),
        pytest.param({"max_parallel": 3, "schedule": "parallel"}, {}, 1, "parallel", 3, id="no more than so many"),
        pytest.param(
            {"max_parallel": 3}, {"schedule": "parallel", "maxParallel": 5}, 1, "parallel", 3, id="by the option"
        ),
        pytest.param({"max_parallel": 3}, {}, 1, "serial", 1, id="a limit of parallel sessions makes none parallel"),
        pytest.param(
            {"schedule": "isolated-by-runner"},
            {"maxParallel": 2},
            3,
            "isolated-by-runner",
            2,
            id="limited groups",
        ),
        pytest.param(
            {"schedule": "isolated-by-runner", "max_parallel": 8},
            {},
            3,
            "isolated-by-runner",
            3,
            id="groups are enough",
        ),
    ],
)
def test_the_schedule_and_how_many_at_once(tmp_path, options, run, runners, schedule, jobs):
    execute = resolved(tmp_path, run, runners, **options).execute
    assert (execute.schedule, execute.jobs) == (schedule, jobs)


@pytest.mark.parametrize(
    ("options", "run", "expected"),
    [
        pytest.param({}, {}, GateOptions(is_default=True), id="defaults"),
        pytest.param(
            {},
            {"failOn": ["errored"], "minPassRate": 0.5},
            GateOptions(fail_on=frozenset({"errored"}), min_pass_rate=0.5),
            id="the configuration",
        ),
        pytest.param(
            {"fail_on": "failed", "min_pass_rate": 0},
            {"failOn": ["errored"], "minPassRate": 0.5},
            GateOptions(fail_on=frozenset({"failed"}), min_pass_rate=0.0),
            id="the option wins, even when it is 0",
        ),
        pytest.param({"fail_on": "none"}, {"failOn": ["errored"]}, GateOptions(fail_on=frozenset()), id="none"),
        pytest.param(
            {"fail_on": ","}, {}, GateOptions(is_default=True), id="no word, as two empty variables of a workflow give"
        ),
        pytest.param(
            {"fail_on": " "}, {"failOn": ["errored"]}, GateOptions(fail_on=frozenset({"errored"})), id="a blank"
        ),
    ],
)
def test_the_gate(tmp_path, options, run, expected):
    assert resolved(tmp_path, run, **options).gate == expected


@pytest.mark.parametrize(
    ("options", "run", "expected"),
    [
        pytest.param({}, {"tags": ["a"]}, PlanOptions(tags=("a",)), id="the configuration"),
        pytest.param({"tag": "b", "case": "c"}, {"tags": ["a"]}, PlanOptions(tags=("b",), cases=("c",)), id="options"),
    ],
)
def test_the_filters(tmp_path, options, run, expected):
    assert replace(resolved(tmp_path, run, **options).plan, limits=expected.limits) == expected


@pytest.mark.parametrize(("options", "complete"), [({}, False), ({"tag": "a"}, True)])
def test_stored_results_need_all_suites_if_options_select_them(tmp_path, options, complete):
    suites = resolved(tmp_path, {"tags": ["a"]}, compare_suites=True, **options).report.suites
    assert suites is not None
    assert suites.complete is complete


@pytest.mark.parametrize(
    ("args", "environment", "timeout"),
    [
        pytest.param(["--timeout", "1"], {"SKILLGYM_TIMEOUT": "2"}, 1, id="the option wins"),
        pytest.param([], {"SKILLGYM_TIMEOUT": "2"}, 2, id="then the environment"),
        pytest.param([], {}, 30, id="then the suite"),
    ],
)
def test_an_option_wins_over_the_environment(tmp_path, args, environment, timeout):
    repository(tmp_path, {"bench/core.json": suite(case(timeout=30))})
    ran = skillgym("run", "--dry-run", *args, cwd=tmp_path, **environment)
    assert ran.out.splitlines()[0] == f"bench/core.json one [sh] {timeout} s, $5.00"


# --- durations, and reports on standard output --------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 90),
        ("1.5", 1.5),
        ("90s", 90),
        ("5m", 300),
        ("5min", 300),
        ("1h30m", 5400),
        ("1h 30m 5s", 5405),
        ("1.5h", 5400),
        ("500ms", 0.5),
        ("2m500ms", 120.5),
    ],
)
def test_a_duration_is_a_number_of_seconds_or_has_units(text, seconds):
    assert validated_settings({"timeout": text}, str).timeout == seconds


@pytest.mark.parametrize("text", ["5x", "m", "1m1h", "1h30", "-5m", "5 minutes", "1" + " " * 20_000 + "x"])
def test_what_is_no_duration_is_refused(text):
    told = problems(timeout=text)
    assert told[0].endswith("is neither a number of seconds nor a duration such as 90s, 5m or 1h30m") or "…" in told[0]


@pytest.mark.parametrize("text", ["0", "0s", "-1"])
def test_a_duration_is_positive(text):
    assert problems(timeout=text) != []


def test_standard_output_takes_one_report():
    assert validated_settings({"report": ("results=-", "junit=a.xml")}, str).report == (
        ("results", "-"),
        ("junit", "a.xml"),
    )
    told = problems(report=("results=-", "junit=-"))
    assert told == ["--report: standard output takes one report, not results, junit"]


# --- skillgym's own options -------------------------------------------------------------------------


def test_the_directory_of_cwd_is_relative_to_the_working_directory(tmp_path):
    (tmp_path / "desk").mkdir()
    load = resolved(tmp_path, {"cwd": "elsewhere"}, cwd="desk").load
    assert (load.cwd, load.cwd_option) == (tmp_path / "desk", "desk")
    assert (load.workspace.mode, load.workspace.source) == ("none", "empty")


def test_a_directory_that_a_link_leads_out_to_is_refused(tmp_path):
    repository(tmp_path / "repository", {})
    (tmp_path / "outside").mkdir()
    (tmp_path / "repository" / "desk").symlink_to(tmp_path / "outside")
    with pytest.raises(UsageError) as caught:
        resolved(tmp_path / "repository", cwd="desk")
    assert str(caught.value).startswith("--cwd desk: ")
    assert "link" in str(caught.value)


def test_a_directory_that_is_not_there_is_told(tmp_path):
    with pytest.raises(UsageError) as caught:
        resolved(tmp_path, cwd="desk")
    assert str(caught.value) == "--cwd desk: there is no such directory; create it, or check --cwd"


def test_snapshots_that_nothing_is_compared_with_are_told(tmp_path):
    with pytest.raises(UsageError) as caught:
        resolved(tmp_path, snapshots="mine.json")
    assert str(caught.value) == "--snapshots without snapshots in the configuration; configure snapshots"


def test_run_directories_are_made_in_the_output_dir(tmp_path):
    context = current_context(tmp_path, {})
    config = Config(file=ConfigFile.model_validate({"run": {"outputDir": "by-configuration"}}), folder=tmp_path)
    assert resolve.run_directory(given(), config, context).parent == tmp_path / "by-configuration"
    assert resolve.run_directory(given(output_dir="by-option"), config, context).parent == tmp_path / "by-option"
    with pytest.raises(UsageError) as caught:
        resolve.run_directory(given(output_dir="by-option", output="out"), config, context)
    assert "--output and --output-dir: the one names the run directory" in str(caught.value)
