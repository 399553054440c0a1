"""The trend page: results of a store over time, one HTML file that loads nothing and has no script.

A content security policy allows the styles of the page, by their hash, and nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillgym_action.reporters.html import packaged_source, policy
from skillgym_action.reporters.markdown import environment
from skillgym_action.reporters.trend_view import trend_view

if TYPE_CHECKING:
    from skillgym_action.model.trend import Trend

TEMPLATE = "trend.html.j2"
_POLICY = "<!-- policy -->"  # a mark in the rendered template. All text in it is escaped, so that none can contain it.


def render(trend: Trend, *, made: str) -> str:
    """The page of a trend with at least one run. ``made``: when and by which version, in words."""
    style = f"\n{packaged_source('report.css')}\n{packaged_source('trend.css')}"
    view = trend_view(trend, policy=_POLICY, style=style, made=made)
    return environment().get_template(TEMPLATE).render(view=view).replace(_POLICY, policy(None, [style]))
