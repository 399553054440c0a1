"""AgentV's graders that are programs: the payload on stdin, a JSON object or an exit code as the answer."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from skillgym_action.agentv.grader_payload import payload
from skillgym_action.agentv.judge_questions import NO_JUDGE
from skillgym_action.assertions.graders import PASSING_SCORE, CheckResult, checks_in, clamped, grade_of, not_gradable
from skillgym_action.javascript.values import number, parsed, trimmed
from skillgym_action.limits import (
    DEFAULT_MODEL_CALLS,
    MAX_FILE_NAME_CHARACTERS,
    MAX_GRADER_EVIDENCE_BYTES,
    MAX_GRADER_OUTPUT_BYTES,
    MAX_JSON_STARTS,
    MAX_MODEL_CALLS,
    MIN_GRADER_SECONDS,
)
from skillgym_action.model.session import Ending, Invocation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from skillgym_action.agentv.grader_context import EntryContext, Task
    from skillgym_action.agentv.judge_questions import Parts, Rubric, TextPrompt
    from skillgym_action.assertions.graders import Grade
    from skillgym_action.documents.suite_values import SuiteValue
    from skillgym_action.model.assertion import AssertionContext
    from skillgym_action.model.session import Capture

CUSTOM_SUFFIXES = ("ts", "js", "mts", "mjs")
"""Suffixes of the file of a custom assertion, in the order they are looked for."""
NOT_STARTED = {126: "the program cannot be run", 127: "the program was not found"}
GRADER_KEYS = frozenset(
    {
        *("name", "type", "weight", "required", "min_score", "negate"),
        *("command", "script", "cwd", "target", "config", "preprocessors", "grader_payload"),
    }
)
"""Keys that are not passed to the program as its configuration."""
_ANSWER_KEYS = frozenset({"score", "assertions", "pass", "checks"})
"""A JSON object after other lines is an answer if it has one of them; the last two are AgentV 5's."""
_SCRIPT = re.compile(r"\.(?:[cm]?[jt]sx?|py|sh|bash|rb|go|rs)$", re.IGNORECASE)
_PYTHON_TRACEBACK = re.compile(r"^Traceback \(most recent call last\):$", re.MULTILINE)
_EXCEPTION = re.compile(r"[A-Za-z_][\w.]*(?:: .*)?")
_JAVASCRIPT_ERROR = re.compile(r"(?:Node\.js|Bun) v\d\S*.*")


@dataclass(frozen=True, kw_only=True, slots=True)
class Program:
    """A grader that is a program. Files in ``argv`` that the suite has are absolute paths.

    ``cwd`` None: the suite's folder; or the workspace, if the command's files are there.
    ``legacy``: the payload has the form of AgentV before 4.38. ``compat``: the answer counts as with AgentV.
    ``model_calls``: how often it may ask the judge's model; None: it may not.
    """

    argv: tuple[str, ...]
    folder: Path
    task: Task
    config: Mapping[str, object]
    cwd: Path | None = None
    legacy: bool = False
    compat: bool = False
    model_calls: int | None = None

    diagnostic: ClassVar[bool] = False

    def grade(self, context: AssertionContext) -> Grade:
        """The program's grade; not gradable, with a score of 0, if it failed before it printed one."""
        if self.model_calls is None:
            return self._grade(context, {})
        access = context.model_access(self.model_calls)
        if access is None:
            return not_gradable(f"the grader asks a model (target): {NO_JUDGE}")
        with access as model:
            env = {"AGENTV_TARGET_PROXY_URL": model.url, "AGENTV_TARGET_PROXY_TOKEN": model.token, **model.variables}
            grade = self._grade(context, env)
        if model.unanswered:
            return not_gradable(f"the grader asked the judge's model, which gave no answer: {model.unanswered}")
        return replace(grade, judge=model.judge)

    def _grade(self, context: AssertionContext, env: Mapping[str, str]) -> Grade:
        limit = max(MIN_GRADER_SECONDS, context.timeout)
        invocation = self.invocation(context, limit, env)
        capture = context.execute(invocation)
        if self.compat:
            return compat_grade(capture, limit)
        scripts = (part for part in self.argv if _is_file_name(part) and _SCRIPT.search(part))
        script = next((part for part in scripts if not (invocation.cwd / part).exists()), None)
        if capture.exit_code and script:
            return not_gradable(f"the grader failed: there is no file {script}", score=0.0)
        return program_grade(capture, limit)

    def invocation(
        self, context: AssertionContext, limit: float, variables: Mapping[str, str] | None = None
    ) -> Invocation:
        """The process to start. ``variables``: more of its environment."""
        root = context.report.cwd if context.report else "."
        env = {**(variables or {}), "AGENTV_WORKSPACE_PATH": root}
        if self.task.folder:
            env["AGENTV_CASE_DIR"] = str(self.task.folder)
        cwd = self.cwd or self.folder
        if self.cwd is None and any(self._is_of_workspace(part, context) for part in self.argv):
            cwd = Path(root)
        stdin = payload(self.task, context, self.config, legacy=self.legacy)
        return Invocation(argv=self.argv, cwd=cwd, timeout=limit, env=env, stdin=stdin)

    def _is_of_workspace(self, part: str, context: AssertionContext) -> bool:
        """Whether the suite has no such file, but the workspace had one before the agent started."""
        if not _is_file_name(part) or (self.folder / part).exists():
            return False
        return context.files.existed(part.removeprefix("./"))


