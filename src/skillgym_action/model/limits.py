"""Limits of what is read, kept and waited for that several modules apply, by package."""

from __future__ import annotations

# --- authoring: `init` and `promote` ------------------------------------------------------------------

MAX_PROMOTED_TRANSCRIPT_BYTES = 256 * 1024**2  # of a local transcript
MAX_PROMOTED_BYTES = 20 * 1024**2  # of all files of a template, or of all that a session changed
MAX_NAMED_PATHS = 5  # of a kind, in one line of what `promote` prints

# --- pipeline: stages, and the checks before them -----------------------------------------------------

NEAR_MISS_HEAD_BYTES = 16 * 1024  # the same of a file that is not called like a suite

# --- sessions: one session, its repetitions and retries -----------------------------------------------

MAX_RETRY_WAIT_SECONDS = 60.0  # between a session with trouble and its retry
COMMAND_TAIL_BYTES = 8 * 1024  # of stdout and of stderr, in the explanation of a failed command
MAX_EVIDENCE_COMMAND_CHARACTERS = 200  # of a command by which a file was read
MAX_FINAL_OUTPUT_CHARACTERS = 4_000  # the end of an agent's final output, as results have it

# --- sessions/engines: sessions on other machines -----------------------------------------------------

MAX_ENGINE_SESSIONS = 256  # at once over all workers, unless the configuration says otherwise
DEFAULT_LOST_AFTER_SECONDS = 30.0  # silence after which a worker is lost
DEFAULT_LOST_RETRIES = 2  # how often the session of a lost worker runs again
DEFAULT_WORKER_WAIT_SECONDS = 300.0  # for a worker, as long as there is none
CLUSTER_SECONDS = 15.0  # to connect to the scheduler of a cluster, and for its answers
MAX_REFUSAL_CHARACTERS = 1_000  # of the reason for which a worker runs no session

# --- settings: what users can set ---------------------------------------------------------------------

DEFAULT_MEMORY_PERCENT = 90  # of the machine's memory, or of the container's: the limit of a session in the action
DEFAULT_DISK_BYTES = 10 * 1024**3  # that a session may use in the action
DEFAULT_PROCESSES = 2048  # that a session may have at one time, threads included
DEFAULT_FILE_BYTES = 4 * 1024**3  # of a file that a session writes
MAX_QUARANTINE_DAYS = 90  # ahead of today: a quarantine without an end would be a deleted case
MAX_QUARANTINE_TEXT_CHARACTERS = 500  # of a reason, an owner or an address
MAX_CONFIGURATION_BYTES = 1024 * 1024
MAX_REUSE_DAYS = 90  # that a reused result may be old at most, whatever is configured
DEFAULT_REUSE_DAYS = 14

# --- history: the store of earlier results, baseline, reuse, trend ------------------------------------

MAX_STORE_BYTES = 24 * 1024**2  # of all lines: the oldest runs are dropped when there are more
MAX_STORE_FILES = 20_000
MAX_STORE_READ_BYTES = 4 * MAX_STORE_BYTES  # of a store that others may have written
MAX_POOLED_RUNS = 10  # newest runs whose samples of an execution are taken together
STORE_TRANSFER_SECONDS = 300  # that a command of git for the store's branch may take, also over ssh
MAX_ARTIFACT_RUNS = 10  # workflow runs whose artifacts are read: as many as are pooled

# --- github: GitHub's API, comment, review, status ----------------------------------------------------

GITHUB_RETRY_SECONDS = 120.0  # for waits, failed tries and what slow replies take of all requests together
# GitHub's real limit differs from the one in its message, and between servers: a refused text is sent again, smaller.
COMMENT_CHARACTERS = (65_000, 30_000, 8_000, 2_000, 500)

# --- reports: several of them, and their wording ------------------------------------------------------

MAX_COMPARED_CASES = 20  # cases of one kind of change that are listed

# --- reports/terminal: terminal and job log -----------------------------------------------------------

MAX_TERMINAL_MESSAGE_CHARACTERS = 3_000  # of one execution: its failed assertions with their evidence

# --- reports/markdown: job summary and comment --------------------------------------------------------

MAX_SUMMARY_BYTES = 1_000_000  # of the job summary of one run, which leaves room for other text of the step

# --- reports/html: the HTML report and the trend page -------------------------------------------------

MAX_HTML_LISTED = 200  # failures, changes and warnings of one kind

