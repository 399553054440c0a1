"""Calls of tools whose results have not come yet, for reports that show the steps of a session."""

from __future__ import annotations

from collections import OrderedDict, deque
from typing import Generic, TypeVar

Call = TypeVar("Call")


class UnfinishedCalls(Generic[Call]):
    """Calls in their order; each step takes the same time however many wait.

    A stored session may be anybody's, and have any number of them.
    """

    def __init__(self) -> None:
        self._calls: OrderedDict[int, tuple[str, Call]] = OrderedDict()
        self._numbers: dict[str, deque[int]] = {}
        self._added = 0

    def add(self, tool: str, call: Call) -> None:
        """A call of a tool waits for its result."""
        self._calls[self._added] = tool, call
        self._numbers.setdefault(tool, deque()).append(self._added)
        self._added += 1

    def latest(self) -> Call | None:
        """The call that was added last of those that wait."""
        return self._calls[next(reversed(self._calls))][1] if self._calls else None

    def take_first(self) -> Call | None:
        """The call that has waited longest, which waits no more."""
        if not self._calls:
            return None
        _, (tool, call) = self._calls.popitem(last=False)
        self._numbers[tool].popleft()  # of one tool the first is also the first of all
        return call

    def take(self, tool: str) -> Call | None:
        """The call of this tool that has waited longest, which waits no more."""
        numbers = self._numbers.get(tool)
        return self._calls.pop(numbers.popleft())[1] if numbers else None
