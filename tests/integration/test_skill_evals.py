"""Whole runs of ``evals.json``: what is asked, what is judged without a judge, what is refused and told."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

import pytest

from judged_runs import results
from scratch import skillgym
from scripted_http import ScriptedServer
from skill_eval_runs import SUITE, asked, evals, run_evals, says, skill_repository


@dataclass(frozen=True)
class Row:
    """A suite, what the judge says (None: there is no judge), and what comes of it.

    ``status``: of each execution. ``outcomes``: of the first one with a session, as (name, passed). ``told``: what is
    in the output. ``calls``: of the judge; ``questions``: texts that it was asked. ``sessions``: that were started.
    """

    suite: str
    status: list[str]
    judge: list[str] | None = None
    outcomes: list[tuple[str, bool | None]] | None = None
    told: list[str] = field(default_factory=list)
    calls: int | None = None
    questions: list[str] = field(default_factory=list)
    sessions: int | None = None
    files: dict[str, str] = field(default_factory=dict)


TWO = evals({"expectations": ["It says 3", "It is done"]})
DECIDED = {"type": "contains", "value": "pages", "description": "names pages"}
ROWS = {
    "1 expectations": Row(
        TWO, ["passed"], ["yes yes"], [("It says 3", True), ("It is done", True)], calls=1, sessions=1
    ),
    "2 one does not hold": Row(
        TWO, ["failed"], ["yes no"], [("It says 3", True), ("It is done", False)], told=["It is done"]
    ),
    "3 no judge": Row(
        TWO, ["errored"], None, told=["2 questions need a judge: set run.judge"], sessions=0, outcomes=[]
    ),
    "4 assertions with ids": Row(
        evals({"assertions": [{"id": "a1", "text": "It says 3"}, {"id": "a2", "text": "It is done"}]}),
        ["passed"],
        ["yes yes"],
        [("a1: It says 3", True), ("a2: It is done", True)],
    ),
    "5 other texts": Row(
        evals({"assertions": [{"name": "n", "description": "It says 3"}, {"name": "m", "check": "It is done"}]}),
        ["passed"],
        ["yes yes"],
        [("n: It says 3", True), ("m: It is done", True)],
    ),
    "6 both keys": Row(
        evals({"expectations": ["It says 3", "It is done"], "assertions": ["It is  done", "It is kind"]}),
        ["passed"],
        ["yes yes yes"],
        [("It says 3", True), ("It is done", True), ("It is kind", True)],
    ),
    "7 expected output alone": Row(
        evals({"expected_output": "The number of pages"}), ["passed"], ["yes"], [("The number of pages", True)]
    ),
    "8 nothing": Row(
        evals({"id": "a"}), ["errored"], ["yes"], told=[f"{SUITE}:1:", "nothing says when the case is passed"], calls=0
    ),
    "9 deterministic": Row(evals({"assertions": [DECIDED]}), ["passed"], None, [("names pages", True)], sessions=1),
    "10 a type that is none": Row(
        evals({"assertions": [{"type": "boolean", "text": "It says 3"}]}), ["passed"], ["yes"], [("It says 3", True)]
    ),
    "11 no operand": Row(evals({"assertions": [{"type": "contains"}]}), ["errored"], None, told=["lacks value"]),
    "12 a definite no, no judge": Row(
        evals({"assertions": [DECIDED | {"value": "chapters"}, "It is done"]}),
        ["failed"],
        None,
        [("names pages", False), ("It is done", None)],
        sessions=1,
    ),
    "13 a misspelt key": Row(
        evals({"expectatoins": ["x"], "expected_output": "y"}),
        ["passed"],
        ["yes"],
        told=["unknown key 'expectatoins' of a case", "did you mean 'expectations'?"],
    ),
    "14 negated": Row(
        evals({"must_not_have": ["a table"]}),
        ["passed"],
        ["yes"],
        [("the result does not: a table", True)],
        questions=["the result does not: a table"],
    ),
    "15 a list": Row('[{"prompt": "p", "expectations": ["It says 3"]}]', ["passed"], ["yes"]),
    "15 test_cases": Row('{"test_cases": [{"prompt": "p", "expectations": ["It says 3"]}]}', ["passed"], ["yes"]),
    "15 cases": Row('{"cases": [{"prompt": "p", "expectations": ["It says 3"]}]}', ["passed"], ["yes"]),
    "16 ids": Row(
        evals({"assertions": [DECIDED]}, {"id": 1, "assertions": [DECIDED]}, {"id": 1, "assertions": [DECIDED]}),
        ["errored", "passed", "passed"],
        None,
        told=["the id '1' is already that of the case at"],
    ),
    "17 input files": Row(
        evals({"files": ["evals/files/a.csv"], "assertions": [{"type": "file_exists", "path": "evals/files/a.csv"}]}),
        ["passed"],
        None,
        files={"skills/pdf/evals/files/a.csv": "a,b"},
    ),
    "18 a file elsewhere": Row(
        evals({"files": ["../../x"], "expected_output": "y"}), ["errored"], ["yes"], told=["leads out of"], sessions=0
    ),
    "29 results are no suites": Row(
        TWO,
        ["passed"],
        ["yes yes"],
        files={
            "x-workspace/iteration-1/eval-0/eval_metadata.json": TWO,
            "x-workspace/iteration-1/eval-0/grading.json": TWO,
            "x-workspace/evals.json": TWO,
        },
    ),
    "30 no evidence, twice": Row(
        TWO, ["failed"], ["yes bare", "-2 bare"], [("It says 3", True), ("It is done", False)], calls=2
    ),
    "no evidence at first": Row(
        TWO, ["passed"], ["yes bare", "-2 yes"], [("It says 3", True), ("It is done", True)], calls=2
    ),
    "left out": Row(TWO, ["errored"], ["yes left-out"], [("It says 3", True), ("It is done", None)]),
    "left out, and a no": Row(TWO, ["failed"], ["no left-out"], [("It says 3", False), ("It is done", None)]),
    "in doubt": Row(TWO, ["failed"], ["yes null"], [("It says 3", True), ("It is done", False)]),
    "advisory": Row(
        evals({"assertions": ["It says 3", {"text": "It is kind", "advisory": True}]}),
        ["passed"],
        ["yes no"],
        [("It says 3", True), ("It is kind (advisory)", False)],
    ),
    "advisory, and nobody can tell": Row(
        evals({"assertions": ["It says 3", {"text": "It is kind", "required": False}]}),
        ["passed"],
        ["yes left-out"],
        [("It says 3", True), ("It is kind (advisory)", None)],
    ),
    "all of it is advisory": Row(
        evals({"assertions": [{"text": "a", "advisory": True}]}), ["errored"], ["yes"], told=["are advisory"], calls=0
    ),
    "a share": Row(evals({"expectations": ["a", "b", "c"]}, threshold=0.6), ["passed"], ["yes no yes"]),
    "less than the share": Row(evals({"expectations": ["a", "b", "c"]}, threshold=0.6), ["failed"], ["yes no no"]),
    "a share that may be reached": Row(
        evals({"expectations": ["a", "b", "c"]}, threshold=0.6), ["errored"], ["yes no left-out"]
    ),
    "a share out of reach": Row(
        evals({"expectations": ["a", "b", "c"]}, threshold=0.6), ["failed"], ["no no left-out"]
    ),
    "conversations": Row(
        evals({"turns": ["a", "b"], "expected_output": "y"}), ["errored"], ["yes"], told=["conversations"], calls=0
    ),
    "many questions": Row(
        evals({"expectations": [f"number {number}" for number in range(21)]}),
        ["passed"],
        [" ".join(["yes"] * 20), "-21 yes"],
        calls=2,
    ),
}


def replies(judge: list[str]) -> list[Any]:
    """``yes no``: the first two questions; ``-21 yes``: question 21."""
    made = []
    for words in judge:
        first, _, rest = words.partition(" ") if words.startswith("-") else ("-1", "", words)
        made.append(says(rest, int(first[1:])))
    return made


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_acceptance(tmp_path, row):
    folder = skill_repository(tmp_path, row.suite, judge=row.judge is not None, **row.files)
    with ScriptedServer(*replies(row.judge or [])) as server:
        ran = run_evals(folder, server)
    found = results(tmp_path)
    assert [one["status"] for one in found] == row.status, ran.err
    begun = next((one for one in found if one["attempts"]), found[0])
    if row.outcomes is not None:
        assert [(one["assertion"], one["passed"]) for one in begun["outcomes"]] == row.outcomes
    for text in row.told:
        assert text in ran.out + ran.err
    if row.calls is not None:
        assert len(server.requests) == row.calls
    if row.sessions is not None:
        assert sum(len(one["attempts"]) for one in found) == row.sessions
    for question in row.questions:
        assert any(question in text for text in asked(server))


def test_each_answer_has_its_evidence_in_results_junit_and_comment(tmp_path):
    folder = skill_repository(tmp_path, TWO)
    with ScriptedServer(says("yes no")) as server:
        run_evals(folder, server)
    (result,) = results(tmp_path)
    assert [one["evidence"] for one in result["outcomes"]] == [
        "the message says: There are 3 pages",
        "nothing of the kind is there",
    ]
    for name in ("junit.xml", "summary.md"):
        text = (tmp_path / "out" / name).read_text()
        assert "It is done" in text
        assert "nothing of the kind is there" in text
    junit = (tmp_path / "out/junit.xml").read_text()
    assert 'name="skillgym.question" value="passed: It says 3"' in junit
    assert 'name="skillgym.question" value="failed: It is done"' in junit


def test_the_judge_sees_task_answer_files_and_actions_and_neither_skill_nor_hidden_file(tmp_path):
    events = [
        {"type": "command", "command": "cat .agents/skills/pdf/SKILL.md", "exitCode": 0},
        {"type": "command", "command": "make pages", "exitCode": 2},
        {"type": "session", "finalOutput": "There are 3 pages."},
    ]
    lines = " ".join(f"'{json.dumps(event)}'" for event in events)
    agent = f"echo made > out.txt; printf '\\0\\1\\2' > raw.bin; printf '%s\\n' {lines}"
    suite = evals({"expected_output": "A count", "expectations": ["It says 3"], "files": ["a.csv"]})
    folder = skill_repository(tmp_path, suite, agent=agent, **{"skills/pdf/a.csv": "secret input"})
    with ScriptedServer(says("yes")) as server:
        run_evals(folder, server)
    (prompt,) = asked(server)
    assert "Count the pages\n\nInput files: a.csv" in prompt
    assert "What its author expects of a good result:\nA count" in prompt
    assert "command (exit code 2): make pages" in prompt
    assert "out.txt (created by the agent)\n\nmade" in prompt
    assert "raw.bin: created, 3 bytes" in prompt
    assert "- [q1] It says 3" in prompt
    assert "skills/pdf" not in prompt
    assert "secret input" not in prompt


def test_the_workspace_has_the_input_files_and_the_prompt_names_them(tmp_path):
    agent = (
        'find . -type f -not -path "./.git/*" | sort | tr "\\n" " " > found.txt; git log --oneline | wc -l > log.txt; '
    )
    agent += """printf '%s\\n' '{"type": "session", "finalOutput": "ok"}'"""
    checks = [
        {"type": "contains", "path": "found.txt", "value": "./data/a.csv ./data/sub/b.txt"},
        {"type": "not_contains", "path": "found.txt", "value": "evals"},
        {"type": "contains", "path": "found.txt", "value": "./new.txt"},
        {"type": "contains", "path": "new.txt", "value": "written here"},
        {"type": "contains", "path": "log.txt", "value": "1"},
    ]
    files = ["./data/", {"path": "new.txt", "content": "written here", "purpose": "to be read"}]
    folder = skill_repository(
        tmp_path,
        evals({"files": files, "assertions": checks}),
        judge=False,
        agent=agent,
        **{"skills/pdf/data/a.csv": "1", "skills/pdf/data/sub/b.txt": "2"},
    )
    with ScriptedServer() as server:
        ran = run_evals(folder, server)
    (result,) = results(tmp_path)
    assert result["status"] == "passed", ran.out
    assert result["prompt"] == "Count the pages\n\nInput files: data, new.txt"


def test_check_warns_of_questions_without_a_judge_and_names_the_skill(tmp_path):
    folder = skill_repository(tmp_path, evals({"expectations": ["a"]}, {"assertions": [DECIDED, "b"]}), judge=False)
    ran = skillgym("check", cwd=folder)
    assert ran.code == 0
    assert f"{SUITE}: skill-evals of the skill pdf, 2 cases" in ran.out
    assert "2 questions need a judge: set run.judge; 1 case will not be run without it" in ran.err


def test_list_tells_the_skill_and_how_many_questions_need_a_judge(tmp_path):
    suite = evals({"id": "a", "name": "pages", "expectations": ["a", "b"], "assertions": [DECIDED]})
    folder = skill_repository(tmp_path, suite, judge=False)
    shown = skillgym("list", "--arms", "with", cwd=folder, COLUMNS="200").out
    assert "a (pages)" in shown
    assert "3, 2 need a judge" in shown
    (row,) = json.loads(skillgym("list", "--arms", "with", "--json", cwd=folder).out)
    assert (row["title"], row["skills"], row["assertions"], row["questions"]) == ("pages", ["pdf"], 3, 2)


def test_format_agentv_reads_evals_json_as_before(tmp_path):
    folder = skill_repository(tmp_path, evals({"id": 1, "expected_output": "x", "assertions": ["It says 3"]}))
    ran = skillgym("list", "--format", "agentv", "--json", cwd=folder)
    assert [row["format"] for row in json.loads(ran.out)] == ["agentv"]


def test_rejudge_asks_the_questions_again(tmp_path):
    folder = skill_repository(tmp_path, TWO)
    with ScriptedServer(says("yes yes"), says("yes no")) as server:
        run_evals(folder, server)
        ran = run_evals(folder, server, "rejudge", "out", "--output", "again")
    assert [results(tmp_path, name)[0]["status"] for name in ("out", "again")] == ["passed", "failed"], ran.err
    first, second = (re.sub(r"\b[0-9a-f]{16}\b", "MARK", prompt) for prompt in asked(server))
    assert first == second
    assert "out.txt (created by the agent)\n\nmade" in first


def test_several_sessions_at_once_each_ask_their_own_questions(tmp_path):
    suite = evals(*[{"id": f"c{number}", "expectations": [f"number {number}"]} for number in range(4)])
    folder = skill_repository(tmp_path, suite)
    with ScriptedServer(*[says("yes")] * 8) as server:
        ran = run_evals(folder, server, "run", "--arms", "with", "--output", "out", "--jobs", "2", "--repeat", "2")
    assert ran.code == 0, ran.err
    prompts = asked(server)
    assert sorted(prompt.rpartition("[q1] ")[2] for prompt in prompts) == sorted([f"number {n}" for n in range(4)] * 2)
