"""What graders of a plugin's cases say about a session: regex, calls of tools, created files, and the judge's votes."""

from __future__ import annotations

import json

import pytest

from agentv_context import FakeContext, Judge, session
from fakes_context import context_of
from skillgym_action.model.session_report import (
    Command,
    FileRead,
    FileWrite,
    Message,
    SkillSignal,
    ToolCall,
    ToolResult,
)
from skillgym_action.suites.plugin_evals.graders import (
    CreatedFile,
    JudgedCriteria,
    RegexGrader,
    Target,
    ToolMatcher,
    ToolOrder,
    ToolUsed,
)
from skillgym_action.text.javascript.regex import compiled

BASH, LS = ToolCall(tool="Bash", args={"command": "git push"}), ToolCall(tool="Bash", args={"command": "ls"})
READ = ToolCall(tool="Read", args={"file_path": "a.txt"})
SKILL = ToolCall(tool="Skill", args={"skill": "greeting"})
TALK = [Message(role="assistant", text="Hi"), BASH, ToolResult(tool="Bash", output="pushed")]


def context(answer="Hello Bob", *events, agent="claude-code", **settings):
    return FakeContext(report=session(answer, list(events), agent=agent), **settings)


def regex(pattern, flags="", **settings):
    return RegexGrader(pattern=compiled(pattern, flags), **settings)


@pytest.mark.parametrize(
    ("grader", "passed"),
    [
        pytest.param(regex("Hello"), True, id="is there"),
        pytest.param(regex("hello"), False, id="another case of letters"),
        pytest.param(regex("hello", "i"), True, id="flags"),
        pytest.param(regex(r"^\w+ (?<name>B)ob$"), True, id="JavaScript's names of groups"),
        pytest.param(regex("Hello", wanted=False), False, id="must not be there"),
        pytest.param(regex("Bye", wanted=False), True, id="is not there"),
        pytest.param(regex("o", count=2), True, id="so often"),
        pytest.param(regex("o", count=1), False, id="more often"),
        pytest.param(regex("x", count=0), True, id="never"),
        pytest.param(regex("^H", count=1), True, id="the beginning is there once"),
        pytest.param(regex("", count=10), True, id="empty matches come to an end"),
        pytest.param(regex('"name":"Bash"', target=Target("trace")), True, id="the trace has calls"),
        pytest.param(regex('"text":"Hi"', target=Target("trace")), True, id="the trace has messages"),
        pytest.param(regex("pushed", target=Target("trace")), True, id="the trace has results"),
        pytest.param(regex("pushed"), False, id="the last message has none of it"),
    ],
)
def test_a_pattern_in_a_text(grader, passed):
    assert grader.grade(context("Hello Bob", *TALK)).passed is passed


def test_the_trace_is_a_json_message_per_line():
    lines = [json.loads(line) for line in Target("trace").text(context("", *TALK)).splitlines()]
    assert [line["message"]["content"][0]["type"] for line in lines] == ["text", "tool_use", "tool_result"]


@pytest.mark.parametrize(
    ("grader", "passed"),
    [
        pytest.param(regex("^made/b", "m", target=Target("files")), True, id="a created file"),
        pytest.param(regex("old.txt", target=Target("files")), False, id="one that was there"),
        pytest.param(regex("new", target=Target("file", "old.txt")), True, id="the content of a file"),
        pytest.param(regex("new", target=Target("file", "gone.txt")), False, id="no such file"),
        pytest.param(
            regex("new", target=Target("file", "gone.txt"), wanted=False), True, id="no such file, not wanted"
        ),
        pytest.param(regex("new", target=Target("file", "made")), None, id="a folder"),
        pytest.param(CreatedFile(path="made/*.txt"), True, id="created"),
        pytest.param(CreatedFile(path="old.txt"), False, id="not created, though it is there"),
        pytest.param(CreatedFile(path="**/*.csv", exists=False), True, id="not created, as it should"),
        pytest.param(CreatedFile(path="made/b.txt", exists=False), False, id="created, as it should not"),
    ],
)
def test_files(tmp_path, grader, passed):
    files = context_of(tmp_path, {"old.txt": "old"}, {"old.txt": "new", "made/b.txt": "b"}).files
    assert grader.grade(context(files=files)).passed is passed


GIT = ToolMatcher("Bash", compiled("git .*push"))


