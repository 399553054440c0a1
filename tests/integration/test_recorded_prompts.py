"""Stored sessions are judged for a case only if the agent got the prompt that the case has now."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from scratch import case, config, repository, runner, skillgym, suite, written

if TYPE_CHECKING:
    from pathlib import Path

PASSED, UNDECIDED = 0, 3
REPLAY = {"recorded": {"agent": {"type": "replay", "sessions": "recordings"}}}
SAYS = "recorded with another prompt than the case has now; run the case again, or record it again"


def recorded(root: Path, files: dict[str, str], **env: str) -> Path:
    """A repository whose cases passed, with their sessions in ``run`` and in ``recordings``."""
    repository(root, {"skillgym.config.yaml": config(runner("cat {prompt_file} > out.txt; echo ok"))} | files)
    ran = skillgym("run", "--output", "run", "--record", "recordings", cwd=root, **env)
    assert ran.code == PASSED, ran.err
    return root


def again(root: Path, command: str) -> tuple[int, list[dict[str, Any]], str]:
    """What judging the stored sessions again, or replaying the recordings, gives: exit code, results, messages."""
    if command == "run":
        written(root, {"skillgym.config.yaml": config(**REPLAY)})
    named = ("run",) if command == "rejudge" else ()
    ran = skillgym(command, *named, "--output", "again", cwd=root)
    suites = json.loads((root / "again/results.json").read_text(encoding="utf-8"))["suites"]
    return ran.code, [result for one in suites for result in one["results"]], ran.err


def conversation(*turns: str) -> str:
    says = [{"type": "contains", "value": "ok"}]
    said = [{"input": turn, "assertions": says} for turn in turns]
    return json.dumps({"tests": [{"id": "talk", "mode": "conversation", "turns": said, "assertions": says}]})


@pytest.mark.parametrize("command", ["rejudge", "run"])
def test_a_session_of_another_prompt_is_not_evidence_for_the_case(tmp_path, command):
    root = recorded(tmp_path, {"bench/core.json": suite(case("a"), case("b"))})
    written(root, {"bench/core.json": suite(case("a", prompt="Delete a"), case("b"))})
    code, (a, b), err = again(root, command)
    assert (code, a["status"], a["failureClass"]["id"], b["status"]) == (UNDECIDED, "errored", "collection", "passed")
    assert a["error"]["message"].startswith(SAYS)
    assert f"    {SAYS}" in err
    assert SAYS in (root / "again/summary.md").read_text(encoding="utf-8")
    assert [(one["assertion"], one["passed"]) for one in a["outcomes"]] == [("file:out.txt exists", False)]
    assert [path.parts[-4] for path in (root / "again/core").rglob("changes")] == ["b"]


def test_judged_again_and_again_it_stays_without_evidence(tmp_path):
    root = recorded(tmp_path, {"bench/core.json": suite(case("a"))})
    written(root, {"bench/core.json": suite(case("a", prompt="Delete a"))})
    assert again(root, "rejudge")[0] == UNDECIDED
    assert skillgym("rejudge", "again", "--output", "third", cwd=root).code == UNDECIDED


@pytest.mark.parametrize(
    ("command", "turns", "status"),
    [
        pytest.param("run", ("Hi", "And now?", "Bye"), "passed", id="the same"),
        pytest.param("rejudge", ("Hi", "And then?", "Bye"), "errored", id="another second turn"),
        pytest.param("run", ("Hi", "And now?"), "errored", id="a turn less"),
    ],
)
def test_all_turns_of_a_conversation_have_to_be_the_same(tmp_path, command, turns, status):
    targets = json.dumps({"targets": [{"name": "default", "provider": "cli", "command": "echo ok > {OUTPUT_FILE}"}]})
    talk = {"bench/core.json": None, "evals/EVAL.yaml": conversation("Hi", "And now?", "Bye")}
    root = recorded(tmp_path, talk | {"targets.yaml": targets})
    written(root, {"evals/EVAL.yaml": conversation(*turns)})
    if command == "run":
        (root / "targets.yaml").unlink()
    _, (result,), err = again(root, command)
    assert (result["status"], SAYS in err) == (status, status == "errored"), err


def test_a_recording_is_played_in_another_checkout_although_the_prompt_names_a_file_by_its_path(tmp_path):
    parts = [{"type": "text", "value": "Read it"}, {"type": "file", "value": "app.md"}]
    says = [{"type": "contains", "value": "ok"}]
    tests = [{"id": "a", "input": [{"role": "user", "content": parts}], "assertions": says}]
    files = {"bench/core.json": None, "evals/EVAL.yaml": json.dumps({"tests": tests}), "evals/app.md": "An app.\n"}
    there = recorded(tmp_path / "there", files)
    report = json.loads(next((there / "recordings").rglob("report.json")).read_text(encoding="utf-8"))
    assert f"{there}/evals/app.md" in report["prompt"]
    here = repository(tmp_path / "here", files)
    (there / "recordings").rename(here / "recordings")
    code, _, err = again(here, "run")
    assert code == PASSED, err


def test_a_recording_is_played_although_a_secret_was_replaced_in_its_prompt(tmp_path):
    core = {"bench/core.json": suite(case("a", prompt="Start the postgres database"))}
    root = recorded(tmp_path, core, DB_PASSWORD="postgres")
    report = json.loads(next((root / "recordings").rglob("report.json")).read_text(encoding="utf-8"))
    assert report["prompt"] == "Start the *** database"
    code, _, err = again(root, "run")
    assert code == PASSED, err


def test_a_recording_without_a_prompt_is_played(tmp_path):
    root = recorded(tmp_path, {"bench/core.json": suite(case("a"))})
    file = next((root / "recordings").rglob("report.json"))
    report = json.loads(file.read_text(encoding="utf-8"))
    file.write_text(json.dumps(report | {"prompt": ""}), encoding="utf-8")
    written(root, {"bench/core.json": suite(case("a", prompt="Delete a"))})
    code, _, err = again(root, "run")
    assert code == PASSED, err
