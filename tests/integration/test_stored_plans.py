"""Shards by a stored plan: balanced by recorded times, taken exactly, and run again alone where they are missing."""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from scratch import case, committed, config, repository, runner, skillgym, started, suite, written
from waiting import until

if TYPE_CHECKING:
    from pathlib import Path

NAMES = tuple("abcdefghij")
COUNTED = "read -r _ task; echo $task >> $LOG/begun; echo > out.txt; echo $task >> $LOG/ended"


class Scene:
    """A repository with a suite, and what its agent logs."""

    def __init__(self, folder: Path, *cases: dict[str, Any], script: str = COUNTED, **suite_fields: Any) -> None:
        self.root, self.log = folder / "repo", folder / "log"
        self.log.mkdir()
        agent = runner(script, env={"LOG": str(self.log)})
        files = {
            "skillgym.config.yaml": config(agent),
            "bench/core.json": suite(*(cases or map(case, NAMES)), **suite_fields),
        }
        repository(self.root, files, git=True)

    def tool(self, *args: str, **env: str):
        return skillgym(*args, cwd=self.root, **env)

    def planned(self, *args: str) -> list[dict[str, Any]]:
        """The shards of a new plan."""
        ran = self.tool("list", "--plan", "plan.json", *args)
        assert ran.code == 0, ran.err
        shards = json.loads((self.root / "plan.json").read_text())["shards"]
        assert json.loads(ran.out) == {"include": [{"shard": one["shard"]} for one in shards]}
        return shards

    def shard(self, number: int, of: int, *args: str, **env: str):
        out = f"shards/shard-{number}"
        return self.tool("run", "--shard", f"{number}/{of}", "--plan", "plan.json", "--output", out, *args, **env)

    def missing(self, *args: str) -> list[str]:
        ran = self.tool("report", "--missing", *args)
        assert ran.code == 0, ran.err
        return [one["shard"] for one in json.loads(ran.out)["include"]]

    def logged(self, name: str) -> list[str]:
        file = self.log / name
        return file.read_text().splitlines() if file.exists() else []


def cases_of(shard: dict[str, Any]) -> list[str]:
    return [one["case"] for one in shard["executions"]]


def results_of(folder: Path) -> list[dict[str, Any]]:
    document = json.loads((folder / "results.json").read_text())
    return [result for one in document["suites"] for result in one["results"]]


# --- what is planned --------------------------------------------------------------------------------------


def test_shards_by_plan_are_the_whole_run(tmp_path):
    scene = Scene(tmp_path)
    shards = scene.planned("--matrix", "3")
    assert sorted(name for shard in shards for name in cases_of(shard)) == list(NAMES)
    for number in (1, 2, 3):
        assert scene.shard(number, 3).code == 0
        ran = [one["caseId"] for one in results_of(scene.root / f"shards/shard-{number}")]
        assert ran == cases_of(shards[number - 1])
    assert scene.tool("report", "shards/*", "--plan", "plan.json", "--output", "merged").code == 0
    assert [one["caseId"] for one in results_of(scene.root / "merged")] == list(NAMES)
    assert Counter(scene.logged("begun")) == dict.fromkeys(NAMES, 1)


def test_recorded_times_balance_shards_and_choose_their_number(tmp_path):
    scene = Scene(tmp_path)
    assert scene.tool("run", "--output", "recorded").code == 0
    results = scene.root / "recorded/results.json"
    told = json.loads(results.read_text())
    for row in told["suites"][0]["results"]:
        (attempt,) = row["attempts"]
        attempt["durationMs"] = {"a": 1600}.get(row["caseId"], 100)
    results.write_text(json.dumps(told))
    shards = scene.planned("--matrix", "auto", "--durations", "recorded", "--target", "1500ms")
    assert cases_of(shards[0]) == ["a"]
    assert shards[0]["seconds"] == 1.6
    assert len(shards) == 2
    assert scene.planned("--matrix", "2", "--durations", "recorded") == shards


