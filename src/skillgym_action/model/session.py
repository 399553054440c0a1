"""A session with an agent: what is started, what is seen of it (capture), and what is stored of it (artifacts)."""

from __future__ import annotations

from dataclasses import field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal, Protocol

from skillgym_action.model.records import record

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from skillgym_action.model.resource_limits import ResourceLimits
    from skillgym_action.model.session_report import Price, Trouble, Usage


# --- what is started --------------------------------------------------------------------------------


FamilyWay = Literal["key", "cloud"]
Way = Literal["key", "cloud", "login"]
Billing = Literal["key", "cloud", "plan"]


@record
class Account:
    """How an agent gets an account at the service of its model.

    ``asked``: the only way that may be used; None: any. ``way``: the one that is used; None: none was found, or it is
    not known. ``family``: of variables; several are joined by ``+``. ``problem``: why there is none. ``left_out``:
    secret variables that are set and not passed on. ``files``: variables that name a file; ``contents``: of these
    files. ``env`` and ``home``: further variables of sessions, and files in their home; no result depends on them.
    ``store``: the folder in which the CLI has the caller's login.
    """

    asked: Way | None = None
    way: Way | None = None
    family: str | None = None
    billing: Billing | None = None
    problem: str | None = None
    left_out: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    contents: Mapping[str, str] = field(default_factory=dict, repr=False)
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    home: Mapping[str, str] = field(default_factory=dict, repr=False)
    store: str | None = None


NO_ACCOUNT = Account()


@record
class AgentConfig:
    """The agent of a runner, as configured. ``env`` contains secrets and is excluded from ``repr``.

    ``version``: required version of its CLI; None: the installed one, or else the verified one. ``command``: replaces
    the agent's executable, run by a shell if ``shell``; ``command_args``: appended to its arguments. ``output``: what a
    `command` agent prints. ``budget``: US dollars per session; ``timeout``: seconds. ``sessions``: the recordings that
    `replay` plays. ``cwd``: where it works, unless the suite sets it. ``settings``: known to its adapter only.
    """

    type: str
    model: str | None = None
    version: str | None = None
    command: tuple[str, ...] = ()
    shell: bool = False
    command_args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    output: Literal["text", "events"] = "text"
    budget: float | None = None
    sessions: str | None = None
    cwd: Path | None = None
    timeout: float | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    account: Account = NO_ACCOUNT


@record
class CaseAgentSettings:
    """What a case asks of its agent; ``env`` is for any agent, the rest for those that can.

    ``system_prompt``: appended to the agent's own. ``allowed_tools``: those it may use; (): all. ``env``: no secrets.
    """

    system_prompt: str | None = None
    allowed_tools: tuple[str, ...] = ()
    disallowed_tools: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()

    @property
    def is_plain(self) -> bool:
        """Whether every agent can do what is asked."""
        return self.system_prompt is None and not self.allowed_tools and not self.disallowed_tools


NO_CASE_SETTINGS = CaseAgentSettings()


@record
class Session:
    """One conversation with an agent, before it starts. Paths are absolute.

    ``key``: path segments of the repetition's artifacts (suite, case, runner, repetition). ``home``: the agent's
    private home directory; ``scratch``: its temporary directory. ``timeout`` is in seconds, ``budget`` in US dollars.
    ``files``: attached to the prompt. ``turn``: of a conversation, from 1; 0: it is none. ``turns``: what the user says
    in all turns, if a recorded conversation is replayed; (): it is none. ``root``: the repository that suites are read
    from; None: unknown.
    ``prices``: configured by the user, by model name. ``settings``: of the case.
    ``plugins``: folders of plugins to load, for agents that load plugins.
    """

    agent: AgentConfig
    prompt: str
    case_id: str
    key: tuple[str, str, str, str]
    workspace: Path
    home: Path
    scratch: Path
    timeout: float
    max_steps: int | None = None
    budget: float | None = None
    files: tuple[Path, ...] = ()
    turn: int = 0
    turns: tuple[str, ...] = ()
    root: Path | None = None
    prices: Mapping[str, Price] = field(default_factory=dict)
    settings: CaseAgentSettings = NO_CASE_SETTINGS
    plugins: tuple[Path, ...] = ()


@record
class Identity:
    """The user that a program runs as.

    ``is_own``: nothing else on the machine uses this user id, so all of its processes are ended before and after each
    program.
    """

    uid: int
    gid: int
    groups: tuple[int, ...] = ()
    is_own: bool = True


@record
class Invocation:
    """A process to start; data only.

    With an empty ``argv`` nothing is started, and the exit code is 0. ``timeout`` is in seconds. ``env`` is added to
    the allow-listed environment. ``files`` are written before the start (absolute path -> text). ``collect``: glob
    patterns below the private home; files that match are kept as the agent's own records of the session.
    ``identity``: the user it runs as; None: the current user. ``limits`` include its child processes; ``folders``: what
    counts for the limit of the disk.
    """

    argv: tuple[str, ...]
    cwd: Path
    timeout: float
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    stdin: str | None = None
    files: Mapping[Path, str] = field(default_factory=dict, repr=False)
    collect: tuple[str, ...] = ()
    identity: Identity | None = None
    limits: ResourceLimits | None = None
    folders: tuple[Path, ...] = ()


