"""Whatever becomes of a suite on its way, bytes, lines or values: it is read as a suite, or refused in words."""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import run_report
from scratch import case, written
from skillgym_action.model.errors import SkillgymError
from skillgym_action.model.suite import BenchmarkSuite, FoundSuite
from skillgym_action.pipeline.stages.load import load
from skillgym_action.reports import reporter_named
from skillgym_action.results.snapshot_file import SnapshotFile
from skillgym_action.results.stored_runs import stored_reports
from skillgym_action.settings.configuration_file import Config, read_config
from skillgym_action.settings.suite_options import LoadOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from proofs import Proved

    KeyPath = tuple[str | int, ...]

EXAMPLES = 200
ENVIRONMENT = {"HOME": "/home/a", "N": "7", "LOOP": "${{ LOOP }}", "DIGITS": "7" * 5_000, "API_KEY": "secret"}

# --- what is mutated --------------------------------------------------------------------------------

X_BENCH = {
    "name": "core",
    "model": "m",
    "tags": ["t"],
    "runners": ["r*"],
    "defaults": {"budget": 1.5, "timeout": 60},
    "workspace": {"templateDir": "template", "bootstrap": {"command": "sh", "args": ["-c", "x"], "env": {"A": "b"}}},
    "cases": [
        case(
            "strings",
            expect=("file:x exists", "file:x contains 'y'", "file:x matches /y+/i", "test:x passes", "diff:x"),
        ),
        case("objects") | {"expect": [{"file": "*.x", "glob": True, "matches": "a*"}, {"test": "x", "exits": 3}]},
        case("rest", tags=["u"], timeout=5, budget=2.5, model="n", expectedFail=True, runners=["s"]),
    ],
}
AGENTV = {
    "name": "suite",
    "tags": ["t"],
    "metadata": {"a": [1, 2], "b": {"c": "${{ N }}"}},
    "input": [{"role": "system", "content": "Be ${{ HOME }}"}],
    "input_files": ["a.txt"],
    "workspace": {"template": "./template", "isolation": "per_test", "hooks": {"before_all": {"command": ["sh", "x"]}}},
    "execution": {"target": "mine", "threshold": 0.5, "budget_usd": 3, "trials": {"count": 2, "strategy": "pass_at_k"}},
    "assertions": [{"type": "contains", "value": "x"}, "The answer is polite", {"include": "./shared.yaml"}],
    "tests": [
        {"id": "a", "input": "do {{ what }}", "vars": {"what": {"n": 1}}, "criteria": "done", "tags": "one"},
        {
            "id": "b",
            "input": [
                {"role": "user", "content": [{"type": "text", "value": "x"}, {"type": "file", "value": "a.txt"}]}
            ],
            "expected_output": [{"role": "assistant", "content": {"n": 1}}],
            "rubrics": [
                {"id": "r", "outcome": "right", "weight": 2, "score_ranges": [{"score_range": [0, 10], "outcome": "x"}]}
            ],
            "execution": {"skip_defaults": True, "threshold": 0.1, "targets": ["mine"]},
            "depends_on": ["a"],
            "on_dependency_failure": "run",
            "assertions": [
                {"type": "regex", "value": "(a+)+$", "flags": "im", "weight": 2, "negate": True, "min_score": 0.5},
                {"type": "field-accuracy", "fields": [{"path": "a.b[0]", "match": "date", "formats": ["MM/DD"]}]},
                {"type": "tool-trajectory", "mode": "in_order", "expected": [{"tool": "x", "args": {"a": 1}}]},
                {"type": "execution-metrics", "max_tokens": 5, "target_exploration_ratio": 0.5},
                {"type": "code-grader", "command": ["python3", "./x.py"], "config": {"a": 1}, "cwd": "template"},
                {"type": "llm-grader", "prompt": "file://a.txt", "rubrics": ["good"]},
                {
                    "type": "composite",
                    "assertions": [{"type": "is-json"}, {"type": "latency", "threshold": 5}],
                    "aggregator": {"type": "weighted_average", "weights": {"is-json": 2}},
                },
            ],
        },
        "file://more.yaml",
        "file://{a,b}/**/*.yaml",
    ],
}
TARGETS = {
    "targets": [
        {
            "name": "mine",
            "provider": "cli",
            "command": "x {PROMPT_FILE}",
            "env": ["N"],
            "timeout_seconds": 5,
            "cwd": ".",
        },
        {"name": "mock", "provider": "mock", "response": "x", "delay_ms": 5, "use_target": "mine"},
        {"name": "default", "use_target": "${{ TARGET }}", "hooks": {"before_each": {"script": "x"}}},
    ]
}
SKILL = {
    "skill_name": "s",
    "evals": [{"id": 1, "prompt": "p", "expected_output": "x", "files": ["a.txt"], "tags": ["t"]}],
}
FOLDER = {
    "a.txt": "text",
    "template/x.py": "x",
    "shared.yaml": "assertions: [{type: equals, value: x}]",
    "more.yaml": "- {id: c, input: x, criteria: y}\n",
    "a/b.yaml": "{id: d, input: x, criteria: y}",
    ".env": "N=8\nexport M='x'\n",
    "SKILL.md": "---\nname: s\n---\n",
}
EVALS = {
    "skill_name": "s",
    "threshold": 0.5,
    "evals": [
        {
            "id": 1,
            "name": "n",
            "prompt": "p",
            "expected_output": "x",
            "files": ["a.txt", {"path": "b.txt", "content": "c"}],
            "tags": ["t"],
            "category": "c",
            "expectations": ["a", {"id": "q", "text": "b", "advisory": True, "passed": None}],
            "assertions": [{"type": "regex", "value": "(a+)+$"}, {"type": "file_exists", "path": "out.txt"}],
            "must_not_have": {"tone": ["rude"]},
            "expected_rows": [1, {"total": 2}],
            "timeout_seconds": 5,
            "max_turns": 3,
        },
        {"prompt": "p", "should_trigger": True, "messages": []},
    ],
}
QUERIES = {
    "runs": 3,
    "threshold": 0.5,
    "queries": [{"query": "a", "should_trigger": True, "split": "train"}, {"query": "b", "expected_skill": None}],
}
CONFIGURATION = {
    "runners": {
        "r": {"agent": {"type": "command", "command": ["x", "./y"], "env": {"A": "${{ HOME }}"}, "budget": 1.5}}
    },
    "run": {"jobs": 2, "outputDir": "out", "reporter": "standard"},
    "defaults": {"timeoutMs": 5},
}
SNAPSHOTS = {
    "version": 1,
    "entries": {
        "a::r": {
            "caseId": "a",
            "runnerId": "r",
            "metric": "inputTokens",
            "value": 5,
            "agentType": "pi",
            "updatedAt": "x",
        }
    },
}

