"""AgentV suites in scratch folders, as the format sees them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from scratch import written
from skillgym_action.suites.agentv import suite as agentv
from suite_sources import ScratchSuite

if TYPE_CHECKING:
    from pathlib import Path

    from skillgym_action.model.suite import BenchmarkCase, BenchmarkSuite

CONTAINS = [{"type": "contains", "value": "ok"}]


def case(case_id: str | None = "one", **keys: Any) -> dict[str, Any]:
    """A test with a deterministic assertion."""
    identity = {"id": case_id} if case_id is not None else {}
    return identity | {"input": "Do it", "assertions": CONTAINS} | keys


def suite_text(*cases: Any, **keys: Any) -> str:
    """A suite in JSON, which is YAML."""
    return json.dumps({"tests": list(cases or (case(),))} | keys)


def read(root: Path, files: dict[str, Any], path: str = "evals/EVAL.yaml", **environment: str) -> BenchmarkSuite:
    """The suite of a repository at ``root``; files that are no texts are written as JSON."""
    texts = {name: text if isinstance(text, str | bytes) else json.dumps(text) for name, text in files.items()}
    written(root, texts)
    return agentv.suite(ScratchSuite(root, path, environment))


def read_tests(root: Path, *cases: Any, **keys: Any) -> BenchmarkSuite:
    """A suite of those tests."""
    return read(root, {"evals/EVAL.yaml": suite_text(*cases, **keys)})


def one_case(root: Path, **keys: Any) -> BenchmarkCase:
    """The case that a test becomes; ``suite`` are keys of its suite, ``files`` are written beside it."""
    shared, files = keys.pop("suite", {}), keys.pop("files", {})
    suite = read(root, {"evals/EVAL.yaml": suite_text(case(**keys), **shared), **files})
    assert suite.invalid == ()
    return suite.cases[0]


def problems(suite: BenchmarkSuite) -> list[str]:
    """The problems of its invalid cases, as users read them."""
    return [str(invalid.problem) for invalid in suite.invalid]


def warnings(suite: BenchmarkSuite) -> list[str]:
    """The warnings, as users read them."""
    return [str(problem) for problem in suite.warnings]
