"""Reports for people in a terminal or a job log: progress, results, two runs side by side."""
