"""Suite programs in real child processes: what they do to themselves costs one execution."""

from __future__ import annotations

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from textwrap import dedent

import pytest

from skillgym_action.model.errors import Location, SuiteError
from skillgym_action.model.json_codec import to_json
from skillgym_action.model.session_report import Message, Usage
from skillgym_action.model.verdicts import FailureClass
from suite_programs import one_case, session_report, suite_hosts, written
from waiting import LIMIT, until


def judged(folder, body, report=None, **settings):
    """The outcomes of the case ``it``."""
    file = written(folder, body)
    with suite_hosts(folder, **settings) as hosts:
        return hosts.judge(file, "it", report or session_report())


def only(outcomes):
    (outcome,) = outcomes
    return outcome


def refused(folder, file, **settings):
    """The problem that a file is refused with."""
    with suite_hosts(folder, **settings) as hosts, pytest.raises(SuiteError) as caught:
        hosts.load(file)
    (problem,) = caught.value.problems
    return problem


def log(folder):
    return "".join(file.read_text(encoding="utf-8") for file in sorted((folder / "logs").iterdir()))


def at(line, column=None):
    return Location(path="bench/demo_suite.py", line=line, column=column)


# --- verdicts ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "check",
    [
        pytest.param("def check(report, ctx): assert ctx.final_output() == 'ready'", id="sync"),
        pytest.param("async def check(report, ctx): assert report.final_output == 'ready'", id="async"),
        pytest.param("def check(report): assert report.runner.agent.type == 'claude-code'", id="report only"),
        pytest.param("def check(): pass", id="no argument"),
        pytest.param("check = lambda *args: expect.equal(len(args), 2)", id="any arguments"),
        pytest.param("class C:\n  def __call__(self, report, ctx): pass\ncheck = C()", id="an object"),
        pytest.param(
            "def check(report, ctx): assert report.events[1].args == {'filePath': 'a.txt', 'line_no': None}", id="args"
        ),
        pytest.param("def check(report, ctx): assert report.usage.input_tokens is None", id="unknown is None"),
    ],
)
def test_a_check_that_returns_passes(tmp_path, check):
    outcome = only(judged(tmp_path, f"{check}\nsuite = [Case('it', prompt='p', check=check)]"))
    assert (outcome.passed, outcome.type, outcome.trouble) == (True, "check", None)


@pytest.mark.parametrize(
    ("check", "line", "column"),
    [
        pytest.param("def check(report, ctx): return 'x' in ctx.final_output()", 2, None, id="sync"),
        pytest.param("async def check(report, ctx): return False", 2, None, id="async"),
        pytest.param("check = lambda report, ctx: expect.classify('own', lambda: False)", 2, None, id="lambda"),
        pytest.param(
            "class C:\n  def __call__(self, report, ctx): return False\ncheck = C()", 5, 10, id="an object, at its case"
        ),
    ],
)
def test_a_check_that_returns_false_is_no_verdict(tmp_path, check, line, column):
    outcome = only(judged(tmp_path, f"{check}\nsuite = [Case('it', prompt='p', check=check)]"))
    assert (outcome.passed, outcome.trouble) == (None, "assert-hook")
    assert outcome.explanation == "the check returned False, which is not a result; use `assert`"
    assert outcome.location == at(line, column)


def test_a_check_that_returns_true_is_no_verdict_either(tmp_path):
    outcome = only(judged(tmp_path, one_case("expect.soft.fail('soft')\nreturn True")))
    assert (outcome.passed, outcome.trouble) == (None, "assert-hook")
    assert outcome.explanation == (
        "the check returned True, which is not a result; use `assert`\n"
        "1 assertion failure collected:\n1. bench/demo_suite.py:5: soft"
    )


@pytest.mark.parametrize(
    ("returned", "explanation"),
    [
        pytest.param("1", "the check returned 1, which has no effect; use `assert`", id="a number"),
        pytest.param("[None, 'x']", "the check returned [None, 'x'], which has no effect; use `assert`", id="a list"),
        pytest.param("(expect.ok(1), expect.ok(2))", "the check returned", id="what expectations return"),
        pytest.param("None", "the check returned", id="None"),
    ],
)
def test_other_values_that_a_check_returns_are_noted(tmp_path, returned, explanation):
    outcome = only(judged(tmp_path, one_case(f"return {returned}")))
    assert (outcome.passed, outcome.explanation) == (True, explanation)


