"""GitHub: the event that started the workflow, the API, and what is published: comment, review comments, status."""
