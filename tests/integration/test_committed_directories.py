"""Directories that agents work in themselves are named by commits: none of them is outside of the checkout."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from in_place import Asked, agentv, by_configuration, by_path, by_target, differing, in_python, in_typescript, state
from scratch import repository, skillgym, written

if TYPE_CHECKING:
    from pathlib import Path

AGENT = Asked(agent="echo ok; echo new >created.txt", passes=True)
CONTAINS = {"type": "contains", "value": "ok"}
CANARY = "canary-2b7d-of-the-folder-outside"


def of_a_case(path: str) -> dict[str, str]:
    tests = [{"id": "one", "input": "p", "assertions": [CONTAINS], "workspace": {"path": f"../{path}"}}]
    return agentv(AGENT, None, tests=tests)


# What names the directory, relative to the checkout; the file and the key that messages name.
NAMED = {
    "run.cwd": (lambda path: by_configuration(cwd=path)(AGENT), "skillgym.config.yaml", "run.cwd"),
    "run.workspace.cwd": (
        lambda path: by_configuration(workspace={"mode": "none", "cwd": path})(AGENT),
        "skillgym.config.yaml",
        "run.workspace.cwd",
    ),
    "python": (lambda path: in_python(mode="none", cwd=f"../{path}")(AGENT), "bench/core_suite.py", "workspace.cwd"),
    "python, shared": (
        lambda path: in_python(mode="shared", cwd=f"../{path}")(AGENT),
        "bench/core_suite.py",
        "workspace.cwd",
    ),
    "typescript": (
        lambda path: in_typescript(mode="none", cwd=f"../{path}")(AGENT),
        "bench/core-suite.ts",
        "workspace.cwd",
    ),
    "agentv": (lambda path: by_path(path=f"../{path}")(AGENT), "bench/EVAL.yaml", "workspace.path"),
    "agentv, a case": (of_a_case, "bench/EVAL.yaml", "tests[0].workspace.path"),
    "agentv, a target": (lambda path: by_target(cwd=f"../{path}")(AGENT), "bench/targets.yaml", "targets[0].cwd"),
}
PLACES = {
    "a link": ("link", "link is a symbolic link that leads out of the checkout"),
    "a link that is absolute": ("absolute", "absolute is a symbolic link that leads out of the checkout"),
    "behind a link": ("link/work", "link is a symbolic link that leads out of the checkout"),
    "a link to a link": ("a/second", "link is a symbolic link that leads out of the checkout"),
    "dots": ("../outside/work", ".. leads out of the checkout"),
    "git": (".git", ".git leads into .git"),
}


@pytest.fixture
def scene(tmp_path: Path) -> Path:
    """A checkout, which is empty, beside a folder that nothing may change or tell of."""
    written(tmp_path / "outside", {"work/canary.txt": CANARY, "canary.txt": CANARY})
    root = repository(tmp_path / "repo", {"bench/core.json": None, "skillgym.config.yaml": "{}"}, git=True)
    (root / "link").symlink_to("../outside")
    (root / "absolute").symlink_to(tmp_path / "outside")
    (root / "a").mkdir()
    (root / "a" / "second").symlink_to("../link")
    return root


def rows() -> list[tuple[str, str]]:
    """Each name with a link or with dots, and one with each place."""
    return [
        *((name, ("a link", "dots")[number % 2]) for number, name in enumerate(NAMED)),
        *(("run.cwd", place) for place in PLACES if place != "a link"),
    ]


@pytest.mark.parametrize(("name", "place"), rows())
def test_agents_work_nowhere_outside_of_the_checkout(scene, name, place):
    (files, file, key), (path, says) = NAMED[name], PLACES[place]
    written(scene, files(path))
    before = state(scene.parent / "outside")
    checked = skillgym("check", cwd=scene)
    assert (checked.code, f"{key}: {says}" in checked.err.replace("target default: ", "")) == (2, True), checked.err
    assert f"{file}:" in checked.err
    ran = skillgym("run", "--keep", "all", "--output", scene.parent / "out", cwd=scene)
    assert ran.code in {2, 3}, ran.out + ran.err
    assert differing(before, state(scene.parent / "outside")) == {}
    assert CANARY not in ran.out + ran.err + checked.err
    kept = [path for path in (scene.parent / "out").rglob("*") if path.is_file()]
    assert [path for path in kept if CANARY.encode() in path.read_bytes()] == []


@pytest.mark.parametrize("name", ["run.cwd", "python", "agentv", "agentv, a target"])
def test_a_link_that_stays_inside_leads_agents_where_it_says(scene, name):
    written(scene, {"app/a.txt": "a", **NAMED[name][0]("inside/b")})
    (scene / "app" / "b").mkdir()
    (scene / "inside").symlink_to("a/../app")
    ran = skillgym("run", "--output", scene.parent / "out", cwd=scene)
    assert ran.code == 0, ran.out + ran.err
    assert [path.name for path in (scene / "app" / "b").iterdir()] == ["created.txt"]


def test_a_configuration_elsewhere_names_any_directory(scene, tmp_path):
    """Whoever starts the tool names it: nothing of it came with the commit."""
    case = {"id": "one", "prompt": "p", "expect": ["test:true"]}
    written(scene, {"bench/core.json": json.dumps({"name": "core", "cases": [case]})})
    mine = written(tmp_path / "mine", {"work/a.txt": "a", **by_configuration(cwd="work")(AGENT)})
    named = mine / "skillgym.config.yaml"
    ran = skillgym("run", "--config", named, "--output", tmp_path / "out", "bench", cwd=scene)
    assert ran.code == 0, ran.out + ran.err
    assert (mine / "work" / "created.txt").is_file()


SWAPS = "echo ok; mkdir ../../once && mv ../work ../moved && ln -s ../../outside ../work; true"


def test_a_directory_that_an_agent_made_a_link_is_not_used_by_the_next_session(scene, tmp_path):
    cases = [{"id": name, "prompt": "p", "expect": ["test:true"]} for name in ("one", "two")]
    written(scene, by_configuration(cwd="app/work")(Asked(agent=SWAPS)) | {"app/work/a.txt": "a"})
    written(scene, {"bench/core.json": json.dumps({"name": "core", "cases": cases})})
    before = state(tmp_path / "outside")
    ran = skillgym("run", "--output", tmp_path / "out", cwd=scene)
    assert ran.code == 3, ran.out + ran.err
    told = json.loads((tmp_path / "out" / "results.json").read_text())["suites"][0]["results"]
    assert [one["status"] for one in told] == ["passed", "errored"]
    says = "the workspace could not be created: app/work is a symbolic link"
    assert says in told[1]["error"]["message"]
    assert differing(before, state(tmp_path / "outside")) == {}
