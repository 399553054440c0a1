"""AgentV's graders that are programs: their stdin, what their answers mean, and what becomes of bad ones."""

from __future__ import annotations

import json
import re
import sys
from typing import TYPE_CHECKING

import psutil
import pytest

from agentv_context import HERE, call, entry_context, fake_context, real_processes, said
from scratch import written
from sessions import capture_of
from skillgym_action.model.errors import SuiteError
from skillgym_action.suites.agentv.assertions import assertion_of, assertions_of
from skillgym_action.suites.agentv.grader_context import Task
from skillgym_action.suites.agentv.program_graders import program_grade
from table_rows import each_row

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillgym_action.system.processes.launcher import ProcessLauncher


@pytest.fixture(scope="module")
def processes() -> Iterator[ProcessLauncher]:
    with real_processes() as opened:
        yield opened


@pytest.fixture
def context(tmp_path, processes):
    return fake_context(tmp_path, processes)


def judged(entry, context, root, **settings):
    (outcome,) = assertion_of(entry, entry_context(root / "suite", **settings)).judge(context)
    return outcome


def grader(script, **more):
    return {"type": "code-grader", "command": ["sh", "-c", script], **more}


def python(script, **more):
    return {"type": "code-grader", "command": [sys.executable, "-c", script], **more}


def printing(text, code=0, complaint=""):
    """A grader that prints a text."""
    return python(f"import sys; sys.stdout.write({text!r}); sys.stderr.write({complaint!r}); sys.exit({code})")


# --- answers ----------------------------------------------------------------------------------------

CRASH = "Traceback (most recent call last):\n  File 'g.py', line 1, in <module>\nKeyError: 'answer'\n"
NODE_CRASH = "file:///g.mjs:1\nthrow new Error('no')\n\nError: no\n    at file:///g.mjs:1:7\n\nNode.js v20.20.0\n"
UNITTEST = (
    "FAIL: test_a\nTraceback (most recent call last):\n  File 'a.py'\nAssertionError: 1 != 2\n\nFAILED (failures=1)\n"
)
ASSERTIONS = [{"text": "a", "passed": True}, {"text": "b", "passed": False, "evidence": "none"}, {"text": "c"}]
ANSWERS = [
    pytest.param('{"score": 0.75}', 0, "", 0.75, "the grader says 0.75", id="a score"),
    pytest.param('{"score": 1}', 0, "a warning", 1, "the grader says 1", id="a score, whatever is on stderr"),
    pytest.param(
        json.dumps({"score": 0.5, "assertions": ASSERTIONS}),
        0,
        "",
        0.5,
        "1 of 3 passed; b; c",
        id="a score, not what the assertions come to",
    ),
    pytest.param(
        json.dumps({"assertions": ASSERTIONS}), 0, "", 0.3333, "1 of 3 passed; b; c", id="assertions without a score"
    ),
    pytest.param(
        '{"score": 0, "assertions": [{"text": "a", "passed": 1}]}',
        0,
        "",
        1,
        "a",
        id="D18: a score left out, which is written as 0",
    ),
    pytest.param(
        '{"score": 0, "assertions": [{"text": "a"}, {"text": "b", "passed": true}]}',
        0,
        "",
        0,
        "1 of 2 passed; a",
        id="a score of 0 that is meant",
    ),
    pytest.param(
        '{"score": 0.25, "verdict": "pass", "hits": ["x"]}',
        0,
        "",
        0.25,
        "the grader says 0.25",
        id="old keys are ignored",
    ),
    pytest.param("all fine", 0, "", 1, "all fine", id="a text"),
    pytest.param("", 0, "", 1, "exited 0", id="nothing"),
    pytest.param("0.4", 0, "", 0.4, "the grader says 0.4", id="D15: a number"),
    pytest.param("false", 0, "", 0, "the grader says false", id="D15: false"),
    pytest.param("true\n", 0, "", 1, "the grader says true", id="D15: true"),
    pytest.param('loading\n{"score": 0.25}', 0, "", 0.25, "the grader says 0.25", id="D15: logs, then JSON"),
    pytest.param(
        '{"level": "info"}\n{\n  "score": 0.5\n}\n',
        0,
        "",
        0.5,
        "the grader says 0.5",
        id="D15: logs in JSON, then JSON on several lines",
    ),
    pytest.param('done\n{"level": "info"}', 0, "", 1, '{"level": "info"}', id="logs in JSON are a text"),
    pytest.param("2 missing", 1, "", 0, "exited 1: 2 missing", id="no, with a text"),
    pytest.param("", 3, "", 0, "exited 3: the grader rejects the session", id="no, without a word"),
    pytest.param("", 1, "expected 1, got 2", 0, "exited 1: expected 1, got 2", id="no, as test runners say it"),
    pytest.param("", 1, UNITTEST, 0, "exited 1: FAILED (failures=1)", id="no, with tracebacks of tests"),
]


