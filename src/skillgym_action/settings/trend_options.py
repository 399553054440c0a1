"""What ``trend`` shows: which runs of the store, and where the page is written."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Annotated

from pydantic import AfterValidator

TREND_PAGE = ".skillgym-results/trend/index.html"
_AGO = re.compile(r"([1-9][0-9]{0,4})([dw])")
_DAYS = {"d": 1, "w": 7}


def _since(value: str) -> str:
    if not _AGO.fullmatch(value):
        try:
            datetime.strptime(value, "%Y-%m-%d").replace(tzinfo=UTC)
        except ValueError:
            raise ValueError(f"{value!r} is neither a time such as 90d or 12w nor a date such as 2026-01-31") from None
    return value


Since = Annotated[str, AfterValidator(_since)]


def since_time(value: str, now: datetime) -> datetime:
    """The time that a value of ``since`` means, in UTC: the beginning of a day, or so long before ``now``."""
    if found := _AGO.fullmatch(value):
        return now - timedelta(days=int(found[1]) * _DAYS[found[2]])
    return datetime.strptime(value, "%Y-%m-%d").replace(tzinfo=UTC)
