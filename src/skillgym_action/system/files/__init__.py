"""Folders that others may change at any time, read and written by descriptor. Standard library only."""
