"""The repository: its files and commits, and where suites are read from."""

from __future__ import annotations

FETCH_BASE = "give actions/checkout fetch-depth: 0, or fetch the base branch"  # a remedy
