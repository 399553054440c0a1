"""What holds for all agents with a CLI. What is special about an agent is in a file of its own."""

from __future__ import annotations

import pytest

from agent_desk import MODELS, SERVICES
from captured import AGENTS as CAPTURED
from captured import FOLDER, RECORDED, capture_in, recorded_report
from sessions import SESSION, capture_of, session_with
from skillgym_action.agents import AGENTS, agent_named
from skillgym_action.model.session import AgentConfig, Ending

CLIS = [name for name, info in AGENTS.items() if info.executable]
by_cli = pytest.mark.parametrize("agent", CLIS)
by_capture = pytest.mark.parametrize("agent", CAPTURED)

# --- starting ---------------------------------------------------------------------------------------


@by_cli
def test_there_are_captures_of_it(agent):
    assert agent in CAPTURED


def test_all_that_can_be_installed_are_tried_with_the_scripted_model():
    assert {name for name, info in AGENTS.items() if info.package} == set(MODELS) == set(SERVICES)


@by_cli
def test_a_prompt_cannot_become_an_option_and_may_be_long_on_stdin(agent):
    prompt = "--version" + "x" * 200_000
    started = agent_named(agent).invocation(session_with(prompt=prompt))
    if started.stdin is None:
        assert started.argv[-1].endswith(prompt)
        assert started.argv[-2] == "--" or started.argv[-1] != prompt
    else:
        assert started.stdin == prompt
        assert prompt not in started.argv


@by_cli
def test_model_and_the_runner_s_arguments_follow_the_options(agent):
    """And the runner's command replaces the program."""
    config = AgentConfig(type=agent, model="m", command=("npx", "cli"), command_args=("--effort", "low"))
    argv = agent_named(agent).invocation(session_with(config)).argv
    plain = agent_named(agent).invocation(SESSION).argv
    at = argv.index("--model")
    assert plain[0] == AGENTS[agent].executable
    assert argv[:2] == ("npx", "cli")
    assert argv[at : at + 4] == ("--model", "m", "--effort", "low")
    assert argv[2:at] + argv[at + 4 :] == plain[1:]


def variables(agent: str) -> set[str]:
    return {name for family in AGENTS[agent].families for name in family.variables}


@by_cli
def test_the_home_is_private_and_the_runner_s_environment_wins(agent):
    plain = agent_named(agent).invocation(session_with(AgentConfig(type=agent))).env
    own = dict.fromkeys((*plain, *variables(agent)), "of the runner")
    assert plain["HOME"] == "/agent-home"
    assert agent_named(agent).invocation(session_with(AgentConfig(type=agent, env=own))).env.items() >= own.items()


@by_cli
def test_no_key_is_written_to_a_file_or_an_argument(agent):
    keys = {name: f"secret-{name}" for name in variables(agent) if not name.endswith(("_URL", "_VERSION"))}
    started = agent_named(agent).invocation(session_with(AgentConfig(type=agent, env=keys)))
    assert "secret-" not in "".join((*started.files.values(), *started.argv))


@by_cli
def test_a_resumed_session_differs_by_its_id_only(agent):
    first, resumed = (agent_named(agent).invocation(SESSION), agent_named(agent).resume(SESSION, "s-1"))
    assert [part for part in resumed.argv if part in first.argv] == list(first.argv)
    assert any("s-1" in part for part in resumed.argv)
    assert (resumed.env, resumed.files, resumed.stdin) == (first.env, first.files, first.stdin)


# --- reading ----------------------------------------------------------------------------------------

# Sessions that end by themselves; Gemini does not report its model rounds while it runs.
WHOLE = [(agent, name) for agent, name in RECORDED if agent != "gemini" and name in {"shell", "fail", "skill"}]
# Where the CLI's own count of turns is another, or there is none.
STEPS = {("claude-code", "skill"): 3, ("cursor-agent", "skill"): 5}


@pytest.mark.parametrize(("agent", "session"), WHOLE)
def test_the_steps_of_a_recorded_session_are_its_model_rounds(agent, session):
    lines = (FOLDER / agent / session / "stdout.jsonl").read_text().splitlines()
    seen = [progress for line in lines if (progress := agent_named(agent).progress(line))]
    steps = len({progress.step for progress in seen if progress.step})
    assert steps == STEPS.get((agent, session), recorded_report(agent, session).turns)


@pytest.mark.parametrize("agent", [agent for agent, scenario in RECORDED if scenario == "fail"])
def test_a_tool_that_fails_inside_a_session_is_no_trouble(agent):
    assert recorded_report(agent, "fail").trouble is None


@by_capture
@pytest.mark.parametrize(
    ("ending", "exit_code", "message", "note"),
    [
        pytest.param(Ending.EXITED, 0, None, None, id="all is well"),
        pytest.param(Ending.EXITED, 7, None, "exited with code 7", id="an exit code after the result"),
        pytest.param(Ending.EXITED, 137, "exited with code 137", None, id="killed after the result, below a shell"),
        pytest.param(Ending.SIGNALLED, -11, "ended by SIGSEGV", None, id="killed after the result"),
        pytest.param(Ending.STOPPED, -15, None, None, id="stopped by the tool after its result"),
    ],
)
def test_how_a_finished_session_ends(agent, ending, exit_code, message, note):
    whole = capture_in(FOLDER / agent / "shell")
    capture = capture_of(whole.stdout.text, ending=ending, exit_code=exit_code)
    transcript = agent_named(agent).transcript(capture, SESSION)
    found = agent_named(agent).trouble(capture, transcript)
    assert (found and (found.kind, found.message)) == (message and ("runner-crash", message))
    assert transcript.exit_note == note


@by_capture
def test_exit_code_0_without_a_result_is_a_crash(agent):
    lines = (FOLDER / agent / "shell" / "stdout.jsonl").read_text().splitlines(keepends=True)
    capture = capture_of("".join(lines[: len(lines) // 2]))
    found = agent_named(agent).trouble(capture, agent_named(agent).transcript(capture, SESSION))
    assert (found.kind, found.message) == ("runner-crash", "ended without a result")
