"""The keys of ``task.toml``: what a task asks for, with the defaults of Harbor; and what is refused by name."""

from __future__ import annotations

import re
from dataclasses import field
from typing import TYPE_CHECKING, TypeVar

from skillgym_action.model.containers import ContainerLimits, NetworkMode, NetworkPolicy
from skillgym_action.model.errors import SuiteError
from skillgym_action.model.limits import MAX_POLICY_HOSTS
from skillgym_action.model.records import record
from skillgym_action.suites.container_section import image_name
from skillgym_action.suites.values import UNUSABLE, SuiteValue
from skillgym_action.text.secret_forms import is_secret_variable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from skillgym_action.model.errors import Problem

MAX_HARBOR_SECONDS = 7 * 24 * 3600.0
T = TypeVar("T")
Variables = tuple[tuple[str, str], ...]
DEFAULT_VERIFIER_SECONDS = 600.0
RUN_WITH_HARBOR = "run this task with Harbor"
_MEBIBYTE = 1024**2
_VERSION = re.compile(r"1(\.[0-9]{1,3})?")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TEMPLATE = re.compile(r"\$\{([^}:]+)(?::-(.*))?\}", re.DOTALL)
_SIZE = re.compile(r"(\d{1,12}(?:\.\d{1,6})?)([GMK])", re.IGNORECASE)
_IN_MEBIBYTES = {"G": 1024.0, "M": 1.0, "K": 1 / 1024}
_USER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}\$?")


@record
class Healthcheck:
    """A command that has to exit with 0 before the agent starts. All times are in seconds.

    ``timeout``: of one try; ``interval``: between tries; ``retries``: failed tries after which it is given up.
    ``start_period``: since the start of the container, in which failed tries do not count; ``start_interval``: between
    tries in it.
    """

    command: str
    interval: float = 5.0
    timeout: float = 30.0
    start_period: float = 0.0
    start_interval: float = 5.0
    retries: int = 3


@record
class TaskSettings:
    """What ``task.toml`` asks for. Times are in seconds; None: not set.

    ``env``: for all programs in the container; ``verifier_env`` and ``solution_env``: for these alone. ``network``: of
    agent and tests.
    """

    title: str | None = None
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, object] = field(default_factory=dict)
    image: str | None = None
    limits: ContainerLimits = field(default_factory=ContainerLimits)
    network: NetworkPolicy = field(default_factory=NetworkPolicy)
    workdir: str | None = None
    env: Variables = ()
    healthcheck: Healthcheck | None = None
    agent_timeout: float | None = None
    agent_user: str | None = None
    verifier_timeout: float = DEFAULT_VERIFIER_SECONDS
    verifier_user: str | None = None
    verifier_env: Variables = ()
    solution_env: Variables = ()


