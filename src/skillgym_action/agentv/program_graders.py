"""AgentV's graders that are programs: the payload on stdin, a JSON object or an exit code as the answer."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from skillgym_action.agentv.grader_payload import payload
from skillgym_action.assertions.grades import GOOD, Check, cannot_tell, checks_of, clamped, graded
from skillgym_action.javascript.values import is_true, number, parsed, trimmed
from skillgym_action.model.session import Ending, Invocation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from skillgym_action.agentv.assertions import Task, Where
    from skillgym_action.agentv.judge_prompts import Asking, Parts
    from skillgym_action.agentv.rubrics import Rubric
    from skillgym_action.assertions.grades import Grade
    from skillgym_action.documents.entries import Entry
    from skillgym_action.model.assertion import AssertionContext
    from skillgym_action.model.session import Capture

SHORTEST_LIMIT = 300.0
"""Seconds that a grader has at least."""
LARGEST = 8 * 1024 * 1024
"""Bytes of an answer."""
TAIL = 2000
MOST_OBJECTS = 100
"""Lines of an answer with which the JSON object may begin."""
LONGEST_NAME = 255
ENDINGS = ("ts", "js", "mts", "mjs")
"""Of a custom assertion's file, in the order they are looked for."""
NOT_RUN = {126: "the program cannot be run", 127: "the program was not found"}
OWN_KEYS = frozenset(
    {
        *("name", "type", "weight", "required", "min_score", "negate"),
        *("command", "script", "cwd", "target", "config", "preprocessors", "grader_payload"),
    }
)
"""What is not handed to the program as its configuration."""
_SCRIPT = re.compile(r"\.(?:[cm]?[jt]sx?|py|sh|bash|rb|go|rs)$", re.IGNORECASE)
_PYTHON_ENDED = re.compile(r"^Traceback \(most recent call last\):$", re.MULTILINE)
_EXCEPTION = re.compile(r"[A-Za-z_][\w.]*(?:: .*)?")
_SCRIPT_ENDED = re.compile(r"(?:Node\.js|Bun) v\d\S*.*")


@dataclass(frozen=True, kw_only=True, slots=True)
class Program:
    """A grader's program. Its command's files were found; others are looked for in the workspace.

    ``cwd`` None: the suite's folder, or the workspace, if that is where the command's files are.
    ``compat``: its answer counts as with AgentV.
    """

    argv: tuple[str, ...]
    folder: Path
    task: Task
    config: Mapping[str, object]
    cwd: Path | None = None
    legacy: bool = False
    compat: bool = False

    diagnostic: ClassVar[bool] = False

    def grade(self, context: AssertionContext) -> Grade:
        """What the program says; cannot tell, with a score of 0, when it does not come to say anything."""
        limit = max(SHORTEST_LIMIT, context.timeout)
        invocation = self.invocation(context, limit)
        capture = context.execute(invocation)
        if self.compat:
            return answer_to_agentv(capture, limit)
        scripts = (part for part in self.argv if _is_file_name(part) and _SCRIPT.search(part))
        script = next((part for part in scripts if not (invocation.cwd / part).exists()), None)
        if capture.exit_code and script:
            return cannot_tell(f"the grader failed: there is no file {script}", score=0.0)
        return answer(capture, limit)

    def invocation(self, context: AssertionContext, limit: float) -> Invocation:
        """The process that is wanted."""
        root = context.report.cwd if context.report else "."
        env = {"AGENTV_WORKSPACE_PATH": root}
        if self.task.folder:
            env["AGENTV_CASE_DIR"] = str(self.task.folder)
        cwd = self.cwd or self.folder
        if self.cwd is None and any(self._is_of_workspace(part, context) for part in self.argv):
            cwd = Path(root)
        stdin = payload(self.task, context, self.config, legacy=self.legacy)
        return Invocation(argv=self.argv, cwd=cwd, timeout=limit, env=env, stdin=stdin)

    def _is_of_workspace(self, part: str, context: AssertionContext) -> bool:
        """Whether the suite has no such file, but the workspace had before the agent came."""
        if not _is_file_name(part) or (self.folder / part).exists():
            return False
        return context.files.existed(part.removeprefix("./"))


