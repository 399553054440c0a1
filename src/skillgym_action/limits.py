"""Limits of what is read, kept and waited for. One module, so that they can be compared and documented."""

# --- storage: stored runs and journals --------------------------------------------------------------

MAX_WRITTEN_OUTPUT_CHARACTERS = 4_000
"""Characters of an agent's final output in results.json; longer output is cut at its beginning."""
MAX_SHOWN_RESULTS_PROBLEMS = 5
"""Problems of one results file that are shown; the rest is counted."""