class SettingsParser:
    """Reads ``task.toml``. ``warnings``: about keys without effect."""

    def __init__(self, top: SuiteValue, environment: Mapping[str, str]) -> None:
        """``environment``: of the tool; a task may name its variables, but no secrets."""
        self._top, self._environment = top, environment
        self.problems: list[Problem] = []
        self.warnings: list[Problem] = []

    def settings(self) -> TaskSettings:
        """What the task asks for. Raises SuiteError with all problems."""
        top = self._top
        self.warnings += top.unknown_keys(TOP)
        version = self.unless(lambda: _version(top))
        package, environment = self._section("task", PACKAGE), self._section("environment", ENVIRONMENT)
        agent, verifier = self._section("agent", AGENT), self._section("verifier", VERIFIER)
        solution = self._section("solution", SOLUTION)
        for refused in (*_refused_of_task(top), *_refused_of_environment(environment), *_refused_of_verifier(verifier)):
            self.problems.append(refused)
        self._without_effect(package, environment)
        found = TaskSettings(
            title=self.unless(lambda: package.text("name")),
            tags=self.unless(lambda: self._tags(package)) or (),
            metadata=self.unless(lambda: _metadata(top, version)) or {},
            image=self.unless(lambda: _image(environment)),
            limits=self.unless(lambda: _limits(environment)) or ContainerLimits(),
            network=self.unless(lambda: network_of(environment, agent, verifier)) or NetworkPolicy(),
            workdir=self.unless(lambda: _absolute(environment, "workdir")),
            env=self._variables(environment),
            healthcheck=self.unless(lambda: self._healthcheck(environment)),
            agent_timeout=self._seconds(agent, "timeout_sec"),
            agent_user=self.unless(lambda: _user(agent)),
            verifier_timeout=self._seconds(verifier, "timeout_sec") or DEFAULT_VERIFIER_SECONDS,
            verifier_user=self.unless(lambda: _user(verifier)),
            verifier_env=self._variables(verifier),
            solution_env=self._variables(solution),
        )
        if self.problems:
            raise SuiteError.of(*self.problems, *self.warnings)
        return found

    def unless(self, read: Callable[[], T]) -> T | None:
        """What ``read`` returns; None if it raises SuiteError, whose problems are kept."""
        try:
            return read()
        except SuiteError as error:
            self.problems.extend(error.problems)
            return None

    def _section(self, name: str, known: frozenset[str], of: SuiteValue | None = None) -> SuiteValue:
        """A table, an empty one if it is missing or of another type; a warning for each unknown key."""
        section = (of or self._top).member(name)
        if section.value is None:
            return SuiteValue(source=section.source, value={}, key_path=section.key_path)
        if self.unless(section.mapping) is None:
            return SuiteValue(source=section.source, value={}, key_path=section.key_path)
        self.warnings += section.unknown_keys(known)
        return section

    def _seconds(self, section: SuiteValue, key: str) -> float | None:
        value = section.get(key)
        if value is None:
            return None
        return self.unless(lambda: value.as_number(above=True, most=MAX_HARBOR_SECONDS))

    def _healthcheck(self, environment: SuiteValue) -> Healthcheck | None:
        if not environment.has("healthcheck"):
            return None
        check = self._section("healthcheck", HEALTHCHECK, environment)
        command = check.text("command")
        if command is None:
            raise environment.member("healthcheck").missing("command", 'write command = "…"')
        if UNUSABLE.search(command):
            raise check.member("command").error("contains a NUL character", "remove it")
        most = MAX_HARBOR_SECONDS

        def seconds(key: str, default: float) -> float:
            value = check.number(key, most=most)
            return default if value is None else float(value)

        return Healthcheck(
            command=command,
            interval=seconds("interval_sec", 5.0),
            timeout=seconds("timeout_sec", 30.0) or 30.0,
            start_period=seconds("start_period_sec", 0.0),
            start_interval=seconds("start_interval_sec", 5.0),
            retries=int(check.number("retries", least=1, most=1000, whole=True) or 3),
        )

    def _variables(self, section: SuiteValue) -> Variables:
        return tuple(self.unless(lambda: tuple(self._each_variable(section))) or ())

    def _each_variable(self, section: SuiteValue) -> Iterator[tuple[str, str]]:
        value = section.get("env")
        for name in value.mapping() if value else ():
            member = value.member(name)  # type: ignore[union-attr]
            if not _NAME.fullmatch(name):
                raise member.error("is not a variable name", "write letters, digits and _")
            if not isinstance(member.value, str):
                raise member.wrong_type("text")
            if UNUSABLE.search(member.value):
                raise member.error("contains a NUL character, or half of a surrogate pair", "remove it")
            yield name, self._resolved(member, member.value)

    def _resolved(self, member: SuiteValue, text: str) -> str:
        """The text; the value of a variable of the tool, if it is ``${NAME}`` or ``${NAME:-DEFAULT}``."""
        template = _TEMPLATE.fullmatch(text)
        if template is None:
            return text
        name, default = template[1], template[2]
        if name in self._environment and is_secret_variable(name, self._environment[name]):
            raise member.error(f"{name} is a secret, which tasks do not get", RUN_WITH_HARBOR)
        value = self._environment.get(name, default)
        if value is None:
            raise member.error(f"there is no environment variable {name}", f"set it, or write ${{{name}:-DEFAULT}}")
        return value

    def _tags(self, package: SuiteValue) -> tuple[str, ...]:
        metadata = self._top.member("metadata").value
        tags = metadata.get("tags") if isinstance(metadata, dict) else None
        own = [tag for tag in tags if isinstance(tag, str)] if isinstance(tags, list) else []
        return tuple(dict.fromkeys((*package.texts("keywords"), *own)))

    def _without_effect(self, package: SuiteValue, environment: SuiteValue) -> None:
        """Check the types of keys that only describe a task, and warn about those that are not obeyed."""
        for key in ("version", "description"):
            if package.has(key) and not isinstance(package.member(key).value, str):
                self.problems.append(_as_problem(package.member(key).wrong_type("text")))
        if package.has("authors"):
            self.unless(lambda: self._authors(package.member("authors")))
        self._seconds(environment, "build_timeout_sec")
        if self._top.has("source") and not isinstance(self._top.member("source").value, str):
            self.problems.append(_as_problem(self._top.member("source").wrong_type("text")))
        if artifacts := self._top.get("artifacts"):
            self.unless(artifacts.items)
            self.warnings.append(artifacts.problem("are not collected: only changed files of the workspace are"))

    def _authors(self, authors: SuiteValue) -> None:
        for author in authors.items():
            author.mapping()
            self.warnings += author.unknown_keys({"name", "email"})
            author.text("name")
            author.text("email")


