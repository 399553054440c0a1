"""``suites-from``: suites and configuration of the base commit, run on the checkout of another one."""

from __future__ import annotations

import json
import os
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from action_step import pull_request, step
from scratch import PASSING, case, committed, config, git_in, repository, runner, skillgym, suite, written

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from action_step import Step
    from scratch import Ran

STRICT = {"bench/core.json": suite(case("one", ["file:out.txt contains strict"]))}
WEAK = {"bench/core.json": suite(case("one", ["test:exit 0"]))}
MORE = {"bench/more.json": suite(case("two"))}
TOOL = "cat tool.txt > out.txt"  # the agent shows what it finds in its workspace
SHOWS = {"skillgym.config.yaml": config(runner(TOOL)), "tool.txt": "strict"}
BROKEN = {"tool.txt": "lax"}


class Commits:
    """A checkout of a head, and one of its base; None of a name removes what the base has."""

    def __init__(self, folder: Path, base: dict[str, Any], head: dict[str, Any], *, nested: bool = False) -> None:
        self.head = repository(folder / "head", SHOWS | base, git=True)
        self.base_commit = git_in(self.head, "rev-parse", "HEAD").strip()
        self.base = self.head / ".base" if nested else folder / "base"
        shutil.copytree(self.head, folder / "kept")
        for name in (name for name, text in head.items() if text is None):
            (self.head / name).unlink()
        written(self.head, {name: text for name, text in head.items() if text is not None})
        committed(self.head)
        (folder / "kept").rename(self.base)

    @property
    def named(self) -> str:
        return os.path.relpath(self.base, self.head)

    def run(self, *args: str, command: str = "run", **env: str) -> Ran:
        output = ("--output", "out") if command == "run" else ()
        return skillgym(command, "--suites-from", self.named, *output, *args, cwd=self.head, **env)

    def step(self, event: Any = None, cwd: Path | None = None, **inputs: str) -> Step:
        quiet = {"mode": "run", "report-dir": "out", "suites-from": self.named, "github-token": ""}
        given = quiet | {name.replace("_", "-"): value for name, value in inputs.items()}
        return step(cwd or self.head, None, given, event=event or ("pull_request", self.payload()))

    def payload(self, **base: Any) -> dict[str, Any]:
        payload: Any = pull_request()
        payload["pull_request"]["base"] = {"sha": self.base_commit} | base
        return payload


def results(root: Path) -> dict[str, Any]:
    return json.loads((root / "out/results.json").read_text())


def told(root: Path) -> dict[str, Any]:
    return results(root)["run"]["suitesFrom"]


@pytest.fixture(params=[False, True], ids=["beside the checkout", "inside of it"])
def nested(request) -> bool:
    return request.param


# --- the attack -------------------------------------------------------------------------------------


def test_a_suite_that_the_head_weakened_is_the_bases(tmp_path, nested):
    commits = Commits(tmp_path, STRICT, WEAK | BROKEN, nested=nested)
    assert skillgym("run", "--output", "own", cwd=commits.head).code == 0, "which is what the head hopes for"
    ran = commits.run()
    assert (ran.code, "1 failed of 1" in ran.err) == (1, True), ran.err
    assert told(commits.head) == {
        "folder": commits.named, "commit": commits.base_commit, "changed": ["bench/core.json"],
        "configurationDiffers": False,
    }  # fmt: skip
    assert "1 suite changed by this commit, run as they are there: bench/core.json" in ran.out + ran.err
    (one,) = results(commits.head)["suites"]
    own = json.loads((commits.base / "bench/core.json").read_text())
    assert (one["path"], own["name"]) == ("bench/core.json", "core")


def test_the_heads_content_is_what_is_judged(tmp_path):
    commits = Commits(tmp_path, STRICT | BROKEN, {"tool.txt": "strict"})
    assert skillgym("run", cwd=commits.base).code == 1
    ran = commits.run()
    assert ran.code == 0, ran.err
    assert told(commits.head) == {
        "folder": commits.named, "commit": commits.base_commit, "configurationDiffers": False,
    }  # fmt: skip
    one = results(commits.head)
    assert one["run"]["commit"] == git_in(commits.head, "rev-parse", "HEAD").strip()