@pytest.mark.parametrize(("stdout", "code", "stderr", "score", "explanation"), ANSWERS)
def test_what_a_program_says(context, stdout, code, stderr, score, explanation):
    (outcome,) = assertion_of(printing(stdout, code, stderr), entry_context(context.logs)).judge(context)
    assert (round(outcome.score, 4), outcome.passed, outcome.trouble) == (score, score >= 0.8, None)
    assert outcome.explanation == explanation


NOT_SCORES = (
    ("above 1", '{"score": 12}', "score is 12, and must be a number from 0 to 1"),
    ("below 0", '{"score": -0.5}', "score is -0.5, and must be a number from 0 to 1"),
    ("NaN", '{"score": NaN}', "score is nan, and must be a number from 0 to 1"),
    ("without end", '{"score": 1e999}', "score is inf, and must be a number from 0 to 1"),
    (
        "in quotes",
        '{"score": "0.5", "assertions": [{"text": "a", "passed": 1}]}',
        "score is '0.5', not a number from 0 to 1",
    ),
    ("a boolean", '{"score": true}', "score is true, not a number from 0 to 1"),
    ("twice", '{"score": 0, "score": 1}', "'score' is there twice"),
    ("above 1, with a decision", '{"pass": true, "score": 12}', "score is 12, and must be a number from 0 to 1"),
    ("a decision in quotes", '{"pass": "false", "score": 1}', "pass is neither true nor false"),
    (
        "the decision of a check in quotes",
        '{"score": 0, "assertions": [{"text": "a", "passed": "false"}]}',
        "passed of a check is neither true nor false",
    ),
    (
        "nothing",
        '{"assertions": [{"passed": true}, "b", 7]}',
        "its answer has neither a usable score nor checks (assertions, checks, score)",
    ),
    ("an empty object", "{}", "its answer has neither a usable score nor checks (assertions, checks, score)"),
    ("a list", "[1, 2]", "the output is [1, 2]: neither a score nor an object with one"),
    ("a scale to 100", "42", "the output is 42, and must be a number from 0 to 1"),
    ("a long output", "x\n" * (4 * 1024**2 + 1), "it printed more than 8 MiB, with no answer at the end"),
)


@each_row((name, row) for name, *row in NOT_SCORES)
def test_a_score_that_cannot_be_used_is_the_grader_s_fault(row):
    printed, why = row
    grade = program_grade(capture_of(printed), 1)
    assert (grade.passed, grade.score, grade.explanation) == (None, 0, f"the grader failed: {why}")


def test_an_answer_at_the_end_of_a_long_output_counts():
    assert program_grade(capture_of("x\n" * (4 * 1024**2 + 1) + '{"score": 0.25}\n'), 1).score == 0.25


@each_row(
    [
        ("a score above logs", ('log\n{"score": 1}', "exited 1 although it answered")),
        ("a score in a fence", ('```json\n{"score": 0}\n```', "exited 1 although it answered")),
        ("a number", ("0.9", "exited 1 although it answered")),
    ]
)
def test_an_answer_and_an_exit_code_contradict_each_other(row):
    printed, why = row
    grade = program_grade(capture_of(printed, exit_code=1), 1)
    assert (grade.passed, grade.explanation) == (None, f"the grader failed: {why}")


@each_row([("a no", "false"), ("zero", "0"), ("words", "score: 0.2 of 0.8"), ("words of a list", "1 of 3")])
def test_a_no_and_an_exit_code_agree(printed):
    assert program_grade(capture_of(printed, exit_code=1), 1).passed is False


