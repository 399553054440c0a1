"""Renders statements as lines for a terminal, which may be a job log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillgym_action.reports.wording.results import case_name, runner_id
from skillgym_action.reports.wording.statements import words_of
from skillgym_action.text.escaping import terminal_line
from skillgym_action.text.words import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillgym_action.model.result import Result
    from skillgym_action.reports.wording.statements import Section, Topic


def said(section: Section, most: int | None = None) -> Iterator[str]:
    """Lines for the first ``most`` topics with their sentences, the number of the others, and an empty line."""
    word = f"{section.word} " if section.word else ""
    for topic in section.topics(most):
        yield f"{word}{topic_line(topic)}\n"
        sentences = (*topic.sentences, *topic.remarks, *(one.in_words() for one in topic.lists))
        yield from (f"    {terminal_line(sentence)}\n" for sentence in sentences)
    if most and (more := len(section) - most) > 0:
        yield f"{word}{more:,} more\n" if word else f"and of {counted(more, section.noun)}\n"
    if section.closing:
        yield f"{word}took {terminal_line(section.closing)}\n"
    yield "\n" if section else ""


def topic_line(topic: Topic) -> str:
    """What it is about, and its facts."""
    if topic.result:
        return f"{execution(topic.result)} {terminal_line(topic.facts())}"
    link = f" ({terminal_line(topic.link.address)})" if topic.link else ""
    return terminal_line("".join(map(words_of, topic.title))) + link


def execution(result: Result) -> str:
    """``edit [claude]``."""
    return f"{terminal_line(case_name(result))} [{terminal_line(runner_id(result))}]"