@pytest.mark.parametrize(
    ("run", "runners"),
    [
        pytest.param({"failOn": ["none"]}, [runner(TOOL)], id="what turns it red"),
        pytest.param({}, [runner("echo strict > out.txt")], id="the agent"),
    ],
)
def test_the_heads_configuration_does_not_count(tmp_path, run, runners):
    commits = Commits(tmp_path, STRICT, {"skillgym.config.yaml": config(*runners, run=run)} | BROKEN)
    assert skillgym("run", cwd=commits.head).code == 0
    ran = commits.run()
    assert (ran.code, told(commits.head)["configurationDiffers"]) == (1, True), ran.err
    assert "note the configuration there differs from the one of the checkout, and is used" in ran.out + ran.err


@pytest.mark.parametrize("args", [(), ("--config", "skillgym.config.yaml")], ids=["found", "named"])
def test_a_configuration_that_the_head_adds_or_removes_does_not_count(tmp_path, args):
    commits = Commits(tmp_path, STRICT, {"bench/skillgym.config.json": config(runner(), run={"failOn": ["none"]})})
    written(commits.head, BROKEN)
    ran = commits.run("bench", *args)
    assert ran.code == 1, ran.err
    assert told(commits.head)["configurationDiffers"] == (not args)
    (commits.head / "skillgym.config.yaml").unlink()
    assert commits.run("bench", *args).code == 1
    assert told(commits.head)["configurationDiffers"] is True


# --- suites that are new, or gone -------------------------------------------------------------------


def test_a_suite_that_the_base_lacks_is_not_run_and_one_that_the_head_lacks_is(tmp_path):
    gone = {"bench/gone.json": suite(case("three"))}
    commits = Commits(tmp_path, gone, MORE | dict.fromkeys(gone))
    ran = commits.run()
    assert ran.code == 0, ran.err
    assert [one["path"] for one in results(commits.head)["suites"]] == ["bench/core.json", "bench/gone.json"]
    where = told(commits.head)
    assert (where["added"], where["removed"]) == (["bench/more.json"], ["bench/gone.json"])
    assert "note 1 suite not there, hence not run: bench/more.json" in ran.out + ran.err


@pytest.mark.parametrize(
    ("path", "said"),
    [
        pytest.param("bench/more.json", "no such file or folder in ../base: bench/more.json", id="named"),
        pytest.param("!bench/core.json", "suites-from: no suite was found in ../base", id="all others left out"),
    ],
)
def test_what_the_base_lacks_is_never_green(tmp_path, path, said):
    commits = Commits(tmp_path, {}, MORE)
    ran = commits.run(path)
    assert (ran.code, said in ran.err) == (2, True), ran.err


def test_paths_are_those_of_the_checkout(tmp_path):
    commits = Commits(tmp_path, STRICT, WEAK | BROKEN)
    for path in ("bench", "./bench/core.json", "bench/*.json", f"{commits.head}/bench", f"{commits.base}/bench"):
        ran = commits.run(path)
        assert ran.code == 1, (path, ran.err)
        assert [one["path"] for one in results(commits.head)["suites"]] == ["bench/core.json"], path


def test_it_works_in_a_folder_of_the_checkout(tmp_path):
    commits = Commits(tmp_path, STRICT, WEAK | BROKEN)
    ran = skillgym("run", "core.json", "--suites-from", "../../base", cwd=commits.head / "bench")
    assert ran.code == 1, ran.err


def test_list_and_check_show_the_bases(tmp_path):
    commits = Commits(tmp_path, {}, MORE)
    shown = json.loads(commits.run("--json", command="list").out)["executions"]
    assert "bench/more.json" not in json.dumps(shown)
    assert "1 suite, 1 case" in commits.run(command="check").out


def test_a_run_is_resumed_from_another_folder_with_the_same_suites(tmp_path):
    commits = Commits(tmp_path, {}, {"README.md": "x"})
    assert commits.run().code == 0
    shutil.move(commits.base, tmp_path / "moved")
    again = skillgym("run", "--suites-from", "../moved", "--resume", "out", cwd=commits.head)
    assert (again.code, "resumed: 1 session finished before" in again.err) == (0, True), again.err


# --- what goes with suites --------------------------------------------------------------------------

CASE = "input: Do it\nassert:\n  - {type: contains, value: strict}\n"
AGENTV = {
    "skillgym.config.yaml": config(runner("cat tool.txt", output="text")),
    "bench/core.json": None,
    "bench/eval.yaml": "name: eval\ntests: ./cases\nworkspace:\n  template: start\n",
    "bench/start/tool.txt": "lax",
    "bench/cases/one/case.yaml": CASE,
}


