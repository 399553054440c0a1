"""Descriptions of the keys of results files about rates and comparisons: of runs with a baseline, and of arms.

As in ``schema_texts_results``: Markdown, with links relative to docs/reference.
"""

from __future__ import annotations

from skillgym_action.results.statistics.rates import MIN_CASES

DESCRIPTIONS: dict[str, dict[str, str]] = {
    "RateEntry": {
        "cases": "Number of cases with judged sessions.",
        "unjudgedCases": "Number of cases without judged sessions, except cases whose executions were all skipped.",
        "sessions": (
            "Number of judged sessions of all cases together, without retries after a failure and without sessions of "
            "skipped executions."
        ),
        "casesLikeThese": (
            f"95% interval of the pass rate for other cases of this kind; null for fewer than {MIN_CASES} cases."
        ),
        "sameCases": "95% interval of the pass rate of these cases; it does not apply to other cases.",
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
        "baseCommit": "SHA of the commit of the baseline.",
        "verdict": "Result of the comparison.",
        "reason": "Reason for the result, as a sentence.",
        "pairs": "Number of compared pairs. A pair is an execution that was judged in both runs.",
        "before": "Mean pass rate of the pairs in the baseline; null if there are no pairs.",
        "after": "Mean pass rate of the pairs in this run; null if there are no pairs.",
        "p": "P-value of the statistical test over all pairs together; null if there are no pairs.",
        "dropAtMost": (
            "Upper bound of the decrease of the mean pass rate, with 95% confidence; null if there are no pairs."
        ),
        "coverage": (
            "Of the sessions that the run planned for executions that are in the baseline, the share that was judged."
        ),
        "newlyFailing": "Number of executions that the statistical tests report as newly failing.",
        "fixed": "Number of executions that the statistical tests report as fixed.",
        "changed": "Number of other executions whose share of passed sessions has changed, possibly by chance.",
        "noLongerJudged": "Number of executions that were judged in the baseline, but could not be judged in this run.",
        "redefined": (
            "Number of executions that were not compared because their prompt, assertions or expected result differ "
            "from those in the baseline."
        ),
        "added": "Number of executions that are only in this run.",
        "removed": "Number of executions that are only in the baseline.",
        "reused": "Number of results that were not compared because they were reused from earlier runs.",
        "differences": (
            "Differences between the two runs apart from their results, such as a different model; one sentence each."
        ),
    },
    "UpliftEntry": {
        "suite": "Path of the suite.",
        "runnerId": "Id of the runner, as configured.",
        "arm": "Name of the deciding arm.",
        "other": "Name of the arm with which the deciding arm is compared.",
        "verdict": "What the comparison shows about the deciding arm.",
        "share": (
            "Share of assertions that passed in the deciding arm, as a mean over cases; null if no cases were compared."
        ),
        "otherShare": (
            "Share of assertions that passed in the other arm, as a mean over cases; null if no cases were compared."
        ),
        "points": "`share` minus `otherShare`, in percentage points; null if no cases were compared.",
        "interval": f"95% interval of `points`; null if fewer than {MIN_CASES} cases were compared.",
        "complete": "Whether all cases that run in both arms were judged in both arms.",
        "fixed": "Ids of cases that passed in the deciding arm and failed in the other arm.",
        "newlyFailing": "Ids of cases that failed in the deciding arm and passed in the other arm.",
        "costUsd": "Cost of the compared cases in US dollars.",
        "tokens": "Tokens of the compared cases.",
        "durationMs": "Time of the compared cases in milliseconds.",
        "cases": "The compared cases, each with its shares of passed assertions.",
        "unjudged": (
            "Ids of cases that run in both arms, but were not judged in one of the arms or in both. The comparison is "
            "complete only if this list is empty."
        ),
        "uncompared": "Ids of cases that run only in the deciding arm.",
        "inBoth": "Assertions that passed in all sessions of both arms.",
        "inNone": "Assertions that failed in all sessions of both arms.",
    },
    "SpentEntry": {
        "deciding": "Sum over the compared cases in the deciding arm; null if unknown.",
        "other": "Sum over the compared cases in the other arm; null if unknown.",
        "ratio": (
            "The sum in the deciding arm divided by the sum in the other arm; null if one of the sums is unknown or "
            "the sum in the other arm is 0."
        ),
    },
    "ArmCaseEntry": {
        "caseId": "Id of the case, unique in its suite.",
        "deciding": "Share of the case's assertions that passed in the deciding arm, as a mean over sessions.",
        "other": "Share of the case's assertions that passed in the other arm, as a mean over sessions.",
    },
    "ArmAssertionEntry": {
        "caseId": "Id of the case, unique in its suite.",
        "assertion": "Name of the assertion.",
    },
}

EXAMPLES: dict[str, dict[str, list[object]]] = {}
