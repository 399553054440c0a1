"""Arms inside suites, in each format: the shape of the configuration, with places in messages."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from scratch import config, repository, runner, skillgym
from skill_eval_runs import SKILL

if TYPE_CHECKING:
    from pathlib import Path

AGENT = """
find . "$HOME" -type f | sort > seen.txt; echo "MORE=$MORE" > more.txt; cat extra.txt > out.txt 2>/dev/null; exit 0
"""
ARMS = {
    "with": {"files": "arms/with", "home": "arms/home", "env": {"MORE": "1"}},
    "without": {"remove": ["extra.txt"], "skill": "none"},
}
CASES = [{"id": "a", "prompt": "do", "expect": ["file:out.txt contains extra", "file:seen.txt exists"]}]


def xbench(arms: object) -> tuple[str, str]:
    return "bench/core.json", json.dumps({"arms": arms, "cases": CASES})


def python(arms: object) -> tuple[str, str]:
    lines = ["from skillgym_action import Case", "def check(report, ctx): pass", f"arms = {arms!r}"]
    return "bench/core_suite.py", "\n".join([*lines, "suite = [Case(id='a', prompt='do', check=check)]", ""])


def typescript(arms: object) -> tuple[str, str]:
    text = f"""import {{ assert }} from "skillgym";
export const arms = {json.dumps(arms)};
export default [{{ id: "a", prompt: "do", assert(report) {{}} }}];
"""
    return "bench/core.suite.ts", text


def agentv(arms: object) -> tuple[str, str]:
    lines = ["name: core", f"skillgym_arms: {json.dumps(arms)}", "tests:", "  - id: a", "    input: do"]
    return "bench/EVAL.yaml", "\n".join([*lines, "    assertions:", "      - {type: contains, value: x}", ""])


def evals(arms: object) -> tuple[str, str]:
    cases = [{"prompt": "do", "assertions": [{"type": "file_exists", "path": "seen.txt"}]}]
    return "skills/pdf/evals/evals.json", json.dumps({"skillgym_arms": arms, "evals": cases})


FORMATS = [xbench, python, typescript, agentv, evals]


def scene(folder: Path, made: tuple[str, str], agent: str = AGENT) -> Path:
    path, text = made
    beside = path.rpartition("/")[0]
    files: dict[str, Any] = {
        "bench/core.json": None,
        path: text,
        "skillgym.config.yaml": config(runner(agent)),
        "skills/pdf/SKILL.md": SKILL,
        f"{beside}/arms/with/extra.txt": "extra",
        f"{beside}/arms/home/.settings/x.json": "{}",
        "README.md": "x",
    }
    return repository(folder, files, git=True)


def rows(folder: Path, key: str) -> list[dict[str, Any]]:
    document = json.loads((folder / "out/results.json").read_text(encoding="utf-8"))
    return [row for one in document["suites"] for row in one.get(key, [])]


@pytest.mark.parametrize("made", FORMATS)
def test_arms_of_a_suite_run(tmp_path, made):
    scene(tmp_path, made(ARMS))
    args = ("--runner", "sh") if made is agentv else ()
    ran = skillgym("run", "--output", "out", "--keep", "all", "--fail-on", "none", *args, cwd=tmp_path)
    assert ran.code in {0, 3}, ran.err
    (row,), (other,) = rows(tmp_path, "results"), rows(tmp_path, "otherArms")
    assert (row["arm"], other["arm"]) == ("with", "without")

    def left(one: dict[str, Any], name: str) -> str:
        return (tmp_path / "out" / one["artifactDir"] / "changes" / name).read_text(encoding="utf-8")

    assert left(row, "more.txt") == "MORE=1\n"
    assert left(other, "more.txt") == "MORE=\n"
    assert "./extra.txt" in left(row, "seen.txt")
    assert "/home/.settings/x.json" in left(row, "seen.txt")
    for word in ("extra", "settings", "arms", "SKILL.md" if made is evals else "extra"):
        assert word not in left(other, "seen.txt"), word


WRONG = [
    ({"a": {"flies": "x"}, "b": {}}, ".a.flies: unknown key"),
    ({"a": {"files": "nowhere"}, "b": {}}, ".a.files: "),
    ({"a": {"env": {"X": "${{ HOME }}"}}, "b": {}}, ".a.env.X: variables of the environment are only for arms of"),
    ({"a": {"env": {"X": "$HOME"}}, "b": {}}, ".a.env.X: variables of the environment are only for arms of"),
    ({"a": {"remove": ["../x"]}, "b": {}}, "is not a path in the workspace"),
    ({"a": {"decides": True}, "b": {"decides": True}}, "only one arm can decide, not a and b"),
    ({"a": {}}, "arms: "),
    (["a"], "arms: "),
]
MISSPELT = WRONG[0]


@pytest.mark.parametrize(
    ("made", "arms", "message"), [*((xbench, *row) for row in WRONG), *((made, *MISSPELT) for made in FORMATS[1:])]
)
def test_a_wrong_arm_is_told_with_its_place(tmp_path, made, arms, message):
    path, text = made(arms)
    scene(tmp_path, (path, text))
    ran = skillgym("check", *(("--runner", "sh") if made is agentv else ()), cwd=tmp_path)
    assert ran.code == 2, ran.err
    told = ran.err + ran.out
    assert message in told
    number = next(number for number, line in enumerate(text.splitlines(), 1) if "arms" in line)
    assert f"{path}:{number}:" in told


@pytest.mark.parametrize("key", ["files", "home"])
def test_an_arm_of_a_suite_takes_no_files_from_outside_of_the_checkout(tmp_path, key):
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets/key.txt").write_text("canary", encoding="utf-8")
    root = tmp_path / "repo"
    for outside in ("../../secrets", str(tmp_path / "secrets"), "linked"):
        scene(root, xbench({"a": {key: outside}, "b": {}})) if not root.exists() else None
        (root / "bench/core.json").write_text(xbench({"a": {key: outside}, "b": {}})[1], encoding="utf-8")
        if not (root / "bench/linked").exists():
            (root / "bench/linked").symlink_to(tmp_path / "secrets")
        ran = skillgym("run", "--output", "out", "--keep", "all", cwd=root)
        assert ran.code == 2, ran.err
        assert f"arms.a.{key}: " in ran.err
        assert not [path for path in (root / "out").rglob("*") if path.is_file() and b"canary" in path.read_bytes()]


def test_arms_of_a_suite_are_selected_by_name(tmp_path):
    scene(tmp_path, xbench(ARMS))
    listed = skillgym("list", "--json", "--arms", "without", cwd=tmp_path)
    assert [row["arm"] for row in json.loads(listed.out)["executions"]] == ["without"], listed.err
    ran = skillgym("list", "--arms", "withuot", cwd=tmp_path)
    assert ran.code == 2
    assert "unknown arm 'withuot'" in ran.err


def test_secrets_in_variables_of_arms_are_redacted(tmp_path):
    arms = {"with": {"env": {"MY_TOKEN": "qwertzuiop-4711"}}, "without": {"env": {"MY_PASSWORD": "asdfghjkl-0815"}}}
    root = scene(tmp_path, xbench(arms), agent='echo "$MY_TOKEN$MY_PASSWORD" | tee seen.txt')
    skillgym("run", "--keep", "changed", "--output", "out", "--arms", "with,without", cwd=root)
    files = [path for path in (root / "out").rglob("*") if path.is_file()]
    assert [path for path in files if path.name == "stdout.log" and "***" in path.read_text()]
    for secret in ("qwertzuiop-4711", "asdfghjkl-0815"):
        assert [path for path in files if secret.encode() in path.read_bytes()] == []