@pytest.mark.parametrize(
    ("head", "code"),
    [
        pytest.param(
            {"bench/cases/one/case.yaml": "input: x\nassert:\n  - {type: contains, value: a}\n"}, 1, id="case"
        ),
        pytest.param({"bench/start/tool.txt": "strict"}, 1, id="template"),
    ],
)
def test_agentv_cases_and_templates_are_the_bases(tmp_path, head, code):
    commits = Commits(tmp_path, AGENTV, head)
    ran = commits.run()
    assert ran.code == code, ran.err
    assert told(commits.head).get("changed", []) == (["bench/eval.yaml"] if "bench/cases/one/case.yaml" in head else [])


PYTHON = (
    "from rules import wanted\n"
    "from skillgym_action import Suite, Workspace\n"
    "suite = Suite()\n"
    "{workspace}"
    "@suite.case('one', prompt='x')\n"
    "def one(report, ctx): assert wanted in report.final_output, report.final_output\n"
)
NODE = (
    "import {{ wanted }} from './rules.mjs';\n"
    "import {{ assert }} from 'skillgym';\n"
    "{workspace}"
    "export default [{{ id: 'one', prompt: 'x', assert(report) {{ assert.output.includes(report, wanted) }} }}];\n"
)
AGENTV_PROGRAM = (
    "import {{ wanted }} from './rules.mjs';\n"
    "import {{ defineEval }} from '@agentv/sdk';\n"
    "const assertions = [{{ type: 'contains', value: wanted }}];\n"
    "export default defineEval({{ tests: [{{ id: 'one', input: 'x', assertions }}] }});\n"
)
PROGRAMS = {
    "python": ("own_suite.py", PYTHON, "rules.py", "wanted = '{}'\n"),
    "typescript": ("own_suite.ts", NODE, "rules.mjs", "export const wanted = '{}';\n"),
    "agentv": ("own.eval.ts", AGENTV_PROGRAM, "rules.mjs", "export const wanted = '{}';\n"),
}


def test_a_configuration_that_is_a_program_is_the_bases(tmp_path):
    text = (
        "import { command } from './agent.mjs';\n"
        "export default { runners: { sh: { agent: { type: 'command', command } } } };\n"
    )
    base = {
        "skillgym.config.yaml": None, "skillgym.config.mjs": text, "agent.mjs": f"export const command = '{TOOL}';\n",
    }  # fmt: skip
    commits = Commits(
        tmp_path, STRICT | base, {"agent.mjs": "export const command = 'echo strict > out.txt';\n"} | BROKEN
    )
    assert skillgym("run", cwd=commits.head).code == 0
    assert commits.run().code == 1


@pytest.mark.parametrize("language", PROGRAMS)
def test_programs_and_what_they_import_are_the_bases(tmp_path, language):
    name, text, module, rule = PROGRAMS[language]
    files = {
        "bench/core.json": None,
        "skillgym.config.yaml": config(
            runner("cat tool.txt", output="text"), run={"workspace": {"mode": "none", "cwd": "."}}
        ),
        f"bench/{name}": text.format(workspace=""),
        f"bench/{module}": rule.format("strict"),
    }
    commits = Commits(tmp_path, files, {f"bench/{module}": rule.format("a")} | BROKEN)
    assert skillgym("run", cwd=commits.head).code == 0
    ran = commits.run()
    assert (ran.code, "strict" in ran.out + ran.err) == (1, True), ran.err
    written(commits.head, {"tool.txt": "strict"})
    ran = commits.run()
    assert ran.code == 0, ran.err


def test_a_package_that_only_the_head_has_is_not_the_suites(tmp_path):
    """Node looks for packages in all folders above, hence in the head's, where the base is inside of it."""
    files = {
        "bench/core.json": None,
        "bench/own_suite.mjs": NODE.format(workspace="").replace("./rules.mjs", "rules"),
        "skillgym.config.yaml": config(runner("cat tool.txt", output="text")),
    }
    package = {
        "node_modules/rules/package.json": json.dumps({"name": "rules", "main": "index.mjs"}),
        "node_modules/rules/index.mjs": "export const wanted = 'a';\n",
    }
    commits = Commits(tmp_path, files, package | BROKEN, nested=True)
    assert skillgym("run", cwd=commits.head).code == 0
    ran = commits.run()
    assert (ran.code, "is of the commit that is judged" in ran.err) == (2, True), ran.err
    strict = package | {"node_modules/rules/index.mjs": "export const wanted = 'strict';\n"}
    written(commits.base, strict)
    assert commits.run().code == 1


