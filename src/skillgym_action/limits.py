"""Limits of what is read, kept and waited for. One module, so that they can be compared and documented."""

# --- patterns, agents, formats, assertions, documents -----------------------------------------------

MAX_GLOB_CHARACTERS = 1_000
"""Characters of a glob pattern of paths or names; a longer one matches nothing."""
