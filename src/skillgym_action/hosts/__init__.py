"""Programs that run as child processes, and the modules suite programs import. Standard library only."""
