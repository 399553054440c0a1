"""Assertions about files of the workspace: what is there after the agent, and what it was before.

``glob``: the path is a pattern, and one file that fulfils the assertion is enough (for ``FileAbsent``: none may match).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from skillgym_action.model.errors import Problem
from skillgym_action.model.judgement import Outcome
from skillgym_action.model.limits import MAX_SEARCHED_FILE_BYTES
from skillgym_action.model.records import record
from skillgym_action.text.javascript.regex import SearchError

if TYPE_CHECKING:
    import regex

    from skillgym_action.model.assertion import Assertion, AssertionContext, Files
    from skillgym_action.model.errors import Location

_SHOWN_FILES = 5
_SHORTEST_NAME = 3  # characters of a name that is looked for in the prompt; shorter ones are in many words
_INSTEAD = {
    "directory": "is a directory, not a file",
    "file": "is a file, not a directory",
    "symlink": "is a symbolic link that leads nowhere",
    "outside": "is a symbolic link that leads out of the workspace",
    "other": "is neither a file nor a directory",
}


@record
class FileExists:
    """A regular file exists; a directory, if the path ends in ``/``."""

    name: str
    path: str
    glob: bool = False
    fail_fast: bool = False

    type: ClassVar[str] = "file-exists"
    diagnostic: ClassVar[bool] = True

    def judge(self, context: AssertionContext) -> tuple[Outcome, ...]:
        """Passed also if it was there before; the explanation then warns that this measures nothing."""
        from skillgym_action.judging.assertions.evidence import name_evidence

        paths = _candidates(context.files, self.path, glob=self.glob)
        if missing := _why_missing(context.files, self.path, paths):
            return _failed(self, missing, name_evidence(context.files, self.path))
        if any(_is_new(context.files, path) for path in paths):
            return _passed(self, f"{paths[0]} exists")
        warning = "preexisting: it was there, unchanged, before the agent started, so this measures nothing"
        return _passed(self, f"{paths[0]} exists ({warning})")


@record
class FileContains:
    """The text of a file has ``text`` in it; upper and lower case differ, CRLF is LF."""

    name: str
    path: str
    text: str
    glob: bool = False
    fail_fast: bool = False

    type: ClassVar[str] = "file-contains"
    diagnostic: ClassVar[bool] = True

    def judge(self, context: AssertionContext) -> tuple[Outcome, ...]:
        """Failed also for a file that is missing or too large."""
        from skillgym_action.judging.assertions.evidence import name_evidence, text_evidence

        paths = _candidates(context.files, self.path, glob=self.glob)
        if missing := _why_missing(context.files, self.path, paths):
            return _failed(self, missing, name_evidence(context.files, self.path))
        found: list[tuple[str, str | None]] = [
            (path, context.files.text(path, MAX_SEARCHED_FILE_BYTES)) for path in paths
        ]
        for path, content in found:
            if content is not None and (at := content.find(self.text)) >= 0:
                return _passed(self, f"{path} contains it in line {_line(content, at)}")
        path, content = found[0]
        if content is None:
            return _failed(self, _unreadable(path))
        explanation = f"{_shown(paths)} {'do' if len(paths) > 1 else 'does'} not contain {self.text!r}"
        if (at := content.lower().find(self.text.lower())) >= 0:
            explanation += f"; line {_line(content.lower(), at)} of {path} differs in upper and lower case only"
        path, content = _agents_choice(context.files, found)
        return _failed(self, explanation, evidence=text_evidence(context.files, path, content, self.text))


@record
class FileMatches:
    """A regular expression is found in the text of a file; CRLF is LF. ``key_path``: where the suite has it."""

    name: str
    path: str
    pattern: regex.Pattern[str]
    glob: bool = False
    fail_fast: bool = False
    key_path: str = ""

    type: ClassVar[str] = "file-matches"
    diagnostic: ClassVar[bool] = True

    def judge(self, context: AssertionContext) -> tuple[Outcome, ...]:
        """Failed also for a file that is missing or too large; not judged if the search takes too long."""
        from skillgym_action.judging.assertions.evidence import name_evidence, text_evidence

        paths = _candidates(context.files, self.path, glob=self.glob)
        if missing := _why_missing(context.files, self.path, paths):
            return _failed(self, missing, name_evidence(context.files, self.path))
        found: list[tuple[str, str | None]] = []
        for path in paths:
            if (content := context.files.text(path, MAX_SEARCHED_FILE_BYTES)) is None:
                return _failed(self, _unreadable(path))
            try:
                match = context.search(self.pattern, content)
            except SearchError as error:
                why = f"{self.key_path or self.name}: the pattern {error}, last in {path}"
                return (Outcome(assertion=self.name, type=self.type, passed=None, explanation=why, trouble="grader"),)
            if match:
                return _passed(self, f"{path} matches in line {_line(content, match.start())}")
            found = [*found[:_SHOWN_FILES], (path, content)]
        from skillgym_action.text.likeness import literal_part

        path, content = _agents_choice(context.files, found)
        evidence = text_evidence(context.files, path, content, literal_part(self.pattern.pattern))
        return _failed(self, f"no match in {_shown(paths)}", evidence=evidence)


@record
class FileChanged:
    """A file's content, or that of any file below a directory, is not what it was; created counts, deleted does not."""

    name: str
    path: str
    glob: bool = False
    fail_fast: bool = False

    type: ClassVar[str] = "file-changed"
    diagnostic: ClassVar[bool] = True

    def judge(self, context: AssertionContext) -> tuple[Outcome, ...]:
        """Permissions and times do not count."""
        files = context.files
        paths = files.glob(self.path) if self.glob else (self.path.rstrip("/"),)
        for path in paths:
            if files.changed(path) and files.kind(path) in {"file", "directory"}:
                return _passed(self, f"{path} was {'modified' if path == '.' or files.existed(path) else 'created'}")
        if self.glob:
            why = f"no file that matches {self.path} was changed ({len(paths)} match)"
            return _failed(self, why, _changed_names(files, self.path))
        return _failed(self, f"{self.path} {_why_unchanged(files, paths[0])}", _changed_names(files, self.path))


