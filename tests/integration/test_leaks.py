"""Keys that agents leave behind, through the whole program: none leaves with what a run writes, and all are told."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pytest

from action_step import Step, step
from builders import run_report
from github_server import JOB_TOKEN, GitHubServer
from github_state import ChangedFile, PullRequest
from on_github import NUMBER, REPOSITORY, SHA
from paths import SUPPORT
from planted_keys import found_in, made, needles, places_below
from scratch import Ran, case, config, repository, skillgym, suite, written
from scratch import runner as runner_of
from skillgym_action.reports import reporter_named
from skillgym_action.reports.terminal.terminal import render as terminal

if TYPE_CHECKING:
    from email.message import Message
    from pathlib import Path

    from github_server import Reply

AGENT = SUPPORT / "planted_keys.py"
PYTHON = """\
import json
from pathlib import Path
from skillgym_action import Suite, Workspace, expect

KEYS = json.loads(Path({keys!r}).read_text())
print("loaded with", KEYS)
workspace = Workspace(mode="isolated")
suite = Suite("checks")


def said(result):
    print(result.report.final_output)
    return {{"id": KEYS["github"], "label": KEYS["aws"]}}


@suite.case("asserts", prompt="Go.", classify_failure=said)
def asserts(report, ctx):
    print(report.events)
    expect.soft.output.includes(report, "no", explain={{"question": f"Why {{report.final_output}}?"}})
    assert report.final_output == KEYS["slack"]


@suite.case("crashes", prompt="Go.")
def crashes(report, ctx):
    raise RuntimeError("what it said: " + report.final_output)
"""
BOOTSTRAP = """\
import json
from pathlib import Path
from skillgym_action import Suite, Workspace

KEYS = json.loads(Path({keys!r}).read_text())
workspace = Workspace(mode="isolated", bootstrap={bootstrap})
suite = Suite({name!r})


@suite.case("prepared", prompt="Go.")
def prepared(report, ctx):
    pass
"""
LOUD = '{"command": "sh", "args": ["-c", "echo $0 >&2; echo $0; exit 3", "\\n".join(KEYS.values())]}'
NOT_THERE = '{"command": "/nowhere/" + KEYS["github"]}'
TYPESCRIPT = """\
import {{ readFileSync }} from "node:fs";
import {{ assert }} from "skillgym";