def test_recordings_are_the_bases(tmp_path):
    commits = Commits(tmp_path, STRICT, {"README.md": "x"})
    skillgym("run", "--record", "recordings", cwd=commits.base)
    replay = config({"agent": {"type": "replay", "sessions": "recordings"}})
    for root in (commits.base, commits.head):
        written(root, {"skillgym.config.yaml": replay})
    ran = commits.run()
    assert ran.code == 0, ran.err


# --- where agents work ------------------------------------------------------------------------------


LOOKS = "(find . -type f | grep -E 'base|core.json|more.json' || cat tool.txt) > out.txt"


@pytest.mark.parametrize("with_git", [True, False])
def test_neither_the_folder_nor_suites_are_in_workspaces(tmp_path, with_git):
    commits = Commits(tmp_path, STRICT | {"skillgym.config.yaml": config(runner(LOOKS))}, WEAK | MORE, nested=True)
    if not with_git:
        shutil.rmtree(commits.base / ".git")
    ran = commits.run()
    assert (ran.code, told(commits.head)["added"]) == (0, ["bench/more.json"]), ran.err


@pytest.mark.parametrize("nested_head", [False, True], ids=["beside", "around the checkout"])
def test_suites_of_the_checkout_are_not_found_twice(tmp_path, nested_head):
    commits = Commits(tmp_path, {}, MORE)
    if nested_head:
        shutil.rmtree(commits.base / ".git")
        shutil.move(commits.head, commits.base / "head")
        commits.head = commits.base / "head"
    ran = commits.run()
    assert ran.code == 0, ran.err
    assert [one["path"] for one in results(commits.head)["suites"]] == ["bench/core.json"]


@pytest.mark.parametrize(
    "run",
    [
        pytest.param({"workspace": {"mode": "none", "cwd": "work"}}, id="workspace.cwd"),
        pytest.param({"cwd": "work"}, id="cwd"),
    ],
)
def test_in_place_sessions_are_in_the_checkout(tmp_path, run, nested):
    base = {
        "bench/core.json": suite(case("one", ["file:out.txt contains strict"])),
        "skillgym.config.yaml": config(runner(TOOL), run=run),
        "work/tool.txt": "lax",
    }
    commits = Commits(tmp_path, base, {"work/tool.txt": "strict"}, nested=nested)
    ran = commits.run()
    assert ran.code == 0, ran.err
    assert ((commits.head / "work/out.txt").exists(), (commits.base / "work/out.txt").exists()) == (True, False)


SUITES_OF_THEIR_OWN = {
    "python": {
        "bench/own_suite.py": PYTHON.format(workspace="workspace = Workspace(mode='none', cwd='../work')\n"),
        "bench/rules.py": "wanted = 'strict'\n",
    },
    "typescript": {
        "bench/own_suite.ts": NODE.format(workspace="export const workspace = { mode: 'none', cwd: '../work' };\n"),
        "bench/rules.mjs": "export const wanted = 'strict';\n",
    },
    "agentv": {
        "bench/eval.yaml": "name: eval\nworkspace:\n  path: ../work\ntests:\n  - id: one\n    input: x\n"
        "    assert:\n      - {type: contains, value: strict}\n",
    },
    "a target of agentv": {
        "bench/eval.yaml": "name: eval\ntests:\n  - id: one\n    input: x\n"
        "    assert:\n      - {type: contains, value: strict}\nexecution:\n  target: own\n",
        "bench/targets.yaml": "targets:\n  - name: own\n    provider: cli\n    command: cat tool.txt > {OUTPUT_FILE}\n"
        "    cwd: ../work\n",
    },
}  # fmt: skip


@pytest.mark.parametrize("suites", SUITES_OF_THEIR_OWN.values(), ids=SUITES_OF_THEIR_OWN)
def test_directories_that_suites_name_are_in_the_checkout(tmp_path, suites):
    base = {"bench/core.json": None, "skillgym.config.yaml": config(runner("cat tool.txt", output="text"))}
    commits = Commits(tmp_path, base | suites | {"work/tool.txt": "lax"}, {"work/tool.txt": "strict"})
    assert skillgym("run", cwd=commits.base).code == 1
    ran = commits.run()
    assert ran.code == 0, ran.err


