"""``mode: report`` compares the suites that judged with the checkout's: who changes a suite, changes the judge."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from action_step import pull_request
from builders import run_report
from github_server import GitHubServer
from github_state import PullRequest
from on_github import NUMBER, REPOSITORY, SHA
from scratch import case, committed, config, runner, skillgym, suite, written
from skillgym_action.pipeline.checks import marked
from skillgym_action.pipeline.stages.gate import gate
from skillgym_action.settings.slices import GateOptions
from two_phases import AFTER_AN_OWN_RUN, Phases

if TYPE_CHECKING:
    from collections.abc import Iterator

HEADING = "### 🔀 Suites that this commit changes: not judged by the suites of the base"
STRICT = {"bench/core.json": suite(case("one", ["test:exit 1"]))}
WEAK = {"bench/core.json": suite(case("one", ["test:exit 0"]))}
MORE = {"bench/more.json": suite(case("two"))}
AGENTV = {
    "skillgym.config.yaml": config(runner()),
    "bench/core.json": None,
    "bench/eval.yaml": "name: eval\ntests: ./cases\nworkspace:\n  template: start\n",
    "bench/start/README.md": "x",
    "bench/cases/one/case.yaml": "input: Do it\nassert:\n  - {type: contains, value: done}\n",
    "bench/cases/one/note.txt": "x",
}
PROGRAM = (
    "from pathlib import Path\n"
    "from skillgym_action import Suite\n"
    "Path({log!r}).touch()\n"
    "suite = Suite()\n"
    "@suite.case('one', prompt='x')\n"
    "def one(report, ctx): pass{end}\n"
)
TYPESCRIPT = "// skillgym\nexport default [{ id: 'a', prompt: 'x', assert() {} }];\n"


@pytest.fixture
def github() -> Iterator[GitHubServer]:
    with GitHubServer(repository=REPOSITORY) as server:
        server.add_pull(PullRequest(number=NUMBER, head_sha=SHA, head_branch="topic"))
        yield server


# --- the attack -------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_suite_that_the_pull_request_weakened_is_not_green(tmp_path, github):
    phases = Phases(tmp_path, STRICT, WEAK)
    assert phases.code == 0
    found = phases.report(github)
    assert (found.code, found.outputs["verdict"], found.outputs["exit-code"]) == (3, "inconclusive", "3"), found.said
    reason = "1 suite changed by this commit, not judged by the base's: bench/core.json (differs from the base's)"
    assert phases.reasons == [reason]
    assert reason in found.said
    (comment,) = github.comments(NUMBER)
    for text in (comment.body, found.summary):
        head, _, apart = text.partition(HEADING)
        assert "⚠️ Not " in head
        assert reason in head
        assert "**`bench/core.json`** differs from the base's\n\n- ✅ `one` · `sh` · passed\n" in apart
        assert "1 passed</summary>" not in text, "which is where results that count are listed"
    assert github.statuses(SHA)[0].state == "error"


@pytest.mark.slow
def test_the_bases_suite_on_the_same_head_is_red(tmp_path, github):
    """What the pull request above was hiding."""
    phases = Phases(tmp_path, STRICT, {"other.txt": "x"})
    assert (phases.code, phases.report(github).code) == (1, 1)


@pytest.mark.slow
def test_the_same_suite_decides(tmp_path, github):
    phases = Phases(tmp_path, {}, {"README.md": "changed"})
    found = phases.report(github)
    assert (found.code, found.outputs["verdict"]) == (0, "passed"), found.said
    assert HEADING not in github.comments(NUMBER)[0].body


@pytest.mark.slow
def test_changed_suites_decide_where_that_is_allowed_and_are_listed_apart_all_the_same(tmp_path, github):
    phases = Phases(tmp_path, STRICT, WEAK)
    found = phases.report(github, allow_changed_suites="true")
    assert (found.code, found.outputs["verdict"]) == (0, "passed"), found.said
    assert HEADING in github.comments(NUMBER)[0].body


@pytest.mark.slow
def test_no_list_of_what_turns_it_red_makes_it_green(tmp_path):
    assert Phases(tmp_path, STRICT, WEAK).report(fail_on="none").code == 3


# --- what counts as changed -------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("base", "head", "changed"),
    [
        pytest.param({}, MORE, {"bench/more.json": "added"}, id="a suite that the base does not have"),
        pytest.param(AGENTV, {"README.md": "x"}, {}, id="AgentV: nothing"),
        pytest.param(
            AGENTV, {"bench/cases/one/case.yaml": "input: Do it\nassert:\n  - {type: contains, value: o}\n"},
            {"bench/eval.yaml": "differs"}, id="AgentV: a case in a file of its own",
        ),
        pytest.param(
            AGENTV, {"bench/cases/one/note.txt": "y"}, {"bench/eval.yaml": "differs"}, id="AgentV: a file of a case",
        ),
        pytest.param(
            AGENTV, {"bench/cases/two/case.yaml": "input: x\nassert: done\n"}, {"bench/eval.yaml": "differs"},
            id="AgentV: one more case",
        ),
    ],
)  # fmt: skip
def test_what_is_changed_is_told_by_digest(tmp_path, base, head, changed):
    phases = Phases(tmp_path, base, head)
    phases.report()
    told = json.loads((phases.base / "out/results.json").read_text())["suites"]
    assert {one["path"]: one["changed"] for one in told if "changed" in one} == changed


@pytest.mark.slow
def test_a_suite_without_a_digest_is_changed(tmp_path):
    phases = Phases(tmp_path, {}, {})
    results = phases.results
    del results["suites"][0]["digest"]
    phases.rewrite(results)
    assert phases.report().code == 3
    assert "bench/core.json (differs from the base's)" in phases.reasons[0]


@pytest.mark.slow
@pytest.mark.parametrize(("end", "code"), [("", 0), ("  # changed", 3)])
def test_programs_are_compared_and_not_executed(tmp_path, end, code):
    log = str(tmp_path / "executed")
    program = {"bench/own_suite.py": PROGRAM.format(log=log, end="")}
    phases = Phases(tmp_path, program, {"bench/own_suite.py": PROGRAM.format(log=log, end=end)})
    (tmp_path / "executed").unlink()
    assert phases.report().code == code
    assert not (tmp_path / "executed").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "own_suite.py",
            PROGRAM.format(log="/dev/null", end="") + "arms = {'with': {'files': 'with'}, 'without': {}}\n",
        ),
        ("own.suite.ts", TYPESCRIPT + "export const arms = { with: { files: './with' }, without: {} };\n"),
    ],
)
def test_a_program_whose_arms_name_files_has_not_changed(tmp_path, name, text):
    phases = Phases(tmp_path, {f"bench/{name}": text, "bench/with/NOTES.md": "x"}, {})
    assert f"bench/{name}" in {row["path"] for row in phases.results["suites"]}
    assert f"bench/{name}" not in phases.report().said


@pytest.mark.slow
def test_a_suite_in_the_artifact_is_not_one_of_the_base(tmp_path):
    """The artifact lies in the checkout, where suites are looked for."""
    phases = Phases(tmp_path, {}, {"run2/own.bench.json": suite(case("two"))})
    written(phases.base, {"run2/own.bench.json": suite(case("two"))})
    assert phases.report().code == 3
    assert "run2/own.bench.json (is not in the base)" in phases.reasons[0]


@pytest.mark.slow
def test_of_two_shards_the_one_with_another_version_counts(tmp_path):
    two = suite(case("one"), case("two"))
    first = Phases(tmp_path / "1", {"bench/core.json": two}, {}, "--shard", "1/2")
    weak = suite(case("one"), case("two", ["test:exit 0"]))
    second = Phases(tmp_path / "2", {"bench/core.json": two}, {"bench/core.json": weak}, "--shard", "2/2")
    shutil.copytree(second.base / "run", first.base / "second")
    for named in ("run\nsecond", "second\nrun"):
        found = first.report(results=named)
        assert found.code == 3, found.said
        assert "bench/core.json (differs from the base's)" in first.reasons[0]


# --- what is missing ----------------------------------------------------------------------------------

TAGGED = {"bench/core.json": suite(case("one", tags=["fast"]), case("two"))}
TWO_RUNNERS = {"skillgym.config.yaml": config(a=runner(), b=runner())}
FAST = {"skillgym.config.yaml": config(runner(), run={"tags": ["fast"]})}
OWN = AFTER_AN_OWN_RUN
RUN_OF_THE_COMMIT = ("pull_request", pull_request())
LACKING: dict[str, tuple[dict[str, Any], dict[str, Any], tuple[str, ...], dict[str, str], Any, list[str]]] = {
    "a suite": (MORE, {}, ("bench/core.json",), {}, OWN, ["suites: bench/more.json"]),
    "a suite that the commit removes": (MORE, {"bench/more.json": None}, (), {}, OWN, ["suites: bench/more.json"]),
    "a suite that is not of the plan": (MORE, {}, ("bench/core.json",), {"suites": "bench/core.json"}, OWN, []),
    "one that is excluded": (MORE, {}, ("bench/core.json",), {"exclude": "bench/more.json"}, OWN, []),
    "a suite, in the workflow of the run": (MORE, {}, ("bench/core.json",), {}, RUN_OF_THE_COMMIT, []),
    "one that is named there": (
        MORE, {}, ("bench/core.json",), {"suites": "bench"}, RUN_OF_THE_COMMIT, ["suites: bench/more.json"],
    ),
    "a case without the tag of the commit": (TAGGED, FAST, (), {}, OWN, ["cases: two of bench/core.json on sh"]),
    "a case without the tag of both": (TAGGED, {}, ("--tag", "fast"), {"tags": "fast"}, OWN, []),
    "a case": (TAGGED, {}, ("--case", "two"), {}, OWN, ["cases: one of bench/core.json on sh"]),
    "a case that is not of the plan": (TAGGED, {}, ("--case", "two"), {"cases": "two"}, OWN, []),
    "a runner that the commit removes": (
        TWO_RUNNERS, {"skillgym.config.yaml": config(a=runner())}, (), {}, OWN, ["runners: b"],
    ),
    "a runner that is not of the plan": (TWO_RUNNERS, {}, ("--runner", "a"), {"runners": "a"}, OWN, []),
    "a suite program's runner": (
        TWO_RUNNERS | {"bench/core.json": None, "bench/own_suite.py": PROGRAM.format(log="/dev/null", end="")},
        {}, ("--runner", "a"), {}, OWN, ["runners: b"],
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("row", LACKING.values(), ids=LACKING)
def test_what_the_results_lack_of_the_bases_plan_is_named_and_not_green(tmp_path, row):
    base, head, args, inputs, event, missing = row
    phases = Phases(tmp_path, base, head, *args)
    for fail_on in ("failed", "none"):
        found = phases.report(event=event, fail_on=fail_on, **inputs)
        assert found.code == (3 if missing else 0), found.said
        assert phases.reasons == [f"the results lack {what.replace(':', ' of the base commit:')}" for what in missing]
    assert ("runners here as in the workflow that runs them" in found.said) == bool(missing)


@pytest.mark.slow
def test_what_no_change_touches_may_be_missing(tmp_path):
    """A run of ``--changed-only``, as its results say how many executions it left out."""
    phases = Phases(tmp_path, TAGGED, {}, "--case", "two")
    results = phases.results
    for left_out, code in ((1, 0), (0, 3)):
        selection = {"selected": 1, "total": 1 + left_out, "leftOut": left_out, "reason": "no input has changed"}
        results["run"]["selection"] = selection
        phases.rewrite(results)
        found = phases.report()
        assert found.code == code, found.said


@pytest.mark.slow
def test_all_may_be_missing_if_no_change_touches_anything(tmp_path):
    phases = Phases(tmp_path, TAGGED, {}, "--changed-only", "--base", "HEAD")
    found = phases.report()
    assert (found.code, found.outputs["executions"]) == (0, "0"), found.said
    assert "the changes affect no case" in phases.reasons[0]


# --- what decides beside them -----------------------------------------------------------------------


def decided_on(text: str, changed: str, **options: Any) -> tuple[str, int]:
    """Verdict and exit code for a report in which a suite is not the base's."""
    report = run_report(text)
    digest = "0" * 64
    suites = {one.path: replace(one, digest=digest) for one in report.suites}
    results = tuple(replace(one, suite=suites[one.suite.path]) for one in report.results)
    report = replace(report, suites=tuple(suites.values()), results=results)
    base: dict[str, str | None] = {path: digest for path in suites if path != changed}
    decision = gate(marked(report, base), GateOptions(**options))
    return decision.verdict, decision.exit_code


