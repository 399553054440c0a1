"""Limits of what is read, kept and waited for. One module, so that they can be compared and documented."""

from __future__ import annotations

# --- starter: files that `init` writes ----------------------------------------------------------------

MAX_STARTER_SOURCE_BYTES = 1024**2  # of a file of the repository that is read for its test command or its title

# --- model ------------------------------------------------------------------------------------------

MAX_PROBLEM_CHARACTERS = 5_000  # of a problem: texts from users' files may be of any length
MAX_REMEDY_CHARACTERS = 1_000  # also of a key path
MAX_CASE_ID_CHARACTERS = 1_000
MAX_CORRECTED_WORD_CHARACTERS = 100  # longer words are not taken for typing errors: comparing takes quadratic time
MAX_CORRECTION_CANDIDATES = 1_000  # known words that a typing error is compared with
MAX_KEYWORD_EXPRESSION_CHARACTERS = 300  # each parenthesis is a level of the parser
MAX_FINDINGS = 20  # of one execution
MIN_RESOURCE_LIMIT_BYTES = 4096  # a smaller number is most likely one whose unit was forgotten
MAX_RESOURCE_LIMIT_BYTES = 2**60
DEFAULT_MEMORY_PERCENT = 90  # of the machine's memory, or of the container's: the limit of a session in the action
DEFAULT_DISK_BYTES = 10 * 1024**3  # that a session may use in the action
DEFAULT_PROCESSES = 2048  # that a session may have at one time, threads included
DEFAULT_FILE_BYTES = 4 * 1024**3  # of a file that a session writes
MAX_PROCESS_LIMIT = 4_194_304  # process ids that Linux has at most
MAX_QUOTED_LIMIT_CHARACTERS = 60  # of a wrong limit that a message quotes

# --- quarantine -------------------------------------------------------------------------------------

MAX_QUARANTINE_DAYS = 90  # ahead of today: a quarantine without an end would be a deleted case
MAX_QUARANTINE_ENTRIES = 1_000
MAX_QUARANTINE_TEXT_CHARACTERS = 500  # of a reason, an owner or an address

# --- stages -----------------------------------------------------------------------------------------

SUITE_HEAD_BYTES = 64 * 1024  # the beginning of a file, by which `discover` recognises suites
NEAR_MISS_HEAD_BYTES = 16 * 1024  # the same of a file that is not called like a suite
MAX_NEAR_MISS_FILES = 2_000  # files that are not called like suites, and looked at in one search
MAX_LISTED_SKIPPED_FILES = 50  # by `check`, of those that are no suites
MAX_SUITE_PROGRAMS_AT_ONCE = 4  # suite programs that are loaded in parallel
MAX_RETRY_WAIT_SECONDS = 60.0  # between a session with trouble and its retry
PROVIDER_RECOVERY_SECONDS = 60.0  # without a rate limit, after which one more session may use a slowed provider
CANCELLATION_POLL_SECONDS = 0.25  # how often sessions that wait for their provider look whether the run was cancelled
MAX_LISTED_EXECUTIONS = 5  # in one warning
MAX_JUDGED_AGAIN_WARNINGS = 100  # one per session that is judged again after a resume
MAX_QUOTED_VERSION_CHARACTERS = 60  # of the version that a journal names

# --- sessions ---------------------------------------------------------------------------------------

COMMAND_TAIL_BYTES = 8 * 1024  # of stdout and of stderr, in the explanation of a failed command
HOOK_TAIL_BYTES = 500  # of stderr, in the message about a failed hook
MAX_EVIDENCE_COMMAND_CHARACTERS = 200  # of a command by which a file was read
MAX_FINAL_OUTPUT_CHARACTERS = 4_000  # the end of an agent's final output, as results have it
MAX_ORIGINAL_FILE_BYTES = 16 * 1024 * 1024  # of a file before the agent, searched for keys that were there already

# --- filesystem: folders that others can change -----------------------------------------------------

MAX_PATH_CHARACTERS = 4095  # of a path below a folder; as many bytes as operating systems accept
MAX_LINKS_FOLLOWED = 40  # symbolic links on the way to one path, as in Linux
MAX_ARM_PATTERNS = 20  # of paths that an arm removes from each workspace
MAX_PATTERN_FOLDERS = 3  # times ** in one of them
MAX_PATTERN_CHARACTERS = 1_000  # of a glob pattern; a longer one matches nothing

# Bundles that others can forge and that are uploaded as artifacts. The tool's own, such as templates, may be larger.
MAX_BUNDLE_LEVELS = 400  # folders in each other
MAX_BUNDLE_PATH_BYTES = 3_000
MAX_BUNDLE_ENTRIES = 200_000
MAX_BUNDLE_FILE_BYTES = 64 * 1024**2
MAX_BUNDLE_BYTES = 512 * 1024**2  # of all files together
MAX_BUNDLE_NAME_BYTES = 255  # of one component of a path, as in file systems
MAX_BUNDLE_LINK_BYTES = 4095  # of the target of a symbolic link, as in operating systems