@record
class FileAbsent:
    """Nothing is at the path; a file may be, if the path ends in ``/``."""

    name: str
    path: str
    glob: bool = False
    fail_fast: bool = False

    type: ClassVar[str] = "file-absent"
    diagnostic: ClassVar[bool] = True

    def judge(self, context: AssertionContext) -> tuple[Outcome, ...]:
        """Passed also if it was never there; unless the prompt names it, the outcome is then marked as vacuous."""
        if self.glob:
            if paths := context.files.glob(self.path):
                return _failed(self, f"still there: {_shown(paths)}", _origins(context.files, paths))
            existed = context.files.matched_before(self.path)
            return self._absent(context, f"no file matches {self.path}", existed=existed)
        path = self.path.rstrip("/")
        kind = context.files.kind(path)
        if kind is not None and not (kind == "file" and path != self.path):
            what = {"symlink": "symbolic link", "outside": "symbolic link", "other": "special file"}.get(kind, kind)
            return _failed(self, f"{self.path} is still there: a {what}", _origins(context.files, (path,)))
        if context.files.existed(path):
            return _passed(self, f"{self.path} was deleted")
        return self._absent(context, f"{self.path} does not exist", existed=False)

    def _absent(self, context: AssertionContext, explanation: str, *, existed: bool) -> tuple[Outcome, ...]:
        if existed or (context.report and self.is_named_in(context.report.prompt)):
            return _passed(self, explanation)
        warning = "vacuous: it was not there before the agent started either, so this measures nothing"
        passed = _passed(self, f"{explanation} ({warning})")
        return tuple(replace(outcome, vacuous=True) for outcome in passed)

    def is_named_in(self, prompt: str) -> bool:
        """Whether the prompt names the path or its last part: then an agent may have had a reason to make it."""
        last = self.path.rstrip("/").rpartition("/")[2].strip("*")
        return self.path.rstrip("/") in prompt or (len(last) >= _SHORTEST_NAME and last in prompt)


