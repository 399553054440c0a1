"""Which runners a run has: configured ones by id, or agents named on the spot."""

from __future__ import annotations

import json
import unicodedata
from typing import Any

import pytest

from scratch import config, repository, runner, skillgym
from skillgym_action.agents import AGENTS
from skillgym_action.model.errors import ConfigError, Problem, UsageError
from skillgym_action.model.runner import Runner
from skillgym_action.model.session import AgentConfig
from skillgym_action.settings.configuration import ConfigFile
from skillgym_action.settings.configuration_file import Config, read_config
from skillgym_action.settings.runners import selected_runners, usable
from skillgym_action.text.escaping import folder_names, path_key, with_hash
from table_rows import each_row

CLAUDE = {"agent": {"type": "claude-code", "model": "m"}}
SH = {"agent": {"type": "command", "command": "true"}}


def configured(folder=None, /, **runners: dict[str, Any]) -> Config:
    return Config(file=ConfigFile.model_validate({"runners": runners or None}), folder=folder)


def ids(config: Config, *selectors: str) -> list[str]:
    return [runner.id for runner in selected_runners(config, selectors, {})]


def refused(config: Config, *selectors: str) -> str:
    with pytest.raises((UsageError, ConfigError)) as caught:
        selected_runners(config, selectors, {})
    return str(caught.value)


# --- selection --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("selectors", "selected"),
    [
        pytest.param([], ["opus", "sonnet", "sh"], id="all, in the order of the file"),
        pytest.param(["sh", "opus"], ["sh", "opus"], id="in the order they are named"),
        pytest.param(["*s"], ["opus"], id="a glob"),
        pytest.param(["s*", "sonnet"], ["sonnet", "sh"], id="none of them twice"),
        pytest.param(["opus", "claude-code:haiku"], ["opus", "claude-code:haiku"], id="one more on the spot"),
    ],
)
def test_runners_are_selected_by_id(selectors, selected):
    assert ids(configured(opus=CLAUDE, sonnet=CLAUDE, sh=SH), *selectors) == selected


@pytest.mark.parametrize(
    ("selector", "model"), [("claude-code", None), ("claude-code:m-1", "m-1"), ("claude-code:a:b", "a:b")]
)
def test_an_agent_named_on_the_spot_needs_no_configuration(selector, model):
    (one,) = selected_runners(configured(), (selector,), {})
    assert (one.id, one.agent.type, one.agent.model) == (selector, "claude-code", model)


KNOWN = ", ".join(
    sorted(["opus", *(name for name, info in AGENTS.items() if info.executable or info.needs_no_program)])
)


@pytest.mark.parametrize(
    ("selector", "told"),
    [
        pytest.param("calude-code", "unknown runner 'calude-code'; did you mean 'claude-code'?", id="a misspelt agent"),
        pytest.param("opsu", "unknown runner 'opsu'; did you mean 'opus'?", id="a misspelt id"),
        pytest.param(
            "x*",
            f"unknown runner 'x*'; known: {KNOWN}",
            id="a glob that matches nothing",
        ),
        pytest.param(
            "replay",
            f"unknown runner 'replay'; known: {KNOWN}",
            id="an agent that needs settings",
        ),
    ],
)
def test_a_runner_nobody_knows_is_an_error(tmp_path, selector, told):
    repository(tmp_path, {"skillgym.config.yaml": json.dumps({"runners": {"opus": CLAUDE}})})
    for command in ("run", "check"):
        ran = skillgym(command, "--runner", selector, cwd=tmp_path)
        assert (ran.code, ran.err) == (2, f"error: {told}\n")


@pytest.mark.parametrize(
    ("programs", "told"),
    [
        pytest.param(["claude"], "found on this machine: claude-code; ", id="one"),
        pytest.param([], "no agent's CLI is on PATH; ", id="none"),
    ],
)
def test_with_nothing_configured_and_nothing_named_the_agents_of_the_machine_are_told(tmp_path, programs, told):
    repository(tmp_path / "repo", {"skillgym.config.yaml": "{}"})
    (tmp_path / "bin").mkdir()
    for name in programs:
        (tmp_path / "bin" / name).write_text("#!/bin/sh\n")
        (tmp_path / "bin" / name).chmod(0o755)
    ran = skillgym("run", cwd=tmp_path / "repo", PATH=str(tmp_path / "bin"))
    assert ran.code == 2
    assert ran.err == (
        f"error: no runner is configured or named; {told}"
        "use --runner claude-code, or add runners to skillgym.config.yaml\n"
    )


# --- what a suite's own runner becomes -------------------------------------------------------------


def of_suite(kind: str, **more: Any) -> Runner:
    agent = AgentConfig(type=kind, env={"OWN": "o", "ANTHROPIC_BASE_URL": "u"})
    return usable(Runner(id="a", path_key="a", agent=agent, **more), "EVAL.yaml", {"ANTHROPIC_API_KEY": "k", "X": "x"})


def test_a_suite_s_own_runner_gets_its_agent_s_keys():
    own = of_suite("claude-code")
    assert dict(own.agent.env) == {"ANTHROPIC_API_KEY": "k", "OWN": "o", "ANTHROPIC_BASE_URL": "u"}
    assert own.problem is None


