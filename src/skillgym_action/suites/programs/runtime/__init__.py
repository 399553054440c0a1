"""The programs of suite hosts, and the modules that suite programs import. Standard library only."""
