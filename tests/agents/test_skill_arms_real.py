"""Evals of a skill in two arms on the real Claude Code and the real Codex: the run that the pictures show."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from scratch import git_in
from skill_picture_run import EVALS, MODELS, SkillRun, reported, skill_run
from skill_scripts import DESCRIPTION, SKILL

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.agents, pytest.mark.more_agents]  # two agents are installed for it
CASES = [case["id"] for case in EVALS["evals"]]
RUNNERS = ("claude", "codex")


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> SkillRun:
    return skill_run(tmp_path_factory.mktemp("skill"))


def rows(ran: SkillRun, key: str) -> list[dict[str, Any]]:
    return [row for suite in ran.results["suites"] for row in suite[key]]


def uplift(ran: SkillRun, runner: str) -> dict[str, Any]:
    (found,) = [one for one in ran.results["run"]["uplifts"] if one["runnerId"] == runner]
    return found


def test_every_case_is_judged_in_both_arms_on_both_agents(ran):
    for key, arm in (("results", "with_skill"), ("otherArms", "without_skill")):
        found = rows(ran, key)
        assert sorted((row["caseId"], row["runnerId"]) for row in found) == sorted(
            (case, runner) for case in CASES for runner in RUNNERS
        )
        assert {row["arm"] for row in found} == {arm}
        assert {row["status"] for row in found} <= {"passed", "failed"}
    assert len(ran.asked) == 2 * len(CASES) * len(RUNNERS)


def test_the_uplift_is_what_the_sessions_of_both_arms_left(ran):
    assert {runner: round(uplift(ran, runner)["points"], 1) for runner in RUNNERS} == {"claude": 61.1, "codex": 44.4}
    assert {runner: uplift(ran, runner)["verdict"] for runner in RUNNERS} == {
        "claude": "helps",
        "codex": "no-difference-shown",
    }
    claude, codex = (uplift(ran, runner) for runner in RUNNERS)
    assert (claude["fixed"], claude["newlyFailing"]) == (CASES[:4], [])
    assert (codex["fixed"], codex["newlyFailing"]) == (CASES[:3], ["one-sentence"])
    assert [one["assertion"] for one in codex["inNone"]] == [
        "The timeline has the events of both logs, in the order of time"
    ]
    for found in (claude, codex):
        assert (found["arm"], found["other"], found["complete"]) == ("with_skill", "without_skill", True)
        low, high = found["interval"]["low"], found["interval"]["high"]
        assert low < found["points"] < high
        # To read the skill takes a round of the model.
        assert 1 < found["tokens"]["ratio"] < 2
        assert 1 < found["costUsd"]["ratio"] < 2
        assert found["durationMs"]["ratio"] > 0


def sent_for(ran: SkillRun, case: dict[str, Any]) -> list[str]:
    return [text for body in ran.sent if case["prompt"] in (text := json.dumps(body, ensure_ascii=False))]


def test_what_the_agents_send_has_the_skill_in_one_arm_and_nothing_of_it_in_the_other(ran):
    for case in EVALS["evals"]:
        sent = sent_for(ran, case)
        told = [text for text in sent if DESCRIPTION in text]
        untold = [text for text in sent if DESCRIPTION not in text]
        assert len(told) >= len(MODELS), case["id"]
        assert len(untold) >= len(MODELS), case["id"]
        for trace in (SKILL, "Incident reports", "Name teams, never people"):
            assert not [text for text in untold if trace in text], (case["id"], trace)
        for question in ("evals.json", "skill_name", "expectations"):
            assert not [text for text in sent if question in text], (case["id"], question)


def files_with(folder: Path, words: str) -> list[Path]:
    texts = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return [path for path in texts if words.encode() in path.read_bytes()]


def test_workspaces_and_artifacts_of_the_arm_without_have_nothing_of_the_skill(ran):
    kept = 0
    for row in rows(ran, "otherArms"):
        for folder in (ran.directory / row["artifactDir"], ran.directory / "workspaces" / row["artifactDir"]):
            kept += folder.is_dir()
            assert files_with(folder, DESCRIPTION) == []
            assert files_with(folder, f"{SKILL}/SKILL.md") == []
    assert kept > len(rows(ran, "otherArms"))


def test_the_judge_is_not_told_the_arm_or_the_skill(ran):
    for word in (SKILL, "SKILL.md", ".agents/skills", ".claude/skills", "with_skill", "without_skill", DESCRIPTION):
        assert not [text for text in ran.asked if word in text], word


def test_comment_and_summary_say_what_was_compared_what_changed_and_what_it_costs(ran):
    summary, comment = (text.replace("\N{NO-BREAK SPACE}", " ").replace("&#95;", "_") for text in reported(ran))
    for text in (summary, comment):
        assert "with_skill has the skill as it is now, without_skill has no skill" in text
        assert "| incident-report | `claude` | with_skill against without_skill | 100% against 39% |" in text
        assert "fixed, passed in with_skill only: outage; failed-deployment; follow-ups; both-logs" in text
        assert "newly failing, passed in without_skill only: one-sentence" in text
        assert text.count("cost 1.") == len(RUNNERS)
        assert "No report was written" in text
    assert git_in(ran.root, "status", "--porcelain") == ""