def test_a_case_without_a_recorded_time_counts_as_the_median_of_its_suite(tmp_path):
    scene = Scene(tmp_path)
    assert scene.tool("run", "--case", "[abc]", "--output", "recorded").code == 0
    durations = {one["caseId"]: one["durationMs"] / 1000 for one in results_of(scene.root / "recorded")}
    shards = scene.planned("--matrix", "2", "--durations", "recorded")
    seconds = {one["case"]: one["seconds"] for shard in shards for one in shard["executions"]}
    assert {name: seconds[name] for name in "abc"} == durations
    assert {seconds[name] for name in "defghij"} == {sorted(durations.values())[1]}


def test_without_any_recorded_time_a_quarter_of_the_time_limit_counts_for_each_repetition(tmp_path):
    scene = Scene(tmp_path, case("a", timeout=40), case("b", timeout=80))
    shards = scene.planned("--matrix", "1", "--repeat", "3")
    assert [one["seconds"] for one in shards[0]["executions"]] == [30.0, 60.0]
    ran = scene.tool("list", "--matrix", "auto", "--plan", "plan.json")
    assert "no recorded time is known, so each execution counts as a quarter of its time limit" in ran.err


def test_the_store_has_recorded_times_too(tmp_path):
    scene = Scene(tmp_path)
    assert scene.tool("run", "--store", "path=kept", "--store-write", "--output", "recorded").code == 0
    durations = {one["caseId"]: one["durationMs"] / 1000 for one in results_of(scene.root / "recorded")}
    shards = scene.planned("--matrix", "2", "--durations", "store", "--store", "path=kept")
    assert {one["case"]: one["seconds"] for shard in shards for one in shard["executions"]} == durations
    assert scene.tool("list", "--matrix", "2", "--plan", "p.json", "--durations", "store", "--store", "none").code == 2


def test_arms_of_a_case_are_in_one_shard(tmp_path):
    scene = Scene(tmp_path)
    document = json.loads(config(runner(COUNTED, env={"LOG": str(scene.log)})))
    document["arms"] = {"on": {"env": {"MODE": "on"}}, "off": {"env": {"MODE": "off"}}}
    written(scene.root, {"skillgym.config.yaml": json.dumps(document)})
    shards = scene.planned("--matrix", "4")
    pairs = [{(one["case"], one["arm"]) for one in shard["executions"]} for shard in shards]
    assert all({(name, arm) for name, _ in pair for arm in ("on", "off")} == pair for pair in pairs)
    assert sum(map(len, pairs)) == 2 * len(NAMES)


# --- a plan that is not of the checkout -------------------------------------------------------------------


def with_cases(scene: Scene, *cases: dict[str, Any]) -> None:
    written(scene.root, {"bench/other.json": suite(*cases)})


@pytest.mark.parametrize(
    ("cases", "message"),
    [
        pytest.param(
            [case("x"), case("y", prompt="Do it otherwise")],
            "2 cases differ from the plan (bench/other.json x [sh], bench/other.json y [sh])",
            id="a suite that has changed",
        ),
        pytest.param(
            [case("x")], "1 case of the plan is not in this checkout (bench/other.json y [sh])", id="a case is gone"
        ),
        pytest.param(
            [case("x"), case("y"), case("z")], "1 case is not in the plan (bench/other.json z [sh])", id="a new case"
        ),
    ],
)
def test_a_plan_of_another_checkout_is_refused_and_names_the_cases(tmp_path, cases, message):
    scene = Scene(tmp_path)
    with_cases(scene, case("x"), case("y"))
    scene.planned("--matrix", "2")
    with_cases(scene, *cases)
    for number in (1, 2):
        ran = scene.shard(number, 2)
        assert (ran.code, message in ran.err, scene.logged("begun")) == (2, True, [])