def vacuous_problem(case_id: str, assertion: str, location: Location | None) -> Problem:
    """The warning about an assertion of a case that passes whatever an agent does."""
    return Problem(
        message=f"{case_id}: {assertion} is vacuous: it was not there before the agent starts, and the prompt does "
        "not name it",
        location=location,
        remedy="name a file that the agent has to delete or must not create, or remove the expectation",
    )


def _passed(assertion: Assertion, explanation: str) -> tuple[Outcome, ...]:
    return (Outcome(assertion=assertion.name, type=assertion.type, passed=True, explanation=explanation),)


def _failed(assertion: Assertion, explanation: str, evidence: str | None = None) -> tuple[Outcome, ...]:
    outcome = Outcome(
        assertion=assertion.name, type=assertion.type, passed=False, explanation=explanation, evidence=evidence
    )
    return (outcome,)


def _candidates(files: Files, path: str, *, glob: bool) -> tuple[str, ...]:
    return files.glob(path) if glob else (path,)


def _why_missing(files: Files, wanted: str, paths: tuple[str, ...]) -> str | None:
    """What is there instead of the wanted file, or None if it is there. Files that a pattern found are there."""
    if paths != (wanted,):
        return None if paths else f"no file matches {wanted}"
    kind = files.kind(wanted.rstrip("/"))
    if kind == ("directory" if wanted.endswith("/") else "file"):
        return None
    if kind is None:
        return f"{wanted} does not exist{_nearest(files, wanted.rstrip('/'))}"
    remedy = f"; write {wanted}/ to ask for a directory" if kind == "directory" else ""
    return f"{wanted} {_INSTEAD[kind]}{remedy}"


def _nearest(files: Files, path: str) -> str:
    if files.existed(path):
        return "; it was deleted"
    folder = path.rpartition("/")[0]
    while folder and files.kind(folder) != "directory":
        folder = folder.rpartition("/")[0]
    return f"; the nearest directory that does is {folder}/" if folder else ""


def _is_new(files: Files, path: str) -> bool:
    plain = path.rstrip("/")
    return not files.existed(plain) or files.changed(plain)


def _why_unchanged(files: Files, path: str) -> str:
    kind, existed = files.kind(path), files.existed(path)
    if kind is None:
        missing = "was deleted, which does not count as a change: use no-file:"
        return missing if existed else "does not exist, and did not before the agent started"
    if kind in {"file", "directory"}:
        return "has not changed since the agent started" if existed or kind == "file" else "is new, but has no files"
    return _INSTEAD[kind]


def _unreadable(path: str) -> str:
    return f"{path} is too large to be searched (more than {MAX_SEARCHED_FILE_BYTES // 1024**2} MiB), or cannot be read"


def _line(content: str, at: int) -> int:
    return content.count("\n", 0, at) + 1


def _agents_choice(files: Files, found: list[tuple[str, str | None]]) -> tuple[str, str]:
    """The first file that the agent changed; the first one if it changed none."""
    texts = [(path, content) for path, content in found if content is not None]
    return next((each for each in texts[:_SHOWN_FILES] if files.changed(each[0])), texts[0])


def _changed_names(files: Files, wanted: str) -> str | None:
    """The files that the agent did change, those most like the wanted one first."""
    from skillgym_action.judging.assertions.evidence import listed_names, nearest_names

    changed = files.changed_names()
    return f"changed by the agent: {listed_names(nearest_names(wanted, changed), len(changed))}" if changed else None


def _origins(files: Files, paths: tuple[str, ...]) -> str:
    """For what should not be there: whether the agent made it, and what is in a directory."""
    from skillgym_action.judging.assertions.evidence import listed_names

    lines = []
    for path in paths[:_SHOWN_FILES]:
        known = "was there before the agent started" if files.existed(path) else "was created by the agent"
        lines.append(f"{path} {known}" + (", which changed it" if files.existed(path) and files.changed(path) else ""))
        below = [name for name in files.names() if name.startswith(f"{path}/")]
        lines += [f"in it: {listed_names(below, len(below))}"] if below else []
    return "\n".join(lines)


def _shown(paths: tuple[str, ...]) -> str:
    more = len(paths) - _SHOWN_FILES
    return ", ".join(paths[:_SHOWN_FILES]) + (f" and {more} more" if more > 0 else "")
