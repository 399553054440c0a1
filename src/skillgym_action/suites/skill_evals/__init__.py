"""Evals of skills: ``evals.json`` and lists of trigger queries, finding the skill under test, judging its sessions."""
