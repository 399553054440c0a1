"""Runs with ``--repeat auto``: which sessions are held, what they find, and with which exit code."""

from __future__ import annotations

import json
import shutil

import pytest

from scratch import PASSING, case, committed, config, git_in, repository, runner, skillgym, suite, written
from scripted_sides import Sides

AUTO = ("--repeat", "auto")
TEN = "abcdefghij"
HALF = "abcde"


def said(side: str, cases: str, outcomes: str) -> dict[str, str]:
    return {f"{side}_{name}": outcomes for name in cases}


WORSE = said("head", "abcdef", "01010101")
NOTHING = said("head", HALF, "0") | said("base", HALF, "0")
BAD_DAY = said("head", HALF, "0010110") | said("base", HALF, "0101101")


def counts(sides: Sides, side: str) -> list[int]:
    return [number for name, number in sides.held().items() if name.startswith(side)]


@pytest.mark.parametrize(
    ("outcomes", "check", "sessions", "code"),
    [
        pytest.param({}, "cleared", (10, 0, 0), 0, id="nothing changed"),
        pytest.param({"head_a": "0"}, "confirmed", (20, 5, 5), 1, id="one case is broken"),
        pytest.param({"head_a": "01"}, "cleared", (20, 0, 0), 0, id="one session failed"),
        pytest.param(WORSE, "confirmed", (20, 40, 40), 1, id="all are worse"),
        pytest.param(NOTHING, "not-confirmed", (20, 15, 15), 0, id="nothing passes today"),
        pytest.param(BAD_DAY, "not-confirmed", (20, 15, 15), 0, id="a bad day"),
    ],
)
def test_what_a_run_finds(tmp_path, outcomes, check, sessions, code):
    sides = Sides.of(tmp_path, TEN)
    stored = sides.stored()
    sides.say(**outcomes)
    ran = sides.run(*AUTO, "--baseline", stored)
    found = sides.adaptive()
    assert (found["mode"], found["check"]) == ("screen", check), ran.err
    assert tuple(found["sessions"][name] for name in ("screen", "control", "head")) == sessions
    assert ran.code == code, ran.err
    assert (sum(counts(sides, "head")), sum(counts(sides, "base"))) == (sessions[0] + sessions[2], sessions[1])
    assert sides.results()["run"]["comparison"]["verdict"] == ("regression" if code else "no-regression-shown")


def test_numbers_are_those_of_the_first_round(tmp_path):
    sides = Sides.of(tmp_path, TEN)
    stored = sides.stored()
    sides.say(head_a="1000000", head_b="0")
    ran = sides.run(*AUTO, "--baseline", stored)
    results = sides.results()
    (of_suite,) = results["suites"]
    rows = {row["caseId"]: row for row in of_suite["results"]}
    assert (ran.code, results["totals"]["passRate"]) == (1, 0.9), ran.err
    assert (rows["a"]["status"], rows["b"]["status"]) == ("passed", "failed")
    assert [one["phase"] for one in rows["b"]["attempts"]] == ["screen"] * 2 + ["side-by-side"] * 5
    others = [(row["caseId"], row["arm"], len(row["attempts"])) for row in of_suite["otherArms"]]
    assert others == [("b", "base", 5)]
    assert [one["caseId"] for one in results["run"]["adaptive"]["named"]] == ["b"]
    assert "Confirmed side by side: b passed 5 of 5 at " in ran.err
    assert "uplifts" not in results["run"]


@pytest.mark.parametrize("jobs", ["1", "4"])
def test_without_a_store_the_base_runs_beside_the_head_from_the_start(tmp_path, jobs):
    sides = Sides.of(tmp_path, "abcd")
    sides.say(head_a="0")
    ran = sides.run(*AUTO, "--confirm", "always", "--jobs", jobs)
    found = sides.adaptive()
    assert (ran.code, found["mode"], found["check"]) == (1, "side-by-side", "confirmed"), ran.err
    assert [(look["phase"], look["round"]) for look in found["looks"]] == [
        ("suite", 1), ("suite", 2), ("suite", 4), ("cases", 5)
    ]  # fmt: skip
    assert sides.held() == {f"{side} {name}": 9 if name == "a" else 4 for side in ("base", "head") for name in "abcd"}
    sides.forget()
    sides.say(head_a="1")
    ran = sides.run(*AUTO, "--confirm", "always", "--jobs", jobs, output="runs/same")
    assert (ran.code, sides.adaptive("runs/same")["check"]) == (0, "cleared"), ran.err
    assert set(sides.held().values()) == {1}


