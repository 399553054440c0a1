"""How services of models speak: what every protocol has to offer.

To add one: a class that is a ``ModelProtocol``, in a module of its own, and a line in ``model_server.PROTOCOLS``.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count, groupby
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from model_script import Spoken, Tools

Event = dict[str, Any] | str


@dataclass(frozen=True)
class Ask:
    """What a request says, whatever its protocol. ``position``: how many turns of the model it already holds."""

    position: int
    tools: Tools
    model: str
    stream: bool


class ModelProtocol(Protocol):
    def ask(self, path: str, body: Any) -> Ask: ...

    # Events of an answer with one part that are sent before its end: the beginning, words, a call.
    BEFORE_END: ClassVar[Mapping[str, int]]

    def whole(self, ask: Ask, parts: list[Spoken], ending: str = "") -> dict[str, Any]: ...

    def stream(self, ask: Ask, parts: list[Spoken], ending: str = "") -> Iterator[Event]:
        """Server-sent events, named by their ``type`` if they have one; the first ones alone are a cut stream.

        ``ending``: a key of ``ENDINGS``; "": the answer is complete.
        """
        ...

    def error(self, status: int) -> dict[str, Any]: ...

    def rejection(self, why: str) -> tuple[int, dict[str, Any] | list[dict[str, Any]]]:
        """Status and body, in the words of the real service. ``why``: a key of ``REJECTIONS``.

        With the status 200 the body is a whole answer, or the list of a stream's events.
        """
        ...


class Numbered:
    """Gives out ids."""

    def __init__(self) -> None:
        self._numbers = count(1)

    def new(self, kind: str) -> str:
        return f"{kind}_{next(self._numbers):06}"


def turns(spoken_by_model: Iterable[bool]) -> int:
    """How many turns the model had in a conversation that lists each part of a turn by itself."""
    return sum(by_model for by_model, _ in groupby(spoken_by_model))


def arguments(schema: Any) -> frozenset[str]:
    """The names of the arguments in a tool's JSON Schema."""
    return frozenset((schema or {}).get("properties", {}))
