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
        "a results file",
        (
            f"{limits.MAX_RESULTS_BYTES:,} bytes; {limits.MAX_RESULTS_ROWS:,} results and warnings together; "
            f"{limits.MAX_RESULTS_OBJECTS:,} objects"
        ),
    ),
    (
        "each result, and each other part of a results file",
        (
            f"{limits.MAX_RESULTS_ROW_CHARACTERS:,} characters; {limits.MAX_RESULTS_CONTAINERS:,} lists and objects; "
            f"{limits.MAX_RESULTS_VALUES:,} values; {limits.MAX_RESULTS_MEMBERS:,} members of an object"
        ),
    ),
    (
        "a search for stored runs",
        (
            f"{limits.MAX_MATCHED_RUNS:,} matching runs; {limits.MAX_SEARCHED_ENTRIES:,} files and folders; "
            f"{limits.MAX_SEARCHED_LEVELS} levels of folders"
        ),
    ),
    ("[shards](../how-to/shards.md) of a plan", f"{limits.MAX_SHARDS}"),
    (
        "a stored plan",
        f"{limits.MAX_PLANNED_EXECUTIONS:,} executions and {limits.MAX_PLAN_BYTES:,} bytes",
    ),
    (
        "a [store](../how-to/compare-with-a-baseline.md) in a branch or a path",
        f"{format_size(limits.MAX_STORE_BYTES)}; older runs are removed",
    ),
    (
        "age of a result that [`--reuse`](command-line.md#reusing-results) uses",
        f"{limits.MAX_REUSE_DAYS} days; {limits.DEFAULT_REUSE_DAYS} days unless `max-age` is set",
    ),
    ("`report.json` of a recording", f"{MAX_FILE_CHARACTERS:,} characters"),
    (
        "a transcript that [`promote`](command-line.md#cases-from-sessions) reads",
        f"{limits.MAX_PROMOTED_TRANSCRIPT_BYTES:,} bytes",
    ),
    (
        "a line of a transcript",
        (
            f"{limits.MAX_PROMOTED_LINE_BYTES:,} bytes; {limits.MAX_PROMOTED_LINE_CONTAINERS:,} lists and objects; "
            f"{limits.MAX_PROMOTED_LINE_CONTAINERS:,} values. A line that exceeds one of these limits is skipped"
        ),
    ),
    (
        "prompts in a transcript",
        f"{limits.MAX_PROMOTED_PROMPTS}, each with at most {limits.MAX_PROMOTED_PROMPT_CHARACTERS:,} characters",
    ),
    ("edits in a transcript", f"{limits.MAX_PROMOTED_EDITS:,}"),
    (
        "a template that `promote` writes",
        f"{limits.MAX_PROMOTED_FILES:,} files and {limits.MAX_PROMOTED_BYTES:,} bytes",
    ),
    (
        "files that the promoted session changed",
        f"{limits.MAX_PROMOTED_FILES:,} files and {limits.MAX_PROMOTED_BYTES:,} bytes",
    ),
    ("files for which `promote` drafts expectations", f"{limits.MAX_DRAFTED_FILES}"),
    (
        "commands for which `promote` drafts expectations",
        (
            f"{limits.MAX_DRAFTED_COMMANDS}; commands with more than {limits.MAX_DRAFTED_COMMAND_CHARACTERS} "
            "characters are ignored"
        ),
    ),
)

REPORTS: tuple[Row, ...] = (
    HEAD,
    ("job summary", f"{limits.MAX_SUMMARY_BYTES:,} bytes"),
    ("comment on a pull request", f"{limits.COMMENT_CHARACTERS[0]:,} characters"),
    ("entries of failures in the comment", f"{limits.MAX_COMMENT_FAILURES}"),
    ("review comments", f"{limits.MAX_REVIEW_COMMENTS}"),
    ("description of the commit status", f"{limits.MAX_STATUS_CHARACTERS} characters"),
    ("annotations", f"{limits.MAX_ANNOTATIONS} errors and {limits.MAX_ANNOTATIONS} warnings"),
    (
        "groups of executions in the log of a job",
        f"{limits.MAX_LOG_CHARACTERS:,} characters, or {limits.MAX_VERBOSE_LOG_CHARACTERS:,} with `verbose`",
    ),
    (
        "executions in JUnit XML",
        f"{limits.MAX_FULL_JUNIT_CASES:,}. If there are more, green executions have no output and no properties",
    ),
    ("child spans of the span of a session in OpenTelemetry traces", f"{limits.MAX_TRACE_SPANS:,}"),
    ("findings of an execution", f"the first {limits.MAX_FINDINGS}"),
)

