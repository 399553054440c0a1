"""What is written down of a run and read again: run directory, journal, results, snapshots."""