def test_a_changed_template_is_not_what_was_planned(tmp_path):
    scene = Scene(tmp_path, workspace={"templateDir": "template"})
    written(scene.root, {"bench/template/a.txt": "1"})
    scene.planned("--matrix", "2")
    written(scene.root, {"bench/template/a.txt": "2"})
    ran = scene.shard(1, 2)
    assert (ran.code, "10 cases differ from the plan" in ran.err) == (2, True)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        pytest.param(["--shard", "1/3"], "error: shard 1/3: the stored plan has 2 shards", id="of another number"),
        pytest.param([], "error: --plan without --shard", id="without a shard"),
        pytest.param(["--shard", "1/2", "--case", "a"], "9 cases of the plan are not in this checkout", id="a filter"),
        pytest.param(["--shard", "1/2", "--model", "m"], "10 cases differ from the plan", id="another model"),
    ],
)
def test_a_shard_that_the_plan_does_not_have(tmp_path, args, message):
    scene = Scene(tmp_path)
    scene.planned("--matrix", "2")
    ran = scene.tool("run", "--plan", "plan.json", *args)
    assert (ran.code, message in ran.err, scene.logged("begun")) == (2, True, [])


def test_an_invalid_case_is_in_the_first_shard_and_ends_a_planning(tmp_path):
    scene = Scene(tmp_path, case("a"), case("b"))
    scene.planned("--matrix", "2")
    written(scene.root, {"bench/bad.json": suite(case("bad", prompt=1), name="bad")})
    assert [one["caseId"] for one in results_after(scene, 1)] == ["bad", "a"]
    assert [one["caseId"] for one in results_after(scene, 2)] == ["b"]
    ran = scene.tool("list", "--matrix", "2", "--plan", "plan.json")
    assert (ran.code, ran.out, "bench/bad.json" in ran.err) == (2, "", True)


def results_after(scene: Scene, number: int) -> list[dict[str, Any]]:
    scene.shard(number, 2)
    return results_of(scene.root / f"shards/shard-{number}")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        pytest.param(["--matrix", "auto"], "--matrix auto without --plan", id="auto"),
        pytest.param(["--matrix", "2", "--durations", "x"], "--durations without --plan", id="durations"),
        pytest.param(["--durations", "x"], "--durations and --target without --matrix", id="no matrix"),
        pytest.param(["--matrix", "2", "--plan", "p", "--target", "5m"], "--target with a number", id="target"),
        pytest.param(["--matrix", "2", "--plan", "p", "--shard", "1/2"], "--matrix with --shard", id="shard"),
        pytest.param(["--matrix", "2", "--plan", "p", "--durations", "none"], "no such run: none", id="no run"),
        pytest.param(["--matrix", "257"], "'257' is not `auto` or a whole number from 1 to 256", id="too many"),
    ],
)
def test_options_that_make_no_plan(tmp_path, args, message):
    ran = Scene(tmp_path).tool("list", *args)
    assert (ran.code, message in ran.err, ran.out) == (2, True, "")


# --- the file may be of others ----------------------------------------------------------------------------


def edited(path: Path, change: Any) -> None:
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))


def _moved(document: dict[str, Any]) -> None:
    document["shards"][0]["executions"].append(document["shards"][1]["executions"][0])


def _left_out(document: dict[str, Any]) -> None:
    document["shards"][1]["executions"] = []


def _expensive(document: dict[str, Any]) -> None:
    document["shards"][0]["costShare"] = 1.0


def _renumbered(document: dict[str, Any]) -> None:
    document["shards"][0]["shard"] = "2/2"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        pytest.param(_moved, "is in it twice", id="an execution in two shards"),
        pytest.param(_left_out, "5 cases are not in the plan", id="cases that no shard has"),
        pytest.param(_expensive, "the shares of the cost are more than the whole", id="more money"),
        pytest.param(_renumbered, "shards[0].shard is 2/2, and not 1/2", id="numbers"),
        pytest.param(lambda one: one.update(root="/etc"), "root: is not a key", id="an unknown key"),
        pytest.param(lambda one: one.update(shards=[]), "shards: ", id="no shard"),
        pytest.param(lambda one: one.update(shards=one["shards"] * 200), "shards: ", id="too many shards"),
        pytest.param(lambda one: one.update(schema=2), "schema: ", id="another version"),
    ],
)
def test_a_forged_plan_changes_nothing_but_who_runs_what(tmp_path, change, message):
    scene = Scene(tmp_path)
    scene.planned("--matrix", "2")
    edited(scene.root / "plan.json", change)
    ran = scene.shard(1, 2)
    assert (ran.code, message in ran.err, scene.logged("begun")) == (2, True, []), ran.err


