"""Eval folders of a plugin: which files are cases, what their keys become, and each mistake with its place."""

from __future__ import annotations

import json

import pytest

from plugin_runs import MANIFEST, loaded, only_case, plugin, problems
from scratch import world_in
from skillgym_action.model.arm import SkillUnderTest
from skillgym_action.model.limits import MAX_SUITE_FILE_BYTES
from skillgym_action.model.session import CaseAgentSettings
from skillgym_action.model.suite import Bootstrap, InputFile
from skillgym_action.pipeline.stages.discover import discover
from skillgym_action.settings.suite_options import DiscoverOptions

REGEX = "---\ntype: regex\n---\nhello\n"
NO_PROMPT = {"evals/one/prompt.md": None, "evals/one/graders/hello.md": None}
YAML = """schema_version: 1.0
name: from yaml
tags: [a, b]
runs: 5
description: nothing
expected_outcome: nothing
execution:
  prompt: Greet.
  model: haiku
  max_turns: 20
  timeout_seconds: 60
  allowed_tools: [Read]
  disallowed_tools: [Bash]
  append_system_prompt: Be brief.
  env: {EVAL_MODE: fast}
graders:
- {name: greets, type: regex, pattern: hello}
"""


# --- which files are cases --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("files", "ids"),
    [
        pytest.param({}, ["one"], id="below evals"),
        pytest.param({"evals/deep/er/prompt.md": "p", "evals/deep/er/graders/a.md": REGEX}, ["er", "one"], id="deeper"),
        pytest.param({"evals/one/inner/prompt.md": "p"}, ["one"], id="nothing inside a case is another"),
        pytest.param({"evals/prompt.md": "p"}, ["one"], id="the eval folder itself is none"),
        pytest.param({"docs/prompt.md": "p", "prompt.md": "p"}, ["one"], id="outside of the eval folder"),
        pytest.param({"evals/x-workspace/a/prompt.md": "p"}, ["one"], id="results of evals"),
        pytest.param({"evals/case-b/case.yaml": "id: b\ninput: x\n"}, ["one"], id="a case.yaml of another program"),
        pytest.param({"evals/y/case.yaml": YAML}, ["one", "from yaml"], id="only case.yaml"),
        pytest.param(
            {MANIFEST: '{"name": "g", "experimental": {"evals": "checks"}}', "checks/c/case.yaml": YAML},
            ["from yaml"],
            id="the folder that the manifest names",
        ),
    ],
)
def test_the_cases_of_a_plugin_are_folders(tmp_path, files, ids):
    suite = loaded(plugin(tmp_path, files))
    assert ([case.id for case in suite.cases], suite.invalid) == (ids, ())
    assert (suite.path, suite.format, suite.cases[0].location.path.split("/")[0]) in {
        (MANIFEST, "plugin-evals", "evals"),
        (MANIFEST, "plugin-evals", "checks"),
    }


def test_without_a_plugin_around_it_a_prompt_is_none(tmp_path):
    plugin(tmp_path, {MANIFEST: None})
    with world_in(tmp_path) as services:
        found = discover(services.repository, tmp_path, DiscoverOptions())
    assert (found.suites, found.skipped) == ((), ())


@pytest.mark.parametrize(
    ("paths", "ids"),
    [
        pytest.param(("evals/one",), ["one"], id="a folder"),
        pytest.param(("evals/one/prompt.md",), ["one"], id="a file"),
        pytest.param(("evals", "!evals/one"), ["two"], id="without a case"),
        pytest.param(("evals/one", "evals/two"), ["one", "two"], id="two folders"),
        pytest.param(("evals/t*/prompt.md",), ["two"], id="a pattern"),
        pytest.param((), ["one", "two"], id="everything"),
    ],
)
def test_a_path_selects_cases_of_the_plugin(tmp_path, paths, ids):
    root = plugin(tmp_path, {"evals/two/prompt.md": "p", "evals/two/graders/a.md": REGEX})
    assert [case.id for case in loaded(root, *paths).cases] == ids


def test_agents_must_not_see_the_eval_folders(tmp_path):
    assert loaded(plugin(tmp_path)).hidden == ("evals",)


# --- keys -------------------------------------------------------------------------------------------


def test_what_is_not_written_has_its_default(tmp_path):
    case = only_case(plugin(tmp_path))
    assert (case.id, case.prompt, case.repetitions, case.max_steps, case.timeout) == ("one", "Say hello.", 3, 10, 300.0)
    assert (case.threshold, case.averaged, case.agent, case.tags) == (1.0, True, CaseAgentSettings(), ())
    assert (case.workspace.source, case.workspace.committed) == ("empty", True)


