"""Evals of agent skills: ``evals.json`` and trigger lists; entered only through the table of formats."""
