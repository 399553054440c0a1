"""Text that leaves the tool: escaped for the output it goes to, and without secrets."""
