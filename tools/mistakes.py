"""Typical mistakes of users, and the message that each of them gets.

``python tools/mistakes.py`` writes the messages into docs/reference/mistakes.md.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import modules_of_tests
from action_step import FORK, Step, pull_request, step
from github_server import READ_ONLY_TOKEN
from on_github import REPOSITORY as REPOSITORY_NAME
from on_github import github_with
from paths import REPOSITORY
from scratch import case, repository, skillgym, suite, written

DOCUMENT = REPOSITORY / "docs/reference/mistakes.md"
SUITE, CONFIG, PYTHON, TYPESCRIPT = "bench/core.json", "skillgym.config.yaml", "bench/a_suite.py", "bench/a-suite.ts"
EVALS = "skills/pages/evals/evals.json"
SKILL = {"skills/pages/SKILL.md": "---\nname: pages\ndescription: Counts.\n---\nCount.\n"}
BEGIN = "<!-- messages -->"
_SAYS = re.compile(r"^(?:error|warning|note): |^inconclusive: |^! |^    |^permissions:|^  [a-z-]+: [a-z]+$")
_TIME = re.compile(r", in [\d.]+ m?s|, cost (?:\$0\.00|unknown)|, artifacts: \S+")


@dataclass(frozen=True, kw_only=True)
class Mistake:
    """What somebody wrote. ``files`` replace those of a repository without mistakes; None removes one.

    ``variables``: of the environment. ``programs``: on PATH, in place of agents. ``inputs``: of the action, in place of
    a command; ``event``: that started its job; ``token``: what the job's token may do, if that is the mistake;
    ``code``: the exit code.
    """

    name: str
    command: tuple[str, ...] = ("check",)
    files: dict[str, str | bytes | None] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)
    programs: dict[str, str] = field(default_factory=dict)
    inputs: dict[str, str] | None = None
    event: str = "push"
    token: str = ""
    code: int = 2

    @property
    def written(self) -> str:
        """The command, the inputs or the part of the workflow, as the page shows them."""
        if self.token:
            return f"permissions: {{{self.token}}}"
        if self.event != "push":
            return f"on: {self.event}"
        if self.inputs is not None:
            return ", ".join(f"{key}: {value}" for key, value in self.inputs.items())
        return " ".join([*(f"{name}={value}" for name, value in self.variables.items()), *self.command])

    @property
    def shown_files(self) -> str:
        """The files with the mistake in Markdown, each after a blank line; without those that are only needed."""
        shown = [(path, text) for path, text in self.files.items() if text is not None and path not in SKILL]
        if not shown:
            return "".join(f"\nThere is no `{path}`.\n" for path in self.files)
        return "".join(_shown(path, text) for path, text in shown)


def _shown(path: str, text: str | bytes) -> str:
    text = text.decode() if isinstance(text, bytes) else text
    if not text:
        return f"\n`{path}` is empty.\n"
    return f"\n`{path}`:\n\n```text\n{text.rstrip()}\n```\n"


def _command(name: str, *command: str, code: int = 2, **files: str | None) -> Mistake:
    return Mistake(name=name, command=command, code=code, files=dict(files))


def _suite(name: str, text: str, path: str = SUITE, command: str = "check", code: int = 2) -> Mistake:
    return Mistake(name=name, files={SUITE: None, path: text}, command=(command,), code=code)


def _config(name: str, text: str, command: str = "check") -> Mistake:
    return Mistake(name=name, files={CONFIG: text}, command=(command,))


def _input(name: str, code: int = 2, **inputs: str) -> Mistake:
    return Mistake(name=name, inputs={key.replace("_", "-"): value for key, value in inputs.items()}, code=code)


def _x(**changes: Any) -> str:
    return suite(case(**changes))


MISTAKES = (
    # options
    _command("misspelt command", "chek"),
    _command("misspelt option", "run", "--reapet", "3"),
    Mistake(name="misspelt environment variable", variables={"SKILLGYM_TIMOUT": "60"}, command=("check",), code=0),
    _command("option without its value", "run", "--repeat"),
    _command("empty value of an option", "run", "--min-pass-rate="),
    _command("text instead of a number", "run", "--repeat", "three"),
    _command("zero repetitions", "run", "--repeat", "0"),
    _command("percentage instead of a rate", "run", "--min-pass-rate", "80"),
    _command("percent sign in a rate", "run", "--min-pass-rate", "80%"),
    _command("duration with an unknown unit", "run", "--timeout", "5 minutes"),
    _command("currency sign in a cost", "run", "--max-cost", "$5"),
    _command("unknown condition of --fail-on", "run", "--fail-on", "fails"),
    _command("unknown format", "run", "--format", "xbench"),
    _command("unknown report", "run", "--report", "junitxml=out.xml"),
    _command("report without a path", "run", "--report", "junit"),
    _command("unknown runner", "run", "--runner", "claude"),
    _command("unknown case", "run", "--case", "oen"),
    Mistake(name="unknown tag", command=("run", "--tag", "smok"), files={SUITE: suite(case(tags=["smoke"]))}),
    Mistake(name="arms for suites without arms", command=("list", "--arms", "with"), code=0),
    _command("folder that does not exist", "run", "benhc"),
    _command("file that is not a suite", "run", CONFIG),
    _command("run directory that does not exist", "report", ".skillgym-results/none"),
    _command("baseline that does not exist", "run", "--baseline", "main.json"),
    _command("text instead of a number of shards", "list", "--matrix", "abc"),
    _command("shard outside of the range", "run", "--shard", "5/4"),
    _command("shard without the number of shards", "run", "--shard", "2"),
    _command("unknown schema", "schema", "configuration"),
    _command("regression without a baseline", "run", "--fail-on", "regression"),
    _command("unknown store", "run", "--store", "s3"),
    _command("memory limit without a unit", "run", "--limits", "memory=512"),
    _command("unknown limit", "run", "--limits", "ram=1GiB"),
    _command("incomplete -k expression", "run", "-k", "one and"),
    _command("configuration that does not exist", "run", "--config", "skillgym.yaml"),
    # configuration
    _config("misspelt key", "runner:\n  a: {agent: {type: nop}}\n"),
    _config("runners as a list", "runners:\n  - claude-code\n"),
    _config("runner as a string", "runners:\n  a: claude-code\n"),
    _config("unknown agent type", "runners:\n  a: {agent: {type: claude}}\n"),
    _config("agent without a type", "runners:\n  a: {agent: {model: claude-sonnet-4-6}}\n"),
    _config(
        "GitHub secret in the configuration",
        "runners:\n  a: {agent: {type: nop, env: {KEY: '${{ secrets.KEY }}'}}}\n",
    ),
    _config("dollar sign that is not replaced", "runners:\n  a: {agent: {type: nop, env: {API_KEY: $API_KEY}}}\n"),
    Mistake(
        name="misspelt placeholder",
        files={CONFIG: 'runners:\n  a: {agent: {type: command, command: [cat, "{promt_file}"]}}\n'},
        code=0,
    ),
    _config("listed environment variable that is not set", "runners:\n  a: {agent: {type: nop, env: [KEY]}}\n"),
    _config("environment variable that is not set", "runners:\n  a: {agent: {type: nop, env: {KEY: '${KEY}'}}}\n"),
    _config("tab in YAML", "runners:\n\ta: {agent: {type: nop}}\n"),
    _config("unclosed bracket", "runners: {a: {agent: {type: nop}}\n"),
    _config("empty configuration", "", "run"),
    _config("repetitions as a string", "run: {repeat: three}\nrunners: {a: {agent: {type: nop}}}\n"),
    _config("unknown key of run", "run: {repeats: 3}\nrunners: {a: {agent: {type: nop}}}\n"),
    _config("judge without a model", "run: {judge: {api: anthropic}}\nrunners: {a: {agent: {type: nop}}}\n"),
    _config("unknown api of the judge", "run: {judge: {api: claude, model: m}}\nrunners: {a: {agent: {type: nop}}}\n"),
    _config("duplicate key", "runners: {}\nrunners: {a: {agent: {type: nop}}}\n"),
    Mistake(
        name="configuration of one package for the suites of another",
        command=("check", "billing", "search"),
        files={
            SUITE: None,
            "billing/skillgym.config.yaml": "runners: {a: {agent: {type: nop}}}\nrun: {failOn: none}\n",
            "billing/invoices.bench.json": suite(case("invoice")),
            "search/queries.bench.json": suite(case("query")),
        },
        code=0,
    ),
    Mistake(
        name="misspelt name of the quarantine file",
        files={
            "skillgym.quarantine.yml": "quarantine:\n  - {case: one, reason: slow, owner: ada, expires: 2026-12-15}\n"
        },
        code=0,
    ),
    # suites
    _suite("empty suite", ""),
    _suite("trailing comma", '{"name": "core", "cases": [],}'),
    _suite("comment in JSON", '{"name": "core", // cases\n "cases": []}', "bench/core.bench.json"),
    _suite("no cases", '{"name": "core", "cases": []}'),
    _suite("misspelt key of a suite", suite(case()).replace('"cases"', '"case"'), "bench/core.bench.json"),
    _suite("misspelt key of a case", suite(case()).replace('"prompt"', '"promt"')),
    _suite("misspelt expectation", _x(expect=("flie:out.txt exists",))),
    _suite("expectation without a verb", _x(expect=("file:out.txt",))),
    _suite("unknown verb", _x(expect=("file:out.txt contain 'x'",))),
    _suite("missing quotes", _x(expect=("file:out.txt contains done",)), code=0),
    _suite("invalid regular expression", _x(expect=("file:out.txt matches /(/",))),
    _suite("absolute path", _x(expect=("file:/etc/passwd exists",))),
    _suite("path outside the workspace", _x(expect=("file:../out.txt exists",))),
    _suite("duplicate id", suite(case("one"), case("one"))),
    _suite("case without an id", suite({"prompt": "Do", "expect": ["file:a exists"]})),
    _suite("timeout as a string", _x(timeout="5m")),
    _suite("negative budget", _x(budget=-1)),
    _suite("template that does not exist", suite(case(), workspace={"templateDir": "templates"})),
    _suite("suite in the wrong folder", suite(case()), "tests/core.json"),
    _suite("misspelt file extension", suite(case()), "tests/core.bnech.json"),
    _suite("syntax error in Python", "from skillgym_action import Suite\nsuite = Suite('a'\n", PYTHON),
    _suite("misspelt name in Python", "from skillgym_action import Siute\n", PYTHON),
    _suite(
        "misspelt argument in Python", "from skillgym_action import Case\nsuite = [Case(id='a', promt='x')]\n", PYTHON
    ),
    _suite("Python suite without cases", "from skillgym_action import Suite\nsuite = Suite('a')\n", PYTHON),
    Mistake(
        name="check that returns its result",
        command=("run", "--runner", "nop"),
        code=3,
        files={
            SUITE: None,
            PYTHON: "from skillgym_action import Suite\nsuite = Suite('a')\n\n"
            "@suite.case('greets', prompt='Greet me')\n"
            "def greets(report, ctx):\n    return 'hello' in ctx.final_output()\n",
        },
    ),
    _suite("TypeScript suite without a default export", 'import "skillgym";\nconst suite = [];\n', TYPESCRIPT),
    _suite("syntax error in TypeScript", 'import { assert } from "skillgym";\nexport default [;\n', TYPESCRIPT),
    _suite("misspelt key of a test in YAML", "tests:\n  - id: a\n    inptu: x\n    criteria: y\n", "EVAL.yaml"),
    _suite(
        "unknown assertion in YAML",
        "tests:\n  - id: a\n    input: x\n    assertions: [{type: contain, value: y}]\n",
        "EVAL.yaml",
    ),
    _suite("folder of cases that does not exist", "name: a\ntests: ./case/\n", "EVAL.yaml"),
    _suite("empty list of assertions", "tests:\n  - id: a\n    input: x\n    assertions: []\n", "EVAL.yaml"),
    _suite(
        "threshold of zero",
        "execution: {threshold: 0}\ntests: [{id: a, input: x, assertions: [{type: contains, value: y}]}]\n",
        "EVAL.yaml",
        code=0,
    ),
    Mistake(
        name="eval without a prompt",
        files={SUITE: None, **SKILL, EVALS: json.dumps({"evals": [{"id": 1, "expectations": ["x"]}]})},
    ),
    Mistake(
        name="questions without a judge",
        command=("run", "--runner", "nop"),
        files={
            SUITE: None,
            **SKILL,
            EVALS: json.dumps({"evals": [{"id": 1, "prompt": "x", "expectations": ["It is good"]}]}),
        },
    ),
    # running
    Mistake(name="no suite", files={SUITE: None}, command=("run",)),
    Mistake(name="no runner", files={CONFIG: None}, command=("run",)),
    Mistake(
        name="agent program that does not exist",
        command=("run",),
        code=3,
        files={CONFIG: "runners:\n  a: {agent: {type: command, command: [clade]}}\n"},
    ),
    Mistake(
        name="agent without its key",
        command=("run", "--runner", "claude-code"),
        code=3,
        programs={"claude": "#!/bin/sh\necho 'Not logged in · Please run /login' >&2\nexit 1\n"},
    ),
    Mistake(
        name="recorded session of an earlier prompt",
        command=("run",),
        code=3,
        files={
            CONFIG: "runners:\n  recorded: {agent: {type: replay, sessions: recordings}}\n",
            SUITE: suite(case(prompt="Delete the cart")),
            "recordings/core/one/recorded/repeat-1/report.json": '{"prompt": "Empty the cart"}\n',
        },
    ),
    # the action
    _input("misspelt input", runner="sh"),
    _input("unknown mode", mode="report-only"),
    _input("text instead of true or false", html="yes please"),
    _input("rate in percent", min_pass_rate="80"),
    _input("invalid YAML in runners", runners="claude: {agent: {type: claude-code}"),
    _input("unknown agent in runners", runners="claude: {agent: {type: claude}}"),
    _input("results without a run", mode="report", results="shards/*"),
    _input("working directory that does not exist", working_directory="packages/web"),
    _input("suites that do not exist", suites="benchmarks"),
    _input("base commit without a pull request", suites_from="base"),
    Mistake(
        name="token without the permission to comment", inputs={}, event="pull_request", token="contents: read", code=0
    ),
    Mistake(name="event with secrets on a commit of a fork", inputs={}, event="pull_request_target"),
    _input("comment mode that does not exist", comment="sticky"),
)


def message(mistake: Mistake, folder: Path) -> str:
    """Make the mistake in a new folder; its message. Raises AssertionError for another exit code, or no message."""
    root = repository(folder / "shop", mistake.files)  # type: ignore[arg-type]
    if mistake.inputs is not None:
        done = _step(root, mistake)
        code, text = done.code, done.said
    else:
        ran = skillgym(
            *mistake.command, cwd=root, PATH=_path_with(mistake.programs, folder / "bin"), **mistake.variables
        )
        code, text = ran.code, ran.err
    assert code == mistake.code, f"exit code {code}\n{text}"
    lines = dict.fromkeys(_without_what_varies(line) for line in text.splitlines() if _SAYS.search(line))
    found = "\n".join(lines)
    assert found, f"no line of the output is a message\n{text}"
    return found


def _path_with(programs: dict[str, str], folder: Path) -> str:
    for name, text in programs.items():
        (written(folder, {name: text}) / name).chmod(0o755)
    return os.pathsep.join([str(folder), os.environ["PATH"]] if programs else [os.environ["PATH"]])


def _step(root: Path, mistake: Mistake) -> Step:
    if mistake.event == "push":
        payload: dict[str, object] = {"before": "0" * 40, "after": "1" * 40}
        return step(root, inputs=mistake.inputs, event=("push", payload))
    token = {"github-token": READ_ONLY_TOKEN} if mistake.token else {}
    repository_name = FORK if mistake.event == "pull_request_target" else REPOSITORY_NAME
    with github_with() as github:
        event = mistake.event, pull_request(repository_name)
        return step(root, github, inputs={**(mistake.inputs or {}), **token}, event=event)


def _without_what_varies(line: str) -> str:
    return _TIME.sub("", line).removeprefix("    ").rstrip()


def table() -> str:
    """The messages as a list for people, in Markdown."""
    with ThreadPoolExecutor(2) as pool, tempfile.TemporaryDirectory() as folder:
        folders = (Path(folder).resolve() / str(number) for number in range(len(MISTAKES)))
        texts = list(pool.map(message, MISTAKES, folders))
    return "\n".join(map(entry, MISTAKES, texts))


def entry(mistake: Mistake, text: str) -> str:
    """A mistake and its message, in Markdown."""
    title = f"{mistake.name[0].upper()}{mistake.name[1:]}"
    return f"### {title}\n\n`{mistake.written}`\n{mistake.shown_files}\n```text\n{text}\n```\n"


def written_messages(document: str) -> dict[str, str]:
    """The messages that a document has, by the name of the mistake."""
    entries = (entry.partition("\n") for entry in document.partition(BEGIN)[2].split("\n### ")[1:])
    return {name.lower(): rest.rpartition("\n```text\n")[2].strip().removesuffix("\n```") for name, _, rest in entries}


if __name__ == "__main__":
    before = DOCUMENT.read_text(encoding="utf-8").partition(BEGIN)[0]
    DOCUMENT.write_text(f"{before}{BEGIN}\n\n{table()}", encoding="utf-8")
