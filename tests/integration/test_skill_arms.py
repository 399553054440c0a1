"""Evals of skills in two arms: with the skill, and without it or with its version at the base."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from scratch import IDENTITY, Ran, case, committed, config, git_in, repository, runner, skillgym, suite, written
from scripted_http import ScriptedServer
from skill_eval_runs import SKILL, SUITE, asked, evals, run_evals, says, skill_repository

if TYPE_CHECKING:
    from pathlib import Path

DONE = '{"type": "session", "finalOutput": "There are 3 pages. Done."}'
# Works only if the skill says so, and lists everything that the session can find, `.git` and home included.
AGENT = f"""
find . "$HOME" -type f | sort > seen.txt
grep -rhs "Count the" .claude .agents > skill.txt
[ -s skill.txt ] && echo made > out.txt
printf '%s\\n' '{DONE}'
"""
MADE = {"assertions": [{"type": "file_exists", "path": "out.txt"}, {"type": "file_exists", "path": "seen.txt"}]}
OLD = SKILL.replace("Count the pages.", "Count the words.")


def scene(folder: Path, *cases: dict[str, Any], agent: str = AGENT, **files: str) -> Path:
    return skill_repository(folder, evals(*(cases or [MADE] * 5)), judge=False, agent=agent, **files)


def results(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "out/results.json").read_text(encoding="utf-8"))


def run(folder: Path, *args: str) -> Ran:
    ran = skillgym("run", "--output", "out", "--keep", "all", *args, cwd=folder)
    assert "Traceback" not in ran.err
    return ran


def rows(folder: Path, key: str) -> list[dict[str, Any]]:
    return [row for one in results(folder)["suites"] for row in one.get(key, [])]


def arms(folder: Path) -> list[str]:
    return sorted({row.get("arm", "") for key in ("results", "otherArms") for row in rows(folder, key)})


def uplift(folder: Path) -> dict[str, Any]:
    (found,) = results(folder)["run"]["uplifts"]
    return found


def seen(folder: Path, row: dict[str, Any], name: str = "seen.txt") -> list[str]:
    return (folder / "out" / row["artifactDir"] / "changes" / name).read_text(encoding="utf-8").splitlines()


def test_the_arm_with_the_skill_decides_and_the_uplift_is_shown(tmp_path):
    skill_repository(tmp_path, evals({"expectations": ["It says 3"]}))
    with ScriptedServer(says("yes"), says("no")) as server:
        ran = run_evals(tmp_path, server, "run", "--output", "out")
    assert ran.code == 0, ran.err
    found = uplift(tmp_path)
    assert (found["arm"], found["other"]) == ("with_skill", "without_skill")
    assert (found["points"], found["verdict"], found["interval"]) == (100.0, "too-few-cases", None)
    assert "uplift +100 points (too few cases for an interval) over 1 case" in ran.err
    assert len(asked(server)) == 2
    assert not [text for text in asked(server) if "with_skill" in text or "without_skill" in text]


def test_a_failure_with_the_skill_is_red_whatever_the_other_arm_does(tmp_path):
    skill_repository(tmp_path, evals({"expectations": ["It says 3"]}))
    with ScriptedServer(says("no"), says("yes")) as server:
        ran = run_evals(tmp_path, server, "run", "--output", "out")
    assert ran.code == 1, ran.err
    assert (uplift(tmp_path)["points"], uplift(tmp_path)["verdict"]) == (-100.0, "too-few-cases")
    assert "It says 3: no: nothing of the kind is there" in (tmp_path / "out/report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("at_base", "other"),
    [
        pytest.param({"skills/pdf/SKILL.md": OLD}, "old_skill", id="another SKILL.md"),
        pytest.param({"skills/pdf/SKILL.md": SKILL}, "without_skill", id="the same"),
        pytest.param({"skills/pdf/scripts/run.sh": "echo"}, "old_skill", id="another script"),
    ],
)
def test_the_other_arm_is_the_version_at_the_base_if_it_differs(tmp_path, at_base, other):
    on_branch(scene(tmp_path, MADE), at_base)
    ran = run(tmp_path)
    assert ran.code == 0, ran.err
    assert arms(tmp_path) == sorted(["with_skill", other])
    (with_skill,), (compared,) = rows(tmp_path, "results"), rows(tmp_path, "otherArms")
    assert set(seen(tmp_path, with_skill, "skill.txt")) == {"Count the pages."}
    if other == "old_skill":
        assert set(seen(tmp_path, compared, "skill.txt")) == {
            OLD.splitlines()[-1] if OLD in at_base.values() else "Count the pages."
        }
    assert compared["prompt"] == with_skill["prompt"] == "Count the pages"


def on_branch(root: Path, at_base: dict[str, str | None]) -> None:
    """Put ``at_base`` on main, and what is there now on a branch of it."""
    now = {name: (root / name).read_text(encoding="utf-8") if (root / name).exists() else None for name in at_base}
    for files in (at_base, now):
        written(root, {name: text for name, text in files.items() if text is not None})
        for name, text in files.items():
            if text is None:
                (root / name).unlink()
        committed(root)
        if files is at_base:
            git_in(root, "checkout", "--quiet", "-b", "change")


def test_a_prompt_that_calls_the_skill_runs_with_it_only(tmp_path):
    scene(tmp_path, MADE | {"prompt": "/pdf now"}, MADE)
    ran = run(tmp_path)
    assert ran.code == 0, ran.err
    assert [row["caseId"] for row in rows(tmp_path, "results")] == ["eval-1", "eval-2"]
    assert [row["caseId"] for row in rows(tmp_path, "otherArms")] == ["eval-2"]
    assert uplift(tmp_path)["uncompared"] == ["eval-1"]
    assert uplift(tmp_path)["complete"] is True
    assert "not compared, 1 case only in with_skill: eval-1" in ran.err
    planned = skillgym("run", "--dry-run", cwd=tmp_path).out
    assert f"{SUITE} [sh]: 2 cases in up to 2 arms: 3 sessions (with_skill, without_skill)" in planned


@pytest.mark.parametrize("workspace", ["empty", "repository"])
def test_no_arm_has_the_evals_and_the_arm_without_no_trace_of_the_skill(tmp_path, workspace):
    document = json.loads(config(runner(AGENT, output="events"))) | {"skills": {"workspace": workspace}}
    files = {"skillgym.config.yaml": json.dumps(document), "other.txt": "x"}
    scene(tmp_path, MADE, **files)
    ran = run(tmp_path)
    assert ran.code == 0, ran.err
    (with_skill,), (without,) = rows(tmp_path, "results"), rows(tmp_path, "otherArms")
    assert [path for path in seen(tmp_path, with_skill) if path.endswith("pdf/SKILL.md")]
    for row in (with_skill, without):
        assert not [path for path in seen(tmp_path, row) if "/evals" in path or path.endswith("evals.json")]
    assert not [path for path in seen(tmp_path, without) if "SKILL.md" in path or "pdf" in path or "skills/" in path]
    assert seen(tmp_path, without, "skill.txt") == []
    kept = tmp_path / "out/workspaces" / without["artifactDir"]
    texts = [path for path in kept.rglob("*") if path.is_file() and b"Works on PDF files" in path.read_bytes()]
    assert kept.is_dir()
    assert texts == []


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("without", ["without_skill"]),
        ("old,with,without", ["old_skill", "with_skill", "without_skill"]),
    ],
)
def test_chosen_arms(tmp_path, words, wanted):
    on_branch(scene(tmp_path, MADE), {"skills/pdf/SKILL.md": OLD})
    run(tmp_path, "--arms", words)
    assert arms(tmp_path) == wanted
    if "with" in words.split(","):
        assert {row.get("arm", "with_skill") for row in rows(tmp_path, "results")} == {"with_skill"}


def test_a_base_that_is_not_in_the_clone(tmp_path):
    on_branch(scene(tmp_path / "origin", MADE), {"skills/pdf/SKILL.md": OLD})
    git_in(tmp_path / "origin", "checkout", "--quiet", "main")
    url = f"file://{tmp_path / 'origin'}"
    git_in(tmp_path, "clone", "--quiet", "--depth", "1", "--branch", "change", url, "clone")
    ran = run(tmp_path / "clone", "--arms", "with,old")
    assert ran.code == 0, ran.err
    assert arms(tmp_path / "clone") == ["with_skill", "without_skill"]
    assert "the base commit is not in the clone; without_skill runs in place of old_skill" in ran.err
    assert "fetch-depth: 0" in ran.err


@pytest.mark.parametrize(
    ("at_base", "selected"),
    [
        pytest.param({"skills/pdf/SKILL.md": OLD}, True, id="the skill"),
        pytest.param({SUITE: evals(MADE | {"prompt": "Another"})}, True, id="the evals"),
        pytest.param({"README.md": "x"}, False, id="something else"),
    ],
)
def test_changed_skills(tmp_path, at_base, selected):
    on_branch(scene(tmp_path, MADE, **{"README.md": "now"}), at_base)
    ran = skillgym("list", "--changed-skills", "--json", cwd=tmp_path)
    assert bool(json.loads(ran.out)["executions"]) is selected, ran.err


def test_the_arms_of_a_real_merge_commit(tmp_path):
    """As GitHub's runner checks it out: the test merge, with the base as its first parent."""
    on_branch(scene(tmp_path, MADE), {"skills/pdf/SKILL.md": OLD})
    git_in(tmp_path, "checkout", "--quiet", "main")
    git_in(tmp_path, "checkout", "--quiet", "--detach")
    git_in(tmp_path, *IDENTITY, "merge", "--quiet", "--no-ff", "--no-edit", "change")
    assert run(tmp_path).code == 0
    assert arms(tmp_path) == ["old_skill", "with_skill"]


