"""What suite authors write: cases, expect, plain asserts."""

from __future__ import annotations

import subprocess
import sys
from textwrap import dedent

import pytest

from skillgym_action import Case, Suite, Workspace, expect
from skillgym_action.suites.programs.runtime.assert_rewriting import GLOBALS, compiled
from skillgym_action.suites.programs.runtime.suite import Context
from suite_programs import session_report


def failure(source, **names):
    """The message of the AssertionError that ``source`` raises when its asserts are rewritten."""
    with pytest.raises(AssertionError) as caught:
        exec(compiled(dedent(source).encode(), "demo.py"), {**GLOBALS, **names})
    return str(caught.value)


def explanation(body):
    with pytest.raises(AssertionError) as caught:
        body()
    return str(caught.value)


class Broken:
    def __repr__(self):
        raise ZeroDivisionError


# --- assert ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "message"),
    [
        pytest.param("a = 1\nassert a == 2", "assert a == 2\n  a: 1", id="a literal is in the line already"),
        pytest.param("a, b = 1, 'x'\nassert a == b", "assert a == b\n  a: 1\n  b: 'x'", id="both values"),
        pytest.param("t = 'no'\nassert 'yes' in t", "assert 'yes' in t\n  t: 'no'", id="in"),
        pytest.param("t = 'yes'\nassert 'y' not in t", "assert 'y' not in t\n  t: 'yes'", id="not in"),
        pytest.param("n = 3\nassert n < 2", "assert n < 2\n  n: 3", id="less"),
        pytest.param("n = 3\nassert n is None", "assert n is None\n  n: 3", id="is"),
        pytest.param("n = 9\nassert 1 < n < 5", "assert 1 < n < 5\n  n: 9", id="chained"),
        pytest.param("found = ['x']\nassert not found", "assert not found\n  found: ['x']", id="not"),
        pytest.param("a, b = 1, 0\nassert a and b", "assert a and b\n  a: 1\n  b: 0", id="and"),
        pytest.param("a, b = 0, 1\nassert a == 1 and b == 1", "assert a == 1 and b == 1\n  a: 0", id="never evaluated"),
        pytest.param("a = 0\nassert a == 1 or not 1", "assert a == 1 or not 1\n  a: 0", id="or"),
        pytest.param("x = []\nassert x", "assert x\n  x: []", id="a value"),
        pytest.param("assert False", "assert False", id="a literal"),
        pytest.param(
            "t = 'abc'\nassert t.startswith('x')",
            "assert t.startswith('x')\n  t: 'abc'\n  t.startswith('x'): False",
            id="method",
        ),
        pytest.param(
            "import re\nt = 'a'\nassert re.search('x', t)",
            "assert re.search('x', t)\n  t: 'a'\n  re.search('x', t): None",
            id="modules are not told",
        ),
        pytest.param(
            "a = 1\nassert isinstance(a, str)",
            "assert isinstance(a, str)\n  a: 1\n  isinstance(a, str): False",
            id="classes are not told",
        ),
        pytest.param("a = 1\nassert a == 2, 'two!'", "two!\nassert a == 2\n  a: 1", id="own message first"),
        pytest.param("a = 1\nassert a == 2, ('x', a)", "('x', 1)\nassert a == 2\n  a: 1", id="message of any type"),
        pytest.param(
            "a = 1\nassert (a ==\n        # two\n    2)", "assert a == # two 2\n  a: 1", id="several lines in one"
        ),
        pytest.param("ä = 'ö'\nassert 'é' in ä, 'ü'", "ü\nassert 'é' in ä\n  ä: 'ö'", id="not ASCII"),
        pytest.param(
            "def f():\n  for a in [1]:\n    with open('/dev/null'):\n      assert a == 2\nf()",
            "assert a == 2\n  a: 1",
            id="nested",
        ),
        pytest.param(
            "try:\n  1 / 0\nexcept ZeroDivisionError as e:\n  assert not e.args",
            "assert not e.args\n  e.args: ('division by zero',)",
            id="in an except",
        ),
        pytest.param("match 1:\n  case n:\n    assert n > 1", "assert n > 1\n  n: 1", id="in a match"),
        pytest.param("class C:\n  a = 1\n  assert a > 1", "assert a > 1\n  a: 1", id="in a class"),
        pytest.param("assert (n := 0)", "assert n := 0\n  n := 0: 0", id="walrus"),
    ],
)
def test_a_failed_assert_shows_its_line_and_the_values(source, message):
    assert failure(source) == message


def test_operands_are_evaluated_once_in_order_and_only_as_far_as_needed():
    seen = []

    def see(value):
        seen.append(value)
        return value

    assert failure("assert see(1) < see(5) < see(3) < see(9)", see=see).startswith("assert see(1)")
    assert seen == [1, 5, 3]


def test_the_message_of_an_assert_that_holds_is_not_evaluated():
    exec(compiled(b"assert 1 + 1 == 2, 1 / 0", "demo.py"), {**GLOBALS})


