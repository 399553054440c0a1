"""Text that comes in and goes out: documents with positions, escaping, redaction, comparison, words."""