def test_nothing_is_compared_in_trigger_lists(tmp_path):
    queries = json.dumps([{"query": "count", "should_trigger": True}])
    scene(tmp_path, **{"skills/pdf/evals/trigger-evals.json": queries, SUITE: None})  # type: ignore[arg-type]
    planned = skillgym("run", "--dry-run", cwd=tmp_path)
    assert planned.code == 0, planned.err
    assert "without_skill" not in planned.out


def test_the_files_of_skill_creator(tmp_path):
    scene(tmp_path, MADE, MADE | {"prompt": "/pdf"})
    ran = run(tmp_path, "--repeat", "2", "--report", "skill-creator=workspace")
    assert ran.code == 0, ran.err
    folder = tmp_path / "workspace"
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.json"))
    runs = [f"eval-1/{arm}/run-{n}" for arm in ("with_skill", "without_skill") for n in (1, 2)]
    runs += [f"eval-2/with_skill/run-{n}" for n in (1, 2)]
    assert names == sorted(
        ["benchmark.json", "eval-1/eval_metadata.json", "eval-2/eval_metadata.json"]
        + [f"{one}/{name}.json" for one in runs for name in ("grading", "timing")]
    )
    grading = json.loads((folder / "eval-1/without_skill/run-1/grading.json").read_text(encoding="utf-8"))
    assert grading["summary"] == {"passed": 1, "failed": 1, "total": 2, "pass_rate": 0.5}
    assert [one["passed"] for one in grading["expectations"]] == [False, True]
    assert grading["expectations"][0]["evidence"]
    assert (folder / "eval-1/with_skill/run-2/outputs/out.txt").read_text(encoding="utf-8") == "made\n"
    assert not (folder / "eval-1/without_skill/run-2/outputs/out.txt").exists()
    benchmark = json.loads((folder / "benchmark.json").read_text(encoding="utf-8"))
    assert benchmark["run_summary"]["with_skill"]["pass_rate"] == {"mean": 1.0, "stddev": 0.0, "min": 1.0, "max": 1.0}
    assert benchmark["run_summary"]["delta"]["pass_rate"] == "+0.50"
    assert benchmark["run_summary"]["delta"]["tokens"] is None
    assert {one["configuration"] for one in benchmark["runs"]} == {"with_skill", "without_skill"}
    assert len(benchmark["runs"]) == 6
    assert "name a folder in place of -" in run(tmp_path, "--report", "skill-creator=-").err


