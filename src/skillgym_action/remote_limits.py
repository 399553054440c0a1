"""Limits of where sessions run outside of this process: containers and workers. All others are in ``limits``."""

from __future__ import annotations

# --- sandboxes: containers --------------------------------------------------------------------------

CONTAINER_ENGINE_SECONDS = 300  # for one reply of the engine; fifty containers that start at once take their time
CONTAINER_ENGINE_CONNECTIONS = 64  # kept open for later requests
MAX_ENGINE_HEADER_BYTES = 64 * 1024  # of a reply's head, and of an error in it
CONTAINER_STRAY_SECONDS = 120  # for what a run makes before a container of it runs; older than that it is a stray
CONTAINER_KILL_SECONDS = 10.0  # for all processes of a container to end
CONTAINER_CHECK_SECONDS = 1.0  # between two questions to the engine whether a program still runs
CONTAINER_DRAIN_SECONDS = 1.0  # for the last output of a program that has ended, while others keep its output open
MAX_BUILD_CONTEXT_BYTES = 512 * 1024**2
MAX_BUILD_CONTEXT_ENTRIES = 100_000
CONTAINER_LEASE_SECONDS = 24 * 3600.0  # after which `doctor --sweep` removes a container, even if it runs
IMAGE_ATTEMPTS = 2  # in a run, to build or pull an image
IMAGE_SECONDS = 1800.0  # for an image to be built or pulled
MAX_BUILD_LOG_LINES = 20  # the last ones, in the message about a failed build
MAX_CONTAINER_CHANGES = 200_000
MAX_REFUSED_CONNECTIONS = 100  # targets that are reported of one container
MAX_REFUSED_LINE_BYTES = 4096  # of a line of the proxy's log
MAX_POLICY_HOSTS = 200  # of one network policy, as a suite lists them
MAX_MODEL_HOSTS = 50  # of the services of an agent's model, in addition
PROXY_MEMORY_BYTES = 512 * 1024**2
PROXY_PROCESSES = 64
PROXY_START_SECONDS = 60.0

# --- engines: sessions on other machines ------------------------------------------------------------

MAX_ENGINE_SESSIONS = 256  # at once over all workers, unless the configuration says otherwise
DEFAULT_LOST_AFTER_SECONDS = 30.0  # silence after which a worker is lost
DEFAULT_LOST_RETRIES = 2  # how often the session of a lost worker runs again
DEFAULT_WORKER_WAIT_SECONDS = 300.0  # for a worker, as long as there is none
CLUSTER_SECONDS = 15.0  # to connect to the scheduler of a cluster, and for its answers
SURVEY_SECONDS = 0.5  # between two looks at the workers of a cluster
MAX_ANNOUNCED_BYTES = 256 * 1024**2  # of the checkout's files, which all workers get
MAX_KEY_FILE_BYTES = 1024**2  # of a file that git does not have and that is searched for keys before it is sent
MAX_ANSWER_BYTES = 64 * 1024**2  # of the artifacts of a session that a worker ran
MAX_ANSWER_LINE_BYTES = 48 * 1024**2  # of the line of the journal; more than the longest text in it
MAX_REFUSAL_CHARACTERS = 1_000  # of the reason for which a worker runs no session
SLOT_END_SECONDS = 10.0  # for a slot to end its programs, before it is killed
