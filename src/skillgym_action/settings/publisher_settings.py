"""Settings of what the action publishes on GitHub. They are inputs, and no options: only a job can publish."""

from __future__ import annotations

from typing import Annotated, get_args

from pydantic import BaseModel, ConfigDict

from skillgym_action.documents.option_values import known
from skillgym_action.github.publish_options import CommentMode, CommentWhen, StatusMode
from skillgym_action.settings.declarations import Input


class PublisherSettings(BaseModel):
    """The part of ``Settings`` about the comment, the review comments and the commit status; None: not set."""

    model_config = ConfigDict(defer_build=True)  # only `Settings`, which inherits it, validates

    comment: Annotated[CommentMode | None, known(get_args(CommentMode)), Input("comment")] = None
    comment_when: Annotated[CommentWhen | None, known(get_args(CommentWhen)), Input("comment-when")] = None
    comment_id: Annotated[str | None, Input("comment-id")] = None
    review_comments: Annotated[bool | None, Input("review-comments")] = None
    status: Annotated[StatusMode | None, known(get_args(StatusMode)), Input("status")] = None