# --- reports/files: reports for programs --------------------------------------------------------------

MAX_REPORTED_MESSAGE_CHARACTERS = 1_000  # of one execution in a report for programs (JUnit XML, CTRF)
MAX_REPORTED_EXPLANATION_CHARACTERS = 8_000  # of its message, location and failed assertions

# --- reports/user_templates: report templates of users ------------------------------------------------

MAX_RENDERED_BYTES = 4 * 1024**2  # of one rendered report
RENDERING_SECONDS = 4  # for all that one process renders, its start included: errors are reported within 5 s
CANCELLED_RENDERING_SECONDS = 1  # for what is still to be rendered once the run is cancelled

# --- workspaces: the folders that agents work in, and the repository ----------------------------------

MAX_TEMPLATE_DIGEST_FILES = 10_000  # of a suite's workspace templates; without a digest above it
MAX_LISTED_CHANGES = 5_000  # paths that `workspace.json` lists of each kind; changed files in a diff and in questions
MAX_SKILL_BYTES = 256 * 1024**2  # of all of them together

# --- results: run directory, journal, results file, stored runs ---------------------------------------

MAX_RESULTS_BYTES = 1024**3  # of a results file that is read
MAX_RESULTS_ROWS = 500_000  # results and warnings in it; a run with more is reported with a warning
MAX_RESULTS_ERRORS = 1_000  # of one such part; more are not looked at one by one
MAX_QUOTED_VALUE_CHARACTERS = 60  # of a wrong value that a message quotes
MAX_SHARDS = 256  # jobs that GitHub makes of one matrix
MAX_SESSION_REPORT_BYTES = 1024**3
MAX_STORED_SESSIONS = 1_000  # of one execution in a run
MAX_ARTIFACT_CONTAINERS = 400_000  # lists and objects in it
MAX_ARTIFACT_VALUES = 2_000_000
MAX_ARTIFACT_MEMBERS = 100_000  # of one object in it
COMMIT_CHARACTERS = 12  # of a commit, where people read it

# --- suites: several formats --------------------------------------------------------------------------

MAX_CASE_ID_CHARACTERS = 1_000
DEFAULT_COMMAND_SECONDS = 300.0  # of a command without a timeout, at least
MAX_SUITE_CASES = 20_000  # cases of a suite; the Node suite host has the same number
MAX_LISTED_VALUES = 30  # of a list in a message
MAX_SUITE_FILE_BYTES = 16 * 1024 * 1024
MAX_ARMS = 8
MAX_ARM_FILES = 1_000  # that an arm adds to workspaces
MAX_ARM_BYTES = 16 * 1024**2  # of these files together
MAX_UNKNOWN_KEYS = 100  # of one mapping that are reported one by one
MAX_VARIABLE_CHARACTERS = 16 * 1024**2  # that variables bring into a suite, and of all prompts: variables can multiply

# --- suites/xbench ------------------------------------------------------------------------------------

MAX_EXPECTATION_CHARACTERS = 10_000  # of x-bench; they bound the time to parse it

# --- suites/programs: suite hosts, and what runs in them ----------------------------------------------

MAX_SHOWN_VALUE_CHARACTERS = 400  # of one value in a message
MAX_SCRIPT_SUITE_BYTES = 1024 * 1024  # of a suite in TypeScript or JavaScript

# --- suites/agentv ------------------------------------------------------------------------------------

MAX_AGENTV_WARNINGS = 1_000  # about one suite
MAX_AGENTV_TARGETS = 100  # that a suite names
MIN_GRADER_SECONDS = 300.0  # for a grader's program; it has the session's timeout if that is longer
MAX_GRADER_OUTPUT_BYTES = 8 * 1024**2  # of stdout; of a longer one the end is read, and must have the answer
MAX_GRADER_EVIDENCE_BYTES = 2000  # the end of stderr that is kept

# --- suites/skill_evals -------------------------------------------------------------------------------

MAX_EVAL_NAME_CHARACTERS = 200  # of a question as the name of its outcome
MAX_LISTED_SKILLS = 10  # in one message

# --- suites/plugin_evals ------------------------------------------------------------------------------

MAX_PLUGIN_FOLDERS = 20_000  # that are looked at for cases, and for skills of a plugin
MAX_PLUGIN_CASE_GRADERS = 200

# --- judging/assertions: assertions and their evidence ------------------------------------------------

