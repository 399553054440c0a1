"""The text of an x-bench suite with a promoted case: a new file, or a case added to a file that is there."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from skillgym_action.documents.documents import read_document
from skillgym_action.model.errors import Problem, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

DRAFT = "x-drafted"
ORIGIN = "x-promoted"
_INDENT = re.compile(r"\n([ \t]+)[\"}]")


def case_section(
    case_id: str,
    prompt: str,
    *,
    kept: Sequence[object],
    drafted: Sequence[str],
    settings: Mapping[str, object],
    origin: Mapping[str, object],
) -> dict[str, object]:
    """A case as the file has it. ``x-drafted`` lists the expectations that a person still has to look at."""
    section: dict[str, object] = {"id": case_id, "prompt": prompt, **settings, "expect": [*kept, *drafted]}
    section[ORIGIN] = dict(origin)
    if drafted:
        section[DRAFT] = list(drafted)
    return section


def new_suite(name: str, case: Mapping[str, object], template: str | None, bootstrap: object = None) -> str:
    """The text of a suite with one case. ``template``: the folder, relative to the file."""
    workspace = {**({"templateDir": template} if template else {}), **({"bootstrap": bootstrap} if bootstrap else {})}
    suite = {
        "name": name,
        "description": "Promoted from sessions. Expectations that x-drafted lists are drafts: check each, then remove "
        "it from that list.",
        **({"workspace": workspace} if workspace else {}),
        "cases": [case],
    }
    return f"{json.dumps(suite, indent=2, ensure_ascii=False)}\n"


def refuse_other_cases(text: str, path: str, case_id: str) -> None:
    """Raise UsageError for a suite that has other cases than the one: an earlier promotion made one case alone."""
    value = read_document(text.removeprefix("\ufeff"), path=path, kind="json", error=UsageError).value
    cases = value.get("cases") if isinstance(value, dict) else None
    others = len([one for one in cases if not isinstance(one, dict) or one.get("id") != case_id]) if cases else 0
    if others:
        raise UsageError(
            f"{path} has {others:,} more {'case' if others == 1 else 'cases'}, which --force would remove",
            remedy="choose --to or --id; to replace it, remove it first",
        )


def with_case(text: str, path: str, case: Mapping[str, object]) -> str:
    """The suite with one case more, after the last one; every other character stays. Raises UsageError."""
    body = text.removeprefix("\ufeff")
    document = read_document(body, path=path, kind="json", error=UsageError)
    cases = document.value.get("cases") if isinstance(document.value, dict) else None
    if not isinstance(cases, list) or not cases:
        raise UsageError.of(
            Problem(
                message="has no cases after which one could be added",
                location=document.locate(()),
                key_path="cases",
                remedy="name another file with --to",
            )
        )
    for index, other in enumerate(cases):
        if isinstance(other, dict) and other.get("id") == case["id"]:
            raise UsageError.of(
                Problem(
                    message=f"there is a case {case['id']} already",
                    location=document.locate(("cases", index, "id")),
                    key_path=f"cases[{index}].id",
                    remedy="choose another id with --id",
                )
            )
    start = document.located.offset(("cases", len(cases) - 1))
    if start is None:
        raise UsageError(f"{path}: it is not known where the last case is", remedy="name another file with --to")
    _, end = json.JSONDecoder().raw_decode(body, start)
    line = body[body.rfind("\n", 0, start) + 1 : start]
    indent = line if not line.strip() else ""
    return f"{text[: len(text) - len(body)]}{body[:end]},{_added(case, body, indent)}{body[end:]}"


def _added(case: Mapping[str, object], body: str, indent: str) -> str:
    """The case in the indentation of the file; on one line in a file that is one."""
    found = _INDENT.search(body)
    if found is None:
        return f" {json.dumps(case, ensure_ascii=False)}"
    lines = json.dumps(case, indent=found[1], ensure_ascii=False).split("\n")
    newline = "\r\n" if "\r\n" in body else "\n"
    return f"{newline}{indent}{f'{newline}{indent}'.join(lines)}"