@pytest.mark.parametrize("kind", ["link", "fifo", "folder", "text"])
def test_a_plan_that_is_no_file_of_a_plan(tmp_path, kind):
    scene = Scene(tmp_path)
    scene.planned("--matrix", "2")
    path = scene.root / "plan.json"
    path.rename(tmp_path / "plan.json")
    if kind == "link":
        path.symlink_to(tmp_path / "plan.json")
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.write_text("no plan")
    ran = scene.shard(1, 2)
    assert (ran.code, "plan.json" in ran.err, scene.logged("begun")) == (2, True, [])


def test_a_plan_is_not_written_through_a_link_of_the_commit(tmp_path):
    scene = Scene(tmp_path)
    (tmp_path / "target").mkdir()
    (scene.root / "plans").symlink_to(tmp_path / "target")
    committed(scene.root)
    ran = scene.tool("list", "--matrix", "2", "--plan", "plans/plan.json")
    assert (ran.code, list((tmp_path / "target").iterdir())) == (2, [])


# --- the budget -------------------------------------------------------------------------------------------

PAID = """read -r _ task; usd=1; [ $task = a ] && usd=7
printf '{"type": "session", "cost": {"usd": %s}}\\n' $usd; echo > out.txt"""


def paying(tmp_path: Path) -> Scene:
    scene = Scene(tmp_path, *(case(name, budget=9) for name in "abcd"))
    written(scene.root, {"skillgym.config.yaml": config(runner(PAID, output="events"))})
    return scene


def test_a_shard_gets_its_part_of_the_budget_by_expected_cost(tmp_path):
    scene = paying(tmp_path)
    assert scene.tool("run", "--output", "recorded").code == 0
    shards = scene.planned("--matrix", "2", "--durations", "recorded")
    shares = [sum(7 if name == "a" else 1 for name in cases_of(shard)) / 10 for shard in shards]
    assert [shard["costShare"] for shard in shards] == pytest.approx(shares)
    ran = scene.shard(1, 2, "--max-cost", "20")
    assert f"max-cost: ${20 * shares[0]:.2f} for shard 1/2, by expected cost of $20.00" in ran.err
    assert ran.code == 0


def test_where_no_cost_is_known_shards_get_equal_parts(tmp_path):
    scene = paying(tmp_path)
    assert [shard["costShare"] for shard in scene.planned("--matrix", "4")] == [0.25] * 4
    ran = scene.tool("run", "--shard", "1/2", "--max-cost", "3", "--output", "first")
    assert "max-cost: $1.50 for shard 1/2, an equal part of $3.00" in ran.err
    assert [one["status"] for one in results_of(scene.root / "first")] == ["passed", "skipped"]
    assert "! Stopped" in ran.err


# --- shards that are missing ------------------------------------------------------------------------------


def test_a_matrix_of_the_shards_that_are_missing(tmp_path):
    scene = Scene(tmp_path)
    scene.planned("--matrix", "4")
    assert scene.missing("shards/*", "--plan", "plan.json") == ["1/4", "2/4", "3/4", "4/4"]
    for number in (1, 3):
        scene.shard(number, 4)
    assert scene.missing("shards/*", "--plan", "plan.json") == ["2/4", "4/4"]
    assert scene.missing("shards/*") == ["2/4", "4/4"]
    for number in (2, 4):
        scene.shard(number, 4)
    assert scene.missing("shards/*") == scene.missing("shards/*", "--plan", "plan.json") == []
    ran = scene.tool("report", "--missing", "nowhere/*")
    assert (ran.code, "no such run: nowhere/*" in ran.err) == (2, True)