def test_runs_without_outcomes_in_the_results_have_no_figures_for_skill_creator(tmp_path):
    repository(tmp_path, {"skillgym.config.yaml": config(runner()), "bench/core.json": suite(case())})
    ran = skillgym("run", "--repeat", "2", "--report", "skill-creator=report", cwd=tmp_path)
    assert ran.code == 0, ran.err
    (file,) = (tmp_path / "report").rglob("benchmark.json")
    benchmark = json.loads(file.read_text(encoding="utf-8"))
    assert sorted(str(one["result"]["pass_rate"]) for one in benchmark["runs"]) == ["1.0", "None"]
    summary = benchmark["run_summary"]["with_skill"]
    assert summary["pass_rate"] == {"mean": None, "stddev": None, "min": None, "max": None}
    assert summary["time_seconds"]["mean"] is not None


def test_cases_and_suites_of_alike_names_have_folders_of_their_own_for_skill_creator(tmp_path):
    others = evals(MADE | {"id": "x"}, skill_name="pdf")
    scene(tmp_path, MADE, MADE | {"id": 1}, **{"others/pdf/SKILL.md": SKILL, "others/pdf/evals/evals.json": others})
    assert run(tmp_path, "--arms", "with", "--report", "skill-creator=report").code == 0
    folder = tmp_path / "report"
    metadata = [json.loads(path.read_text(encoding="utf-8")) for path in folder.rglob("eval_metadata.json")]
    assert sorted(one["eval_id"] for one in metadata) == ["1", "eval-1", "x"]
    assert len(list(folder.rglob("benchmark.json"))) == 2


