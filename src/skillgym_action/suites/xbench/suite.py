"""x-bench suites: JSON files with cases whose expectations are strings, or equivalent objects."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from skillgym_action.model.errors import Problem, SuiteError
from skillgym_action.model.limits import (
    MAX_CASE_ID_CHARACTERS,
    MAX_DOCUMENT_VALUES,
    MAX_REPORTED_PROBLEMS,
    MAX_SUITE_CASES,
)
from skillgym_action.model.resource_limits import parse_workspace_limits
from skillgym_action.model.suite import BenchmarkCase, BenchmarkSuite, Bootstrap, Invalid, WorkspaceSpec
from skillgym_action.suites.arm_section import suite_arms
from skillgym_action.suites.container_section import ContainerKeyError, container_limits, container_spec
from skillgym_action.suites.values import UNUSABLE
from skillgym_action.suites.xbench.expectations import Expectations, GrammarError, inside, texts_in
from skillgym_action.suites.xbench.keys import SuiteSection, completed
from skillgym_action.suites.xbench.suite_names import accepts, named, rejection
from skillgym_action.text.documents.documents import Document, checked, read_document
from skillgym_action.text.documents.located_values import key_path_text
from skillgym_action.text.documents.user_files import PLAIN_TEMPLATE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from skillgym_action.model.assertion import Assertion
    from skillgym_action.suites import SuiteFile
    from skillgym_action.suites.xbench.expectations import ParsedExpectation
    from skillgym_action.suites.xbench.keys import CaseSection, SuiteBootstrapSection, SuiteWorkspaceSection
    from skillgym_action.text.documents.located_values import KeyPath

MAX_REPORTED_EXPECTATIONS = 20  # wrong ones of an x-bench case; also the cases that are reported of too many

__all__ = ["accepts", "named", "rejection", "suite", "suite_schema"]

DEFAULT_BUDGET = 5.0
"""US dollars for a case without a budget in case and suite."""
DEFAULT_TIMEOUT = 600.0
"""Seconds for a case without a timeout in case and suite."""


def suite_schema() -> dict[str, object]:
    """The JSON Schema of a suite file."""
    return completed(SuiteSection.model_json_schema(by_alias=True))


# --- the suite --------------------------------------------------------------------------------------


def suite(source: SuiteFile) -> BenchmarkSuite:
    """The suite. Raises SuiteError for what concerns the whole file; a case that cannot be used becomes an Invalid."""
    document = read_document(source.text(), path=source.path, kind="json", error=SuiteError)
    section, indexes, wrong = _sections(document)
    workspace = _workspace(document, section.workspace, source)
    arms = suite_arms(source, document.value.get("arms"), "arms", document)  # type: ignore[attr-defined]
    expectations = Expectations()
    cases: list[BenchmarkCase] = []
    warnings: list[Problem] = []
    for index, case in zip(indexes, section.cases, strict=True):
        parsed, problems = _parsed(document, index, case, expectations)
        if problems := list(_unusable(document, index, case)) or problems:
            wrong[index] = problems
            continue
        cases.append(_case(document, index, case, section, tuple(one.assertion for one in parsed)))
        warnings.extend(islice(_warnings(document, index, parsed), MAX_REPORTED_PROBLEMS - len(warnings)))
    _refuse_many(document, wrong)
    return BenchmarkSuite(
        path=source.path,
        file=source.file,
        name=section.name or PurePosixPath(source.path).name.removesuffix(".json").removesuffix(".bench"),
        format="x-bench",
        cases=tuple(cases),
        invalid=tuple(_invalid(document, index, wrong[index]) for index in sorted(wrong)),
        workspace=workspace,
        warnings=tuple(warnings),
        default_timeout=section.defaults.timeout or DEFAULT_TIMEOUT,
        arms=arms.arms,
        hidden=arms.hidden,
    )


def _sections(document: Document) -> tuple[SuiteSection, list[int], dict[int, list[Problem]]]:
    """The file with its usable cases only, their indexes, and what is wrong with the other cases."""
    raw = document.value if isinstance(document.value, dict) else {}
    if isinstance(name := raw.get("name"), str) and len(name) > MAX_CASE_ID_CHARACTERS:
        raise SuiteError.of(_problem(document, ("name",), f"is longer than {MAX_CASE_ID_CHARACTERS:,} characters"))
    cases = raw.get("cases")
    cases = cases if isinstance(cases, list) else []
    if len(cases) > MAX_SUITE_CASES:
        raise SuiteError.of(
            _problem(document, ("cases",), f"more than {MAX_SUITE_CASES:,} cases", remedy="split the suite")
        )
    section, misfits = checked(document, SuiteSection, extensions=True)
    own: list[Problem] = []
    wrong = _doubles(document, cases)
    for key_path, problem in misfits:
        index = key_path[1] if len(key_path) > 1 and key_path[0] == "cases" else None
        (wrong.setdefault(index, []) if isinstance(index, int) else own).append(problem)
    if not cases and not own:
        own.append(_problem(document, ("cases",), "must not be empty", remedy="a suite without cases judges nothing"))
    _refuse_many(document, wrong)
    if own:
        raise SuiteError.of(*own, *(problem for index in sorted(wrong) for problem in wrong[index]))
    indexes = [index for index in range(len(cases)) if index not in wrong]
    if section is None or wrong:
        usable = replace(document, value={**raw, "cases": [cases[index] for index in indexes]})
        section, misfits = checked(usable, SuiteSection, extensions=True)
    if section is None:
        raise SuiteError.of(*(problem for _, problem in misfits))
    if (len(section.tags) + len(section.runners)) * len(cases) > MAX_DOCUMENT_VALUES:
        problem = _problem(document, (), "too many tags and runners for that many cases", remedy="split the suite")
        raise SuiteError.of(problem)
    return section, indexes, wrong


def _refuse_many(document: Document, wrong: dict[int, list[Problem]]) -> None:
    """Raises SuiteError for more unusable cases than are reported one by one."""
    if len(wrong) > MAX_REPORTED_PROBLEMS:
        top = _problem(document, ("cases",), f"{len(wrong):,} cases cannot be used; these are the first")
        raise SuiteError.of(
            top, *(problem for index in sorted(wrong)[:MAX_REPORTED_EXPECTATIONS] for problem in wrong[index])
        )


def _doubles(document: Document, cases: list[object]) -> dict[int, list[Problem]]:
    first: dict[str, int] = {}
    wrong: dict[int, list[Problem]] = {}
    for index, case in enumerate(cases):
        case_id = case.get("id") if isinstance(case, dict) else None
        if (
            isinstance(case_id, str)
            and len(case_id) <= MAX_CASE_ID_CHARACTERS
            and first.setdefault(case_id, index) != index
        ):
            location = document.locate(("cases", first[case_id], "id"))
            message = f"the id {case_id!r} is already used by cases[{first[case_id]}] at {location}"
            wrong[index] = [_problem(document, ("cases", index, "id"), message, remedy="rename one of them")]
    return wrong


def _case(
    document: Document, index: int, case: CaseSection, suite: SuiteSection, assertions: tuple[Assertion, ...]
) -> BenchmarkCase:
    return BenchmarkCase(
        id=case.id,
        prompt=case.prompt,
        location=document.locate(("cases", index)),
        assertions=assertions,
        tags=tuple(dict.fromkeys([*suite.tags, *case.tags])),
        timeout=case.timeout or suite.defaults.timeout or DEFAULT_TIMEOUT,
        budget=case.budget or suite.defaults.budget or DEFAULT_BUDGET,
        has_default_budget=not (case.budget or suite.defaults.budget),
        model=case.model or suite.model,
        expected_fail=case.expected_fail,
        runners=tuple(case.runners or suite.runners),
    )


def _parsed(
    document: Document, index: int, case: CaseSection, expectations: Expectations
) -> tuple[list[ParsedExpectation], list[Problem]]:
    parsed: list[ParsedExpectation] = []
    problems: list[Problem] = []
    for number, written in enumerate(case.expect):
        key_path = ("cases", index, "expect", number)
        try:
            parsed.append(expectations.parsed(written, key_path_text(key_path)))
        except GrammarError as error:
            problems.append(_problem(document, key_path, error.message, remedy=error.remedy))
            if len(problems) == MAX_REPORTED_EXPECTATIONS:
                break
    return parsed, problems


def _warnings(document: Document, index: int, parsed: list[ParsedExpectation]) -> Iterator[Problem]:
    for number, one in enumerate(parsed):
        if one.warning:
            yield _problem(document, ("cases", index, "expect", number), one.warning)


def _unusable(document: Document, index: int, case: CaseSection) -> Iterator[Problem]:
    """Problems of characters that cannot be passed to a program, and of ids that are too long."""
    if len(case.id) > MAX_CASE_ID_CHARACTERS:
        yield _problem(document, ("cases", index, "id"), f"is longer than {MAX_CASE_ID_CHARACTERS:,} characters")
    texts: list[tuple[KeyPath, str | None]] = [(("id",), case.id), (("prompt",), case.prompt), (("model",), case.model)]
    for number, written in enumerate(case.expect):
        texts += [(("expect", number), text) for text in texts_in(written)]
    for key_path, text in texts:
        if text and (found := UNUSABLE.search(text)):
            message = f"has a character that cannot be passed to a program: U+{ord(found[0]):04X}"
            yield _problem(document, ("cases", index, *key_path), message)


def _invalid(document: Document, index: int, problems: list[Problem]) -> Invalid:
    """One Invalid a case, with everything that is wrong with it."""
    first, *others = problems
    also = "".join(f"; also {problem.key_path}: {problem.message}{_in_brackets(problem.remedy)}" for problem in others)
    raw = document.value["cases"][index]  # type: ignore[index]
    case_id = raw.get("id") if isinstance(raw, dict) else None
    usable = isinstance(case_id, str) and 0 < len(case_id) <= MAX_CASE_ID_CHARACTERS and not UNUSABLE.search(case_id)
    named = case_id if usable else f"cases[{index}]"
    return Invalid(problem=replace(first, message=first.message + also), case_id=named)


def _in_brackets(remedy: str | None) -> str:
    return f" ({remedy})" if remedy else ""


def _workspace(document: Document, section: SuiteWorkspaceSection, source: SuiteFile) -> WorkspaceSpec:
    folder = source.file.parent
    if section.template_dir and not PurePosixPath(source.path).is_absolute():
        try:
            inside(str(PurePosixPath(source.path).parent / section.template_dir))
        except GrammarError as error:
            remedy = "template directories are relative to the suite file, and inside the repository"
            problem = _problem(document, ("workspace", "templateDir"), error.message, remedy=remedy)
            raise SuiteError.of(problem) from error
    template = folder / section.template_dir if section.template_dir else None
    if template and (refused := source.refusal(template)):
        raise SuiteError.of(_problem(document, ("workspace", "templateDir"), refused, remedy=PLAIN_TEMPLATE))
    try:
        written = section.limits.model_dump(by_alias=True) if section.limits else None
        limits, cpus = container_limits(written)
        container = container_spec(section, cpus, folder, source.refusal)
    except ContainerKeyError as error:
        raise SuiteError.of(_problem(document, ("workspace", *error.key.split(".")), error.message)) from error
    return WorkspaceSpec(
        mode="isolated",
        source="template" if template else "repository",
        template=template,
        bootstrap=_bootstrap(section.bootstrap, folder),
        limits=parse_workspace_limits(limits),
        container=container,
    )


def _bootstrap(section: str | SuiteBootstrapSection | None, folder: Path) -> Bootstrap | None:
    if section is None:
        return None
    if isinstance(section, str):
        return Bootstrap(argv=("sh", "-c", section))
    words = (section.command, *section.args)
    argv = tuple(str(folder / word) if word.startswith(("./", "../")) else word for word in words)
    return Bootstrap(argv=argv, timeout=section.timeout, env=tuple(section.env.items()))


def _problem(document: Document, key_path: KeyPath, message: str, *, remedy: str | None = None) -> Problem:
    return Problem(message=message, location=document.locate(key_path), key_path=key_path_text(key_path), remedy=remedy)