FAILURES = [
    pytest.param(printing('{"score": 1}', 1), "exited 1 although it answered", id="an answer, and an exit code"),
    pytest.param(printing("[", 2, "x"), "exited 2 although it answered", id="half an answer, and an exit code"),
    pytest.param(
        printing('{"score": 0, "assertions": [{"text": "Evaluation failed: no key", "passed": false}]}', 1),
        "exited 1 although it answered: Evaluation failed: no key",
        id="its own explanation",
    ),
    pytest.param(printing("", 1, CRASH), "exited 1: KeyError: 'answer'", id="a crash of Python"),
    pytest.param(printing("log", 1, NODE_CRASH), "exited 1: Node.js v20.20.0", id="a crash of Node.js"),
    pytest.param(
        printing("", 1, "error: no\n\nBun v1.2.0 (Linux x64)"), "exited 1: Bun v1.2.0 (Linux x64)", id="a crash of Bun"
    ),
    pytest.param(
        grader("nowhere-to-be-found"), "exited 127: the program was not found", id="a shell that finds nothing"
    ),
    pytest.param(grader("exit 126"), "exited 126: the program cannot be run", id="a file that is no program"),
    pytest.param(
        {"type": "code-grader", "command": ["nowhere-to-be-found"]},
        "cannot start 'nowhere-to-be-found': No such file or directory",
        id="no such program",
    ),
    pytest.param(grader("kill -9 $$"), "it was ended (signalled)", id="a signal"),
]


@pytest.mark.parametrize(("entry", "why"), FAILURES)
def test_a_program_that_fails_cannot_tell_and_its_score_is_0(context, tmp_path, entry, why):
    outcome = judged(entry, context, tmp_path)
    assert (outcome.score, outcome.passed, outcome.trouble) == (0, None, "grader")
    assert outcome.explanation == f"the grader failed: {why}"


def test_what_a_failed_program_complained_of_is_evidence(context, tmp_path):
    evidence = judged(printing("", 1, CRASH), context, tmp_path).evidence
    assert re.fullmatch(re.escape(CRASH.strip()) + r"\n\(ended after \d+\.\d s\)", evidence)
    rejected = judged(printing("2 of 3 rows", 1), context, tmp_path)
    assert rejected.passed is False
    assert re.fullmatch(r"2 of 3 rows\n\(ended after \d+\.\d s\)", rejected.evidence)


# --- how it is run ----------------------------------------------------------------------------------


@pytest.mark.timed
def test_a_program_that_does_not_end_is_ended_with_all_it_started(tmp_path, processes):
    from skillgym_action.model.session import Ending, Invocation

    script = f"sleep 300 & echo $! >{tmp_path}/pid; wait"
    invocation = Invocation(argv=("sh", "-c", script), cwd=tmp_path, timeout=0.3, stdin="x" * 1_000_000)
    capture = processes.run(invocation, stdout=tmp_path / "out", stderr=tmp_path / "err")
    grade = program_grade(capture, 0.3)
    assert (capture.ending, grade.passed, grade.score) == (Ending.TIMED_OUT, None, 0)
    assert grade.explanation == "the grader failed: timed out after 0.3 s"
    assert not psutil.pid_exists(int((tmp_path / "pid").read_text()))


@pytest.mark.parametrize(("case", "limit"), [(60.0, 300.0), (900.0, 900.0)])
def test_a_program_has_five_minutes_or_as_long_as_the_case(context, tmp_path, case, limit):
    context.timeout = case
    judged(grader("true"), context, tmp_path)
    assert context.ran[0].timeout == limit


def test_a_program_need_not_read_its_stdin(tmp_path, processes):
    context = fake_context(tmp_path, processes, "x" * 3_000_000)
    assert judged(printing('{"score": 0.5}'), context, tmp_path).score == 0.5


def test_a_program_may_read_stdin_by_its_name(context, tmp_path):
    script = "import json; print(json.dumps({'score': float(json.load(open('/dev/stdin'))['output'] == 'done')}))"
    assert judged(python(script), context, tmp_path).score == 1


