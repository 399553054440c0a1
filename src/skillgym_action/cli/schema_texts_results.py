"""Descriptions and examples of the keys of results files, for their JSON Schema and for docs/reference/results.md.

Descriptions are Markdown; links are relative to docs/reference.
"""

from __future__ import annotations

from skillgym_action.comparison.rates import MIN_CASES
from skillgym_action.limits import MAX_FINAL_OUTPUT_CHARACTERS

DESCRIPTIONS: dict[str, dict[str, str]] = {
    "Results": {
        "schema": "Version of the schema of this file.",
        "tool": "The program that wrote the file.",
        "run": "The run: when and how it ran, what it was compared with, and its verdict.",
        "totals": (
            "Sums and rates over all executions. Cost, tokens and retries include all executions; the other totals "
            "exclude executions in [quarantine](../how-to/flaky-cases.md) and in non-deciding "
            "[arms](../how-to/arms.md)."
        ),
        "runners": "The runners of the run, each with the totals of its executions.",
        "suites": "The suites of the run with their results, in the order of the plan.",
        "warnings": "Warnings of the run, such as near misses and unknown keys.",
    },
    "ToolEntry": {
        "name": "Name of the program.",
        "version": "Version of the program.",
    },
    "RunEntry": {
        "id": "Id of the run.",
        "status": "Whether the run finished, or was cancelled by a signal or by the cancellation of the job.",
        "startedAt": "Start of the run, in ISO 8601, UTC.",
        "endedAt": "End of the run, in ISO 8601, UTC.",
        "durationMs": "Time from start to end in milliseconds.",
        "command": "Command that wrote the file, such as `run`, `action`, `rejudge` or `report`.",
        "commit": "Commit of the checkout, in hexadecimal digits.",
        "mergeParents": (
            "The parents of `commit` if it is a merge commit, such as GitHub's test merge of a pull request."
        ),
        "shard": "The shard, such as `1/4`. Absent for a run without shards.",
        "planDigest": "SHA-256 of the stored plan to which the shard belongs, in hexadecimal digits.",
        "incomplete": "A sentence for each reason why results are missing, such as a missing shard.",
        "missingShards": "The missing shards of a merged run, such as `3/4`.",
        "stoppedEarly": (
            "True with `--stop-early`: each execution ended as soon as its status was certain. Rates then include only "
            "the first session of each execution."
        ),
        "stoppedForFutility": (
            "Set if the run ended early because a regression had become unlikely. Rates and `samples` then include "
            "only repetitions that ran in all executions."
        ),
        "suitesFrom": (
            "With [`--suites-from`](command-line.md#suites-of-another-commit): the folder, and how its suites differ "
            "from the suites of the checkout."
        ),
        "comparison": "The comparison with the baseline, if there is one.",
        "judge": "The [judge](configuration.md#the-judge), if it replied.",
        "limits": "Limits of sessions.",
        "uplifts": (
            "With [arms](../how-to/arms.md): comparisons of the deciding arm with each non-deciding arm, one for each "
            "suite and runner."
        ),
        "arms": "With [arms](../how-to/arms.md): sums for each arm.",
        "attempts": (
            "In a job on GitHub: the [attempts](../how-to/re-run-failed-jobs.md) of the job, the current attempt last."
        ),
        "unchanged": (
            "If nothing ran because [no skill](../how-to/arms.md#skills) or "
            "[no input of a case](../how-to/monorepo.md) has changed: a sentence with the reason."
        ),
        "selection": "With [`--changed-only`](../how-to/monorepo.md): the selected executions.",
        "slowed": ("A sentence for each provider that reported [rate limits](configuration.md#after-a-rate-limit)."),
        "triggers": (
            "Rates of [trigger queries](skills-under-test.md#trigger-queries), one entry for each suite and runner."
        ),
        "decision": "The verdict of the run; null before the tool has made it.",
    },
    "DecisionEntry": {
        "verdict": (
            "Verdict of the run. `not-gated`: no condition was applied that can fail the run. Absent in older files."
        ),
        "passed": "Whether the exit code is 0; also true if the verdict is `not-gated`.",
        "exitCode": "Exit code of the command.",
        "reasons": "A sentence for each reason for the verdict.",
    },
    "StoppedEntry": {
        "repetitions": "Number of repetitions of each execution after which the run ended.",
        "planned": "Planned number of repetitions of each execution.",
    },
    "SuitesFromEntry": {
        "folder": "The folder, as it was named on the command line.",
        "commit": "Commit of the folder, in hexadecimal digits, if it is known.",
        "added": "Paths of suites that exist only in the checkout. These suites did not run.",
        "changed": "Paths of suites that differ in the checkout. The suites of the folder ran.",
        "removed": "Paths of suites that are missing in the checkout. The suites of the folder ran.",
        "configurationDiffers": "Whether the configurations of folder and checkout differ.",
    },
    "LimitsEntry": {
        "defaultTimeout": "Time limit in seconds, for sessions without another time limit.",
        "timeout": "Time limit in seconds, if it is set for all sessions.",
        "maxSteps": "Maximum number of model rounds, if it is set for all sessions.",
        "onLimit": "Status of a session that exceeds its time, steps or budget.",
    },
    "ArmSpendingEntry": {
        "arm": "Name of the arm.",
        "executions": "Number of executions of the arm.",
        "sessions": "Number of sessions of these executions, including retries.",
        "costUsd": "Known part of the cost in US dollars; null if no cost is known.",
        "costComplete": "Whether the whole cost is known.",
        "tokens": "Tokens of all executions of the arm.",
        "durationMs": "Total time of all sessions in milliseconds.",
    },
    "TokensEntry": {
        "input": "Input tokens, including cached tokens; null if unknown.",
        "output": "Output tokens without reasoning tokens; null if unknown.",
        "reasoning": "Reasoning tokens; null if unknown.",
        "cache": "Input tokens that were read from a cache; null if unknown.",
        "total": "Input, output and reasoning tokens, without cached tokens; null if unknown.",
    },
    "TotalsEntry": {
        "executions": "Number of executions.",
        "judged": "Number of judged executions: neither `errored` nor `skipped`.",
        "passed": "Number of executions with the status `passed`.",
        "failed": "Number of executions with the status `failed`.",
        "expectedFailed": "Number of executions with the status `expected-failed`.",
        "unexpectedPassed": "Number of executions with the status `unexpected-passed`.",
        "errored": "Number of executions with the status `errored`.",
        "skipped": "Number of executions with the status `skipped`.",
        "passRate": "The [pass rate](../explanation/statistics.md#pass-rates); null if it includes no judged case.",
        "rate": "Details of the pass rate.",
        "flaky": "Number of [flaky](../how-to/flaky-cases.md) executions.",
        "costUsd": "Known part of the cost in US dollars; null if no cost is known.",
        "costComplete": "Whether the whole cost is known.",
        "tokens": "Tokens of all executions.",
        "retries": "Number of sessions that were retries.",
    },
    "RunnerEntry": {
        "id": "Id of the runner, as configured.",
        "agent": "Type of the agent.",
        "model": "Model as configured; null if the agent's CLI selects the model.",
        "version": "CLI version in the executions; null if it is unknown or if there are several versions.",
    },
    "RateEntry": {
        "cases": "Number of cases with judged sessions.",
        "unjudgedCases": "Number of cases without judged sessions.",
        "sessions": "Number of judged sessions.",
        "casesLikeThese": f"95 % interval for other cases of this kind; null for fewer than {MIN_CASES} cases.",
        "sameCases": "95 % interval for another run of the same cases.",
    },
    "IntervalEntry": {
        "low": "Lower bound of the interval.",
        "high": "Upper bound of the interval.",
    },
    "PointsInterval": {
        "low": "Lower bound of the interval, in percentage points.",
        "high": "Upper bound of the interval, in percentage points.",
    },
    "RegressionEntry": {
        "baseId": "Id of the run that is the baseline.",
        "baseCommit": "Commit of the baseline, in hexadecimal digits.",
        "verdict": "Result of the comparison.",
        "reason": "Reason for the result, as a sentence.",
        "pairs": "Number of compared pairs. A pair is a case on a runner that was judged in both runs.",
        "before": "Mean pass rate of the pairs in the baseline; null without pairs.",
        "after": "Mean pass rate of the pairs in this run; null without pairs.",
        "p": "P-value of the test of all pairs together; null without pairs.",
        "dropAtMost": "Upper bound of the drop of the pass rate, with 95 % confidence; null without pairs.",
        "coverage": "Judged share of the sessions of the executions in the baseline.",
        "newlyFailing": "Number of executions that the statistical tests report as newly failing.",
        "fixed": "Number of executions that the statistical tests report as fixed.",
        "changed": "Number of executions with a difference that may be chance.",
        "noLongerJudged": "Number of executions that were judged in the baseline, but not in this run.",
        "redefined": "Number of executions whose prompt, assertions or expected failure differ. They are not compared.",
        "added": "Number of executions that are only in this run.",
        "removed": "Number of executions that are only in the baseline.",
        "carried": "Number of results from earlier runs. They are not compared.",
        "differences": "A sentence for each difference between the runs besides the results, such as another model.",
    },
    "JudgeEntry": {
        "api": "Protocol of the model's service.",
        "model": "Name of the model as configured.",
        "versions": "Names of the model in the replies of the service.",
        "votes": "Number of answers to each question.",
    },
    "UpliftEntry": {
        "suite": "Path of the suite.",
        "runnerId": "Id of the runner, as configured.",
        "arm": "Name of the deciding arm.",
        "other": "Name of the arm with which it is compared.",
        "verdict": "What the comparison shows about the deciding arm.",
        "share": "Share of assertions that passed in the deciding arm, as a mean over cases; null without cases.",
        "otherShare": "Share of assertions that passed in the other arm, as a mean over cases; null without cases.",
        "points": "`share` minus `otherShare`, in percentage points; null without cases.",
        "interval": f"95 % interval of `points`; null for fewer than {MIN_CASES} cases.",
        "complete": "Whether all cases that run in both arms were judged in both.",
        "fixed": "Ids of cases that passed in the deciding arm and failed in the other arm.",
        "newlyFailing": "Ids of cases that failed in the deciding arm and passed in the other arm.",
        "costUsd": "Cost of the compared cases in US dollars.",
        "tokens": "Tokens of the compared cases.",
        "durationMs": "Time of the compared cases in milliseconds.",
        "cases": "The compared cases.",
        "unjudged": (
            "Ids of cases that run in both arms but were not judged in both. The comparison is then incomplete."
        ),
        "uncompared": "Ids of cases that run only in the deciding arm.",
        "inBoth": "Assertions that passed in all sessions of both arms.",
        "inNone": "Assertions that passed in no session of either arm.",
    },
    "SpentEntry": {
        "deciding": "Sum in the deciding arm; null if unknown.",
        "other": "Sum in the other arm; null if unknown.",
        "ratio": "The sum in the deciding arm divided by the sum in the other arm; null if unknown.",
    },
    "ArmCaseEntry": {
        "caseId": "Id of the case, unique in its suite.",
        "deciding": "Share of assertions that passed in the deciding arm, as a mean over sessions.",
        "other": "Share of assertions that passed in the other arm, as a mean over sessions.",
    },
    "ArmAssertionEntry": {
        "caseId": "Id of the case, unique in its suite.",
        "assertion": "Name of the assertion.",
    },
    "AttemptShareEntry": {
        "number": "Number of the attempt.",
        "sessions": "Number of its sessions in this file.",
        "costUsd": "Cost of these sessions in US dollars; null if unknown.",
        "repeated": "Number of its sessions that are not in this file because a later attempt ran them again.",
        "repeatedCostUsd": "Cost of the repeated sessions in US dollars; null if unknown.",
    },
    "SelectionEntry": {
        "selected": "Number of selected executions.",
        "total": "Number of all executions.",
        "reason": "Reason for the selection, as a sentence.",
        "base": "Commit with which files were compared, in hexadecimal digits.",
        "leftOut": (
            "Number of executions that are not in the run because they were not selected and no earlier result was "
            "used."
        ),
        "unstored": (
            "Number of executions that were not selected, but ran because the store contains no result of them."
        ),
    },
    "TriggerRatesEntry": {
        "suite": "Path of the suite.",
        "runnerId": "Id of the runner, as configured.",
        "queries": "Number of trigger queries.",
        "runs": "Number of judged runs of these queries.",
        "recall": "Of the runs that should load the skill, the share that loaded it; null without such runs.",
        "precision": "Of the runs that loaded the skill, the share that should load it; null without such runs.",
        "accuracy": "Of all judged runs, the share that did what was expected; null without such runs.",
    },
    "ShareEntry": {
        "rate": "Share of these runs.",
        "low": "Lower bound of the 95 % interval.",
        "high": "Upper bound of the 95 % interval.",
    },
    "SuiteEntry": {
        "path": "Path of the suite, relative to the root of the repository.",
        "name": "Name of the suite.",
        "format": "Format of the suite.",
        "digest": (
            "SHA-256 of the suite file, in hexadecimal digits. For an AgentV suite with tests in other files: SHA-256 "
            "of the list of these files and their digests."
        ),
        "templateDigest": "SHA-256 of the list of files in the workspace templates, in hexadecimal digits.",
        "changed": (
            "After a [comparison](command-line.md#suites-of-stored-runs) with a checkout: how the suite differs. "
            "`unidentified`: the results contain no digest. `not-compared`: there is no commit to compare with."
        ),
        "results": "An entry for each execution.",
        "otherArms": (
            "Results in non-deciding [arms](../how-to/arms.md). Totals include only the cost, tokens and retries of "
            "these results."
        ),
        "quarantined": (
            "Results in [quarantine](../how-to/flaky-cases.md). Totals include only the cost, tokens and retries of "
            "these results."
        ),
    },
    "ResultEntry": {
        "index": (
            "Position of the execution in the plan, from 0; in merged runs of several plans, the position in the file."
        ),
        "caseId": "Id of the case, unique in its suite.",
        "title": "Title of the case, if the suite sets one.",
        "arm": "Name of the arm, if the suite has arms.",
        "runnerId": "Id of the runner; null for an invalid case.",
        "tags": "Tags of the case, including those of its suite.",
        "location": "Location of the case.",
        "status": "The [status](#statuses) of the execution.",
        "passed": "Whether the execution is green.",
        "expectedFail": "Whether the case expects a failure.",
        "score": "If the case has a threshold and could be judged: score of the case, 0 to 1.",
        "threshold": "Threshold of the case, if it has one and could be judged.",
        "failureOrigin": "Component from which the failure came, such as `assertion`, `runner` or `limit`.",
        "failureClass": "The [failure class](#failure-classes) of the execution, if it has one.",
        "error": "The reason, if the status is not `passed`.",
        "outcomes": "Outcomes of the assertions in the session that decided the status.",
        "durationMs": (
            "Time of a session in milliseconds: the mean over green sessions or, if no session is green, over the last "
            "session of each repetition."
        ),
        "usage": "Tokens and characters of a session: means over the same sessions as in `durationMs`.",
        "costUsd": (
            "Cost in US dollars of all sessions together, including questions to the [judge]"
            "(configuration.md#the-judge); null if a part of it is unknown."
        ),
        "costSource": (
            "Source of the cost: `reported` by the agent, or `computed`: at least a part, such as the cost of the "
            "judge, is computed from prices."
        ),
        "model": (
            "Model that the agent reports or, if it reports none, the model with which it was started; null if both "
            "are unknown."
        ),
        "version": "CLI version that the agent reports.",
        "sessionId": "Session id of the last session, as the agent reports it.",
        "attempts": "All sessions of the execution, in order; empty for a carried result.",
        "samples": "Numbers of sessions, if several sessions were judged.",
        "flaky": "Whether the execution is [flaky](../how-to/flaky-cases.md).",
        "findings": (
            "[Leaked keys](#leaked-keys) and [text that addresses the judge](#text-that-addresses-the-judge)."
        ),
        "trigger": "For a [trigger query](skills-under-test.md#trigger-queries): numbers of its runs.",
        "quarantine": "For a result in [quarantine](../how-to/flaky-cases.md): the entry in the quarantine file.",
        "inputs": (
            "With a [store](command-line.md#baselines): digests that show whether the inputs of two runs are equal. "
            "Each digest has 16 hexadecimal digits."
        ),
        "carried": (
            "For a result that was [carried over from the store](command-line.md#reusing-results): the earlier run. "
            "Such a result has empty `attempts` and `outcomes`, and its own `costUsd` is null."
        ),
        "artifactDir": "Folder of the artifacts, relative to the run directory; null if there are none.",
        "prompt": "The prompt of the case.",
        "finalOutput": f"The last {MAX_FINAL_OUTPUT_CHARACTERS:,} characters of the final output.",
    },
    "LocationEntry": {
        "path": "Path of the file, relative to the root of the repository.",
        "line": "Line in the file, from 1.",
        "column": "Column in the line, from 1.",
    },
    "FailureClassEntry": {
        "id": "Id of the class.",
        "label": "Name of the class in reports.",
    },
    "ErrorEntry": {
        "name": "Kind of the failure.",
        "message": "Description of the failure.",
        "location": "Location of the failure, if it is known and inside the repository.",
    },
    "OutcomeEntry": {
        "assertion": "Name of the assertion.",
        "type": "Type of the assertion.",
        "passed": "Whether the assertion passed; null if it could not be evaluated.",
        "score": "If the case has a threshold: score of the assertion, 0 to 1.",
        "weight": "Weight of this score in the score of the case.",
        "explanation": "Why the assertion passed or failed.",
        "evidence": "Evidence for the explanation, such as lines of a file.",
        "location": "Where the assertion is defined.",
        "failureClass": "The failure class that the suite sets.",
        "vacuous": "True if the assertion passed but [measures nothing](x-bench.md#verdict).",
        "advisory": (
            "True if the outcome is only shown in reports and [does not affect](skill-evals.md#assertions) the status."
        ),
        "judge": "The judge, if it answered.",
        "votes": (
            "With several votes, an entry for each vote: whether the assertion passed, or null if there was no usable "
            "answer."
        ),
    },
    "UsageEntry": {
        "inputTokens": "Input tokens, including cached tokens; null if unknown.",
        "outputTokens": "Output tokens without reasoning tokens; null if unknown.",
        "reasoningTokens": "Reasoning tokens; null if unknown.",
        "cacheTokens": "Input tokens that were read from a cache; null if unknown.",
        "totalTokens": "Input, output and reasoning tokens, without cached tokens; null if unknown.",
        "inputChars": "Number of characters of the agent's input.",
        "outputChars": "Number of characters of the agent's output.",
        "reasoningChars": "Number of characters of the agent's reasoning.",
    },
    "AttemptEntry": {
        "repetition": "Number of the repetition, from 1.",
        "session": "Number of the session in its repetition, from 1; 2 is the first retry.",
        "status": "Status of the session.",
        "failureClass": "Failure class of the session.",
        "message": "The reason, if the status is not `passed`.",
        "durationMs": "Time of the session in milliseconds.",
        "artifactDir": "Folder of the session's artifacts, relative to the run directory.",
        "held": (
            "In an arm, an entry for each [compared](../how-to/arms.md#what-is-reported) assertion: whether the "
            "comparison counts it as passed, or null if it could not be evaluated."
        ),
        "score": "Score of the session, 0 to 1, if the case has a threshold.",
        "runAttempt": (
            "In a job on GitHub, the number of the [job attempt](../../GLOSSARY.md) in which the session ran."
        ),
    },
    "SamplesEntry": {
        "passed": "Number of judged sessions that passed.",
        "judged": "Number of judged sessions, without retries after a failure.",
    },
    "FindingEntry": {
        "id": "What was found. A leaked key is replaced with asterisks in the artifact.",
        "kind": "Kind of the key, or of the text.",
        "where": "Path in the session's folder; for a text, also the name of the text in the question.",
    },
    "TriggerEntry": {
        "shouldTrigger": "Whether the skill should be loaded.",
        "loaded": "Number of judged runs in which the skill was loaded.",
        "judged": "Number of judged runs.",
    },
    "QuarantineItem": {
        "reason": "Reason for the quarantine.",
        "owner": "Who has to fix the case.",
        "expires": "Last day of the quarantine, in UTC.",
        "issue": "Address of the issue.",
    },
    "InputsEntry": {
        "prompt": "Digest of the prompt.",
        "assertions": "Digest of the assertions.",
        "workspace": "Digest of the inputs of the workspace.",
        "program": "Digest of the suite, if the suite is a program.",
        "whole": (
            "Digest of everything that the sessions and their judgement depend on. An execution can "
            "[reuse](command-line.md#reusing-results) an earlier result with the same digest. Absent if a part of the "
            "input is unknown."
        ),
    },
    "CarriedEntry": {
        "commit": "Commit of the earlier run, in hexadecimal digits.",
        "at": "Start time of the earlier run, in ISO 8601, UTC.",
        "samples": "For each judged repetition, whether it passed.",
        "link": "Address of the earlier run.",
        "costUsd": "Cost of the sessions in the earlier run, in US dollars.",
    },
    "WarningEntry": {
        "path": "Path of the file, relative to the root of the repository.",
        "line": "Line in the file, from 1.",
        "column": "Column in the line, from 1.",
        "message": "What should be fixed.",
    },
}
"""Definition of the schema -> key -> what it is, with its unit and what null means."""