def test_the_keys_of_case_yaml(tmp_path):
    root = plugin(
        tmp_path, {"evals/one/prompt.md": None, "evals/one/graders/hello.md": None, "evals/y/case.yaml": YAML}
    )
    case = only_case(root)
    assert (case.id, case.prompt, case.tags, case.model) == ("from yaml", "Greet.", ("a", "b"), "haiku")
    assert (case.repetitions, case.max_steps, case.timeout) == (5, 20, 60.0)
    assert case.agent == CaseAgentSettings(
        system_prompt="Be brief.",
        allowed_tools=("Read",),
        disallowed_tools=("Bash",),
        env=(("EVAL_MODE", "fast"),),
    )


def test_prompt_md_wins_key_by_key_and_its_graders_come_after(tmp_path):
    frontmatter = "---\nruns: 2\nmodel: sonnet\ngraders:\n- {name: second, type: regex, pattern: x}\n---\nHi.\n"
    case = only_case(plugin(tmp_path, {"evals/one/case.yaml": YAML, "evals/one/prompt.md": frontmatter}))
    assert (case.prompt, case.repetitions, case.model, case.max_steps) == ("Hi.", 2, "sonnet", 20)
    assert [one.name for one in case.assertions] == ["greets", "second", "hello"]


def test_a_whole_plugin_is_installed_and_its_skills_where_plugins_are_not_loaded(tmp_path):
    assert only_case(plugin(tmp_path)).workspace.skills == (
        SkillUnderTest(name="greeter", folder=tmp_path, packaging="plugin"),
        SkillUnderTest(name="greeting", folder=tmp_path / "skills/greeting", packaging="in-plugin"),
    )


def test_a_case_may_name_its_plugins(tmp_path):
    files = {
        "evals/one/prompt.md": "---\nplugins: [../../other]\n---\nHi.\n",
        "other/.claude-plugin/plugin.json": '{"name": "other"}',
    }
    (skill,) = only_case(plugin(tmp_path, files)).workspace.skills
    assert skill == SkillUnderTest(name="other", folder=tmp_path / "other", packaging="plugin")


def test_plugins_that_a_case_names_have_the_names_in_their_manifests(tmp_path):
    files = {
        "evals/one/prompt.md": "---\nplugins: [../../a/plugin, ../../b/plugin]\n---\nHi.\n",
        "a/plugin/.claude-plugin/plugin.json": '{"name": "pdf"}',
        "a/plugin/skills/pdf/SKILL.md": "---\nname: pdf\ndescription: Reads.\n---\n",
        "b/plugin/plugin.json": "{}",
    }
    skills = only_case(plugin(tmp_path, files)).workspace.skills
    assert [(one.name, one.packaging) for one in skills] == [
        ("pdf", "plugin"),
        ("pdf", "in-plugin"),
        ("plugin", "plugin"),
    ]


def test_two_plugins_of_a_case_must_not_have_the_same_name(tmp_path):
    files = {
        "evals/one/prompt.md": "---\nplugins: [../../a, ../../b]\n---\nHi.\n",
        "a/.claude-plugin/plugin.json": '{"name": "pdf"}',
        "b/.claude-plugin/plugin.json": '{"name": "pdf"}',
    }
    (problem,) = problems(plugin(tmp_path, files))
    assert "plugins[1]: has pdf, which another plugin has, too; name one of them" in problem


SERVER = {"command": "docs-server"}
NOT_STARTED = "are not started; if a case needs a server, add .mcp.json to the files of an arm"


@pytest.mark.parametrize(
    ("files", "warnings"),
    [
        pytest.param({}, [], id="no server"),
        pytest.param({MANIFEST: json.dumps({"name": "greeter", "mcpServers": {}})}, [], id="an empty list"),
        pytest.param(
            {MANIFEST: json.dumps({"name": "greeter", "mcpServers": {"docs": SERVER}}), ".mcp.json": "{}"},
            [f"{MANIFEST}:1:21: mcpServers: the MCP servers of the plugin greeter {NOT_STARTED}"],
            id="in the manifest",
        ),
        pytest.param(
            {".mcp.json": json.dumps({"mcpServers": {"docs": SERVER}})},
            [f".mcp.json: the MCP servers of the plugin greeter {NOT_STARTED}"],
            id="in a file",
        ),
        pytest.param(
            {
                "evals/two/prompt.md": "---\nplugins: [../../other]\n---\nHi.\n",
                "evals/two/graders/a.md": REGEX,
                "other/.claude-plugin/plugin.json": '{"name": "second"}',
                "other/.mcp.json": "{}",
            },
            [f"other/.mcp.json: the MCP servers of the plugin second {NOT_STARTED}"],
            id="of another plugin",
        ),
    ],
)
def test_a_plugin_with_servers_has_one_warning_for_all_its_cases(tmp_path, files, warnings):
    more = {"evals/three/prompt.md": "Hi.", "evals/three/graders/a.md": REGEX}
    assert [str(one) for one in loaded(plugin(tmp_path, more | files)).warnings] == warnings