# --- containers of sessions -------------------------------------------------------------------------
MAX_COPIED_BYTES = 2 * 1024**3  # of a workspace or a home that is copied out of a container
MAX_SUITE_PROGRAM_BYTES = 16 * 1024**2  # of a file of a suite that is put into a container

# --- supervisor: the process that starts all programs -----------------------------------------------

MAX_SUPERVISOR_MESSAGE_BYTES = 256 * 1024**2  # the largest one is the snapshot of a workspace with 200,000 entries
MAX_SUPERVISOR_MESSAGE_DESCRIPTORS = 8  # open files sent with one message
LEFTOVER_GRACE_SECONDS = 0.3  # from SIGTERM to SIGKILL for processes that an ended program left running
KILL_SECONDS = 10.0  # after which the tool stops waiting for processes that survive SIGKILL
FORK_SECONDS = 0.5  # to wait for a process to fork where a session's user has started as many as it may

# --- processes: programs that are started, watched and ended ----------------------------------------

MAX_OUTPUT_BYTES = 64 * 1024**2  # printed to one stream; a program that prints more is ended
MAX_OUTPUT_LINES = 1_000_000  # read from one stream
MAX_OUTPUT_LINE_BYTES = 4 * 1024**2  # the rest of a longer line is skipped
TERMINATION_GRACE_SECONDS = 2.0  # from SIGTERM to SIGKILL for a program that is ended
CANCELLED_GRACE_SECONDS = 1.0  # the same once the run is cancelled
RESULT_LINGER_SECONDS = 30.0  # for an agent to exit after it has printed its result
START_SECONDS = 1.0  # in which the supervisor nearly always has started a program
END_SECONDS = 15.0  # to wait for the end of a process that has been killed or asked to exit
MAX_MEASURED_ENTRIES = 1_000_000  # files and folders counted in one measurement of disk usage
DISK_RESERVE_BYTES = 512 * 1024**2  # of the temporary file system that sessions have to leave free, or 5 % if less
INSTALL_SECONDS = 600.0  # for npm to install an agent's CLI; the largest has 400 MB
MAX_AGENT_SETTINGS_BYTES = 65_536  # of a settings file of an agent's CLI that are searched for a key
MAX_CACHED_AGENT_BYTES = 4 * 1024**3  # of an installed CLI that is kept for later jobs
MAX_CACHED_LINKS_BYTES = 1024**2  # of the list of its hard links
VERSION_SECONDS = 60.0  # for a CLI to print its version; the first start after a download is slow

# --- requests to services: GitHub's API, the judge --------------------------------------------------

CONNECT_SECONDS = 10.0  # until there is a connection
MAX_REQUEST_TRIES = 5  # of one request, the first included
SECONDS_AFTER_CANCELLATION = 2.5  # for all requests after a cancellation: GitHub kills the job after a few seconds

# --- GitHub's API -----------------------------------------------------------------------------------

GITHUB_RETRY_SECONDS = 120.0  # for waits, failed tries and what slow replies take of all requests together
GITHUB_SHARE_OF_THE_END = 0.5  # of those, kept for the end of the run while it goes on
GITHUB_SHARE_OF_THE_STATUS = 0.25  # of those, kept for the final status while the comment is written
EARLY_END_SECONDS = 60.0  # the same for what is written about a run that ended without a report
GITHUB_READ_SECONDS = 20.0  # without a byte; GitHub itself gives up after 10
GITHUB_REPLY_SECONDS = 30.0  # from the begin of a try to the last byte of its reply
GITHUB_PROMPT_SECONDS = 5.0  # a reply that comes in this time costs nothing
GITHUB_RATE_LIMIT_SECONDS = 60.0  # first wait at a rate limit that names no time
MAX_GITHUB_REPLY_BYTES = 20_000_000
MAX_GITHUB_PAGES = 100  # of a list
MAX_GITHUB_REDIRECTS = 5
ARTIFACT_DOWNLOAD_SECONDS = 60.0  # from the redirect to the last byte of an artifact
MAX_EVENT_BYTES = 32 * 1024 * 1024  # of the payload; GitHub's have at most 25 MB
MAX_SERVICE_MESSAGE_CHARACTERS = 500  # of a service's own words in an error message
BROWSER_FAILS_WITHIN_SECONDS = 1.0  # one that still runs then is open
MAX_REVIEW_COMMENTS = 20
MAX_REVIEW_CHARACTERS = 6_000  # about the failures of a case, before they are escaped; as many again for evidence
MAX_STATUS_CHARACTERS = 140  # GitHub takes no longer description of a commit status
MAX_STEP_SUMMARY_BYTES = 1_048_576  # GitHub drops the whole summary of a step when it is larger
# GitHub's real limit differs from the one in its message, and between servers: a refused text is sent again, smaller.
COMMENT_CHARACTERS = (65_000, 30_000, 8_000, 2_000, 500)

