"""The configuration file: found, read in three notations, and every mistake in it told with its place."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from scratch import written
from skillgym_action.config import Config, ConfigFile, find_config, read_config, resolved_env
from skillgym_action.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

RUNNER = "runners:\n  claude: {agent: {type: claude-code}}\n"

YAML = """
run:
  schedule: parallel
  maxParallel: 3
  repeatFailure: 2
  tags: [smoke]
  failOn: [failed]
defaults: {timeoutMs: 5000}
runners:
  sh:
    agent: {type: command, command: [./agent.sh, "{prompt}"], commandArgs: [-v], env: {A: "1"}}
"""
JSON = """{
  "run": {"schedule": "parallel", "maxParallel": 3, "repeatFailure": 2, "tags": ["smoke"], "failOn": ["failed"]},
  "defaults": {"timeoutMs": 5000},
  "runners": {"sh": {"agent": {
    "type": "command", "command": ["./agent.sh", "{prompt}"], "commandArgs": ["-v"], "env": {"A": "1"}}}}
}"""
TOML = """
[run]
schedule = "parallel"
maxParallel = 3
repeatFailure = 2
tags = ["smoke"]
failOn = ["failed"]
[defaults]
timeoutMs = 5000
[runners.sh.agent]
type = "command"
command = ["./agent.sh", "{prompt}"]
commandArgs = ["-v"]
env = {A = "1"}
"""


def read(folder: Path, text: str | bytes, name: str = "skillgym.config.yaml") -> Config:
    return read_config(written(folder, {name: text}) / name, name)


def problems(folder: Path, text: str | bytes, name: str = "skillgym.config.yaml") -> list[str]:
    with pytest.raises(ConfigError) as caught:
        read(folder, text, name)
    return str(caught.value).splitlines()


# --- three notations --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ending", "text"),
    [
        pytest.param("yaml", YAML, id="yaml"),
        pytest.param("yml", YAML, id="yml"),
        pytest.param("json", JSON, id="json"),
        pytest.param("toml", TOML, id="toml"),
        pytest.param("yaml", "\ufeff" + YAML, id="a byte order mark"),
    ],
)
def test_the_same_configuration_in_each_notation(tmp_path, ending, text):
    file = read(tmp_path, text, f"skillgym.config.{ending}").file
    run = {"schedule": "parallel", "max_parallel": 3, "repeat_failure": 2, "tags": ("smoke",), "fail_on": ("failed",)}
    agent = {"type": "command", "command": ("./agent.sh", "{prompt}"), "command_args": ("-v",), "env": {"A": "1"}}
    assert file == ConfigFile.model_validate(
        {"run": run, "defaults": {"timeout_ms": 5000}, "runners": {"sh": {"agent": agent}}}
    )


@pytest.mark.parametrize("name", ["repeatFailure", "retryFailed"])
def test_both_words_for_retries_are_known(tmp_path, name):
    assert read(tmp_path, f"run: {{{name}: 2}}").file.run.repeat_failure == 2


@pytest.mark.parametrize("text", ["", "# run: {repeat: 2}\n"], ids=["empty", "only a comment"])
def test_an_empty_file_is_a_configuration(tmp_path, text):
    assert read(tmp_path, text).file == ConfigFile()


def test_relative_paths_belong_to_the_file_s_folder(tmp_path):
    assert read(tmp_path, RUNNER).folder == tmp_path


# --- mistakes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "told"),
    [
        pytest.param(
            "run:\n  schedul: serial\n",
            ["2:3: run.schedul: unknown key 'schedul'; did you mean 'schedule'?"],
            id="unknown key",
        ),
        pytest.param(
            "runers: {}\n", ["1:1: runers: unknown key 'runers'; did you mean 'runners'?"], id="unknown section"
        ),
        pytest.param(
            "runners:\n  a:\n    agent: {typ: command}\n",
            [
                "3:5: runners.a.agent.type: is missing",
                "3:13: runners.a.agent.typ: unknown key 'typ'; did you mean 'type'?",
            ],
            id="a misspelt key is also a missing one",
        ),
        pytest.param(
            "runners:\n  a: {agent: {type: calude-code}}\n",
            ["2:15: runners.a.agent.type: unknown agent 'calude-code'; did you mean 'claude-code'?"],
            id="unknown agent",
        ),
        pytest.param("runners: {}\n", ["1:1: runners: must not be empty"], id="no runners"),
        pytest.param(
            "snapshots: {}\nrun: {judge: {}}\n",
            [
                "1:1: snapshots: is not supported yet; take it out until it is",
                "2:7: run.judge: is not supported yet; take it out until it is",
            ],
            id="keys of a later version",
        ),
        pytest.param(
            "runners: []\n",
            ["1:1: runners: must be a mapping of keys to values, not a list"],
            id="a list for a mapping",
        ),
        pytest.param(
            "run: {repeat: [3]}\n", ["1:7: run.repeat: must be a whole number, not a list"], id="a list for a number"
        ),
        pytest.param("run: {repeat: 0}\n", ["1:7: run.repeat: must be greater than 0, not 0"], id="zero"),
        pytest.param("run: {maxCost: .inf}\n", ["1:16: run.maxCost is not a finite number"], id="infinite"),
        pytest.param(
            "run: {minPassRate: 2}\n",
            ["1:7: run.minPassRate: must be less than or equal to 1, not 2"],
            id="more than all",
        ),
        pytest.param(
            "run: {failOn: [faild]}\n",
            ["1:7: run.failOn: unknown word 'faild'; did you mean 'failed'?"],
            id="a word the gate does not know",
        ),
        pytest.param(
            "run: {failOn: [none, failed]}\n",
            ["1:7: run.failOn: 'none' turns everything off, hence stands alone"],
            id="a gate both off and on",
        ),
        pytest.param("[1]\n", ["1:1: must be a mapping of keys to values, not a list"], id="no mapping"),
        pytest.param(
            "run: [\n", ["2:1: not YAML: while parsing a flow node, did not find expected node content"], id="no YAML"
        ),
        pytest.param("run: {}\nrun: {}\n", ["2:1: run is given twice, first in line 1; keep one of them"], id="twice"),
    ],
)
def test_a_mistake_is_told_with_its_place_and_a_remedy(tmp_path, text, told):
    assert problems(tmp_path, text) == [f"skillgym.config.yaml:{line}" for line in told]


@pytest.mark.parametrize(
    ("name", "text", "place"),
    [
        pytest.param("c.json", '{\n  "run": {"repeet": 1}\n}', "c.json:2:11", id="json"),
        pytest.param("c.toml", "[run]\nrepeet = 1\n", "c.toml:2:1", id="toml"),
    ],
)
def test_places_are_known_in_every_notation(tmp_path, name, text, place):
    assert problems(tmp_path, text, name) == [f"{place}: run.repeet: unknown key 'repeet'; did you mean 'repeat'?"]


@pytest.mark.parametrize(
    "key",
    [
        pytest.param("sk-ant-api03-abcdefghijklmnopqrstuvwxyz", id="anthropic"),
        pytest.param("ghp_abcdefghijklmnopqrstuvwxyz0123456789", id="github"),
        pytest.param("prefix AKIAABCDEFGHIJKLMNOP", id="aws, inside other text"),
    ],
)
def test_a_secret_written_down_is_refused_and_never_repeated(tmp_path, key):
    text = f'runners:\n  a:\n    agent: {{type: claude-code, env: {{MY_KEY: "{key}"}}, commandArgs: ["--key={key}"]}}\n'
    remedy = "holds what looks like a key; set it as a variable of the environment and name that: ${{ MY_KEY }}"
    places = "3:38: runners.a.agent.env.MY_KEY", f"3:{65 + len(key)}: runners.a.agent.commandArgs[0]"
    assert problems(tmp_path, text) == [f"skillgym.config.yaml:{place}: {remedy}" for place in places]


@pytest.mark.parametrize("ending", ["ts", "mjs"])
def test_a_configuration_that_is_a_program_is_told_apart(tmp_path, ending):
    assert problems(tmp_path, "export default {}", f"skillgym.config.{ending}") == [
        f"skillgym.config.{ending}: configuration in .{ending} is not supported yet; write it as YAML, JSON or TOML"
    ]


def test_a_file_that_is_no_text_is_told(tmp_path):
    (told,) = problems(tmp_path, b"run: \xff")
    assert told.startswith("skillgym.config.yaml: cannot be read: ")


# --- which file -------------------------------------------------------------------------------------


def test_the_closest_configuration_upward_is_found(tmp_path):
    written(tmp_path, {"skillgym.config.yaml": "", "a/skillgym.config.toml": "", "a/b/c/x": "", "d/x": ""})
    assert find_config(tmp_path / "a/b/c", tmp_path) == tmp_path / "a/skillgym.config.toml"
    assert find_config(tmp_path / "d", tmp_path) == tmp_path / "skillgym.config.yaml"


def test_the_search_ends_at_the_repository(tmp_path):
    written(tmp_path, {"skillgym.config.yaml": "", "repo/a/x": ""})
    assert find_config(tmp_path / "repo/a", tmp_path / "repo") is None


def test_two_configurations_in_one_folder_are_one_too_many(tmp_path):
    written(tmp_path, {"skillgym.config.yaml": "", "skillgym.config.ts": ""})
    with pytest.raises(ConfigError) as caught:
        find_config(tmp_path, tmp_path)
    assert str(caught.value) == (
        f"two configuration files in {tmp_path}: skillgym.config.yaml, skillgym.config.ts; "
        "keep one of them, or name it with --config"
    )


# --- environment ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("env", "values"),
    [
        pytest.param({"KEY": "${{ MY_KEY }}"}, {"KEY": "v-1"}, id="the form of workflows"),
        pytest.param({"KEY": "${MY_KEY}"}, {"KEY": "v-1"}, id="the form of shells"),
        pytest.param({"URL": "https://${HOST}/${{MY_KEY}}?"}, {"URL": "https://h/v-1?"}, id="inside other text"),
        pytest.param({"A": "$MY_KEY", "B": "$$"}, {"A": "$MY_KEY", "B": "$$"}, id="a bare dollar means itself"),
        pytest.param({"A": "${LOOKS}"}, {"A": "${MY_KEY}"}, id="a value is not looked into"),
    ],
)
def test_names_of_the_environment_become_their_values(env, values):
    environment = {"MY_KEY": "v-1", "HOST": "h", "LOOKS": "${MY_KEY}"}
    assert resolved_env(env, environment, "a") == values


@pytest.mark.parametrize("environment", [{}, {"MY_KEY": ""}], ids=["not set", "empty, as a missing secret is"])
def test_a_name_that_is_not_set_is_an_error(environment):
    with pytest.raises(ConfigError) as caught:
        resolved_env({"KEY": "${{ MY_KEY }}"}, environment, "claude")
    assert str(caught.value) == (
        "runners.claude.agent.env: MY_KEY is not set in the environment; set MY_KEY, or pass it to the job as a secret"
    )


def test_a_list_of_names_passes_them_on(tmp_path):
    config = read(tmp_path, "runners:\n  a: {agent: {type: claude-code, env: [MY_KEY, HOST]}}\n")
    env = config.file.runners["a"].agent.env
    assert resolved_env(env, {"MY_KEY": "v-1", "HOST": "h"}, "a") == {"MY_KEY": "v-1", "HOST": "h"}


# --- the action's input -----------------------------------------------------------------------------


def test_the_input_replaces_the_file_s_runners_and_nothing_else(tmp_path):
    config = read(tmp_path, f"run: {{repeat: 2}}\n{RUNNER}")
    joined = config.with_runners("codex:\n  agent: {type: command, command: echo}\n")
    assert list(joined.file.runners) == ["codex"]
    assert (joined.file.run.repeat, joined.folder) == (2, tmp_path)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        pytest.param(
            "a:\n  agent: {type: claud-code}\n",
            "input runners:2:11: runners.a.agent.type: unknown agent 'claud-code'; did you mean 'claude-code'?",
            id="unknown agent",
        ),
        pytest.param("a", 'input runners:1:1: runners: must be a mapping of keys to values, not "a"', id="a word"),
    ],
)
def test_a_mistake_in_the_input_is_told_with_its_place(text, told):
    with pytest.raises(ConfigError) as caught:
        Config().with_runners(text)
    assert str(caught.value) == told