def test_a_script_runs_before_the_agent_and_folders_are_copied(tmp_path):
    files = {
        "evals/one/prompt.md": "---\ncontext: {scaffold_script: ./setup.sh, add_dirs: [../../data]}\n---\nHi.\n",
        "evals/one/setup.sh": "touch made",
        "data/a.csv": "1",
    }
    workspace = only_case(plugin(tmp_path, files)).workspace
    assert workspace.bootstrap == Bootstrap(argv=("sh", str(tmp_path / "evals/one/setup.sh")))
    assert workspace.files == (InputFile(path="data", source=tmp_path / "data", read_only=True),)


# --- mistakes ---------------------------------------------------------------------------------------


def prompt(frontmatter: str, body: str = "Hi.") -> dict[str, str]:
    return {"evals/one/prompt.md": f"---\n{frontmatter}\n---\n{body}\n"}


def grader(frontmatter: str, body: str = "") -> dict[str, str]:
    return {"evals/one/graders/hello.md": f"---\n{frontmatter}\n---\n{body}"}


@pytest.mark.parametrize(
    ("files", "message"),
    [
        pytest.param(
            prompt("nonsense: 1"), "evals/one/prompt.md:2:1: nonsense: unknown key 'nonsense'", id="an unknown key"
        ),
        pytest.param({"evals/one/graders/hello.md": None}, "evals/one/prompt.md:1:1: has no grader", id="no grader"),
        pytest.param(
            prompt("max_turns: 500"),
            "evals/one/prompt.md:2:1: max_turns: must be a whole number, from 1 to 200, not 500",
            id="over a limit",
        ),
        pytest.param(prompt("runs: 51"), "prompt.md:2:1: runs: must be a whole number, from 1 to 50", id="runs"),
        pytest.param(prompt("runs: 0"), "prompt.md:2:1: runs: must be a whole number, from 1 to 50", id="no runs"),
        pytest.param(
            prompt("timeout_seconds: 3601"), "timeout_seconds: must be a number above 0, at most 3,600", id="time"
        ),
        pytest.param(prompt("max_turn: 5"), "unknown key 'max_turn'; did you mean 'max_turns'?", id="a typing error"),
        pytest.param(prompt("env: {HOME: x}"), "env.HOME: is not a variable that a case may set", id="a variable"),
        pytest.param(prompt("env: {EVAL_X: 1}"), "env.EVAL_X: must be text, not ", id="no text"),
        pytest.param(prompt("tags: a"), "tags: must be a list", id="tags"),
        pytest.param(prompt("a: [", "x"), "prompt.md:3:1: not YAML", id="broken YAML"),
        pytest.param({"evals/one/prompt.md": "---\na: 1\n"}, "the frontmatter is not closed", id="not closed"),
        pytest.param({"evals/one/prompt.md": "---\n- a\n---\nx"}, "must be a mapping of keys to values", id="a list"),
        pytest.param({"evals/one/prompt.md": "---\n---\n \n"}, "prompt.md:1: has no prompt", id="no prompt"),
        pytest.param(
            {"evals/one/case.yaml": "name: x\nexecution: {}\n"}, "case.yaml:1:1: has no schema_version", id="no version"
        ),
        pytest.param(
            {"evals/one/case.yaml": "schema_version: 2.0\nname: x\n"},
            "case.yaml:1:1: schema_version: needs a newer version than this one, which reads 1.x: 2",
            id="a newer version",
        ),
        pytest.param(
            {"evals/one/prompt.md": "---\nschema_version: 2.0\n---\nHi.\n"},
            "prompt.md:2:1: schema_version: needs a newer version than this one, which reads 1.x: 2",
            id="a newer prompt.md",
        ),
        pytest.param({"evals/one/case.yaml": "schema_version: 1\n"}, "case.yaml:1:1: has no name", id="no name"),
        pytest.param(
            prompt("context: {history_file: h.jsonl}"),
            "context.history_file: conversations are not supported",
            id="a conversation",
        ),
        pytest.param({"evals/one/mocks/a.json": "{}"}, "mocks: mocks are not supported yet; remove mocks/", id="mocks"),
        pytest.param(grader("type: regx", "x"), "type: unknown type 'regx'; did you mean 'regex'?", id="type"),
        pytest.param(grader("weight: 2", "x"), "graders/hello.md:2:1: has no type", id="no type"),
        pytest.param(grader("type: regex\nwieght: 2", "x"), "unknown key 'wieght'; did you mean 'weight'?", id="key"),
        pytest.param(grader("type: regex\nweight: 0", "x"), "weight: must be more than 0", id="no weight"),
        pytest.param(grader("type: regex\nweight: -1", "x"), "weight: must be a number, 0 or more", id="weight"),
        pytest.param(
            grader("type: regex", "(a"), "is not a JavaScript regular expression: missing )", id="a bad pattern"
        ),
        pytest.param(grader("type: regex"), "has no pattern", id="no pattern"),
        pytest.param(grader("type: regex\npattern: a", "b"), "there is a body, too", id="two patterns"),
        pytest.param(grader("type: regex\nflags: q", "a"), "unknown flag 'q'", id="flags"),
        pytest.param(grader("type: regex\nmatch: some", "a"), "must be contains, not_contains or count:N", id="match"),
        pytest.param(
            grader("type: regex\ntarget: mock_calls", "a"),
            "target: mock_calls cannot be graded; mocks are not supported yet",
            id="calls of mocks",
        ),
        pytest.param(grader("type: regex\ntarget: output", "a"), "unknown target 'output'; write one of", id="target"),
        pytest.param(
            grader("type: regex\ntarget: {source: file, path: ../x}", "a"), "leads out of the workspace", id="a way out"
        ),
        pytest.param(grader("type: regex\narm: without", "a"), "arm: must be one of with-only, both", id="arm"),
        pytest.param(grader("type: tool_used"), "tool is missing", id="no tool"),
        pytest.param(grader("type: tool_used\ntool: A\nmax: 0"), "max: is less than min, which is 1", id="range"),
        pytest.param(grader("type: tool_used\ntool: A", "x"), "of the type tool_used has no body", id="a body"),
        pytest.param(grader("type: tool_order\nbefore: A"), "after is missing", id="half an order"),
        pytest.param(
            grader("type: tool_order\nbefore: A\nafter: {tol: B}"),
            "unknown key 'tol'; did you mean 'tool'?",
            id="order",
        ),
        pytest.param(grader("type: file_exists\npath: /etc/x"), "matches no file", id="an absolute path"),
        pytest.param(grader("type: llm"), "has no criteria", id="no criteria"),
        pytest.param(
            grader("type: baseline\nbaseline_file: b.md", "x"), "there is no file evals/one/b.md", id="no file"
        ),
        pytest.param(
            prompt("graders: [{name: hello, type: regex, pattern: a}]"), "two graders are called 'hello'", id="twice"
        ),
        pytest.param(
            prompt("graders: [{type: regex, pattern: a}]"), "graders[0]: has no name", id="no name of a grader"
        ),
        pytest.param({"evals/one/prompt.md": b"\xff"}, "evals/one/prompt.md: not UTF-8 at byte 0", id="no text"),
        pytest.param(
            {"evals/one/graders/hello.md": "x" * (MAX_SUITE_FILE_BYTES + 1)},
            "evals/one/graders/hello.md: too large",
            id="a huge file",
        ),
        pytest.param(prompt("a: &a [*a]"), "prompt.md:2:", id="an alias of itself"),
    ],
)
def test_a_mistake_costs_its_case_only_and_is_reported_with_its_place(tmp_path, files, message):
    root = plugin(tmp_path, {"evals/two/prompt.md": "Hi.", "evals/two/graders/a.md": REGEX, **files})
    (problem,) = problems(root)
    assert message in problem
    assert [case.id for case in loaded(root).cases] == ["two"]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        pytest.param("context.scaffold_script", "/bin/sh", id="script, absolute"),
        pytest.param("context.scaffold_script", "../../../x.sh", id="script, upwards"),
        pytest.param("context.scaffold_script", "link.sh", id="script, a link"),
        pytest.param("context.add_dirs", "[/etc]", id="folder, absolute"),
        pytest.param("context.add_dirs", "[../../../x]", id="folder, upwards"),
        pytest.param("context.add_dirs", "[linked]", id="folder, a link"),
        pytest.param("context.add_dirs", "[..]", id="folder, with the case in it"),
        pytest.param("context.add_dirs", "[../..]", id="folder, the plugin"),
        pytest.param("baseline_file", "../../../../etc/passwd", id="answer, upwards"),
        pytest.param("baseline_file", "link.sh", id="answer, a link"),
        pytest.param("plugins", "[../../..]", id="plugin, upwards"),
        pytest.param("plugins", "[linked]", id="plugin, a link"),
    ],
)
def test_a_path_leads_nowhere_but_into_the_plugin(tmp_path, key, value):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("s-1")
    section, _, name = key.rpartition(".")
    written = f"{section}: {{{name}: {value}}}" if section else f"{name}: {value}"
    files = grader(f"type: baseline\n{written}", "x") if key == "baseline_file" else prompt(written)
    root = plugin(tmp_path / "repository", files)
    (root / "evals/one/link.sh").symlink_to(outside / "secret")
    (root / "evals/one/linked").symlink_to(outside)
    (problem,) = problems(root)
    assert f"{name}" in problem
    assert "s-1" not in problem


