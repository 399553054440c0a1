"""What is published on a pull request, and when."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

CommentMode = Literal["update", "new", "recreate", "off"]


CommentWhen = Literal["always", "changes", "failures"]


StatusMode = Literal["auto", "on", "off"]


@dataclass(frozen=True, kw_only=True, slots=True)
class PublisherOptions:
    """What is said on the pull request, and when a comment is begun; one that exists is always kept up to date.

    While the run goes on, the comment is edited at most every ``period`` seconds; ``budget``: dollars it may spend.
    """

    comment: CommentMode = "update"
    comment_when: CommentWhen = "always"
    comment_id: str = "default"
    review_comments: bool = False
    status: StatusMode = "auto"
    budget: float | None = None
    period: float = 30.0
