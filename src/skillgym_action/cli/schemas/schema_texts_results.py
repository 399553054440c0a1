"""Descriptions and examples of the keys of results files, for their JSON Schema and for docs/reference/results.md.

Descriptions are Markdown; links are relative to docs/reference.
"""

from __future__ import annotations

from skillgym_action.model.limits import MAX_FINAL_OUTPUT_CHARACTERS

DESCRIPTIONS: dict[str, dict[str, str]] = {
    "Results": {
        "schema": "Version of the schema of this file.",
        "tool": "The program that wrote the file.",
        "run": "The run: when and how it ran, what it was compared with, and its verdict.",
        "totals": (
            "Sums and rates over the executions of the run. Cost, tokens and retries include all executions; all other "
            "values exclude executions in [quarantine](../how-to/flaky-cases.md) and in non-deciding "
            "[arms](../how-to/arms.md)."
        ),
        "runners": "The runners of the run, each with the totals of its executions.",
        "suites": "The suites of the run with their results, in the order of the plan.",
        "warnings": (
            "Warnings of the run, such as a warning about an unknown key, or about a file that is probably intended "
            "as a suite but does not run."
        ),
    },
    "ToolEntry": {
        "name": "Name of the program.",
        "version": "Version of the program.",
    },
    "RunEntry": {
        "id": "Id of the run: the name of its run directory.",
        "status": "`finished`, or `cancelled` if a signal or the cancellation of the job ended the run.",
        "startedAt": "Start time of the run, in ISO 8601, UTC.",
        "endedAt": "End time of the run, in ISO 8601, UTC.",
        "durationMs": "Duration of the run in milliseconds.",
        "command": "Command that wrote the file, such as `run`, `action`, `rejudge` or `report`.",
        "commit": "SHA of the checked-out commit.",
        "mergeParents": (
            "SHAs of the parents of `commit`, if it is a merge commit, such as GitHub's test merge of a pull request."
        ),
        "shard": "The shard that the run executed, such as `1/4`; absent if the run has no shards.",
        "planDigest": "SHA-256 of the stored plan to which the shard belongs, in hexadecimal digits.",
        "wholePlan": (
            "For a shard: the plan of all shards, before it was divided. Shards with different plans are not [one "
            "run](../how-to/shards.md#shards-with-different-plans)."
        ),
        "incomplete": "Reasons why results are missing, such as a missing shard, one sentence each.",
        "missingShards": (
            "Shards that are missing in a merged run, such as `3/4`, and shards that are from another plan than most "
            "shards."
        ),
        "adaptive": (
            "With [`repeat: auto`](../explanation/statistics.md#repeat-auto): how the run decided. Rates and `samples` "
            "then include only the first session of each execution."
        ),
        "suitesFrom": (
            "With [`--suites-from`](command-line.md#suites-of-another-commit): the folder from which the suites were "
            "read, and how these suites differ from the suites of the checkout."
        ),
        "comparison": "The comparison with the baseline, if there is one.",
        "judge": "The [judge](configuration.md#the-judge) of the run, if it replied.",
        "limits": "Limits that apply to the sessions of the run.",
        "uplifts": (
            "With [arms](../how-to/arms.md): comparisons of the deciding arm with the other arms, one for each suite, "
            "runner and non-deciding arm."
        ),
        "arms": "With [arms](../how-to/arms.md): cost, tokens, time and number of executions of each arm.",
        "attempts": (
            "In a job on GitHub: the [attempts](../how-to/re-run-failed-jobs.md) of this job, with the current attempt "
            "last."
        ),
        "unchanged": (
            "Present only if nothing ran because [no skill](../how-to/arms.md#skills) or "
            "[no input of a case](../how-to/monorepo.md) has changed: the reason, as a sentence."
        ),
        "selection": "With [`--changed-only`](../how-to/monorepo.md): how many executions were selected, and why.",
        "plugIns": "The [plug-ins](../how-to/plug-ins.md) that the run used.",
        "slowed": "One sentence for each provider that reported [rate limits](configuration.md#after-a-rate-limit).",
        "triggers": (
            "Rates of [trigger queries](skills-under-test.md#trigger-queries), one entry for each suite and runner."
        ),
        "decision": "The verdict of the run, with its reasons; null if the tool has not determined the verdict yet.",
    },
    "DecisionEntry": {
        "verdict": (
            "Verdict of the run. `not-gated`: no condition that can fail the run was applied. `unverified`: the "
            "results are those of an untrusted commit, and were only [shown](../how-to/public-repositories.md). Absent "
            "in files of earlier versions of the tool."
        ),
        "passed": (
            "Whether the exit code is 0; also true if the verdict is `not-gated`, and false if it is `unverified`."
        ),
        "exitCode": "Exit code of the command.",
        "reasons": "Reasons for the verdict, one sentence each.",
    },
    "SideCountsEntry": {
        "controlPassed": "Sessions of the base commit that passed.",
        "controlJudged": "Sessions of the base commit that were judged.",
        "headPassed": "Sessions of this run that passed.",
        "headJudged": "Sessions of this run that were judged.",
    },
    "CheckedPairEntry": {
        "suite": "Path of the suite.",
        "caseId": "ID of the case.",
        "runnerId": "ID of the runner.",
        "beside": "Its sessions beside those of the base commit.",
    },
    "LookEntry": {
        "phase": (
            "`screen`: all executions against the store. `cases`: suspicious executions alone. `suite`: all executions "
            "beside the base commit. `stored`: all executions against the store, without a check side by side."
        ),
        "round": "Number of complete rounds of the phase.",
        "pairs": "Number of executions that the look includes.",
        "p": "Probability of results as bad as these, or worse, if nothing has changed.",
        "level": "The value that `p` must not exceed for a regression; `null`: this look cannot find a regression.",
        "outcome": "Result of the look.",
    },
    "SessionCountsEntry": {
        "screen": "Sessions that were compared with the store.",
        "control": "Sessions of the base commit.",
        "head": "Sessions of this run beside those of the base commit.",
        "most": "Maximum number of all these sessions.",
    },
    "ControlEntry": {"commit": "SHA of the base commit."},
    "AdaptiveEntry": {
        "mode": (
            "`screen`: comparison with the store first, and a check side by side before a regression. `side-by-side`: "
            "the base commit beside the head from the start. `stored`: comparison with the store alone."
        ),
        "why": "Reason for the mode or for an undecided check; may be empty.",
        "check": (
            "`cleared`: nothing is suspicious. `not-confirmed`: the base commit does no better. `confirmed` and "
            "`side-by-side`: a regression beside the base commit. `not-checked`: a regression against the store alone. "
            "`undecided`: the check was not finished."
        ),
        "control": "The base commit whose files were used for the sessions of the arm `base`.",
        "suspects": "Executions that were checked alone.",
        "suite": "Whether all executions together were in question.",
        "sessions": "Numbers of sessions of the compared executions.",
        "looks": "All looks, in their order.",
        "named": "Executions that are worse.",
        "beside": "Sessions of the last phase in which base commit and head took turns.",
    },
    "SuitesFromEntry": {
        "folder": "Path of the folder, as specified on the command line.",
        "commit": "SHA of the commit that the folder contains, if it is known.",
        "added": "Paths of suites that exist only in the checkout. These suites did not run.",
        "changed": "Paths of suites that differ between the folder and the checkout. The versions in the folder ran.",
        "removed": "Paths of suites that exist only in the folder. These suites ran.",
        "configurationDiffers": "Whether the configuration in the folder differs from that in the checkout.",
    },
    "LimitsEntry": {
        "defaultTimeout": "Time limit, in seconds, of a session for which no suite, case or runner sets a time limit.",
        "timeout": "Time limit of a session, in seconds, if one was set for all sessions.",
        "maxSteps": "Maximum number of model rounds of a session, if one was set for all sessions.",
        "onLimit": "Status of a session that exceeds its limit of time, steps or cost.",
    },
    "WholePlanEntry": {
        "executions": "Number of executions in all shards, including invalid cases.",
        "digest": (
            "SHA-256 of the list of the executions in all shards (suite, case, runner, arm and, if the case sets its "
            "own number of repetitions, this number), in hexadecimal digits."
        ),
        "repeat": "Number of repetitions of a case that does not set its own number.",
        "require": "Number of repetitions of a case that must pass, `all` or `any`.",
        "retry": "Number of retries of a repetition with failed assertions.",
    },
    "ArmSpendingEntry": {
        "arm": "Name of the arm.",
        "executions": "Number of executions of the arm.",
        "sessions": "Number of sessions of the arm, including retries.",
        "costUsd": "Known part of the cost in US dollars; null if no cost is known.",
        "costComplete": "Whether the whole cost is known.",
        "tokens": "Tokens of all executions of the arm: the sums of the values in their `usage`.",
        "durationMs": "Total time of all sessions of the arm in milliseconds.",
    },
    "TokensEntry": {
        "input": "Input tokens, including cached tokens; null if unknown.",
        "output": "Output tokens without reasoning tokens; null if unknown.",
        "reasoning": "Reasoning tokens; null if unknown.",
        "cache": "Input tokens that were read from a cache; null if unknown.",
        "total": "Input, output and reasoning tokens, without cached tokens; null if unknown.",
    },
    "TotalsEntry": {
        "executions": "Number of executions, excluding those in quarantine and those in non-deciding arms.",
        "judged": "Number of executions that were judged: those that are neither `errored` nor `skipped`.",
        "passed": "Number of executions with the status `passed`.",
        "failed": "Number of executions with the status `failed`.",
        "expectedFailed": "Number of executions with the status `expected-failed`.",
        "unexpectedPassed": "Number of executions with the status `unexpected-passed`.",
        "errored": "Number of executions with the status `errored`.",
        "skipped": "Number of executions with the status `skipped`.",
        "passRate": "The [pass rate](../explanation/statistics.md#pass-rates); null if it includes no judged case.",
        "rate": (
            "Data about the pass rate: the numbers of cases and sessions, and the 95 % intervals. Cases that are "
            "expected to fail are not included."
        ),
        "flaky": "Number of [flaky](../how-to/flaky-cases.md) executions.",
        "costUsd": "Known part of the cost in US dollars; null if no cost is known.",
        "costComplete": "Whether the whole cost is known.",
        "tokens": "Tokens of all executions: the sums of the values in their `usage`.",
        "retries": "Number of sessions that were retries.",
    },
    "RunnerEntry": {
        "id": "Id of the runner, as configured.",
        "agent": "Type of the agent.",
        "model": (
            "Model as configured or, if the agent's CLI selects the model, the first model that an execution reports; "
            "null if unknown."
        ),
        "version": "Version of the agent's CLI: the first version that an execution reports; null if unknown.",
    },
    "PlugInEntry": {
        "kind": "What the plug-in adds.",
        "name": "Name in the tool, such as that of the agent.",
        "package": "Name of the Python package.",
        "version": "Version of the package.",
    },
    "JudgeEntry": {
        "api": "API protocol of the service that runs the model.",
        "model": "Name of the model as configured.",
        "versions": "Model names that the service reported in its replies.",
        "votes": "Number of answers that were requested for each question.",
    },
    "AttemptShareEntry": {
        "number": "Number of the attempt, counted from 1.",
        "sessions": "Number of sessions of the attempt that are in this file.",
        "costUsd": "Cost of the sessions of the attempt that are in this file, in US dollars; null if unknown.",
        "repeated": (
            "Number of sessions of the attempt that are not in this file because a later attempt ran them again."
        ),
        "repeatedCostUsd": "Cost of the repeated sessions in US dollars; null if unknown.",
    },
    "SelectionEntry": {
        "selected": "Number of executions that were selected.",
        "total": "Number of executions in the plan before the selection.",
        "reason": "Reason for the selection, as a sentence.",
        "base": "SHA of the commit with which the files of the checkout were compared.",
        "leftOut": (
            "Number of executions that are not in the run because they were not selected and no earlier result was "
            "used for them."
        ),
        "unstored": (
            "Number of executions that were not selected, but ran because the store contained no result for them."
        ),
    },
    "TriggerRatesEntry": {
        "suite": "Path of the suite.",
        "runnerId": "Id of the runner, as configured.",
        "queries": "Number of trigger queries.",
        "runs": "Number of judged repetitions of these queries.",
        "recall": (
            "Of the judged repetitions in which the agent should load the skill, the share in which it did; null if "
            "there are no such repetitions."
        ),
        "precision": (
            "Of the judged repetitions in which the agent loaded the skill, the share in which it should load it; null "
            "if there are no such repetitions."
        ),
        "accuracy": "Of all judged repetitions, the share with the expected result; null if there are none.",
    },
    "ShareEntry": {
        "rate": "The measured share.",
        "low": "Lower bound of the 95 % interval of the share.",
        "high": "Upper bound of the 95 % interval of the share.",
    },
    "SuiteEntry": {
        "path": "Path of the suite, relative to the root of the repository.",
        "name": "Name of the suite.",
        "format": "Format of the suite.",
        "digest": (
            "SHA-256 of the suite file, in hexadecimal digits. For an AgentV suite with tests in other files: SHA-256 "
            "of the list of these files and their digests."
        ),
        "templateDigest": (
            "SHA-256 of the list of the files in the workspace templates and their digests, in hexadecimal digits."
        ),
        "changed": (
            "After a [comparison](command-line.md#suites-of-stored-runs) with a checkout: how the suite differs from "
            "the suite in the checkout. `differs`: it has another digest, or none. `added`: it is not in the checkout."
        ),
        "results": "Results of the suite, one entry for each execution.",
        "otherArms": (
            "Results in non-deciding [arms](../how-to/arms.md). The totals include only the cost, the tokens and the "
            "retries of these results."
        ),
        "quarantined": (
            "Results in [quarantine](../how-to/flaky-cases.md). The totals include only the cost, the tokens and the "
            "retries of these results."
        ),
    },
    "ResultEntry": {
        "index": (
            "Position of the execution in the plan, counted from 0; in merged runs of several plans, the position in "
            "the file."
        ),
        "caseId": "Id of the case, unique in its suite.",
        "title": "Title of the case, if the suite sets one.",
        "metadata": "Metadata of the case, if the suite sets some: keys and values of the author's choice.",
        "arm": "Name of the arm, if the suite has arms.",
        "runnerId": "Id of the runner; null for an invalid case.",
        "tags": "Tags of the case, including those of its suite.",
        "location": "Location at which the case is defined.",
        "status": "The [status](#statuses) of the execution.",
        "passed": "Whether the execution is green.",
        "expectedFail": "Whether the case expects a failure.",
        "score": "Score of the case, 0 to 1, if the case has a threshold and could be judged.",
        "threshold": "Threshold of the case, if the case has one and could be judged.",
        "failureOrigin": "Origin of the failure, such as `assertion`, `runner` or `limit`.",
        "failureClass": "The [failure class](#failure-classes) of the execution, if it has one.",
        "error": "The reason for the status, if the status is not `passed`.",
        "outcomes": "Outcomes of the assertions in the session that decided the status.",
        "durationMs": (
            "Mean duration of the green sessions in milliseconds or, if no session is green, of the last session of "
            "each repetition."
        ),
        "usage": "Mean numbers of tokens and characters of a session, over the same sessions as in `durationMs`.",
        "costUsd": (
            "Total cost of all sessions in US dollars, including questions to the [judge]"
            "(configuration.md#the-judge); null if a part of this cost is unknown."
        ),
        "costSource": (
            "Source of the cost. `reported`: the agent reported the cost. `computed`: at least a part of it, such as "
            "the cost of the judge, was computed from prices."
        ),
        "model": (
            "Model that the agent reports or, if it reports none, the model with which it was started; null if both "
            "are unknown."
        ),
        "version": "Version of the agent's CLI, as the agent reports it.",
        "sessionId": "Id of the session that decided the status, as the agent reports it.",
        "attempts": "All sessions of the execution, in the order in which they ran; empty for a reused result.",
        "samples": "Counts of passed and judged sessions without retries; present only if there are several of them.",
        "flaky": "Whether the execution is [flaky](../how-to/flaky-cases.md).",
        "findings": (
            "Findings: [leaked keys](#leaked-keys), "
            "[text that addresses the judge](#text-that-addresses-the-judge), and differences of the "
            "[environment](#environment-of-a-session)."
        ),
        "trigger": (
            "For a [trigger query](skills-under-test.md#trigger-queries): in how many repetitions the agent loaded the "
            "skill."
        ),
        "quarantine": "For a result in [quarantine](../how-to/flaky-cases.md): the entry in the quarantine file.",
        "inputs": (
            "With a [store](command-line.md#baselines): digests that show whether the inputs of two runs are equal. "
            "Each digest has 16 hexadecimal digits."
        ),
        "reused": (
            "For a result that was [reused from the store](command-line.md#reusing-results): the earlier run. "
            "Such a result has empty `attempts` and `outcomes`, and its own `costUsd` is null."
        ),
        "artifactDir": (
            "Folder with the artifacts of the session that decided the status, relative to the run directory; null if "
            "there are no artifacts."
        ),
        "prompt": "The prompt of the case.",
        "finalOutput": f"The last {MAX_FINAL_OUTPUT_CHARACTERS:,} characters of the agent's final output.",
    },
    "LocationEntry": {
        "path": "Path of the file, relative to the root of the repository.",
        "line": "Line number in the file, counted from 1.",
        "column": "Column number in the line, counted from 1.",
    },
    "FailureClassEntry": {
        "id": "Id of the failure class.",
        "label": "Name of the failure class in reports.",
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
        "score": "Score of the assertion, 0 to 1, if the case has a threshold.",
        "weight": "Weight of the assertion's score in the score of the case.",
        "explanation": "Why the assertion passed or failed, or could not be evaluated.",
        "evidence": "Evidence for the explanation, such as lines of a file.",
        "location": "Location at which the assertion is defined.",
        "failureClass": "The failure class that the suite sets for the assertion.",
        "vacuous": "True if the assertion passed but [measures nothing](x-bench.md#verdict).",
        "advisory": (
            "True if the outcome is only shown in reports and [does not affect](skill-evals.md#assertions) the status."
        ),
        "judge": "The judge that was asked about the assertion, if it answered.",
        "votes": (
            "If the judge was asked for several votes: for each vote, whether the assertion passed, or null if there "
            "was no usable answer."
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
        "repetition": "Number of the repetition, counted from 1.",
        "session": "Number of the session in its repetition, counted from 1; number 2 is the first retry.",
        "status": "Status of the session.",
        "failureClass": "Failure class of the session, if it has one.",
        "message": "The reason for the status, if the status is not `passed`.",
        "durationMs": "Duration of the session in milliseconds.",
        "artifactDir": "Folder of the session's artifacts, relative to the run directory.",
        "held": (
            "With arms: for each [compared](../how-to/arms.md#what-is-reported) assertion, whether the comparison "
            "counts it as passed, or null if it could not be evaluated."
        ),
        "score": "Score of the session, 0 to 1, if the case has a threshold.",
        "runAttempt": (
            "In a job on GitHub, the number of the [job attempt](../../GLOSSARY.md) in which the session ran."
        ),
        "phase": "With `repeat: auto`: whether the session was part of the screen, or ran beside the base commit.",
    },
    "SamplesEntry": {
        "passed": "Number of judged sessions that passed, without retries after a failure.",
        "judged": "Number of judged sessions, without retries after a failure.",
    },
    "FindingEntry": {
        "id": (
            "What was found: a leaked key, text that addresses the judge, another model than the one asked for, an MCP "
            "server that could not be used, work in the background that was not waited for, or a process that did not "
            "end with exit code 0 after its result. In the artifact, a leaked key is replaced with `***`."
        ),
        "kind": (
            "Kind of the leaked key, or of the text that addresses the judge; otherwise which model answered instead "
            "of which, the name of the server, the work, or how the process ended."
        ),
        "where": (
            "Path of the artifact in the session's folder. For `addresses-judge`, the path is followed by the name of "
            "the text in the question."
        ),
    },
    "TriggerEntry": {
        "shouldTrigger": "Whether the skill should be loaded.",
        "loaded": "Number of judged repetitions in which the agent loaded the skill.",
        "judged": "Number of judged repetitions.",
    },
    "QuarantineItem": {
        "reason": "Reason for the quarantine.",
        "owner": "Person or team that has to fix the case.",
        "expires": "Last day of the quarantine, in UTC.",
        "issue": "URL of the issue about the case.",
    },
    "InputsEntry": {
        "prompt": "Digest of the prompt.",
        "assertions": "Digest of the assertions.",
        "workspace": "Digest of the settings and files from which the workspace is created.",
        "program": "Digest of the suite, if the suite is a program.",
        "whole": (
            "Digest of all inputs on which the sessions and their judgement depend. An execution can "
            "[reuse](command-line.md#reusing-results) an earlier result with the same digest. Absent if a part of the "
            "inputs is unknown."
        ),
        "plugIns": "The plug-ins of the agent, the format and the sandbox, with their packages and versions.",
    },
    "ReusedEntry": {
        "commit": "SHA of the commit of the earlier run.",
        "at": "Start time of the earlier run, in ISO 8601, UTC.",
        "samples": "For each judged repetition of the execution in the earlier run, whether it passed.",
        "link": "URL of the earlier run.",
        "costUsd": "Cost of the sessions in the earlier run, in US dollars.",
    },
    "WarningEntry": {
        "path": "Path of the file that the warning is about, relative to the root of the repository.",
        "line": "Line number in the file, counted from 1.",
        "column": "Column number in the line, counted from 1.",
        "message": "Text of the warning.",
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
    "ReusedEntry": {
        "at": ["2026-03-01T08:15:30Z"],
    },
}
"""Definition of the schema -> key -> values that it may have."""