def test_a_suite_s_own_runner_on_an_agent_that_is_not_there_yet_has_that_problem():
    told = str(of_suite("holodeck").problem)
    assert told.startswith("EVAL.yaml: runner a: the agent holodeck is not supported yet; known: claude-code, ")


def test_a_problem_of_a_suite_s_own_runner_stays():
    assert str(of_suite("holodeck", problem=Problem(message="no such target")).problem) == "no such target"


# --- what a configured runner becomes ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("agent", "message"),
    [
        pytest.param({"type": "command"}, "an agent of type command needs command; add command: …", id="command"),
        pytest.param({"type": "replay"}, "an agent of type replay needs sessions; add sessions: …", id="replay"),
    ],
)
def test_an_agent_without_what_it_needs_is_an_error(agent, message):
    assert refused(configured(a={"agent": agent})) == f"runners.a.agent: {message}"


@pytest.mark.parametrize(
    ("agent", "message"),
    [
        ("{type: command}", "2:7: runners.a.agent: an agent of type command needs command; add command: …"),
        (
            "{type: nop, version: 1.2.3}",
            "2:7: runners.a.agent: version has no effect, since nop is not installed from npm; remove version",
        ),
        (
            "{type: nop, env: {KEY: '${KEY}'}}",
            "2:32: runners.a.agent.env: KEY is not set in the environment; set KEY, or pass it to the job as a secret",
        ),
        (
            "{type: nop, env: [KEY]}",
            "2:26: runners.a.agent.env: KEY is not set in the environment; set KEY, or pass it to the job as a secret",
        ),
    ],
)
def test_a_mistake_in_a_runner_is_one_of_the_configuration_and_has_its_place(tmp_path, agent, message):
    file = tmp_path / "skillgym.config.yaml"
    file.write_text(f"runners:\n  a: {{agent: {agent}}}\n")
    with pytest.raises(ConfigError) as caught:
        selected_runners(read_config(file, file.name), (), {})
    assert str(caught.value) == f"skillgym.config.yaml:{message}"


@pytest.mark.parametrize(
    ("agent", "warnings"),
    [
        pytest.param(
            '{type: command, command: [sh, "{promt}"]}',
            ["2:44: runners.a.agent.command[1]: unknown placeholder '{promt}'; did you mean '{prompt}'?"],
            id="an argument",
        ),
        pytest.param(
            '{type: command, command: "run {promt} {worksapce}"}',
            [
                "2:30: runners.a.agent.command: unknown placeholder '{promt}'; did you mean '{prompt}'?",
                "2:30: runners.a.agent.command: unknown placeholder '{worksapce}'; did you mean '{workspace}'?",
            ],
            id="a line for sh",
        ),
        pytest.param(
            '{type: command, command: [sh], commandArgs: ["{promt}"]}',
            ["2:59: runners.a.agent.commandArgs[0]: unknown placeholder '{promt}'; did you mean '{prompt}'?"],
            id="a further argument",
        ),
        pytest.param('{type: command, command: [sh, "{prompt}", "{x}"]}', [], id="a placeholder and other braces"),
        pytest.param('{type: claude-code, commandArgs: ["{promt}"]}', [], id="an agent without placeholders"),
    ],
)
def test_a_misspelt_placeholder_is_a_warning_with_its_place(tmp_path, agent, warnings):
    file = tmp_path / "skillgym.config.yaml"
    file.write_text(f"runners:\n  a: {{agent: {agent}}}\n")
    (one,) = selected_runners(read_config(file, file.name), (), {})
    assert list(map(str, one.warnings)) == [f"skillgym.config.yaml:{line}" for line in warnings]


def test_a_mistake_in_the_runners_of_the_action_has_its_place_in_the_input():
    with pytest.raises(ConfigError) as caught:
        selected_runners(Config().with_runners("a:\n  agent: {type: replay}\n"), (), {})
    assert str(caught.value) == (
        "input runners:2:3: runners.a.agent: an agent of type replay needs sessions; add sessions: …"
    )


@pytest.mark.parametrize(
    ("written", "argv"),
    [
        pytest.param(["./agent.sh", "-v"], ("{folder}/agent.sh", "-v"), id="beside the file"),
        pytest.param(["../agent.sh"], ("{folder}/../agent.sh",), id="above the file"),
        pytest.param(["node", "./a.js", "."], ("node", "{folder}/a.js", "."), id="an argument that is a path"),
        pytest.param(["agent", "/abs", "a/b"], ("agent", "/abs", "a/b"), id="what does not begin with a dot"),
        pytest.param("./agent.sh | cat", ("./agent.sh | cat",), id="a shell line is left as it is"),
    ],
)
def test_parts_of_a_command_that_are_paths_belong_to_the_configuration(tmp_path, written, argv):
    config = configured(tmp_path, a={"agent": {"type": "command", "command": written}})
    (one,) = selected_runners(config, (), {})
    assert one.agent.command == tuple(part.format(folder=tmp_path) for part in argv)
    assert one.agent.shell is isinstance(written, str)


