"""What it costs to write every report of a large run: ``python -m bench.sinks RESULTS [floor]``.

Prints seconds, those of the processor, and megabytes. The floor writes the same strings with one ``json.dumps``.
"""

from __future__ import annotations

import json
import resource
import sys
import tempfile
import time
from dataclasses import asdict, replace
from pathlib import Path

from skillgym_action.model.errors import Location
from skillgym_action.model.judgement import Failure, Judgement, Outcome
from skillgym_action.model.report import Links, RunReport
from skillgym_action.model.result import Attempt, Result
from skillgym_action.model.runner import Runner
from skillgym_action.model.session import AgentConfig
from skillgym_action.model.session_report import Cost, Usage
from skillgym_action.model.suite import BenchmarkSuite
from skillgym_action.model.verdicts import ASSERTION_FAILURE, TROUBLES, UNEXPECTED_PASS, FailureClass, Status
from skillgym_action.pipeline.stages.gate import gate
from skillgym_action.pipeline.stages.publish import action_outputs
from skillgym_action.reports import REPORTERS, reporter_named
from skillgym_action.results.run_directory import RunDirectory
from skillgym_action.settings.slices import GateOptions, PublishOptions
from skillgym_action.text.redaction import Redactor

SUITES = 10
RUNNERS = tuple(
    Runner(id=name, path_key=name, agent=AgentConfig(type="command", model=f"{name}-large"))
    for name in ("alpha", "beta", "gamma")
)
# Of 100 executions, how many end so.
SHARES = {
    Status.PASSED: 88,
    Status.FAILED: 6,
    Status.ERRORED: 2,
    Status.EXPECTED_FAILED: 2,
    Status.UNEXPECTED_PASSED: 1,
    Status.SKIPPED: 1,
}
STATUSES = tuple(status for status, share in SHARES.items() for _ in range(share))
RULES = ("file:src/total.ts contains 'roundHalfUp'", "diff:src/total.ts", "test:npm test passes")


def report_of(number: int) -> RunReport:
    """A run of that many executions, with texts as long as they are in practice."""
    suites = tuple(
        BenchmarkSuite(path=f"bench/area-{index}.bench.json", file=Path("x"), name=f"area-{index}", format="x-bench")
        for index in range(SUITES)
    )
    results = tuple(result_of(index, suites[index * SUITES // number]) for index in range(number))
    report = RunReport(
        id="run", version="0", command="run", started_at="2025-01-02T03:04:05Z", ended_at="2025-01-02T04:04:05Z",
        duration_ms=3_600_000, results=results, suites=suites, runners=RUNNERS, commit="0123456789abcdef" * 2,
        links=Links(repository="https://github.com/octo/skills", commit="0123456789abcdef" * 2),
    )  # fmt: skip
    return replace(report, decision=gate(report, GateOptions()))


def result_of(index: int, suite: BenchmarkSuite) -> Result:
    status = STATUSES[index % 100]
    runner = RUNNERS[index % len(RUNNERS)]
    case = f"case-{index // len(RUNNERS)}"
    folder = f"{suite.name}/{case}/{runner.path_key}"
    return Result(
        index=index, suite=suite, case_id=case, judgement=judgement_of(index, status), runner=runner,
        location=Location(path=suite.path, line=index + 1), tags=("nightly",), duration_ms=31_000 + index,
        usage=Usage(input_tokens=12_000 + index, output_tokens=900, total_tokens=12_900 + index),
        cost=Cost(usd=0.02, source="reported"), model=runner.agent.model, version="1.2.3",
        attempts=(Attempt(repetition=1, session=1, status=status, duration_ms=31_000, directory=f"{folder}/repeat-1"),),
        directory=folder, prompt=f"Make the totals of {case} round half up, and keep the tests green. " * 3,
        final_output=f"I changed `src/total.ts` for {case} and ran the tests.\n" * 6, session_id=f"session-{index}",
    )  # fmt: skip


def judgement_of(index: int, status: Status) -> Judgement:
    held = tuple(Outcome(assertion=rule, type="rule", passed=True, explanation="it holds") for rule in RULES)
    if status in (Status.FAILED, Status.EXPECTED_FAILED):
        message = f"npm test ended with exit code 1\nexpected {index}, found {index + 1}"
        log = "\n".join(f"  at step {line} of src/total.test.ts" for line in range(12))
        broken = Outcome(assertion=RULES[2], type="rule", passed=False, explanation=message, evidence=log)
        failure = Failure(name="AssertionError", message=message)
        return Judgement(
            status=status, outcomes=(*held[:2], broken), failure_class=ASSERTION_FAILURE, failure=failure,
            origin="assertion",
        )  # fmt: skip
    if status is Status.ERRORED:
        kind = ("timeout", "rate-limit")[index % 2]
        failure_class = FailureClass(id=kind, label=TROUBLES[kind].label)
        failure = Failure(name=failure_class.label, message=f"no answer to request {index}")
        return Judgement(status=status, origin="runner", failure_class=failure_class, failure=failure)
    if status is Status.SKIPPED:
        return Judgement(status=status, reason="the run's budget is spent")
    return Judgement(
        status=status, outcomes=held, failure_class=UNEXPECTED_PASS if status is Status.UNEXPECTED_PASSED else None
    )


def write(report: RunReport, folder: Path) -> dict[str, float]:
    """Write every report, as they are delivered; seconds by report."""
    directory = RunDirectory(folder, Redactor(("a-secret-of-the-job",)))
    taken = {}
    for kind in REPORTERS:
        began = time.perf_counter()
        directory.write_whole(folder / kind, reporter_named(kind)(report))
        taken[kind] = time.perf_counter() - began
    began = time.perf_counter()
    action_outputs(report, directory, PublishOptions())
    return taken | {"outputs": time.perf_counter() - began}


def processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def floor(report: RunReport, folder: Path) -> dict[str, float]:
    """Write the same strings with the standard library alone."""
    values = [
        {"id": result.case_id, "status": result.status, "judgement": asdict(result.judgement), "prompt": result.prompt,
         "output": result.final_output, "place": str(result.location), "directory": result.directory}
        for result in report.results
    ]  # fmt: skip
    began = time.perf_counter()
    (folder / "floor.json").write_text(json.dumps(values), encoding="utf-8")
    return {"json": time.perf_counter() - began}


def main() -> None:
    """Measure, and print it as JSON."""
    report = report_of(int(sys.argv[1]))
    before = processor_seconds()
    with tempfile.TemporaryDirectory() as temporary:
        taken = (floor if "floor" in sys.argv else write)(report, Path(temporary))
    used = processor_seconds() - before
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"seconds": sum(taken.values()), "processor": used, "megabytes": peak, "each": taken}))


if __name__ == "__main__":
    main()
