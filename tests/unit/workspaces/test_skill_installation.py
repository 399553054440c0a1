"""Skills in workspaces: their folders and files, and that they are no change of the agent's."""

from __future__ import annotations

import json
import os
from contextlib import contextmanager
from pathlib import Path

import pytest

from scratch import committed, git_in, repository, world_in, written
from skillgym_action.agents import AGENTS
from skillgym_action.model.arm import SkillUnderTest
from skillgym_action.model.suite import InputFile, WorkspaceSpec
from skillgym_action.workspaces.skill_installation import MAX_SKILL_FILES, PLUGINS, files_of_skill

SKILL = "---\nname: b\ndescription: Does b.\n---\n"
FILES = {
    "a/SKILL.md": SKILL,
    "a/scripts/run.sh": "#!/bin/sh\n",
    "a/evals/evals.json": "[]",
    "a/evals/files/in.csv": "1\n",
    "a/trigger-eval.json": "[]",
    "a/b-workspace/iteration-1/grading.json": "{}",
    "a/inner/SKILL.md": "---\nname: inner\n---\n",
    "a/inner/more.md": "more\n",
    "a/ignored.log": "log\n",
    "a/.gitignore": "*.log\n",
    "README.md": "The skill b\n",
}
INSTALLED = [".gitignore", "SKILL.md", "scripts", "scripts/run.sh"]


def files_in(folder: Path) -> list[str]:
    """Everything but git's own files."""
    found = (path.relative_to(folder).as_posix() for path in folder.rglob("*"))
    return sorted(path for path in found if not path.startswith(".git/") and path != ".git")


