"""From a Python suite file to a suite."""

from __future__ import annotations

from pathlib import Path

import pytest

from skillgym_action.judging.assertions.commands import SuiteCheck
from skillgym_action.model import execution, result
from skillgym_action.model import report as run_report
from skillgym_action.model import suite as suites
from skillgym_action.model.errors import Location, SuiteError
from skillgym_action.model.suite import BenchmarkCase, Bootstrap, WorkspaceSpec
from skillgym_action.pipeline.stages.load import SuiteFileAccess
from skillgym_action.suites.programs import python as python_suite
from skillgym_action.suites.programs import typescript as typescript_suite
from suite_programs import suite_hosts, written


def loaded(folder, body, name="bench/demo_suite.py"):
    file = written(folder, body, name=name)
    with suite_hosts(folder) as hosts:
        return python_suite.suite(SuiteFileAccess(path=name, file=file, hosts=hosts, environment={}))


def at(line, column):
    return Location(path="bench/demo_suite.py", line=line, column=column)


class Told:
    """A suite file whose host gives a fixed answer."""

    path = "bench/demo_suite.py"
    file = Path("/repo/bench/demo_suite.py")

    def __init__(self, answer):
        self.answer = answer

    def program(self):
        return self.answer


# --- which files ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("format_", "path", "head", "accepted"),
    [
        pytest.param(python_suite, "suite.py", "from skillgym_action import Case", True, id="suite.py"),
        pytest.param(python_suite, "a/login_suite.py", "import skillgym_action", True, id="_suite.py"),
        pytest.param(python_suite, "a/login-suite.py", "import skillgym_action", True, id="-suite.py"),
        pytest.param(python_suite, "a/login_suite.py", "import unittest", False, id="another suite"),
        pytest.param(python_suite, "a/login.py", "import skillgym_action", False, id="another name"),
        pytest.param(python_suite, "a/mysuite.py", "import skillgym_action", False, id="part of a word"),
        pytest.param(typescript_suite, "a/basic-suite.ts", 'from "skillgym"', True, id="ts"),
        pytest.param(typescript_suite, "suite.mjs", 'from "skillgym"', True, id="mjs"),
        pytest.param(typescript_suite, "suite.mjs", 'from "vitest"', False, id="another module"),
        pytest.param(typescript_suite, "suite.d.ts", 'from "skillgym"', False, id="declarations"),
    ],
)
def test_a_format_knows_its_files(format_, path, head, accepted):
    assert format_.accepts(path, head) is accepted


# --- cases ---------------------------------------------------------------------------------------------


def test_a_list_of_cases(tmp_path):
    suite = loaded(
        tmp_path,
        """\
        suite = [
            Case(id="a", prompt="Say ä", check=lambda report, ctx: None),
            Case(id="b", prompt="p", check=print, tags=["x", "y", "x"], timeout_ms=1500, expected_fail=True,
                 classify_failure=lambda result: None),
        ]
        """,
    )
    assert (suite.path, suite.name, suite.format, suite.invalid) == ("bench/demo_suite.py", "demo", "python", ())
    assert suite.cases == (
        BenchmarkCase(id="a", prompt="Say ä", location=at(3, 5), assertions=(SuiteCheck("a"),)),
        BenchmarkCase(
            id="b",
            prompt="p",
            location=at(4, 5),
            assertions=(SuiteCheck("b"),),
            tags=("x", "y"),
            timeout=1.5,
            expected_fail=True,
            classify=True,
        ),
    )


def test_a_dict_of_cases_gives_ids_to_those_without(tmp_path):
    body = "c = dict(prompt='p', check=print)\nsuite = {'first': Case(**c), 'second': Case('own', **c)}"
    assert [case.id for case in loaded(tmp_path, body).cases] == ["first", "own"]


def test_a_suite_with_decorated_checks(tmp_path):
    suite = loaded(
        tmp_path,
        """\
        suite = Suite("Login")

        @suite.case("a", prompt="p", tags=("smoke",))
        async def a(report, ctx): ...

        @suite.case("b", prompt="p", expected_fail=True)
        def b(report, ctx): ...
        """,
    )
    assert suite.name == "Login"
    assert [(case.id, case.tags, case.expected_fail, case.location) for case in suite.cases] == [
        ("a", ("smoke",), False, at(4, 2)),
        ("b", (), True, at(7, 2)),
    ]


@pytest.mark.parametrize(
    ("name", "called"),
    [
        pytest.param("bench/login_suite.py", "login", id="_suite.py"),
        pytest.param("bench/suite.py", "bench", id="suite.py"),
        pytest.param("bench/login.py", "login", id="a named file"),
    ],
)
def test_a_suite_is_called_like_its_file(tmp_path, name, called):
    assert loaded(tmp_path, "suite = []", name=name).name == called