@pytest.mark.parametrize(
    ("same", "changed", "options", "decided"),
    [
        pytest.param("passed", "failed", {}, ("inconclusive", 3), id="red in the changed one does not count"),
        pytest.param("failed", "passed", {}, ("failed", 1), id="red in the other one does"),
        pytest.param("passed", "errored timeout", {}, ("inconclusive", 3), id="nor what could not be judged"),
        pytest.param("passed", "failed", {"min_pass_rate": 0.9}, ("inconclusive", 3), id="nor a rate"),
        pytest.param("passed", "failed !github:x", {"fail_on": frozenset({"leaks"})}, ("failed", 1), id="but a leak"),
        pytest.param("passed", "failed", {"allow_changed_suites": True}, ("failed", 1), id="allowed: it counts"),
        pytest.param("passed", "passed", {"allow_changed_suites": True}, ("passed", 0), id="allowed: green"),
        pytest.param("passed", "passed", {"fail_on": frozenset()}, ("inconclusive", 3), id="fail-on: none"),
    ],
)
def test_what_decides_beside_changed_suites(same, changed, options, decided):
    text = f"suite same.json\na {same}\nsuite changed.json\nb {changed}"
    assert decided_on(text, "changed.json", **options) == decided


# --- without a checkout -----------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("event", "compared"),
    [pytest.param(OWN, False, id="of another run"), pytest.param(RUN_OF_THE_COMMIT, True, id="of this run")],
)
def test_without_a_checkout_there_is_nothing_to_compare_with(tmp_path, event, compared):
    phases = Phases(tmp_path, {}, {})
    shutil.rmtree(phases.base / ".git")
    found = phases.report(event=event)
    assert (found.code, "warning the suites were compared with nothing; check out the base" in found.said) == (
        0, not compared,
    ), found.said  # fmt: skip