def test_a_program_sees_no_secrets_and_where_it_is(context, tmp_path):
    script = (
        "import json, os; print(json.dumps({'score': 1, 'assertions': [{'text': k, 'passed': 1} for k in os.environ]}))"
    )
    outcome = judged(python(script), context, tmp_path, task=Task(folder=tmp_path / "suite/cases/a"))
    seen = {line.removeprefix("yes: ") for line in outcome.evidence.splitlines()}
    assert {"AGENTV_WORKSPACE_PATH", "AGENTV_CASE_DIR"} <= seen
    assert not {name for name in seen if "KEY" in name or "TOKEN" in name or name.startswith("GITHUB")}
    assert dict(context.ran[0].env) == {
        "AGENTV_WORKSPACE_PATH": str(tmp_path / "workspace"),
        "AGENTV_CASE_DIR": str(tmp_path / "suite/cases/a"),
    }


def test_a_program_runs_in_the_suite_s_folder(context, tmp_path):
    assert judged(grader("pwd"), context, tmp_path).explanation == str(tmp_path / "suite")
    line = {"type": "code-grader", "command": 'test -z "$X" && pwd'}
    assert judged(line, context, tmp_path).explanation == str(tmp_path / "suite")
    old = {"type": "code-grader", "script": ["pwd"]}
    assert judged(old, context, tmp_path).explanation == str(tmp_path / "suite")


def test_a_command_that_is_text_is_a_line_for_the_shell(context, tmp_path):
    line = {"type": "code-grader", "command": 'test "a  b" = "a  b" && echo \'{"score": 0.25}\''}
    assert judged(line, context, tmp_path).score == 0.25


def test_cwd_names_a_folder_where_files_are_looked_for(context, tmp_path):
    written(tmp_path, {"suite/graders/x": "", "other/deep/x": ""})
    assert judged(grader("pwd", cwd="graders"), context, tmp_path).explanation == str(tmp_path / "suite/graders")
    roots = (tmp_path / "suite", tmp_path)
    outcome = judged(grader("pwd", cwd="other/deep"), context, tmp_path, roots=roots)
    assert outcome.explanation == str(tmp_path / "other/deep")
    with pytest.raises(SuiteError, match="there is no folder 'nowhere'"):
        judged(grader("pwd", cwd="nowhere"), context, tmp_path)


FILES = [
    pytest.param({"suite/g.sh": "suite"}, "suite", id="the suite's folder"),
    pytest.param({"suite/g.sh": "suite", "suite/cases/a/g.sh": "case"}, "case", id="the case's folder comes first"),
    pytest.param({"g.sh": "root"}, "root", id="a folder above"),
]


@pytest.mark.parametrize(("files", "found"), FILES)
def test_the_command_s_files_are_looked_for(context, tmp_path, files, found):
    written(tmp_path, {name: f"echo {text} $PWD" for name, text in files.items()})
    settings = {"roots": (tmp_path,), "case_folder": tmp_path / "suite/cases/a"}
    outcome = judged({"type": "code-grader", "command": ["sh", "g.sh"]}, context, tmp_path, **settings)
    assert outcome.explanation == f"{found} {tmp_path / 'suite'}"


def test_a_command_whose_file_only_the_workspace_has_runs_there(tmp_path, processes):
    written(tmp_path, {"workspace/tests/check.sh": "pwd"})
    context = fake_context(tmp_path, processes)
    entry = {"type": "code-grader", "command": ["sh", "tests/check.sh"]}
    assert judged(entry, context, tmp_path).explanation == str(tmp_path / "workspace")


def test_a_file_that_the_agent_made_is_no_grader(context, tmp_path):
    written(tmp_path, {"workspace/tests/check.sh": "echo '{\"score\": 1}'"})
    outcome = judged({"type": "code-grader", "command": ["sh", "tests/check.sh"]}, context, tmp_path)
    assert (outcome.passed, outcome.score) == (None, 0)