def test_a_shard_that_did_not_finish_is_missing(tmp_path):
    scene = Scene(tmp_path)
    scene.planned("--matrix", "3")
    for number in (1, 2, 3):
        scene.shard(number, 3)
    edited(scene.root / "shards/shard-2/results.json", lambda one: one["run"].update(status="cancelled"))
    assert scene.missing("shards/*") == ["2/3"]
    assert scene.tool("run", "--shard", "3/3", "--case", "[abc]", "--output", "less").code == 0
    digest = json.loads((scene.root / "shards/shard-3/results.json").read_text())["run"]["planDigest"]
    edited(scene.root / "less/results.json", lambda one: one["run"].update(planDigest=digest))
    edited(scene.root / "less/results.json", lambda one: one["run"].pop("wholePlan"))  # --case makes another plan
    (scene.root / "less").replace(scene.root / "shards/shard-4")
    shutil.rmtree(scene.root / "shards/shard-3")
    assert scene.missing("shards/*") == ["2/3"]
    assert scene.missing("shards/*", "--plan", "plan.json") == ["2/3", "3/3"]
    edited(
        scene.root / "shards/shard-2/results.json",
        lambda one: one["run"].update(status="finished", incomplete=["2 executions were not started"]),
    )
    assert scene.missing("shards/*") == ["2/3"]
    ran = scene.tool("report", "shards/*", "--plan", "plan.json", "--fail-on", "none", "--output", "merged")
    assert (ran.code, "shard 3/3 lacks 2 of its 3 executions" in ran.err) == (3, True)
    run = json.loads((scene.root / "merged/results.json").read_text())["run"]
    assert run["missingShards"] == ["3/3"]


@pytest.mark.parametrize("plan", [(), ("--plan", "plan.json")], ids=["without a plan", "with a plan"])
@pytest.mark.parametrize("names", ["first again", "again first"])
def test_an_old_run_of_a_shard_that_did_not_finish_is_not_used(tmp_path, plan, names):
    """Artifacts of all attempts of a job are there, and the shard is whole in one of them."""
    scene = Scene(tmp_path)
    scene.planned("--matrix", "2")
    for number in (1, 2):
        scene.shard(number, 2)
    old, new = (f"shards/shard-2-{name}" for name in names.split())
    (scene.root / "shards/shard-2").replace(scene.root / new)
    shutil.copytree(scene.root / new, scene.root / old)
    edited(scene.root / old / "results.json", lambda one: one["run"].update(status="cancelled"))
    assert scene.missing("shards/*", *plan) == []
    ran = scene.tool("report", "shards/*", *plan, "--output", "merged")
    assert (ran.code, "✓ All 10 results pass\n" in ran.err) == (0, True), ran.err
    assert f"{old}/results.json is not used, since there is another run of shard 2/2: was cancelled" in ran.err


def test_of_runs_of_a_shard_that_did_not_finish_the_latest_is_used(tmp_path):
    scene = Scene(tmp_path)
    for number, name in ((1, "1"), (2, "2-b"), (2, "2-a")):
        ran = scene.tool("run", "--shard", f"{number}/2", "--output", f"shards/{name}")
        assert ran.code == 0, ran.err
    for name, reason in (("2-a", ["2 executions were not started"]), ("2-b", ["3 executions were not started"])):
        edited(scene.root / f"shards/{name}/results.json", lambda one, why=reason: one["run"].update(incomplete=why))
    assert scene.missing("shards/*") == ["2/2"]
    ran = scene.tool("report", "shards/*", "--output", "merged")
    assert "incomplete" in ran.err
    assert json.loads((scene.root / "merged/results.json").read_text())["run"]["incomplete"] == [
        "2 executions were not started"
    ]