@dataclass(frozen=True, slots=True)
class PromptProgram:
    """A prompt for the judge that a program prints: a ``JudgePrompt``."""

    program: Program
    prompt: TextPrompt

    def parts(self, context: AssertionContext, rubrics: tuple[Rubric, ...]) -> Parts | Grade:
        """The program's output, with variables replaced; not gradable if it fails."""
        limit = max(MIN_GRADER_SECONDS, context.timeout)
        capture = context.execute(self.program.invocation(context, limit))
        printed = trimmed(capture.stdout.tail(MAX_GRADER_OUTPUT_BYTES))
        if capture.ending is not Ending.EXITED or capture.exit_code or not printed:
            reason = capture.error or f"{capture.ending}, exit code {capture.exit_code}"
            evidence = trimmed(capture.stderr.tail(MAX_GRADER_EVIDENCE_BYTES)) or None
            return not_gradable(f"the program that writes the prompt failed: {reason}", evidence=evidence)
        return replace(self.prompt, template=printed).parts(context, rubrics)


# --- answers ----------------------------------------------------------------------------------------


def program_grade(capture: Capture, limit: float) -> Grade:
    """The grade that a program gave by its output and its exit code.

    A program that exits with an error after a traceback has crashed, so the session is not graded. Any other error
    code is an answer: the grader rejects the session.
    """
    stdout, stderr = (
        trimmed(capture.stdout.tail(MAX_GRADER_OUTPUT_BYTES)),
        trimmed(capture.stderr.tail(MAX_GRADER_EVIDENCE_BYTES)),
    )
    if reason := _failure(capture, stdout, stderr, limit):
        evidence = stderr or stdout[-MAX_GRADER_EVIDENCE_BYTES:]
        return not_gradable(f"the grader failed: {reason}", score=0.0, evidence=_with_logs(capture, evidence))
    if capture.exit_code:
        text = _last_line(stdout) or _last_line(stderr) or "the grader rejects the session"
        evidence = "\n".join(filter(None, (stdout[-MAX_GRADER_EVIDENCE_BYTES:], stderr)))
        check = CheckResult(f"exited {capture.exit_code}: {text}", passed=False)
        return grade_of(check, evidence=_with_logs(capture, evidence))
    answer = _answer_in(stdout)
    if isinstance(answer, dict):
        return _grade_of_object(answer)
    if answer is not None:
        return grade_of(CheckResult(f"the grader says {stdout}", passed=answer >= PASSING_SCORE), score=answer)
    return grade_of(
        CheckResult(_last_line(stdout) or "exited 0", passed=True), evidence=stdout[-MAX_GRADER_EVIDENCE_BYTES:] or None
    )


