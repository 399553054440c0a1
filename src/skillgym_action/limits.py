"""Limits of what is read, kept and waited for. One module, so that they can be compared and documented."""

# --- requests to services: GitHub's API, the judge --------------------------------------------------

CONNECT_SECONDS = 10.0  # until there is a connection
MAX_REQUEST_TRIES = 5  # of one request, the first included
SECONDS_AFTER_CANCELLATION = 2.5  # for all requests after a cancellation: GitHub kills the job after a few seconds

# --- GitHub's API -----------------------------------------------------------------------------------

GITHUB_RETRY_SECONDS = 120.0  # for waits and failed tries of all requests together
GITHUB_READ_SECONDS = 20.0  # without a byte; GitHub itself gives up after 10
GITHUB_RATE_LIMIT_SECONDS = 60.0  # first wait at a rate limit that names no time
MAX_GITHUB_REPLY_BYTES = 20_000_000
MAX_GITHUB_PAGES = 100  # of a list
MAX_GITHUB_REDIRECTS = 5
MAX_EVENT_BYTES = 32 * 1024 * 1024  # of the payload; GitHub's have at most 25 MB
MAX_SERVICE_MESSAGE_CHARACTERS = 500  # of a service's own words in an error message
MAX_REVIEW_COMMENTS = 20
MAX_STATUS_CHARACTERS = 140  # GitHub takes no longer description of a commit status
MAX_SUMMARY_BYTES = 1_048_576  # GitHub drops the whole summary of a step when it is larger
# GitHub's real limit differs from the one in its message, and between servers: a refused text is sent again, smaller.
COMMENT_CHARACTERS = (65_000, 30_000, 8_000, 2_000, 500)

# --- the judge --------------------------------------------------------------------------------------

JUDGE_SECONDS = 300.0  # for one question, all tries together
MAX_JUDGE_QUESTIONS = 3  # one question, and two more after answers that do not fit the schema
MAX_JUDGE_ANSWER_TOKENS = 4096  # asked for; some models have less
MAX_JUDGE_REPLY_BYTES = 2_000_000
MAX_QUOTED_CHARACTERS = 200_000  # of one text that is judged; the middle of a longer one is left out
MAX_ANSWER_MISTAKES = 5  # shown to the model, and in the error

# --- what agents print ------------------------------------------------------------------------------

MAX_TRANSCRIPT_EVENTS = 20_000  # of a session; more than that is a session out of control, and is not kept in memory
MAX_TRANSCRIPT_CHARACTERS = 8_000_000  # of all events of a session
MAX_JSON_TEXT_CHARACTERS = 256 * 1024  # of one string in a line of JSON
MAX_JSON_DEPTH = 64  # of nested values in a line of JSON
MAX_PARSED_COMMAND_CHARACTERS = 16 * 1024  # of a shell command that is searched for files it reads
MAX_SHELL_NESTING = 3  # ``bash -c`` within ``bash -c``
MAX_SKILL_EVIDENCE = 5  # pieces of evidence for one skill
MAX_ERROR_CHARACTERS = 500  # of an agent's error message
MAX_STDERR_CHARACTERS = 4096  # from the end of stderr, searched for the kind of a failure

# --- redaction of secrets ---------------------------------------------------------------------------

MAX_REDACTED_PARTS = 1_000  # texts of keys that were found, and are replaced in everything written later
REDACTION_OVERLAP_CHARACTERS = 32_768  # that a stream keeps, so that a key split over chunks is seen; none is longer