def test_turns_are_taken(tmp_path):
    sides = Sides.of(tmp_path, "a")
    sides.say(head_a="0")
    assert sides.run(*AUTO, "--baseline", "base").code == 1
    order = [line.split()[0] for line in (sides.log / "sessions").read_text().splitlines()]
    assert order[:8] == ["base", "head", "head", "base", "base", "head", "head", "base"]


def test_a_fixed_number_of_sessions_beside_the_base(tmp_path):
    sides = Sides.of(tmp_path, "abcd")
    sides.say(head_a="0")
    ran = sides.run("--repeat", "5", "--baseline", "base", "--fail-on", "regression")
    comparison = sides.results()["run"]["comparison"]
    assert (ran.code, comparison["newlyFailing"], set(sides.held().values())) == (1, 1, {5}), ran.err
    assert comparison["baseCommit"] == git_in(sides.root, "rev-parse", "main").strip()
    assert "adaptive" not in sides.results()["run"]


def test_where_nothing_differs_no_session_is_spent(tmp_path):
    sides = Sides.of(tmp_path, "abc")
    stored = sides.stored()
    git_in(sides.root, "reset", "--quiet", "--hard", "main")
    sides.say(base_a="0")
    ran = sides.run(*AUTO, "--baseline", stored)
    found = sides.adaptive()
    assert (ran.code, found["check"], found["sessions"]["control"]) == (0, "not-confirmed", 0), ran.err
    assert "nothing that agents see differs from the base commit" in ran.err
    sides.forget()
    ran = sides.run(*AUTO, "--baseline", "base", output="runs/again")
    assert (ran.code, sides.adaptive("runs/again")["check"]) == (0, "cleared"), ran.err
    assert sides.held() == {"base a": 1, "base b": 1, "base c": 1}


def test_only_the_deciding_arm_is_compared(tmp_path):
    sides = Sides.of(tmp_path, "ab")
    stored = sides.stored()
    git_in(sides.root, "checkout", "--quiet", "main")
    told = json.loads((sides.root / "skillgym.config.yaml").read_text())
    arms = {"one": {"env": {"A": "1"}}, "two": {"env": {"A": "2"}}}
    written(sides.root, {"skillgym.config.yaml": json.dumps(told | {"arms": arms})})
    committed(sides.root)
    git_in(sides.root, *("-c", "user.name=t", "-c", "user.email=t@example.com"), "rebase", "--quiet", "main", "topic")
    ran = sides.run(*AUTO, "--baseline", stored, "--confirm", "always")
    run = sides.results()["run"]
    assert (ran.code, run["adaptive"]["check"], run["adaptive"]["sessions"]["screen"]) == (0, "cleared", 4), ran.err
    assert sides.held() == {"head a": 4, "head b": 4}
    assert len(run["uplifts"]) == 1


# --- without a control --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "why"),
    [
        pytest.param(["--confirm", "never"], "`confirm: never`", id="not wanted"),
        pytest.param([], "the base commit is not in the clone (`fetch-depth: 0`)", id="not in the clone"),
    ],
)
def test_a_base_that_cannot_be_had(tmp_path, args, why):
    sides = Sides.of(tmp_path, TEN)
    stored = sides.stored()
    results = sides.results("runs/stored")
    results["run"]["commit"] = "0" * 40 if not args else results["run"]["commit"]
    (sides.root / stored / "results.json").write_text(json.dumps(results))
    sides.say(head_a="0")
    ran = sides.run(*AUTO, "--baseline", stored, *args)
    found = sides.adaptive()
    assert (ran.code, found["mode"], found["check"], found["why"]) == (1, "stored", "not-checked", why), ran.err
    assert f"not checked side by side: {why}; a bad day of the service looks the same" in ran.err
    if not args:
        refused = sides.run(*AUTO, "--baseline", stored, "--confirm", "always", output="runs/always")
        assert (refused.code, f"--confirm always: {why}" in refused.err) == (2, True), refused.err


def test_with_nothing_to_compare_with_a_failed_session_is_red(tmp_path):
    repository(tmp_path, {"skillgym.config.yaml": config(runner("true"))})
    ran = skillgym("run", "--output", "out", *AUTO, cwd=tmp_path)
    assert (ran.code, "repeat: auto: nothing was compared" in ran.err) == (1, True), ran.err
    written(tmp_path, {"skillgym.config.yaml": config(runner(PASSING))})
    assert skillgym("run", "--output", "out2", *AUTO, cwd=tmp_path).code == 0


