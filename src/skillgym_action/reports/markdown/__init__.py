"""The job summary and the comment: the view that report templates get, cut to the size that GitHub accepts."""
