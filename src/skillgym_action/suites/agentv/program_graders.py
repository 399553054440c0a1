"""AgentV's graders that are programs or functions: the payload on stdin, a JSON object or an exit code as answer."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from skillgym_action.judging.assertions.graders import (
    PASSING_SCORE,
    CheckResult,
    checks_in,
    clamped,
    grade_of,
    not_gradable,
)
from skillgym_action.judging.assertions.printed_scores import ANSWER_KEYS, UnusableScoreError, answer_in, score_of
from skillgym_action.model.limits import MAX_GRADER_EVIDENCE_BYTES, MAX_GRADER_OUTPUT_BYTES, MIN_GRADER_SECONDS
from skillgym_action.model.records import record
from skillgym_action.model.resource_limits import format_size
from skillgym_action.model.session import Ending, Invocation
from skillgym_action.suites.agentv.conversations import TurnContext, task_in
from skillgym_action.suites.agentv.grader_trace import all_turns, figures_of, summary_of, trace_of, turns_of
from skillgym_action.suites.agentv.judge_graders import NO_JUDGE
from skillgym_action.suites.agentv.messages import sound_message
from skillgym_action.text.javascript.values import number, parsed, stringified, trimmed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from skillgym_action.judging.assertions.graders import Grade
    from skillgym_action.model.assertion import AssertionContext
    from skillgym_action.model.session import Capture
    from skillgym_action.suites.agentv.grader_context import EntryContext, Task
    from skillgym_action.suites.agentv.judge_graders import Parts, Rubric, TextPrompt
    from skillgym_action.suites.values import SuiteValue

MAX_FILE_NAME_CHARACTERS = 255  # of an argument that can be the name of a file, as in file systems
DEFAULT_MODEL_CALLS = 50  # of one program that asks the model; AgentV's own number
MAX_MODEL_CALLS = 1_000
CUSTOM_SUFFIXES = ("ts", "js", "mts", "mjs")
"""Suffixes of the file of a custom assertion, in the order they are looked for."""


def program(argv: tuple[str, ...], at: EntryContext, config: Mapping[str, object]) -> Program:
    """A grader program; files that ``argv`` names are looked for in the suite's folders."""
    words = tuple(str(_found(part, at) or part) if index or "/" in part else part for index, part in enumerate(argv))
    return Program(argv=words, folder=at.folder, task=at.task, config=config, compat=at.compat)


NOT_STARTED = {126: "the program cannot be run", 127: "the program was not found"}

GRADER_KEYS = frozenset(
    {
        *("name", "type", "weight", "required", "min_score", "negate"),
        *("command", "script", "cwd", "target", "config", "preprocessors", "grader_payload"),
    }
)
"""Keys that are not passed to the program as its configuration."""

_SCRIPT = re.compile(r"\.(?:[cm]?[jt]sx?|py|sh|bash|rb|go|rs)$", re.IGNORECASE)
_PYTHON_TRACEBACK = re.compile(r"^Traceback \(most recent call last\):$", re.MULTILINE)
_EXCEPTION = re.compile(r"[A-Za-z_][\w.]*(?:: .*)?")
_JAVASCRIPT_ERROR = re.compile(r"(?:Node\.js|Bun) v\d\S*.*")


@record
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


@record(kw_only=False)
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


# --- answers ------------------------------------------------------------------------------------------


def program_grade(capture: Capture, limit: float) -> Grade:
    """The grade that a program gave by its output and its exit code.

    A program that exits with an error after a traceback has crashed, so the session is not graded; nor is it by an
    answer whose score cannot be used. Any other error code is an answer: the grader rejects the session.
    """
    stdout, is_whole = _output(capture)
    stderr = trimmed(capture.stderr.tail(MAX_GRADER_EVIDENCE_BYTES))
    reason = _failure(capture, stdout, stderr, limit)
    if reason is None and not capture.exit_code:
        try:
            return _grade_of_answer(stdout, is_whole=is_whole)
        except UnusableScoreError as error:
            reason = str(error)
    if reason is not None:
        evidence = stderr or stdout[-MAX_GRADER_EVIDENCE_BYTES:]
        return not_gradable(f"the grader failed: {reason}", score=0.0, evidence=_with_logs(capture, evidence))
    text = _last_line(stdout) or _last_line(stderr) or "the grader rejects the session"
    evidence = "\n".join(filter(None, (stdout[-MAX_GRADER_EVIDENCE_BYTES:], stderr)))
    check = CheckResult(f"exited {capture.exit_code}: {text}", passed=False)
    return grade_of(check, evidence=_with_logs(capture, evidence))


