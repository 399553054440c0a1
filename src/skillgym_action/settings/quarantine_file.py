"""Reads ``skillgym.quarantine.yaml``, which lies beside the configuration file.

A mistake in it is a warning and never an error: an entry that cannot be used quarantines nothing, so that a run with
mistakes in the file is red sooner than without them.
"""

from __future__ import annotations

import os
import re
from datetime import date
from typing import TYPE_CHECKING, Annotated

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from skillgym_action.documents.documents import checked, read_document
from skillgym_action.documents.json_schemas import FREE_KEYS, matching
from skillgym_action.documents.located_values import key_path_text
from skillgym_action.documents.user_files import read_text
from skillgym_action.filesystem.globs import matches_nothing
from skillgym_action.limits import (
    MAX_CONFIGURATION_BYTES,
    MAX_PATTERN_CHARACTERS,
    MAX_QUARANTINE_ENTRIES,
    MAX_QUARANTINE_TEXT_CHARACTERS,
)
from skillgym_action.model.errors import ConfigError, Problem
from skillgym_action.model.json_codec import camel_case
from skillgym_action.model.quarantine import QuarantineEntry, QuarantineFile

if TYPE_CHECKING:
    from pathlib import Path

    from skillgym_action.documents.documents import Document
    from skillgym_action.documents.located_values import KeyPath
    from skillgym_action.settings.configuration_file import Config
    from skillgym_action.settings.context import LaunchContext

QUARANTINE = "skillgym.quarantine.yaml"
MISNAMED_QUARANTINE = tuple(f"skillgym.quarantine.{ending}" for ending in ("yml", "json", "jsonc", "toml"))
"""Names that users probably mean as ``QUARANTINE``; files called like that are not read."""
# Nothing that would have to be escaped in Markdown, HTML or a terminal.
_ADDRESS = re.compile(r"https?://[A-Za-z0-9.-]+(?::[0-9]{1,5})?(?:/[A-Za-z0-9._~/#?&=%+-]*)?")
_ADDRESS_TEXT = matching(f"^{_ADDRESS.pattern}$") | {"maxLength": MAX_QUARANTINE_TEXT_CHARACTERS}
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
WRITTEN_AS = "write `quarantine:` and below it a list of entries with case, reason, owner and expires"


def _pattern(text: str) -> str:
    if matches_nothing(text):
        raise ValueError("is not a pattern that can match anything")
    return text


def _address(text: str) -> str:
    if not _ADDRESS.fullmatch(text):
        raise ValueError("must be an address that begins with https:// or http://")
    return text


def _day(value: object) -> object:
    """Not the seconds since 1970, or days without hyphens, that pydantic takes for a date, too."""
    if isinstance(value, date) or (isinstance(value, str) and _DAY.fullmatch(value)):
        return value
    raise ValueError("must be a day such as 2026-12-01")


Pattern = Annotated[
    str,
    Field(min_length=1),
    AfterValidator(_pattern),
    WithJsonSchema(matching("[^/.]") | {"maxLength": MAX_PATTERN_CHARACTERS}),
]
Sentence = Annotated[str, Field(min_length=1, max_length=MAX_QUARANTINE_TEXT_CHARACTERS)]


class EntrySection(BaseModel):
    """An entry: which executions, why, whose task it is to repair them, and until when."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        alias_generator=camel_case,
        defer_build=True,
        json_schema_extra=FREE_KEYS,
    )

    case: Pattern
    suite: Pattern | None = None
    runner: Pattern | None = None
    reason: Sentence
    owner: Sentence
    issue: Annotated[Sentence, AfterValidator(_address), WithJsonSchema(_ADDRESS_TEXT)] | None = None
    expires: Annotated[date, BeforeValidator(_day), WithJsonSchema(matching(f"^{_DAY.pattern}$") | {"format": "date"})]


class QuarantineSections(BaseModel):
    """The file as its JSON Schema describes it."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True, json_schema_extra=FREE_KEYS)

    quarantine: Annotated[tuple[EntrySection, ...], Field(max_length=MAX_QUARANTINE_ENTRIES)]


def quarantine_path(config: Config, context: LaunchContext) -> Path:
    """The quarantine file, which may not exist: beside the configuration file, or in the folder that it would be in."""
    return (config.folder or context.suite_source.cwd) / QUARANTINE


def read_quarantine(config: Config, context: LaunchContext) -> QuarantineFile:
    """The content of the quarantine file; empty without one."""
    source, file = context.suite_source, quarantine_path(config, context)
    if not os.path.lexists(file):
        return QuarantineFile()
    shown = _shown(file, context)
    opener = source.checkout.opener(file)
    try:
        text = read_text(file, path=shown, error=ConfigError, largest=MAX_CONFIGURATION_BYTES, opener=opener)
        document = read_document(text, path=shown, kind="yaml", error=ConfigError)
    except ConfigError as error:
        return QuarantineFile(problems=error.problems)
    return entries_of(document)


def entries_of(document: Document) -> QuarantineFile:
    """The entries of a quarantine file, each validated by itself."""
    value = document.value
    rows = value.get("quarantine") if isinstance(value, dict) else None
    if not isinstance(value, dict) or not isinstance(rows, list):
        return QuarantineFile(
            problems=(Problem(message="has no list of entries", location=document.locate(), remedy=WRITTEN_AS),)
        )
    problems = [
        Problem(message=f"unknown key {key!r}", location=document.locate((key,)), remedy=WRITTEN_AS)
        for key in value
        if key not in {"quarantine", "$schema"} and not str(key).startswith("x-")
    ]
    if len(rows) > MAX_QUARANTINE_ENTRIES:
        message = f"more than {MAX_QUARANTINE_ENTRIES} entries: none is used"
        listed = document.locate(("quarantine",))
        return QuarantineFile(problems=(*problems, Problem(message=message, location=listed, remedy="remove old ones")))
    entries = []
    for number in range(len(rows)):
        at: KeyPath = ("quarantine", number)
        section, misfits = checked(document, EntrySection, at=at, extensions=True)
        if section is None:
            problems += [problem for _, problem in misfits]
            continue
        entries.append(
            QuarantineEntry(**dict(section), location=document.locate(at), key_path=key_path_text(at)),
        )
    return QuarantineFile(entries=tuple(entries), problems=tuple(problems))


def _shown(file: Path, context: LaunchContext) -> str:
    """The path in messages: relative to the checkout in a job, where annotations need that; else as users see it."""
    source = context.suite_source
    if context.in_job and not source.is_separate and file.is_relative_to(source.root):
        return file.relative_to(source.root).as_posix()
    return os.path.relpath(file, source.cwd)
