"""What is stored of a run and read again: run directory, journal, results file, artifacts; and the statistics of it."""
