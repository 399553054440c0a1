"""Tables of the limits that users can meet, made of the constants."""

from __future__ import annotations

from skillgym_action.agents.output import agent_output
from skillgym_action.judging.judge.client import JUDGE_SECONDS
from skillgym_action.model import limits
from skillgym_action.model.resource_limits import format_size
from skillgym_action.pipeline.stages.load import MAX_PYTHON_SUITE_BYTES
from skillgym_action.reports.files.junit import MAX_FULL_JUNIT_CASES
from skillgym_action.reports.html.parts import MAX_HTML_EXECUTIONS
from skillgym_action.reports.html.report import MAX_HTML_BYTES
from skillgym_action.reports.terminal import job_log
from skillgym_action.reports.user_templates.render_program import MAX_RENDERER_MEMORY_BYTES
from skillgym_action.sessions.engines.announcement import MAX_ANNOUNCED_BYTES
from skillgym_action.sessions.engines.answers import MAX_ANSWER_BYTES
from skillgym_action.suites.programs.hosts.suite_host import SUITE_CALL_SECONDS, SUITE_HOST_MEMORY_BYTES
from skillgym_action.system.containers import docker_images
from skillgym_action.text.javascript import regex
from skillgym_action.workspaces import archive
from skillgym_action.workspaces.skill_installation import MAX_SKILL_FILES
from skillgym_action.workspaces.workspaces import LOOK_SECONDS

Row = tuple[str, ...]
HEAD: Row = ("Object", "Limit")


def minutes(seconds: float) -> str:
    """A time that is a number of minutes."""
    return f"{seconds / 60:g} minutes"


SUITES: tuple[Row, ...] = (
    HEAD,
    (
        "size of a suite file, and of each file with tests or texts to which the suite refers",
        (
            f"{format_size(limits.MAX_SUITE_FILE_BYTES)}; {format_size(limits.MAX_SCRIPT_SUITE_BYTES)} in TypeScript "
            f"and JavaScript, {format_size(MAX_PYTHON_SUITE_BYTES)} in Python. Files that the suite imports may be "
            "larger"
        ),
    ),
    ("number of values in a suite or a configuration", f"{limits.MAX_DOCUMENT_VALUES:,}"),
    ("number of cases in a suite", f"{limits.MAX_SUITE_CASES:,}"),
    ("length of a regular expression", f"{limits.MAX_REGEX_CHARACTERS:,} characters"),
    ("time of a search with a regular expression", f"{regex.MAX_REGEX_SEARCH_SECONDS:g} s"),
    ("time of all these searches in a session together", f"{regex.MAX_SESSION_SEARCH_SECONDS:g} s"),
    ("number of [arms](../how-to/arms.md)", f"{limits.MAX_ARMS}"),
    ("size of the folder of a skill", f"{MAX_SKILL_FILES:,} files and {format_size(limits.MAX_SKILL_BYTES)}"),
    ("time to load a suite program, and of each call of a check in it", f"{SUITE_CALL_SECONDS:g} s"),
    ("memory of a suite program (only on Linux)", format_size(SUITE_HOST_MEMORY_BYTES)),
)

RUNS: tuple[Row, ...] = (
    HEAD,
    (
        "size of a results file that is read",
        f"{format_size(limits.MAX_RESULTS_BYTES)}, and {limits.MAX_RESULTS_ROWS:,} results and warnings",
    ),
    ("number of [shards](../how-to/shards.md) of a plan", f"{limits.MAX_SHARDS}"),
    (
        "size of a [store](../how-to/compare-with-a-baseline.md)",
        f"{format_size(limits.MAX_STORE_BYTES)}. The oldest runs are removed from a larger store",
    ),
)

SESSIONS: tuple[Row, ...] = (
    ("Key", "Limited resource", "Default in the action", "Default on the command line"),
    (
        "`memory`",
        "resident memory of all processes together",
        (
            f"{limits.DEFAULT_MEMORY_PERCENT}% of the memory of the machine, or of the memory limit of the job's "
            "container if this is less"
        ),
        "none",
    ),
    (
        "`disk`",
        "disk space of the session's folders (workspace, home, temporary files)",
        format_size(limits.DEFAULT_DISK_BYTES),
        "none",
    ),
    (
        "`processes`",
        "number of processes and threads at the same time",
        *[f"{limits.DEFAULT_PROCESSES}"] * 2,
    ),
    ("`fileSize`", "size of each file that the session writes", *[format_size(limits.DEFAULT_FILE_BYTES)] * 2),
)
"""The limits that users can set, with their defaults."""