@pytest.mark.parametrize("name", ["prompt.md", "graders/hello.md", "case.yaml"])
def test_a_file_of_a_case_is_no_link(tmp_path, name):
    root = plugin(tmp_path / "repository")
    (tmp_path / "secret").write_text("---\ns-1: [\n")
    (root / "evals/one" / name).unlink(missing_ok=True)
    (root / "evals/one" / name).symlink_to(tmp_path / "secret")
    (problem,) = problems(root)
    assert f"evals/one/{name}: cannot be read: " in problem
    assert "s-1" not in problem


LINKS = {"moved": "../../gone", "deep/moved": "nowhere", "linked": "../elsewhere", "notes": "../docs"}
NO_TARGET = "is a symbolic link that leads to nothing; correct the link, or remove it"


@pytest.mark.parametrize("paths", [(), ("evals",)], ids=["everything", "the folder"])
def test_links_in_an_eval_folder_are_named_if_a_case_may_be_behind_them(tmp_path, paths):
    files = {"elsewhere/case.yml": YAML, "docs/x.md": "x", "evals/deep/er/case.yml": YAML}
    root = plugin(tmp_path, files)
    for name, target in LINKS.items():
        (root / "evals" / name).symlink_to(target)
    suite = loaded(root, *paths)
    assert ([case.id for case in suite.cases], suite.invalid) == (["from yaml", "one"], ())
    assert sorted(map(str, suite.warnings)) == [
        f"evals/deep/moved: skipped: moved {NO_TARGET}",
        "evals/linked: skipped: linked is a symbolic link, which is not followed; copy the folder, or remove the link",
        f"evals/moved: skipped: moved {NO_TARGET}",
    ]


