"""Names that a commit can choose, rows 1-8 of the acceptance table: whole runs in checkouts with links at every name.

Beside each checkout there is a folder with a canary, which must be neither read, nor changed, nor written to.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import pytest

import action_step
from scratch import Ran, case, config, git_in, repository, runner, skillgym, suite, written

if TYPE_CHECKING:
    from pathlib import Path

CANARY = "canary-4f1c-of-the-folder-outside"
# What is in a workspace is in the agent's output, hence in the run directory.
SHOW_ALL = "find . -type f -exec cat {} +; echo done > out.txt"
AGENTV = json.dumps({"tests": [{"id": "one", "input": "Do it", "assertions": [{"type": "contains", "value": "done"}]}]})
PYTHON = (
    "from skillgym_action import Case, Workspace\nsuite = [Case(id='one', prompt='x', check=lambda report: None)]\n"
)


@dataclass(frozen=True)
class Scene:
    """A checkout, and the folder outside with everything that could be taken for what a commit asks for."""

    root: Path
    outside: Path

    def link(self, name: str, target: str | Path) -> None:
        place = self.root / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(target)

    def run(self, *args: str, command: str = "run") -> Ran:
        more = ("--output", "out") if command == "run" and "--output" not in args else ()
        return skillgym(command, *args, *more, cwd=self.root)

    def state(self) -> dict[str, str]:
        paths = sorted(self.outside.rglob("*"))
        return {str(path): sha256(path.read_bytes()).hexdigest() if path.is_file() else "folder" for path in paths}


@pytest.fixture
def scene(tmp_path) -> Any:
    """Checked at the end: nothing outside was changed, and the canary is in no file of the checkout."""
    outside = written(
        tmp_path / "outside",
        {
            "canary.txt": CANARY,
            "templates/summary.md.j2": CANARY,
            "suite.json": suite(case(CANARY)),
            "EVAL.yaml": AGENTV.replace("one", CANARY),
            "canary_suite.py": PYTHON.replace("one", CANARY),
            "skillgym.config.yaml": json.dumps({"runners": {CANARY: runner()["agent"]}}),
            "config.yaml": config(runner(f"echo {CANARY}")),
            "targets.yaml": json.dumps({"targets": [{"name": "default", "provider": CANARY}]}),
            "snapshots.json": json.dumps({"version": 1, "entries": {CANARY: 1}}),
            "results.json": json.dumps({"run": {"id": CANARY}}),
        },
    )
    root = repository(tmp_path / "repo", {"skillgym.config.yaml": config(runner(SHOW_ALL))}, git=True)
    made = Scene(root=root, outside=outside)
    before = made.state()
    yield made
    assert made.state() == before
    assert [path for path in root.rglob("*") if path.is_file() and not path.is_symlink() and holds(path)] == []


def holds(path: Path) -> bool:
    return CANARY.encode() in path.read_bytes() and path.name != "skillgym.config.yaml"


def results(root: Path) -> Any:
    return json.loads((root / "out" / "results.json").read_text())


def silent(ran: Ran) -> Ran:
    assert CANARY not in ran.out + ran.err
    assert "Traceback" not in ran.err
    return ran


# --- 1-4: templates ---------------------------------------------------------------------------------

# What stands at bench/t# or on the way to it; the name of the component that is refused. # is the row's number.
LINKS = {
    "outside": ({"bench/t#": "../../outside"}, "bench/t#", "bench/t# is a symbolic link"),
    "absolute": ({"bench/t#": "/etc"}, "bench/t#", "bench/t# is a symbolic link"),
    "proc": ({"bench/t#": "/proc/self"}, "bench/t#", "bench/t# is a symbolic link"),
    "inside": ({"bench/t#": "../src"}, "bench/t#", "bench/t# is a symbolic link"),
    "git": ({"bench/t#": "../.git"}, "bench/t#", "bench/t# is a symbolic link"),
    "git itself": ({}, ".git", ".git leads into .git"),
    "in git": ({}, ".git/hooks", ".git leads into .git"),
    "git in capitals": ({}, ".GIT", ".GIT leads into .git"),
    "the checkout itself": ({}, ".", "is the checkout itself, and its .git would be copied"),
    "a middle component": ({"bench/m#": "../../outside"}, "bench/m#/templates", "bench/m# is a symbolic link"),
    "the first component": ({"m#": "../outside"}, "m#/templates", "m# is a symbolic link"),
}


def placed(scene: Scene, *left_out: str) -> dict[str, tuple[str, str]]:
    """Make the links; for each row, the template relative to ``bench`` and what is said of it."""
    found = {}
    for number, (row, (links, template, says)) in enumerate(LINKS.items()):
        if row not in left_out:
            for name, target in links.items():
                scene.link(name.replace("#", str(number)), target)
            relative = os.path.relpath(template.replace("#", str(number)), "bench")
            found[row] = relative, says.replace("#", str(number))
    return found


def told_of(ran: Ran, path: str) -> str:
    """The one line about a suite."""
    (line,) = (line for line in ran.err.splitlines() if line.startswith(f"error: {path}:"))
    return line


def test_a_template_of_a_suite_is_walked_without_links(scene):
    rows = placed(scene)
    texts = {
        row: json.dumps({"cases": [case()], "workspace": {"templateDir": relative}}, indent=1)
        for row, (relative, _) in rows.items()
    }
    written(scene.root, {f"bench/{row}.json": text for row, text in texts.items()})
    checked = silent(scene.run(command="check"))
    assert checked.code == 2
    ran = silent(scene.run())
    assert ran.code != 0
    found = {one["path"]: one["results"] for one in results(scene.root)["suites"]}
    assert [one["status"] for one in found.pop("bench/core.json")] == ["passed"]
    assert len(found) == len(rows)
    for row, (_, says) in rows.items():
        at = texts[row][: texts[row].index('"templateDir"')].count("\n") + 1
        line = told_of(checked, f"bench/{row}.json")
        assert line.startswith(f"error: bench/{row}.json:{at}:")
        assert f": workspace.templateDir: {says}; a template is a folder of the repository" in line
        assert [(one["status"], one["location"]["line"]) for one in found[f"bench/{row}.json"]] == [("errored", at)]


@pytest.mark.parametrize("key", ["workspace", "workspace.template"])
def test_a_template_of_an_agentv_suite_too(scene, key):
    rows = placed(scene, "inside", "git in capitals")  # there is nothing there, which is another error
    for row, (relative, _) in rows.items():
        workspace: object = {"template": relative} if key == "workspace.template" else relative
        written(scene.root, {f"bench/{row}.eval.yaml": json.dumps(json.loads(AGENTV) | {"workspace": workspace})})
    checked = silent(scene.run(*(f"bench/{row}.eval.yaml" for row in rows), command="check"))
    assert checked.code == 2
    for row, (_, says) in rows.items():
        line = told_of(checked, f"bench/{row}.eval.yaml")
        assert line.startswith(f"error: bench/{row}.eval.yaml:1:")
        assert f": {key}: {says}; a template is a folder" in line


def test_the_workspace_of_an_agentv_case_is_no_link(scene):
    written(
        scene.root, {"bench/EVAL.yaml": "tests: ./cases\n", "bench/cases/a/case.yaml": "input: Do it\ncriteria: done\n"}
    )
    scene.link("bench/cases/a/workspace", "../../../../outside")
    checked = silent(scene.run("bench/EVAL.yaml", command="check"))
    assert checked.code == 2
    assert "error: bench/cases/a/workspace: bench/cases/a/workspace is a symbolic link" in checked.err
    assert silent(scene.run("bench/EVAL.yaml")).code != 0


@pytest.mark.parametrize("template", ["t", "../.git"])
def test_a_template_of_a_suite_program_too(scene, template):
    scene.link("bench/t", "../../outside")
    written(scene.root, {"bench/bad_suite.py": PYTHON + f"workspace = Workspace(template_dir={template!r})"})
    checked = silent(scene.run(command="check"))
    assert checked.code == 2
    assert checked.err.startswith("error: bench/bad_suite.py: workspace.templateDir: ")
    assert silent(scene.run("bench/bad_suite.py")).code != 0


CONFIGURED = {
    "run.workspace.templateDir": {"run": {"workspace": {"mode": "isolated", "templateDir": "link/templates"}}},
    "report.templates": {"report": {"templates": "link/templates"}},
    "run.outputDir": {"run": {"outputDir": "link/out"}},
    "snapshots.path": {"snapshots": {"path": "link/snapshots.json", "tolerance": {"percent": 5}}},
    "run.baseline": {"run": {"baseline": "link/results.json"}},
    "store": {"store": "path=link/store"},
}


WAYS = [*((key, "link") for key in CONFIGURED), ("run.outputDir", "dots"), ("report.templates", "absolute")]


@pytest.mark.parametrize(("key", "way"), WAYS)
def test_what_the_configuration_names_is_in_the_checkout(scene, key, way):
    text = json.dumps(json.loads(config(runner(SHOW_ALL))) | CONFIGURED[key])
    if way == "link":
        scene.link("link", "../outside")
    else:
        text = text.replace("link/", "../outside/" if way == "dots" else f"{scene.outside}/")
    written(scene.root, {"skillgym.config.yaml": text})
    ran = silent(skillgym("run", cwd=scene.root))
    assert ran.code == 2
    assert ran.err.startswith("error: skillgym.config.yaml:1:")
    assert f": {key}: " in ran.err
    assert "is a symbolic link" in ran.err or "leads out of the checkout" in ran.err
    assert not (scene.root / ".skillgym-results").exists()


def test_a_configuration_elsewhere_is_trusted_with_its_paths(scene, tmp_path):
    """The command line names it: nothing of it came with the commit."""
    mine = written(tmp_path / "mine", {"template/given.txt": "given", "results.md": ""})
    run = {"workspace": {"mode": "isolated", "templateDir": "template"}, "outputDir": "out"}
    written(mine, {"c.yaml": config(runner("cat given.txt > out.txt"), run=run)})
    written(
        scene.root,
        {"a_suite.py": PYTHON},
    )
    ran = skillgym("run", "--config", mine / "c.yaml", "a_suite.py", cwd=scene.root)
    assert (ran.code, len(list((mine / "out").iterdir()))) == (0, 1), ran.err


# --- 5: suites --------------------------------------------------------------------------------------

SUITES = {
    "bench/evil.bench.json": "../../outside/suite.json",
    "evil/EVAL.yaml": "../../outside/EVAL.yaml",
    "evil_suite.py": "../outside/canary_suite.py",
    "evil-suite.ts": "../outside/canary_suite.py",
    "bench/environ.bench.json": "/proc/self/environ",
    "bench/git.bench.json": "../.git/config",
}


def test_suites_that_lead_out_are_refused_and_the_others_run(scene):
    for name, target in SUITES.items():
        scene.link(name, target)
    listed = silent(scene.run("--json", command="list"))
    assert listed.code == 2
    assert [row["suite"] for row in json.loads(listed.out)["executions"]] == ["bench/core.json"]
    for name in SUITES:
        says = told_of(listed, name)
        assert says.startswith(f"error: {name}: cannot be read: ")
        assert "leads out of the checkout" in says or "leads into .git" in says
    ran = silent(scene.run())
    assert ran.code != 0
    rows = {one["path"]: [row["status"] for row in one["results"]] for one in results(scene.root)["suites"]}
    assert rows == {"bench/core.json": ["passed"]} | {name: ["errored"] for name in SUITES}


def test_a_link_that_stays_inside_is_followed(scene):
    (scene.root / "bench/core.json").rename(scene.root / "real.json")
    scene.link("bench/core.json", "../real.json")
    skipped = "skipped: real.json: has cases with prompts, but its name does not match *.bench.json, so it is not run\n"
    checked = f"bench/core.json: x-bench, 1 case\n{skipped}OK: 1 suite, 1 case, 1 runner\n"
    assert scene.run(command="check").out == checked


def test_a_suite_elsewhere_is_trusted(scene, tmp_path):
    written(tmp_path / "mine", {"real.bench.json": suite()})
    (tmp_path / "mine" / "named.bench.json").symlink_to("real.bench.json")
    assert (
        scene.run("../mine/named.bench.json", command="check").out.splitlines()[-1]
        == "OK: 1 suite, 1 case. No runner is configured: add one, or pass --runner"
    )


def test_a_folder_that_leads_out_is_not_searched(scene):
    scene.link("more", "../outside")
    ran = silent(scene.run("--config", "skillgym.config.yaml", "more", command="check"))
    says = "more is a symbolic link that leads out of the checkout; name a folder of the repository"
    assert (ran.code, ran.err) == (2, f"error: more is not searched: {says}\n")


def test_a_folder_is_searched_where_a_link_of_the_checkout_leads(scene):
    (scene.root / "bench").rename(scene.root / "suites")
    (scene.root / "suites/core.json").rename(scene.root / "suites/core.bench.json")
    scene.link("bench", "suites")
    listed = silent(scene.run("bench", "--json", command="list"))
    assert [row["suite"] for row in json.loads(listed.out)["executions"]] == ["suites/core.bench.json"], listed.err


def test_a_checkout_that_is_called_by_another_name_is_the_same(scene, tmp_path):
    other = tmp_path / "other"
    other.symlink_to(scene.root)
    listed = silent(scene.run(str(other / "bench/core.json"), "--json", command="list"))
    assert [row["suite"] for row in json.loads(listed.out)["executions"]] == ["bench/core.json"], listed.err


def test_programs_of_its_configuration_are_in_that_checkout(scene, tmp_path):
    (scene.root / "skillgym.config.yaml").unlink()
    written(
        scene.root,
        {"agent.sh": 'echo "$0"; touch out.txt', "skillgym.config.json": config(runner(["sh", "./agent.sh"]))},
    )
    other = tmp_path / "other"
    other.symlink_to(scene.root)
    ran = silent(scene.run(str(other / "bench")))
    assert ran.code == 0, ran.err
    (suite_told,) = results(scene.root)["suites"]
    assert [row["finalOutput"] for row in suite_told["results"]] == [str(scene.root / "agent.sh")]


PARTS = {
    "tests": "tests: link/EVAL.yaml",
    "dots": "tests: ../../outside/EVAL.yaml",
    "pattern": "tests: ['file://../../outside/E*.yaml']",
    "include": "tests: [{id: a, input: b, assertions: [{include: ./link/config.yaml}]}]",
    "prompt": "tests: [{id: a, input: b, assertions: [{type: llm-grader, prompt: 'file://link/canary.txt'}]}]",
    "workspace": "tests: [{id: a, input: b, criteria: c}]\nworkspace: link/config.yaml",
}


def test_what_a_suite_is_made_of_is_in_the_checkout(scene):
    for name, text in PARTS.items():
        scene.link(f"{name}/link", "../../outside")
        written(scene.root, {f"{name}/EVAL.yaml": text})
    checked = silent(scene.run(*(f"{name}/EVAL.yaml" for name in PARTS), command="check"))
    assert checked.code == 2
    for name in PARTS:
        about = [line for line in checked.err.splitlines() if f"{name}/EVAL.yaml" in line]
        assert "leads out of the checkout" in " ".join(about), (name, checked.err)


def test_targets_are_in_the_checkout(scene):
    written(scene.root, {"evals/EVAL.yaml": AGENTV})
    scene.link("evals/.agentv/targets.yaml", "../../../outside/targets.yaml")
    checked = silent(scene.run("evals/EVAL.yaml", command="check"))
    assert checked.code == 2
    assert "leads out of the checkout" in checked.err


# --- 6: the configuration ---------------------------------------------------------------------------


@pytest.mark.parametrize(("target", "named"), [("../outside/config.yaml", False), (".git/config", True)])
def test_a_configuration_that_leads_out_is_refused(scene, target, named):
    (scene.root / "skillgym.config.yaml").unlink()
    scene.link("skillgym.config.yaml", target)
    ran = silent(scene.run(*(("--config", "skillgym.config.yaml") if named else ())))
    assert ran.code == 2
    assert ran.err.startswith("error: skillgym.config.yaml: cannot be read: ")
    assert not (scene.root / "out").exists()


def test_a_configuration_that_is_a_fifo_is_refused_at_once(scene):
    (scene.root / "skillgym.config.yaml").unlink()
    os.mkfifo(scene.root / "skillgym.config.yaml")
    ran = scene.run()
    assert (ran.code, "is a FIFO, not a regular file" in ran.err) == (2, True)


def test_a_configuration_linked_inside_is_read(scene):
    (scene.root / "skillgym.config.yaml").rename(scene.root / "real.yaml")
    scene.link("skillgym.config.yaml", "real.yaml")
    assert scene.run(command="check").out == "bench/core.json: x-bench, 1 case\nOK: 1 suite, 1 case, 1 runner\n"


# --- 7: where is written ----------------------------------------------------------------------------

WRITTEN = {
    "--output": (("--output", "link"), "the run directory: link is a symbolic link"),
    "below --output": (("--output", "link/new/er"), "the run directory: link is a symbolic link"),
    "--report": (("--report", "junit=link/x.xml"), "the junit report link/x.xml: link is a symbolic link"),
    "a report": (("--report", "results=file"), "the results report file: file is a symbolic link"),
    "in git": (("--report", "junit=.git/hooks/x"), "the junit report .git/hooks/x: .git leads into .git"),
    "--record": (("--record", "link"), "--record link: link is a symbolic link"),
    "--template-dir": (("--template-dir", "link/templates"), "--template-dir link/templates: link is a symbolic link"),
    "--resume": (("--resume", "link"), "the run directory: link is a symbolic link"),
}


@pytest.mark.parametrize(("options", "says"), WRITTEN.values(), ids=WRITTEN)
def test_nothing_is_written_through_a_link(scene, options, says):
    scene.link("link", "../outside")
    scene.link("file", "../outside/results.json")
    if "--resume" in options:
        (scene.outside / "journal.jsonl").touch()
    ran = silent(skillgym("run", *options, cwd=scene.root))
    if "--resume" in options:
        (scene.outside / "journal.jsonl").unlink()
    assert (ran.code, ran.out) == (2, "")
    assert (
        ran.err
        == f"error: {says}; name a path inside the repository, with no symbolic link and no .git on the way to it\n"
    )
    assert not (scene.root / ".skillgym-results").exists()


def test_the_usual_place_of_runs_is_no_link(scene):
    scene.link(".skillgym-results", "../outside")
    ran = silent(skillgym("run", cwd=scene.root))
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("error: the run directory: .skillgym-results is a symbolic link; ")


def test_links_in_a_committed_run_directory_are_not_written_through(scene):
    """Whatever a run writes, it puts a file of its own there."""
    for name in ("results.json", "junit.xml", "summary.md", "comment.md", "report.html"):
        scene.link(f"out/{name}", "../../outside/results.json")
    assert silent(scene.run()).code == 0
    assert not any(path.is_symlink() for path in (scene.root / "out").rglob("*"))


def test_the_logs_of_suite_programs_in_a_run_directory_are_no_links(scene):
    written(scene.root, {"a_suite.py": PYTHON + "print('written by the suite')\n"})
    assert scene.run("a_suite.py").code == 0
    logs = list((scene.root / "out").glob("*.log"))
    assert logs
    for log in logs:
        log.unlink()
        log.symlink_to(scene.outside / "canary.txt")
    assert silent(scene.run("a_suite.py")).code == 0


def test_a_link_in_the_place_of_a_sessions_folder_is_replaced_by_a_folder(scene):
    assert scene.run().code == 0
    (first,) = (path for path in (scene.root / "out").iterdir() if path.is_dir() and path.name != "logs")
    first.rename(scene.root / "moved")
    scene.link(f"out/{first.name}", "../../outside")
    assert silent(scene.run()).code == 0
    assert not (scene.root / "out" / first.name).is_symlink()
    assert list((scene.root / "out" / first.name).iterdir())


def test_a_recording_is_not_written_through_a_link_in_it(scene):
    for folder in ("core", "bench", "sh", "one"):
        scene.link(f"recordings/{folder}", "../../outside")
    ran = silent(scene.run("--record", "recordings"))
    assert (ran.code, "recordings/core is a symbolic link" in ran.err) == (3, True), ran.err


def test_snapshots_are_not_written_through_a_link(scene):
    text = json.dumps(json.loads(config(runner())) | {"snapshots": {"tolerance": {"percent": 5}}})
    written(scene.root, {"skillgym.config.yaml": text})
    scene.link("skillgym.snapshots.json", "../outside/snapshots.json")
    ran = silent(scene.run("--update-snapshots"))
    assert ran.code == 2
    assert "snapshots.path: skillgym.snapshots.json is a symbolic link" in ran.err


def test_stored_runs_are_not_read_through_a_link(scene):
    scene.link("old", "../outside")
    for args in (("report", "old"), ("report", "o*"), ("rejudge", "old"), ("run", "--baseline", "old")):
        ran = silent(skillgym(*args, "--output", "out", cwd=scene.root))
        assert (ran.code, "error: old: " in ran.err, "is a symbolic link" in ran.err) == (2, True, True), ran.err


# --- 8: what is no file -----------------------------------------------------------------------------


def test_a_tracked_suite_that_became_a_fifo_is_refused_at_once(scene):
    (scene.root / "bench/core.json").unlink()
    os.mkfifo(scene.root / "bench/core.json")
    ran = skillgym("check", cwd=scene.root, limit=30)
    assert (ran.code, "bench/core.json is a FIFO, not a regular file" in ran.err) == (2, True)


# --- copies of the repository -----------------------------------------------------------------------


def test_a_tracked_folder_that_became_a_link_is_not_copied_through_it(scene):
    """Git has the files in its index still; through the link they would be those outside."""
    written(scene.root, {"z/canary.txt": "mine"})
    git_in(scene.root, "add", "--all")
    (scene.root / "z/canary.txt").unlink()
    (scene.root / "z").rmdir()
    scene.link("z", "../outside")
    ran = silent(scene.run("--report", "results=r.json"))
    assert ran.code == 0, ran.err


# --- the action -------------------------------------------------------------------------------------

INPUTS = {
    "working-directory": ({"working-directory": "link"}, "input working-directory: link is a symbolic link"),
    "out of the workspace": ({"working-directory": ".."}, "input working-directory: .. leads out of the checkout"),
    "store": ({"store": "path=link/store"}, "the store link/store: link is a symbolic link"),
    "results": ({"mode": "report", "results": "link"}, "link: is a symbolic link, which is not followed"),
}


@pytest.mark.parametrize(("inputs", "says"), INPUTS.values(), ids=INPUTS)
def test_inputs_of_the_action_follow_no_link_out(scene, inputs, says):
    scene.link("link", "../outside")
    scene.link("file", "../outside/results.json")
    step = action_step.step(scene.root, None, {"report-dir": "out", "comment": "off"} | inputs)
    assert step.code == 2, step.said
    assert says in step.said
    assert CANARY not in step.said + step.log + step.summary + str(step.outputs)


@pytest.mark.parametrize(("context", "code"), [("bench", 0), ("../outside", 2), ("link", 2)])
def test_a_configured_image_is_built_from_the_checkout_alone(tmp_path, context, code):
    (tmp_path / "outside").mkdir()
    workspace = {"mode": "isolated", "build": {"context": context}}
    files = {
        "skillgym.config.yaml": config(runner(), run={"workspace": workspace}),
        "bench/Dockerfile": "FROM scratch\n",
    }
    root = repository(tmp_path / "root", files)
    (root / "link").symlink_to("../outside")
    ran = skillgym("check", cwd=root)
    assert (ran.code, "run.workspace.build.context" in ran.err) == (code, code == 2)