# --- mutations --------------------------------------------------------------------------------------

NASTY_TEXTS = ("", " ", "\0", "\ud800", "\u2028", "*", "**/*", "../..", "/", "~", "a\0b", "x" * 5_000, "x/" * 5_000)
NASTY_WORDS = (
    "${{ HOME }}",
    "${{ DIGITS }}",
    "{{ what.n }}",
    "{{ what }}",
    "file://",
    "file://**",
    "(a+)+$",
    "(?R)",
    "<<",
)
NASTY_NUMBERS = (0, -1, 1.5, -0.0, 1e308, -1e308, 5e-324, 10**299, -(10**299))
NASTY_VALUES = (True, False, None, [], {}, [[]], [{}], {"": {}})
NASTY = st.sampled_from((*NASTY_TEXTS, *NASTY_WORDS, *NASTY_NUMBERS, *NASTY_VALUES))
VALUES: st.SearchStrategy[Any] = NASTY | st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)


def paths_of(value: object, at: KeyPath = ()) -> Iterator[KeyPath]:
    """The paths of everything in a value."""
    yield at
    members: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, member in members:
        yield from paths_of(member, (*at, key))


@st.composite
def mutants(draw: st.DrawFn, value: object, paths: st.SearchStrategy[list[KeyPath]]) -> object:
    """The value with another one in some places, some of its keys replaced, and some left out."""
    mutant: Any = {"": copy.deepcopy(value)}
    for path in draw(paths):
        place: Any = mutant
        try:
            for key in ("", *path)[:-1]:
                place = place[key]
            last = ("", *path)[-1]
            match draw(st.sampled_from(["value", "value", "value", "key", "gone", "twice"])):
                case "value":
                    place[last] = copy.deepcopy(draw(VALUES))
                case "key" if isinstance(place, dict):
                    place[draw(st.text(max_size=12))] = place.pop(last)
                case "gone":
                    del place[last]
                case "twice" if isinstance(place, list):
                    place.append(copy.deepcopy(place[last]))
        except (LookupError, TypeError):
            continue  # an earlier mutation took it away
    return mutant.get("")


