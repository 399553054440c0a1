"""Tables of the limits of suites, skills and quarantine files, made of the constants."""

from __future__ import annotations

from limit_rows import HEAD, Row, days, minutes
from skillgym_action import limits
from skillgym_action.harbor import task_limits
from skillgym_action.model.resource_limits import format_size

SUITES: tuple[Row, ...] = (
    HEAD,
    (
        "size of a suite file in JSON, YAML or JSONL, and of each file with tests or texts that the suite names",
        f"{limits.MAX_SUITE_FILE_BYTES:,} bytes",
    ),
    (
        "size of a suite in Python",
        f"{limits.MAX_PYTHON_SUITE_BYTES:,} bytes; files that the suite imports may be larger",
    ),
    (
        "size of a suite in TypeScript or JavaScript",
        f"{limits.MAX_SCRIPT_SUITE_BYTES:,} bytes; files that the suite imports may be larger",
    ),
    ("size of a configuration", f"{limits.MAX_CONFIGURATION_BYTES:,} bytes"),
    ("encoding of suite files and configurations", "UTF-8, with LF, CRLF or CR as line endings"),
    ("depth of JSON, YAML and TOML", f"{limits.MAX_DOCUMENT_DEPTH} levels, after aliases are expanded"),
    (
        "number of values in a document, or in an AgentV suite with all of its files",
        f"{limits.MAX_DOCUMENT_VALUES:,}, after aliases are expanded",
    ),
    (
        "all texts in a YAML document together",
        f"{limits.MAX_YAML_CHARACTERS:,} characters, after aliases are expanded",
    ),
    ("length of a whole number", f"{limits.MAX_NUMBER_DIGITS} digits"),
    ("NaN and infinity", "not allowed"),
    ("duplicate keys", "not allowed"),
    ("YAML tags such as `!!python/object`", "not allowed"),
    ("a second document in a YAML file", "not allowed"),
    ("cases in a suite", f"{limits.MAX_SUITE_CASES:,}"),
    ("id of a case; name of a suite", f"{limits.MAX_CASE_ID_CHARACTERS:,} characters each"),
    ("length of an expectation", f"{limits.MAX_EXPECTATION_CHARACTERS:,} characters"),
    ("length of a regular expression", f"{limits.MAX_REGEX_CHARACTERS:,} characters"),
    (
        "all different regular expressions in a suite together",
        (
            f"{limits.MAX_SUITE_REGEX_CHARACTERS:,} characters, after the tool has translated them from JavaScript's "
            "syntax. For example, `\\b` or `\\s` becomes about 60 characters"
        ),
    ),
    (
        "length of a [glob pattern](patterns.md)",
        f"{limits.MAX_PATTERN_CHARACTERS:,} characters. In a suite, a longer pattern is no error, but matches nothing",
    ),
    ("[arms](../how-to/arms.md) of a suite or a configuration", f"{limits.MAX_ARMS}"),
    (
        "files that an arm adds to workspaces",
        f"{limits.MAX_ARM_FILES:,} files and {format_size(limits.MAX_ARM_BYTES)}",
    ),
    (
        "patterns of files that an arm removes from workspaces",
        f"{limits.MAX_ARM_PATTERNS}, each with `**` at most {limits.MAX_PATTERN_FOLDERS} times",
    ),
    (
        "length of the expression in [`--match`](command-line.md#selection)",
        f"{limits.MAX_KEYWORD_EXPRESSION_CHARACTERS} characters",
    ),
    ("problems in one document that the tool lists", f"the first {limits.MAX_REPORTED_PROBLEMS:,}"),
    ("wrong expectations in one x-bench case that the tool lists", f"the first {limits.MAX_REPORTED_EXPECTATIONS}"),
    (
        (
            "files without the name of a suite that the tool reads to find "
            "[near misses](command-line.md#files-that-are-not-run)"
        ),
        f"{limits.MAX_NEAR_MISS_FILES:,} files, the first {format_size(limits.NEAR_MISS_HEAD_BYTES)} of each",
    ),
)

