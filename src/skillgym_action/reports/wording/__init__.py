"""Texts that several reports share, one module for each subject. Nothing is escaped yet."""
