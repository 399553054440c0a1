"""Records behave as dataclasses of the standard library do."""

from __future__ import annotations

import copy
import inspect
import pickle
from dataclasses import FrozenInstanceError, asdict, dataclass, field, fields, is_dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Generic, TypeVar

import pytest
from pydantic import TypeAdapter

from skillgym_action.model.records import record

T = TypeVar("T")
ORDINARY = dataclass(frozen=True, kw_only=True, slots=True)


def both(cls: type[Any]) -> list[type[Any]]:
    """The same class as a record and as an ordinary dataclass."""
    return [decorator(type(cls.__name__, (), dict(vars(cls)))) for decorator in (record, ORDINARY)]


class Nothing:
    """No fields."""

    __annotations__: ClassVar = {}


class Everything:
    """All kinds of fields."""

    name: str
    kind: ClassVar[str] = "a"
    count: int = 1
    items: list[int] = field(default_factory=list)
    secret: str = field(default="", repr=False)
    note: str = field(default="", compare=False)
    size: int = field(init=False, default=3)
    seen: list[int] = field(init=False, default_factory=list)
    later: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "later", self.count + 1)


GIVEN: list[dict[str, Any]] = [
    {"name": "a"},
    {"name": "a", "count": 2},
    {"name": "a", "items": [1], "secret": "s"},
    {"name": "a", "note": "n"},
    {"name": "a", "items": None},
    {},
    {"name": "a", "size": 3},
    {"name": "a", "unknown": 1},
]


def outcome(cls: type[Any], given: dict[str, Any]) -> object:
    """What is made with these arguments, or the message of the error."""
    try:
        made = cls(**given)
    except TypeError as error:
        return str(error)
    return repr(made), asdict(made), made.later, made == cls(name="a", note="x"), made.secret


@pytest.mark.parametrize("given", GIVEN)
def test_instances_are_those_of_a_dataclass(given):
    ours, ordinary = both(Everything)
    assert outcome(ours, given) == outcome(ordinary, given)


def test_the_class_is_that_of_a_dataclass():
    ours, ordinary = both(Everything)
    names = [list(inspect.signature(cls).parameters.values()) for cls in (ours, ordinary)]
    assert [(one.name, one.kind, one.annotation) for one in names[0]] == [
        (one.name, one.kind, one.annotation) for one in names[1]
    ]
    assert [one.name for one in fields(ours)] == [one.name for one in fields(ordinary)]
    assert (is_dataclass(ours), ours.__slots__, ours.__match_args__) == (True, ordinary.__slots__, ())
    assert [cls() == cls() and repr(cls()) for cls in both(Nothing)] == ["Nothing()", "Nothing()"]


def test_each_instance_has_a_list_of_its_own():
    ours, _ = both(Everything)
    assert ours(name="a").items is not ours(name="a").items
    assert ours(name="a").seen is not ours(name="a").seen


@record
class Point(Generic[T]):
    """A record that is frozen."""

    x: T
    y: tuple[int, ...] = ()


@record(kw_only=False)
class Pair:
    """Positional, with a value of another record."""

    first: int
    second: Point[int] | None = None


@record(frozen=False)
class Counter:
    """A record that changes."""

    count: int = 0


@record(slots=False)
class Parent:
    """A record whose subclasses are records."""

    name: str

    @cached_property
    def upper(self) -> str:
        return self.name.upper()


@record(slots=False)
class Child(Parent):
    """A record with a field more."""

    age: int = 0


class Subclass(Point[int]):
    """No record itself."""


@record(eq=False)
class Identity:
    """Compared by identity."""

    x: int


@pytest.mark.parametrize("made", [Point(x=1), Pair(1, Point(x=2)), Child(name="a", age=3), Counter(count=2)])
def test_copies_are_equal(made):
    copies = [pickle.loads(pickle.dumps(made)), copy.copy(made), copy.deepcopy(made), replace(made)]
    assert copies == [made] * 4
    assert list(map(repr, copies)) == [repr(made)] * 4


def test_values_decide_whether_records_are_equal():
    assert Point(x=1) == Point(x=1) != Point(x=2)
    assert len({Point(x=1), Point(x=1), Point(x=2), Pair(1), Pair(1, None)}) == 3
    assert Point(x=1) != Subclass(x=1)
    assert Identity(x=1) != Identity(x=1)
    assert len({Identity(x=1), Identity(x=1)}) == 2
    with pytest.raises(TypeError, match="unhashable"):
        hash(Counter())


@pytest.mark.parametrize("made", [Point(x=1), Subclass(x=1), Pair(1), Child(name="a"), Identity(x=1)])
def test_frozen_records_do_not_change(made):
    name = fields(made)[0].name
    with pytest.raises(FrozenInstanceError, match=name):
        setattr(made, name, 2)
    with pytest.raises(FrozenInstanceError, match=name):
        delattr(made, name)


def test_other_records_change():
    counter = Counter()
    counter.count += 1
    assert counter == Counter(count=1)


def test_a_subclass_has_the_fields_of_both():
    child = Child(name="a", age=3)
    assert (child.upper, repr(child), child) == ("A", "Child(name='a', age=3)", Child(name="a", age=3))
    assert repr(Parent(name="a")) == "Parent(name='a')"


def test_patterns_match_positional_records():
    match Pair(1, Point(x=2)):
        case Pair(first, Point(x=x)):
            assert (first, x) == (1, 2)


def test_pydantic_validates_records():
    assert TypeAdapter(Pair).validate_python({"first": "1"}) == Pair(1)


def test_a_method_of_the_class_stays():
    @record
    class Secret:
        value: str

        def __repr__(self) -> str:
            return "Secret(…)"

    assert repr(Secret(value="a")) == "Secret(…)"


def test_methods_are_not_compiled_before_the_first_instance():
    ours, ordinary = both(Everything)
    assert not inspect.isfunction(vars(ours)["__init__"])
    ours(name="a")
    assert inspect.isfunction(vars(ours)["__init__"])
    assert inspect.isfunction(vars(ordinary)["__init__"])