EXAMPLES: dict[str, dict[str, list[object]]] = {
    "RunEntry": {
        "startedAt": ["2026-03-01T08:15:30Z"],
        "endedAt": ["2026-03-01T08:19:02Z"],
        "command": ["run"],
        "shard": ["2/4"],
        "missingShards": [["3/4"]],
    },
    "RunnerEntry": {
        "id": ["claude"],
        "agent": ["claude-code"],
        "model": ["claude-sonnet-4-6"],
    },
    "SuiteEntry": {
        "path": ["bench/core.bench.json"],
        "format": ["x-bench"],
    },
    "ResultEntry": {
        "failureOrigin": ["assertion", "runner", "limit"],
        "artifactDir": ["core/add-tests/claude"],
    },
    "FailureClassEntry": {
        "id": ["assertion", "rate-limit"],
        "label": ["Rate limit"],
    },
    "OutcomeEntry": {
        "assertion": ["file:out.txt exists"],
    },
    "FindingEntry": {
        "kind": ["anthropic", "instructions"],
        "where": ["judge-1.json: final answer"],
    },
    "QuarantineItem": {
        "expires": ["2026-12-15"],
    },
    "CarriedEntry": {
        "at": ["2026-03-01T08:15:30Z"],
    },
}
"""Definition of the schema -> key -> values that it may have."""
