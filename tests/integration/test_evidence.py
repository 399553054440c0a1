"""Why an agent failed, from its files to every report: the same each time it is judged, and without keys."""

from __future__ import annotations

import json
import re

import pytest

from scratch import skillgym, written

SHAPED = "ghp_" + "aB3" * 12
KNOWN = "correct-horse-battery-staple-1234"
CASE = {
    "id": "many",
    "prompt": "x",
    "expect": [
        "file:src/app.ts exists",
        "test:seq 60; pwd >&2; echo 'Error: 1 test failed' >&2; exit 1",
        "file:CHANGELOG.md contains '- 2.4.0 second'",
        "file:keys.txt contains 'another word'",
        "no-file:tmp.log",
    ],
}
SUITE = """\
from skillgym_action import Suite, expect

suite = Suite("reading")


@suite.case("newest-version", prompt="Which version is the newest?")
def newest_version(report, ctx):
    expect.soft.commands.includes(report, "npm test")
    expect.soft.match(ctx.final_output(), r"version is 2\\.4\\.0")
    assert any(path.endswith("CHANGELOG.md") for path in ctx.get_file_reads())
"""
AGENT = f"""\
printf '%s\\n' '{{"type":"fileRead","path":"'$PWD'/README.md"}}' '{{"type":"command","command":"npm run tests"}}' \
  '{{"type":"message","role":"assistant","text":"I read it.\\nThe newest version is 2.3.9.\\nBye."}}'
mkdir -p src; echo x > src/App.ts; echo '- 2.4.0 zweite' >> CHANGELOG.md; : > tmp.log
for word in {SHAPED} {KNOWN} {KNOWN}; do printf '%0152d %s and more\\n' 0 $word; done >> keys.txt
"""
CONFIG = "runners:\n  claude:\n    agent: {type: command, command: [sh, AGENT], output: events}\n"


@pytest.fixture(scope="module")
def red(tmp_path_factory):
    folder = tmp_path_factory.mktemp("red")
    files = {
        "CHANGELOG.md": "# Changelog\n\n- 2.3.0 first\n",
        "bench/changelog_suite.py": SUITE,
        "bench/many.json": json.dumps({"name": "many", "cases": [CASE]}),
        "agent.sh": AGENT,
        "skillgym.config.yaml": CONFIG.replace("AGENT", str(folder / "agent.sh")),
    }
    ran = skillgym("run", "--output", "run", "--report", "annotations=a.txt", cwd=written(folder, files),
                   SERVICE_API_KEY=KNOWN)  # fmt: skip
    assert ran.code == 1, ran.err
    return folder, ran


def outcomes(folder):
    results = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    return [
        (outcome["assertion"], re.sub(r"after [\d.]+ s", "", outcome["explanation"]), outcome.get("evidence"))
        for suite in results["suites"]
        for result in suite["results"]
        for outcome in result["outcomes"]
        if "keys.txt" not in outcome["assertion"]  # stored without the keys
    ]


def test_the_terminal_tells_why_without_a_look_at_the_artifacts(red):
    _, ran = red
    text = re.sub(r"after [\d.]+ s", "after 0.1 s", ran.err)
    for part in (
        "1. file:src/app.ts exists\n       src/app.ts does not exist; the nearest directory that does is src/\n",
        "       nearest: src/App.ts\n       created by the agent: src/App.ts, ",
        "       60\n       <workspace>\n       Error: 1 test failed\n",
        "       (all of it: command-1.stdout.log, command-1.stderr.log)\n",
        "       changed by the agent:\n       + 4 | - 2.4.0 zweite\n",
        "       tmp.log was created by the agent\n",
        "commands, nearest first:\n",
        "line 2:  'The newest version is 2.3.9.'",
        "path.endswith(\"CHANGELOG.md\"): False for '<workspace>/README.md'",
    ):
        assert part in text, part


@pytest.mark.parametrize("name", ["run/summary.md", "run/comment.md", "run/junit.xml", "a.txt"])
def test_every_report_has_all_of_it(red, name):
    folder, _ = red
    text = (folder / name).read_text(encoding="utf-8")
    for part in ("nearest: src/App.ts", "Error: 1 test failed", "4 | - 2.4.0 zweite", "tmp.log was created"):
        assert part in text, part


def test_judged_again_it_is_the_same(red):
    folder, _ = red
    again = skillgym("rejudge", "run", "--output", "again", cwd=folder)
    assert again.code == 1, again.err
    assert outcomes(folder / "again") == outcomes(folder / "run")


def test_keys_are_not_shown_whole_or_in_part(red):
    folder, ran = red
    found = (path for path in (folder / "run").rglob("*") if path.is_file())
    files = [path for path in found if path.name != "agent.sh"]  # the repository's own, in archived workspaces
    texts = [ran.err, ran.out, *(path.read_text(encoding="utf-8", errors="replace") for path in files)]
    assert "0 *** and… (165 characters)" in ran.err
    for text in texts:
        assert SHAPED[:12] not in text
        assert KNOWN[:12] not in text