@st.composite
def torn(draw: st.DrawFn, text: str) -> bytes:
    """The text with lines left out, doubled or exchanged, and bytes replaced."""
    lines = text.split("\n")
    for _ in range(draw(st.integers(0, 3))):
        one, two = (draw(st.integers(0, len(lines) - 1)) for _ in range(2))
        match draw(st.sampled_from(["out", "double", "exchange"])):
            case "out" if len(lines) > 1:
                del lines[one]
            case "double":
                lines.insert(two, lines[one])
            case _:
                lines[one], lines[two] = lines[two], lines[one]
    content = bytearray("\n".join(lines).encode())
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(content)))
        content[at : at + draw(st.integers(0, 2))] = draw(st.binary(max_size=2) | st.sampled_from(SIGNS))
    return bytes(content)


SIGNS = [sign.encode() for sign in "{}[]:,&*!|>'\"%@`-?#\n\t \\\0\r\u2028\ufeff"]


def contents(value: object, *texts: str) -> st.SearchStrategy[bytes]:
    """Files that began as that value, or as one of the texts, which are the value in their notations."""
    paths = st.lists(st.sampled_from(list(paths_of(value))), min_size=1, max_size=3)
    as_json = mutants(value, paths).map(lambda mutant: json.dumps(mutant).encode())
    return as_json | st.one_of(*(torn(text) for text in (json.dumps(value, indent=1), *texts)))


# --- reading ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class NoHosts:
    """No suite of these is a program."""

    cancelled: bool = False


def is_read(folder: Path, name: str, kind: str) -> None:
    """A suite with cases, or with words about what is wrong."""
    found = FoundSuite(path=name, file=folder / name, format=kind)
    (suite,) = load([found], NoHosts(), LoadOptions(environment=ENVIRONMENT))
    assert isinstance(suite, BenchmarkSuite)
    assert suite.cases or suite.invalid
    for problem in (*suite.warnings, *(one.problem for one in suite.invalid)):
        assert problem.location
        assert len(str(problem)) < 8_000


def tried(strategy: st.SearchStrategy[bytes], file: Path, read: Callable[[], object]) -> int:
    """How many contents of the file were read; those that were refused were by its name."""
    count = 0

    @settings(max_examples=EXAMPLES, database=None)
    @given(strategy)
    def holds(content: bytes) -> None:
        nonlocal count
        count += 1
        file.write_bytes(content)
        try:
            read()
        except SkillgymError as error:
            told = str(error)
        else:
            told = file.name
        assert file.name in told

    holds()
    return count


def in_yaml(value: object) -> str:
    return yaml.safe_dump(value, sort_keys=False)


LINES = "\n".join(json.dumps(test) for test in AGENTV["tests"] if isinstance(test, dict))


@pytest.mark.parametrize(
    ("name", "kind", "strategy"),
    [
        pytest.param("a.bench.json", "x-bench", contents(X_BENCH), id="x-bench"),
        pytest.param("a.eval.yaml", "agentv", contents(AGENTV, in_yaml(AGENTV)), id="AgentV"),
        pytest.param("evals.json", "agentv", contents(SKILL), id="a skill, as AgentV reads it"),
        pytest.param("evals.json", "skill-evals", contents(EVALS), id="a skill"),
        pytest.param("trigger-evals.json", "skill-evals", contents(QUERIES), id="triggers"),
        pytest.param("a.jsonl", "agentv", torn(LINES), id="lines"),
    ],
)
def test_a_mutated_suite_is_a_suite_or_refused(tmp_path, name, kind, strategy, proved: Proved):
    written(tmp_path, FOLDER | {"targets.yaml": in_yaml(TARGETS)})
    count = tried(strategy, tmp_path / name, lambda: is_read(tmp_path, name, kind))
    proved("suites", "mutated suites read without a crash", count)