# --- the judge --------------------------------------------------------------------------------------

JUDGE_SECONDS = 300.0  # for one question, all tries together
MAX_JUDGE_QUESTIONS = 3  # one question, and two more after answers that do not fit the schema
MAX_JUDGE_VOTES = 15  # independent answers to one question
MAX_ANSWER_CANDIDATES = 50  # JSON objects in one quoted text that are compared with the form of an answer
MAX_JUDGE_VERSIONS = 20  # names of one model in the replies of its service
MAX_JUDGE_VERSION_CHARACTERS = 200
MAX_JUDGE_ANSWER_TOKENS = 4096  # asked for; some models have less
MAX_JUDGE_REPLY_BYTES = 2_000_000
DEFAULT_MODEL_CALLS = 50  # of one program that asks the model; AgentV's own number
MAX_MODEL_CALLS = 1_000
MAX_MODEL_PROXY_BYTES = 4_000_000  # of one request of a program
MAX_MODEL_PROXY_THREADS = 16  # connections of one program at once
MODEL_PROXY_READ_SECONDS = 30.0  # until a request has to be there
MODEL_PROXY_POLL_SECONDS = 0.05  # how soon it notices that the program has ended
MAX_QUOTED_CHARACTERS = 200_000  # of one text that is judged; the middle of a longer one is left out
MAX_ANSWER_MISTAKES = 5  # shown to the model, and in the error

# --- repository -------------------------------------------------------------------------------------

MAX_SUITE_DIGEST_FILE_BYTES = 2 * 1024**3  # of each file of a suite; the suite has no digest above it
MAX_TEMPLATE_DIGEST_FILES = 10_000  # of a suite's workspace templates; without a digest above it
MAX_LINKS_IN_PATH = 20  # symbolic links followed on the way to a file; a loop would have no end

# --- workspaces -------------------------------------------------------------------------------------

MAX_SAVED_CHANGES_BYTES = 16 * 1024 * 1024  # bytes; with more, nothing is saved: half of the changes cannot be rejudged
MAX_SAVED_CHANGES_FILES = 2000  # files and links
MAX_DIFF_FILE_BYTES = 512 * 1024  # bytes of a file whose changes are shown; a larger one is named only
MAX_DIFF_CHARACTERS = 4 * 1024 * 1024  # characters of a diff, after which further files are only counted
MAX_DIFF_COMPARISONS = 4_000_000  # lines before times lines after, of a file; difflib takes seconds for more
# A workspace that is at most this large may stay until the end of the run; so many of them at most.
SMALL_WORKSPACE_BYTES = 64 * 1024
SMALL_WORKSPACE_ENTRIES = 32
MAX_RETIRED_WORKSPACES = 10_000
MAX_LISTED_CONFIGURATION_FILES = 5  # in the warning about hidden agent configuration

# --- suite_hosts ------------------------------------------------------------------------------------

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

# --- suite_programs ---------------------------------------------------------------------------------

MAX_SUITE_CASES = 20_000  # cases of a suite; the Node suite host has the same number
MAX_FAILURE_MESSAGE_CHARACTERS = 16_000  # characters of the message of a failed check; the middle is cut out
MAX_GROUPED_ERRORS = 100  # errors of an exception group that are reported; Node has the same number
MAX_SHOWN_SOURCE_CHARACTERS = 800  # of the failed ``assert`` statement in a message
MAX_LISTED_VALUE_CHARACTERS = 200  # of one value of a list in a message
MAX_LISTED_VALUES = 30  # of a list in a message
MAX_TRACE_LINES = 8  # of the traceback in a message
MAX_SHOWN_VALUE_CHARACTERS = 400  # of one value in a message

# --- documents, formats, assertions -----------------------------------------------------------------

