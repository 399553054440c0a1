"""Tables of the limits of sessions, and of the judge, containers and workers, made of the constants."""

from __future__ import annotations

from limit_rows import HEAD, Row, minutes
from skillgym_action import limits, remote_limits
from skillgym_action.documents.container_sections import MAX_CPUS
from skillgym_action.model.resource_limits import format_size
from skillgym_action.processes.disk_usage import RESERVE_DIVISOR
from skillgym_action.processes.launcher import RESOURCE_CHECK_SECONDS
from skillgym_action.processes.resource_usage import DISK_PAUSE_FACTOR
from skillgym_action.sandboxes.docker_images import BUILD_MEMORY_BYTES, MAX_PATTERNS_BYTES

SESSIONS: tuple[Row, ...] = (
    ("Key", "Limited resource", "Default in the action", "Default on the command line"),
    (
        "`memory`",
        "resident memory of all processes together",
        (
            f"{limits.DEFAULT_MEMORY_PERCENT} % of the memory of the machine, or of the memory limit of the job's "
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

CHECKS: tuple[Row, ...] = (
    ("Object", "Value"),
    ("smallest size that is accepted as a limit", f"{limits.MIN_RESOURCE_LIMIT_BYTES:,} bytes"),
    ("largest size that is accepted as a limit", f"{limits.MAX_RESOURCE_LIMIT_BYTES:,} bytes"),
    ("largest number that is accepted for `processes`", f"{limits.MAX_PROCESS_LIMIT:,}"),
    ("time between two checks of memory, processes and disk space", f"{RESOURCE_CHECK_SECONDS:g} s"),
    (
        "time between two checks of disk space, if a check takes long",
        f"{DISK_PAUSE_FACTOR} times the duration of the check",
    ),
    (
        "reserve in the file system for temporary files",
        f"{format_size(limits.DISK_RESERVE_BYTES)}, or {100 / RESERVE_DIVISOR:g} % of the file system if this is less",
    ),
)

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
        "lines of an agent's output that the tool reads",
        (
            f"the first {limits.MAX_OUTPUT_LINES:,} lines, and the first {format_size(limits.MAX_OUTPUT_LINE_BYTES)} "
            "of each line"
        ),
    ),
    (
        "number and size of the events of a session",
        (
            f"{limits.MAX_TRANSCRIPT_EVENTS:,} events and {limits.MAX_TRANSCRIPT_CHARACTERS:,} characters. If there "
            "are more, the session has the class `collection`"
        ),
    ),
    ("time in which an agent has to exit after it has printed its result", f"{limits.RESULT_LINGER_SECONDS:g} s"),
    (
        "size of a workspace file that an assertion searches",
        f"{format_size(limits.MAX_SEARCHED_FILE_BYTES)}. If the file is larger, the assertion does not pass",
    ),
    (
        "number and size of the created and modified files that are stored in `changes/`",
        (
            f"{limits.MAX_SAVED_CHANGES_FILES:,} files and {format_size(limits.MAX_SAVED_CHANGES_BYTES)}. If there are "
            "more, none of the files is stored, and the session cannot be [judged again]"
            "(command-line.md#recording-and-judging-again)"
        ),
    ),
    (
        "size of an archived workspace",
        (
            f"{limits.MAX_BUNDLE_ENTRIES:,} files and folders, and {format_size(limits.MAX_BUNDLE_BYTES)}. A larger "
            "workspace is not archived"
        ),
    ),
    (
        "size of each file, and depth of folders, in an archived workspace",
        (
            f"{format_size(limits.MAX_BUNDLE_FILE_BYTES)} for a file; {limits.MAX_BUNDLE_LEVELS} levels of folders. "
            "Larger files and deeper folders are left out"
        ),
    ),
    (
        "length of the agent's final output in `results.json`",
        f"the last {limits.MAX_FINAL_OUTPUT_CHARACTERS:,} characters",
    ),
    (
        "time for the agent's answer to a [question about a failure](command-line.md#questions-about-failures)",
        minutes(limits.MAX_EXPLAIN_SECONDS),
    ),
)

JUDGE: tuple[Row, ...] = (
    HEAD,
    ("time to get an answer, for all attempts together", minutes(limits.JUDGE_SECONDS)),
    ("number of attempts to get an answer in the requested format", f"{limits.MAX_JUDGE_QUESTIONS}"),
    ("number of `votes` on a question", f"{limits.MAX_JUDGE_VOTES}"),
    (
        "length of each text that a question contains from the session",
        f"{limits.MAX_QUOTED_CHARACTERS:,} characters. The middle of a longer text is left out",
    ),
    (
        "skill evals: length of the texts that a question contains from the session",
        (
            f"{limits.MAX_JUDGED_MESSAGE_CHARACTERS:,} characters for the final answer, "
            f"{limits.MAX_JUDGED_ACTIONS_CHARACTERS:,} for the actions, {limits.MAX_JUDGED_FILE_CHARACTERS:,} for each "
            f"created or changed file, and {limits.MAX_JUDGED_FILES_CHARACTERS:,} for all these files together"
        ),
    ),
    (
        "skill evals: number of assertions in one question",
        f"{limits.QUESTIONS_PER_CALL}. If a case has more assertions, the tool asks several questions",
    ),
)

CONTAINERS: tuple[Row, ...] = (
    HEAD,
    ("value of `cpus`", f"{MAX_CPUS}"),
    (
        "size of the build context of an image",
        (
            f"{remote_limits.MAX_BUILD_CONTEXT_ENTRIES:,} files and folders, and "
            f"{format_size(remote_limits.MAX_BUILD_CONTEXT_BYTES)}, without the files that `.dockerignore` excludes"
        ),
    ),
    ("size of a `.dockerignore`", f"{format_size(MAX_PATTERNS_BYTES)}. A larger file has no effect"),
    (
        "time and memory to build an image",
        f"{minutes(remote_limits.IMAGE_SECONDS)} and {format_size(BUILD_MEMORY_BYTES)} of memory",
    ),
    ("time to download an image", minutes(remote_limits.IMAGE_SECONDS)),
    ("number of attempts to build or download an image in a run", f"{remote_limits.IMAGE_ATTEMPTS}"),
    (
        "number of hosts in an `allow-list`, and in `allowed_hosts` of a Harbor task",
        f"{remote_limits.MAX_POLICY_HOSTS}",
    ),
    (
        "number of hosts with refused connections that `network.json` lists",
        f"{remote_limits.MAX_REFUSED_CONNECTIONS}",
    ),
    (
        "size of a workspace, or of the agent's records, that the tool copies from a container",
        f"{limits.MAX_BUNDLE_ENTRIES:,} files and folders, and {format_size(limits.MAX_COPIED_BYTES)}",
    ),
    (
        "size of a file of the repository that the tool copies into a container because a command refers to it",
        format_size(limits.MAX_SUITE_PROGRAM_BYTES),
    ),
    (
        "age after which `doctor --sweep` removes a container that is still running",
        f"{remote_limits.CONTAINER_LEASE_SECONDS / 3600:g} hours",
    ),
)

ENGINES: tuple[Row, ...] = (
    HEAD,
    (
        "number of sessions that run at the same time on all workers together",
        f"{remote_limits.MAX_ENGINE_SESSIONS}, unless `--jobs` or `engine.slots` is set",
    ),
    (
        "total size of the files of the checkout that are sent to workers",
        format_size(remote_limits.MAX_ANNOUNCED_BYTES),
    ),
    (
        "size of an untracked file (not in git) in which the tool searches for text in the format of an API key",
        (
            f"{format_size(remote_limits.MAX_KEY_FILE_BYTES)}. In larger files, the tool searches only for the "
            "values of secret variables"
        ),
    ),
    ("total size of the artifacts that a worker returns for a session", format_size(remote_limits.MAX_ANSWER_BYTES)),
    (
        "time after which a worker that has sent no message is considered lost",
        f"{remote_limits.DEFAULT_LOST_AFTER_SECONDS:g} s, unless `engine.lostAfter` is set",
    ),
    (
        "number of retries of a session whose worker was lost",
        f"{remote_limits.DEFAULT_LOST_RETRIES}, unless `--lost-retries` or `engine.lostRetries` is set",
    ),
    (
        "time after which a run ends if no worker accepts sessions",
        f"{minutes(remote_limits.DEFAULT_WORKER_WAIT_SECONDS)}, unless `engine.wait` is set",
    ),
)

SESSION_LIMITS: dict[str, tuple[Row, ...]] = {
    "limits-sessions": SESSIONS,
    "limits-checks": CHECKS,
    "limits-agents": AGENTS,
    "limits-judge": JUDGE,
    "limits-containers": CONTAINERS,
    "limits-engines": ENGINES,
}
"""Name of a table -> its rows; the first is its head."""
