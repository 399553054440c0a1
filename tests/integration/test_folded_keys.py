"""Keys that an agent prints as usual programs write them, folded or dumped: in nothing that a run leaves, and told."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from planted_keys import places_below
from scratch import case, config, repository, runner, skillgym, suite, written
from skillgym_action.reports import REPORTERS
from ways_of_writing import encoded, hexdump, hexdump_c, lines, xxd

if TYPE_CHECKING:
    from pathlib import Path

KEY = "Vq7xE4rT1yU8iO0pAs2dF5gH6jK9lX3cVbN-mQwErTyUiOpAsDfGhJkLzXcVbNm1q2w3e4r5t6y7u8i9o0"
SHORTEST_NEEDLE = 8
WAYS = {
    "raw": KEY,
    "folded": lines(KEY, 10),
    "base64": lines(encoded(f"{KEY}\n"), 76),
    "base64-folded": lines(encoded(KEY), 10),
    "hexadecimal": lines(KEY.encode().hex(), 60),
    "xxd": xxd(KEY),
    "hexdump-C": hexdump_c(KEY),
    "hexdump": hexdump(KEY),
}
CHECK = """\
from pathlib import Path
from skillgym_action import Suite, Workspace, expect

workspace = Workspace(mode="isolated")
suite = Suite("checks")


@suite.case("way-{name}", prompt="{name}")
def check(report, ctx):
    expect.soft.output.includes(report, "nothing")
    expect.soft.that(report.final_output, "".join(f"+ {{line}}\\\\n" for line in report.final_output.splitlines()))
    assert [report.final_output] == ["nothing"]
"""
ANSWERS = {
    "name": "answers",
    "tests": [
        {
            "id": f"way-{name}",
            "input": name,
            "assertions": [
                {"type": "contains", "value": "nothing\nof this"},
                {"type": "equals", "value": "a\nb"},
                {"type": "regex", "value": "(?s)^.{8}", "negate": True},
            ],
        }
        for name in WAYS
    ],
}


def needles(form: str) -> set[bytes]:
    """Parts of each line of a form that are in a text only if the line is."""
    parts = (part.strip("|") for line in form.splitlines() for part in line.split("  "))
    return {part.encode() for part in parts if len(part) >= SHORTEST_NEEDLE and not part.startswith("000")}


@pytest.mark.parametrize("keep", ["none", "all"])
def test_no_form_of_a_key_is_left_and_each_is_told(tmp_path: Path, keep: str, proved) -> None:
    forms = written(tmp_path / "forms", {name: f"{form}\n" for name, form in WAYS.items()})
    agent = f"way=$(cat); cat {forms}/$way; cp {forms}/$way leak.txt; cat {forms}/$way >> had.txt; cat {forms}/$way >&2"
    expected = ("file:leak.txt contains 'nothing'", "file:had.txt matches /no such line/", "test:cat leak.txt; false")
    files = {
        "skillgym.config.yaml": config(runner(agent, env={"DOOR_KEY": "${{ DOOR_KEY }}"})),
        "had.txt": "as it was\nand more\n",
        "bench/core.json": suite(*(case(f"way-{name}", expected, prompt=name) for name in WAYS)),
        "bench/answers.eval.json": None,
        "bench/answers.eval.yaml": json.dumps(ANSWERS),
        **{f"bench/{name}_suite.py": CHECK.format(name=name) for name in WAYS},
    }
    root = repository(tmp_path / "repo", files, git=True)
    reports = [f"--report={kind}=reports/{kind}" for kind in REPORTERS]
    ran = skillgym("run", "--output", "results", "--keep", keep, "--verbose", *reports, cwd=root, DOOR_KEY=KEY)
    assert ran.code == 1, ran.err
    places = {
        **places_below(root / "results"),
        **places_below(root / "reports"),
        "out": ran.out.encode(),
        "err": ran.err.encode(),
    }
    wanted = {needle: name for name, form in WAYS.items() for needle in needles(form)}
    found = {(place, wanted[needle]) for place, content in places.items() for needle in wanted if needle in content}
    assert found == set()
    proved("text", "places searched for keys as programs print them, none found", len(places))
    results = [
        result for one in json.loads((root / "results/results.json").read_text())["suites"] for result in one["results"]
    ]
    assert len(results) == len(WAYS) * 3
    for result in results:
        where = {finding["where"] for finding in result["findings"]}
        assert {"changes/leak.txt", "changes/had.txt", "stdout.log", "stderr.log"} <= where, result["caseId"]
