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
