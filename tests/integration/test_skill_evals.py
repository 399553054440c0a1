"""Whole runs of ``evals.json``: questions to the judge, assertions without it, refused cases, messages."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

import pytest

from judged_runs import results
from scratch import config, repository, skillgym
from scripted_http import ScriptedServer
from skill_eval_runs import SUITE, asked, evals, run_evals, says, skill_repository


@dataclass(frozen=True)
class Row:
    """A suite, the replies of the judge (None: there is no judge), and the expected results.

    ``status``: of each execution. ``outcomes``: of the first one with a session, as (name, passed). ``shown``: parts
    of the output. ``calls``: of the judge; ``questions``: texts that it was asked. ``sessions``: that were started.
    """

    suite: str
    status: list[str]
    judge: list[str] | None = None
    outcomes: list[tuple[str, bool | None]] | None = None
    shown: list[str] = field(default_factory=list)
    calls: int | None = None
    questions: list[str] = field(default_factory=list)
    sessions: int | None = None
    files: dict[str, str] = field(default_factory=dict)


TWO = evals({"expectations": ["It says 3", "It is done"]})
DECIDED = {"type": "contains", "value": "pages", "description": "names pages"}
ROWS = {
    "expectations that hold": Row(
        TWO, ["passed"], ["yes yes"], [("It says 3", True), ("It is done", True)], calls=1, sessions=1
    ),
    "an expectation that does not hold": Row(
        TWO, ["failed"], ["yes no"], [("It says 3", True), ("It is done", False)], shown=["It is done"]
    ),
    "nothing to decide": Row(
        evals({"id": "a"}),
        ["errored"],
        ["yes"],
        shown=[f"{SUITE}:1:", "nothing says when the case is passed"],
        calls=0,
    ),
    "an assertion that needs no judge": Row(
        evals({"assertions": [DECIDED]}), ["passed"], None, [("names pages", True)], sessions=1
    ),
    "a misspelt key": Row(
        evals({"expectatoins": ["x"], "expected_output": "y"}),
        ["passed"],
        ["yes"],
        shown=["unknown key 'expectatoins' of a case", "did you mean 'expectations'?"],
    ),
    "must_not_have": Row(
        evals({"must_not_have": ["a table"]}),
        ["passed"],
        ["yes"],
        [("the result does not: a table", True)],
        questions=["the result does not: a table"],
    ),
    "results are no suites": Row(
        TWO,
        ["passed"],
        ["yes yes"],
        files={
            "x-workspace/iteration-1/eval-0/eval_metadata.json": TWO,
            "x-workspace/iteration-1/eval-0/grading.json": TWO,
            "x-workspace/evals.json": TWO,
        },
    ),
    "no evidence, twice": Row(
        TWO, ["failed"], ["yes bare", "-2 bare"], [("It says 3", True), ("It is done", False)], calls=2
    ),
    "left out": Row(TWO, ["errored"], ["yes left-out"], [("It says 3", True), ("It is done", None)]),
    "advisory": Row(
        evals({"assertions": ["It says 3", {"text": "It is kind", "advisory": True}]}),
        ["passed"],
        ["yes no"],
        [("It says 3", True), ("It is kind (advisory)", False)],
    ),
    "a share that may be reached": Row(
        evals({"expectations": ["a", "b", "c"]}, threshold=0.6), ["errored"], ["yes no left-out"]
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
def test_verdicts(tmp_path, row):
    folder = skill_repository(tmp_path, row.suite, judge=row.judge is not None, **row.files)
    with ScriptedServer(*replies(row.judge or [])) as server:
        ran = run_evals(folder, server)
    found = results(tmp_path)
    assert [one["status"] for one in found] == row.status, ran.err
    begun = next((one for one in found if one["attempts"]), found[0])
    if row.outcomes is not None:
        assert [(one["assertion"], one["passed"]) for one in begun["outcomes"]] == row.outcomes
    for text in row.shown:
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


def test_a_case_that_nothing_decides_is_errored_at_its_line(tmp_path):
    suite = (
        '{"evals": [\n  {"id": "a", "prompt": "p", "expectations": ["It says 3"]},\n  {"id": "b", "prompt": "p"}\n]}'
    )
    folder = skill_repository(tmp_path, suite)
    with ScriptedServer(says("yes")) as server:
        ran = run_evals(folder, server)
    found = {one["caseId"]: one for one in results(tmp_path)}
    assert {name: one["status"] for name, one in found.items()} == {"a": "passed", "b": "errored"}
    assert found["b"]["failureClass"]["id"] == "suite-invalid"
    assert f"{SUITE}:3:3: evals[1]: nothing says when the case is passed" in ran.err


def test_a_case_without_an_id_is_called_by_its_position_and_a_repeated_id_costs_the_second_case(tmp_path):
    cases = [{"assertions": [DECIDED]}, {"id": 1, "assertions": [DECIDED]}, {"id": 1, "expectations": ["a"]}]
    folder = skill_repository(tmp_path, evals(*cases), judge=False)
    with ScriptedServer() as server:
        run_evals(folder, server)
    found = [(one["caseId"], one["status"], len(one["attempts"])) for one in results(tmp_path)]
    assert sorted(found) == [("1", "errored", 0), ("1", "passed", 1), ("eval-1", "passed", 1)]


@pytest.mark.parametrize(("agent", "folder"), [("claude-code", ".claude/skills/b"), ("codex", ".agents/skills/b")])
def test_the_skill_is_where_the_agent_looks_under_the_name_of_its_frontmatter_without_its_evals(
    tmp_path, agent, folder
):
    """The agent is a program that lists its workspace in place of the CLI."""
    program = tmp_path / "agent"
    program.write_text(f"#!/bin/sh\nfind . -type f -not -path './.git/*' | sort >> {tmp_path}/listing\n")
    program.chmod(0o755)
    files = {
        "bench/core.json": None,
        "a/SKILL.md": "---\nname: b\ndescription: Does b.\n---\n",
        "a/scripts/run.sh": "echo b\n",
        "a/evals/answers.md": "3\n",
        "a/evals/evals.json": evals({"assertions": [DECIDED]}, skill_name="b"),
        "skillgym.config.yaml": config({"agent": {"type": agent, "command": str(program)}}),
    }
    root = repository(tmp_path / "r", files, git=True)  # type: ignore[arg-type]
    skillgym("run", "--output", "out", "--arms", "with", cwd=root)
    listed = (tmp_path / "listing").read_text().split()
    assert sorted(set(listed)) == [f"./{folder}/SKILL.md", f"./{folder}/scripts/run.sh"]


def test_questions_without_a_judge_are_an_error_before_the_run(tmp_path):
    folder = skill_repository(tmp_path, evals({"expectations": ["a"]}, {"assertions": [DECIDED, "b"]}), judge=False)
    ran = skillgym("check", cwd=folder)
    assert ran.code == 2
    assert f"{SUITE}: skill-evals of the skill pdf, 2 cases\n" in ran.out
    assert "2 questions need a judge: set run.judge (2 cases)" in ran.err
    ran = skillgym("run", "--output", "out", "--arms", "with", cwd=folder)
    assert (ran.code, "2 questions need a judge: set run.judge (2 cases)" in ran.err) == (2, True)
    ran = skillgym("run", "--output", "out", "--dry-run", "--arms", "with", cwd=folder)
    assert ran.code == 2


def test_list_shows_the_skill_and_how_many_questions_need_a_judge(tmp_path):
    suite = evals({"id": "a", "name": "pages", "expectations": ["a", "b"], "assertions": [DECIDED]})
    folder = skill_repository(tmp_path, suite, judge=False)
    shown = skillgym("list", "--arms", "with", cwd=folder, COLUMNS="200").out
    assert "a (pages)" in shown
    assert "3, 2 need a judge" in shown
    (row,) = json.loads(skillgym("list", "--arms", "with", "--json", cwd=folder).out)["executions"]
    assert (row["title"], row["skills"], row["assertions"], row["questions"]) == ("pages", ["pdf"], 3, 2)


def test_format_agentv_reads_evals_json_as_before(tmp_path):
    folder = skill_repository(tmp_path, evals({"id": 1, "expected_output": "x", "assertions": ["It says 3"]}))
    ran = skillgym("list", "--format", "agentv", "--json", cwd=folder)
    assert [row["format"] for row in json.loads(ran.out)["executions"]] == ["agentv"]


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