class Watcher(Protocol):
    """Gets each line of a program's output while it runs."""

    @property
    def finished(self) -> int:
        """How many results the program has printed, if it has printed its last one, hence is expected to exit; else 0.

        Any other event after a result means that the program goes on.
        """
        ...

    @property
    def has_result(self) -> bool:
        """Whether no other event came after the last result; whether helpers still work does not matter."""
        ...

    @property
    def may_stop(self) -> bool:
        """Whether a line can be a reason to stop the program; if not, output after its exit need not be read."""
        ...

    def __call__(self, line: str) -> Trouble | None:
        """The reason to stop the program, if this line gives one."""
        ...


@record
class SessionPlaces:
    """The folders of a session by the paths that its programs use: in a container they are others than the tool's."""

    workspace: Path
    home: Path
    scratch: Path


class Programs(Protocol):
    """What the programs of a session are run by: processes of this machine, or of a container."""

    def run(self, invocation: Invocation, *, stdout: Path, stderr: Path, watch: Watcher | None = None) -> Capture:
        """Run a program to its end, with its output in files; never raises for what the program does."""
        ...


# --- what is seen of it -----------------------------------------------------------------------------


class Ending(StrEnum):
    """How a process ended.

    STOPPED: by a watcher. LINGERED: it printed its result and did not exit. NOT_STARTED: there is no such program.
    REFUSED: the system did not start it with these arguments. LOST: the supervisor was killed, so its end is unknown.
    """

    EXITED = "exited"
    SIGNALLED = "signalled"
    TIMED_OUT = "timed-out"
    STOPPED = "stopped"
    LINGERED = "lingered"
    CANCELLED = "cancelled"
    NOT_STARTED = "not-started"
    REFUSED = "refused"
    LOST = "lost"


NEVER_RAN = frozenset({Ending.NOT_STARTED, Ending.REFUSED})


class Output(Protocol):
    """The output of a process, in a file: read lazily, never as a whole."""

    def lines(self) -> Iterator[str]:
        """Lines without line ends; bytes that are not UTF-8 replaced.

        Only a line of which not all was read has a line end: before a note of its size.
        """
        ...

    def tail(self, size: int) -> str:
        """The last ``size`` bytes as text."""
        ...


@record
class Capture:
    """What the operating system saw of a process.

    ``exit_code``: the negative signal number where a signal ended it. ``collected``: files that match
    ``Invocation.collect``. ``stopped_for``: why a watcher stopped it. ``error``: why it did not start. ``logs``: names
    of the artifacts that have the output of a grader.
    """

    ending: Ending
    exit_code: int | None
    stdout: Output
    stderr: Output
    seconds: float
    collected: tuple[Output, ...] = ()
    stopped_for: Trouble | None = None
    error: str | None = None
    logs: tuple[str, ...] = ()


@record
class Progress:
    """Progress of an agent, read from one line of its output.

    ``step``: id of the model round that it belongs to. ``usage``: tokens of that round so far. ``finished``: the agent
    has printed its result. ``text``: a message of the main agent; of a result, the message that it repeats; None where
    a line has none. ``helper``: the id of an agent in the background, and whether it works from now on.
    ``late``: the line may come after the result, although it belongs to what was before it. ``retrying``: a call of the
    model's service failed, and the agent tries again; ``error``: what it says of that.
    """

    step: str | None = None
    usage: Usage | None = None
    model: str | None = None
    finished: bool = False
    text: str | None = None
    helper: tuple[str, bool] | None = None
    late: bool = False
    retrying: bool = False
    error: str = ""


REPORT = "report.json"

PARTIAL_REPORT = "partial-report.json"
"""In place of ``REPORT``, what is known of a session that was ended in the middle, with the key ``PARTIAL``."""

PARTIAL = "partial"


@record
class StoredText:
    """A file, or its beginning and its end. ``left_out``: bytes between the two, None if ``head`` is the whole file."""

    name: str
    head: str
    tail: str = ""
    left_out: int | None = None


@record
class SessionArtifacts:
    """The artifacts of a session, without secrets. Apart from that nothing in them is trusted.

    ``found``: whether the session's folder exists. ``report``, ``workspace`` and ``questions`` are the JSON objects of
    ``report.json`` or ``partial-report.json``, ``workspace.json`` and each ``judge-N.json``; their values have not been
    validated. ``diff``: the changes of the workspace as a unified diff; ``changed``: the changed files, only where
    there is no diff. ``problems``: what could not be read, a sentence each.
    """

    found: bool = True
    report: Mapping[str, Any] | None = None
    workspace: Mapping[str, Any] | None = None
    questions: tuple[Mapping[str, Any], ...] = ()
    diff: StoredText | None = None
    changed: tuple[StoredText, ...] = ()
    logs: tuple[StoredText, ...] = ()
    problems: tuple[str, ...] = ()


NOT_STORED = SessionArtifacts(found=False)


class ArtifactSource(Protocol):
    """Reads artifacts of sessions, one session at a time. ``directory`` is the session's folder in its run directory.

    ``most``: bytes that are read of each log and changed file, half of them at its end.
    """

    def session(self, directory: str, most: int) -> SessionArtifacts:
        """The artifacts of a session of the run."""
        ...

    def baseline_session(self, directory: str, most: int) -> SessionArtifacts:
        """The artifacts of a session of the baseline; none where there is no baseline, or only its results file."""
        ...