def test_an_agent_in_an_existing_folder_has_no_control(tmp_path):
    sides = Sides.of(tmp_path, "ab")
    file = sides.root / "skillgym.config.yaml"
    told = json.loads(file.read_text()) | {"run": {"workspace": {"mode": "none"}}}
    written(sides.root, {"skillgym.config.yaml": json.dumps(told)})
    ran = sides.run(*AUTO, "--confirm", "always")
    assert (ran.code, "agents work in an existing folder" in ran.err) == (2, True), ran.err


def test_runs_that_write_to_the_store_have_a_fixed_number_of_sessions(tmp_path):
    sides = Sides.of(tmp_path, "ab")
    git_in(sides.root, "checkout", "--quiet", "main")
    for number in (5, 5, 5, 5, 2):
        sides.forget()
        ran = sides.run(*AUTO, "--store", "path=stored", "--store-write", "--baseline", "auto", output=None)
        assert (ran.code, set(sides.held().values())) == (0, {number}), ran.err
    git_in(sides.root, "checkout", "--quiet", "topic")
    sides.forget()
    ran = sides.run(*AUTO, "--store", "path=stored", "--baseline", "auto", "--confirm", "always")
    assert (ran.code, sides.adaptive()["mode"], set(sides.held().values())) == (0, "screen", {1}), ran.err


# --- money, resuming ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("budget", "left"),
    [
        pytest.param("5.1", "$0.10 is left", id="too little for a look"),
        pytest.param("2.6", "$0.00 is left", id="spent in the second round"),
    ],
)
def test_a_budget_that_ends_before_the_decision(tmp_path, budget, left):
    sides = Sides.of(tmp_path, TEN)
    stored = sides.stored()
    sides.say(head_a="0")
    ran = sides.run(*AUTO, "--baseline", stored, "--max-cost", budget)
    found = sides.adaptive()
    why = f"the check side by side needs about $2.50, and {left}"
    assert (ran.code, found["check"], found["why"]) == (3, "undecided", why), ran.err
    assert counts(sides, "base") == []
    assert sides.results()["run"]["comparison"]["verdict"] == "inconclusive"


def test_a_run_that_was_killed_decides_as_if_it_was_not(tmp_path):
    """Killed after any number of sessions, it holds those that were not held."""
    sides = Sides.of(tmp_path, "abcd")
    stored = sides.stored()
    sides.say(head_a="0")
    assert sides.run(*AUTO, "--baseline", stored).code == 1
    whole, total = sides.adaptive(), sum(sides.held().values())
    directory = sides.root / "runs/out"
    lines = (directory / "journal.jsonl").read_text().splitlines(keepends=True)
    ended = [number for number, line in enumerate(lines) if '"event":"session"' in line or '"result"' in line]
    assert len(ended) == total
    for finished in (1, 4, 7, 8, 11, 15, total - 1):
        shutil.copytree(directory, sides.root / "runs/again")
        again = sides.root / "runs/again"
        (again / "results.json").unlink()
        (again / "journal.jsonl").write_text("".join(lines[: ended[finished - 1] + 1]))
        sides.forget()
        ran = skillgym("run", "--resume", "runs/again", *AUTO, "--baseline", stored, cwd=sides.root)
        assert (ran.code, sides.adaptive("runs/again")) == (1, whole), ran.err
        assert sum(sides.held().values()) == total - finished
        shutil.rmtree(again)


def test_a_run_is_resumed_beside_the_same_commit(tmp_path):
    sides = Sides.of(tmp_path, "ab")
    assert sides.run(*AUTO, "--baseline", "base").code == 0
    ran = skillgym("run", "--resume", "runs/out", *AUTO, "--confirm", "always", cwd=sides.root)
    assert (ran.code, "started with confirm not set and is resumed with always" in ran.err) == (2, True), ran.err
    git_in(sides.root, "checkout", "--quiet", "main")
    written(sides.root, {"other.txt": "x"})
    committed(sides.root)
    git_in(sides.root, "checkout", "--quiet", "topic")
    git_in(sides.root, "-c", "user.name=t", "-c", "user.email=t@e", "rebase", "--quiet", "main")
    ran = skillgym("run", "--resume", "runs/out", *AUTO, "--baseline", "base", cwd=sides.root)
    assert (ran.code, "started with base-commit " in ran.err) == (2, True), ran.err


