"""Folders that somebody else may change at any time, read and written by descriptor. Standard library only."""
