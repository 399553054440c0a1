"""Limits of what is read, kept and waited for. One module, so that they can be compared and documented."""

from __future__ import annotations

# --- model ------------------------------------------------------------------------------------------

MAX_MESSAGE_CHARS = 5_000  # of a problem: texts from users' files may be of any length
MAX_REMEDY_CHARS = 1_000  # also of a key path
MAX_CASE_ID_CHARS = 1_000
MAX_CORRECTED_WORD_CHARS = 100  # longer words are not taken for typing errors: comparing takes quadratic time
MAX_CORRECTION_CANDIDATES = 1_000  # known words that a typing error is compared with
MAX_FINDINGS = 20  # of one execution
MIN_RESOURCE_LIMIT_BYTES = 4096  # a smaller number is most likely one whose unit was forgotten
MAX_RESOURCE_LIMIT_BYTES = 2**60
MAX_PROCESS_LIMIT = 4_194_304  # process ids that Linux has at most
MAX_QUOTED_LIMIT_CHARS = 60  # of a wrong limit that a message quotes

# --- stages -----------------------------------------------------------------------------------------

SUITE_HEAD_BYTES = 64 * 1024  # the beginning of a file, by which `discover` recognises suites
MAX_SUITE_PROGRAMS_AT_ONCE = 4  # suite programs that are loaded in parallel
MAX_RETRY_WAIT_SECONDS = 60.0  # between a session with trouble and its retry
MAX_LISTED_EXECUTIONS = 5  # in one warning
MAX_JUDGED_AGAIN_WARNINGS = 100  # one per session that is judged again after a resume
MAX_QUOTED_VERSION_CHARS = 60  # of the version that a journal names

# --- sessions ---------------------------------------------------------------------------------------

COMMAND_TAIL_BYTES = 8 * 1024  # of stdout and of stderr, in the explanation of a failed command
HOOK_TAIL_BYTES = 500  # of stderr, in the message about a failed hook
MAX_EVIDENCE_COMMAND_CHARS = 200  # of a command by which a file was read
MAX_FINAL_OUTPUT_CHARS = 4_000  # the end of an agent's final output, as results have it
MAX_ORIGINAL_FILE_BYTES = 16 * 1024 * 1024  # of a file before the agent, searched for keys that were there already
