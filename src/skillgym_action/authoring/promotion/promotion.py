"""A promoted case with its files and drafted expectations, made clean; nothing is written here."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import field, replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, cast

from skillgym_action.authoring.promotion.files import PromotedFile
from skillgym_action.authoring.promotion.suite_files import case_section
from skillgym_action.model.errors import UsageError
from skillgym_action.model.json_codec import to_json
from skillgym_action.model.limits import MAX_NAMED_PATHS
from skillgym_action.model.records import record
from skillgym_action.model.session_report import Command
from skillgym_action.results.run_directory import suite_folders
from skillgym_action.suites.xbench.expectations import GrammarError, parse_text
from skillgym_action.text.escaping import folder_names, path_key, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from skillgym_action.authoring.promotion.files import FileTree
    from skillgym_action.authoring.promotion.session_facts import SessionFacts
    from skillgym_action.model.session_report import Event
    from skillgym_action.text.redaction import Leak, Redactor

MAX_DRAFTED_FILES = 5  # expectations about files that are drafted for a case
MAX_DRAFTED_COMMANDS = 3  # the same about commands
MAX_DRAFTED_COMMAND_CHARACTERS = 120  # a longer command is not taken for a plain call of a test runner
_WORD = re.compile(r"[a-z0-9]+")
_ID_WORDS, _ID_CHARACTERS = 5, 40
_CHANGES = "changes"


@record
class Promotion:
    """``section``: the case as the suite file has it; ``kept`` and ``drafted``: its expectations.

    ``template`` and ``recording``: files by their paths in these folders. ``notes``: what people have to know.
    """

    section: Mapping[str, object]
    kept: tuple[object, ...]
    drafted: tuple[str, ...]
    template: FileTree
    recording: FileTree
    runner: str
    notes: tuple[str, ...]

    @property
    def case_id(self) -> str:
        return str(self.section["id"])


def promoted(facts: SessionFacts, redactor: Redactor, home: str, *, case_id: str, wanted: tuple[str, ...]) -> Promotion:
    """The case of a session. ``home``: the user's; ``wanted``: expectations of the user. Raises UsageError.

    Nothing is written here.
    """
    clean = CleanTexts(redactor=redactor, folder=facts.report.cwd, home=home)
    kept = (*(facts.case.expect if facts.case else ()), *wanted)
    drafted = tuple(
        text for text in drafted_expectations(facts, kept) if clean.text(text, "the drafted expectations") == text
    )
    if not kept and not drafted:
        raise UsageError(
            "no expectation could be drafted: the session changed no file that is in the recording, and ran no tests",
            remedy="state with --expect what it should have done, such as --expect 'file:src/tax.js exists'",
        )
    prompt = visible(clean.text(facts.prompt, "the prompt", ""))
    if not prompt.strip():
        raise UsageError("the prompt of the session has no text", remedy="promote another session")
    turns = [visible(clean.text(turn, "the prompt", "")) for turn in facts.turns]
    origin = {
        "from": clean.text(facts.origin, "the origin"),
        **({"model": facts.report.model} if facts.report.model else {}),
        **({"commit": facts.commit} if facts.commit else {}),
        **({"status": facts.status} if facts.status else {}),
        **({"furtherMessages": turns} if turns else {}),
    }
    section = case_section(
        case_id,
        prompt,
        kept=kept,
        drafted=drafted,
        settings=facts.case.settings if facts.case else {},
        origin=cast("dict[str, object]", clean.value(origin, "the origin")),
    )
    template = clean.tree(facts.template, "template", paths=False)
    recording = _recording(facts, clean, prompt)
    left_out = sorted(facts.template.keys() - template.keys())
    notes = [clean.text(note, "a note") for note in (*facts.notes, *_about_case(facts, turns))]
    if left_out:
        files = "1 file" if len(left_out) == 1 else f"{len(left_out)} files"
        notes.append(f"left out of the template, since a secret is in the name: {files}")
    if any(f"{_CHANGES}/{path}" not in recording for path in facts.changed):
        notes.append("a changed file has a secret in its name and is left out: the recording cannot be played")
    return Promotion(
        section=section,
        kept=kept,
        drafted=drafted,
        template=template,
        recording=recording,
        runner=path_key(facts.report.runner.path_key),
        notes=(*notes, *_about_cleaning(clean)),
    )


def id_of(facts: SessionFacts, redactor: Redactor) -> str:
    """An id for the case: that of the original, else the first words of the prompt."""
    if facts.case:
        return facts.case.id
    words = _WORD.findall(redactor.text(facts.prompt).lower())[:_ID_WORDS]
    return "-".join(words)[:_ID_CHARACTERS].strip("-") or "promoted"


def recording_path(suite_name: str, case_id: str, runner: str, others: Iterable[str] = ()) -> str:
    """Where the agent `replay` looks for the session, below the folder of recordings. ``others``: ids of the suite."""
    suite, case = suite_folders([suite_name])[suite_name], folder_names([*others, case_id])[case_id]
    return "/".join((suite, case, path_key(runner), "repeat-1"))


def _recording(facts: SessionFacts, clean: CleanTexts, prompt: str) -> FileTree:
    """The session as `replay` plays it: its report, the list of its changes, and the changed files.

    It gets the prompt of the case, which is that of the session made clean: `replay` plays no session of another one.
    """
    report = cast("dict[str, object]", clean.value(to_json(facts.report), "the recorded session"))
    report["cwd"], report["prompt"] = "/workspace", prompt
    report.pop("rawArtifacts", None)
    changed = clean.tree(facts.changed, _CHANGES, paths=True)
    summary = {
        "path": "workspace",
        "created": sorted(path for path in changed if path not in facts.template),
        "modified": sorted(path for path in changed if path in facts.template),
        "deleted": list(facts.deleted),
        "complete": len(changed) == len(facts.changed),
    }
    files = {
        "report.json": PromotedFile(content=f"{json.dumps(report, indent=1)}\n".encode()),
        "workspace.json": PromotedFile(content=f"{json.dumps(summary)}\n".encode()),
    }
    return {**files, **{f"{_CHANGES}/{path}": file for path, file in changed.items()}}


def _about_case(facts: SessionFacts, turns: list[str]) -> Iterator[str]:
    if turns:
        words = "1 further message" if len(turns) == 1 else f"{len(turns)} further messages"
        yield (
            f"the user sent {words}; an x-bench case has one prompt: put what matters of furtherMessages into it, "
            "though the recorded session heard them one after the other"
        )
    if facts.status == "expected-failed":
        yield "the original case is expected to fail; the new one is not"
    if skills := [found.skill for found in facts.report.detected_skills]:
        yield f"the session used {', '.join(skills[:MAX_NAMED_PATHS])}; x-bench has no expectation about skills"


def _about_cleaning(clean: CleanTexts) -> Iterator[str]:
    for where, leaks in sorted(clean.keys.items())[:MAX_NAMED_PATHS]:
        kinds = ", ".join(sorted({leak.kind for leak in leaks})) or "secret"
        yield f"what looks like a key ({kinds}) was replaced by *** in {where}"
    if (more := len(clean.keys) - MAX_NAMED_PATHS) > 0:
        yield f"keys were replaced in {more} more places"
    if clean.private:
        words = "1 path of a home folder was" if clean.private == 1 else f"{clean.private} paths of home folders were"
        yield f"{words} replaced by {HOME}"


HOME = "/home/user"
"""Takes the place of all home folders."""

_HOMES = re.compile(r"(?:/home|/Users)/(?!user(?![\w.-]))[\w.-]+|/root(?![\w.-])|[A-Za-z]:\\{1,2}Users\\{1,2}[\w.-]+")


@record(frozen=False)
class CleanTexts:
    """Takes out what must not be committed. ``folder``: where the session worked; ``home``: the user's, "" for none.

    ``keys``: what was taken out, by where it was; ``private``: how many paths of home folders were replaced.
    """

    redactor: Redactor
    folder: str = ""
    home: str = ""
    keys: dict[str, set[Leak]] = field(default_factory=dict)
    private: int = 0

    def text(self, text: str, where: str, workspace: str = "/workspace") -> str:
        """The text; the session's folder becomes ``workspace``, which is "" in prompts: paths become relative."""
        text = self._redacted(text, where)  # before paths are replaced: a key with one in it would no longer be one
        if len(self.folder) > 1 and self.folder in text:
            text = _moved(text, self.folder, workspace)
        if len(self.home) > 1:
            text = self._without_home(text)
        text, homes = _HOMES.subn(HOME, text)
        self.private += homes
        return text

    def _without_home(self, text: str) -> str:
        text, homes = re.subn(rf"{re.escape(self.home)}(?![\w.-])", HOME, text)
        self.private += homes if self.home != HOME else 0
        return text

    def value(self, value: object, where: str) -> object:
        """A JSON value with all of its texts, also keys, made clean."""
        if isinstance(value, str):
            return self.text(value, where)
        if isinstance(value, list):
            return [self.value(item, where) for item in value]
        if isinstance(value, dict):
            return {self.text(key, where): self.value(item, where) for key, item in value.items()}
        return value

    def tree(self, tree: FileTree, where: str, *, paths: bool) -> FileTree:
        """Files without secrets, those with one in their name left out; with ``paths`` also without private paths."""
        clean: FileTree = {}
        for path, file in tree.items():
            if self._redacted(path, where) != path or (file.link and self._redacted(file.link, where) != file.link):
                continue
            clean[path] = self._file(file, f"{where}/{path}", paths=paths)
        return clean

    def _file(self, file: PromotedFile, where: str, *, paths: bool) -> PromotedFile:
        if b"\0" in file.content[:8192]:  # bytes of a program or a picture; only whole keys are looked for
            text = file.content.decode("utf-8", "surrogateescape")
            return replace(file, content=self._redacted(text, where).encode("utf-8", "surrogateescape"))
        text = file.content.decode("utf-8", "surrogateescape")
        clean = self.text(text, where, self.folder) if paths else self._redacted(text, where)
        return file if clean == text else replace(file, content=clean.encode("utf-8", "surrogateescape"))

    def _redacted(self, text: str, where: str) -> str:
        found: set[Leak] = set()
        clean = self.redactor.text(text, found)
        if clean != text:
            self.keys.setdefault(where, set()).update(found)
        return clean