def test_a_failed_assert_is_a_verdict_with_line_and_values(tmp_path):
    outcome = only(judged(tmp_path, one_case("answer = ctx.final_output()\nassert answer == 'done'")))
    assert (outcome.passed, outcome.trouble) == (False, None)
    assert outcome.explanation == "assert answer == 'done'\n  answer: 'ready'"
    assert outcome.location == at(6, 5)


def test_a_failed_async_check_points_at_its_own_line(tmp_path):
    body = "async def check(report, ctx):\n    expect.ok('')\nsuite = {'it': Case(prompt='p', check=check)}"
    outcome = only(judged(tmp_path, body))
    assert (outcome.passed, outcome.explanation, outcome.location) == (
        False,
        "expected a true value\n  actual: ''",
        at(3, 5),
    )


def test_columns_count_characters(tmp_path):
    assert only(judged(tmp_path, one_case("'äöü'; assert not 'ß'"))).location == at(5, 12)


def test_asserts_in_modules_beside_the_suite_explain_themselves_too(tmp_path):
    written(tmp_path, "def is_two(n):\n    assert n == 2\n", name="bench/rules.py", head="")
    outcome = only(judged(tmp_path, one_case("import rules\nrules.is_two(1)")))
    assert outcome.explanation == "assert n == 2\n  n: 1"
    assert outcome.location == Location(path="bench/rules.py", line=2, column=5)


def test_asserts_that_are_switched_off_by_the_environment_still_count(tmp_path):
    environment = {"PATH": os.environ["PATH"], "PYTHONOPTIMIZE": "2"}
    assert only(judged(tmp_path, one_case("assert 1 == 2"), environment=environment)).passed is False


@pytest.mark.parametrize(
    ("check", "failure_class"),
    [
        pytest.param("with expect.classify('alias'): assert 0", FailureClass(id="alias", label="alias"), id="with, id"),
        pytest.param(
            "expect.classify({'id': 'alias', 'label': 'Alias'}, lambda: expect.fail('x'))",
            FailureClass(id="alias", label="Alias"),
            id="call, label",
        ),
        pytest.param(
            "with expect.classify('outer'):\n    with expect.classify('inner'): assert 0",
            FailureClass(id="outer", label="outer"),
            id="the outermost counts",
        ),
        pytest.param("with expect.classify('alias'): pass\nassert 0", None, id="only what fails inside"),
    ],
)
def test_a_failure_carries_its_class(tmp_path, check, failure_class):
    outcome = only(judged(tmp_path, one_case(check)))
    assert (outcome.passed, outcome.failure_class) == (False, failure_class)


def test_an_async_body_is_classified_when_it_is_awaited(tmp_path):
    body = """
        async def body(): expect.fail("x")
        async def check(report, ctx): await expect.classify("alias", body)
        suite = [Case("it", prompt="p", check=check)]
    """
    assert only(judged(tmp_path, body)).failure_class == FailureClass(id="alias", label="alias")


@pytest.mark.parametrize(
    ("check", "passed", "explanation"),
    [
        pytest.param(
            "raise ExceptionGroup('both', [AssertionError('one'), AssertionError('two')])",
            False,
            "both\n2 assertion failures collected:\n1. one\n2. two",
            id="failures",
        ),
        pytest.param(
            "raise ExceptionGroup('both', [AssertionError('one'), TypeError('odd')])",
            False,
            "the check raised TypeError: both\nodd\n1 assertion failure collected:\n1. one",
            id="a failure and a crash",
        ),
        pytest.param(
            "raise ExceptionGroup('both', [ValueError('one'), TypeError('two')])",
            False,
            "the check raised ValueError: both\none\n1 failure collected:\n1. TypeError: two",
            id="crashes",
        ),
        pytest.param(
            "raise ExceptionGroup('it', [ExceptionGroup('', [AssertionError('one')])])", False, "it\none", id="nested"
        ),
    ],
)
def test_a_group_is_told_with_its_parts(tmp_path, check, passed, explanation):
    outcome = only(judged(tmp_path, one_case(check)))
    assert (outcome.passed, outcome.explanation) == (passed, explanation)


def test_the_class_of_a_group_is_the_failure_s(tmp_path):
    check = "with expect.classify('own'): raise ExceptionGroup('both', [AssertionError('one'), AssertionError('two')])"
    assert only(judged(tmp_path, one_case(check))).failure_class == FailureClass(id="own", label="own")


