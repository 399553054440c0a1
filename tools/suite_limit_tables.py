"""Tables of the limits of suites, skills and quarantine files, made of the constants."""

from __future__ import annotations

from limit_rows import HEAD, Row, days, minutes
from skillgym_action import limits
from skillgym_action.harbor import task_limits
from skillgym_action.model.resource_limits import format_size

SUITES: tuple[Row, ...] = (
    HEAD,
    (
        "size of a suite file in JSON, YAML or JSONL, and of each file with tests or texts to which the suite refers",
        f"{limits.MAX_SUITE_FILE_BYTES:,} bytes",
    ),
    (
        "size of a suite file in Python",
        f"{limits.MAX_PYTHON_SUITE_BYTES:,} bytes; files that the suite imports may be larger",
    ),
    (
        "size of a suite file in TypeScript or JavaScript",
        f"{limits.MAX_SCRIPT_SUITE_BYTES:,} bytes; files that the suite imports may be larger",
    ),
    ("size of a configuration file", f"{limits.MAX_CONFIGURATION_BYTES:,} bytes"),
    ("encoding of suite files and configurations", "UTF-8, with LF, CRLF or CR as line endings"),
    ("nesting depth of JSON, YAML and TOML", f"{limits.MAX_DOCUMENT_DEPTH} levels, after aliases are expanded"),
    (
        "number of values in a document, or in an AgentV suite together with all of its files",
        f"{limits.MAX_DOCUMENT_VALUES:,}, after aliases are expanded",
    ),
    (
        "total length of all texts in a YAML document",
        f"{limits.MAX_YAML_CHARACTERS:,} characters, after aliases are expanded",
    ),
    ("length of a whole number", f"{limits.MAX_NUMBER_DIGITS} digits"),
    ("the numbers NaN and infinity", "not allowed"),
    ("duplicate keys in a mapping", "not allowed"),
    ("YAML tags such as `!!python/object`", "not allowed"),
    ("more than one document in a YAML file", "not allowed"),
    ("number of cases in a suite", f"{limits.MAX_SUITE_CASES:,}"),
    ("length of the id of a case, and of the name of a suite", f"{limits.MAX_CASE_ID_CHARACTERS:,} characters each"),
    (
        "length of an [x-bench expectation](x-bench.md#expectations)",
        f"{limits.MAX_EXPECTATION_CHARACTERS:,} characters",
    ),
    ("length of a regular expression", f"{limits.MAX_REGEX_CHARACTERS:,} characters"),
    (
        "total length of all regular expressions in a suite; each different expression is counted once",
        (
            f"{limits.MAX_SUITE_REGEX_CHARACTERS:,} characters, counted after the tool has translated the expressions "
            "from JavaScript's syntax. For example, `\\b` or `\\s` is translated into about 60 characters"
        ),
    ),
    (
        "length of a [glob pattern](patterns.md)",
        (
            f"{limits.MAX_PATTERN_CHARACTERS:,} characters. In a suite, a longer pattern causes no error, but matches "
            "nothing"
        ),
    ),
    ("number of [arms](../how-to/arms.md) of a suite or a configuration", f"{limits.MAX_ARMS}"),
    (
        "number and total size of the files that an arm adds to workspaces",
        f"{limits.MAX_ARM_FILES:,} files and {format_size(limits.MAX_ARM_BYTES)}",
    ),
    (
        "number of patterns in `remove` of an arm",
        f"{limits.MAX_ARM_PATTERNS}. Each pattern can contain `**` at most {limits.MAX_PATTERN_FOLDERS} times",
    ),
    (
        "length of the expression in [`--match`](command-line.md#selection)",
        f"{limits.MAX_KEYWORD_EXPRESSION_CHARACTERS} characters",
    ),
    ("problems that the tool reports for one document", f"the first {limits.MAX_REPORTED_PROBLEMS:,} problems"),
    (
        "invalid expectations that the tool reports for one x-bench case",
        f"the first {limits.MAX_REPORTED_EXPECTATIONS} invalid expectations",
    ),
    (
        (
            "files that the tool reads to find "
            "[suites without the name of a suite file](command-line.md#files-that-are-not-run)"
        ),
        f"{limits.MAX_NEAR_MISS_FILES:,} files, and the first {format_size(limits.NEAR_MISS_HEAD_BYTES)} of each file",
    ),
)

