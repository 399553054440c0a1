"""Each reporter writes its golden file, for a stored run that is reported against a baseline."""

from __future__ import annotations

import json
import re

import pytest

import goldens
from action_step import step
from builders import run_report
from paths import GOLDENS
from scratch import skillgym, written
from showcase import BASE, BEFORE, COMMIT, HOSTILE, RUN, showcase
from skillgym_action.reports import REPORTERS, reporter_named

STORED = f"skills_suite/{HOSTILE}/claude", "skills_suite/hostile/claude"
"""The directory of one execution in the golden files, and in a run directory, where no folder has such a name."""
OF_ITS_NAME = re.compile(
    r"`skills_suite/hostile/claude`|<code>skills&#95;suite/.*?</code>"
    rf'|"(?:trace|span)Id": "\w+"(?=.*{re.escape(HOSTILE)})'
)
JOB = {
    "GITHUB_SERVER_URL": "https://github.com",
    "GITHUB_SHA": COMMIT,
    "GITHUB_RUN_ID": RUN.rpartition("/")[2],
}
OUTSIDE_OF_THE_WRITER = "<!-- run: 4711/1 -->\n"  # the publisher adds it to a comment
READABLE = {
    "ctrf": goldens.document,
    "html": goldens.plain_page,
    "junit": goldens.lines_of_xml,
    "otlp": goldens.plain_spans,
    "results": goldens.document,
    "x-bench": goldens.document,
}


@pytest.fixture(scope="module")
def reported(tmp_path_factory):
    """A folder with the reports, which have their reporters' names, and ``terminal``: what the terminal shows.

    The action writes all but the OTLP report with the content of sessions, which only the command line can.
    """
    folder = tmp_path_factory.mktemp("reports")
    for name, run in ((".", showcase()), ("base", run_report(BEFORE, commit=BASE, id="run-0"))):
        written(folder, {f"{name}/results.json": "".join(reporter_named("results")(run)).replace(*STORED)})
    first, stored = showcase().results[0].attempts[0].directory, goldens.ARTIFACTS
    files = {"report.json": json.dumps(stored.report), "workspace.json": json.dumps(stored.workspace)}
    files |= {text.name: text.head for text in (stored.diff, *stored.logs)}
    files |= {f"judge-{number}.json": json.dumps(one) for number, one in enumerate(stored.questions, start=1)}
    written(folder, {f"{first}/{name}": text for name, text in files.items()})
    inputs = {"mode": "report", "results": ".", "baseline": "./base", "report-dir": "out"}
    inputs["reports"] = "\n".join(f"{name}={name}" for name in REPORTERS)
    found = step(folder, None, inputs, event=("push", {}), **JOB)
    assert (found.code, found.outputs["verdict"]) == (1, "failed"), found.said
    arguments = ("--baseline", "./base", "--report", "otlp=otlp", "--otlp-content")
    ran = skillgym("report", ".", *arguments, "--output", "local", cwd=folder)
    assert (ran.code, ran.out) == (1, "")
    shown = ran.err.removesuffix("reports: local\n").replace("artifacts: ./", "artifacts: ")
    written(folder, {"terminal": shown})
    return folder


def lines(text: str) -> list[str]:
    """Without empty lines, and without what is made of the directory's name: its form in Markdown, and ids of spans."""
    return [line for line in OF_ITS_NAME.sub("…", text.replace(*STORED)).splitlines() if line]


@pytest.mark.parametrize(
    ("name", "file"),
    [
        *((name.partition(".")[0], f"reports-{name}") for name in goldens.FILES),
        ("summary", "summary-everything.md"),
        ("comment", "comment-everything.md"),
    ],
)
def test_a_report_of_a_stored_run_is_as_it_was(reported, name, file):
    text = READABLE.get(name, str)((reported / name).read_text(encoding="utf-8"))
    golden = (GOLDENS / file).read_text(encoding="utf-8")
    assert lines(text) == lines(golden.replace(OUTSIDE_OF_THE_WRITER, ""))


def test_every_reporter_writes_a_file(reported):
    assert {*REPORTERS} <= {path.name for path in reported.iterdir()}
