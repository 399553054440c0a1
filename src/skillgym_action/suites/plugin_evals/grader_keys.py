"""Graders of a case, as assertions: from entries of ``case.yaml`` and ``prompt.md``, and from ``graders/NAME.md``."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from skillgym_action.judging.assertions.graders import ScoredAssertion
from skillgym_action.model.errors import SuiteError, did_you_mean
from skillgym_action.model.records import record
from skillgym_action.suites.plugin_evals.graders import (
    CreatedFile,
    JudgedCriteria,
    RegexGrader,
    Target,
    ToolMatcher,
    ToolOrder,
    ToolUsed,
)
from skillgym_action.system.files.globs import matches_nothing
from skillgym_action.text.javascript.regex import FLAGS

if TYPE_CHECKING:
    from collections.abc import Callable

    import regex

    from skillgym_action.judging.assertions.graders import Grader
    from skillgym_action.suites.values import SuiteValue
    from skillgym_action.text.javascript.regex import Patterns

TARGETS = ("last_message", "trace", "files")
ARMS = ("with-only", "both")
_COMMON = frozenset({"name", "type", "weight", "arm", "description"})
_COUNT = re.compile(r"count:[ ]*([0-9]{1,6})")
_NO_MOCKS = "mocks are not supported yet: grade last_message, trace, files, or a file"


@record
class GraderSource:
    """What graders of one case need: compiled patterns, and the texts of its files by path."""

    patterns: Patterns
    text_of: Callable[[SuiteValue], str]


@record
class WrittenGrader:
    """A grader as it is written. ``body``: the text of its file below the frontmatter; empty in an entry."""

    value: SuiteValue
    name: str
    body: str = ""


def grader_of(written: WrittenGrader, source: GraderSource) -> ScoredAssertion:
    """The assertion. Raises SuiteError."""
    value = written.value
    kind = value.text("type")
    if kind is None:
        raise value.missing("type", f"write one of {', '.join(_KINDS)}")
    if kind not in _KINDS:
        raise value.member("type").error(f"unknown type {kind!r}", did_you_mean(kind, _KINDS))
    make, keys = _KINDS[kind]
    refuse_unknown(value, _COMMON | keys)
    weight = value.number("weight")
    if weight == 0:
        raise value.member("weight").error("must be more than 0", "leave the grader out if it does not count")
    arm = value.choice("arm", ARMS)
    grader = make(written, source)
    return ScoredAssertion(
        name=written.name,
        type=kind.replace("_", "-"),
        grader=grader,
        weight=1.0 if weight is None else weight,
        location=value.location,
        indicator=arm == "with-only" or (arm is None and _is_indicator(grader)),
    )


def refuse_unknown(value: SuiteValue, known: frozenset[str]) -> None:
    """Raise SuiteError for keys that are not known, all of them."""
    unknown = [key for key in value.mapping() if key not in known]
    if unknown:
        problems = [value.member(key).problem(f"unknown key {key!r}", did_you_mean(key, known)) for key in unknown]
        raise SuiteError.of(*problems)


def _is_indicator(grader: Grader) -> bool:
    """Whether a grader only shows that the plugin was loaded."""
    return isinstance(grader, ToolUsed) and grader.matcher.tool == "Skill"


# --- the types ----------------------------------------------------------------------------------------


def _regex(written: WrittenGrader, source: GraderSource) -> RegexGrader:
    value = written.value
    body = written.body.strip("\n")
    if value.has("pattern") and body.strip():
        raise value.member("pattern").error("there is a body, too", "write the pattern in one of the two places")
    pattern = value.scalar_text("pattern") or body
    if not pattern.strip():
        raise value.error("has no pattern", "write pattern: …, or the pattern below the frontmatter")
    match = value.scalar_text("match") or "contains"
    count = _COUNT.fullmatch(match)
    if count is None and match not in {"contains", "not_contains"}:
        raise value.invalid("match", "contains, not_contains or count:N")
    flags = value.scalar_text("flags") or ""
    return RegexGrader(
        pattern=_compiled(value, "pattern" if set(flags) <= FLAGS.keys() else "flags", pattern, flags, source),
        target=_target(value, "target"),
        wanted=match != "not_contains",
        count=int(count[1]) if count else None,
    )


def _tool_used(written: WrittenGrader, source: GraderSource) -> ToolUsed:
    value = written.value
    _refuse_body(written)
    least, most = value.number("min", whole=True), value.number("max", whole=True)
    used = ToolUsed(
        matcher=_matcher(value, source),
        least=1 if least is None else int(least),
        most=None if most is None else int(most),
    )
    if used.most is not None and used.least > used.most:
        remedy = "write min: 0, too" if least is None else "raise max, or lower min"
        raise value.member("max").error(f"is less than min, which is {used.least}", remedy)
    return used


def _tool_order(written: WrittenGrader, source: GraderSource) -> ToolOrder:
    _refuse_body(written)

    def matcher(key: str) -> ToolMatcher:
        member = written.value.member(key)
        if isinstance(member.value, str) and member.value.strip():
            return ToolMatcher(member.value)
        if not isinstance(member.value, dict):
            raise written.value.invalid(key, "the name of a tool, or {tool, input_match}")
        refuse_unknown(member, frozenset({"tool", "input_match"}))
        return _matcher(member, source)

    return ToolOrder(before=matcher("before"), after=matcher("after"))


def _file_exists(written: WrittenGrader, source: GraderSource) -> CreatedFile:  # noqa: ARG001 - it has no patterns
    _refuse_body(written)
    path = written.value.required_text("path").removeprefix("./")
    if matches_nothing(path) or path.startswith("/") or ".." in path.split("/"):
        raise written.value.member("path").error("matches no file", "write a path or pattern inside the workspace")
    return CreatedFile(path=path, exists=written.value.flag("exists", default=True))


def _llm(written: WrittenGrader, source: GraderSource) -> JudgedCriteria:  # noqa: ARG001 - it has no patterns
    return JudgedCriteria(criteria=_criteria(written), focus=_target(written.value, "focus"))


def _baseline(written: WrittenGrader, source: GraderSource) -> JudgedCriteria:
    value = written.value
    value.required_text("baseline_file")
    return JudgedCriteria(
        criteria=_criteria(written),
        focus=_target(value, "focus"),
        baseline=source.text_of(value.member("baseline_file")),
    )


_KINDS: dict[str, tuple[Callable[[WrittenGrader, GraderSource], Grader], frozenset[str]]] = {
    "regex": (_regex, frozenset({"pattern", "flags", "match", "target"})),
    "tool_used": (_tool_used, frozenset({"tool", "input_match", "min", "max"})),
    "tool_order": (_tool_order, frozenset({"before", "after"})),
    "file_exists": (_file_exists, frozenset({"path", "exists"})),
    "llm": (_llm, frozenset({"criteria", "focus"})),
    "baseline": (_baseline, frozenset({"baseline_file", "criteria", "focus"})),
}
"""Type -> what makes the grader, and its own keys."""


# --- parts --------------------------------------------------------------------------------------------


def _criteria(written: WrittenGrader) -> str:
    value, body = written.value, written.body.strip()
    if value.has("criteria") and body:
        raise value.member("criteria").error("there is a body, too", "write the criteria in one of the two places")
    criteria = value.text("criteria") or body
    if not criteria:
        raise value.error("has no criteria", "write criteria: …, or the criteria below the frontmatter")
    return criteria


def _refuse_body(written: WrittenGrader) -> None:
    if written.body.strip():
        message = f"a grader of the type {written.value.text('type')} has no body"
        raise written.value.error(message, "remove the text below the frontmatter")


def _matcher(value: SuiteValue, source: GraderSource) -> ToolMatcher:
    match = value.scalar_text("input_match")
    pattern = _compiled(value, "input_match", match, "", source) if match else None
    return ToolMatcher(value.required_text("tool"), pattern)


def _compiled(value: SuiteValue, key: str, pattern: str, flags: str, source: GraderSource) -> regex.Pattern[str]:
    try:
        return source.patterns.compiled(pattern, flags)
    except ValueError as error:
        at = value.member(key) if value.has(key) else value
        raise at.error(f"is not a JavaScript regular expression: {error}") from error


def _target(value: SuiteValue, key: str) -> Target:
    """A word, or ``{source: file, path}``. Raises SuiteError."""
    member = value.member(key)
    if isinstance(member.value, dict):
        refuse_unknown(member, frozenset({"source", "path"}))
        word = member.required_text("source")
        if word == "file":
            path = member.required_text("path").removeprefix("./")
            if path.startswith("/") or ".." in path.split("/"):
                raise member.member("path").error("leads out of the workspace", "write a path inside the workspace")
            return Target("file", path)
    else:
        word = value.scalar_text(key) or "last_message"
    if word == "mock_calls":
        raise member.error("mock_calls cannot be graded", _NO_MOCKS)
    for known in TARGETS:
        if word == known:
            return Target(known)  # type: ignore[arg-type]
    raise replace(member, value=word).error(
        f"unknown target {word!r}", f"write one of {', '.join(TARGETS)}, or {{source: file, path: …}}"
    )
