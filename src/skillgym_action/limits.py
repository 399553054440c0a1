"""Limits of what is read, kept and waited for. One module, so that they can be compared and documented."""

# --- patterns, agents, formats, assertions, documents -----------------------------------------------

MAX_GLOB_CHARACTERS = 1_000
"""Characters of a glob pattern of paths or names; a longer one matches nothing."""
MAX_EXPECTATION_CHARACTERS = 10_000
"""Characters of an x-bench expectation; they bound the time to parse it."""
MAX_EXPECTATION_RULE_WORDS = 10
"""Words of an x-bench expectation that are tried as its rule."""
MAX_REPORTED_EXPECTATIONS = 20
"""Wrong expectations of an x-bench case that are reported; of a suite with too many, its first cases."""
MAX_SUITE_SECONDS = 7 * 24 * 3600.0
"""Seconds that an x-bench suite may allow a case or a command: a week."""
MAX_REPLY_PATH_CHARACTERS = 4_096
"""Characters of a path in the reply of a suite host."""
MAX_SUITE_FILE_BYTES = 16 * 1024 * 1024
"""Bytes of a file of a suite."""
MAX_SCRIPT_SUITE_BYTES = 1024 * 1024
"""Bytes of a suite in TypeScript or JavaScript."""
MAX_PYTHON_SUITE_BYTES = 192 * 1024
"""Bytes of a suite in Python; compiling one takes a kilobyte of memory for each byte."""
MAX_CONFIGURATION_BYTES = 1024 * 1024
"""Bytes of a configuration file."""
MAX_DOCUMENT_DEPTH = 100
"""Levels of mappings and lists in JSON, YAML and TOML."""
MAX_DOCUMENT_VALUES = 250_000
"""Values of a document: members of mappings and lists, and what is in them, aliases expanded."""
MAX_NUMBER_DIGITS = 300
"""Digits of a whole number in a document."""
MAX_YAML_CHARACTERS = 16 * 1024 * 1024
"""Characters of all texts of a YAML document, aliases expanded."""
MAX_YAML_INTEGER_CHARACTERS = 1_000
"""Characters of a whole number in YAML that is parsed at all, leading zeros included."""
MAX_REPORTED_PROBLEMS = 5_000
"""Problems of a document that are reported one by one."""
MAX_SEARCHED_FILE_BYTES = 8 * 1024 * 1024
"""Bytes of a file of the workspace that an assertion searches."""
MAX_COMMAND_EVIDENCE_BYTES = 4096
"""Bytes of a command's output that are stored as evidence: the last ones."""
