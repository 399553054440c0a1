"""``check --nop`` and ``check --oracle`` through the console script: which cases measure nothing."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import time

import pytest

from paths import REPOSITORY
from scratch import HUNG, case, config, git_in, repository, runner, skillgym, started, suite
from waiting import until_written

SUITE = "bench/core.json"
SOLUTIONS = f"{SUITE}.oracle"
ADDS = """--- /dev/null
+++ b/out.txt
@@ -0,0 +1 @@
+done
"""
CHANGES = """diff --git a/price.js b/price.js
--- a/price.js
+++ b/price.js
@@ -1,2 +1,2 @@
 // price
-return 1
+return 2
"""
PYTHON = """\
from skillgym_action import Suite, Workspace, expect

suite = Suite("checks")
workspace = Workspace(mode="isolated")


@suite.case("idle", prompt="Go.")
def idle(report, ctx):
    assert report.final_output == ""
    assert report.usage.total_tokens == 0


@suite.case("speaks", prompt="Go.")
def speaks(report, ctx):
    expect.output.includes(report, "hello")


@suite.case("crashes", prompt="Go.")
def crashes(report, ctx):
    raise RuntimeError("no such file")


@suite.case("mistaken", prompt="Go.")
def mistaken(report, ctx):
    assert no_such_name
"""
JUDGED = """\
tests:
- id: judged
  input: Greet.
  assertions: [It greets nicely.]
- id: mixed
  input: Greet.
  assertions:
  - {type: contains, value: hello, required: true}
  - It greets nicely.