def test_the_folder_for_skill_creator_has_no_grading_of_an_earlier_run(tmp_path):
    scene(tmp_path, MADE)
    report = ("--arms", "with", "--report", "skill-creator=report")
    assert run(tmp_path, *report).code == 0
    of_run = tmp_path / "report/eval-1/with_skill/run-1"
    assert (of_run / "grading.json").exists()
    assert (of_run / "outputs").exists()
    written(tmp_path, {"skillgym.config.yaml": config(runner("exit 1", output="events"))})
    (tmp_path / "out").rename(tmp_path / "earlier")
    assert run(tmp_path, *report).code == 3
    assert sorted(path.name for path in of_run.iterdir()) == ["timing.json"]


def test_an_arm_in_stored_results_is_no_path_for_skill_creator(tmp_path):
    scene(tmp_path, MADE)
    assert run(tmp_path).code == 0
    file = tmp_path / "out/results.json"
    file.write_text(file.read_text(encoding="utf-8").replace('"without_skill"', '"../../../../evil"'), encoding="utf-8")
    ran = skillgym("report", "out", "--report", "skill-creator=deep/er/report", cwd=tmp_path)
    assert (tmp_path / "deep/er/report/benchmark.json").exists(), ran.err
    assert not list(tmp_path.rglob("evil"))


def test_sessions_with_another_skill_do_not_count_in_a_resumed_run(tmp_path):
    scene(tmp_path, MADE)
    assert run(tmp_path).code == 0
    written(tmp_path, {"skills/pdf/SKILL.md": SKILL.replace("Count the pages.", "Do nothing.")})
    ran = skillgym("run", "--resume", "out", "--arms", "with,without", cwd=tmp_path)
    assert [row["status"] for row in rows(tmp_path, "results")] == ["failed"], ran.err
    assert "run again" in ran.err
    assert "eval-1 [sh] with_skill" in ran.err
    assert "eval-1 [sh] without_skill" not in ran.err.partition("run again")[2].partition("\n")[0]


def test_no_changed_skill_is_green_and_said(tmp_path):
    on_branch(scene(tmp_path, MADE, **{"README.md": "now"}), {"README.md": "x"})
    base = git_in(tmp_path, "merge-base", "HEAD", "main")[:12]
    words = f"no skill or evals changed since {base}"
    ran = run(tmp_path, "--changed-skills", "--min-pass-rate", "0.9")
    assert ran.code == 0, ran.err
    assert words in ran.err
    assert results(tmp_path)["run"]["unchanged"] == words
    assert results(tmp_path)["run"]["decision"] == {
        "verdict": "passed", "passed": True, "exitCode": 0, "reasons": [words],
    }  # fmt: skip
    for name in ("summary.md", "comment.md", "report.html"):
        text = (tmp_path / "out" / name).read_text(encoding="utf-8")
        assert words in text.replace("\u2060", ""), name  # which keeps GitHub from linking the commit
    again = skillgym("report", "out", "--output", "again", "--fail-on", "failed,errored,no-cases", cwd=tmp_path)
    assert (again.code, words in again.err) == (0, True), again.err
    for command in (("list", "--json"), ("run", "--dry-run")):
        told = skillgym(*command, "--changed-skills", cwd=tmp_path)
        assert (told.code, words in told.err + told.out) == (0, True), told.err


def test_changed_skills_without_any_suite_of_skills_is_no_green_run(tmp_path):
    scene(tmp_path, MADE, **{SUITE: None, "README.md": "x"})  # type: ignore[arg-type]
    assert run(tmp_path, "--changed-skills").code == 2