FORMATS: tuple[Row, ...] = (
    HEAD,
    ("[x-bench](x-bench.md): each time limit of cases and commands", days(limits.MAX_SUITE_SECONDS)),
    (
        "[AgentV](agentv.md): assertions of all tests together. An assertion of the suite counts once for each test",
        f"{limits.MAX_AGENTV_ASSERTIONS:,}",
    ),
    (
        (
            "AgentV: tags, metadata keys and parts of inputs of all tests together. Tags, metadata keys and parts of "
            "the suite count once for each test"
        ),
        f"{limits.MAX_AGENTV_PARTS:,}",
    ),
    ("AgentV: prompts of all tests together", f"{limits.MAX_VARIABLE_CHARACTERS:,} characters"),
    ("AgentV: values of all variables in a suite together", f"{limits.MAX_VARIABLE_CHARACTERS:,} characters"),
    ("AgentV: files that a suite names", f"{limits.MAX_AGENTV_FILES:,}"),
    ("AgentV: targets that a suite names", f"{limits.MAX_AGENTV_TARGETS}"),
    ("AgentV: prompts that a suite names", f"{limits.MAX_AGENTV_PROMPTS}"),
    ("AgentV: trials of each test", f"{limits.MAX_AGENTV_TRIALS:,}"),
    ("AgentV: turns of a conversation", f"{limits.MAX_CONVERSATION_TURNS}"),
    ("AgentV: length of a cell in a CSV file with tests", f"{limits.MAX_CSV_CELL_CHARACTERS:,} characters"),
    ("AgentV: depth of `include` in assertions", f"{limits.MAX_INCLUDE_DEPTH} levels"),
    ("AgentV: length of a chain of `use_target`", f"{limits.MAX_TARGET_REFERENCES} targets"),
    ("AgentV: patterns to which `{a,b}` in the path of tests expands", f"{limits.MAX_BRACE_ALTERNATIVES}"),
    ("AgentV: repositories of a workspace", f"{limits.MAX_WORKSPACE_REPOS}"),
    ("AgentV: time to clone a repository of a workspace", minutes(limits.REPO_CLONE_SECONDS)),
    (
        "AgentV: time of a grader's program",
        f"the time limit of the session, but at least {minutes(limits.MIN_GRADER_SECONDS)}",
    ),
    (
        "AgentV: output of a grader's program that the tool reads",
        f"the last {format_size(limits.MAX_GRADER_OUTPUT_BYTES)}",
    ),
    (
        "AgentV: output file of a `cli` target that the tool reads",
        f"the last {format_size(limits.MAX_CLI_TARGET_OUTPUT_BYTES)}",
    ),
    (
        "AgentV: `max_calls`, the number of requests of a grader's program to the model",
        f"{limits.MAX_MODEL_CALLS:,}; {limits.DEFAULT_MODEL_CALLS} if the key is not set",
    ),
    ("[`evals.json`](skill-evals.md): assertions of a case", f"{limits.MAX_EVAL_QUESTIONS}"),
    ("`evals.json`: assertions of all cases together", f"{limits.MAX_SUITE_EVAL_QUESTIONS:,}"),
    (
        "`evals.json`: length of a question for the judge",
        f"{limits.MAX_EVAL_QUESTION_CHARACTERS:,} characters",
    ),
    ("`evals.json`: prompts of all cases together", f"{limits.MAX_VARIABLE_CHARACTERS:,} characters"),
    ("`evals.json`: input files of a case", f"{limits.MAX_EVAL_FILES:,}"),
    (
        "[Trigger queries](skills-under-test.md#trigger-queries): runs of each query",
        f"{limits.MAX_TRIGGER_RUNS}",
    ),
    ("[Plugin](plugin-evals.md): cases", f"{limits.MAX_PLUGIN_CASES:,}"),
    (
        "Plugin: files and folders in which the tool searches for cases; files and folders in `skills`",
        f"{limits.MAX_PLUGIN_FOLDERS:,} each. If there are more, the tool does not find all cases or skills",
    ),
    ("Plugin: graders of a case", f"{limits.MAX_PLUGIN_CASE_GRADERS}"),
    (
        "Plugin: `runs`, `max_turns` and `timeout_seconds` of a case",
        f"{limits.MAX_PLUGIN_RUNS}, {limits.MAX_PLUGIN_TURNS} and {limits.MAX_PLUGIN_SECONDS:,}",
    ),
    ("Plugin: matches that the tool counts for a pattern", f"the first {limits.MAX_PLUGIN_MATCHES:,}"),
    (
        "Plugin: length of a text that the judge sees",
        f"{limits.MAX_PLUGIN_JUDGED_CHARACTERS:,} characters; longer texts are shortened",
    ),
    ("[Harbor](harbor.md): tasks in a suite", f"{task_limits.MAX_HARBOR_TASKS:,}"),
    (
        "Harbor: files and folders in the folder of a suite, beside each other",
        f"{task_limits.MAX_HARBOR_FOLDERS:,}. If there are more, the tool does not find all tasks",
    ),
    (
        "Harbor: files and folders in each of the folders `tests`, `solution` and `environment` of a task",
        f"{task_limits.MAX_HARBOR_FILES:,}",
    ),
    ("Harbor: each timeout of agents, tests and health checks", days(task_limits.MAX_HARBOR_SECONDS)),
    ("Harbor: size of a file with a reward", f"{task_limits.MAX_REWARD_BYTES:,} bytes"),
)

SKILLS: tuple[Row, ...] = (
    HEAD,
    ("name of a skill", f"{limits.MAX_SKILL_NAME_CHARACTERS} characters"),
    ("size of a `SKILL.md`", f"{limits.MAX_SKILL_FILE_BYTES:,} bytes"),
    ("folder of a skill", f"{limits.MAX_SKILL_FILES:,} files and {format_size(limits.MAX_SKILL_BYTES)}"),
)

QUARANTINE: tuple[Row, ...] = (
    HEAD,
    ("entries", f"{limits.MAX_QUARANTINE_ENTRIES:,}. If there are more, none of the entries has an effect"),
    ("`reason`, `owner` and `issue`", f"{limits.MAX_QUARANTINE_TEXT_CHARACTERS} characters each"),
    ("`expires`", f"{limits.MAX_QUARANTINE_DAYS} days ahead. An entry with a later date has no effect"),
)

TIMES: tuple[Row, ...] = (
    HEAD,
    (
        "one search for a regular expression of a suite, except in suite programs",
        f"{limits.MAX_REGEX_SEARCH_SECONDS:g} s",
    ),
    ("all searches of this kind in a session together", f"{limits.MAX_SESSION_SEARCH_SECONDS:g} s"),
    ("the import of a suite program", f"{limits.SUITE_CALL_SECONDS:g} s"),
    ("each call of a check or a classifier in a suite program", f"{limits.SUITE_CALL_SECONDS:g} s"),
)

PROGRAMS: tuple[Row, ...] = (
    HEAD,
    (
        "memory of a suite program, and of each program that it starts; only on Linux",
        format_size(limits.SUITE_HOST_MEMORY_BYTES),
    ),
    ("text that a suite program prints", format_size(limits.MAX_HOST_LOG_BYTES)),
    ("each answer of a suite program to the tool", format_size(limits.MAX_HOST_REPLY_BYTES)),
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
