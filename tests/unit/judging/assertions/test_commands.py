"""Assertions about commands, judged over a real folder."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from fakes_context import context_of, judged
from skillgym_action.suites.xbench.expectations import parse_text
from table_rows import each_row


@pytest.mark.parametrize(
    ("written", "passed", "explanation"),
    [
        pytest.param("test:true passes", True, "exited 0 after 0.1 s", id="passes"),
        pytest.param("test:test -f a && grep -q x a", True, "exited 0 after 0.1 s", id="shell-in-the-workspace"),
        pytest.param("test:exit 3", False, "exited 3 after 0.1 s", id="fails"),
        pytest.param("test:kill -9 $$", False, "was ended by a signal after 0.1 s", id="signal"),
        pytest.param("test:cat", True, "exited 0 after 0.1 s", id="no-stdin"),
        pytest.param({"test": "exit 3", "exits": 3}, True, "exited 3 after 0.1 s; wanted: exit 3", id="exits"),
        pytest.param({"test": "true", "exits": 3}, False, "exited 0 after 0.1 s; wanted: exit 3", id="exits-otherwise"),
        pytest.param({"test": "false", "fails": True}, True, "exited 1 after 0.1 s; wanted: anything but 0", id="fail"),
        pytest.param({"test": "exit 127", "exits": 127}, True, "exited 127 after 0.1 s; wanted: exit 127", id="127"),
        pytest.param({"test": "sleep 9", "timeout": 0.2}, False, "did not end within 0.2 s", id="timeout",
                     marks=pytest.mark.timed),
        pytest.param({"test": "sleep 9", "timeout": 0.2, "fails": True}, False,
                     "did not end within 0.2 s; wanted: anything but 0", id="timeout-is-no-failure-that-was-asked-for",
                     marks=pytest.mark.timed),
    ],
)  # fmt: skip
def test_a_command_is_judged_by_how_it_ends(tmp_path, written, passed, explanation):
    outcome = judged(written, context_of(tmp_path, {"a": "x"}))
    assert (outcome.passed, outcome.explanation, outcome.trouble) == (passed, explanation, None)


NOT_INSTALLED = {
    "alone": "test:no-such-program passes",
    "with arguments": "test:no-such-program --all passes",
    "after another": "test:true && no-such-program passes",
    "in a line below": "test:true\nno-such-program",
    "after variables": "test:CI=1 no-such-program passes",
    "after env": "test:env CI=1 no-such-program passes",
    "in a subshell": "test:(no-such-program) passes",
    "in a shell of its own": "test:sh -c 'no-such-program --all' passes",
    "where it has to fail": {"test": "no-such-program", "fails": True},
}
OF_THE_AGENT = {
    "a script that is not there": ("test:./build.sh passes", "exited 127 after 0.1 s"),
    "... in a folder": ("test:scripts/check --all passes", "exited 127 after 0.1 s"),
    "... for a shell": ("test:sh ./check.sh", None),
    "... after a program that is there": ("test:true && ./build.sh", "exited 127 after 0.1 s"),
    "a script that cannot be executed": ("test:./plain.sh passes", "exited 126 after 0.1 s"),
    "a program that a script starts": ("test:sh starts.sh passes", "exited 127 after 0.1 s"),
    "a code that a program chose": ("test:exit 127", "exited 127 after 0.1 s"),
    "a quote that is not closed": ("test:sh -c 'exit 127'; echo 'x' > /dev/null; exit 127", "exited 127 after 0.1 s"),
}


@each_row(NOT_INSTALLED.items())
def test_a_program_that_is_not_installed_says_nothing_about_the_agent(written):
    with TemporaryDirectory() as folder:
        outcome = judged(written, context_of(Path(folder), {}))
    assert (outcome.passed, outcome.trouble) == (None, "grader")
    assert outcome.explanation == (
        "exited 127: no-such-program is not installed where commands run; install it, or correct the command"
    )


@each_row(OF_THE_AGENT.items())
def test_a_script_that_the_agent_has_not_written_is_its_failure(row):
    written, explanation = row
    with TemporaryDirectory() as folder:
        files = {"plain.sh": "true\n", "starts.sh": "no-such-program\n"}
        outcome = judged(written, context_of(Path(folder), files))
    assert (outcome.passed, outcome.trouble) == (False, None)
    assert outcome.explanation == (explanation or outcome.explanation)


@pytest.mark.parametrize(
    ("written", "case_timeout", "limit"),
    [
        pytest.param("test:true", 60.0, 300.0, id="at-least-300"),
        pytest.param("test:true", 900.0, 900.0, id="as-long-as-the-case"),
        pytest.param({"test": "true", "timeout": 5}, 900.0, 5.0, id="its-own"),
    ],
)
def test_a_command_has_a_time_limit(tmp_path, written, case_timeout, limit):
    context = context_of(tmp_path, {})
    context.timeout = case_timeout
    judged(written, context)
    assert context.limits == [limit]


def test_the_evidence_is_the_end_of_the_output_and_where_the_rest_is(tmp_path):
    context = context_of(tmp_path, {"out": "é" * 5000 + "\nthe end\n"})
    evidence = judged("test:cat out; exit 1", context).evidence
    assert evidence.startswith("…é")
    assert evidence.endswith("é\nthe end\n(all of it: command-1.stdout.log)")
    assert 4000 < len(evidence.encode()) <= 4150
    evidence = judged("test:seq 100; exit 1", context).evidence
    assert evidence == "…\n" + "\n".join(map(str, range(81, 101))) + "\n(all of it: command-1.stdout.log)"
    assert judged("test:seq 3; exit 1", context).evidence == "1\n2\n3"
    assert judged("test:true", context).evidence is None


def test_a_command_says_what_it_is():
    assertion = parse_text("test:true passes").assertion
    assert (assertion.name, assertion.type, assertion.diagnostic) == ("test:true passes", "command-passes", False)
    assert assertion.fail_fast is False
