"""Limits of what is read of Harbor tasks, and waited for."""

from __future__ import annotations

MAX_HARBOR_TASKS = 10_000  # of one suite
MAX_HARBOR_FOLDERS = 50_000  # that are looked at for tasks
MAX_HARBOR_FILES = 100_000  # and folders, of the tests, the solution and the environment of a task, each
MAX_HARBOR_BYTES = 2 * 1024**3  # of the files in one of these folders that are copied into a container
MAX_HARBOR_SECONDS = 7 * 24 * 3600.0
MAX_REWARD_BYTES = 1024**2  # of reward.json and reward.txt
MAX_COMPARED_BYTES = 1024**2  # of a file of the environment that is compared with those of tests and solution