WRONG = [
    pytest.param({}, "", "command is missing: ", id="no command"),
    pytest.param({"command": []}, ".command", "must be a list of a program and its arguments", id="an empty list"),
    pytest.param({"command": ["sh", " "]}, ".command", "must be a list of a program and its arguments", id="a blank"),
    pytest.param({"command": "  "}, ".command", "must be a command, not '  '", id="a blank line"),
    pytest.param(
        {"command": ["sh"], "config": 7}, ".config", "must be a mapping of keys to values, not 7", id="config"
    ),
    pytest.param(
        {"command": ["sh"], "target": "grader"},
        ".target",
        "must be true, or a mapping such as {max_calls: 10}: the judge's model is asked, not 'grader'",
        id="a target by name",
    ),
    pytest.param(
        {"command": ["sh"], "target": {"max_calls": -1}},
        ".target.max_calls",
        "must be a whole number, from 0 to 1000, not -1",
        id="fewer than no calls",
    ),
    pytest.param({"command": ["sh"], "target": {"max_cals": 1}}, ".target", "unknown key 'max_cals'", id="misspelt"),
    pytest.param(
        {"command": ["sh"], "grader_payload": "old"},
        ".grader_payload",
        "must be one of legacy, current",
        id="an unknown payload",
    ),
]


@pytest.mark.parametrize(("more", "place", "message"), WRONG)
def test_what_is_wrong_with_a_program_is_an_error_with_its_place(more, place, message):
    with pytest.raises(SuiteError) as raised:
        assertion_of({"type": "code-grader", **more}, entry_context())
    (problem,) = raised.value.problems
    assert problem.message.startswith(message)
    assert (problem.key_path, problem.location) == (f"assertions[0]{place}", HERE)


# --- stdin ------------------------------------------------------------------------------------------

TASK = Task(
    criteria="It works",
    input=({"role": "user", "content": "Fix it"},),
    expected_output=({"role": "assistant", "content": {"maxWords": 3}},),
    input_files=("/suite/a.txt",),
    metadata={"dueDate": "now", "Owner": {"fullName": "X"}},
)


def stdin_of(context, task=TASK, **more):
    """What a grader finds on its stdin."""
    assertion = assertion_of(grader("true", **more), entry_context(task=task))
    return json.loads(assertion.grader.invocation(context, 1.0).stdin)


@pytest.fixture
def worked(tmp_path, processes):
    events = (
        call("Glob", {"pattern": "*"}),
        said("I will read it"),
        call("Read", {"filePath": "a"}, output="A"),
        call("Read", {"filePath": "b"}, output="B", ms=12),
        said("done"),
    )
    return fake_context(tmp_path, processes, "done", *events, diff="diff --git a/a b/a\n")


def test_a_program_is_told_of_the_case(worked):
    payload = stdin_of(worked, maxWords=5, config={"strict": True})
    assert payload["criteria"] == "It works"
    assert payload["input"] == [{"role": "user", "content": "Fix it"}]
    assert payload["expected_output"] == [{"role": "assistant", "content": {"max_words": 3}}]
    assert payload["input_files"] == ["/suite/a.txt"]
    assert payload["metadata"] == {"due_date": "now", "Owner": {"full_name": "X"}}
    assert payload["config"] == {"max_words": 5, "strict": True}


@pytest.mark.parametrize(
    ("content", "text"),
    [
        pytest.param("Fix it", "Fix it", id="a text"),
        pytest.param({"n": [1]}, '{\n  "n": [\n    1\n  ]\n}', id="an object"),
        pytest.param([{"type": "text", "value": "a"}, {"type": "text", "value": " b"}], "a\n\nb", id="texts"),
        pytest.param([{"type": "file", "value": "a"}], [{"type": "file", "value": "a"}], id="a file stays"),
    ],
)
def test_messages_have_the_input_as_the_agent_read_it(worked, content, text):
    payload = stdin_of(worked, Task(input=({"role": "user", "content": content},)))
    assert payload["input"] == [{"role": "user", "content": content}]
    assert payload["messages"][0] == {"role": "user", "content": text}