MAX_EXPECTATION_CHARACTERS = 10_000  # of x-bench; they bound the time to parse it
MAX_EXPECTATION_RULE_WORDS = 10  # words of an expectation that are tried as its rule
MAX_REPORTED_EXPECTATIONS = 20  # wrong ones of an x-bench case; also the cases that are reported of too many
MAX_SUITE_SECONDS = 7 * 24 * 3600.0  # that an x-bench suite may allow a case or a command
MAX_REPLY_PATH_CHARACTERS = 4_096  # of a path in the reply of a suite host
MAX_SUITE_FILE_BYTES = 16 * 1024 * 1024
MAX_SCRIPT_SUITE_BYTES = 1024 * 1024  # of a suite in TypeScript or JavaScript
MAX_PYTHON_SUITE_BYTES = 192 * 1024  # compiling a suite takes a kilobyte of memory for each byte
MAX_ARMS = 8
MAX_ARM_FILES = 1_000  # that an arm adds to workspaces
MAX_ARM_BYTES = 16 * 1024**2  # of these files together
MAX_CONFIGURATION_BYTES = 1024 * 1024
MAX_DOCUMENT_DEPTH = 100  # levels of mappings and lists in JSON, YAML and TOML
MAX_DOCUMENT_VALUES = 250_000  # members of mappings and lists, and what is in them, aliases expanded
MAX_NUMBER_DIGITS = 300  # of a whole number in a document
MAX_YAML_CHARACTERS = 16 * 1024 * 1024  # of all texts of a document, aliases expanded
MAX_YAML_INTEGER_CHARACTERS = 1_000  # of a whole number that is parsed at all, leading zeros included
MAX_REPORTED_PROBLEMS = 5_000  # of a document
MAX_SEARCHED_FILE_BYTES = 8 * 1024 * 1024  # of a file of the workspace that an assertion searches
MAX_COMMAND_EVIDENCE_BYTES = 4096  # the end of a command's output
MAX_COMMAND_EVIDENCE_LINES = 20  # of it
MAX_COMPARED_CHARACTERS = 2_000  # of a text that is compared with a wanted one
MAX_COMPARED_LINES = 400  # of a file, or names of files, that are compared with a wanted text
MAX_CHANGED_TEXT_CHARACTERS = 2_000_000  # of a file, from its first changed line to its last, that is compared by lines
MAX_EVIDENCE_CHANGED_LINES = 8  # of a file, shown with an assertion that does not hold
MAX_EVIDENCE_NEAREST_LINES = 3  # the same; lines that are like the wanted text
MAX_EVIDENCE_LINE_CHARACTERS = 160  # of a line that is shown
MAX_EVIDENCE_NAMES = 5  # of files

# --- what agents print ------------------------------------------------------------------------------

MAX_TRANSCRIPT_EVENTS = 20_000  # of a session; more than that is a session out of control, and is not kept in memory
MAX_TRANSCRIPT_CHARACTERS = 8_000_000  # of all events of a session
MAX_JSON_TEXT_CHARACTERS = 256 * 1024  # of one string in a line of JSON
MAX_JSON_DEPTH = 64  # of nested values in a line of JSON
MAX_PARSED_COMMAND_CHARACTERS = 16 * 1024  # of a shell command that is searched for files it reads
MAX_SHELL_NESTING = 3  # ``bash -c`` within ``bash -c``
MAX_SKILL_EVIDENCE = 5  # pieces of evidence for one skill
MAX_SHOWN_ARGUMENT_CHARACTERS = 120  # of the main argument, in a list of tool calls
MAX_ERROR_CHARACTERS = 500  # of an agent's error message
MAX_STDERR_CHARACTERS = 4096  # from the end of stderr, searched for the kind of a failure

# --- redaction of secrets ---------------------------------------------------------------------------

MAX_REDACTED_PARTS = 1_000  # texts of keys that were found, and are replaced in everything written later
REDACTION_OVERLAP_CHARACTERS = 32_768  # that a stream keeps, so that a key split over chunks is seen; none is longer

# --- cli: doctor, explain, completion ---------------------------------------------------------------

MAX_COMPLETED_RUNS = 20  # run directories that a shell offers, the last ones
MAX_COMPLETION_RESULTS_BYTES = 16 * 1024**2  # of a results file that a shell takes names from
MAX_PROBE_SECONDS = 60.0  # of the session that `doctor --probe` runs
MAX_DOCTOR_TEXT_CHARACTERS = 200  # of a command, an answer or a message in a line of `doctor`
MAX_EXPLAIN_FILE_BYTES = 4 * 1024 * 1024  # of explain.json
MAX_EXPLAIN_SECONDS = 300.0  # for an answer to a question of `explain`

# --- promotion: sessions that become cases ----------------------------------------------------------

