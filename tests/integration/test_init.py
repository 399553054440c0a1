"""The command `init`: what it writes passes `check` and the linters, and fails with an agent that does nothing."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from scratch import committed, git_in, skillgym, written
from skillgym_action.cli.commands.init import started_as

TOOLS = Path(sys.executable).parent
ROOT = Path(__file__).parents[2]
NPM = {"package.json": json.dumps({"scripts": {"test": "node --test"}}), "README.md": "# Shop\n"}
SKILL = {"skills/pages/SKILL.md": "---\nname: pages\ndescription: Counts pages.\n---\n\nCount the form feeds.\n"}
REPOSITORIES = {
    "npm": NPM,
    "title": {"README.md": '# It\'s a /shop/ "of" C:\\books [1] (a+b)*\n'},
    "empty": {},
    "monorepo": {
        "packages/api/package.json": NPM["package.json"],
        "services/worker/tests/test_it.py": "assert False\n",
    },
    "skill": SKILL,
}
WRITTEN = {
    "x-bench": "bench/starter.bench.json",
    "python": "bench/starter_suite.py",
    "typescript": "bench/starter-suite.ts",
    "agentv": "bench/starter.eval.yaml",
    "skill-evals": "skills/pages/evals/evals.json",
}


def repository_with(folder: Path, files: dict[str, str], branch: str = "main") -> Path:
    written(folder, files)
    git_in(folder, "init", "--quiet", f"--initial-branch={branch}")
    committed(folder)
    return folder


@pytest.mark.parametrize("kind", REPOSITORIES)
def test_what_it_writes_is_valid_and_each_case_fails_with_an_agent_that_does_nothing(tmp_path, kind):
    """Suites of all formats that are possible, one beside the other."""
    folder = repository_with(tmp_path, REPOSITORIES[kind])
    formats = [name for name in WRITTEN if (name == "skill-evals") == (kind == "skill")]
    for suite_format in formats:
        ran = skillgym("init", "--format", suite_format, cwd=folder)
        assert (ran.code, ran.err) == (0, "")
        assert f"wrote {WRITTEN[suite_format]}\n" in ran.out
    checked = skillgym("check", cwd=folder)
    assert (checked.code, checked.err) == (0, "")
    suites, cases = "1 suite" if len(formats) == 1 else f"{len(formats)} suites", 2 * len(formats)
    assert f"OK: {suites}, {cases} cases, 1 runner" in checked.out
    assert skillgym("check", "--nop", cwd=folder).code == 0
    played = skillgym("run", "--runner", "nop", "--jobs", "1", cwd=folder)
    assert played.code == 1, played.err
    assert f"✗ 0 of {cases} results pass, {cases} fail for " in played.err


def test_tests_that_need_something_installed_are_not_run(tmp_path):
    needs = {"package.json": json.dumps({"scripts": {"test": "vitest"}, "devDependencies": {"vitest": "3"}})}
    folder = repository_with(tmp_path, NPM | needs)
    assert skillgym("init", cwd=folder).code == 0
    suite = json.loads((folder / "bench/starter.bench.json").read_text())
    assert "workspace" not in suite
    assert [one for case in suite["cases"] for one in case["expect"]] == [
        "file:ANSWER.txt contains 'npm test'",
        "file:README.md matches /^#+ +Testing/im",
        "file:README.md contains 'npm test'",
    ]


def test_it_prints_the_next_three_commands(tmp_path):
    folder = repository_with(tmp_path, NPM)
    printed = skillgym("init", cwd=folder).out
    commands = [line.strip().partition("   #")[0] for line in printed.splitlines() if line.startswith("  ")]
    assert commands == [
        "skillgym-action run --runner nop",
        "skillgym-action doctor --install claude-code",
        "skillgym-action run",
    ]
    first, _, last = (command.split()[1:] for command in commands)
    assert skillgym(*first, cwd=folder).code == 1
    assert skillgym(*last, cwd=folder, PATH="/usr/bin:/bin").code == 3  # the agent was not installed
    assert "create the secret ANTHROPIC_API_KEY" in printed


@pytest.mark.parametrize(
    ("prefix", "command"),
    [
        ("/home/me/.local/share/pipx/venvs/skillgym-action", "skillgym-action"),
        ("/home/me/shop/.venv", "skillgym-action"),
        ("/home/me/.cache/uv/archive-v0/tUeb08Fl16o1_3nb", "uvx skillgym-action"),
        ("/home/me/.local/share/uv/tools/skillgym-action", "skillgym-action"),
        ("/home/me/.local/share/pipx/.cache/1c5f0ec5d0e0e4b", "pipx run skillgym-action"),
        ("/home/me/.cache/pipx/1c5f0ec5d0e0e4b", "pipx run skillgym-action"),
    ],
)
def test_the_next_commands_start_the_tool_as_it_was_started(prefix, command):
    assert started_as(prefix) == command


def test_several_agents_and_keys_are_plural(tmp_path):
    folder = repository_with(tmp_path, NPM)
    printed = skillgym("init", "--agent", "codex", "--agent", "gemini", cwd=folder).out
    assert "# install the agents, check their keys: OPENAI_API_KEY, GEMINI_API_KEY in the environment\n" in printed
    printed = skillgym("init", "--agent", "codex", "--agent", "qwen", "--force", cwd=folder).out
    assert "# install the agents, check their key: OPENAI_API_KEY in the environment\n" in printed


def test_where_suites_in_typescript_cannot_run_it_says_so_first(tmp_path):
    folder = repository_with(tmp_path / "repository", NPM)
    node = written(tmp_path / "bin", {"node": "#!/bin/sh\necho v20.1.0\n"}) / "node"
    node.chmod(0o755)
    printed = skillgym("init", "--format", "typescript", cwd=folder, SKILLGYM_NODE=str(node)).out
    assert (
        f"\nFirst: suites in TypeScript need Node.js 22.18 or newer: SKILLGYM_NODE={node} is version 20.1.0; "
        in printed
    )
    assert "First:" not in skillgym("init", "--format", "typescript", "--force", cwd=folder).out


def test_an_agent_that_does_what_is_asked_is_green_unless_it_breaks_the_tests(tmp_path):
    folder = repository_with(tmp_path, NPM | {"a.test.js": "require('node:test')('adds', () => {});\n"})
    formats = [name for name in WRITTEN if name != "skill-evals"]
    for suite_format in formats:
        assert skillgym("init", "--agent", "codex", "--format", suite_format, cwd=folder).code == 0
    does = "echo 'npm test' > ANSWER.txt; printf '\\n## Testing\\n\\n    npm test\\n' >> README.md"
    breaks = f"{does}; echo 'throw new Error();' > a.test.js"
    agents = {"does": does, "breaks": breaks}
    runners = {name: {"agent": {"type": "command", "command": command}} for name, command in agents.items()}
    written(folder, {"skillgym.config.yaml": json.dumps({"runners": runners})})
    ran = skillgym("run", "--output", "out", cwd=folder)
    assert (ran.code, "✗ 12 of 16 results pass, 4 fail for " in ran.err) == (1, True), ran.err
    suites = json.loads((folder / "out/results.json").read_text())["suites"]
    assert len(suites) == len(formats)
    for suite in suites:
        (red,) = (one for one in suite["results"] if one["status"] == "failed")
        assert (red["runnerId"], red["caseId"]) == ("breaks", "documents-the-tests")


def test_the_name_of_a_folder_is_on_one_line(tmp_path):
    root = repository_with(tmp_path, {"skills/a\nb/SKILL.md": "---\nname: c\ndescription: d\n---\n"})
    assert "wrote skills/a b/evals/evals.json\n" in skillgym("init", cwd=root).out


def test_a_skill_without_evals_gets_evals_and_a_repository_without_skill_a_suite(tmp_path):
    skilled, plain = repository_with(tmp_path / "a", SKILL), repository_with(tmp_path / "b", NPM)
    assert "wrote skills/pages/evals/evals.json" in skillgym("init", cwd=skilled).out
    assert "wrote bench/starter.bench.json" in skillgym("init", cwd=plain).out


SKILLS = {
    f"{folder}/SKILL.md": f"---\nname: {name}\ndescription: Counts.\n---\nCount.\n"
    for name, folder in {
        "one": "plugins/p1/skills/one",
        "two": "plugins/p2/skills/two",
        "three": "plugins/p2/skills/three",
        "theirs": "vendor/theirs",
        "installed": "node_modules/installed",
    }.items()
}


@pytest.mark.parametrize(
    ("start", "chosen"),
    [
        ("plugins/p2", "plugins/p2/skills/three"),
        ("plugins/p2/skills/two/scripts", "plugins/p2/skills/two"),
        ("vendor", "plugins/p1/skills/one"),
    ],
)
def test_the_skill_is_one_of_the_folder_that_init_is_started_in(tmp_path, start, chosen):
    more = {"plugins/p2/skills/two/scripts/count.sh": "", "docs/a.md": ""}
    folder = repository_with(tmp_path, SKILLS | more)
    ran = skillgym("init", cwd=folder / start)
    assert (ran.code, ran.err) == (0, "")
    assert [path.relative_to(folder).as_posix() for path in folder.rglob("evals.json")] == [
        f"{chosen}/evals/evals.json"
    ]
    name = chosen.rpartition("/")[2]
    assert f"The evals are for the skill {name}. For another skill, run init in the folder of that skill.\n" in ran.out


def test_agents_are_those_with_a_key_and_the_branch_is_that_of_the_repository(tmp_path):
    folder = repository_with(tmp_path, NPM, branch="releases/2.x")
    assert skillgym("init", cwd=folder, OPENAI_API_KEY="k-secret", ANTHROPIC_API_KEY="k-other").code == 0
    texts = "".join((folder / name).read_text() for name in ("skillgym.config.yaml", ".github/workflows/skillgym.yml"))
    assert "type: claude-code" in texts
    assert "type: codex" in texts
    assert "type: pi" not in texts
    assert "OPENAI_API_KEY: ${{ secrets.OPENAI_API_KEY }}" in texts
    assert 'branches: ["releases/2.x"]' in texts
    assert "k-secret" not in texts


def test_the_key_is_the_one_that_is_there(tmp_path):
    key, agent = "CLAUDE_CODE_OAUTH_TOKEN", "claude-code"
    folder = repository_with(tmp_path, NPM)
    ran = skillgym("init", cwd=folder, **{key: "k-secret"})
    workflow = (folder / ".github/workflows/skillgym.yml").read_text()
    assert re.findall(r"secrets\.(\w+)", workflow) == [key]
    assert f"type: {agent}" in (folder / "skillgym.config.yaml").read_text()
    assert f"check its account: run `claude` once to log in, or set {key}\n" in ran.out
    assert f"create the secret {key} on GitHub" in ran.out


def test_the_workflow_passes_actionlint_and_zizmor(tmp_path):
    agents = ("codex", "gemini", "copilot")
    folder = repository_with(tmp_path, NPM, branch="releases/2.x")
    assert skillgym("init", *(part for agent in agents for part in ("--agent", agent)), cwd=folder).code == 0
    workflow = folder / ".github/workflows/skillgym.yml"
    subprocess.run([TOOLS / "actionlint", workflow], check=True)
    subprocess.run([TOOLS / "zizmor", "--offline", "--quiet", workflow], check=True)


def test_the_workflow_uses_the_commits_of_actions_that_our_own_workflows_use(tmp_path):
    folder = repository_with(tmp_path, NPM)
    skillgym("init", cwd=folder)
    used = re.findall(r"uses: (actions/\S+)", (folder / ".github/workflows/skillgym.yml").read_text())
    known = "".join(path.read_text() for path in (ROOT / ".github/workflows").glob("*.yml"))
    assert [action.partition("@")[0] for action in used] == [
        "actions/checkout",
        "actions/cache",
        "actions/upload-artifact",
    ]
    shown_only = [action for action in used if f"uses: {action}" not in known]
    assert shown_only == ["actions/cache@cdf6c1fa76f9f475f3d7449005a359c84ca0f306"]  # v5.0.3


OWN = json.dumps({"runners": {"mine": {"agent": {"type": "nop"}}}})


def test_files_that_exist_are_kept_unless_they_are_to_be_replaced(tmp_path):
    folder = repository_with(tmp_path, NPM | {"skillgym.config.yaml": OWN})
    kept = skillgym("init", cwd=folder)
    assert (kept.code, kept.err) == (0, "")
    assert kept.out.startswith("wrote bench/starter.bench.json\nwrote .github/workflows/skillgym.yml\nkept skillgym.c")
    assert (folder / "skillgym.config.yaml").read_text() == OWN
    refused = skillgym("init", cwd=folder)
    assert (refused.code, refused.out) == (2, "")
    assert refused.err == (
        "error: bench/starter.bench.json, skillgym.config.yaml, .github/workflows/skillgym.yml: exist already; "
        "keep them, replace them with --force, or write a suite in another --format\n"
    )
    assert skillgym("init", "--force", cwd=folder).code == 0
    assert "type: claude-code" in (folder / "skillgym.config.yaml").read_text()


CONFIGURATIONS = {
    "toml": '[runners.mine]\nagent = {type = "nop"}\n',
    "ts": f"export default {OWN};\n",
}


@pytest.mark.parametrize("ending", CONFIGURATIONS)
def test_a_configuration_of_another_name_is_kept_and_used(tmp_path, ending):
    name = f"skillgym.config.{ending}"
    folder = repository_with(tmp_path, NPM | {name: CONFIGURATIONS[ending]})
    for options in ((), ("--force",)):
        ran = skillgym("init", *options, cwd=folder)
        assert (ran.code, ran.err) == (0, "")
        assert f"\nkept {name}\n" in ran.out
        assert f"run   # with the runners of {name}\n" in ran.out
        assert [path.name for path in folder.glob("skillgym.config.*")] == [name]
        assert (folder / name).read_text() == CONFIGURATIONS[ending]
    checked = skillgym("check", cwd=folder)
    assert (checked.code, "OK: 1 suite, 2 cases, 1 runner" in checked.out) == (0, True), checked.err
    workflow = folder / ".github/workflows/skillgym.yml"
    assert f"hashFiles('{name}', " in workflow.read_text()
    assert "secrets." not in workflow.read_text()  # nop needs none
    subprocess.run([TOOLS / "actionlint", workflow], check=True)


def test_the_workflow_passes_the_keys_of_the_runners_that_are_there(tmp_path):
    env = {"ANTHROPIC_API_KEY": "${{ GATEWAY_KEY }}", "ANTHROPIC_BASE_URL": "${{ GATEWAY_URL }}"}
    runners = {
        "gateway": {"agent": {"type": "claude-code", "env": env}},
        "codex": {"agent": {"type": "codex"}},
        "cursor": {"agent": {"type": "cursor-agent"}},
        "shell": {"agent": {"type": "command", "command": "true", "env": ["TEAM_TOKEN"]}},
    }
    folder = repository_with(tmp_path, NPM | {"skillgym.config.json": json.dumps({"runners": runners})})
    ran = skillgym("init", cwd=folder, CODEX_API_KEY="k-secret")
    passed = re.findall(r"secrets\.(\w+)", (folder / ".github/workflows/skillgym.yml").read_text())
    assert passed == ["GATEWAY_KEY", "CODEX_API_KEY", "CURSOR_API_KEY", "TEAM_TOKEN"]
    assert "doctor --install claude-code --install codex   # install the agents, check their keys: GATEWAY_" in ran.out
    assert "First:" not in ran.out


def test_where_the_configuration_has_no_runner_for_an_agent_it_says_so(tmp_path):
    folder = repository_with(tmp_path, NPM | {"skillgym.config.yaml": OWN})
    ran = skillgym("init", "--agent", "codex", cwd=folder)
    assert ran.code == 0
    assert "\nFirst: skillgym.config.yaml has no runner for codex; add one whose agent.type is codex\n" in ran.out
    assert re.findall(r"secrets\.(\w+)", (folder / ".github/workflows/skillgym.yml").read_text()) == ["OPENAI_API_KEY"]


def test_a_configuration_that_cannot_be_read_is_one_message_and_nothing_is_written(tmp_path):
    folder = repository_with(tmp_path, NPM | {"skillgym.config.json": '{"runer": {}}'})
    refused = skillgym("init", cwd=folder)
    assert (refused.code, refused.out) == (2, "")
    assert refused.err.startswith("error: skillgym.config.json:1:2: runer: unknown key")
    assert not (folder / ".github").exists()


def test_a_second_suite_can_be_added_and_a_workflow_that_lacks_its_key_is_named(tmp_path):
    folder = repository_with(tmp_path, NPM | SKILL)
    assert skillgym("init", "--format", "x-bench", cwd=folder).code == 0
    (folder / "skillgym.config.yaml").write_text(json.dumps({"runners": {"codex": {"agent": {"type": "codex"}}}}))
    added = skillgym("init", "--format", "skill-evals", cwd=folder)
    assert (added.code, added.err) == (0, "")
    assert added.out.startswith(
        "wrote skills/pages/evals/evals.json\nkept skillgym.config.yaml\nkept .github/workflows/skillgym.yml\n"
    )
    assert (
        "\n.github/workflows/skillgym.yml does not pass OPENAI_API_KEY: "
        "create the secret OPENAI_API_KEY on GitHub, and pass it there.\n"
    ) in added.out
    assert "OK: 2 suites, 4 cases, 1 runner" in skillgym("check", cwd=folder).out


def link_to_a_folder(path: Path) -> None:
    outside = path.parent.parent / "outside"
    outside.mkdir()
    path.symlink_to(outside)


@pytest.mark.parametrize(
    ("make", "path", "obstacle"),
    [
        (link_to_a_folder, ".github", ".github is a symbolic link"),
        (lambda path: path.mkdir(parents=True), ".github/workflows/skillgym.yml", "it is a folder"),
    ],
)
def test_where_one_file_cannot_be_written_none_is(tmp_path, make, path, obstacle):
    folder = repository_with(tmp_path / "repository", NPM)
    make(folder / path)
    before = sorted(tmp_path.rglob("*"))
    for options in ((), ("--force",)):
        refused = skillgym("init", *options, cwd=folder)
        assert (refused.code, refused.out) == (3, "")
        assert refused.err == (
            f"error: cannot write .github/workflows/skillgym.yml: {obstacle}; "
            "correct this and run init again; no file was written\n"
        )
        assert sorted(tmp_path.rglob("*")) == before


def test_it_replaces_no_link(tmp_path):
    folder = repository_with(tmp_path / "repository", NPM)
    target = written(tmp_path, {"elsewhere.yml": "on: push\n"}) / "elsewhere.yml"
    (folder / ".github/workflows").mkdir(parents=True)
    (folder / ".github/workflows/skillgym.yml").symlink_to(target)
    assert "\nkept .github/workflows/skillgym.yml\n" in skillgym("init", cwd=folder).out
    assert skillgym("init", "--force", cwd=folder).code == 3
    assert target.read_text() == "on: push\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--format", "xbench"), "--format: unknown word 'xbench'; did you mean 'x-bench'?"),
        (("--agent", "claude"), "--agent: unknown agent 'claude'; did you mean 'claude-code'?"),
        (
            ("--agent", "cursor-agent"),
            "--agent: a workflow cannot install 'cursor-agent'; configure its runner yourself: docs/reference/agents",
        ),
        (("--format", "evals"), "--format skill-evals: the repository has no skill, a folder with a SKILL.md"),
    ],
)
def test_a_wrong_option_is_one_message(tmp_path, arguments, message):
    refused = skillgym("init", *arguments, cwd=repository_with(tmp_path, NPM))
    assert (refused.code, message in refused.err, refused.out) == (2, True, "")


def test_it_works_in_a_folder_below_the_root_and_without_git(tmp_path):
    folder = repository_with(tmp_path / "a", NPM | {"src/a.js": ""})
    ran = skillgym("init", cwd=folder / "src")
    assert ran.code == 0
    assert (folder / "bench/starter.bench.json").is_file()
    assert ran.out.startswith("wrote ../bench/starter.bench.json\n")
    assert "\nNext, in ..:\n" in ran.out
    plain = written(tmp_path / "b", NPM)
    assert skillgym("init", cwd=plain).code == 0
    assert 'branches: ["main"]' in (plain / ".github/workflows/skillgym.yml").read_text()