def _as_problem(error: SuiteError) -> Problem:
    return error.problems[0]


def _version(top: SuiteValue) -> str | None:
    """The version of the schema. Raises SuiteError for one that is not 1.x."""
    key = "schema_version" if top.has("schema_version") else "version"
    version = top.text(key)
    if version is not None and not _VERSION.fullmatch(version):
        raise top.member(key).error(
            f"needs another version than this one, which reads 1.x: {version[:40]}", 'write schema_version = "1.4"'
        )
    return version


def _metadata(top: SuiteValue, version: str | None) -> dict[str, object]:
    written = top.get("metadata")
    metadata = dict(written.mapping()) if written else {}
    return metadata | ({"schema_version": version} if version else {})


def _refused_of_task(top: SuiteValue) -> Iterator[Problem]:
    if top.has("steps") and top.member("steps").value != []:
        yield top.member("steps").problem("tasks with several steps are not supported", RUN_WITH_HARBOR)
    if top.has("multi_step_reward_strategy"):
        yield top.member("multi_step_reward_strategy").problem("is for tasks with several steps", "remove it")


def _refused_of_environment(environment: SuiteValue) -> Iterator[Problem]:
    system = environment.member("os").value
    if system is not None and str(system).lower() != "linux":
        yield environment.member("os").problem(f"{str(system)[:40]} containers are not supported", RUN_WITH_HARBOR)
    if environment.has("gpus") and environment.member("gpus").value != 0:
        yield environment.member("gpus").problem("GPUs are not supported", RUN_WITH_HARBOR)
    for key, what in (("gpu_types", "GPUs are"), ("tpu", "TPUs are"), ("mcp_servers", "MCP servers of a task are")):
        if environment.has(key) and environment.member(key).value != []:
            yield environment.member(key).problem(f"{what} not supported", RUN_WITH_HARBOR)
    if environment.has("skills_dir"):
        yield environment.member("skills_dir").problem("skills in an image are not supported", RUN_WITH_HARBOR)


def _refused_of_verifier(verifier: SuiteValue) -> Iterator[Problem]:
    mode = verifier.member("environment_mode").value
    if mode is not None and mode != "shared":
        message = "tests in a separate environment are not supported" if mode == "separate" else "must be 'shared'"
        yield verifier.member("environment_mode").problem(message, RUN_WITH_HARBOR)
    for key in ("environment", "collect"):
        if verifier.has(key) and verifier.member(key).value != []:
            message = "tests in a separate environment are not supported"
            yield verifier.member(key).problem(message, RUN_WITH_HARBOR)


def _limits(environment: SuiteValue) -> ContainerLimits:
    cpus = environment.get("cpus")
    return ContainerLimits(
        cpus=float(cpus.as_number(above=True, most=1024)) if cpus else None,
        memory=_bytes(environment, "memory_mb", "memory"),
        disk=_bytes(environment, "storage_mb", "storage"),
    )


def _bytes(environment: SuiteValue, key: str, old: str) -> int | None:
    """A size in bytes, of a number of MiB or of a text such as ``2G`` under the old key. Raises SuiteError."""
    found = environment.get(key)
    size = int(found.as_number(above=True, most=2**40, whole=True)) if found else None
    if written := environment.get(old):
        text = written.as_text().strip()
        match = _SIZE.fullmatch(text)
        if match is None:
            raise written.error(f"{text[:40]!r} is not a size", f"write {key} = 2048, in MiB")
        older = int(float(match[1]) * _IN_MEBIBYTES[match[2].upper()])
        if size is not None and older != size:
            raise written.error(f"contradicts {key}", f"keep {key}")
        size = older
    return None if size is None else size * _MEBIBYTE


