"""Which results a run takes from the store in place of running their sessions."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from skillgym_action.model.errors import UsageError
from skillgym_action.settings.option_types import reuse_days

if TYPE_CHECKING:
    from skillgym_action.settings.configuration_file import Config
    from skillgym_action.settings.options import Settings


@dataclass(frozen=True, kw_only=True, slots=True)
class ReuseOptions:
    """``max_age``: of results of unchanged executions that are carried over. ``why_not``: why nothing is, if so."""

    max_age: timedelta
    why_not: str = ""


def reuse_options(settings: Settings, config: Config) -> ReuseOptions | None:
    """Which results are reused; None: none. Raises UsageError without a store."""
    value = settings.reuse or config.file.reuse
    days = reuse_days(value) if value else None
    if days is None:
        return None
    if not (settings.store or config.file.store):
        raise UsageError("reuse without a store: there is nothing to reuse", remedy="name a --store")
    needs_sessions = {
        "--record needs the sessions": settings.record,
        "--last-failed is to run them again": settings.last_failed,
        "--update-snapshots needs their tokens": settings.update_snapshots,
    }
    why_not = next((reason for reason, is_set in needs_sessions.items() if is_set), "")
    return ReuseOptions(max_age=timedelta(days=days), why_not=why_not)