def test_soft_failures_are_told_together_with_their_places(tmp_path):
    check = "expect.soft.equal(1, 2)\nexpect.soft.skills.has(report, 'x', 'Use it.')\nassert not 'hard'"
    outcome = only(judged(tmp_path, one_case(check)))
    assert (outcome.passed, outcome.location) == (False, at(5, 5))
    assert outcome.explanation == dedent(
        """\
        3 assertion failures collected:
        1. bench/demo_suite.py:5: expected equal values
             actual:   1
             expected: 2
        2. bench/demo_suite.py:6: Use it.
           expected the skill "x"
             detected skills:
               1. deploy (explicit)
        3. bench/demo_suite.py:7: assert not 'hard'"""
    )


def test_an_async_check_has_soft_failures_too(tmp_path):
    body = """
        import asyncio
        async def one(): expect.soft.fail("one")
        async def check(report, ctx): await asyncio.gather(one(), one())
        suite = [Case("it", prompt="p", check=check)]
    """
    outcome = only(judged(tmp_path, body))
    assert outcome.explanation.startswith("2 assertion failures collected:\n1. bench/demo_suite.py:4: one")


def test_soft_failures_of_one_check_are_not_those_of_the_next(tmp_path):
    body = one_case("expect.soft.fail('x')") + "@suite.case('next', prompt='p')\ndef check(): pass\n"
    file = written(tmp_path, body)
    with suite_hosts(tmp_path) as hosts:
        verdicts = [only(hosts.judge(file, name, session_report())).passed for name in ("it", "next", "it")]
    assert verdicts == [False, True, False]


def test_outside_of_a_check_a_soft_failure_is_hard(tmp_path):
    problem = refused(tmp_path, written(tmp_path, "expect.soft.fail('too early')\nsuite = []"))
    assert (problem.message, problem.location) == ("AssertionError: too early", at(2, 1))


# --- crashes -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("check", "explanation", "line"),
    [
        pytest.param("{}['x']", "the check raised KeyError: 'x'", 5, id="exception"),
        pytest.param(
            "import json\njson.loads('{')",
            "the check raised JSONDecodeError: Expecting property name",
            6,
            id="in the library",
        ),
        pytest.param("import sys\nsys.exit(0)", "the check raised SystemExit: 0", 6, id="sys.exit"),
        pytest.param(
            "raise KeyboardInterrupt", "the check raised KeyboardInterrupt: raise KeyboardInterrupt", 5, id="interrupt"
        ),
        pytest.param(
            "class E(Exception):\n    def __str__(self): 1 / 0\nraise E",
            "the check raised E: its message cannot be read",
            7,
            id="no message",
        ),
        pytest.param(
            "def deep(): deep()\ndeep()", "the check raised RecursionError: maximum recursion", 5, id="recursion"
        ),
    ],
)
def test_any_error_that_a_check_raises_fails_it(tmp_path, check, explanation, line):
    outcome = only(judged(tmp_path, one_case(check)))
    assert (outcome.passed, outcome.trouble) == (False, "assert-hook")
    assert outcome.explanation.startswith(explanation)
    assert outcome.location.line == line
    assert f"bench/demo_suite.py:{line} in " in outcome.evidence


WITHIN_A_SECOND = "the check did not answer within 1 s"


@pytest.mark.parametrize(
    ("check", "explanation"),
    [
        pytest.param(
            "print('so far')\nimport os\nos._exit(0)", "the check ended its process with exit code 0", id="exit"
        ),
        pytest.param(
            "print('so far')\nimport os\nos.kill(os.getpid(), 9)", "the check was ended by SIGKILL", id="signal"
        ),
        pytest.param("print('so far')\nwhile True: pass", WITHIN_A_SECOND, id="loop", marks=pytest.mark.timed),
        pytest.param(
            "print('so far')\nimport time\ntime.sleep(99)", WITHIN_A_SECOND, id="sleep", marks=pytest.mark.timed
        ),
        pytest.param(
            "print('so far')\nimport os\nos.closerange(3, 99)\nos._exit(4)", "the check ended its process", id="closed"
        ),
    ],
)
def test_a_host_that_gives_no_answer_costs_one_judgement_and_is_replaced(tmp_path, check, explanation):
    body = one_case(check) + "@suite.case('next', prompt='p')\ndef check(): pass\n"
    file = written(tmp_path, body)
    limit = {"call_limit": 1.0} if explanation == WITHIN_A_SECOND else {}
    with suite_hosts(tmp_path, **limit) as hosts:
        outcome = only(hosts.judge(file, "it", session_report()))
        assert only(hosts.judge(file, "next", session_report())).passed is True
    assert (outcome.passed, outcome.trouble) == (None, "assert-hook")
    assert outcome.explanation.startswith(explanation)
    assert outcome.evidence == "so far\n"


