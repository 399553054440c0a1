"""Evals of skills: ``evals.json`` and lists of trigger queries, the skill under test, and what is said about it."""
