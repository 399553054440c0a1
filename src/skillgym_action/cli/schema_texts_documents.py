"""Descriptions and examples of the keys of what commands print with ``--json``, for their JSON Schemas."""

from __future__ import annotations

DESCRIPTIONS: dict[str, dict[str, str]] = {
    "JsonDocument": {
        "schema": "Version of the schema of this document.",
        "exitCode": "Exit code of the command.",
    },
    "ProblemPart": {
        "severity": "How bad it is: an error, or a warning that does not change the exit code.",
        "message": "What happened, in words.",
        "path": "Path of the file; null: the problem is not about a file.",
        "line": "Line of the file, from 1; null: unknown.",
        "column": "Column of the line, from 1; null: unknown.",
        "keyPath": "Key in the file, with the keys that it is in; null: it is not about a key.",
        "remedy": "What to do about it; null: the message says it.",
    },
    "ErrorDocument": {
        "errors": "Why the command could not be executed, at least one.",
    },
    "FoundSuitePart": {
        "path": "Path of the suite file, relative to the root of the repository.",
        "format": "Format of the suite.",
        "loaded": "Whether any case of the file can be used.",
        "cases": "Number of cases that can be used.",
        "unusable": "Number of cases that cannot be used.",
    },
    "SkippedFilePart": {
        "path": "Path of the file, relative to the root of the repository.",
        "reason": "Why the file does not run, in words.",
    },
    "CheckDocument": {
        "suites": "Suite files that were found.",
        "skipped": "Files that have the name or the content of a suite and do not run.",
        "notSearched": "Number of files that were left out of the search.",
        "runners": "Number of runners: configured ones and those of suites.",
        "problems": "Errors first, then warnings.",
    },
    "ExpectedPart": {
        "repetitions": "Number of repetitions in the plan.",
        "sessions": "Number of repetitions and expected retries.",
        "costUsd": "Expected cost of all sessions, in US dollars; null: unknown.",
        "durationMs": "Expected time of all sessions, one after the other, in milliseconds; null: unknown.",
        "storedRuns": "Number of stored runs that the values are from; 0: none has this execution.",
        "sameKey": (
            "Whether the stored sessions had the same prompt, assertions, workspace, agent, model and arm; null: there "
            "is no stored run."
        ),
    },
    "ListedExecutionPart": {
        "suite": "Path of the suite.",
        "format": "Format of the suite.",
        "case": "Id of the case.",
        "runner": "Id of the runner.",
        "arm": "Name of the arm; null: the execution has no arm.",
        "tags": "Tags of the case.",
        "timeout": "Time limit of a session, in seconds.",
        "budget": "Maximum cost of a session, in US dollars; null: no limit.",
        "model": "Model that the runner is started with; null: the agent's default.",
        "title": "Title of the case; null: it has none.",
        "skills": "Names of the skills under test.",
        "assertions": "Number of outcomes that a session has.",
        "questions": "Number of assertions that need a judge.",
        "expected": "What the execution will take; null: --cost was not given, or the store cannot be used.",
    },
    "ExpectedIntervalPart": {
        "low": "Lower bound of the total.",
        "high": "Upper bound of the total.",
        "level": "0.95 for a 95 % interval; null: the bounds are the minimum and the maximum of the stored runs.",
        "storedRuns": "Number of stored runs that the interval is from.",
    },
    "ExpectedTotalPart": {
        "total": "Sum of the known values.",
        "interval": "Where the total is expected; null: unknown.",
        "unknown": "Number of executions whose value is unknown.",
    },
    "ExpectedDurationPart": {
        "leastPossible": "Lower bound for every order of the sessions, in milliseconds.",
    },
    "ForecastPart": {
        "source": "Name of the store.",
        "costUsd": "Expected cost of all sessions, in US dollars.",
        "durationMs": "Expected time of the agents in the order of --schedule, in milliseconds.",
        "jobs": "Number of sessions that run in parallel.",
    },
    "ListDocument": {
        "executions": "Executions of the plan, in the order in which they would start.",
        "forecast": "Expected cost and time; null: --cost was not given, or the store cannot be used.",
    },
    "CaseFindingPart": {
        "suite": "Path of the suite.",
        "case": "Id of the case.",
        "finding": (
            "What is wrong. measures-nothing: the case passes although the agent did nothing. fails-its-solution: it "
            "fails with its reference solution. crashed: its check raised an error. not-judged: something else kept "
            "it from being judged. undecided: only the judge could decide. left-out: it was not tried."
        ),
        "message": "Explanation of the finding, in words.",
    },
    "CaseCheckDocument": {
        "standIn": "What replaced the agent: nop does nothing, oracle uses the reference solutions.",
        "correct": "Number of cases that are as they should be.",
        "cases": "Cases that are not as they should be.",
        "problems": "Errors and warnings beside those of cases.",
    },
    "DoctorCheckPart": {
        "subject": "What was looked at, such as a program or an agent.",
        "state": "Result of the check; only a problem changes the exit code.",
        "text": "What was found, in words.",
        "remedy": "What to do about it; null: nothing.",
    },
    "DoctorDocument": {
        "checks": "All checks, in the order in which they are printed without --json.",
    },
    "ExecutionPart": {
        "suite": "Path of the suite.",
        "case": "Id of the case.",
        "runner": "Id of the runner; null: the suite or the case is invalid.",
    },
    "SampledPart": {
        "passed": "Number of judged sessions that passed.",
        "judged": "Number of judged sessions.",
    },
    "ChangedPart": {
        "before": "Its sessions in the base run.",
        "after": "Its sessions in the head run.",
    },
    "IntervalPart": {
        "low": "Lower bound of the 95 % interval; a rate is a number from 0 to 1.",
        "high": "Upper bound of the 95 % interval; a rate is a number from 0 to 1.",
    },
    "SidePart": {
        "executions": "Number of executions.",
        "judged": "Number of executions with a verdict: neither errored nor skipped.",
        "passRate": (
            "Mean over cases of the share of judged sessions that passed, from 0 to 1; null: nothing was judged."
        ),
        "sameCases": "Interval of the rate if the same cases ran again; null: nothing was judged.",
        "casesLikeThese": "Interval of the rate for other cases of this kind; null below 5 cases.",
        "costUsd": "Known part of the cost in US dollars; null: no cost is known.",
        "costComplete": "Whether costUsd is the whole cost.",
        "tokens": "Input, output and reasoning tokens without cached ones; null: unknown.",
        "durationMs": "Sum of the durations of the executions in milliseconds.",
    },
    "RunSidePart": {
        "id": "Id of the run: the name of its run directory.",
        "commit": "Commit of the checkout, in hexadecimal digits; null: unknown.",
        "startedAt": "Start of the run, ISO 8601 in UTC.",
        "flaky": "Executions of the run that are flaky: their sessions differ.",
    },
    "RunnerSidesPart": {
        "id": "Id of the runner.",
        "base": "Totals of the runner in the base run.",
        "head": "Totals of the runner in the head run.",
    },
    "RateChangePart": {
        "pairs": "Number of pairs that were compared: a case on a runner, judged in both runs.",
        "before": "Mean pass rate of the pairs in the base run, from 0 to 1.",
        "after": "Mean pass rate of the pairs in the head run, from 0 to 1.",
        "p": "p-value of the test of all pairs together, from 0 to 1.",
        "dropAtMost": "Upper bound of the drop of the pass rate, with 95 % confidence.",
    },
    "DecisionPart": {
        "verdict": "What --fail-on and the other conditions decided. not-gated: there is no condition.",
        "reasons": "Reasons for the verdict, a sentence each.",
    },
    "ComparisonDocument": {
        "verdict": "What the comparison shows.",
        "reason": "Why the verdict is what it is, in words.",
        "decision": "What the conditions of the command line and the configuration decided.",
        "base": "The run that the other one is compared with.",
        "head": "The run that is compared with the base.",
        "runners": "Totals of each runner in both runs.",
        "rate": "Change of the pass rate; null: nothing was judged in both runs.",
        "coverage": "Judged share of the sessions of the base's executions, from 0 to 1.",
        "differences": "What else differs between the runs, such as a model or a version, a sentence each.",
        "newlyFailing": "Executions that the tests name as newly failing.",
        "fixed": "Executions that the tests name as fixed.",
        "changed": "Executions whose results differ in a way that may be chance.",
        "noLongerJudged": "Executions that were judged in the base run only.",
        "redefined": "Executions that were given something else in each run; they are not compared.",
        "added": "Executions that only the head run has.",
        "removed": "Executions that only the base run has.",
    },
    "TrendChangePart": {
        "what": "What changed, such as model, version or prompt.",
        "before": "Name or digest before the change; null: digests of several cases changed, or unknown.",
        "after": "Name or digest after the change; null: digests of several cases changed, or unknown.",
        "cases": "Number of cases that it changed in.",
    },
    "TrendMarkPart": {
        "at": "Start of the first run after the change, ISO 8601 in UTC.",
        "commit": "Commit of this run, in hexadecimal digits.",
        "changes": "What changed before this run.",
    },
    "TrendPointPart": {
        "first": "Start of the first run of the point, ISO 8601 in UTC.",
        "last": "Start of the last run of the point, ISO 8601 in UTC.",
        "runs": "Number of runs of the point.",
        "commit": "Commit of the last run, in hexadecimal digits.",
        "run": "Address of the last run; null: unknown.",
        "cases": "Number of cases that passRate is a mean over.",
        "passed": "Number of judged sessions that passed.",
        "judged": "Number of judged sessions.",
        "passRate": "Mean over cases of the share of judged sessions that passed, from 0 to 1; null: none was judged.",
        "interval": "Interval of passRate if the same cases ran again; null: nothing was judged.",
        "costUsd": "Mean cost of the sessions whose cost is known, in US dollars; null: no cost is known.",
        "costComplete": "Whether the cost of all sessions is known.",
        "durationMs": "Mean duration of a session in milliseconds.",
    },
    "TrendLinePart": {
        "points": "The points of the line, the oldest first.",
        "changes": "Changes of what was measured, the oldest first.",
        "sinceChange": "All results after the newest change as one point.",
        "pointsLeftOut": "Number of older points that are not listed.",
        "changesLeftOut": "Number of older changes that are not listed.",
    },
    "TrendGroupPart": {
        "suite": "Path of the suite; null: all suites.",
        "runner": "Id of the runner.",
    },
    "TrendExecutionPart": {
        "suite": "Path of the suite.",
        "case": "Id of the case.",
        "runner": "Id of the runner.",
        "expectedFail": "Whether the case is expected to fail in the newest run.",
        "quarantined": "Last day of its quarantine, in UTC; null: it is not in quarantine.",
    },
    "TrendDifferencePart": {
        "suite": "Path of the suite.",
        "case": "Id of the case.",
        "runner": "Id of the runner.",
        "earlier": "Its sessions in the earlier half of the runs.",
        "later": "Its sessions in the later half of the runs.",
        "difference": "Pass rate of the later half minus that of the earlier one, from -1 to 1.",
        "interval": "Interval of the difference, from -1 to 1.",
        "changed": "What is known to have changed in between; it need not be the cause.",
    },
    "TrendDocument": {
        "store": "The store that was read.",
        "branch": "Branch whose runs are shown; null: unknown.",
        "runs": "Number of runs that are shown.",
        "first": "Start of the first run, ISO 8601 in UTC.",
        "last": "Start of the last run, ISO 8601 in UTC.",
        "middle": "Start of the first run of the later half, ISO 8601 in UTC.",
        "period": "Number of days of which the runs are one point; 0: each run is one.",
        "older": "Whether the store has older runs.",
        "otherBranches": "Number of runs of other branches, which are not shown.",
        "executionsLeftOut": "Number of executions that are not shown because there are too many.",
        "page": "Path of the page that was written; null: none was.",
        "runners": "A line for each runner, over all suites.",
        "suites": "A line for each suite on each runner.",
        "executions": "A line for each case on each runner.",
        "differences": "The executions that differ most between the earlier and the later half of the runs.",
    },
    "HistoryPart": {
        "passed": "Number of judged sessions that passed.",
        "judged": "Number of judged sessions in the store.",
        "runs": "Number of runs that these sessions are of.",
        "firstDay": "Day of the first of these runs, in UTC.",
        "lastDay": "Day of the last of these runs, in UTC.",
        "passRate": "Interval of the pass rate; null: unknown.",
    },
    "EntryPart": {
        "suite": "Pattern of the path of the suite.",
        "case": "Pattern of the id of the case.",
        "runner": "Pattern of the id of the runner.",
        "reason": "Why the execution would not count.",
        "owner": "Who has to fix the case; null: --owner was not given, and the file needs one.",
        "issue": "Address of the issue where this is discussed.",
        "expires": "Last day of the quarantine, in UTC.",
    },
    "SuggestionPart": {
        "entry": "Entry for the quarantine file.",
    },
    "NotProposedPart": {
        "why": (
            "changed: what it was given changed between its sessions. too-few: it has too few sessions. no-pattern: "
            "no pattern of the quarantine file names it alone."
        ),
    },
    "SuggestDocument": {
        "runs": "Number of runs in the store.",
        "executions": "Number of executions in these runs.",
        "quarantined": "Number of executions that are in quarantine already.",
        "suggestions": "Flaky executions with the entries that put them into quarantine.",
        "notProposed": "Executions whose sessions differ and that are not proposed.",
    },
}
"""Definition of the schema -> key -> what it is, with its unit and what null means."""

EXAMPLES: dict[str, dict[str, list[object]]] = {
    "ProblemPart": {
        "path": ["bench/core.bench.json"],
        "keyPath": ["cases[2].expect[0]"],
    },
    "FoundSuitePart": {
        "path": ["bench/core.bench.json"],
        "format": ["x-bench"],
    },
    "DoctorCheckPart": {
        "subject": ["git", "claude-code"],
    },
    "RunSidePart": {
        "startedAt": ["2026-03-01T08:15:30Z"],
    },
    "TrendPointPart": {
        "first": ["2026-03-01T08:15:30Z"],
    },
    "HistoryPart": {
        "firstDay": ["2026-03-01"],
    },
    "EntryPart": {
        "expires": ["2026-12-15"],
    },
}
"""Definition of the schema -> key -> values that it may have."""