@pytest.mark.slow
def test_a_hang_does_not_hold_up_other_judgements_of_the_suite(tmp_path):
    go_on = tmp_path / "go-on"
    hangs = f"from pathlib import Path\nwhile not Path('{go_on}').exists(): pass"
    body = one_case(hangs) + "@suite.case('next', prompt='p')\ndef check(): pass\n"
    file = written(tmp_path, body)
    with suite_hosts(tmp_path, call_limit=LIMIT) as hosts, ThreadPoolExecutor(4) as pool:
        hang = pool.submit(hosts.judge, file, "it", session_report())
        others = [pool.submit(hosts.judge, file, "next", session_report()) for _ in range(6)]
        assert [only(other.result()).passed for other in others] == [True] * 6
        assert not hang.done()
        go_on.touch()
        assert only(hang.result()).passed is True


@pytest.mark.timed
def test_quick_checks_wait_for_each_other_instead_of_starting_hosts(tmp_path):
    file = written(tmp_path, one_case("import time; time.sleep(0.01)"))
    with suite_hosts(tmp_path) as hosts, ThreadPoolExecutor(8) as pool:
        hosts.load(file)
        judged = [pool.submit(hosts.judge, file, "it", session_report()) for _ in range(16)]
        assert [only(one.result()).passed for one in judged] == [True] * 16
    assert len(list((tmp_path / "logs").iterdir())) < 4


def test_a_report_says_which_tokens_the_provider_counted(tmp_path):
    check = """
        source = report.usage.source
        assert (source.input, source.output, source.reasoning) == ("provider", "chars", "chars")
    """
    report = session_report(usage=Usage(input_tokens=3))
    assert only(judged(tmp_path, one_case(check), report)).passed is True


@pytest.mark.timed
def test_what_a_suite_started_ends_with_its_host(tmp_path):
    check = "import subprocess\nprint(subprocess.Popen(['sleep', '99']).pid)\nwhile True: pass"
    pid = int(only(judged(tmp_path, one_case(check), call_limit=1.0)).evidence)
    until(lambda: not Path(f"/proc/{pid}").exists(), "the end of what the suite started")


def test_an_answer_without_end_is_cut_off(tmp_path):
    check = """
        import os
        while True:
            for fd in range(3, 9):
                try: os.write(fd, b"x" * 65536)
                except OSError: pass
    """
    assert only(judged(tmp_path, one_case(check))).explanation == "the check answered with more than 16 MiB"


@pytest.mark.parametrize(
    "line", ["{", "[]", '{"ok": true, "failures": []}', '{"number": 2}', '{"number": 2, "ok": true, "failures": [1]}']
)
def test_a_forged_answer_is_no_verdict(tmp_path, line):
    check = f"""
        import os
        for fd in range(3, 9):
            try: os.write(fd, {line.encode()!r} + b"\\n")
            except OSError: pass
    """
    outcome = only(judged(tmp_path, one_case(check)))
    assert (outcome.passed, outcome.trouble) == (None, "assert-hook")


def test_a_classifier_of_a_result_without_an_error_sees_empty_words(tmp_path):
    body = """
        def classify(result): return f"<{result.error.message}{result.failure_origin}>"
        suite = [Case("it", prompt="p", check=print, classify_failure=classify)]
    """
    file, result = written(tmp_path, body), {"status": "unexpected-passed", "error": None, "failureOrigin": None}
    with suite_hosts(tmp_path) as hosts:
        found = hosts.classify(file, "it", result)
    assert found == FailureClass(id="<>", label="<>")


def test_a_forked_copy_of_the_host_does_not_answer(tmp_path):
    check = "import os\npid = os.fork()\nif pid: os.waitpid(pid, 0)\nassert not pid, 'the parent'"
    assert only(judged(tmp_path, one_case(check))).explanation.startswith("the parent")


def test_a_case_the_suite_does_not_have_is_no_verdict(tmp_path):
    file = written(tmp_path, one_case("pass"))
    with suite_hosts(tmp_path) as hosts:
        outcome = only(hosts.judge(file, "other", session_report()))
    assert (outcome.passed, outcome.trouble) == (None, "assert-hook")
    assert "KeyError: 'other'" in outcome.explanation


# --- output, input, environment ------------------------------------------------------------------------