def _moved(text: str, folder: str, workspace: str) -> str:
    """The text with a folder renamed; without a name for it, what is in it has a relative path."""
    start = re.escape(folder)
    if workspace:
        return re.sub(rf"{start}(?![\w-])", lambda _: workspace, text)
    text = re.sub(rf"{start}/(?=\.?[\w@-])", "", text)
    return re.sub(rf"{start}(?!\.?[\w-])/?", "./", text)


# Made by programs, or rewritten by each change: an expectation about them says nothing about the task.
_MADE_FOLDERS = frozenset({"node_modules", "dist", "build", "target", "coverage", "__pycache__", ".venv", ".cache"})
_MADE_FILES = re.compile(r".*(?:\.lock|\.log|\.pyc|\.tmp|\.map|-lock\.(?:json|yaml)|\.min\.\w+)|go\.sum|\.DS_Store")

# The beginnings of commands that run tests; nothing else of a session is ever run for a draft.
_TEST_COMMANDS = (
    ("npm", "test"), ("npm", "run", "test"), ("pnpm", "test"), ("yarn", "test"), ("bun", "test"), ("deno", "test"),
    ("node", "--test"), ("npx", "vitest"), ("npx", "jest"), ("pytest",), ("python", "-m", "pytest"),
    ("python3", "-m", "pytest"), ("python", "-m", "unittest"), ("python3", "-m", "unittest"), ("uv", "run", "pytest"),
    ("cargo", "test"), ("go", "test"), ("make", "test"), ("make", "check"), ("mvn", "test"), ("gradle", "test"),
    ("./gradlew", "test"), ("bundle", "exec", "rspec"), ("rake", "test"), ("dotnet", "test"), ("mix", "test"),
    ("swift", "test"), ("phpunit",), ("vendor/bin/phpunit",), ("ctest",),
)  # fmt: skip