def entries(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@contextmanager
def installing(tmp_path, files: dict[str, str] | None = None):
    root = repository(tmp_path / "repo", FILES | (files or {}), git=True)
    (root / "a" / "scripts" / "run.sh").chmod(0o755)
    with world_in(root) as services:
        services.workspaces.hide(["a/evals/evals.json", "a/trigger-eval.json"])
        yield services


def spec(services, name: str = "b", folder: str = "a", **more) -> WorkspaceSpec:
    skill = SkillUnderTest(name=name, folder=services.repository.root / folder)
    return WorkspaceSpec(**{"source": "empty", "committed": True, "skills": (skill,)} | more)


def started(services, agent: str, wanted: WorkspaceSpec | None = None):
    workspace = services.workspaces.create(wanted or spec(services), AGENTS[agent].skills)
    workspace.record_state()
    return workspace


@pytest.mark.parametrize(
    ("agent", "folders"),
    [
        ("claude-code", [".claude/skills/b"]),
        *(
            (agent, [".agents/skills/b"])
            for agent in ("codex", "pi", "opencode", "gemini", "qwen", "copilot", "cursor-agent")
        ),
        ("command", [".agents/skills/b", ".claude/skills/b"]),
        ("replay", []),
    ],
)
def test_each_agent_has_the_skill_where_it_looks_and_nowhere_else(tmp_path, agent, folders):
    with installing(tmp_path) as services:
        workspace = started(services, agent)
        expected = {path for folder in folders for path in (folder, *(f"{folder}/{name}" for name in INSTALLED))}
        above = {parent for folder in folders for parent in (folder.rpartition("/")[0], folder.partition("/")[0])}
        assert files_in(workspace.path) == sorted(expected | above)
        assert all(os.access(workspace.path / folder / "scripts/run.sh", os.X_OK) for folder in folders)
        assert workspace.installed.paths == tuple(folders)


def test_the_workspace_is_a_repository_with_one_commit_that_has_the_input_files(tmp_path):
    with installing(tmp_path) as services:
        source = services.repository.root / "a/evals/files"
        files = (InputFile(path="evals/files/in.csv", source=source / "in.csv"), InputFile(path="all", source=source))
        workspace = started(services, "codex", spec(services, files=files))
        path = workspace.path
        assert git_in(path, "ls-files").split() == ["all/in.csv", "evals/files/in.csv"]
        assert git_in(path, "rev-list", "--count", "HEAD").strip() == "1"
        assert git_in(path, "status", "--porcelain") == ""
        assert (path / "evals/files/in.csv").read_text() == "1\n"


def test_without_the_skill_there_is_no_trace_of_it(tmp_path):
    with installing(tmp_path) as services:
        workspace = started(services, "claude-code", spec(services, skills=(), removed_skills=("b",)))
        assert files_in(workspace.path) == []


def test_what_is_installed_is_no_change(tmp_path):
    with installing(tmp_path) as services:
        workspace = started(services, "claude-code")
        (workspace.path / ".claude/skills/b/SKILL.md").write_text("another\n")
        (workspace.path / ".claude/skills/b/made.txt").write_text("made\n")
        (workspace.path / "out.md").write_text("out\n")
        changes = workspace.changes()
        assert (changes.created, changes.modified, changes.deleted) == (("out.md",), (), ())
        assert workspace.files.names() == ("out.md",)
        assert workspace.files.glob("**/*.md") == ("out.md",)
        assert "another" not in str(workspace.diff())


def test_a_skill_that_the_agent_removes_is_no_change(tmp_path):
    with installing(tmp_path) as services:
        workspace = started(services, "claude-code")
        workspace.inside.remove([".claude"])
        changes = workspace.changes()
        assert (changes.created, changes.modified, changes.deleted) == ((), (), ())


def test_other_configuration_of_the_agent_is_a_change(tmp_path):
    with installing(tmp_path) as services:
        workspace = started(services, "claude-code")
        (workspace.path / ".claude/settings.json").write_text("{}\n")
        assert workspace.changes().created == (".claude/settings.json",)


# --- in a copy of the repository --------------------------------------------------------------------


def test_a_copy_of_the_repository_has_the_skill_once(tmp_path):
    others = {"docs/SKILL.md": SKILL, "docs/keep.md": "k\n", "skills/b/SKILL.md": "x", "skills/c/SKILL.md": "c"}
    with installing(tmp_path, others) as services:
        wanted = spec(services, source="repository", removed_skills=("b",))
        path = started(services, "codex", wanted).path
        assert "docs/SKILL.md" not in files_in(path)
        assert "docs/keep.md" in files_in(path)
        assert [name for name in files_in(path) if name.endswith("/SKILL.md")] == [
            ".agents/skills/b/SKILL.md",
            "a/inner/SKILL.md",
            "skills/c/SKILL.md",
        ]
        assert git_in(path, "status", "--porcelain") == ""
        assert "a/evals/evals.json" not in files_in(path)


def test_without_the_skill_a_copy_of_the_repository_has_no_trace_of_it(tmp_path):
    with installing(tmp_path, {"skills/b/SKILL.md": "x", "skills/b/reference.md": "r"}) as services:
        (services.repository.root / ".claude/skills").mkdir(parents=True)
        (services.repository.root / ".claude/skills/b").symlink_to("../../skills/b")
        committed(services.repository.root)
        path = started(services, "codex", spec(services, source="repository", skills=(), removed_skills=("b",))).path
        assert [name for name in files_in(path) if "skills" in name] == []


def test_the_other_skills_of_the_repository_stay_visible(tmp_path):
    with installing(tmp_path, {".claude/skills/other/SKILL.md": "o"}) as services:
        path = started(services, "codex", spec(services, source="repository", removed_skills=("b",))).path
        assert entries(path / ".agents/skills") == ["b", "other"]
        assert entries(path / ".claude/skills") == ["b", "other"]


# --- plugins ----------------------------------------------------------------------------------------

MANIFEST = ".claude-plugin/plugin.json"
SERVERS = {"one": {"command": "one"}}
PLUGIN = {
    f"p/{MANIFEST}": json.dumps({"name": "b", "commands": ["./more/wave.md"], "mcpServers": SERVERS}),
    "p/more/wave.md": "Wave.",
    "p/.mcp.json": json.dumps({"mcpServers": SERVERS}),
    "p/checks/one/prompt.md": "Question",
    f"p/inner/{MANIFEST}": '{"name": "inner"}',
    "p/inner/notes.md": "n",
}
HIDDEN_OF_PLUGIN = [f"p/{MANIFEST}", "p/checks", f"p/inner/{MANIFEST}"]


@contextmanager
def installing_plugin(tmp_path, files: dict[str, str] | None = None, hidden: list[str] = HIDDEN_OF_PLUGIN):
    with installing(tmp_path, PLUGIN | (files or {})) as services:
        services.workspaces.hide(hidden)
        yield services


def copy_of_plugin(services) -> Path:
    plugin = SkillUnderTest(name="b", folder=services.repository.root / "p", packaging="plugin")
    wanted = spec(services, skills=(plugin,))
    return services.workspaces.create(wanted, AGENTS["claude-code"].skills, plugins=True).path / PLUGINS / "b"


def test_the_copy_of_a_plugin_has_its_own_manifest_and_nothing_else_that_is_hidden(tmp_path):
    with installing_plugin(tmp_path) as services:
        copy = copy_of_plugin(services)
        found = [name for name in files_in(copy) if (copy / name).is_file()]
        assert found == [MANIFEST, "inner/notes.md", "more/wave.md"]


def test_evals_beside_the_manifest_stay_hidden(tmp_path):
    files = {"p/.claude-plugin/one/prompt.md": "Question"}
    with installing_plugin(tmp_path, files, ["p/.claude-plugin", "p/checks", "p/inner"]) as services:
        assert entries(copy_of_plugin(services) / ".claude-plugin") == ["plugin.json"]


def test_the_servers_of_a_plugin_are_in_no_copy_of_it(tmp_path):
    with installing_plugin(tmp_path) as services:
        copy = copy_of_plugin(services)
        assert json.loads((copy / MANIFEST).read_text()) == {"name": "b", "commands": ["./more/wave.md"]}
        assert not (copy / ".mcp.json").exists()


def test_a_manifest_at_the_top_of_a_plugin_is_copied_if_there_is_no_other(tmp_path):
    files = {"p/plugin.json": json.dumps({"name": "b", "mcpServers": SERVERS})}
    with installing_plugin(tmp_path, files, ["p/plugin.json", "p/checks"]) as services:
        (services.repository.root / "p" / MANIFEST).unlink()
        assert json.loads((copy_of_plugin(services) / "plugin.json").read_text()) == {"name": "b"}


def test_another_file_with_the_name_of_a_manifest_stays_hidden(tmp_path):
    with installing_plugin(tmp_path, {"p/plugin.json": "{}"}, [*HIDDEN_OF_PLUGIN, "p/plugin.json"]) as services:
        assert "plugin.json" not in files_in(copy_of_plugin(services))


@pytest.mark.parametrize(
    ("path", "target"),
    [
        pytest.param(MANIFEST, "../meta/plugin.json", id="the file"),
        pytest.param(".claude-plugin", "meta", id="its folder"),
    ],
)
def test_a_manifest_that_is_a_link_is_refused(tmp_path, path, target):
    files = {"p/meta/plugin.json": json.dumps({"name": "b", "mcpServers": SERVERS}), "p/plugin.json": "{}"}
    with installing_plugin(tmp_path, files) as services:
        plugin = services.repository.root / "p"
        (plugin / MANIFEST).unlink()
        if path == ".claude-plugin":
            (plugin / path).rmdir()
        (plugin / path).symlink_to(target)
        with pytest.raises(OSError, match=f"{path} is a symbolic link to {target}"):
            copy_of_plugin(services)


@pytest.mark.parametrize("target", ["/etc/passwd", "../../README.md", "../checks/one/prompt.md"])
def test_a_manifest_that_is_a_link_to_what_agents_must_not_see_is_refused(tmp_path, target):
    with installing_plugin(tmp_path) as services:
        manifest = services.repository.root / "p" / MANIFEST
        manifest.unlink()
        manifest.symlink_to(target)
        with pytest.raises(OSError, match=f"plugin.json is a symbolic link to {target}, which is not installed"):
            copy_of_plugin(services)


@pytest.mark.parametrize("text", ["{", "[]", "null", '{"a": 1} // comment', "[" * 100_000])
def test_a_manifest_that_cannot_be_read_is_refused(tmp_path, text):
    refused = pytest.raises(OSError, match=r"the plugin b: \.claude-plugin/plugin\.json is not a JSON object")
    with installing_plugin(tmp_path, {f"p/{MANIFEST}": text}) as services, refused:
        copy_of_plugin(services)


# --- hostile folders --------------------------------------------------------------------------------


def refusal(services, wanted: WorkspaceSpec | None = None) -> str:
    with pytest.raises(OSError, match="skill") as error:
        services.workspaces.create(wanted or spec(services), (".agents/skills",))
    return str(error.value)


def test_a_link_that_leads_out_of_the_skill_is_refused(tmp_path):
    with installing(tmp_path) as services:
        (services.repository.root / "a/out").symlink_to("../README.md")
        assert refusal(services) == (
            "the skill b: out is a symbolic link to ../README.md, which is not installed; put the file itself there"
        )


def test_a_link_to_the_questions_is_refused(tmp_path):
    with installing(tmp_path) as services:
        (services.repository.root / "a/hint.json").symlink_to("evals/evals.json")
        assert "hint.json is a symbolic link to evals/evals.json, which is not installed" in refusal(services)


def test_a_link_inside_the_skill_stays_one(tmp_path):
    with installing(tmp_path) as services:
        (services.repository.root / "a/run").symlink_to("scripts/run.sh")
        workspace = started(services, "codex")
        assert (workspace.path / ".agents/skills/b/run").readlink() == Path("scripts/run.sh")


def test_a_skill_md_that_is_a_link_to_elsewhere_is_refused(tmp_path):
    with installing(tmp_path) as services:
        (services.repository.root / "a/SKILL.md").unlink()
        (services.repository.root / "a/SKILL.md").symlink_to("/etc/passwd")
        assert "SKILL.md is a symbolic link to /etc/passwd" in refusal(services)


def test_a_fifo_is_refused(tmp_path):
    root = repository(tmp_path / "repo", FILES)
    os.mkfifo(root / "a/pipe")
    with world_in(root) as services:
        assert refusal(services) == "the skill b: a/pipe is a FIFO, not a regular file"


@pytest.mark.parametrize("name", ["../x", "x/../../y", "/abs", "..", ".git", "a\nb"])
def test_a_name_that_leads_elsewhere_is_refused(tmp_path, name):
    with installing(tmp_path) as services:
        assert "cannot be the name of a folder" in refusal(services, spec(services, name=name))


@pytest.mark.slow
def test_too_many_files_are_refused(tmp_path):
    with installing(tmp_path) as services:
        for number in range(MAX_SKILL_FILES):
            (services.repository.root / f"a/{number}").touch()
        assert f"more than {MAX_SKILL_FILES:,}" in refusal(services)


def test_a_huge_file_is_refused(tmp_path):
    with installing(tmp_path) as services:
        with (services.repository.root / "a/model.bin").open("wb") as file:
            file.truncate(300 * 1024**2)
        assert "the skill b has more than 256 MiB, with model.bin" in refusal(services)


def test_a_folder_without_skill_md_is_refused(tmp_path):
    with installing(tmp_path) as services:
        assert "there is no SKILL.md" in refusal(services, spec(services, folder="a/scripts"))


def test_a_folder_of_the_template_that_leads_out_is_not_written_to(tmp_path):
    with installing(tmp_path) as services:
        template = written(tmp_path / "template", {"x": ""})
        outside = written(tmp_path / "outside", {"skills/keep": ""})
        (template / ".agents").symlink_to(outside)
        wanted = spec(services, source="template", template=template)
        assert "skills cannot be installed" in refusal(services, wanted)
        assert files_in(outside) == ["skills", "skills/keep"]


def test_a_skill_is_not_installed_into_a_folder_of_the_user(tmp_path):
    with installing(tmp_path) as services:
        wanted = spec(services, mode="none", source="empty", cwd=tmp_path)
        assert "only be installed into a workspace that is made for one session" in refusal(services, wanted)


@pytest.mark.parametrize("path", ["../x", "/x", "a/../../x", "."])
def test_an_input_file_never_leads_out_of_the_workspace(tmp_path, path):
    with installing(tmp_path) as services:
        wanted = spec(services, files=(InputFile(path=path, source=services.repository.root / "README.md"),))
        with pytest.raises(OSError, match="leads out of the workspace"):
            services.workspaces.create(wanted, (".agents/skills",))


@pytest.mark.parametrize("source", ["empty", "repository"])
def test_an_input_file_is_not_written_through_a_link_that_is_copied_before(tmp_path, source):
    outside = tmp_path / "outside"
    outside.mkdir()
    with installing(tmp_path) as services:
        inputs = services.repository.root / "inputs"
        inputs.mkdir()
        (inputs / "link").symlink_to(outside)
        files = (InputFile(path="inputs", source=inputs), InputFile(path="inputs/link/new.txt", content="x"))
        with pytest.raises(OSError, match="below the symbolic link inputs/link"):
            services.workspaces.create(spec(services, source=source, files=files), (".agents/skills",))
    assert files_in(outside) == []


def test_an_input_file_takes_the_place_of_a_link_and_leaves_its_target(tmp_path):
    outside = tmp_path / "outside.txt"
    outside.write_text("kept")
    with installing(tmp_path) as services:
        root = services.repository.root
        (root / "link.txt").symlink_to(outside)
        files = (InputFile(path="link.txt", content="x"), InputFile(path="README.md", source=root / "a/SKILL.md"))
        workspace = started(services, "codex", spec(services, source="repository", files=files))
        assert (workspace.path / "link.txt").read_text() == "x"
        assert (workspace.path / "README.md").read_text() == SKILL
    assert outside.read_text() == "kept"


def test_a_file_in_an_input_folder_is_replaced_by_one_that_is_listed_wherever_it_is_listed(tmp_path):
    with installing(tmp_path) as services:
        folder = services.repository.root / "a/evals/files"
        files = (InputFile(path="in/in.csv", content="other"), InputFile(path="in", source=folder))
        workspace = started(services, "codex", spec(services, files=files))
        assert (workspace.path / "in/in.csv").read_text() == "other"


def test_what_is_hidden_in_the_checkout_is_hidden_in_an_earlier_version(tmp_path):
    base = written(tmp_path / "base", {"a/plugin.json": "{}", "a/checks/one/prompt.md": "Question"})
    with installing(tmp_path) as services:
        now = services.repository.root / "a"
        earlier = SkillUnderTest(name="b", folder=base / "a", packaging="plugin", origin=now)
        assert files_of_skill(earlier, services.repository, ["a/checks"]) == ("plugin.json",)
