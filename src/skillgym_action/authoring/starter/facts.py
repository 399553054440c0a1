"""What is known of a repository without asking: test command, skills, title; and the agents of a first suite."""

from __future__ import annotations

import json
import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from skillgym_action.agents.accounts import key_names
from skillgym_action.model.records import record
from skillgym_action.settings.configuration_file import REFERENCE
from skillgym_action.suites import vendored_folder
from skillgym_action.text.documents.skill_files import SKILL_FILE, frontmatter, name_refusal
from skillgym_action.text.secret_forms import is_secret_name

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from skillgym_action.settings.configuration import AgentSection

    Read = Callable[[str], str | None]
    """The text of a file by its path in the repository; None if there is none, or it cannot be read."""

NO_NPM_TEST = "no test specified"  # in the script that `npm init` writes
_TITLE = re.compile(r"^# +(\S.*?) *#*$", re.MULTILINE)
_MAKE_TEST = re.compile(r"^test *:(?!=)", re.MULTILINE)
_PYTHON_PROJECT = ("pyproject.toml", "setup.py", "setup.cfg", "requirements.txt")
_PYTHON_TEST = re.compile(r"(^|/)(test_[^/]*|[^/]*_test)\.py$")
_TESTS_OF_THE_ROOT = re.compile(r"(tests?/.*)?[^/]*")


@record
class TestCommand:
    """How the tests of a repository are run.

    ``named``: the command as people write it; ``run``: the line for the shell in a workspace, a copy of the
    repository. None: something has to be installed first.
    """

    named: str
    run: str | None = None

    __test__ = False  # pytest would take the class for tests


@record
class FoundSkill:
    """A skill of the repository. ``folder``: its path, ``""`` for the root."""

    name: str
    folder: str

    @property
    def evals(self) -> str:
        """Where its evals are."""
        return (PurePosixPath(self.folder) / "evals" / "evals.json").as_posix()


@record
class RepositoryFacts:
    """Facts about a repository. ``readme``: the text of README.md; ``title``: its first heading."""

    files: frozenset[str]
    test: TestCommand | None = None
    skills: tuple[FoundSkill, ...] = ()
    readme: str | None = None

    @property
    def title(self) -> str | None:
        found = _TITLE.search(self.readme or "")
        return found[1] if found else None

    @property
    def skills_without_evals(self) -> tuple[FoundSkill, ...]:
        """Skills that have no ``evals.json`` yet; those nearest to the root first."""
        return tuple(skill for skill in self.skills if skill.evals not in self.files)


def repository_facts(files: Iterable[str], read: Read, folder: str = "") -> RepositoryFacts:
    """The facts about a repository with these files; paths are relative to its root.

    ``folder``: where ``init`` was started. Of the skills only those in it count, or else the one that it is in; if
    there are none, all of them.
    """
    known = frozenset(files)
    skills = tuple(_skills(known, read))
    inside = tuple(skill for skill in skills if PurePosixPath(skill.folder).is_relative_to(folder))
    around = tuple(skill for skill in skills if PurePosixPath(folder).is_relative_to(skill.folder))
    near = inside or around[-1:] or skills
    return RepositoryFacts(files=known, test=_test_command(known, read), skills=near, readme=read("README.md"))


def _skills(files: Collection[str], read: Read) -> Iterable[FoundSkill]:
    """The skills that were written in this repository; those nearest to the root first."""
    found = (path for path in files if PurePosixPath(path).name == SKILL_FILE and not vendored_folder(path))
    for path in sorted(found, key=lambda one: (one.count("/"), one)):
        text, folder = read(path), PurePosixPath(path).parent
        name = frontmatter(text).get("name", folder.name) if text else ""
        if name and name_refusal(name) is None:
            yield FoundSkill(name=name, folder="" if folder == PurePosixPath() else folder.as_posix())


def _test_command(files: Collection[str], read: Read) -> TestCommand | None:
    """The test command, by the build files in the root: the first one that has tests."""
    for find in (_npm, _pytest, _cargo, _go, _make):
        if found := find(files, read):
            return found
    return None


def _npm(_: Collection[str], read: Read) -> TestCommand | None:
    package = _json(read("package.json"))
    scripts = package.get("scripts")
    script = scripts.get("test") if isinstance(scripts, dict) else None
    if not isinstance(script, str) or not script.strip() or NO_NPM_TEST in script:
        return None
    needs = package.get("dependencies") or package.get("devDependencies")
    return TestCommand(named="npm test", run=None if needs else "npm test")