def test_a_program_is_told_of_the_session(worked):
    payload = stdin_of(worked)
    assert payload["output"] == "done"
    assert payload["messages"] == [
        TASK.input[0],
        {
            "role": "assistant",
            "content": "I will read it",
            "tool_calls": [
                {"tool": "Glob", "input": {"pattern": "*"}},
                {"tool": "Read", "input": {"file_path": "a"}, "output": "A", "status": "ok"},
                {"tool": "Read", "input": {"file_path": "b"}, "output": "B", "status": "ok", "duration_ms": 12},
            ],
        },
        {"role": "assistant", "content": "done"},
    ]
    assert payload["trace_summary"] == {
        "event_count": 3,
        "tool_calls": {"Glob": 1, "Read": 2},
        "error_count": 0,
        "tool_durations": {"Read": [12]},
        "llm_call_count": 2,
    }
    assert payload["trace"]["messages"] == payload["messages"]
    types = ["message", "message", "tool_call", *["tool_call", "tool_result"] * 2, "message", "final_response"]
    assert [event["type"] for event in payload["trace"]["events"]] == types
    assert payload["file_changes"] == "diff --git a/a b/a\n"
    assert payload["workspace_path"] == worked.report.cwd


def test_figures_that_are_not_known_are_null(worked):
    payload = stdin_of(worked)
    figures = ("token_usage", "cost_usd", "duration_ms", "start_time", "end_time", "config")
    assert {name: payload[name] for name in figures} == dict.fromkeys(figures)
    assert "output_path" not in payload


def test_a_program_of_old_finds_messages_as_its_output(worked):
    payload = stdin_of(worked, grader_payload="legacy")
    assert payload["output"] == payload["output_messages"]
    assert (payload["answer"], payload["output_text"], payload["case_dir"]) == ("done", "done", None)
    assert payload["config"] is None
    assert not {"answer", "output_text", "output_messages", "case_dir"} & stdin_of(worked).keys()


def test_a_session_of_an_answer_alone_has_one_message(tmp_path, processes):
    payload = stdin_of(fake_context(tmp_path, processes, "done"))
    assert payload["messages"] == [TASK.input[0], {"role": "assistant", "content": "done"}]


# --- custom types, templates ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [".agentv/assertions/kind.ts", ".agentv/assertions/kind.mjs", ".agentv/graders/kind.js", ".agentv/judges/kind.mts"],
)
def test_a_type_of_the_suite_s_own_is_a_file_of_that_name(context, tmp_path, name):
    written(tmp_path, {name: ""})
    written(tmp_path, {"bin/bun": '#!/bin/sh\nprintf \'{"score": 0.5, "assertions": [{"text": "%s"}]}\' "$*"\n'})
    (tmp_path / "bin/bun").chmod(0o755)
    assertion = assertion_of({"type": "kind", "level": 3}, entry_context(tmp_path / "suite", roots=(tmp_path,)))
    invocation = assertion.grader.invocation(context, 1.0)
    assert invocation.argv == ("bun", "run", str(tmp_path / name))
    assert json.loads(invocation.stdin)["config"] == {"level": 3}
    (outcome,) = assertion.judge(context)
    assert (outcome.assertion, outcome.type) == ("kind", "kind")


TEMPLATE = "assertions:\n  - {type: contains, value: done, weight: 2}\n  - {include: more}\n"
MORE = "assertions:\n  - {type: is-json, name: json}\n"


def test_an_include_brings_in_the_assertions_of_a_template(context, tmp_path):
    written(tmp_path, {"suite/.agentv/templates/base.yaml": TEMPLATE, ".agentv/templates/more.yml": MORE})
    at = entry_context(tmp_path / "suite", roots=(tmp_path,))
    entries = [{"include": "base"}, {"type": "equals", "value": "done"}]
    assert [one.name for one in assertions_of(entries, at)] == ["contains-done", "json", "equals-done"]
    outcomes = assertion_of({"include": "base"}, at).judge(context)
    assert [(one.assertion, one.weight, one.score) for one in outcomes] == [("contains-done", 2, 1), ("json", 1, 0)]


def test_a_template_s_own_folder_is_looked_at_first(tmp_path):
    files = {"suite/a/t.yaml": "assertions: [{include: ./n.yaml}]", "suite/a/n.yaml": MORE}
    written(tmp_path, files)
    at = entry_context(tmp_path / "suite")
    assert [one.name for one in assertions_of([{"include": "./a/t.yaml"}], at)] == ["json"]


