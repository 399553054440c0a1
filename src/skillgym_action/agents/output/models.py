"""Whether two names stand for the same model: agents and services add providers, dates and other versions of a name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from skillgym_action.model.session import AgentConfig
    from skillgym_action.model.session_report import Transcript

_MODEL_OPTIONS = frozenset({"--model", "-m"})
_ANY = frozenset({"auto", "best", "default", "inherit", "opusplan", "router"})
"""Words of names with which the agent or the service chooses the model."""
_KINDS = frozenset(
    {
        *("haiku", "opus", "sonnet", "fable", "flash", "lite", "pro", "ultra", "nano", "mini", "codex", "max"),
        *("coder", "turbo", "instant", "small", "medium", "large", "reasoner", "chat", "vision", "image", "audio"),
    }
)
"""Words that tell models of one family apart."""
_SUFFIX = re.compile(r"\[[^\]]*\]|:[a-z0-9_-]+$|-v\d+(?::\d+)?$|@latest$|[-@]latest$")
_DATE = re.compile(r"20\d\d-?[01]\d-?[0-3]\d|[01]\d-20\d\d|(?<!\d)\d{4,}(?!\d)|(?<=-)00\d$")
_REGION = re.compile(r"^(?:[a-z]+(?:-[a-z]+)?\.)+(?=[a-z])")
_WORD = re.compile(r"\d+[a-z](?![a-z])|[a-z]+|\d+")


def asked_model(agent: AgentConfig, model: str | None) -> str | None:
    """The model that a session asks for: that of the agent's own arguments, which come last, else ``model``."""
    words = iter(agent.command_args)
    for word in words:
        option, _, value = word.partition("=")
        if option in _MODEL_OPTIONS:
            model = value or next(words, model)
    return model


def other_models(asked: str | None, transcript: Transcript) -> tuple[str, ...]:
    """The models that answered the main agent and are not the one that was asked for."""
    answered = transcript.models or ((transcript.model,) if transcript.model else ())
    return tuple(model for model in answered if not is_same_model(asked, model))


def is_same_model(asked: str | None, found: str | None) -> bool:
    """Whether ``found``, as an agent reports it, may be the model ``asked`` for. None: it is not known.

    Providers, regions, dates and versions of a name do not matter. A name without a number is an alias: it stands for
    any model, or for one of the kind that it names.
    """
    if asked is None or found is None or asked == found:
        return True
    wanted, seen = _words(asked), _words(found)
    if _ANY & {*wanted, *seen} or not wanted or not seen:
        return True
    kinds, numbers = _KINDS & {*wanted}, _numbers(wanted)
    if not numbers:
        return kinds <= {*seen}
    names, other_names = (frozenset(word for word in words if word.isalpha()) for words in (wanted, seen))
    nested = names <= other_names or other_names <= names
    return nested and numbers == _numbers(seen) and kinds == _KINDS & {*seen}


def _words(name: str) -> list[str]:
    plain = name.lower().rpartition("/")[2]
    before = None
    while before != plain:
        before, plain = plain, _SUFFIX.sub("", plain)
    return _WORD.findall(_DATE.sub("", _REGION.sub("", plain)))


def _numbers(words: list[str]) -> list[str]:
    """Versions and sizes such as ``4``, ``4o`` and ``70b``; a version 0 adds nothing."""
    return sorted(word.lstrip("0") for word in words if word[0].isdigit() and word.strip("0"))
