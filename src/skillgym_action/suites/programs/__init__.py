"""Suites in Python and TypeScript: programs that run in child processes, called suite hosts."""