def _image(environment: SuiteValue) -> str | None:
    name = environment.text("docker_image")
    try:
        return image_name(name) if name else None
    except ValueError as error:
        raise environment.member("docker_image").error(str(error)) from error


def _absolute(section: SuiteValue, key: str) -> str | None:
    path = section.text(key)
    if path is not None and (not path.startswith("/") or UNUSABLE.search(path) or "/../" in f"{path}/"):
        raise section.member(key).error("must be an absolute path", "write one such as /app")
    return path


def _user(section: SuiteValue) -> str | None:
    value = section.get("user")
    if value is None:
        return None
    number = isinstance(value.value, int) and not isinstance(value.value, bool)
    if not number and not isinstance(value.value, str):
        raise value.wrong_type("the name of a user, or a user id")
    text = str(value.value)
    if not _USER.fullmatch(text):
        raise value.error("is neither a user name nor a user id", 'write user = "agent", or user = 1000')
    return text


TOP = frozenset(
    {
        *("schema_version", "version", "task", "metadata", "verifier", "agent", "environment", "solution", "source"),
        *("multi_step_reward_strategy", "steps", "artifacts"),
    }
)
PACKAGE = frozenset({"name", "version", "description", "authors", "keywords"})
_NETWORK = frozenset({"network_mode", "allowed_hosts"})
AGENT = _NETWORK | {"timeout_sec", "user"}
VERIFIER = _NETWORK | {"timeout_sec", "env", "user", "environment_mode", "environment", "collect"}
SOLUTION = frozenset({"env"})
ENVIRONMENT = _NETWORK | {
    *("build_timeout_sec", "docker_image", "os", "cpus", "memory_mb", "storage_mb", "memory", "storage", "gpus"),
    *("gpu_types", "tpu", "mcp_servers", "env", "skills_dir", "healthcheck", "workdir", "allow_internet"),
}
HEALTHCHECK = frozenset({"command", "interval_sec", "timeout_sec", "start_period_sec", "start_interval_sec", "retries"})

MODES = {"public": NetworkMode.OPEN, "no-network": NetworkMode.MODEL_ONLY, "allowlist": NetworkMode.MODEL_ONLY}
"""As in Harbor, the services of the agent's model are among the allowed hosts; agents without a model have none."""

_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_HOST = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
_HARBOR = "run this task with Harbor"


def network_of(environment: SuiteValue, agent: SuiteValue, verifier: SuiteValue) -> NetworkPolicy:
    """The policy of the container. Raises SuiteError, also if agent and tests are to have different ones."""
    common = _policy(environment) or _legacy(environment) or NetworkPolicy(mode=NetworkMode.OPEN)
    of_agent, of_tests = _policy(agent), _policy(verifier)
    if (of_agent or common) != (of_tests or common):
        section = agent if of_agent else verifier
        raise section.member("network_mode").error(
            "another network for the agent than for the tests is not supported", _HARBOR
        )
    return of_agent or common


def _policy(section: SuiteValue) -> NetworkPolicy | None:
    """What a section asks for; None: nothing. Raises SuiteError."""
    mode = section.choice("network_mode", MODES)
    listed = section.get("allowed_hosts")
    hosts = tuple(dict.fromkeys(_host(host) for host in listed.items())) if listed else ()
    if mode != "allowlist" and listed:
        raise listed.error("only has an effect with an allow-list", 'write network_mode = "allowlist"')
    if listed and len(hosts) > MAX_POLICY_HOSTS:
        raise listed.error(f"has more than {MAX_POLICY_HOSTS} hosts", _HARBOR)
    if mode is None:
        return None
    return NetworkPolicy(mode=MODES[mode], hosts=hosts)


def _legacy(environment: SuiteValue) -> NetworkPolicy | None:
    if not environment.has("allow_internet"):
        return None
    return NetworkPolicy(mode=MODES["public" if environment.flag("allow_internet") else "no-network"])


def _host(value: SuiteValue) -> str:
    """The name of a host. Raises SuiteError for addresses, networks and wildcards."""
    name = value.as_text().strip().lower().rstrip(".")
    if name.startswith("*."):
        raise value.error("wildcards are not supported", "name each host")
    if not _HOST.fullmatch(name) or name.replace(".", "").isdigit():
        raise value.error("is not a host name", "write a name such as pypi.org, without a port or a path")
    return name
