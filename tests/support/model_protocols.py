"""How services of models speak: what every protocol has to offer.

To add one: a class that is a ``ModelProtocol``, in a module of its own, and a line in ``model_server.PROTOCOLS``.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count, groupby
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

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

    def whole(self, ask: Ask, parts: list[Spoken]) -> dict[str, Any]: ...

    def stream(self, ask: Ask, parts: list[Spoken]) -> Iterator[Event]:
        """Server-sent events, named by their ``type`` if they have one; the first one alone is a cut stream."""
        ...

    def error(self, status: int) -> dict[str, Any]: ...


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