INCLUDES = [
    pytest.param({}, "there is no template 'base'", id="no such template"),
    pytest.param({"base": "assertions: [{include: base}]"}, "base includes itself", id="a circle"),
    pytest.param(
        {
            "base": "assertions: [{include: b}]",
            "b": "assertions: [{include: c}]",
            "c": "assertions: [{include: d}]",
            "d": MORE,
        },
        "more than 3 includes deep",
        id="too deep",
    ),
    pytest.param({"base": "- 1"}, "base has no list of assertions", id="no mapping"),
    pytest.param({"base": "assertions: 7"}, "base has no list of assertions", id="no list"),
    pytest.param({"base": "a: [1"}, "not YAML", id="no YAML"),
    pytest.param({"base": "assertions: [{type: contains}]"}, "value is missing", id="a wrong assertion in it"),
]


@pytest.mark.parametrize(("templates", "message"), INCLUDES)
def test_a_template_that_cannot_be_used_is_an_error(tmp_path, templates, message):
    written(tmp_path, {f"suite/.agentv/templates/{name}.yaml": text for name, text in templates.items()})
    with pytest.raises(SuiteError, match=message):
        assertion_of({"include": "base"}, entry_context(tmp_path / "suite"))


# --- composites that are decided by a program --------------------------------------------------------

MEMBERS = [{"type": "contains", "value": "done", "name": "yes"}, {"type": "is-json", "name": "no"}]


def composite(path):
    return {"type": "composite", "assertions": MEMBERS, "aggregator": {"type": "code_grader", "path": path}}


AGGREGATORS = [
    pytest.param("echo '{\"score\": 0.9}'", 0.9, True, "the aggregator says 0.9", id="a score"),
    pytest.param('echo \'{"score": 0.9, "verdict": "fail"}\'', 0.9, False, "the aggregator says 0.9", id="a verdict"),
    pytest.param(
        'echo \'{"score": 0.5, "assertions": [{"text": "x", "passed": true}]}\'', 0.5, False, "x", id="assertions"
    ),
    pytest.param('echo \'{"verdict": "pass"}\'', 1, True, "the aggregator says 1", id="a verdict alone"),
    pytest.param(
        "echo '{}'",
        0,
        None,
        "the aggregator failed: score is null, not a number from 0 to 1",
        id="no score",
    ),
    pytest.param(
        "echo '{\"score\": 90}'",
        0,
        None,
        "the aggregator failed: score is 90, and must be a number from 0 to 1",
        id="a scale to 100",
    ),
    pytest.param(
        "echo '{\"score\": 0'",
        0,
        None,
        "the aggregator failed: the output has an object that is cut off, or not JSON: '{\"score\": 0'",
        id="cut off",
    ),
    pytest.param("echo 0.9", 0, None, "the aggregator printed no JSON object", id="a number"),
    pytest.param("echo fine", 0, None, "the aggregator printed no JSON object", id="a text"),
    pytest.param("exit 3", 0, None, "the aggregator failed: exited, exit code 3", id="an exit code"),
]


@pytest.mark.parametrize(("path", "score", "passed", "explanation"), AGGREGATORS)
def test_a_program_makes_one_grade_of_several(context, tmp_path, path, score, passed, explanation):
    outcome = judged(composite(path), context, tmp_path)
    assert (outcome.score, outcome.passed, outcome.explanation) == (score, passed, explanation)


def test_that_program_is_told_the_members_grades(context, tmp_path):
    judged(composite("cat"), context, tmp_path)
    assert json.loads(context.ran[0].stdin) == {
        "results": {
            "yes": {
                "score": 1,
                "verdict": "pass",
                "assertions": [{"text": "the answer contains 'done'", "passed": True}],
                "expectedAspectCount": 1,
            },
            "no": {
                "score": 0,
                "verdict": "fail",
                "assertions": [
                    {"text": "the answer is not JSON: Expecting value: line 1 column 1 (char 0)", "passed": False}
                ],
                "expectedAspectCount": 1,
            },
        }
    }


def test_a_composite_cannot_tell_as_soon_as_a_member_cannot(context, tmp_path):
    members = [*MEMBERS, {**grader("exit 127"), "name": "broken"}]
    entry = {"type": "composite", "assertions": members, "aggregator": {"type": "weighted_average"}}
    outcome = judged(entry, context, tmp_path)
    assert (outcome.passed, outcome.score, outcome.trouble) == (None, 0, "grader")
    assert outcome.explanation == "broken: the grader failed: exited 127: the program was not found"