@pytest.mark.parametrize(
    ("name", "strategy"),
    [
        pytest.param("targets.yaml", contents(TARGETS, in_yaml(TARGETS)), id="targets"),
        pytest.param(".env", torn(FOLDER[".env"]), id="environment"),
        pytest.param("shared.yaml", contents({"assertions": AGENTV["tests"][1]["assertions"]}), id="include"),
        pytest.param("more.yaml", contents(AGENTV["tests"][:2], in_yaml(AGENTV["tests"][:2])), id="tests"),
        pytest.param("cases/one/case.yaml", contents(AGENTV["tests"][1], in_yaml(AGENTV["tests"][1])), id="case"),
    ],
)
def test_a_mutated_file_of_a_suite_costs_no_more_than_the_suite(tmp_path, name, strategy, proved: Proved):
    suite = AGENTV | ({"tests": "./cases/"} if "case.yaml" in name else {})
    written(tmp_path, FOLDER | {"targets.yaml": in_yaml(TARGETS), "a.eval.yaml": in_yaml(suite), name: ""})
    count = tried(strategy, tmp_path / name, lambda: is_read(tmp_path, "a.eval.yaml", "agentv"))
    proved("suites", "mutated suites read without a crash", count)


TOML = '[run]\njobs = 2\n[runners.r.agent]\ntype = "command"\ncommand = ["x"]\nenv = {A = "b"}\n[[a.b]]\nc = 1\n'


@pytest.mark.parametrize(
    ("ending", "strategy"),
    [
        pytest.param("json", contents(CONFIGURATION), id="JSON"),
        pytest.param("yaml", contents(CONFIGURATION, in_yaml(CONFIGURATION)), id="YAML"),
        pytest.param("toml", torn(TOML), id="TOML"),
    ],
)
def test_a_mutated_configuration_is_one_or_refused(tmp_path, ending, strategy, proved: Proved):
    file = tmp_path / f"skillgym.config.{ending}"

    def read() -> None:
        assert isinstance(read_config(file, file.name), Config)

    proved("suites", "mutated configurations, results and snapshots read without a crash", tried(strategy, file, read))


def test_mutated_snapshots_are_some_or_refused(tmp_path, proved: Proved):
    file = tmp_path / "snapshots.json"

    count = tried(contents(SNAPSHOTS), file, lambda: SnapshotFile(file, file.name).snapshot("a::r", "a"))
    proved("suites", "mutated configurations, results and snapshots read without a crash", count)


def test_mutated_results_are_some_or_refused(tmp_path, proved: Proved):
    stored = json.loads("".join(reporter_named("results")(run_report("a passed\nb failed\nc errored\nd skipped"))))
    count = tried(contents(stored), tmp_path / "results.json", lambda: stored_reports(["results.json"], tmp_path))
    proved("suites", "mutated configurations, results and snapshots read without a crash", count)


@pytest.mark.parametrize(
    "test",
    [
        pytest.param(
            {"input": [{"role": "user", "content": [{"type": [], "value": "x"}]}]}, id="a type that is a list"
        ),
        pytest.param({"rubrics": [{"id": "r", "score_ranges": {}}]}, id="no ranges of points"),
        pytest.param({"rubrics": [{"id": "r", "score_ranges": {"7" * 5_000: "x"}}]}, id="very many points"),
        pytest.param({"metadata": {"n": "${{ DIGITS }}"}}, id="a variable with very many digits"),
    ],
)
def test_what_was_found_once_is_read_or_refused(tmp_path, test):
    whole = {"tests": [{"id": "a", "input": "x", "criteria": "y"} | test]}
    written(tmp_path, {"a.eval.yaml": json.dumps(whole)})
    is_read(tmp_path, "a.eval.yaml", "agentv")