def test_files_of_a_case_that_are_not_read_are_named(tmp_path):
    graders = {f"evals/one/graders/{name}": REGEX for name in ("b.MD", "c.yaml", "notes.txt", "data.json")}
    files = {"evals/one/case.yaml": YAML.replace("from yaml", "one"), "evals/one/case.yml": YAML, **graders}
    suite = loaded(plugin(tmp_path, files))
    assert [case.id for case in suite.cases] == ["one"]
    remedy = "is not read: graders are files NAME.md; rename it, or move it out of the folder"
    assert [str(one) for one in suite.warnings] == [
        "evals/one/case.yml: is not read, since there is evals/one/case.yaml; keep one of them",
        f"evals/one/graders/b.MD: {remedy}",
        f"evals/one/graders/c.yaml: {remedy}",
    ]


def test_a_case_may_name_the_plugin_at_the_root_of_the_repository(tmp_path):
    files = {
        "evals/one/prompt.md": None,
        "evals/one/graders/hello.md": None,
        "nested/plugin.json": '{"name": "nested"}',
        "nested/evals/two/prompt.md": "---\nplugins: [../../..]\n---\nHi.\n",
        "nested/evals/two/graders/a.md": REGEX,
    }
    (case,) = loaded(plugin(tmp_path, files, git=True), "nested").cases
    assert [(one.name, one.folder) for one in case.workspace.skills] == [
        ("greeter", tmp_path),
        ("greeting", tmp_path / "skills/greeting"),
    ]


