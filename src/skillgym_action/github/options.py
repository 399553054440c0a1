"""Options: what is published on a pull request, and when."""

from __future__ import annotations

from typing import Literal

from skillgym_action.model.records import record

CommentMode = Literal["update", "new", "recreate", "off"]
CommentWhen = Literal["always", "changes", "failures"]
StatusMode = Literal["auto", "on", "off"]


@record
class PublisherOptions:
    """``comment_when``: when a comment is created; with ``update``, an existing comment is always updated.

    ``period``: seconds between updates of the comment during the run; ``budget``: dollars that the run may spend.
    """

    comment: CommentMode = "update"
    comment_when: CommentWhen = "always"
    comment_id: str = "default"
    review_comments: bool = False
    status: StatusMode = "auto"
    budget: float | None = None
    period: float = 30.0
