"""Questions about failures: kept with the session, and asked when somebody wants to know."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from agent_clis import agent_cli, more_agents, search_path
from agent_desk import wiring
from model_script import Say, Shell
from model_server import ModelServer
from scratch import repository, runner, skillgym

if TYPE_CHECKING:
    from collections.abc import Iterator

SUITE = """\
from skillgym_action import Suite, Workspace, expect

workspace = Workspace(mode="isolated")
suite = Suite("greetings")


@suite.case("greets", prompt="Greet.")
def greets(report, ctx):
    expect.soft.output.includes(report, "hello", explain={"question": "Why no hello?"})
    expect.output.includes(report, "bye", explain={"question": lambda told: f"Why {told.report.final_output!r}?"})


@suite.case("asks nothing", prompt="Say hello.")
def asks_nothing(report, ctx):
    expect.output.includes(report, "hello")


@suite.case("holds", prompt="Say hello.")
def holds(report, ctx):
    expect.output.not_empty(report, explain={"question": "Why?"})
"""
TYPESCRIPT = """\
import { assert, type Suite, type SuiteWorkspaceConfig } from "skillgym";

export const workspace: SuiteWorkspaceConfig = { mode: "isolated" };
const suite: Suite = {
  greets: {
    id: "greets",
    prompt: "Greet.",
    async assert(report) {
      assert.soft.output.includes(report, "hello", { explain: { question: "Why no hello?" } });
      assert.output.includes(report, "bye", { explain: { question: ({ observed }) => `Why '${observed}'?` } });
    },
  },
};
export default suite;
"""
SUITES = {"bench/greetings_suite.py": SUITE, "bench/greetings-suite.ts": TYPESCRIPT}
# It says what it was told, and leaves something in its workspace; the second time it finds that.
ECHO = """\
text=$(cat); [ -f left.txt ] && found=$(cat left.txt); echo "$text" > left.txt
printf '{"type": "session", "sessionId": "s-1", "finalOutput": "I was told: %s Before: %s"}' "$text" "$found"
"""
SESSION = "greetings/greets/sh/repeat-1"


def bench(folder: Path, script: str = ECHO, suite: str = SUITE, file: str = next(iter(SUITES)), **more: Any) -> Path:
    """A repository whose run has ended in ``results``."""
    told = json.dumps({"runners": {"sh": runner(script, output="events", **more)}})
    root = repository(folder / "repo", {file: suite, "skillgym.config.yaml": told, "bench/core.json": None})
    skillgym("run", "--output", "results", cwd=root)
    return root


@pytest.fixture(scope="module")
def ended(tmp_path_factory):
    return bench(tmp_path_factory.mktemp("ended"))


@pytest.fixture
def asked(tmp_path, ended):
    """A copy of it."""
    return shutil.copytree(ended, tmp_path / "repo", symlinks=True)


def explain_json(root: Path, session: str = SESSION) -> dict[str, Any]:
    return json.loads((root / "results" / session / "explain.json").read_text())


def test_questions_of_failed_assertions_are_kept(asked):
    told = explain_json(asked)
    assert {key: told[key] for key in ("suitePath", "caseId", "runnerId", "sessionId")} == {
        "suitePath": "bench/greetings_suite.py",
        "caseId": "greets",
        "runnerId": "sh",
        "sessionId": "s-1",
    }
    assert told["questions"] == [
        {"question": "Why no hello?", "source": {"path": "bench/greetings_suite.py", "line": 9, "column": 5}},
        {
            "question": "Why 'I was told: Greet. Before: '?",
            "source": {"path": "bench/greetings_suite.py", "line": 10, "column": 5},
        },
    ]
    found = sorted(path.parent.parent.parent.name for path in (asked / "results").rglob("explain.json"))
    assert found == ["greets"]


def test_they_are_asked_where_the_session_was_held(asked):
    ran = skillgym("explain", f"results/{SESSION}", cwd=asked)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines() == [
        "> Why no hello?",
        "I was told: Why no hello? Before: Greet.",
        "",
        "> Why 'I was told: Greet. Before: '?",
        "I was told: Why 'I was told: Greet. Before: '? Before: Why no hello?",
        "",
    ]
    told = json.loads((asked / "results" / SESSION / "explanations.json").read_text())
    assert [one["answer"] for one in told["questions"]] == ran.out.splitlines()[1::3]
    assert (told["sessionId"], told["cwd"]) == ("s-1", explain_json(asked)["cwd"])
    for one in told["questions"]:
        assert (asked / "results" / SESSION / one["rawArtifacts"]["stdoutPath"]).stat().st_size > 0
    assert not Path(told["cwd"]).parent.parent.exists()


def test_a_link_may_lead_to_the_folder_for_temporary_files(tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to("there")
    root = bench(tmp_path)
    skillgym("run", "--output", "results", cwd=root, TMPDIR=str(tmp_path / "link"))
    assert Path(explain_json(root)["cwd"]).is_relative_to(tmp_path / "there")
    assert skillgym("explain", f"results/{SESSION}", cwd=root, TMPDIR=str(tmp_path / "link")).code == 0


def test_a_suite_in_typescript_has_its_questions_answered_too(tmp_path):
    file = "bench/greetings-suite.ts"
    root = bench(tmp_path, suite=TYPESCRIPT, file=file)
    kept = explain_json(root)
    assert (kept["suitePath"], kept["questions"]) == (
        file,
        [
            {"question": "Why no hello?", "source": {"path": file, "line": 9, "column": 26}},
            {
                "question": "Why 'I was told: Greet. Before: '?",
                "source": {"path": file, "line": 10, "column": 21},
            },
        ],
    )
    ran = skillgym("explain", f"results/{SESSION}", cwd=root)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines() == [
        "> Why no hello?",
        "I was told: Why no hello? Before: Greet.",
        "",
        "> Why 'I was told: Greet. Before: '?",
        "I was told: Why 'I was told: Greet. Before: '? Before: Why no hello?",
        "",
    ]


def test_answers_are_not_overwritten_unless_somebody_wants_that(asked):
    assert skillgym("explain", f"results/{SESSION}", cwd=asked).code == 0
    ran = skillgym("explain", f"results/{SESSION}", cwd=asked)
    assert (ran.code, ran.err) == (2, f"error: results/{SESSION}/explanations.json exists; use --rerun to ask again\n")
    assert skillgym("explain", "--rerun", f"results/{SESSION}", cwd=asked).code == 0


def test_what_was_kept_is_not_changed_by_asking(asked):
    skillgym("explain", f"results/{SESSION}", cwd=asked)
    assert (asked / "results" / "workspaces" / SESSION / "left.txt").read_text() == "Greet.\n"


def test_an_expected_failure_can_be_asked_too(tmp_path):
    suite = SUITE.replace('"greets", prompt="Greet."', '"greets", prompt="Greet.", expected_fail=True')
    root = bench(tmp_path, suite=suite)
    assert skillgym("explain", f"results/{SESSION}", cwd=root).code == 0


def test_an_agent_that_does_not_answer_is_told(tmp_path):
    root = bench(tmp_path, "[ ! -f left.txt ] || exit 4\n" + ECHO)
    ran = skillgym("explain", f"results/{SESSION}", cwd=root)
    assert (ran.code, ran.out.splitlines()[1]) == (3, "exited with code 4")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        pytest.param(
            {"sessionId": None},
            "the agent reported no session id, so the session cannot be resumed",
            id="no session id",
        ),
        pytest.param({"runnerId": "other"}, "unknown runner 'other'", id="runner not configured"),
        pytest.param({"agentType": "codex"}, "the runner sh is command now, and was codex", id="another agent"),
        pytest.param({"home": "{tmp}/skillgym-x/../../etc"}, "the session's home was", id="a home that leads out"),
        pytest.param(
            {"home": "{tmp}/skillgym-x/1"}, "which is not the home of a session below {tmp}", id="a home of no session"
        ),
        pytest.param(
            {"home": "{tmp}/skillgym-x/1/home", "cwd": "/no/such"}, "is not there: /no/such", id="no directory"
        ),
        pytest.param(
            {"workspace": "../.."}, "the run did not archive the session's workspace: ../..", id="not in the run"
        ),
        pytest.param({"more": 1}, "more: unknown key 'more'", id="unknown key"),
    ],
)
def test_what_cannot_be_asked_is_refused(asked, changes, message):
    root = asked
    file = root / "results" / SESSION / "explain.json"
    temporary = str(Path(tempfile.gettempdir()).resolve())
    message = message.replace("{tmp}", temporary)
    told = {
        key: value.replace("{tmp}", temporary) if isinstance(value, str) else value for key, value in changes.items()
    }
    file.write_text(json.dumps(json.loads(file.read_text()) | told))
    ran = skillgym("explain", f"results/{SESSION}", cwd=root)
    assert (ran.code, message in ran.err) == (2, True), ran.err
    assert not (root / "results" / SESSION / "explanations.json").exists()
    assert not (Path(tempfile.gettempdir()) / "skillgym-x").exists()


def test_a_folder_without_questions_is_told(asked):
    ran = skillgym("explain", "results/greetings/holds/sh/repeat-1", cwd=asked)
    assert ran.code == 2
    assert ran.err.endswith("; name the folder of a session with a failed assertion that has a question\n")


def test_a_home_that_is_in_use_is_left_alone(asked):
    root = Path(explain_json(asked)["home"]).parents[1]
    root.mkdir()
    try:
        ran = skillgym("explain", f"results/{SESSION}", cwd=asked)
        assert (ran.code, f"error: {root} exists" in ran.err) == (2, True)
        assert root.is_dir()
    finally:
        root.rmdir()


# --- real agents ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def models() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.mark.agents
@pytest.mark.parametrize(
    ("agent", "model", "file"),
    [
        ("claude-code", None, "bench/greetings_suite.py"),
        ("claude-code", None, "bench/greetings-suite.ts"),
        pytest.param("codex", "gpt-5.1-codex", "bench/greetings_suite.py", marks=more_agents),
        pytest.param("pi", "openai/gpt-5-mini", "bench/greetings_suite.py", marks=more_agents),
    ],
)
def test_a_real_agent_resumes_its_session(tmp_path, models, agent, model, file):
    base_url = models.script(Shell("echo once > left.txt"), Say("nothing"), Say("because"), Say("I was told so"))
    section = {"type": agent, "env": wiring(agent, base_url), "command": [str(agent_cli(agent))]}
    told = json.dumps({"runners": {"sh": {"agent": section | ({"model": model} if model else {})}}})
    files = {file: SUITES[file], "skillgym.config.yaml": told, "bench/core.json": None}
    root = repository(tmp_path / "repo", files)
    ran = skillgym("run", "--output", "results", "--case", "greets", cwd=root, limit=120, PATH=search_path())
    assert ran.code == 1, ran.out + ran.err
    before = len(models.requests)
    ran = skillgym("explain", f"results/{SESSION}", cwd=root, limit=120, PATH=search_path())
    assert (ran.code, ran.out.splitlines()[1::3]) == (0, ["because", "I was told so"]), ran.out + ran.err
    assert "echo once" in json.dumps(models.requests[before:][-1].body)
