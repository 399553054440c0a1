"""The digest of everything: each thing that sessions depend on changes it, and nothing else does."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace

import pytest

from scratch import case, committed, config, git_in, repository, runner, suite, world_in, written
from skillgym_action.pipeline import pipeline
from skillgym_action.pipeline.stages.baseline import baseline_keys
from skillgym_action.pipeline.stages.reuse import with_whole_digests
from skillgym_action.pipeline.wiring import configuration, store_of
from skillgym_action.settings import resolve
from skillgym_action.settings.context import current_context
from skillgym_action.settings.runners import configured_runners
from skillgym_action.settings.settings import validated_settings

TEMPLATE = {"templateDir": "template"}
VARIABLES = {"MODE": "fast", "API_KEY": "first"}
FILES = {
    "bench/core.json": suite(case("one"), case("two"), workspace=TEMPLATE),
    "bench/template/input.txt": "write",
    "skillgym.config.yaml": config(runner("sh agent.sh", env=VARIABLES)),
    "agent.sh": "echo done > out.txt",
}
OF_NO_FILE = FILES | {"skillgym.config.yaml": config(runner("echo done > out.txt", env=VARIABLES))}


def wholes(root, settings=(), **environment):
    """The digests of the cases of the suite, by case; the store is a folder beside the repository."""
    fields = {"store": f"path={root.parent / 'store'}", "store_write": True} | dict(settings)
    settings_, context = validated_settings(fields, str), current_context(root, environment)
    config_ = configuration(settings_, context)
    options = resolve.options(settings_, config_, context, runners=1)
    with world_in(root) as services:
        store = store_of(context, options.store, services.processes, services.clock)
        made = replace(services, store=store)
        plan = pipeline.plan_run(made, configured_runners(settings_, config_, context), options)
        found = with_whole_digests(made, plan, baseline_keys(made, plan, {}), options)
        return {execution.case.id: found[execution.index].inputs.whole for execution in plan.executions}


def test_it_is_the_same_in_another_place(tmp_path):
    first, second = (repository(tmp_path / name / "repo", FILES, git=True) for name in ("a", "b"))
    found = wholes(first)
    assert found == wholes(second)
    assert len({None, *found.values()}) == 3


def test_questions_to_the_judge_about_a_skill_do_not_depend_on_the_checkout(tmp_path):
    evals = {"skill_name": "pdf", "evals": [{"id": 1, "prompt": "p", "expectations": ["a", {"text": "b"}]}]}
    skill = {"skills/pdf/SKILL.md": "---\nname: pdf\ndescription: d\n---\n"}
    files = skill | {"skills/pdf/evals/evals.json": json.dumps(evals), "bench/core.json": None}
    root = repository(tmp_path / "repo", OF_NO_FILE | files, git=True)
    before = wholes(root, {"arms": "with"})
    assert before["1"] is not None
    assert wholes(written(root, {"README.md": "other"}), {"arms": "with"}) == before


SAME = {
    "a file that nothing of it reads": {"README.md": "other"},
    "a program that nothing of it starts": {"agent.sh": "echo other"},
    "the secret of a variable": {"skillgym.config.yaml": OF_NO_FILE["skillgym.config.yaml"].replace("first", "second")},
    "another case": {"bench/core.json": suite(case("one"), case("two", prompt="other"), workspace=TEMPLATE)},
}
OTHER = {
    "a byte of the template": {"bench/template/input.txt": "Write"},
    "a file of the template that git ignores": {".gitignore": "*.log\n", "bench/template/a.log": "x"},
    "the prompt": {"bench/core.json": suite(case("one", prompt="other"), case("two"), workspace=TEMPLATE)},
    "a time limit": {"bench/core.json": suite(case("one", timeout=7), case("two"), workspace=TEMPLATE)},
    "the program that the agent's command names": {"agent.sh": "echo other > out.txt"},
    "a program that it may load": {"lib.sh": "echo other"},
    "the value of a variable": {"skillgym.config.yaml": FILES["skillgym.config.yaml"].replace("fast", "slow")},
    "the name of a variable": {"skillgym.config.yaml": FILES["skillgym.config.yaml"].replace("API_KEY", "OTHER_KEY")},
}


@pytest.mark.parametrize("changed", SAME.values(), ids=SAME)
def test_what_it_does_not_depend_on_changes_nothing(tmp_path, changed):
    root = repository(tmp_path / "repo", OF_NO_FILE, git=True)
    before = wholes(root)
    assert wholes(written(root, changed))["one"] == before["one"]


@pytest.mark.parametrize("is_submodule", [True, False], ids=["a submodule", "a repository that is not committed"])
def test_files_of_repositories_in_a_checkout_that_agents_work_on_a_copy_of_change_it(tmp_path, is_submodule):
    root = repository(tmp_path / "repo", FILES | {"bench/core.json": suite(case("one"))}, git=True)
    inner = written(root / "inner", {"lib/a.txt": "one"})
    git_in(inner, "init", "--quiet")
    committed(inner)
    if is_submodule:
        git_in(root, "add", "inner")
    before = wholes(root)
    assert before == wholes(root)
    written(inner, {"lib/a.txt": "two"})
    assert None not in (before["one"], wholes(root)["one"])
    assert wholes(root)["one"] != before["one"]


def naming(root) -> dict[str, dict[str, object]]:
    """Agents by how something of the checkout ``root`` is named to them."""
    program = root / "bin" / "agent"
    return {
        "a program in the root": runner("sh agent.sh"),
        "a program in a folder": runner("sh agents/run.sh"),
        "a list of words": {"agent": {"type": "command", "command": ["sh", "./agents/run.sh"]}},
        "one word of a shell's text, with a space": runner("sh 'agents/my run.sh'"),
        "a file that is no program": runner("cat prompts/first.txt"),
        "a folder": runner(f"cd {root}/agents && ./run.sh"),
        "the checkout": runner(f"cd {root} && ./agent.sh"),
        "a folder for a container": runner(f"docker run -v {root}:/work agent"),
        "a variable": runner("echo", env={"PROMPT": "prompts/first.txt"}),
        "a search path": runner("echo", env={"PYTHONPATH": f"/usr/lib:{root}/agents"}),
        "a program that is found on the search path": {
            "agent": {"type": "command", "command": ["agent"], "env": {"PATH": str(program.parent)}}
        },
        "the command of a known agent": {"agent": {"type": "claude-code", "command": ["./bin/agent"]}},
        "a link that leads into it": runner(f"sh {root}-link/agent.sh"),
    }


NAMED = {"agents/run.sh": "x", "agents/my run.sh": "x", "prompts/first.txt": "x", "prompt.txt": "x"}


def test_a_command_that_names_something_of_the_checkout_depends_on_all_of_it(tmp_path):
    root = tmp_path / "repo"
    found = {}
    (tmp_path / "repo-link").symlink_to(root)
    for way, agent in naming(root).items():
        shutil.rmtree(root, ignore_errors=True)
        repository(
            root, FILES | NAMED | {"skillgym.config.yaml": config(agent), "bin/agent": "#!/bin/sh\necho 1.2.3\n"}
        )
        (root / "bin" / "agent").chmod(0o755)
        git_in(root, "init", "--quiet")
        committed(root)
        before = wholes(root)
        after = [wholes(written(root, {path: "other"})) for path in ("prompt.txt", "agents/lib/new.txt")]
        found[way] = len({None, before["one"], *(whole["one"] for whole in after)})
    assert found == dict.fromkeys(naming(root), 4)


@pytest.mark.parametrize("changed", OTHER.values(), ids=OTHER)
def test_what_it_depends_on_changes_it(tmp_path, changed):
    root = repository(tmp_path / "repo", FILES, git=True)
    before = wholes(root)
    after = wholes(written(root, changed))
    assert None not in (before["one"], after["one"])
    assert after["one"] != before["one"]


@pytest.mark.parametrize(
    "settings",
    [{"repeat": "3"}, {"retry": "1"}, {"on_limit": "errored"}, {"max_steps": "5"}],
    ids=str,
)
def test_settings_of_the_run_change_it(tmp_path, settings):
    root = repository(tmp_path / "repo", FILES, git=True)
    assert wholes(root, settings)["one"] != wholes(root)["one"]


def test_agents_on_a_copy_of_the_repository_depend_on_its_files(tmp_path):
    files = FILES | {"bench/core.json": suite(case("one"))}
    root = repository(tmp_path / "repo", files, git=True)
    before = wholes(root)["one"]
    assert wholes(written(root, {"README.md": "new"}))["one"] != before


UNKNOWN = {
    "a shared workspace": {"skillgym.config.yaml": config(runner(), run={"workspace": {"mode": "shared"}})},
    "an existing directory": {
        "skillgym.config.yaml": config(runner(), run={"workspace": {"mode": "none", "cwd": "."}})
    },
    "an agent that is not there": {"skillgym.config.yaml": config({"agent": {"type": "command", "command": ["./no"]}})},
}


@pytest.mark.parametrize("changed", UNKNOWN.values(), ids=UNKNOWN)
def test_what_cannot_be_known_has_none(tmp_path, changed):
    root = repository(tmp_path / "repo", FILES | {"bench/core.json": suite(case("one"))} | changed, git=True)
    assert wholes(root)["one"] is None


def test_the_version_of_a_cli_is_in_it(tmp_path):
    program = tmp_path / "bin" / "claude"
    agent = {"agent": {"type": "claude-code", "command": [str(program)]}}
    root = repository(tmp_path / "repo", FILES | {"skillgym.config.yaml": config(agent)}, git=True)
    found = []
    for version in ("echo 1.2.3", "echo 1.2.4", "true"):
        written(tmp_path, {"bin/claude": f"#!/bin/sh\n{version}\n"})
        program.chmod(0o755)
        found.append(wholes(root)["one"])
    assert found[2] is None, "it prints none"
    assert len(set(found)) == 3
