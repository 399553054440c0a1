"""The files that ``init`` writes into a repository: a suite with two cases, a configuration and a workflow."""