@dataclass(frozen=True, slots=True)
class WrittenByProgram:
    """A question to the judge that a program writes; fulfils ``agentv.judge_prompts.Prompt``."""

    program: Program
    asking: Asking

    def parts(self, context: AssertionContext, rubrics: tuple[Rubric, ...]) -> Parts | Grade:
        """What the program prints, its variables filled in; no grade when it fails."""
        limit = max(SHORTEST_LIMIT, context.timeout)
        capture = context.execute(self.program.invocation(context, limit))
        printed = trimmed(capture.stdout.tail(LARGEST))
        if capture.ending is not Ending.EXITED or capture.exit_code or not printed:
            why = capture.error or f"{capture.ending}, exit code {capture.exit_code}"
            evidence = trimmed(capture.stderr.tail(TAIL)) or None
            return cannot_tell(f"the program that writes the prompt failed: {why}", evidence=evidence)
        return replace(self.asking, template=printed).parts(context, rubrics)


# --- answers ----------------------------------------------------------------------------------------


def answer(capture: Capture, limit: float) -> Grade:
    """The grade that came out of a program."""
    told, complaint = trimmed(capture.stdout.tail(LARGEST)), trimmed(capture.stderr.tail(TAIL))
    if why := _failure(capture, told, complaint, limit):
        return cannot_tell(f"the grader failed: {why}", score=0.0, evidence=complaint or told[-TAIL:] or None)
    if capture.exit_code:
        text = _last_line(told) or _last_line(complaint) or "the grader says no"
        evidence = "\n".join(filter(None, (told[-TAIL:], complaint)))
        return graded(Check(f"exited {capture.exit_code}: {text}", passed=False), evidence=evidence or None)
    said = _said(told)
    if isinstance(said, dict):
        return _of_object(said)
    if said is not None:
        return graded(Check(f"the grader says {told}", passed=said >= GOOD), score=said)
    return graded(Check(_last_line(told) or "exited 0", passed=True), evidence=told[-TAIL:] or None)


def answer_to_agentv(capture: Capture, limit: float) -> Grade:
    """The grade that AgentV takes: nothing but an object is a score, and a program that fails says no."""
    told, complaint = trimmed(capture.stdout.tail(LARGEST)), trimmed(capture.stderr.tail(TAIL))
    if capture.ending is not Ending.EXITED or capture.exit_code:
        why = _failure(capture, told, complaint, limit) or f"exited {capture.exit_code}"
        return graded(Check(why, passed=False), evidence=complaint or told[-TAIL:] or None)
    try:
        said = parsed(told)
    except ValueError:
        said = None
    if not isinstance(said, dict):
        return graded(Check(_last_line(told) or "exited 0", passed=True), evidence=told[-TAIL:] or None)
    score = number(said.get("score"))
    return graded(*checks_of(said.get("assertions")), score=None if score is None else clamped(score))


def _failure(capture: Capture, told: str, complaint: str, limit: float) -> str | None:
    """Why what came out of the program is no answer."""
    code = capture.exit_code
    match capture.ending:
        case Ending.TIMED_OUT:
            return f"no end after {limit:g} s"
        case Ending.EXITED if not code:
            return None
        case Ending.EXITED if code in NOT_RUN:
            return f"exited {code}: {NOT_RUN[code]}"
        case Ending.EXITED if told[:1] in {"{", "["}:
            return f"exited {code} although it answered"
        case Ending.EXITED:
            return f"exited {code}: {_last_line(complaint)}" if _is_crash(complaint) else None
        case _:
            return capture.error or f"it was ended ({capture.ending})"


def _is_crash(complaint: str) -> bool:
    """Whether Python, Node.js or Bun ended the program for an error that nobody caught."""
    last = _last_line(complaint)
    if _SCRIPT_ENDED.fullmatch(last):
        return True
    return _PYTHON_ENDED.search(complaint) is not None and _EXCEPTION.fullmatch(last) is not None


