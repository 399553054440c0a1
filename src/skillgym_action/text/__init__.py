"""Text that leaves the tool: escaped for each place it can go to, and free of secrets."""
