"""A run compared with a baseline, and the statistics of it."""