def _output(capture: Capture) -> tuple[str, bool]:
    """What a program printed, and whether that is all; else its end."""
    printed = capture.stdout.tail(MAX_GRADER_OUTPUT_BYTES + 1)
    is_whole = len(printed.encode("utf-8", "replace")) <= MAX_GRADER_OUTPUT_BYTES
    return trimmed(printed if is_whole else printed.partition("\n")[2]), is_whole


def _grade_of_answer(stdout: str, *, is_whole: bool) -> Grade:
    """The grade of a program that exited with 0. Raises UnusableScoreError."""
    answer = answer_in(stdout)
    if isinstance(answer, dict):
        return grade_of_object(answer)
    if answer is not None:
        return grade_of(CheckResult(f"the grader says {stdout}", passed=answer >= PASSING_SCORE), score=answer)
    if not is_whole:
        raise UnusableScoreError(
            f"it printed more than {format_size(MAX_GRADER_OUTPUT_BYTES)}, with no answer at the end"
        )
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
        case Ending.EXITED if (answer := _printed_answer(stdout)) or stdout[:1] in {"{", "["}:
            own = _own_explanation(answer)
            return f"exited {code} although it answered{f': {own}' if own else ''}"
        case Ending.EXITED:
            return f"exited {code}: {_last_line(stderr)}" if _is_crash(stderr) else None
        case _:
            return capture.error or f"it was ended ({capture.ending})"


def _printed_answer(stdout: str) -> dict[str, object] | float | None:
    """The answer of a program that failed; None: there is none, or none that can be read."""
    try:
        return answer_in(stdout)
    except UnusableScoreError:
        return None


def _own_explanation(answer: object) -> str:
    """What a program says did not hold: helpers in which graders are written report their own errors so."""
    checks = checks_in(answer.get("assertions")) if isinstance(answer, dict) else ()
    return "; ".join(check.text for check in checks if not check.passed)[:MAX_GRADER_EVIDENCE_BYTES]


def _is_crash(stderr: str) -> bool:
    """Whether Python, Node.js or Bun ended the program because of an uncaught error."""
    last = _last_line(stderr)
    if _JAVASCRIPT_ERROR.fullmatch(last):
        return True
    return _PYTHON_TRACEBACK.search(stderr) is not None and _EXCEPTION.fullmatch(last) is not None


def grade_of_object(answer: dict[str, object]) -> Grade:
    """The grade of score and assertions. Raises UnusableScoreError if they are not usable, or both are missing.

    A score of 0 although every assertion passed means that the program left it at its default.
    """
    checks = checks_in(answer.get("assertions")) or _checks_in_version_5(answer)
    _require_booleans(answer)
    score = None if answer.get("score") is None else score_of(answer["score"])
    decided = answer.get("pass")
    if isinstance(decided, bool):
        score = float(decided) if score is None else score
        shown = checks or (CheckResult(f"the grader says {'passed' if decided else 'failed'}", passed=decided),)
        return grade_of(*shown, score=score, passed=decided)
    if score is None and not checks:
        known = sorted(ANSWER_KEYS - {"pass"})
        raise UnusableScoreError(f"its answer has neither a usable score nor checks ({', '.join(known)})")
    share = sum(check.passed for check in checks) / len(checks) if checks else 0.0
    if score is None or (score == 0 and share == 1):
        score = share
    return grade_of(*(checks or (CheckResult(f"the grader says {score:g}", score >= PASSING_SCORE),)), score=score)


def _require_booleans(answer: dict[str, object]) -> None:
    """Raises UnusableScoreError for a decision, or that of a check, that is neither missing nor true, false, 1 or 0."""
    decisions = [("pass", answer.get("pass"))]
    for key, name in (("assertions", "passed"), ("checks", "pass")):
        entries = answer.get(key)
        found = entries if isinstance(entries, list) else []
        decisions += [(f"{name} of a check", entry.get(name)) for entry in found if isinstance(entry, dict)]
    for name, decision in decisions:
        if decision is not None and decision not in (True, False):
            raise UnusableScoreError(f"{name} is neither true nor false")


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


# --- in suite files -----------------------------------------------------------------------------------


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


# --- functions of suite programs ----------------------------------------------------------------------

SATISFIED = 0.5
"""The score from which what a function checked counts as found. AgentV's number; the grade passes from another one."""


@record(kw_only=False)
class FunctionReference:
    """A function in a suite, by its number in the suite host."""

    number: int