# --- on the command line ----------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("args", "code"),
    [
        pytest.param([], 0, id="nothing is compared"),
        pytest.param(["--compare-suites"], 3, id="unless that is asked for"),
        pytest.param(["--compare-suites", "--allow-changed-suites"], 0, id="and need not decide"),
        pytest.param(["--compare-suites", "--suites", "nope"], 2, id="a suite that is not there"),
    ],
)
def test_the_command_line_compares_where_that_is_asked_for(tmp_path, args, code):
    phases = Phases(tmp_path, STRICT, WEAK)
    ran = skillgym("report", "run", *args, cwd=phases.base)
    assert ran.code == code, ran.err


@pytest.mark.slow
def test_suites_that_are_named_must_be_there(tmp_path):
    phases = Phases(tmp_path, MORE, {}, "bench/core.json")
    assert skillgym("report", "run", "--compare-suites", cwd=phases.base).code == 0
    ran = skillgym("report", "run", "--compare-suites", "--suites", "bench", cwd=phases.base)
    assert (ran.code, "lack suites of the base commit: bench/more.json" in ran.err) == (3, True)


def test_without_a_checkout_the_command_line_compares_nothing(tmp_path):
    phases = Phases(tmp_path, MORE, {}, "bench/core.json")
    shutil.rmtree(phases.base / ".git")
    ran = skillgym("report", "run", "--compare-suites", cwd=phases.base)
    assert (ran.code, "there is no git checkout here" in ran.err) == (2, True), ran.err


def test_suites_are_not_named_in_vain(tmp_path):
    phases = Phases(tmp_path, MORE, {}, "bench/core.json")
    ran = skillgym("report", "run", "--suites", "bench", cwd=phases.base)
    assert (ran.code, "--suites without --compare-suites" in ran.err) == (2, True), ran.err


@pytest.mark.slow
def test_a_report_of_that_report_is_not_green_either(tmp_path):
    phases = Phases(tmp_path, STRICT, WEAK)
    phases.report()
    assert skillgym("report", "out", cwd=phases.base).code == 3
    assert skillgym("report", "out", "--compare-suites", cwd=phases.base).code == 3
    written(phases.base, WEAK)
    committed(phases.base)
    assert skillgym("report", "out", "--compare-suites", cwd=phases.base).code == 0