# No character that a shell gives a meaning: the command is one program with plain words.
_PLAIN_WORD = re.compile(r"[A-Za-z0-9_./:=@%+,-]+")
_CD = re.compile(r"cd [^\s;&|]+ && ")


def drafted_expectations(facts: SessionFacts, known: Iterable[object]) -> list[str]:
    """The expectations, as x-bench writes them, without those in ``known`` and about files that ``known`` names.

    They are few, short, and about what is likely to stay. They are proposals: a session that failed did something
    wrong, and only people know what it should have done.
    """
    texts = [str(one) for one in known]
    drafts = [
        text
        for text, path in _about_files(facts)
        if not any(path in other for other in texts) and text not in texts and _is_valid(text)
    ][:MAX_DRAFTED_FILES]
    commands = (f"test:{command} passes" for command in plain_test_commands(facts.report.events))
    drafts += [text for text in commands if not any(text.removesuffix(" passes") in other for other in texts)]
    return drafts


def _about_files(facts: SessionFacts) -> Iterator[tuple[str, str]]:
    for path in sorted(facts.changed):
        if not _is_made(path):
            yield (f"diff:{_quoted(path)}" if path in facts.template else f"file:{_quoted(path)} exists"), path
    for path in facts.deleted:
        if not _is_made(path) and path in facts.template:
            yield f"no-file:{_quoted(path)}", path


def _is_made(path: str) -> bool:
    parts = PurePosixPath(path).parts
    return not _MADE_FOLDERS.isdisjoint(parts[:-1]) or bool(_MADE_FILES.fullmatch(parts[-1]))


def _quoted(path: str) -> str:
    """The path, in quotes if it has a space, after which a rule could begin."""
    return path if " " not in path else f'"{path}"' if "'" in path else f"'{path}'"


def _is_valid(text: str) -> bool:
    """Whether x-bench reads the text as it was meant; not so with some characters in file names."""
    try:
        return text.isprintable() and parse_text(text).warning is None
    except GrammarError:
        return False


def plain_test_commands(events: Iterable[Event]) -> list[str]:
    """The calls of test runners in a session, each once, in the order of their last calls; the last few."""
    found: dict[str, None] = {}
    for event in events:
        if isinstance(event, Command) and (command := plain_test_command(event.command)):
            found.pop(command, None)
            found[command] = None
    return list(found)[-MAX_DRAFTED_COMMANDS:]


def plain_test_command(command: str) -> str | None:
    """The command, if it only calls a test runner; without a ``cd`` before it. None for any other command."""
    text = _CD.sub("", command.strip(), count=1)
    if len(text) > MAX_DRAFTED_COMMAND_CHARACTERS or "\n" in text:
        return None
    try:
        words = shlex.split(text)
    except ValueError:
        return None
    is_test = any(tuple(words[: len(start)]) == start for start in _TEST_COMMANDS)
    is_plain = all(_PLAIN_WORD.fullmatch(word) and ".." not in word for word in words)
    absolute = any(word.startswith("/") or "=/" in word for word in words)
    return shlex.join(words) if is_test and is_plain and not absolute else None