def test_a_link_of_the_head_does_not_lead_its_agents_into_the_folder(tmp_path):
    run = {"workspace": {"mode": "none", "cwd": "work"}}
    base = {"skillgym.config.yaml": config(runner(PASSING), run=run), "work/tool.txt": "", "bench/core.json": suite()}
    commits = Commits(tmp_path, base, {"work/tool.txt": None})
    (commits.head / "work").rmdir()
    (commits.head / "work").symlink_to(f"{commits.named}/bench")
    ran = commits.run()
    assert (ran.code, f"leads into {commits.named}, the folder that suites are read from" in ran.err) == (3, True), (
        ran.err
    )
    assert not (commits.base / "bench/out.txt").exists()


@pytest.mark.parametrize("run", [{"cwd": "work"}, {"workspace": {"mode": "none", "cwd": "work"}}], ids=["cwd", "mode"])
def test_a_link_of_the_head_does_not_lead_its_agents_elsewhere(tmp_path, run):
    base = {"skillgym.config.yaml": config(runner(PASSING), run=run), "work/tool.txt": "", "bench/core.json": suite()}
    commits = Commits(tmp_path, base, {"work/tool.txt": None})
    (commits.head / "work").rmdir()
    (tmp_path / "elsewhere").mkdir()
    (commits.head / "work").symlink_to("../elsewhere")
    ran = commits.run()
    assert (ran.code, "work is a symbolic link" in ran.err) == (3, True), ran.err
    assert list((tmp_path / "elsewhere").iterdir()) == []


EVENTS = """\
cat tool.txt > out.txt
echo '{"type": "session", "usage": {"inputTokens": 5, "outputTokens": 0, "totalTokens": 5}}'
echo '{"type": "message", "role": "assistant", "text": "done"}'
"""


def test_nothing_is_written_to_the_folder(tmp_path):
    run = {"outputDir": "runs", "workspace": {"mode": "isolated", "templateDir": "start"}}
    told_by_base = json.loads(config(runner(EVENTS, output="events"), run=run)) | {
        "snapshots": {"tolerance": {"percent": 5}}
    }
    base = {"skillgym.config.yaml": json.dumps(told_by_base), "start/tool.txt": "strict"} | STRICT
    commits = Commits(tmp_path, base, BROKEN)
    ran = skillgym("run", "--suites-from", "../base", cwd=commits.head)
    assert ran.code == 0, ran.err
    assert git_in(commits.base, "status", "--porcelain", "--ignored") == ""
    assert len(list((commits.head / "runs").iterdir())) == 1
    ran = commits.run("--update-snapshots")
    assert (ran.code, "--update-snapshots would write to ../base" in ran.err) == (2, True)


def test_the_bases_snapshots_are_compared(tmp_path):
    told_by_base = json.loads(config(runner(EVENTS, output="events"))) | {"snapshots": {"tolerance": {"percent": 5}}}
    commits = Commits(tmp_path, {"skillgym.config.yaml": json.dumps(told_by_base)} | STRICT, {"README.md": "x"})
    assert skillgym("run", cwd=commits.base).code == 0
    taken = commits.base / "skillgym.snapshots.json"
    shutil.copy(taken, commits.head)
    assert commits.run().code == 0
    taken.write_text(taken.read_text().replace(": 5", ": 1"))
    ran = commits.run()
    assert (ran.code, "Snapshot verification" in ran.err) == (3, True), ran.err


def nothing(root: Path) -> None:
    """It is as it is."""


def link(name: str, target: str) -> Callable[[Path], None]:
    return lambda root: (root / name).symlink_to(target)