def test_stored_results_keep_what_was_decided(tmp_path):
    sides = Sides.of(tmp_path, TEN)
    stored = sides.stored()
    sides.say(head_a="0")
    assert sides.run(*AUTO, "--baseline", stored).code == 1
    whole = sides.results()["run"]
    for command in ("report", "rejudge"):
        ran = skillgym(command, "runs/out", "--output", f"runs/{command}", "--baseline", stored, cwd=sides.root)
        again = sides.results(f"runs/{command}")["run"]
        assert (ran.code, again["adaptive"]) == (1, whole["adaptive"]), ran.err
        assert again["comparison"]["reason"] == whole["comparison"]["reason"]


def test_sessions_that_are_judged_otherwise_decide_nothing(tmp_path):
    sides = Sides.of(tmp_path, TEN)
    stored = sides.stored()
    sides.say(head_a="0")
    assert sides.run(*AUTO, "--baseline", stored).code == 1
    file = sides.root / "bench/core.json"
    file.write_text(file.read_text().replace("file:out.txt exists", "file:side.txt exists"))
    ran = skillgym("rejudge", "runs/out", "--output", "runs/again", "--baseline", stored, cwd=sides.root)
    found = sides.adaptive("runs/again")
    assert (ran.code, found["check"]) == (3, "undecided"), ran.err
    assert "its sessions are judged otherwise than when the run decided" in ran.err


# --- what is not compared, and other baselines ---------------------------------------------------------


def test_a_failure_of_a_redefined_case_fails_the_run(tmp_path):
    sides = Sides.of(tmp_path, TEN)
    stored = sides.stored()
    cases = (case(name, prompt=f"{'Another' if name == 'j' else 'Prompt'} {name}") for name in TEN)
    written(sides.root, {"bench/core.json": suite(*cases)})
    sides.say(head_a="01", head_j="0")
    ran = sides.run(*AUTO, "--baseline", stored)
    found = sides.adaptive()
    assert (ran.code, found["mode"], found["check"]) == (1, "screen", "cleared"), ran.err
    assert sides.results()["run"]["decision"]["reasons"] == ["1 failed"]


def test_what_fails_at_the_base_stops_no_session_of_the_head_whose_failure_counts(tmp_path):
    sides = Sides.of(tmp_path, "ab")
    sides.say(base_b="x", head_b="0")
    ran = sides.run(*AUTO, "--baseline", "base")
    assert (ran.code, sides.held()["head b"]) == (1, 1), ran.err
    assert sides.results()["run"]["decision"]["reasons"][0] == "1 failed"


def test_against_another_baseline_the_decision_does_not_count(tmp_path):
    sides = Sides.of(tmp_path, TEN)
    good = sides.stored()
    sides.say(**said("base", TEN, "0") | said("head", TEN, "0"))
    assert sides.run(*AUTO, "--baseline", "base", "--fail-on", "regression").code == 0
    for command in (("compare", good, "runs/out"), ("report", "runs/out", "--baseline", good)):
        ran = skillgym(*command, "--output", "runs/other", "--fail-on", "regression", cwd=sides.root)
        assert ran.code == 1, (command, ran.err)


def test_a_report_of_several_runs_keeps_the_worst_check(tmp_path):
    sides = Sides.of(tmp_path, TEN)
    stored = sides.stored()
    sides.say(head_a="0")
    assert sides.run(*AUTO, "--baseline", stored, "--case", "a").code == 1
    assert sides.run(*AUTO, "--baseline", stored, "--case", "b", output="runs/b").code == 3
    for args in ((), ("--baseline", stored)):
        ran = skillgym("report", "runs/b", "runs/out", "--output", "runs/all", *args, cwd=sides.root)
        assert (ran.code, sides.adaptive("runs/all")["check"]) == (1, "confirmed"), ran.err
        shutil.rmtree(sides.root / "runs/all")


def test_a_view_has_the_title_of_the_run(tmp_path):
    sides = Sides.of(tmp_path, TEN)
    sides.say(**BAD_DAY | said("head", "fg", "0"))
    ran = sides.run(*AUTO, "--baseline", "base")
    page = sides.root / "runs/out/report.html"
    before = page.read_text().partition("<title>")[2].partition("</title>")[0]
    page.unlink()
    assert skillgym("view", "runs/out", "--no-open", cwd=sides.root).code == 0, ran.err
    assert page.read_text().partition("<title>")[2].partition("</title>")[0] == before


# --- what the control is made of ----------------------------------------------------------------------


