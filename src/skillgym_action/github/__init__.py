"""What a run says on GitHub: the comment, review comments and the commit status, and how it finds the pull request."""
