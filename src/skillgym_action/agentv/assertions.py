"""The assertions of AgentV suites: an entry of an ``assertions:`` list becomes an assertion with a score."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from skillgym_action.agentv.composite_graders import Composite
from skillgym_action.agentv.grader_types import aggregator_of, grader_of, name_of
from skillgym_action.agentv.judge_prompts import Asking
from skillgym_action.agentv.model_graders import Judged, rubrics_of
from skillgym_action.assertions.scored import Scored, Several
from skillgym_action.documents.documents import read_document
from skillgym_action.documents.entries import Entry
from skillgym_action.documents.user_files import read_text
from skillgym_action.javascript.regex import Patterns
from skillgym_action.model.errors import Location, Problem, SuiteError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from skillgym_action.documents.user_files import Opener
    from skillgym_action.model.assertion import Assertion

DEEPEST_INCLUDE = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class Task:
    """What a case asks for, as its graders are told. Messages and metadata are JSON values, in AgentV's own form.

    ``folder`` is a discovered case's own.
    """

    criteria: str = ""
    input: tuple[object, ...] = ()
    expected_output: tuple[object, ...] = ()
    input_files: tuple[str, ...] = ()
    metadata: object = None
    folder: Path | None = None


def read_file(path: Path, name: str, opener: Opener | None = None) -> object:
    """The value of a YAML file, which messages call ``name``. Raises SuiteError."""
    text = read_text(path, path=name, error=SuiteError, opener=opener)
    return read_document(text, path=name, kind="yaml", error=SuiteError).value


@dataclass(frozen=True, kw_only=True, slots=True)
class Where:
    """Where an entry stands. ``folder`` is its suite file's; programs are started there.

    Files are looked for in ``case_folder``, where a discovered case has the entry; then in ``folder`` and ``roots``.
    ``read`` gives the value of a YAML file, with its variables replaced; ``opener`` opens files of prompts;
    ``patterns`` are the suite's.
    ``compat``: AgentV's own numbers are wanted.
    """

    folder: Path
    location: Location
    key_path: str
    roots: tuple[Path, ...] = ()
    case_folder: Path | None = None
    task: Task = field(default_factory=Task)
    read: Callable[[Path, str], object] = read_file
    opener: Opener | None = None
    compat: bool = False
    patterns: Patterns = field(default_factory=Patterns)

    def find(self, *names: str) -> Path | None:
        """The first that exists: of each name, in every folder."""
        folders = (*([self.case_folder] if self.case_folder else []), self.folder, *self.roots)
        for name in names:
            paths = [Path(name)] if Path(name).is_absolute() else []
            for path in (*paths, *(folder / name.lstrip("/\\") for folder in folders)):
                with suppress(OSError, ValueError):  # a name that no file can have
                    if path.exists():
                        return path
        return None

    def text_of(self, entry: Entry, key: str, name: str) -> str:
        """The text of a file that ``key`` names. Raises SuiteError."""
        if (path := self.find(name)) is None:
            raise entry.error(f"there is no file {name!r}", key)
        try:
            return read_text(path, path=name, error=SuiteError, opener=self.opener)
        except SuiteError as error:
            raise entry.error(str(error), key) from error


def assertions_of(entries: object, at: Where) -> tuple[Assertion, ...]:
    """The assertions of a list, whose key path is ``at``'s. Raises SuiteError.

    Its texts share one question, which stands where the first does, and weighs as much as they are many. For an empty
    list the judge is asked about the case's criteria and its expected output.
    """
    if not isinstance(entries, list):
        raise _error(at, "must be a list of assertions")
    if not entries:
        return (criteria_assertion(at),)
    places = [(entry, replace(at, key_path=f"{at.key_path}[{place}]")) for place, entry in enumerate(entries)]
    found = [one for entry, place in places for one in _opened(entry, place, ())]
    texts = [entry.strip() for entry, _ in found if isinstance(entry, str) and entry.strip()]
    assertions: list[Assertion] = []
    for entry, place in found:
        if not isinstance(entry, str):
            assertions.append(_scored(entry, place))
        elif texts:
            assertions.append(_of_texts(texts, place))
            texts = []
    return tuple(assertions)


def assertion_of(entry: object, at: Where) -> Assertion:
    """The assertion of one entry; an include is one that gives several outcomes. Raises SuiteError."""
    opened = tuple(_opened(entry, at, ()))
    made = tuple(
        _of_texts([one.strip()], place) if isinstance(one, str) else _scored(one, place) for one, place in opened
    )
    return made[0] if len(made) == 1 else Several(made, str(entry))


def criteria_assertion(at: Where) -> Assertion:
    """What judges a case without assertions: the judge, by the case's criteria and expected output."""
    grader = Judged(prompt=Asking(task=at.task, criteria=at.task.criteria))
    return Scored(name="criteria", type="llm-grader", grader=grader, location=at.location)