MAX_PROMOTED_TRANSCRIPT_BYTES = 256 * 1024**2  # of a local transcript
MAX_PROMOTED_LINE_BYTES = 16 * 1024**2  # of one line of it; longer ones are skipped
MAX_PROMOTED_LINE_CONTAINERS = 100_000  # lists and objects in one line, and values, and members of one object
MAX_PROMOTED_PROMPTS = 100  # messages of the user in a transcript
MAX_PROMOTED_PROMPT_CHARACTERS = 200_000
MAX_PROMOTED_EDITS = 10_000  # of files, in a transcript
MAX_PROMOTED_FILES = 2_000  # in a template; of a larger commit only what the session read or changed is taken
MAX_PROMOTED_BYTES = 20 * 1024**2  # of all files of a template, or of all that a session changed
MAX_DRAFTED_FILES = 5  # expectations about files that are drafted for a case
MAX_DRAFTED_COMMANDS = 3  # the same about commands
MAX_DRAFTED_COMMAND_CHARACTERS = 120  # a longer command is not taken for a plain call of a test runner
MAX_NAMED_PATHS = 5  # of a kind, in one line of what `promote` prints

# --- AgentV suites ----------------------------------------------------------------------------------

MAX_UNKNOWN_KEYS = 100  # of one mapping that are reported one by one
MAX_AGENTV_FILES = 50_000  # that a suite and its tests name; each is looked for on disk
MAX_AGENTV_ASSERTIONS = 100_000  # of all tests; the suite's own count once per test
MAX_AGENTV_PARTS = 200_000  # tags, metadata and parts of the input of all tests; the suite's own count once per test
MAX_AGENTV_WARNINGS = 1_000  # about one suite
MAX_AGENTV_TRIALS = 1_000  # of each test
MAX_AGENTV_PROMPTS = 100  # of a suite; each test is run with every one
MAX_AGENTV_SNIFFED_TESTS = 1_000  # whose keys tell whether a suite is one of AgentV 5
MAX_CSV_CELL_CHARACTERS = 1_000_000  # of a table with tests
MAX_AGENTV_TARGETS = 100  # that a suite names
MAX_TARGET_REFERENCES = 5  # in a chain of `use_target`
MAX_INCLUDE_DEPTH = 3  # of `include` in assertions; AgentV's own limit
MAX_VARIABLE_CHARACTERS = 16 * 1024**2  # that variables bring into a suite, and of all prompts: variables can multiply
MAX_BRACE_ALTERNATIVES = 100  # patterns that `{a,b}` in the path of tests expands to
MAX_BRACES = 20  # pairs of braces in the path of tests
MAX_ASSERTION_NAME_CHARACTERS = 30  # of the regular expression in the name of its assertion

# --- evals of skills --------------------------------------------------------------------------------

QUESTIONS_PER_CALL = 20  # that the judge is asked at once
MAX_EVAL_QUESTIONS = 500  # and assertions that need no judge, of a case
MAX_SUITE_EVAL_QUESTIONS = 20_000  # of all cases of a suite
MAX_EVAL_QUESTION_CHARACTERS = 20_000
MAX_EVAL_NAME_CHARACTERS = 200  # of a question as the name of its outcome
MAX_EVAL_EVIDENCE_CHARACTERS = 4_000  # of the judge's evidence for one answer
MAX_EVAL_FILES = 1_000  # that one case lists
MAX_LISTED_PLACES = 6  # where an input file was looked for
MAX_JUDGED_MESSAGE_CHARACTERS = 60_000  # of the final message that the judge sees
MAX_JUDGED_ACTIONS_CHARACTERS = 40_000
MAX_JUDGED_ACTION_CHARACTERS = 2_000  # of one command or call of a tool
MAX_JUDGED_FILE_CHARACTERS = 40_000  # of one created or changed file
MAX_JUDGED_FILES_CHARACTERS = 160_000  # of all of them
MAX_JUDGED_NAMES = 500  # of files that are listed by name and size

# --- AgentV graders ---------------------------------------------------------------------------------

MAX_CONVERSATION_TURNS = 100
MAX_WORKSPACE_REPOS = 20
REPO_CLONE_SECONDS = 300.0  # for cloning a repository of a workspace
MIN_TURN_SECONDS = 1.0  # for a turn of a conversation, whatever the turns before it have left of the session's time
MIN_GRADER_SECONDS = 300.0  # for a grader's program; it has the session's timeout if that is longer
MAX_GRADER_OUTPUT_BYTES = 8 * 1024**2  # the end of stdout that is read
MAX_GRADER_EVIDENCE_BYTES = 2000  # the end of stderr that is kept
MAX_JSON_STARTS = 100  # lines of stdout that are tried as the first line of a JSON object
MAX_FILE_NAME_CHARACTERS = 255  # of an argument that can be the name of a file, as in file systems
MAX_CLI_TARGET_OUTPUT_BYTES = 10 * 1024**2  # the end of a `cli` target's output file that is read
MAX_JUDGE_TEMPLATE_VARIABLES = 100  # replaced in a suite's own template for the judge
MAX_JUDGE_REASONS = 8  # kept of a judge that gives a score of its own; AgentV's own limit
MAX_SHOWN_ANSWER_CHARACTERS = 500  # of the answer in an explanation
MAX_SHOWN_FIELD_CHARACTERS = 80  # of a field's value in an explanation

