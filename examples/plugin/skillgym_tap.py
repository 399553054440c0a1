"""The reporter `tap`: the Test Anything Protocol, version 14."""

from collections.abc import Iterator

from skillgym_action.plugins import RunReport, Status, terminal_line

API = 1
OK = {Status.PASSED, Status.EXPECTED_FAILED, Status.SKIPPED}


def render(report: RunReport) -> Iterator[str]:
    yield f"TAP version 14\n1..{len(report.results)}\n"
    for number, result in enumerate(report.results, start=1):
        runner = result.runner.id if result.runner else "no runner"
        name = terminal_line(f"{result.suite.path}: {result.case_id} on {runner}").replace("\\", "\\\\")
        skip = " # SKIP" if result.status is Status.SKIPPED else ""
        yield f"{'ok' if result.status in OK else 'not ok'} {number} - {name.replace('#', chr(92) + '#')}{skip}\n"