# --- folders that are no base -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("made", "named", "said"),
    [
        pytest.param(nothing, "nope", "suites-from: there is no folder nope", id="missing"),
        pytest.param(lambda root: (root / "none").mkdir(), "none", "the folder none is empty", id="empty"),
        pytest.param(
            lambda root: (root / "none/x").mkdir(parents=True), "none", "no suite was found in none", id="none"
        ),
        pytest.param(nothing, "README.md", "README.md cannot be read: Not a directory", id="a file"),
        pytest.param(nothing, ".", ". is the checkout itself", id="the checkout"),
        pytest.param(nothing, "bench/..", "is the checkout itself", id="the checkout by another name"),
        pytest.param(nothing, ".git", ".git leads into .git", id="what git has"),
        pytest.param(link("link", "../base"), "link", "link is a symbolic link", id="a link to the base"),
        pytest.param(link("link", "."), "link", "link is a symbolic link", id="a link to itself"),
        pytest.param(link("a", ".."), "a/base", "a is a symbolic link", id="a link in the middle"),
        pytest.param(nothing, "bench", "bench/core.json is a file of the commit", id="a folder of the commit"),
    ],
)
def test_a_folder_that_is_no_base_is_refused(tmp_path, made, named, said):
    commits = Commits(tmp_path, {"README.md": "x"}, {})
    made(commits.head)
    ran = skillgym("check", "--suites-from", named, cwd=commits.head)
    assert (ran.code, said in ran.err) == (2, True), ran.err


def test_a_folder_that_the_head_brings_along_is_refused_however_little_of_it(tmp_path):
    """The workflow's checkout of the base would have replaced the files, but perhaps there is no such step."""
    commits = Commits(tmp_path, STRICT, {".base/one.txt": "x"} | BROKEN, nested=False)
    shutil.copytree(commits.base, commits.head / ".base", dirs_exist_ok=True)
    (commits.head / ".base/one.txt").unlink()
    ran = skillgym("run", "--suites-from", ".base", cwd=commits.head)
    assert (ran.code, ".base/one.txt is a file of the commit that is judged" in ran.err) == (2, True), ran.err


def test_a_submodule_is_of_the_head(tmp_path):
    commits = Commits(tmp_path, STRICT, BROKEN)
    git_in(commits.head, "update-index", "--add", "--cacheinfo", f"160000,{commits.base_commit},.base")
    shutil.copytree(commits.base, commits.head / ".base")
    ran = skillgym("run", "--suites-from", ".base", cwd=commits.head)
    assert (ran.code, ".base is a file of the commit that is judged" in ran.err) == (2, True), ran.err


def test_no_link_of_the_base_leads_out_of_it(tmp_path):
    commits = Commits(tmp_path, {}, {})
    (commits.base / "bench/core.json").unlink()
    (commits.base / "bench/core.json").symlink_to("../../head/bench/core.json")
    ran = commits.run()
    assert (ran.code, "leads out of the checkout" in ran.out + ran.err) == (2, True), ran.err


# --- runs that were stored ---------------------------------------------------------------------------


def test_in_two_phases_the_bases_suites_count(tmp_path):
    commits = Commits(tmp_path, STRICT, WEAK | BROKEN)
    skillgym("run", "--output", "own", cwd=commits.head)
    commits.run()
    for name in ("own", "out"):
        shutil.copytree(commits.head / name, commits.base / name)
    assert skillgym("report", "own", "--compare-suites", cwd=commits.base).code == 3
    ran = skillgym("report", "out", "--compare-suites", "--output", "again", cwd=commits.base)
    assert (ran.code, "note suites and configuration are those in ../base" in ran.err) == (1, True), ran.err
    again = json.loads((commits.base / "again/results.json").read_text())["run"]["suitesFrom"]
    assert again == told(commits.head)


def test_shards_with_the_same_base_have_it_together_and_others_are_a_warning(tmp_path):
    two = {"bench/core.json": suite(case("one"), case("two"))}
    commits = Commits(tmp_path, two, {"bench/more.json": suite(case("three"))})
    for part in ("1/2", "2/2"):
        named = part[0]
        assert commits.run("--shard", part, "--output", named).code == 0
    ran = skillgym("report", "1", "2", "--output", "out", cwd=commits.head)
    assert ran.code == 0, ran.err
    assert told(commits.head)["added"] == ["bench/more.json"]
    assert skillgym("run", "bench/core.json", "--shard", "2/2", "--output", "3", cwd=commits.head).code == 0
    ran = skillgym("report", "1", "3", "--output", "4", cwd=commits.head)
    words = f"the runs are of different folders of suites: ../base ({commits.base_commit}), the checkout"
    assert words in ran.err
    assert "suitesFrom" not in json.loads((commits.head / "4/results.json").read_text())["run"]


