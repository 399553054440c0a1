"""The folders that sessions work in: created, compared, archived, restored, and what is hidden from agents."""
