"""The example of x-bench's document, word for word, and each kind of expectation that it names."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING

from paths import DATA
from scratch import case, config, repository, runner, skillgym, suite, written

if TYPE_CHECKING:
    from pathlib import Path

    from scratch import Ran

EXAMPLE = DATA / "x-bench" / "example-suite.json"
# `npm test` of this project: it passes once either piece of work is done.
NPM = '#!/bin/sh\n[ "$*" = test ] || exit 2\ntest -e src/auth.ts || test -e test/budget.test.ts\n'
WORKER = """
case $(cat) in
  *auth*) mkdir -p src; echo 'export function login() {}' > src/auth.ts;;
  *budget*) mkdir -p test; echo 'test()' > test/budget.test.ts;;
esac
"""


def run(folder: Path, script: str, *args: str) -> Ran:
    """The run of the example in a repository of that agent, on a machine with the project's ``npm``."""
    written(folder, {"bin/npm": NPM})
    (folder / "bin/npm").chmod(0o755)
    files = {"bench/core.json": None, "bench/example-suite.json": EXAMPLE.read_text()}
    root = repository(folder / "repo", files | {"skillgym.config.yaml": config(runner(script))}, git=True)
    path = f"{folder / 'bin'}:{os.environ['PATH']}"
    return skillgym("run", "bench/example-suite.json", "--output", "out", *args, cwd=root, PATH=path)


def results(folder: Path) -> list[dict]:
    (one,) = json.loads((folder / "out/results.json").read_text())["suites"]
    return one["results"]


def test_the_example_passes_when_the_work_is_done_and_results_have_the_documents_fields(tmp_path):
    ran = run(tmp_path, WORKER, "--report", "x-bench=results.json")
    assert (ran.code, [one["status"] for one in results(tmp_path / "repo")]) == (0, ["passed", "passed"]), ran.err
    written_results = json.loads((tmp_path / "repo/results.json").read_text())
    numbers = {"suite": "core-refactors", "passed": 2, "failed": 0, "total": 2}
    assert {key: written_results[key] for key in numbers} == numbers
    assert [(one["id"], one["pass"]) for one in written_results["cases"]] == [
        ("extract-auth", True),
        ("add-tests", True),
    ]
    assert {"totalCost", "cases"} <= written_results.keys()
    assert {"id", "pass", "cost", "duration", "tokens"} <= written_results["cases"][0].keys()


def test_the_example_fails_when_nothing_is_done_and_says_why(tmp_path):
    ran = run(tmp_path, "true", "--jobs", "2")
    found = results(tmp_path / "repo")
    assert (ran.code, {one["caseId"]: one["status"] for one in found}) == (
        1,
        {"extract-auth": "failed", "add-tests": "failed"},
    )
    explained = [
        (outcome["assertion"], outcome["passed"], re.sub(r"[\d.]+ s", "… s", outcome["explanation"]))
        for result in found
        for outcome in result["outcomes"]
    ]
    assert explained == [
        ("file:src/auth.ts exists", False, "src/auth.ts does not exist"),
        ("file:src/auth.ts contains 'export function'", False, "src/auth.ts does not exist"),
        ("test:npm test passes", False, "exited 1 after … s"),
        ("file:test/budget.test.ts exists", False, "test/budget.test.ts does not exist"),
        ("test:npm test passes", False, "exited 1 after … s"),
    ]


def test_each_kind_of_expectation_passes_after_the_work_and_fails_without_it(tmp_path):
    kinds = (
        *("file:new.txt exists", "file:new.txt contains 'two'", r"file:new.txt matches /^t\w+$/m"),
        *("test:grep -q two new.txt", "diff:old.txt", "no-file:gone.txt"),
    )
    work = "printf 'one\\ntwo\\n' > new.txt; echo changed > old.txt; rm gone.txt"
    files = {"bench/core.json": suite(case(expect=kinds)), "old.txt": "as it was\n", "gone.txt": "x"}
    agents = config(does=runner(work), nothing=runner("true"))
    root = repository(tmp_path, files | {"skillgym.config.yaml": agents}, git=True)
    assert skillgym("run", "--output", "out", cwd=root).code == 1
    passed = {
        one["runnerId"]: [(each["assertion"], each["passed"]) for each in one["outcomes"]] for one in results(root)
    }
    assert passed == {name: [(kind, name == "does") for kind in kinds] for name in ("does", "nothing")}