def test_what_results_say_of_it_is_read_strictly(tmp_path):
    commits = Commits(tmp_path, {}, {})
    commits.run()
    for change in ({"added": ["/etc/passwd"]}, {"removed": ["../x"]}, {"commit": "x"}, {"more": 1}):
        stored = results(commits.head)
        stored["run"]["suitesFrom"] |= change
        written(commits.head, {"changed/results.json": json.dumps(stored)})
        ran = skillgym("report", "changed", cwd=commits.head)
        assert (ran.code, "run.suitesFrom" in ran.err) == (2, True), ran.err


# --- the action -------------------------------------------------------------------------------------


@pytest.mark.parametrize("named", ["base", "folder"])
def test_the_action_judges_by_the_bases_suites_and_says_so(tmp_path, named):
    commits = Commits(tmp_path, STRICT, WEAK | MORE | BROKEN)
    if named == "folder":
        shutil.move(commits.base, commits.head / named)
    found = commits.step(suites_from=named)
    assert (found.code, found.outputs["verdict"]) == (1, "failed"), found.said
    assert f"Suites and configuration are those of `{named}`, commit [`{commits.base_commit[:12]}`]" in found.summary
    assert "- 1 suite not there, hence not run: `bench/more.json`\n" in found.summary
    assert "- 1 suite changed by this commit, run as they are there: `bench/core.json`\n" in found.summary
    assert told(commits.head)["commit"] == commits.base_commit
    assert f"/blob/{commits.base_commit}/bench/core.json#L" in found.summary


def test_beside_each_other_in_the_workspace(tmp_path):
    commits = Commits(tmp_path, STRICT, WEAK | BROKEN)
    found = commits.step(cwd=tmp_path, working_directory="head")
    assert (found.code, found.outputs["verdict"]) == (1, "failed"), found.said


@pytest.mark.parametrize(
    ("event", "base", "said"),
    [
        pytest.param("push", {}, "the event push has no base commit", id="no pull request"),
        pytest.param("pull_request", {"sha": "c" * 40}, "is not in the checkout", id="a commit that is not there"),
        pytest.param("pull_request", {"sha": "--help"}, "payload", id="no commit"),
    ],
)
def test_without_the_base_commit_nothing_is_run(tmp_path, event, base, said):
    commits = Commits(tmp_path, STRICT, WEAK | BROKEN)
    found = commits.step((event, commits.payload(**base)), suites_from="base")
    assert (found.code, said in found.said) == (2, True), found.said
    assert not (commits.head / "out").exists()


def test_a_shallow_checkout_lacks_the_base(tmp_path):
    commits = Commits(tmp_path, STRICT, WEAK | BROKEN)
    git_in(tmp_path, "clone", "--quiet", "--depth=1", f"file://{commits.head}", "shallow")
    found = commits.step(cwd=tmp_path / "shallow", suites_from="base")
    assert (found.code, "give actions/checkout fetch-depth: 0" in found.said) == (2, True), found.said


def test_a_merge_group_has_a_base(tmp_path):
    commits = Commits(tmp_path, STRICT, WEAK | BROKEN)
    group = {"head_sha": "a" * 40, "head_ref": "refs/heads/x", "base_sha": commits.base_commit}
    found = commits.step(("merge_group", {"merge_group": group}), suites_from="base")
    assert (found.code, found.outputs["verdict"]) == (1, "failed"), found.said


def test_a_base_that_is_the_head_is_refused(tmp_path):
    """As a second checkout is without ``ref``: then the pull request would be its own judge."""
    commits = Commits(tmp_path, STRICT, WEAK | BROKEN)
    head = git_in(commits.head, "rev-parse", "HEAD").strip()
    shutil.rmtree(commits.base)
    shutil.copytree(commits.head, commits.base)
    found = commits.step(("pull_request", commits.payload(sha=head)), suites_from="base")
    assert (found.code, "base is the commit that is judged" in found.said) == (2, True), found.said


def test_a_folder_called_base_is_not_what_the_word_means(tmp_path):
    commits = Commits(tmp_path, STRICT, WEAK | BROKEN | {"base/bench/core.json": WEAK["bench/core.json"]})
    found = commits.step(suites_from="base")
    assert found.code == 1, found.said
    assert "base/bench/core.json" in told(commits.head)["added"]
    found = commits.step(suites_from="./base")
    assert (found.code, "base/bench/core.json is a file of the commit" in found.said) == (2, True), found.said