@pytest.mark.parametrize(
    ("grader", "events", "passed"),
    [
        pytest.param(ToolUsed(matcher=ToolMatcher("Bash")), [BASH], True, id="called"),
        pytest.param(ToolUsed(matcher=ToolMatcher("Bash")), [READ], False, id="not called"),
        pytest.param(ToolUsed(matcher=ToolMatcher("Bash"), least=2, most=2), [BASH, LS], True, id="in range"),
        pytest.param(ToolUsed(matcher=ToolMatcher("Bash"), most=1), [BASH, LS], False, id="too often"),
        pytest.param(ToolUsed(matcher=ToolMatcher("Bash"), least=0, most=0), [READ], True, id="never"),
        pytest.param(ToolUsed(matcher=GIT), [LS], False, id="with another input"),
        pytest.param(ToolUsed(matcher=GIT), [BASH], True, id="with that input"),
        pytest.param(ToolUsed(matcher=ToolMatcher("mcp__x__y")), [BASH], False, id="another tool of Claude Code"),
        pytest.param(ToolOrder(before=ToolMatcher("Read"), after=ToolMatcher("Bash")), [READ, BASH], True, id="order"),
        pytest.param(
            ToolOrder(before=ToolMatcher("Read"), after=ToolMatcher("Bash")), [BASH, READ], False, id="reverse"
        ),
        pytest.param(ToolOrder(before=ToolMatcher("Read"), after=ToolMatcher("Bash")), [READ], False, id="one only"),
        pytest.param(
            ToolOrder(before=ToolMatcher("Read"), after=GIT), [LS, READ, BASH], True, id="the first that matches counts"
        ),
    ],
)
def test_calls_of_tools(grader, events, passed):
    assert grader.grade(context("", *events)).passed is passed


@pytest.mark.parametrize(
    ("tool", "events", "passed"),
    [
        pytest.param("Bash", [Command(command="ls")], True, id="a command"),
        pytest.param("Read", [FileRead(path="/workspace/a")], True, id="a file that was read"),
        pytest.param("Write", [FileWrite(path="/workspace/a")], True, id="a file that was written"),
        pytest.param("Edit", [FileWrite(path="/workspace/a")], True, id="a file that was changed"),
        pytest.param("Skill", [SkillSignal(skill="greeting", signal="tool")], True, id="a skill that was loaded"),
        pytest.param("Skill", [FileRead(path="/w/.agents/skills/greeting/SKILL.md")], True, id="a skill that was read"),
        pytest.param("Skill", [Message(role="assistant", text="the greeting skill")], False, id="a mention"),
        pytest.param("Bash", [FileRead(path="/workspace/a")], False, id="something else"),
        pytest.param("WebFetch", [Command(command="curl x")], None, id="a tool that only Claude Code has"),
    ],
)
def test_on_other_agents_events_stand_for_tools(tool, events, passed):
    grade = ToolUsed(matcher=ToolMatcher(tool)).grade(context("", *events, agent="codex"))
    assert grade.passed is passed
    if passed is None:
        assert grade.trouble == "codex has no tool WebFetch; known of all agents: Skill, Bash, Read, Write, Edit"


def answers(*words):
    return Judge(tuple(json.dumps({"verdict": word, "reason": "r"}) if word else "no idea" for word in words))


@pytest.mark.parametrize(
    ("words", "passed"),
    [
        pytest.param(["PASS", "PASS", "PASS"], True, id="all"),
        pytest.param(["PASS", "FAIL", "PASS"], True, id="two of three"),
        pytest.param(["FAIL", "FAIL", "PASS"], False, id="one of three"),
    ],
)
def test_the_judge_says_pass_in_two_of_three_votes(words, passed):
    asked = context(judge=answers(*words))
    grade = JudgedCriteria(criteria="It greets.").grade(asked)
    assert (grade.passed, len(asked.judge.asked)) == (passed, 3)
    assert "It greets." in asked.judge.asked[0]


def test_an_answer_without_a_verdict_decides_nothing():
    grade = JudgedCriteria(criteria="It greets.").grade(context(judge=answers("", "", "")))
    assert grade.passed is None
    assert "the judge gave no answer" in grade.explanation


def test_without_a_judge_the_message_says_what_is_missing():
    grade = JudgedCriteria(criteria="It greets.").grade(context())
    assert (grade.passed, grade.explanation) == (None, "1 question needs a judge: set run.judge")


def test_the_judge_compares_with_an_earlier_answer():
    asked = context(judge=answers("PASS", "PASS", "PASS"))
    assert JudgedCriteria(criteria="Brevity.", baseline="Good day to you, Bob").grade(asked).passed is True
    assert "Good day to you, Bob" in asked.judge.asked[0]
    assert "at least as good as the earlier answer" in asked.judge.asked[0]


def test_the_judge_is_not_asked_about_a_file_that_is_not_there(tmp_path):
    files = context_of(tmp_path, {}).files
    asked = context(files=files, judge=answers("PASS"))
    assert JudgedCriteria(criteria="x", focus=Target("file", "gone.md")).grade(asked).passed is False
    assert asked.judge.asked == []
