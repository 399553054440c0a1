"""What is written down of a run: its journal while it goes, its results when it has ended; and how they are read."""