def test_long_values_are_cut_in_the_middle():
    assert failure("assert text == 'x'", text="a" * 5000) == (
        "assert text == 'x'\n  text: '" + "a" * 199 + "[… 4602 characters …]" + "a" * 199 + "'"
    )


def test_a_value_without_a_repr_is_named():
    assert (
        failure("assert not it", it=Broken()) == "assert not it\n  it: <a Broken whose repr raises ZeroDivisionError>"
    )


READS = ["/w/README.md", "/w/docs/a.md"]


@pytest.mark.parametrize(
    ("source", "values"),
    [
        pytest.param(
            "assert any(path.endswith('CHANGELOG.md') for path in reads)",
            "  reads: ['/w/README.md', '/w/docs/a.md']\n"
            "  path.endswith('CHANGELOG.md'): False for '/w/README.md', '/w/docs/a.md'\n"
            "  any(path.endswith('CHANGELOG.md') for path in reads): False",
            id="any",
        ),
        pytest.param(
            "assert all('docs' not in path for path in reads)",
            "  reads: ['/w/README.md', '/w/docs/a.md']\n"
            "  'docs' not in path: False for '/w/docs/a.md'; True for '/w/README.md'\n"
            "  all('docs' not in path for path in reads): False",
            id="all: the one that it stopped at first",
        ),
        pytest.param(
            "assert sum(1 for path in reads if 'docs' in path) == 2",
            "  reads: ['/w/README.md', '/w/docs/a.md']\n  1: 1 for '/w/docs/a.md'\n"
            "  sum(1 for path in reads if 'docs' in path): 1",
            id="sum",
        ),
        pytest.param(
            "assert any(path.x for path in reads if not path)",
            "  reads: ['/w/README.md', '/w/docs/a.md']\n"
            "  path.x: never evaluated: the condition is true for none of 2\n"
            "  any(path.x for path in reads if not path): False",
            id="a condition that holds for none",
        ),
        pytest.param(
            "assert len([path for path in reads if 'src' in path]) == 1",
            "  reads: ['/w/README.md', '/w/docs/a.md']\n  [path for path in reads if 'src' in path]: []\n"
            "  len([path for path in reads if 'src' in path]): 0",
            id="a list in a call",
        ),
        pytest.param(
            "assert {p: len(p) for p in reads if 'docs' in p} == {}",
            "  reads: ['/w/README.md', '/w/docs/a.md']\n"
            "  {p: len(p) for p in reads if 'docs' in p}: {'/w/docs/a.md': 12}",
            id="a dict",
        ),
        pytest.param(
            "assert any(x > 3 for x in iter([1, 2]))",
            "  iter([1, 2]): [1, 2]\n  x > 3: False for 1, 2\n  any(x > 3 for x in iter([1, 2])): False",
            id="an iterator, which is used up",
        ),
        pytest.param(
            "class C:\n  own = [1]\n  assert any(x > 1 for x in own)",
            "  own: [1]\n  x > 1: False for 1\n  any(x > 1 for x in own): False",
            id="in a class",
        ),
        pytest.param(
            "assert all(i < 99 for i in range(100_000))",
            "  range(100_000): range(0, 100000)\n  i < 99: False for 99; True for 0, 1, 2, 3, 4 and 25 more\n"
            "  all(i < 99 for i in range(100_000)): False",
            id="many items",
        ),
        pytest.param("assert map(str, [1]) is None", "  map(str, [1]): <map object>", id="no addresses"),
        pytest.param("assert {'b', 'a'} == 1", "  {'b', 'a'}: {'a', 'b'}", id="sets in order"),
    ],
)
def test_comprehensions_and_generators_show_what_they_went_through(source, values):
    message = failure(source, reads=READS)
    assert message.split("\n", 1)[1] == values
    assert failure(source, reads=READS) == message


def test_a_watched_generator_takes_no_more_than_before_and_raises_the_same():
    taken = []
    items = (taken.append(number) or number for number in range(10))
    exec(compiled(b"assert any(item == 2 for item in items)", "demo.py"), {**GLOBALS, "items": items})
    assert taken == [0, 1, 2]
    with pytest.raises(TypeError, match="'int' object is not iterable"):
        exec(compiled(b"assert any(x for x in 5)", "demo.py"), {**GLOBALS})
    with pytest.raises(ZeroDivisionError):
        exec(compiled(b"assert all(1 / x for x in [1, 0])", "demo.py"), {**GLOBALS})


def test_an_asynchronous_comprehension_is_left_as_it_is():
    source = (
        "import asyncio\nasync def two(): return 2\nasync def main():\n"
        "  assert [await two() for _ in (1,)] == [3]\nasyncio.run(main())"
    )
    assert failure(source).endswith("\n  [await two() for _ in (1,)]: [2]")


def test_asserts_are_rewritten_in_async_functions():
    source = (
        "import asyncio\nasync def two(): return 2\nasync def main():\n  assert await two() == 3\nasyncio.run(main())"
    )
    assert failure(source) == "assert await two() == 3\n  await two(): 2"