def compat_grade(capture: Capture, limit: float) -> Grade:
    """The grade as AgentV reads it: only a JSON object has a score, and a program that fails rejects the session."""
    stdout, stderr = (
        trimmed(capture.stdout.tail(MAX_GRADER_OUTPUT_BYTES)),
        trimmed(capture.stderr.tail(MAX_GRADER_EVIDENCE_BYTES)),
    )
    if capture.ending is not Ending.EXITED or capture.exit_code:
        reason = _failure(capture, stdout, stderr, limit) or f"exited {capture.exit_code}"
        evidence = _with_logs(capture, stderr or stdout[-MAX_GRADER_EVIDENCE_BYTES:])
        return grade_of(CheckResult(reason, passed=False), evidence=evidence)
    try:
        answer = parsed(stdout)
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        return grade_of(
            CheckResult(_last_line(stdout) or "exited 0", passed=True),
            evidence=stdout[-MAX_GRADER_EVIDENCE_BYTES:] or None,
        )
    score = number(answer.get("score"))
    return grade_of(*checks_in(answer.get("assertions")), score=None if score is None else clamped(score))


def _with_logs(capture: Capture, output: str) -> str:
    """The end of the output, then how long the program ran, and the artifacts with all of it."""
    logs = f"; all of its output: {', '.join(capture.logs)}" if capture.logs else ""
    return "\n".join(filter(None, (output, f"(ended after {capture.seconds:.1f} s{logs})")))


def _failure(capture: Capture, stdout: str, stderr: str, limit: float) -> str | None:
    """The reason why the program gave no answer; None if it gave one."""
    code = capture.exit_code
    match capture.ending:
        case Ending.TIMED_OUT:
            return f"timed out after {limit:g} s"
        case Ending.EXITED if not code:
            return None
        case Ending.EXITED if code in NOT_STARTED:
            return f"exited {code}: {NOT_STARTED[code]}"
        case Ending.EXITED if stdout[:1] in {"{", "["}:
            own = _own_explanation(stdout)
            return f"exited {code} although it answered{f': {own}' if own else ''}"
        case Ending.EXITED:
            return f"exited {code}: {_last_line(stderr)}" if _is_crash(stderr) else None
        case _:
            return capture.error or f"it was ended ({capture.ending})"


def _own_explanation(stdout: str) -> str:
    """What a program says did not hold: helpers in which graders are written report their own errors so."""
    answer = _json(stdout)
    checks = checks_in(answer.get("assertions")) if isinstance(answer, dict) else ()
    return "; ".join(check.text for check in checks if not check.passed)[:MAX_GRADER_EVIDENCE_BYTES]


def _is_crash(stderr: str) -> bool:
    """Whether Python, Node.js or Bun ended the program because of an uncaught error."""
    last = _last_line(stderr)
    if _JAVASCRIPT_ERROR.fullmatch(last):
        return True
    return _PYTHON_TRACEBACK.search(stderr) is not None and _EXCEPTION.fullmatch(last) is not None


def _answer_in(stdout: str) -> dict[str, object] | float | None:
    """The JSON object, or the number from 0 to 1, that a program printed; an object may follow other lines."""
    value = _json(stdout)
    if isinstance(value, dict):
        return value
    if isinstance(value, bool):
        return float(value)
    if (score := number(value)) is not None and 0 <= score <= 1:
        return score
    for line in islice(re.finditer(r"^\{", stdout, re.MULTILINE), MAX_JSON_STARTS):
        value = _json(stdout[line.start() :])
        if isinstance(value, dict) and value.keys() & _ANSWER_KEYS:
            return value
    return None