def _pytest(files: Collection[str], read: Read) -> TestCommand | None:
    text = read("pyproject.toml") or ""
    configured = "pytest.ini" in files or "[tool.pytest" in text
    is_project = any(name in files for name in _PYTHON_PROJECT)  # else tests further down may be those of one package
    tests = (path for path in files if _PYTHON_TEST.search(path))
    has_tests = configured or any(is_project or _TESTS_OF_THE_ROOT.fullmatch(path) for path in tests)
    return TestCommand(named="pytest") if has_tests else None


def _cargo(files: Collection[str], _: Read) -> TestCommand | None:
    return TestCommand(named="cargo test", run="cargo test") if "Cargo.toml" in files else None


def _go(files: Collection[str], _: Read) -> TestCommand | None:
    return TestCommand(named="go test", run="go test ./...") if "go.mod" in files else None


def _make(files: Collection[str], read: Read) -> TestCommand | None:
    names = [name for name in ("GNUmakefile", "makefile", "Makefile") if name in files]
    has_test = bool(names) and _MAKE_TEST.search(read(names[0]) or "")
    return TestCommand(named="make test", run="make test") if has_test else None


def _json(text: str | None) -> dict[str, Any]:
    try:
        found = json.loads(text or "")
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


@record
class StarterAgents:
    """Agents that a workflow can install, and the variables with the keys of all runners.

    ``without_runner``: those of ``names`` for which the configuration that is kept has no runner.
    """

    names: tuple[str, ...]
    secrets: tuple[str, ...]
    without_runner: tuple[str, ...] = ()

    @classmethod
    def of_keys(cls, keys: Mapping[str, str], *, have_runners: bool = True) -> StarterAgents:
        """Agents with the key of each; ``have_runners``: whether the configuration will have runners for them."""
        secrets = tuple(dict.fromkeys(keys.values()))
        return cls(names=tuple(keys), secrets=secrets, without_runner=() if have_runners else tuple(keys))


def chosen_agents(
    agents: Mapping[str, Sequence[str]], *, has_key: Callable[[str], bool], is_installed: Callable[[str], bool]
) -> dict[str, str]:
    """The agents to run, each with its key: for each key that is there the first one that uses it.

    Else one that is installed, or the first one. ``agents``: the names of their keys, by agent.
    """
    chosen: dict[str, str] = {}
    for agent, keys in agents.items():
        if key := next(filter(has_key, keys), None):
            chosen.setdefault(key, agent)
    if chosen:
        return {agent: key for key, agent in chosen.items()}
    return keys_of((next(filter(is_installed, agents), next(iter(agents))),), agents, has_key=has_key)


def keys_of(
    chosen: Iterable[str], agents: Mapping[str, Sequence[str]], *, has_key: Callable[[str], bool]
) -> dict[str, str]:
    """For each agent the key that is there, or else the first one that it uses."""
    return {agent: next(filter(has_key, agents[agent]), agents[agent][0]) for agent in chosen}


def agents_of_runners(
    configured: Collection[AgentSection],
    named: Iterable[str],
    agents: Mapping[str, Sequence[str]],
    *,
    has_key: Callable[[str], bool],
) -> StarterAgents:
    """The agents of the runners of a configuration, and those that the user named.

    ``agents``: the names of their keys, by agent that a workflow can install.
    """
    used = {section.type for section in configured}
    added = keys_of((agent for agent in named if agent not in used), agents, has_key=has_key)
    secrets = [name for section in configured for name in _secrets_of(section, has_key)]
    return StarterAgents(
        names=(*(agent for agent in agents if agent in used), *added),
        secrets=tuple(dict.fromkeys([*secrets, *added.values()])),
        without_runner=tuple(added),
    )


def _secrets_of(section: AgentSection, has_key: Callable[[str], bool]) -> Iterator[str]:
    """The variables with secrets that a runner reads: those that its ``env`` refers to, and the key of its agent."""
    keys = key_names(section.type)
    if keys and section.env.keys().isdisjoint(keys):
        yield from keys_of((section.type,), {section.type: keys}, has_key=has_key).values()
    for text in section.env.values():
        names = (match[1] or match[2] for match in REFERENCE.finditer(text))
        yield from (name for name in names if is_secret_name(name) and name.isascii())  # as names of secrets are