MAX_SEARCHED_FILE_BYTES = 8 * 1024 * 1024  # of a file of the workspace that an assertion searches
MAX_COMMAND_EVIDENCE_BYTES = 4096  # the end of a command's output
MAX_COMMAND_EVIDENCE_LINES = 20  # of it
MAX_COMPARED_LINES = 400  # of a file, or names of files, that are compared with a wanted text
MAX_CHANGED_TEXT_CHARACTERS = 2_000_000  # of a file, from its first changed line to its last, that is compared by lines
MAX_EVIDENCE_CHANGED_LINES = 8  # of a file, shown with an assertion that does not hold

# --- judging/judge: the model that grades -------------------------------------------------------------

MAX_JUDGE_VOTES = 15  # independent answers to one question
MAX_QUOTED_CHARACTERS = 200_000  # of one text that is judged; the middle of a longer one is left out

# --- agents: what agents print, and their installation ------------------------------------------------

VERSION_SECONDS = 60.0  # for a CLI to print its version; the first start after a download is slow
MAX_JSON_TEXT_CHARACTERS = 256 * 1024  # of one string in a line of JSON
MAX_SKILL_EVIDENCE = 5  # pieces of evidence for one skill
MAX_SHOWN_ARGUMENT_CHARACTERS = 120  # of the main argument, in a list of tool calls
MAX_ERROR_CHARACTERS = 500  # of an agent's error message

# --- system/network: requests to services -------------------------------------------------------------

SECONDS_AFTER_CANCELLATION = 2.5  # for all requests after a cancellation: GitHub kills the job after a few seconds
MAX_SERVICE_MESSAGE_CHARACTERS = 500  # of a service's own words in an error message

# --- system/containers: containers and the Docker engine ----------------------------------------------

MAX_POLICY_HOSTS = 200  # of one network policy, as a suite lists them

# --- system/processes: programs that are started, watched and ended -----------------------------------

MAX_OUTPUT_BYTES = 64 * 1024**2  # printed to one stream; a program that prints more is ended
TERMINATION_GRACE_SECONDS = 2.0  # from SIGTERM to SIGKILL for a program that is ended
CANCELLED_GRACE_SECONDS = 1.0  # the same once the run is cancelled
RESULT_LINGER_SECONDS = 30.0  # for an agent to exit after it has printed its result

# --- system/supervisor: the process that starts all programs ------------------------------------------

LEFTOVER_GRACE_SECONDS = 0.3  # from SIGTERM to SIGKILL for processes that an ended program left running
KILL_SECONDS = 10.0  # after which the tool stops waiting for processes that survive SIGKILL

# --- system/files: folders that others can change, and bundles of them --------------------------------

MAX_PATH_CHARACTERS = 4095  # of a path below a folder; as many bytes as operating systems accept
MAX_LINKS_FOLLOWED = 40  # symbolic links on the way to one path, as in Linux
MAX_PATTERN_CHARACTERS = 1_000  # of a glob pattern; a longer one matches nothing
MAX_BUNDLE_LINK_BYTES = 4095  # of the target of a symbolic link, as in operating systems

# --- text: redaction, comparison of texts -------------------------------------------------------------

MAX_LISTED_NAMES = 8  # names that a sentence lists

# --- text/documents: JSON, YAML and TOML --------------------------------------------------------------

MAX_DOCUMENT_DEPTH = 100  # levels of mappings and lists in JSON, YAML and TOML
MAX_DOCUMENT_VALUES = 250_000  # members of mappings and lists, and what is in them, aliases expanded
MAX_NUMBER_DIGITS = 300  # of a whole number in a document
MAX_REPORTED_PROBLEMS = 5_000  # of a document
MAX_SKILL_FILE_BYTES = 1024**2  # of a SKILL.md

# --- text/javascript: regular expressions -------------------------------------------------------------

MAX_REGEX_CHARACTERS = 10_000  # of one pattern
MAX_SUITE_REGEX_CHARACTERS = 500_000  # of all different patterns of a suite, translated: each takes time to compile

# --- model: the nouns ---------------------------------------------------------------------------------

MAX_CORRECTION_CANDIDATES = 1_000  # known words that a typing error is compared with
MAX_FINDINGS = 20  # of one execution
MIN_RESOURCE_LIMIT_BYTES = 4096  # a smaller number is most likely one whose unit was forgotten
MAX_RESOURCE_LIMIT_BYTES = 2**60
MAX_PROCESS_LIMIT = 4_194_304  # process ids that Linux has at most