const keys = JSON.parse(readFileSync({keys!r}, "utf8"));
console.log("loaded with", keys);
export const workspace = {{ mode: "isolated" }};
export default [
  {{
    id: "asserts",
    prompt: "Go.",
    assert(report) {{
      console.error(report.finalOutput);
      assert.equal(report.finalOutput, keys.slack);
    }},
  }},
  {{
    id: "crashes",
    prompt: "Go.",
    assert(report) {{
      throw new TypeError("what it said: " + report.finalOutput);
    }},
  }},
];
"""


class ListeningServer(GitHubServer):
    """Remembers whatever was sent to it, but for who sent it."""

    received = b""

    def reply(self, method: str, target: str, headers: Message, body: bytes) -> Reply | None:
        """As GitHub answers."""
        self.received += f"{method} {target}\n".encode() + body
        return super().reply(method, target, headers, body)


@dataclass(frozen=True, kw_only=True)
class Left:
    """What a run, and the commands after it, left behind."""

    root: Path
    keys: dict[str, str]
    github: bytes
    step: Step
    ran: dict[str, Ran]

    def results(self, folder: str = "results") -> dict[tuple[str, str, str], dict[str, Any]]:
        """By suite, case and runner."""
        told = json.loads((self.root / folder / "results.json").read_text())
        return {
            (suite["name"], result["caseId"], result["runnerId"]): result
            for suite in told["suites"]
            for result in suite["results"]
        }


def runner(*arguments: str, **more: Any) -> dict[str, Any]:
    command = [sys.executable, str(AGENT), *arguments]
    return {"agent": {"type": "command", "command": command, "env": {"API_TOKEN": "${{ API_TOKEN }}"}} | more}


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory) -> Left:
    folder = tmp_path_factory.mktemp("leaks")
    keys = made(7)
    outside = written(folder / "outside", {"keys.json": json.dumps(keys | {"secret": ""})})
    file = str(outside / "keys.json")
    fake = f'#!/bin/sh\nexec {sys.executable} {AGENT} {file} claude "$@"\n'
    written(outside, {"claude": fake})
    (outside / "claude").chmod(0o755)
    runners = {
        "text": runner(file),
        "events": runner(file, "events", output="events"),
        "claude": runner(type="claude-code", command=[str(outside / "claude")]),
    }
    told = {"runners": runners, "snapshots": {"tolerance": {"percent": 9}}}
    written(outside, {"skillgym.config.yaml": json.dumps(told)})
    grep = "test:cat leak.txt sub/deep/.env; cat leak.txt >&2; false"
    files = {
        "README.md": "as it was\n",
        "skillgym.config.yaml": None,
        "bench/core.json": suite(
            case("files", ("file:leak.txt matches /no such thing/", grep)),
            case("green", ("file:leak.txt exists",)),
        ),
        "bench/checks_suite.py": PYTHON.format(keys=file),
        "bench/loud_suite.py": BOOTSTRAP.format(keys=file, bootstrap=LOUD, name="loud"),
        "bench/missing_suite.py": BOOTSTRAP.format(keys=file, bootstrap=NOT_THERE, name="missing"),
        "bench/typed-suite.ts": TYPESCRIPT.format(keys=file),
    }
    root = repository(folder / "repo", files, git=True)
    config = "../outside/skillgym.config.yaml"
    secret = {"API_TOKEN": keys["secret"], "OTHER_TOKEN": JOB_TOKEN}
    change = ChangedFile("bench/core.json", "@@ -0,0 +1,1 @@\n+everything is in this line", status="added")
    with ListeningServer(REPOSITORY) as github:
        github.add_pull(PullRequest(number=NUMBER, head_sha=SHA, head_branch="topic", files=(change,)))
        inputs = {"config": config, "report-dir": "results", "review-comments": "true", "status": "on"}
        ended = step(root, github, {**inputs, "runners": "events\nclaude"}, **secret)
        received = github.received
    given = ("--config", config, "--runner", "text")
    reports = [f"--report={kind}=cli/{kind}.out" for kind in ("agentv", "annotations", "x-bench", "comment")]
    question = "results/checks/asserts/claude/repeat-1"
    ran = {
        name: skillgym(*arguments, cwd=root, **secret)
        for name, arguments in {
            "run": ("run", "bench/core.json", *given, "--output", "cli", "--verbose", "--record", "recorded", *reports),
            "explain": ("explain", question, "--config", config),
            "promote": ("promote", question, "--to", "promoted/x.bench.json", "--config", config),
            "report": ("report", "results", "cli", "--output", "merged", "--config", config),
            "rejudge": ("rejudge", "results", "--output", "again", "--verbose"),
            "broken": ("run", "--case", keys["openai"], "--runner", keys["github"], *given),
            "list": ("list", *given),
            "check": ("check", *given),
            "doctor": ("doctor", *given),
        }.items()
    }
    return Left(root=root, keys=keys, github=received, step=ended, ran=ran)


def test_no_key_leaves_in_any_form(left, proved):
    files = left.root.parent / "repo-files"
    places = {
        **{f"{folder}/{name}": content for folder in ("results", "cli", "merged", "again", "recorded", "promoted")
           for name, content in places_below(left.root / folder).items()},
        **{f"step/{name}": content for name, content in places_below(files).items()},
        "the log of the step": left.step.log.encode(),
        "what the step said": left.step.said.encode(),
        "the snapshots": (left.root.parent / "outside/skillgym.snapshots.json").read_bytes(),
        "GitHub": left.github,
        **{f"{name}, stdout": ran.out.encode() for name, ran in left.ran.items()},
        **{f"{name}, stderr": ran.err.encode() for name, ran in left.ran.items()},
    }  # fmt: skip
    wanted = needles(left.keys) | {JOB_TOKEN.encode(): "the job's token"}
    assert {place: kinds for place, content in places.items() if (kinds := found_in(content, wanted))} == {}
    proved("text", "places searched for planted keys, none found", len(places))
    proved("text", "forms and parts of keys that were searched for", len(wanted))


def test_the_search_finds_what_is_there(left, tmp_path):
    wanted = needles(left.keys)
    for kind, key in left.keys.items():
        written(tmp_path, {f"{kind}.txt": b"\xff" + key.encode()})
        assert kind in found_in(places_below(tmp_path)[f"{kind}.txt"], wanted)


def test_the_commands_did_what_they_are_for(left):
    assert left.step.code == 1, left.step.said
    assert {name: ran.code for name, ran in left.ran.items()} == {
        "run": 3, "explain": 0, "promote": 1, "report": 1, "rejudge": 3, "broken": 2, "list": 0, "check": 0,
        "doctor": 0,
    }  # fmt: skip
    assert b"leaked a key" in left.github
    for place in ("report.json", "stdout.log", "stderr.log", "session.jsonl", "explain.json", "explanations.json"):
        assert "***" in (left.root / "results/checks/asserts/claude/repeat-1" / place).read_text()
    for log in ("checks_suite-", "typed-suite-"):
        (first, *_) = sorted((left.root / "results").glob(f"{log}*.log"))
        assert "***" in first.read_text()


def test_what_is_json_still_is(left):
    files = [
        path for folder in ("results", "cli", "merged", "recorded") for path in (left.root / folder).rglob("*.json*")
    ]
    read = 0
    for path in files:
        if "workspaces" not in path.parts and "changes" not in path.parts:
            text = path.read_text()
            for line in text.splitlines() if path.suffix == ".jsonl" else [text]:
                json.loads(line)
                read += 1
    assert read > 50


# --- leak-detected ----------------------------------------------------------------------------------------------------


SHAPES = sorted(set(made(7)) - {"secret"})


@pytest.mark.parametrize("agent", ["claude", "events"])
def test_a_key_in_a_session_is_a_finding_of_its_own(left, agent):
    findings = left.results()["core", "files", agent]["findings"]
    assert {finding["id"] for finding in findings} == {"leak-detected"}
    told = {(finding["kind"], finding["where"]) for finding in findings}
    logs = {(kind, where) for kind in ("secret", *SHAPES) for where in ("stdout.log", "stderr.log")}
    assert len(told) == 20, "that many are told"
    assert told - logs <= {(kind, "session.jsonl") for kind in ("secret", *SHAPES)} or agent == "events"
    assert logs <= told


def test_what_was_changed_is_searched_and_what_there_was_before_is_not_told(tmp_path):
    key = made(3)["github"]
    script = f"echo {made(4)['aws']} > made.txt; echo more >> had.txt; echo {made(5)['github']} >> both.txt"
    files = {
        "skillgym.config.yaml": json.dumps(
            {"runners": {"sh": {"agent": {"type": "command", "command": f"sh {tmp_path}/x.sh"}}}}
        ),
        "bench/core.json": suite(case("one", ("file:made.txt exists",), prompt=f"Use {made(6)['slack']}")),
        "had.txt": f"for tests: {key}\n",
        "both.txt": f"for tests: {key}\n",
    }
    written(tmp_path, {"x.sh": f"cat; {script}"})
    ran = skillgym("run", "--output", "results", cwd=repository(tmp_path / "repo", files))
    assert ran.code == 0
    (result,) = json.loads((tmp_path / "repo/results/results.json").read_text())["suites"][0]["results"]
    assert [(one["kind"], one["where"]) for one in result["findings"]] == [
        ("aws", "changes/made.txt"),
        ("github", "changes/both.txt"),
    ]
    assert "warning bench/core.json" in ran.err
    assert "a key was leaked: aws in changes/made.txt, github in changes/both.txt" in ran.err


@pytest.mark.parametrize("keep", ["none", "changed"])
def test_what_is_not_stored_is_searched_as_well(tmp_path, keep):
    """With ``none`` no file is stored, and neither with ``changed`` if they are too many or too large."""
    script = f"head -c 20000000 /dev/zero > large; echo {made(4)['aws']} > small; ln -s {made(5)['github']} link"
    written(tmp_path, {"x.sh": script})
    root = repository(tmp_path / "repo", {"skillgym.config.yaml": config(runner_of(f"sh {tmp_path}/x.sh"))})
    assert skillgym("run", "--output", "results", "--keep", keep, cwd=root).code == 1
    (result,) = json.loads((root / "results/results.json").read_text())["suites"][0]["results"]
    told = {(one["kind"], one["where"]) for one in result["findings"]}
    assert told == {("aws", "changes/small"), ("github", "changes/link")}
    assert not (root / "results/core/one/sh/repeat-1/changes").exists()


def test_a_leak_is_red_when_that_is_asked_for(tmp_path):
    written(tmp_path, {"x.sh": f"echo {made(4)['aws']} > out.txt"})
    agent = {"type": "command", "command": f"sh {tmp_path}/x.sh"}
    root = repository(tmp_path / "repo", {"skillgym.config.yaml": json.dumps({"runners": {"sh": {"agent": agent}}})})
    assert skillgym("run", cwd=root).code == 0
    ran = skillgym("run", "--fail-on", "leaks", cwd=root)
    assert (ran.code, "(1 execution leaked a key)" in ran.err) == (1, True)


LEAKING = "suite bench/core.json\nedit passed !github:stdout.log !jwt:changes/a.txt\nfix @codex failed\ncalm passed"
TOLD = "edit on claude: a key was leaked: github in stdout.log, jwt in changes/a.txt"
REMEDY = "revoke it and create a new one: any service that the session reached may have seen it"


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        pytest.param("annotations", f"::warning file=bench/core.json,line=10,title=skillgym-action::{TOLD}; {REMEDY}\n",
                     id="annotations"),
        pytest.param("junit", '<property name="skillgym.leaks" value="github in stdout.log, jwt in changes/a.txt"',
                     id="JUnit"),
        pytest.param("results", '"findings": [{"id": "leak-detected", "kind": "github", "where": "stdout.log"}, '
                     '{"id": "leak-detected", "kind": "jwt", "where": "changes/a.txt"}]', id="results"),
        pytest.param("summary", "### 🔑 1 execution leaked a key\n", id="summary"),
        pytest.param("comment", "- `edit` · `claude` · github in `stdout.log`, jwt in `changes/a.txt`\n", id="comment"),
    ],
)  # fmt: skip
def test_every_report_tells_of_a_leak_once(kind, told):
    text = "".join(reporter_named(kind)(run_report(LEAKING)))
    assert text.count(told) == 1
    report = run_report(LEAKING)
    silent = replace(report, results=tuple(replace(one, findings=()) for one in report.results))
    assert told not in "".join(reporter_named(kind)(silent))


def test_a_terminal_tells_of_a_leak():
    assert f"warning bench/core.json:10: {TOLD}; {REMEDY}\n\n" in "".join(terminal(run_report(LEAKING)))
