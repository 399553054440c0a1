"""What the check of a run with ``repeat: auto`` has found, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillgym_action.model.limits import COMMIT_CHARACTERS
from skillgym_action.results.statistics.rates import format_probability
from skillgym_action.text.words import counted

if TYPE_CHECKING:
    from skillgym_action.model.adaptive import Adaptive, SideCounts

OVERSTATED = "the check stopped because of this difference, which is therefore likely overstated"


def check_sentence(found: Adaptive) -> str:
    """What was found, with the sessions that show it; of a regression without that word."""
    base = found.control.commit[:COMMIT_CHARACTERS] if found.control else ""
    if found.check == "cleared":
        return _cleared(found)
    if found.check == "undecided":
        return f"looked like a regression, and is undecided: {found.why}"
    if found.check == "not-checked":
        why = f": {found.why}" if found.why else ""
        return (
            f"against the stored results{_probability(found)}, not checked side by side{why}; "
            "a bad day of the service looks the same"
        )
    if found.check == "not-confirmed":
        return _not_confirmed(found, base)
    return f"{_confirmed(found, base)}{_probability(found)}; {OVERSTATED}"


def _cleared(found: Adaptive) -> str:
    if found.mode == "side-by-side" and not found.sessions.control:
        return found.why
    pairs = max((look.pairs for look in found.looks), default=0)
    sessions = counted(found.sessions.all, "session")
    sides = " of both sides" if found.mode == "side-by-side" and found.sessions.control else ""
    more = found.sessions.screen - pairs
    if found.mode != "side-by-side" and more >= 0:
        further = f" and {more:,} more" if more else ""
        return f"1 session of each of {counted(pairs, 'case')}{further}: {sessions}"
    return f"{sessions}{sides} of {counted(pairs, 'case')}"


def _not_confirmed(found: Adaptive, base: str) -> str:
    words = "looked like a regression, not confirmed side by side"
    if found.why:
        return f"{words}: {found.why}"
    beside = found.beside
    if beside and not beside.control_passed:
        return f"{words}: nothing passes at the base commit {base} either"
    counts = f" ({_both(beside, 'base {}, head {}')})" if beside else ""
    extra = found.sessions.control + found.sessions.head
    return (
        f"{words}: today the base commit {base} does no better{counts}, as on a bad day of the service; "
        f"{counted(extra, 'extra session')}"
    )


def _confirmed(found: Adaptive, base: str) -> str:
    if len(found.named) == 1 and (beside := found.named[0].beside):
        one = found.named[0].case_id
        return f"confirmed side by side: {one} passed {_both(beside, f'{{}} at {base} and {{}} here')}"
    if found.beside is None:
        return f"confirmed beside {base}"
    return f"confirmed side by side: {_both(found.beside, f'{{}} at {base} and {{}} here')}"


def _both(beside: SideCounts, words: str) -> str:
    control = f"{beside.control_passed:,} of {beside.control_judged:,}"
    return words.format(control, f"{beside.head_passed:,} of {beside.head_judged:,}")


def _probability(found: Adaptive) -> str:
    """The p-value of the look that was red."""
    red = next((look for look in found.looks if look.outcome == "red"), None)
    return f" ({format_probability(red.p)})" if red else ""