def test_a_recording_belongs_to_the_configuration_too(tmp_path):
    config = configured(tmp_path, a={"agent": {"type": "replay", "sessions": "recorded"}})
    (one,) = selected_runners(config, (), {})
    assert one.agent.sessions == str(tmp_path / "recorded")


def test_a_runner_gets_its_own_agent_s_keys_and_no_other():
    environment = {"ANTHROPIC_API_KEY": "k-1", "OPENAI_API_KEY": "k-2", "MINE": "m", "ANTHROPIC_BASE_URL": ""}
    with_env = {"agent": CLAUDE["agent"] | {"env": {"OWN": "${{ MINE }}"}}}
    runners = selected_runners(configured(claude=with_env, sh=SH), (), environment)
    assert [dict(one.agent.env) for one in runners] == [{"ANTHROPIC_API_KEY": "k-1", "OWN": "m"}, {}]


def test_what_the_configuration_names_wins_over_the_agent_s_own_key():
    with_env = {"agent": CLAUDE["agent"] | {"env": {"ANTHROPIC_API_KEY": "${{ SECOND_KEY }}"}}}
    (one,) = selected_runners(configured(a=with_env), (), {"ANTHROPIC_API_KEY": "k-1", "SECOND_KEY": "k-2"})
    assert dict(one.agent.env) == {"ANTHROPIC_API_KEY": "k-2"}


def test_a_runner_that_is_not_selected_needs_no_key(tmp_path):
    needy = runner("true", env={"K": "${{ NOT_SET_ANYWHERE }}"})
    repository(tmp_path, {"skillgym.config.yaml": config(runner(), needy=needy)})
    assert skillgym("run", "--runner", "sh", cwd=tmp_path).code == 0
    assert skillgym("run", "--runner", "needy", cwd=tmp_path).err == (
        "error: skillgym.config.yaml:1:152: runners.needy.agent.env: NOT_SET_ANYWHERE is not set in the environment; "
        "set NOT_SET_ANYWHERE, or pass it to the job as a secret\n"
    )


def test_the_environment_of_a_runner_is_never_shown():
    environment = {"ANTHROPIC_API_KEY": "k-very-secret"}
    (one,) = selected_runners(configured(a=CLAUDE), (), environment)
    assert "k-very-secret" not in repr(one)


# --- one path segment -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "key"),
    [
        pytest.param("claude-code", "claude-code", id="stays as it is"),
        pytest.param("v1.2_x", "v1.2_x", id="dots and underlines, too"),
        pytest.param("claude-code:opus", "claude-code-opus-d1f79fda", id="a colon"),
        pytest.param("../up", "up-01dc1b4f", id="a way out"),
        pytest.param(".hidden", "hidden-40f24634", id="a dot in front"),
        pytest.param("", "x-1271cf25", id="nothing"),
        pytest.param("Claude", "claude-3deb82fa", id="capitals"),
        pytest.param("Fix (A)", "fix-a-39f3e52d", id="capitals and signs"),
        pytest.param("con", "con-d1d8ab24", id="a device of Windows"),
        pytest.param("nul.txt", "nul-txt-861a8885", id="a device of Windows, with an ending"),
        pytest.param("console", "console", id="nearly one"),
        pytest.param("日本", "x-ce47dfba", id="no letter that is safe everywhere"),
    ],
)
def test_an_id_as_a_path_segment(text, key):
    assert path_key(text) == key
    assert path_key(key) == key


FOLDERS = (
    (["EVAL", "v1.2_x", "Fix-Login"], ["EVAL", "v1.2_x", "Fix-Login"]),
    (["EVAL", "eval", "Eval"], ["eval-e69b81be", "eval", path_key("Eval")]),
    (["EVAL", "Eval", "other"], ["eval-e69b81be", path_key("Eval"), "other"]),
    (["EVAL", "eval", "eval-e69b81be"], ["eval-e69b81be", "eval", with_hash("eval-e69b81be", "eval-e69b81be")]),
    (["Fix (A)", "Fix-A", "CON", "A" * 81], ["fix-a-39f3e52d", "Fix-A", path_key("CON"), path_key("A" * 81)]),
    (["É", "E\u0301", "é"], [path_key("É"), path_key("E\u0301"), path_key("é")]),
)


@each_row((" ".join(names)[:40], (names, folders)) for names, folders in FOLDERS)
def test_a_folder_has_the_name_as_it_is_unless_another_is_the_same_without_regard_to_case(row):
    names, folders = row
    assert list(folder_names(names).values()) == folders
    assert folder_names(reversed(names)) == folder_names(iter(names)), "the order does not matter"
    assert len({unicodedata.normalize("NFKD", folder).casefold() for folder in folders}) == len(names)


def test_path_segments_differ_without_regard_to_case():
    texts = ["fix", "Fix", "FIX", "fIX", "a b", "A b", "a-b", "É", "é", "con", "CON", "straße", "STRASSE", "ﬁx"]
    keys = [path_key(text) for text in texts]
    assert len({key.casefold() for key in keys}) == len(texts)
    assert [key for key in keys if key != key.lower()] == []
