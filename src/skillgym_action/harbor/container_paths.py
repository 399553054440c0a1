"""Where a task's files are in the container, as Harbor has them; and scripts that are run there."""

from __future__ import annotations

TESTS_PATH, SOLUTION_PATH, LOGS_PATH = "/tests", "/solution", "/logs"
VERIFIER_LOGS = f"{LOGS_PATH}/verifier"
REWARD_TEXT, REWARD_JSON = f"{VERIFIER_LOGS}/reward.txt", f"{VERIFIER_LOGS}/reward.json"
TEST_PATH, SOLVE_PATH = f"{TESTS_PATH}/test.sh", f"{SOLUTION_PATH}/solve.sh"
ROOT = "root"


def as_shell(script: str, *words: str) -> tuple[str, ...]:
    """The command that runs a script of the shell, with words as ``$1``, ``$2`` and so on."""
    return ("sh", "-c", script, "sh", *words)


def program(path: str) -> tuple[str, ...]:
    """The command that runs a script of a task: as it says in its first line, else by bash, else by sh."""
    run = 'shell=$(command -v bash || command -v sh); exec "$shell" -c "$1"'
    return as_shell(run, path)


def solution() -> tuple[str, ...]:
    """The command that runs the reference solution in the home of its user. As in Harbor, the tests decide alone."""
    home = 'HOME=$(awk -F: -v id="$(id -u)" \'$3 == id {print $6}\' /etc/passwd); export HOME="${HOME:-/}"'
    run = 'shell=$(command -v bash || command -v sh); "$shell" -c "$1"; exit 0'
    return as_shell(f"{home}; {run}", SOLVE_PATH)