FORMATS: tuple[Row, ...] = (
    HEAD,
    ("[x-bench](x-bench.md): longest time limit of a case or a command", days(limits.MAX_SUITE_SECONDS)),
    (
        (
            "[AgentV](agentv.md): number of assertions of all tests together. An assertion that the suite defines for "
            "all tests is counted once for each test"
        ),
        f"{limits.MAX_AGENTV_ASSERTIONS:,}",
    ),
    (
        (
            "AgentV: number of tags, metadata keys and parts of inputs of all tests together. What the suite defines "
            "for all tests is counted once for each test"
        ),
        f"{limits.MAX_AGENTV_PARTS:,}",
    ),
    ("AgentV: total length of the prompts of all tests", f"{limits.MAX_VARIABLE_CHARACTERS:,} characters"),
    ("AgentV: total length of the values of all variables", f"{limits.MAX_VARIABLE_CHARACTERS:,} characters"),
    ("AgentV: number of files to which a suite refers", f"{limits.MAX_AGENTV_FILES:,}"),
    ("AgentV: number of targets to which a suite refers", f"{limits.MAX_AGENTV_TARGETS}"),
    ("AgentV: number of prompts of a suite (each test runs with every prompt)", f"{limits.MAX_AGENTV_PROMPTS}"),
    ("AgentV: number of trials of each test", f"{limits.MAX_AGENTV_TRIALS:,}"),
    ("AgentV: number of turns of a conversation", f"{limits.MAX_CONVERSATION_TURNS}"),
    ("AgentV: length of a cell in a CSV file with tests", f"{limits.MAX_CSV_CELL_CHARACTERS:,} characters"),
    ("AgentV: nesting depth of `include` in assertions", f"{limits.MAX_INCLUDE_DEPTH} levels"),
    ("AgentV: length of a chain of `use_target` references", f"{limits.MAX_TARGET_REFERENCES} targets"),
    (
        "AgentV: number of patterns to which a path of test files with `{a,b}` expands",
        f"{limits.MAX_BRACE_ALTERNATIVES}",
    ),
    ("AgentV: number of repositories in a workspace", f"{limits.MAX_WORKSPACE_REPOS}"),
    ("AgentV: time to clone a repository of a workspace", minutes(limits.REPO_CLONE_SECONDS)),
    (
        "AgentV: run time of a grader's program",
        f"the time limit of the session, but at least {minutes(limits.MIN_GRADER_SECONDS)}",
    ),
    (
        "AgentV: part of the output of a grader's program that the tool reads",
        f"the last {format_size(limits.MAX_GRADER_OUTPUT_BYTES)}",
    ),
    (
        "AgentV: part of the output file of a `cli` target that the tool reads",
        f"the last {format_size(limits.MAX_CLI_TARGET_OUTPUT_BYTES)}",
    ),
    (
        "AgentV: number of requests that a grader's program sends to the judge",
        f"`max_calls`, which is at most {limits.MAX_MODEL_CALLS:,} and by default {limits.DEFAULT_MODEL_CALLS}",
    ),
    ("[`evals.json`](skill-evals.md): number of assertions of a case", f"{limits.MAX_EVAL_QUESTIONS}"),
    ("`evals.json`: number of assertions of all cases together", f"{limits.MAX_SUITE_EVAL_QUESTIONS:,}"),
    (
        "`evals.json`: length of a question for the judge",
        f"{limits.MAX_EVAL_QUESTION_CHARACTERS:,} characters",
    ),
    ("`evals.json`: total length of the prompts of all cases", f"{limits.MAX_VARIABLE_CHARACTERS:,} characters"),
    ("`evals.json`: number of input files of a case", f"{limits.MAX_EVAL_FILES:,}"),
    (
        "[Trigger queries](skills-under-test.md#trigger-queries): number of repetitions of each query (`runs`)",
        f"{limits.MAX_TRIGGER_RUNS}",
    ),
    ("[Plugin](plugin-evals.md): number of cases", f"{limits.MAX_PLUGIN_CASES:,}"),
    (
        (
            "Plugin: number of files and folders that the tool searches for cases, and number of files and folders in "
            "the folder `skills`"
        ),
        f"{limits.MAX_PLUGIN_FOLDERS:,} each. If there are more, the tool does not find all cases or skills",
    ),
    ("Plugin: number of graders of a case", f"{limits.MAX_PLUGIN_CASE_GRADERS}"),
    (
        "Plugin: `runs`, `max_turns` and `timeout_seconds` of a case",
        f"{limits.MAX_PLUGIN_RUNS} runs, {limits.MAX_PLUGIN_TURNS} turns and {limits.MAX_PLUGIN_SECONDS:,} s",
    ),
    ("Plugin: matches that the tool counts for a pattern", f"the first {limits.MAX_PLUGIN_MATCHES:,} matches"),
    (
        "Plugin: length of each text in a question to the judge",
        f"{limits.MAX_PLUGIN_JUDGED_CHARACTERS:,} characters. The middle of a longer text is left out",
    ),
    ("[Harbor](harbor.md): number of tasks in a suite", f"{task_limits.MAX_HARBOR_TASKS:,}"),
    (
        "Harbor: number of files and folders directly in the folder of a suite",
        f"{task_limits.MAX_HARBOR_FOLDERS:,}. If there are more, the tool does not find all tasks",
    ),
    (
        "Harbor: number of files and folders in each of the folders `tests`, `solution` and `environment` of a task",
        f"{task_limits.MAX_HARBOR_FILES:,}",
    ),
    (
        (
            "Harbor: size of all files together in `tests`, and in `environment` if a task has `docker_image` and no "
            "Dockerfile"
        ),
        format_size(task_limits.MAX_HARBOR_BYTES),
    ),
    ("Harbor: longest timeout of an agent, a test or a health check", days(task_limits.MAX_HARBOR_SECONDS)),
    ("Harbor: size of a reward file", f"{task_limits.MAX_REWARD_BYTES:,} bytes"),
)

