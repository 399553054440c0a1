"""Which files are suites, which are nearly suites, and which belong to other programs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from agentv_context import real_processes
from scratch import committed, git_in, suite, written
from skillgym_action.model.errors import UsageError
from skillgym_action.model.limits import NEAR_MISS_HEAD_BYTES
from skillgym_action.pipeline.stages.discover import MAX_NEAR_MISS_FILES, SUITE_HEAD_BYTES, discover, near_miss_warnings
from skillgym_action.settings.suite_options import DiscoverOptions
from skillgym_action.workspaces.repository.repository import Repository

if TYPE_CHECKING:
    from pathlib import Path

    from skillgym_action.model.suite import Discovery

XBENCH = suite()
IMPORT = "from skillgym_action import Case\n"
PYTHON = f"{IMPORT}suite = [Case(id='a', prompt='p', check=print)]\n"
SCRIPT = 'import { type Case } from "skillgym";\nexport default [{ id: "a", prompt: "p", assert() {} }];\n'
AS_DEFAULT = "export { c as default };\n"
AGENTV = "tests:\n- id: a\n  input: do it\n  criteria: it is done\n"
EVALS = '{"skill_name": "s", "evals": [{"id": 1, "prompt": "p"}]}'
TRIGGERS = '[{"query": "q", "should_trigger": true}]'
HYDRA = "defaults:\n  - data: mnist\ntask_name: eval\ntags: [dev]\nckpt_path: ???\n"


def found_in(root: Path, *paths: str, formats: tuple[str, ...] = ()) -> Discovery:
    with real_processes() as processes:
        return discover(Repository(root, processes), root, DiscoverOptions(paths=paths, formats=formats))


def kind_of(root: Path, path: str, content: str | bytes) -> str | None:
    """What a single file is taken for."""
    found = found_in(written(root, {path: content}))
    if found.suites:
        return found.suites[0].format
    return next(("near miss" if why.near_miss else "skipped" for _, why in found.skipped), None)


NAMED = [
    pytest.param("a.bench.json", XBENCH, "x-bench", id="x-bench"),
    pytest.param("A.BENCH.JSON", XBENCH, "x-bench", id="x-bench in capitals"),
    pytest.param("a.bench.json", "", "x-bench", id="x-bench, empty"),
    pytest.param("a.bench.json", "{", "x-bench", id="x-bench, broken"),
    pytest.param("a.bench.json", '{"benchmarks": []}', "x-bench", id="x-bench, of another program: names decide"),
    pytest.param("a.bench.json", '{"cases": [{"promt": "p", "expect": []}]}', "x-bench", id="x-bench, misspelt"),
    pytest.param("a.bench.json", XBENCH.encode("utf-16"), "x-bench", id="x-bench, UTF-16"),
    pytest.param("a.bench.json", b"\xff\xfe\xff", "x-bench", id="x-bench, binary"),
    pytest.param("a_suite.py", PYTHON, "python", id="Python"),
    pytest.param("a_suite.py", PYTHON.replace("skillgym_action", "skilgym_action"), "python", id="misspelt import"),
    pytest.param("a_suite.py", PYTHON.replace("skillgym_action", "skillgym"), "python", id="import of the npm package"),
    pytest.param("a_suite.py", "import skillgym_action\ndef (", "python", id="Python, broken"),
    pytest.param("a_suite.py", "\n\n", "python", id="Python, empty"),
    pytest.param("a_suite.py", PYTHON.encode("utf-16"), "python", id="Python, UTF-16"),
    pytest.param("a_suite.py", PYTHON + "def test_it(): pass\n", "python", id="Python, with a function called test"),
    pytest.param("a.suite.ts", SCRIPT, "typescript", id="TypeScript"),
    pytest.param("a.suite.ts", SCRIPT.replace("skillgym", "skilgym"), "typescript", id="misspelt import, TypeScript"),
    pytest.param("a.suite.mjs", 'const a = require("skill-gym");', "typescript", id="misspelt require"),
    pytest.param("a.suite.js", "", "typescript", id="JavaScript, empty"),
    pytest.param("EVAL.yaml", "", "agentv", id="AgentV, empty"),
    pytest.param("EVAL.yaml", HYDRA, "agentv", id="EVAL.yaml of another program: names decide"),
    pytest.param("a.eval.yaml", "a: 1", "agentv", id="*.eval.yaml of another program: names decide"),
    pytest.param("eval.yaml", "test:\n- id: a\n", "agentv", id="eval.yaml, misspelt"),
    pytest.param("eval.yaml", '{"tests": []}', "agentv", id="eval.yaml in braces"),
    pytest.param("suite.yaml", AGENTV, "agentv", id="suite.yaml"),
    pytest.param("suite.yaml", AGENTV.replace("tests", "test"), "agentv", id="suite.yaml, misspelt"),
    pytest.param("a/Suite.yml", AGENTV, "agentv", id="Suite.yml"),
    pytest.param("suite.yaml", AGENTV.encode("utf-16"), "agentv", id="suite.yaml, UTF-16"),
    pytest.param("evals.json", EVALS, "skill-evals", id="evals.json"),
    pytest.param("evals.json", EVALS.replace("evals", "eval"), "skill-evals", id="evals.json, misspelt"),
    pytest.param("evals.json", EVALS[:-1], "skill-evals", id="evals.json, broken"),
    pytest.param("evals.json", "", "skill-evals", id="evals.json, empty"),
    pytest.param("evals.json", EVALS.encode("utf-16"), "skill-evals", id="evals.json, UTF-16"),
    pytest.param("evals.json", TRIGGERS, "skill-evals", id="evals.json with triggers"),
    pytest.param("evals.json", '{"cases": [{"prompt": "p"}]}', "skill-evals", id="evals.json with another list"),
    pytest.param("trigger-evals.json", TRIGGERS, "skill-evals", id="trigger-evals.json"),
    pytest.param("bench/a.json", '{"cases": [{"promt": "p", "expct": []}]}', "x-bench", id="bench/, misspelt"),
    pytest.param(
        "bench/a.json", f'{{"cases": [{{"promt": "{"p" * SUITE_HEAD_BYTES}"', "x-bench", id="bench/, misspelt and long"
    ),
]


@pytest.mark.parametrize(("path", "content", "format_name"), NAMED)
def test_what_is_called_like_a_suite_is_loaded(tmp_path, path, content, format_name):
    assert kind_of(tmp_path, path, content) == format_name


NEAR = [
    pytest.param("a.json", XBENCH, id="x-bench"),
    pytest.param("a.json", '{"cases": [{"prompt": "p"}]}', id="x-bench without expectations"),
    pytest.param("a.json", suite() + " " * NEAR_MISS_HEAD_BYTES, id="x-bench, long"),
    pytest.param("bench/a.json", "", id="empty in bench/"),
    pytest.param("bench/a.json", '{"cases": [{"prompt": "p", "expected": "x"}]}', id="bench/, without expectations"),
    pytest.param("bench/a.json", '{"cases": [{"prompt": }]}', id="bench/, broken"),
    pytest.param("login.py", PYTHON, id="Python"),
    pytest.param("login.py", "from skillgym_action import (\n  Suite,\n)\nmine = Suite()\n", id="Python, Suite"),
    pytest.param("login.py", PYTHON.replace("suite =", "cases ="), id="Python, a variable of another name"),
    pytest.param("login.py", PYTHON.replace("suite = [", "cases: list = [\n  "), id="Python, in several lines"),
    pytest.param("login.py", "from skillgym_action import Case as C\nALL = {'a': C(prompt='p')}\n", id="Python, as"),
    pytest.param("login.py", "from skillgym_action import *\nALL = [Case(id='a')]\n", id="Python, *"),
    pytest.param("login.py", "import skillgym_action as sg\nmine = sg.Suite()\n", id="Python, the module as"),
    pytest.param("login.py", "import skillgym_action\nsuite = [skillgym_action.Case()]\n", id="Python, the module"),
    pytest.param("a_suite.py", "suite = [Case(id='a', prompt='p', check=print)]\n", id="Python without the import"),
    pytest.param("test_suite.py", "", id="an empty module of tests"),
    pytest.param("login.ts", SCRIPT, id="TypeScript"),
    pytest.param("login.ts", SCRIPT.replace("default", "const cases ="), id="TypeScript, a name"),
    pytest.param("login.ts", SCRIPT.replace("export default", "const c =") + AS_DEFAULT, id="as default"),
    pytest.param("login.mjs", SCRIPT.replace("default", "let cases ="), id="JavaScript, a name"),
    pytest.param("a.suite.js", SCRIPT.split("\n", 1)[1], id="JavaScript without the import"),
    pytest.param("data.yaml", AGENTV, id="AgentV"),
    pytest.param("suite.yaml", "", id="suite.yaml, empty"),
    pytest.param("suite.yaml", "items:\n- input: a\n  criteria: b\n", id="suite.yaml without tests"),
    pytest.param("conf/eval.yaml", HYDRA, id="eval.yaml of another program"),
    pytest.param("evals.json", '{"cases": [{"expect": "p"}]}', id="evals.json without prompts"),
    pytest.param("evals.json", '{"accuracy": 0.9}', id="evals.json of another shape"),
    pytest.param("trigger-evals.json", EVALS, id="trigger-evals.json of another shape"),
    pytest.param("evals.json", '{"evals": {}}', id="evals.json without a list"),
    pytest.param("evals.json", "[", id="evals.json, not JSON"),
]


@pytest.mark.parametrize(("path", "content"), NEAR)
def test_what_is_nearly_a_suite_is_a_warning(tmp_path, path, content):
    assert kind_of(tmp_path, path, content) == "near miss"


OTHERS = [
    pytest.param("suite.yaml", "name: smoke\ntests:\n  - name: foo\n    command: ls\n", "skipped", id="suite.yaml"),
    pytest.param("vendor/evals.json", '{"accuracy": 0.9}', "skipped", id="evals.json of another program"),
    pytest.param("pdf-workspace/evals.json", EVALS, "skipped", id="what skill-creator has made"),
    pytest.param("pdf-workspace/iteration-1/eval-0/eval_metadata.json", EVALS, None, id="what is known of a case"),
    pytest.param("pdf-workspace/iteration-1/eval-0/grading.json", EVALS, None, id="a grading"),
    pytest.param("test_suite.py", "import unittest\n", "skipped", id="test_suite.py"),
    pytest.param("test_suite.py", "from skillgym_action import Case\ndef test_a(): ...\n", "skipped", id="its tests"),
    pytest.param("model/suite.py", "from skillgym_action.model import errors\n", "skipped", id="a module of this tool"),
    pytest.param("x.suite.ts", 'import { test } from "vitest";\n', "skipped", id="*.suite.ts"),
    pytest.param("bench/package.json", '{"name": "x"}', "skipped", id="JSON in bench/"),
    pytest.param("bench/tsconfig.json", "{ // comment\n}", "skipped", id="JSON with comments in bench/"),
    pytest.param("vendor/y.bench.json", '{"a": 1}', "skipped", id="*.bench.json in a vendored folder"),
    pytest.param("vendor/suite.js", "", "skipped", id="an empty file in a vendored folder"),
    pytest.param("vendor/suite.py", PYTHON.partition("\n")[2], "skipped", id="Python without the import, vendored"),
    pytest.param("vendor/a.suite.ts", SCRIPT.partition("\n")[2], "skipped", id="TypeScript without it, vendored"),
    pytest.param("vendor/taks.toml", "[environment]\n[verifier]\n", None, id="a misspelled Harbor task, vendored"),
    pytest.param("dist/eval.yaml", AGENTV, "skipped", id="what was built"),
    pytest.param("vendor/a.json", XBENCH, None, id="a near miss in a vendored folder"),
    pytest.param("node_modules/a/x.bench.json", XBENCH, None, id="a package's"),
    pytest.param("package.json", '{"name": "x"}', None, id="other JSON"),
    pytest.param("data.json", '{"cases": [1], "prompt": "p"}', None, id="other cases"),
    pytest.param("helper.py", "from skillgym_action import Case, expect\n", None, id="a module that suites import"),
    pytest.param("helper.py", f"{IMPORT}def one(id):\n    return Case(id=id)\n", None, id="functions for suites"),
    pytest.param("helper.py", f"{IMPORT}NAMES = ['Case (a)']\ntext = str(1)\n", None, id="no call of Case"),
    pytest.param("helper.py", "import skillgym_action.model as m\nx = m.Case()\n", None, id="another module's Case"),
    pytest.param("tests/test_a.py", PYTHON, None, id="a module of tests"),
    pytest.param("a.py", f'TEXT = """\n{PYTHON}"""\n', None, id="a suite in a text"),
    pytest.param("rules.ts", 'import { assert } from "skillgym";\nexport const rule = 1;\n', None, id="rules"),
    pytest.param("skillgym.config.ts", SCRIPT, None, id="a configuration"),
    pytest.param("x.d.ts", SCRIPT, None, id="types"),
    pytest.param("promptfooconfig.yaml", f"prompts: [a]\nproviders: [b]\n{AGENTV}", "skipped", id="promptfoo"),
    pytest.param("ci.yaml", "tests:\n- name: x\n", None, id="other YAML"),
    pytest.param("tests.jsonl", '{"id": "a", "input": "b", "criteria": "c"}', None, id="lines have to be named"),
]


@pytest.mark.parametrize(("path", "content", "kind"), OTHERS)
def test_what_belongs_to_another_program_is_no_error_and_no_warning(tmp_path, path, content, kind):
    assert kind_of(tmp_path, path, content) == kind


def test_agentv_reads_evals_json_where_its_format_is_chosen(tmp_path):
    written(tmp_path, {"evals.json": EVALS})
    for formats, expected in ((("agentv",), "agentv"), (("skill-evals",), "skill-evals"), ((), "skill-evals")):
        assert [found.format for found in found_in(tmp_path, formats=formats).suites] == [expected]
        assert [found.format for found in found_in(tmp_path, "evals.json", formats=formats).suites] == [expected]


@pytest.mark.parametrize(
    ("path", "content", "format_name"),
    [
        pytest.param("results/evals.json", EVALS, "skill-evals", id="in a folder of results"),
        pytest.param("x-workspace/trigger-evals.json", TRIGGERS, "skill-evals", id="triggers there"),
        pytest.param("evals.json", '{"accuracy": 1}', "skill-evals", id="another shape"),
        pytest.param("other.json", '{"accuracy": 1}', "x-bench", id="a name of no format"),
        pytest.param("results/a.json", XBENCH, "x-bench", id="x-bench"),
        pytest.param("case.yaml", "a: 1", "agentv", id="a part of no suite"),
    ],
)
def test_a_file_that_is_named_is_read_as_the_format_of_its_name(tmp_path, path, content, format_name):
    written(tmp_path, {path: content})
    assert [found.format for found in found_in(tmp_path, path).suites] == [format_name]


def test_a_vendored_suite_is_still_run(tmp_path):
    assert kind_of(tmp_path, "vendor/a.bench.json", XBENCH) == "x-bench"


def test_near_misses_have_the_place_and_what_to_do(tmp_path):
    found = found_in(written(tmp_path, {"a.json": XBENCH}))
    (warning,) = near_miss_warnings(found)
    assert str(warning) == (
        "a.json: has cases with prompts, but its name does not match *.bench.json, so it is not run; "
        "rename it to *.bench.json, or exclude it with !PATH"
    )


def test_a_program_with_cases_is_named_beside_suites_unless_one_of_them_imports_it(tmp_path):
    more = {"deep/b.suite.ts": f'import {{ c }} from "./shared.ts";\n{SCRIPT}', "deep/shared.ts": SCRIPT}
    files = {
        "a_suite.py": f"from cases import LOGIN\n{PYTHON}",
        "cases.py": f"from more import OTHERS\n{PYTHON.replace('suite', 'LOGIN')}",
        "more.py": PYTHON.replace("suite", "OTHERS"),
        "forgotten.py": PYTHON.replace("suite", "cases"),
        "deep/forgotten.ts": SCRIPT,
    }
    found = found_in(written(tmp_path, files | more))
    assert [suite.path for suite in found.suites] == ["a_suite.py", "deep/b.suite.ts"]
    assert [str(one).partition(",")[0] for one in near_miss_warnings(found)] == [
        "deep/forgotten.ts: exports cases",
        "forgotten.py: defines a suite",
    ]
    assert [(path, why.reason) for path, why in found.skipped if not why.near_miss] == [
        (path, "has cases for a suite that imports it") for path in ("cases.py", "deep/shared.ts", "more.py")
    ]


LINKED = [
    ("a link to nothing", ("bench/more", "../moved"), "skipped: more is a symbolic link that leads to nothing"),
    ("a link to itself", ("bench/more", "more"), "skipped: more is a symbolic link that leads to nothing"),
    ("a folder with suites", ("bench/more", "../evals"), "skipped: more is a symbolic link, which is not followed"),
    ("a folder without suites", ("bench/more", "../docs"), None),
    ("a folder outside of the repository", ("bench/more", "../../outside"), None),
    ("where no suite is", ("docs/more", "../moved"), None),
]


@pytest.mark.parametrize(("link", "says"), [row[1:] for row in LINKED], ids=[row[0] for row in LINKED])
def test_a_link_beside_suites_is_named_if_suites_may_be_behind_it(tmp_path, link, says):
    files = {"bench/a.bench.json": XBENCH, "evals/b.bench.json": XBENCH, "docs/x.md": "x"}
    root = written(tmp_path / "root", files)
    written(tmp_path / "outside", {"c.bench.json": XBENCH})
    (root / link[0]).symlink_to(link[1])
    git_in(root, "init", "--quiet")
    committed(root)
    found = found_in(root)
    assert [suite.path for suite in found.suites] == ["bench/a.bench.json", "evals/b.bench.json"]
    assert [(str(one.location), one.message) for one in found.warnings] == ([(link[0], says)] if says else [])


@pytest.mark.parametrize("name", ["x.bench.yaml", "x.bench.yml", "x.bench.jsonc", "x.bench.json5", "X.Bench.YAML"])
@pytest.mark.parametrize("content", [XBENCH, AGENTV, "", b"\xff"], ids=["x-bench", "AgentV", "empty", "binary"])
def test_an_x_bench_suite_in_another_language_is_a_warning_whatever_it_contains(tmp_path, name, content):
    found = found_in(written(tmp_path, {f"sub/{name}": content}))
    (warning,) = near_miss_warnings(found)
    assert found.suites == ()
    assert str(warning) == (
        f"sub/{name}: is not run: x-bench suites are JSON files named *.bench.json; "
        "write it as JSON and name it *.bench.json, or exclude it with !PATH"
    )


def test_an_x_bench_suite_in_another_language_is_not_read(tmp_path):
    (tmp_path / "x.bench.yaml").symlink_to("nothing")
    many = {f"{number:05}.json": "{}" for number in range(MAX_NEAR_MISS_FILES)}
    found = found_in(written(tmp_path, many))
    assert ([path for path, _ in found.skipped], found.not_searched) == (["x.bench.yaml"], 0)


def test_an_x_bench_suite_in_another_language_is_no_warning_where_none_is_looked_for(tmp_path):
    names = (
        "vendor/a.bench.yaml",
        "b.bench.yml",
        "s.bench.json.template/c.bench.yml",
        "gone.bench.yaml",
        "d.bench.jsonc",
    )
    root = written(tmp_path, {**dict.fromkeys(names, ""), ".gitignore": "d.*"})
    git_in(root, "init", "--quiet")
    committed(root)
    (root / "gone.bench.yaml").unlink()
    assert near_miss_warnings(found_in(root, "!b.bench.yml")) == ()
    assert found_in(root, formats=("agentv",)).skipped == ()


def test_a_yaml_file_that_is_named_is_read_as_a_suite_of_agentv_also_with_bench_in_its_name(tmp_path):
    root = written(tmp_path, {"x.bench.yaml": AGENTV, "y.bench.eval.yaml": AGENTV})
    found = found_in(root, ".", "x.bench.yaml")
    assert [(one.path, one.format) for one in found.suites] == [
        ("x.bench.yaml", "agentv"),
        ("y.bench.eval.yaml", "agentv"),
    ]
    assert found.skipped == ()


def test_what_is_excluded_is_not_reported(tmp_path):
    files = {"a.json": XBENCH, "sub/b.json": XBENCH, "c.bench.json": XBENCH}
    found = found_in(written(tmp_path, files), "!a.json", "!sub")
    assert ([one.path for one in found.suites], found.skipped, found.warnings) == (["c.bench.json"], (), ())


@pytest.mark.parametrize(
    ("paths", "warnings"),
    [
        pytest.param(("bench", "*.py"), ["*.py: no suite was found there; `check` lists what was found and skipped"],
                     id="a pattern"),
        pytest.param(("bench", "empty"), ["empty: no suite was found there; `check` lists what was found and skipped"],
                     id="a folder"),
        pytest.param(("!bnch",), ["!bnch excludes no file"], id="a misspelt exclusion"),
        pytest.param(("!*.txt", "!empty"), [], id="exclusions of other files"),
        pytest.param((), [], id="no argument"),
    ],
)  # fmt: skip
def test_an_argument_that_selects_nothing_is_reported(tmp_path, paths, warnings):
    root = written(tmp_path, {"bench/a.json": XBENCH, "a.txt": "", "empty/README": ""})
    found = found_in(root, *paths)
    assert [str(one) for one in near_miss_warnings(found)] == warnings
    assert [one.path for one in found.suites] == ["bench/a.json"]


def test_a_format_that_selects_nothing_is_reported(tmp_path):
    found = found_in(written(tmp_path, {"a.bench.json": XBENCH}), formats=("x-bench", "python"))
    assert [one.message for one in found.warnings] == ["--format python: no suite of this format was found"]


def test_a_misspelt_path_is_an_error_that_names_the_nearest(tmp_path):
    with pytest.raises(UsageError, match=r"no such file or folder: bnch; did you mean 'bench'\?"):
        found_in(written(tmp_path, {"bench/a.json": XBENCH}), "bnch")


def test_a_tracked_file_that_was_deleted_is_no_suite_and_a_link_to_nothing_is_one(tmp_path):
    root = written(tmp_path, {"gone.bench.json": XBENCH, "EVAL.yaml": AGENTV})
    git_in(root, "init", "--quiet")
    committed(root)
    (root / "gone.bench.json").unlink()
    (root / "EVAL.yaml").unlink()
    (root / "nowhere.bench.json").symlink_to("nothing")
    (root / "folder.bench.json").mkdir()
    assert [one.path for one in found_in(root).suites] == ["nowhere.bench.json"]


def test_ignored_files_are_not_looked_at(tmp_path):
    root = written(tmp_path, {"out/a.json": XBENCH, "out/b.bench.json": "", ".gitignore": "out/\n"})
    git_in(root, "init", "--quiet")
    assert (found_in(root).suites, found_in(root).skipped) == ((), ())


def test_only_so_many_files_with_other_names_are_looked_at(tmp_path):
    many = {f"{number:05}.json": "{}" for number in range(MAX_NEAR_MISS_FILES + 3)}
    found = found_in(written(tmp_path, {**many, "zz.bench.json": XBENCH, "zzz.json": XBENCH}))
    assert (found.not_searched, found.skipped) == (4, ())
    assert [one.path for one in found.suites] == ["zz.bench.json"]


def test_a_long_file_is_read_only_at_its_beginning(tmp_path):
    late = json.dumps({"x-padding": " " * NEAR_MISS_HEAD_BYTES}) + XBENCH
    assert kind_of(tmp_path, "a.json", late) is None
