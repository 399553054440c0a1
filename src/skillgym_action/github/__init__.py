"""Publishing a run on GitHub: the pull request is found, and gets a comment, review comments and a commit status."""
