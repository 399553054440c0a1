"""The decorator of data classes: a dataclass whose methods are not compiled until they are needed.

``dataclasses.dataclass`` compiles six methods of each class when the class is defined. Most of them are never called,
and this took a fifth of the CPU time of a run with one case (docs/adr/0019).
"""

from __future__ import annotations

from dataclasses import MISSING, FrozenInstanceError, dataclass, field, fields
from functools import cache
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, TypeVar, dataclass_transform, overload

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


@overload
def record(cls: type[T], /) -> type[T]: ...


@overload
def record(
    *, frozen: bool = True, kw_only: bool = True, slots: bool = True, eq: bool = True
) -> Callable[[type[T]], type[T]]: ...


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
def record(
    cls: type[Any] | None = None, /, *, frozen: bool = True, kw_only: bool = True, slots: bool = True, eq: bool = True
) -> Any:
    """Make ``cls`` a dataclass that is frozen, keyword-only and has slots, unless an argument says otherwise.

    The functions of ``dataclasses``, pydantic, pickle and type checkers treat it as any other dataclass. ``InitVar``
    and ``field(hash=…)`` have no effect. A subclass of a frozen record is frozen, even if it is not a record.
    """

    def make(cls: type[Any]) -> type[Any]:
        made = dataclass(init=False, repr=False, eq=False, slots=slots, kw_only=kw_only)(cls)
        methods: dict[str, Any] = {"__init__": _Constructor(made), "__repr__": _repr}
        if eq:
            methods |= {"__eq__": _eq, "__hash__": _hash if frozen else None}
        if frozen:
            methods |= {"__setattr__": _refuse, "__delattr__": _refuse}
        if frozen and slots:
            methods |= {"__getstate__": _state, "__setstate__": _restore}
        for name, method in methods.items():
            if name not in vars(made):
                setattr(made, name, method)
        return made

    return make if cls is None else make(cls)


class _Constructor:
    """``__init__`` of a record, compiled when it is looked up for the first time."""

    def __init__(self, cls: type[Any]) -> None:
        self.cls = cls

    def __get__(self, instance: object, owner: type[Any]) -> Any:
        compiled = _constructor(self.cls)
        self.cls.__init__ = compiled
        return compiled.__get__(instance, owner)


def _constructor(cls: type[Any]) -> Any:
    """Compile ``__init__``. It sets attributes as ``object`` does, since frozen records refuse it."""
    positional, keywords, lines = ["self"], list[str](), list[str]()
    names: dict[str, Any] = {"_setattr": object.__setattr__}
    for part in fields(cls):
        name, default = part.name, f"_default_{part.name}"
        made, value = part.default_factory is not MISSING, part.name
        names[default] = part.default_factory if made else part.default
        if part.init:
            optional = "=..." if made else "" if part.default is MISSING else f"={default}"
            (keywords if part.kw_only else positional).append(name + optional)
            value = f"{default}() if {name} is ... else {name}" if made else name
        elif made or part.default is not MISSING:
            value = f"{default}()" if made else default
        else:
            continue
        lines.append(f"_setattr(self, {name!r}, {value})")
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    parameters = ", ".join([*positional, *(["*", *keywords] if keywords else [])])
    exec("\n ".join([f"def __init__({parameters}):", *lines, "pass"]), names)  # noqa: S102
    compiled = names["__init__"]
    compiled.__qualname__, compiled.__module__ = f"{cls.__qualname__}.__init__", cls.__module__
    compiled.__annotations__ = {part.name: part.type for part in fields(cls) if part.init} | {"return": None}
    return compiled


@cache
def _values(cls: Any) -> Callable[[object], Any]:
    """The function that returns the values by which records of that class are compared."""
    names = [part.name for part in fields(cls) if part.compare]
    return attrgetter(*names) if names else lambda _: ()


def _eq(self: Any, other: object) -> Any:
    values = _values(self.__class__)
    return values(self) == values(other) if type(other) is type(self) else NotImplemented


def _hash(self: Any) -> int:
    return hash(_values(self.__class__)(self))


@recursive_repr()
def _repr(self: Any) -> str:
    shown = ", ".join(f"{part.name}={getattr(self, part.name)!r}" for part in fields(self) if part.repr)
    return f"{type(self).__qualname__}({shown})"


def _refuse(_self: object, name: str, *_value: object) -> None:
    raise FrozenInstanceError(f"cannot change field {name!r}")


def _state(self: Any) -> list[Any]:
    """Return what is pickled. Without this method, the values would be restored by assigning to the attributes."""
    return [getattr(self, part.name) for part in fields(self)]


def _restore(self: Any, state: list[Any]) -> None:
    for part, value in zip(fields(self), state, strict=True):
        object.__setattr__(self, part.name, value)
