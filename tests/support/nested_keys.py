"""Keys of nested data: where its mappings are, and the same data with one key more."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection

KeyPath = tuple[Any, ...]


def mappings_in(value: Any, free: Collection[str], at: KeyPath = ()) -> list[KeyPath]:
    """The key paths of all mappings, except those below the keys ``free``, which may have any key."""
    found = [at] if isinstance(value, dict) else []
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in items:
        if key not in free:
            found += mappings_in(part, free, (*at, key))
    return found


def with_key(value: Any, at: KeyPath, key: str) -> Any:
    """A copy of ``value`` in which the mapping at ``at`` has ``key``, too."""
    changed = copy.deepcopy(value)
    inner = changed
    for step in at:
        inner = inner[step]
    inner[key] = 1
    return changed
