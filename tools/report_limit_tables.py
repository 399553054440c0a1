"""Tables of the limits of stored runs and of reports, made of the constants."""

from __future__ import annotations

from jinja2.sandbox import MAX_RANGE

from limit_rows import HEAD, Row
from skillgym_action import limits
from skillgym_action.agents.replay_player import MAX_FILE_CHARACTERS
from skillgym_action.model.resource_limits import format_size

RUNS: tuple[Row, ...] = (
    HEAD,
    (
        "size of a results file",
        (
            f"{limits.MAX_RESULTS_BYTES:,} bytes; {limits.MAX_RESULTS_ROWS:,} results and warnings together; "
            f"{limits.MAX_RESULTS_OBJECTS:,} objects"
        ),
    ),
    (
        "size of each result, and of each other part of a results file",
        (
            f"{limits.MAX_RESULTS_ROW_CHARACTERS:,} characters; {limits.MAX_RESULTS_CONTAINERS:,} lists and objects; "
            f"{limits.MAX_RESULTS_VALUES:,} values; {limits.MAX_RESULTS_MEMBERS:,} members of an object"
        ),
    ),
    (
        "extent of a search for stored runs",
        (
            f"{limits.MAX_MATCHED_RUNS:,} matching runs; {limits.MAX_SEARCHED_ENTRIES:,} files and folders; "
            f"{limits.MAX_SEARCHED_LEVELS} levels of folders"
        ),
    ),
    ("number of [shards](../how-to/shards.md) of a plan", f"{limits.MAX_SHARDS}"),
    (
        "size of a stored plan",
        f"{limits.MAX_PLANNED_EXECUTIONS:,} executions and {limits.MAX_PLAN_BYTES:,} bytes",
    ),
    (
        "size of a [store](../how-to/compare-with-a-baseline.md) of type `branch` or `path`",
        f"{format_size(limits.MAX_STORE_BYTES)}. If a store is larger, the tool removes the oldest runs",
    ),
    (
        "age of a result that [`--reuse`](command-line.md#reusing-results) uses",
        f"`max-age`, which is at most {limits.MAX_REUSE_DAYS} days and by default {limits.DEFAULT_REUSE_DAYS} days",
    ),
    ("size of `report.json` in a recording", f"{MAX_FILE_CHARACTERS:,} characters"),
    (
        "size of a transcript that [`promote`](command-line.md#cases-from-sessions) reads",
        f"{limits.MAX_PROMOTED_TRANSCRIPT_BYTES:,} bytes",
    ),
    (
        "size of a line of a transcript",
        (
            f"{limits.MAX_PROMOTED_LINE_BYTES:,} bytes; {limits.MAX_PROMOTED_LINE_CONTAINERS:,} lists and objects; "
            f"{limits.MAX_PROMOTED_LINE_CONTAINERS:,} values. A line that exceeds one of these limits is skipped"
        ),
    ),
    (
        "number of prompts in a transcript",
        f"{limits.MAX_PROMOTED_PROMPTS}, each with at most {limits.MAX_PROMOTED_PROMPT_CHARACTERS:,} characters",
    ),
    ("number of edits in a transcript", f"{limits.MAX_PROMOTED_EDITS:,}"),
    (
        "size of a workspace template that `promote` writes",
        f"{limits.MAX_PROMOTED_FILES:,} files and {limits.MAX_PROMOTED_BYTES:,} bytes",
    ),
    (
        "number and size of the files that the promoted session changed",
        f"{limits.MAX_PROMOTED_FILES:,} files and {limits.MAX_PROMOTED_BYTES:,} bytes",
    ),
    ("number of files for which `promote` drafts expectations", f"{limits.MAX_DRAFTED_FILES}"),
    (
        "number of commands for which `promote` drafts expectations",
        (
            f"{limits.MAX_DRAFTED_COMMANDS}. Commands with more than {limits.MAX_DRAFTED_COMMAND_CHARACTERS} "
            "characters are ignored"
        ),
    ),
)

REPORTS: tuple[Row, ...] = (
    HEAD,
    ("size of the job summary", f"{limits.MAX_SUMMARY_BYTES:,} bytes"),
    ("length of the comment on a pull request", f"{limits.COMMENT_CHARACTERS[0]:,} characters"),
    ("number of entries for failures in the comment", f"{limits.MAX_COMMENT_FAILURES}"),
    ("number of review comments", f"{limits.MAX_REVIEW_COMMENTS}"),
    ("length of the description of the commit status", f"{limits.MAX_STATUS_CHARACTERS} characters"),
    ("number of annotations", f"{limits.MAX_ANNOTATIONS} errors and {limits.MAX_ANNOTATIONS} warnings"),
    (
        "total length of the log groups (one for each execution) in the log of a job",
        f"{limits.MAX_LOG_CHARACTERS:,} characters, or {limits.MAX_VERBOSE_LOG_CHARACTERS:,} with `verbose`",
    ),
    (
        "number of executions that JUnit XML contains with all details",
        f"{limits.MAX_FULL_JUNIT_CASES:,}. If there are more, green executions have no output and no properties",
    ),
    ("number of child spans of a session's span in OpenTelemetry traces", f"{limits.MAX_TRACE_SPANS:,}"),
    ("findings that are reported for an execution", f"the first {limits.MAX_FINDINGS} findings"),
)

