"""Suites in Python are checked by mypy as strictly as their authors want."""

from __future__ import annotations

import subprocess
import sys
from textwrap import dedent

import pytest

HEAD = """\
import re

from skillgym_action import Case, Context, SessionReport, Suite, Workspace, command_matcher, expect

"""
SOUND = """\
    workspace = Workspace(mode="isolated", template_dir="app", bootstrap={"command": "sh", "args": ["./x.sh"]})
    suite = Suite("typed")


    @suite.case("sync", prompt="p", tags=["a"], timeout_ms=1000, expected_fail=True)
    def sync(report: SessionReport, ctx: Context) -> None:
        expect.skills.has(report, "deploy", "deploy it", min_confidence="strong")
        expect.commands.includes(report, command_matcher("npm").arg("test").option("--watch", "false").strict())
        expect.commands.only(report, ["npm", re.compile("^ls"), {"executable": "git", "options": {"-m": True}}])
        expect.file_reads.before(report, "README", re.compile(r"\\.py$"))
        expect.tool_calls.sequence(report, ["Read", {"tool": "Bash", "where": lambda args, event: args == 5}])
        expect.output.includes(report, "done", explain={"question": lambda context: f"why {context.actual}?"})
        expect.soft.equal(ctx.get_commands(), ["ls"])
        expect.soft.output.not_empty(report, explain={"question": "Why so silent?"})
        with expect.classify("silent"):
            expect.ok(report.final_output)


    async def later(report: SessionReport) -> None:
        calls: list[str] = [call.tool for call in Context(report).get_tool_calls()]
        expect.equal(calls, [])


    cases: dict[str, Case] = {"later": Case(prompt="p", check=later)}
"""


def checked(folder, body):
    """What mypy says, without file names."""
    (folder / "typed_suite.py").write_text(HEAD + dedent(body), encoding="utf-8")
    argv = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", f"--cache-dir={folder}", "typed_suite.py"]
    done = subprocess.run(argv, cwd=folder, capture_output=True, text=True, check=False)
    return [line.partition(": ")[2] for line in (done.stdout + done.stderr).splitlines()]


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """What mypy says of a sound suite, and of mistakes in one."""
    mistakes = "\n".join(
        f"    def m{number}(report: SessionReport) -> None: {code}" for number, code in enumerate(MISTAKES)
    )
    return checked(tmp_path_factory.mktemp("typing"), SOUND + mistakes)


MISTAKES = {
    "expect.skills.has(report, 5)": 'Argument 2 to "has" of "Skills" has incompatible type "int"',
    "expect.skills.has(report, 'x', min_confidence='sure')": 'Argument "min_confidence" to "has" of "Skills"',
    "expect.commands.includes(report, 5)": 'Argument 2 to "includes" of "Occurrences" has incompatible type "int"',
    "expect.file_reads.includes(report, command_matcher('x'))": 'Argument 2 to "includes" of "Occurrences"',
    "expect.tool_calls.has(report, {'tol': 'Read'})": 'Argument 2 has incompatible type "dict[str, str]"',
    "expect.output.notEmpty(report)": '"OutputExpectations" has no attribute "notEmpty"',
    "command_matcher('x').args(5)": 'Argument 1 to "args" of "CommandMatcher" has incompatible type "int"',
    "Case('a', prompt='p', tag=['x'])": 'Unexpected keyword argument "tag" for "Case"',
}


@pytest.mark.slow
def test_a_sound_suite_has_no_errors_and_every_mistake_has_one(told):
    errors = [line for line in told if line.startswith("error: ")]
    assert len(errors) == len(MISTAKES), told
    for error, message in zip(errors, MISTAKES.values(), strict=True):
        assert message in error