def _json(text: str) -> object:
    """A JSON value, None for other texts; NaN is accepted, as some programs write it."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _grade_of_object(answer: dict[str, object]) -> Grade:
    """The grade of score and assertions.

    A score of 0 although every assertion passed means that the program left it at its default.
    """
    checks = checks_in(answer.get("assertions")) or _checks_in_version_5(answer)
    score = number(answer.get("score"))
    decided = answer.get("pass")
    if isinstance(decided, bool):
        score = float(decided) if score is None else score
        shown = checks or (CheckResult(f"the grader says {'passed' if decided else 'failed'}", passed=decided),)
        return grade_of(*shown, score=clamped(score), passed=decided)
    share = sum(check.passed for check in checks) / len(checks) if checks else 0.0
    if score is None or (score == 0 and share == 1):
        score = share
    if not checks:
        has_score = answer.keys() & _ANSWER_KEYS
        text = f"{clamped(score):g}" if has_score else "neither a score nor assertions"
        checks = (CheckResult(f"the grader says {text}", passed=clamped(score) >= PASSING_SCORE),)
    return grade_of(*checks, score=clamped(score))


def _checks_in_version_5(answer: dict[str, object]) -> tuple[CheckResult, ...]:
    """``checks`` with ``text``, ``pass`` and ``reason``; else ``reason`` as the only one."""
    entries, decided, reason = answer.get("checks"), answer.get("pass"), answer.get("reason")
    if isinstance(entries, list):
        found = [entry for entry in entries if isinstance(entry, dict)]
        known = [{**entry, "passed": entry.get("pass"), "evidence": entry.get("reason")} for entry in found]
        return checks_in(known)
    if isinstance(decided, bool) and isinstance(reason, str) and reason:
        return (CheckResult(reason, passed=decided),)
    return ()


def _last_line(text: str) -> str:
    return text.rpartition("\n")[2].strip()[:MAX_GRADER_EVIDENCE_BYTES]


# --- in suite files ---------------------------------------------------------------------------------


def code_grader(entry: SuiteValue, at: EntryContext) -> Program:
    """``code-grader``. Raises SuiteError."""
    key = "script" if entry.has("script") and not entry.has("command") else "command"
    config = {name: value for name, value in entry.mapping().items() if name not in GRADER_KEYS}
    if own := entry.child("config"):
        config |= own.mapping()
    return replace(
        program(_argv(entry, key), at, config),
        cwd=_cwd(entry, at),
        legacy=entry.choice("grader_payload", ("legacy", "current")) == "legacy",
        model_calls=_model_calls(entry),
    )


def _model_calls(entry: SuiteValue) -> int | None:
    """How often a program may ask the judge's model: ``target`` is true, or a mapping with ``max_calls``.

    None: it may not. Raises SuiteError.
    """
    target = entry.member("target")
    if target.value is None or target.value is False:
        return None
    if target.value is True:
        return DEFAULT_MODEL_CALLS
    if not isinstance(target.value, dict):
        raise target.wrong_type("true, or a mapping such as {max_calls: 10}: the judge's model is asked")
    target = target.snake_case()
    target.refuse_misspelled_keys({"max_calls"})
    calls = target.number("max_calls", most=MAX_MODEL_CALLS, whole=True)
    return DEFAULT_MODEL_CALLS if calls is None else int(calls)


def program(argv: tuple[str, ...], at: EntryContext, config: Mapping[str, object]) -> Program:
    """A grader program; files that ``argv`` names are looked for in the suite's folders."""
    words = tuple(str(_found(part, at) or part) if index or "/" in part else part for index, part in enumerate(argv))
    return Program(argv=words, folder=at.folder, task=at.task, config=config, compat=at.compat)


def custom_grader(entry: SuiteValue, at: EntryContext, type_: str) -> Program | None:
    """The grader of a suite's own type, a script of that name in ``.agentv``; None if there is no such file."""
    folders = ("assertions", "graders", "judges")
    file = at.find(*(f".agentv/{folder}/{type_}.{suffix}" for folder in folders for suffix in CUSTOM_SUFFIXES))
    if file is None:
        return None
    config = {name: value for name, value in entry.mapping().items() if name not in GRADER_KEYS}
    return replace(program(("bun", "run", str(file)), at, config), model_calls=_model_calls(entry))


def _argv(entry: SuiteValue, key: str) -> tuple[str, ...]:
    if isinstance(entry.member(key).value, str):
        line = entry.required_text(key).strip()
        if not line:
            raise entry.invalid(key, "a command")
        return ("sh", "-c", line)
    argv = entry.scalar_texts(key)
    if not argv or not all(part.strip() for part in argv):
        raise entry.invalid(key, "a list of a program and its arguments, none of them empty, or a line for sh")
    return argv


def _found(part: str, at: EntryContext) -> Path | None:
    """The file that a word of a command names; None if it is in the suite's folder, where the program runs."""
    if not _is_file_name(part) or Path(part).is_absolute():
        return None
    found = at.find(part)
    return None if found == at.folder / part else found


def _cwd(entry: SuiteValue, at: EntryContext) -> Path | None:
    if (name := entry.scalar_text("cwd")) is None:
        return None
    folder = at.find(name)
    if folder is None or not folder.is_dir():
        raise entry.member("cwd").error(f"there is no folder {name!r}")
    return folder


def _is_file_name(part: str) -> bool:
    looks_like_one = "/" in part or _SCRIPT.search(part) is not None
    return looks_like_one and len(part) <= MAX_FILE_NAME_CHARACTERS and not part.startswith("-") and "\n" not in part