TEMPLATES: tuple[Row, ...] = (
    HEAD,
    ("number of files and folders in the template folder", f"{limits.MAX_TEMPLATE_FILES}"),
    ("depth of the template folder", f"{limits.MAX_TEMPLATE_LEVELS} levels"),
    ("size of a template file", f"{limits.MAX_TEMPLATE_BYTES:,} bytes"),
    ("size of all template files together", f"{limits.MAX_TEMPLATES_BYTES:,} bytes"),
    (
        (
            "total time to render the job summary and the comment after the run, including the start of the rendering "
            "process"
        ),
        f"{limits.RENDERING_SECONDS} s; if the run was cancelled, {limits.CANCELLED_RENDERING_SECONDS} s",
    ),
    ("time to render a live comment during the run", f"{limits.RENDERING_SECONDS} s"),
    ("memory of the rendering process", format_size(limits.MAX_RENDERER_MEMORY_BYTES)),
    (
        "size of a rendered report, before it is shortened to the limit for a [summary or comment](reports.md#size)",
        format_size(limits.MAX_RENDERED_BYTES),
    ),
    ("length of a `range` in a template", f"{MAX_RANGE:,} numbers"),
    ("number of files that the rendering process can open", "0"),
    ("number of processes that the rendering process can start", "0"),
)

HTML: tuple[Row, ...] = (
    HEAD,
    (
        "size of the data of all sessions together",
        (
            f"{limits.MAX_HTML_BYTES:,} bytes. If there is more data, texts are shortened first. If this is not "
            "sufficient, whole sessions are left out, and the report states the number of these sessions"
        ),
    ),
    (
        "size of the data of one session",
        (
            f"{limits.MAX_HTML_SESSION_BYTES:,} bytes, or less if the session's share of the limit for all sessions is "
            "smaller"
        ),
    ),
    (
        "length of one text",
        f"{limits.MAX_HTML_TEXT_CHARACTERS:,} characters, or fewer if the data of the session would be too large",
    ),
    (
        "length of the timeline of one session",
        f"{limits.MAX_HTML_STEPS:,} steps, or fewer if the data of the session would be too large",
    ),
    (
        "number of paths of created files, of modified files and of deleted files",
        f"{limits.MAX_HTML_PATHS} of each kind. The report states the number of further paths",
    ),
    (
        "number of executions with a row and a page, counted separately for results, other arms and quarantine",
        (
            f"{limits.MAX_HTML_EXECUTIONS:,}. If there are more executions, green executions are left out first. The "
            "report states how many executions are left out"
        ),
    ),
    (
        "entries in each list of failures, changes or warnings",
        f"the first {limits.MAX_HTML_LISTED} entries. The report states the number of further entries",
    ),
    (
        "size of a session report",
        f"{format_size(limits.MAX_ARTIFACT_JSON_BYTES)}. The HTML report does not show larger session reports",
    ),
    (
        "length of the stored diff of a session, `changes.diff`",
        f"{limits.MAX_STORED_DIFF_CHARACTERS:,} characters. The middle of a longer diff is left out",
    ),
)

SIZES: tuple[Row, ...] = (
    ("Output", "Limit", "Content that is omitted above the limit", "Where the omission is stated"),
    (
        "comment",
        f"{limits.COMMENT_CHARACTERS[0]:,} characters",
        "rows of the tables, beginning with the rows of executions that passed",
        "in the comment",
    ),
    (
        "job summary",
        f"{limits.MAX_SUMMARY_BYTES:,} bytes",
        "rows of the tables, beginning with the rows of executions that passed",
        "in the summary",
    ),
    (
        "HTML report",
        f"{limits.MAX_HTML_EXECUTIONS:,} executions",
        "rows and pages, beginning with the rows and pages of green executions",
        "below the table, and at the end of the overview",
    ),
    (
        "HTML report",
        f"{limits.MAX_HTML_BYTES:,} bytes for the data of all sessions",
        "the middle of long texts; if this is not sufficient, whole sessions",
        "in place of the omitted text; the report also states the number of omitted sessions",
    ),
    (
        "JUnit XML",
        f"{limits.MAX_FULL_JUNIT_CASES:,} executions",
        "properties and output of green executions",
        "in the property `skillgym.abridged` of each suite",
    ),
    (
        "job log",
        f"{limits.MAX_LOG_CHARACTERS:,} characters, or {limits.MAX_VERBOSE_LOG_CHARACTERS:,} with `verbose`",
        "groups of executions",
        "after the last group",
    ),
)
"""For docs/explanation/scale.md."""

REPORT_LIMITS: dict[str, tuple[Row, ...]] = {
    "limits-runs": RUNS,
    "limits-reports": REPORTS,
    "limits-templates": TEMPLATES,
    "limits-html": HTML,
    "limits-sizes": SIZES,
}
"""Name of a table -> its rows; the first is its head."""
