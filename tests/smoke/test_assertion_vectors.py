"""One table of behaviour, run against both assertion libraries: TypeScript's ``assert`` and Python's ``expect``."""

from __future__ import annotations

import json

import pytest

from paths import DATA
from suite_programs import suite_hosts
from table_rows import each_row_holds

TABLE = json.loads((DATA / "assertion-vectors.json").read_text(encoding="utf-8"))
REPORTS, VECTORS = TABLE["reports"], TABLE["vectors"]
SUITES = {"python": DATA / "vectors_suite.py", "typescript": DATA / "vectors-suite.ts"}
RUNNER = {"id": "r", "pathKey": "r", "agent": {"type": "command"}}
ELEVEN = "includes notIncludes count atLeast atMost before only size exactlyOne first last"
METHODS = {
    "skills": "has notHas includes count exactlyOne only",
    "commands": ELEVEN,
    "fileReads": ELEVEN,
    "toolCalls": "has count atLeast atMost before sequence only",
    "output": "includes notEmpty",
}
OUTCOMES = {"crashes": "crash", "fails": "assertion", "reads": "assertion"}


def named(vector):
    return json.dumps({name: vector[name] for name in ("call", "with", "line", "calls") if name in vector})[:150]


def report_for(vector):
    report = REPORTS[vector.get("report", "busy")]
    if "line" in vector:
        report = REPORTS["empty"] | {"events": [{"type": "command", "command": vector["line"]}]}
    return report | {"runner": RUNNER, "prompt": "p", "cwd": "/work", "usage": {}, "cost": {}}


@pytest.mark.parametrize("language", SUITES)
def test_both_languages_behave_as_the_table_says(tmp_path, language):
    with suite_hosts(DATA, logs=tmp_path) as hosts:

        def behaves(row):
            index, vector = row
            asked = {"call": "judge", "case": str(index), "report": report_for(vector)}
            holds(vector, hosts._ask(SUITES[language], asked)["failures"])

        each_row_holds(((f"{row[0]} {named(row[1])}", row) for row in enumerate(VECTORS)), behaves)


def holds(vector, failures):
    expected = next((outcome for name, outcome in OUTCOMES.items() if name in vector), None)
    assert [failure["kind"] for failure in failures] == ([expected] if expected else [])
    for failure in failures:
        message = failure["message"]
        if "reads" in vector:
            assert message.endswith(f"1. {vector['line']} = {vector['reads']}")
        fragments = vector.get("fails", vector.get("crashes", ()))
        assert [fragment for fragment in fragments if fragment not in message] == [], message
        assert failure.get("failureClass") == vector.get("class")
        assert failure["location"]["path"].startswith("vectors")
        if "asks" in vector:
            assert [each["question"] for each in failure["questions"]] == vector["asks"]


def test_every_method_is_in_the_table_with_both_outcomes():
    methods = {f"{group}.{name}" for group, names in METHODS.items() for name in names.split()}
    holding = {vector["call"] for vector in VECTORS if "call" in vector and "fails" not in vector}
    failing = {vector["call"] for vector in VECTORS if "call" in vector and "fails" in vector}
    assert (methods - holding, methods - failing) == (set(), set())