@record(kw_only=False)
class FunctionGrader:
    """Calls a function of the suite with the answer, and takes the score that it returns.

    ``compat``: one that fails scores 0, as with AgentV, and a score outside of 0 to 1 is limited to it.
    """

    function: FunctionReference
    task: Task
    compat: bool = False

    diagnostic: ClassVar[bool] = False

    def grade(self, context: AssertionContext) -> Grade:
        """The function's score; 0 for an AssertionError; not gradable if it fails otherwise, or returns no score."""
        reply = context.call_function(self.function.number, self._answer(context))
        if reply.failed is not None:
            return grade_of(CheckResult(reply.failed, passed=False), evidence=reply.evidence)
        if reply.score is None:
            reason = f"the function failed: {reply.trouble}"
            if self.compat:
                return grade_of(CheckResult(reason, passed=False), evidence=reply.evidence)
            return not_gradable(reason, evidence=reply.evidence)
        try:
            score = clamped(reply.score) if self.compat else score_of(reply.score)
        except UnusableScoreError as error:
            return not_gradable(f"the function failed: {error}")
        return grade_of(CheckResult(reply.name or f"the function says {score:g}", score >= SATISFIED), score=score)

    def _answer(self, context: AssertionContext) -> dict[str, object]:
        """What AgentV passes to such functions: the first question, the final answer, what the case expects."""
        task = self.task
        known = {
            "input": _question(task.input),
            "output": context.report.final_output if context.report else "",
            "criteria": task.criteria,
            "expectedOutput": _expected(task.expected_output),
            "metadata": task.metadata,
        }
        return {key: value for key, value in known.items() if value is not None}


def _question(messages: Sequence[object]) -> str:
    asked = (one for one in messages if isinstance(one, dict) and one.get("role") == "user")
    return _text(next((one.get("content") for one in asked), ""))


def _expected(messages: Sequence[object]) -> str | None:
    contents = [one.get("content") if isinstance(one, dict) else one for one in messages]
    return _text(contents[-1]) if contents else None


def _text(content: object) -> str:
    """Text of a message; the texts of its blocks if it has several; other values as JSON."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        texts = (_text_of(part) for part in content)
        return "\n".join(text for text in texts if isinstance(text, str))
    return stringified(content, indent=2)


def _text_of(part: object) -> object:
    """The text of a block; None for files and images."""
    if isinstance(part, dict):
        return part.get("value") if part.get("type") == "text" else None
    return part


# --- the payload --------------------------------------------------------------------------------------

_CAPITAL = re.compile("[A-Z]")


def payload(task: Task, context: AssertionContext, config: Mapping[str, object], *, legacy: bool = False) -> str:
    """One JSON object. Programs that validate it refuse unknown keys, and null where a key may only be absent.

    ``legacy``: ``output`` is the list of messages, as AgentV had it before 4.38, and old names are given, too.
    """
    report = context.report
    if report is None:
        raise ValueError("graders are asked about sessions that gave a report")
    task = task_in(context, task)
    own = turns_of(report)
    if isinstance(context, TurnContext):  # its messages end with the reply, which the report has, too
        turns = all_turns(task.input[:-1], own) if report.events else all_turns(task.input, ())
    else:
        turns = all_turns(task.input, own)
    replies = [turn.json() for turn in own]
    content: dict[str, object] = {
        "criteria": task.criteria,
        "expected_output": list(map(sound_message, task.expected_output)),
        "output": replies if legacy else report.final_output,
        "messages": [turn.json() for turn in turns],
        "input_files": list(task.input_files),
        "input": list(map(sound_message, task.input)),
        "metadata": task.metadata,
        "trace": trace_of(report, turns, task.case_id),
        "trace_summary": summary_of(report, turns),
        **figures_of(report),
        "file_changes": context.file_changes(),
        "workspace_path": report.cwd,
        "config": dict(config) or None,
    }
    if legacy:
        old = {"answer": report.final_output, "output_text": report.final_output, "output_messages": replies}
        content |= {**old, "case_dir": str(task.folder) if task.folder else None}
    return stringified(_snake_keys(content), indent=2)


def _snake_keys(value: object) -> object:
    """``camelCase`` keys as ``snake_case``, however deep; those that begin with a capital stay."""
    if isinstance(value, dict):
        return {_snake(str(key)): _snake_keys(item) for key, item in value.items()}
    return list(map(_snake_keys, value)) if isinstance(value, list) else value


def _snake(key: str) -> str:
    return key if _CAPITAL.match(key) else _CAPITAL.sub(lambda found: f"_{found[0].lower()}", key)
