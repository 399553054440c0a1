"""The section ``report`` of a configuration that is wrong elsewhere: where a run that ended early is reported."""

from __future__ import annotations

import re
from dataclasses import field
from typing import TYPE_CHECKING

from pydantic import ValidationError

from skillgym_action.model.errors import ConfigError, SkillgymError
from skillgym_action.model.limits import MAX_CONFIGURATION_BYTES
from skillgym_action.model.records import record
from skillgym_action.settings.configuration import ReportSection
from skillgym_action.settings.configuration_file import KINDS, configuration_path
from skillgym_action.text.documents.documents import read_document
from skillgym_action.text.documents.user_files import read_text

if TYPE_CHECKING:
    from skillgym_action.settings.context import LaunchContext
    from skillgym_action.settings.settings import Settings

_COMMENT_ID = re.compile(r"comment_?id", re.IGNORECASE)
_SECTION = re.compile(r"report|comment", re.IGNORECASE)


@record
class KnownReportSection:
    """The known part of the section.

    ``complete``: it is all of it; ``has_comment_id``: the comment id is known, or that there is none.
    """

    section: ReportSection = field(default_factory=ReportSection)
    complete: bool = True
    has_comment_id: bool = True


UNKNOWN = KnownReportSection(complete=False, has_comment_id=False)


def known_report_section(settings: Settings, context: LaunchContext) -> KnownReportSection:
    """What can be known of the section without running a program or raising an error."""
    try:
        path = configuration_path(settings, context)
        if path is None:
            return KnownReportSection()
        opener = context.suite_source.checkout.opener(path)
        text = read_text(path, path=path.name, error=ConfigError, largest=MAX_CONFIGURATION_BYTES, opener=opener)
    except (SkillgymError, OSError):
        return UNKNOWN
    kind = KINDS.get(path.suffix.lower())
    try:
        value = read_document(text, path=path.name, kind=kind, error=ConfigError).value if kind else None
    except ConfigError:
        kind = None
    if kind is None:  # a program, or text that cannot be parsed: what it does not mention, it does not set
        return KnownReportSection(complete=not _SECTION.search(text), has_comment_id=not _COMMENT_ID.search(text))
    return _section_of(value)


def _section_of(document: object) -> KnownReportSection:
    """The keys of the section that are valid."""
    found = document.get("report") if isinstance(document, dict) else None
    if found is None:
        return KnownReportSection()
    if not isinstance(found, dict):
        return UNKNOWN
    valid = {key: value for key, value in found.items() if _is_valid(key, value)}
    wrong = found.keys() - valid.keys()
    return KnownReportSection(
        section=ReportSection.model_validate(valid),
        complete=not wrong,
        has_comment_id=not any(_COMMENT_ID.search(str(key)) for key in wrong),
    )


def _is_valid(key: object, value: object) -> bool:
    try:
        ReportSection.model_validate({key: value})
    except ValidationError:
        return False
    return True