def test_the_skill_among_the_input_files_is_left_out(tmp_path):
    files = {"files": ["SKILL.md", "evals/a.csv", "data.csv"]}
    more = {"skills/pdf/evals/a.csv": "a,b", "skills/pdf/data.csv": "c,d"}
    scene(tmp_path, MADE | files, **more)
    ran = run(tmp_path)
    assert ran.code == 0, ran.err
    assert "evals[0].files[0]: SKILL.md is the skill under test, which is installed: it is not copied" in ran.err
    assert "evals[0].files[2]: data.csv belongs to the skill under test, and is in the arm without it, too" in ran.err
    (without,) = rows(tmp_path, "otherArms")
    found = seen(tmp_path, without)
    assert {"./evals/a.csv", "./data.csv"} <= set(found)
    assert not [path for path in found if "SKILL.md" in path]
    assert "SKILL.md" not in without["prompt"]


def test_a_folder_with_the_skill_in_it_is_no_input_file(tmp_path):
    scene(tmp_path, MADE | {"files": ["pdf"]}, **{"skills/pdf/SKILL.md": None, "pdf/SKILL.md": SKILL})  # type: ignore[arg-type]
    ran = run(tmp_path, "--skill", "pdf")
    assert ran.code == 2, ran.err
    assert "pdf has the skill under test in it, which would be in all arms" in ran.err


def test_titles_are_shown_beside_ids(tmp_path):
    missing = {"assertions": [{"type": "file_exists", "path": "nowhere.txt"}]}
    scene(tmp_path, missing | {"id": 7, "name": "Merges <two> files"}, MADE | {"name": "eval-2"})
    ran = run(tmp_path, "--arms", "with")
    assert ran.code == 1, ran.err
    assert "✗ 7 (Merges <two> files) [sh] failed" in ran.err
    assert "eval-2 (eval-2)" not in ran.err
    assert [row.get("title") for row in rows(tmp_path, "results")] == ["Merges <two> files", "eval-2"]
    for name, shown in (("summary.md", "(Merges &lt;two&gt; files)"), ("comment.md", "(Merges &lt;two&gt; files)")):
        assert shown in (tmp_path / "out" / name).read_text(encoding="utf-8").replace("\\<", "&lt;").replace(
            "\\>", "&gt;"
        )
    page = (tmp_path / "out/report.html").read_text(encoding="utf-8")
    assert '<span class="title">Merges &lt;two&gt; files</span>' in page
    assert "7 (Merges &lt;two&gt; files) · sh" in page
    assert skillgym("report", "out", "--output", "again", cwd=tmp_path).err.count("7 (Merges <two> files)") >= 1


def test_a_skill_that_has_lost_its_evals_is_not_green(tmp_path):
    other = {"skills/docx/SKILL.md": SKILL.replace("pdf", "docx"), "skills/docx/evals/evals.json": evals(MADE)}
    scene(tmp_path, MADE, **other)
    git_in(tmp_path, "checkout", "--quiet", "-b", "change")
    (tmp_path / SUITE).unlink()
    written(tmp_path, {"skills/pdf/SKILL.md": OLD})
    committed(tmp_path)
    ran = run(tmp_path, "--changed-skills")
    assert ran.code != 0, ran.err
    assert f"{SUITE}: the base has it, and nothing judges skills/pdf without it" in ran.err
    assert "no skill or evals changed" not in ran.err
    (tmp_path / "skills/pdf/SKILL.md").unlink()
    committed(tmp_path)
    assert run(tmp_path, "--changed-skills").code == 0


def test_input_files_of_evals_are_evals(tmp_path):
    scene(tmp_path, MADE | {"files": ["data.csv"]}, **{"skills/pdf/evals/data.csv": "1"})
    on_branch(tmp_path, {"skills/pdf/evals/data.csv": "2"})
    assert "no skill or evals changed" not in run(tmp_path, "--changed-skills").err
    assert arms(tmp_path)


def test_a_skill_with_a_link_to_a_changed_file_may_have_changed(tmp_path):
    scene(tmp_path, MADE, **{"shared/ref.md": "new"})
    (tmp_path / "skills/pdf/ref.md").symlink_to("../../shared/ref.md")
    on_branch(tmp_path, {"shared/ref.md": "old"})
    assert "no skill or evals changed" not in run(tmp_path, "--changed-skills").err
    assert arms(tmp_path)