@pytest.mark.parametrize(("terms", "message"), [(900, "assert 1 "), (1500, "^$")])
def test_long_expressions_are_checked(terms: int, message: str) -> None:
    """Of the longer one, which is not rewritten, the error has no message."""
    total = " + ".join(["1"] * terms)
    exec(compiled(f"assert {total} == {terms}".encode(), "demo.py"), {**GLOBALS})
    with pytest.raises(AssertionError, match=message):
        exec(compiled(f"assert {total} == {terms + 1}".encode(), "demo.py"), {**GLOBALS})


# --- expect ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "message"),
    [
        pytest.param(lambda: expect.ok([]), "expected a true value\n  actual: []", id="ok"),
        pytest.param(lambda: expect.ok(0, "none found"), "none found\n  actual: 0", id="own message"),
        pytest.param(
            lambda: expect.equal([1], [2]), "expected equal values\n  actual:   [1]\n  expected: [2]", id="equal"
        ),
        pytest.param(lambda: expect.not_equal(1, 1), "expected different values\n  actual: 1", id="not_equal"),
        pytest.param(
            lambda: expect.match("abc", r"\d"),
            "expected text that matches\n  text:    'abc'\n  pattern: '\\\\d'",
            id="match",
        ),
        pytest.param(lambda: expect.match(None, "x"), "expected text, not None", id="match without a text"),
        pytest.param(
            lambda: expect.does_not_match("a1", r"\d"),
            "expected text that does not match\n  found:   '1'\n  text:    'a1'\n  pattern: '\\\\d'",
            id="does_not_match",
        ),
        pytest.param(
            lambda: expect.does_not_match("a", "x*"),
            "expected text that does not match\n  found:   ''\n  text:    'a'\n  pattern: 'x*'",
            id="an empty match is a match",
        ),
        pytest.param(lambda: expect.fail("no"), "no", id="fail"),
    ],
)
def test_a_failed_expectation_says_why(body, message):
    assert explanation(body) == message


def test_expectations_that_hold_return():
    expect.ok(1)
    expect.equal({"a": [1]}, {"a": [1]})
    expect.not_equal(1, 2)
    expect.match("READY", "(?i)ready")
    expect.does_not_match("ready", "^x")
    assert expect.classify("x", lambda: 7) == 7


def test_a_failure_class_must_have_an_id():
    with pytest.raises(TypeError, match="a failure class is an id"):
        expect.classify({"label": "x"})


# --- cases, suites, workspaces, context ----------------------------------------------------------------


def test_a_case_remembers_where_it_is_written():
    case = Case("a", prompt="b"); line = sys._getframe().f_lineno  # fmt: skip # noqa: E702
    assert case.written_at == (__file__, line, 11)


def test_a_decorated_check_stays_the_function_it_is():
    suite = Suite()

    @suite.case("a", prompt="b", tags=["x"])
    def check(report, ctx):
        return 5

    assert check(None, None) == 5
    assert [(case.id, case.check, case.tags) for case in suite.cases] == [("a", check, ["x"])]


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        pytest.param({"mode": "alone"}, "unknown workspace mode 'alone'; known: none, shared, isolated", id="mode"),
        pytest.param({"cwd": "."}, "an isolated workspace has no cwd", id="isolated with cwd"),
        pytest.param({"mode": "none", "template_dir": "."}, "a template is copied", id="none with a template"),
        pytest.param(
            {"mode": "shared", "cwd": ".", "template_dir": "."}, "a template is copied", id="cwd and template"
        ),
        pytest.param({"bootstrap": "make"}, "bootstrap is a dict", id="bootstrap as text"),
        pytest.param(
            {"bootstrap": {"command": "sh", "arg": []}}, "unknown bootstrap setting 'arg'", id="bootstrap key"
        ),
        pytest.param({"bootstrap": {"command": "sh", "args": "-c"}}, "bootstrap args are a list", id="bootstrap args"),
    ],
)
def test_a_workspace_refuses_settings_that_contradict_each_other(settings, problem):
    with pytest.raises((ValueError, TypeError), match=problem):
        Workspace(**settings)


def test_the_context_gives_shortcuts_into_the_report():
    ctx = Context(session_report())
    assert ctx.get_commands() == ["ls"]
    assert [call.tool for call in ctx.get_tool_calls()] == ["Read", "Bash"]
    assert [call.args for call in ctx.get_tool_calls("Bash")] == [{"command": "ls"}]
    assert ctx.get_file_reads() == ["/workspace/a.txt"]
    assert [skill.skill for skill in ctx.detected_skills()] == ["deploy"]
    assert ctx.final_output() == "ready"


def test_importing_the_package_imports_nothing_costly():
    costly = {"dataclasses", "typing", "re", "inspect", "asyncio", "json", "pydantic", "yaml"}
    program = f"import sys, skillgym_action; print({costly!r} & set(sys.modules))"
    without_site = [sys.executable, "-S", "-c", f"import sys; sys.path += {sys.path!r}; {program}"]
    assert subprocess.run(without_site, capture_output=True, text=True, check=True).stdout == "set()\n"
