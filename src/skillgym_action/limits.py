"""Limits of what is read, kept and waited for. One module, so that they can be compared and documented."""

# repository: the checkout
MAX_LINKS_IN_PATH = 20  # symbolic links followed on the way to a file; a loop would have no end

# workspaces: changed files of a session that are saved with the results, and the diff that checks and people see
MAX_SAVED_CHANGES_BYTES = 16 * 1024 * 1024  # bytes; with more, nothing is saved: half of the changes cannot be rejudged
MAX_SAVED_CHANGES_FILES = 2000  # files and links
MAX_DIFF_FILE_BYTES = 512 * 1024  # bytes of a file whose changes are shown; a larger one is named only
MAX_DIFF_CHARACTERS = 4 * 1024 * 1024  # characters of a diff, after which further files are only counted
MAX_DIFF_COMPARISONS = 4_000_000  # lines before times lines after, of a file; difflib takes seconds for more

# suite hosts: child processes in which suite programs run; a suite may do anything by mistake
SUITE_CALL_SECONDS = 60.0  # seconds for one call: loading a suite, a check, a classifier
SUITE_HOST_MEMORY_BYTES = 4 * 1024**3  # bytes of a host, and of each program that it starts, on Linux
SUITE_HOST_WAIT_SECONDS = 0.25  # seconds to wait for a busy host before another one is started
SUITE_HOST_GRACE_SECONDS = 1.0  # seconds to end by itself
MAX_IDLE_SUITE_HOSTS = 16  # hosts kept for later calls; each takes memory
MAX_HOST_REPLY_BYTES = 16 * 1024 * 1024  # bytes of a reply
MAX_HOST_REPLY_CONTAINERS = 250_000  # lists and objects in a reply; few bytes of JSON can take much memory
MAX_HOST_REPLY_VALUES = 1_000_000  # values in a reply
MAX_HOST_REPLY_MEMBERS = 100_000  # members of one object in a reply
MAX_HOST_LOG_BYTES = 64 * 1024 * 1024  # bytes that a suite may print
HOST_LOG_EXCERPT_BYTES = 4 * 1024  # bytes at the end of the log that are shown with an error

# suite programs
MAX_SUITE_CASES = 20_000  # cases of a suite; the Node suite host has the same number
MAX_FAILURE_MESSAGE_CHARACTERS = 16_000  # characters of the message of a failed check; the middle is cut out
MAX_GROUPED_ERRORS = 100  # errors of an exception group that are reported; Node has the same number
