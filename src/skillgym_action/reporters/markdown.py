"""Reporters: the job summary and the pull request comment, from report templates users may override."""

from __future__ import annotations

import re
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from jinja2 import BaseLoader, ChoiceLoader, FileSystemLoader, PrefixLoader, StrictUndefined, TemplateError
from jinja2.bccache import Bucket, FileSystemBytecodeCache
from jinja2.sandbox import SandboxedEnvironment

from skillgym_action.errors import ConfigError, Location, Problem
from skillgym_action.reporters.view import view_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from skillgym_action.domain import RunReport

COMMENT = 65_000  # characters; GitHub promises to take 65,536
SUMMARY = 1_000_000  # bytes; GitHub drops a summary of more than 1,048,576
PACKAGED = Path(__file__).parent.parent / "templates"
_FRAME = 3_000  # what a template adds to its rows, and more
_TRIES = 4


def summary(report: RunReport, *, templates: Path | None = None) -> Iterator[str]:
    """The job summary; ``templates`` is a folder whose files come before ours. Raises ConfigError."""
    yield _fitted(report, "summary.md.j2", templates, SUMMARY, _bytes)


def comment(report: RunReport, *, comment_id: str = "default", templates: Path | None = None) -> Iterator[str]:
    """The comment, below a hidden marker by which the next run finds it. Raises ConfigError."""
    first = marker(comment_id) + "\n"
    yield first + _fitted(report, "comment.md.j2", templates, COMMENT - len(first), len)


def marker(comment_id: str) -> str:
    """The hidden line of the comment with this id."""
    return f"<!-- skillgym-action:{re.sub(r'[^A-Za-z0-9_.]+', '-', comment_id)[:100]} -->"


class _Compiled(FileSystemBytecodeCache):
    """Our templates are compiled once, beside Python's own compiled files; every time where those cannot be written."""

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep what was compiled."""
        with suppress(OSError):
            super().dump_bytecode(bucket)


@cache  # both reports are made of the same templates; to compile them takes longer than all the rest
def environment(templates: Path | None = None) -> SandboxedEnvironment:
    """Where report templates are rendered: nothing unescaped, nothing undefined. ``packaged/`` always names ours."""
    packaged = FileSystemLoader(PACKAGED)
    loaders: list[BaseLoader] = [packaged, PrefixLoader({"packaged": packaged})]
    return SandboxedEnvironment(
        loader=ChoiceLoader([FileSystemLoader(templates), *loaders] if templates else loaders),
        undefined=StrictUndefined,
        bytecode_cache=None if templates else _Compiled(str(Path(__file__).parent / "__pycache__")),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _fitted(report: RunReport, name: str, templates: Path | None, limit: int, measure: Callable[[str], int]) -> str:
    """The rendered template, in at most ``limit`` as ``measure`` counts: whole rows go until it fits."""
    room = limit - _FRAME
    try:
        template = environment(templates).get_template(name)
        for _ in range(_TRIES):
            text = template.render(view=view_of(report, room, measure)).strip() + "\n"
            if (over := measure(text) - limit) <= 0:
                return text
            room = max(0, room - over - _FRAME)
    except TemplateError as error:
        path = Path(getattr(error, "filename", None) or (templates or PACKAGED) / name)
        location = Location(path=str(path), line=getattr(error, "lineno", None))
        message = error.message or type(error).__name__
        raise ConfigError.of(Problem(message=message, location=location, remedy="mend the report template")) from error
    raise ConfigError(f"the report template {name} makes more text than fits, even without rows")


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())