AGENTS: tuple[Row, ...] = (
    HEAD,
    (
        "size of an agent's output, counted separately for stdout and stderr",
        (
            f"{format_size(limits.MAX_OUTPUT_BYTES)}. The tool ends an agent that prints more, and the session has the "
            "class `runner-crash`"
        ),
    ),
    (
        "number and size of the events of a session",
        (
            f"{agent_output.MAX_TRANSCRIPT_EVENTS:,} events and {agent_output.MAX_TRANSCRIPT_CHARACTERS:,} "
            "characters. Later events are counted. Assertions that depend on events cannot be evaluated, and the "
            "session is errored with the class `collection`, unless another assertion failed"
        ),
    ),
    (
        "time in which an agent has to exit after it has printed its result",
        f"{limits.RESULT_LINGER_SECONDS:g} s",
    ),
    (
        "size of a workspace file that an assertion searches",
        f"{format_size(limits.MAX_SEARCHED_FILE_BYTES)}. If the file is larger, the assertion does not pass",
    ),
    (
        "number and size of the created and modified files that are stored in `changes/`",
        (
            f"{archive.MAX_SAVED_CHANGES_FILES:,} files and {format_size(archive.MAX_SAVED_CHANGES_BYTES)}. If there "
            "are more, none of the files is stored, and the session cannot be [judged again]"
            "(command-line.md#recording-and-judging-again)"
        ),
    ),
    (
        "changed files that `workspace.json` lists, of each kind",
        f"{limits.MAX_LISTED_CHANGES:,}. The other files are counted",
    ),
    (
        "size of an archived workspace",
        (
            f"{archive.MAX_ARCHIVED_WORKSPACE_ENTRIES:,} files and folders, and "
            f"{format_size(archive.MAX_ARCHIVED_WORKSPACE_BYTES)}. Instead of a larger workspace, a note is stored"
        ),
    ),
    (
        "time for the tool to find out and store what a session changed",
        f"{minutes(LOOK_SECONDS)}. After that, the session is errored",
    ),
    ("time to get an answer of the [judge](configuration.md#the-judge)", minutes(JUDGE_SECONDS)),
    (
        "size of the build context of an image",
        (
            f"{docker_images.MAX_BUILD_CONTEXT_ENTRIES:,} files and folders, and "
            f"{format_size(docker_images.MAX_BUILD_CONTEXT_BYTES)}, without the files that `.dockerignore` excludes"
        ),
    ),
    ("time to build or download an image", minutes(docker_images.IMAGE_SECONDS)),
    (
        "size of the files of the checkout that are sent to [workers](engines.md)",
        format_size(MAX_ANNOUNCED_BYTES),
    ),
    ("size of the artifacts of a session on a worker", format_size(MAX_ANSWER_BYTES)),
)

REPORTS: tuple[Row, ...] = (
    HEAD,
    ("size of the job summary", f"{limits.MAX_SUMMARY_BYTES:,} bytes"),
    ("length of the comment on a pull request", f"{limits.COMMENT_CHARACTERS[0]:,} characters"),
    (
        "time and memory to render [your own templates](reports.md#your-own-templates)",
        f"{limits.RENDERING_SECONDS} s and {format_size(MAX_RENDERER_MEMORY_BYTES)}",
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
        f"{MAX_HTML_EXECUTIONS:,} executions",
        "rows and pages, beginning with the rows and pages of green executions",
        "below the table, and at the end of the overview",
    ),
    (
        "HTML report",
        f"{MAX_HTML_BYTES:,} bytes for the data of all sessions",
        "the middle of long texts; if this is not sufficient, whole sessions",
        "in place of the omitted text; the report also states the number of omitted sessions",
    ),
    (
        "JUnit XML",
        f"{MAX_FULL_JUNIT_CASES:,} executions",
        "properties and output of green executions",
        "in the property `skillgym.abridged` of each suite",
    ),
    (
        "job log",
        f"{job_log.MAX_LOG_CHARACTERS:,} characters, or {job_log.MAX_VERBOSE_LOG_CHARACTERS:,} with `verbose`",
        "groups of executions",
        "after the last group",
    ),
)
"""For docs/explanation/scale.md."""

LIMITS: dict[str, tuple[Row, ...]] = {
    "limits-suites": SUITES,
    "limits-runs": RUNS,
    "limits-sessions": SESSIONS,
    "limits-agents": AGENTS,
    "limits-reports": REPORTS,
    "limits-sizes": SIZES,
}
"""Name of a table -> its rows; the first is its head."""