def _said(told: str) -> dict[str, object] | float | None:
    """The JSON object, or the number from 0 to 1, that a program printed; also as the last thing after other lines."""
    value = _json(told)
    if isinstance(value, dict):
        return value
    if isinstance(value, bool):
        return float(value)
    if (score := number(value)) is not None and 0 <= score <= 1:
        return score
    for line in islice(re.finditer(r"^\{", told, re.MULTILINE), MOST_OBJECTS):
        value = _json(told[line.start() :])
        if isinstance(value, dict) and value.keys() & {"score", "assertions"}:
            return value
    return None


def _json(text: str) -> object:
    """A JSON value; NaN is taken for a number, as some programs write it."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _of_object(said: dict[str, object]) -> Grade:
    """Score and assertions. A score of 0 although every assertion holds is one that was left out."""
    checks = checks_of(said.get("assertions"))
    score = number(said.get("score"))
    share = sum(check.passed for check in checks) / len(checks) if checks else 0.0
    if score is None or (score == 0 and share == 1):
        score = share
    if not checks:
        told = "neither a score nor assertions" if not said.keys() & {"score", "assertions"} else f"{clamped(score):g}"
        checks = (Check(f"the grader says {told}", passed=clamped(score) >= GOOD),)
    return graded(*checks, score=clamped(score))


def _last_line(text: str) -> str:
    return text.rpartition("\n")[2].strip()[:TAIL]


# --- what is written --------------------------------------------------------------------------------


def code_grader(entry: Entry, at: Where) -> Program:
    """``code-grader``. Raises SuiteError."""
    key = "script" if entry.has("script") and not entry.has("command") else "command"
    if is_true(entry.value.get("target")):
        remedy = "have the program ask a model itself, or use llm-grader"
        raise entry.error("asking models through a proxy is not supported", "target", remedy)
    config = {name: value for name, value in entry.value.items() if name not in OWN_KEYS}
    if own := entry.child("config"):
        config |= own.value
    return replace(
        program(_argv(entry, key), at, config),
        cwd=_cwd(entry, at),
        legacy=entry.choice("grader_payload", ("legacy", "current")) == "legacy",
    )


def program(argv: tuple[str, ...], at: Where, config: Mapping[str, object]) -> Program:
    """A program whose files are looked for where the suite's are."""
    found = tuple(str(_found(part, at) or part) if place or "/" in part else part for place, part in enumerate(argv))
    return Program(argv=found, folder=at.folder, task=at.task, config=config, compat=at.compat)


def custom_grader(entry: Entry, at: Where, kind: str) -> Program | None:
    """A type of the suite's own: a file of that name beside it or above. None if there is no such file."""
    places = ("assertions", "graders", "judges")
    file = at.find(*(f".agentv/{place}/{kind}.{ending}" for place in places for ending in ENDINGS))
    if file is None:
        return None
    config = {name: value for name, value in entry.value.items() if name not in OWN_KEYS}
    return program(("bun", "run", str(file)), at, config)


def _argv(entry: Entry, key: str) -> tuple[str, ...]:
    if isinstance(entry.value.get(key), str):
        line = entry.needed_text(key).strip()
        if not line:
            raise entry.wrong(key, "a command")
        return ("sh", "-c", line)
    argv = entry.texts(key)
    if not argv or not all(part.strip() for part in argv):
        raise entry.wrong(key, "a list of a program and its arguments, none of them empty, or a line for sh")
    return argv


def _found(part: str, at: Where) -> Path | None:
    """The file that a part of a command names, unless it is simply there in the suite's folder."""
    if not _is_file_name(part) or Path(part).is_absolute():
        return None
    found = at.find(part)
    return None if found == at.folder / part else found


def _cwd(entry: Entry, at: Where) -> Path | None:
    if (written := entry.text("cwd")) is None:
        return None
    folder = at.find(written)
    if folder is None or not folder.is_dir():
        raise entry.error(f"there is no folder {written!r}", "cwd")
    return folder


def _is_file_name(part: str) -> bool:
    is_one = "/" in part or _SCRIPT.search(part) is not None
    return is_one and len(part) <= LONGEST_NAME and not part.startswith("-") and "\n" not in part