# --- entries ----------------------------------------------------------------------------------------


def _opened(entry: object, at: Where, chain: tuple[Path, ...]) -> Iterator[tuple[object, Where]]:
    """The entry, or those that the file it includes has."""
    if not isinstance(entry, dict) or set(entry) != {"include"}:
        yield entry, at
        return
    name = Entry(entry, at.location, at.key_path).needed_text("include")
    is_path = name.startswith(".") or "/" in name or "\\" in name
    path = at.find(name) if is_path else at.find(*(f".agentv/templates/{name}.{end}" for end in ("yaml", "yml")))
    if path is None:
        raise _error(at, f"there is no template {name!r}", "it is a path, or the name of a file in .agentv/templates")
    if path in chain or len(chain) == DEEPEST_INCLUDE:
        raise _error(at, f"{name} includes itself" if path in chain else f"more than {DEEPEST_INCLUDE} includes deep")
    try:
        content = at.read(path, name)
    except SuiteError as error:
        raise _error(at, str(error)) from error
    entries = content.get("assertions") if isinstance(content, dict) else None
    if not isinstance(entries, list):
        raise _error(at, f"{name} has no list of assertions")
    for place, included in enumerate(entries):
        inside = replace(at, key_path=f"{at.key_path}.{name}[{place}]", roots=(path.parent, *at.roots))
        yield from _opened(included, inside, (*chain, path))


def _of_texts(texts: list[str], at: Where) -> Scored:
    entry = Entry({"criteria": texts}, at.location, at.key_path)
    if not all(texts):
        raise _error(at, "the assertion is empty")
    prompt = Asking(task=at.task, criteria=at.task.criteria)
    grader = Judged(prompt=prompt, rubrics=rubrics_of(entry, "criteria"))
    name = texts[0] if len(texts) == 1 else "rubrics"
    return Scored(name=name, type="rubrics", grader=grader, weight=float(len(texts)), location=at.location)


def _scored(value: object, at: Where) -> Scored:
    entry = Entry(value, at.location, at.key_path)
    kind = entry.needed_text("type").replace("_", "-")
    grader = _composite(entry, at) if kind == "composite" else grader_of(entry, at, kind)
    weight = entry.number("weight")
    required, min_score = entry.value.get("required"), _share(entry, "min_score")
    if required is not None and not isinstance(required, bool):
        min_score = min_score or _share(entry, "required")
    return Scored(
        name=entry.text("name") or name_of(entry, kind),
        type=kind,
        grader=grader,
        weight=1.0 if weight is None else weight,
        required=bool(required),
        min_score=min_score,
        negate=entry.flag("negate"),
        location=at.location,
    )


def _share(entry: Entry, key: str) -> float | None:
    value = entry.number(key, most=1)
    if value == 0:
        raise entry.wrong(key, "a number above 0")
    return value


def _composite(entry: Entry, at: Where) -> Composite:
    key = next((name for name in ("assertions", "assert", "evaluators") if entry.has(name)), "assertions")
    members = []
    for item, path in entry.items(key):
        for opened, place in _opened(item, replace(at, key_path=path), ()):
            members.append(_of_texts([opened.strip()], place) if isinstance(opened, str) else _scored(opened, place))
    if not members:
        raise entry.wrong(key, "a list of assertions that is not empty")
    return Composite(members=tuple(members), aggregator=aggregator_of(entry, at))


def _error(at: Where, message: str, remedy: str | None = None) -> SuiteError:
    problem = Problem(message=message, location=at.location, key_path=at.key_path, remedy=remedy)
    return SuiteError(message, problems=(problem,))
