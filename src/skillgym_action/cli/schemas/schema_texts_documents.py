"""Descriptions and examples of the keys of what commands print with ``--json``, for their JSON Schemas."""

from __future__ import annotations

DESCRIPTIONS: dict[str, dict[str, str]] = {
    "JsonDocument": {
        "schema": "Version of the schema of this document.",
        "exitCode": "Exit code of the command.",
    },
    "ProblemPart": {
        "severity": "Whether the problem is an error, or a warning that does not change the exit code.",
        "message": "Description of the problem.",
        "path": "Path of the file that contains the problem; null if the problem is not in a file.",
        "line": "Line number in the file, counted from 1; null if unknown.",
        "column": "Column number in the line, counted from 1; null if unknown.",
        "keyPath": "Path of the key in the file, such as cases[2].expect[0]; null if the problem is not about a key.",
        "remedy": "How to solve the problem; null if there is no advice besides the message.",
    },
    "ErrorDocument": {
        "errors": "Reasons why the command could not be executed; at least one.",
    },
    "FoundSuitePart": {
        "path": "Path of the suite file, relative to the root of the repository.",
        "format": "Format of the suite.",
        "loaded": "Whether the suite file could be loaded.",
        "cases": "Number of cases that can be used.",
        "unusable": "Number of cases that cannot be used.",
    },
    "SkippedFilePart": {
        "path": "Path of the file, relative to the root of the repository.",
        "reason": "Reason why the file does not run.",
    },
    "CheckDocument": {
        "suites": "Suite files that were found.",
        "skipped": "Files that have the name or the content of a suite but do not run.",
        "notSearched": "Number of files without the name of a suite that were not searched because there are too many.",
        "runners": "Number of runners, both those in the configuration and those in suites.",
        "problems": "Problems that were found: first errors, then warnings.",
    },
    "ExpectedPart": {
        "repetitions": "Number of repetitions in the plan.",
        "sessions": "Expected number of sessions: the repetitions and the expected retries.",
        "costUsd": "Expected cost of all sessions in US dollars; null if unknown.",
        "durationMs": (
            "Expected total time of all sessions in milliseconds, if they run one after the other; null if unknown."
        ),
        "storedRuns": (
            "Number of stored runs from which the values are estimated; 0 if no stored run contains this execution."
        ),
        "sameKey": (
            "Whether the stored sessions had the same prompt, assertions, workspace, agent, model and arm; null if no "
            "stored run contains this execution."
        ),
    },
    "ListedExecutionPart": {
        "suite": "Path of the suite.",
        "format": "Format of the suite.",
        "case": "Id of the case.",
        "runner": "Id of the runner.",
        "arm": "Name of the arm; null if the execution has no arm.",
        "tags": "Tags of the case.",
        "timeout": "Time limit of a session in seconds.",
        "budget": "Maximum cost of a session in US dollars; null if there is no limit.",
        "model": "Model with which the runner is started; null for the default model of the agent.",
        "title": "Title of the case; null if the case has none.",
        "skills": "Names of the skills under test.",
        "assertions": "Number of outcomes of a session.",
        "questions": "Number of assertions that need a judge.",
        "expected": (
            "Expected cost and time of the execution; null if --cost was not specified, or the store cannot be used."
        ),
    },
    "ExpectedIntervalPart": {
        "low": "Lower bound of the total.",
        "high": "Upper bound of the total.",
        "level": "0.95 for a 95% interval; null if the bounds are the minimum and the maximum of the stored runs.",
        "storedRuns": "Number of stored runs from which the interval was computed.",
    },
    "ExpectedTotalPart": {
        "total": "Sum of the known values.",
        "interval": "Interval in which the total is expected; null if unknown.",
        "unknown": "Number of executions whose value is unknown.",
    },
    "ExpectedDurationPart": {
        "leastPossible": "Lower bound of the time in milliseconds, for any order of the sessions.",
    },
    "ForecastPart": {
        "source": "Name of the store.",
        "costUsd": "Expected cost of all sessions in US dollars.",
        "durationMs": "Expected wall-clock time of the sessions in milliseconds, in the order of --schedule.",
        "jobs": "Number of sessions that run in parallel.",
    },
    "ListDocument": {
        "executions": "Executions of the plan, in the order in which they would start.",
        "forecast": "Expected cost and time; null if --cost was not specified, or the store cannot be used.",
    },
    "CaseFindingPart": {
        "suite": "Path of the suite.",
        "case": "Id of the case.",
        "finding": (
            "What was found. measures-nothing: the case passes although the agent did nothing. fails-its-solution: the "
            "case fails with its reference solution. crashed: the check of the case raised an error that is no failed "
            "assertion, because the agent did nothing. broken-check: the check of the case raised an error that it "
            "raises whatever an agent does. not-judged: the case could not be judged. undecided: only the judge could "
            "decide. left-out: the case was not run."
        ),
        "message": "Explanation of the finding.",
    },
    "CaseCheckDocument": {
        "standIn": "What replaced the agent: nop does nothing, oracle uses the reference solutions.",
        "correct": "Number of cases with the expected result.",
        "cases": "Cases without the expected result, and cases that were left out.",
        "problems": "Errors of suites and cases that cannot be used.",
    },
    "DoctorCheckPart": {
        "subject": "What was checked, such as a program or an agent.",
        "state": "Result of the check; only a problem changes the exit code.",
        "text": "Description of what the check found.",
        "remedy": "What to do about the finding; null if there is nothing to do.",
    },
    "DoctorDocument": {
        "checks": "All checks, in the order in which they are printed without --json.",
    },
    "ExecutionPart": {
        "suite": "Path of the suite.",
        "case": "Id of the case.",
        "runner": "Id of the runner; null if the suite or the case is invalid.",
    },
    "SampledPart": {
        "passed": "Number of judged sessions that passed.",
        "judged": "Number of judged sessions.",
    },
    "ChangedPart": {
        "before": "Counts of passed and judged sessions of the execution in the base run.",
        "after": "Counts of passed and judged sessions of the execution in the head run.",
    },
    "IntervalPart": {
        "low": "Lower bound of the 95% interval of a rate or of a difference between two rates.",
        "high": "Upper bound of the 95% interval of a rate or of a difference between two rates.",
    },
    "SidePart": {
        "executions": "Number of executions.",
        "judged": "Number of executions that were judged: those that are neither errored nor skipped.",
        "passRate": (
            "Mean over cases of the share of judged sessions that passed, from 0 to 1; null if nothing was judged."
        ),
        "sameCases": "Interval of the pass rate of these cases; null if nothing was judged.",
        "casesLikeThese": "Interval of the pass rate for other cases of this kind; null for fewer than 5 cases.",
        "costUsd": "Known part of the cost in US dollars; null if no cost is known.",
        "costComplete": "Whether costUsd is the whole cost.",
        "tokens": "Input, output and reasoning tokens, without cached tokens; null if unknown.",
        "durationMs": "Sum of the durations of the executions in milliseconds.",
    },
    "RunSidePart": {
        "id": "Id of the run: the name of its run directory.",
        "commit": "SHA of the checked-out commit; null if unknown.",
        "startedAt": "Start time of the run, in ISO 8601, UTC.",
        "flaky": "Flaky executions of the run.",
    },
    "RunnerSidesPart": {
        "id": "Id of the runner.",
        "base": "Totals of the runner in the base run.",
        "head": "Totals of the runner in the head run.",
    },
    "RateChangePart": {
        "pairs": "Number of compared pairs. A pair is an execution that was judged in both runs.",
        "before": "Mean pass rate of the pairs in the base run, from 0 to 1.",
        "after": "Mean pass rate of the pairs in the head run, from 0 to 1.",
        "p": "P-value of the statistical test over all pairs together, from 0 to 1.",
        "dropAtMost": "Upper bound of the decrease of the mean pass rate, with 95% confidence.",
    },
    "DecisionPart": {
        "verdict": (
            "Result of --fail-on and the other conditions. not-gated: no condition was applied that can fail the "
            "comparison."
        ),
        "reasons": "Reasons for the verdict, one sentence each.",
    },
    "ComparisonDocument": {
        "verdict": "Result of the comparison.",
        "reason": "Reason for the result, as a sentence.",
        "decision": "The decision that follows from the conditions, such as --fail-on.",
        "base": "The run with which the head run is compared.",
        "head": "The run that is compared with the base run.",
        "runners": "Totals of each runner in both runs.",
        "rate": "Change of the pass rate; null if no execution was judged in both runs.",
        "coverage": (
            "Of the sessions that the head run planned for the executions of the base run, the share that was judged, "
            "from 0 to 1."
        ),
        "differences": (
            "Differences between the two runs apart from their results, such as a different model; one sentence each."
        ),
        "newlyFailing": "Executions that the statistical tests report as newly failing.",
        "fixed": "Executions that the statistical tests report as fixed.",
        "changed": "Executions whose share of passed sessions differs, possibly by chance.",
        "noLongerJudged": "Executions that were judged in the base run, but not in the head run.",
        "redefined": (
            "Executions that were not compared because their prompt, assertions or expected result differ between the "
            "runs."
        ),
        "added": "Executions that are only in the head run.",
        "removed": "Executions that are only in the base run.",
    },
    "TrendChangePart": {
        "what": "What changed, such as the model, the CLI version or the prompt.",
        "before": "Name or digest before the change; null if digests of several cases changed.",
        "after": "Name or digest after the change; null if digests of several cases changed.",
        "cases": "Number of cases affected by the change.",
    },
    "TrendMarkPart": {
        "at": "Start time of the first run after the change, in ISO 8601, UTC.",
        "commit": "SHA of the commit of this run.",
        "changes": "What changed before this run.",
    },
    "TrendPointPart": {
        "first": "Start time of the first run of the point, in ISO 8601, UTC.",
        "last": "Start time of the last run of the point, in ISO 8601, UTC.",
        "runs": "Number of runs whose results the point combines.",
        "commit": "SHA of the commit of the last run.",
        "run": "URL of the last run; null if unknown.",
        "cases": "Number of cases over which passRate is a mean.",
        "passed": "Number of judged sessions that passed.",
        "judged": "Number of judged sessions.",
        "passRate": (
            "Mean over cases of the share of judged sessions that passed, from 0 to 1; null if no case is included."
        ),
        "interval": "Interval of passRate for these cases, not for others; null if passRate is null.",
        "costUsd": "Mean cost of the sessions whose cost is known, in US dollars; null if no cost is known.",
        "costComplete": "Whether the cost of all sessions is known.",
        "durationMs": "Mean duration of a session in milliseconds.",
    },
    "TrendLinePart": {
        "points": "Points of the line, the oldest first.",
        "changes": "Known changes of the inputs, such as another model, the oldest first.",
        "sinceChange": "All results after the newest change, combined in one point.",
        "pointsLeftOut": "Number of older points that are not listed.",
        "changesLeftOut": "Number of older changes that are not listed.",
    },
    "TrendGroupPart": {
        "suite": "Path of the suite; null for all suites together.",
        "runner": "Id of the runner.",
    },
    "TrendExecutionPart": {
        "suite": "Path of the suite.",
        "case": "Id of the case.",
        "runner": "Id of the runner.",
        "expectedFail": "Whether the case is expected to fail in the newest run.",
        "quarantined": "Last day of the quarantine of the execution, in UTC; null if it is not in quarantine.",
    },
    "TrendDifferencePart": {
        "suite": "Path of the suite.",
        "case": "Id of the case.",
        "runner": "Id of the runner.",
        "earlier": "Counts of passed and judged sessions of the execution in the earlier half of the runs.",
        "later": "Counts of passed and judged sessions of the execution in the later half of the runs.",
        "difference": "Pass rate in the later half minus pass rate in the earlier half, from -1 to 1.",
        "interval": "Interval of the difference, from -1 to 1.",
        "changed": "Known changes during the runs; they are not necessarily the cause of the difference.",
    },
    "TrendDocument": {
        "store": "The store that was read.",
        "branch": "Branch whose runs are shown; null if unknown.",
        "runs": "Number of runs that are shown.",
        "first": "Start time of the first run, in ISO 8601, UTC.",
        "last": "Start time of the last run, in ISO 8601, UTC.",
        "middle": "Start time of the first run in the later half of the runs, in ISO 8601, UTC.",
        "period": "Number of days whose runs are combined in one point; 0 if each run is a point of its own.",
        "older": "Whether the store contains older runs that are not shown.",
        "otherBranches": "Number of runs of other branches, which are not shown.",
        "executionsLeftOut": "Number of executions that are not shown because there are too many.",
        "page": "Path of the HTML page that was written; null if no page was written.",
        "runners": "One line for each runner, over all suites.",
        "suites": "One line for each suite on each runner.",
        "executions": "One line for each case on each runner.",
        "differences": "The executions that differ most between the earlier and the later half of the runs.",
    },
    "HistoryPart": {
        "passed": "Number of judged sessions that passed.",
        "judged": "Number of judged sessions in the store, from runs with the same inputs as the newest run.",
        "runs": "Number of runs that contain these sessions.",
        "firstDay": "Day of the first of these runs, in UTC.",
        "lastDay": "Day of the last of these runs, in UTC.",
        "passRate": "Interval of the pass rate; null for fewer than 5 sessions.",
    },
    "EntryPart": {
        "suite": "Pattern that matches the path of the suite.",
        "case": "Pattern that matches the id of the case.",
        "runner": "Pattern that matches the id of the runner.",
        "reason": "Reason for the quarantine.",
        "owner": (
            "Person or team that has to fix the case; null if --owner was not specified. The quarantine file requires "
            "an owner."
        ),
        "issue": "URL of the issue about the case.",
        "expires": "Last day of the quarantine, in UTC.",
    },
    "SuggestionPart": {
        "entry": "Entry for the quarantine file.",
    },
    "NotProposedPart": {
        "why": (
            "Why the execution is not proposed. changed: its inputs changed between its sessions. too-few: it has too "
            "few sessions or runs. no-pattern: no pattern in the quarantine file can match only this execution."
        ),
    },
    "SuggestDocument": {
        "runs": "Number of runs in the store.",
        "executions": "Number of executions in these runs.",
        "quarantined": "Number of executions that are already in quarantine.",
        "suggestions": "Flaky executions, each with the entry that puts it into quarantine.",
        "notProposed": "Executions whose sessions have different results but that are not proposed for quarantine.",
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