def test_what_a_suite_prints_goes_to_the_log(tmp_path):
    check = """
        import os, sys, subprocess
        print("printed ä \\ud800")
        sys.stderr.write("to stderr\\n")
        os.write(1, b"written\\n" * 100_000)
        subprocess.run(["echo", "by a child"], check=True)
        print("without a newline", end="")
    """
    assert only(judged(tmp_path, one_case(check))).passed is True
    printed = log(tmp_path)
    assert printed.startswith("printed ä \\ud800\nto stderr\nwritten\n")
    assert printed.endswith("written\nby a child\nwithout a newline")


def test_a_suite_reads_nothing_from_stdin(tmp_path):
    assert only(judged(tmp_path, one_case("import sys\nassert sys.stdin.read() == ''"))).passed is True


def test_a_suite_sees_only_the_allowed_environment(tmp_path):
    environment = {"PATH": os.environ["PATH"], "GITHUB_TOKEN": "x", "INPUT_KEY": "y", "LANG": "C.UTF-8"}
    check = "import os\nassert set(os.environ) <= {'PATH', 'LANG', 'LC_CTYPE'}"
    assert only(judged(tmp_path, one_case(check), environment=environment)).passed is True


def test_a_suite_runs_in_its_own_folder_and_finds_its_modules_first(tmp_path):
    written(tmp_path, "HERE = True\n", name="bench/pydantic.py", head="")
    check = "import os, pydantic, sys\nassert pydantic.HERE and os.getcwd() == sys.path[0] == os.path.dirname(__file__)"
    assert only(judged(tmp_path, one_case(check))).passed is True


def test_no_byte_code_is_written_beside_the_suite(tmp_path):
    written(tmp_path, "", name="bench/rules.py", head="")
    judged(tmp_path, one_case("import rules"))
    assert sorted(path.name for path in (tmp_path / "bench").iterdir()) == ["demo_suite.py", "rules.py"]


@pytest.mark.slow
def test_a_report_of_any_size_and_any_text_arrives(tmp_path):
    text = "ä\ud800\u2028\0" * 2_000_000
    report = session_report(events=(Message(role="assistant", text=text),), final_output="ende \ud83d\ude00")
    check = """
        expect.equal(len(report.events[0].text), 8_000_000)
        expect.equal(report.events[0].text[:4], "ä\\ud800\\u2028\\0")
    """
    assert only(judged(tmp_path, one_case(check), report)).passed is True


def test_a_message_of_any_size_is_cut(tmp_path):
    outcome = only(judged(tmp_path, one_case("raise AssertionError('x' * 50_000_000)")))
    assert 16_000 < len(outcome.explanation) < 16_100


# --- classify ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("classifier", "failure_class"),
    [
        pytest.param(
            "lambda result: 'alias' if 'wrong' in result.error.message else None",
            FailureClass(id="alias", label="alias"),
            id="an id",
        ),
        pytest.param(
            "lambda result: {'id': result.status, 'label': result.failure_origin}",
            FailureClass(id="failed", label="assertion"),
            id="id and label",
        ),
        pytest.param(
            "lambda result: result.failure_class.id + result.report.final_output",
            FailureClass(id="assertionready", label="assertionready"),
            id="class so far and report",
        ),
        pytest.param("lambda result: None", None, id="none"),
        pytest.param("None", None, id="no classifier"),
        pytest.param("lambda result: 1 / 0", FailureClass(id="classify-hook", label="Classify hook crash"), id="crash"),
        pytest.param("lambda result: 5", FailureClass(id="classify-hook", label="Classify hook crash"), id="nonsense"),
    ],
)
def test_a_classifier_names_the_failure_class(tmp_path, classifier, failure_class):
    body = f"suite = [Case('it', prompt='p', check=lambda: None, classify_failure={classifier})]"
    file = written(tmp_path, body)
    result = {
        "status": "failed",
        "failureOrigin": "assertion",
        "failureClass": {"id": "assertion", "label": "Assertion failure"},
        "error": {"name": "AssertionError", "message": "wrong alias"},
        "report": to_json(session_report()),
    }
    with suite_hosts(tmp_path) as hosts:
        assert hosts.classify(file, "it", result) == failure_class