def test_case_yaml_warns_of_keys_that_the_original_passes_over(tmp_path):
    text = YAML + "modle: x\nmax_turns: 5\nx-own: 1\n"
    root = plugin(
        tmp_path, {"evals/one/prompt.md": None, "evals/one/graders/hello.md": None, "evals/y/case.yaml": text}
    )
    assert [str(one) for one in loaded(root).warnings] == [
        (
            "evals/y/case.yaml:18:1: modle: unknown key 'modle'; known: artifact_publish, context, description, "
            "execution, expected_outcome, graders, growthbook_overrides, name, plugins, runs, schema_version, tags"
        ),
        "evals/y/case.yaml:19:1: max_turns: unknown key 'max_turns'; write it under execution",
    ]


def test_the_same_name_costs_the_second_case(tmp_path):
    more = {"evals/two/prompt.md": "---\nname: one\n---\nHi.", "evals/two/graders/a.md": REGEX}
    root = plugin(tmp_path, more)
    assert problems(root) == [
        (
            "evals/two/prompt.md:2:1: the name 'one' is already used by the case at evals/one/prompt.md:1:1; "
            "rename one of them"
        )
    ]
    assert [case.id for case in loaded(root).cases] == ["one"]


@pytest.mark.parametrize(
    ("manifest", "message"),
    [
        pytest.param("{", ".claude-plugin/plugin.json:1:2: not JSON", id="broken"),
        pytest.param("[]", ".claude-plugin/plugin.json:1:1: must be a mapping", id="no mapping"),
        pytest.param('{"name": "../x"}', "the name '../x' of the plugin cannot be the name of a folder", id="a path"),
    ],
)
def test_a_broken_manifest_is_reported(tmp_path, manifest, message):
    (problem,) = problems(plugin(tmp_path, {MANIFEST: manifest}))
    assert message in problem


@pytest.mark.parametrize(
    ("manifest", "message"),
    [
        pytest.param("{", "other/.claude-plugin/plugin.json:1:2: not JSON", id="broken"),
        pytest.param("[]", "other/.claude-plugin/plugin.json:1:1: must be a mapping", id="no mapping"),
    ],
)
def test_a_broken_manifest_of_another_plugin_costs_the_case_that_names_it(tmp_path, manifest, message):
    root = plugin(tmp_path, prompt("plugins: [../../other]") | {"other/.claude-plugin/plugin.json": manifest})
    (problem,) = problems(root)
    assert message in problem


@pytest.mark.parametrize(
    ("wanted", "granted", "message"),
    [
        pytest.param("", ("Read", "Bash"), "", id="what is granted, where nothing is asked for"),
        pytest.param("allowed_tools: [Read]", ("Read",), "", id="less than is granted"),
        pytest.param(
            "allowed_tools: [Read, WebFetch]",
            ("Read",),
            (
                "evals/one/prompt.md:2:1: allowed_tools: WebFetch not granted to one: plugins.allowTools has Read, "
                "Bash; add the tools to plugins.allowTools of the configuration, or remove them from the case"
            ),
            id="more than is granted",
        ),
    ],
)
def test_the_configuration_grants_tools(tmp_path, wanted, granted, message):
    suite = loaded(plugin(tmp_path, prompt(wanted or "tags: [a]")), allow_tools=("Read", "Bash"))
    (case,) = suite.cases
    assert case.agent.allowed_tools == granted
    assert "".join(map(str, suite.warnings)) == message


def test_a_case_without_a_granted_tool_cannot_be_used(tmp_path):
    suite = loaded(plugin(tmp_path, prompt("allowed_tools: [WebFetch]")), allow_tools=("Read",))
    assert suite.cases == ()
    assert "WebFetch not granted to one: plugins.allowTools has Read" in str(suite.invalid[0].problem)


def test_a_threshold_of_the_user_replaces_that_of_all_cases(tmp_path):
    (case,) = loaded(plugin(tmp_path), threshold=0.7).cases
    assert case.threshold == 0.7


@pytest.mark.parametrize("folders", ["../other", ["evals", "../other"], ["evals", "/other"], ["evals", 1], ["."]])
def test_eval_folders_outside_of_the_plugin_are_reported(tmp_path, folders):
    manifest = json.dumps({"name": "g", "experimental": {"evals": folders}})
    suite = loaded(plugin(tmp_path, {MANIFEST: manifest}))
    assert suite.cases == ()
    (invalid,) = suite.invalid
    assert "is not a folder in the plugin" in str(invalid.problem)
    assert str(invalid.problem.key_path) == "experimental.evals"
