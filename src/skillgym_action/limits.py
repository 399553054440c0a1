"""Limits of what is read, kept and waited for. One module, so that they can be compared and documented."""

# Suite files ------------------------------------------------------------------------------------------

MAX_UNKNOWN_KEYS = 100
"""Unknown keys of one mapping that are reported one by one."""

# AgentV suites ----------------------------------------------------------------------------------------

MAX_AGENTV_FILES = 50_000
"""Files that a suite names, those of its tests included: each is looked for on disk."""
MAX_AGENTV_ASSERTIONS = 100_000
"""Assertions of all tests, the suite's own counted once per test."""
MAX_AGENTV_PARTS = 200_000
"""Tags, metadata and parts of the input of all tests, the suite's own counted once per test."""
MAX_AGENTV_WARNINGS = 1_000
"""Warnings about one suite."""
MAX_VARIABLE_CHARACTERS = 16 * 1024 * 1024
"""Characters that variables bring into one suite, and of all prompts: references can multiply each other."""
MAX_AGENTV_TARGETS = 100
"""Targets that a suite names."""
MAX_TARGET_REFERENCES = 5
"""Length of a chain of ``use_target``."""
MAX_INCLUDE_DEPTH = 3
"""Depth of ``include`` in assertions; AgentV's own limit."""
MAX_BRACE_ALTERNATIVES, MAX_BRACES = 100, 20
"""Patterns that ``{a,b}`` in a path expands to, and pairs of braces in a path."""

# Graders ----------------------------------------------------------------------------------------------

MIN_GRADER_SECONDS = 300.0
"""Seconds that a grader's program has at least; it has the session's timeout if that is longer."""
MAX_GRADER_OUTPUT_BYTES = 8 * 1024 * 1024
"""Bytes at the end of a grader's stdout that are read."""
MAX_GRADER_EVIDENCE_BYTES = 2000
"""Bytes at the end of a grader's stderr that are kept as evidence."""
MAX_JSON_STARTS = 100
"""Lines of a grader's stdout that are tried as the first line of a JSON object."""
MAX_FILE_NAME_CHARACTERS = 255
"""Characters of an argument that can be the name of a file."""
MAX_CLI_TARGET_OUTPUT_BYTES = 10 * 1024 * 1024
"""Bytes of a ``cli`` target's output file that are read."""
MAX_JUDGE_TEMPLATE_VARIABLES = 100
"""Variables that are replaced in a suite's own template for the judge."""
MAX_JUDGE_REASONS = 8
"""Reasons of the judge that are kept, if it gives a score of its own; AgentV's own limit."""

# Regular expressions ----------------------------------------------------------------------------------

MAX_PATTERN_CHARACTERS = 10_000
"""Characters of one pattern."""
MAX_TRANSLATED_PATTERN_CHARACTERS = 5 * MAX_PATTERN_CHARACTERS
"""Characters of one pattern in the syntax of Python's ``regex`` package."""
MAX_SUITE_PATTERN_CHARACTERS = 500_000
"""Characters of all different patterns of a suite, translated: each takes time to compile."""
MAX_SEARCH_SECONDS, MAX_SESSION_SEARCH_SECONDS = 2.0, 10.0
"""Seconds of one search, and of all searches of a session: agents may write text that makes a search endless."""