def test_the_control_has_the_runners_of_the_base(tmp_path):
    sides = Sides.of(tmp_path, "ab")
    file = sides.root / "skillgym.config.yaml"
    told = json.loads(file.read_text())
    told["runners"]["sh"]["agent"] |= {"command": "true", "model": "other"}
    written(sides.root, {"skillgym.config.yaml": json.dumps(told)})
    ran = sides.run(*AUTO, "--baseline", "base")
    assert (ran.code, sides.adaptive()["check"]) == (1, "side-by-side"), ran.err
    assert {name.split()[0] for name in sides.held()} == {"base"}
    assert "model of sh" in " ".join(sides.results()["run"]["comparison"]["differences"])


@pytest.mark.parametrize(
    ("files", "why"),
    [
        pytest.param({"one/deps/d": "x", ".gitignore": "deps\nruns\n"}, "one/deps is not in git", id="ignored"),
        pytest.param({".gitattributes": "*.txt filter=x"}, "one/side.txt is not in git", id="filtered"),
    ],
)
def test_files_that_are_not_in_git_as_agents_get_them_leave_no_control(tmp_path, files, why):
    sides = Sides.of(tmp_path, "a")
    of_template = suite(case("a", prompt="Prompt a"), workspace={"templateDir": "../one"})
    git_in(sides.root, "checkout", "--quiet", "-B", "main")
    written(sides.root, {"one/side.txt": "base", "bench/core.json": of_template, **files})
    committed(sides.root)
    git_in(sides.root, "checkout", "--quiet", "-B", "topic")
    written(sides.root, {"one/side.txt": "head"})
    ran = sides.run(*AUTO, "--baseline", "base")
    assert (ran.code, f"--baseline base: {why} as agents get it" in ran.err) == (2, True), ran.err
    sides.say(head_a="0")
    ran = sides.run(*AUTO, output="runs/auto")
    assert (ran.code, sides.held()) == (1, {"head a": 1}), ran.err


def test_a_configuration_of_the_base_that_is_not_valid_leaves_no_control(tmp_path):
    sides = Sides.of(tmp_path, "a")
    file = sides.root / "skillgym.config.yaml"
    told = json.loads(file.read_text())
    git_in(sides.root, "checkout", "--quiet", "-B", "main")
    told["runners"]["sh"]["agent"]["env"]["OLD"] = "${OLD_KEY}"
    written(sides.root, {"skillgym.config.yaml": json.dumps(told)})
    committed(sides.root)
    git_in(sides.root, "checkout", "--quiet", "-B", "topic")
    told["runners"]["sh"]["agent"]["env"].pop("OLD")
    written(sides.root, {"skillgym.config.yaml": json.dumps(told)})
    ran = sides.run(*AUTO, "--baseline", "base")
    assert (ran.code, "skillgym.config.yaml of the base commit cannot be used" in ran.err) == (2, True), ran.err


def test_any_visible_file_makes_a_difference(tmp_path):
    sides = Sides.of(tmp_path, "a")
    git_in(sides.root, "checkout", "--quiet", "-B", "main")
    of_template = suite(case("a", prompt="Prompt a"), workspace={"templateDir": "../one"})
    written(sides.root, {"one/side.txt": "base", "bench/core.json": of_template, "agent/helper.sh": "true"})
    committed(sides.root)
    git_in(sides.root, "checkout", "--quiet", "-B", "topic")
    written(sides.root, {"agent/helper.sh": "false"})
    ran = sides.run(*AUTO, "--baseline", "base")
    assert (ran.code, sides.held()) == (0, {"base a": 2}), ran.err


def test_a_runner_that_the_base_lacks_is_not_compared(tmp_path):
    sides = Sides.of(tmp_path, "a")
    file = sides.root / "skillgym.config.yaml"
    written(sides.root, {"skillgym.config.yaml": file.read_text().replace('"sh":', '"other":')})
    sides.say(head_a="0")
    ran = sides.run(*AUTO, "--baseline", "base")
    assert (ran.code, sides.held()) == (1, {"head a": 1}), ran.err
    assert "a [other]: the base commit lacks its runner" in ran.err


