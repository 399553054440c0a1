"""Which skills a session used, with which confidence, and the evidence.

explicit: a skill tool named it; strong: its SKILL.md was read, or the assistant wrote that it uses it;
medium: another file of its folder was read; weak: it is only mentioned.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from skillgym_action.model.limits import MAX_SKILL_EVIDENCE
from skillgym_action.model.session_report import Message, SkillDetection, SkillSignal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from skillgym_action.model.session_report import Event

Confidence = Literal["explicit", "strong", "medium", "weak"]
STRONGEST_FIRST: tuple[Confidence, ...] = ("explicit", "strong", "medium", "weak")
SKILL_FILE = "SKILL.md"
IN_SKILL_FOLDER = re.compile(r"(?:^|/)\.[^/]+/(?:[^/]+/)*skills/(?P<skill>[^/]+)/[^/]")
USING = r"(?<!not )(?<!without )\b(?:using|I['\u2019]ll use|I will use|let me use|I used|loading|following|applying)"


def skill_of(path: str) -> str | None:
    """Return the skill a file belongs to: the folder of SKILL.md, or NAME in ``.agent/skills/NAME/…``; else None."""
    folder, _, name = path.rpartition("/")
    if name == SKILL_FILE and folder.rpartition("/")[2]:
        return folder.rpartition("/")[2]
    found = IN_SKILL_FOLDER.search(path)
    return found["skill"] if found else None


def detected_skills(
    events: Iterable[Event], reads: Mapping[str, str], available: Iterable[str]
) -> tuple[SkillDetection, ...]:
    """Return a detection for each skill with evidence.

    ``reads``: path relative to the workspace -> how it was read; ``available``: skills that the agent listed.
    """
    events = tuple(events)
    signs = [*_explicit(events), *_from_files(reads)]
    names = sorted({*available, *(skill for skill, _, _ in signs)})
    signs += _from_messages(events, names)
    return tuple(_detection(skill, signs) for skill in dict.fromkeys(skill for skill, _, _ in signs))


Sign = tuple[str, Confidence, str]


def _detection(skill: str, signs: Iterable[Sign]) -> SkillDetection:
    own = [(confidence, evidence) for name, confidence, evidence in signs if name == skill]
    strongest = min((confidence for confidence, _ in own), key=STRONGEST_FIRST.index)
    evidence = tuple(dict.fromkeys(evidence for _, evidence in own))[:MAX_SKILL_EVIDENCE]
    return SkillDetection(skill=skill, confidence=strongest, evidence=evidence)


def _explicit(events: Iterable[Event]) -> Iterator[Sign]:
    for event in events:
        if isinstance(event, SkillSignal):
            yield event.skill, "explicit", f"loaded: {event.signal}"


def _from_files(reads: Mapping[str, str]) -> Iterator[Sign]:
    for path, how in reads.items():
        if skill := skill_of(path):
            yield skill, "strong" if path.endswith(f"/{SKILL_FILE}") else "medium", how


def _from_messages(events: Iterable[Event], names: Iterable[str]) -> Iterator[Sign]:
    messages = [event for event in events if isinstance(event, Message) and event.role == "assistant"]
    for name in names:
        quoted = rf"[`'\"*]*{re.escape(name)}[`'\"*]*"
        named = rf"(?<![\w-])(?:{quoted}\s+skill\b|skill:?\s+{quoted}(?![\w-]))"
        using = re.compile(rf"{USING}\s+(?:the\s+|my\s+)?{named}", re.IGNORECASE)
        mention = re.compile(named, re.IGNORECASE)
        for message in messages:
            if message.phase != "thinking" and (found := using.search(message.text)):
                yield name, "strong", f"said: {found[0]}"
            elif found := mention.search(message.text):
                yield name, "weak", f"mentioned: {found[0]}"