def test_two_finished_runs_of_a_shard_are_not_merged(tmp_path):
    scene = Scene(tmp_path)
    for number, name in ((1, "1"), (2, "2-a"), (2, "2-b")):
        scene.tool("run", "--shard", f"{number}/2", "--output", f"shards/{name}")
    ran = scene.tool("report", "shards/*", "--output", "merged")
    assert (ran.code, "is in shards/2-a/results.json and in shards/2-b/results.json" in ran.err) == (2, True), ran.err


def test_a_shard_of_another_commit_than_the_plan_is_missing(tmp_path):
    scene = Scene(tmp_path)
    scene.planned("--matrix", "2")
    edited(scene.root / "plan.json", lambda one: one.update(commit="a" * 40))
    for number in (1, 2):
        scene.shard(number, 2)
        commit = "ab"[number - 1] * 40
        edited(
            scene.root / f"shards/shard-{number}/results.json",
            lambda one, commit=commit: one["run"].update(commit=commit),
        )
    assert scene.missing("shards/*", "--plan", "plan.json") == ["2/2"]
    ran = scene.tool("report", "shards/*", "--plan", "plan.json", "--fail-on", "none", "--output", "merged")
    assert (ran.code, "shard 2/2 was run on commit bbbbbbbbbbbb, but the plan is for aaaaaaaaaaaa" in ran.err) == (
        3,
        True,
    )


def test_shards_of_different_plans_are_not_merged(tmp_path):
    """An execution that is in no shard that ran would be lost, and the run green."""
    scene = Scene(tmp_path)
    scene.planned("--matrix", "2")
    assert scene.shard(1, 2).code == 0
    shards = json.loads((scene.root / "plan.json").read_text())["shards"]
    (scene.root / "plan.json").rename(scene.root / "first.json")
    edited(scene.root / "first.json", lambda one: one["shards"].reverse())
    edited(
        scene.root / "first.json",
        lambda one: [part.update(shard=f"{number}/2") for number, part in enumerate(one["shards"], start=1)],
    )
    (scene.root / "first.json").rename(scene.root / "plan.json")
    assert scene.shard(2, 2).code == 0
    assert len(results_of(scene.root / "shards/shard-2")) == len(shards[0]["executions"])
    ran = scene.tool("report", "shards/*", "--output", "merged")
    assert (ran.code, "are shards of different plans; run all shards with the same file" in ran.err) == (2, True)
    assert scene.missing("shards/*", "--plan", "plan.json") == ["1/2"]
    alone = scene.tool("report", "shards/shard-1", "--plan", "plan.json", "--output", "alone")
    assert (alone.code, "shard 1/2 belongs to another plan" in alone.err) == (3, True)


def test_a_shard_of_the_plan_with_other_repetitions_has_to_run_again(tmp_path):
    scene = Scene(tmp_path)
    scene.planned("--matrix", "3")
    for number, options in ((1, ()), (2, ("--repeat", "2")), (3, ())):
        assert scene.shard(number, 3, *options).code == 0
    assert scene.missing("shards/*", "--plan", "plan.json") == ["2/3"]
    ran = scene.tool("report", "shards/*", "--plan", "plan.json", "--fail-on", "none", "--output", "merged")
    sentence = "the plan of shard 2/3 differs from that of shard 1/3: repeat 2 instead of 1"
    assert (ran.code, sentence in ran.err) == (3, True), ran.err


@pytest.mark.parametrize("left_out", [0, 1, 2])
def test_a_shard_lacks_no_more_than_it_says_that_it_left_out(tmp_path, left_out):
    scene = Scene(tmp_path)
    scene.planned("--matrix", "3")
    for number in (1, 2, 3):
        scene.shard(number, 3)
    assert scene.tool("run", "--shard", "3/3", "--case", "[abc]", "--output", "less").code == 0
    shutil.rmtree(scene.root / "shards/shard-3")
    (scene.root / "less").replace(scene.root / "shards/shard-3")
    selection = {"selected": 1, "total": 1 + left_out, "reason": "bench/core.json", "leftOut": left_out}
    edited(scene.root / "shards/shard-3/results.json", lambda one: one["run"].update(selection=selection))
    edited(scene.root / "shards/shard-3/results.json", lambda one: one["run"].pop("wholePlan"))  # as above
    assert scene.missing("shards/*", "--plan", "plan.json") == ([] if left_out == 2 else ["3/3"])


