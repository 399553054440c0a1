"""The stages of the line; each takes what the one before it made, and none knows another. See pipeline.py."""
