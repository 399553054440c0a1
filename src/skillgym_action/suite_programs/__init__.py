"""Programs that run as child processes, and the modules suite programs import. Standard library only."""

MOST_CASES = 20_000
"""Cases of a suite; the Node suite host has the same number."""