# --- files that cannot be loaded -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "message", "location"),
    [
        pytest.param("suite = [\n", "SyntaxError: '[' was never closed", at(2, 9), id="syntax"),
        pytest.param("x = 1\nraise RuntimeError('no')\n", "RuntimeError: no", at(3, 1), id="raises"),
        pytest.param("def f():\n    return {}['x']\nf()\n", "KeyError: 'x'", at(3, 12), id="innermost line"),
        pytest.param(
            "import json\njson.loads('x')\n",
            "JSONDecodeError: Expecting value: line 1 column 1 (char 0)",
            at(3, 1),
            id="in the library",
        ),
        pytest.param(
            "import nothing_like_it\n",
            "ModuleNotFoundError: No module named 'nothing_like_it'",
            at(2, 1),
            id="missing module",
        ),
        pytest.param("import sys\nsys.exit(0)\n", "SystemExit: 0", at(3, 1), id="exits"),
        pytest.param(
            "workspace = Workspace(mode='alone')\nsuite = []",
            "ValueError: unknown workspace mode 'alone'; known: none, shared, isolated",
            at(2, 13),
            id="workspace",
        ),
        pytest.param("x = 1\n", "the file has no variable `suite`", at(None), id="no suite"),
        pytest.param("suite = 'x'\n", "the file has a variable `suite` that is a str", at(None), id="no list"),
        pytest.param("suite = []\nworkspace = {}\n", "`workspace` is a dict", at(None), id="no workspace"),
        pytest.param(
            "x = 'a\0b'\n", "SyntaxError: source code string cannot contain null bytes", at(None), id="null byte"
        ),
    ],
)
def test_a_file_that_cannot_be_loaded_says_why_and_where(tmp_path, body, message, location):
    problem = refused(tmp_path, written(tmp_path, body))
    assert (problem.message.replace("ValueError: source", "SyntaxError: source"), problem.location) == (
        message,
        location,
    )


def test_a_syntax_error_in_a_module_of_the_suite_is_shown_there(tmp_path):
    written(tmp_path, "x =\n", name="bench/rules.py", head="")
    problem = refused(tmp_path, written(tmp_path, "import rules\n"))
    assert str(problem) == "bench/rules.py:1:4: SyntaxError: invalid syntax"


def test_a_misspelt_setting_of_a_workspace_has_a_remedy(tmp_path):
    problem = refused(tmp_path, written(tmp_path, "workspace = Workspace(templateDir='x')\nsuite = []"))
    assert problem.remedy == "did you mean 'template_dir'?"


def test_a_file_that_is_not_utf_8_says_so(tmp_path):
    file = written(tmp_path, "")
    file.write_bytes(b"x = '\xff'\n")
    assert refused(tmp_path, file).message.startswith(("UnicodeDecodeError: ", "SyntaxError: "))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        pytest.param(
            "while True: pass",
            "the suite did not answer within 1 s while it was imported",
            id="hangs",
            marks=pytest.mark.timed,
        ),
        pytest.param(
            "import os\nos._exit(7)", "the suite ended its process with exit code 7 while it was imported", id="exits"
        ),
    ],
)
def test_a_suite_that_ends_or_hangs_while_it_is_imported_is_refused(tmp_path, body, message):
    limit = {"call_limit": 1.0} if "within 1 s" in message else {}
    problem = refused(tmp_path, written(tmp_path, body), **limit)
    assert (problem.message, problem.location) == (message, at(None))


def test_a_python_that_is_not_there_is_a_suite_error(tmp_path):
    problem = refused(tmp_path, written(tmp_path, "suite = []"), python="no-such-python")
    assert problem.message.startswith("the suite host cannot be started: ")


def test_a_suite_outside_of_the_root_keeps_its_absolute_path(tmp_path):
    root = tmp_path / "repository"
    root.mkdir()
    file = written(tmp_path, "1 / 0")
    assert refused(root, file).location == Location(path=file.as_posix(), line=2, column=1)


@pytest.mark.slow
def test_hosts_are_used_again_and_only_so_many_stay(tmp_path):
    body = "import os\nnumbers = []\n" + one_case("numbers.append(1)\nassert 0, len(numbers)")
    files = [written(tmp_path, body, name=f"bench/s{number}_suite.py") for number in range(18)]
    with suite_hosts(tmp_path) as hosts:
        for file in files:
            hosts.load(file)
        counts = [
            only(hosts.judge(file, "it", session_report())).explanation[0] for file in (files[-1], files[-1], files[0])
        ]
        assert counts == ["1", "2", "1"]
        assert len(list((tmp_path / "logs").iterdir())) == 19


def test_this_interpreter_runs_suites_unless_another_is_chosen(tmp_path):
    assert (
        only(judged(tmp_path, one_case(f"import sys\nexpect.equal(sys.executable, {sys.executable!r})"))).passed is True
    )
