"""One table of behaviour, run against both assertion libraries: TypeScript's ``assert`` and Python's ``expect``."""

from __future__ import annotations

import json

import pytest

from paths import DATA
from suite_programs import suite_hosts

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


def wrong(vector, failures):
    """What is not as the table says; nothing where all is."""
    expected = next((outcome for name, outcome in OUTCOMES.items() if name in vector), None)
    if [failure["kind"] for failure in failures] != ([expected] if expected else []):
        return [f"expected {expected or 'no failure'}, not {failures}"]
    found = []
    for failure in failures:
        message = failure["message"]
        fragments = vector.get("fails", vector.get("crashes", ()))
        found += [f"{fragment!r} is not in {message!r}" for fragment in fragments if fragment not in message]
        if "reads" in vector and not message.endswith(f"1. {vector['line']} = {vector['reads']}"):
            found.append(message)
        if failure.get("failureClass") != vector.get("class"):
            found.append(f"its class is {failure.get('failureClass')}")
        if not failure["location"]["path"].startswith("vectors"):
            found.append(f"its place is {failure['location']}")
        if "asks" in vector and [each["question"] for each in failure["questions"]] != vector["asks"]:
            found.append(f"it asks {failure['questions']}")
    return found


@pytest.mark.parametrize("language", SUITES)
def test_both_languages_behave_as_the_table_says(language, tmp_path):
    with suite_hosts(DATA, logs=tmp_path) as hosts:
        told = [
            hosts._ask(SUITES[language], {"call": "judge", "case": str(index), "report": report_for(vector)})
            for index, vector in enumerate(VECTORS)
        ]
    outcomes = zip(VECTORS, (one["failures"] for one in told), strict=True)
    assert {named(vector): wrong(vector, failures) for vector, failures in outcomes if wrong(vector, failures)} == {}


def test_every_method_is_in_the_table_with_both_outcomes():
    methods = {f"{group}.{name}" for group, names in METHODS.items() for name in names.split()}
    holding = {vector["call"] for vector in VECTORS if "call" in vector and "fails" not in vector}
    failing = {vector["call"] for vector in VECTORS if "call" in vector and "fails" in vector}
    assert (methods - holding, methods - failing) == (set(), set())
