"""The configuration file: found, read in three notations, and every mistake in it told with its place."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, get_args

import pytest

from scratch import written
from skillgym_action.judging.judge.protocols import PROTOCOLS
from skillgym_action.model.errors import ConfigError
from skillgym_action.model.judge_question import JudgeConfig
from skillgym_action.pipeline.wiring import configuration
from skillgym_action.settings.configuration import ConfigFile, JudgeSection
from skillgym_action.settings.configuration_file import Config, find_config, read_config, resolved_env
from skillgym_action.settings.context import Job, current_context
from skillgym_action.settings.resolve import options
from skillgym_action.settings.settings import Settings
from suite_programs import suite_hosts

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
    run = {"schedule": "parallel", "maxParallel": 3, "repeatFailure": 2, "tags": ("smoke",), "failOn": ("failed",)}
    agent = {"type": "command", "command": ("./agent.sh", "{prompt}"), "commandArgs": ("-v",), "env": {"A": "1"}}
    assert file == ConfigFile.model_validate(
        {"run": run, "defaults": {"timeoutMs": 5000}, "runners": {"sh": {"agent": agent}}}
    )


@pytest.mark.parametrize("name", ["repeatFailure", "retryFailed"])
def test_both_words_for_retries_are_known(tmp_path, name):
    assert read(tmp_path, f"run: {{{name}: 2}}").file.run.retries == 2


def test_of_both_words_for_retries_the_newer_one_counts(tmp_path):
    assert read(tmp_path, "run: {retryFailed: 3, repeatFailure: 1}").file.run.retries == 1


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
                "3:13: runners.a.agent.typ: unknown key 'typ'; did you mean 'type'?",
            ],
            id="a misspelt key is not also a missing one",
        ),
        pytest.param(
            "runners:\n  a: {agent: {type: calude-code}}\n",
            ["2:15: runners.a.agent.type: unknown agent 'calude-code'; did you mean 'claude-code'?"],
            id="unknown agent",
        ),
        pytest.param(
            "runners:\n  a: {agent: {type: [a], version: {b: 1}}}\n  b: {agent: {type: 5}}\n",
            [
                "2:15: runners.a.agent.type: must be text, not a list",
                "2:26: runners.a.agent.version: must be text, not a mapping",
                "3:15: runners.b.agent.type: must be text, not 5",
            ],
            id="an agent that is no text",
        ),
        pytest.param(
            "engine: {type: dask, lost-after: 5, lostAfter: 50}\n",
            ["1:1: engine: lost-after is another name of lostAfter, which is there, too"],
            id="a key of the engine with both names",
        ),
        pytest.param(
            "engine: {type: dask, slots-: 7, lost--retries: 9}\n",
            [
                "1:22: engine.slots-: unknown key 'slots-'; did you mean 'slots'?",
                "1:33: engine.lost--retries: unknown key 'lost--retries'; did you mean 'lostRetries'?",
            ],
            id="keys of the engine with hyphens that they do not have",
        ),
        pytest.param("runners: {}\n", ["1:1: runners: must not be empty"], id="no runners"),
        pytest.param(
            "run: {judge: {agent: codex}}\n",
            ["1:15: run.judge.agent: is not supported yet; remove it"],
            id="a key of a later version",
        ),
        pytest.param(
            "run: {reporter: ./reporter.js}\n",
            [
                (
                    "1:7: run.reporter: reporter modules are not supported; use standard, json, json-summary, html or "
                    "github-actions, and --report for other reports"
                )
            ],
            id="a reporter module",
        ),
        pytest.param(
            "run: {repeatFailure: 1, retryFailed: -1}\n",
            ["1:25: run.retryFailed: must be greater than or equal to 0, not -1"],
            id="a wrong number of retries beside a right one",
        ),
        pytest.param(
            "snapshots: {metric: costUsd}\n",
            [
                "1:1: snapshots.tolerance: is missing",
                (
                    "1:13: snapshots.metric: must be 'totalTokens', 'inputTokens', 'outputTokens', "
                    "'reasoningTokens' or 'cacheTokens', not \"costUsd\""
                ),
            ],
            id="snapshots of something else",
        ),
        pytest.param(
            "snapshots: {tolerance: {}}\n",
            ["1:13: snapshots.tolerance: needs absolute, percent, or both"],
            id="a tolerance of nothing",
        ),
        pytest.param(
            "snapshots: {tolerance: {percent: -1}}\n",
            ["1:25: snapshots.tolerance.percent: must be greater than or equal to 0, not -1"],
            id="a tolerance below nothing",
        ),
        pytest.param(
            "run: {judge: {api: gemini, modle: x}}\n",
            [
                "1:15: run.judge.api: must be 'anthropic' or 'openai', not \"gemini\"",
                "1:28: run.judge.modle: unknown key 'modle'; did you mean 'model'?",
            ],
            id="a judge",
        ),
        pytest.param(
            "runners: []\n",
            ["1:1: runners: must be a mapping of keys to values, not a list"],
            id="a list for a mapping",
        ),
        pytest.param(
            "run: {repeat: [3]}\n",
            ["1:7: run.repeat: [3] is neither auto nor the number of repetitions"],
            id="a list for a number",
        ),
        pytest.param(
            "run: {repeat: 0}\n", ["1:7: run.repeat: 0 is neither auto nor the number of repetitions"], id="zero"
        ),
        pytest.param("run: {maxCost: .inf}\n", ["1:16: run.maxCost is not a finite number"], id="infinite"),
        pytest.param(
            "run: {minPassRate: 2}\n",
            ["1:7: run.minPassRate: must be less than or equal to 1, not 2; write 0.02 for 2%"],
            id="more than all",
        ),
        pytest.param(
            "run: {failOn: [faild]}\n",
            ["1:7: run.failOn: unknown word 'faild'; did you mean 'failed'?"],
            id="a word the gate does not know",
        ),
        pytest.param(
            "run: {failOn: [none, failed]}\n",
            ["1:7: run.failOn: 'none' cannot be combined with other values"],
            id="a gate both off and on",
        ),
        pytest.param("[1]\n", ["1:1: must be a mapping of keys to values, not a list"], id="no mapping"),
        pytest.param(
            "run: [\n", ["2:1: not YAML: while parsing a flow node, did not find expected node content"], id="no YAML"
        ),
        pytest.param("run: {}\nrun: {}\n", ["2:1: run is set twice, first in line 1; keep one of them"], id="twice"),
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
    remedy = "contains what looks like a key; set it as an environment variable and refer to that: ${{ MY_KEY }}"
    places = "3:38: runners.a.agent.env.MY_KEY", f"3:{65 + len(key)}: runners.a.agent.commandArgs[0]"
    assert problems(tmp_path, text) == [f"skillgym.config.yaml:{place}: {remedy}" for place in places]


@pytest.mark.parametrize("name", ["standard", "json", "json-summary", "html", "github-actions"])
def test_a_reporter_of_skillgym_is_taken_and_changes_nothing(tmp_path, name):
    assert read(tmp_path, f"run: {{reporter: {name}}}").file.run.reporter == name


def test_a_file_that_is_no_text_is_told(tmp_path):
    (told,) = problems(tmp_path, b"run: \xff")
    assert told == "skillgym.config.yaml: not UTF-8 at byte 5; save the file as UTF-8"


# --- programs ---------------------------------------------------------------------------------------

MODULE = """
import type { SkillGymConfig } from "skillgym";
const repeat: number = 2;
console.log("this is no part of it");
const config: SkillGymConfig = {
  run: { repeat, schedule: undefined, reporter: "standard" },
  runners: { sh: { agent: { type: "command", command: "true" } } },
};
export default config;
"""
SCRIPT = "module.exports = { run: { repeat: 2 }, runners: { sh: { agent: { type: 'command', command: 'true' } } } };"


def programmed(folder: Path, text: str, ending: str = "ts", **settings: Any) -> Config:
    written(folder, {f"skillgym.config.{ending}": text})
    return configuration(Settings(**settings), current_context(folder, {"PATH": os.environ["PATH"], "SECRET": "s-1"}))


@pytest.mark.parametrize(
    ("ending", "text"),
    [
        pytest.param("ts", MODULE, id="ts"),
        pytest.param("mts", MODULE, id="mts"),
        pytest.param("cts", MODULE, id="cts"),
        pytest.param("js", SCRIPT, id="js, a script"),
        pytest.param("mjs", "export default { run: { repeat: 2 } };", id="mjs"),
        pytest.param("cjs", SCRIPT, id="cjs"),
    ],
)
def test_a_configuration_may_be_a_program(tmp_path, ending, text):
    config = programmed(tmp_path, text, ending)
    assert (config.file.run.repeat, config.file.run.schedule, config.folder) == (2, None, tmp_path)


def test_a_program_may_import_and_wait(tmp_path):
    written(tmp_path, {"bench/rules.ts": "export const repeat: number = 3;\n"})
    text = (
        'import { repeat } from "./bench/rules.ts";\nexport default { run: { repeat: await Promise.resolve(repeat) } };'
    )
    assert programmed(tmp_path, text).file.run.repeat == 3


def test_a_program_sees_nothing_of_our_environment_that_it_should_not(tmp_path):
    text = "export default { run: { tags: [process.env.SECRET ?? 'nothing'] } };"
    assert programmed(tmp_path, text).file.run.tags == ("nothing",)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        pytest.param("export default { run: { repeat: } };", ":1:33: SyntaxError: Expression expected", id="syntax"),
        pytest.param("\nthrow new Error('no luck');", ":2:7: Error: no luck", id="it throws"),
        pytest.param(
            "\nimport './gone.ts';\nexport default {};",
            ":2:8: Cannot find module '{folder}/gone.ts'; check the path; Node wants the ending, too, as in ./rules.ts",
            id="a missing import",
        ),
        pytest.param(
            "export const config = {};",
            ": the file has no default export; write `export default { … }`",
            id="no export",
        ),
        pytest.param("\nexport default () => ({});", ":2:1: the default export is [Function", id="a function"),
        pytest.param(
            "export default { run: { tags: ['a', () => 'b'] } };",
            ":1:1: run.tags[1]: is [Function (anonymous)], which is no data; write text, numbers, lists and plain",
            id="a function inside",
        ),
        pytest.param(
            "export default { run: { reporter: { onRunnerFinish() {} } } };",
            ":1:1: run.reporter: reporter modules are not supported; remove it, and use --report",
            id="a reporter",
        ),
        pytest.param(
            "export default { run: { maxCost: 1 / 0 } };",
            ":1:1: run.maxCost: is Infinity, which is no data",
            id="no number",
        ),
        pytest.param("const run = {}; run.run = run;\nexport default run;", ":2:1: run.run.run", id="it holds itself"),
        pytest.param(
            "export default { run: { repeet: 2 } };",
            ": run.repeet: unknown key 'repeet'; did you mean 'repeat'?",
            id="an unknown key",
        ),
        pytest.param(
            "console.error('bye'); process.exit(3);",
            ": the configuration ended its process with exit code 3; it printed: bye; it only exports an object",
            id="it leaves",
        ),
        pytest.param(
            "await new Promise(() => {}); export default {};", ": Deadlock: it awaits a promise", id="it waits for ever"
        ),
    ],
)
def test_a_program_that_gives_no_configuration_is_told(tmp_path, text, told):
    with pytest.raises(ConfigError) as caught:
        programmed(tmp_path, text)
    assert str(caught.value).startswith(f"skillgym.config.ts{told.replace('{folder}', str(tmp_path))}")


@pytest.mark.timed
def test_a_program_that_never_ends_is_ended(tmp_path):
    file = written(tmp_path, {"skillgym.config.ts": "while (true);"}) / "skillgym.config.ts"
    with suite_hosts(tmp_path, call_limit=0.5) as hosts, pytest.raises(ConfigError) as caught:
        hosts.configuration(file)
    assert str(caught.value).startswith("skillgym.config.ts: the configuration did not answer within 0.5 s")


def test_nothing_of_the_repository_is_run_where_it_must_not(tmp_path):
    written(tmp_path, {"skillgym.config.ts": "export default {};"})
    with pytest.raises(ConfigError) as caught:
        configuration(Settings(), current_context(tmp_path, {}, Job(programs=False)))
    assert str(caught.value) == (
        "skillgym.config.ts is a program, and mode report does not run programs of the repository; "
        "write it as YAML, JSON or TOML"
    )


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
        pytest.param({"A": "a$MY_KEY", "B": "$$"}, {"A": "a$MY_KEY", "B": "$$"}, id="a bare dollar means itself"),
        pytest.param({"A": "${LOOKS}"}, {"A": "${MY_KEY}"}, id="a value is not looked into"),
    ],
)
def test_names_of_the_environment_become_their_values(env, values):
    environment = {"MY_KEY": "v-1", "HOST": "h", "LOOKS": "${MY_KEY}"}
    assert resolved_env(env, environment, Config(), ("a",)) == values


@pytest.mark.parametrize("environment", [{}, {"MY_KEY": ""}], ids=["not set", "empty, as a missing secret is"])
def test_a_name_that_is_not_set_is_an_error(environment):
    with pytest.raises(ConfigError) as caught:
        resolved_env({"KEY": "${{ MY_KEY }}"}, environment, Config(), ("runners", "claude", "agent", "env"))
    assert str(caught.value) == (
        "runners.claude.agent.env: MY_KEY is not set in the environment; set MY_KEY, or pass it to the job as a secret"
    )


@pytest.mark.parametrize(
    ("text", "told"),
    [
        pytest.param(
            "runners:\n  a: {agent: {type: nop, env: {KEY: $MY_KEY}}}\n",
            "2:32: runners.a.agent.env.KEY: '$MY_KEY' is not replaced; write \"${{ MY_KEY }}\"",
            id="of an agent",
        ),
        pytest.param(
            "run: {judge: {api: openai, model: m, env: {KEY: $KEY}}}\n",
            "1:44: run.judge.env.KEY: '$KEY' is not replaced; write \"${{ KEY }}\"",
            id="of the judge",
        ),
        pytest.param(
            "arms:\n  a: {env: {KEY: $KEY}}\n  b: {}\n",
            "2:13: arms.a.env.KEY: '$KEY' is not replaced; write \"${{ KEY }}\"",
            id="of an arm",
        ),
    ],
)
def test_a_variable_in_the_syntax_of_a_shell_is_refused_since_nothing_replaces_it(tmp_path, text, told):
    assert problems(tmp_path, text) == [f"skillgym.config.yaml:{told}"]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            "runners:\n  a: {agent: {type: nop, env: {A: $a, B: $$, C: x$A, D: $A/b, E: $1}}}\n", id="other text"
        ),
        pytest.param("runners:\n  a: {agent: {type: command, command: $AGENT}}\n", id="a line for sh"),
        pytest.param(
            "run: {workspace: {mode: isolated, bootstrap: {command: sh, env: {A: $A}}}}\n",
            id="a bootstrap command, in whose variables nothing is replaced",
        ),
    ],
)
def test_other_text_with_a_dollar_means_itself(tmp_path, text):
    assert read(tmp_path, text)


def test_a_list_of_names_passes_them_on(tmp_path):
    config = read(tmp_path, "runners:\n  a: {agent: {type: claude-code, env: [MY_KEY, HOST]}}\n")
    env = config.file.runners["a"].agent.env
    assert resolved_env(env, {"MY_KEY": "v-1", "HOST": "h"}, config, ("a",)) == {"MY_KEY": "v-1", "HOST": "h"}


@pytest.mark.parametrize(
    ("env", "environment", "told"),
    [
        pytest.param("", {"OPENAI_API_KEY": "v-1", "HOME": "/h"}, {"OPENAI_API_KEY": "v-1"}, id="the usual variables"),
        pytest.param(
            ", env: {OPENAI_API_KEY: '${{ MINE }}', OPENAI_BASE_URL: 'http://localhost:1/v1'}",
            {"OPENAI_API_KEY": "v-1", "MINE": "v-2"},
            {"OPENAI_API_KEY": "v-2", "OPENAI_BASE_URL": "http://localhost:1/v1"},
            id="others",
        ),
        pytest.param(", env: [MINE]", {"MINE": "v-2"}, {"MINE": "v-2"}, id="a list of names"),
    ],
)
def test_the_judge_gets_its_key_and_address(tmp_path, env, environment, told):
    written(tmp_path, {"skillgym.config.yaml": f"run: {{judge: {{api: openai, model: m{env}}}}}\n"})
    context, given = current_context(tmp_path, environment), Settings()
    judge = options(given, configuration(given, context), context, runners=0).judge
    assert judge == JudgeConfig(api="openai", model="m", env=told)
    assert "v-" not in repr(judge)


def test_a_judge_s_variable_that_is_not_set_is_no_error_before_somebody_asks(tmp_path):
    written(tmp_path, {"skillgym.config.yaml": "run: {judge: {api: openai, model: m, env: [MINE]}}\n"})
    context, given = current_context(tmp_path, {}), Settings()
    problem = (
        "skillgym.config.yaml:1:38: run.judge.env: MINE is not set in the environment; "
        "set MINE, or pass it to the job as a secret"
    )
    assert options(given, configuration(given, context), context, runners=0).judge.problem == problem


def test_every_api_of_the_configuration_has_a_protocol():
    assert set(get_args(JudgeSection.model_fields["api"].annotation)) == set(PROTOCOLS)


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