def test_mode_report_has_no_use_for_it(tmp_path):
    commits = Commits(tmp_path, STRICT, {})
    commits.run()
    found = commits.step(mode="report", results="out", report_dir="again")
    assert (found.code, "mode report does not use the input suites-from" in found.said) == (2, True), found.said


def test_files_of_the_base_commit_are_as_they_were_committed(tmp_path):
    """Nothing that the checkout's configuration or the commit's attributes name is executed or applied."""
    log = tmp_path / "executed"
    marks = {
        name: f"touch {log}-{name}" for name in ("smudge", "process", "textconv", "fsmonitor", "hook", "ssh", "helper")
    }
    base = {
        ".gitattributes": "*.txt filter=evil diff=evil eol=crlf ident\nid.txt export-subst\ngone.txt export-ignore\n",
        "bench/id.txt": "$Format:%H$ $Id$\n",
        "bench/gone.txt": "there\n",
        "bench/core.json": None,
        "bench/run.sh": "#!/bin/sh\n",
        "bench/own_suite.py": (
            "from pathlib import Path\n"
            "import os\n"
            "from skillgym_action import Suite\n"
            "here = Path(__file__).resolve().parent\n"
            "suite = Suite()\n"
            "@suite.case('one', prompt='x')\n"
            "def one(report, ctx):\n"
            "    assert (here / 'id.txt').read_text() == '$Format:%H$ $Id$\\n'\n"
            "    assert (here / 'gone.txt').read_bytes() == b'there\\n'\n"
            "    assert (here / 'link.txt').readlink() == Path('../tool.txt')\n"
            "    assert os.access(here / 'run.sh', os.X_OK) and not os.access(here / 'id.txt', os.X_OK)\n"
        ),
    }
    head = repository(tmp_path / "head", SHOWS | {name: text for name, text in base.items() if text})
    (head / "bench/core.json").unlink()
    (head / "bench/link.txt").symlink_to("../tool.txt")
    (head / "bench/run.sh").chmod(0o755)
    git_in(head, "init", "--quiet", "--initial-branch=main")
    committed(head)
    sha = git_in(head, "rev-parse", "HEAD").strip()
    shutil.rmtree(head / "bench")
    committed(head)
    for key, value in {
        "filter.evil.smudge": marks["smudge"], "filter.evil.process": marks["process"], "filter.evil.required": "true",
        "diff.evil.textconv": marks["textconv"], "core.fsmonitor": marks["fsmonitor"], "core.sshCommand": marks["ssh"],
        "core.hooksPath": str(tmp_path / "hooks"), "credential.helper": f"!{marks['helper']}",
        "core.autocrlf": "true", "core.pager": marks["hook"], "extensions.partialClone": "origin",
        "remote.origin.url": "ssh://example.invalid/x", "remote.origin.promisor": "true",
    }.items():  # fmt: skip
        git_in(head, "config", key, value)
    for hook in ("post-checkout", "post-index-change", "reference-transaction", "pre-auto-gc"):
        (written(tmp_path, {f"hooks/{hook}": f"#!/bin/sh\ntouch {log}-hook\n"}) / "hooks" / hook).chmod(0o755)
    payload: Any = pull_request()
    payload["pull_request"]["base"] = {"sha": sha}
    inputs = {"mode": "run", "report-dir": "out", "suites-from": "base", "github-token": ""}
    found = step(head, None, inputs, event=("pull_request", payload))
    assert found.code == 0, found.said
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("executed")] == []
    quiet = ("-c", "core.hooksPath=/dev/null")
    git_in(head, *quiet, "replace", sha, "HEAD")
    assert git_in(head, "ls-tree", "--name-only", "-r", sha, "bench") == "", "for whoever believes it"
    found = step(head, None, inputs | {"report-dir": "replaced"}, event=("pull_request", payload))
    assert found.code == 0, found.said
    git_in(head, *quiet, "replace", "--delete", sha)
    blob = git_in(head, "rev-parse", f"{sha}:tool.txt").strip()
    (head / ".git/objects" / blob[:2] / blob[2:]).unlink()
    found = step(head, None, inputs | {"report-dir": "again"}, event=("pull_request", payload))
    assert (found.code, "is not in the checkout" in found.said) == (2, True), found.said
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("executed")] == []