# --- skills under test ------------------------------------------------------------------------------

MAX_SKILL_FILE_BYTES = 1024**2  # of a SKILL.md
MAX_SKILL_NAME_CHARACTERS = 100
MAX_SKILL_FILES = 5_000  # of the folder of a skill
MAX_SKILL_BYTES = 256 * 1024**2  # of all of them together
MAX_SKILL_SEARCH_ENTRIES = 100_000  # files and folders that one search for SKILL.md looks at
MAX_LISTED_SKILLS = 10  # in one message
MAX_TRIGGER_RUNS = 50  # of one query

# --- regular expressions ----------------------------------------------------------------------------

MAX_REGEX_CHARACTERS = 10_000  # of one pattern
MAX_TRANSLATED_REGEX_CHARACTERS = 5 * MAX_REGEX_CHARACTERS  # of one pattern, translated from JavaScript's syntax
MAX_SUITE_REGEX_CHARACTERS = 500_000  # of all different patterns of a suite, translated: each takes time to compile
MAX_REGEX_SEARCH_SECONDS = 2.0  # for one search: text that an agent writes can make it endless
MAX_SESSION_SEARCH_SECONDS = 10.0  # for all searches of a session

# --- storage: stored runs and journals --------------------------------------------------------------

MAX_RESULTS_BYTES = 1024**3  # of a results file that is read
MAX_RESULTS_ROWS = 500_000  # results and warnings in it; a run with more is reported with a warning
MAX_RESULTS_OBJECTS = 10_000_000  # in it
MAX_RESULTS_ROW_CHARACTERS = 64 * 1024**2  # of one result, and of each other part of the file
MAX_RESULTS_CONTAINERS = 400_000  # lists and objects of one such part
MAX_RESULTS_VALUES = 3_000_000  # of one such part
MAX_RESULTS_MEMBERS = 1_000  # of one object in it
MAX_RESULTS_ERRORS = 1_000  # of one such part; more are not looked at one by one
MAX_SHOWN_RESULTS_PROBLEMS = 5  # of one results file; the rest is counted
MAX_QUOTED_VALUE_CHARACTERS = 60  # of a wrong value that a message quotes
MAX_STORED_KEY_PATH_CHARACTERS = 300  # of a key of a stored line, in messages
MAX_MATCHED_RUNS = 2_000  # by one pattern
MAX_SHARDS = 256  # jobs that GitHub makes of one matrix
MAX_PLAN_BYTES = 64 * 1024**2
MAX_PLANNED_EXECUTIONS = 100_000  # of a stored plan
MAX_PLAN_DIFFERENCES = 5  # of each kind, between a stored plan and a checkout, that a message names
MAX_SEARCHED_ENTRIES = 200_000  # of folders that one search for runs looks at
MAX_SEARCHED_LEVELS = 100  # of folders below the one that a search starts in
MAX_SESSION_REPORT_BYTES = 1024**3
MAX_JOURNAL_LINE_BYTES = 64 * 1024 * 1024
MAX_SHOWN_JOURNAL_PROBLEMS = 5  # lines that are not valid
MAX_LISTED_SNAPSHOTS = 5  # in one warning

# --- baselines: the store of earlier results --------------------------------------------------------

MAX_STORED_LINE_ENTRIES = 5_000  # executions in one line; a larger run has several lines
MAX_STORED_LINE_BYTES = 16 * 1024**2
MAX_STORED_FAILURE_CHARACTERS = 200  # of the reason of a failure
MAX_STORED_SESSIONS = 1_000  # of one execution in a run
MAX_STORE_BYTES = 24 * 1024**2  # of all lines: the oldest runs are dropped when there are more
MAX_STORE_FILES = 20_000
MAX_STORE_READ_BYTES = 4 * MAX_STORE_BYTES  # of a store that others may have written
MAX_BASE_LINES = 60  # newest lines of the base that are read: enough for 10 runs each of six jobs with other suites
FILES_READ_AT_ONCE = 32  # of the store's branch
MAX_POOLED_RUNS = 10  # newest runs whose samples of an execution are taken together
MAX_NAMED_BRANCHES = 2  # that the runs of a baseline are of
MIN_RUNS_OF_INTERVAL = 3  # stored runs from which what the next one costs has an interval
ENOUGH_POOLED_SESSIONS = 20  # after which no older run is added
MAX_REUSE_DAYS = 90  # that a carried result may be old at most, whatever is configured
DEFAULT_REUSE_DAYS = 14
MAX_STORED_CLOCK_LEAD_SECONDS = 24 * 3600.0  # that the clock of another machine may be ahead
MAX_HISTORY_COMMITS = 50_000  # before the merge base, whose results may be a baseline
MAX_IMPORTED_MODULES = 1_000  # files of the repository that one suite program imports, directly or not
MAX_SHOWN_CHANGES = 50  # changed files that `--changed-only` lists with what they select
MAX_INPUT_DIFFERENCES = 10  # cases whose prompt, assertions or workspace differ, that are listed by name
MAX_PUSH_TRIES = 20  # of the store's branch, while other jobs push to it
COMMITS_UNTIL_SQUASH = 200  # on the store's branch, after which its history begins anew
STORE_TRANSFER_SECONDS = 300  # that a command of git for the store's branch may take, also over ssh
DEFAULT_STORE_SECONDS = 30  # the same for the store that is only the default: runs do without it
STORE_GIT_SECONDS = 30  # that a transfer of git may stay below 1,000 bytes a second
MAX_ARTIFACT_RUNS = 10  # workflow runs whose artifacts are read: as many as are pooled
MAX_SUGGESTION_RUNS = 30  # the same, where flaky cases are looked for
MAX_RUNS_WITHOUT_ARTIFACT = 20  # successful workflow runs without one, after which no older run is looked at
MAX_STORE_ARTIFACTS = 40  # of one workflow run: one for each job of a matrix
MAX_ARTIFACT_ZIP_BYTES = 8 * 1024**2
MAX_ARTIFACT_FILES = 16

