"""A run compared with a baseline: which results changed, and by how much the rate did."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from skillgym_action.model.result import Result


MARGIN = 0.02  # a drop that is smaller is no regression, however sure one is of it


SIGNIFICANT = 0.05


@dataclass(frozen=True, kw_only=True, slots=True)
class Pair:
    """One execution, then and now."""

    before: Result
    after: Result


@dataclass(frozen=True, kw_only=True, slots=True)
class RateChange:
    """The share that did not fail of what was judged both times, as the mean over ``cases``.

    ``p`` is the chance of such a drop, or of a larger one, if nothing has changed; ``drop_at_most`` the largest drop
    that cannot be excluded with 95 % confidence.
    """

    cases: int
    before: float
    after: float
    p: float
    drop_at_most: float

    @property
    def drop(self) -> float:
        """How much lower the rate is now; negative when it has risen."""
        return self.before - self.after

    @property
    def significant(self) -> bool:
        """Whether the drop is neither chance nor too small to matter."""
        return self.p < SIGNIFICANT and self.drop > MARGIN


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    """What changed since the baseline.

    ``broken`` did not fail then and do now, ``mended`` the other way round; what passes unexpectedly does not fail.
    ``unclear`` were judged then and cannot be now. ``altered`` have another prompt or other assertions, hence pair with
    nothing, like ``added`` and ``removed``. ``collapsed``, a part of ``broken``, never failed then and always do now.
    ``rate`` is None when nothing was judged both times.
    """

    base_id: str
    base_commit: str | None
    paired: int
    broken: tuple[Pair, ...] = ()
    mended: tuple[Pair, ...] = ()
    unclear: tuple[Pair, ...] = ()
    altered: tuple[Pair, ...] = ()
    added: tuple[Result, ...] = ()
    removed: tuple[Result, ...] = ()
    collapsed: tuple[Pair, ...] = ()
    rate: RateChange | None = None

    @property
    def changed(self) -> bool:
        """Whether anything is not as it was."""
        return any((self.broken, self.mended, self.unclear, self.altered, self.added, self.removed))

    @property
    def regressed(self) -> bool:
        """Whether it got worse, and not by chance."""
        return bool(self.collapsed) or (self.rate is not None and self.rate.significant)