SKILLS: tuple[Row, ...] = (
    HEAD,
    ("length of the name of a skill", f"{limits.MAX_SKILL_NAME_CHARACTERS} characters"),
    ("size of a `SKILL.md`", f"{limits.MAX_SKILL_FILE_BYTES:,} bytes"),
    ("size of the folder of a skill", f"{limits.MAX_SKILL_FILES:,} files and {format_size(limits.MAX_SKILL_BYTES)}"),
)

QUARANTINE: tuple[Row, ...] = (
    HEAD,
    ("number of entries", f"{limits.MAX_QUARANTINE_ENTRIES:,}. If there are more, none of the entries has an effect"),
    ("length of `reason`, `owner` and `issue`", f"{limits.MAX_QUARANTINE_TEXT_CHARACTERS} characters each"),
    (
        "date in `expires`",
        f"at most {limits.MAX_QUARANTINE_DAYS} days in the future. An entry with a later date has no effect",
    ),
)

TIMES: tuple[Row, ...] = (
    HEAD,
    (
        "each search with a regular expression from a suite, except searches in suite programs",
        f"{limits.MAX_REGEX_SEARCH_SECONDS:g} s",
    ),
    ("all these searches in a session together", f"{limits.MAX_SESSION_SEARCH_SECONDS:g} s"),
    ("the import of a suite program", f"{limits.SUITE_CALL_SECONDS:g} s"),
    ("each call of a check or a classifier in a suite program", f"{limits.SUITE_CALL_SECONDS:g} s"),
)

PROGRAMS: tuple[Row, ...] = (
    HEAD,
    (
        "memory of a suite program, and of each program that it starts (only on Linux)",
        format_size(limits.SUITE_HOST_MEMORY_BYTES),
    ),
    ("size of the output that a suite program prints", format_size(limits.MAX_HOST_LOG_BYTES)),
    ("size of each answer of a suite program to the tool", format_size(limits.MAX_HOST_REPLY_BYTES)),
)

SUITE_LIMITS: dict[str, tuple[Row, ...]] = {
    "limits-suites": SUITES,
    "limits-formats": FORMATS,
    "limits-skills": SKILLS,
    "limits-quarantine": QUARANTINE,
    "limits-times": TIMES,
    "limits-programs": PROGRAMS,
}
"""Name of a table -> its rows; the first is its head."""
