"""A promoted case with all of its files, made clean; nothing is written here."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from skillgym_action.limits import MAX_NAMED_PATHS, MAX_PROMOTED_PROMPT_CHARACTERS
from skillgym_action.model.errors import UsageError
from skillgym_action.model.json_codec import to_json
from skillgym_action.promotion.clean_texts import HOME, CleanTexts
from skillgym_action.promotion.drafts import drafted_expectations
from skillgym_action.promotion.file_trees import PromotedFile
from skillgym_action.promotion.suite_text import case_section
from skillgym_action.text.escaping import path_key, visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from skillgym_action.promotion.file_trees import FileTree
    from skillgym_action.promotion.session_facts import SessionFacts
    from skillgym_action.text.redaction import Redactor

_WORD = re.compile(r"[a-z0-9]+")
_ID_WORDS, _ID_CHARACTERS = 5, 40
_CHANGES = "changes"


@dataclass(frozen=True, kw_only=True, slots=True)
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
    """The case of a session. ``home``: the user's; ``wanted``: expectations of the user. Raises UsageError."""
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
    prompt = visible(clean.text(facts.prompt, "the prompt", ""))[:MAX_PROMOTED_PROMPT_CHARACTERS]
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


def recording_path(suite_name: str, case_id: str, runner: str) -> str:
    """Where the agent `replay` looks for the session, below the folder of recordings."""
    return "/".join((path_key(suite_name), path_key(case_id), path_key(runner), "repeat-1"))


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