"""


def scratch(folder, *cases, **files):
    """A git repository with a suite of ``cases``, and an agent that must never be started."""
    agent = config(runner("exit 9"))
    return repository(folder, {SUITE: suite(*cases), "skillgym.config.yaml": agent} | files, git=True)


def solved(**files):
    return {f"{SOLUTIONS}/{name}": text for name, text in files.items()}


def check(folder, kind="--nop", *more, **env):
    ran = skillgym("check", kind, *more, cwd=folder, **env)
    assert "Traceback" not in ran.err
    return ran


def results(folder, name="out"):
    stored = json.loads((folder / name / "results.json").read_text())
    return {one["caseId"]: one for entry in stored["suites"] for one in entry["results"]}


# --- an agent that does nothing ---------------------------------------------------------------------


def test_cases_that_pass_without_any_work_are_named_and_red(tmp_path):
    idle = case("idle", ("no-file:gone.txt",))
    ran = check(scratch(tmp_path, case("works"), idle))
    assert (ran.code, ran.out) == (
        1,
        "nop: 2 cases: 1 correctly failed, 1 passed although the agent did nothing\n",
    )
    message = "idle passes although the agent did nothing: it measures nothing"
    assert re.fullmatch(rf"error: {SUITE}:1:[0-9]+: {message}\n", ran.err)


def test_cases_that_all_fail_are_green_and_nothing_is_left_behind(tmp_path):
    folder = scratch(tmp_path, case("works"))
    before = git_in(folder, "status", "--porcelain", "--ignored")
    ran = check(folder)
    assert (ran.code, ran.out, ran.err) == (0, "nop: 1 case: 1 correctly failed\n", "")
    assert git_in(folder, "status", "--porcelain", "--ignored") == before


def test_sessions_run_with_workspace_bootstrap_and_commands_as_in_a_run(tmp_path):
    prepared = case("prepared", ("test:cat ready.txt", "file:price.js contains 'return'"))
    files = {"price.js": "return 1\n", "skillgym.config.yaml": config(runner("exit 9"))}
    folder = repository(
        tmp_path,
        files | {SUITE: suite(prepared, workspace={"bootstrap": "echo yes > ready.txt"})},
        git=True,
    )
    assert check(folder).code == 1
    assert check(folder, "--nop", "--output", "out").code == 1
    result = results(tmp_path)["prepared"]
    assert (result["runnerId"], result["status"], result["costUsd"]) == ("nop", "passed", 0)
    assert [outcome["passed"] for outcome in result["outcomes"]] == [True, True]


def test_a_bootstrap_that_fails_is_inconclusive(tmp_path):
    broken = suite(case("works"), workspace={"bootstrap": "echo no >&2; exit 3"})
    ran = check(repository(tmp_path, {SUITE: broken}, git=True))
    assert (ran.code, "works could not be judged" in ran.err) == (3, True)


@pytest.mark.parametrize("stand_in", ["--nop", "--oracle"])
def test_filters_that_match_nothing_are_mistakes_as_without_a_stand_in(tmp_path, stand_in):
    folder = scratch(tmp_path, case("one"), case("two"), **{f"{SOLUTIONS}/one.patch": ADDS})
    for options in ([stand_in], []):
        ran = check(folder, *options, "--case", "nosuch")
        assert (ran.code, "unknown case 'nosuch'; known: one, two" in ran.err) == (2, True), ran.err
        ran = check(folder, *options, "--case", "one", "--case", "twoo")
        assert (ran.code, "warning: unknown case 'twoo'; did you mean 'two'?" in ran.err) == (0, True), ran.err


def test_expected_failures_are_left_out_and_filters_apply(tmp_path):
    folder = scratch(tmp_path, case("works"), case("later", expectedFail=True), case("idle", ("no-file:gone.txt",)))
    ran = check(folder, "--nop", "--case", "!(idle)", "--case", "works", "--case", "later")
    assert ran.code == 0
    assert "later was left out: it expects a failure" in ran.err
    assert ran.out == "nop: 2 cases: 1 correctly failed, 1 left out\n"


def test_programs_see_an_empty_report_and_their_own_errors_are_named(tmp_path):
    folder = repository(tmp_path, {SUITE: None, "checks_suite.py": PYTHON}, git=True)
    ran = check(folder)
    assert ran.code == 1
    assert "idle passes although" in ran.err
    assert "crashes: if the agent did nothing, the check raised RuntimeError: no such file" in ran.err
    assert "mistaken fails whatever the agent does: the check itself looks wrong: it raised NameError" in ran.err
    assert "speaks" not in ran.err


def test_the_judge_is_not_asked_and_what_only_it_can_decide_is_not_decided(tmp_path):
    judge = {"judge": {"api": "anthropic", "model": "claude-haiku-4-5"}}
    files = {SUITE: None, "bench/EVAL.yaml": JUDGED, "skillgym.config.yaml": config(runner("exit 9"), run=judge)}
    ran = check(repository(tmp_path, files, git=True), ANTHROPIC_API_KEY="k", ANTHROPIC_BASE_URL="http://127.0.0.1:9")
    assert (ran.code, ran.out) == (0, "nop: 2 cases: 1 correctly failed, 1 not decided\n")
    assert "judged was not decided: the judge gave no answer: the judge: check asks the judge nothing" in ran.err


def test_where_nothing_could_be_decided_the_check_is_inconclusive(tmp_path):
    files = {SUITE: None, "bench/EVAL.yaml": "tests:\n- {id: a, input: Hi., criteria: Nice.}\n"}
    assert check(repository(tmp_path, files, git=True)).code == 3


def test_a_suite_that_cannot_be_used_is_an_error(tmp_path):
    folder = scratch(tmp_path, case("works"), case("empty", ()))
    ran = check(folder)
    assert (ran.code, "error: bench/core.json" in ran.err) == (2, True)


@pytest.mark.timed
def test_a_check_that_is_cancelled_ends_soon(tmp_path):
    begun = tmp_path / "begun"
    folder = scratch(tmp_path / "r", case("slow", (f"test:echo x >{begun}; sleep 600",)))
    program = started("check", "--nop", cwd=folder)
    until_written(begun)
    began = time.monotonic()
    program.send_signal(signal.SIGTERM)
    program.communicate(timeout=HUNG)
    assert (program.returncode, time.monotonic() - began < 10) == (130, True)


def test_both_at_once_is_a_usage_error(tmp_path):
    ran = check(scratch(tmp_path), "--nop", "--oracle")
    assert (ran.code, "run check twice" in ran.err) == (2, True)


# --- the reference solution -------------------------------------------------------------------------


def test_patches_folders_and_answers_are_applied_in_place_of_an_agent(tmp_path):
    changed = ("file:price.js contains 'return 2'", "diff:price.js")
    cases = [
        case("adds"),
        case("changes", changed),
        case("copies", ("file:sub/new.txt contains 'new'", "test:sub/run")),
    ]
    files = solved(
        **{"adds.patch": ADDS, "changes.patch": CHANGES, "copies/sub/new.txt": "new\n", "copies/sub/run": "#!/bin/sh\n"}
    )
    folder = repository(tmp_path, files | {"price.js": "// price\nreturn 1\n", SUITE: suite(*cases)})
    (folder / SOLUTIONS / "copies/sub/run").chmod(0o755)
    git_in(folder, "init", "--quiet")
    ran = check(folder, "--oracle")
    assert (ran.code, ran.out, ran.err) == (0, "oracle: 3 cases: 3 passed with the reference solution\n", "")


def test_the_answer_beside_a_solution_is_the_final_output(tmp_path):
    files = {SUITE: None, "checks_suite.py": PYTHON, "checks_suite.py.oracle/speaks.md": "hello there\n"}
    folder = repository(tmp_path, files, git=True)
    ran = check(folder, "--oracle", "--case", "speaks", "--output", "out")
    assert (ran.code, results(folder)["speaks"]["finalOutput"]) == (0, "hello there")


def test_cases_that_fail_with_their_solution_and_cases_without_one_are_named(tmp_path):
    files = solved(**{"wrong.patch": ADDS.replace("out.txt", "other.txt")})
    ran = check(scratch(tmp_path, case("wrong"), case("bare"), **files), "--oracle")
    assert ran.code == 1
    assert "wrong fails with its reference solution: " in ran.err
    assert "bare was left out: it has no reference solution" in ran.err
    assert ran.out == "oracle: 2 cases: 0 passed with the reference solution, 1 failed with it, 1 left out\n"


def test_a_patch_that_does_not_fit_is_inconclusive_and_says_why(tmp_path):
    folder = scratch(tmp_path, case("stale"), **solved(**{"stale.patch": CHANGES}))
    ran = check(folder, "--oracle")
    assert ran.code == 3
    assert "the reference solution could not be applied: error: price.js: No such file or directory" in ran.err


def test_a_case_id_that_is_no_file_name_leads_to_the_name_of_its_artifacts(tmp_path):
    folder = scratch(tmp_path, case("a/b"))
    assert check(folder, "--nop", "--output", "out").code == 0
    (name,) = {path.name for path in (folder / "out" / "core").iterdir()}
    (folder / SOLUTIONS).mkdir()
    (folder / SOLUTIONS / f"{name}.patch").write_text(ADDS)
    assert check(folder, "--oracle").code == 0


def test_a_directory_of_the_user_stays_as_it_is(tmp_path):
    run = {"cwd": ".", "workspace": {"mode": "none", "cwd": "."}}
    folder = repository(
        tmp_path, {"skillgym.config.yaml": config(runner(), run=run)} | solved(**{"one.patch": ADDS}), git=True
    )
    check(folder, "--oracle")
    assert git_in(folder, "status", "--porcelain") == ""


# --- hostile solutions ------------------------------------------------------------------------------

ESCAPES = {
    "upwards": ADDS.replace("b/out.txt", "b/../escaped.txt"),
    "far upwards": ADDS.replace("b/out.txt", "b/../../../../../../../../../../tmp/skillgym-escaped.txt"),
    "absolute": ADDS.replace("b/out.txt", "b//tmp/skillgym-escaped.txt"),
    "into git": ADDS.replace("b/out.txt", "b/.git/hooks/post-checkout"),
    "through a link it makes": (
        "diff --git a/link b/link\nnew file mode 120000\n--- /dev/null\n+++ b/link\n@@ -0,0 +1 @@\n+/tmp\n"
        "\\ No newline at end of file\n"
        "diff --git a/link/skillgym-escaped.txt b/link/skillgym-escaped.txt\nnew file mode 100644\n--- /dev/null\n"
        "+++ b/link/skillgym-escaped.txt\n@@ -0,0 +1 @@\n+done\n"
    ),
}


def test_no_patch_leaves_the_workspace(tmp_path):
    """Each patch is the solution of a case of its own."""
    cases = {f"case-{number}": patch for number, patch in enumerate(ESCAPES.values())}
    patches = solved(**{f"{name}.patch": patch for name, patch in cases.items()})
    folder = scratch(tmp_path / "repository", *(case(name, ("no-file:nothing",)) for name in cases), **patches)
    ran = check(folder, "--oracle", TMPDIR=str(tmp_path))
    refused = [line for line in ran.err.splitlines() if "could not be applied" in line]
    assert (ran.code, [name for name in cases if any(name in line for line in refused)]) == (3, [*cases]), ran.err
    assert not os.path.lexists("/tmp/skillgym-escaped.txt")
    assert list(tmp_path.rglob("*escaped*")) == []


@pytest.mark.parametrize("name", ["one.patch", "one/inner", ""])
def test_no_link_is_followed(tmp_path, name):
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "out.txt").write_text("secret")
    folder = scratch(tmp_path / "repository", case("one", ("no-file:nothing",)))
    path = folder / SOLUTIONS / name if name else folder / SOLUTIONS
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(tmp_path / "secret" if name == "" else tmp_path / "secret" / "out.txt")
    if name == "":
        (tmp_path / "secret" / "one.md").write_text("secret")
    ran = check(folder, "--oracle", "--output", "out")
    assert ran.code == 3
    assert "link" in ran.err.lower() or "Too many levels" in ran.err
    assert "secret" not in (folder / "out" / "results.json").read_text().replace(str(tmp_path), "")


def test_copied_files_do_not_go_through_links_of_the_workspace(tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    linking = suite(
        case("one", ("no-file:nothing",)), workspace={"bootstrap": f"ln -s {outside} sub; ln -s {outside}/x file"}
    )
    files = solved(**{"one/sub/new.txt": "new"})
    folder = repository(tmp_path / "repository", files | {SUITE: linking}, git=True)
    assert check(folder, "--oracle").code == 3
    assert list(outside.iterdir()) == []
    (folder / SOLUTIONS / "one" / "sub" / "new.txt").unlink()
    (folder / SOLUTIONS / "one" / "file").write_text("replaces the link")
    assert check(folder, "--oracle").code == 0
    assert list(outside.iterdir()) == []


# --- in ordinary runs -------------------------------------------------------------------------------


def test_agents_do_not_see_reference_solutions(tmp_path):
    agent = runner("find . -path '*oracle*' > out.txt; ls bench >> out.txt")
    files = solved(**{"one.patch": ADDS, "one.md": "answer"})
    looked = suite(case("one", ("file:out.txt exists",)))
    folder = repository(
        tmp_path, files | {"skillgym.config.yaml": config(agent), SUITE: looked, "bench/x": ""}, git=True
    )
    assert skillgym("run", "--output", "out", cwd=folder).code == 0
    (seen,) = (folder / "out").rglob("changes/out.txt")
    assert seen.read_text() == "x\n"


def test_files_of_solutions_are_no_suites(tmp_path):
    files = solved(**{"one/bench/core.json": suite(), "one/EVAL.yaml": "tests: []"})
    listed = skillgym("list", cwd=scratch(tmp_path, **files))
    assert (listed.code, "oracle" in listed.out) == (0, False)


# --- the examples -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "shown"),
    [
        pytest.param("--nop", "nop: 3 cases: 2 correctly failed, 1 left out\n", id="nop"),
        pytest.param("--oracle", "oracle: 3 cases: 3 passed with the reference solution\n", id="oracle"),
    ],
)
def test_the_example_measures_something_and_can_be_solved(tmp_path, kind, shown):
    shutil.copytree(REPOSITORY / "examples", tmp_path / "examples")
    ran = check(tmp_path / "examples", kind, "x-bench")
    assert (ran.code, ran.out) == (0, shown)