# --- trend: results of a store over time ------------------------------------------------------------

MAX_TREND_SAMPLES = 300_000  # results of one execution in one run, of the newest runs
MAX_TREND_EXECUTIONS = 500  # those of the newest runs
MAX_TREND_POINTS = 6_000  # of all executions together
MAX_TREND_LINE_POINTS = 60  # of one chart
MIN_TREND_LINE_POINTS = 12  # of one chart, however many executions there are
TREND_POINTS_PER_MARK = 3  # of the points that a chart may have; the newest marks are shown
MAX_TREND_DIFFERENCES = 10  # executions that changed most
MAX_TREND_RUNS = 50  # newest runs that the page lists
MAX_TREND_NAME_CHARACTERS = 160  # of a name in the page
MAX_TREND_LINK_CHARACTERS = 200  # of an address in the page; a longer one is left out

# --- storage: artifacts that reports show -------------------------------------------------------------

MAX_ARTIFACT_JSON_BYTES = 32 * 1024 * 1024  # of a session report or a question to the judge; larger ones are not shown
MAX_ARTIFACT_CONTAINERS = 400_000  # lists and objects in it
MAX_ARTIFACT_VALUES = 2_000_000
MAX_ARTIFACT_MEMBERS = 100_000  # of one object in it
MAX_SHOWN_CHANGED_FILES = 50  # of a session without a stored diff
MAX_SHOWN_LOGS = 40  # of a session
MAX_SHOWN_QUESTIONS = 40  # of a session to the judge
MAX_STORED_DIFF_CHARACTERS = 1024 * 1024  # of the diff of a session's workspace; the middle of a longer one is cut out

# --- reporters --------------------------------------------------------------------------------------