@pytest.mark.parametrize(
    ("case", "problem"),
    [
        pytest.param("Case(prompt='p', check=print)", "the case has no id", id="id"),
        pytest.param("Case('a', check=print)", "the case has no prompt", id="prompt"),
        pytest.param("Case('a', prompt=' \\n', check=print)", "the case has no prompt", id="blank prompt"),
        pytest.param("Case('a', prompt='p')", "the case has no check", id="check"),
        pytest.param(
            "Case('a', prompt='p', check=lambda a, b, c: 0)", "the check does not take (report, ctx)", id="arguments"
        ),
        pytest.param(
            "Case('a', prompt='p', check=lambda: (yield))",
            "the check yields, so calling it would judge nothing",
            id="generator",
        ),
        pytest.param("Case('a', prompt='p', check=print, tags='x')", "tags are 'x'", id="tags"),
        pytest.param("Case('a', prompt='p', check=print, timeout_ms=0)", "timeout_ms is 0", id="timeout"),
        pytest.param("Case('a', prompt='p', check=print, timeout_ms='5')", "timeout_ms is '5'", id="timeout as text"),
        pytest.param("Case('a', prompt='p', check=print, expected_fail=1)", "expected_fail is 1", id="expected_fail"),
        pytest.param(
            "Case('a', prompt='p', check=print, classify_failure='x')",
            "classify_failure is not a function",
            id="classifier",
        ),
        pytest.param(
            "Case('a', prompt='p', check=print, timeoutMs=5)", "unknown field 'timeoutMs'", id="unknown field"
        ),
        pytest.param("5", "this is a int, not a Case", id="no case"),
        pytest.param(
            "Case('a', check=print, tags='x')", "the case has no prompt; tags are 'x'", id="all problems at once"
        ),
    ],
)
def test_a_case_that_cannot_be_used_is_reported_and_its_sibling_stays(tmp_path, case, problem):
    suite = loaded(tmp_path, f"suite = [Case('good', prompt='p', check=print),\n{case}]")
    assert [good.id for good in suite.cases] == ["good"]
    (invalid,) = suite.invalid
    assert invalid.problem.message == problem
    assert invalid.problem.location == (Location(path="bench/demo_suite.py") if case == "5" else at(3, 1))


def test_a_misspelt_field_has_a_remedy(tmp_path):
    suite = loaded(tmp_path, "suite = [Case('a', prompt='p', check=print, timeoutMs=5)]")
    assert suite.invalid[0].problem.remedy == "did you mean 'timeout_ms'?"


def test_an_id_used_twice_names_both_places(tmp_path):
    suite = loaded(tmp_path, "c = dict(prompt='p', check=print)\nsuite = [Case('a', **c),\n  Case('a', **c)]")
    assert [case.location for case in suite.cases] == [at(3, 10)]
    (invalid,) = suite.invalid
    message = "the id 'a' is used twice: bench/demo_suite.py:3:10 and bench/demo_suite.py:4:3"
    assert (invalid.case_id, invalid.problem.message) == ("a", message)


def test_cases_without_an_id_are_identified_by_their_number(tmp_path):
    suite = loaded(tmp_path, "suite = [Case('a', prompt='p', check=print), Case(), {}]")
    assert [invalid.case_id for invalid in suite.invalid] == ["case 2", "case 3"]


def test_a_second_suite_of_a_file_is_named(tmp_path):
    second = "second = Suite('second')\n@second.case('b', prompt='p')\ndef b(report, ctx): ..."
    suite = loaded(
        tmp_path, f"from skillgym_action import Suite\nsuite = [Case('a', prompt='p', check=print)]\n{second}"
    )
    assert [case.id for case in suite.cases] == ["a"]
    (invalid,) = suite.invalid
    message = "the suite 'second' is not run: a file has one suite, the variable suite"
    assert (invalid.case_id, invalid.problem.message) == ("second", message)


# --- workspaces ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "spec"),
    [
        pytest.param("", WorkspaceSpec(source="empty"), id="default"),
        pytest.param("mode='shared'", WorkspaceSpec(mode="shared", source="empty"), id="shared"),
        pytest.param(
            "template_dir='./app'", WorkspaceSpec(source="template", template=Path("bench/app")), id="template"
        ),
        pytest.param(
            "mode='none', cwd='../src'", WorkspaceSpec(mode="none", source="empty", cwd=Path("bench/../src")), id="none"
        ),
        pytest.param(
            "mode='shared', cwd='/srv'",
            WorkspaceSpec(mode="none", source="empty", cwd=Path("/srv")),
            id="shared with cwd",
        ),
        pytest.param(
            "bootstrap={'command': 'sh', 'args': ['./a.sh', '-x', '../b'], 'timeout_ms': 2500, 'env': {'N': 1}}",
            WorkspaceSpec(
                source="empty",
                bootstrap=Bootstrap(argv=("sh", "bench/a.sh", "-x", "bench/../b"), timeout=2.5, env=(("N", "1"),)),
            ),
            id="bootstrap",
        ),
        pytest.param(
            "bootstrap={'command': './a.sh'}",
            WorkspaceSpec(source="empty", bootstrap=Bootstrap(argv=("bench/a.sh",))),
            id="command",
        ),
    ],
)
def test_a_workspace_is_what_the_suite_says(tmp_path, settings, spec):
    suite = loaded(tmp_path, f"suite = []\nworkspace = Workspace({settings})")
    assert relative(suite.workspace, tmp_path) == spec


def relative(spec, folder):
    """The same workspace with paths as if ``folder`` were the current directory."""
    text = repr(spec).replace(f"{folder}/", "")
    return eval(text, {**vars(suites), **vars(execution), **vars(result), **vars(run_report), "PosixPath": Path})


def test_a_suite_without_a_workspace_works_in_a_copy_of_the_repository(tmp_path):
    assert loaded(tmp_path, "suite = []").workspace == WorkspaceSpec()


@pytest.mark.parametrize("answer", [{"cases": 5}, {"cases": [{"id": "a"}]}, {"workspace": {"mode": "x"}}])
def test_an_answer_that_is_not_understood_is_a_suite_error(answer):
    with pytest.raises(SuiteError, match="the suite host's answer is not understood"):
        python_suite.suite(Told(answer))


def test_a_check_asks_the_suite_host():
    class AssertionContext:
        def check(self, case_id):
            return (f"outcome of {case_id}",)

    assert SuiteCheck("a").judge(AssertionContext()) == ("outcome of a",)
