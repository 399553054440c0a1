"""Limits of what is read, kept and waited for. One module, so that they can be compared and documented."""

# --- cli: doctor, explain

MAX_PROBE_SECONDS = 60.0  # of the session that `doctor --probe` runs
MAX_DOCTOR_TEXT_CHARACTERS = 200  # of a command, an answer or a message in a line of `doctor`
MAX_EXPLAIN_FILE_BYTES = 4 * 1024 * 1024  # of explain.json
MAX_EXPLAIN_SECONDS = 300.0  # for an answer to a question of `explain`