TEMPLATES: tuple[Row, ...] = (
    HEAD,
    ("files and folders in the template folder", f"{limits.MAX_TEMPLATE_FILES}"),
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
        "size of a rendered report, before it is shortened to the size of a [summary or comment](reports.md#size)",
        format_size(limits.MAX_RENDERED_BYTES),
    ),
    ("length of a `range` in a template", f"{MAX_RANGE:,} numbers"),
    ("files that the rendering process can open", "none"),
    ("processes that the rendering process can start", "none"),
)

HTML: tuple[Row, ...] = (
    HEAD,
    (
        "data of all sessions together",
        (
            f"{limits.MAX_HTML_BYTES:,} bytes. If there is more data, texts are shortened first. If this is not "
            "sufficient, whole sessions are left out, and the report states the number of these sessions"
        ),
    ),
    (
        "data of one session",
        f"{limits.MAX_HTML_SESSION_BYTES:,} bytes, or less if the session's share of the total is smaller",
    ),
    (
        "length of one text",
        f"{limits.MAX_HTML_TEXT_CHARACTERS:,} characters, or less if the session's share of the total is smaller",
    ),
    (
        "length of one timeline",
        f"{limits.MAX_HTML_STEPS:,} steps, or less if the session's share of the total is smaller",
    ),
    (
        "paths of created files, of modified files and of deleted files",
        f"{limits.MAX_HTML_PATHS} of each kind; the report states the number of further paths",
    ),
    (
        "executions with a row in the matrix and a page; a limit for each of results, other arms and quarantine",
        (
            f"{limits.MAX_HTML_EXECUTIONS:,}. If there are more executions, green executions are left out first. The "
            "report states how many executions are left out"
        ),
    ),
    (
        "failures, changes and warnings in each list",
        f"the first {limits.MAX_HTML_LISTED}; the report states the number of the others",
    ),
    (
        "size of a session report; larger session reports are not shown",
        format_size(limits.MAX_ARTIFACT_JSON_BYTES),
    ),
    (
        "length of the stored diff of a session, `changes.diff`",
        f"{limits.MAX_STORED_DIFF_CHARACTERS:,} characters; the middle of a longer diff is left out",
    ),
)

SIZES: tuple[Row, ...] = (
    ("Output", "Size limit", "What is left out above the limit", "Where the omission is stated"),
    (
        "comment",
        f"{limits.COMMENT_CHARACTERS[0]:,} characters",
        "rows of the tables, first the rows of executions that passed",
        "in the comment",
    ),
    (
        "job summary",
        f"{limits.MAX_SUMMARY_BYTES:,} bytes",
        "rows of the tables, first the rows of executions that passed",
        "in the summary",
    ),
    (
        "HTML report",
        f"{limits.MAX_HTML_EXECUTIONS:,} executions",
        "rows and pages, first the rows and pages of green executions",
        "below the table, and at the end of the overview",
    ),
    (
        "HTML report",
        f"{limits.MAX_HTML_BYTES:,} bytes for all sessions",
        "the middle of long texts",
        "in the text",
    ),
    (
        "JUnit XML",
        f"{limits.MAX_FULL_JUNIT_CASES:,} executions",
        "properties and output of green executions",
        "in the property `skillgym.abridged` of each suite",
    ),
    ("job log", f"{limits.MAX_LOG_CHARACTERS:,} characters", "groups of executions", "at the end of the log"),
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
