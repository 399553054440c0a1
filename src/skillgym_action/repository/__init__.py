"""The repository: its files and commits, and where suites are read from."""