@pytest.mark.parametrize("named", ["shards/*", "shards/shard-1\0shards/shard-2"])
def test_a_shard_that_was_killed_is_missing_and_the_report_says_so(tmp_path, named):
    scene = Scene(tmp_path)
    scene.planned("--matrix", "2")
    for number in (1, 2):
        scene.shard(number, 2)
    (scene.root / "shards/shard-2/results.json").unlink()
    names = named.split("\0")
    assert scene.missing(*names) == ["2/2"]
    ran = scene.tool("report", *names, "--fail-on", "none", "--output", "merged")
    assert (ran.code, "! Incomplete: Not sure: " in ran.err) == (3, True)
    assert "\n## ⚠️ Incomplete: Not sure: " in (scene.root / "merged/comment.md").read_text()


def test_a_whole_run_that_was_killed_is_no_smaller_run(tmp_path):
    scene = Scene(tmp_path)
    for name in ("one", "two"):
        assert scene.tool("run", "--output", f"runs/{name}").code == 0
    (scene.root / "runs/two/results.json").unlink()
    ran = scene.tool("report", "runs/*", "--fail-on", "none")
    assert (ran.code, "runs/two: the run did not finish" in ran.err) == (2, True)


def test_runs_of_other_plans_are_refused(tmp_path):
    scene = Scene(tmp_path)
    scene.planned("--matrix", "3")
    scene.shard(1, 3)
    scene.planned("--matrix", "2")
    ran = scene.tool("report", "--missing", "shards/*", "--plan", "plan.json")
    assert (ran.code, "is shard 1/3, and not of 2 shards" in ran.err) == (2, True)


THIRD_HANGS = (
    "read -r _ task; echo $task >> $LOG/begun; [ -e $LOG/slow ] && [ $(wc -l < $LOG/begun) = 3 ] && sleep 600; "
    "echo > out.txt; echo $task >> $LOG/ended"
)


def test_a_shard_that_is_killed_and_run_again_runs_no_finished_session_twice(tmp_path):
    scene = Scene(tmp_path, script=THIRD_HANGS)
    scene.planned("--matrix", "2")
    (scene.log / "slow").touch()
    args = ("run", "--shard", "1/2", "--plan", "plan.json")
    process = started(*args, "--output", "shards/shard-1", cwd=scene.root)
    journal = scene.root / "shards/shard-1/journal.jsonl"
    until(lambda: len(scene.logged("begun")) == 3, "a third session")
    process.kill()
    process.communicate()
    finished = finished_in(journal)
    assert finished == 2
    assert scene.shard(2, 2).code == 0
    assert scene.missing("shards/*") == ["1/2"]
    (scene.log / "slow").unlink()
    ran = scene.tool(*args, "--resume", "shards/shard-1")
    assert (ran.code, f"resumed: {finished} sessions finished before" in ran.err) == (0, True)
    begun = Counter(scene.logged("begun"))
    assert set(begun) == set(NAMES)
    assert sum(begun.values()) <= len(NAMES) + 1  # the one that was killed
    assert max(begun.values()) <= 2
    assert scene.missing("shards/*", "--plan", "plan.json") == []
    assert scene.tool("report", "shards/*", "--plan", "plan.json", "--output", "merged").code == 0
    assert [one["caseId"] for one in results_of(scene.root / "merged")] == list(NAMES)


def finished_in(journal: Path) -> int:
    """How many sessions a journal has."""
    return journal.read_bytes().count(b'"result":') if journal.exists() else 0