COMMIT_CHARACTERS = 12  # of a commit, where people read it
MAX_ANNOTATIONS = 10  # of a kind: GitHub shows no more for a step
MAX_EARLY_END_PROBLEMS = 50  # of a run that ended without a report, in the job summary and the comment
MAX_ANNOTATION_CHARACTERS = 4_096
MAX_ANNOTATION_TITLE_CHARACTERS = 255
MAX_TERMINAL_MESSAGE_CHARACTERS = 3_000  # of one execution: its failed assertions with their evidence
MAX_ASSERTION_TITLE_CHARACTERS = 300  # of the name of an assertion that does not hold; of its explanation twice as many
MAX_LOG_CHARACTERS = 2_000_000  # of the groups of a job's log; 1,000 executions with long answers fill it
MAX_LOG_LINE_CHARACTERS = 500
MAX_LOG_ASSERTIONS = 20  # of one execution
MAX_LOG_ATTEMPTS = 10  # sessions of one execution
MAX_LOG_EVIDENCE_CHARACTERS = 600  # of one assertion, from its end
MAX_LOG_ANSWER_LINES = 10  # at the end of the final output
MAX_LOG_ANSWER_CHARACTERS = 1_000
MAX_VERBOSE_LOG_CHARACTERS = 8_000_000  # of the groups and further lines, with `verbose` or debug logging
MAX_VERBOSE_LOG_ITEMS = 200  # assertions, and sessions, of one execution
MAX_VERBOSE_LOG_EVIDENCE_CHARACTERS = 4_000
MAX_VERBOSE_LOG_ANSWER_LINES = 100
MAX_LOG_COMMAND_CHARACTERS = 2_000  # of one command line in a verbose log
MAX_UNFOLDED_EXECUTIONS = 50  # that are not green, with details at the end of a log
MAX_SUMMARY_BYTES = 1_000_000  # of the job summary of one run, which leaves room for other text of the step
MAX_COMMENT_FAILURES = 10  # entries of failures in the comment: cases, or several with the same reason
MAX_COMMENT_LINES = 6  # of any other list of the comment, and executions in one entry
MAX_COMMENT_EVIDENCE_CHARACTERS = 6_000  # of everything that is folded below failures in the comment
MAX_SUMMARY_EXCERPTS = 40  # executions whose stored sessions are read for the summary
MAX_SUMMARY_DIFF_CHARACTERS = 4_000  # of one execution
MAX_SUMMARY_COMMANDS = 15  # last ones of one execution
MAX_SUMMARY_ANSWER_CHARACTERS = 2_000  # of one execution, at its end
MAX_EXCERPT_COMMAND_CHARACTERS = 300  # of one command
MAX_MATRIX_RUNNERS = 8  # columns of the table of cases and runners in the summary
MAX_MATRIX_CASES = 300  # rows of it
MAX_REPORTED_MESSAGE_CHARACTERS = 1_000  # of one execution in a report for programs (JUnit XML, CTRF)
MAX_REPORTED_EXPLANATION_CHARACTERS = 8_000  # of its message, location and failed assertions
MAX_REPORTED_OUTPUT_CHARACTERS = 16_000  # of its final output
MAX_FULL_JUNIT_CASES = 20_000  # in JUnit XML; with more, green ones have neither output nor properties
MAX_LIVE_ROWS = 10  # running executions that the terminal shows
MAX_LISTED_NAMES = 8  # names that a sentence lists
MAX_LEAK_LOCATIONS = 5  # leaked keys of one execution that are listed
MAX_TRACE_SPANS = 2_000  # below the one of a session, in an OpenTelemetry trace
MAX_TRACE_TEXT_CHARACTERS = 16_000  # of one attribute of a span
MAX_ARM_NAMES = 10  # cases or assertions that the comparison of two arms lists
MAX_MOST_EXPENSIVE = 3  # executions that the end of a run lists as the slowest, and as the most expensive
MAX_COMPARED_CASES = 20  # cases of one kind of change that are listed
MAX_HTML_BYTES = 19_000_000  # of the sessions in an HTML report: those of large runs are cut shorter
MAX_HTML_SESSION_BYTES = 1_500_000  # of one session in it
MIN_HTML_SESSION_BYTES = 2_000  # a session for which there is less space is left out, and counted
RED_SESSION_WEIGHT = 4  # times the space of a green session
MAX_HTML_EXECUTIONS = 5_000  # in the tables of an HTML report, and with a page; green ones are left out first
MAX_HTML_LISTED = 200  # failures, changes and warnings of one kind
MAX_HTML_TEXT_CHARACTERS = 200_000  # of one text of a session, before it is cut to the space there is
MAX_HTML_STEPS = 2_000  # of a session's timeline; the middle of a longer one is left out
MAX_HTML_PATHS = 500  # of files that a session created, and modified, and deleted
MAX_CHART_POINTS = 2_000  # sessions that a chart shows one by one

# --- user_templates: report templates of users ------------------------------------------------------

MAX_TEMPLATE_FILES = 500  # files and folders
MAX_TEMPLATE_BYTES = 1024**2
MAX_TEMPLATES_BYTES = 8 * 1024**2  # of all files together
MAX_TEMPLATE_LEVELS = 20  # of folders in each other
MAX_RENDERER_MEMORY_BYTES = 512 * 1024**2  # address space of the process that renders them
MAX_RENDERED_BYTES = 4 * 1024**2  # of one rendered report
RENDERING_SECONDS = 4  # for all that one process renders, its start included: errors are reported within 5 s
CANCELLED_RENDERING_SECONDS = 1  # for what is still to be rendered once the run is cancelled
MAX_TEMPLATE_ERROR_CHARACTERS = 2_000  # of the message about a report template

# --- plugin_evals -----------------------------------------------------------------------------------

MAX_PLUGIN_CASES = 5_000
MAX_PLUGIN_FOLDERS = 20_000  # that are looked at for cases, and for skills of a plugin
MAX_PLUGIN_CASE_GRADERS = 200
MAX_PLUGIN_RUNS = 50  # of one case, as in the original
MAX_PLUGIN_TURNS = 200
MAX_PLUGIN_SECONDS = 3600
MAX_PLUGIN_MATCHES = 10_000  # of a pattern in one text, that are counted
MAX_PLUGIN_JUDGED_CHARACTERS = 100_000  # of a text that the judge sees