def test_templates_and_skills_are_those_of_the_base_and_what_it_lacks_is_not_compared(tmp_path):
    sides = Sides.of(tmp_path, "a")
    git_in(sides.root, "checkout", "--quiet", "main")
    of_template = suite(case("a", prompt="Prompt a"), workspace={"templateDir": "../one"})
    files = {"one/side.txt": "base", "bench/core.json": of_template}
    written(sides.root, files)
    committed(sides.root)
    git_in(sides.root, "checkout", "--quiet", "-B", "topic")
    other = suite(case("b", prompt="Prompt b"), workspace={"templateDir": "../two"})
    files = {"one/side.txt": "head", "two/side.txt": "head", "bench/other.json": other.replace("core", "other")}
    written(sides.root, files)
    committed(sides.root)
    ran = sides.run(*AUTO, "--baseline", "base")
    assert (ran.code, sides.held()) == (0, {"base a": 1, "head a": 1, "head b": 1}), ran.err
    assert "b [sh]: the base commit lacks its runner, template, skill or files, so it is not compared" in ran.err


def test_a_run_is_not_compared_with_itself_if_the_base_lacks_all_of_it(tmp_path):
    sides = Sides.of(tmp_path, "a")
    git_in(sides.root, "checkout", "--quiet", "-B", "topic")
    of_template = suite(case("a", prompt="Prompt a"), workspace={"templateDir": "../one"})
    written(sides.root, {"one/side.txt": "head", "bench/core.json": of_template})
    committed(sides.root)
    sides.say(head_a="0")
    lacking = "a [sh]: the base commit lacks its runner, template, skill or files, so it is not compared"
    ran = sides.run("--repeat", "3", "--baseline", "base", "--fail-on", "regression")
    assert (ran.code, sides.held()) == (2, {}), ran.err
    assert f"--baseline base: {lacking}" in ran.err
    ran = sides.run(*AUTO, "--baseline", "base", output="runs/auto")
    assert (ran.code, sides.held()) == (1, {"head a": 1}), ran.err
    assert lacking in ran.err


# --- what is refused ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "message"),
    [
        pytest.param([*AUTO, "--shard", "1/2"], "--repeat auto with --shard", id="shard"),
        pytest.param([*AUTO, "--maxfail", "1"], "--repeat auto with --maxfail", id="maxfail"),
        pytest.param([*AUTO, "--require", "any"], "--repeat auto with --require", id="require"),
        pytest.param([*AUTO, "--fail-on", "failed"], "--repeat auto without regression in fail-on", id="no gate"),
        pytest.param(["--confirm", "never"], "--confirm without --repeat auto", id="confirm alone"),
        pytest.param(["--stop-early"], "unknown option '--stop-early'; use repeat: auto", id="stop-early"),
        pytest.param(["--stop", "futility"], "unknown option '--stop'; use repeat: auto", id="stop"),
    ],
)
def test_what_cannot_be_decided_is_refused_before_a_session(tmp_path, args, message):
    repository(tmp_path, {"skillgym.config.yaml": config(runner(f"touch {tmp_path}/started; {PASSING}"))}, git=True)
    ran = skillgym("run", *args, cwd=tmp_path)
    assert (ran.code, message in ran.err, (tmp_path / "started").exists()) == (2, True, False), ran.err


@pytest.mark.parametrize("key", ["stop", "stopEarly"])
def test_keys_that_were_replaced_name_what_replaces_them(tmp_path, key):
    repository(tmp_path, {"skillgym.config.yaml": config(runner(), run={key: True})})
    ran = skillgym("run", cwd=tmp_path)
    assert (ran.code, f"run.{key}: does not exist; use repeat: auto" in ran.err) == (2, True), ran.err


def test_an_arm_of_the_user_has_another_name(tmp_path):
    arms = {"plain": {}, "base": {"env": {"X": "1"}}}
    text = json.dumps(json.loads(config(runner())) | {"arms": arms})
    repository(tmp_path, {"skillgym.config.yaml": text}, git=True)
    ran = skillgym("run", *AUTO, cwd=tmp_path)
    assert (ran.code, "an arm is called base" in ran.err) == (2, True), ran.err


def test_a_number_on_the_command_line_needs_no_confirm_of_the_configuration(tmp_path):
    sides = Sides.of(tmp_path, "a", run={"repeat": "auto", "confirm": "always"})
    ran = sides.run("--repeat", "2")
    assert (ran.code, sides.held()) == (0, {"head a": 2}), ran.err
    ran = sides.run("--repeat", "2", "--confirm", "always", output="runs/both")
    assert (ran.code, "--confirm without --repeat auto" in ran.err) == (2, True), ran.err


def test_a_folder_with_the_name_of_the_base_commit_is_named(tmp_path):
    sides = Sides.of(tmp_path, "a")
    (sides.root / "base").mkdir()
    ran = sides.run(*AUTO, "--baseline", "base")
    assert (ran.code, "write ./base for the folder of that name" in ran.err) == (0, True), ran.err
